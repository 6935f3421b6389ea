"""classify.js gives what Python gives: tokens, positions, scores, labels, contributions."""

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser.comparing import check_same, in_units, send_model
from tests.conftest import plain_classifier, random_corpus, random_vectors
from tests.keep_export_vectors import MODELS, TARGET
from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import load_dataset
from tfcr.decision import LINKS, Calibration, Decision
from tfcr.text.pieces import SEGMENTATIONS, Pieces
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained.pruning import prune
from tfcr.trained.table_json import _tokenizer_named, table_json

EXPORTABLE = [name for name, row in TOKENIZERS.items() if row.table is not None]
TOKENIZE = "([name, text]) => tfcr.tokenize(text, tokenizers[name])"
REAL = ["agnews", "emoji", "20ng", "thucnews"]

AWKWARD = [
    "",
    " ",
    "Don't panic! :-)",
    "ΑΣ ΣΑΣ ΌΔΟΣ, ΟΔΟΣ.",  # the last sigma of a word is another letter
    "İstanbul ẞ ﬁ ǅ",  # lower case of two characters
    "u\u0308ber e\u0301te\u0301 \u1112\u1161\u11ab 한국어",  # composed by NFC
    "a" + "\u0301" * 70 + "b",
    "👩‍👩‍👧 ❤️ 👍🏽 ok!! 🇩🇪",
    "שלום עולם, مرحبا بالعالم",
    "東京タワー2号 ภาษาไทย ខ្មែរ မြန်မာ",
    "हिन्दी தமிழ் می‌خواهم",
    "x\u200by\u0f0bz _under_score_ 1,000.5 ½ ²",
    "\ufeff\x00\u2028 \x85 \x1c",
    "\U0001fae8 \U00010d50\U00010d70 \u0378 \U000e0001",  # not assigned in older versions of Unicode
]


@pytest.fixture(scope="module")
def tokenize(classify: Any) -> Callable[[str, str], Any]:
    for name in EXPORTABLE:
        classify.evaluate(
            "([name, said]) => { tokenizers[name] = tfcr.read({...JSON.parse(said)}).tokenizer; }",
            [name, json.dumps(empty_table(name))],
        )
    return lambda name, text: classify.evaluate(TOKENIZE, [name, text])


def empty_table(tokenizer: str) -> dict[str, Any]:
    none = {"type": "uint8", "data": ""}
    rows = {"groups": [], "weights": none, "values": none}
    return {
        "format": "tfcr-table",
        "version": 1,
        "classes": [],
        "decision": {"form": "label"},
        "tokenizer": _tokenizer_named(tokenizer),
        "starts": [0],
        "divisors": [],
        "scales": none,
        "words": {"terms": "", **rows},
        "bigrams": {"terms": none, "skip_symbols": False, **rows},
        "entries": {"sizes": none, "groups": none, "weights": none, "values": none},
        "pieces": [],
    }


def check_tokens(tokenize: Callable[[str, str], Any], name: str, text: str) -> None:
    found, units = tokenize(name, text), in_units(text)
    expected = TOKENIZERS[name].spans(text)
    assert found["tokens"] == [token.token for token in expected]
    spans = list(zip(found["starts"], found["ends"], strict=True))
    assert spans == [(units[token.start], units[token.end]) for token in expected]


@pytest.mark.parametrize("name", EXPORTABLE)
@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_texts_have_the_same_tokens(tokenize: Callable[[str, str], Any], name: str, text: str) -> None:
    check_tokens(tokenize, name, text)


ALPHABET = st.one_of(
    st.sampled_from(sorted(set("".join(AWKWARD)))),
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("aA .!\u0301"),
)


@given(st.sampled_from(EXPORTABLE), st.text(ALPHABET, max_size=60))
def test_any_text_has_the_same_tokens(tokenize: Callable[[str, str], Any], name: str, text: str) -> None:
    check_tokens(tokenize, name, text)


SOME_CODES = [*range(0x1000), *range(0x3000, 0x3100), *range(0x1F300, 0x1F700)]
ALL_CODES = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 61), *range(0xE0000, 0xE1000)]
"""Of the planes from the third on, which hold ideographs or nothing, some."""


def check_code_points(tokenize: Callable[[str, str], Any], name: str, codes: list[int]) -> None:
    for start in range(0, len(codes), 20_000):
        # in a word, by itself, after a letter in upper case
        text = " ".join(f"a{chr(code)}b {chr(code)} A{chr(code)}" for code in codes[start : start + 20_000])
        assert tokenize(name, text)["tokens"] == TOKENIZERS[name](text)


