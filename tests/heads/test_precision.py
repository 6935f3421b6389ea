"""Labels that are right as often as the user wants, and texts that are left unsure."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from tests.conftest import random_corpus
from tfcr import TfcrClassifier, TfcrWarning, load
from tfcr.decision import NEVER, Decision
from tfcr.errors import InputError
from tfcr.heads.precision import Z, check_limits, find_limits, lower_end, wanted_precision
from tfcr.heads.targets import Targets

CLASSES = np.array(["ham", "spam"])
DECISION = Decision(CLASSES, "multinomial")


def targets(labels: list[int]) -> Targets:
    return Targets(np.array(labels), 2, np.ones(len(labels)), np.ones(2))


@pytest.mark.parametrize(("right", "total"), [(0, 1), (1, 1), (7, 10), (95, 100), (50, 50)])
def test_the_interval_is_scipys(right: int, total: int) -> None:
    level = 2 * norm.cdf(Z) - 1  # two-sided
    theirs = binomtest(right, total).proportion_ci(float(level), method="wilson").low
    assert float(lower_end(np.array([right]), np.array([total]))[0]) == pytest.approx(theirs, abs=1e-12)


ROWS = st.lists(st.tuples(st.integers(-8, 8), st.booleans()), min_size=1, max_size=60)


@given(ROWS, st.sampled_from([0.0, 0.3, 0.5, 0.8]))
def test_limits_are_those_of_a_naive_search(rows: list[tuple[int, bool]], wanted: float) -> None:
    scores = np.array([[score / 2] for score, _ in rows])
    labels = [int(is_spam) for _, is_spam in rows]
    found = find_limits(DECISION, scores, targets(labels), np.full(2, wanted))
    chances, winners = DECISION.confidences(scores), DECISION.winners(scores)
    for number in range(2):
        mine = [(chance, labels[n] == number) for n, chance in enumerate(chances) if winners[n] == number]
        limit = found.least_probabilities[number]
        kept = [right for chance, right in mine if chance >= limit]
        lower = {least: _wilson([right for chance, right in mine if chance >= least]) for least in {c for c, _ in mine}}
        enough = [least for least, end in lower.items() if end >= wanted]
        if wanted == 0:
            assert limit == 0
        elif not enough:
            assert limit == NEVER
            assert not kept
        else:
            assert len(kept) == sum(chance >= min(enough) for chance, _ in mine)
        assert found.attainable[number] == pytest.approx(max(lower.values(), default=0.0))
    assert found.decided == pytest.approx(np.mean(chances >= found.least_probabilities[winners]))


def _wilson(right: list[bool]) -> float:
    n, p = len(right), sum(right) / len(right)
    return (p + Z * Z / (2 * n) - Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))) / (1 + Z * Z / n)


def test_weights_count_documents_as_often() -> None:
    scores = np.array([[2.0], [1.0], [-1.0]])
    one = Targets(np.array([1, 0, 0]), 2, np.array([40.0, 1.0, 50.0]), np.ones(2))
    repeated = np.repeat([0, 1, 2], [40, 1, 50])
    many = targets(one.labels[repeated].tolist())
    wanted = np.array([0.9, 0.9])
    found, expected = find_limits(DECISION, scores, one, wanted), find_limits(DECISION, scores[repeated], many, wanted)
    assert found.least_probabilities.tolist() == expected.least_probabilities.tolist()
    assert found.decided == pytest.approx(expected.decided)


def test_a_class_without_a_label_of_its_own_gets_that_of_the_others() -> None:
    assert wanted_precision(0.9, CLASSES).tolist() == [0.9, 0.9]
    assert wanted_precision({"spam": 0.9}, CLASSES).tolist() == [0.0, 0.9]
    assert wanted_precision({None: 0.5, "1": 0.9}, np.array([1, 2])).tolist() == [0.9, 0.5]
    with pytest.raises(InputError, match="unknown class 'egg'; known: ham, spam"):
        wanted_precision({"egg": 0.9}, CLASSES)
    with pytest.raises(InputError, match="found precision=1.5; expected a number from 0 to 1"):
        wanted_precision({"spam": 1.5}, CLASSES)


def test_what_cannot_be_had_is_said_with_what_can() -> None:
    scores, labels = np.repeat([[1.0], [-1.0]], 50, axis=0), [1] * 30 + [0] * 70
    found = find_limits(DECISION, scores, targets(labels), np.full(2, 0.9))
    assert found.least_probabilities.tolist() == [0.0, NEVER]
    assert found.without(CLASSES) == "spam (0.509)"
    check_limits(found, 0.9, CLASSES)
    with pytest.raises(
        InputError, match=r"a precision of 0\.9 for spam cannot be had: .* spam \(0\.509\); ask for less"
    ):
        check_limits(found, {"spam": 0.9}, CLASSES)
    nothing = find_limits(DECISION, scores, targets(labels), np.full(2, 0.999))
    with pytest.raises(InputError, match=r"the precision that is wanted cannot be had: .* ham \(0\.968\), spam"):
        check_limits(nothing, 0.999, CLASSES)


# in the classifier -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unclear() -> tuple[list[str], list[str]]:
    """Two classes of which half of the texts can be told apart."""
    random = np.random.default_rng(0)
    labels = random.choice(["neg", "pos"], 400).tolist()
    clear = random.random(400) < 0.5
    words = [
        f"{label}word{random.integers(5)}" if is_clear else "word"
        for label, is_clear in zip(labels, clear, strict=True)
    ]
    return [f"{word} w{random.integers(50)} w{random.integers(50)}" for word in words], labels


def test_unclear_texts_are_left_and_clear_ones_decided(unclear: tuple[list[str], list[str]], tmp_path: Path) -> None:
    texts, labels = unclear
    plain = TfcrClassifier.from_preset("fast", random_state=0).fit(texts[:300], labels[:300])
    model = TfcrClassifier.from_preset("fast", precision=0.9, random_state=0).fit(texts[:300], labels[:300])
    assert np.array_equal(model.predict(texts), plain.predict(texts))
    assert np.allclose(model.predict_proba(texts), plain.predict_proba(texts))
    assert plain.decide(texts) == plain.predict(texts).tolist()
    found = model.decide(texts[300:])
    right = [label == given for label, given in zip(found, labels[300:], strict=True) if label is not None]
    assert 0.3 < len(right) / 100 < 0.75
    assert np.mean(right) > 0.9
    assert model.training_["decided"] == pytest.approx(0.5, abs=0.15)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.decide(texts) == model.decide(texts)
    assert again.precision == 0.9
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| class | offset of the probability | least probability |" in card
    assert f"{model.training_['decided']:.1%} of the training documents were decided" in card


def test_any_preset_can_have_a_precision(unclear: tuple[list[str], list[str]]) -> None:
    texts, labels = unclear
    model = TfcrClassifier(parts=["words"], C=1.0, embeddings=None, precision={"pos": 0.9}).fit(texts, labels)
    assert set(model.decide(texts)) == {"neg", "pos", None}
    least = model.model_.decision.least_probabilities
    assert least is not None
    assert least[0] == 0
    assert 0.5 < least[1] <= 1


def test_classes_that_cannot_be_decided_are_named() -> None:
    random = np.random.default_rng(1)
    labels = np.repeat(["a", "b", "c"], 100)
    texts = [f"{'clear' if label == 'a' else 'dim'} w{random.integers(30)}" for label in labels]
    with pytest.warns(TfcrWarning, match=r"texts of these classes are always unsure, .*: b \(0\.\d+\), c \(0\.\d+\)$"):
        model = TfcrClassifier.from_preset("fast", precision=0.95, random_state=0).fit(texts, labels)
    assert model.decide(["clear", "dim"]) == ["a", None]
    with pytest.raises(InputError, match=r"a precision of 0\.95 for b cannot be had"):
        TfcrClassifier.from_preset("fast", precision={"b": 0.95}, random_state=0).fit(texts, labels)


def test_several_labels_have_no_precision_and_no_costs() -> None:
    texts, labels = ["a b", "a", "b", "c"] * 5, [["a", "b"], ["a"], ["b"], []] * 5
    with pytest.raises(InputError, match=r"found precision=0\.9, and several labels per text; expected one label"):
        TfcrClassifier.from_preset("fast", precision=0.9).fit(texts, labels)
    with pytest.raises(InputError, match="found costs=.*, and several labels per text"):
        TfcrClassifier.from_preset("fast", costs={("a", "b"): 2.0}).fit(texts, labels)


def test_one_document_per_class_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="and too few texts to measure it"):
        TfcrClassifier.from_preset("fast", precision=0.9).fit(["good", "bad"], ["pos", "neg"])


def test_costs_move_labels_to_what_is_cheaper(tmp_path: Path) -> None:
    corpus = random_corpus()
    texts, labels = corpus.texts, corpus.labels
    first, second = sorted(set(labels))[:2]
    costs = {(first, second): 50.0}
    plain = TfcrClassifier.from_preset("fast", decision="probability", random_state=0).fit(texts, labels)
    model = TfcrClassifier.from_preset("fast", costs=costs, random_state=0).fit(texts, labels)
    chances = plain.predict_proba(texts)
    expected = [
        min(
            range(len(plain.classes_)),
            key=lambda assigned: sum(
                chance * (0 if true == assigned else costs.get((plain.classes_[true], plain.classes_[assigned]), 1))
                for true, chance in enumerate(row)
            ),
        )
        for row in chances
    ]
    assert model.predict(texts).tolist() == plain.classes_[expected].tolist()
    assert (model.predict(["unknown"]) != second).all()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.costs == costs
    assert np.array_equal(again.predict(texts), model.predict(texts))
    assert "| true class |" in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.parametrize("costs", [3, {"a": 1.0}, {("a", "b", "c"): 1.0}, {("class 0", "class 1"): -1.0}])
def test_costs_that_are_none_are_refused(costs: object) -> None:
    with pytest.raises(InputError, match="^found costs="):
        TfcrClassifier.from_preset("fast", costs=costs).fit(random_corpus().texts, random_corpus().labels)


def test_costs_of_unknown_classes_are_refused() -> None:
    with pytest.raises(InputError, match="unknown class 'egg'; known: class 0"):
        TfcrClassifier.from_preset("fast", costs={("egg", "class 0"): 1.0}).fit(
            random_corpus().texts, random_corpus().labels
        )
