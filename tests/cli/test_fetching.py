"""``tfcr datasets fetch`` and ``tfcr embeddings fetch``, from a server on this machine."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.datasets.files import write_newsgroups
from tests.file_server import Server
from tfcr import cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tfcr", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        shown = capsys.readouterr()
        return int(caught.value.code or 0), shown.out, shown.err

    return command


def test_fetching_from_the_shell(server: Server, small_newsgroups: list[tuple[str, str]], run: Run) -> None:
    server.refusals = [404]
    status, out, err = run("datasets", "fetch", "20ng")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "the server answers 404 Not Found; expected the file 20news-bydate.tar.gz; or get it by hand" in err
    server.cuts = [20]
    status, out, err = run("datasets", "fetch", "20ng")
    assert status == 0
    assert "note: 20news-bydate.tar.gz: the connection ended early after 20 bytes; trying again" in err
    assert "20ng is ready in" in out
    assert "sci.space" in run("datasets", "info", "20ng")[1]
    assert json.loads(run("datasets", "info", "20ng", "--json")[1])["found"]["documents"] == 3
    assert json.loads(run("datasets", "fetch", "20ng", "--json")[1])["name"] == "20ng"
    states = {row["name"]: row["state"] for row in json.loads(run("datasets", "list", "--json")[1])}
    assert (states["20ng"], states["ns200"], states["hate"]) == ("ready", "can be downloaded", "must be asked for")
    assert "tfcr: 'hate' cannot be downloaded" in run("datasets", "fetch", "hate")[2]
    assert "unknown dataset 'hat'" in run("datasets", "fetch", "hat")[2]
    status, out, _ = run("embeddings", "fetch", "wglove-50", "--json")
    assert json.loads(out)["file"].endswith(".npy")
    assert "'tw2v' cannot be downloaded" in run("embeddings", "fetch", "tw2v")[2]


def test_path_on_the_command_line(run: Run, tmp_path: Path) -> None:
    write_newsgroups(tmp_path)
    archive = tmp_path / "20news-bydate.tar.gz"
    status, out, _ = run("words", "20ng", "--path", archive, "--top", 3)
    assert (status, "rec.autos" in out) == (0, True)
    status, out, _ = run("datasets", "info", "20ng", "--path", archive)
    assert "found: 3 documents, 2 classes" in out
    status, out, _ = run("embeddings", "train", "20ng", "--path", archive, "-o", tmp_path / "v.vec", "--min-count", 1)
    assert (status, "vectors of 100 dimensions" in out) == (0, True)
    status, _, err = run("words", archive, "--path", archive)
    assert (status, "expected it with a dataset's name" in err) == (2, True)
