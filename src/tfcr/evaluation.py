"""How good a classifier is: cross-validation, and scores of a trained model on labelled texts."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import precision_recall_fscore_support
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from tfcr.classifier import TfcrClassifier
from tfcr.data import Corpus
from tfcr.data.labels import spelling_key
from tfcr.decision import macro_f1_of_labels
from tfcr.embeddings import Embeddings, embeddings_key
from tfcr.errors import InputError
from tfcr.features.checks import check_classes
from tfcr.system.progress import Progress
from tfcr.text.class_counts import check_labels
from tfcr.text.documents import CountedDocuments
from tfcr.trained.model import TrainedModel
from tfcr.trained.seen import Seen


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class, and its number of documents."""

    label: Any
    precision: float
    recall: float
    f1: float
    documents: int


@dataclass(frozen=True)
class Evaluation:
    """What a classifier predicted for texts that it was not trained on.

    Attributes
    ----------
    labels, predicted
        For each document.
    probabilities
        Of the predicted class, for each document.
    folds
        The fold that each document was tested in; all 0 without cross-validation.
    fold_scores
        Macro-F1 of each fold.
    seen
        How many of the texts the model was trained on; None if it does not know, or after cross-validation.
    """

    labels: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: NDArray[np.float64]
    folds: NDArray[np.int64]
    fold_scores: tuple[float, ...]
    seen: Seen | None = None

    @property
    def macro_f1(self) -> float:
        """The mean over folds, the headline."""
        return float(np.mean(self.fold_scores))

    @property
    def std(self) -> float:
        """The standard deviation over folds."""
        return float(np.std(self.fold_scores))

    @property
    def pooled_macro_f1(self) -> float:
        """Macro-F1 of all predictions taken together."""
        return macro_f1_of_labels(self.labels, self.predicted)

    @property
    def accuracy(self) -> float:
        """The fraction of documents with the right label."""
        return float(np.mean(self.labels == self.predicted))

    def per_class(self) -> list[ClassScore]:
        """Return precision, recall and F1 of each class, all predictions taken together."""
        classes = np.unique(self.labels)
        columns = precision_recall_fscore_support(self.labels, self.predicted, labels=classes, zero_division=0)
        rows = zip(classes.tolist(), *(column.tolist() for column in columns), strict=True)
        return [ClassScore(label, p, r, f1, int(n)) for label, p, r, f1, n in rows]


@dataclass(frozen=True)
class FoldPlan:
    """A corpus that can be split into this many folds, and notes on what was changed for it."""

    corpus: Corpus
    folds: int
    notes: tuple[str, ...] = ()


def plan_folds(corpus: Corpus, folds: int, *, min_class_size: int = 0) -> FoldPlan:
    """Make folds possible: leave out classes that are too small, or use fewer folds.

    Parameters
    ----------
    corpus
        Labelled texts.
    folds
        As many as asked for.
    min_class_size
        Classes with fewer documents are left out. Those with a single document always are: they cannot be both trained
        and tested on.
    """
    if folds < 2:
        raise InputError(f"found {folds} folds; expected at least 2")
    notes = []
    sizes = Counter(corpus.labels)
    given = corpus
    small = {label: size for label, size in sizes.items() if size < max(min_class_size, 2)}
    if small:
        shown = ", ".join(f"{label} ({size})" for label, size in list(small.items())[:5]) + (
            "…" if len(small) > 5 else ""
        )
        notes.append(f"{len(small)} classes with fewer than {max(min_class_size, 2)} documents are left out: {shown}")
        corpus = _without(corpus, set(small))
    sizes = Counter(corpus.labels)
    if len(sizes) < 2:
        raise InputError(
            f"found {len(sizes)} class{'es' if len(sizes) != 1 else ''} with enough documents, {_largest(given)}; "
            "expected at least two: is --label the right column?"
        )
    rarest = min(sizes, key=lambda label: sizes[label])
    if sizes[rarest] < folds:
        notes.append(
            f"the class {rarest!r} has {sizes[rarest]} documents: {sizes[rarest]} folds instead of {folds} "
            f"(--min-class-size {folds} leaves such classes out instead)"
        )
        folds = sizes[rarest]
    return FoldPlan(corpus, folds, tuple(notes))


def _largest(corpus: Corpus) -> str:
    label, size = Counter(corpus.labels).most_common(1)[0]
    return f"the largest of {len(set(corpus.labels))} being {label!r} with {size}"


def _without(corpus: Corpus, labels: set[Any]) -> Corpus:
    return corpus.take([number for number, label in enumerate(corpus.labels) if label not in labels])


@dataclass(frozen=True)
class Prepared:
    """Counted documents and vectors, which all folds share; `needs` is what they depend on."""

    documents: CountedDocuments
    labels: NDArray[Any]
    embeddings: Embeddings | None
    needs: Hashable


def prepare(model: TfcrClassifier, corpus: Corpus, progress: Progress | None = None) -> Prepared:
    """Count the words and load or train the vectors once.

    In-domain word2vec sees the texts of all folds, without their labels, as in the paper.
    """
    labels = check_labels(corpus.labels, len(corpus))
    model.check_parameters()
    documents = model.count(corpus.texts)
    return Prepared(documents, labels, model.load_embeddings(corpus.texts, progress), _needs(model))


def cross_validate(
    model: TfcrClassifier, corpus: Corpus, *, folds: int = 10, seed: int = 0, progress: Progress | None = None
) -> Evaluation:
    """Test on each fold after training on the others.

    Folds are stratified, shuffled and seeded; documents of one group stay together.
    """
    return cross_validate_prepared(
        model, prepare(model, corpus), corpus.groups, folds=folds, seed=seed, progress=progress
    )


