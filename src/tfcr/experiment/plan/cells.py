"""From a request to cells: one dataset, vectors, system, profile, training size and seed each."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from typing import Any

from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import InputError
from tfcr.experiment.plan.corpora import CorpusFacts, CorpusHandle, CorpusPlan
from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.named_systems import resolve_system
from tfcr.experiment.plan.profiles import resolve_profile
from tfcr.experiment.plan.request import DatasetChoice, Request, VectorsChoice, dataset_tokenizer
from tfcr.experiment.plan.systems import SchemeSystem, System
from tfcr.experiment.plan.vectors import VectorFacts, VectorsPlan, plan_vectors
from tfcr.experiment.plan.word2vec import Word2Vec

PROTOCOL = 1
"""Raised when the same settings would give other results, so that old results are not taken for new ones."""


@dataclass(frozen=True)
class Settings:
    """All that a cell's result depends on.

    Attributes
    ----------
    data
        Hash of the sampled texts, labels and groups.
    vectors
        Hash of the vectors; None if the system uses none.
    word2vec
        How in-domain word2vec is trained; None for other vectors.
    size
        Number of training documents; None for the whole training fold.
    class_sizes
        How many training documents each class keeps; None for all.
    seed, folds
        Seed of all randomness, and the number of folds that documents are cut into.
    system
        What else the system's predictions depend on.
    protocol
        PROTOCOL when the cell was planned.
    """

    data: str
    vectors: str | None
    word2vec: Word2Vec | None
    size: int | None
    class_sizes: ClassSizes | None
    seed: int
    folds: int
    system: Mapping[str, Any] = field(default_factory=dict)
    protocol: int = PROTOCOL

    def __post_init__(self) -> None:
        taken = next((entry.name for entry in fields(self) if entry.name in self.system), None)
        if taken is not None:
            raise InputError(f"found a system with the setting {taken!r}, which cells have themselves; rename it")

    def to_json(self) -> dict[str, Any]:
        """Return it as one flat mapping; whatever is added here changes the keys of all cells."""
        own = {name: value for name, value in asdict(self).items() if name != "system"}
        if self.class_sizes is None:
            del own["class_sizes"]
        return {**own, **self.system}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Settings":
        """Read what `to_json` gave."""
        known = {name: stored[name] for name in ("data", "vectors", "size", "seed", "folds", "protocol")}
        word2vec = Word2Vec(**stored["word2vec"]) if stored["word2vec"] else None
        class_sizes = ClassSizes(**stored["class_sizes"]) if "class_sizes" in stored else None
        system = {name: value for name, value in stored.items() if name not in (*known, "word2vec", "class_sizes")}
        return cls(**known, word2vec=word2vec, class_sizes=class_sizes, system=system)

    def key(self) -> str:
        """Return the hash that the cell is known by."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Cell:
    """One cell of the grid.

    Attributes
    ----------
    key
        Hash of `settings`: a cell is known by it, whatever its names.
    dataset, embedding, scheme, head, profile
        Names. `scheme` is the name of the system. A system that is no scheme of the paper has no head and no profile,
        and one that uses no vectors has no embedding: these are empty.
    settings
        Settings.
    facts
        CorpusFacts.
    vectors
        Description of the vectors.
    """

    key: str
    dataset: str
    embedding: str
    scheme: str
    head: str
    profile: str
    settings: Settings
    facts: CorpusFacts
    vectors: str

    @property
    def of_paper(self) -> bool:
        """Whether it is a scheme of the paper's kind, with head and profile."""
        return bool(self.profile)


@dataclass(frozen=True)
class Planned:
    """A cell, and what is needed to run it."""

    cell: Cell
    system: System
    corpus: CorpusHandle
    vectors: VectorsPlan | None


@dataclass(frozen=True)
class _Row:
    """Systems that run on a dataset with the same vectors: those that `word2vec` and `length` say for an embedding."""

    embedding: VectorsChoice | None
    profile: str
    systems: tuple[System, ...]
    word2vec: Word2Vec = field(default_factory=Word2Vec)
    length: float | None = None


