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
    run_experiment,
)
from tfcr.experiment.plan.folds import cut_folds
from tfcr.experiment.run.trial import RunFold


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
        rest = (of_word - n) / (all_df - of_class) or 1 / all_df
        return float(
            {
                "tfidf": np.log(documents[label]) / n * np.log(n + 1),
                "kld": max(p * np.log(p / q), 0),
                "tftrr": (np.log(n) + 1) * np.log(n / of_class / rest + 1.2),
                "tfcr": n / of_word * np.log(n + 1),
            }[scheme]
        )

    return {word: {label: weight(word, label) for label in counts} for word, counts in df.items()}


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
    run_experiment(replace(request_, profiles=("published",), schemes=(scheme,), heads=(head,)), results)
    corpus = read_corpus(data)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    classes = sorted(set(labels.tolist()))
    loaded = Embeddings.load(data.with_name("vectors.vec"))
    vectors = {word: np.asarray(loaded[word], np.float64) for word in loaded.words}
    [cell] = results.cells()
    for fold, (train, test) in zip(cell.folds, cut_folds(labels, None, 5, 0), strict=False):
        weights = author_weights(scheme, texts[train].tolist(), labels[train].tolist())
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
