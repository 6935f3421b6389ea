"""Model folders: arrays as safetensors, settings as JSON, nothing that could run code.

A folder contains data files, ``config.json`` and a model card. The name of a data file contains the hash of its
content. ``config.json``, replaced last, lists the files that belong together: a reader finds the old model or the new
one, at any moment of a save.

A save replaces a model, or fills an empty folder. Other files in a model's folder stay, and a card that was changed
since it was written is kept under another name.
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfcr.errors import DamagedError, ModelError, TfcrWarning, in_one_line, shown
from tfcr.system.array_codec import Arrays, as_json
from tfcr.system.files import is_temporary, locked, write_file, written_beside
from tfcr.system.limits import parse_json, read_regular
from tfcr.system.mapped_arrays import arrays_of, chunks_of, map_file

FORMAT = "tfcr-model"
SCHEMA = 5
CONFIG, CARD, LOCK = "config.json", "README.md", ".lock"

_DATA_FILE = re.compile(r"[a-z]+-[0-9a-f]{16}\.safetensors")
_MOST_DATA_FILES = 16
_CARD_SEAL = re.compile(r"\n<!-- written by tfcr; SHA-256 of the text above: ([0-9a-f]{16}) -->\n")


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
    files = {name: f"{name}-{_digest_of(chunks_of(arrays))}.safetensors" for name, arrays in data.items()}
    whole = {"format": FORMAT, "schema": SCHEMA, "files": files, **config}
    written_config = _to_json(whole)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_replaceable(folder)
        with locked(folder / LOCK):
            before = _listed_files(folder)
            for name, arrays in data.items():
                if not _is_data(folder / files[name]):  # Windows would not let go of one that is mapped
                    with written_beside(folder / files[name]) as file:
                        file.writelines(chunks_of(arrays))
            write_file(folder / CONFIG, written_config)
            _keep_foreign_card(folder)
            write_file(folder / CARD, _sealed_card(card))
            _sync_folder(folder)
            _remove_leftovers(folder, set(files.values()), before)
    except OSError as error:
        raise ModelError(f"cannot write the model to {folder}: {error.strerror or error}") from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a model folder."""
    try:
        config = _parse_config(Path(path))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def config_hash(folder: Path) -> str:
    """Return the hash of a model: of its config.json, which has the hashes of all data files; 16 digits."""
    try:
        return _digest(read_regular(folder / CONFIG, "settings"))
    except OSError as error:
        raise ModelError(f"cannot read {folder / CONFIG}: {error.strerror}") from error


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


