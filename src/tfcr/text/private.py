"""Words that look like e-mail addresses, phone numbers or card numbers: what a shared file should not give away.

A word that only one person wrote stays in a model like any other. These checks look at single terms, so they find what
the tokeniser left in one word, or in two neighbouring ones: ``words`` splits an address at its signs.
"""

import re
from collections.abc import Iterable
from datetime import date

MIN_PHONE, MAX_PHONE = 7, 15
"""Digits of a phone number, country code included (E.164); shorter numbers are quantities and years."""
MIN_CARD, MAX_CARD = 13, 19
"""Digits of a card number (ISO/IEC 7812)."""

_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+\.[^\W\d_]{2,}")
_NUMBER = re.compile(r"\+?\(?\d(?:[\s./()-]{0,2}\d)+")
_MAY_BE = re.compile(rf"@|(?:\d\D*+){{{MIN_PHONE}}}")
"""A quick test that all private terms pass: of a hundred thousand terms, most do not."""
_YEARS = re.compile(r"(?:(?:1[5-9]|20)\d\d[\s./-]*)+")


def is_address(term: str) -> bool:
    """Return whether an e-mail address is in a term.

    >>> is_address("<jo.doe@example.org>"), is_address("@name"), is_address("a@b")
    (True, False, False)
    """
    return _ADDRESS.search(term) is not None


def is_card(term: str) -> bool:
    """Return whether a term is the number of a card: so many digits, and the check digit right.

    >>> is_card("4111 1111 1111 1111"), is_card("4111111111111112"), is_card("0000000000000000")
    (True, False, False)
    """
    digits = _digits(term)
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

    >>> [is_phone(term) for term in ("555-1234", "+49 151 2345678", "0151 2345678", "5551234")]
    [True, True, True, True]
    >>> [is_phone(term) for term in ("2004 2005", "20041231", "1000000", "123456", "4 gb")]
    [False, False, False, False, False]
    """
    digits = _digits(term)
    if not MIN_PHONE <= len(digits) <= MAX_PHONE:
        return False
    return not (_YEARS.fullmatch(term) or _is_date(term) or digits[-3:] == [0, 0, 0])


def _digits(term: str) -> list[int]:
    """Return the digits of a term that is a number with the usual separators; none if it is something else."""
    return [int(one) for one in term if one.isdecimal()] if _NUMBER.fullmatch(term) else []


def _is_date(term: str) -> bool:
    """Return whether eight digits are year, month and day."""
    if len(term) != 8 or not _YEARS.match(term):
        return False
    try:
        date(int(term[:4]), int(term[4:6]), int(term[6:]))
    except ValueError:
        return False
    return True


PRIVATE = {"e-mail addresses": is_address, "card numbers": is_card, "phone numbers": is_phone}
"""Kinds of private terms, in the order in which they are looked for."""


def kind_of_private(term: str) -> str | None:
    """Return the kind of PRIVATE that a term looks like, or a word of a bigram; None for all other terms.

    >>> kind_of_private("555 1234"), kind_of_private("call 5551234567"), kind_of_private("call me")
    ('phone numbers', 'phone numbers', None)
    """
    parts = dict.fromkeys((term, *term.split(" ")))  # each once
    return next((kind for kind, looks_so in PRIVATE.items() for part in parts if looks_so(part)), None)


def private_terms(terms: Iterable[str]) -> dict[str, list[int]]:
    """Return the numbers of the terms that look private, by kind; a kind without any is left out.

    >>> private_terms(["good", "jo@example.org", "555 1234", "5551234567 now"])
    {'e-mail addresses': [1], 'phone numbers': [2, 3]}
    """
    found: dict[str, list[int]] = {kind: [] for kind in PRIVATE}
    for number, term in enumerate(terms):
        if _MAY_BE.search(term):
            kind = kind_of_private(term)
            if kind is not None:
                found[kind].append(number)
    return {kind: numbers for kind, numbers in found.items() if numbers}
