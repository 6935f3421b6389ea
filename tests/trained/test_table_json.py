"""The table as JSON: what it holds, and the test vectors that others check their readers against."""

import json
import unicodedata
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from tests.keep_export_vectors import MODELS, TARGET, expected, small_model
from tfcr import TrainedModel
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.export_html import export_page
from tfcr.trained.table_json import VERSION, as_document, numbers, runs, table_json

VECTORS = json.loads(TARGET.read_text("utf-8"))


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return small_model()


@pytest.mark.parametrize("kind", ["int8", "uint8", "uint16", "uint32", "float32"])
def test_numbers_are_little_endian_bytes(kind: str) -> None:
    array = np.array([0, 1, 77, 100.1], kind)
    written = numbers(array)
    assert written["type"] == kind
    np.testing.assert_array_equal(np.frombuffer(b64decode(written["data"]), np.dtype(kind).newbyteorder("<")), array)


def test_runs_give_the_array_again() -> None:
    actions = TOKENIZERS["symbols"].actions()
    found = np.array(runs(actions)).reshape(-1, 2)
    np.testing.assert_array_equal(np.repeat(found[:, 1], found[:, 0]), actions)


def test_the_document_is_json_that_any_reader_takes(model: TrainedModel) -> None:
    found = json.loads(table_json(model), parse_constant=pytest.fail)  # NaN is not JSON
    assert found == json.loads(json.dumps(as_document(model)))
    assert found["classes"] == ["blame", "praise", "question"]
    assert found["tokenizer"]["name"] == "symbols"
    assert found["words"]["terms"].split(" ") == list(model.table.vocabulary.words)


def test_half_a_surrogate_pair_is_escaped(model: TrainedModel) -> None:
    words = ["\ud800", *model.table.vocabulary.words[1:]]
    odd = replace(model, table=replace(model.table, vocabulary=Vocabulary(words, model.table.vocabulary.bigrams)))
    assert json.loads(table_json(odd).encode())["words"]["terms"].startswith("\ud800 ")


def test_half_a_surrogate_pair_in_a_label_is_no_reason_to_fail(model: TrainedModel) -> None:
    odd = replace(model, decision=replace(model.decision, classes=np.array(["\ud800", "b", "c"])))
    assert "Text classifier: ?, b, c" in export_page(odd).encode().decode()


def test_a_word_with_a_space_does_not_move_the_others(model: TrainedModel) -> None:
    words = ["a b", *model.table.vocabulary.words[1:]]
    odd = replace(model, table=replace(model.table, vocabulary=Vocabulary(words, model.table.vocabulary.bigrams)))
    assert as_document(odd)["words"]["terms"].split(" ") == ["", *words[1:]]


def test_vectors_are_of_this_version_and_cover_what_is_hard() -> None:
    assert [some["about"] for some in VECTORS] == list(MODELS)
    assert {some["table"]["version"] for some in VECTORS} == {VERSION}
    cases = [case for some in VECTORS for case in some["texts"]]
    assert [case["text"] for case in cases] == [text for _, texts in MODELS.values() for text in texts]
    terms = [term for case in cases for term in case["terms"]]
    assert any(term["bigram"] for term in terms)
    assert any(term["unseen"] for term in terms)
    assert any(ord(one) > 0xFFFF for case in cases for one in case["text"])
    assert any(unicodedata.normalize("NFC", case["text"]) != case["text"] for case in cases)
    assert any(case["unknown"] for case in cases)
    assert {len(case["labels"]) for case in cases} >= {0, 1, 2}
    assert {case["sure"] for case in cases} == {True, False}


def test_vectors_cover_the_format() -> None:
    tables = [some["table"] for some in VECTORS]
    decisions = [table["decision"] for table in tables]
    for name in ("thresholds", "calibration", "least_probabilities", "costs"):
        assert any(decision[name] is not None for decision in decisions), name
    assert {decision["form"] == "label" for decision in decisions} == {True, False}
    assert {"ngrams", "whole", "longest", "merge"} <= {
        pieces["segmentation"] for table in tables for pieces in table["pieces"]
    }
    rows = [rows for table in tables for rows in (table["words"], table["bigrams"], *table["pieces"])]
    assert {some["values"]["type"] for some in rows} >= {"int8", "float32"}
    assert {some["weights"]["type"] for some in rows} >= {"bfloat16", "float32"}
    assert {len(table["intercepts"]) for table in tables} == {1, 3}


@pytest.mark.parametrize("about", MODELS)
def test_vectors_are_what_python_finds(about: str) -> None:
    """Training varies in the last digits between machines: figures are compared roughly, and the rest exactly."""
    model = MODELS[about][0]()
    for case in next(some for some in VECTORS if some["about"] == about)["texts"]:
        found = json.loads(json.dumps(expected(model, case["text"])))
        assert [found[name] for name in ("labels", "sure", "unknown")] == [
            case[name] for name in ("labels", "sure", "unknown")
        ]
        np.testing.assert_allclose(found["scores"], case["scores"], atol=0.01)
        spans = {term["term"]: term["spans"] for term in case["terms"]}
        assert {term["term"]: term["spans"] for term in found["terms"]} == spans