def load_folder(
    folder: Path, *, without: Collection[str] = (), check: bool = True
) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Return the config of a model folder, and the arrays of each data file, `without` those that are read later.

    Arrays are mapped: what is not looked at is not read. With `check`, files are read once, to compare their hashes.
    """
    for _ in range(10):
        config = _read_config(folder)
        later = {name: file for name, file in config["files"].items() if name in without}
        now = {name: file for name, file in config["files"].items() if name not in without}
        try:
            found = {name: read_data(folder, file, check=check) for name, file in now.items()}
            for file in later.values():
                (folder / file).stat()
            return config, found
        except FileNotFoundError as error:
            missing = error  # the model was replaced after its config was read: read the new one
    raise ModelError(f"{folder} is damaged: {Path(missing.filename).name} is missing; save the model again")


def _check_replaceable(folder: Path) -> None:
    if (folder / CONFIG).exists():
        _check_own(folder)
        return
    foreign = [entry.name for entry in folder.iterdir() if not _is_ours(entry)]
    if foreign:
        raise ModelError(f"{folder} holds {foreign[0]} and no model; give a new or empty folder")


def _check_own(folder: Path) -> None:
    """Raise ModelError if another program wrote the config; a damaged model of ours may be replaced."""
    try:
        config = _parse_config(folder)
    except ValueError:
        config = {"format": FORMAT} if any(_DATA_FILE.fullmatch(entry.name) for entry in folder.iterdir()) else {}
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelError(f"{folder} holds the {CONFIG} of another program; give a new or empty folder")


def _is_ours(entry: Path) -> bool:
    """Return whether a killed save left this file; a name alone does not prove it."""
    if entry.name == LOCK:
        return entry.is_file() and not entry.is_symlink() and entry.stat().st_size == 0
    return is_temporary(entry.name) or _is_data(entry)


def _is_data(entry: Path) -> bool:
    """Return whether this is a data file whose name has the hash of its content."""
    if not _DATA_FILE.fullmatch(entry.name) or entry.is_symlink():
        return False
    try:
        return _digest(map_file(entry, "model file")) in entry.name
    except OSError:
        return False


def _digest(content: bytes | memoryview) -> str:
    return _digest_of([content])


def _digest_of(chunks: Iterable[bytes | memoryview]) -> str:
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()[:16]


def _to_json(config: Mapping[str, Any]) -> bytes:
    written = json.dumps(config, indent=2, ensure_ascii=False, default=as_json)
    try:
        return written.encode()
    except UnicodeEncodeError:  # lone surrogates, in a label or the name of a file
        return json.dumps(config, indent=2, default=as_json).encode()


def _parse_config(folder: Path) -> Any:
    return parse_json(read_regular(folder / CONFIG, "settings"))


def _listed_files(folder: Path) -> set[str]:
    """Return the data files of the model that is in a folder."""
    try:
        files = _parse_config(folder)["files"].values()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return set()
    return {file for file in files if isinstance(file, str)}


def _remove_leftovers(folder: Path, used: set[str], before: set[str]) -> None:
    """Delete the data files of the model that was replaced, and of killed saves; the caller holds the lock."""
    for entry in folder.iterdir():
        if entry.name not in used and _DATA_FILE.fullmatch(entry.name) and (entry.name in before or _is_data(entry)):
            with suppress(OSError):
                entry.unlink()


def _sealed_card(card: str) -> bytes:
    """Return the card with its hash in a comment, by which a card that nobody changed is known."""
    return f"{card}\n<!-- written by tfcr; SHA-256 of the text above: {_digest(_card_bytes(card))} -->\n".encode(
        "utf-8", "replace"
    )


def _card_bytes(card: str) -> bytes:
    return card.encode("utf-8", "replace")


def _is_our_card(content: bytes) -> bool:
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    seal = _CARD_SEAL.search(text)
    return seal is not None and seal.end() == len(text) and _digest(_card_bytes(text[: seal.start()])) == seal[1]


def _keep_foreign_card(folder: Path) -> None:
    """Rename a README.md that is not as tfcr wrote it, so that the new one does not replace what a user wrote."""
    card = folder / CARD
    if not os.path.lexists(card):
        return
    try:
        content = read_regular(card, "settings")
    except OSError:  # a folder or a pipe: not ours either
        content = b""
    if _is_our_card(content):
        return
    kept = folder / f"README-{_digest(content)}.md"
    card.replace(kept)
    warnings.warn(
        f"{card} is not as tfcr wrote it; it is kept as {kept.name}, and the new model gets a card of its own",
        TfcrWarning,
        stacklevel=2,
    )


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
        config = _parse_config(folder)
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
    few = isinstance(files, dict) and len(files) <= _MOST_DATA_FILES
    if type(schema) is not int or schema < 1 or not few:
        raise ModelError(f"{folder} is damaged: {CONFIG} lacks its schema or files; save the model again")
    if schema > SCHEMA:
        raise ModelError(
            f"{folder} is of schema {schema}, and this tfcr reads up to {SCHEMA}; "
            "update it with: pip install --upgrade tfcr"
        )
    for file in config["files"].values():
        if not isinstance(file, str) or not _DATA_FILE.fullmatch(file):  # never follow a path out of the folder
            raise ModelError(f"{folder} is damaged: {CONFIG} names the file {shown(file)}; save the model again")
    return config


def read_data(folder: Path, file: str, *, check: bool = True) -> Arrays:
    """Return the arrays of a data file that the config of a model folder names, as views of the file."""
    try:
        content = map_file(folder / file, "model file")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelError(f"cannot read {folder / file}: {error.strerror}") from error
    if check and _digest(content) not in file:
        raise ModelError(f"{folder} is damaged: {file} is not what was saved; get or save the model again")
    try:
        return arrays_of(content)
    except (DamagedError, LookupError, TypeError, ValueError, AttributeError) as error:  # types that numpy lacks too
        raise ModelError(f"{folder} is damaged: {file} cannot be read ({in_one_line(error)})") from None
