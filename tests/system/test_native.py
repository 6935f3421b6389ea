"""Work in pieces, on several threads."""

import pytest

from tfcr.system.native import CHUNKS, in_threads


@pytest.mark.parametrize("size", [0, 1, 7, 100, 1000])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_pieces_cover_everything_once(size: int, threads: int) -> None:
    pieces: list[tuple[int, int]] = []
    in_threads(lambda first, last: pieces.append((first, last)), size, threads)
    assert sorted(number for first, last in pieces for number in range(first, last)) == list(range(size))
    assert len(pieces) <= threads * CHUNKS


def test_the_example_of_the_docstring() -> None:
    pieces: list[tuple[int, int]] = []
    in_threads(lambda first, last: pieces.append((first, last)), 100, 2)
    assert sorted(pieces) == [(first, first + 4) for first in range(0, 100, 4)]
