"""From a text to its tokens and, on request, to where each token stands in the text as it was given.

Every named tokeniser first brings the text into NFC, so that an umlaut is one character however it was typed.
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

DEFAULT_TOKENIZER = "words"


class Token(NamedTuple):
    """A token and where it stands: ``text[start:end]``."""

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
        Gives the tokens of a prepared text.
    locate
        Gives the same tokens with their positions in the prepared text.
    lower
        Whether preparing a text lower-cases it.
    signs
        Whether it gives runs of signs as tokens; where pairs of words are counted, these are passed over.
    table
        Gives, for each code point, what compiled code does with it (see kernels.tokens); None where no such table can
        say what a token is.
    """

    name: str
    find: Callable[[str], list[str]]
    locate: Callable[[str], Iterator[Token]]
    lower: bool = True
    signs: bool = False
    table: Callable[[], bytes] | None = None

    def actions(self) -> NDArray[np.uint8]:
        """Return what compiled code does with each code point; only for a tokeniser that has a table."""
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
        >>> TOKENIZERS["signs"]("Don't panic! :-)")
        ['don', "'", 't', 'panic', '!', ':-)']
        >>> TOKENIZERS["signs"]("东京Tower 2号")
        ['东', '京', 'tower', '2', '号']
        """
        return self.find(self.prepare(text))

    def spans(self, text: str) -> list[Token]:
        """Return the tokens of `text` with their positions in `text` as it was given."""
        prepared = self.prepare(text)
        starts, ends = _origins(text, prepared, self.prepare)
        return [Token(token, starts[start], ends[end - 1]) for token, start, end in self.locate(prepared)]

    def prepare(self, text: str) -> str:
        """Bring the text into NFC and, where this tokeniser does so, into lower case."""
        composed = text if text.isascii() else unicodedata.normalize("NFC", text)
        return composed.lower() if self.lower else composed

    def __reduce__(self) -> tuple[Callable[[str], "Tokenizer"], tuple[str]]:
        return named_tokenizer, (self.name,)


AnyTokenizer = Tokenizer | Callable[[str], Iterable[str]]


def named_tokenizer(name: str) -> Tokenizer:
    """Return the tokeniser of that name."""
    return look_up(TOKENIZERS, name, "tokenizer")


def resolve_tokenizer(tokenizer: str | AnyTokenizer) -> AnyTokenizer:
    """Return the tokeniser for a name; a callable is taken as it is."""
    if callable(tokenizer):
        return tokenizer
    return named_tokenizer(tokenizer)


def gives_signs(tokenizer: AnyTokenizer) -> bool:
    """Tell whether some tokens are signs."""
    return isinstance(tokenizer, Tokenizer) and tokenizer.signs


def pairs_hold_signs(pairs: Iterable[str]) -> bool:
    """Tell whether signs are taken for words in pairs, "one two", as the first models with pairs took them."""
    return any(is_sign(word) for pair in pairs for word in pair.split(" "))


def tokenizer_name(tokenizer: str | AnyTokenizer) -> str:
    """Return the name to store for a tokeniser; that of a callable is for people only."""
    if isinstance(tokenizer, str):
        return tokenizer
    return str(getattr(tokenizer, "name", getattr(tokenizer, "__name__", type(tokenizer).__name__)))


def token_spans(tokenizer: AnyTokenizer, text: str) -> list[Token]:
    """Return tokens and positions, also for a callable that knows no positions.

    The tokens of such a callable are searched for one after the other, whatever their case, in what is left of the
    word reached and at the start of later ones. One that is not found (a lemma, say) gets the empty span.
    """
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.spans(text)
    found, position = [], 0
    for token in check_tokens(tokenizer(text), tokenizer):
        pattern = re.escape(token)
        here = re.compile(pattern, re.IGNORECASE).match(text, position)
        match = here or re.compile(rf"(?:\b|(?!\w)){pattern}", re.IGNORECASE).search(text, position)
        start, end = match.span() if match else (position, position)
        found.append(Token(token, start, end))
        position = end
    return found


def check_tokens(tokens: Iterable[str], tokenizer: AnyTokenizer) -> list[str]:
    """Return what a user's tokeniser gave as a list, or say why it cannot be used."""
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
    """Return what the tokeniser `words` takes for a word, in lower case."""
    return re.compile(rf"\w[\w{_marks()}]*")


