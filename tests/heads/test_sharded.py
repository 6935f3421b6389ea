"""Heads fitted on shards against the same heads in memory: one optimum."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tfcr.embeddings import Embeddings
from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.features.parts import PARTS, CharacterNgrams, PartSettings, PlainVectors
from tfcr.features.pieces import Layout, whole_piece
from tfcr.heads import Examples, FittedHead, fit_head, make_targets, resolve_head, sharded, sharded_descent
from tfcr.heads.sharded import fit_sharded
from tfcr.system.places import DiskPlaces, MemoryPlaces, Places
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.shards import ShardedDocuments, count_shard, unite

RANDOM = np.random.default_rng(0)
WORDS = [f"{first}{second}" for first in "bcdfg" for second in ("a", "an", "e", "er", "o", "on")]
LABELS = RANDOM.integers(3, size=240)
TEXTS = [
    " ".join(
        RANDOM.choice(WORDS, size=9, p=np.roll(np.geomspace(1, 0.01, 30), 4 * label) / np.geomspace(1, 0.01, 30).sum())
    )
    for label in LABELS
]
VECTORS = Embeddings.from_arrays(WORDS, RANDOM.normal(size=(len(WORDS), 4)))


def sharded_texts(places: Places, size: int = 77) -> ShardedDocuments:
    shards = places.keep(
        count_shard(TEXTS[start : start + size], "words", bigrams=True) for start in range(0, len(TEXTS), size)
    )
    return unite(places, shards).documents


def blocks_of(name: str, documents: CountedDocuments, labels: NDArray[np.int64], blocks: str) -> list[Block]:
    part, counts = PARTS[name], ClassCounts.from_documents(documents, labels)
    n_classes = len(counts.classes)
    limits = part.ngrams
    settings = PartSettings(
        vectors=VECTORS.of_words(documents.vocabulary.words),
        class_names=[str(label) for label in counts.classes],
        scheme="tfcr-log",
        blocks=blocks,
        averaging="weights",
        plain=[PlainVectors.of(VECTORS, documents.vocabulary.words, n_classes)],
        ngrams=None if limits is None else CharacterNgrams.of(documents, n_classes, limits),
    )
    return part.make_blocks(documents if part.uses_bigrams else documents.only_words(), lambda: counts, settings)


def scores(fitted: FittedHead, blocks: Sequence[Block], documents: CountedDocuments) -> NDArray[np.float32]:
    layout = Layout(blocks, fitted.means, np.ones(len(fitted.intercepts)))
    features, columns = layout.features(whole_piece(documents))
    return features.times(np.vstack([fitted.coefficients, fitted.intercepts]).astype(np.float32)[columns])


@pytest.mark.parametrize(
    ("part", "head", "blocks"),
    [
        ("words", "svm", "own"),
        ("words", "lr", "own"),
        ("ngrams", "svm", "own"),
        ("ngrams", "lr", "own"),
        ("plain", "svm", "own"),
        ("plain", "ridge", "own"),
        ("vectors", "svm", "own"),
        ("vectors", "lr", "all"),
        ("vectors", "svm", "all"),
        ("vectors", "ridge", "own"),
        ("vectors", "ridge", "all"),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shards_have_the_same_optimum(part: str, head: str, blocks: str, n_classes: int, tmp_path: Path) -> None:
    labels = np.minimum(LABELS, n_classes - 1)
    weights = RANDOM.integers(1, 3, size=len(labels)).astype(np.float64)
    documents = count_terms(TEXTS, "words", bigrams=True)
    targets = make_targets(labels, np.arange(n_classes), weights, "balanced")
    made = blocks_of(part, documents, labels, blocks)
    seen = documents if PARTS[part].uses_bigrams else documents.only_words()
    one = resolve_head(head, C=0.5).with_tolerance(1e-5)
    expected = scores(fit_head(one, Examples(seen, targets), made), made, seen)
    everyone = np.arange(len(labels))  # least squares picks its strength by all documents then, as in memory
    for places, size in ((MemoryPlaces(), 100), (DiskPlaces(tmp_path), 31)):
        lying = sharded_texts(places, size)
        lying = lying if PARTS[part].uses_bigrams else lying.only_words()
        rows = everyone if head == "ridge" else everyone[::3]
        sample = Examples(lying.rows(rows), targets.rows(rows))
        found = scores(fit_sharded(one, Examples(lying, targets), made, sample), made, seen)
        np.testing.assert_allclose(found, expected, atol=0.01)


def test_newton_alone_finds_what_descent_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster there is no descent; and where it stalls, Newton's method goes on."""
    documents = count_terms(TEXTS, "words", bigrams=True)
    targets = make_targets(LABELS, np.arange(3), np.ones(240), "balanced")
    made = blocks_of("bigrams", documents, LABELS, "own")
    lying = sharded_texts(MemoryPlaces())
    sample = Examples(lying.rows(np.arange(80)), targets.rows(np.arange(80)))
    head = resolve_head("svm", C=1.0).with_tolerance(1e-5)
    told: list[list[float]] = []

    def fitted() -> FittedHead:
        told.append([])
        return fit_sharded(head, Examples(lying, targets), made, sample, tell=told[-1].append)

    found = [fitted()]
    monkeypatch.setattr(sharded_descent, "MAX_GAPS", 1)
    monkeypatch.setattr(sharded_descent, "EPOCHS", 1)
    found.append(fitted())
    monkeypatch.setattr(sharded, "can_descend", lambda documents, layout: False)
    found.append(fitted())
    whole, stopped, none = told
    assert whole == sorted(whole)
    assert 1 >= whole[-1] > stopped[-1] > 0
    assert not none
    one, two, three = (scores(some, made, documents) for some in found)
    np.testing.assert_allclose(two, one, atol=0.01)
    np.testing.assert_allclose(three, one, atol=0.01)


