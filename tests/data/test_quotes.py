"""Stray quotes and quoted cells are told apart, whatever portions a file comes in."""

import csv
import io
import re
import warnings
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.data import ReadOptions, read_corpus
from tfcr.data.quotes import find_quoting, tally
from tfcr.data.readers import read_table
from tfcr.errors import TfcrWarning

WORDS = ["the", "a", "film", "good", "bad", "nice", "plot", "boring", "great", "very", "so", "much", "said", "they"]
COLUMNS = {"i": "id", "t": "text", "l": "label"}


def sentence(random: Random) -> str:
    return " ".join(random.choice(WORDS) for _ in range(random.randint(4, 12)))


def with_strays(random: Random) -> str:
    """Return a sentence with an unbalanced quote at its start, its end or within, three times in ten."""
    text = sentence(random)
    return random.choice([f'"{text}', f'{text}"', f'{text[:5]}"{text[5:]}', *[text] * 7])


@pytest.mark.parametrize("order", ["lt", "tl", "itl", "ilt"])
@pytest.mark.parametrize("separator", ["\t", ",", ";", "|"])
def test_stray_quotes_lose_no_row(order: str, separator: str, tmp_path: Path) -> None:
    random = Random(0)
    texts = [with_strays(random) for _ in range(800)]
    rows = [separator.join(COLUMNS[kind] for kind in order)]
    for number, text in enumerate(texts):
        cells = {"i": str(number), "t": text, "l": "ab"[number % 2]}
        rows.append(separator.join(cells[kind] for kind in order))
    path = tmp_path / "a.csv"
    path.write_text("\n".join(rows) + "\n")
    with pytest.warns(
        TfcrWarning, match=r"a.csv: quotes are read as ordinary characters, which gives 801 rows, all with"
    ):
        corpus = read_corpus(path)
    assert corpus.texts == texts
    assert "quotes are ordinary characters" in corpus.notes[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TfcrWarning)
        assert read_table(path, ReadOptions(quoting=True)).frame.height < 800


@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_quoted_cells_with_separators_and_line_breaks_are_read_as_such(
    quoting: Literal[0, 1, 2], separator: str, tmp_path: Path
) -> None:
    random = Random(1)
    ends = ["", f"{separator} {sentence(random)}", f'\n"{sentence(random)}"', f"\n\nso{separator} so", ' a 5" screen']
    rows = [(number, sentence(random) + random.choice(ends), "ab"[number % 2]) for number in range(300)]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator, quoting=quoting).writerows([("id", "text", "label"), *rows])
    assert read_corpus(path).texts == [text for _, text, _ in rows]


GENUINE = {
    "each line has as many commas as a row": ("text,label\n", '"good, film\nsecond line",pos\n', 50),
    "and an inch mark": ("text,label\n", '"good, film\nsecond line",pos\n5" tv,neg\n', 100),
    "and tabs": ("text\tlabel\n", '"good\tfilm\nsecond line"\tpos\n', 50),
    "and three columns": ("id,text,label\n", '1,"good, film\nsecond, line",pos\n', 50),
}


@pytest.mark.parametrize("name", GENUINE)
def test_cells_whose_lines_look_like_rows(name: str, tmp_path: Path) -> None:
    header, row, height = GENUINE[name]
    (tmp_path / "a.csv").write_text(header + 50 * row)
    assert read_table(tmp_path / "a.csv", ReadOptions()).frame.height == height


STRAY = {
    "a lone quote at the start of the last line": ("text\tlabel\n" + "good\ta\n" * 5 + '"bad\tb\n', 6),
    "a lone quote at its end": ("label\ttext\n" + "a\tgood\n" * 5 + 'a\t"bad', 6),
    "the first line": ('"label\ttext\n' + "a\tgood\n" * 50, 50),
    "the first line, and another": ('label\t"text\n' + "a\tgood\n" * 50 + 'b\tsays "x"\n', 51),
    "two far apart": ("label,text\n" + "a,x\n" * 3 + 'b,"foo\n' + "a,x\n" * 40 + 'b,bar"\n' + "a,x\n", 46),
    "half-quoted": ('label\ttext\na\t"good" film\nb\t"so\nb\tgood" x\n', 3),
    "one closing quote is missing": ('"label"\t"text"\n"a"\t"good"\n"b"\t"bad\n"a"\t"fine"\n"b"\t"great"\n', 4),
    "one text per row": ('text\n"good\nbad" film\n', 2),
}


@pytest.mark.parametrize("name", STRAY)
def test_strays_of_every_kind(name: str, tmp_path: Path) -> None:
    content, height = STRAY[name]
    (tmp_path / "a.csv").write_text(content)
    with pytest.warns(TfcrWarning, match="ordinary characters"):
        frame = read_table(tmp_path / "a.csv", ReadOptions()).frame
    assert frame.height == height
    assert frame.columns == [
        cell.strip('"') if name == "one closing quote is missing" else cell
        for cell in (content.split("\n")[0].replace(",", "\t").split("\t"))
    ]


def test_a_quote_that_is_never_closed_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text,label\n" + '1,"good, film\nso it is",pos\n' * 50 + '2,"and, then')
    with pytest.warns(TfcrWarning, match="a.csv, line 102: a quote opens a cell and is never closed"):
        assert read_table(tmp_path / "a.csv", ReadOptions()).frame.height == 51


@given(text=st.text(st.sampled_from('ab,"\n'), max_size=60), cuts=st.sets(st.integers(0, 12)))
def test_the_tally_agrees_with_csv_in_any_portions(text: str, cuts: set[int]) -> None:
    lines = text.splitlines(keepends=True)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(lines)), len(lines)]
    portions = ["".join(lines[start:end]).encode() for start, end in pairwise(bounds)]
    found = tally(portions, ",")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    plain = [line.count(",") for line in lines if line.strip("\n")]
    assert found.rows == len(rows)
    assert found.misfit_rows == sum(len(row) != len(rows[0]) for row in rows)
    assert (found.lines, found.misfit_lines) == (len(plain), sum(number != plain[0] for number in plain))


@given(st.lists(st.sampled_from(["a", '"', ",", "\n", "\r\n", '""', ',"b"', '"b\n"']), min_size=1), st.integers(1, 9))
def test_a_file_is_regular_as_a_whole_if_it_is_in_portions(parts: list[str], size: int) -> None:
    content = "".join(parts).encode()
    lines = re.findall(rb"[^\n]*\n|[^\n]+$", content)
    portions = [b"".join(lines[start : start + size]) for start in range(0, len(lines), size)]
    found = tally(portions, ",")
    assert (found.is_regular and not found.inside) == find_quoting(np.frombuffer(content, np.uint8), ord(",")).is_closed
