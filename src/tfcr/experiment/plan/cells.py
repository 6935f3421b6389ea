"""From a request to cells: one dataset, vectors, scheme, classifier, profile, training size and seed each."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, product
from typing import Any

from tfcr.experiment.plan.own_schemes import OwnScheme
from tfcr.experiment.plan.profiles import resolve_profile
from tfcr.experiment.plan.request import DatasetChoice, Request, VectorsChoice, dataset_tokenizer
from tfcr.experiment.run.corpora import CorpusFacts, CorpusPlan
from tfcr.experiment.run.vectors import FileFacts, VectorsPlan, plan_vectors

PROTOCOL = 1
"""Raised when the same settings would give other results, so that old results are not taken for new ones."""


@dataclass(frozen=True)
class Cell:
    """One place of the grid.

    Attributes
    ----------
    key
        The hash of `settings`: a cell is known by it, whatever its names.
    dataset, embedding, scheme, head, profile, size, seed, folds
        Its place; a size of None is the whole training part.
    settings
        All that the result depends on: hashes of data, vectors and own code among it.
    facts
        What is worth telling of its data and vectors.
    """

    key: str
    dataset: str
    embedding: str
    scheme: str
    head: str
    profile: str
    size: int | None
    seed: int
    folds: int
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Planned:
    """A cell, and what is needed to run it."""

    cell: Cell
    corpus: CorpusFacts
    vectors: VectorsPlan
    own_scheme: OwnScheme | None


def corpus_plans(request: Request) -> dict[tuple[str, str, int], CorpusPlan]:
    """Return what each dataset becomes, by its name, profile and seed."""
    return {
        (dataset.name, profile, seed): CorpusPlan(
            dataset.source,
            dataset.options,
            dataset_tokenizer(dataset, resolve_profile(profile)),
            request.sample,
            seed,
            request.folds,
        )
        for dataset, profile, seed in product(request.datasets, request.profiles, request.seeds)
    }


def plan_cells(
    request: Request, corpora: Mapping[CorpusPlan, CorpusFacts], files: Mapping[str, FileFacts]
) -> Iterator[Planned]:
    """Cross everything with everything; sizes that a dataset has not enough documents for are left out."""
    plans = corpus_plans(request)
    for dataset, embedding, profile, seed in product(
        request.datasets, request.embeddings, request.profiles, request.seeds
    ):
        plan = plans[dataset.name, profile, seed]
        facts = corpora[plan]
        vectors = plan_vectors(embedding.source, request.word2vec, plan, facts, files.get(embedding.source))
        for size, scheme, head in product(usable_sizes(request.sizes, facts), request.schemes, request.heads):
            yield _planned(request, dataset, embedding, profile, facts, vectors, size, scheme, head)


def usable_sizes(sizes: Sequence[int | None], facts: CorpusFacts) -> list[int | None]:
    """Return the sizes that every training part of a dataset has documents for; one of just that many is all."""
    usable = [None if size == facts.training_documents else size for size in sizes]
    return list(dict.fromkeys(size for size in usable if size is None or size < facts.training_documents))


def size_notes(request: Request, corpora: Mapping[CorpusPlan, CorpusFacts]) -> Iterator[str]:
    """Tell which training sizes are left out."""
    for (dataset, _, _), plan in corpus_plans(request).items():
        facts = corpora[plan]
        large = [size for size in request.sizes if size is not None and size > facts.training_documents]
        if large:
            yield (
                f"{dataset} has {facts.training_documents} documents to train on: {len(large)} larger training sizes "
                f"({large[0]} to {large[-1]}) are left out"
            )


def _planned(
    request: Request,
    dataset: DatasetChoice,
    embedding: VectorsChoice,
    profile: str,
    corpus: CorpusFacts,
    vectors: VectorsPlan,
    size: int | None,
    scheme: str,
    head: str,
) -> Planned:
    record = resolve_profile(profile)
    own = request.own_schemes.get(scheme)
    settings = {
        "protocol": PROTOCOL,
        "data": corpus.data_hash,
        "tokenizer": vectors.corpus.tokenizer,
        "vectors": vectors.digest,
        "word2vec": asdict(vectors.word2vec) if vectors.word2vec else None,
        "scheme": own.digest + own.name if own else record.scheme(scheme),
        "head": head,
        "profile": {key: value for key, value in asdict(record).items() if key not in ("what", "schemes")},
        "size": size,
        "seed": vectors.corpus.seed,
        "folds": request.folds,
    }
    facts = {
        "source": corpus.source,
        "documents": corpus.documents,
        "documents_in_all": corpus.documents_in_all,
        "classes": list(corpus.classes),
        "training_documents": corpus.training_documents,
        "vectors": vectors.what,
        "notes": list(corpus.notes),
    }
    cell = Cell(
        key=_digest(settings),
        dataset=dataset.name,
        embedding=embedding.name,
        scheme=scheme if own else record.paper_name(scheme),
        head=head,
        profile=profile,
        size=size,
        seed=vectors.corpus.seed,
        folds=request.folds,
        settings=settings,
        facts=facts,
    )
    return Planned(cell, corpus, vectors, own)


def _digest(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]


def shared_work(planned: Iterable[Planned]) -> list[list[Planned]]:
    """Return the cells that share corpus, vectors, profile and training part, and so counts and features."""
    return [list(group) for _, group in groupby(planned, key=_shared)]


def _shared(planned: Planned) -> tuple[Any, ...]:
    cell = planned.cell
    return planned.vectors, cell.profile, cell.size, cell.seed, cell.folds
