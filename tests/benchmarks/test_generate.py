"""benchmarks/generate.py: what it writes, that it can be read, and that its classes can be learned, but not all."""

import gzip
import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import Embeddings
from tfcr.data import read_corpus

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SMALL = ("--words", "20000")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("generate")


@pytest.fixture
def small_batches(module: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(module, "BATCH", 100)
    return module


def test_texts_are_readable_and_look_like_language(module: Any, tmp_path: Path) -> None:
    module.main(["--documents", "4000", "-o", str(tmp_path), *SMALL])
    corpus = read_corpus(tmp_path / "texts.csv")
    assert len(corpus) == 4000
    assert len(corpus.class_sizes()) == 20
    lengths = [len(text.split()) for text in corpus.texts]
    assert 75 <= np.median(lengths) <= 85
    assert 400 < (tmp_path / "texts.csv").stat().st_size / 4000 < 600
    counts = Counter(word for text in corpus.texts for word in text.split())
    assert all(word.isalpha() for word in counts)
    common = [word for word, _ in counts.most_common(20)]
    assert max(map(len, common)) == 2
    assert 6 < np.mean(list(map(len, counts))) < 11
    half = {word for text in corpus.texts[:2000] for word in text.split()}
    assert 1.15 < len(counts) / len(half) < 1.45, "twice the texts have about the root of two times as many words"
    vectors = Embeddings.load(tmp_path / "vectors.bin")
    assert vectors.vectors.shape == (20_000, 25)
    assert all(word in vectors for word in common)


def test_classes_can_be_learned_but_not_all(module: Any, tmp_path: Path) -> None:
    module.main(["--documents", "6000", "-o", str(tmp_path), "--no-vectors", "--classes", "5", *SMALL])
    corpus = read_corpus(tmp_path / "texts.csv")
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC())
    model.fit(corpus.texts[:4000], corpus.labels[:4000])
    assert 0.8 < f1_score(corpus.labels[4000:], model.predict(corpus.texts[4000:]), average="macro") < 0.98


def test_the_same_documents_come_in_any_number_of_files(small_batches: Any, tmp_path: Path) -> None:
    for name, more in (("one", []), ("three", ["--files", "3"]), ("packed", ["--gz"]), ("again", []), ("more", [])):
        n_documents = "400" if name == "more" else "250"
        given = ["--documents", n_documents, "-o", str(tmp_path / name), "--no-vectors", *SMALL]
        small_batches.main([*given, *more])
    whole = (tmp_path / "one" / "texts.csv").read_bytes()
    head, *rows = whole.splitlines(keepends=True)
    parts = [(tmp_path / "three" / f"texts-{number}.csv").read_bytes() for number in range(3)]
    assert [part.count(b"\n") for part in parts] == [84, 84, 85]
    assert b"".join(part.removeprefix(head) for part in parts) == b"".join(rows)
    assert gzip.decompress((tmp_path / "packed" / "texts.csv.gz").read_bytes()) == whole
    assert (tmp_path / "again" / "texts.csv").read_bytes() == whole
    assert (tmp_path / "more" / "texts.csv").read_bytes().startswith(whole)


def test_another_seed_gives_other_documents(small_batches: Any, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        small_batches.main(["--documents", "9", "-o", str(tmp_path / seed), "--no-vectors", "--seed", seed, *SMALL])
    assert (tmp_path / "1" / "texts.csv").read_bytes() != (tmp_path / "2" / "texts.csv").read_bytes()


def test_draws_follow_the_weights(module: Any) -> None:
    weights = np.array([5, 1, 0, 3, 1.0])
    drawn = module.Alias.of(weights).draw(np.random.default_rng(0), 100_000)
    np.testing.assert_allclose(np.bincount(drawn, minlength=5) / 1e5, weights / 10, atol=0.01)


@pytest.mark.parametrize("wrong", [["--documents", "0"], ["--topical", "1"], ["--classes", "1"], ["--words", "9"]])
def test_bad_calls(module: Any, wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        module.main(["-o", str(tmp_path / "x"), *wrong])
    assert (caught.value.code, "expected" in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "x").exists()
