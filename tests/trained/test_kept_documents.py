"""Counted documents in a model: packed, read with every check, and added to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import random_corpus
from tfcr import TfcrClassifier, TrainedModel
from tfcr.counting import count_to_keep
from tfcr.errors import DamagedError, InputError, ModelError
from tfcr.system.array_codec import Arrays
from tfcr.text.class_counts import check_targets
from tfcr.text.shards import count_shard
from tfcr.trained.kept_documents import KeptDocuments, _pack, pack_shard, read_documents, unpack_shard

TEXTS = ["so good, so good", "", "a bad film", "Ünïcode 日本 " + "word " * 300]


def kept(texts: list[str], labels: Any, **given: Any) -> KeptDocuments:
    weights = given.pop("weights", None)
    return count_to_keep(texts, check_targets(labels, len(texts)), weights, "words", bigrams=True)


@pytest.mark.parametrize("bigrams", [False, True])
def test_a_shard_is_unpacked_as_it_was(bigrams: bool) -> None:
    shard = count_shard(TEXTS, "symbols", bigrams=bigrams)
    found = unpack_shard(pack_shard(shard))
    assert found.keys() == shard.keys()
    for name, array in shard.items():
        np.testing.assert_array_equal(found[name], array)


def test_documents_are_read_as_they_were_written() -> None:
    for labels, form in ((list("abab"), "label"), ([["a"], [], ["a", "b"], ["b"]], "lists")):
        documents = kept(TEXTS, labels, weights=np.array([1, 2, 0.5, 1]))
        found = read_documents(documents.write(), documents.labels.classes, form)
        assert [shard["terms"].tolist() for shard in found.shards()] == [
            shard["terms"].tolist() for shard in documents.shards()
        ]
        assert found.weights is not None
        assert found.weights.tolist() == [1, 2, 0.5, 1]
        for one, two in zip(vars(found.labels).values(), vars(documents.labels).values(), strict=True):
            assert np.array_equal(one, two)


def test_more_documents_bring_more_classes() -> None:
    both = kept(["a"], ["x"]).plus(kept(["b", "c"], ["w", "x"], weights=np.array([1.0, 3.0])))
    assert both.labels.classes.tolist() == ["w", "x"]
    assert both.labels.numbers.tolist() == [1, 0, 1]  # type: ignore[union-attr]
    assert both.sample_weight().tolist() == [1, 1, 3]
    with pytest.raises(InputError, match="several labels per text, and a model trained on one"):
        both.plus(kept(["d"], [["x"]]))
    with pytest.raises(InputError, match="expected one type"):
        both.plus(kept(["d"], [1]))


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: change(arrays[name])}


WRONG: dict[str, tuple[Callable[[Arrays], Arrays], str]] = {
    "no terms": (lambda arrays: {key: value for key, value in arrays.items() if key != "0.terms"}, "missing"),
    "a label too many": (changed("labels", lambda old: np.append(old, old[:1])), "labels"),
    "a label that is no class": (changed("labels", lambda old: old + np.uint8(2)), "out of range"),
    "a term that is none": (changed("0.terms", lambda old: _pack(np.full(5, 40))), "terms, counts and lengths"),
    "words that do not ascend": (changed("0.words", lambda old: _pack(np.full(60, 97))), "word"),
    "a count of 0": (changed("0.counts", lambda old: _pack(np.zeros(19, np.int64))), "counts"),
    "not compressed": (changed("0.sizes", lambda old: np.array([1, 2, 3], np.uint8)), "cannot be read"),
    "an unknown type": (changed("0.sizes", lambda old: np.array([3, 2, 3], np.uint8)), "cannot be read"),
    "cut off": (changed("0.sizes", lambda old: old[:-2]), "cut off"),
    "weights of 0": (lambda arrays: {**arrays, "weights": np.zeros(4)}, "weights"),
}


@pytest.mark.parametrize("name", WRONG)
def test_damaged_documents_are_refused(name: str) -> None:
    change, message = WRONG[name]
    documents = kept(TEXTS, list("abab"))
    with pytest.raises(DamagedError, match=message):
        read_documents(change(documents.write()), documents.labels.classes, "label")


def test_a_model_keeps_documents_if_asked_to(tmp_path: Path) -> None:
    corpus = random_corpus(30)
    model = TfcrClassifier.from_preset("fast", keep_documents=True).fit(corpus.texts, corpus.labels)
    model.save(tmp_path / "m")
    assert "holds 30 training documents, counted" in (tmp_path / "m" / "README.md").read_text()
    loaded = TrainedModel.load(tmp_path / "m")
    documents = loaded.kept_documents()
    assert documents is not None
    assert len(documents) == 30
    loaded.save(tmp_path / "m", documents=False)
    assert TrainedModel.load(tmp_path / "m").kept_documents() is None
    with pytest.raises(ModelError, match="counted documents"):
        loaded.kept_documents()
