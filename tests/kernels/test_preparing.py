"""Preparing bytes by compiled code: the same as Python's NFC and lower-casing, or left to Python."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.system.native import prepare_documents
from tfcr.system.packed_strings import decode_words, encode_words
from tfcr.text import native_counts
from tfcr.text.native_counts import ByteCounter
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.unicode import compose, preparing_table

ODD = (  # case that depends on neighbours or changes the length, marks that compose or are sorted, syllables, planes
    "aZ ÄßéıσςΣ\u0130\u1e9e\u03f4\u212a\u212b\u2126\u023a\u2c65\u01c5\u1fbc\u0345\u0301\u0327\u0308\u093c\u094d\u0e48"
    "\u0650\u0651\ud55c\u1112\u1161\u11ab\u304b\u3099\ufe0f\u200d😀𐐀𞤀\uf900\U0002f800\0\udc80"
)
TEXTS = st.lists(st.one_of(st.text(max_size=20), st.text(ODD, max_size=12)), max_size=6)


def prepare(texts: list[str], *, lower: bool) -> list[str | None]:
    """Return the texts that compiled code prepares, None for those that it leaves to Python."""
    text, starts = encode_words(texts)
    prepared, left = text.copy(), np.empty(len(texts), np.bool_)
    prepare_documents(prepared, starts, lower, preparing_table(), left)
    for number in np.flatnonzero(left):  # whose bytes may have been changed in part
        prepared[starts[number] : starts[number + 1]] = ord("?")
    found = decode_words(prepared, starts)
    return [None if is_left else one for one, is_left in zip(found, left, strict=True)]


@pytest.mark.parametrize("lower", [True, False])
@given(texts=TEXTS)
def test_a_prepared_text_is_what_python_makes_of_it(lower: bool, texts: list[str]) -> None:
    for text, found in zip(texts, prepare(texts, lower=lower), strict=True):
        expected = compose(text).lower() if lower else compose(text)
        assert found in (expected, None)


def test_every_character_alone_and_after_a_letter_or_a_mark() -> None:
    for before in ("", "a", "\u0327", "\uac00"):
        texts = [before + chr(code) for code in range(0x110000 if before == "" else 0x30000)]
        for text, found in zip(texts, prepare(texts, lower=True), strict=True):
            assert found is None or found == unicodedata.normalize("NFC", text).lower()


@pytest.mark.parametrize(
    "text", ["Ein ÄPFEL", "Ψ and ЖАР", "😀\ufe0f 👩\u200d💻", "हिन्दी", "ภาษาไทยที่", "𐐀 한국어 東京", "Việt Nam"]
)
def test_common_texts_are_not_left_to_python(text: str) -> None:
    assert prepare([text], lower=True) == [text.lower()]


@pytest.mark.parametrize(
    "text", ["ΣΑΣ", "\u0130", "\u212a", "e\u0301", "a\u0327\u0301", "\u1112\u1161", "\uf900", "\U0002f800"]
)
def test_texts_that_need_python_are_left_to_it(text: str) -> None:
    assert prepare([text], lower=True) == [None]


@pytest.mark.parametrize("name", [name for name, tokenizer in TOKENIZERS.items() if tokenizer.table])
@given(texts=TEXTS, few=st.sampled_from([0, 8]))
def test_all_bytes_of_a_batch_are_those_of_prepared_texts(name: str, texts: list[str], few: int) -> None:
    tokenizer = TOKENIZERS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_counts, "FEW_TEXTS", few)
        text, starts = ByteCounter(tokenizer, None)._encoded(texts)
    assert decode_words(text, starts) == list(map(tokenizer.prepare, texts))
    assert not text.flags.writeable
