"""Labelled texts that come batch by batch."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.heads.test_sharded import LABELS, TEXTS, VECTORS
from tfcr import TfcrClassifier, counting, load
from tfcr.counting import count_batches, room_for_terms, shard_batches
from tfcr.errors import CorpusWarning, InputError
from tfcr.heads import large
from tfcr.system.places import MemoryPlaces
from tfcr.trained.seen import TrainingTexts

NAMES = np.array(["neg", "none", "pos"])[LABELS].tolist()


class Batches:
    """Batches of a size, as often as they are asked for."""

    def __init__(self, size: int, labels: Any = None) -> None:
        self.size, self.labels = size, NAMES if labels is None else labels

    def __iter__(self) -> Iterator[tuple[list[str], list[Any]]]:
        for start in range(0, len(TEXTS), self.size):
            yield TEXTS[start : start + self.size], self.labels[start : start + self.size]


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SHARD_DOCUMENTS", 64)
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 150)
    monkeypatch.setattr(large, "HELD_OUT", 60)


@pytest.mark.parametrize("size", [1, 37, 500])
def test_batches_become_shards_of_one_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SHARD_DOCUMENTS", 64)
    found = list(shard_batches(Batches(size)))
    assert [len(texts) for texts, *_ in found] == [64, 64, 64, 48]
    assert [text for texts, *_ in found for text in texts] == TEXTS
    assert [label for _, labels, _ in found for label in labels] == NAMES
    assert all((weights == 1).all() for *_, weights in found)
    monkeypatch.setattr(counting, "SHARD_CHARACTERS", 1)
    assert len(list(shard_batches(Batches(size)))) == len(TEXTS)


@pytest.mark.usefixtures("small_shards")
def test_texts_of_batches_have_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [0.0] * 40 + [float(number % 3) for number in range(len(TEXTS) - 40)]
    batches = [
        (TEXTS[start : start + 40], NAMES[start : start + 40], weights[start : start + 40])
        for start in range(0, len(TEXTS), 40)
    ]
    whole = TfcrClassifier.from_preset("fast", C=1.0).fit(TEXTS, NAMES, weights)
    found = TfcrClassifier.from_preset("fast", C=1.0, keep_documents=True).fit_batches(batches)
    assert found.counts_ == whole.counts_
    np.testing.assert_allclose(found.decision_function(TEXTS), whole.decision_function(TEXTS), atol=0.02)
    kept = found.model_.kept_documents()
    assert kept is not None
    assert kept.sample_weight().tolist() == [weight for weight in weights if weight]
    with pytest.raises(InputError, match=r"found sample_weight of shape \(1,\); expected \(2,\)"):
        found.fit_batches([(["a", "b"], ["x", "y"], [1.0])])


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("preset", ["fast", "best", "paper"])
def test_fitting_batches_is_fitting_all_at_once(preset: str) -> None:
    given: dict[str, Any] = {} if preset == "fast" else {"embeddings": VECTORS}
    whole = TfcrClassifier.from_preset(preset, **given).fit(TEXTS, NAMES)
    found = TfcrClassifier.from_preset(preset, **given).fit_batches(Batches(50))
    assert found.classes_.tolist() == ["neg", "none", "pos"]
    scores = np.sort(whole.decision_function(TEXTS), axis=1)
    sure = scores[:, -1] - scores[:, -2] > 0.01
    assert (whole.predict(TEXTS) == found.predict(TEXTS))[sure].all()
    assert found.counts_ == whole.counts_
    seen = found.model_.seen
    assert isinstance(seen, TrainingTexts)
    assert seen.count(TEXTS).texts == len(TEXTS)


@pytest.mark.usefixtures("small_shards")
def test_word2vec_is_trained_on_the_texts_of_all_batches(tmp_path: Any) -> None:
    found = TfcrClassifier.from_preset("paper", dimensions=5, random_state=0).fit_batches(Batches(100))
    whole = TfcrClassifier.from_preset("paper", dimensions=5, random_state=0).fit(TEXTS, NAMES)
    np.testing.assert_allclose(found.decision_function(TEXTS[:20]), whole.decision_function(TEXTS[:20]), atol=0.05)
    found.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(TEXTS[:5]).tolist() == found.predict(TEXTS[:5]).tolist()


@pytest.mark.usefixtures("small_shards")
def test_several_labels_come_as_lists() -> None:
    sets = [["a"] if label == 0 else ["b", "c"] for label in LABELS]
    found = TfcrClassifier.from_preset("fast").fit_batches(Batches(50, sets))
    assert found.predict(TEXTS[:1]) in ([["a"]], [["b", "c"]])


def test_terms_without_room_are_left_out_and_named() -> None:
    counted = count_batches(Batches(50), MemoryPlaces(), "words", bigrams=True, max_memory=30_000)
    room = room_for_terms(30_000, len(counted.labels), 3)
    assert 0 < len(counted.documents.vocabulary) * room.each <= room.bytes
    assert "terms or more, and less room for them" in counted.notes[0]
    with pytest.warns(CorpusWarning, match="are left out"):
        TfcrClassifier.from_preset("best", embeddings=None, max_memory=30_000).fit_batches(Batches(50))


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "found no documents"),
        ([(["a"], ["x"]), (["b"], ["x"])], "found one class only, 'x'"),
        ([(["a", "b"], ["x"])], "found 2 texts and 1 labels"),
        ([(["a", 3], ["x", "y"])], "text number 1"),
        ([(["a"], ["x"]), (["b"], [1])], "type"),
    ],
)
def test_wrong_batches_are_refused(batches: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TfcrClassifier.from_preset("fast").fit_batches(batches)
