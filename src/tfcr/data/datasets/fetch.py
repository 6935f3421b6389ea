"""Where the files of a dataset are, and getting them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tfcr.data.datasets.registry import DATASETS
from tfcr.data.datasets.rows import Row
from tfcr.errors import DataError, DownloadError, look_up
from tfcr.system.download import changed_since_download, download
from tfcr.system.files import fetched_folder, find_data, looked_in, remember_path
from tfcr.system.limits import is_there
from tfcr.system.progress import BYTES_PER_SECOND, Stages

READY, DOWNLOADABLE, TO_BE_ASKED_FOR = "ready", "can be downloaded", "must be asked for"


def dataset_place(name: str) -> Path:
    """Return where the files of a dataset are, or raise an error that says how to get them; any path if it has none."""
    dataset = DATASETS[name]
    if not dataset.files:
        return Path()
    place = find_data(name)
    if place is None:
        raise DataError(
            f"the files of the dataset {name!r} are not on this machine ({looked_in()}); {how_to_get(name)}"
        )
    if changed := changed_since_download(place):
        raise DataError(f"{place}: {changed}; to download it again: tfcr datasets fetch {name} --again")
    return place


def rows_at(name: str, place: Path) -> Iterator[Row]:
    """Yield the rows of a dataset from the place of its files."""
    if not is_there(place):
        raise DataError(f"{place} does not exist; expected the files of {name!r}: {DATASETS[name].files}")
    return DATASETS[name].read(place)


def state_of(name: str) -> str:
    """Return whether a dataset's files are on this machine, can be downloaded, or must be asked for."""
    if not DATASETS[name].files or find_data(name) is not None:
        return READY
    return DOWNLOADABLE if DATASETS[name].downloads else TO_BE_ASKED_FOR


def how_to_get(name: str) -> str:
    """Return what to type for a dataset's files."""
    dataset = DATASETS[name]
    give = f"tfcr datasets fetch {name} --path PLACE, or set TFCR_DATA to the folder that holds {name}/"
    if dataset.downloads:
        return f"type tfcr datasets fetch {name}; or give them: {give}"
    return f"{dataset.ask} ({dataset.page}), then give them: {give}"


def fetch_dataset(
    name: str,
    path: str | Path | None = None,
    *,
    again: bool = False,
    stages: Stages | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Get the files of a dataset, read its first document as a check, and return where they are.

    Parameters
    ----------
    name
        A name of DATASETS.
    path
        Where they are already: the place is remembered, nothing is copied.
    again
        Download them again; the old ones are kept until the new ones are complete.
    stages
        What the progress is reported to.
    tell
        See `download`.
    """
    dataset = look_up(DATASETS, name, "dataset")
    if not dataset.files or (path is None and not again and state_of(name) == READY):
        place = dataset_place(name)
        _check(name, place)
        return place
    place = Path(path) if path is not None else _download(name, again, stages or Stages(), tell)
    try:
        _check(name, place)
    except DataError as error:
        again_hint = "" if path is not None else f"; to download it again: tfcr datasets fetch {name} --again"
        raise DataError(f"{error}{again_hint}") from error
    remember_path(name, place)
    return place


def _check(name: str, place: Path) -> None:
    """Refuse files that are not the dataset's, before they are needed."""
    if not any(row.label and row.text for row in rows_at(name, place)):
        files = DATASETS[name].files
        raise DataError(f"{place} holds no document with a text and a label of {name!r}; expected {files}")


def _download(name: str, again: bool, stages: Stages, tell: Callable[[str], None] | None) -> Path:
    dataset, folder = DATASETS[name], fetched_folder() / name
    if not dataset.downloads:
        raise DownloadError(f"{name!r} cannot be downloaded: {how_to_get(name)}")
    stages.expect(("downloading", (file.size or 0) / BYTES_PER_SECOND) for file in dataset.downloads)
    for file in dataset.downloads:
        stages.begin("downloading", f"downloading {file.name}")
        try:
            download(file, folder, again=again, progress=stages.count, tell=tell)
        except DownloadError as error:
            by_hand = f"get it by hand from {dataset.page}, and type tfcr datasets fetch {name} --path FILE"
            raise DownloadError(f"{error}; or {by_hand}") from error
    return folder
