"""What a model predicts for the documents: made once, and kept in a file that is named by the model's hash.

With several workers, the first that needs it scores, and the others wait for its file.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import Scores
from tfcr.serving.documents.store import Documents
from tfcr.serving.models import ServedModel
from tfcr.system.files import locked, written_beside

BATCH = 5_000
"""Documents that are scored together: scores of all classes are held of so many only."""
BATCH_BYTES = 50_000_000
"""The same in bytes of text."""
UNKNOWN = -1
"""As the number of documents that the model was trained on: it keeps no hashes of its training texts."""

logger = logging.getLogger("tfcr")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts for documents.

    Attributes
    ----------
    nearest, probability
        The predicted class, and its probability; of an unsure document the likeliest class, of several labels the one
        that is furthest above its threshold. (n_documents,)
    sure
        Whether the label is decided; (n_documents,).
    starts, assigned
        The classes that each document is assigned: none if it is unsure, perhaps several; as labels in `store`.
    seen
        How many documents the model was trained on; UNKNOWN if it cannot tell. (1,)
    """

    nearest: NDArray[np.int32]
    probability: NDArray[np.float32]
    sure: NDArray[np.bool_]
    starts: NDArray[np.int64]
    assigned: NDArray[np.int32]
    seen: NDArray[np.int64]


def predictions_of(documents: Documents, served: ServedModel, folder: Path, threads: int) -> Predictions:
    """Return a model's predictions, from the file of its hash or made now."""
    path = folder / f"{served.hash}.npz"
    if not path.exists():
        with locked(folder / f"{served.hash}.lock"):
            if not path.exists():
                found = _predict(documents, served, threads)
                try:
                    with written_beside(path) as file:
                        np.savez(file, **vars(found))
                except OSError as error:  # a full disk: each worker scores for itself then
                    logger.warning("predictions for %s cannot be kept: %s", documents.name, error.strerror)
                return found
    with np.load(path) as arrays:
        return Predictions(**{name: arrays[name] for name in arrays.files})


def _predict(documents: Documents, served: ServedModel, threads: int) -> Predictions:
    trained_on = served.model.training_texts()
    parts: list[Predictions] = []
    seen = 0
    for some in _batches(documents):
        texts = documents.texts[some]
        parts.append(_of_scores(served, served.model.table.score_texts(texts, served.model.tokenizer, threads).scores))
        seen += 0 if trained_on is None else trained_on.count(texts).texts
    sizes = np.concatenate([[0], *(np.diff(part.starts) for part in parts)])
    return Predictions(
        nearest=np.concatenate([part.nearest for part in parts]),
        probability=np.concatenate([part.probability for part in parts]),
        sure=np.concatenate([part.sure for part in parts]),
        starts=np.cumsum(sizes, dtype=np.int64),
        assigned=np.concatenate([part.assigned for part in parts]),
        seen=np.array([UNKNOWN if trained_on is None else seen]),
    )


def _batches(documents: Documents) -> Iterator[slice]:
    """Yield stretches of documents that are not too large, at least one document each."""
    start, offsets = 0, documents.texts.offsets
    while start < len(documents):
        enough = int(np.searchsorted(offsets, offsets[start] + BATCH_BYTES, side="right")) - 1
        end = min(len(documents), start + BATCH, max(start + 1, enough))
        yield slice(start, end)
        start = end


def _of_scores(served: ServedModel, scores: Scores) -> Predictions:
    decision, rows = served.model.decision, np.arange(len(scores))
    if decision.several:
        margins, chances = decision.margins(scores), decision.probabilities(scores)
        nearest, sure = margins.argmax(axis=1), np.ones(len(scores), np.bool_)
        members = margins > 0
        places, sizes = np.nonzero(members)[1], members.sum(axis=1)
    else:
        chances, nearest, _, sure = decision.ranked(scores)
        places, sizes = nearest[sure], sure.astype(np.int64)
    return Predictions(
        nearest=nearest.astype(np.int32),
        probability=chances[rows, nearest].astype(np.float32),
        sure=sure,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        assigned=places.astype(np.int32),
        seen=np.array([UNKNOWN]),
    )
