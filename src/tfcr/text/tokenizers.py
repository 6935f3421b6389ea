"""From a text to its tokens and, on request, to their positions in the original text.

Every named tokeniser first normalises the text to NFC, so that an umlaut is one character however it was typed.
To add a tokeniser, add a row to TOKENIZERS.
"""

import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError, MissingExtraError, look_up
from tfcr.kernels.actions import ALONE, END, KEEP, MARK, MORE, SKIP, SYMBOL
from tfcr.text.unicode import ALONE_LETTERS, GAPS, compose, marks

DEFAULT_TOKENIZER = "words"

SEARCHED = 1000
"""Characters in which the next token of a user's tokeniser is searched for; all of a long text would take too long."""


class Token(NamedTuple):
    """A token and its position: ``text[start:end]``."""

    token: str
    start: int
    end: int


@dataclass(frozen=True)
class Tokenizer:
    """A named way to split a text.

    Attributes
    ----------
    name
        As in TOKENIZERS.
    find
        Returns the tokens of a prepared text.
    locate
        Returns the same tokens with their positions in the prepared text.
    lower
        Whether preparing a text lower-cases it.
    symbols
        Whether runs of punctuation and symbols are tokens; bigrams skip these.
    table
        Returns, for each code point, what compiled code does with it (see kernels.tokens); None if no such table can
        define the tokens.
    """

    name: str
    find: Callable[[str], list[str]]
    locate: Callable[[str], Iterator[Token]]
    lower: bool = True
    symbols: bool = False
    table: Callable[[], bytes] | None = None

    def actions(self) -> NDArray[np.uint8]:
        """Return the action of compiled code for each code point; only for a tokeniser with a table."""
        assert self.table is not None  # noqa: S101 - asked for by the caller
        return np.frombuffer(self.table(), np.uint8)

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order.

        Examples
        --------
        >>> TOKENIZERS["words"]("Don't panic!")
        ['don', 't', 'panic']
        >>> TOKENIZERS["paper"]("Don't panic!")
        ['dont', 'panic']
        >>> TOKENIZERS["symbols"]("Don't panic! :-)")
        ['don', "'", 't', 'panic', '!', ':-)']
        >>> TOKENIZERS["symbols"]("东京Tower 2号")
        ['东', '京', 'tower', '2', '号']
        """
        return self.find(self.prepare(text))

    def spans(self, text: str) -> list[Token]:
        """Return the tokens of `text` with their positions in it."""
        prepared = self.prepare(text)
        starts, ends = _origins(text, prepared, self.prepare)
        return [Token(token, starts[start], ends[end - 1]) for token, start, end in self.locate(prepared)]

    def prepare(self, text: str) -> str:
        """Normalise the text to NFC and, if this tokeniser does so, to lower case."""
        composed = compose(text)
        return composed.lower() if self.lower else composed

    def __reduce__(self) -> tuple[Callable[[str], "Tokenizer"], tuple[str]]:
        return named_tokenizer, (self.name,)


AnyTokenizer = Tokenizer | Callable[[str], Iterable[str]]


def named_tokenizer(name: str) -> Tokenizer:
    """Return the tokeniser of that name."""
    return look_up(TOKENIZERS, name, "tokenizer")


def resolve_tokenizer(tokenizer: str | AnyTokenizer) -> AnyTokenizer:
    """Return the tokeniser for a name; a callable is returned unchanged."""
    if callable(tokenizer):
        return tokenizer
    return named_tokenizer(tokenizer)


def gives_symbols(tokenizer: AnyTokenizer) -> bool:
    """Return whether some tokens are punctuation or symbols."""
    return isinstance(tokenizer, Tokenizer) and tokenizer.symbols


def tokenizer_name(tokenizer: str | AnyTokenizer) -> str:
    """Return the name to store for a tokeniser; that of a callable is for people only."""
    if isinstance(tokenizer, str):
        return tokenizer
    return str(getattr(tokenizer, "name", getattr(tokenizer, "__name__", type(tokenizer).__name__)))


def token_spans(tokenizer: AnyTokenizer, text: str) -> list[Token]:
    """Return tokens and positions, also for a callable that gives no positions.

    The tokens of such a callable are searched for in order, ignoring case, in the rest of the current word and at the
    start of later ones, up to SEARCHED characters further on. A token that is not found (a lemma, say) gets an empty
    span.
    """
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.spans(text)
    found, position = [], 0
    for token in check_tokens(tokenizer(text), tokenizer):
        pattern = re.escape(token)
        here = re.compile(pattern, re.IGNORECASE).match(text, position)
        until = position + SEARCHED + len(token)
        match = here or re.compile(rf"(?:\b|(?!\w)){pattern}", re.IGNORECASE).search(text, position, until)
        start, end = match.span() if match else (position, position)
        found.append(Token(token, start, end))
        position = end
    return found


def check_tokens(tokens: Iterable[str], tokenizer: AnyTokenizer) -> list[str]:
    """Return the tokens of a user's tokeniser as a list; raise InputError if they are not strings."""
    if isinstance(tokens, str) or not isinstance(tokens, Iterable):
        raise InputError(
            f"the tokenizer {tokenizer_name(tokenizer)!r} returned {type(tokens).__name__}; expected a list of strings"
        )
    checked = list(tokens)
    for token in checked:
        if not isinstance(token, str):
            raise InputError(
                f"the tokenizer {tokenizer_name(tokenizer)!r} returned a token of type {type(token).__name__}; "
                "expected strings"
            )
    return checked


