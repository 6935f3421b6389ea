"""Stacking: part weights, picked strengths, folds, the class offset."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from tests.conftest import random_corpus
from tests.features.scoring import score_blocks
from tfcr import ClassCounts
from tfcr.decision import best_class
from tfcr.errors import InputError
from tfcr.features.cross_fit import cross_fit_blocks, make_blocks_from, stratified_folds
from tfcr.features.parts import PARTS, PartSettings
from tfcr.heads import HEADS, fit_head, stacking
from tfcr.heads.base import Examples, FittedHead, Problem
from tfcr.heads.stacking import (
    FOLDS,
    OutOfFold,
    PartFit,
    PartToFit,
    _Fold,
    _gains,
    enough_folds,
    fit_parts,
    learn_part_weights,
    least_loss,
    not_worse_than_one,
    tune_class_offset,
    weighted_sum,
)
from tfcr.heads.targets import Targets
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.vocabulary import Vocabulary


def targets(labels: Any) -> Targets:
    numbers = np.asarray(labels)
    n_classes = int(numbers.max()) + 1
    return Targets(numbers, n_classes, np.ones(len(numbers)), np.ones(n_classes))


def stacking_folds(examples: Examples, seed: int) -> Sequence[NDArray[np.int64]]:
    return enough_folds(stratified_folds(examples.documents, examples.targets.labels, FOLDS, seed), examples.targets)


def test_a_part_that_knows_nothing_gets_no_weight() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 2000)
    knows = np.eye(3)[labels] + random.normal(size=(2000, 3))
    weights = learn_part_weights([knows, random.normal(size=(2000, 3))], targets(labels))
    assert weights[0] > 0.5
    assert weights[1] < 0.05 * weights[0]


def test_two_parts_that_err_differently_are_better_than_each() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 4, 4000)
    parts = [np.eye(4)[labels] + random.normal(size=(4000, 4)) for _ in range(2)]
    weights = learn_part_weights(parts, targets(labels))
    assert weights[0] == pytest.approx(weights[1], rel=0.1)
    together = weights[0] * parts[0] + weights[1] * parts[1]
    each = [np.mean(part.argmax(axis=1) == labels) for part in parts]
    assert np.mean(together.argmax(axis=1) == labels) > max(each) + 0.05


def test_the_class_offset_favours_rare_classes_where_that_helps() -> None:
    random = np.random.default_rng(2)
    labels = np.where(random.uniform(size=5000) < 0.1, 1, 0)
    training = Targets(labels, 2, np.ones(5000), 2500 / np.bincount(labels))
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=5000) - 2)[:, None]  # shy of the rare class
    offsets = tune_class_offset(scores, training, training)
    best = f1_score(labels, scores[:, 0] + offsets[0] > 0, average="macro")
    assert offsets[0] > 0
    assert best > f1_score(labels, scores[:, 0] > 0, average="macro") + 0.02
    assert training.macro_f1(best_class(scores + offsets)) == pytest.approx(best)
    alike = Targets(labels, 2, np.ones(5000), np.ones(2))
    assert tune_class_offset(scores, alike, alike).tolist() == [0]


def test_class_weights_of_the_user_s_own_get_no_offset() -> None:
    random = np.random.default_rng(3)
    labels = np.where(random.uniform(size=2000) < 0.1, 1, 0)
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=2000) - 2)[:, None]
    own = Targets(labels, 2, np.ones(2000), np.array([1.0, 20.0]))
    assert tune_class_offset(scores, own, own).tolist() == [0]


def one_word_each(words: Any) -> CountedDocuments:
    """Return documents of one word, given by its number: those of the same word are copies."""
    matrix = sp.csr_array(np.eye(int(np.max(words)) + 1, dtype=np.int32)[words])
    vocabulary = Vocabulary([str(number) for number in range(matrix.shape[1])])
    return CountedDocuments(vocabulary, matrix, np.ones(len(words), np.int64))


DOCUMENTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), min_size=2, max_size=80)


@given(DOCUMENTS, st.integers(0, 9))
def test_every_class_stays_in_training_and_duplicates_in_one_fold(given: list[tuple[int, int]], seed: int) -> None:
    words = [word for _, word in given]
    numbers = np.unique([label for label, _ in given], return_inverse=True)[1]
    folds = stacking_folds(Examples(one_word_each(words), targets(numbers)), seed)
    seen = np.concatenate(folds) if folds else np.array([], np.int64)
    assert len(set(seen.tolist())) == len(seen)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(numbers)), fold)
        assert set(numbers[rest]) == set(numbers)
        assert not {given[number] for number in fold} & {given[number] for number in rest}
    alone = np.bincount([label for label, _ in set(zip(numbers.tolist(), words, strict=True))]) == 1
    assert not alone[numbers[seen]].any()
    assert len(seen) == (~alone[numbers]).sum()


def test_folds_are_as_even_as_scikit_learns() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    folds = stacking_folds(Examples(one_word_each(np.arange(100)), targets(labels)), 0)
    ours = [np.bincount(labels[fold]).tolist() for fold in folds]
    theirs = [np.bincount(labels[test]).tolist() for _, test in StratifiedKFold(FOLDS).split(labels, labels)]
    assert ours == theirs


def test_the_last_fold_that_is_used_fills_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = Examples(one_word_each(np.arange(100)), targets(np.arange(100) % 2))
    for limit, expected in [(10_000, 5), (100, 5), (81, 5), (80, 4), (41, 3), (40, 2), (1, 1)]:
        monkeypatch.setattr(stacking, "MAX_OUT_OF_FOLD", limit)
        assert [len(fold) for fold in stacking_folds(examples, 0)] == [20] * expected
    assert not np.array_equal(stacking_folds(examples, 1)[0], stacking_folds(examples, 0)[0])


# part weights ------------------------------------------------------------------------------------------------------


def weighted_targets() -> Targets:
    return Targets(np.array([0, 2, 1]), 3, np.array([1.0, 2.0, 1.0]), np.array([1.0, 5.0, 2.0]))


def test_the_loss_of_part_weights_is_the_weighted_mean_of_log_likelihoods() -> None:
    truth = weighted_targets()
    stacked = np.random.default_rng(0).normal(size=(2, 3, 3))
    part_weights = np.array([0.5, 2.0])
    document_weights = np.array([1 * 1, 2 * math.sqrt(2), 1 * math.sqrt(5)]) / (1 + 2 * math.sqrt(2) + math.sqrt(5))
    expected = 0.0
    for document, label in enumerate(truth.labels):
        scores = 0.5 * stacked[0, document] + 2 * stacked[1, document]
        expected -= document_weights[document] * math.log(np.exp(scores[label]) / np.exp(scores).sum())
    ahead = truth.ahead(stacked)
    loss, gradient = truth.loss(part_weights, ahead)
    assert loss == pytest.approx(expected)
    for part in range(2):
        step = np.eye(2)[part] * 1e-6
        change = truth.loss(part_weights + step, ahead)[0] - truth.loss(part_weights - step, ahead)[0]
        assert gradient[part] == pytest.approx(change / 2e-6, rel=1e-4)


def test_class_weights_decide_which_part_counts() -> None:
    """The first part knows the first class only, the second part the second class only."""
    labels = np.array([0, 1] * 500)
    noise = np.random.default_rng(0).normal(size=(1000, 1)) / 2
    parts = [np.where(labels == 0, -2.0, 0.0)[:, None] + noise, np.where(labels == 1, 2.0, 0.0)[:, None] + noise]
    first = learn_part_weights(parts, Targets(labels, 2, np.ones(1000), np.array([1e4, 1.0])))
    second = learn_part_weights(parts, Targets(labels, 2, np.ones(1000), np.array([1.0, 1e4])))
    assert first[0] > 2 * first[1]
    assert second[1] > 2 * second[0]


def test_parts_that_all_mislead_count_the_same() -> None:
    labels = np.array([0, 1, 2] * 10)
    wrong = -5.0 * np.eye(3)[labels]
    one, two = learn_part_weights([wrong, wrong * 2], targets(labels))
    assert 0 < one < 1e-3
    assert one == pytest.approx(two, rel=0.1)
    right, none = learn_part_weights([-wrong, wrong * 2], targets(labels))
    assert none == 0
    assert right > 1  # though the mean of both misleads


@pytest.mark.parametrize("n_documents", [3, 30, 3000])
def test_part_weights_cost_their_distance_from_equal_ones(n_documents: int) -> None:
    """The weights are where likelihood and the cost of half a document balance."""
    random = np.random.default_rng(0)
    truth = targets(np.arange(n_documents) % 3)
    parts = [np.eye(3)[truth.labels] * size + random.normal(size=(n_documents, 3)) for size in (2.0, 0.5)]
    found = learn_part_weights(parts, truth)
    equal = max(own_temperature(part, truth) for part in [sum(parts) / 2, *parts]) / 2

    def cost(weights: Sequence[float]) -> float:
        distance = sum((weight / equal - 1) ** 2 for weight in weights)
        return loss_of(weights, parts, truth) + 0.5 / n_documents * distance

    least = cost(found.tolist())
    for part in range(2):
        for step in (-0.02, 0.02):
            moved = found.copy()
            moved[part] = max(moved[part] + step, 0)
            assert cost(moved.tolist()) > least - 1e-6


def loss_of(weights: Sequence[float], parts: Sequence[Any], truth: Targets) -> float:
    """Return the mean negative log-likelihood, written out."""
    summed = sum(weight * part for weight, part in zip(weights, parts, strict=True))
    own = summed[np.arange(len(summed)), truth.labels]
    return float(np.mean(np.log(np.exp(summed).sum(axis=1)) - own))


def own_temperature(part: Any, truth: Targets) -> float:
    """Return the factor that makes the true classes most likely, less a small penalty."""
    cost = lambda factor: loss_of([factor], [part], truth) + 1e-3 * factor**2  # noqa: E731
    return float(minimize_scalar(cost, bounds=(1e-3, 100), method="bounded", options={"xatol": 1e-6}).x)


def test_few_documents_leave_part_weights_near_equal_and_many_do_not() -> None:
    random = np.random.default_rng(0)

    def ratio(n_documents: int) -> float:
        labels = np.arange(n_documents) % 3
        good = np.eye(3)[labels] * 2 + random.normal(size=(n_documents, 3))
        weak = np.eye(3)[labels] * 0.3 + random.normal(size=(n_documents, 3))
        strong, faint = learn_part_weights([good, weak], targets(labels))
        return float(faint / strong)

    assert ratio(3) > 0.7
    assert ratio(20_000) == pytest.approx(0.15, abs=0.03)  # as the likelihood says: .3 / 2, with the same noise


def test_a_part_with_almost_no_weight_is_dropped_and_the_rest_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    labels = np.arange(6_000) % 3
    good, more = (np.eye(3)[labels] * 2 + random.normal(size=(6_000, 3)) for _ in range(2))
    weak = np.eye(3)[labels] * 0.06 + random.normal(size=(6_000, 3))
    truth = targets(labels)
    monkeypatch.setattr(stacking, "SMALLEST_WEIGHT", 0.0)
    kept = learn_part_weights([good, weak, more], truth)
    assert 0.005 < kept[1] / kept.sum() < 0.02
    monkeypatch.setattr(stacking, "SMALLEST_WEIGHT", 0.02)
    dropped = learn_part_weights([good, weak, more], truth)
    assert dropped[1] == 0
    np.testing.assert_allclose(dropped[[0, 2]], learn_part_weights([good, more], truth), rtol=0.01)
    assert (dropped[[0, 2]] != kept[[0, 2]]).all()


@settings(max_examples=10)
@given(st.floats(0.01, 100), st.integers(0, 9))
def test_the_loss_of_a_head_does_not_depend_on_the_scale_of_its_scores(factor: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = targets(np.arange(60) % 3)
    scores = np.eye(3)[truth.labels] + random.normal(size=(60, 3))
    scores /= scores.std()
    best = min(loss_of([weight], [scores], truth) for weight in np.linspace(0, 5, 101))
    assert least_loss(scores, truth) == pytest.approx(best, abs=2e-3)  # the penalty on the temperature is small
    scaled = least_loss(scores * factor / (scores * factor).std(), truth)
    assert scaled == pytest.approx(least_loss(scores, truth), abs=1e-5)


# no worse than one part --------------------------------------------------------------------------------------------


def decided(right: Sequence[bool], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(right, labels, (labels + 1) % 3)


def test_a_gain_in_macro_f1_counts_beyond_one_standard_error() -> None:
    labels = np.arange(60) % 3
    truth = targets(labels)
    none, all_right = decided([False] * 60, labels), decided([True] * 60, labels)
    assert _gains(all_right, none, truth)
    assert not _gains(none, all_right, truth)
    assert not _gains(all_right, all_right, truth)
    one = decided([True] * 9 + [False] * 51, labels)
    assert _gains(one, none, truth)  # nine better, none worse: nine are three times the root of nine
    other = decided([False] * 7 + [True] * 9 + [False] * 44, labels)
    nine_and_seven = decided([True] * 7 + [False] * 53, labels)
    assert truth.macro_f1(other) > truth.macro_f1(nine_and_seven)
    assert not _gains(other, nine_and_seven, truth)  # nine better, seven worse: two are half the root of sixteen


def scores_of(winners: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.eye(3)[winners] * 2.0 - 1


def test_a_sum_worse_than_one_part_gives_way_to_it() -> None:
    labels = np.arange(60) % 3
    truth = targets(labels)
    good, bad = scores_of(decided([True] * 55 + [False] * 5, labels)), scores_of(decided([False] * 60, labels))
    given = np.array([1.0, 2.0])
    one, none = not_worse_than_one(given, [good, bad], truth)
    assert none == 0
    assert one == pytest.approx(learn_part_weights([good], truth)[0], rel=0.05)  # the temperature it has alone
    none, one = not_worse_than_one(given[::-1], [bad, good], truth)
    assert (none, one > 0) == (0, True)
    for kept in ([2.0, 1.0], [0.0, 3.0]):
        weights = np.array(kept)
        scores = [good, bad] if kept[0] else [bad, good]
        assert not_worse_than_one(weights, scores, truth) is weights  # the sum decides as the better part
    alone = np.array([0.5])
    assert not_worse_than_one(alone, [bad], truth) is alone


def test_a_part_better_by_chance_does_not_silence_the_others() -> None:
    labels = np.arange(60) % 3
    one = scores_of(decided([False] * 7 + [True] * 9 + [False] * 44, labels))
    other = scores_of(decided([True] * 7 + [False] * 53, labels))
    weights = np.array([1.0, 2.0])  # the sum decides as the second, which is worse by two documents
    assert not_worse_than_one(weights, [one, other], targets(labels)) is weights


def test_parts_that_the_guard_silences_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, counts = corpus_examples()
    parts = [word_part([HEADS["svm"](1.0)]), replace(word_part([HEADS["lr"](1.0)], uses_bigrams=True), name="bigrams")]
    monkeypatch.setattr(stacking, "not_worse_than_one", lambda weights, scores, truth: np.array([0.0, 3.0]))
    found = fit_parts(parts, examples, counts, max_memory=10**9)
    assert found.part_weights == {"words": 0.0, "bigrams": 3.0}
    assert len(found.blocks) == 1
    assert found.uses_bigrams


# picking a strength ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rehearsed(OutOfFold):
    """Out-of-fold scores that are as good as `quality` says of each head."""

    quality: tuple[float, ...] = ()
    asked: set[tuple[int, int]] = field(default_factory=set)

    def _score(self, head: int, fold: int, doing: str, problem: Any = None) -> NDArray[np.float64]:
        self.asked.add((head, fold))
        labels = self.fit.examples.targets.labels[self.folds[fold]]
        noise = np.random.default_rng(fold).normal(size=(len(labels), 3))
        return np.asarray(1000 * (self.quality[head] * np.eye(3)[labels] + noise))


def rehearsed(quality: Sequence[float], n_folds: int = 2, size: int = 60) -> Rehearsed:
    labels = np.arange(size * max(1, n_folds)) % 3
    examples = Examples(one_word_each(np.zeros(len(labels), np.int64)), targets(labels))
    part = PartToFit("part", lambda documents, counts: [], [HEADS["svm"](1.0) for _ in quality])
    folds = np.split(np.arange(len(labels)), n_folds) if n_folds else []
    counts = ClassCounts.from_documents(examples.documents, labels)
    return Rehearsed(PartFit(part, examples, counts, 10**9, 0), folds, quality=tuple(quality))


@pytest.mark.parametrize(
    ("quality", "best", "asked"),
    [
        ([4, 3, 2, 1], 0, {2, 1, 0}),
        ([1, 4, 3, 2], 1, {2, 1, 0}),
        ([1, 2, 4, 3], 2, {2, 1, 3}),
        ([1, 2, 3, 4], 3, {2, 1, 3}),
        ([3, 1, 4], 0, {1, 0}),  # two minima: the first found
        ([2, 2], 1, {1, 0}),
        ([1, 3], 1, {1, 0}),
        ([3, 1], 0, {1, 0}),
        ([2, 2, 2], 1, {1, 0, 2}),
    ],
)
def test_the_search_for_a_strength_goes_where_the_loss_falls(
    quality: list[float], best: int, asked: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the middle downwards while the loss falls, else upwards."""
    losses: list[float] = []
    compute_loss = stacking.least_loss

    def counted(scores: NDArray[np.float64], truth: Targets) -> float:
        losses.append(compute_loss(scores, truth))
        return losses[-1]

    monkeypatch.setattr(stacking, "least_loss", counted)
    found = rehearsed(quality)
    assert found.pick_head() == best
    assert found.asked == {(head, fold) for head in asked for fold in range(2)}
    assert len(losses) == len(asked)  # no loss is computed twice