@pytest.mark.parametrize("name", EXPORTABLE)
def test_characters_of_most_scripts_are_handled_the_same(tokenize: Callable[[str, str], Any], name: str) -> None:
    check_code_points(tokenize, name, SOME_CODES)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTABLE)
def test_every_character_is_handled_the_same(tokenize: Callable[[str, str], Any], name: str) -> None:
    check_code_points(tokenize, name, ALL_CODES)


@pytest.mark.slow
def test_final_sigma_differs_at_most_beside_two_rare_letters(tokenize: Callable[[str, str], Any]) -> None:
    """Unicode 17 changed the letter case of U+0295, and 15 the kind of U+1171E; docs/export.md says so."""
    codes = [code for code in range(0x20000) if chr(code).isprintable() and code not in (0x295, 0x1171E)]
    text = " ".join(f"aΣ{chr(code)} aΣ{chr(code)}a {chr(code)}Σ a{chr(code)}Σ" for code in codes)
    assert tokenize("words", text)["tokens"] == TOKENIZERS["words"](text)


# pieces, links, decisions ------------------------------------------------------------------------------------------


def test_the_page_knows_all_that_a_table_can_name(classify: Any) -> None:
    assert classify.evaluate("() => Object.keys(tfcr.SEGMENTATIONS)") == list(SEGMENTATIONS)
    assert classify.evaluate("() => Object.keys(tfcr.LINKS)") == list(LINKS)


WORDS = ["good", "goodish", "so", "s", "東京", "😀😀", "ag" * 40, "", "looool", "ab" * 31 + "c" * 3]


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_words_are_cut_into_the_same_pieces(classify: Any, segmentation: str) -> None:
    names = [
        *" gods東😀",
        "oo",
        "go",
        " g",
        " go",
        "goo",
        "good",
        "d ",
        " good ",
        "ish",
        "sh ",
        "😀😀",
        " 😀",
        "ag",
        "agag",
        " so ",
        "lo",
    ]
    pieces = Pieces(list(dict.fromkeys(names)), segmentation)
    found = classify.evaluate(
        "([name, pieces, words]) => words.map((word) => "
        "tfcr.SEGMENTATIONS[name](word, new Map(pieces.map((piece, number) => [piece, number]))))",
        [segmentation, pieces.names, WORDS],
    )
    assert found == [pieces.of_word(word) for word in WORDS]


def decisions(classes: Any, several: bool) -> dict[str, Decision]:
    n = len(classes)
    calibration = Calibration(1.7, np.linspace(-0.5, 0.4, n))
    if several:
        limits = np.linspace(-0.3, 0.2, n)
        return {
            "thresholds": Decision(classes, "independent", "lists", limits),
            "calibrated": Decision(classes, "independent", "lists", limits, calibration),
        }
    costs = np.arange(float(n * n)).reshape(n, n)
    return {
        **{link: Decision(classes, link) for link in LINKS if link != "independent"},
        "probability": Decision(classes, "multinomial", calibration=calibration, rule="probability"),
        "unsure": Decision(classes, "multinomial", calibration=calibration, least_probabilities=np.full(n, 0.6)),
        "costs": Decision(classes, "multinomial", calibration=calibration, costs=costs),
    }


TEXTS = [
    "w0_1 w0_2 common1",
    "w1_3, W1_4! common2 common2",
    "w2_0 neverseen w0_5",
    "",
    "so new",
    *random_corpus(20, seed=5).texts,
]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_decision_is_the_same(classify: Any, n_classes: int) -> None:
    corpus = random_corpus(60, n_classes)
    model = plain_classifier(embeddings=random_vectors(corpus)).fit(corpus.texts, corpus.labels).model_
    for name, decision in decisions(model.classes, several=False).items():
        decided = replace(model, decision=decision)
        send_model(classify, name, decided)
        check_same(classify, name, decided, TEXTS)


def test_several_labels_are_the_same(classify: Any) -> None:
    corpus = random_corpus(90)
    labels = [[label, "odd"] if number % 2 else [label] for number, label in enumerate(corpus.labels)]
    model = TfcrClassifier.from_preset("fast", C=1.0).fit(corpus.texts, labels).model_
    for name, decision in decisions(model.classes, several=True).items():
        decided = replace(model, decision=decision)
        send_model(classify, name, decided)
        check_same(classify, name, decided, TEXTS)


