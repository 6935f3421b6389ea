"""Smaller models: what they keep, what they lack, and that they are models like others."""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import random_corpus, random_vectors
from tests.trained.tables import matrices_of
from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import Corpus
from tfcr.errors import InputError
from tfcr.system.hardware import size_in_bytes
from tfcr.text.pieces import Pieces, affixes_of, ngrams_of
from tfcr.text.private import kind_of_private
from tfcr.trained import packing
from tfcr.trained.export_html import export_page
from tfcr.trained.pruning import (
    WHOLE_LISTS,
    kept_variance,
    prune,
    short_weights,
    shortened,
    take_terms,
    variances,
    without_private,
)
from tfcr.trained.rounding import round_table
from tfcr.trained.table_json import check_exportable, table_json, term_bytes
from tfcr.trained.word_table import PieceTable

PRIVATE = Corpus(
    ["call 555 1234 or jo@example.org good", "pay by 4111111111111111 bad", "in 2004 it was good", "so bad , so bad"]
    * 8,
    ["a", "b", "a", "b"] * 8,
)


@pytest.fixture(params=[0.99, 0.0], ids=["entries", "rows"])
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> TrainedModel:
    corpus = random_corpus(200, n_classes=4)
    monkeypatch.setattr(packing, "MOSTLY", request.param)
    trained = TfcrClassifier(embeddings=random_vectors(corpus), C=1.0, random_state=0).fit(corpus.texts, corpus.labels)
    found: TrainedModel = trained.model_
    return found


@pytest.fixture(scope="module")
def with_private() -> TrainedModel:
    trained = TfcrClassifier.from_preset("fast", tokenizer="whitespace", parts=("bigrams",), C=1.0)
    found: TrainedModel = trained.fit(PRIVATE.texts, PRIVATE.labels).model_
    return found


def size(model: TrainedModel) -> int:
    return len(table_json(model).encode())


def empty_size(model: TrainedModel) -> int:
    """Return the size of a rounded model without terms."""
    table = take_terms(round_table(model.table, 0), np.zeros(0, np.int64))
    return size(replace(model, table=replace(table, pieces=())))


def test_some_terms_of_a_table_keep_their_rows(model: TrainedModel) -> None:
    table = model.table
    terms = np.arange(0, table.vocabulary.n_words, 2)
    found = take_terms(table, terms)
    assert found.vocabulary.names == [table.vocabulary.name(term) for term in terms.tolist()]
    before, after = matrices_of(table), matrices_of(found)
    np.testing.assert_array_equal(before.scores.toarray()[terms], after.scores.toarray())
    np.testing.assert_array_equal(before.divisor_weights.toarray()[terms], after.divisor_weights.toarray())


def test_a_model_that_is_small_enough_stays_as_it_is(model: TrainedModel) -> None:
    found = prune(model, size(model))
    assert found.model is model
    assert (found.private, found.kept_influence) == ({}, 1.0)


def test_smaller_and_smaller(model: TrainedModel, tmp_path: Path) -> None:
    empty = empty_size(model)
    before, kept = len(model.table.vocabulary), 1.0
    for room in (6_000, 3_000, 1_500):
        found = prune(model, empty + room)
        assert size(found.model) <= empty + room
        assert len(found.model.table.vocabulary) <= before
        assert found.kept_influence <= kept
        before, kept = len(found.model.table.vocabulary), found.kept_influence
    assert 0 < before < len(model.table.vocabulary)
    texts = random_corpus(30, 4, seed=1).texts
    found.model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(texts), found.model.predict_proba(texts))
    explained = found.model.explain(texts[0])
    assert explained.scores == pytest.approx(explained.baseline + sum(w.contributions for w in explained.words))
    with pytest.raises(
        InputError, match="without any term; expected at most 1.0 kB: give more room, such as --max-size"
    ):
        prune(model, 1_000)


def test_what_is_kept_is_a_fraction_of_the_whole_model(with_private: TrainedModel) -> None:
    """Of what terms add that were left out because they look private, too."""
    found = prune(with_private, 10**9)
    names = with_private.table.vocabulary.names
    public = [kind_of_private(name) is None for name in names]
    added = variances(with_private.table)
    assert found.kept_influence == pytest.approx(added[public].sum() / added.sum())
    assert found.kept_influence < 0.9
    assert prune(with_private, 10**9, keep_private=True).kept_influence == 1.0


