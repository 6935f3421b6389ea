"""``tfcr embeddings``."""

import json
from pathlib import Path

from tests.cli.runner import Run
from tfcr.embeddings import Embeddings


def test_embeddings_commands(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    assert "wglove-50" in run("embeddings", "list").out
    assert {row["name"] for row in json.loads(run("embeddings", "list", "--json").out)} >= {"gw2v", "cglove"}
    facts = json.loads(run("embeddings", "info", vectors_file, "--data", data, "--json").out)
    assert (facts["words"], facts["dimensions"]) == (24, 8)
    assert 0.8 < facts["fraction of tokens covered"] <= 1
    assert "dimensions" in run("embeddings", "info", vectors_file).out
    for ending in ("bin", "txt", "npy", "vec"):
        target = tmp_path / f"copy-{ending}.{ending}"
        assert run("embeddings", "convert", vectors_file, "-o", target).status == 0
        assert Embeddings.load(target).words == Embeddings.load(vectors_file).words
        assert (Embeddings.load(target).vectors == Embeddings.load(vectors_file).vectors).all()
    trained = tmp_path / "trained.vec"
    assert run("embeddings", "train", data, "-o", trained, "--dimensions", 5, "--epochs", 1).status == 0
    assert Embeddings.load(trained).dimensions == 5
    assert run("embeddings", "convert", vectors_file, "-o", tmp_path / "x.doc").status == 2
    (tmp_path / "notes.txt").write_text("precious")
    result = run("embeddings", "convert", vectors_file, "-o", tmp_path / "notes.npy")
    assert (result.status, "choose another name" in result.err) == (2, True)
    assert (tmp_path / "notes.txt").read_text() == "precious"
    assert run("embeddings", "train", data, "-o", trained, "--epochs", 0).status == 2
