"""A model that was trained before, with more documents: trained again exactly, or its scores learn on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.classifier import TfcrClassifier
from tfcr.counting import Batch, opened_documents
from tfcr.data import Corpus
from tfcr.data.labelled_stream import LabelledStream
from tfcr.data.labels import written_label
from tfcr.data.several import FlatLabels
from tfcr.decision import macro_f1_of_labels
from tfcr.embeddings.automatic import Note
from tfcr.errors import InputError
from tfcr.evaluation.scores import Evaluation
from tfcr.evaluation.streams import listed, sample_rows, tell_sample
from tfcr.evaluation.validation import (
    COUNTING,
    FIT,
    MEASURED_FOLDS,
    Prepared,
    check_several,
    cross_validate_prepared,
    evaluate,
    needs_of,
)
from tfcr.system.checkpoints import NO_CHECKPOINTS, Checkpoints
from tfcr.system.hardware import memory_limit
from tfcr.system.progress import Stages
from tfcr.text.class_counts import Labels, check_targets
from tfcr.text.label_numbers import LabelNumbers
from tfcr.text.label_sets import LabelSets, NumberedLabels
from tfcr.trained.kept_documents import KeptDocuments
from tfcr.trained.learning_on import learn_on
from tfcr.trained.model import TrainedModel
from tfcr.trained.seen import TrainingTexts

TESTED = 10
"""One of so many new documents is held out, to measure what learning on from the others gains."""
LEAST_TESTED = 5
"""Fewer documents tell nothing."""


@dataclass(frozen=True)
class Update:
    """What an update added.

    Attributes
    ----------
    documents, words
        How many are new.
    classes
        Those that are new.
    before
        macro-F1 of the old model on the new documents, which it had not seen; None if there are too few of them.
    scores
        Of the new model by cross-validation, if that was wanted; or of both models on new documents that were held out.
    """

    documents: int
    words: int
    classes: tuple[Any, ...]
    before: float | None
    scores: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "documents": self.documents,
            "words": self.words,
            "classes": list(self.classes),
            "old_model_on_new_documents": self.before,
            "scores": self.scores,
        }


def like_model(model: TrainedModel, corpus: Corpus) -> Corpus:
    """Return a corpus whose labels are of the model's type: as text, if those of the model are.

    Labels of a table that are all whole numbers are read as such; with others, as text.
    """
    check_several(model, corpus)
    flat = FlatLabels.of(corpus.labels)
    if model.classes.dtype.kind in "UO" and not all(isinstance(label, str) for label in flat.labels):
        return replace(corpus, labels=flat.nest([written_label(label) for label in flat.labels]))
    return corpus


def update_and_measure(
    model: TfcrClassifier, corpus: Corpus, *, folds: int = 0, stages: Stages | None = None, note: Note | None = None
) -> Update:
    """Train a model that keeps its documents again, with those of a corpus added; 0 folds: no cross-validation.

    The result is that of training on all documents at once.
    """
    MEASURED_FOLDS.check(folds)
    stages, before = stages or Stages(), model.model_
    corpus = like_model(before, corpus)
    stages.begin(COUNTING)
    texts, whole = model.with_documents(corpus.texts, corpus.labels)
    score = _score_before(before, corpus)
    scores = _train_again(model, TrainingTexts.of(texts), whole, folds, stages, note)
    return _described(model, before, corpus.name, len(corpus), score, scores)


def update_from_stream(
    model: TfcrClassifier,
    stream: LabelledStream,
    *,
    folds: int = 0,
    stages: Stages | None = None,
    note: Note | None = None,
    checkpoints: Checkpoints = NO_CHECKPOINTS,
) -> Update:
    """Do what `update_and_measure` does with files that do not fit into memory; `checkpoints` resume the fit."""
    MEASURED_FOLDS.check(folds)
    stages, before = stages or Stages(), model.model_
    first = next(iter(stream))
    check_several(before, Corpus(first.texts, first.labels, name=stream.name))
    batches = _BatchesLike(before, stream)
    stages.begin(COUNTING)
    seen, whole = model.with_batches(batches, lambda done: stages.count(done, stream.n_rows))
    score = _score_before_batches(before, batches, note)
    scores = _train_again(model, seen, whole, folds, stages, note, checkpoints)
    return _described(model, before, stream.name, stream.n_rows, score, scores)


def _train_again(
    model: TfcrClassifier,
    texts: TrainingTexts,
    whole: KeptDocuments,
    folds: int,
    stages: Stages,
    note: Note | None,
    checkpoints: Checkpoints = NO_CHECKPOINTS,
) -> dict[str, float]:
    """Train a model on all documents, and return the scores of the cross-validation; of many documents, on a sample."""
    before = model.model_
    scores: dict[str, float] = {}
    memory, all_blocks = memory_limit(model.max_memory), model.has_all_blocks
    with opened_documents(whole, memory, checkpoints, all_blocks=all_blocks) as documents:
        embeddings = model.load_embeddings([], documents=documents, note=note)
        if folds:
            rows = sample_rows(model, documents, whole.labels)
            prepared = Prepared(documents.rows(rows), listed(whole.labels[rows]), embeddings, needs_of(model))
            found = cross_validate_prepared(model, prepared, folds=folds, stages=stages)
            scores = {f"macro-F1, mean of {folds} folds": found.macro_f1, "accuracy": found.accuracy}
            tell_sample(rows, whole.labels, note or (lambda line: None))
        stages.begin(FIT, "all documents")
        model.fit_counted(
            documents,
            whole.labels,
            whole.sample_weight(),
            embeddings,
            lambda step, fraction: stages.tell(f"all documents: {step}", fraction),
        )
    model.check_limits()
    model.updated_from(before, texts, whole)
    return scores


class _BatchesLike(Iterable[Batch]):
    """The texts and labels of a stream, labels of the model's type; see `like_model`."""

    def __init__(self, model: TrainedModel, stream: LabelledStream) -> None:
        self.stream = stream
        self.as_text = model.classes.dtype.kind in "UO" and not all(isinstance(some, str) for some in stream.classes)

    def __iter__(self) -> Iterator[tuple[list[str], list[Any]]]:
        for piece in self.stream:
            flat = FlatLabels.of(piece.labels)
            yield (
                piece.texts,
                flat.nest([written_label(some) for some in flat.labels]) if self.as_text else piece.labels,
            )


