"""Classes of characters, each as the inside of a character class of a regular expression; and Unicode normalisation.

Combining marks continue a word, letters of scripts without spaces stand alone, and some characters act as white space.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.actions import ASK_PYTHON, ONE_MARK

# Letters of scripts that put no spaces between words, each a token with the marks that follow it. Source: Scripts.txt
# of the Unicode Character Database, version 18; marks, digits and punctuation left out. Thai, Lao, Khmer and Myanmar
# are cut as by UAX #29 where it has no dictionary: whole runs, mostly sentences, would hardly be met again. Not in
# here: Hangul, which has spaces; Tibetan, which has a dot between syllables (GAPS); Bopomofo, which spells words out.
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
ALONE_LETTERS = "".join(SPACELESS.values())

# White space, and what acts as it: the zero-width space (Khmer, Thai) and the dot between syllables of Tibetan.
GAPS = r"\s\u200b\u0f0b\u0f0c"


MAX_MARKS = 30
"""Marks in a row that NFC sorts and composes together, as in Unicode's stream-safe text format (UAX #15)."""


@cache
def marks() -> str:
    """Return the characters that continue a word but do not begin one."""
    # Python's \w excludes combining marks and so would split the words of Hindi, Tamil or Thai; nor may the joiners
    # of Persian and Indic scripts end a word.
    return rf"\u200c\u200d{_combining_marks()}"


@cache
def _combining_marks(end: int = sys.maxunicode) -> str:
    # Marks lie in three planes only, which saves a scan.
    planes = (range(0x300, min(0x20000, end)), range(0xE0000, min(0xE1000, end)))
    characters = (chr(code) for plane in planes for code in plane)
    # quick tests first: no letter is a mark, and nothing that is not assigned
    likely = (one for one in characters if not one.isalpha() and one.isprintable())
    return _ranges(one for one in likely if unicodedata.category(one).startswith("M"))


@cache
def _many_marks() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns of one mark, of MAX_MARKS marks in a row, both with more than marks, and of just these in a row.

    The first two are a hundred times as fast: regular expressions look up a character of the first plane in a table,
    and compare others with each range of a class in turn.
    """
    roughly, exactly = rf"{_combining_marks(0x10000)}\U00010000-\U0010ffff", _combining_marks()
    in_row = f"{{{MAX_MARKS}}}"
    return re.compile(f"[{roughly}]"), re.compile(f"[{roughly}]{in_row}"), re.compile(f"[{exactly}]{in_row}")


def compose(text: str) -> str:
    r"""Return the text in NFC; of a longer run of marks, every MAX_MARKS by themselves.

    The time to sort marks grows with the square of their number, and no language has more than a few on a letter.

    Examples
    --------
    >>> compose("u\u0308ber")
    'über'
    """
    if text.isascii():
        return text
    one, rough, exact = _many_marks()
    # one character in MAX_MARKS tells that there is no such run: most texts hold no marks at all
    if one.search(text[::MAX_MARKS]) is None or rough.search(text) is None:
        return unicodedata.normalize("NFC", text)
    ends = [found.end() for found in exact.finditer(text)]
    return "".join(unicodedata.normalize("NFC", text[start:end]) for start, end in pairwise([0, *ends, len(text)]))


CHANGING = (range(0x80, 0x20000), range(0x2F800, 0x2FA20))
"""Code points above ASCII that NFC or lower-casing may change; the others are ideographs, tags and the like."""


@cache
def preparing_table() -> NDArray[np.int32]:
    """Return what compiled code does with each code point to prepare a text; see `kernels.preparing`.

    A text is in NFC if none of its characters is changed by NFC or composed with one before it, and no two combining
    marks are next to each other, so that none are out of order.
    """
    characters = [chr(code) for some in CHANGING for code in some]
    table = np.arange(CHANGING[-1].stop, dtype=np.int32)
    for one in characters:
        if (lower := one.lower()) != one:
            table[ord(one)] = ord(lower) if len(lower.encode()) == len(one.encode()) else ASK_PYTHON
        elif unicodedata.combining(one):
            table[ord(one)] = ONE_MARK
    for one in characters:
        if (found := unicodedata.decomposition(one)) and not found.startswith("<"):  # "<compat>": not for NFC
            second = found.split()[1:]
            table[[int(code, 16) for code in second]] = ASK_PYTHON
            if unicodedata.normalize("NFC", one) != one:
                table[ord(one)] = ASK_PYTHON
    table[0x1160:0x1200] = ASK_PYTHON  # jamo, which form syllables
    table[ord("Σ")] = ASK_PYTHON  # at the end of a word it becomes another letter
    table.setflags(write=False)
    return table


def _ranges(characters: Iterable[str]) -> str:
    """Return sorted characters as the inside of a character class, ranges as ``a-z``."""
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)
