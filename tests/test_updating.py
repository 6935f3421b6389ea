"""TfcrClassifier.update equals training at once; partial_fit learns on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import random_corpus, random_vectors
from tfcr import Embeddings, TfcrClassifier, load
from tfcr.errors import InputError

CORPUS = random_corpus(240, 4)
VECTORS = random_vectors(CORPUS)
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {},
    "best": {"embeddings": VECTORS},
    "paper": {"embeddings": VECTORS, "tokenizer": "words"},
}


def documents(*, several: bool) -> tuple[list[str], list[Any]]:
    """Return texts and labels; class 3 is in none of the first 90, and class 2 gets a label more at times."""
    later = [number for number in range(240) if CORPUS.labels[number] == "class 3"]
    order = [number for number in range(240) if number not in later]
    order = [*order[:90], *later, *order[90:]]
    labels = [CORPUS.labels[number] for number in order]
    extra = [[label, "odd"] if label == "class 2" else [label] for label in labels]
    return [CORPUS.texts[number] for number in order], extra if several else labels


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("preset", PRESETS)
def test_updates_equal_training_at_once(preset: str, several: bool, tmp_path: Path) -> None:
    texts, labels = documents(several=several)
    VECTORS.save(tmp_path / "v.vec")
    given = {"random_state": 0, **PRESETS[preset]}
    given |= {"embeddings": str(tmp_path / "v.vec")} if "embeddings" in given else {}
    whole = TfcrClassifier.from_preset(preset, **given).fit(texts, labels)
    model = TfcrClassifier.from_preset(preset, keep_documents=True, **given).fit(texts[:90], labels[:90])
    for part in (slice(90, 150), slice(150, None)):
        model.save(tmp_path / "m")
        model = load(tmp_path / "m").update(texts[part], labels[part])
    assert model.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(model.decision_function(texts), whole.decision_function(texts), atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(texts), whole.predict_proba(texts), atol=1e-4)
    assert any("class 3" in label for label in model.predict(texts))
    assert model.training_["documents"] == 240
    assert model.counts_ == whole.counts_
    seen = model.model_.training_texts()
    assert seen is not None
    assert seen.distinct == len(set(texts))


def test_weights_are_kept() -> None:
    texts, labels = documents(several=False)
    weights = np.linspace(0.5, 2, 240)
    weights[3] = 0
    whole = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels, weights)
    model = TfcrClassifier.from_preset("fast", random_state=0, keep_documents=True)
    model.fit(texts[:90], labels[:90], weights[:90]).update(texts[90:], labels[90:], weights[90:])
    np.testing.assert_allclose(model.decision_function(texts), whole.decision_function(texts), atol=1e-4)


def test_documents_of_batches_are_kept() -> None:
    texts, labels = documents(several=False)
    one = TfcrClassifier.from_preset("fast", keep_documents=True).fit_batches([(texts[:90], labels[:90])])
    two = TfcrClassifier.from_preset("fast", keep_documents=True).fit(texts[:90], labels[:90])
    for model in (one, two):
        model.update(texts[90:], labels[90:])
    np.testing.assert_allclose(one.decision_function(texts), two.decision_function(texts), atol=1e-4)


def test_what_cannot_be_updated_is_refused() -> None:
    texts, labels = documents(several=False)
    model = TfcrClassifier.from_preset("fast").fit(texts, labels)
    with pytest.raises(InputError, match="keeps no documents.*partial_fit"):
        model.update(texts, labels)
    for embeddings in ("w2v", "wglove-50+w2v"):
        with pytest.raises(InputError, match="tfcr embeddings train"):
            TfcrClassifier(embeddings=embeddings, keep_documents=True).fit(texts, labels)
    model = TfcrClassifier.from_preset("fast", keep_documents=True).fit(texts, labels)
    with pytest.raises(InputError, match="expected one type"):
        model.update(["a"], [1])
    with pytest.raises(InputError, match="expected labels as it was trained on"):
        model.update(["a"], [["class 1"]])
    with pytest.raises(InputError, match="kept documents counted by 'symbols' without bigrams"):
        model.set_params(parts=("bigrams",)).update(texts, labels)
    with pytest.raises(InputError, match="tokenizer 'words'"):
        model.set_params(parts=("words",), tokenizer="words").update(texts, labels)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("preset", PRESETS)
def test_partial_fit_learns_new_words_and_classes(preset: str, several: bool) -> None:
    texts, labels = documents(several=several)
    model = TfcrClassifier.from_preset(preset, random_state=0, **PRESETS[preset])
    model.partial_fit(texts[:90], labels[:90])
    first = model.predict(texts[:90])
    for part in (slice(90, 160), slice(160, None)):
        model.partial_fit([f"{text} brandnew" for text in texts[part]], labels[part])
    assert "class 3" in model.classes_.tolist()
    assert "brandnew" in model.table_.vocabulary.word_numbers
    right = [found == label for found, label in zip(model.predict(texts), labels, strict=True)]
    assert np.mean(right) > 0.9
    kept = [one == two for one, two in zip(model.predict(texts[:90]), first, strict=True)]
    assert np.mean(kept) > 0.9
    assert model.training_["documents"] == 240
    assert model.counts_ is not None
    assert model.counts_.n_documents == 240
    explained = model.explain(texts[5])
    assert explained is not None


def test_two_classes_become_three(tmp_path: Path) -> None:
    texts, labels = documents(several=False)
    two = [number for number in range(90) if labels[number] != "class 2"]
    model = TfcrClassifier.from_preset("fast", random_state=0)
    model.fit([texts[number] for number in two], [labels[number] for number in two])
    before = model.predict_proba(texts[:90])
    model.partial_fit(texts[:90], labels[:90])
    assert model.predict_proba(texts).shape == (240, 3)
    assert np.mean(model.predict(texts[:90]) == np.array(labels[:90])) > 0.9
    assert before.shape == (90, 2)
    model.save(tmp_path / "m")
    np.testing.assert_allclose(load(tmp_path / "m").predict_proba(texts), model.predict_proba(texts), atol=1e-6)


def test_without_counts_a_new_class_is_refused(tmp_path: Path) -> None:
    texts, labels = documents(several=False)
    TfcrClassifier.from_preset("fast").fit(texts[:90], labels[:90]).save(tmp_path / "m", counts=False)
    model = load(tmp_path / "m").partial_fit(texts[:20], labels[:20])
    with pytest.raises(InputError, match="new class 'class 3'"):
        model.partial_fit(texts[90:], labels[90:])
    with pytest.raises(InputError, match="expected one of classes="):
        model.partial_fit(["a"], ["x"], classes=["class 1"])


@pytest.mark.parametrize("class_weight", ["balanced", None])
def test_partial_fit_begins_with_one_class_if_the_others_are_named(class_weight: str | None) -> None:
    texts = [f"{word} {number}" for number in range(8) for word in ("good", "bad", "so")]
    labels = ["pos", "neg", "none"] * 8
    model = TfcrClassifier.from_preset("fast", class_weight=class_weight)
    model.partial_fit(texts[::3], labels[::3], classes=["pos", "neg", "none"])
    assert model.classes_.tolist() == ["neg", "none", "pos"]
    assert set(model.predict(texts)) == {"pos"}
    assert model.class_weight == model.model_.settings["class_weight"] == class_weight
    model.partial_fit(texts[1::3], labels[1::3])
    assert set(model.predict(texts)) == {"pos", "neg"}
    model.partial_fit(texts[2::3], labels[2::3])
    np.testing.assert_array_equal(model.predict(texts), labels)
    assert model._held is None
    with pytest.raises(InputError, match="one class only"):
        TfcrClassifier.from_preset("fast").partial_fit(texts[::3], labels[::3])


def test_partial_fit_knows_classes_that_no_text_has_among_several() -> None:
    texts = [f"{word} {number}" for number in range(8) for word in ("good", "bad", "so")]
    labels = [["pos"], ["neg"], []] * 8
    model = TfcrClassifier.from_preset("fast").partial_fit(texts, labels, classes=["pos", "neg", "rare"])
    assert model.classes_.tolist() == ["neg", "pos", "rare"]
    assert not any("rare" in found for found in model.predict(texts))


def test_partial_fit_keeps_documents_for_an_update() -> None:
    texts, labels = documents(several=False)
    model = TfcrClassifier.from_preset("fast", random_state=0, keep_documents=True).fit(texts[:90], labels[:90])
    model.partial_fit(texts[90:150], labels[90:150]).update(texts[150:], labels[150:])
    whole = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels)
    np.testing.assert_allclose(model.decision_function(texts), whole.decision_function(texts), atol=1e-4)


def test_own_vectors_can_be_those_of_the_texts() -> None:
    texts, labels = documents(several=False)
    vectors = Embeddings.train(texts * 3, dimensions=5)
    model = TfcrClassifier.from_preset("paper", embeddings=vectors, tokenizer="words", keep_documents=True)
    model.fit(texts[:90], labels[:90])
    assert len(model.update(texts[90:], labels[90:]).classes_) == 4
