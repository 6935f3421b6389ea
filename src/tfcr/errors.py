"""Everything that tfcr raises or warns about on purpose.

TfcrError
├── InputError (ValueError)       a text, label or parameter that cannot be used
│   └── UnknownNameError          a name that is in none of our tables
├── DataError (ValueError)        a data file that cannot be read
├── EmbeddingsError (ValueError)  a vector file that cannot be read, or has no word of the corpus
├── ModelError (ValueError)       a model folder that is damaged, foreign or newer than this tfcr
├── DamagedError (ValueError)     arrays on disk that contradict each other; callers name the file or make them again
├── ResultsError (ValueError)     a file of experiment results that cannot be read or written
├── DownloadError (OSError)       a file that a server does not deliver, or delivers wrong
├── ClusterError (RuntimeError)    a Dask cluster that does not answer, has other versions, or was lost
├── MissingExtraError (ImportError)
└── RequestError                  a request over HTTP that cannot be answered (in tfcr.serving)

TfcrWarning (UserWarning)         the work goes on, but the user should know
└── CorpusWarning                 about texts and vectors as a whole: once is enough, even if there are folds

A message says what was found, what was expected, and what to type next.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")

LONGEST_SHOWN = 80
"""Characters of a value that a message shows."""
MOST_LISTED, MOST_COMPARED = 60, 1000
"""Names that a message lists, and among which it looks for the one that was meant: a table may have 100,000 columns."""
LONGEST_REASON = 300
"""Characters of another library's message that ours quotes."""


class TfcrError(Exception):
    """The root of all errors that tfcr raises on purpose."""


class InputError(TfcrError, ValueError):
    """A text, a label or a parameter cannot be used."""


class UnknownNameError(InputError):
    """A name is in none of our tables."""


class DataError(TfcrError, ValueError):
    """A data file cannot be read."""


class EmbeddingsError(TfcrError, ValueError):
    """A vector file cannot be read, or holds no word of the corpus."""


class ModelError(TfcrError, ValueError):
    """A model folder is damaged, foreign, or of a newer version."""


class DamagedError(TfcrError, ValueError):
    """Arrays on disk contradict each other; whoever reads them names the file, or makes them again."""


class ResultsError(TfcrError, ValueError):
    """A file of experiment results cannot be read or written."""


class DownloadError(TfcrError, OSError):
    """A server does not deliver a file, or delivers a wrong one."""


class ClusterError(TfcrError, RuntimeError):
    """A Dask cluster does not answer, cannot be used, or was lost."""


class MissingExtraError(TfcrError, ImportError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}'; install it with: pip install 'tfcr[{extra}]'")


class TfcrWarning(UserWarning):
    """The work goes on, but the user should know."""


class CorpusWarning(TfcrWarning):
    """Texts or vectors as a whole are not what they should be; to be told once, even if there are folds."""


def look_up(table: Mapping[str, T], name: str, kind: str) -> T:
    """Return ``table[name]``, or raise UnknownNameError with the known names."""
    if isinstance(name, str) and name in table:
        return table[name]
    raise UnknownNameError(unknown_name(name, table, kind))


def shown(value: object) -> str:
    """Return a value as messages show it: in one line, and not all of a long one."""
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # a number of 5,000 digits, a list in itself
        text = f"a value of type {type(value).__name__} too long to show"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def unknown_name(name: object, known: Iterable[str], kind: str) -> str:
    """Return a message with the unknown name, the known ones, and the one that was probably meant."""
    names = list(known)
    given = name[:LONGEST_SHOWN] if isinstance(name, str) else shown(name)
    same = [known_name for known_name in names if known_name.lower() == given.lower()]
    close = same or get_close_matches(given, names[:MOST_COMPARED], n=1)
    hint = f" Did you mean {shown(close[0])}?" if close else ""
    return f"unknown {kind} {shown(name)}; known: {shown_names(names)}.{hint}"


def shown_names(names: Sequence[str]) -> str:
    """Return names as messages list them: not all if there are many, and not all of a long one.

    >>> shown_names([str(number) for number in range(1000)])[-40:]
    '53, 54, 55, 56, 57, 58, 59, and 940 more'
    """
    listed = [name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…" for name in names[:MOST_LISTED]]
    left = len(names) - len(listed)
    return ", ".join(listed) + (f", and {left:,} more" if left else "")


def in_one_line(error: BaseException) -> str:
    """Return what an error says, cut to one line: a library's message may quote a whole file."""
    if isinstance(error, OSError) and error.strerror and not isinstance(error, TfcrError):
        return error.strerror
    lines = str(error).strip().splitlines()
    return lines[0][:LONGEST_REASON] if lines else type(error).__name__