def test_a_single_head_or_no_folds_need_no_search() -> None:
    alone = rehearsed([1])
    assert alone.pick_head() == 0
    assert alone.asked == set()
    without = rehearsed([1, 2, 3], n_folds=0)
    assert without.pick_head() == 1
    assert without.asked == set()


def test_as_many_folds_pick_a_head_as_hold_enough_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacking, "PICKING_DOCUMENTS", 60)
    for size, expected in [(61, 1), (60, 1), (59, 2), (30, 2), (29, 3), (10, 3)]:
        found = rehearsed([1, 2, 3], n_folds=3, size=size)
        assert found.n_picking == expected
        found.pick_head()
        assert {fold for _, fold in found.asked} == set(range(expected))
    assert rehearsed([1, 2], n_folds=1, size=20).n_picking == 1


def word_part(heads: Sequence[Any], **settings: Any) -> PartToFit:
    return PartToFit(
        "words", PARTS["words"].block_maker(PartSettings(None, [], "none", "all", "sum")), heads, **settings
    )


def corpus_examples(n_documents: int = 60, n_classes: int = 3) -> tuple[Examples, ClassCounts]:
    corpus = random_corpus(n_documents, n_classes)
    documents = count_terms(corpus.texts, bigrams=True)
    labels = np.unique(corpus.labels, return_inverse=True)[1]
    counts = ClassCounts.from_documents(documents.only_words(), labels)
    return Examples(documents, targets(labels)), counts


