"""Documents in shards against the same documents in memory."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfcr.system.places import DiskPlaces, MemoryPlaces, Places
from tfcr.text import shards
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import count_terms
from tfcr.text.label_sets import find_label_sets
from tfcr.text.shards import ShardedDocuments, TermRoom, count_shard, in_memory, unite

TEXTS = [
    "so good, so good",
    "bad film",
    "",
    "so bad a film ! and not so good",
    "good film",
    "rare words nobody knows",
    "so good a film",
]
LABELS = ["pos", "neg", "neg", "neg", "pos", "neg", "pos"]


def sharded(texts: Sequence[str], sizes: Sequence[int], places: Places | None = None) -> ShardedDocuments:
    places = places or MemoryPlaces()
    bounds = np.cumsum([0, *sizes])
    kept = places.keep(count_shard(list(texts[start:end]), "symbols", bigrams=True) for start, end in pairwise(bounds))
    return unite(places, kept).documents


def assert_same(one: ShardedDocuments, texts: Sequence[str]) -> None:
    whole = count_terms(texts, "symbols", bigrams=True)
    assert list(one.vocabulary.words) == list(whole.vocabulary.words)
    np.testing.assert_array_equal(one.vocabulary.bigrams, whole.vocabulary.bigrams)
    everyone = one.rows(np.arange(len(texts)))
    np.testing.assert_array_equal(everyone.matrix.toarray(), whole.matrix.toarray())
    np.testing.assert_array_equal(everyone.lengths, whole.lengths)
    np.testing.assert_array_equal(one.document_frequencies(), whole.document_frequencies())
    np.testing.assert_array_equal(one.occurrences(), whole.occurrences())


@pytest.mark.parametrize("sizes", [(7,), (1,) * 7, (3, 4), (2, 0, 5), (6, 1)])
def test_shards_of_any_size_are_the_documents_in_memory(sizes: Sequence[int], tmp_path: Path) -> None:
    assert_same(sharded(TEXTS, sizes), TEXTS)
    assert_same(sharded(TEXTS, sizes, DiskPlaces(tmp_path)), TEXTS)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.text("ab .", max_size=12), min_size=1, max_size=8),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
def test_any_texts_in_any_shards(texts: list[str], cuts: list[int]) -> None:
    sizes, left = [], len(texts)
    for cut in cuts:
        sizes.append(min(cut, left))
        left -= sizes[-1]
    assert_same(sharded(texts, [*sizes, left]), texts)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=20), min_size=1, max_size=8), st.integers(1, 8))
@example(["abcdefg x", "abcdefg\x0f x", "abcdef abcdef\0\x0e"], 1)
def test_words_of_any_characters_in_any_shards(texts: list[str], size: int) -> None:
    places, whole = MemoryPlaces(), count_terms(texts, str.split)
    starts = range(0, len(texts), size)
    kept = places.keep(count_shard(texts[start : start + size], str.split, bigrams=False) for start in starts)
    with mock.patch.object(shards, "WORDS_HELD", 0):  # hashes are computed twice
        found = unite(places, kept).documents
    assert list(found.vocabulary.words) == list(whole.vocabulary.words)
    np.testing.assert_array_equal(found.rows(np.arange(len(texts))).matrix.toarray(), whole.matrix.toarray())


@pytest.mark.parametrize("together", [1, 3, 1 << 24])
def test_bigrams_may_be_counted_some_at_a_time(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "KEYS_TOGETHER", together)
    assert_same(sharded(TEXTS, (2, 3, 2)), TEXTS)


@pytest.mark.parametrize("labels", [LABELS, find_label_sets([["a"], [], ["a", "b"], ["b"], ["c"], ["a"], ["b"]])])
def test_class_counts_are_the_same_to_the_last_digit(labels: object) -> None:
    weights = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 3.0])
    whole = count_terms(TEXTS, "symbols", bigrams=True)
    expected = ClassCounts.from_documents(whole, labels, sample_weight=weights)
    for sizes in ((7,), (3, 4), (1,) * 7):
        assert ClassCounts.from_documents(sharded(TEXTS, sizes), labels, sample_weight=weights) == expected


def test_counts_do_not_depend_on_the_order_of_shards() -> None:
    places = MemoryPlaces()
    parts = [count_shard(TEXTS[start:end], "symbols", bigrams=True) for start, end in ((0, 3), (3, 5), (5, 7))]
    found = []
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        documents = unite(places, places.keep(parts[number] for number in order)).documents
        labels = [LABELS[:3], LABELS[3:5], LABELS[5:]]
        found.append(ClassCounts.from_documents(documents, [label for number in order for label in labels[number]]))
    assert found[0] == found[1] == found[2]


def test_documents_have_the_same_hash_in_any_shard() -> None:
    whole = count_terms(TEXTS, "symbols", bigrams=True).content_keys(np.random.default_rng(0))
    for sizes in ((7,), (2, 5)):
        np.testing.assert_array_equal(sharded(TEXTS, sizes).content_keys(np.random.default_rng(0)), whole)


def test_some_words_and_their_bigrams() -> None:
    whole, one = count_terms(TEXTS, "symbols", bigrams=True), sharded(TEXTS, (3, 4))
    kept = np.array([word != "film" for word in whole.vocabulary.words])
    expected, found = whole.over_words(kept), one.over_words(kept)
    assert found.vocabulary.names == expected.vocabulary.names
    np.testing.assert_array_equal(found.rows(np.arange(7)).matrix.toarray(), expected.matrix.toarray())
    assert one.over_words(np.ones(len(kept), np.bool_)) is one
    words = one.only_words()
    assert words.only_words() is words
    np.testing.assert_array_equal(
        words.rows(np.array([0, 6])).matrix.toarray(), whole.only_words().matrix[[0, 6]].toarray()
    )


@pytest.mark.parametrize("together", [1 << 22, 1])
@pytest.mark.parametrize(("most", "least"), [(100, 1), (18, 1), (12, 2), (5, 3), (3, 4)])
def test_rare_terms_are_left_out_where_there_is_no_room(
    most: int, least: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule depends on documents only: terms in fewer than m documents, with the least m that leaves few enough."""
    monkeypatch.setattr("tfcr.text.shards.KEYS_TOGETHER", together)
    whole = count_terms(TEXTS, "symbols", bigrams=True)
    frequencies = whole.document_frequencies()
    for sizes in ((7,), (3, 4)):
        places, bounds = MemoryPlaces(), np.cumsum([0, *sizes])
        kept = places.keep(count_shard(TEXTS[start:end], "symbols", bigrams=True) for start, end in pairwise(bounds))
        united = unite(places, kept, room=TermRoom(bytes=10 * most, each=10))
        assert (united.n_terms, united.least_documents) == (len(whole.vocabulary), least)
        names = [name for name, many in zip(whole.vocabulary.names, frequencies, strict=True) if many >= least]
        assert united.documents.vocabulary.names == names
        assert len(names) <= most


