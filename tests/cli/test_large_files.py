"""``tfcr train`` on files that do not fit into memory."""

from pathlib import Path

import pytest

from tests.cli.runner import Run
from tests.evaluation.test_streams import NAMES, write
from tests.heads.test_sharded import TEXTS
from tfcr import load
from tfcr.evaluation import streams
from tfcr.heads import large


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data.csv", zip(TEXTS, NAMES, strict=True))


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tfcr.counting.SHARD_DOCUMENTS", 64)
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 150)
    monkeypatch.setattr(streams, "fits_into_memory", lambda stream, model: False)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    return scratch


def test_train_reads_large_files_in_shards(data: str, tmp_path: Path, nothing_fits: Path, run: Run) -> None:
    model = str(tmp_path / "model")
    printed = run("train", data, "--preset", "fast", "--cv", "2", "-o", model)
    assert printed.status == 0
    assert "macro-F1, mean of 2 folds" in printed.out
    assert "strengths were picked on a sample" in printed.err
    assert (load(model).predict(TEXTS) == NAMES).mean() > 0.8
    assert not list(nothing_fits.rglob("*"))  # no shard is left behind


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (("text,label\n" + 30 * "très bon,pos\nmal à l’aise,neg\n").encode() + b"caf\xff,neg\n", "line 62"),
        (b"text,label\ngood,pos\nbad,neg\none,two,three\n", "line 4"),
        (b"text,label\ngood,pos\nbad,pos\n", "one class only"),
    ],
)
def test_a_broken_row_stops_the_run_and_leaves_nothing(
    content: bytes, message: str, tmp_path: Path, nothing_fits: Path, run: Run
) -> None:
    path, model = tmp_path / "data.csv", tmp_path / "model"
    path.write_bytes(content)
    printed = run("train", path, "--preset", "fast", "-o", model)
    assert printed.status == 2
    assert message in printed.err
    assert not model.exists()
    assert not list(nothing_fits.rglob("*"))


def test_a_full_disk_is_one_line(
    data: str,
    tmp_path: Path,
    nothing_fits: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    def full(path: Path, piece: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("tfcr.system.places.write_piece", full)
    printed = run("train", data, "--preset", "fast", "-o", tmp_path / "model")
    assert printed.status == 2
    assert "No space left on device" in printed.err
    assert "Traceback" not in printed.err
    assert not list(nothing_fits.rglob("*"))
