"""Vector files are converted once, and again when they change or the cache is damaged."""

import json
import shutil
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.embeddings.vector_files import FILES, VECTORS, WORDS, write_glove, write_npy
from tfcr import Embeddings, TfcrWarning

# gensim leaves the files it reads open, which Python reports whenever it collects them
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def is_mapped(vectors: Embeddings) -> bool:
    return isinstance(vectors.vectors.base, np.memmap)


@pytest.mark.parametrize("row", FILES)
def test_the_second_time_comes_from_the_cache(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FILES[row][1](tmp_path)
    Embeddings.load(path)
    monkeypatch.setattr("tfcr.embeddings.cache._convert", lambda file, writer: pytest.fail("converted again"))
    loaded = Embeddings.load(path)
    assert loaded.words == WORDS
    np.testing.assert_allclose(loaded.vectors, VECTORS, rtol=1e-6)
    assert loaded.vectors.dtype == np.float32
    assert is_mapped(loaded)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "embeddings"


def test_an_earlier_state_of_a_file_is_dropped(cache: Path, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "v.txt").write_text("a 1 2\n" + "b 3 4\n" * (number > 0) + "c 5 6\n" * (number > 1))
        assert len(Embeddings.load(tmp_path / "v.txt")) == number + 1
        assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("name", ["vectors.raw", "words.text.raw", "words.offsets.raw", "facts.json"])
def test_a_truncated_cache_is_made_again(name: str, cache: Path, tmp_path: Path) -> None:
    path = write_glove(tmp_path)
    Embeddings.load(path)
    file = next(cache.rglob(name))
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.warns(TfcrWarning, match="the cache entry embeddings/.* is damaged .*; it is made again"):
        assert Embeddings.load(path).words == WORDS
    assert len(list(cache.iterdir())) == 1


def test_offsets_that_lead_astray_are_made_again(cache: Path, tmp_path: Path) -> None:
    path = write_glove(tmp_path)
    Embeddings.load(path)
    file = next(cache.rglob("words.offsets.raw"))
    offsets = np.fromfile(file, "<i8")
    offsets[1] = 10**9
    offsets.tofile(file)
    with pytest.warns(TfcrWarning, match="is damaged"):
        assert Embeddings.load(path).words == WORDS


def test_a_damaged_cache_of_the_right_size_is_made_again(cache: Path, tmp_path: Path) -> None:
    path = write_glove(tmp_path)
    Embeddings.load(path)
    random = Random(0)
    for name in ["vectors.raw", "words.text.raw", "words.offsets.raw", "facts.json"] * 10:
        file = next(cache.rglob(name))
        content = bytearray(file.read_bytes())
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        file.write_bytes(content)
        with pytest.warns(TfcrWarning, match="is damaged"):
            loaded = Embeddings.load(path)
        assert loaded.words == WORDS
        np.testing.assert_allclose(loaded.vectors, VECTORS, rtol=1e-6)


def test_a_cache_that_was_copied_is_hashed_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_glove(tmp_path)
    Embeddings.load(path)
    cache.rename(tmp_path / "old")
    shutil.copytree(tmp_path / "old", cache)
    monkeypatch.setattr("tfcr.embeddings.cache._convert", lambda file, writer: pytest.fail("converted again"))
    assert Embeddings.load(path).words == WORDS
    monkeypatch.setattr("tfcr.system.seals.sum_of", lambda file: pytest.fail("hashed again"))
    assert Embeddings.load(path).words == WORDS


def test_other_facts_are_made_again(cache: Path, tmp_path: Path) -> None:
    path = write_glove(tmp_path)
    report = Embeddings.load(path).report
    file = next(cache.rglob("facts.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "facts": {"other": 1}}))
    with pytest.warns(TfcrWarning, match="is damaged"):
        assert Embeddings.load(path).report == report


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("a 1 2\nb 3 4\n")
    assert Embeddings.load(path).words == ["a", "b"]
    path.write_text("a 1 2\nb 3 4\nc 5 6\n")
    assert Embeddings.load(path).words == ["a", "b", "c"]


def test_a_changed_word_list_or_another_format_is_read_again(tmp_path: Path) -> None:
    path = write_npy(tmp_path)
    assert Embeddings.load(path).words == WORDS
    (tmp_path / "n.txt").write_text("\n".join(f"other{number}" for number in range(len(WORDS))))
    assert Embeddings.load(path).words[0] == "other0"


def test_words_that_are_not_utf8_or_come_twice_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "twitter.txt"
    path.write_bytes(b"4 2\na 1 2\n\xff\xfe 3 4\na 5 6\nb 7 8\n")
    with pytest.warns(TfcrWarning, match="of 4 vectors, 1 were left out because their word is not UTF-8, and 1"):
        loaded = Embeddings.load(path)
    assert loaded.words == ["a", "b"]
    assert loaded["a"].tolist() == [1, 2]
    assert (loaded.report.read, loaded.report.not_utf8, loaded.report.repeated) == (4, 1, 1)
    assert Embeddings.load(path).report == loaded.report  # from the cache


def test_a_read_only_cache_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("not a folder")
    loaded = Embeddings.load(write_glove(tmp_path))
    assert loaded.words == WORDS
    assert not is_mapped(loaded)
