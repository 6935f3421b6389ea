"""What a user asks for: datasets, vectors, schemes and classifiers, crossed; and how they are run.

A request comes from the command line, from a small TOML file, or from Python. A file can name data, vectors and
schemes, but no code: a scheme of one's own is given beside it.
"""

import hashlib
import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tfcr.corpus import DATASETS, ReadOptions
from tfcr.embeddings.known import IN_DOMAIN
from tfcr.errors import InputError, UnknownNameError, look_up, unknown_name
from tfcr.experiment.profiles import PAPER_SCHEMES, Profile, resolve_profile
from tfcr.heads import HEADS
from tfcr.schemes import SCHEMES, Scheme
from tfcr.tokenizers import TOKENIZERS

PAPER_SAMPLE = 100_000
PAPER_SIZES = "1000:90000:1000,all"
W2V_SOURCES = {
    "dataset": "in-domain word2vec was trained on the whole dataset's text without labels, that of the test documents "
    "included, as in the paper",
    "train": "in-domain word2vec was trained on the text of each training part alone",
}
"""What in-domain word2vec sees, in words."""


@dataclass(frozen=True)
class DatasetChoice:
    """A dataset of the grid: the name of its row, where its texts come from, and how they are read."""

    name: str
    source: str
    options: ReadOptions = field(default_factory=ReadOptions)
    tokenizer: str = ""


@dataclass(frozen=True)
class VectorsChoice:
    """Vectors of the grid: their name, and ``w2v``, a known name or a file."""

    name: str
    source: str


@dataclass(frozen=True)
class OwnScheme:
    """A user's own scheme: its name, the module or file that it is in, and the hash of its source."""

    name: str
    module: str
    digest: str

    def load(self) -> Scheme:
        """Import the function; only what stood on the command line ever gets here."""
        return _function_of(self.module, self.name)[0]


@dataclass(frozen=True)
class Word2Vec:
    """How in-domain word2vec is trained; the paper does not say. `trained_on` is a name of W2V_SOURCES."""

    dimensions: int = 100
    window: int = 5
    epochs: int = 10
    skip_gram: bool = False
    min_count: int = 2
    trained_on: str = "dataset"

    def described(self) -> str:
        """Return the settings in words."""
        kind = "skip-gram" if self.skip_gram else "CBOW"
        return (
            f"word2vec, {kind}, {self.dimensions} dimensions, window {self.window}, {self.epochs} epochs, "
            f"words that occur at least {self.min_count} times"
        )


@dataclass(frozen=True)
class Request:
    """A grid of cells, and how they are run.

    Attributes
    ----------
    datasets, embeddings, schemes, heads, profiles, seeds
        All are crossed with all.
    own_schemes
        The user's own ones among `schemes`, by name.
    sizes
        Training sizes; None stands for the whole training part.
    folds
        The number of folds that documents are cut into.
    first_folds
        How many of them are run; None for all.
    sample
        At most so many documents of each dataset.
    """

    datasets: tuple[DatasetChoice, ...]
    embeddings: tuple[VectorsChoice, ...] = (VectorsChoice(IN_DOMAIN, IN_DOMAIN),)
    schemes: tuple[str, ...] = PAPER_SCHEMES
    heads: tuple[str, ...] = ("svm", "lr")
    profiles: tuple[str, ...] = ("equations",)
    own_schemes: Mapping[str, OwnScheme] = field(default_factory=dict)
    sizes: tuple[int | None, ...] = (None,)
    folds: int = 10
    first_folds: int | None = None
    seeds: tuple[int, ...] = (0,)
    sample: int = PAPER_SAMPLE
    word2vec: Word2Vec = field(default_factory=Word2Vec)

    def wanted_folds(self) -> range:
        """Return the numbers of the folds to run."""
        return range(self.folds if self.first_folds is None else self.first_folds)

    def check(self) -> None:
        """Refuse what can be no experiment, before any work."""
        _check_some(self)
        for head in self.heads:
            look_up(HEADS, head, "head")
        for profile in self.profiles:
            for scheme in self.schemes:
                check_scheme(scheme, resolve_profile(profile), self.own_schemes)
        for dataset in self.datasets:
            if dataset.tokenizer:
                look_up(TOKENIZERS, dataset.tokenizer, "tokenizer")
        look_up(W2V_SOURCES, self.word2vec.trained_on, "text for --w2v-from")
        _check_numbers(self)


def _check_some(request: Request) -> None:
    for what in ("datasets", "embeddings", "schemes", "heads", "profiles", "sizes", "seeds"):
        if not getattr(request, what):
            raise InputError(f"found no {what}; expected at least one: --{what.rstrip('s')}s NAME,NAME")
    for what in ("datasets", "embeddings"):
        names = [choice.name for choice in getattr(request, what)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"found {twice!r} twice among the {what}; give one of them another name: NAME={twice}")