@cache
def _marks() -> str:
    """Return what goes on with a word but begins none, as the inside of a character class."""
    # Python's \w leaves out combining marks, and so would cut the words of Hindi, Tamil or Thai to pieces; nor may
    # the joiners of Persian and Indic scripts end a word. Marks stand in three planes only, which saves a scan.
    planes = (range(0x300, 0x20000), range(0xE0000, min(0xE1000, sys.maxunicode)))
    marks = (chr(code) for plane in planes for code in plane if unicodedata.category(chr(code)).startswith("M"))
    return rf"\u200c\u200d{_ranges(marks)}"


def _ranges(characters: Iterable[str]) -> str:
    """Write sorted characters as the inside of a character class, runs as ``a-z``."""
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


def _words_find(text: str) -> list[str]:
    return word_pattern().findall(text)


def _words_locate(text: str) -> Iterator[Token]:
    return _matches(word_pattern(), text)


# signs ---------------------------------------------------------------------------------------------------------


# Letters of scripts that put no spaces between words, each a token with the marks that follow it. Source: Scripts.txt
# of the Unicode Character Database, version 18; marks, digits and punctuation left out. Thai, Lao, Khmer and Myanmar
# are cut as by UAX #29 where it has no dictionary: whole runs, mostly sentences, would hardly be met again. Not in
# here: Hangul, which has spaces; Tibetan, which has a dot between syllables (_GAPS); Bopomofo, which spells words out.
SPACELESS: dict[str, str] = {
    # radicals; 々〇 and the like; ideographs; planes 2 and 3 as a whole, kept for these and the old seal script
    "Han": r"\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"
    r"\U00016fe2\U00016fe3\U00016ff2-\U00016ff6\U00020000-\U0003fffd",
    "Hiragana": r"\u3041-\u3096\u309d-\u309f\U0001f200",
    # the last of these: letters in circles, words in squares, those of half width
    "Katakana": r"\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff\u32d0-\u32fe\u3300-\u3357\uff66-\uff6f\uff71-\uff9d",
    "old and small kana": r"\U0001aff0-\U0001affe\U0001b000-\U0001b16f",
    # letters of the script Common which ScriptExtensions.txt gives to these three only: 〆〱〼ー and ｰﾞﾟ of half width
    "shared": r"\u3006\u3031-\u3035\u303c\u30fc\uff70\uff9e\uff9f",
    "Thai": r"\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46",
    "Lao": r"\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6\u0edc-\u0edf",
    "Khmer": r"\u1780-\u17b3\u17d7\u17dc",
    "Myanmar": r"\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"
    r"\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f",
}
_ALONE_LETTERS = "".join(SPACELESS.values())

# White space, and what does its work: the space of no width (Khmer, Thai) and the dot between syllables of Tibetan.
_GAPS = r"\s\u200b\u0f0b\u0f0c"
_WORD_START = re.compile(rf"[\w{_ALONE_LETTERS}]")


@cache
def _signs_pattern() -> re.Pattern[str]:
    letter = rf"[^\W{_ALONE_LETTERS}]"
    mark = rf"(?![\w\0-\x7f])[{_marks()}]"  # what most characters are is sooner seen than that they are no mark
    word = rf"{letter}+(?:{mark}{letter}*)*+"
    alone = rf"[{_ALONE_LETTERS}](?:{mark})*+"
    signs = rf"[^\w{_GAPS}{_marks()}{_ALONE_LETTERS}]+"
    return re.compile(f"{word}|{alone}|{signs}")


def is_sign(token: str) -> bool:
    """Tell whether a token is a sign, if its tokeniser gives any."""
    return _WORD_START.match(token) is None


