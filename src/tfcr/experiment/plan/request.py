"""A request: datasets, vectors, schemes, heads and systems, all crossed; and how they are run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfcr.data import DATASETS, ReadOptions
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.embeddings.word2vec import PARAMETERS as WORD2VEC
from tfcr.errors import InputError, UnknownNameError, look_up, shown, unknown_name
from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.named_systems import resolve_system
from tfcr.experiment.plan.own_schemes import OwnScheme
from tfcr.experiment.plan.profiles import PAPER_SCHEMES, PAPER_TOKENIZER, Profile, resolve_profile
from tfcr.experiment.plan.systems import System
from tfcr.experiment.plan.word2vec import W2V_SOURCES, Word2Vec
from tfcr.heads import HEADS
from tfcr.schemes import SCHEMES
from tfcr.system.parameters import FOLDS, SEED, check_all, number, whole, zero_or
from tfcr.text.tokenizers import TOKENIZERS

ALL_DOCUMENTS = 10**9
"""A sample so large that nothing is left out."""
PAPER_SAMPLE = 100_000
TRAINING_SIZE = whole("training size", 1, 10**9).or_none("for all")
VECTOR_LENGTH = zero_or(number("vector_length", 1e-3, 1e3)).or_none("for the profile's")


@dataclass(frozen=True)
class DatasetChoice:
    """A dataset of the grid: its name, the source of its texts, and how they are read."""

    name: str
    source: str
    options: ReadOptions = field(default_factory=ReadOptions)
    tokenizer: str = ""


@dataclass(frozen=True)
class VectorsChoice:
    """Vectors of the grid: their name, and their source: ``w2v``, a known name or a file."""

    name: str
    source: str


@dataclass(frozen=True)
class Request:
    """A grid of cells, and how they are run.

    Attributes
    ----------
    datasets, embeddings, schemes, heads, profiles, seeds
        All are crossed with all.
    own_schemes
        The user's own ones among `schemes`, by name.
    systems
        What runs beside the schemes: names of PRESETS and PEERS, or System objects. Each runs once for each
        dataset and seed; if it uses vectors, once for each embedding and each way in which profiles make its vectors.
    sizes
        Training sizes; None stands for the whole training fold.
    class_sizes
        How many training documents each class keeps, before a training part of one of the sizes is taken; None: all.
    folds
        Number of folds that documents are cut into.
    first_folds
        How many of them are run; None for all.
    sample
        Maximum number of documents of each dataset.
    word2vec
        How in-domain word2vec is trained: a Word2Vec, or those of its settings that differ from the profile's.
    vector_length
        Each word vector is scaled to this length before it is weighted; 0: all stay as they are. None: in-domain
        word2vec has the profile's, and others stay as they are.
    """

    datasets: tuple[DatasetChoice, ...]
    embeddings: tuple[VectorsChoice, ...] = (VectorsChoice(IN_DOMAIN, IN_DOMAIN),)
    schemes: tuple[str, ...] = PAPER_SCHEMES
    heads: tuple[str, ...] = ("svm", "lr")
    profiles: tuple[str, ...] = ("equations",)
    own_schemes: Mapping[str, OwnScheme] = field(default_factory=dict)
    systems: tuple[str | System, ...] = ()
    sizes: tuple[int | None, ...] = (None,)
    class_sizes: ClassSizes | None = None
    folds: int = 10
    first_folds: int | None = None
    seeds: tuple[int, ...] = (0,)
    sample: int = PAPER_SAMPLE
    word2vec: Word2Vec | Mapping[str, Any] = field(default_factory=dict)
    vector_length: float | None = None

    def word2vec_of(self, profile: Profile) -> Word2Vec:
        """Return how in-domain word2vec is trained for a profile."""
        given = self.word2vec
        return given if isinstance(given, Word2Vec) else replace(profile.word2vec, **given)

    def training_word2vec(self, given: Mapping[str, Any]) -> "Request":
        """Return the request with other settings of in-domain word2vec; those that are not given stay."""
        now = self.word2vec
        return replace(self, word2vec=replace(now, **given) if isinstance(now, Word2Vec) else {**now, **given})

    def vector_length_of(self, profile: Profile, source: str) -> float | None:
        """Return the length that word vectors of a source have for a profile; None for their own."""
        if self.vector_length is not None:
            return self.vector_length or None
        return profile.vector_length if source == IN_DOMAIN else None

    def wanted_folds(self) -> range:
        """Return the numbers of the folds to run."""
        return range(self.folds if self.first_folds is None else self.first_folds)

    def check(self) -> None:
        """Raise an error for what cannot be run, before any work."""
        _check_some(self)
        for head in self.heads:
            look_up(HEADS, head, "head")
        for profile in self.profiles:
            for scheme in self.schemes:
                check_scheme(scheme, resolve_profile(profile), self.own_schemes)
        _check_systems(self)
        for dataset in self.datasets:
            if dataset.tokenizer:
                look_up(TOKENIZERS, dataset.tokenizer, "tokenizer")
        _check_numbers(self)


def _check_some(request: Request) -> None:
    needed = ["datasets", "embeddings", "heads", "profiles", "sizes", "seeds"]
    for what in needed if request.systems else [*needed, "schemes"]:
        if not getattr(request, what):
            raise InputError(f"found no {what}; expected at least one: --{what.rstrip('s')}s NAME,NAME")
    for what in ("datasets", "embeddings"):
        names = [choice.name for choice in getattr(request, what)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"found {twice!r} twice among the {what}; give one of them another name: NAME=SOURCE")


def _check_systems(request: Request) -> None:
    names = [resolve_system(system).name for system in request.systems]
    columns = [*request.schemes, *names]
    twice = next((name for name in names if columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"found {twice!r} twice among the schemes and systems; give the system another name")


FIRST_FOLDS = whole("first_folds", 1, 10_000).or_none("for all")
NUMBERS = (FOLDS, whole("sample", 4, ALL_DOCUMENTS))
"""What the numbers of a request may be."""


def _check_numbers(request: Request) -> None:
    check_all(NUMBERS, vars(request))
    VECTOR_LENGTH.check(request.vector_length)
    for profile in request.profiles:
        word2vec = request.word2vec_of(resolve_profile(profile))
        check_all(WORD2VEC, vars(word2vec))
        look_up(W2V_SOURCES, word2vec.trained_on, "text for --w2v-from")
    if request.class_sizes is not None:
        request.class_sizes.check()
    for seed in request.seeds:
        SEED.check(seed)
    for size in request.sizes:
        TRAINING_SIZE.check(size)
    if not FIRST_FOLDS.accepts(request.first_folds) or (request.first_folds or 1) > request.folds:
        raise InputError(f"found {shown(request.first_folds)} of {request.folds} folds; expected 1 to {request.folds}")
    if request.sample < 2 * request.folds:
        raise InputError(f"found a sample of {request.sample} for {request.folds} folds; expected more documents")


def check_scheme(name: str, profile: Profile, own: Mapping[str, OwnScheme]) -> None:
    """Raise an error for a scheme that is neither in SCHEMES nor given as code."""
    if name not in own and profile.scheme(name) not in SCHEMES:
        hint = f" One of your own is given as code: --scheme-from FILE.py:{name if name.isidentifier() else 'FUNCTION'}"
        raise UnknownNameError(unknown_name(name, SCHEMES, "scheme") + hint)


def dataset_tokenizer(dataset: DatasetChoice, otherwise: str = PAPER_TOKENIZER) -> str:
    """Return the tokenizer of a dataset: the one asked for, the one it needs, or else this one."""
    needed = DATASETS[dataset.source].tokenizer if dataset.source in DATASETS else ""
    return dataset.tokenizer or needed or otherwise


def with_own_schemes(request: Request, given: Sequence[OwnScheme]) -> Request:
    """Return the request with the user's own schemes after the named ones."""
    taken = next((scheme.name for scheme in given if scheme.name in SCHEMES), None)
    if taken is not None:
        raise InputError(f"found a scheme of your own named {taken!r}, which tfcr has already; rename the function")
    own = {scheme.name: scheme for scheme in given}
    names = tuple(dict.fromkeys([*request.schemes, *own]))
    return replace(request, schemes=names, own_schemes=own)