def cross_validate_prepared(
    model: TfcrClassifier,
    prepared: Prepared,
    groups: list[Any] | None = None,
    *,
    folds: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Cross-validate on documents that are counted already."""
    labels = prepared.labels
    predicted = np.empty_like(labels)
    probabilities = np.zeros(len(labels))
    tested = np.zeros(len(labels), np.int64)
    scores = []
    for number, (train, test) in enumerate(splits(labels, groups, folds, seed)):
        fitted = clone(model)
        fitted.fit_counted(prepared.documents.rows(train), labels[train], np.ones(len(train)), prepared.embeddings)
        decision = fitted.model_.decision
        found = fitted.model_.score_counted(prepared.documents.rows(test))
        predicted[test], probabilities[test] = decision.labels(found), decision.probabilities(found).max(axis=1)
        tested[test] = number
        scores.append(macro_f1_of_labels(labels[test], predicted[test]))
        if progress is not None:
            progress(number + 1, folds)
    return Evaluation(labels, predicted, probabilities, tested, tuple(scores))


def splits(
    labels: NDArray[Any], groups: Sequence[Any] | None, folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the training and test documents of each fold: stratified, shuffled, seeded."""
    places = np.arange(len(labels))
    if groups is None:
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(places, labels)
        return
    if len(set(groups)) < folds:
        raise InputError(
            f"found {len(set(groups))} groups for {folds} folds; expected at least as many groups as folds"
        )
    numbers = np.unique([str(group) for group in groups], return_inverse=True)[1]
    yield from StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(places, labels, numbers)


def compare(
    models: Mapping[str, TfcrClassifier],
    corpus: Corpus,
    *,
    folds: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
    prepared: Prepared | None = None,
) -> dict[str, Evaluation]:
    """Cross-validate several classifiers on the same folds; those with the same counts and vectors share them.

    `prepared` is used for the models that need just these counts and vectors.
    """
    results: dict[str, Evaluation] = {}
    for model in models.values():
        model.check_parameters()
    ready = {} if prepared is None else {prepared.needs: prepared}
    for name, model in models.items():
        needs = _needs(model)
        if needs not in ready:
            ready[needs] = prepare(model, corpus, progress)
        before = len(results) * folds
        step = None if progress is None else _shifted(progress, before, len(models) * folds)
        results[name] = cross_validate_prepared(
            model, ready[needs], corpus.groups, folds=folds, seed=seed, progress=step
        )
    return results


def _needs(model: TfcrClassifier) -> Hashable:
    """Return what the counts and vectors of a model depend on."""
    training = model.dimensions, model.random_state, id(model.unlabelled)
    vectors = (embeddings_key(model.embeddings), *training) if model.uses_vectors else None
    return model.tokenizer, model.uses_bigrams, vectors


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)


def fit_on(model: TfcrClassifier, prepared: Prepared) -> TfcrClassifier:
    """Train on all documents."""
    return model.fit_counted(prepared.documents, prepared.labels, np.ones(len(prepared.labels)), prepared.embeddings)


def train_and_measure(
    model: TfcrClassifier,
    corpus: Corpus,
    *,
    folds: int = 5,
    min_class_size: int = 0,
    progress: Progress | None = None,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Train a model on all documents, and measure it by cross-validation (0 folds: do not measure).

    Returns the scores, and notes on what was changed to measure them.

    Classes smaller than `min_class_size` are left out of both.
    """
    if min_class_size:
        corpus = plan_folds(corpus, 2, min_class_size=min_class_size).corpus
    check_classes(np.unique(check_labels(corpus.labels, len(corpus))))
    prepared = prepare(model, corpus, progress)
    scores: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    if folds:
        plan = plan_folds(corpus, folds)
        kept = [number for number, label in enumerate(corpus.labels) if label in set(plan.corpus.labels)]
        part = replace(prepared, documents=prepared.documents.rows(np.array(kept)), labels=prepared.labels[kept])
        result = cross_validate_prepared(model, part, plan.corpus.groups, folds=plan.folds, progress=progress)
        scores = {f"macro-F1, mean of {plan.folds} folds": result.macro_f1, "accuracy": result.accuracy}
        notes = plan.notes
    fit_on(model, prepared).remember_texts(corpus.texts)
    columns = {"columns": list(corpus.columns), "label_column": corpus.label_column}
    training = {**model.training_, "data": Path(corpus.name).name, **columns}
    model.model_ = replace(model.model_, training=training, scores=scores)
    return scores, notes


def evaluate(model: TrainedModel, corpus: Corpus) -> Evaluation:
    """Score a trained model on labelled texts."""
    labels = check_labels(corpus.labels, len(corpus))
    unknown = sorted({str(label) for label in labels.tolist()} - {str(label) for label in model.classes.tolist()})
    if unknown:
        known = ", ".join(map(str, model.classes.tolist()))
        keys = {spelling_key(str(label)) for label in model.classes.tolist()}
        hint = "; --merge-labels takes other spellings for the same" if spelling_key(unknown[0]) in keys else ""
        raise InputError(f"found the label {unknown[0]!r}, which the model does not know; its classes: {known}{hint}")
    predicted, probabilities, _ = model.predict_with_unknown(corpus.texts)
    if labels.dtype.kind != predicted.dtype.kind:
        labels, predicted = labels.astype(str), predicted.astype(str)
    score = macro_f1_of_labels(labels, predicted)
    trained_on = model.training_texts()
    seen = None if trained_on is None else trained_on.count(corpus.texts)
    return Evaluation(labels, predicted, probabilities, np.zeros(len(labels), np.int64), (score,), seen)
