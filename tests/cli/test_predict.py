"""``tfcr predict``."""

import gzip
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.cli.runner import Run, environment
from tests.conftest import plain_classifier
from tests.data.files import write_sheets
from tfcr.data import ReadOptions
from tfcr.data import streaming as pieces
from tfcr.data.readers import read_table


def test_rows_without_any_text_get_no_prediction(run: Run, model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text('id,text\n1,\n2," "\n')
    result = run("predict", model, new)
    assert (result.status, result.out.splitlines()[1:]) == (0, ["1,,,,", '2," ",,,'])


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_predict_keeps_all_columns_and_adds_three(run: Run, model: Path, ending: str, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text('id,text,predicted\n007,w0_1 w0_2,old\n008,"",old\n009,w1_1 strange,old\n')
    target = tmp_path / f"out.{ending}"
    result = run("predict", model, new, "-o", target)
    assert result.status == 0
    assert "1 of 3 rows have no text and get no prediction" in result.err
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "csv": lambda path: pl.read_csv(path, infer_schema=False),
        "tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema=False),
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
    }
    frame = readers[ending](target)
    assert frame.columns == ["id", "text", "predicted", "predicted_", "probability", "unknown_words"]
    assert frame["id"].to_list() == ["007", "008", "009"]
    assert frame["predicted_"][0] == "class 0"
    assert frame["predicted_"][1] is None
    assert float(frame["unknown_words"][2]) == 0.5


def test_predict_says_which_columns_the_model_knows(run: Run, model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("id,subject\n1,w0_1\n")
    result = run("predict", model, new)
    assert result.status == 2
    assert "the model was trained on the columns text, and there is no 'text'; give --text NAME" in result.err
    assert "class 0" in run("predict", model, new, "--text", "subject").out
    new.write_text("text\n")
    assert "holds no rows; expected texts" in run("predict", model, new).err


PIECES: dict[str, tuple[str, list[str]]] = {
    "data.csv": ("text,id\n" + "".join(f'"w{n % 3}_1, ""w{n % 3}_2""\nw{n % 3}_3",{n:03}\n' for n in range(60)), []),
    "bare.csv": ("".join(f"w{n % 3}_1 w{n % 3}_2;{n:03}\n" for n in range(60)), ["--no-header", "--text", "1"]),
    "data.tsv": ("text\tid\n" + "".join(f"w{n % 3}_1 w{n % 3}_2\t{n:03}\n" for n in range(60)), []),
    "data.jsonl": ("".join(json.dumps({"text": f"w{n % 3}_1 w{n % 3}_2", "id": n}) + "\n" for n in range(60)), []),
    "data.txt": ("".join(f"__label__x w{n % 3}_1 w{n % 3}_2\n" for n in range(60)), []),
    "data.csv.gz": ("text,id\n" + "".join(f"w{n % 3}_1 w{n % 3}_2,{n:03}\n" for n in range(60)), []),
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predict_reads_large_files_in_pieces(
    run: Run, model: Path, name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, options = PIECES[name]
    new = tmp_path / name
    new.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    whole, in_pieces = tmp_path / f"whole.{ending}", tmp_path / f"pieces.{ending}"
    run("predict", model, new, "-o", whole, *options)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    result = run("predict", model, new, "-o", in_pieces, *options)
    assert "in pieces" in result.err
    read_csv = partial(pl.read_csv, separator=";" if name == "bare.csv" else ",")
    read: Any = {"csv": read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    found, expected = read(in_pieces), read(whole)
    assert found.height == 60
    assert_frame_equal(found, expected)
    assert found["predicted"].to_list()[:3] == ["class 0", "class 1", "class 2"]


def test_pieces_of_parquet_and_of_several_files(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    monkeypatch.setattr(pieces, "PARQUET_ROWS", 7)
    frame = pl.DataFrame({"text": [f"w{n % 3}_1 w{n % 3}_2" for n in range(30)], "id": range(30)})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("text,more\n" + "w1_1 w1_2,x\n" * 30)
    run("predict", model, tmp_path / "a.parquet", "-o", tmp_path / "one.csv")
    assert pl.read_csv(tmp_path / "one.csv")["id"].to_list() == list(range(30))
    run("predict", model, tmp_path / "a.parquet", tmp_path / "b.csv", "-o", tmp_path / "two.csv")
    both = pl.read_csv(tmp_path / "two.csv")
    assert both.columns == ["text", "id", "more", "predicted", "probability", "unknown_words"]
    assert both.height == 60
    assert both["predicted"].to_list()[-1] == "class 1"


def test_an_error_in_a_piece_names_the_file_and_leaves_nothing(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    new = tmp_path / "new.csv"
    new.write_text("text,id\n" + "w0_1,1\n" * 100 + "w0_1,1,too many\n")
    result = run("predict", model, new, "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert re.search(r"new\.csv, line 102: found 3 columns; expected 2", result.err)
    new.write_text("".join(json.dumps({"text": "w0_1"}) + "\n" for _ in range(60)) + '{"text": "w0_1", "late": 1}\n')
    result = run("predict", model, new, "--format", "jsonl", "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert "found the column 'late' only after the first rows were written" in result.err
    assert not list(tmp_path.glob("*out.csv*"))


def test_pieces_that_are_none(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    rows = [{"text": f"w{n % 3}_1 w{n % 3}_2", "id": n} for n in range(60)]
    (tmp_path / "list.json").write_text(json.dumps(rows, indent=1))
    (tmp_path / "blank.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n" * 500)
    for name in ("list.json", "blank.jsonl"):
        assert run("predict", model, tmp_path / name, "-o", tmp_path / "out.csv").status == 0
        assert pl.read_csv(tmp_path / "out.csv").height == 60


def test_tables_that_a_format_cannot_hold(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    nested = tmp_path / "nested.jsonl"
    nested.write_text('{"text": "w0_1", "tags": [1, 2]}\n' * 3)
    result = run("predict", model, nested, "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert "JSON lines hold anything: -o FILE.jsonl" in result.err
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"text": "w0_1", "id": 1}\n' * 40 + '{"text": "w0_1", "id": "x"}\n' * 40)
    result = run("predict", model, mixed, "-o", tmp_path / "out.parquet")
    assert result.status == 2
    assert "cannot write such a table" in result.err
    late = tmp_path / "late.jsonl"
    late.write_text('{"text": "w0_1"}\n' * 40 + '{"text": "w0_1", "late": "x"}\n')
    result = run("predict", model, late, late, "-o", tmp_path / "out.jsonl")
    assert result.status == 2
    assert "found the column 'late' only after the first rows of its file" in result.err
    assert not list(tmp_path.glob("*out*"))


def test_predict_to_standard_output(run: Run, model: Path, data: Path) -> None:
    lines = run("predict", model, data).out.splitlines()
    assert lines[0] == "text,label,who,predicted,probability,unknown_words"
    assert len(lines) == 121
    first = json.loads(run("predict", model, data, "--json").out.splitlines()[0])
    assert first["predicted"] == "class 0"


def test_a_document_of_ten_megabytes(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("text\n" + "w0_1 common1 " * 769_000 + "\nw1_1\n")
    result = run("predict", model, path, "-o", tmp_path / "out.parquet")
    assert result.status == 0
    assert pl.read_parquet(tmp_path / "out.parquet")["predicted"].to_list()[0] == "class 0"


def test_what_a_killed_predict_leaves_is_removed_by_the_next_run(run: Run, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / ".notes.tmp").write_text("a user's own")
    large, small = tmp_path / "large.csv", tmp_path / "small.csv"
    large.write_text("text\n" + "w0_1 w0_2 common1\n" * 2_000_000)
    small.write_text("text\nw0_1\n")
    out = folder / "large.csv"
    command = [sys.executable, "-m", "tfcr", "predict", str(model), str(large), "-o", str(out)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as killed:
        while len(list(folder.iterdir())) < 3:
            assert killed.poll() is None
            time.sleep(0.01)
        killed.kill()
    unfinished = [".large.csv.tfcr-journal", ".large.csv.tfcr-part", ".notes.tmp"]
    assert sorted(path.name for path in folder.iterdir()) == unfinished
    assert run("predict", model, small, "-o", folder / "small.csv").status == 0  # another file: it may be resumed yet
    assert sorted(path.name for path in folder.iterdir()) == [*unfinished, "small.csv"]
    assert run("predict", model, small, "-o", out).status == 0
    assert sorted(path.name for path in folder.iterdir()) == [".notes.tmp", "large.csv", "small.csv"]


# written as it was read ----------------------------------------------------------------------------------------------

EXCEL = '\ufeffid;text\r\n"1";"w0_1; w0_2"\r\n"2";"=1+1"\r\n"3";"-5"\r\n'


def test_predict_writes_what_it_read(run: Run, model: Path, tmp_path: Path) -> None:
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_bytes(EXCEL.encode())
    assert run("predict", model, new, "-o", out).status == 0
    lines = out.read_bytes().decode().split("\r\n")
    assert lines[0] == '\ufeff"id";"text";"predicted";"probability";"unknown_words"'
    assert re.fullmatch(r'"1";"w0_1; w0_2";"class 0";"0\.\d{4}";"0\.0000"', lines[1])
    assert lines[2].startswith('"2";"\'=1+1";"class')
    assert lines[3].startswith('"3";"-5";"class')
    printed = run("predict", model, new).out
    assert printed.replace("\r\n", "\n") == out.read_bytes().decode().replace("\r\n", "\n")
    run("predict", model, new, "-o", out, "--keep-formulas")
    assert '"2";"=1+1"' in out.read_bytes().decode()
    options = ["--output-encoding", "utf-16", "--output-separator", "tab", "--output-quoting", "needed"]
    run("predict", model, new, "-o", out, *options)
    assert (
        out.read_bytes().decode("utf-16").startswith("id\ttext\tpredicted\tprobability\tunknown_words\r\n1\tw0_1; w0")
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "out.jsonl", "--output-separator", "tab"], "found --output-separator, which is for CSV and TSV"),
        (["--json", "--keep-formulas"], "found --keep-formulas, which is for CSV and TSV, and the output is jsonl"),
        (["--output-encoding", "latin-99"], "unknown encoding 'latin-99' to write"),
        (["--output-separator", "::"], "found the separator '::'; expected one character"),
        (["--output-quoting", "some"], "unknown quoting 'some'"),
        (["--sheet", "One"], "found --sheet One, and the file is csv; leave it out"),
    ],
)
def test_options_of_the_output(
    options: list[str], message: str, run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("predict", model, data, *(str(tmp_path / word) if "out." in word else word for word in options))
    assert result.status == 2
    assert message in result.err
    assert not list(tmp_path.iterdir())


def test_labels_that_the_output_cannot_hold(run: Run, tmp_path: Path) -> None:
    texts, labels = ["good", "bad"] * 3, ["💚", "a,b"] * 3
    plain_classifier(parts=["words"], embeddings=None).fit(texts, labels).save(tmp_path / "m")
    new = tmp_path / "new.csv"
    new.write_bytes("id,text\n1,schöne Grüße\n2,größer und länger\n".encode("cp1252"))
    result = run("predict", tmp_path / "m", new, "-o", tmp_path / "out.csv")
    assert (result.status, "the label '💚' cannot be written in cp1252" in result.err) == (2, True)
    options = ["--quoting", "none", "--output-encoding", "utf-8"]
    result = run("predict", tmp_path / "m", new, *options)
    assert (result.status, "cannot write the cell 'a,b' without quotes" in result.err) == (2, True)
    assert run("predict", tmp_path / "m", new, *options, "--output-quoting", "needed").status == 0


def test_predict_ends_with_a_summary(run: Run, model: Path, data: Path) -> None:
    lines = run("predict", model, data).err.splitlines()
    assert re.fullmatch(r"note: predicted class \d: \d+ rows \(\d+\.\d%\), mean probability 0\.\d{3}", lines[-4])
    assert re.fullmatch(r"note: all 120 rows: mean probability 0\.\d{3}, unknown words 0\.0%", lines[-1])


def test_workbooks_in_and_out(run: Run, model: Path, tmp_path: Path) -> None:
    book = write_sheets(
        tmp_path / "in.xlsx", One=[["nothing"]], Two=[["id", "text"], [7, "w0_1 w0_2"], [8, "@w1_1"], ["-x", None]]
    )
    out = tmp_path / "out.xlsx"
    for sheet in ("Two", "2"):
        result = run("predict", model, book, "--sheet", sheet, "-o", out)
        assert (result.status, "Excel, sheet Two, number 2 of 2" in result.err) == (0, True)
    frame = read_table(out, ReadOptions()).frame
    assert frame.columns == ["id", "text", "predicted", "probability", "unknown_words"]
    assert frame["id"].to_list() == ["7", "8", "-x"]
    assert frame["predicted"].to_list()[::2] == ["class 0", None]
    assert frame["text"][1] == "@w1_1"
    result = run("predict", model, book, "--sheet", "Tow", "-o", tmp_path / "no.xlsx")
    assert (result.status, "unknown sheet 'Tow'; known: One, Two. Did you mean 'Two'?" in result.err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.xlsx", "out.xlsx"]
