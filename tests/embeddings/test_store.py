"""Embeddings: one immutable object, loaded, trained or made from arrays."""

import pickle
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tests.embeddings.vector_files import VECTORS, WORDS, write_glove
from tfcr import ClassCounts, Embeddings, TfcrClassifier
from tfcr.embeddings import embeddings_key, resolve_embeddings
from tfcr.errors import EmbeddingsError, InputError, UnknownNameError
from tfcr.text.pieces import SEGMENTATIONS

# gensim leaves the files it reads open, which Python reports whenever it collects them
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_missing_files_and_names(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsError, match=r"missing\.bin does not exist"):
        Embeddings.load("missing.bin")
    (tmp_path / "long.vec").symlink_to("z" * 300)
    for name in (tmp_path / "long.vec", f"{'z' * 300}.vec"):
        with pytest.raises(EmbeddingsError, match=r"\.vec does not exist"):
            Embeddings.load(name)
    with pytest.raises(EmbeddingsError, match=r"unknown vectors 'wglov'; known: gw2v.*Did you mean 'wglove'"):
        Embeddings.load("wglov")
    with pytest.raises(EmbeddingsError, match="stands for vectors trained on your texts"):
        Embeddings.load("w2v")
    with pytest.raises(EmbeddingsError, match="is a folder"):
        Embeddings.load(tmp_path)
    with pytest.raises(UnknownNameError, match="unknown vector format 'bin'"):
        Embeddings.load(write_glove(tmp_path), format="bin")


def test_vectors_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **options: bool) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(EmbeddingsError, match=r"cannot read .*w\.vec: Permission denied"):
        Embeddings.load(tmp_path / "w.vec")


def test_an_array_whose_word_list_would_have_too_long_a_name(tmp_path: Path) -> None:
    np.save(tmp_path / f"{'z' * 251}.npy", VECTORS)
    with pytest.raises(EmbeddingsError, match="has no word list beside it"):
        Embeddings.load(tmp_path / f"{'z' * 251}.npy")


def test_one_object_however_it_is_copied(tmp_path: Path) -> None:
    loaded = Embeddings.load(write_glove(tmp_path))
    assert copy(loaded) is deepcopy(loaded) is loaded
    assert clone(TfcrClassifier(embeddings=loaded)).embeddings is loaded
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


PIECES = Embeddings.from_arrays(
    [" good", "ish", " film", "s", " "], [[1, 0], [0, 1], [2, 2], [0, 3], [9, 9]], segmentation="longest"
)


def test_a_word_is_the_sum_of_its_pieces() -> None:
    words = ["goodish", "filmss", "films", "ünß", ""]
    assert PIECES.of_words(words).tolist() == [[1, 1], [2, 8], [2, 5], [9, 9], [9, 9]]
    assert PIECES.of_words(words).dtype == np.float32
    known = Embeddings.from_arrays(PIECES.words[:4], PIECES.vectors[:4], segmentation="longest")
    assert known.of_words(words).tolist() == [[1, 1], [2, 8], [2, 5], [0, 0], [0, 0]]
    assert known.has_vector(iter(words)).tolist() == [True, True, True, False, False]
    assert [word in known for word in [*words, 3]] == [True, True, True, False, False, False]
    assert known["films"].tolist() == [2, 5]
    assert known["films"].dtype == np.float32
    with pytest.raises(KeyError):
        known["ünß"]
    with pytest.raises(InputError, match="arrays is a table of sub-words, where a word has several rows; use of_words"):
        known.rows(words)
    assert repr(known) == "Embeddings('arrays', 4 pieces of words, 2 dimensions)"


def test_coverage_by_pieces() -> None:
    known = Embeddings.from_arrays(PIECES.words[:4], PIECES.vectors[:4], segmentation="longest")
    coverage = known.coverage(ClassCounts.from_texts(["films films goodish", "ünß"], ["x", "y"]))
    assert coverage.words == pytest.approx(2 / 3)
    assert coverage.tokens == pytest.approx(3 / 4)


