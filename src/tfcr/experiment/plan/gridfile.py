"""A user's own experiment in a TOML file, which can name data, vectors, schemes and presets, but no code."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from tfcr.data import ReadOptions
from tfcr.errors import InputError, in_one_line, look_up, shown
from tfcr.experiment.plan.parsing import LARGEST, parse_folds, parse_names, parse_number, parse_numbers, parse_sizes
from tfcr.experiment.plan.request import DatasetChoice, VectorsChoice
from tfcr.experiment.plan.word2vec import Word2Vec

MAX_BYTES = 1 << 20
"""Largest TOML file that is read."""
MAX_DOTS = 1000
"""Dots on a line: `tomllib` takes a time that grows with the square of the parts of a key, minutes for 500,000."""

_PARAMETERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "schemes": lambda value: {"schemes": _texts(value)},
    "heads": lambda value: {"heads": _texts(value)},
    "systems": lambda value: {"systems": _texts(value)},
    "profile": lambda value: {"profiles": _texts(value)},
    "sizes": lambda value: {"sizes": parse_sizes(",".join(_texts(value)))},
    "folds": lambda value: dict(zip(("folds", "first_folds"), parse_folds(_as_text(value)), strict=True)),
    "seeds": lambda value: {"seeds": parse_numbers(",".join(_texts(value)), "seeds")},
    "sample": lambda value: {"sample": parse_number(_as_text(value), "sample")},
    "word2vec": lambda value: {"word2vec": _known_keys(value, _names(Word2Vec), "[experiment.word2vec]")},
    "vector_length": lambda value: {"vector_length": value},
}
"""The keys of ``[experiment]``, and the parameters of Request that each sets."""


def read_grid(path: str | Path) -> dict[str, Any]:
    """Return the parameters of Request that a TOML file sets; paths in it are relative to it."""
    file = Path(path)
    content = _read_toml(file)
    for section in content:
        look_up({"experiment": 0, "datasets": 0, "embeddings": 0}, section, f"section in {file.name}:")
    parameters: dict[str, Any] = {}
    for key, value in _section(content, "experiment").items():
        parameters |= look_up(_PARAMETERS, key, f"key in [experiment] of {file.name}:")(value)
    for name, read in {"datasets": _dataset_of, "embeddings": _vectors_of}.items():
        rows = tuple(read(row_name, row, file.parent) for row_name, row in _section(content, name).items())
        parameters |= {name: rows} if rows else {}
    return parameters


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        if not file.is_file():
            raise InputError(f"{file} does not exist; expected a TOML file with an experiment")
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        if isinstance(error, InputError):
            raise
        raise InputError(f"{shown(str(file))} cannot be read: {in_one_line(error)}") from None
    if len(text) > MAX_BYTES:
        raise InputError(f"{file} has more than {MAX_BYTES:,} bytes; expected a TOML file with an experiment")
    if any(line.count(b".") > MAX_DOTS for line in text.split(b"\n") if not line.startswith(b"#")):
        raise InputError(f"{file} has a line with more than {MAX_DOTS:,} dots; expected a TOML file with an experiment")
    try:
        return tomllib.loads(text.decode("utf-8"))
    except RecursionError:
        raise InputError(f"{file} is nested too deeply; expected a TOML file with an experiment") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of thousands of digits
        raise InputError(f"{file} is not valid TOML: {error}") from None


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = content.get(name, {})
    if not isinstance(section, Mapping):
        raise InputError(f"found {name} = {shown(section)}; expected a section: [{name}]")
    return section


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return parse_names(value)
    if any(isinstance(entry, list | dict) for entry in _listed(value)):
        raise InputError(f"found {shown(value)}; expected names or numbers: one, a list of them, or text with commas")
    return tuple(_as_text(entry) for entry in _listed(value))


def _as_text(value: Any) -> str:
    """Return a value as text; Python refuses to write out a number of thousands of digits."""
    return str(value) if not isinstance(value, int) or abs(value) <= LARGEST else shown(value)


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [value]


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("dimensions", "window", "epochs", "min_count", "columns"), (int,)),
    **dict.fromkeys(("skip_gram", "quoting", "header", "merge_labels"), (bool,)),
    **dict.fromkeys(("text", "label_files"), (str, list)),
}
"""The types of values in a file that are not text."""


def _names(record: type) -> list[str]:
    return [entry.name for entry in fields(record)]


def _known_keys(row: Any, names: Iterable[str], where: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise InputError(f"found {shown(row)} for {where}; expected a section")
    known = dict.fromkeys(names)
    for key, value in row.items():
        look_up(known, key, f"key in {where}:")
        kinds = _KINDS.get(key, (str,))
        if type(value) not in kinds:
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"found {key} = {shown(value)} in {where}; expected a value of type {wanted}")
        if isinstance(value, list) and not all(isinstance(entry, str) for entry in value):
            raise InputError(f"found {key} = {shown(value)} in {where}; expected a list of texts")
    return dict(row)


def _key(name: str) -> str:
    """Return a key as messages show it: in one line."""
    return name if name.isprintable() else shown(name)


def _dataset_of(name: str, row: Any, folder: Path) -> DatasetChoice:
    where = f"[datasets.{_key(name)}]"
    if not isinstance(row, Mapping):
        raise InputError(f"found {shown(row)} for {where}; expected a section with path = …")
    own = ("path", "dataset", "tokenizer")
    _known_keys(row, [*(name for name in _names(ReadOptions) if not name.startswith("default_")), *own], where)
    options = {key: value for key, value in row.items() if key not in own}
    lists = {key: tuple(_listed(options[key])) for key in ("text", "label_files") if key in options}
    if "label_files" in lists:
        lists["label_files"] = tuple(str(folder / file) for file in lists["label_files"])
    if "label_map" in options:
        options["label_map"] = str(folder / options["label_map"])
    source = str(folder / str(row["path"])) if "path" in row else str(row.get("dataset", name))
    return DatasetChoice(name, source, ReadOptions(**{**options, **lists}), str(row.get("tokenizer", "")))


def _vectors_of(name: str, row: Any, folder: Path) -> VectorsChoice:
    known = _known_keys(row, {"path"}, f"[embeddings.{_key(name)}]")
    return VectorsChoice(name, str(folder / str(known["path"])) if "path" in known else name)