def _check_numbers(request: Request) -> None:
    if request.folds < 2:
        raise InputError(f"found {request.folds} folds; expected at least 2")
    if request.first_folds is not None and not 1 <= request.first_folds <= request.folds:
        raise InputError(f"found {request.first_folds} of {request.folds} folds; expected 1 to {request.folds}")
    if request.sample < 2 * request.folds:
        raise InputError(f"found a sample of {request.sample} for {request.folds} folds; expected more documents")
    if any(seed < 0 for seed in request.seeds):
        raise InputError(f"found the seed {min(request.seeds)}; expected at least 0")


def check_scheme(name: str, profile: Profile, own: Mapping[str, OwnScheme]) -> None:
    """Refuse a scheme that has no row and is not given as code."""
    if name not in own and profile.scheme(name) not in SCHEMES:
        hint = f" One of your own is given as code: --scheme-from FILE.py:{name}"
        raise UnknownNameError(unknown_name(name, SCHEMES, "scheme") + hint)


# from text to values -----------------------------------------------------------------------------------------------


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names of ``a,b,c``."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def parse_numbers(text: str, what: str) -> tuple[int, ...]:
    """Return the whole numbers of ``0,1,2``."""
    return tuple(_number(part, what) for part in parse_names(text))


def parse_sizes(text: str) -> tuple[int | None, ...]:
    """Return training sizes: numbers, ``first:last:step`` with the last one included, and ``all``.

    Examples
    --------
    >>> parse_sizes("1000:3000:1000,5000,all")
    (1000, 2000, 3000, 5000, None)
    """
    sizes: set[int] = set()
    for part in parse_names(text):
        if part == "all":
            continue
        numbers = [_number(number, "training size") for number in part.split(":")]
        if len(numbers) not in (1, 3) or min(numbers) < 1:
            raise InputError(f"found the training size {part!r}; expected a number, FIRST:LAST:STEP, or all")
        sizes.update(numbers if len(numbers) == 1 else range(numbers[0], numbers[1] + 1, numbers[2]))
    return (*sorted(sizes), *([None] if "all" in parse_names(text) else []))


def parse_folds(text: str) -> tuple[int, int | None]:
    """Return how many folds there are, and how many of them are run.

    Examples
    --------
    >>> parse_folds("10"), parse_folds("3/10")
    ((10, None), (10, 3))
    """
    first, slash, of = text.partition("/")
    return (_number(of, "folds"), _number(first, "folds")) if slash else (_number(first, "folds"), None)


def _number(text: str, what: str) -> int:
    try:
        return int(text.strip().replace("_", ""))
    except ValueError:
        raise InputError(f"found {text!r} for {what}; expected a whole number") from None


def parse_dataset(text: str) -> DatasetChoice:
    """Return the dataset of ``NAME``, ``FILE`` or ``NAME=SOURCE``; a stand-in goes by the name it stands in for."""
    name, source = _named(text)
    return DatasetChoice(name, source)


def parse_vectors(text: str) -> VectorsChoice:
    """Return the vectors of ``NAME``, ``FILE`` or ``NAME=SOURCE``."""
    name, source = _named(text)
    return VectorsChoice(name, source)


