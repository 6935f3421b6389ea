"""`pydocs`: the docstrings of the Python standard library, labelled with the module they come from.

Real text that is on every machine. The docstrings are read from the library's source files without importing them.
Results on it vary with the Python version.
"""

import ast
import hashlib
import json
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tfcr.data.corpus import Corpus
from tfcr.errors import TfcrWarning
from tfcr.system.files import cache_folder, write_file
from tfcr.system.limits import parse_json, read_regular
from tfcr.system.seals import broken_by, write_seal

LEAST_WORDS = 5
LEAST_DOCUMENTS = 100
LEFT_OUT = {
    "test",
    "tests",
    "idle_test",
    "site-packages",
    "dist-packages",
    "__pycache__",
    "idlelib",
    "lib2to3",
}


def load_pydocs(least_documents: int = LEAST_DOCUMENTS) -> Corpus:
    """Return the docstrings of five words or more, of the modules with at least `least_documents` of them."""
    found = _cached_docstrings()
    sizes = Counter(label for label, _ in found)
    kept = [(label, text) for label, text in found if sizes[label] >= least_documents]
    return Corpus([text for _, text in kept], [label for label, _ in kept])


def _cached_docstrings() -> list[tuple[str, str]]:
    version = hashlib.sha256(f"2 {sys.version} {_library()}".encode()).hexdigest()[:12]
    with suppress(OSError, ValueError):
        cached = cache_folder("pydocs") / f"{version}.json"
        seal = cached.with_suffix(".seal")
        broken = broken_by(seal, [cached]) if seal.exists() else ""
        if broken:
            warnings.warn(f"the cache entry pydocs is damaged ({broken}); it is made again", TfcrWarning, stacklevel=2)
        if broken is not None:
            content = json.dumps(_docstrings()).encode()
            write_file(cached, content)
            write_seal(seal, {cached: hashlib.sha256(content).hexdigest()})
        return [(label, text) for label, text in parse_json(read_regular(cached, "settings"))]
    return _docstrings()


def _library() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


def _docstrings() -> list[tuple[str, str]]:
    """Return the distinct docstrings with their top-level module, in sorted order."""
    library = _library()
    found: set[tuple[str, str]] = set()
    for file in library.rglob("*.py"):
        parts = file.relative_to(library).parts
        if not LEFT_OUT.intersection(parts):
            label = parts[0].removesuffix(".py")
            found.update((label, text) for text in _docstrings_of(file) if len(text.split()) >= LEAST_WORDS)
    return sorted(found)


def _docstrings_of(file: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the library's own source, not the user's business
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, OSError):  # templates and deliberately broken files
            return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text
