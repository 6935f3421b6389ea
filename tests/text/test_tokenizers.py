import pickle
import re
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.errors import InputError, UnknownNameError
from tfcr.kernels.actions import ALONE
from tfcr.text.tokenizers import TOKENIZERS, Token, resolve_tokenizer, token_spans, tokenizer_name

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.text("aéÉİ9, e\u0301\u200b\u200d中豈々か\u3099ーｶﾞ𠀀กิ๑ខ្ម\u0f0bབ한\u1100\u1161\u11ab", max_size=30),
)
OWN_RULES = [name for name in TOKENIZERS if name != "jieba"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("words", ["don", "t", "e", "mail", "snake_case", "3", "5", "café"]),
        ("symbols", ["don", "'", "t", "e", "-", "mail", "snake_case", "3", ".", "5", "café", "!"]),
        ("paper", ["dont", "email", "snakecase", "35", "café"]),
        ("whitespace", ["Don't", "e-mail", "snake_case", "3.5", "CAFÉ!"]),
    ],
)
def test_worked_example(name: str, expected: list[str]) -> None:
    assert TOKENIZERS[name]("Don't e-mail snake_case 3.5 CAFE\u0301!") == expected


@given(TEXTS)
def test_paper_is_the_authors_rule(text: str) -> None:
    normal = unicodedata.normalize("NFC", text)
    assert TOKENIZERS["paper"](text) == re.sub(r"([^\s\w]|_)+", "", normal.lower()).split()


@given(st.text(st.characters(exclude_categories=["Cs", "M", "Cf"]), max_size=60))
def test_words_is_the_usual_pattern_where_no_marks_are(text: str) -> None:
    normal = unicodedata.normalize("NFC", text)
    if not any(unicodedata.category(character).startswith("M") for character in normal.lower()):
        assert TOKENIZERS["words"](text) == re.findall(r"\w+", normal.lower())


@pytest.mark.parametrize("name", OWN_RULES)
@given(TEXTS)
def test_spans_hold_the_same_tokens_and_lie_in_the_text(name: str, text: str) -> None:
    tokenizer = TOKENIZERS[name]
    spans = tokenizer.spans(text)
    assert [span.token for span in spans] == tokenizer(text)
    for token, start, end in spans:
        assert 0 <= start < end <= len(text)
        assert tokenizer(text[start:end]) in ([token], [token.replace("σ", "ς")], [token.replace("ς", "σ")])


def test_decomposed_and_composed_umlauts_are_one_word() -> None:
    assert TOKENIZERS["words"]("u\u0308ber") == TOKENIZERS["words"]("über") == ["über"]


def test_spans_point_into_the_decomposed_original() -> None:
    text = "Ein u\u0308ber-Wort"
    assert TOKENIZERS["words"].spans(text)[1] == Token("über", 4, 9)
    assert text[4:9] == "u\u0308ber"


def test_lower_casing_that_lengthens_keeps_positions() -> None:
    text = "İstanbul Köln"
    assert [text[start:end] for _, start, end in TOKENIZERS["words"].spans(text)] == ["İstanbul", "Köln"]


def test_marks_among_symbols_stay() -> None:
    family, heart, leftover = "\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\ufe0f"
    assert TOKENIZERS["symbols"](f"love {family} {heart}!{leftover} {leftover}") == [
        "love", family, f"{heart}!{leftover}", leftover,
    ]  # fmt: skip


def test_words_of_hindi_stay_whole() -> None:
    assert TOKENIZERS["words"]("हिन्दी में") == ["हिन्दी", "में"]


def test_hangul_jamo_compose() -> None:
    text = "\u1112\u1161\u11ab \u1100\u1173\u11af"
    assert TOKENIZERS["words"](text) == ["한", "글"]
    assert TOKENIZERS["words"].spans(text)[1] == Token("글", 4, 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("体验2D巅峰,真好!", "体 验 2d 巅 峰 , 真 好 !"),
        ("人々は、コーヒーを3杯。", "人 々 は 、 コ ー ヒ ー を 3 杯 。"),
        ("ﾊﾞｽ〆〇〻ゝヾ㌀", "ﾊ ﾞ ｽ 〆 〇 〻 ゝ ヾ ㌀"),
        ("𠮷野家\U00031350⼀", "𠮷 野 家 \U00031350 ⼀"),  # planes 2 and 3, and a radical
        ("か\u3099か\u309a葛\U000e0100城", "が か\u309a 葛\U000e0100 城"),  # marks stay with their character
        ("한국어 텍스트와漢字", "한국어 텍스트와 漢 字"),
        ("ㄅㄆㄇ ꀀꀁ हिन्दी・में", "ㄅㄆㄇ ꀀꀁ हिन्दी ・ में"),
        ("ที่นี่ กำ ๒๕ๆ", "ที่ นี่ ก ำ ๒๕ ๆ"),
        ("ພາສາ", "ພ າ ສ າ"),
        ("ភាសា\u200bខ្មែរ។", "ភា សា ខ្ មែ រ ។"),
        ("မြန်မာ၊ ၁၂", "မြ န် မာ ၊ ၁၂"),
        ("བོད་ཡིག།", "བོད ཡིག །"),
        ("new\u200bline", "new line"),
    ],
)
def test_symbols_cuts_scripts_without_spaces(text: str, expected: str) -> None:
    assert TOKENIZERS["symbols"](text) == expected.split(" ")
    assert [token for token, _, _ in TOKENIZERS["symbols"].spans(text)] == expected.split(" ")


