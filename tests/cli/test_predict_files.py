"""Predictions for many files, and runs that are resumed."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.runner import Run
from tfcr.data import resumable, streaming
from tfcr.data.resumable import part_of
from tfcr.predict_files import output_name
from tfcr.system.journal import opened_journal

N_ROWS = 60


def write_rows(path: Path, first: int = 0, n_rows: int = N_ROWS) -> Path:
    rows = (f'"w{n % 3}_1, w{n % 3}_2\nw{n % 3}_3",{n:03}\n' for n in range(first, first + n_rows))
    path.write_text("text,id\n" + "".join(rows))
    return path


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 200)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number, name in enumerate("abc"):
        write_rows(tmp_path / "in" / f"{name}.csv", 100 * number)
    return tmp_path


class StoppedError(BaseException):
    """Ends a run as a kill would: nothing is cleaned up after it."""


@pytest.fixture
def kill_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that ends the next run after so many records of its journal."""

    def set_up(records: int) -> None:
        left = [records]
        add = resumable.ResumableFile.add

        def add_or_stop(self: Any, *arguments: Any) -> None:
            if left[0] == 0:
                self._file.write(b"half a row that the journal does not know of")
                self._file.flush()
                monkeypatch.setattr(resumable.ResumableFile, "add", add)
                raise StoppedError
            left[0] -= 1
            add(self, *arguments)

        monkeypatch.setattr(resumable.ResumableFile, "add", add_or_stop)

    return set_up


def test_one_file_each(run: Run, model: Path, folder: Path) -> None:
    result = run("predict", model, folder / "in" / "*.csv", "-o", f"{folder}/out/")
    assert result.status == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.csv", "b.csv", "c.csv"]
    for number, name in enumerate("abc"):
        assert f"note: {folder}/out/{name}.csv: 60 rows" in result.err
        run("predict", model, folder / "in" / f"{name}.csv", "-o", folder / "one.csv")
        assert (folder / "one.csv").read_bytes() == (folder / "out" / f"{name}.csv").read_bytes()
        ids = pl.read_csv(folder / "one.csv")["id"].to_list()
        assert ids == list(range(100 * number, 100 * number + 60))
    assert "all 180 rows" in result.err


def test_a_folder_stands_for_its_data_files(run: Run, model: Path, folder: Path) -> None:
    (folder / "in" / "README.md").write_text("not data")
    (folder / "in" / ".hidden.csv").write_text("not data")
    (folder / "in" / "d.jsonl.gz").write_bytes(gzip.compress(b'{"text": "w0_1", "id": 400}\n'))
    (folder / "out").mkdir()
    assert run("predict", model, folder / "in", "-o", folder / "out").status == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.csv", "b.csv", "c.csv", "d.jsonl"]
    assert run("predict", model, folder / "in", "-o", folder / "all.csv").status == 0
    assert pl.read_csv(folder / "all.csv")["id"].to_list()[-2:] == [259, 400]


@pytest.mark.parametrize(
    ("source", "name"),
    [("a.CSV", "a.csv"), ("a.tab", "a.tsv"), ("x/a.pq", "a.parquet"), ("a", "a.csv"), (".csv", ".csv.csv")],
)
def test_names_of_outputs(source: str, name: str) -> None:
    assert output_name(source) == name