CLASSIFIERS: dict[str, dict[str, Any]] = {
    "paper": {"name": "paper", "tokenizer": "paper", "embeddings": "w2v", "dimensions": 5},
    "length": {"name": "paper", "tokenizer": "whitespace", "averaging": "length"},
    "sum, own blocks": {"name": "paper", "averaging": "sum", "blocks": "own", "tokenizer": "words"},
    "best": {"name": "best", "C": 1.0},
    "bigrams": {"name": "best", "parts": ("bigrams",), "C": 1.0, "embeddings": None},
    "characters": {"name": "fast", "parts": ("characters",), "C": 1.0},
}


@pytest.fixture(params=CLASSIFIERS)
def model(request: pytest.FixtureRequest) -> TrainedModel:
    corpus = random_corpus(90)
    parameters = {"embeddings": random_vectors(corpus), "random_state": 0, **CLASSIFIERS[request.param]}
    if parameters["name"] == "fast":
        del parameters["embeddings"]
    trained = TfcrClassifier.from_preset(**parameters).fit(corpus.texts, corpus.labels)
    found: TrainedModel = trained.model_
    return found


def test_contributions_are_the_same(classify: Any, model: TrainedModel) -> None:
    send_model(classify, "model", model)
    check_same(classify, "model", model, TEXTS)


def test_contributions_of_pruned_models_are_the_same(classify: Any, model: TrainedModel) -> None:
    full = len(json.dumps(_tokenizer_named(model.tokenizer.name)))  # type: ignore[union-attr]
    for room in (4_000, 8_000):
        pruned = prune(model, full + room).model
        send_model(classify, "pruned", pruned)
        check_same(classify, "pruned", pruned, TEXTS)


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_the_vectors_of_the_format(classify: Any, number: int) -> None:
    """Those that docs/export.md gives to other readers."""
    vectors = json.loads(TARGET.read_text("utf-8"))[number]
    classify.evaluate("(table) => { models.vectors = tfcr.read(table); }", vectors["table"])
    for case in vectors["texts"]:
        found = classify.evaluate("(text) => tfcr.explain(models.vectors, text)", case["text"])
        units = in_units(case["text"])
        for name in ("labels", "sure", "unknown"):
            assert found[name] == case[name]
        for name in ("scores", "probabilities"):
            np.testing.assert_allclose(found[name], case[name], atol=1e-4)
        terms = {term["term"]: term for term in found["terms"]}
        assert terms.keys() == {term["term"] for term in case["terms"]}
        for term in case["terms"]:
            same = terms[term["term"]]
            assert [same[key] for key in ("count", "unseen", "bigram")] == [
                term[key] for key in ("count", "unseen", "bigram")
            ]
            assert same["spans"] == [[units[start], units[end]] for start, end in term["spans"]]
            np.testing.assert_allclose(same["added"], term["added"], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["best"], indirect=True)
def test_a_text_of_10_mb(classify: Any, model: TrainedModel) -> None:
    """Its spans would take gigabytes; those of its beginning are enough for a page."""
    send_model(classify, "long", model)
    unit = "w1_1 w1_2 common3 😀 "
    found = classify.evaluate("(unit) => tfcr.explain(models.long, unit.repeat(500000), 100)", unit)
    expected = model.predict_proba([unit * 500_000])[0]
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-6)
    assert all(end <= 100 for term in found["terms"] for _, end in term["spans"])


@pytest.mark.slow
@pytest.mark.parametrize("dataset", REAL)
def test_real_texts_are_classified_and_explained_the_same(classify: Any, shared_data: Path, dataset: str) -> None:
    """Of each dataset 125 texts that the model never saw: 500 in all; thucnews is Chinese, emoji has emoji."""
    corpus = load_dataset(dataset)
    order = np.random.default_rng(0).permutation(len(corpus))[:1625].tolist()
    texts, labels = [corpus.texts[at] for at in order], [corpus.labels[at] for at in order]
    trained = TfcrClassifier.from_preset("best", random_state=0).fit(texts[125:], labels[125:])
    pruned = prune(trained.model_, 1_500_000).model
    assert len(table_json(pruned)) < len(table_json(trained.model_))
    send_model(classify, dataset, pruned)
    check_same(classify, dataset, pruned, [*texts[:125], *AWKWARD], atol=1e-4)
    assert any(unicodedata.category(one) == "So" for text in texts for one in text) or dataset != "emoji"
