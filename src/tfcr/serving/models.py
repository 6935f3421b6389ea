"""The models that are served, each with its hash; one that is replaced on disk takes over once it is loaded.

Requests hold on to the model that they began with: the old one is let go when the last of them is answered. A folder
that cannot be loaded changes nothing but what ``GET /model`` says.
"""

import logging
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tfcr.errors import ModelError, TfcrError, in_one_line
from tfcr.serving.problems import RequestError, one_of
from tfcr.text.class_counts import ClassCounts
from tfcr.trained.format import CONFIG, config_hash
from tfcr.trained.model import TrainedModel

ATTEMPTS = 5
"""Times that a model is loaded that is replaced again and again meanwhile."""
MOST_WORDS = 200
"""Words of each class that are listed."""

logger = logging.getLogger("tfcr")


@dataclass(eq=False)
class ServedModel:
    """A model in memory, the name that requests know it by, and its hash."""

    name: str
    hash: str
    model: TrainedModel

    @cached_property
    def labels(self) -> list[Any]:
        """The classes as JSON has them; (n_classes,)."""
        return [_as_json(label) for label in self.model.classes.tolist()]

    @cached_property
    def keys(self) -> list[str]:
        """The classes as keys of an object."""
        return [str(label) for label in self.labels]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The position of each class."""
        return {key: number for number, key in enumerate(self.keys)}

    @cached_property
    def top_words(self) -> list[list[tuple[str, float]]]:
        """The terms that raise the score of each class most, made once: that reads all of the table."""
        return list(self.model.top_words(MOST_WORDS).values())

    @cached_property
    def class_counts(self) -> ClassCounts | None:
        """The class counts of the training texts, read when they are first asked for; None if they were not kept."""
        return self.model.class_counts()

    def class_number(self, label: str) -> int:
        """Return the position of a class that a request names."""
        if label not in self.numbers:
            raise RequestError(404, f"found no class {label[:80]!r} in the model {self.name}", one_of(self.keys))
        return self.numbers[label]


def _as_json(label: Any) -> Any:
    return str(label) if isinstance(label, float) and not math.isfinite(label) else label


Identity = tuple[int, int, int, int] | None


def identity_of(folder: Path) -> Identity:
    """Return what changes when a model is replaced: the file that a save replaces last; None if it is missing."""
    try:
        found = (folder / CONFIG).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def load_served(name: str, folder: Path) -> ServedModel:
    """Load a model, with the hash of the very config that it was loaded by, and with compiled code ready."""
    for _ in range(ATTEMPTS):
        before = config_hash(folder) if identity_of(folder) else ""
        model = TrainedModel.load(folder)
        if config_hash(folder) == before:
            model.table.load_native(model.tokenizer)
            return ServedModel(name, before, model)
    raise ModelError(f"{folder} is replaced again and again while it is loaded; wait until it stays as it is")


class Models:
    """All models of a server.

    Attributes
    ----------
    current
        Name → model in use.
    troubles
        Name → why the model that lies in its folder now could not be loaded.
    replaced
        How many times a model was replaced.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = dict(folders)
        self.troubles: dict[str, str] = {}
        self.replaced = 0
        self._lock = threading.Lock()
        self._identities = {name: identity_of(folder) for name, folder in self.folders.items()}
        self.current = {name: load_served(name, folder) for name, folder in self.folders.items()}

    def get(self, name: str | None) -> ServedModel:
        """Return the model of a name; the only one if no name is given."""
        if name is None and len(self.current) == 1:
            return next(iter(self.current.values()))
        if name is None:
            raise RequestError(422, "found no model's name, and several models are served", one_of(list(self.current)))
        if name not in self.current:
            raise RequestError(404, f"found no model of the name {name[:80]!r}", one_of(list(self.current)))
        return self.current[name]

    def changed(self) -> list[str]:
        """Return the names of models whose folder has changed since it was last looked at."""
        return [name for name, folder in self.folders.items() if identity_of(folder) != self._identities[name]]

    def renew(self, name: str) -> None:
        """Load the model that lies in a folder now; if it cannot be loaded, the one in use stays."""
        with self._lock:
            folder = self.folders[name]
            self._identities[name] = identity_of(folder)  # first: another change meanwhile is seen the next time
            try:
                found = load_served(name, folder)
            except (TfcrError, OSError, MemoryError) as error:
                self.troubles[name] = in_one_line(error)
                logger.warning("%s stays as it was loaded, %s: %s", name, self.current[name].hash, self.troubles[name])
                return
            self.troubles.pop(name, None)
            before = self.current[name].hash
            if found.hash != before:
                self.current[name] = found
                self.replaced += 1
                logger.warning("%s was replaced: %s, before %s", name, found.hash, before)