def test_what_pieces_add_counts_too() -> None:
    corpus = random_corpus(200, n_classes=4)
    model = TfcrClassifier.from_preset("fast", C=1.0, parts=("characters",)).fit(corpus.texts, corpus.labels).model_
    without = replace(model.table, pieces=())
    assert 0 < kept_variance(model.table, without) < 1
    assert kept_variance(model.table, model.table) == 1.0
    assert kept_variance(without, without) == 1.0


def test_no_bigram_is_left_out_that_fits() -> None:
    corpus = random_corpus(200, n_classes=4)
    model = TfcrClassifier.from_preset("fast", C=1.0, parts=("bigrams",)).fit(corpus.texts, corpus.labels).model_
    table = short_weights(round_table(model.table, 0, weak_bigrams=True))
    assert len(table.vocabulary) == len(model.table.vocabulary)
    assert len(round_table(model.table, 0).vocabulary) < len(model.table.vocabulary)
    room = size(replace(model, table=table))
    assert room < size(model)
    found = prune(model, room)
    assert len(found.model.table.vocabulary) == len(model.table.vocabulary)
    assert found.kept_influence == 1.0


def test_a_small_model_is_pruned_as_it_is() -> None:
    """The scales of rounded values would take more than what is to be saved."""
    texts = [" ".join(f"word{number}" for number in range(start, start + 4)) for start in range(0, 18, 2)] * 3
    trained = TfcrClassifier.from_preset("fast", C=1.0, parts=("words",))
    model: TrainedModel = trained.fit(texts, [f"class {number % 3}" for number in range(len(texts))]).model_
    assert empty_size(model) > size(model) - 100
    found = prune(model, size(model) - 100).model
    assert found.table.words.values.dtype == np.float32
    assert len(model.table.vocabulary) // 2 < len(found.table.vocabulary) <= len(model.table.vocabulary)
    with pytest.raises(InputError, match="without any term") as caught:
        prune(model, 5_000)
    advised = re.search(r"--max-size (\S+)$", str(caught.value))
    assert advised is not None
    most = size_in_bytes(advised[1], "--max-size ", "5MB")
    assert most < 2 * size(model)
    assert prune(model, most).model is model


@pytest.mark.parametrize("segmentation", WHOLE_LISTS)
def test_a_list_of_sub_words_is_kept_if_it_is_worth_its_room(segmentation: str) -> None:
    """Room is used as well as without it, and more room never keeps less."""
    texts = [f"w{one * one % 997} w{one * 7 % 613} w{one} {'good' if one % 2 else 'bad'}" for one in range(900)]
    trained = TfcrClassifier.from_preset("fast", C=1.0, parts=("words",))
    model: TrainedModel = trained.fit(texts, ["a", "b", "c"] * 300).model_
    names = [f"pp{number:05d}xx" for number in range(600)]
    kept_lists = set()
    for factor in (0.05, 10.0):
        some = with_pieces(model, names, segmentation, factor)
        kept = 0.0
        for room in range(empty_size(model) + 1_000, size(some) - 1_000, 4_000):
            found = prune(some, room)
            assert found.kept_influence >= 0.99 * kept  # a hundredth of the room may be left
            kept = found.kept_influence
            assert [len(one.pieces) for one in found.model.table.pieces] in ([], [len(names)])
            without = prune(replace(some, table=replace(some.table, pieces=())), room)
            assert kept >= 0.99 * kept_variance(some.table, without.model.table)
            kept_lists.add((factor, bool(found.model.table.pieces)))
            is_all = len(found.model.table.vocabulary) == len(model.table.vocabulary)
            assert is_all or size(found.model) > 0.97 * room
    assert {(0.05, False), (10.0, True)} <= kept_lists


def test_what_is_kept_is_worth_most(model: TrainedModel) -> None:
    empty = empty_size(model)
    found = prune(model, empty + 2_000).model
    kept = set(found.table.vocabulary.words)
    words = model.table.vocabulary.words
    added = dict(zip(words, variances(model.table), strict=False))
    assert kept < set(words)
    assert np.mean([added[word] for word in kept]) > np.mean([added[word] for word in set(words) - kept])


def test_estimated_bytes_are_about_right(model: TrainedModel) -> None:
    empty = take_terms(model.table, np.zeros(0, np.int64))
    taken = size(model) - size(replace(model, table=empty))
    assert term_bytes(model.table).sum() == pytest.approx(taken, rel=0.1)