def test_no_fit_is_done_twice_and_each_is_done_without_its_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, counts = corpus_examples()
    heads = [HEADS["svm"](C) for C in (0.1, 1.0)]
    part = word_part(heads)
    folds = stacking_folds(examples, 0)
    rehearsal = OutOfFold(PartFit(part, part.select(examples), counts, 10**9, 0), folds)
    fits: list[int] = []
    made: list[int] = []
    scores, without = _Fold.scores, PartFit.without

    def counted(self: _Fold, head: Any) -> Any:
        fits.append(len(self.rows))
        assert head.tolerance == stacking.PICKING_TOLERANCE
        return scores(self, head)

    def counted_fold(self: PartFit, fold: NDArray[np.int64]) -> Any:
        made.append(len(fold))
        return without(self, fold)

    monkeypatch.setattr(_Fold, "scores", counted)
    monkeypatch.setattr(PartFit, "without", counted_fold)
    two = rehearsal.scores(1, 2)
    three = rehearsal.scores(1, 3)
    assert fits == made == [len(fold) for fold in folds[:3]]
    assert rehearsal.n_known(1) == 3
    assert rehearsal.n_known(0) == 0
    np.testing.assert_array_equal(three[: len(two)], two)
    assert len(two) == len(folds[0]) + len(folds[1])
    made.clear()
    rehearsal.pick_head()
    assert len(fits) == 2 * len(folds)  # two strengths
    assert made == [len(fold) for fold in folds]  # blocks of a fold are made once for both
    # the same by hand, for the first fold: idf and scale are those of all documents, which have no labels in them
    words = part.select(examples)
    blocks = part.make_blocks(words.documents, lambda: pytest.fail("words need no counts"))
    without_fold = words._replace(targets=words.targets.without(folds[0]))
    fitted = fit_head(heads[1].with_tolerance(stacking.PICKING_TOLERANCE), without_fold, blocks)
    expected = score_blocks(words.documents.rows(folds[0]), blocks, fitted)
    np.testing.assert_allclose(two[: len(folds[0])], expected, rtol=0.05, atol=0.02)
    # and no label of the fold was seen
    changed = words._replace(targets=replace(words.targets, labels=words.targets.labels.copy()))
    changed.targets.labels[folds[0]] = 0
    again = OutOfFold(PartFit(part, changed, counts, 10**9, 0), folds)
    np.testing.assert_array_equal(again.scores(1, 1), two[: len(folds[0])])


