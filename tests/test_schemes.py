"""Each scheme against its formula, written out naively, word by word and class by class."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr import SCHEMES, ClassCounts
from tfcr.errors import InputError, UnknownNameError
from tfcr.schemes import _log, _ratio, compute_weights, resolve_scheme, scheme_name, top_weights

Labelled = list[tuple[list[str], str]]
CORPORA = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), st.sampled_from("xyz")),
    min_size=2,
    max_size=15,
).filter(lambda corpus: len({label for _, label in corpus}) > 1)


class Naive:
    """Counts by looking through all documents anew for every question."""

    def __init__(self, corpus: Labelled) -> None:
        self.corpus = corpus

    def occurrences(self, word: str | None = None, of: str | None = None, not_of: str | None = None) -> int:
        return sum(
            sum(word in (None, token) for token in tokens)
            for tokens, label in self.corpus
            if of in (None, label) and label != not_of
        )

    def documents(self, word: str | None = None, of: str | None = None) -> int:
        return sum(of in (None, label) and (word is None or word in tokens) for tokens, label in self.corpus)

    def p_class(self, word: str, label: str) -> float:
        return self.occurrences(word, of=label) / self.occurrences(of=label)

    def p_rest(self, word: str, label: str) -> float:
        found = self.occurrences(word, not_of=label)
        return found / self.occurrences(not_of=label) if found else 1 / self.occurrences()


def naive_none(n: Naive, w: str, c: str) -> float:
    return 1.0


def naive_tfidf(n: Naive, w: str, c: str) -> float:
    return math.log(n.documents() / n.documents(w))


def naive_kld(n: Naive, w: str, c: str) -> float:
    p = n.p_class(w, c)
    return max(p * math.log(p / n.p_rest(w, c)), 0) if p else 0.0


def naive_tftrr(n: Naive, w: str, c: str, alpha: float = 1.2) -> float:
    tf = n.occurrences(w, of=c)
    return (math.log(tf) + 1) * math.log(n.p_class(w, c) / n.p_rest(w, c) + alpha) if tf else 0.0


def naive_tftrr_all(n: Naive, w: str, c: str, alpha: float = 1.2) -> float:
    elsewhere = n.occurrences(w, not_of=c)
    ratio = n.p_class(w, c) / (elsewhere / n.occurrences(not_of=c)) if elsewhere else 0.0
    return (math.log(n.occurrences(w)) + 1) * math.log(ratio + alpha)


def naive_tfcr(n: Naive, w: str, c: str) -> float:
    return n.occurrences(w, of=c) / n.occurrences(of=c) * n.occurrences(w, of=c) / n.occurrences(w)


def naive_tfcr_log(n: Naive, w: str, c: str) -> float:
    return n.documents(w, of=c) / n.documents(w) * math.log(n.documents(w, of=c) + 1)


def naive_tfidf_class(n: Naive, w: str, c: str) -> float:
    df = n.documents(w, of=c)
    return math.log(n.documents(of=c)) / df * math.log(df + 1) if df else 0.0


def naive_kld_all(n: Naive, w: str, c: str) -> float:
    p = n.documents(w, of=c) / n.documents(of=c)
    q = n.documents(w) / n.documents()
    return max(p * math.log(p / q), 0) if p else 0.0


NAIVE: dict[str, Callable[[Naive, str, str], float]] = {
    "none": naive_none,
    "tfidf": naive_tfidf,
    "kld": naive_kld,
    "tftrr": naive_tftrr,
    "tfcr": naive_tfcr,
    "tfcr-log": naive_tfcr_log,
    "tfidf-class": naive_tfidf_class,
    "kld-all": naive_kld_all,
    "tftrr-all": naive_tftrr_all,
}


def counts_of(corpus: Labelled) -> ClassCounts:
    return ClassCounts.from_texts([" ".join(tokens) for tokens, _ in corpus], [label for _, label in corpus])


def test_every_scheme_has_its_formula_here() -> None:
    assert set(NAIVE) == set(SCHEMES)


@pytest.mark.parametrize("name", SCHEMES)
@given(CORPORA)
def test_scheme_equals_its_formula(name: str, corpus: Labelled) -> None:
    counts = counts_of(corpus)
    weights = SCHEMES[name](counts)
    assert weights.dtype == np.float32
    classes = counts.classes if weights.shape[1] > 1 else counts.classes[:1]
    expected = [[NAIVE[name](Naive(corpus), word, label) for label in classes] for word in counts.words]
    np.testing.assert_allclose(weights, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("name", "naive"), [("tftrr", naive_tftrr), ("tftrr-all", naive_tftrr_all)])
@given(CORPORA, st.floats(1, 5))
def test_tftrr_takes_alpha(name: str, naive: Callable[..., float], corpus: Labelled, alpha: float) -> None:
    counts = counts_of(corpus)
    weights = compute_weights(partial(SCHEMES[name], alpha=alpha), counts)
    expected = [[naive(Naive(corpus), w, c, alpha) for c in counts.classes] for w in counts.words]
    np.testing.assert_allclose(weights, expected, rtol=1e-5, atol=1e-7)


def test_hand_worked_numbers() -> None:
    """Class x: a a b | a c; class y: b d | d. N_x = 5, N_y = 3, N = 8."""
    counts = ClassCounts.from_texts(["a a b", "a c", "b d", "d"], ["x", "x", "y", "y"])
    a, b = counts.words.index("a"), counts.words.index("b")
    assert SCHEMES["tfcr"](counts)[a] == pytest.approx([3 / 5, 0])
    assert SCHEMES["tfcr"](counts)[b] == pytest.approx([1 / 5 * 1 / 2, 1 / 3 * 1 / 2])
    assert SCHEMES["tfcr-log"](counts)[a] == pytest.approx([math.log(3), 0])
    assert SCHEMES["tfidf"](counts)[b, 0] == pytest.approx(math.log(4 / 2))
    assert SCHEMES["kld"](counts)[a] == pytest.approx([3 / 5 * math.log((3 / 5) / (1 / 8)), 0])
    assert SCHEMES["kld"](counts)[b] == pytest.approx([0, 1 / 3 * math.log((1 / 3) / (1 / 5))])
    assert SCHEMES["tftrr"](counts)[a, 0] == pytest.approx((math.log(3) + 1) * math.log((3 / 5) / (1 / 8) + 1.2))
    assert SCHEMES["tftrr-all"](counts)[a] == pytest.approx([(math.log(3) + 1) * math.log(1.2)] * 2)
    in_x, in_y = (math.log(ratio + 1.2) for ratio in ((1 / 5) / (1 / 3), (1 / 3) / (1 / 5)))
    assert SCHEMES["tftrr-all"](counts)[b] == pytest.approx([(math.log(2) + 1) * in_x, (math.log(2) + 1) * in_y])
    assert SCHEMES["tfidf-class"](counts)[a, 0] == pytest.approx(math.log(2) / 2 * math.log(3))
    assert SCHEMES["kld-all"](counts)[a, 0] == pytest.approx(1 * math.log(1 / (2 / 4)))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_word_that_never_occurs_weighs_nothing(name: str) -> None:
    counts = ClassCounts.from_texts(["a b", "c"], ["x", "y"], sample_weight=[1, 1])
    gone = ClassCounts.from_texts(["a b", "c", "gone"], ["x", "y", "y"], sample_weight=[1, 1, 0])
    weights = SCHEMES[name](gone)
    assert (weights[gone.words.index("gone")] == 0).all()
    np.testing.assert_array_equal(weights[[0, 1, 2]], SCHEMES[name](counts))


@pytest.mark.parametrize("name", SCHEMES)
def test_weights_are_never_negative_with_fractional_documents(name: str) -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(list("abcde"), 5)) for _ in range(30)]
    labels = random.choice(list("xyz"), 30)
    counts = ClassCounts.from_texts(texts, labels, sample_weight=random.uniform(0.01, 0.3, 30))
    assert (compute_weights(name, counts) >= 0).all()


@pytest.mark.parametrize("name", ["tfidf", "kld-all"])
def test_a_word_of_every_document_weighs_nothing_whatever_the_rounding(name: str) -> None:
    counts = ClassCounts.from_texts(["film a", "film b"] * 5, ["x", "y"] * 5, sample_weight=[0.1] * 10)
    assert (SCHEMES[name](counts)[counts.words.index("film")] == 0).all()


@pytest.mark.parametrize("name", ["tftrr", "tftrr-all"])
def test_alpha_below_one_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="found alpha=0.5; expected a number from 1 to"):
        compute_weights(partial(SCHEMES[name], alpha=0.5), ClassCounts.from_texts(["a", "b"], ["x", "y"]))
    compute_weights(partial(SCHEMES["tftrr"], alpha=1), ClassCounts.from_texts(["a", "b"], ["x", "y"]))


def test_rounding_of_fractional_weights_leaves_no_trace_in_other_classes() -> None:
    """.1 + .2 - .3 is not 0: a word of x alone must not seem to occur in y, ever so rarely."""
    counts = ClassCounts.from_texts(["a", "a", "b"], ["x", "x", "y"])
    rounded = replace(counts, word_occurrences=counts.word_occurrences * (1 + 1e-12))
    for name in ("kld", "tftrr"):
        np.testing.assert_allclose(SCHEMES[name](rounded), SCHEMES[name](counts), rtol=1e-6)


def test_fewer_than_one_occurrence_in_all_count_as_one() -> None:
    counts = ClassCounts.from_texts(["a", "b"], ["x", "y"], sample_weight=[0.25, 0.25])
    assert SCHEMES["kld"](counts).tolist() == [[0, 0], [0, 0]]  # P(a|x) = 1, and P(a|y) = 0 is replaced by 1


def test_division_by_zero_gives_zero_whatever_the_memory_held() -> None:
    for function in (lambda zero: _ratio([1, 1, 1], zero), _log):
        dirty = [np.full(3, 7.0) for _ in range(50)]
        del dirty
        assert function(np.zeros(3)).tolist() == [0, 0, 0]


def test_unknown_scheme_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown scheme 'tf-cr'; known: none, tfidf.*Did you mean 'tfcr'\?"):
        resolve_scheme("tf-cr")


def test_what_a_callable_returns_is_checked() -> None:
    counts = ClassCounts.from_texts(["a", "b"], ["x", "y"])
    assert compute_weights(lambda counts: counts.documents, counts).tolist() == [[1, 0], [0, 1]]

    def own(value: float, shape: tuple[int, ...] = (2, 2)) -> Any:
        return np.full(shape, value)

    assert compute_weights(lambda counts: own(1.0), counts).dtype == np.float32

    for shape in [(3, 3), (2, 3), (2,), (1, 2)]:
        message = f"the scheme '<lambda>()' returned an array of shape {shape}; "
        expected = "expected (2, 2), words by classes, or (2, 1)"
        with pytest.raises(InputError, match=f"^{re.escape(message + expected)}$"):
            compute_weights(lambda counts, shape=shape: own(1, shape), counts)
    for wrong in (-1, np.inf, np.nan):
        message = (
            "the scheme '<lambda>()' returned negative, infinite or missing weights; expected numbers of at least 0"
        )
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            compute_weights(lambda counts, wrong=wrong: own(wrong), counts)


def test_names() -> None:
    assert scheme_name("tfcr") == "tfcr"
    assert scheme_name(partial(SCHEMES["tftrr"], alpha=2)) == "tftrr(alpha=2)"
    assert scheme_name(SCHEMES["tfcr"]) == "tfcr()"
    assert scheme_name(partial(SCHEMES["tftrr"], alpha=2, beta=3)) == "tftrr(alpha=2, beta=3)"
    assert scheme_name(Naive([])) == "Naive()"  # type: ignore[arg-type]  # an object that can be called, say


def test_the_heaviest_words_of_each_class_come_first() -> None:
    counts = ClassCounts.from_texts(["a a b", "a c", "b d", "d"], ["x", "x", "y", "y"])
    found = top_weights("tfcr", counts, 2)
    assert list(found) == ["x", "y"]
    assert [word for word, _ in found["x"]] == ["a", "c"]  # 3/5, and 1/5 · 1
    assert [word for word, _ in found["y"]] == ["d", "b"]  # 2/3, and 1/3 · 1/2
    assert [weight for _, weight in found["y"]] == pytest.approx([2 / 3, 1 / 6])
    assert type(found["x"][0][1]) is float
    assert top_weights("none", counts, 2) == {"all": [("a", 1.0), ("b", 1.0)]}  # of equal weights, the first words
    assert len(top_weights("tfidf", counts, 9)["all"]) == 4
    many = ClassCounts.from_texts([" ".join(f"w{number:03}" for number in range(200))], ["x"])
    assert [word for word, _ in top_weights("none", many, 200)["all"]] == list(many.words)


def test_words_of_equal_weight_are_ranked_in_the_order_of_the_vocabulary() -> None:
    words = [f"w{number:03}" for number in range(300)]
    counts = ClassCounts.from_texts([" ".join(words), "other"], ["x", "y"])
    found = [word for word, _ in top_weights("tfcr", counts, 200)["x"]]
    assert found == [word for word in counts.words if word != "other"][:200]


def test_the_logarithm_of_a_fractional_count_is_negative() -> None:
    assert _log(np.array([0.0, 0.5, 2.0])).tolist() == pytest.approx([0, -math.log(2), math.log(2)])
    counts = ClassCounts.from_texts(["a b", "b"], ["x", "y"], sample_weight=np.array([0.5, 0.5]))
    # a occurs half a time in x and never in y: P(a|x) = .5, P(a|rest) = one of 1.5 occurrences
    weights = SCHEMES["tftrr"](counts)
    assert weights[counts.words.index("a")] == pytest.approx([(1 + math.log(0.5)) * math.log(0.5 * 1.5 + 1.2), 0])
