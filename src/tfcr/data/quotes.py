"""Do quotes in a delimited file enclose cells, or are they ordinary characters? The file is read both ways to tell.

An exporting program that quotes cells doubles the quotes within; people and tweets do not. Read as CSV, a cell that
begins with a stray quote runs on to the next quote, over line breaks and separators: rows are lost without a word.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_QUOTE, _NEWLINE, _RETURN = 0x22, 0x0A, 0x0D

_FEW_MISFITS = 0.05
"""Lines may have another number of columns than the first one, up to this fraction of them."""
_LIKE_ROWS = 0.9
"""Quoted cells have swallowed rows if this fraction of their lines would make rows of their own."""
_MANY_LINES = {"\t": 2}
_MANY_LINES_ELSE = 6
"""So many such lines in a cell are no coincidence, even where its quotes are in place; no text holds tabs."""
_MANY_CELLS = 5
"""Stray quotes do not enclose so many cells with line breaks without breaking one."""


class Quoting(NamedTuple):
    """How quotes are used.

    Attributes
    ----------
    toggles
        Where quoted cells open and close, by turns.
    is_end
        For each of them, whether a cell or a line ends behind it.
    is_regular
        Whether all quotes stand where a program that writes CSV puts them.
    """

    toggles: NDArray[np.intp]
    is_end: NDArray[np.bool_]
    is_regular: bool

    @property
    def is_closed(self) -> bool:
        """Whether all is regular, and the last quoted cell is closed."""
        return self.is_regular and len(self.toggles) % 2 == 0


def find_quoting(content: NDArray[np.uint8], separator: int, *, inside: bool = False) -> Quoting:
    r"""Find the quotes that open and close cells, as Python's csv does.

    A quote opens a cell only at its start, and closes it unless a second one follows; all others are characters.

    Parameters
    ----------
    content
        Bytes that begin with a line.
    separator
        The byte between cells.
    inside
        Whether the first line begins inside a quoted cell.

    Examples
    --------
    In ``a,"b"\n`` the quotes at 2 and 4 open and close a cell; in ``a"b"\n`` none does.

    >>> def toggles(text):
    ...     return find_quoting(np.frombuffer(text, np.uint8), ord(",")).toggles.tolist()
    >>> toggles(b'a,"b"\n'), toggles(b'a"b"\n')
    ([2, 4], [])
    """
    quotes = np.flatnonzero(content == _QUOTE)
    if not len(quotes):
        return Quoting(quotes, np.zeros(0, np.bool_), is_regular=True)
    before, after = _neighbours(content, quotes)
    starts = (before == separator) | (before == _NEWLINE)
    ends = (after == separator) | (after == _NEWLINE)
    returns = np.flatnonzero(after == _RETURN)
    ends[returns] = _neighbours(content, quotes[returns] + 1)[1] == _NEWLINE
    opens, closes = slice(int(inside), None, 2), slice(1 - int(inside), None, 2)
    # if all is regular, quotes open and close by turns, and all that do neither are doubled ones
    is_regular = bool(
        (starts[opens] | (before[opens] == _QUOTE)).all() and (ends[closes] | (after[closes] == _QUOTE)).all()
    )
    if not is_regular:
        used = _toggles_one_by_one(quotes.tolist(), starts.tolist(), inside)
        return Quoting(quotes[used], ends[used], is_regular)
    is_used = np.empty(len(quotes), np.bool_)
    is_used[opens], is_used[closes] = before[opens] != _QUOTE, after[closes] != _QUOTE
    return Quoting(quotes, ends, is_regular) if is_used.all() else Quoting(quotes[is_used], ends[is_used], is_regular)


def _neighbours(content: NDArray[np.uint8], places: NDArray[np.intp]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    r"""Return the bytes before and after each place; before the first and after the last byte is a line break.

    >>> [bytes(found) for found in _neighbours(np.frombuffer(b'"a"', np.uint8), np.array([0, 2]))]
    [b'\na', b'a\n']
    """
    last = len(content) - 1
    before, after = content.take(places - 1, mode="wrap"), content.take(places + 1, mode="clip")
    before[places == 0] = _NEWLINE
    after[places >= last] = _NEWLINE
    return before, after


def _toggles_one_by_one(quotes: list[int], starts: list[bool], inside: bool) -> NDArray[np.intp]:
    """Return the numbers of the quotes that open or close a cell."""
    found = []
    at = 0
    while at < len(quotes):
        if inside and at + 1 < len(quotes) and quotes[at + 1] == quotes[at] + 1:
            at += 2  # a doubled quote is a character
            continue
        if inside or starts[at]:
            found.append(at)
            inside = not inside
        at += 1
    return np.array(found, np.intp)


class Tally:
    """Counts the rows of a delimited file in both readings; lines come in any number of portions.

    Parameters
    ----------
    separator
        The character between cells.

    Attributes
    ----------
    lines, misfit_lines
        Lines that are not blank, and how many have another number of columns than the first, quotes being characters.
    rows, misfit_rows
        The same for rows whose cells may be quoted.
    spanning, fitting
        Lines that are only part of a row because of a quoted cell, and how many would make a row of their own.
    long_cells, broken_cells
        Quoted cells with line breaks, and how many of them go on behind the closing quote, or are never closed.
    is_regular
        Whether all quotes stand where a program that writes CSV puts them.
    has_quotes
        Whether there are quotes.
    begins_quoted
        Whether the first cell is quoted.
    inside
        Whether the file ends inside a quoted cell; its first line is `opened`.
    """

    def __init__(self, separator: str) -> None:
        self.separator = ord(separator)
        self.is_regular = True
        self.lines = self.misfit_lines = self.rows = self.misfit_rows = self.spanning = self.fitting = 0
        self.long_cells = self.broken_cells = 0
        self.has_quotes = self.begins_quoted = self.inside = False
        self.opened = 0
        self.width: int | None = None
        self.row_width: int | None = None
        self._all_lines = 0
        self._open_lines = self._open_separators = 0

    def add(self, content: bytes) -> None:
        """Count whole lines; only the last portion may end without a line break."""
        data = np.frombuffer(content, np.uint8)
        if not len(data):
            return
        quoting = find_quoting(data, self.separator, inside=self.inside)
        self.is_regular &= quoting.is_regular
        is_mark = (data == _NEWLINE) | (data == self.separator) | (data == _QUOTE)
        marks = np.flatnonzero(is_mark)
        kinds = data[marks]
        if data[-1] != _NEWLINE:
            marks, kinds = np.append(marks, len(data)), np.append(kinds, np.uint8(_NEWLINE))
        is_newline, is_separator, is_quote = (kinds == kind for kind in (_NEWLINE, self.separator, _QUOTE))
        ends = np.flatnonzero(is_newline)
        newlines = marks[ends]
        self.has_quotes |= bool(is_quote.any())
        line_separators = np.diff(np.cumsum(is_separator, dtype=np.int32)[ends], prepend=0)
        is_blank = _blank_lines(data, newlines)
        if self.width is None and not is_blank.all():
            first = int(np.argmin(is_blank))
            self.width = int(line_separators[first])
            self.begins_quoted = bool(data[newlines[first - 1] + 1 if first else 0] == _QUOTE)
        self.lines += int((~is_blank).sum())
        self.misfit_lines += int((line_separators[~is_blank] != self.width).sum())
        # doubled quotes cancel each other out, so that in regular text all quotes count, which needs no search
        toggles = np.cumsum(is_quote) if quoting.is_regular else np.searchsorted(quoting.toggles, marks)
        is_outside = (toggles + self.inside) % 2 == 0
        separators = np.cumsum(is_separator & is_outside)[ends]
        if self.inside or not is_outside[ends].all():
            self._add_cells(quoting, newlines)
        self._add_rows(is_outside[ends], separators, is_blank, line_separators == self.width)
        self.inside = bool(self.inside) ^ bool(len(quoting.toggles) % 2)
        self._all_lines += len(newlines)

    def _add_cells(self, quoting: Quoting, newlines: NDArray[np.intp]) -> None:
        """Count quoted cells with line breaks where they close; one that is open already has such."""
        closing = slice(0 if self.inside else 1, None, 2)
        closes = quoting.toggles[closing]
        opens = np.concatenate([[-1] if self.inside else [], quoting.toggles[1 - (closing.start or 0) :: 2]])[
            : len(closes)
        ]
        is_long = (opens < 0) | (np.searchsorted(newlines, opens) < np.searchsorted(newlines, closes))
        self.long_cells += int(is_long.sum())
        self.broken_cells += int((is_long & ~quoting.is_end[closing]).sum())

    def _add_rows(
        self,
        is_last: NDArray[np.bool_],
        separators: NDArray[np.intp],
        is_blank: NDArray[np.bool_],
        fits: NDArray[np.bool_],
    ) -> None:
        """Count rows: lines up to a line break outside of quotes. The last one may go on in the next portion.

        Parameters
        ----------
        is_last
            Whether each line ends a row.
        separators
            How many separators outside of quotes there are up to the end of each line.
        is_blank, fits
            Whether each line is blank, and whether it would make a row of its own.
        """
        last_lines = np.flatnonzero(is_last)
        ends = separators[last_lines]
        widths = np.diff(ends, prepend=0)
        n_lines = np.diff(last_lines, prepend=-1)
        rest = len(is_last) - int(n_lines.sum())
        is_part = np.concatenate([np.repeat(n_lines > 1, n_lines), np.ones(rest, np.bool_)])
        if len(last_lines):
            is_part[: n_lines[0]] |= self._open_lines > 0
            widths[0] += self._open_separators
            kept = (n_lines > 1) | ~is_blank[last_lines]
            kept[0] |= self._open_lines > 0
            self._count_rows(widths[kept])
            self._open_lines = self._open_separators = 0
        if rest and not self._open_lines:
            self.opened = self._all_lines + len(is_last) - rest + 1
        self._open_lines += rest
        self._open_separators += int(separators[-1]) - (int(ends[-1]) if len(ends) else 0)
        self.spanning += int(is_part.sum())
        self.fitting += int((is_part & fits).sum())

    def _count_rows(self, widths: NDArray[np.intp]) -> None:
        if len(widths) and self.row_width is None:
            self.row_width = int(widths[0])
        self.rows += len(widths)
        self.misfit_rows += int((widths != self.row_width).sum())

    def finish(self) -> "Tally":
        """Count the row that the file ends in, if its last quote is never closed."""
        if self._open_lines:
            self._count_rows(np.array([self._open_separators], np.intp))
            self.long_cells += 1
            self.broken_cells += 1
            self._open_lines = 0
        return self

    def quotes_are_characters(self) -> bool:
        """Return whether the reading without quoted cells has the more consistent columns.

        If both are as good, cells may be quoted, unless the lines of cells with line breaks fit as rows, and most such
        cells are broken, or are too long for a coincidence.
        """
        if not self.has_quotes or not self.lines:
            return False
        misfits = self.misfit_lines / self.lines
        if misfits < self.misfit_rows / max(self.rows, 1):
            return True
        if not self.spanning or misfits > _FEW_MISFITS or self.fitting < _LIKE_ROWS * self.spanning:
            return False
        if 2 * self.broken_cells >= self.long_cells:
            return True
        if self.begins_quoted or (self.long_cells >= _MANY_CELLS and not self.broken_cells):
            return False  # a program has quoted the header, or closed many cells in place
        many = _MANY_LINES.get(chr(self.separator), _MANY_LINES_ELSE) * self.long_cells
        return self.spanning >= many and bool(self.width)  # one column fits any line without separators


def _blank_lines(data: NDArray[np.uint8], newlines: NDArray[np.intp]) -> NDArray[np.bool_]:
    starts = np.concatenate([[0], newlines[:-1] + 1])
    sizes = newlines - starts
    has_return: NDArray[np.bool_] = data[np.minimum(starts, len(data) - 1)] == _RETURN
    is_blank: NDArray[np.bool_] = (sizes == 0) | ((sizes == 1) & has_return)
    return is_blank


def tally(portions: Iterable[bytes], separator: str) -> Tally:
    """Count the rows of a file in both readings; each portion is of whole lines."""
    found = Tally(separator)
    for content in portions:
        found.add(content)
    return found.finish()
