"""Words that training never saw: scored from their pieces, by every path as the features themselves would say."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tfcr import Embeddings, TfcrClassifier, load
from tfcr.decision import Decision
from tfcr.features.blocks import Block, column_starts
from tfcr.features.parts import PARTS, CharacterNgrams, NgramLimits, PartSettings, PlainVectors
from tfcr.heads.base import FittedHead
from tfcr.text import documents as text_documents
from tfcr.text import native_counts
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS, is_symbol
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained import native_scores, word_table
from tfcr.trained.collapse import collapse
from tfcr.trained.model import TrainedModel
from tfcr.trained.word_table import WordTable


def random_texts(n_documents: int, random: Any, n_words: int = 40) -> list[str]:
    """Return texts of short words over few letters, symbols and capitals; two calls share some words."""
    letters = list("abcdé中")
    words = ["".join(random.choice(letters, random.integers(1, 6))) for _ in range(n_words)]
    words += ["the", "Of", "!", "?!", ",", "x" * 70]
    return [" ".join(random.choice(words, random.integers(0, 12))) for _ in range(n_documents)]


def sub_words(segmentation: str, random: Any) -> Embeddings:
    names = [" ", "a", "b", "é", " a", "ab", "bc", "ca", "abc", " b", "éa", "!", "th"]
    return Embeddings.from_arrays(names, random.normal(size=(len(names), 3)), segmentation=segmentation)


@dataclass(frozen=True)
class Case:
    """A word table with random coefficients, and the blocks that it was made of, over a vocabulary in its own order."""

    table: WordTable
    vocabulary: Vocabulary
    blocks: list[Block]
    fitted: FittedHead
    tokenizer: Any
    texts: list[str]

    @property
    def model(self) -> TrainedModel:
        classes = np.arange(max(2, len(self.table.intercepts)))
        return TrainedModel(self.table, Decision(classes, "softmax"), self.tokenizer, {}, {})


KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "characters": (["characters"], {}),
    "affixes": (["characters"], {"limits": NgramLimits(0)}),
    "words and characters": (["lexical"], {}),
    "bigrams and characters": (["ngrams"], {}),
    "vectors of words": (["plain"], {"plain": ["whole"]}),
    "sub-words, the longest": (["plain"], {"plain": ["longest"]}),
    "sub-words, merged": (["plain"], {"plain": ["merge"]}),
    "all together": (["ngrams", "vectors", "plain"], {"plain": ["whole", "longest"]}),
}


def make_case(kind: str, n_classes: int = 3, seed: int = 0, tokenizer: str = "symbols") -> Case:
    names, how = KINDS[kind]
    random = np.random.default_rng(seed)
    training = random_texts(25, random)
    new = random_texts(20, random)
    texts = [
        *training[:5],
        *new,
        *map(" ".join, itertools.pairwise([*training[5:10], *new])),
        "",
        "zzz",
        "x" * 70 + "y",
    ]
    uses_bigrams = any(PARTS[name].uses_bigrams for name in names)
    documents = count_terms(training, tokenizer, bigrams=uses_bigrams)
    words = documents.vocabulary.words
    labels = np.arange(25) % n_classes
    counts = ClassCounts.from_documents(documents.only_words(), labels)
    known = sorted({*words[::2], *count_terms(new, tokenizer).vocabulary.words[::2]})
    whole = Embeddings.from_arrays(known, random.normal(size=(len(known), 4)))
    tables = [whole if which == "whole" else sub_words(which, random) for which in how.get("plain", [])]
    settings = PartSettings(
        vectors=whole.of_words(words),
        class_names=[f"c{number}" for number in range(n_classes)],
        scheme="tfcr",
        blocks="own",
        averaging="weights",
        plain=[PlainVectors.of(table, words, n_classes) for table in tables],
        ngrams=CharacterNgrams.of(documents, n_classes, how.get("limits", NgramLimits(math.inf))),
    )
    blocks = [
        block
        for name in names
        for block in PARTS[name].block_maker(settings)(
            documents if PARTS[name].uses_bigrams else documents.only_words(), lambda: counts
        )
    ]
    n_outputs = 1 if n_classes == 2 else n_classes
    n_columns = column_starts(blocks)[-1]
    coefficients = random.normal(size=(n_columns, n_outputs))
    for block, start in zip(blocks, column_starts(blocks), strict=False):
        if block.output is not None:
            coefficients[start : start + block.dimensions, np.arange(n_outputs) != block.output] = 0
    # only averages by weights are centred, and only these have means
    means = np.concatenate(
        [
            np.zeros(block.dimensions) if block.averaging == "unit" else random.normal(size=block.dimensions)
            for block in blocks
        ]
    )
    fitted = FittedHead(coefficients, random.normal(size=n_outputs), means, "softmax")
    table = collapse(documents, np.ones(25), blocks, fitted)
    return Case(table, documents.vocabulary, blocks, fitted, TOKENIZERS[tokenizer], texts)


def naive_scores(case: Case) -> NDArray[np.float64]:
    """Score each text by its features, block by block and term by term; unseen words are more terms of a block."""
    return np.array([sum((part for _, part in naive_parts(case, text)), case.fitted.intercepts) for text in case.texts])


def naive_parts(case: Case, text: str) -> list[tuple[str, NDArray[np.float64]]]:
    """Return what each term of a text adds to the scores of each block."""
    tokens = case.tokenizer(text)
    numbers = {name: number for number, name in enumerate(case.vocabulary.names)}
    joined = [token for token in tokens if not is_symbol(token)]
    bigrams = [f"{one} {two}" for one, two in itertools.pairwise(joined)]
    counts = Counter(tokens) + Counter(name for name in bigrams if name in numbers)
    found = []
    for block, start in zip(case.blocks, column_starts(case.blocks), strict=False):
        columns = slice(start, start + block.dimensions)
        coefficients, means = case.fitted.coefficients[columns], case.fitted.means[columns]
        added, divisor = [], 0.0
        for term, count in counts.items():
            weighted, square = weighted_vector(block, term, numbers)
            if block.averaging == "unit":
                sublinear = 1 + math.log(count)
                divisor += sublinear**2 * square
                added.append((term, sublinear * weighted))
            else:
                weight = math.sqrt(square)
                divisor += count * weight
                added.append((term, count * (weighted - weight * means)))
        divisor = math.sqrt(divisor) if block.averaging == "unit" else divisor
        found += [(term, vector / divisor @ coefficients) for term, vector in added if divisor]
    return found


def weighted_vector(block: Block, term: str, numbers: dict[str, int]) -> tuple[NDArray[np.float64], float]:
    """Return weight · vector of a term, and the square of its weight: from its pieces if it is no term of the block."""
    if term in numbers:
        number = numbers[term]
        weight = float(block.weights[number]) if number < len(block.weights) else 0.0
        if not weight:
            return np.zeros(block.dimensions), 0.0
        if block.vectors is None:
            return weight * np.eye(block.dimensions)[number], weight**2
        row = block.vectors[[number]]
        dense = np.asarray(row if isinstance(row, np.ndarray) else row.toarray())[0]
        return weight * dense.astype(np.float64), weight**2
    if block.pieces is None:
        return np.zeros(block.dimensions), 0.0
    found = block.pieces.pieces.of_word(term)
    weights = block.pieces.weights.astype(np.float64)
    vectors = np.eye(len(weights)) if block.pieces.vectors is None else block.pieces.vectors.astype(np.float64)
    return (weights[:, None] * vectors)[found].sum(axis=0), float((weights**2)[found].sum())


def near(found: Any, expected: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "tokenizer", "seed"), [(3, "symbols", 0), (2, "words", 1), (4, "symbols", 2)])
def test_every_path_scores_unseen_words_as_the_features_say(
    kind: str, n_classes: int, tokenizer: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make_case(kind, n_classes, seed, tokenizer)
    table, texts = case.table, case.texts
    expected = naive_scores(case)
    unseen = {token for text in texts for token in case.tokenizer(text)} - set(table.vocabulary.words)
    assert len(unseen) > 15
    scores, unknown = table.score_texts(texts, case.tokenizer)
    near(scores, expected)
    counted = table.count(texts, case.tokenizer)
    assert set(counted.vocabulary.unseen) == unseen
    near(table.decision(counted), expected)
    monkeypatch.setattr(native_counts, "BATCH_CHARACTERS", 60)
    for threads, remembered in itertools.product((1, 3), (50_000, 3)):  # with 3, a thread forgets after most batches
        monkeypatch.setattr(native_scores, "MAX_UNSEEN", remembered)
        compiled, fractions = table.native.score_texts(texts, case.tokenizer, threads)
        near(compiled, expected)
        np.testing.assert_allclose(fractions, unknown)
        near(table.native.score_counted(counted, threads), expected)
    # documents that were counted over another vocabulary, or already over this one
    together = count_terms([*texts, *texts], case.tokenizer, bigrams=True)
    for some in (together.rows(np.arange(len(texts))), counted):
        near(case.model.score_counted(some), expected)
    monkeypatch.setattr(word_table, "MIN_NATIVE_ENTRIES", 0)
    near(case.model.score_counted(counted), expected)
    monkeypatch.setattr(text_documents, "MIN_NATIVE_CHARACTERS", 0)
    near(table.score_texts(texts, case.tokenizer).scores, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_of_unseen_words_are_those_of_the_features(kind: str) -> None:
    case = make_case(kind, seed=3)
    for text in case.texts[5:15]:
        told = case.model.explain(text)
        expected: dict[str, NDArray[np.float64]] = {}
        for term, part in naive_parts(case, text):
            expected[term] = expected.get(term, np.zeros(3)) + part
        found = {word.word: word.contributions for word in told.words}
        for word, part in expected.items():
            near(found.get(word, np.zeros(3)), part)
        near(told.baseline + sum(found.values(), np.zeros(3)), told.scores)


def test_many_unseen_words_are_forgotten_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand unseen words on two threads, with room for a hundred at a time."""
    case = make_case("all together")
    random = np.random.default_rng(9)
    texts = random_texts(500, random, 10_000)
    monkeypatch.setattr(native_counts, "BATCH_CHARACTERS", 2_000)
    expected = table_scores(case, texts)
    forgotten: list[int] = []
    forget = native_counts.ByteCounter.forget_new_words

    def counted(self: Any) -> None:
        forgotten.append(self.n_words - self.n_known)
        forget(self)

    monkeypatch.setattr(native_counts.ByteCounter, "forget_new_words", counted)
    monkeypatch.setattr(native_scores, "MAX_UNSEEN", 100)
    for threads in (1, 2):
        forgotten.clear()
        near(case.table.native.score_texts(texts, case.tokenizer, threads)[0], expected)
        assert len(forgotten) > 2
        assert min(forgotten) > 100


