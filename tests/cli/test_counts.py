"""``tfcr counts``."""

import json
from pathlib import Path

import pytest

from tests.cli.runner import Run
from tfcr import ClassCounts
from tfcr.data import streaming


@pytest.fixture
def parts(data: Path, tmp_path: Path) -> list[Path]:
    """The rows of the data in three files."""
    head, *rows = data.read_text("utf-8").splitlines()
    files = [tmp_path / f"part{number}.csv" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text("\n".join([head, *rows[number::3]]) + "\n", "utf-8")
    return files


READING = ("--text", "text", "--label", "label")


def test_counts_of_parts_add_up_to_those_of_the_whole(run: Run, data: Path, parts: list[Path], tmp_path: Path) -> None:
    made = json.loads(run("counts", "make", data, *READING, "-o", tmp_path / "whole.counts", "--json").out)
    assert (made["documents"], made["tokenizer"], sum(made["classes"].values())) == (120, "words", 120)
    assert made["counts"] == str(tmp_path / "whole.counts")
    files = [file.with_suffix(".counts") for file in parts]
    for part, file in zip(parts, files, strict=True):
        assert "40 documents" in run("counts", "make", part, *READING, "-o", file).out
    for order in (files, files[::-1]):
        result = run("counts", "merge", *order, "-o", tmp_path / "sum.counts")
        assert (result.status, "120 documents" in result.out) == (0, True)
        assert (tmp_path / "sum.counts").read_bytes() == (tmp_path / "whole.counts").read_bytes()
    merged = json.loads(run("counts", "merge", *files, "-o", tmp_path / "sum.counts", "--json").out)
    assert merged == {**made, "counts": str(tmp_path / "sum.counts")}


def test_files_in_pieces_have_the_same_counts(run: Run, data: Path, tmp_path: Path) -> None:
    several = tmp_path / "several.jsonl"
    sets = [[0, 1], [1, 0], [0, 2], [], [1], [], [2, 1], [0, 1]]  # some pieces look like rows of an indicator
    several.write_text("".join(f'{{"text": "a b w{n}", "label": {labels}}}\n' for n, labels in enumerate(sets)))
    sources = {"one": (data, *READING), "several": (several,)}
    for name, source in sources.items():
        run("counts", "make", *source, "-o", tmp_path / f"{name}.counts")
        for size in (40, 100, 1000):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(streaming, "PIECE_BYTES", size)
                assert run("counts", "make", *source, "-o", tmp_path / "pieces.counts").status == 0
            assert (tmp_path / "pieces.counts").read_bytes() == (tmp_path / f"{name}.counts").read_bytes()
    counts = ClassCounts.load(tmp_path / "several.counts")
    assert counts == ClassCounts.from_texts([f"a b w{number}" for number in range(8)], sets)
    assert (counts.classes.tolist(), counts.n_documents, counts.class_documents.tolist()) == ([0, 1, 2], 8, [4, 5, 2])


def test_words_of_counts_are_those_of_the_data(run: Run, data: Path, parts: list[Path], tmp_path: Path) -> None:
    run("counts", "make", data, *READING, "-o", tmp_path / "a.counts")
    of_data = run("words", data, *READING, "--scheme", "kld", "--top", 5, "--json").out
    assert run("words", tmp_path / "a.counts", "--scheme", "kld", "--top", 5, "--json").out == of_data
    result = run("words", tmp_path / "a.counts", "--tokenizer", "words")
    assert (result.status, "whose words are counted already; leave it out" in result.err) == (2, True)


def test_weighted_counts_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    ClassCounts.from_texts(["a b", "b"], ["x", "y"], sample_weight=[0.5, 1]).save(tmp_path / "a.counts")
    assert "1.5 documents, 2 tokens, 2 words" in run("counts", "merge", tmp_path / "a.counts", "-o", tmp_path / "b").out


def test_bad_calls(run: Run, data: Path, tmp_path: Path) -> None:
    good, other = tmp_path / "a.counts", tmp_path / "b.counts"
    ClassCounts.from_texts(["a"], ["x"]).save(good)
    ClassCounts.from_texts(["a"], ["x"], tokenizer="paper").save(other)
    calls: list[tuple[tuple[object, ...], str]] = [
        (("make", data, "-o", tmp_path / "no" / "x"), "cannot write the counts to"),
        (("make", data, "-o", tmp_path / "x", "--tokenizer", "x"), "unknown tokenizer 'x'"),
        (("make", data, "-o", tmp_path / "x", "--group", "who"), "found --group but it is for cross-validation"),
        (("make", tmp_path / "none.csv", "-o", tmp_path / "x"), "does not exist"),
        (("merge", good, good, "-o", tmp_path / "x"), "twice; expected each file of counts once"),
        (("merge", good, data, "-o", tmp_path / "x"), "is not a file of counts"),
        (("merge", good, other, "-o", tmp_path / "x"), "b.counts: found counts by the tokenizer"),
    ]
    for arguments, message in calls:
        result = run("counts", *arguments)
        assert (result.status, message in result.err, result.err.count("tfcr: ")) == (2, True, 1)
        assert not (tmp_path / "x").exists()