def test_weights_are_rounded_to_16_bits() -> None:
    numbers = np.random.default_rng(0).lognormal(0, 9, 1000).astype(np.float32)
    found = shortened(numbers)
    assert not (found.view(np.uint32) & 0xFFFF).any()
    np.testing.assert_allclose(found, numbers, rtol=1 / 256)
    np.testing.assert_array_equal(shortened(found), found)


def test_private_terms_are_left_out_and_counted(with_private: TrainedModel) -> None:
    found, counts = without_private(with_private)
    names = with_private.table.vocabulary.names
    assert {kind_of_private(name) for name in names} == {None, *counts}
    assert set(counts) == {"e-mail addresses", "card numbers", "phone numbers"}
    left = found.table.vocabulary.names
    assert {"555", "2004", "good", "so bad"} <= set(left)
    assert not any("jo@example.org" in name or "4111111111111111" in name or name == "555 1234" for name in left)
    assert prune(with_private, 10**9).private == counts
    assert prune(with_private, 10**9, keep_private=True).model is with_private
    for text in export_page(prune(with_private, 10**9).model), table_json(prune(with_private, 10**9).model):
        assert "example.org" not in text
        assert "4111111111111111" not in text
    assert found.counts is None  # they hold all words


ADDRESS, NUMBER = "joanna.kowalska@poczta.example.pl", "49301239876"


@pytest.mark.parametrize("cut", [ngrams_of, affixes_of])
def test_a_private_word_cannot_be_spelled_from_pieces(cut: Callable[[str], list[str]]) -> None:
    texts = ["good morning , 4930 people", "so good a number", f"so bad , {ADDRESS} {NUMBER}", "bad numbers"] * 8
    trained = TfcrClassifier.from_preset("fast", tokenizer="whitespace", parts=("characters",), C=1.0)
    model: TrainedModel = trained.fit(texts, ["a", "a", "b", "b"] * 8).model_
    words = set(" ".join(texts).split())
    private = {piece for word in (ADDRESS, NUMBER) for piece in cut(word)}
    public = {piece for word in words - {ADDRESS, NUMBER} for piece in cut(word)}
    some = with_pieces(model, sorted(private | public), "ngrams" if cut is ngrams_of else "affixes")
    found = prune(some, 10**9)
    assert found.private == {"e-mail addresses": 1, "phone numbers": 1}
    left = set(found.model.table.pieces[0].pieces.names)
    assert left == public
    assert {" 4930", "49"} & left  # a public word holds them too
    assert not {" joan", "e.pl "} & left
    assert prune(some, 10**9, keep_private=True).model is some


def with_pieces(model: TrainedModel, names: list[str], segmentation: str, factor: float = 1.0) -> TrainedModel:
    """Return a model with a list of pieces, which add so many times what others or words add."""
    table = model.table
    rows = table.pieces[0].rows if table.pieces else table.words
    values = rows.values[: len(names)].copy()
    values[:, 1:] *= factor
    own = rows._replace(weights=rows.weights[: len(names)], values=values)
    return replace(model, table=replace(table, pieces=(PieceTable(Pieces(names, segmentation), own),)))


@pytest.mark.parametrize("segmentation", ["longest", "merge", "whole"])
def test_private_pieces_are_counted_if_they_are_left_out(with_private: TrainedModel, segmentation: str) -> None:
    """Each once, though a word of the vocabulary is the same."""
    names = [" ", "o", "d", " jo@example.org ", " 5551234567", "oo", "5000000"]
    found = prune(with_pieces(with_private, names, segmentation), 10**9)
    before = without_private(with_private)[1]
    assert found.private == {**before, "phone numbers": before["phone numbers"] + 1}
    assert list(found.model.table.pieces[0].pieces.names) == [" ", "o", "d", "oo", "5000000"]
    written = table_json(found.model)
    assert "5551234567" not in written
    assert "jo@example.org" not in written


def split(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("tokenizer", ["jieba", split])
def test_a_tokeniser_that_cannot_run_in_a_page_is_refused(tokenizer: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained = TfcrClassifier.from_preset("fast", tokenizer=tokenizer, parts=("words",), C=1.0)
        model = trained.fit(["很好 good", "不好 bad"] * 5, ["a", "b"] * 5).model_
    expected = "cannot run in a page; expected one of paper, words, symbols, whitespace: train the model again"
    with pytest.raises(InputError, match=expected):
        check_exportable(model.tokenizer)
    with pytest.raises(InputError, match=expected):
        table_json(model)