def test_a_supervised_part_learns_without_the_fold_from_weighted_and_cross_fitted_documents() -> None:
    examples, counts = corpus_examples(90)
    weights = np.where(np.arange(90) % 4, 1.0, 5.0)
    examples = examples._replace(targets=replace(examples.targets, sample_weight=weights))
    random = np.random.default_rng(0)
    vectors = random.normal(size=(examples.documents.vocabulary.n_words, 3)).astype(np.float32)
    settings = PartSettings(vectors, ["x", "y", "z"], "tfcr", "all", "weights")
    head = HEADS["lr"](1.0)
    part = PartToFit("vectors", PARTS["vectors"].block_maker(settings), [head], supervised=True, cross_fit=3)
    words = part.select(examples)
    fold = np.arange(0, 90, 4)
    found = PartFit(part, words, counts, 10**9, 7).without(fold).scores(head)
    rest = words.rows(np.setdiff1d(np.arange(90), fold))
    documents, labels, weights = rest.documents, rest.targets.labels, rest.targets.sample_weight
    blocks = make_blocks_from(part.make_blocks, documents, labels, weights)
    folds = cross_fit_blocks(part.make_blocks, blocks, documents, labels, weights, 3, 7)
    fitted = fit_head(head, rest, blocks, fold_blocks=folds)
    held_out = words.documents.rows(fold)
    expected = score_blocks(held_out, blocks, fitted)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(InputError, match="found cross-fitted features of"):  # in memory or not at all
        PartFit(part, words, counts, 1, 7).without(fold).scores(head)


