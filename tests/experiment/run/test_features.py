"""Profiles against the library's classifier and the author's program."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from tests.experiment.conftest import (
    plan_all,
)
from tfcr import TfcrClassifier
from tfcr.data import read_corpus
from tfcr.decision import macro_f1_of_labels
from tfcr.embeddings import Embeddings
from tfcr.experiment import (
    PAPER_SCHEMES,
    PROFILES,
    Request,
    Results,
    VectorsChoice,
    run_experiment,
)
from tfcr.experiment.plan.folds import cut_folds
from tfcr.experiment.run.features import FoldFeatures, features_by_label, heaviest_class, weigh
from tfcr.experiment.run.trial import Fold, RunFold
from tfcr.features.blocks import Block, make_blocks, weighted_counts
from tfcr.text.documents import CountedDocuments, count_terms


@pytest.mark.parametrize("head", ["svm", "lr"])
def test_equations_are_the_librarys_classifier(head: str, request_: Request, results: Results, data: Path) -> None:
    run_experiment(replace(request_, heads=(head,)), results)
    corpus = read_corpus(data)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    folds = cut_folds(labels, None, 5, 0)[:2]
    vectors = Embeddings.load(data.with_name("vectors.vec"))
    assert [cell.cell.scheme for cell in results.cells()] == list(PAPER_SCHEMES)
    for cell in results.cells():
        model = TfcrClassifier.from_preset("paper", embeddings=vectors, scheme=cell.cell.scheme, head=head)
        predicted = [model.fit(texts[train], labels[train]).predict(texts[test]) for train, test in folds]
        expected = [macro_f1_of_labels(labels[fold.test], found) for fold, found in zip(folds, predicted, strict=True)]
        assert [fold.macro_f1 for fold in cell.folds] == pytest.approx(expected, abs=1e-9), cell.cell


def author_features(
    texts: list[str], weights: dict[str, dict[str, float]] | None, classes: list[str], vectors: dict[str, np.ndarray]
) -> np.ndarray:
    """Write out, word by word, what the author's program does."""
    rows = []
    for text in texts:
        blocks = []
        for label in classes if weights is not None else ["all"]:
            total, mass = np.zeros(8), 0.0
            for word in paper_tokens(text):
                weight = float(word in vectors) if weights is None else weights.get(word, {}).get(label, 0.0)
                mass += weight
                total += weight * vectors.get(word, np.zeros(8))
            blocks.append(total / mass if mass > 0 else total)
        rows.append(np.concatenate(blocks))
    return np.array(rows)


def paper_tokens(text: str) -> list[str]:
    return "".join(c for c in text.lower() if (c.isalnum() or c.isspace())).split()


