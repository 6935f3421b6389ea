"""A model that was trained before, with more documents: trained again exactly, or its scores learn on."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.classifier import TfcrClassifier
from tfcr.counting import opened_documents
from tfcr.data import Corpus
from tfcr.data.labels import written_label
from tfcr.data.several import FlatLabels
from tfcr.embeddings.automatic import Note
from tfcr.errors import InputError
from tfcr.evaluation.scores import Evaluation
from tfcr.evaluation.validation import (
    FIT,
    MEASURED_FOLDS,
    Prepared,
    check_several,
    cross_validate_prepared,
    evaluate,
    needs_of,
)
from tfcr.system.hardware import memory_limit
from tfcr.system.progress import Stages
from tfcr.text.class_counts import check_targets
from tfcr.text.label_sets import LabelSets, NumberedLabels
from tfcr.trained.learning_on import learn_on
from tfcr.trained.model import TrainedModel

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
    stages.begin("counting words")
    texts, whole = model.with_documents(corpus.texts, corpus.labels)
    score = _score_before(before, corpus)
    scores: dict[str, float] = {}
    with opened_documents(whole, memory_limit(model.max_memory), all_blocks=model.has_all_blocks) as documents:
        embeddings = model.load_embeddings([], documents=documents, note=note)
        if folds:
            every = documents.rows(np.arange(len(documents)))
            prepared = Prepared(every, _as_labels(whole.labels), embeddings, needs_of(model))
            found = cross_validate_prepared(model, prepared, folds=folds, stages=stages)
            scores = {f"macro-F1, mean of {folds} folds": found.macro_f1, "accuracy": found.accuracy}
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
    return _described(model, before, corpus, score, scores)


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
    return _described(model, before, corpus, score, scores, kept_weights=True)


def _held_out(corpus: Corpus) -> tuple[list[int], list[int]]:
    """Return the documents to learn from and, if there are enough, one of ten to test on, at random."""
    order = np.random.default_rng(0).permutation(len(corpus))
    size = len(corpus) // TESTED
    return (np.sort(order[size:]).tolist(), np.sort(order[:size]).tolist()) if size >= LEAST_TESTED else ([], [])


def _as_labels(labels: NumberedLabels | LabelSets) -> NDArray[Any] | LabelSets:
    return labels if isinstance(labels, LabelSets) else labels.classes[labels.numbers]


def _score_before(model: TrainedModel, corpus: Corpus) -> float | None:
    """Return macro-F1 of a model on documents that it has not seen; None if they are few, or it has seen some."""
    if len(corpus) < LEAST_TESTED:
        return None
    try:
        found: Evaluation = evaluate(model, corpus, new_classes=True)
    except InputError:  # labels of another type, which the update refuses by itself
        return None
    return None if found.seen is not None and found.seen.texts else found.macro_f1


def _described(
    model: TfcrClassifier,
    before: TrainedModel,
    corpus: Corpus,
    score: float | None,
    scores: dict[str, float],
    **how: Any,
) -> Update:
    """Let the model remember the update, and return what it added."""
    known = {str(label) for label in before.classes.tolist()}
    new = tuple(label for label in model.classes_.tolist() if str(label) not in known)
    after, old = model.model_.training["words"], before.training["words"]
    entry = {
        "data": Path(corpus.name).name,
        "documents": len(corpus),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **how,
    }
    updates = [*before.training.get("updates", []), entry]
    training = {**model.training_, "updates": updates}
    model.model_ = replace(model.model_, training=training, scores=scores, figures=None)
    return Update(len(corpus), after - old, new, score, scores)
