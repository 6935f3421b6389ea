"""The user's own schemes, from code named on the command line or in Python; a TOML file cannot name code."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tfcr.errors import InputError
from tfcr.schemes import Scheme
from tfcr.system.limits import is_file


@dataclass(frozen=True)
class OwnScheme:
    """A user's own scheme: its name, the module or file that it is in, and the hash of its source."""

    name: str
    module: str
    digest: str

    def load(self) -> Scheme:
        """Import the function; raise an error if its file has changed."""
        function, source = _function_of(self.module, self.name)
        if _digest(source) != self.digest:
            raise InputError(f"{self.module} has changed since the run began; type the same command again")
        return function


def own_scheme(text: str) -> OwnScheme:
    """Return the scheme that ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION`` names."""
    module, colon, name = text.rpartition(":")
    if not colon or not module or not name.isidentifier():
        raise InputError(f"found --scheme-from {text}; expected FILE.py:FUNCTION or MODULE:FUNCTION")
    if module.endswith(".py"):
        module = str(Path(module).absolute())
    function, source = _function_of(module, name)
    if not callable(function):
        raise InputError(f"found {name!r} in {module}, which is not a function; expected one from counts to weights")
    return OwnScheme(name, module, _digest(source))


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:32]


def _function_of(module: str, name: str) -> tuple[Callable[..., Any], bytes]:
    """Return a function of a module or file, and the source of the whole file, helpers included."""
    loaded = _file_module(Path(module)) if module.endswith(".py") else _named_module(module)
    if not hasattr(loaded, name):
        raise InputError(f"{module} has no {name!r}; expected a function from counts to weights of that name")
    file = Path(loaded.__file__ or "")
    return getattr(loaded, name), file.read_bytes() if file.is_file() else module.encode()


def _file_module(path: Path) -> ModuleType:
    if not is_file(path):
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