# the sum of the parts ----------------------------------------------------------------------------------------------


def test_the_sum_of_parts_is_one_head_over_all_columns() -> None:
    one = FittedHead(np.ones((2, 3)), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25]), "sigmoid")
    two = FittedHead(np.full((1, 3), 5.0), np.array([10.0, 20.0, 30.0]), np.array([0.75]), "softmax")
    found = weighted_sum([one, two], np.array([2.0, 0.1]), np.array([0.0, 1.0, -1.0]))
    assert found.coefficients.tolist() == [[2] * 3, [2] * 3, [0.5] * 3]
    assert found.intercepts.tolist() == [2 + 1, 4 + 2 + 1, 6 + 3 - 1]
    assert found.means.tolist() == [0.5, 0.25, 0.75]
    assert found.link == "multinomial"


def test_a_part_sees_bigrams_only_if_it_uses_them() -> None:
    examples, _ = corpus_examples()
    assert len(examples.documents.vocabulary.bigrams) > 0
    assert len(word_part([]).select(examples).documents.vocabulary.bigrams) == 0
    assert word_part([], uses_bigrams=True).select(examples) is examples


def test_a_single_part_with_a_single_head_is_not_stacked() -> None:
    examples, counts = corpus_examples()
    part = word_part([HEADS["svm"](1.0)])
    start = FittedHead(np.zeros((1, 1)), np.zeros(1), np.zeros(1), "softmax")  # of another shape
    found = fit_parts([part], examples, counts, max_memory=10**9, start=start)
    words = part.select(examples)
    expected = fit_head(HEADS["svm"](1.0), words, found.blocks)
    np.testing.assert_array_equal(found.fitted.coefficients, expected.coefficients)
    assert found.fitted.link == "softmax"
    assert found.part_weights == {"words": 1.0}
    assert not found.uses_bigrams