def learn_on_and_measure(model: TfcrClassifier, corpus: Corpus, *, stages: Stages | None = None) -> Update:
    """Let the scores of a model learn on from the documents of a corpus alone, and measure what that gains.

    First, a model that learns from nine of ten documents is compared with the old one on the others.
    """
    stages, before = stages or Stages(), model.model_
    corpus = like_model(before, corpus)
    score = _score_before(before, corpus)
    scores: dict[str, float] = {}
    train, test = _held_out(corpus)
    if len(test):
        stages.begin(FIT, "nine tenths of the new documents")
        part = corpus.take(train)
        trial = learn_on(before, part.texts, check_targets(part.labels, len(part)))
        held_out = corpus.take(test)
        scores = {
            f"macro-F1 of {name} on {len(test)} new documents": evaluate(one, held_out, new_classes=True).macro_f1
            for name, one in (("the old model", before), ("the new model", trial))
        }
    stages.begin(FIT, "new documents")
    model.partial_fit(corpus.texts, corpus.labels)
    return _described(model, before, corpus.name, len(corpus), score, scores, kept_weights=True)


def _held_out(corpus: Corpus) -> tuple[list[int], list[int]]:
    """Return the documents to learn from and, if there are enough, one of ten to test on, at random."""
    order = np.random.default_rng(0).permutation(len(corpus))
    size = len(corpus) // TESTED
    return (np.sort(order[size:]).tolist(), np.sort(order[:size]).tolist()) if size >= LEAST_TESTED else ([], [])


def _score_before(model: TrainedModel, corpus: Corpus) -> float | None:
    """Return macro-F1 of a model on documents that it has not seen; None if they are few, or it has seen some."""
    if len(corpus) < LEAST_TESTED:
        return None
    try:
        found: Evaluation = evaluate(model, corpus, new_classes=True)
    except InputError:  # labels of another type, which the update refuses by itself
        return None
    return None if found.seen is not None and found.seen.texts else found.macro_f1


def _score_before_batches(model: TrainedModel, batches: _BatchesLike, note: Note | None) -> float | None:
    """Return what `_score_before` does for texts that come batch by batch; note how many the model has seen."""
    trained_on, seen = model.training_texts(), 0
    labels, predicted = LabelNumbers(), LabelNumbers()
    for texts, of_texts in batches:
        labels.add(of_texts)
        found = model.decision.assigned(model.score_texts(texts).scores)
        predicted.add(found.lists() if isinstance(found, LabelSets) else found.tolist())
        seen += 0 if trained_on is None else trained_on.count(texts).texts
    if seen:
        if note is not None:
            note(again(seen))
        return None
    true, given = labels.labels(), predicted.labels()
    classes = np.union1d(true.classes.astype(str), given.classes.astype(str))
    return macro_f1_of_labels(_over(true, classes), _over(given, classes))


def _over(labels: NumberedLabels | LabelSets, classes: Labels) -> NDArray[Any] | LabelSets:
    """Return labels as numbers of classes, compared as text."""
    if isinstance(labels, LabelSets):
        return labels.over(classes)
    return np.asarray(np.searchsorted(classes, labels.classes.astype(str))[labels.numbers])


def again(n_texts: int) -> str:
    """Return what is said of texts that a model was trained on before."""
    return f"{n_texts:,} of these texts are in the model already, and count again"


def _described(
    model: TfcrClassifier,
    before: TrainedModel,
    name: str,
    n_documents: int,
    score: float | None,
    scores: dict[str, float],
    **how: Any,
) -> Update:
    """Let the model remember the update, and return what it added."""
    known = {str(label) for label in before.classes.tolist()}
    new = tuple(label for label in model.classes_.tolist() if str(label) not in known)
    after, old = model.model_.training["words"], before.training["words"]
    entry = {
        "data": Path(name).name,
        "documents": n_documents,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **how,
    }
    updates = [*before.training.get("updates", []), entry]
    training = {**model.training_, "updates": updates}
    model.model_ = replace(model.model_, training=training, scores=scores, figures=None)
    return Update(n_documents, after - old, new, score, scores)