def table_scores(case: Case, texts: Sequence[str]) -> NDArray[np.float64]:
    return case.table.decision(case.table.count(texts, case.tokenizer))


def test_documents_counted_again_keep_their_unseen_words() -> None:
    vocabulary = Vocabulary(["good"])
    counted = count_terms(["good bad", "ugly ugly", "worse"], "words", vocabulary, unseen=True)
    some = counted.rows(np.array([0, 1])).over(Vocabulary(["ugly"]), unseen=True)
    assert (list(some.vocabulary.words), list(some.vocabulary.unseen)) == (["ugly"], ["good", "bad"])
    assert some.matrix.toarray().tolist() == [[0, 1, 1], [2, 0, 0]]
    assert some.lengths.tolist() == [2, 2]
    assert counted.over(Vocabulary(["ugly"])).matrix.toarray().tolist() == [[0], [2], [0]]


# through the estimator ---------------------------------------------------------------------------------------------

TEXTS = ["good goods, so good!", "goodly good film", "bad badly", "so bad, baddest film"] * 4
LABELS = ["pos", "pos", "neg", "neg"] * 4
VECTORS = Embeddings.from_arrays(
    ["good", "bad", "film", "so", ",", "goods", "best", "worst"],
    np.array([[10, 0], [-10, 0], [0, 10], [1, 0], [0, 1], [10, 10], [20, 0], [-20, 10]]) / 10,
)
SUB_WORDS = Embeddings.from_arrays([" good", " bad", "ly", "s", "zz"], np.eye(5), segmentation="longest")
MODELS: dict[str, dict[str, Any]] = {
    "best": {"embeddings": VECTORS},
    "sub-words": {"embeddings": SUB_WORDS, "parts": ["plain", "vectors"]},
    "characters": {"embeddings": None, "parts": ["characters"]},
    "fast": {"embeddings": None, "parts": ["lexical"]},
}


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest) -> TfcrClassifier:
    return TfcrClassifier(**MODELS[request.param], random_state=0).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "text", ["Goodness, so GOODISH; best badness!", "goodish goodish film", "best worst", "", "ÿ ÿÿ"]
)
def test_explanations_with_unseen_words_add_up(trained: TfcrClassifier, text: str) -> None:
    told = trained.explain(text)
    added = told.baseline + sum((word.contributions for word in told.words), np.zeros(2))
    np.testing.assert_allclose(added, told.scores, atol=1e-4)
    np.testing.assert_allclose(told.scores[1], trained.decision_function([text])[0], atol=1e-5)
    known = set(trained.table_.vocabulary.names)
    for word in told.words:
        assert word.unseen == (word.word not in known)
        assert word.count == len(word.spans)
        for start, end in word.spans:
            assert text[start:end].lower() == word.word or word.word in known
        if word.unseen:
            assert word.contributions.any()
    tokens = TOKENIZERS["symbols"](text)
    told_of = {word.word for word in told.words} | set(told.unknown)
    assert told_of >= set(tokens)
    assert set(told.unknown) == {token for token in tokens if token not in {word.word for word in told.words}}


