"""Many documents: what is learned from a sample, in memory and in shards."""

from typing import Any

import numpy as np
import pytest

from tests.heads.test_sharded import LABELS, TEXTS, VECTORS, sharded_texts
from tfcr import TfcrClassifier
from tfcr.classifier import FITTING
from tfcr.errors import InputError
from tfcr.heads import Examples, large, make_targets
from tfcr.heads.large import draw_sample
from tfcr.system.places import MemoryPlaces
from tfcr.text.documents import count_terms
from tfcr.text.label_sets import NumberedLabels, find_label_sets

NAMES = np.array(["neg", "none", "pos"])


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 150)
    monkeypatch.setattr(large, "HELD_OUT", 60)
    monkeypatch.setattr(large, "LEAST_OF_CLASS", 20)


def model(preset: str, **given: object) -> TfcrClassifier:
    vectors = {} if preset == "fast" else {"embeddings": VECTORS}
    return TfcrClassifier.from_preset(preset, **{**vectors, "tokenizer": "words", **given})


def fitted(one: TfcrClassifier, size: int | None, labels: Any = None) -> TfcrClassifier:
    """Fit on documents in memory, or in shards of a size."""
    weights = np.ones(len(TEXTS))
    embeddings = one.load_embeddings(TEXTS) if one.embeddings is not None else []
    documents = count_terms(TEXTS, "words", bigrams=one.uses_bigrams)
    given = NAMES[LABELS] if labels is None else labels
    if size is None:
        return one.fit_counted(documents, given, weights, embeddings)
    numbered = NumberedLabels(NAMES, LABELS) if labels is None else labels
    return one.fit_counted(sharded_texts(MemoryPlaces(), size), numbered, weights, embeddings)


@pytest.mark.parametrize("preset", ["fast", "best", "paper"])
@pytest.mark.parametrize("size", [240, 50, 7])
def test_shards_give_the_model_of_documents_in_memory(preset: str, size: int) -> None:
    one, other = fitted(model(preset), None), fitted(model(preset), size)
    scores, found = one.decision_function(TEXTS), other.decision_function(TEXTS)
    np.testing.assert_allclose(found, scores, atol=0.1)  # the temperature of so few documents moves all of them
    ordered = np.sort(scores, axis=1)
    sure = ordered[:, -1] - ordered[:, -2] > 0.01
    assert (one.predict(TEXTS) == other.predict(TEXTS))[sure].all()
    np.testing.assert_allclose(other.predict_proba(TEXTS), one.predict_proba(TEXTS), atol=0.02)
    assert one.training_.get("sample") == other.training_.get("sample") == (None if preset == "paper" else 150)
    assert one.part_weights_ == pytest.approx(other.part_weights_, rel=0.02)


def test_ridge_picks_its_strength_on_the_sample_wherever_documents_lie() -> None:
    one, other = (fitted(model("paper", head="ridge"), size) for size in (None, 50))
    np.testing.assert_allclose(other.decision_function(TEXTS), one.decision_function(TEXTS), atol=1e-3)


def test_few_documents_in_shards_are_fitted_as_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 10_000)
    for preset in ("fast", "best"):
        one, other = fitted(model(preset), None), fitted(model(preset), 50)
        np.testing.assert_array_equal(one.decision_function(TEXTS), other.decision_function(TEXTS))
        assert "sample" not in one.training_