def test_stacked_parts_score_as_the_weighted_sum_of_their_fits() -> None:
    examples, counts = corpus_examples(90)
    words, bigrams = word_part([HEADS["svm"](1.0)]), word_part([HEADS["svm"](C) for C in (0.1, 1.0)], uses_bigrams=True)
    parts = [words, replace(bigrams, name="bigrams")]
    found = fit_parts(parts, examples, counts, max_memory=10**9, seed=1)
    assert list(found.part_weights) == ["words", "bigrams"]
    assert all(weight >= 0 for weight in found.part_weights.values())
    assert found.fitted.link == "multinomial"
    used = [part for part in parts if found.part_weights[part.name]]
    assert found.uses_bigrams == any(part.uses_bigrams for part in used)
    assert len(found.blocks) == len(used)
    # by hand: out-of-fold scores of each part with its best head, divided by their standard deviation
    folds = stacking_folds(examples, 1)
    truth = examples.targets.rows(np.concatenate(folds))
    rehearsals = [OutOfFold(PartFit(part, part.select(examples), counts, 10**9, 1), folds) for part in parts]
    picked = [rehearsal.pick_head() for rehearsal in rehearsals]
    scores = [rehearsal.scores(number, 5) for rehearsal, number in zip(rehearsals, picked, strict=True)]
    scales = [part.std() for part in scores]
    scaled = [part / scale for part, scale in zip(scores, scales, strict=True)]
    weights = not_worse_than_one(learn_part_weights(scaled, truth), scaled, truth)
    assert list(found.part_weights.values()) == pytest.approx(weights.tolist(), rel=1e-6)
    offsets = tune_class_offset(weights[0] * scaled[0] + weights[1] * scaled[1], truth, examples.targets)
    column = 0
    intercepts = offsets
    for part, number, weight, scale in zip(parts, picked, weights, scales, strict=True):
        if not weight:
            continue
        selected = part.select(examples)
        blocks = part.make_blocks(selected.documents, lambda: counts)
        fitted = fit_head(part.heads[number].with_tolerance(stacking.PART_TOLERANCE), selected, blocks)
        rows = slice(column, column + len(fitted.coefficients))
        np.testing.assert_allclose(
            found.fitted.coefficients[rows], fitted.coefficients * weight / scale, rtol=1e-4, atol=1e-7
        )
        intercepts = intercepts + fitted.intercepts * weight / scale
        column = rows.stop
    np.testing.assert_allclose(found.fitted.intercepts, intercepts, rtol=1e-4, atol=1e-6)


