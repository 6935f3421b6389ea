"""Training on labelled files that do not fit into memory, and measuring it on a sample of them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.classifier import TfcrClassifier
from tfcr.counting import COUNTED, SHARD, Batch, CountedTexts, Part
from tfcr.data.fingerprint import Fingerprint
from tfcr.data.labelled_stream import LabelledStream
from tfcr.embeddings import Embeddings, sources_of
from tfcr.embeddings.automatic import Note
from tfcr.errors import DataError
from tfcr.evaluation.figures import Figures
from tfcr.evaluation.folds import MIN_CLASS_SIZE
from tfcr.evaluation.scores import compare_with_majority
from tfcr.evaluation.validation import (
    COUNTING,
    FIT,
    MEASURED_FOLDS,
    SAVING,
    VECTORS,
    Prepared,
    begin_fit,
    cross_validate_prepared,
    for_part,
    named_scores,
)
from tfcr.features.checks import check_classes, warn_of_slow_blocks
from tfcr.heads.base import Examples
from tfcr.heads.large import FITTED, STRENGTH, draw_sample, sample_size
from tfcr.heads.sharded import START
from tfcr.heads.targets import make_targets
from tfcr.system.array_files import array_length
from tfcr.system.checkpoints import NO_CHECKPOINTS, Checkpoints, checkpoints_beside
from tfcr.system.hardware import memory_limit
from tfcr.system.places import Places, local_places
from tfcr.system.progress import Stages
from tfcr.system.versions import recorded_versions
from tfcr.text.documents import TextStream
from tfcr.text.label_sets import GivenLabels, LabelSets, NumberedLabels
from tfcr.text.labels import label_array
from tfcr.text.shards import Documents

MEASURED = "measured"
"""Name of a checkpoint: the scores and figures of the cross-validation."""


def fits_into_memory(stream: LabelledStream, model: TfcrClassifier) -> bool:
    """Return whether to hold all texts in memory: if training on them takes no more than `max_memory`."""
    return stream.bytes * model.memory_per_byte <= memory_limit(model.max_memory)


@contextmanager
def resumable_places(
    output: str | os.PathLike[str],
    model: TfcrClassifier,
    stream: LabelledStream,
    *,
    note: Note = lambda line: None,
    cluster: Places | None = None,
    **choices: Any,
) -> Iterator[Places]:
    """Give places for `train_stream` that resume an earlier run of the same training, if it was stopped.

    What is kept lies beside the output, and is deleted at the end of the block: the model must be saved in it.

    Parameters
    ----------
    output
        The folder of the model that is trained.
    model, stream
        What is trained on what.
    note
        Called with a line that tells what is resumed, or why training starts over.
    cluster
        Places to keep shards in; counted again each time. By default, files beside the output.
    choices
        What else the result depends on.
    """
    with resumable(output, model, stream, note=note, where="a cluster" if cluster else "here", **choices) as kept:
        if cluster is not None:
            cluster.checkpoints = kept
        with nullcontext(cluster) if cluster is not None else local_places(kept) as places:
            yield places


@contextmanager
def resumable(
    output: str | os.PathLike[str],
    model: TfcrClassifier,
    stream: LabelledStream,
    *,
    note: Note = lambda line: None,
    **choices: Any,
) -> Iterator[Checkpoints]:
    """Give the checkpoints of a training; see `resumable_places`. None are kept of data that can be read only once."""
    data = stream.made_from()
    if data is None:
        yield NO_CHECKPOINTS
        return
    made_from = {
        "data": data,
        "options": {**_settings(model), **{name: repr(value) for name, value in choices.items()}},
        "vectors": _vector_files(model),
        "versions": recorded_versions(),
    }
    with checkpoints_beside(output, made_from, note) as found:
        checkpoints = found or NO_CHECKPOINTS
        if line := _standing(checkpoints, stream.n_rows):
            note(f"resuming training: {line}")
        yield checkpoints


def _settings(model: TfcrClassifier) -> dict[str, str]:
    """Return the parameters of a model as text: different if their values are."""
    given = {**model.get_params(deep=False), "max_memory": memory_limit(model.max_memory)}
    return {name: repr(value) for name, value in given.items()}


def _vector_files(model: TfcrClassifier) -> list[Any]:
    """Return the state of the files that vectors are read from."""
    if model.embeddings is None or isinstance(model.embeddings, Embeddings):
        return []
    paths = [Path(source) for source in sources_of(model.embeddings) if not isinstance(source, Embeddings | None)]
    return [list(Fingerprint.of(path, str(path)).files) for path in paths if path.exists()]


def _standing(checkpoints: Checkpoints, n_rows: int) -> str:
    """Return in words what an earlier run has done of so many rows; empty if nothing."""
    names = checkpoints.names()
    done = []
    if COUNTED in names:
        done.append("all documents are counted")
    elif shards := [name for name in names if name.startswith(f"{SHARD}-")]:
        paths = [path for name in shards if (path := checkpoints.path(name)) is not None]
        counted = sum(array_length(path, "lengths") for path in paths)
        done.append(f"{counted:,} of {n_rows:,} documents are counted")
    for ending, what in (
        (STRENGTH, "a strength is picked for"),
        (START, "Newton's method has begun for"),
        (FITTED, "fitted:"),
    ):
        if parts := [name.removesuffix(f".{ending}") for name in names if name.endswith(f".{ending}")]:
            done.append(f"{what} {', '.join(parts)}")
    return "; ".join(done)


def train_stream(
    model: TfcrClassifier,
    stream: LabelledStream,
    *,
    folds: int = 5,
    min_class_size: int = 0,
    stages: Stages | None = None,
    note: Note = lambda line: None,
    places: Places | None = None,
) -> dict[str, float]:
    """Train a model on files in constant memory, and cross-validate it on a sample (0 folds: do not measure).

    The model keeps the `Figures` of the cross-validation. For the other parameters see `train_and_measure`; `places`
    is where shards are kept, by default temporary files.
    """
    MIN_CLASS_SIZE.check(min_class_size)
    MEASURED_FOLDS.check(folds)
    model.check_parameters()
    stages = stages or Stages()
    stages.expect(_expected(stream, folds))
    if places is not None:
        return _train(model, stream, folds, min_class_size, stages, note, places)
    with local_places() as where:
        return _train(model, stream, folds, min_class_size, stages, note, where)


def _train(
    model: TfcrClassifier,
    stream: LabelledStream,
    folds: int,
    min_class_size: int,
    stages: Stages,
    note: Note,
    places: Places,
) -> dict[str, float]:
    kept = _large_classes(stream, min_class_size, note)
    n_rows = stream.n_rows
    stages.begin(COUNTING)
    batches = StreamBatches(stream, kept)
    counted = model.count_batches(batches, places, lambda done: stages.count(done, n_rows))
    for line in counted.notes:
        note(line)
    stages.begin(VECTORS, "vectors")
    texts = TextStream(lambda: (text for some, *_ in StreamBatches(stream, kept) for text in some))
    embeddings = model.load_embeddings(texts, documents=counted.documents, progress=stages.count, note=note)
    if embeddings and model.blocks == "all":
        warn_of_slow_blocks(len(counted.labels), len(counted.labels.classes), embeddings[0].dimensions)
    measured = _measured(model, counted, batches, embeddings, folds, stages, note) if folds else ({}, None)
    tell = begin_fit(stages, "all documents")
    model.fit_counted(counted.documents, counted.labels, counted.weights, embeddings, tell)
    model.check_limits()
    _describe(model, stream, counted, *measured)
    _tell_sample(model, note)
    return measured[0]


class StreamBatches(Iterable[Batch]):
    """The texts and labels of a stream, as often as needed; of some classes only."""

    def __init__(self, stream: LabelledStream, kept: frozenset[Any] | None) -> None:
        self.stream, self.kept = stream, kept
        self._rows: list[NDArray[np.int32]] = []

    def file_rows(self) -> NDArray[np.int32]:
        """Return the row of each document in its file, from 1; they are read again, if they were counted before."""
        if not self._rows:
            for _ in self:
                pass
        return np.concatenate(self._rows)

    @property
    def classes(self) -> list[Any]:
        """All labels."""
        return self.stream.classes

    def parts(self) -> Iterator[Part]:
        """Yield parts that workers of a cluster can read."""
        return self.stream.parts(self.kept)

    def __iter__(self) -> Iterator[Batch]:
        self._rows = []
        for piece in self.stream:
            texts, labels, rows = piece.texts, piece.labels, piece.rows
            if self.kept is not None:
                used = [number for number, label in enumerate(labels) if label in self.kept]
                texts, labels = [texts[number] for number in used], [labels[number] for number in used]
                rows = rows[used]
            self._rows.append(rows.astype(np.int32))
            yield texts, labels


def _large_classes(stream: LabelledStream, min_class_size: int, note: Note) -> frozenset[Any] | None:
    """Return the classes with enough documents; None if all have."""
    sizes = stream.class_sizes
    small = [label for label, size in sizes.items() if size < min_class_size]
    check_classes(label_array([label for label in sizes if label not in set(small)]))
    if not small:
        return None
    if stream.several:
        raise DataError(
            f"found --min-class-size {min_class_size} with several labels per text, and more texts than fit into "
            "memory; expected one of both: leave it out, or give more with --max-memory"
        )
    note(
        f"{len(small)} of {len(sizes)} classes have fewer than {min_class_size} documents, "
        f"{sum(sizes[label] for label in small):,} in all, and are left out"
    )
    return frozenset(sizes) - frozenset(small)


# measuring -----------------------------------------------------------------------------------------------------------


def _measured(
    model: TfcrClassifier,
    counted: CountedTexts,
    batches: StreamBatches,
    embeddings: Sequence[Embeddings],
    folds: int,
    stages: Stages,
    note: Note,
) -> tuple[dict[str, float], Any]:
    """Return what `_measure` does, now or before training was stopped."""
    kept = counted.documents.places.checkpoints
    known = kept.read_json(MEASURED)
    if known is None:
        lines: list[str] = []
        file_rows = None if counted.documents.places.reads_files else batches.file_rows()
        scores, figures = _measure(model, counted, file_rows, embeddings, folds, stages, lines.append)
        known = {"scores": scores, "figures": figures, "notes": lines}
        kept.write_json(MEASURED, known)
    for line in known["notes"]:
        note(line)
    return known["scores"], known["figures"]


def _measure(
    model: TfcrClassifier,
    counted: CountedTexts,
    file_rows: NDArray[np.int32] | None,
    embeddings: Sequence[Embeddings],
    folds: int,
    stages: Stages,
    note: Note,
) -> tuple[dict[str, float], Any]:
    """Cross-validate on a sample, and return the scores, and the figures that the model keeps."""
    documents, labels = counted.documents, counted.labels
    rows = sample_rows(model, documents, labels)
    some = listed(labels[rows])
    part = Prepared(documents.rows(rows), some, embeddings, None)
    n_folds = min(folds, _smallest(some))
    measured = for_part(model, some, some).set_params(precision=None)
    if n_folds < 2:
        note("a class has one document only: the model is not cross-validated; give more, or --min-class-size 2")
        return {}, None
    elsewhere = documents.places.each if documents.places.reads_files else None
    result = cross_validate_prepared(measured, part, None, folds=n_folds, stages=stages, elsewhere=elsewhere)
    tell_sample(rows, labels, note)
    for line in compare_with_majority(result, balanced=model.class_weight == "balanced"):
        note(line)
    numbers = rows + 1 if file_rows is None else file_rows[rows]
    return named_scores(result, n_folds), Figures.of(result, numbers.tolist(), None).as_json()


def sample_rows(model: TfcrClassifier, documents: Documents, labels: NumberedLabels | LabelSets) -> NDArray[np.int64]:
    """Return the documents to cross-validate a model on: all, or a sample if there are many."""
    targets = make_targets(labels, labels.classes, np.ones(len(labels)), None)
    words = int(documents.only_words().document_frequencies().sum())
    size = sample_size(len(documents), words * model.entries_per_word)
    return draw_sample(Examples(documents, targets), size).rows if len(labels) > size else np.arange(len(labels))


def tell_sample(rows: NDArray[np.int64], labels: NumberedLabels | LabelSets, note: Note) -> None:
    """Say that cross-validation was on a sample, if it was."""
    if len(rows) < len(labels):
        note(
            f"cross-validated on a sample of {len(rows):,} of {len(labels):,} documents: the model, trained on all, is "
            "likely to be better"
        )


def listed(labels: NumberedLabels | LabelSets) -> NDArray[Any] | LabelSets:
    """Return labels of a sample as arrays of labels, as other corpora have them."""
    return labels.classes[labels.numbers] if isinstance(labels, NumberedLabels) else labels


def _smallest(labels: GivenLabels) -> int:
    if isinstance(labels, LabelSets):
        return len(labels)
    return int(np.unique(np.asarray(labels), return_counts=True)[1].min())


def _describe(
    model: TfcrClassifier, stream: LabelledStream, counted: CountedTexts, scores: dict[str, float], figures: Any
) -> None:
    """Add what is known of the data to the model."""
    columns: dict[str, Any] = {"columns": list(stream.columns), "label_column": stream.label_column}
    columns |= {"label_separator": stream.label_separator} if stream.several else {}
    training = {**model.training_, "data": Path(stream.name).name, **columns}
    model.model_ = replace(
        model.model_,
        training=training,
        scores=scores,
        figures=figures,
        seen=counted.seen,
        documents=counted.kept,
    )


def _tell_sample(model: TfcrClassifier, note: Note) -> None:
    sample = model.training_.get("sample")
    if sample is not None:
        note(
            f"strengths were picked on a sample of {sample:,} documents; {model.training_['held_out']:,} were held out "
            "of the fit to learn the weight of each part, and the probabilities"
        )


def _expected(stream: LabelledStream, folds: int) -> list[tuple[str, float]]:
    """Return the stages with rough seconds: by bytes, until more is known."""
    gigabytes = stream.bytes / 1e9
    fits = [(FIT, 30.0)] * folds
    return [(COUNTING, 40 * gigabytes), (VECTORS, 1.0), *fits, (FIT, 200 * gigabytes), (SAVING, 1.0)]