def test_documents_in_shards_are_not_in_memory() -> None:
    with pytest.raises(TypeError, match="found documents in shards"):
        in_memory(sharded(TEXTS, (7,)))


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.text("abcd .", max_size=12), min_size=1, max_size=12),
    st.lists(st.integers(0, 3), min_size=12, max_size=12),
    st.integers(1, 6),
)
def test_where_not_all_words_fit_rare_ones_are_dropped_by_one_rule(
    texts: list[str], cuts: list[int], most: int
) -> None:
    """Words in m documents or more are there, exactly, and no others; the same for bigrams."""
    bounds = np.unique(np.minimum(np.cumsum([0, *cuts, len(texts)]), len(texts)))
    places = MemoryPlaces()
    kept = places.keep(count_shard(texts[start:end], "symbols", bigrams=True) for start, end in pairwise(bounds))
    whole = count_terms(texts, "symbols", bigrams=True)
    with mock.patch.multiple(shards, WORDS_UNITED=most, WORD_BYTES=1 << 40):
        united = unite(places, kept, room=TermRoom(bytes=10**9, each=1))
    frequencies, n_words = whole.document_frequencies(), whole.vocabulary.n_words
    least = united.least_documents
    assert least > 1 or n_words <= most
    names = np.array(whole.vocabulary.names, object)
    assert list(united.documents.vocabulary.names) == names[frequencies >= least].tolist()
    everyone = united.documents.rows(np.arange(len(texts)))
    np.testing.assert_array_equal(everyone.matrix.toarray(), whole.matrix.toarray()[:, frequencies >= least])


def test_dropping_words_while_they_are_united_changes_nothing_if_few_have_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{min(int(1 / number), 999)}" for number in random.random(9)) for _ in range(300)]
    places = MemoryPlaces()

    def united() -> shards.United:
        kept = places.keep(
            count_shard(texts[start : start + 50], "symbols", bigrams=True) for start in range(0, 300, 50)
        )
        return unite(places, kept, room=TermRoom(bytes=8, each=1))

    whole = united()
    monkeypatch.setattr(shards, "WORDS_UNITED", 60)
    found = united()
    assert found.least_documents == whole.least_documents
    assert found.n_terms < whole.n_terms
    assert list(found.documents.vocabulary.names) == list(whole.documents.vocabulary.names)