NAMES_ALONE = re.compile(
    "(CJK (UNIFIED|COMPATIBILITY) IDEOGRAPH|CJK RADICAL|KANGXI RADICAL|HANGZHOU NUMERAL|IDEOGRAPHIC NUMBER ZERO"
    "|(IDEOGRAPHIC|VERTICAL IDEOGRAPHIC|HIRAGANA|KATAKANA) ITERATION MARK"
    "|HIRAGANA (LETTER|DIGRAPH)|HENTAIGANA LETTER|((CIRCLED|HALFWIDTH) )?KATAKANA (LETTER|DIGRAPH|WO|[AIUEO]$)"
    "|KATAKANA-HIRAGANA PROLONGED|(THAI|LAO|MYANMAR) (LETTER|CHARACTER|VOWEL) |KHMER (LETTER|INDEPENDENT VOWEL) )"
)
NAMES_OF_WORDS = re.compile("LATIN|GREEK|CYRILLIC|HANGUL|DEVANAGARI|TIBETAN|BOPOMOFO|YI |FULLWIDTH|DIGIT|PUNCTUATION")


def test_symbols_knows_the_scripts_by_their_names() -> None:
    alone = set(np.flatnonzero(TOKENIZERS["symbols"].actions() == ALONE).tolist())
    for code in range(sys.maxunicode + 1):
        character, name = chr(code), unicodedata.name(chr(code), "")
        if unicodedata.category(character) in ("Lo", "Lm", "Nl") and NAMES_ALONE.match(name):
            assert code in alone, name
        if NAMES_OF_WORDS.match(name) or unicodedata.category(character)[0] in "MZ":
            assert code not in alone, name


def test_spans_of_single_characters_point_into_the_text() -> None:
    text = "か\u3099 Cafe\u0301中\u1161国"  # a jamo composes with no ideograph
    spans = TOKENIZERS["symbols"].spans(text)
    assert [(token, text[start:end]) for token, start, end in spans] == [
        ("が", "か\u3099"),
        ("café", "Cafe\u0301"),
        ("中", "中"),
        ("\u1161", "\u1161"),
        ("国", "国"),
    ]


def test_jieba_segments_chinese_and_leaves_out_punctuation() -> None:
    tokens = TOKENIZERS["jieba"].spans("体验2D巅峰,真好!")
    assert [token.token for token in tokens][:2] == ["体验", "2d"]
    assert all("体验2D巅峰,真好!"[start:end].lower() == token for token, start, end in tokens)
    assert "," not in TOKENIZERS["jieba"]("体验2D巅峰,真好!")


def test_a_callable_gets_spans_by_search() -> None:
    found = token_spans(lambda text: ["good", "FILM", "stemm"], "Good film, stemming")
    assert [(start, end) for _, start, end in found] == [(0, 4), (5, 9), (11, 16)]
    derailed = token_spans(lambda text: ["ran", "the", "race"], "run the orange race")
    assert derailed == [Token("ran", 0, 0), Token("the", 4, 7), Token("race", 15, 19)]
    assert [span[1:] for span in token_spans(list, "日本!")] == [(0, 1), (1, 2), (2, 3)]
    assert token_spans(lambda text: ["absent"], "text") == [Token("absent", 0, 0)]


def test_a_callable_must_give_strings() -> None:
    with pytest.raises(InputError, match="returned a token of type int"):
        token_spans(lambda text: [1], "text")  # type: ignore[list-item]
    with pytest.raises(InputError, match="returned str; expected a list of strings"):
        token_spans(lambda text: text, "text")


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(
        UnknownNameError, match=r"unknown tokenizer 'word'; known: paper, words.* Did you mean 'words'\?"
    ):
        resolve_tokenizer("word")


def test_tokenizers_pickle_by_name() -> None:
    for tokenizer in TOKENIZERS.values():
        assert pickle.loads(pickle.dumps(tokenizer)) is tokenizer


def test_names() -> None:
    assert tokenizer_name("words") == tokenizer_name(TOKENIZERS["words"]) == "words"
    assert tokenizer_name(str.split) == "split"