def test_many_dense_columns_go_without_the_hessian_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = count_terms(TEXTS, "words", bigrams=True)
    targets = make_targets(LABELS, np.arange(3), np.ones(240), "balanced")
    made = blocks_of("vectors", documents, LABELS, "all")
    lying = sharded_texts(MemoryPlaces(), 100).only_words()
    sample = Examples(lying.rows(np.arange(0, 240, 3)), targets.rows(np.arange(0, 240, 3)))
    head = resolve_head("svm", C=0.5).with_tolerance(1e-5)
    expected = fit_sharded(head, Examples(lying, targets), made, sample)
    monkeypatch.setattr(sharded, "HESSIAN_COLUMNS", 5)
    found = fit_sharded(head, Examples(lying, targets), made, sample)
    words = documents.only_words()
    np.testing.assert_allclose(scores(found, made, words), scores(expected, made, words), atol=0.01)


def test_nothing_stays_on_disk(tmp_path: Path) -> None:
    documents = count_terms(TEXTS, "words", bigrams=True)
    targets = make_targets(LABELS, np.arange(3), np.ones(240), None)
    lying = sharded_texts(DiskPlaces(tmp_path))
    before = {file.name for file in tmp_path.iterdir()}
    sample = Examples(lying.rows(np.arange(80)), targets.rows(np.arange(80)))
    for part, head in (("bigrams", "svm"), ("bigrams", "lr"), ("vectors", "svm")):
        seen = lying if PARTS[part].uses_bigrams else lying.only_words()
        some = sample if PARTS[part].uses_bigrams else sample._replace(documents=sample.documents.only_words())
        fit_sharded(resolve_head(head, C=1.0), Examples(seen, targets), blocks_of(part, documents, LABELS, "own"), some)
    assert {file.name for file in tmp_path.iterdir()} == before


def test_what_sums_cannot_fit_is_refused() -> None:
    from sklearn.svm import LinearSVC

    documents = count_terms(TEXTS, "words", bigrams=True)
    targets = make_targets(LABELS, np.arange(3), np.ones(240), None)
    made = blocks_of("words", documents, LABELS, "own")
    lying = sharded_texts(MemoryPlaces()).only_words()
    sample = Examples(lying.rows(np.arange(80)), targets.rows(np.arange(80)))
    with pytest.raises(InputError, match="found a scikit-learn head, and documents that do not fit into memory"):
        fit_sharded(resolve_head(LinearSVC(), C=1.0), Examples(lying, targets), made, sample)
    with pytest.raises(InputError, match=r"found 1e\+06 for C times sample weight"):
        fit_sharded(resolve_head("svm", C=1e6), Examples(lying, targets), made, sample)
    with pytest.raises(TypeError, match="expected ShardedDocuments"):
        fit_sharded(resolve_head("svm", C=1.0), Examples(documents, targets), made, sample)
    descending = replace(lying, places=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected them on this machine"):
        sharded_descent.descend_shards(descending, Layout(made, np.zeros(1), np.ones(3)), [], 1.0, 0.1)


@pytest.mark.parametrize(("part", "head"), [("vectors", "svm"), ("vectors", "ridge")])
def test_dense_features_are_made_some_at_a_time(part: str, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = count_terms(TEXTS, "words", bigrams=True)
    targets = make_targets(LABELS, np.arange(3), np.ones(240), "balanced")
    made = blocks_of(part, documents, LABELS, "all")
    lying = sharded_texts(MemoryPlaces(), 100).only_words()
    sample = Examples(lying.rows(np.arange(240)), targets)
    one = resolve_head(head, C=0.5).with_tolerance(1e-5)
    whole = fit_sharded(one, Examples(lying, targets), made, sample)
    monkeypatch.setattr("tfcr.features.matrix.ROWS", 7)
    monkeypatch.setattr("tfcr.features.pieces.ROWS", 7)
    found = fit_sharded(one, Examples(lying, targets), made, sample)
    np.testing.assert_allclose(found.coefficients, whole.coefficients, atol=0.01)