def _signs_find(text: str) -> list[str]:
    return _signs_pattern().findall(text)


def _signs_locate(text: str) -> Iterator[Token]:
    return _matches(_signs_pattern(), text)


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
        warnings.simplefilter("ignore")  # its string escapes and its use of pkg_resources are out of date
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
    """Return, for each character of `prepared`, where the characters of `text` it comes from start and end."""
    if len(text) == len(prepared) and unicodedata.is_normalized("NFC", text):
        return range(len(text)), range(1, len(text) + 1)
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _composing_runs(text):
        length = len(prepare(text[start:end]))
        starts += [start] * length
        ends += [end] * length
    if len(starts) != len(prepared):  # a composition across our runs: rather no positions than wrong ones
        return [0] * len(prepared), [len(text)] * len(prepared)
    return starts, ends


def _composing_runs(text: str) -> Iterator[tuple[int, int]]:
    """Cut the text where NFC never joins two characters."""
    start = 0
    for at in range(1, len(text)):
        if not _may_compose(text[at - 1], text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)


def _may_compose(before: str, character: str) -> bool:
    """Return whether it is a mark, or a jamo that may become a syllable with the one before."""
    hangul = "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return unicodedata.category(character).startswith("M") or (hangul and "\u1160" <= character <= "\u11ff")


# tables for compiled code ------------------------------------------------------------------------------------------

_END, _MORE, _KEEP, _SKIP, _SIGN, _ALONE = 0, 1, 2, 3, 4, 5


@cache
def _all_characters() -> str:
    return "".join(map(chr, range(sys.maxunicode + 1)))


def _table(default: int, *rules: tuple[str, int]) -> bytes:
    """Return an action for each code point: the default, or that of the last pattern which it matches."""
    actions = bytearray([default]) * (sys.maxunicode + 1)
    for pattern, action in rules:
        for run in re.compile(f"(?:{pattern})+", re.DOTALL).finditer(_all_characters()):
            actions[run.start() : run.end()] = bytes([action]) * (run.end() - run.start())
    return bytes(actions)


@cache
def _paper_table() -> bytes:
    return _table(_SKIP, (r"\s", _END), (r"[^\W_]", _KEEP))


@cache
def _words_table() -> bytes:
    return _table(_END, (f"[{_marks()}]", _MORE), (r"\w", _KEEP))


@cache
def _signs_table() -> bytes:
    marks, alone = f"[{_marks()}]", f"[{_ALONE_LETTERS}]"
    return _table(_SIGN, (f"[{_GAPS}]", _END), (marks, _MORE), (r"\w", _KEEP), (alone, _ALONE))


@cache
def _keep_all() -> bytes:
    return _table(_KEEP)


def _one_token_locate(text: str) -> Iterator[Token]:
    return iter([Token(text, 0, len(text))] if text else [])


@cache
def _whitespace_table() -> bytes:
    return _table(_KEEP, (r"\s", _END))


ONE_TOKEN = Tokenizer("one token", lambda text: [text] * bool(text), _one_token_locate, lower=False, table=_keep_all)
"""Takes a text for one token; for lists of words."""

TOKENIZERS: dict[str, Tokenizer] = {
    # the author's program: lower case, delete what is neither a word character nor white space, split
    "paper": Tokenizer("paper", _paper_find, _paper_locate, table=_paper_table),
    # maximal runs of letters, digits, marks and underscores, in lower case
    "words": Tokenizer("words", _words_find, _words_locate, table=_words_table),
    # these, and runs of what is neither word nor white space: punctuation, emoticons, emoji; and each letter of a
    # script without spaces by itself
    "signs": Tokenizer("signs", _signs_find, _signs_locate, signs=True, table=_signs_table),
    # for text that is tokenised already: split on white space, keep the case
    "whitespace": Tokenizer("whitespace", str.split, _whitespace_locate, lower=False, table=_whitespace_table),
    # Chinese, by the segmenter jieba (extra zh); tokens without a letter or digit are left out
    "jieba": Tokenizer("jieba", _jieba_find, _jieba_locate),
}