def _named(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    return (name.strip(), source.strip()) if equals and not Path(text).exists() else (Path(text).name, text)


def own_scheme(text: str) -> OwnScheme:
    """Return the user's own scheme of ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``."""
    module, colon, name = text.rpartition(":")
    if not colon or not module or not name.isidentifier():
        raise InputError(f"found --scheme-from {text}; expected FILE.py:FUNCTION or MODULE:FUNCTION")
    if module.endswith(".py"):
        module = str(Path(module).absolute())
    function, source = _function_of(module, name)
    if not callable(function):
        raise InputError(f"found {name!r} in {module}, which is no function; expected one from counts to weights")
    return OwnScheme(name, module, hashlib.sha256(source).hexdigest()[:32])


def _function_of(module: str, name: str) -> tuple[Callable[..., Any], bytes]:
    """Return a function of a module or file, and the source of the whole file, helpers included."""
    loaded = _file_module(Path(module)) if module.endswith(".py") else _named_module(module)
    if not hasattr(loaded, name):
        raise InputError(f"{module} has no {name!r}; expected a function from counts to weights of that name")
    file = Path(loaded.__file__ or "")
    return getattr(loaded, name), file.read_bytes() if file.is_file() else module.encode()


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a Python file with your scheme")
    spec = importlib.util.spec_from_file_location(f"tfcr_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported; expected a Python file")
    module = importlib.util.module_from_spec(spec)
    _imported(lambda: spec.loader.exec_module(module), str(path))  # type: ignore[union-attr]
    return module


def _named_module(name: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    module: ModuleType = _imported(lambda: importlib.import_module(name), name)
    return module


def _imported(load: Callable[[], Any], what: str) -> Any:
    try:
        return load()
    except Exception as error:
        raise InputError(f"{what} cannot be imported: {type(error).__name__}: {error}") from error


# a user's own experiment -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GridFile:
    """What a TOML file says of an experiment: rows of the grid, and parameters of Request."""

    datasets: tuple[DatasetChoice, ...]
    embeddings: tuple[VectorsChoice, ...]
    parameters: dict[str, Any]


_PARAMETERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "schemes": lambda value: {"schemes": _texts(value)},
    "heads": lambda value: {"heads": _texts(value)},
    "profile": lambda value: {"profiles": _texts(value)},
    "sizes": lambda value: {"sizes": parse_sizes(",".join(_texts(value)))},
    "folds": lambda value: dict(zip(("folds", "first_folds"), parse_folds(str(value)), strict=True)),
    "seeds": lambda value: {"seeds": parse_numbers(",".join(_texts(value)), "seeds")},
    "sample": lambda value: {"sample": _number(str(value), "sample")},
    "word2vec": lambda value: {"word2vec": Word2Vec(**_known_keys(value, Word2Vec, "[experiment.word2vec]"))},
}
"""The keys of ``[experiment]``, and what each says of a Request."""


def read_grid(path: str | Path) -> GridFile:
    """Read a TOML file; paths in it are relative to it."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file} does not exist; expected a TOML file with an experiment")
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is no TOML: {error}") from None
    for section in content:
        look_up({"experiment": 0, "datasets": 0, "embeddings": 0}, section, f"section in {file.name}:")
    parameters: dict[str, Any] = {}
    for key, value in _section(content, "experiment").items():
        parameters |= look_up(_PARAMETERS, key, f"key in [experiment] of {file.name}:")(value)
    return GridFile(
        tuple(_dataset_of(name, row, file.parent) for name, row in _section(content, "datasets").items()),
        tuple(_vectors_of(name, row, file.parent) for name, row in _section(content, "embeddings").items()),
        parameters,
    )


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = content.get(name, {})
    if not isinstance(section, Mapping):
        raise InputError(f"found {name} = {section!r}; expected a section: [{name}]")
    return section


def _texts(value: Any) -> tuple[str, ...]:
    return parse_names(value) if isinstance(value, str) else tuple(map(str, _listed(value)))


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [value]


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("dimensions", "window", "epochs", "min_count", "columns"), (int,)),
    **dict.fromkeys(("skip_gram", "quoting", "header"), (bool,)),
    **dict.fromkeys(("text", "label_files"), (str, list)),
}
"""The types of values in a file that are not plain text."""


def _known_keys(row: Any, record: type, where: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise InputError(f"found {row!r} for {where}; expected a section")
    names = {entry.name: 0 for entry in fields(record)}
    for key, value in row.items():
        look_up(names, key, f"key in {where}:")
        kinds = _KINDS.get(key, (str,))
        if type(value) not in kinds:
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"found {key} = {value!r} in {where}; expected a value of type {wanted}")
    return dict(row)


def _dataset_of(name: str, row: Any, folder: Path) -> DatasetChoice:
    where = f"[datasets.{name}]"
    if not isinstance(row, Mapping):
        raise InputError(f"found {row!r} for {where}; expected a section with path = …")
    options = {key: value for key, value in row.items() if key not in ("path", "dataset", "tokenizer")}
    _known_keys(options, ReadOptions, where)
    lists = {key: tuple(_listed(options[key])) for key in ("text", "label_files") if key in options}
    if "label_files" in lists:
        lists["label_files"] = tuple(str(folder / file) for file in lists["label_files"])
    source = str(folder / str(row["path"])) if "path" in row else str(row.get("dataset", name))
    return DatasetChoice(name, source, ReadOptions(**{**options, **lists}), str(row.get("tokenizer", "")))


def _vectors_of(name: str, row: Any, folder: Path) -> VectorsChoice:
    known = _known_keys(row, _VectorKeys, f"[embeddings.{name}]")
    return VectorsChoice(name, str(folder / str(known["path"])) if "path" in known else name)


@dataclass(frozen=True)
class _VectorKeys:
    path: str = ""


def dataset_tokenizer(dataset: DatasetChoice, profile: Profile) -> str:
    """Return the tokenizer of a dataset: the one asked for, the one it needs, or the profile's."""
    needed = DATASETS[dataset.source].tokenizer if dataset.source in DATASETS else ""
    return dataset.tokenizer or needed or profile.tokenizer


def with_own_schemes(request: Request, given: Sequence[OwnScheme]) -> Request:
    """Return the request with the user's own schemes in it, after the named ones."""
    taken = next((scheme.name for scheme in given if scheme.name in SCHEMES), None)
    if taken is not None:
        raise InputError(f"found a scheme of your own named {taken!r}, which tfcr has already; rename the function")
    own = {scheme.name: scheme for scheme in given}
    names = tuple(dict.fromkeys([*request.schemes, *own]))
    return replace(request, schemes=names, own_schemes=own)
