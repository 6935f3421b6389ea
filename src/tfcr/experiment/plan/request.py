"""What is asked for: datasets, vectors, schemes and classifiers, crossed; and how they are run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tfcr.data import DATASETS, ReadOptions
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import InputError, UnknownNameError, look_up, unknown_name
from tfcr.experiment.plan.own_schemes import OwnScheme
from tfcr.experiment.plan.profiles import PAPER_SCHEMES, Profile, resolve_profile
from tfcr.heads import HEADS
from tfcr.schemes import SCHEMES
from tfcr.text.tokenizers import TOKENIZERS

PAPER_SAMPLE = 100_000
W2V_SOURCES = {
    "dataset": "in-domain word2vec was trained on the whole dataset's text without labels, that of the test documents "
    "included, as in the paper",
    "train": "in-domain word2vec was trained on the text of each training part alone",
}
"""What in-domain word2vec sees, in words."""


@dataclass(frozen=True)
class DatasetChoice:
    """A dataset of the grid: the name of its row, where its texts come from, and how they are read."""

    name: str
    source: str
    options: ReadOptions = field(default_factory=ReadOptions)
    tokenizer: str = ""


@dataclass(frozen=True)
class VectorsChoice:
    """Vectors of the grid: their name, and ``w2v``, a known name or a file."""

    name: str
    source: str


@dataclass(frozen=True)
class Word2Vec:
    """How in-domain word2vec is trained; the paper does not say. `trained_on` is a name of W2V_SOURCES."""

    dimensions: int = 100
    window: int = 5
    epochs: int = 10
    skip_gram: bool = False
    min_count: int = 2
    trained_on: str = "dataset"

    def described(self) -> str:
        """Return the settings in words."""
        kind = "skip-gram" if self.skip_gram else "CBOW"
        return (
            f"word2vec, {kind}, {self.dimensions} dimensions, window {self.window}, {self.epochs} epochs, "
            f"words that occur at least {self.min_count} times"
        )


@dataclass(frozen=True)
class Request:
    """A grid of cells, and how they are run.

    Attributes
    ----------
    datasets, embeddings, schemes, heads, profiles, seeds
        All are crossed with all.
    own_schemes
        The user's own ones among `schemes`, by name.
    sizes
        Training sizes; None stands for the whole training part.
    folds
        The number of folds that documents are cut into.
    first_folds
        How many of them are run; None for all.
    sample
        At most so many documents of each dataset.
    """

    datasets: tuple[DatasetChoice, ...]
    embeddings: tuple[VectorsChoice, ...] = (VectorsChoice(IN_DOMAIN, IN_DOMAIN),)
    schemes: tuple[str, ...] = PAPER_SCHEMES
    heads: tuple[str, ...] = ("svm", "lr")
    profiles: tuple[str, ...] = ("equations",)
    own_schemes: Mapping[str, OwnScheme] = field(default_factory=dict)
    sizes: tuple[int | None, ...] = (None,)
    folds: int = 10
    first_folds: int | None = None
    seeds: tuple[int, ...] = (0,)
    sample: int = PAPER_SAMPLE
    word2vec: Word2Vec = field(default_factory=Word2Vec)

    def wanted_folds(self) -> range:
        """Return the numbers of the folds to run."""
        return range(self.folds if self.first_folds is None else self.first_folds)

    def check(self) -> None:
        """Refuse what can be no experiment, before any work."""
        _check_some(self)
        for head in self.heads:
            look_up(HEADS, head, "head")
        for profile in self.profiles:
            for scheme in self.schemes:
                check_scheme(scheme, resolve_profile(profile), self.own_schemes)
        for dataset in self.datasets:
            if dataset.tokenizer:
                look_up(TOKENIZERS, dataset.tokenizer, "tokenizer")
        look_up(W2V_SOURCES, self.word2vec.trained_on, "text for --w2v-from")
        _check_numbers(self)


def _check_some(request: Request) -> None:
    for what in ("datasets", "embeddings", "schemes", "heads", "profiles", "sizes", "seeds"):
        if not getattr(request, what):
            raise InputError(f"found no {what}; expected at least one: --{what.rstrip('s')}s NAME,NAME")
    for what in ("datasets", "embeddings"):
        names = [choice.name for choice in getattr(request, what)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"found {twice!r} twice among the {what}; give one of them another name: NAME={twice}")


def _check_numbers(request: Request) -> None:
    if request.folds < 2:
        raise InputError(f"found {request.folds} folds; expected at least 2")
    if request.first_folds is not None and not 1 <= request.first_folds <= request.folds:
        raise InputError(f"found {request.first_folds} of {request.folds} folds; expected 1 to {request.folds}")
    if request.sample < 2 * request.folds:
        raise InputError(f"found a sample of {request.sample} for {request.folds} folds; expected more documents")
    if any(seed < 0 for seed in request.seeds):
        raise InputError(f"found the seed {min(request.seeds)}; expected at least 0")


def check_scheme(name: str, profile: Profile, own: Mapping[str, OwnScheme]) -> None:
    """Refuse a scheme that has no row and is not given as code."""
    if name not in own and profile.scheme(name) not in SCHEMES:
        hint = f" One of your own is given as code: --scheme-from FILE.py:{name}"
        raise UnknownNameError(unknown_name(name, SCHEMES, "scheme") + hint)


def dataset_tokenizer(dataset: DatasetChoice, profile: Profile) -> str:
    """Return the tokenizer of a dataset: the one asked for, the one it needs, or the profile's."""
    needed = DATASETS[dataset.source].tokenizer if dataset.source in DATASETS else ""
    return dataset.tokenizer or needed or profile.tokenizer


def with_own_schemes(request: Request, given: Sequence[OwnScheme]) -> Request:
    """Return the request with the user's own schemes in it, after the named ones."""
    taken = next((scheme.name for scheme in given if scheme.name in SCHEMES), None)
    if taken is not None:
        raise InputError(f"found a scheme of your own named {taken!r}, which tfcr has already; rename the function")
    own = {scheme.name: scheme for scheme in given}
    names = tuple(dict.fromkeys([*request.schemes, *own]))
    return replace(request, schemes=names, own_schemes=own)