def test_a_part_of_no_weight_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, counts = corpus_examples()
    parts = [word_part([HEADS["svm"](1.0)]), replace(word_part([HEADS["lr"](1.0)], uses_bigrams=True), name="bigrams")]
    monkeypatch.setattr(stacking, "learn_part_weights", lambda scores, truth: np.array([2.0, 0.0]))
    found = fit_parts(parts, examples, counts, max_memory=10**9)
    assert found.part_weights == {"words": 2.0, "bigrams": 0.0}
    assert len(found.blocks) == 1
    assert not found.uses_bigrams
    assert len(found.fitted.coefficients) == examples.documents.vocabulary.n_words


def test_documents_that_are_in_no_fold_give_every_part_the_same_weight() -> None:
    texts = ["a b", "c d"]  # the only documents of their classes
    documents = count_terms(texts)
    examples = Examples(documents, targets([0, 1]))
    parts = [word_part([HEADS["svm"](1.0)] * 3), replace(word_part([HEADS["lr"](1.0)]), name="more")]
    found = fit_parts(parts, examples, ClassCounts.from_documents(documents, np.array([0, 1])), max_memory=10**9)
    assert found.part_weights == {"words": 1, "more": 1}
    assert np.isfinite(found.fitted.coefficients).all()


def test_one_part_with_several_heads_learns_its_offset_from_two_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, counts = corpus_examples()
    seen: list[int] = []
    tune = stacking.tune_class_offset

    def counted(scores: NDArray[np.float64], truth: Targets, training: Targets) -> Any:
        seen.append(len(scores))
        assert len(truth.labels) == len(scores)
        return tune(scores, truth, training)

    monkeypatch.setattr(stacking, "tune_class_offset", counted)
    part = word_part([HEADS["svm"](C) for C in (0.1, 1.0, 10.0)])
    fit_parts([part], examples, counts, max_memory=10**9)
    assert seen == [60]  # all folds are known from picking C
    seen.clear()
    sizes = [len(fold) for fold in stacking_folds(examples, 0)]
    for documents, expected in [(1, 2), (sum(sizes[:3]), 3)]:
        monkeypatch.setattr(stacking, "PICKING_DOCUMENTS", documents)
        fit_parts([part], examples, counts, max_memory=10**9)
        fit_parts([part, part], examples, counts, max_memory=10**9)
        assert seen == [sum(sizes[:expected]), 60]
        seen.clear()


def test_a_cross_fitted_part_is_fitted_on_blocks_of_other_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, counts = corpus_examples()
    given: list[Any] = []

    def recorded(examples: Any, blocks: Any, max_memory: Any, fold_blocks: Any) -> Problem:
        given.append((len(fold_blocks), max_memory))
        return Problem(examples, blocks, max_memory, fold_blocks)

    monkeypatch.setattr(stacking, "Problem", recorded)
    for cross_fit in (0, 4):
        fit_parts([word_part([HEADS["svm"](1.0)], cross_fit=cross_fit)], examples, counts, max_memory=12345678)
    assert given == [(0, 12345678), (4, 12345678)]


# class offset ------------------------------------------------------------------------------------------------------