def test_an_input_that_fails_is_named_and_the_others_are_written(run: Run, model: Path, folder: Path) -> None:
    good = (folder / "in" / "b.csv").read_text()
    (folder / "in" / "b.csv").write_text(good + "a,b,too many\n")
    result = run("predict", model, folder / "in", "-o", f"{folder}/out/")
    assert result.status == 2
    assert f"warning: {folder}/out/b.csv was not written: {folder}/in/b.csv, line 122: found 3 columns" in result.err
    assert result.err.splitlines()[-1] == (
        f"tfcr: 1 of 3 inputs failed, the first is {folder}/in/b.csv; the others are complete. Mend or leave out what "
        "failed, and give the same command with --resume"
    )
    assert sorted(path.name for path in (folder / "out").iterdir()) == [".tfcr-journal", "a.csv", "c.csv"]
    (folder / "in" / "b.csv").write_text(good)
    before = (folder / "out" / "a.csv").stat().st_mtime_ns
    result = run("predict", model, folder / "in", "-o", f"{folder}/out/", "--resume")
    assert result.status == 0
    assert f"note: {folder}/out/a.csv: 60 rows, complete already" in result.err
    assert "all 180 rows" in result.err
    assert (folder / "out" / "a.csv").stat().st_mtime_ns == before
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.csv", "b.csv", "c.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in", "-o", "none/out/"], "none does not exist; make it first: mkdir -p"),
        (["in", "-o", "in/"], "in/a.csv is an input; expected another folder to write to: -o FOLDER/"),
        (["in", "other", "-o", "out/"], "would both be written to"),
        (["-", "-o", "out/"], "found the folder out/ to write to, and -; expected files: give -o FILE"),
        (["in", "--resume"], "found --resume, and no file to write; expected files to read, and -o FILE"),
        (["-", "-o", "a.csv", "--resume"], "found --resume, and - to read; expected files to read, and -o FILE"),
    ],
)
def test_calls_that_cannot_be(
    arguments: list[str], message: str, run: Run, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "other").mkdir()
    write_rows(folder / "other" / "a.csv")
    monkeypatch.chdir(folder)
    result = run("predict", model, *arguments)
    assert (result.status, message in result.err) == (2, True), result.err
    assert sorted(path.name for path in folder.iterdir()) == ["in", "other"]
    assert sorted(path.name for path in (folder / "in").iterdir()) == ["a.csv", "b.csv", "c.csv"]


# resuming ------------------------------------------------------------------------------------------------------------

OUTPUTS = {
    "out.csv": [],
    "out.tsv": ["--output-encoding", "utf-16"],
    "with-mark.csv": ["--output-encoding", "utf-8-sig"],
    "out.jsonl": [],
}


@pytest.mark.parametrize("records", [0, 1, 3])
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_resumed_file_is_the_same(
    name: str, records: int, run: Run, model: Path, tmp_path: Path, kill_after: Callable[[int], None]
) -> None:
    data, whole, out = write_rows(tmp_path / "data.csv"), tmp_path / f"whole-{name}", tmp_path / name
    expected = run("predict", model, data, "-o", whole, *OUTPUTS[name])
    out.write_text("old")
    kill_after(records)
    with pytest.raises(StoppedError):
        run("predict", model, data, "-o", out, *OUTPUTS[name])
    assert out.read_text() == "old"
    assert part_of(out).exists() == (records > 0)
    result = run("predict", model, data, "-o", out, "--resume", *OUTPUTS[name])
    assert result.status == 0
    assert ("resuming after" if records else "starting at the first row") in result.err
    assert out.read_bytes() == whole.read_bytes()
    assert result.err.splitlines()[-4:] == expected.err.splitlines()[-4:]  # the summary is of all rows
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["data.csv", name, f"whole-{name}"])


