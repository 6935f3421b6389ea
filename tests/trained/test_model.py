"""TrainedModel: the fast path of prediction, counted documents, and damaged tables."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tests.trained.test_format import KEPT_MODELS
from tfcr import TrainedModel, load
from tfcr.errors import InputError, ModelError
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS


def test_the_fast_path_of_prediction_is_the_plain_one() -> None:
    corpus = random_corpus(300)
    texts = [*corpus.texts, "", "never seen", "w0_1 w0_1 never w0_1 w0_1"]
    parts = ["words", "bigrams", "vectors"]
    model = plain_classifier(parts=parts, embeddings=random_vectors(corpus, 5), blocks="own").fit(
        corpus.texts, corpus.labels
    )
    assert len(model.table_.vocabulary.bigrams) > 0
    plain = model.table_.score_texts(texts, TOKENIZERS["words"])
    fast = model.table_.native.score_texts(texts, TOKENIZERS["words"])
    np.testing.assert_allclose(fast[0], plain.scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fast[1], plain.unknown_fractions, atol=1e-12)
    counted = model.model_.decision.labels(model.model_.score_counted(model.count(texts)))
    assert np.mean(counted == model.predict(texts)) > 0.99


def test_documents_counted_without_bigrams_are_refused_by_a_model_with_bigrams() -> None:
    corpus = random_corpus(60)
    model = plain_classifier(parts=["bigrams"], embeddings=None).fit(corpus.texts, corpus.labels).model_
    known = count_terms(corpus.texts, "words", model.table.vocabulary)
    assert model.decision.labels(model.score_counted(known)).tolist() == model.predict(corpus.texts).tolist()
    with pytest.raises(InputError, match="found documents counted without the bigrams that this model knows"):
        model.score_counted(count_terms(corpus.texts))
    words = plain_classifier(parts=["words"], embeddings=None).fit(corpus.texts, corpus.labels).model_
    assert words.decision.labels(words.score_counted(known)).tolist() == words.predict(corpus.texts).tolist()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    corpus = random_corpus(60)
    plain_classifier(parts=["words"], embeddings=None).fit(corpus.texts, corpus.labels).save(tmp_path / "model")
    return tmp_path / "model"


def data_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.safetensors"))


BARE = """
import json, sys
for name in ("numba", "scipy", "sklearn"):
    sys.modules[name] = None
from tfcr import TrainedModel
from tfcr.trained.word_table import MIN_NATIVE_CHARACTERS

model = TrainedModel.load(sys.argv[1])
texts = {
    "long": ["common1 w0_1 " * 50] * (1 + MIN_NATIVE_CHARACTERS // 650),
    "unseen": [" ".join(f"uncommon{number}" for number in range(2_500))],
    "one": ["common1 w0_1"],
}
scores = {name: model.score_texts(some).scores[0].tolist() for name, some in texts.items()}
for _ in range(2 + MIN_NATIVE_CHARACTERS // 2 // 1_000):  # from here on compiled code would pay
    assert model.score_texts(texts["one"]).scores[0].tolist() == scores["one"]
model.explain("common1 uncommon1")
print(json.dumps([{name: some[0] for name, some in texts.items()}, scores]))
"""


def test_numpy_and_safetensors_are_enough_for_any_amount_of_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = random_corpus(60)
    model = plain_classifier(parts=["ngrams"], embeddings=None, tokenizer="symbols").fit(corpus.texts, corpus.labels)
    assert model.table_.pieces
    model.save(tmp_path / "model")
    kernel = tmp_path / "cache" / "kernels" / "scores.score_documents-1.py311.nbi"  # as of another environment
    kernel.parent.mkdir(parents=True)
    kernel.touch()
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    command = [sys.executable, "-c", BARE, str(tmp_path / "model")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    texts, scores = json.loads(ended.stdout)
    for name, text in texts.items():
        expected = model.table_.native.score_texts([text], TOKENIZERS["symbols"])[0][0]
        np.testing.assert_allclose(scores[name], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("link", [False, True])
def test_a_model_loaded_by_a_relative_path_keeps_its_counts_and_hashes(
    link: bool, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "current").symlink_to("model")
    monkeypatch.chdir(tmp_path)
    loaded = TrainedModel.load("current" if link else "model")
    monkeypatch.chdir(tmp_path / "other")
    (tmp_path / "current").unlink()
    loaded.save(tmp_path / "again")
    assert data_files(tmp_path / "again") == data_files(saved)


@pytest.mark.parametrize("name", ["counts", "seen"])
def test_a_save_that_would_lose_what_was_loaded_is_refused(name: str, saved: Path, tmp_path: Path) -> None:
    loaded = TrainedModel.load(saved)
    next(saved.glob(f"{name}-*")).unlink()
    left_out = {"counts": "counts", "seen": "hashes"}[name]
    with pytest.raises(ModelError, match=f"found no .*{name}-.*{left_out}=False"):
        loaded.save(tmp_path / "again")
    assert not (tmp_path / "again").exists()
    loaded.save(tmp_path / "again", counts=name != "counts", hashes=name != "seen")
    assert len(data_files(tmp_path / "again")) == 2


def damage_table(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the arrays of a saved word table, and name the file after its new content."""
    config = json.loads((folder / "config.json").read_text())
    arrays = load_file(folder / config["files"]["table"])
    change(arrays)
    content = save(arrays)
    name = f"table-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    (folder / name).write_bytes(content)
    config["files"]["table"] = name
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("bigrams", [[[0, -1]], [[0, 10**6]], [[0]], [0, 1]])
def test_a_file_with_impossible_bigrams_is_refused(bigrams: Any, tmp_path: Path) -> None:
    corpus = random_corpus(50)
    plain_classifier(parts=["bigrams"], embeddings=None).fit(corpus.texts, corpus.labels).save(tmp_path / "model")
    damage_table(tmp_path / "model", lambda arrays: arrays.update(bigrams=np.array(bigrams, np.int32)))
    with pytest.raises(ModelError, match="bigrams"):
        load(tmp_path / "model")


@pytest.mark.parametrize("n_bigrams", [-1, 10**6, "two", None, "one more"])
def test_an_old_model_that_lies_about_its_bigrams_is_refused(n_bigrams: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(KEPT_MODELS / "schema-2", tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["pairs"] = config["pairs"] + 1 if n_bigrams == "one more" else n_bigrams
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="bigrams|terms"):
        load(folder)
