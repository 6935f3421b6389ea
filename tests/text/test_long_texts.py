"""Texts made to take long: runs of marks, of one character, and texts beyond the stated sizes."""

import re
import unicodedata
from typing import Any

import numpy as np
import pytest

from tfcr import TfcrClassifier
from tfcr.errors import InputError
from tfcr.text import documents, tokenizers, unicode
from tfcr.text.documents import check_texts, count_terms
from tfcr.text.native_counts import count_bytes
from tfcr.text.tokenizers import TOKENIZERS, token_spans
from tfcr.text.unicode import MAX_MARKS, compose
from tfcr.trained import explain

ACUTE, CEDILLA, TIBETAN = "\u0301", "\u0327", "\u0f73"  # U+0F73 is no non-starter itself, but decomposes into two
RUNS = {
    "marks out of order": f"a{(ACUTE + CEDILLA) * 400}b",
    "marks that decompose": f"a{TIBETAN * 700}b",
    "marks of another plane": "a" + "\U0001e944\U0001e94a" * 200 + "b",
    "marks without a letter": ACUTE * 333,
    "marks and joiners": f"a{(ACUTE * 40 + chr(0x200D)) * 9}",
    "letters with marks": f"u{ACUTE}{CEDILLA}" * 300,
    "jamo": "\u1112\u1161\u11ab" * 300,
    "emoji joined": "👩\u200d" * 300,
    "one letter": "ä" * 3000,
    "punctuation": "é" + "!@#'" * 700,
    "addresses": "é http://a.b/c?d=e&" * 90,
    "sigma": "Σ'" * 900,
}


@pytest.mark.parametrize("n_marks", [1, 5, MAX_MARKS - 1])
def test_ordinary_texts_become_nfc(n_marks: int) -> None:
    for marks in (CEDILLA, ACUTE, TIBETAN, "\u3099", "\U0001e944"):
        text = f"ein Wo{marks * n_marks}rt, u\u0308ber か{marks}"
        assert compose(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("offset", range(MAX_MARKS))
def test_a_run_is_found_wherever_it_is(offset: int) -> None:
    text = "x" * offset + "a" + (ACUTE + CEDILLA) * (MAX_MARKS // 2)
    later = compose(text + CEDILLA)  # which is sorted before the acutes, if it is not cut off
    assert later == unicodedata.normalize("NFC", text) + CEDILLA != unicodedata.normalize("NFC", text + CEDILLA)


@pytest.mark.parametrize("kind", RUNS)
def test_no_more_than_thirty_marks_are_sorted_together(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = []

    def normalize(form: Any, text: str) -> str:
        pieces.append(text)
        return str(original(form, text))

    original = unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", normalize)
    composed = compose(RUNS[kind])
    monkeypatch.undo()
    assert "".join(pieces) == RUNS[kind]
    runs = re.compile(f"[{unicode._combining_marks()}]+")
    assert max((len(run) for piece in pieces for run in runs.findall(piece)), default=0) <= MAX_MARKS
    assert sorted(unicodedata.normalize("NFD", composed)) == sorted(unicodedata.normalize("NFD", RUNS[kind]))


def test_every_character_that_nfc_sorts_is_a_mark() -> None:
    mark = re.compile(f"[{unicode._combining_marks()}]")
    sorted_by_nfc = [
        character
        for character in map(chr, range(0x110000))
        if unicodedata.combining(unicodedata.normalize("NFD", character)[0])
    ]
    assert len(sorted_by_nfc) > 800
    assert all(map(mark.fullmatch, sorted_by_nfc))


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("name", [name for name, tokenizer in TOKENIZERS.items() if tokenizer.table])
def test_plain_and_compiled_code_and_positions_agree(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, tokenizer = RUNS[kind], TOKENIZERS[name]
    plain = count_terms([text, f"x {text} y"], name)
    words, matrix, lengths = count_bytes([text, f"x {text} y"], tokenizer)
    assert list(words) == list(plain.vocabulary.words)
    np.testing.assert_array_equal(matrix.toarray(), plain.matrix.toarray())
    np.testing.assert_array_equal(lengths, plain.lengths)
    spans = tokenizer.spans(text)
    assert [span.token for span in spans] == tokenizer(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


def test_a_token_that_is_not_in_the_text_is_not_searched_for_in_all_of_it() -> None:
    far = "x " * tokenizers.SEARCHED
    found = token_spans(lambda _: ["good", "better", "film"], f"good {far} better film")
    assert [(token.start, token.end) for token in found] == [(0, 4), (4, 4), (4, 4)]
    near = "x " * (tokenizers.SEARCHED // 2 - 5)
    found = token_spans(lambda _: ["good", "better", "film"], f"good {near} better film")
    assert [f"good {near} better film"[token.start : token.end] for token in found] == ["good", "better", "film"]


def test_texts_beyond_the_stated_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT", 1000)
    monkeypatch.setattr(explain, "MAX_CHARACTERS", 500)
    assert check_texts(["x" * 1000]) == ["x" * 1000]
    with pytest.raises(
        InputError, match=r"^text number 1 \(counted from 0\) has 1,001 characters; expected at most 1,0"
    ):
        check_texts(["x", "x" * 1001])
    model = TfcrClassifier.from_preset("fast").fit(["good film", "bad film", "good", "bad"], ["p", "n", "p", "n"])
    assert model.explain("good " * 100).label == "p"
    with pytest.raises(
        InputError, match="^found a text of 505 characters to explain; expected at most 500: give a part"
    ):
        model.explain("good " * 101)
