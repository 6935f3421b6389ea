"""Prepares UTF-8 bytes for counting: lower-cases them in place, and finds the documents that need more than that.

A table gives, for each code point of its length, its lower-case code point, which takes as many bytes; or

    ASK_PYTHON   the character may change its document otherwise: by NFC, by its neighbours, or in length
    ONE_MARK     a combining mark: NFC may reorder it if another one is next to it

All other characters stay as they are. "Ein ÄPFEL" becomes "ein äpfel"; "ΣΑΣ" is left to Python, which knows that its
last letter becomes another one than its first.
"""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.actions import ASK_PYTHON, ONE_MARK
from tfcr.kernels.compiling import compiled
from tfcr.kernels.tokens import code_point


@compiled
def prepare_documents(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lower: bool,
    table: NDArray[np.int32],
    left: NDArray[np.bool_],
) -> None:
    """Lower-case documents if `lower`, and write whether each is left to Python; its bytes are then undefined.

    Parameters
    ----------
    text, starts
        The bytes of all documents, which are changed, and where each starts; (n_documents + 1,).
    lower
        Whether to lower-case; if not, only the documents to be left to Python are found.
    table
        See above; (n_code_points,).
    left
        The result; (n_documents,).
    """
    if lower:
        for place in range(text.shape[0]):  # ASCII, several bytes at once: bytes of other characters are all above
            text[place] += np.uint8(32) * np.uint8(np.uint8(text[place] - np.uint8(65)) < np.uint8(26))
    for document in range(starts.shape[0] - 1):
        here, stop = np.uint64(starts[document]), np.uint64(starts[document + 1])
        left[document] = False
        after_mark = False
        while True:
            first = here
            while here < stop and text[here] < 0x80:
                here += np.uint64(1)
            if here == stop:
                break
            at = np.int64(here)
            code, width = code_point(text, at)
            new = np.int64(table[code]) if code < table.shape[0] else np.int64(code)
            if new == ASK_PYTHON or (new == ONE_MARK and after_mark and here == first):
                left[document] = True
                break
            after_mark = new == ONE_MARK
            if lower and new != code and not after_mark:
                if width == 2:
                    text[at] = 0xC0 | (new >> 6)
                elif width == 3:
                    text[at] = 0xE0 | (new >> 12)
                    text[at + 1] = 0x80 | ((new >> 6) & 63)
                else:
                    text[at] = 0xF0 | (new >> 18)
                    text[at + 1] = 0x80 | ((new >> 12) & 63)
                    text[at + 2] = 0x80 | ((new >> 6) & 63)
                text[at + width - 1] = 0x80 | (new & 63)
            here += np.uint64(width)
