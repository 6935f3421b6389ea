"""Scores of documents straight from their vectors: what solvers and word tables are compared with."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import Block, column_starts, document_vectors, empty_blocks
from tfcr.text.documents import CountedDocuments


def score_blocks(documents: CountedDocuments, blocks: Sequence[Block], fitted: Any) -> NDArray[np.float64]:
    """Return the scores of documents with the coefficients of a FittedHead; (n_documents, n_outputs)."""
    centred = document_vectors(documents, blocks) - fitted.means
    scores = np.repeat(fitted.intercepts[None, :], len(documents), axis=0)
    starts, empty = column_starts(blocks), empty_blocks(documents, blocks)
    for number, block in enumerate(blocks):
        columns = slice(starts[number], starts[number + 1])
        seen = slice(None) if block.output is None else slice(block.output, block.output + 1)
        centred[empty[:, number], columns] = 0
        scores[:, seen] += centred[:, columns] @ fitted.coefficients[columns, seen]
    return scores
