"""Words that look like e-mail addresses, phone numbers or card numbers: what a shared file should not give away.

A word that only one person wrote stays in a model like any other. These checks look at single terms, so they find what
the tokeniser left in one word, or in two neighbouring ones: ``words`` splits an address at its signs.

Phone numbers have no check digit: any number of so many digits may be one, that of a part or of a machine in a network
too. Dates, years, round numbers, and amounts with commas or a currency are taken for what they are.
"""

import re
import unicodedata
from collections.abc import Iterable
from datetime import date

MIN_PHONE, MAX_PHONE = 7, 15
"""Digits of a phone number, country code included (E.164); shorter numbers are quantities and years."""
MIN_CARD, MAX_CARD = 13, 19
"""Digits of a card number (ISO/IEC 7812)."""
MAX_CHARACTERS = 100
"""A term that is longer is not a number, though it may hold an address."""

_MAY_BE = re.compile(rf"[@＠﹫]|(?:\d\D*+){{{MIN_PHONE}}}")
"""A quick test that all private terms pass: of a hundred thousand terms, most do not."""
_ADDRESS = re.compile(r"[^\s@]@[^\s@]+\.[^\W\d_]{2,}")
_BETWEEN = r"[\s./()\-_·‐-―−]"
"""What stands between the digits of a number, besides commas: dots, brackets, dashes of all kinds."""
_NUMBER = re.compile(rf"\d(?:{_BETWEEN}{{0,2}}\d)+|\d{{3,4}}(?:,\d{{3,4}}){{2,}}")
_AMOUNT = re.compile(r"\d{1,3}(?:,\d{3})+")
_EDGE = r"(?:[^\w$€£¥₩₹%]|_)*"
"""Quotes, brackets, stops and the like; what has a currency or a percent sign is an amount."""
_AROUND = re.compile(rf"{_EDGE}(?:[^\W\d_]+\.?:{_EDGE})?(?P<number>\d.*?){_EDGE}")
"""A number and what is around it, such as "(tel:+" and ")."."""
_YEARS = re.compile(rf"(?:(?:1[5-9]|20)\d\d(?:{_BETWEEN}|,)*)+")


def is_address(term: str) -> bool:
    """Return whether an e-mail address is in a term.

    >>> is_address("<jo.doe@example.org>"), is_address("@name"), is_address("a@b")
    (True, False, False)
    """
    return _ADDRESS.search(_plain(term)) is not None


def is_card(term: str) -> bool:
    """Return whether a term is the number of a card: so many digits, and the check digit right.

    >>> is_card("(4111 1111 1111 1111)"), is_card("4111111111111112"), is_card("0000000000000000")
    (True, False, False)
    """
    digits = _digits(_number(term))
    return MIN_CARD <= len(digits) <= MAX_CARD and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: list[int]) -> bool:
    """Return whether the last digit is the check digit of those before (ISO/IEC 7812-1).

    Every second digit from the right counts twice, 5 to 9 then without their tens: 7 9 9 2 7 3 9 8 7 1 3 gives 7 + 9 +
    9 + 4 + 7 + 6 + 9 + 7 + 7 + 2 + 3 = 70, a multiple of 10.
    """
    doubled = [digit * 2 - 9 * (digit > 4) if number % 2 else digit for number, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def is_phone(term: str) -> bool:
    """Return whether a term may be a phone number: so many digits, and neither years, nor a date, nor round.

    >>> [is_phone(term) for term in ("555-1234", "+49 151 2345678", "tel:0151/2345678", "5551234")]
    [True, True, True, True]
    >>> [is_phone(term) for term in ("2004–2005", "31.12.2004", "2500000", "1,234,567", "123456", "$5551234")]
    [False, False, False, False, False, False]
    """
    number = _number(term)
    digits = _digits(number)
    if not MIN_PHONE <= len(digits) <= MAX_PHONE:
        return False
    is_round = sum(digit > 0 for digit in digits) <= 2
    return not (is_round or _YEARS.fullmatch(number) or _is_date(number))


def _plain(term: str) -> str:
    """Return a term with plain forms of its characters, and without those that are not seen.

    >>> _plain("jo＠example.org"), _plain("555\u20111234\u200d")
    ('jo@example.org', '555‐1234')
    """
    if term.isascii():
        return term
    found = unicodedata.normalize("NFKC", term)
    return "".join(one for one in found if unicodedata.category(one) != "Cf")


def _number(term: str) -> str:
    """Return a term that is a number, without what is around it; nothing if it is something else.

    >>> _number("(tel:+49-151)."), _number("1,234,567"), _number("b2b")
    ('49-151', '', '')
    """
    found = _AROUND.fullmatch(_plain(term)) if len(term) <= MAX_CHARACTERS else None
    number = found["number"] if found else ""
    return number if _NUMBER.fullmatch(number) and not _AMOUNT.fullmatch(number) else ""


def _digits(number: str) -> list[int]:
    return [int(one) for one in number if one.isdecimal()]


def _is_date(number: str) -> bool:
    """Return whether a number is year, month and day, in this order or the other way round.

    >>> [_is_date(some) for some in ("20041231", "2004-12-31", "31.12.2004", "12/31/2004", "2004-31-31", "555-12-12")]
    [True, True, True, True, False, False]
    """
    parts = re.findall(r"\d+", number)
    if [*map(len, parts)] == [8]:
        parts = [number[:4], number[4:6], number[6:]]
    year, *others = parts if len(parts[0]) == 4 else reversed(parts)
    if len(others) != 2 or not _YEARS.fullmatch(year):
        return False
    return _is_day(int(year), int(others[0]), int(others[1])) or _is_day(int(year), int(others[1]), int(others[0]))


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except (ValueError, OverflowError):
        return False
    return True


PRIVATE = {"e-mail addresses": is_address, "card numbers": is_card, "phone numbers": is_phone}
"""Kinds of private terms, in the order in which they are looked for."""


def kind_of_private(term: str) -> str | None:
    """Return the kind of PRIVATE that a term looks like, or a word of a bigram; None for all other terms.

    >>> kind_of_private("555 1234"), kind_of_private("call 5551234567"), kind_of_private("call me")
    ('phone numbers', 'phone numbers', None)
    """
    if not _MAY_BE.search(term):
        return None
    parts = dict.fromkeys((term, *term.split(" ")))  # each once
    return next((kind for kind, looks_so in PRIVATE.items() for part in parts if looks_so(part)), None)


def private_terms(terms: Iterable[str]) -> dict[str, list[int]]:
    """Return the numbers of the terms that look private, by kind; a kind without any is left out.

    >>> private_terms(["good", "jo@example.org", "555 1234", "5551234567 now"])
    {'e-mail addresses': [1], 'phone numbers': [2, 3]}
    """
    found: dict[str, list[int]] = {kind: [] for kind in PRIVATE}
    for number, term in enumerate(terms):
        kind = kind_of_private(term)
        if kind is not None:
            found[kind].append(number)
    return {kind: numbers for kind, numbers in found.items() if numbers}