def test_pieces_are_copied_with_their_segmentation(tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(PIECES)).of_words(["films"]).tolist() == [[2, 5]]
    PIECES.save(tmp_path / "p.safetensors")
    loaded = Embeddings.load(tmp_path / "p.safetensors")
    assert clone(loaded) is loaded
    assert len(pickle.dumps(loaded)) < 500
    assert pickle.loads(pickle.dumps(loaded)).segmentation == "longest"
    with pytest.raises(UnknownNameError, match="unknown segmentation 'longst'; known: .*Did you mean 'longest'"):
        Embeddings.from_arrays(["a"], [[1]], segmentation="longst")


def test_pieces_for_words_never_seen() -> None:
    pieces, vectors = PIECES.pieces(limit=1)  # all are needed to cut a word
    assert (pieces.names, pieces.segmentation) == (PIECES.words, "longest")
    assert vectors is PIECES.vectors
    whole = Embeddings.from_arrays(["a", "b", "é"], [[1, 2], [3, 4], [5, 6]])
    for limit, n_words in ((0, 0), (2, 2), (3, 3), (100, 3)):
        pieces, vectors = whole.pieces(limit)
        assert (list(pieces.names), pieces.segmentation) == ([" a ", " b ", " é "][:n_words], "whole")
        assert vectors.tolist() == [[1, 2], [3, 4], [5, 6]][:n_words]


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_vectors_of_words_come_from_pieces(segmentation: str) -> None:
    names = [" a", "b", "ab", "b ", " ab "]
    known = Embeddings.from_arrays(names, np.eye(5), segmentation=segmentation)
    words = ["ab", "a", "ba", "x"]
    pieces, vectors = known.pieces(5)
    for word, vector in zip(words, known.of_words(words), strict=True):
        np.testing.assert_array_equal(vector, vectors[pieces.of_word(word)].sum(axis=0))


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], [[1, 2], [3, 4]], "found 1 words and vectors of shape"),
        (["a", "a"], [[1, 2], [3, 4]], "found 'a' more than once"),
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


TEXTS = ["the cat sat on the mat", "the dog sat on the rug"] * 10


def test_a_source_is_taken_loaded_or_trained(tmp_path: Path) -> None:
    vectors = Embeddings.from_arrays(WORDS, VECTORS)
    assert resolve_embeddings(vectors, TEXTS) is vectors
    path = write_glove(tmp_path)
    for source in (path, str(path)):
        assert resolve_embeddings(source, TEXTS).words == WORDS
    trained = resolve_embeddings("w2v", TEXTS, dimensions=4, unlabelled=["extra extra"], random_state=3)
    seed = int(np.random.RandomState(3).randint(2**31 - 1))
    expected = Embeddings.train([*TEXTS, "extra extra"], dimensions=4, seed=seed)
    assert trained.words == expected.words
    np.testing.assert_array_equal(trained.vectors, expected.vectors)
    with pytest.raises(InputError, match="found a single string"):
        resolve_embeddings("w2v", TEXTS, unlabelled="extra")


def test_sources_that_may_differ_have_different_keys(tmp_path: Path) -> None:
    one, two = (Embeddings.from_arrays(WORDS, sign * VECTORS) for sign in (1, -1))
    assert str(one) == str(two)
    assert len({embeddings_key(source) for source in (one, two, one, clone(two), None)}) == 3
    assert embeddings_key(tmp_path / "v.txt") == embeddings_key(str(tmp_path / "v.txt"))


@pytest.mark.parametrize("value", [0, -1, 1.5, None, "3", True, float("nan")])
@pytest.mark.parametrize("name", ["dimensions", "window", "epochs", "min_count"])
def test_numbers_that_word2vec_cannot_use(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"found {name}=.* expected a whole number from 1 to"):
        Embeddings.train(["a b c"], **{name: value})


@pytest.mark.parametrize(
    "vectors", [[[1, 2], [3]], "ab", [["x"], ["y"]], [[1e300], [0]], [[None], [1]], [[10**400], [1]]]
)
def test_arrays_that_are_no_vectors(vectors: Any) -> None:
    with pytest.raises(InputError):
        Embeddings.from_arrays(["a", "b"], vectors)


def test_words_that_are_no_strings() -> None:
    with pytest.raises(InputError, match="found 1 among the words; expected strings"):
        Embeddings.from_arrays(["a", 1], [[1], [2]])  # type: ignore[list-item]
