"""The paper's grids: its two tables and its figure, as far as data and vectors are on this machine."""

from collections.abc import Mapping
from typing import Any

from tfcr.data import DATASETS
from tfcr.data.datasets.fetch import READY, state_of
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.embeddings.pretrained import is_ready as vectors_are_ready
from tfcr.errors import InputError, look_up
from tfcr.experiment.plan.parsing import PAPER_SIZES, parse_dataset, parse_sizes, parse_vectors
from tfcr.experiment.plan.published import PAPER_TABLES, paper_datasets
from tfcr.experiment.plan.request import Request, VectorsChoice


def make_request(
    *,
    table: str | None = None,
    curve: bool = False,
    file: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> tuple[Request, list[str]]:
    """Return a request, and notes on what is left out of it because it is not on this machine.

    It is the paper's table or figure, changed by what a file says, changed by what is given.

    Parameters
    ----------
    table
        A name of PAPER_TABLES.
    curve
        The paper's figure: training sizes 1,000 to 90,000.
    file
        What `read_grid` returns.
    given
        Parameters of Request, which override all else.
    """
    given, file = given or {}, file or {}
    parameters: dict[str, Any] = {}
    if table is not None:
        of_paper = look_up(PAPER_TABLES, table, "table")
        parameters |= {"embeddings": tuple(map(parse_vectors, of_paper.embeddings)), "heads": of_paper.heads}
    if curve:
        parameters |= {"sizes": parse_sizes(PAPER_SIZES), "heads": ("lr",)}
    parameters |= {**file, **given}
    if table is None and not curve and "datasets" not in parameters:
        raise InputError("found nothing to run; give --table 1, --table 2, --curve, --datasets NAME, or a TOML file")
    notes = []
    if "datasets" not in parameters:
        parameters["datasets"], lines = _ready_datasets()
        notes += lines
    if table is not None and "embeddings" not in {**file, **given}:
        parameters["embeddings"], lines = _ready_vectors(parameters["embeddings"])
        notes += lines
    return Request(**parameters), notes


def _ready_datasets() -> tuple[tuple[Any, ...], list[str]]:
    ready = [name for name in paper_datasets() if name in DATASETS and state_of(name) == READY]
    missing = [name for name in paper_datasets() if name not in ready]
    if not ready:
        raise InputError("found none of the paper's datasets on this machine; see: tfcr datasets list")
    notes = [f"not on this machine, and left out: {', '.join(missing)}; see: tfcr datasets list"] if missing else []
    return tuple(map(parse_dataset, ready)), notes


def _ready_vectors(choices: tuple[VectorsChoice, ...]) -> tuple[tuple[VectorsChoice, ...], list[str]]:
    ready = tuple(choice for choice in choices if choice.source == IN_DOMAIN or vectors_are_ready(choice.source))
    missing = [choice.name for choice in choices if choice not in ready]
    if not ready:
        raise InputError(
            f"found none of {', '.join(missing)} on this machine; see: tfcr embeddings list, or give files: "
            f"--embeddings {missing[0]}=FILE"
        )
    notes = [f"not on this machine, and left out: {', '.join(missing)}; see: tfcr embeddings list"] if missing else []
    return ready, notes
