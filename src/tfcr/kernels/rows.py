"""Where the rows of a delimited file end."""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled

_QUOTE, _NEWLINE = 0x22, 0x0A


@compiled
def last_row_end(text: NDArray[np.uint8], separator: int, quoting: bool) -> int:
    """Return the end of the last whole row, 0 if there is none; `text` begins with a row.

    As in Python's csv: a quote opens a cell only at its start, and closes it unless a second one follows.
    """
    end = 0
    quoted, fresh = False, True
    for at in range(len(text)):
        byte = text[at]
        if quoting and byte == _QUOTE and (quoted or fresh):
            quoted = not quoted
            fresh = not quoted and at + 1 < len(text) and text[at + 1] == _QUOTE  # the second of two: open again
        elif quoted:
            fresh = False
        elif byte == _NEWLINE:
            end = at + 1
            fresh = True
        else:
            fresh = byte == separator
    return end
