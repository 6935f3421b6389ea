"""TfcrClassifier: the contract of a text classifier that scikit-learn's own checks do not cover."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import (
    PRESETS,
    SCHEMES,
    ClassCounts,
    Embeddings,
    TfcrClassifier,
    WeightedEmbeddingVectorizer,
    load,
)
from tfcr.data import Corpus
from tfcr.errors import InputError, UnknownNameError
from tfcr.features.blocks import AVERAGINGS, BLOCKS, empty_blocks
from tfcr.heads import HEADS
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS


def fitted(corpus: Corpus, vectors: Embeddings, **parameters: Any) -> TfcrClassifier:
    return plain_classifier(embeddings=vectors, **parameters).fit(corpus.texts, corpus.labels)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_table_scores_as_features_times_coefficients(
    head: str, blocks: str, averaging: str, n_classes: int
) -> None:
    corpus = random_corpus(n_classes=n_classes)
    vectors = random_vectors(corpus)
    model = fitted(corpus, vectors, head=head, blocks=blocks, averaging=averaging)
    vectorizer = WeightedEmbeddingVectorizer(embeddings=vectors, blocks=blocks, averaging=averaging)
    vectorizer.fit(corpus.texts, corpus.labels)
    # the same head once more, with nothing collapsed
    from tfcr.heads import Examples, fit_head, make_targets, resolve_head

    targets = make_targets(np.array(corpus.labels), model.classes_, np.ones(len(corpus)), "balanced")
    documents = count_terms(corpus.texts, vocabulary=vectorizer.vocabulary_)
    parts = fit_head(resolve_head(head, C=1.0), Examples(documents, targets), vectorizer.blocks_)
    tests = [*corpus.texts[:20], "", "unknown words only", "w0_1", "common1 unknown w1_2 w1_2"]
    centred = vectorizer.transform(tests) - parts.means
    empty = empty_blocks(count_terms(tests, vocabulary=vectorizer.vocabulary_), vectorizer.blocks_)
    centred[np.repeat(empty, [block.dimensions for block in vectorizer.blocks_], axis=1)] = 0
    expected = centred @ parts.coefficients + parts.intercepts
    scores = model.decision_function(tests)
    assert scores.shape == ((24,) if n_classes == 2 else (24, n_classes))
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_explanations_add_up(blocks: str, averaging: str, n_classes: int) -> None:
    corpus = random_corpus(n_classes=n_classes)
    model = fitted(corpus, random_vectors(corpus), blocks=blocks, averaging=averaging)
    for text in [*corpus.texts[:10], "", "w0_1 unknown Common1, common1"]:
        explanation = model.explain(text)
        total = explanation.baseline + sum(word.contributions for word in explanation.words)
        np.testing.assert_allclose(total, explanation.scores, atol=1e-5)
        decision = np.atleast_1d(model.decision_function([text])[0])
        np.testing.assert_allclose(explanation.scores[-len(decision) :], decision, atol=1e-5)
        assert explanation.label == model.predict([text])[0]


def test_an_explanation_shows_words_counts_and_places(corpus: Corpus, vectors: Embeddings) -> None:
    model = fitted(corpus, vectors)
    explanation = model.explain("W0_1, strange common1 w0_1!")
    found = {word.word: (word.count, word.spans) for word in explanation.words}
    assert found == {"w0_1": (2, ((0, 4), (22, 26))), "common1": (1, ((14, 21),))}
    assert explanation.unknown == ("strange",)
    assert explanation.label == "class 0"
    assert list(explanation.contributions()) == [word.word for word in explanation.words]
    assert explanation.contributions("class 1")["w0_1"] < explanation.contributions("class 0")["w0_1"]
    shown = str(explanation)
    assert shown.startswith("class 0  +")
    assert "not known: strange" in shown
    with pytest.raises(InputError, match="unknown class 'class 7'; known: class 0, class 1, class 2"):
        explanation.contributions("class 7")
    with pytest.raises(InputError, match="found list; expected one text"):
        model.explain(["a text"])  # type: ignore[arg-type]


def test_a_word_alone_speaks_for_its_class() -> None:
    """A short text holds no word of most classes: their empty blocks must not decide."""
    corpus = random_corpus(300)
    model = plain_classifier(dimensions=10, random_state=0).fit(corpus.texts, corpus.labels)
    own = [f"w{label}_{word}" for label in range(3) for word in range(6)]
    assert model.predict(own).tolist() == [f"class {label}" for label in range(3) for _ in range(6)]


def test_two_classes_show_both_signs(vectors: Embeddings) -> None:
    corpus = random_corpus(n_classes=2)
    explanation = fitted(corpus, vectors).explain("w0_1 w0_2")
    assert explanation.scores[0] == -explanation.scores[1]
    assert explanation.words[0].contributions[0] == -explanation.words[0].contributions[1]


def test_top_words_are_those_of_the_class(corpus: Corpus, vectors: Embeddings) -> None:
    top = fitted(corpus, vectors).top_words(3)
    assert list(top) == ["class 0", "class 1", "class 2"]
    for number, words in enumerate(top.values()):
        assert words[0][0].startswith(f"w{number}_")
        assert [score for _, score in words] == sorted((score for _, score in words), reverse=True)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_with_every_head(scheme: str, head: str, corpus: Corpus, vectors: Embeddings) -> None:
    model = fitted(corpus, vectors, scheme=scheme, head=head)
    # most words of this corpus occur in one class alone, where `tftrr-all` is neutral
    weak = {"none": 0.6, "tfidf": 0.6, "tfidf-class": 0.6, "tftrr-all": 0.5}
    assert model.score(corpus.texts, corpus.labels) > weak.get(scheme, 0.9)
    probabilities = model.predict_proba(corpus.texts)
    assert probabilities.shape == (120, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(corpus.texts))


@pytest.mark.parametrize("head", [LogisticRegression(), LinearSVC()])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_a_scikit_learn_head(head: Any, blocks: str, corpus: Corpus, vectors: Embeddings) -> None:
    model = fitted(corpus, vectors, head=head, blocks=blocks)
    assert model.score(corpus.texts, corpus.labels) > 0.9
    if blocks == "all":
        pipeline = make_pipeline(WeightedEmbeddingVectorizer(embeddings=vectors), clone(head))
        pipeline.fit(corpus.texts, corpus.labels)
        assert (pipeline.predict(corpus.texts) == model.predict(corpus.texts)).mean() > 0.9


def test_probabilities_of_a_logistic_head_are_its_own() -> None:
    corpus = random_corpus(n_classes=2)
    vectors = random_vectors(corpus)
    model = fitted(corpus, vectors, head=LogisticRegression(C=1.0))
    scores = model.decision_function(corpus.texts)
    np.testing.assert_allclose(model.predict_proba(corpus.texts)[:, 1], 1 / (1 + np.exp(-scores)))


@pytest.mark.parametrize(
    "labels",
    [["spam", "ham"], [7, -3], [True, False], [0.5, 1.5], np.array(["spam", "ham"], dtype=object)],
)
def test_label_types_are_kept(labels: Any, vectors: Embeddings, tmp_path: Path) -> None:
    corpus = random_corpus(n_classes=2)
    targets = [labels[number % 2] for number in range(len(corpus))]
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, targets)
    predicted = model.predict(corpus.texts[:4])
    assert predicted.tolist() == [labels[0], labels[1]] * 2
    assert type(predicted.tolist()[0]) is type(targets[0])
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(corpus.texts[:4]).tolist() == predicted.tolist()


def test_containers_of_texts_and_labels(corpus: Corpus, vectors: Embeddings) -> None:
    import pandas
    import polars

    expected = fitted(corpus, vectors).decision_function(corpus.texts)
    for texts, labels in [
        (tuple(corpus.texts), tuple(corpus.labels)),
        (np.array(corpus.texts), np.array(corpus.labels)),
        (pandas.Series(corpus.texts), pandas.Series(corpus.labels)),
        (pandas.Series(corpus.texts), pandas.Series(corpus.labels).astype("category")),
        (polars.Series(corpus.texts), polars.Series(corpus.labels)),
    ]:
        model = plain_classifier(embeddings=vectors).fit(texts, labels)
        np.testing.assert_array_equal(model.decision_function(texts), expected)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_weight_zero_removes_and_two_repeats(head: str, blocks: str, corpus: Corpus, vectors: Embeddings) -> None:
    weights = [0] * 10 + [2] * 20 + [1] * 90
    rows = np.repeat(np.arange(120), weights)
    settings: dict[str, Any] = {"embeddings": vectors, "head": head, "blocks": blocks}
    weighted = plain_classifier(**settings).fit(corpus.texts, corpus.labels, sample_weight=weights)
    repeated = plain_classifier(**settings).fit(
        [corpus.texts[row] for row in rows], [corpus.labels[row] for row in rows]
    )
    assert weighted.counts_ is not None
    assert weighted.counts_.at_least(1) == repeated.counts_
    np.testing.assert_allclose(
        weighted.decision_function(corpus.texts), repeated.decision_function(corpus.texts), atol=5e-3
    )


def test_class_weight_moves_the_border(corpus: Corpus, vectors: Embeddings) -> None:
    plain = fitted(corpus, vectors, class_weight=None, C=0.01).predict(corpus.texts)
    heavy = fitted(corpus, vectors, class_weight={"class 0": 50}, C=0.01).predict(corpus.texts)
    assert (heavy == "class 0").sum() > (plain == "class 0").sum()


def test_pickling_and_cloning(corpus: Corpus, vectors: Embeddings) -> None:
    model = fitted(corpus, vectors)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(corpus.texts), model.decision_function(corpus.texts))
    assert clone(model).embeddings is vectors
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "table_")


def test_grid_search_and_cross_validation(corpus: Corpus, vectors: Embeddings) -> None:
    search = GridSearchCV(plain_classifier(embeddings=vectors), {"scheme": ["none", "tfcr"], "C": [0.1, 1]}, cv=2)
    assert search.fit(corpus.texts, corpus.labels).best_params_["scheme"] == "tfcr"
    serial = cross_val_score(plain_classifier(embeddings=vectors), corpus.texts, corpus.labels, cv=3)
    parallel = cross_val_score(plain_classifier(embeddings=vectors), corpus.texts, corpus.labels, cv=3, n_jobs=2)
    np.testing.assert_array_equal(serial, parallel)


def test_in_domain_vectors_are_the_default_and_repeatable() -> None:
    corpus = random_corpus(200)
    models = [
        plain_classifier(dimensions=10, random_state=seed, unlabelled=["common1 more text"] * 5).fit(
            corpus.texts, corpus.labels
        )
        for seed in (3, 3, 4)
    ]
    scores = [model.decision_function(corpus.texts) for model in models]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert models[0].training_["embeddings"] == "w2v"
    assert models[0].score(corpus.texts, corpus.labels) > 0.9


def test_a_seed_may_be_a_number_of_numpy(tmp_path: Path) -> None:
    corpus = random_corpus(60)
    seeds: list[Any] = [3, np.int64(3), 0]
    models = [plain_classifier(parts=["words", "bigrams"], embeddings=None, random_state=seed) for seed in seeds]
    weights = [model.fit(corpus.texts, corpus.labels).part_weights_ for model in models]
    assert weights[0] == weights[1] != weights[2]
    models[1].save(tmp_path / "model")
    assert load(tmp_path / "model").random_state == 3


def test_presets() -> None:
    for name, parameters in PRESETS.items():
        model = TfcrClassifier.from_preset(name, C=3)
        assert model.get_params() == {**TfcrClassifier().get_params(), **parameters, "C": 3}
    with pytest.raises(UnknownNameError, match="unknown preset 'papers'; known: paper"):
        TfcrClassifier.from_preset("papers")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": "x"}, "found C='x'; expected a number from 1e-09 to 1e\\+09"),
        ({"min_count": "a"}, "found min_count='a'; expected a number"),
        ({"class_weight": dict.fromkeys(("class 0", "class 1", "class 2"), 0)}, "expected some above 0"),
        ({"scheme": "tf"}, "unknown scheme 'tf'; known: none"),
        ({"head": "forest"}, "unknown head 'forest'; known: lr, svm, ridge"),
        ({"tokenizer": "letters"}, "unknown tokenizer 'letters'; known: paper"),
        ({"averaging": "mean"}, "unknown averaging 'mean'"),
        ({"blocks": "none"}, "unknown blocks 'none'"),
        ({"C": 0}, "found C=0; expected a number from 1e-09 to 1e\\+09"),
        ({"random_state": -1}, "found random_state=-1; expected a whole number from 0"),
        ({"random_state": np.int64(-1)}, r"found random_state=.*-1.*; expected a whole number from 0"),
        ({"random_state": 2**32}, "found random_state=4294967296; expected a whole number from 0"),
        ({"random_state": "one"}, "found random_state='one'; expected a whole number from 0"),
        ({"class_weight": {"class 7": 2}}, "found class_weight for 'class 7'"),
        ({"min_count": 10_000}, "found no word that occurs 10000 times"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str, corpus: Corpus, vectors: Embeddings) -> None:
    with pytest.raises(InputError, match=message):
        fitted(corpus, vectors, **parameters)


def test_bad_data(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors)
    with pytest.raises(InputError, match="found one class only, 'x'; expected documents of at least two classes"):
        model.fit(["a", "b"], ["x", "x"])
    with pytest.raises(InputError, match="found no documents"):
        model.fit([], [])
    with pytest.raises(InputError, match="found a single string"):
        model.fit("a text", ["x"])
    with pytest.raises(InputError, match="found a single string"):
        fitted(corpus, vectors).predict("a text")
    with pytest.raises(InputError, match="text number 1"):
        fitted(corpus, vectors).predict(["a", 3])  # type: ignore[list-item]


def test_bad_parameters_are_refused_before_any_long_work(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Embeddings, "train", lambda *args, **kwargs: pytest.fail("trained before checking"))
    wrongs: list[dict[str, Any]] = [{name: "x"} for name in ("averaging", "blocks", "class_weight", "scheme", "head")]
    wrongs += [{"C": 0}, {"random_state": -1}]
    for wrong in wrongs:
        with pytest.raises(InputError):
            plain_classifier(**wrong).fit(corpus.texts, corpus.labels)


def test_fractional_weights(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, corpus.labels, sample_weight=np.full(120, 0.4))
    assert model.score(corpus.texts, corpus.labels) > 0.9


def test_predicting_before_fitting() -> None:
    from sklearn.exceptions import NotFittedError

    for call in ("predict", "predict_proba", "decision_function", "explain"):
        with pytest.raises(NotFittedError):
            getattr(plain_classifier(), call)(["a"])
    with pytest.raises(NotFittedError):
        plain_classifier().top_words()


def test_callables_in_place_of_names(corpus: Corpus, vectors: Embeddings) -> None:
    def own_scheme(counts: ClassCounts) -> np.ndarray:
        return np.asarray(SCHEMES["tfcr"](counts) * 2)

    own = fitted(corpus, vectors, scheme=own_scheme, tokenizer=str.split)
    named = fitted(corpus, vectors, scheme="tfcr")
    np.testing.assert_allclose(
        own.decision_function(corpus.texts), named.decision_function(corpus.texts), rtol=1e-4, atol=1e-5
    )


def test_gensim_is_imported_only_to_train() -> None:
    code = "import sys, tfcr; print('gensim' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_class_of_one_document_is_learned() -> None:
    corpus = random_corpus(60)
    texts, labels = [*corpus.texts, "lonely words alone"], [*corpus.labels, "one"]
    vectors = random_vectors(Corpus(texts, labels), 5)
    model = plain_classifier(parts=["words", "vectors"], embeddings=vectors, blocks="own").fit(texts, labels)
    assert model.predict(["lonely words alone"]).tolist() == ["one"]


def test_a_warm_start_finds_the_same_model() -> None:
    corpus = random_corpus(n_classes=3)
    vectors = random_vectors(corpus)
    warm = fitted(corpus, vectors, C=1.0, warm_start=True).set_params(C=10.0).fit(corpus.texts, corpus.labels)
    cold = fitted(corpus, vectors, C=10.0)
    expected = cold.decision_function(corpus.texts)
    np.testing.assert_allclose(warm.decision_function(corpus.texts), expected, atol=0.02 * abs(expected).max())
    two = [label for label in corpus.labels if label != corpus.labels[0]]
    texts = [text for text, label in zip(corpus.texts, corpus.labels, strict=True) if label != corpus.labels[0]]
    assert len(warm.fit(texts, two).classes_) == 2  # other classes: nothing to start from


def test_a_model_is_copied_without_what_can_be_made_again() -> None:
    corpus = random_corpus(n_classes=3)
    model = fitted(corpus, random_vectors(corpus))
    before = len(pickle.dumps(model))
    model.table_.native.score_texts(corpus.texts, TOKENIZERS["words"])
    assert len(pickle.dumps(model)) == before
    assert len(model.table_.vocabulary) == len(pickle.loads(pickle.dumps(model)).table_.vocabulary)