def test_the_offset_is_the_multiple_of_the_log_frequency_that_pays_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine documents to one; without an offset all go to the first class, the second is 1 short of it."""
    labels = np.array([0] * 9 + [1])
    truth = Targets(labels, 2, np.ones(10), np.array([10 / 18, 10 / 2]))
    scores = np.where(labels, -1.0, -3.0)[:, None]
    log_frequency = math.log(1) - math.log(9)
    [offset] = tune_class_offset(scores, truth, truth)
    tried = [multiple for multiple in stacking.OFFSETS if scores[-1, 0] + multiple * log_frequency > 0]
    assert offset == pytest.approx(max(tried) * log_frequency)  # the smallest one in size that is enough
    monkeypatch.setattr(stacking, "_gains", lambda one, other, truth: False)
    assert tune_class_offset(scores, truth, truth).tolist() == [0]


def test_an_offset_must_gain_more_than_a_standard_error() -> None:
    """Many small sets of held-out documents: in some an offset seems to pay, by chance."""
    by_chance = applied = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        labels = np.repeat([0, 1, 2], [30, 15, 5])
        truth = Targets(labels, 3, np.ones(50), 50 / (3 * np.bincount(labels)))
        scores = 2 * np.eye(3)[labels] + random.normal(size=(50, 3))
        log_frequency = np.log([30, 15, 5]) - np.log([30, 15, 5]).mean()
        tried = [truth.macro_f1(best_class(scores + offset * log_frequency)) for offset in stacking.OFFSETS]
        offsets = tune_class_offset(scores, truth, truth)
        if offsets.any():
            applied += 1
            assert truth.macro_f1(best_class(scores + offsets)) == max(tried)
            assert _gains(best_class(scores + offsets), best_class(scores), truth)
        elif max(tried) > truth.macro_f1(best_class(scores)):
            by_chance += 1
    assert by_chance > 5
    assert applied > 5


def test_offsets_of_several_classes_add_up_to_zero() -> None:
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    weight = 100 / (3 * np.bincount(labels))
    truth = Targets(labels, 3, np.ones(100), weight)
    scores = np.eye(3)[labels] + np.array([1.0, 0.5, 0.0]) + np.random.default_rng(0).normal(size=(100, 3)) / 2
    offsets = tune_class_offset(scores, truth, truth)
    assert offsets.shape == (3,)
    assert offsets.sum() == pytest.approx(0, abs=1e-9)
    assert offsets[0] < offsets[1] < offsets[2]


def test_sample_weights_count_in_the_offset() -> None:
    truth = Targets(np.array([0, 1]), 2, np.array([3.0, 1.0]), np.ones(2))
    scores = np.array([[1.0], [1.0]])
    assert truth.macro_f1(best_class(scores)) == pytest.approx((0 + 2 * 1 / (1 + 4)) / 2)
    assert truth.macro_f1(best_class(-scores)) == pytest.approx((2 * 3 / (3 + 4) + 0) / 2)


# what is passed on -------------------------------------------------------------------------------------------------


def test_the_start_and_the_seed_reach_the_fit_of_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, counts = corpus_examples()
    starts: list[Any] = []
    splits: list[tuple[Any, int]] = []

    def solved(self: Problem, head: Any, start: Any = None, duals: Any = None) -> FittedHead:
        starts.append(start)
        return solve(self, head, start, duals)

    def crossed(make: Any, blocks: Any, documents: Any, labels: Any, weights: Any, n_folds: int, seed: int) -> Any:
        splits.append((blocks, seed))
        return cross_fit_blocks(make, blocks, documents, labels, weights, n_folds, seed)

    solve = Problem.solve
    monkeypatch.setattr(Problem, "solve", solved)
    monkeypatch.setattr(stacking, "cross_fit_blocks", crossed)
    part = word_part([HEADS["svm"](1.0)], cross_fit=2)
    start = FittedHead(np.zeros((1, 1)), np.zeros(1), np.zeros(1), "softmax")
    found = fit_parts([part], examples, counts, max_memory=10**9, start=start)
    assert starts[0] is start
    assert [*splits[0][0]] == found.blocks  # for documents that are in no fold
    assert splits[0][1] == 0
    fit_parts([part], examples, counts, max_memory=10**9, seed=3)
    assert splits[1][1] == 3
    splits.clear()
    fit_parts([part, replace(part, name="more")], examples, counts, max_memory=10**9, seed=3)
    assert {seed for _, seed in splits} == {3}


def test_scores_are_divided_by_their_standard_deviation_unless_they_are_all_equal() -> None:
    assert stacking.standard_deviation(np.array([[1e-3], [-1e-3]])) == pytest.approx(1e-3)
    assert 0 < stacking.standard_deviation(np.full((4, 2), 7.0)) < 1e-9


def test_a_fit_begins_where_the_last_of_the_same_strength_ended() -> None:
    known = stacking._KnownDuals()
    weak, strong = HEADS["svm"](0.1), HEADS["svm"](1.0)
    no_fold, fold = np.zeros(0, np.int64), np.array([1])
    assert known.nearest(weak) is None
    known.remember(weak, np.array([[1.0], [2.0]], np.float32), no_fold)
    known.remember(strong, np.array([[3.0], [0.0]], np.float32), fold)  # document 1 is as in the fit before
    for head, expected in ((weak, [1, 2]), (strong.with_tolerance(1e-3), [3, 2]), (HEADS["svm"](9.0), [3, 2])):
        found = known.nearest(head)
        assert found is not None
        assert found.ravel().tolist() == expected


def test_skewed_classes_need_more_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacking, "MAX_OUT_OF_FOLD", 40)
    words = count_terms([f"word{number}" for number in range(200)])
    n_folds = {}
    for rare in (100, 20):  # of 200 documents: folds of 40, that tell as much as 40 or 14 of classes of equal size
        labels = (np.arange(200) < rare).astype(int)
        made = Targets(labels, 2, np.ones(200), np.ones(2))
        n_folds[rare] = len(stacking_folds(Examples(words, made), 0))
    assert n_folds == {100: 1, 20: 3}
