"""Every vector format: through one contract, against gensim, and every way a file can be bad."""

import bz2
import gzip
import json
import lzma
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors

from tests.embeddings.vector_files import (
    FILES,
    VECTORS,
    WORDS,
    write_fasttext,
    write_glove,
    write_gz,
    write_npy,
    write_pieces,
    write_safetensors,
    write_word2vec_binary,
    write_word2vec_text,
)
from tests.mutations import check_message, mutated
from tfcr import Embeddings, TfcrWarning
from tfcr.embeddings import FORMATS, formats
from tfcr.embeddings.formats import detect_format, vector_file
from tfcr.errors import EmbeddingsError
from tfcr.system.limits import LIMITS

# gensim leaves the files it reads open, which Python reports whenever it collects them
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_every_format_has_a_file_of_another_program() -> None:
    assert {name for name, _ in FILES.values()} == set(FORMATS)


@pytest.mark.parametrize("row", FILES)
def test_files_of_other_programs_are_detected_and_read(row: str, tmp_path: Path) -> None:
    name, write = FILES[row]
    path = write(tmp_path)
    assert detect_format(path) == name
    loaded = Embeddings.load(path)
    assert loaded.words == WORDS
    np.testing.assert_allclose(loaded.vectors, VECTORS, rtol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_writes_it_detects_and_reads(name: str, tmp_path: Path) -> None:
    row = FORMATS[name]
    path = tmp_path / f"v{row.endings[0]}"
    Embeddings.from_arrays(WORDS, VECTORS).save(path)
    assert detect_format(path) == name
    chunks = list(row.read(path))
    assert [word for chunk in chunks for word in chunk.words] == [word.encode() for word in WORDS]
    vectors = np.concatenate([chunk.vectors for chunk in chunks])
    np.testing.assert_array_equal(vectors, VECTORS)
    assert vectors.dtype == np.float32
    assert set(vector_file(path).files) == set(tmp_path.iterdir())  # all that the vectors depend on


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_without_its_end_is_refused(name: str, tmp_path: Path) -> None:
    row = FORMATS[name]
    path = tmp_path / f"v{row.endings[0]}"
    row.write(path, WORDS, VECTORS)
    content = path.read_bytes()
    path.write_bytes(content[: -len(content) // (2 * len(WORDS))])  # about half of the last vector is missing
    with pytest.raises(EmbeddingsError, match=path.name):
        list(row.read(path))


@pytest.mark.parametrize("name", FORMATS)
def test_saving_replaces_a_file_whole_or_not_at_all(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = FORMATS[name]
    path = tmp_path / f"v{row.endings[0]}"
    row.write(path, WORDS, VECTORS)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda number: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            row.write(path, WORDS, -VECTORS)
    assert path.read_bytes() == before
    row.write(path, WORDS, -VECTORS)
    assert path.read_bytes() != before


def test_each_ending_stands_for_one_format(tmp_path: Path) -> None:
    endings = [ending for row in FORMATS.values() for ending in row.endings]
    assert len(set(endings)) == len(endings)
    with pytest.raises(EmbeddingsError, match=r"found v.doc; expected a file ending in one of .npy \(npy\), .vec"):
        Embeddings.from_arrays(WORDS, VECTORS).save(tmp_path / "v.doc")
    Embeddings.from_arrays(WORDS, VECTORS).save(tmp_path / "v.doc", format="glove")
    assert detect_format(tmp_path / "v.doc") == "glove"


def test_a_word_list_never_replaces_another_file(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("notes")
    with pytest.raises(EmbeddingsError, match=r"the word list of v.npy would replace .*v.txt; choose another name"):
        Embeddings.from_arrays(WORDS, VECTORS).save(tmp_path / "v.npy")


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
    monkeypatch.setattr(formats._TextChunks, "_read_fast", lambda self, lines: None)
    slow = list(FORMATS["word2vec-text"].read(path))
    assert fast[0].words == slow[0].words
    np.testing.assert_array_equal(fast[0].vectors, slow[0].vectors)


def test_chunks_smaller_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "CHUNK_BYTES", 40)
    for row, (_, write) in FILES.items():
        folder = tmp_path / row
        folder.mkdir()
        assert Embeddings.load(write(folder)).words == WORDS


def test_words_with_spaces_as_in_the_840b_file(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 0.1 0.2\n. . . 0.3 0.4\nat name@domain.com 0.5 0.6\n")
    assert Embeddings.load(path).words == ["the", ". . .", "at name@domain.com"]


BAD_FILES = {
    "empty": (b"", "is empty"),
    "picture": (b"\x89PNG\r\n\x1a\nxxxx", "has an unrecognised format; expected one of"),
    "ragged": (b"a 1 2 3\nb 4 5\n", "line 2: found 2 numbers after the word; expected 3"),
    "too long": (b"a 1.5 2.5\nb 4.5 5.5 6.5\n", "line 2: found 3 numbers after the word; expected 2"),
    "nan": (b"a 1 2\nb 3 nan\n", "line 2: the vector of 'b' holds NaN or infinity"),
    "infinite": (b"2 2\na 1 2\nb inf 3\n", "line 3: the vector of 'b' holds NaN"),
    "no number": (b"a 1 2\nb 3 x\n", "line 2: could not convert string to float"),
    "truncated text": (b"3 2\na 1 2\nb 3 4\n", r"announces 3 vectors in its first line and holds 2 \(to line 3\)"),
    "truncated binary": (b"2 2\na \0\0\x80?\0\0\0@b \0\0", "byte 14: found the end of the file in vector 2 of the 2"),
    "ragged first": (b"2 3\na 1.0 2.0\nb 1.0 2.0 3.0\n", "line 2: found 2 numbers after the word; expected 3"),
    "ragged behind spaces": (b"a 1.5 2.5 \nb 1.5 2.5 3.5\n", "line 2: found 3 numbers after the word; expected 2"),
    "tabs": (b"a\t1.5\t2.5\nb\t1.5\t2.5\n", "has an unrecognised format"),
    "nan binary": (b"1 1\na \0\0\xc0\x7f", "byte 4: the vector of 'a' holds NaN"),
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
        (np.ones(2), "a\nb\n", r"\(2,\).*; expected an array of two dimensions"),
        (np.ones((2, 0)), "a\nb\n", "holds vectors of no dimensions; expected one or more"),
        (np.full((2, 2), np.nan), "a\nb\n", "row 1: the vector of 'a' holds NaN"),
    ],
)
def test_bad_arrays(array: np.ndarray, words: str | None, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "n.npy", array)
    if words is not None:
        (tmp_path / "n.txt").write_text(words)
    with pytest.raises(EmbeddingsError, match=message):
        Embeddings.load(tmp_path / "n.npy")


BFLOATS = np.array([[1.5, -2], [0.0078125, 3e38]], np.float32)  # exact in the seven bits of bfloat16, but the last


def bfloat16_file(path: Path) -> Path:
    """Write BFLOATS byte by byte: numpy has no such type."""
    header = json.dumps({"e": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    upper_halves = BFLOATS.view(np.uint16)[:, 1::2]
    path.write_bytes(len(header).to_bytes(8, "little") + header + upper_halves.tobytes())
    path.with_suffix(".words").write_text("a\nb\n")
    return path


def test_bfloat16(tmp_path: Path) -> None:
    path = bfloat16_file(tmp_path / "b.safetensors")
    assert vector_file(path).files == (path, tmp_path / "b.words")
    loaded = Embeddings.load(path)
    assert loaded.words == ["a", "b"]
    assert loaded.vectors.dtype == np.float32
    np.testing.assert_allclose(loaded.vectors, BFLOATS, rtol=2**-7)
    np.testing.assert_array_equal(loaded.vectors[0], BFLOATS[0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tensors_of_other_floats(dtype: type, tmp_path: Path) -> None:
    loaded = Embeddings.load(write_safetensors(tmp_path, vectors=VECTORS.astype(dtype)))
    assert loaded.vectors.dtype == np.float32
    np.testing.assert_array_equal(loaded.vectors, VECTORS.astype(dtype).astype(np.float32))


def test_which_tensor_holds_the_vectors(tmp_path: Path) -> None:
    others: dict[str, np.ndarray] = {"weights": np.ones(len(WORDS)), "ids": np.ones((2, 2), np.int32)}
    assert Embeddings.load(write_safetensors(tmp_path, any=VECTORS, **others)).words == WORDS
    path = write_safetensors(tmp_path, vectors=VECTORS, embeddings=-VECTORS, any=-VECTORS)
    np.testing.assert_array_equal(Embeddings.load(path).vectors, VECTORS)


def test_words_in_the_file_need_no_list(tmp_path: Path) -> None:
    words = [*WORDS[:-2], "a word", "with\nbreaks"]
    Embeddings.from_arrays(words, VECTORS).save(tmp_path / "v.safetensors")
    (tmp_path / "v.txt").write_text("other\n")
    assert Embeddings.load(tmp_path / "v.safetensors").words == words


BAD_TENSORS: dict[str, tuple[dict[str, np.ndarray], str]] = {
    "no vectors": (
        {"a": np.ones(2)},
        "holds 0 tensors that could be vectors; expected one of floats, called vectors or",
    ),
    "several": (dict.fromkeys("abcd", np.ones((2, 2))), r"holds 4 tensors that could be vectors \(a, b, c, …\)"),
    "integers": (
        {"vectors": np.ones((2, 2), np.int64)},
        r"holds the tensor 'vectors' of type int64 and shape \(2, 2\)",
    ),
    "flat": (
        {"embeddings": np.ones(2), "a": np.ones((2, 2))},
        r"the tensor 'embeddings' of type float64 and shape \(2,\)",
    ),
    "nan": ({"vectors": np.full_like(VECTORS, np.nan)}, "row 1: the vector of 'the' holds NaN or infinity"),
    "too large": ({"vectors": VECTORS.astype(float) * 1e300}, "row 1: the vector of 'the' holds NaN or infinity"),
    "too few": ({"vectors": VECTORS[:3]}, "holds 3 vectors and its word list 8 words; expected the same number"),
    "none": ({"vectors": VECTORS[:0]}, "holds 0 vectors and its word list 8 words"),
    "no dimensions": ({"vectors": VECTORS[:, :0]}, "holds vectors of no dimensions"),
    "half the words": (
        {"vectors": VECTORS, "words.text": np.zeros(8, np.uint8)},
        "array 'words.offsets' is missing; exp",
    ),
    "bad offsets": (
        {"vectors": VECTORS, "words.text": np.zeros(8, np.uint8), "words.offsets": np.array([0, 9])},
        "is damaged: the array 'words.offsets' does not rise from 0 to 8; expected the words in words.text",
    ),
}


@pytest.mark.parametrize("kind", BAD_TENSORS)
def test_bad_tensors(kind: str, tmp_path: Path) -> None:
    tensors, message = BAD_TENSORS[kind]
    with pytest.raises(EmbeddingsError, match=message) as caught:
        Embeddings.load(write_safetensors(tmp_path, **{name: np.array(array) for name, array in tensors.items()}))
    assert "s.safetensors" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tensors_without_words(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path)
    (tmp_path / "s.txt").unlink()
    with pytest.raises(EmbeddingsError, match="has no word list beside it; expected s.txt, s.words, s.vocab"):
        Embeddings.load(path)


def test_damaged_tensors(tmp_path: Path) -> None:
    content = write_safetensors(tmp_path).read_bytes()
    path = tmp_path / "s.safetensors"
    for damaged in (content[:-1], content + b"x", content[:20], content.replace(b"[8,5]", b"[9,5]")):
        path.write_bytes(damaged)
        with pytest.raises(
            EmbeddingsError, match=r"truncated, damaged or no safetensors file \(.*\); get the"
        ) as caught:
            Embeddings.load(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(gzip.compress(content))
    with pytest.raises(EmbeddingsError, match="gunzip"):
        Embeddings.load(path)
    path.write_bytes(b"no safetensors")
    with pytest.raises(EmbeddingsError, match="has an unrecognised format; expected one of.*safetensors"):
        Embeddings.load(path)
    with pytest.raises(EmbeddingsError, match="truncated, damaged or no safetensors file"):
        Embeddings.load(path, format="safetensors")


def test_the_segmentation_of_pieces_is_in_the_file(tmp_path: Path) -> None:
    path = write_pieces(tmp_path)
    assert vector_file(path).segmentation == Embeddings.load(path).segmentation == "longest"
    assert vector_file(write_safetensors(tmp_path)).segmentation is None  # its metadata says other things


@pytest.mark.parametrize("value", [b'"longesu"', b'["longe"]'])
def test_an_unknown_segmentation(value: bytes, tmp_path: Path) -> None:
    path = write_pieces(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"longest"', value))
    with pytest.raises(EmbeddingsError, match=r"p.safetensors: unknown segmentation .*; known: ngrams, .*longest"):
        Embeddings.load(path)


@pytest.mark.parametrize("metadata", [b"[1]", b"7", b'"segmentation"'])
def test_metadata_that_are_none(metadata: bytes, tmp_path: Path) -> None:
    content = write_pieces(tmp_path).read_bytes()
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    changed = header.replace(b'{"segmentation":"longest"}', metadata)
    assert changed != header
    path = tmp_path / "p.safetensors"
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + content[8 + len(header) :])
    with pytest.raises(EmbeddingsError, match="p.safetensors is truncated, damaged or no safetensors file"):
        Embeddings.load(path)


@pytest.mark.parametrize("name", FORMATS)
def test_pieces_are_saved_with_their_segmentation_or_not_at_all(name: str, tmp_path: Path) -> None:
    pieces = Embeddings.from_arrays([" go", "od", "o "], [[1, 0], [0, 1], [2, 2]], segmentation="merge")
    path = tmp_path / f"v{FORMATS[name].endings[0]}"
    if FORMATS[name].write_pieces is None:
        with pytest.raises(EmbeddingsError, match=f"and {name} has no place for .*; save it as .safetensors"):
            pieces.save(path)
        assert not list(tmp_path.iterdir())
        return
    pieces.save(path)
    for _ in range(2):  # the second time from the cache
        loaded = Embeddings.load(path)
        assert (loaded.words, loaded.segmentation) == (pieces.words, "merge")
        np.testing.assert_array_equal(loaded.vectors, pieces.vectors)


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


@pytest.mark.parametrize(
    ("name", "word"),
    [("word2vec-text", "new york"), ("word2vec-binary", "new york"), ("glove", "a\nb"), ("npy", "a\nb")],
)
def test_words_that_could_not_be_read_back_are_refused(name: str, word: str, tmp_path: Path) -> None:
    vectors = Embeddings.from_arrays(["good", word], [[1, 0], [0, 1]])
    with pytest.raises(EmbeddingsError, match="holds white space, which .* cannot store; save as .safetensors"):
        vectors.save(tmp_path / "vectors", format=name)
    assert not list(tmp_path.iterdir())
    vectors.save(tmp_path / "vectors.safetensors")
    assert Embeddings.load(tmp_path / "vectors.safetensors").words == ["good", word]


# lying headers and damaged files -------------------------------------------------------------------------------------

LIES: dict[str, tuple[str, bytes, str]] = {
    "dimensions of a text file": ("v.vec", b"2 50000000\nthe 1 2\n", "announces vectors of 50,000,000 dimensions"),
    "dimensions of a binary file": ("v.bin", b"2 50000000\nthe \0\0\0\0", "announces vectors of 50,000,000"),
    "words of a binary file": ("v.bin", b"999999999999 2\nthe \0\0\0\0\0\0\0\0", "vector 2 of the 999999999999"),
    "a number of 5,000 digits": ("v.vec", b"9" * 5000 + b" 2\nthe 1 2\n", "unrecognised format"),
    "a word without an end": (
        "v.bin",
        b"2 2\nthe " + bytes(8) + b"\x80" * 200_000,
        "found no space within 65,536 bytes",
    ),
    "a line without an end": ("v.txt", b"the 1 2 " + b"1" * (1 << 25), "a line of more than 16,777,216 bytes"),
    "a line far too long": ("v.txt", b"the 1 2\n" + b"w " * 50_000 + b"\n", "line 2: found 100,000 bytes; expected at"),
    "columns of GloVe": ("v.txt", b"the" + b" 1" * 70_000 + b"\n", "announces vectors of 70,000 dimensions"),
}


@pytest.mark.parametrize("kind", LIES)
def test_a_lying_header_is_refused(kind: str, tmp_path: Path) -> None:
    name, content, message = LIES[kind]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EmbeddingsError, match=message):
        Embeddings.load(tmp_path / name)


NPY_HEADERS = {
    "nothing": b"",
    "not Python": b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2",
    "deep": b"(" * 5000,
    "deep and long": b"{'descr': " + b"[" * 60_000,
    "longer than allowed": b" " * 100_000,
    "objects": b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }",
    "records": b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2), }",
    "text": b"{'descr': '<U4', 'fortran_order': False, 'shape': (2, 2), }",
    "complex": b"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2), }",
    "a type that is none": b"{'descr': '<f3', 'fortran_order': False, 'shape': (2, 2), }",
    "negative": b"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 2), }",
    "huge": b"{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999, 2), }",
    "5,000 digits": b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b", 2), }",
    "one axis": b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
    "no columns": b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }",
    "no rows": b"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2), }",
    "a call": b"{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os').abort(), }",
    "not UTF-8": b"{'descr': '\xff', 'fortran_order': False, 'shape': (2, 2), }",
}


@pytest.mark.parametrize("version", [1, 2, 3, 9])
@pytest.mark.parametrize("kind", NPY_HEADERS)
def test_damaged_headers_of_arrays(kind: str, version: int, tmp_path: Path) -> None:
    header = NPY_HEADERS[kind]
    size = (len(header) % (1 << 16)).to_bytes(2, "little") if version == 1 else len(header).to_bytes(4, "little")
    (tmp_path / "n.npy").write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + header + bytes(16))
    (tmp_path / "n.txt").write_text("a\nb\n")
    with pytest.raises(EmbeddingsError, match="n.npy") as caught:
        Embeddings.load(tmp_path / "n.npy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["<f2", ">f4", "<f8", "<i8", "|u1", ">i2"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_arrays_as_numpy_writes_them(kind: str, order: Any, version: Any, tmp_path: Path) -> None:
    array = np.array([[1, 2, 3], [4, 5, 6]], kind, order=order)
    with (tmp_path / "n.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version)
    (tmp_path / "n.txt").write_text("a\nb\n")
    assert Embeddings.load(tmp_path / "n.npy").vectors.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("kind", ["F16", "BF16", "F64"])
def test_tensors_of_other_floats_are_read(kind: str, tmp_path: Path) -> None:
    rows = {
        "F16": np.array([[1.5, 2]], "<f2"),
        "BF16": np.array([[0x3FC0, 0x4000]], "<u2"),
        "F64": np.array([[1.5, 2]]),
    }
    content = rows[kind].tobytes()
    header = f'{{"vectors": {{"dtype": "{kind}", "shape": [1, 2], "data_offsets": [0, {len(content)}]}}}}'.encode()
    (tmp_path / "s.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + content)
    (tmp_path / "s.txt").write_text("a\n")
    assert Embeddings.load(tmp_path / "s.safetensors")["a"].tolist() == [1.5, 2]


@pytest.mark.parametrize(
    "header",
    [
        b"{" + b'"a":[' * 100_000,
        b'{"vectors": {"dtype": "F32", "shape": [' + b"9" * 5000 + b'], "data_offsets": [0, 8]}}',
        b'{"vectors": {"dtype": "F32", "shape": [1, 2], "data_offsets": [-8, 8]}}',
        b'{"vectors": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 80]}}',
        b'{"vectors": {"dtype": "F32", "shape": [1, true], "data_offsets": [0, 8]}}',
        b'{"vectors": {"dtype": ["F32"], "shape": [1, 2], "data_offsets": [0, 8]}}',
        b'{"vectors": [1]}',
        b'{"vectors": null}',
    ],
)
def test_damaged_headers_of_tensors(header: bytes, tmp_path: Path) -> None:
    (tmp_path / "s.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    (tmp_path / "s.txt").write_text("a\n")
    with pytest.raises(EmbeddingsError, match="s.safetensors") as caught:
        Embeddings.load(tmp_path / "s.safetensors")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_unpacks_to_too_much(pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "unpacked harmless", LIMITS["unpacked harmless"]._replace(value=100_000))
    (tmp_path / "v.txt.gz").write_bytes(pack(b"the 1 2\n" * 10 + b"x 1 2\n" * 500_000))
    with pytest.raises(EmbeddingsError, match="unpacks to more than"):
        Embeddings.load(tmp_path / "v.txt.gz")


@pytest.mark.parametrize("name", ["v.txt", "v.npy", "v.safetensors"])
def test_pipes_and_devices_are_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(EmbeddingsError, match="is a pipe or device; expected a file"):
        Embeddings.load(tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(EmbeddingsError, match="is a pipe or device; expected a file"):
        Embeddings.load(tmp_path / name)


def test_a_word_list_that_is_a_pipe(tmp_path: Path) -> None:
    path = write_npy(tmp_path)
    (tmp_path / "n.txt").unlink()
    os.mkfifo(tmp_path / "n.txt")
    with pytest.raises(EmbeddingsError, match="it is a pipe; expected a file"):
        Embeddings.load(path)


def test_a_users_file_is_not_replaced_by_a_word_list(tmp_path: Path) -> None:
    vectors = Embeddings.from_arrays(["a", "b"], [[1, 2], [3, 4]])
    vectors.save(tmp_path / "v.npy")
    vectors.save(tmp_path / "v.npy")  # a word list of ours may be replaced
    (tmp_path / "v.txt").write_text("three\nlines of\nmy notes\n")
    with pytest.raises(EmbeddingsError, match="would replace .*v.txt; choose another name"):
        vectors.save(tmp_path / "v.npy")
    assert (tmp_path / "v.txt").read_text().startswith("three")


def test_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_text("the 1 2\ncat 3 4\n")
    for _ in range(2):
        assert Embeddings.load(path).words == ["the", "cat"]


@pytest.mark.parametrize("row", FILES)
def test_mutated_files_are_read_or_refused(row: str, tmp_path: Path) -> None:
    """Whatever happens to the bytes of a file: vectors, or an EmbeddingsError in one line."""
    path = FILES[row][1](tmp_path)
    whole = path.read_bytes()
    random = Random(row)
    for _ in range(60):
        path.write_bytes(mutated(whole, random))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TfcrWarning)
            try:
                loaded = Embeddings.load(path)
            except EmbeddingsError as error:
                check_message(error)
            else:
                assert len(loaded.words) == len(loaded)
                assert np.isfinite(loaded.vectors).all()