def test_words_of_unknown_pieces_are_unknown() -> None:
    model = TfcrClassifier(embeddings=SUB_WORDS, parts=["plain"], C=1.0).fit(TEXTS, LABELS)
    told = model.explain("goodish Badness ugly; film ügh ügh")
    assert {word.word: (word.unseen, word.count, word.spans) for word in told.words} == {
        "goodish": (True, 1, ((0, 7),)),
        "badness": (True, 1, ((8, 15),)),
        "ugly": (True, 1, ((16, 20),)),  # its piece "ly" is known
        "film": (False, 1, ((22, 26),)),  # training saw it, though none of its pieces is known
    }
    assert told.unknown == (";", "ügh")
    assert told.contributions("pos")["goodish"] > 0 > told.contributions("pos")["badness"]
    assert "not known: ;, ügh" in str(told)
    assert model.predict(["goodish", "badness"]).tolist() == ["pos", "neg"]


def test_unseen_words_count_as_unknown_in_the_fraction(trained: TfcrClassifier) -> None:
    texts = ["good goodish", "good", "goodish", ""]
    assert trained.model_.score_texts(texts).unknown_fractions.tolist() == [0.5, 0, 1, 0]


def test_models_with_pieces_come_back_as_they_were(trained: TfcrClassifier, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    again = load(tmp_path / "model")
    texts = [*TEXTS[:4], "goodish badness best", "ÿ", ""]
    np.testing.assert_array_equal(again.decision_function(texts), trained.decision_function(texts))
    compiled = again.table_.native.score_texts(texts, TOKENIZERS["symbols"])[0][:, 0]
    np.testing.assert_allclose(compiled, trained.decision_function(texts), rtol=1e-5, atol=1e-5)
    assert len(again.table_.pieces) == len(trained.table_.pieces)
    for one, other in zip(again.table_.pieces, trained.table_.pieces, strict=True):
        assert (list(one.pieces.names), one.pieces.segmentation) == (
            list(other.pieces.names),
            other.pieces.segmentation,
        )
        np.testing.assert_array_equal(one.rows.values, other.rows.values)
    assert str(again.explain(texts[4])) == str(trained.explain(texts[4]))


def test_pieces_without_weight_are_not_kept() -> None:
    """Of a table of sub-words, one whose vector is 0; of n-grams, those that only one document holds."""
    table = Embeddings.from_arrays([" good", " bad", "s"], [[1, 0], [0, 1], [0, 0]], segmentation="longest")
    model = TfcrClassifier(embeddings=table, parts=["plain"], C=1.0).fit(TEXTS, LABELS)
    assert [list(some.pieces.names) for some in model.table_.pieces] == [[" good", " bad"]]


def test_a_table_without_pieces_does_not_look_at_unseen_words() -> None:
    model = TfcrClassifier(embeddings=None, parts=["words"], C=1.0).fit(TEXTS, LABELS)
    assert model.table_.pieces == ()
    assert model.table_.count(["good goodish"], TOKENIZERS["symbols"]).vocabulary is model.table_.vocabulary
    assert model.explain("good goodish").unknown == ("goodish",)
    assert model.decision_function(["good goodish"]) == model.decision_function(["good"])
