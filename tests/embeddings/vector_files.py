"""Vector files as other programs write them, one row each in FILES."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from safetensors.numpy import save_file

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


def write_bz2(folder: Path) -> Path:
    packed = folder / "g.txt.bz2"
    packed.write_bytes(bz2.compress(write_glove(folder).read_bytes()))
    return packed


def write_xz(folder: Path) -> Path:
    packed = folder / "g.txt.xz"
    whole = write_glove(folder).read_bytes()
    packed.write_bytes(lzma.compress(whole[:50]) + bytes(8) + lzma.compress(whole[50:]))  # as xz joins files
    return packed


def write_npy(folder: Path) -> Path:
    np.save(folder / "n.npy", VECTORS)
    (folder / "n.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    return folder / "n.npy"


def write_safetensors(folder: Path, **tensors: np.ndarray) -> Path:
    """Write VECTORS, or these tensors, with a word list beside them, as model2vec names its own."""
    save_file(tensors or {"embeddings": VECTORS}, folder / "s.safetensors", metadata={"model": "static"})
    (folder / "s.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    return folder / "s.safetensors"


def write_pieces(folder: Path) -> Path:
    """Write VECTORS as a table of sub-words, with the pieces in the file."""
    encoded = [word.encode() for word in WORDS]
    text, offsets = np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)])
    tensors: dict[str, np.ndarray] = {"vectors": VECTORS, "words.text": text, "words.offsets": offsets}
    save_file(tensors, folder / "p.safetensors", metadata={"segmentation": "longest"})
    return folder / "p.safetensors"


FILES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "word2vec binary": ("word2vec-binary", write_word2vec_binary),
    "word2vec text": ("word2vec-text", write_word2vec_text),
    "fastText": ("word2vec-text", write_fasttext),
    "GloVe": ("glove", write_glove),
    "GloVe, gzipped": ("glove", write_gz),
    "GloVe, packed by bzip2": ("glove", write_bz2),
    "GloVe, packed by xz": ("glove", write_xz),
    "numpy": ("npy", write_npy),
    "safetensors": ("safetensors", write_safetensors),
    "safetensors of sub-words": ("safetensors", write_pieces),
}
"""The format, a name of FORMATS, and a function that writes WORDS and VECTORS into a folder and returns the file."""
