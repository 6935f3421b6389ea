"""Pieces of a delimited file."""

import csv
import io
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfcr.system.native import last_row_end


@given(text=st.text('ab",;\n', max_size=40), quoting=st.booleans())
def test_a_file_is_cut_where_a_row_ends(text: str, quoting: bool) -> None:
    def rows(part: str) -> list[list[str]]:
        how: Any = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
        return list(csv.reader(io.StringIO(part, newline=""), quoting=how))

    content = np.frombuffer(text.encode(), np.uint8)
    for kernel in (last_row_end, last_row_end.py_func):  # type: ignore[attr-defined]
        end = kernel(content, ord(","), quoting)
        assert rows(text[:end]) + rows(text[end:]) == rows(text)
        assert end > 0 or "\n" not in text or '"' in text
