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


def test_tables_of_sub_words(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "pieces.safetensors"
    Embeddings.from_arrays([" good", "ish"], [[1, 0], [0, 1]], segmentation="longest").save(table)
    (tmp_path / "texts.csv").write_text("text,label\ngoodish good,a\nbad,b\n")
    facts = json.loads(run("embeddings", "info", table, "--data", tmp_path / "texts.csv", "--json").out)
    assert (facts["words"], facts["segmentation"]) == (2, "longest")
    assert facts["fraction of tokens covered"] == 2 / 3
    assert run("embeddings", "convert", table, "-o", tmp_path / "copy.safetensors").status == 0
    assert Embeddings.load(tmp_path / "copy.safetensors")["goodish"].tolist() == [1, 1]
    status, _, error = run("embeddings", "convert", table, "-o", tmp_path / "copy.vec")
    assert status == 2
    assert "has no place for how words are cut into them; save it as .safetensors" in error
    assert not (tmp_path / "copy.vec").exists()


def test_info_of_whole_words(run: Run, vectors_file: Path) -> None:
    assert "whole words" in run("embeddings", "info", vectors_file).out
    assert json.loads(run("embeddings", "info", vectors_file, "--json").out)["segmentation"] is None