def test_picking_on_a_sample_counts_as_little_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a fit of ten million documents would begin at 97 percent."""
    for size in (150, 24):
        monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", size)
        monkeypatch.setattr(large, "LEAST_SAMPLE", size)
        monkeypatch.setattr(large, "HELD_OUT", size // 3)
        monkeypatch.setattr(large, "LEAST_OF_CLASS", 5)
        told: list[tuple[str, float]] = []
        weights, labels = np.ones(len(TEXTS)), NumberedLabels(NAMES, LABELS)
        documents = sharded_texts(MemoryPlaces(), 50)
        model("fast").fit_counted(documents, labels, weights, [], lambda *said, told=told: told.append(said))
        fractions = [fraction for _, fraction in told]
        assert fractions == sorted(fractions)
        begun = next(fraction for name, fraction in told if name == "fitting lexical")
        picking = 3 * 5 * size / len(TEXTS)  # three strengths on five folds of the sample, then one fit of all
        assert begun == pytest.approx(FITTING * picking / (picking + 1), abs=0.1)


def test_several_labels() -> None:
    sets = find_label_sets([["a"] if label == 0 else ["b", "c"] if label == 1 else [] for label in LABELS])
    one, other = fitted(model("fast"), None, sets), fitted(model("fast"), 50, sets)
    np.testing.assert_allclose(other.decision_function(TEXTS), one.decision_function(TEXTS), atol=0.02)
    assert other.predict(TEXTS[:5]) == one.predict(TEXTS[:5])


def test_precision_is_measured_on_documents_held_out() -> None:
    one, other = (fitted(model("fast", precision=0.6), size) for size in (None, 50))
    assert one.training_["decided"] == pytest.approx(other.training_["decided"], abs=0.05)


@pytest.mark.parametrize("order", [np.arange(240), np.arange(240)[::-1], np.random.default_rng(1).permutation(240)])
def test_the_sample_does_not_depend_on_the_order(order: np.ndarray) -> None:
    def texts_of(order: np.ndarray, rows: np.ndarray) -> list[str]:
        return sorted(f"{LABELS[number]} {TEXTS[number]}" for number in order[rows].tolist())

    found = []
    for some in (np.arange(240), order):
        documents = count_terms([TEXTS[number] for number in some], "words")
        targets = make_targets(LABELS[some], np.arange(3), np.ones(240), None)
        sample = draw_sample(Examples(documents, targets), 100)
        found.append((texts_of(some, sample.rows), texts_of(some, sample.rows[sample.held])))
    assert found[0] == found[1]


def test_rare_classes_are_in_the_sample_and_never_all_held_out() -> None:
    labels = np.where(np.arange(240) < 3, 0, np.where(np.arange(240) < 30, 1, 2))
    targets = make_targets(labels, np.arange(3), np.ones(240), None)
    sample = draw_sample(Examples(count_terms(TEXTS, "words"), targets), 60)
    drawn, held = labels[sample.rows], labels[sample.rows[sample.held]]
    assert np.bincount(drawn).tolist() == [3, 20, 52]
    assert np.bincount(held, minlength=3)[0] == 1
    assert (np.bincount(held, minlength=3) <= np.bincount(labels) // 2).all()


def test_short_documents_are_drawn_as_often_as_long_ones() -> None:
    random = np.random.default_rng(0)
    sizes = np.repeat([1, 2, 3, 6, 20], 4000)
    texts = [" ".join(f"w{number}" for number in random.integers(50_000, size=size)) for size in sizes]
    targets = make_targets(np.arange(20_000) % 2, np.arange(2), np.ones(20_000), None)
    sample = draw_sample(Examples(count_terms(texts, "words"), targets), 4000)
    drawn = np.bincount(sizes[sample.rows], minlength=21)[[1, 2, 3, 6, 20]]
    assert (np.abs(drawn - 800) < 120).all(), drawn


def test_copies_are_drawn_together() -> None:
    texts = [text for text in TEXTS[:80] for _ in range(3)]
    labels = np.repeat(LABELS[:80], 3)
    targets = make_targets(labels, np.arange(3), np.ones(240), None)
    sample = draw_sample(Examples(count_terms(texts, "words"), targets), 120)
    held = set(sample.rows[sample.held].tolist())
    split = [text for text in range(80) if 0 < sum(3 * text + copy in held for copy in range(3)) < 3]
    assert len(split) <= 3  # at the boundary of each class only


def test_cross_fitting_needs_documents_in_memory() -> None:
    assert fitted(model("paper", cross_fit=3), None).classes_.tolist() == NAMES.tolist()
    with pytest.raises(InputError, match="found cross_fit=3, and documents that do not fit into memory"):
        fitted(model("paper", cross_fit=3), 50)


def test_a_warm_start_begins_with_the_last_solution() -> None:
    one = fitted(model("paper", warm_start=True), None)
    before = one.decision_function(TEXTS)
    np.testing.assert_allclose(fitted(one, None).decision_function(TEXTS), before, atol=0.01)