@pytest.mark.parametrize("name", ["out.parquet", "out.xlsx"])
def test_what_cannot_be_appended_to_is_done_again(name: str, run: Run, model: Path, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.csv")
    assert run("predict", model, data, "-o", tmp_path / name, "--resume").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", name]


def test_a_folder_is_resumed(run: Run, model: Path, folder: Path, kill_after: Callable[[int], None]) -> None:
    run("predict", model, folder / "in", "-o", f"{folder}/whole/")
    kill_after(12)
    with pytest.raises(StoppedError):
        run("predict", model, folder / "in", "-o", f"{folder}/out/")
    assert sorted(path.name for path in (folder / "out").iterdir()) == [".b.csv.tfcr-part", ".tfcr-journal", "a.csv"]
    result = run("predict", model, folder / "in", "-o", f"{folder}/out/", "--resume")
    assert f"{folder}/out/a.csv: 60 rows, complete already" in result.err
    assert f"{folder}/out/b.csv: resuming after" in result.err
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.csv", "b.csv", "c.csv"]
    for name in "abc":
        assert (folder / "out" / f"{name}.csv").read_bytes() == (folder / "whole" / f"{name}.csv").read_bytes()


def test_what_another_run_left_goes_when_a_run_begins_anew(
    run: Run, model: Path, folder: Path, kill_after: Callable[[int], None]
) -> None:
    kill_after(12)
    with pytest.raises(StoppedError):
        run("predict", model, folder / "in", "-o", f"{folder}/out/")
    run("predict", model, folder / "in" / "a.csv", "-o", f"{folder}/out/")
    assert [path.name for path in (folder / "out").iterdir()] == ["a.csv"]


def test_a_run_killed_before_its_file_got_its_name(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = write_rows(tmp_path / "data.csv"), tmp_path / "out.csv"
    run("predict", model, data, "-o", tmp_path / "whole.csv")
    with monkeypatch.context() as patch:
        patch.setattr(resumable, "_rename", lambda *arguments: (_ for _ in ()).throw(StoppedError))
        with pytest.raises(StoppedError):
            run("predict", model, data, "-o", out)
    assert not out.exists()
    assert run("predict", model, data, "-o", out, "--resume").status == 0
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "out.csv", "whole.csv"]


CHANGES: dict[str, tuple[Callable[[Path, Path], object], list[str], str]] = {
    "input": (
        lambda data, model: write_rows(data, 1),
        [],
        "has changed since the run that is to be resumed; expected the same size and time",
    ),
    "model": (
        lambda data, model: (model / "config.json").write_text((model / "config.json").read_text() + " "),
        [],
        "found another model than that of the run that began to write",
    ),
    "options": (lambda data, model: None, ["--keep-formulas"], "found another set of options than that of the run"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_nothing_is_resumed_after_a_change(
    what: str, run: Run, model: Path, tmp_path: Path, kill_after: Callable[[int], None], copied: Path
) -> None:
    change, more, message = CHANGES[what]
    data, out = write_rows(tmp_path / "data.csv"), tmp_path / "out.csv"
    kill_after(2)
    with pytest.raises(StoppedError):
        run("predict", copied, data, "-o", out)
    left = part_of(out).read_bytes()
    change(data, copied)
    result = run("predict", copied, data, "-o", out, "--resume", *more)
    assert (result.status, message in result.err) == (2, True), result.err
    assert "o start over, type the same command without --resume" in result.err
    assert part_of(out).read_bytes() == left
    assert run("predict", copied, data, "-o", out, *more).status == 0
    assert pl.read_csv(out).height == N_ROWS
    assert not part_of(out).exists()


@pytest.fixture
def copied(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copied")
    for file in model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_two_runs_at_a_time(run: Run, model: Path, tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "data.csv"), tmp_path / "out.csv"
    with opened_journal(resumable.journal_of(out), {}, resume=False, what="x"):
        result = run("predict", model, data, "-o", out)
    assert (result.status, "another tfcr predict is writing" in result.err) == (2, True)


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]\n", b'{"output": 1}\n', b"\xff\n", None])
def test_a_damaged_journal_or_part_is_not_trusted(
    damage: bytes | None, run: Run, model: Path, tmp_path: Path, kill_after: Callable[[int], None]
) -> None:
    data, out = write_rows(tmp_path / "data.csv"), tmp_path / "out.csv"
    run("predict", model, data, "-o", tmp_path / "whole.csv")
    kill_after(3)
    with pytest.raises(StoppedError):
        run("predict", model, data, "-o", out)
    journal = resumable.journal_of(out)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["rows"] > 0
    if damage is None:
        os.truncate(part_of(out), 10)
    else:
        journal.write_bytes(b"".join(lines[:2]) + damage + b"".join(lines[2:]))
    assert run("predict", model, data, "-o", out, "--resume").status == 0
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_nothing_is_resumed_with_other_costs_in_the_same_file(
    run: Run, copied: Path, tmp_path: Path, kill_after: Callable[[int], None]
) -> None:
    data, out, costs = write_rows(tmp_path / "data.csv"), tmp_path / "out.csv", tmp_path / "costs.csv"
    costs.write_text("class 0,class 1,5\n")
    kill_after(2)
    with pytest.raises(StoppedError):
        run("predict", copied, data, "-o", out, "--costs", costs)
    costs.write_text("class 0,class 1,50\n")
    result = run("predict", copied, data, "-o", out, "--costs", costs, "--resume")
    assert "found another set of options than that of the run" in result.err
    costs.write_text("class 0,class 1,5.0\n")
    assert run("predict", copied, data, "-o", out, "--costs", costs, "--resume").status == 0