def author_weights(scheme: str, texts: list[str], labels: list[str]) -> dict[str, dict[str, float]] | None:
    """Write out the weights; `scheme` is a row of SCHEMES, on counts of documents."""
    if scheme == "none":
        return None
    documents = Counter(labels)
    df: dict[str, Counter[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        for word in set(paper_tokens(" ".join(part for part in text.split() if "://" not in part))):
            df.setdefault(word, Counter())[label] += 1
    all_df = sum(sum(counts.values()) for counts in df.values())

    def weight(word: str, label: str) -> float:
        n, of_word = df[word][label], sum(df[word].values())
        p, q = n / documents[label], of_word / len(labels)
        of_class = sum(counts[label] for counts in df.values())
        rest = (of_word - n) / (all_df - of_class)
        if scheme == "tftrr-all":
            return float((np.log(of_word) + 1) * np.log((n / of_class / rest if rest else 0) + 1.2))
        if not n:
            return 0.0
        return float(
            {
                "tfidf-class": np.log(documents[label]) / n * np.log(n + 1),
                "kld-all": max(p * np.log(p / q), 0),
                "tftrr": (np.log(n) + 1) * np.log(n / of_class / (rest or 1 / all_df) + 1.2),
                "tfcr-log": n / of_word * np.log(n + 1),
            }[scheme]
        )

    return {word: {label: weight(word, label) for label in documents} for word in df}


def liblinear_predicts(head: str, train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Predict as the author's program does; scikit-learn's liblinear takes one class against the rest only, by now."""
    if head == "svm":
        model = LinearSVC(class_weight="balanced", dual=False, tol=1e-8, max_iter=10_000).fit(train, labels)
        return np.asarray(model.predict(test))
    classes = np.unique(labels)
    scores = []
    for label in classes:
        own = labels == label
        balance = {True: len(labels) / (len(classes) * own.sum()), False: 1.0}
        one = LogisticRegression(solver="liblinear", class_weight=balance, tol=1e-8, max_iter=10_000).fit(train, own)
        scores.append(one.decision_function(test))
    return np.asarray(classes[np.argmax(scores, axis=0)])


@pytest.mark.parametrize("head", ["svm", "lr"])
@pytest.mark.parametrize("scheme", PAPER_SCHEMES)
def test_published_is_the_authors_program(
    scheme: str, head: str, request_: Request, results: Results, data: Path
) -> None:
    profile = PROFILES["published"]
    run_experiment(replace(request_, profiles=("published",), schemes=(scheme,), heads=(head,)), results)
    corpus = read_corpus(data)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    classes = sorted(set(labels.tolist()))
    loaded = Embeddings.load(data.with_name("vectors.vec"))
    vectors = {word: np.asarray(loaded[word], np.float64) for word in loaded.words}
    [cell] = results.cells()
    for fold, (train, test) in zip(cell.folds, cut_folds(labels, None, 5, 0), strict=False):
        weights = author_weights(profile.scheme(scheme), texts[train].tolist(), labels[train].tolist())
        seen, unseen = (author_features(texts[part].tolist(), weights, classes, vectors) for part in (train, test))
        predicted = liblinear_predicts(head, seen, labels[train], unseen)
        assert fold.macro_f1 == pytest.approx(f1_score(labels[test], predicted, average="macro"), abs=1e-9)


@pytest.mark.parametrize("profile", PROFILES)
def test_features_that_do_not_fit_are_not_held(profile: str, request_: Request, results: Results) -> None:
    asked = replace(request_, profiles=(profile,), heads=("svm", "lr", "ridge"))
    run_experiment(asked, results)
    expected = {(cell.cell.key, fold.fold): fold.confusion for cell in results.cells() for fold in cell.folds}
    for key, result in RunFold(tuple(plan_all(asked)), 1, max_memory=1000).work():
        differing = np.abs(result.confusion - expected[key, 1]).sum()
        assert differing <= 2, key  # the last digits differ, and one document may stand on the edge


def by_label_features(
    documents: CountedDocuments, blocks: list[Block], chosen: list[int], vectors: np.ndarray
) -> np.ndarray:
    """Write out Ko's rule, document by document."""
    rows = []
    for counts, number in zip(documents.matrix.toarray().astype(float), chosen, strict=True):
        weights = counts * blocks[number].weights
        rows.append(weights @ vectors / weights.sum() if weights.sum() else np.zeros(vectors.shape[1]))
    return np.array(rows)


def small_blocks() -> tuple[CountedDocuments, CountedDocuments, list[Block]]:
    draw = np.random.default_rng(3)
    train = count_terms(["a b b c", "a d", "c c d e", "e f", "b f"])
    test = count_terms(["a c", "b b e", "d", "unknown"], vocabulary=train.vocabulary)
    vectors = draw.normal(size=(len(train.vocabulary), 3)).astype(np.float32)
    weights = draw.uniform(0, 2, (len(train.vocabulary), 2)).astype(np.float32)
    known = np.ones(len(train.vocabulary), bool)
    return train, test, make_blocks("all", weights, vectors, ["x", "y"], "weights", known)


def test_kos_rule_weighs_by_label_and_otherwise_by_the_heaviest_class() -> None:
    train, test, blocks = small_blocks()
    labels = [0, 1, 1, 0, 1]
    seen, unseen = features_by_label(train, test, blocks, np.array(labels))
    vectors = np.asarray(blocks[0].vectors)
    sums = np.array([[float((row * block.weights).sum()) for block in blocks] for row in test.matrix.toarray()])
    heaviest = [int(row[1] > row[0]) for row in sums]
    np.testing.assert_array_equal(heaviest_class(test, blocks), heaviest)
    np.testing.assert_allclose(seen.take(np.arange(5))[:, :-1], by_label_features(train, blocks, labels, vectors), 1e-5)
    np.testing.assert_allclose(unseen[:, :-1], by_label_features(test, blocks, heaviest, vectors), 1e-5)
    assert (unseen[:, -1] == 1).all()


def test_by_kos_rule_what_words_contribute_adds_up_to_the_score() -> None:
    """For the class that was chosen, a score is a sum over words: n · weight · ⟨vector, coefficients⟩ / divisor."""
    train, test, blocks = small_blocks()
    _, unseen = features_by_label(train, test, blocks, np.array([0, 1, 1, 0, 1]))
    coefficients = np.random.default_rng(5).normal(size=(4, 2)).astype(np.float32)
    scores = unseen @ coefficients
    for row, chosen in enumerate(heaviest_class(test, blocks).tolist()):
        factors = weighted_counts(test, blocks[chosen])[[row]].toarray().ravel()
        contributions = factors[:, None] * (np.asarray(blocks[chosen].vectors) @ coefficients[:-1])
        np.testing.assert_allclose(contributions.sum(axis=0) + coefficients[-1], scores[row], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scheme", ["none", "tfidf"])
def test_kos_rule_changes_nothing_for_schemes_with_one_weight_per_word(
    scheme: str, request_: Request, results: Results
) -> None:
    ko = replace(PROFILES["ko"], schemes={**PROFILES["ko"].schemes, "tfidf": "tfidf"})
    all_blocks = replace(ko, blocks="all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROFILES, "ko", ko)
        patch.setitem(PROFILES, "published", replace(all_blocks, name="published"))
        run_experiment(replace(request_, profiles=("ko", "published"), schemes=(scheme,)), results)
        cells = results.cells()
    by_profile = {(cell.cell.profile, cell.cell.head): [fold.macro_f1 for fold in cell.folds] for cell in cells}
    for head in ("svm", "lr"):
        assert by_profile["ko", head] == by_profile["published", head]


def test_log_tf_counts_a_word_sublinearly(request_: Request, results: Results, data: Path) -> None:
    """Each document vector as printed, with 1 + log n in place of the count n."""
    planned = plan_all(replace(request_, profiles=("log-tf",), schemes=("tfidf",), heads=("lr",)))
    fold = Fold(planned[0].corpus.entry, planned[0].cell.settings, 0, planned[0].vectors, 10**9)
    profile, corpus = PROFILES["log-tf"], fold.corpus
    blocks = weigh("tfidf", fold.counts(profile), fold.word_vectors(), profile)
    found = FoldFeatures.of(corpus, fold.split, blocks, replace(profile, features="raw"), 10**9)
    [block], vectors = blocks, fold.word_vectors().vectors
    for row, counts in zip(found.test, corpus.documents.rows(fold.split.test).matrix.toarray(), strict=True):
        weights = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * block.weights
        expected = weights @ vectors / weights.sum() if weights.sum() else np.zeros(vectors.shape[1])
        np.testing.assert_allclose(row[:-1], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("length", [0.4, 3.0])
def test_vectors_of_a_length_are_as_if_the_file_had_them(
    length: float, request_: Request, results: Results, data: Path, tmp_path: Path
) -> None:
    loaded = Embeddings.load(data.with_name("vectors.vec"))
    scaled = length * loaded.vectors / np.linalg.norm(loaded.vectors, axis=1, keepdims=True)
    Embeddings.from_arrays(loaded.words, scaled).save(tmp_path / "scaled.vec")
    choices = (*request_.embeddings, VectorsChoice("scaled", str(tmp_path / "scaled.vec")))
    asked = replace(request_, embeddings=choices, profiles=("published",), schemes=("tfcr",), vector_length=length)
    run_experiment(asked, results)
    scores: dict[str, list[float]] = {}
    for cell in results.cells():
        assert cell.cell.vectors.endswith(f"dimensions, scaled to length {length:g}")
        scores.setdefault(cell.cell.head, []).extend(fold.macro_f1 for fold in cell.folds)
    for both in scores.values():
        assert both[:2] == pytest.approx(both[2:], abs=1e-6)
