"""Model folders: arrays as safetensors, settings as JSON, nothing that could run code.

A folder contains data files, ``config.json`` and a model card. The name of a data file contains the hash of its
content. ``config.json``, replaced last, lists the files that belong together: a reader finds the old model or the new
one, at any moment of a save.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as dump_tensors

from tfcr.errors import ModelError
from tfcr.system.array_codec import Arrays, as_json
from tfcr.system.files import locked, write_file

FORMAT = "tfcr-model"
SCHEMA = 3
CONFIG, CARD, LOCK = "config.json", "README.md", ".lock"

_DATA_FILE = re.compile(r"[a-z]+-[0-9a-f]{16}\.safetensors")
_TEMPORARY = re.compile(r"\..*\.tmp")


def save_folder(folder: Path, config: Mapping[str, Any], data: Mapping[str, Arrays], card: str) -> None:
    """Write a model folder, or replace the model in it.

    Parameters
    ----------
    folder
        Created if missing. A folder that holds anything but a model is refused.
    config
        Settings that JSON can hold.
    data
        Data files: name without ending → arrays by name.
    card
        The text of README.md.
    """
    contents = {
        name: dump_tensors({key: np.ascontiguousarray(array) for key, array in arrays.items()})
        for name, arrays in data.items()
    }
    files = {name: f"{name}-{_digest(content)}.safetensors" for name, content in contents.items()}
    whole = {"format": FORMAT, "schema": SCHEMA, "files": files, **config}
    # half of a surrogate pair, as in the name of a file that is not UTF-8, becomes an escape that JSON has as well
    written_config = json.dumps(whole, indent=2, ensure_ascii=False, default=as_json).encode(
        "utf-8", "backslashreplace"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_replaceable(folder)
        with locked(folder / LOCK):
            for name, content in contents.items():
                write_file(folder / files[name], content)
            write_file(folder / CONFIG, written_config)
            write_file(folder / CARD, card.encode("utf-8", "backslashreplace"))
            _sync_folder(folder)
            _remove_leftovers(folder, set(files.values()))
    except OSError as error:
        raise ModelError(f"cannot write the model to {folder}: {error.strerror or error}") from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a model folder."""
    try:
        config = json.loads((Path(path) / CONFIG).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise ModelError, before any long work, if a model cannot be saved to this folder."""
    folder = Path(path)
    try:
        if folder.exists():
            _check_replaceable(folder)
        nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise ModelError(f"cannot write the model to {folder}: {nearest} is not a writable folder")
    except OSError as error:
        raise ModelError(f"cannot write the model to {folder}: {error.strerror}") from error


def load_folder(folder: Path, *, without: Collection[str] = ()) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Return the config of a model folder, and the arrays of each data file, `without` those that are read later."""
    for _ in range(10):
        config = _read_config(folder)
        try:
            files = {name: file for name, file in config["files"].items() if name not in without}
            return config, {name: read_data(folder, file) for name, file in files.items()}
        except FileNotFoundError as error:
            missing = error  # the model was replaced after its config was read: read the new one
    raise ModelError(f"{folder} is damaged: {Path(missing.filename).name} is missing; save the model again")


def _check_replaceable(folder: Path) -> None:
    if (folder / CONFIG).exists():
        _check_own(folder)
        return
    foreign = [entry.name for entry in folder.iterdir() if not _is_ours(entry.name)]
    if foreign:
        raise ModelError(f"{folder} holds {foreign[0]} and no model; give a new or empty folder")


def _check_own(folder: Path) -> None:
    """Raise ModelError if another program wrote the config; a damaged model of ours may be replaced."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except ValueError:
        config = {"format": FORMAT} if any(_DATA_FILE.fullmatch(entry.name) for entry in folder.iterdir()) else {}
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelError(f"{folder} holds the {CONFIG} of another program; give a new or empty folder")


def _is_ours(name: str) -> bool:
    return name in {CARD, LOCK} or bool(_DATA_FILE.fullmatch(name) or _TEMPORARY.fullmatch(name))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _remove_leftovers(folder: Path, used: set[str]) -> None:
    """Delete the files of earlier saves, complete or killed; the caller holds the lock."""
    for entry in folder.iterdir():
        if entry.name not in used and (_DATA_FILE.fullmatch(entry.name) or _TEMPORARY.fullmatch(entry.name)):
            with suppress(OSError):
                entry.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the renames survive a power failure, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read_config(folder: Path) -> dict[str, Any]:
    if not folder.exists():
        raise ModelError(f"{folder} does not exist; expected a model's folder, made by tfcr train or by save()")
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(
            f"{folder} is not a model: it has no {CONFIG}; expected a folder made by tfcr train or by save()"
        ) from None
    except OSError as error:
        raise ModelError(f"cannot read {folder / CONFIG}: {error.strerror}") from error
    except ValueError as error:
        raise ModelError(f"{folder} is damaged: {CONFIG} is not JSON ({error}); save the model again") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelError(
            f"{folder} is not a model of tfcr: its {CONFIG} is of another program; expected a folder made by save()"
        )
    schema, files = config.get("schema"), config.get("files")
    if not isinstance(schema, int) or not isinstance(files, dict):
        raise ModelError(f"{folder} is damaged: {CONFIG} lacks its schema or files; save the model again")
    if schema > SCHEMA:
        raise ModelError(
            f"{folder} is of schema {schema}, and this tfcr reads up to {SCHEMA}; "
            "update it with: pip install --upgrade tfcr"
        )
    return config


def read_data(folder: Path, file: object) -> Arrays:
    """Return the arrays of a data file that the config of a model folder names."""
    if not isinstance(file, str) or not _DATA_FILE.fullmatch(file):  # never follow a path out of the folder
        raise ModelError(f"{folder} is damaged: {CONFIG} names the file {file!r}; save the model again")
    try:
        content = (folder / file).read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelError(f"cannot read {folder / file}: {error.strerror}") from error
    if _digest(content) not in file:
        raise ModelError(f"{folder} is damaged: {file} is not what was saved; get or save the model again")
    try:
        return parse_tensors(content)
    except SafetensorError as error:
        raise ModelError(f"{folder} is damaged: {file} cannot be read ({error})") from None