def _rows(request: Request, dataset: DatasetChoice) -> Iterator[_Row]:
    others = [resolve_system(system, dataset_tokenizer(dataset, "")) for system in request.systems]
    with_vectors = tuple(system for system in others if system.needs_vectors)
    profiles = [resolve_profile(name) for name in request.profiles]
    for embedding in request.embeddings:
        vectors: dict[tuple[Word2Vec, float | None], None] = {}
        for profile in profiles:
            how = request.word2vec_of(profile), request.vector_length_of(profile, embedding.source)
            yield _Row(embedding, profile.name, tuple(_scheme_systems(request, dataset, profile.name)), *how)
            vectors[how if embedding.source == IN_DOMAIN else (Word2Vec(), how[1])] = None
        for how in vectors:
            yield _Row(embedding, "", with_vectors, *how)
    yield _Row(None, "", tuple(system for system in others if not system.needs_vectors))


def _scheme_systems(request: Request, dataset: DatasetChoice, profile: str) -> Iterator[SchemeSystem]:
    record = resolve_profile(profile)
    tokenizer = dataset_tokenizer(dataset, record.tokenizer)
    for scheme, head in product(request.schemes, request.heads):
        yield SchemeSystem(scheme, head, record, tokenizer, request.own_schemes.get(scheme))


def _corpus_plan(request: Request, dataset: DatasetChoice, system: System, seed: int) -> CorpusPlan:
    tokenizer = system.tokenizer or dataset_tokenizer(dataset)
    return CorpusPlan(dataset.source, dataset.options, tokenizer, request.sample, seed, request.folds)


def corpus_plans(request: Request) -> dict[CorpusPlan, str]:
    """Return the corpora to prepare, each with the name of its dataset."""
    return {
        _corpus_plan(request, dataset, system, seed): dataset.name
        for dataset in request.datasets
        for row in _rows(request, dataset)
        for system in row.systems
        for seed in request.seeds
    }


def plan_cells(
    request: Request, corpora: Mapping[CorpusPlan, CorpusHandle], files: Mapping[str, VectorFacts]
) -> Iterator[Planned]:
    """Cross everything with everything, leaving out sizes that a dataset has not enough documents for."""
    for dataset in request.datasets:
        for row, seed in product(_rows(request, dataset), request.seeds):
            for system in row.systems:
                plan = _corpus_plan(request, dataset, system, seed)
                corpus, vectors = corpora[plan], None
                if row.embedding is not None:
                    file = files.get(row.embedding.source)
                    vectors = plan_vectors(row.embedding.source, row.word2vec, plan, corpus, file, row.length)
                for size in usable_sizes(request.sizes, corpus.facts):
                    settings = Settings(
                        data=corpus.data_hash,
                        vectors=vectors.identity if vectors else None,
                        word2vec=vectors.word2vec if vectors else None,
                        size=size,
                        class_sizes=request.class_sizes,
                        seed=seed,
                        folds=request.folds,
                        system=system.settings,
                    )
                    yield Planned(_cell(dataset, row, system, settings, corpus, vectors), system, corpus, vectors)


def _cell(
    dataset: DatasetChoice,
    row: _Row,
    system: System,
    settings: Settings,
    corpus: CorpusHandle,
    vectors: VectorsPlan | None,
) -> Cell:
    return Cell(
        key=settings.key(),
        dataset=dataset.name,
        embedding=row.embedding.name if row.embedding else "",
        scheme=system.name,
        head=system.head if isinstance(system, SchemeSystem) else "",
        profile=row.profile,
        settings=settings,
        facts=corpus.facts,
        vectors=vectors.description if vectors else "",
    )


def usable_sizes(sizes: Sequence[int | None], facts: CorpusFacts) -> list[int | None]:
    """Return the sizes that every training fold of a dataset has documents for; just that many means all."""
    usable = [None if size == facts.training_documents else size for size in sizes]
    return list(dict.fromkeys(size for size in usable if size is None or size < facts.training_documents))


def size_notes(request: Request, corpora: Mapping[CorpusPlan, CorpusHandle]) -> Iterator[str]:
    """Yield notes on training sizes that are left out."""
    for plan, dataset in corpus_plans(request).items():
        available = corpora[plan].facts.training_documents
        large = [size for size in request.sizes if size is not None and size > available]
        if large:
            yield (
                f"{dataset} has {available} documents to train on: {len(large)} larger training sizes "
                f"({large[0]} to {large[-1]}) are left out"
            )


def shared_work(planned: Iterable[Planned]) -> list[list[Planned]]:
    """Return groups of cells that share corpus, vectors, profile and training part, and so counts and features."""
    groups: dict[tuple[Any, ...], list[Planned]] = {}
    for one in planned:
        settings = one.cell.settings
        part = settings.size, settings.class_sizes, settings.seed
        shared = one.corpus.entry, one.vectors, one.cell.profile, *part
        groups.setdefault(shared, []).append(one)
    return list(groups.values())
