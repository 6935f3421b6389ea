"""The figures of a model's cross-validation in its folder: JSON in a data file, read when it is asked for.

They may take a megabyte if there are many classes, so that config.json, which every load reads, does not hold them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfcr.errors import DamagedError, ModelError, in_one_line
from tfcr.system.array_codec import Arrays, as_json, get_array
from tfcr.system.limits import parse_json
from tfcr.trained.format import read_data


def write_figures(figures: Mapping[str, Any]) -> Arrays:
    """Return the figures as an array of bytes: ASCII, so that any label can be written."""
    return {"json": np.frombuffer(json.dumps(figures, default=as_json).encode("ascii"), np.uint8)}


@dataclass(frozen=True)
class StoredFigures:
    """The figures in a model's folder."""

    folder: Path
    file: str

    def read(self) -> dict[str, Any] | None:
        """Return the figures; None if the model has been replaced since it was loaded."""
        try:
            arrays = read_data(self.folder, self.file)
            found = parse_json(get_array(arrays, "json", "u", (None,)).astype(np.uint8).tobytes())
        except FileNotFoundError:
            return None
        except (DamagedError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"{self.folder} is damaged: {self.file}: {in_one_line(error)}; save it again") from None
        if not isinstance(found, dict):
            raise ModelError(f"{self.folder} is damaged: {self.file} holds no figures; save it again")
        return found