# paper ---------------------------------------------------------------------------------------------------------

_NOT_KEPT = re.compile(r"[^\w\s]|_")
_CHUNK = re.compile(r"\S+")


def _paper_find(text: str) -> list[str]:
    return _NOT_KEPT.sub("", text).split()


def _paper_locate(text: str) -> Iterator[Token]:
    for chunk in _CHUNK.finditer(text):
        kept = [at for at in range(chunk.start(), chunk.end()) if not _NOT_KEPT.match(text, at)]
        if kept:
            yield Token("".join(text[at] for at in kept), kept[0], kept[-1] + 1)


# words ---------------------------------------------------------------------------------------------------------


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word of the tokeniser `words`, in lower case."""
    return re.compile(rf"\w[\w{marks()}]*")


def _words_find(text: str) -> list[str]:
    return word_pattern().findall(text)


def _words_locate(text: str) -> Iterator[Token]:
    return _matches(word_pattern(), text)


# symbols -------------------------------------------------------------------------------------------------------


_WORD_START = re.compile(rf"[\w{ALONE_LETTERS}]")


@cache
def _symbols_pattern() -> re.Pattern[str]:
    letter = rf"[^\W{ALONE_LETTERS}]"
    mark = rf"(?![\w\0-\x7f])[{marks()}]"  # cheap test first: most characters are no marks
    word = rf"{letter}+(?:{mark}{letter}*)*+"
    alone = rf"[{ALONE_LETTERS}](?:{mark})*+"
    symbols = rf"[^\w{GAPS}{ALONE_LETTERS}]+"  # marks included: they join emoji, and choose their style
    return re.compile(f"{word}|{alone}|{symbols}")


def is_symbol(token: str) -> bool:
    """Return whether a token is punctuation or a symbol, if its tokeniser gives any."""
    return _WORD_START.match(token) is None


def _symbols_find(text: str) -> list[str]:
    return _symbols_pattern().findall(text)


def _symbols_locate(text: str) -> Iterator[Token]:
    return _matches(_symbols_pattern(), text)


# whitespace ----------------------------------------------------------------------------------------------------


def _whitespace_locate(text: str) -> Iterator[Token]:
    return _matches(_CHUNK, text)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    return (Token(match.group(), match.start(), match.end()) for match in pattern.finditer(text))


# jieba ---------------------------------------------------------------------------------------------------------


def _jieba_find(text: str) -> list[str]:
    return [token for token, _, _ in _jieba_locate(text)]


def _jieba_locate(text: str) -> Iterator[Token]:
    return (Token(*found) for found in _jieba_segment()(text) if word_pattern().search(found[0]))


@cache
def _jieba_segment() -> Callable[[str], Iterator[tuple[str, int, int]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated string escapes and pkg_resources in jieba itself
        try:
            import jieba  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError("the tokenizer 'jieba'", "zh") from None
        jieba.setLogLevel("WARNING")
        jieba.initialize()
    segment: Callable[[str], Iterator[tuple[str, int, int]]] = jieba.tokenize
    return segment


# positions -----------------------------------------------------------------------------------------------------


def _origins(text: str, prepared: str, prepare: Callable[[str], str]) -> tuple[Sequence[int], Sequence[int]]:
    """Return, for each character of `prepared`, the start and end of the characters of `text` it comes from."""
    if len(text) == len(prepared) and compose(text) == text:
        return range(len(text)), range(1, len(text) + 1)
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _composing_runs(text):
        length = len(prepare(text[start:end]))
        starts += [start] * length
        ends += [end] * length
    if len(starts) != len(prepared):  # a composition across runs: no positions are better than wrong ones
        return [0] * len(prepared), [len(text)] * len(prepared)
    return starts, ends


def _composing_runs(text: str) -> Iterator[tuple[int, int]]:
    """Split the text where NFC never joins two characters."""
    start = 0
    for at in range(1, len(text)):
        if not _may_compose(text[at - 1], text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)


def _may_compose(before: str, character: str) -> bool:
    """Return whether it is a mark, or a jamo that may form a syllable with the one before."""
    hangul = "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return unicodedata.category(character).startswith("M") or (hangul and "\u1160" <= character <= "\u11ff")


# tables for compiled code ------------------------------------------------------------------------------------------


ASSIGNED = (range(0x40000), range(0xE0000, 0xE1000))
"""Code points that may differ from others: Unicode has assigned none between these, and after them some for private use
only. A class of characters holds all of the others or none of them."""
_ANY_OTHER = "\U00040000"


@cache
def _all_characters() -> list[tuple[int, str]]:
    """Return the characters of ASSIGNED, and where each stretch of them starts."""
    return [(some.start, "".join(map(chr, some))) for some in ASSIGNED]


def _table(default: int, *rules: tuple[str, int]) -> bytes:
    """Return an action for each code point: that of the last rule whose pattern matches, or the default."""
    patterns = [(re.compile(f"(?:{pattern})+", re.DOTALL), action) for pattern, action in rules]
    others = [action for pattern, action in patterns if pattern.match(_ANY_OTHER)]
    actions = bytearray([others[-1] if others else default]) * (sys.maxunicode + 1)
    for start, characters in _all_characters():
        actions[start : start + len(characters)] = bytes([default]) * len(characters)
        for pattern, action in patterns:
            for run in pattern.finditer(characters):
                actions[start + run.start() : start + run.end()] = bytes([action]) * (run.end() - run.start())
    return bytes(actions)


@cache
def _paper_table() -> bytes:
    return _table(SKIP, (r"\s", END), (r"[^\W_]", KEEP))


def _quick_marks() -> str:
    """Return a pattern of the marks of ASSIGNED.

    Regular expressions compare a character beyond the first plane with each range of a class in turn; most are letters,
    or in the two planes that have no mark.
    """
    return rf"(?![\w\U00020000-\U0003ffff])[{marks()}]"


@cache
def _words_table() -> bytes:
    return _table(END, (_quick_marks(), MORE), (r"\w", KEEP))


@cache
def _symbols_table() -> bytes:
    return _table(SYMBOL, (f"[{GAPS}]", END), (_quick_marks(), MARK), (r"\w", KEEP), (f"[{ALONE_LETTERS}]", ALONE))


@cache
def _keep_all() -> bytes:
    return _table(KEEP)


def _one_token_locate(text: str) -> Iterator[Token]:
    return iter([Token(text, 0, len(text))] if text else [])


@cache
def _whitespace_table() -> bytes:
    return _table(KEEP, (r"\s", END))


ONE_TOKEN = Tokenizer("one token", lambda text: [text] * bool(text), _one_token_locate, lower=False, table=_keep_all)
"""Takes a whole text as one token; for lists of words."""

TOKENIZERS: dict[str, Tokenizer] = {
    # the author's program: lower-case, delete what is neither a word character nor white space, split
    "paper": Tokenizer("paper", _paper_find, _paper_locate, table=_paper_table),
    # maximal runs of letters, digits, marks and underscores, in lower case
    "words": Tokenizer("words", _words_find, _words_locate, table=_words_table),
    # words, and runs of punctuation and symbols (emoticons, emoji); each letter of a script without spaces is a token
    "symbols": Tokenizer("symbols", _symbols_find, _symbols_locate, symbols=True, table=_symbols_table),
    # for tokenised text: split on white space, keep the case
    "whitespace": Tokenizer("whitespace", str.split, _whitespace_locate, lower=False, table=_whitespace_table),
    # Chinese, segmented by jieba (extra zh); tokens without a letter or digit are left out
    "jieba": Tokenizer("jieba", _jieba_find, _jieba_locate),
}
