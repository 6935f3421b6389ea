"""Terms that look private; examples of both kinds, and what must not be taken for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.text.private import PRIVATE, is_card, kind_of_private, private_terms

EXAMPLES = {
    "e-mail addresses": [
        "jo@example.org",
        "jo.doe+news@mail.example.co.uk",
        "<jo@example.org>",
        "mailto:jo@example.org",
        "jürgen@müller.de",
        "jo@example.org now",
        "jo＠example.org",
        "jo@exam\u00adple.org",
    ],
    "card numbers": [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "378282246310005",
        "6011000990139424",
        "visa 4111111111111111",
        "4111111111111111.",
        "(4111111111111111)",
        "card:4111111111111111",
        "4111_1111_1111_1111",
        "4111,1111,1111,1111",
        "４１１１１１１１１１１１１１１１",
    ],
    "phone numbers": [
        "+49 151 23456789",
        "555-1234",
        "(555) 123-4567",
        "0301234567",
        "555 1234",
        "+14155552671",
        "030/1234567",
        "٠٣٠١٢٣٤٥٦٧",
        "call 5551234567",
        "5551234567 now",
        "2004 5551234567",
        "5551234567!",
        "tel:5551234567",
        "Tel.:+49(0)30-1234567;",
        "555_123_4567",
        "555–123–4567",
        "555\u20111234567",
        "555·123·4567",
        "555\u200c1234",
        "5551234567\u200d",
        "555,123,4567",
        "8005551000",
        "+49 30 123 4000",
        "555-1000",
    ],
}
OTHERS = [
    "good",
    "@name",
    "a@b",
    "2004 2005",
    "2004",
    "20041231",
    "1000000",
    "1,000,000",
    "123456",
    "3.14159",
    "covid19",
    "b2b",
    "10 000",
    "",
    " ",
    "4111111111111112345678901",
    "x1234567",
    "in 20041231",
    "(1998-2004),",
    "1998–2004",
    "1998,1999,2000",
    "2004-12-31",
    "31.12.2004",
    "12/31/2004,",
    "1,234,567",
    "$1,234,567.89",
    "$5551234567",
    "5551234567€",
    "12,34,567",
    "25000000",
    "1,2,3,4,5,6,7,8",
    "51.5074,-0.1278",
    "1234,5678",
    "12:30:45.678",
    "1920x1080",
    "a1b2c3d4e5f6g7",
    "5551234567" * 11,
    "good 2004",
]


@pytest.mark.parametrize(("kind", "term"), [(kind, term) for kind, terms in EXAMPLES.items() for term in terms])
def test_private_terms(kind: str, term: str) -> None:
    assert kind_of_private(term) == kind


@pytest.mark.parametrize("term", OTHERS)
def test_other_terms(term: str) -> None:
    assert kind_of_private(term) is None


def test_terms_are_numbered_by_kind() -> None:
    assert list(EXAMPLES) == list(PRIVATE)
    terms = [term for some in EXAMPLES.values() for term in some] + OTHERS
    found = private_terms(terms)
    assert {kind: [terms[number] for number in numbers] for kind, numbers in found.items()} == EXAMPLES
    assert private_terms(OTHERS) == {}


@given(st.lists(st.integers(0, 9), min_size=12, max_size=18))
def test_one_check_digit_of_ten_is_right(digits: list[int]) -> None:
    found = [is_card("".join(map(str, [*digits, last]))) for last in range(10)]
    assert sum(found) == 1 or set(digits) == {0}
