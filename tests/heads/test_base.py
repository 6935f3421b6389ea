"""Targets, class weights, and heads fitted on blocks."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.heads.problems import as_documents
from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.features.cross_fit import FoldBlocks
from tfcr.features.matrix import DenseFeatures, Features, OnDemandFeatures, features_of_views
from tfcr.heads import Examples, base, fit_head, make_targets, resolve_head
from tfcr.heads.base import FittedHead, Problem, Solution
from tfcr.heads.targets import Targets
from tfcr.text.shards import in_memory


def test_balanced_weights_are_those_of_liblinear() -> None:
    labels = np.array([0] * 6 + [1] * 3 + [2])
    targets = make_targets(labels, np.arange(3), np.ones(10), "balanced")
    weights = targets.one_vs_rest_weights([2])
    assert weights[-1, 0] == pytest.approx(10 / (3 * 1))
    assert weights[:9, 0] == pytest.approx(1)
    two = make_targets(labels[:9], np.arange(2), np.ones(9), "balanced")
    assert two.one_vs_rest_weights([0])[0, 0] == pytest.approx(9 / (2 * 6))
    assert two.one_vs_rest_weights([0])[8, 0] == pytest.approx(9 / (2 * 3))


def test_class_weights() -> None:
    labels, classes = np.array(["a", "b", "b"]), np.array(["a", "b"])
    assert make_targets(labels, classes, np.ones(3), {"a": 5}).class_weight.tolist() == [5, 1]
    assert make_targets(labels, classes, np.ones(3), None).class_weight.tolist() == [1, 1]
    with pytest.raises(InputError, match="found class_weight for 'c'; expected one of the classes"):
        make_targets(labels, classes, np.ones(3), {"c": 5})
    with pytest.raises(InputError, match="expected 0, or a number from 1e-09 to"):
        make_targets(labels, classes, np.ones(3), {"a": -1})
    with pytest.raises(InputError, match="expected 'balanced', None, or a dict"):
        make_targets(labels, classes, np.ones(3), "equal")


def test_scale_does_not_matter() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    blocks = [Block("all", np.ones(4, np.float32), None, "sum")]
    targets = make_targets(y, np.arange(2), np.ones(60), None)
    plain = fit_head(resolve_head("svm", C=1.0), Examples(as_documents(X), targets), blocks)
    shifted = fit_head(resolve_head("svm", C=1.0), Examples(as_documents(X * 1000 + 50_000), targets), blocks)
    np.testing.assert_allclose(plain.coefficients, shifted.coefficients * 1000, rtol=1e-2, atol=1e-3)
    assert shifted.intercepts == pytest.approx(plain.intercepts, abs=1e-3)


def test_targets_of_some_documents_keep_the_class_weights() -> None:
    targets = Targets(np.array([0, 1, 2, 1]), 3, np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 30.0]))
    some = targets.rows(np.array([3, 0]))
    assert (some.labels.tolist(), some.n_classes) == ([1, 0], 3)
    assert some.sample_weight.tolist() == [4, 1]
    assert some.class_weight.tolist() == [10, 20, 30]
    assert targets.document_weights().tolist() == [10, 40, 90, 80]
    assert targets.class_totals().tolist() == [1, 6, 3]
    assert some.class_totals().tolist() == [1, 4, 0]
    assert targets.n_outputs == 3


def test_held_out_documents_weigh_by_the_root_of_their_class_weight() -> None:
    targets = Targets(np.array([0, 1, 2, 1]), 3, np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 9.0, 0.0]))
    np.testing.assert_allclose(targets.root_balanced_weights(), np.array([2, 6, 0, 12]) / 20)
    balanced = make_targets(np.array([0] * 16 + [1] * 4), np.arange(2), np.ones(20), "balanced")
    weights = balanced.root_balanced_weights()
    assert weights.sum() == pytest.approx(1)
    assert weights[:16].sum() == pytest.approx(2 * weights[16:].sum())  # four times as many, √4 times the weight


def test_signs_and_weights_of_outputs() -> None:
    three = Targets(np.array([0, 1, 2]), 3, np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    assert three.signs([2, 0]).tolist() == [[-1, 1], [-1, -1], [1, -1]]
    assert three.one_vs_rest_weights([2, 0]).tolist() == [[1, 10], [2, 2], [90, 3]]
    two = Targets(np.array([0, 1]), 2, np.array([1.0, 2.0]), np.array([10.0, 20.0]))
    assert two.n_outputs == 1
    assert two.signs([0]).tolist() == [[-1], [1]]  # a score above 0 means the second class
    assert two.one_vs_rest_weights([0]).tolist() == [[10], [40]]
    assert three.signs([0]).dtype == three.one_vs_rest_weights([0]).dtype == two.one_vs_rest_weights([0]).dtype
    assert three.signs([0]).dtype == np.float32


def test_labels_become_positions_among_the_classes() -> None:
    targets = make_targets(np.array(["c", "a"]), np.array(["a", "b", "c"]), np.array([2.0, 6.0]), None)
    assert targets.labels.tolist() == [2, 0]
    assert targets.n_classes == 3
    assert targets.sample_weight.tolist() == [2, 6]
    balanced = make_targets(np.array([0, 1]), np.arange(2), np.array([2.0, 6.0]), "balanced")
    assert balanced.class_weight.tolist() == [8 / (2 * 2), 8 / (2 * 6)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("equal", "found class_weight='equal'; expected 'balanced', None, or a dict from class to weight"),
        (3, "found class_weight=3; expected 'balanced', None, or a dict from class to weight"),
        ({"c": 5}, "found class_weight for 'c'; expected one of the classes ['a', 'b']"),
        (
            {"a": -1},
            "found class_weight['a']=-1; expected 0, or a number from 1e-09 to 1e+09: divide all weights by their mean",
        ),
        (
            {"a": np.inf},
            "found class_weight['a']=inf; expected 0, or a number from 1e-09 to 1e+09: divide all weights by their "
            "mean",
        ),
    ],
)
def test_what_is_no_class_weight_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        make_targets(np.array(["a", "b"]), np.array(["a", "b"]), np.ones(2), given)
    zero = make_targets(np.array(["a", "b"]), np.array(["a", "b"]), np.ones(2), {"a": 0})
    assert zero.class_weight.tolist() == [0, 1]


# heads on blocks ---------------------------------------------------------------------------------------------------


class Recorder:
    """A head that remembers what it was given, and answers with the numbers of its calls."""

    has_strength = takes_sparse = True

    def __init__(self, together: int | None = None) -> None:
        self.together = together
        self.calls: list[tuple[Features, list[int], Solution | None]] = []
        self.duals: list[NDArray[np.float32] | None] = []

    def with_tolerance(self, tolerance: float) -> "Recorder":
        return self

    def outputs_together(self, features: Features) -> int | None:
        return self.together

    def solve(
        self,
        features: Features,
        targets: Targets,
        outputs: Sequence[int],
        start: Solution | None = None,
        duals: NDArray[np.float32] | None = None,
    ) -> Solution:
        self.calls.append((features, list(outputs), start))
        self.duals.append(duals)
        shape = features.shape[1] - 1, len(outputs)
        return Solution(
            np.full(shape, float(len(self.calls))),
            np.full(len(outputs), 10.0 * len(self.calls)),
            "softmax",
            np.full((features.shape[0], len(outputs)), float(len(self.calls)), np.float32),
        )


def own_blocks_of_three() -> tuple[list[Block], Examples]:
    """Return one block of a column for each of three outputs, then one of two columns that all see."""
    X = np.array([[1, 0, 2], [0, 3, 1], [1, 1, 0], [2, 0, 1]], np.float32)
    blocks = [
        Block(f"c{output}", np.ones(3, np.float32), np.eye(3, dtype=np.float32)[:, [output]], "sum", output)
        for output in range(3)
    ]
    blocks.append(Block("(mean)", np.ones(3, np.float32), np.eye(3, dtype=np.float32)[:, :2], "sum"))
    targets = make_targets(np.array([0, 1, 2, 0]), np.arange(3), np.array([1.0, 1.0, 1.0, 2.0]), None)
    return blocks, Examples(as_documents(X), targets)


def test_dual_variables_go_to_the_outputs_that_they_belong_to_and_come_back() -> None:
    blocks, examples = own_blocks_of_three()
    head = Recorder()
    duals = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = Problem(examples, blocks).solve(head, duals=duals)
    assert [some.tolist() for some in head.duals if some is not None] == [
        duals[:, [output]].tolist() for output in range(3)
    ]
    assert found.duals is not None
    assert found.duals.tolist() == [[1, 2, 3]] * 4
    assert Problem(examples, blocks).solve(head).duals is not None
    assert head.duals[-1] is None


def test_each_output_is_fitted_on_the_blocks_that_it_sees() -> None:
    blocks, examples = own_blocks_of_three()
    head = Recorder()
    fitted = fit_head(head, examples, blocks)
    assert [outputs for _, outputs, _ in head.calls] == [[0], [1], [2]]
    assert [features.shape for features, _, _ in head.calls] == [(4, 4)] * 3
    assert fitted.coefficients.shape == (5, 3)
    assert fitted.coefficients.dtype == np.float64
    assert (fitted.coefficients > 0).tolist() == [[*row] for row in np.vstack([np.eye(3), np.ones((2, 3))]) > 0]
    assert fitted.intercepts.tolist() == [10, 20, 30]
    assert fitted.link == "softmax"
    weights = np.array([1, 1, 1, 2]) / 5
    X = in_memory(examples.documents).matrix.toarray()
    np.testing.assert_allclose(fitted.means, weights @ X[:, [0, 1, 2, 0, 1]], rtol=1e-6)
    # coefficients are for features as they are: those of scaled features, divided by the scale
    seen = X[:, [1, 0, 1]] - weights @ X[:, [1, 0, 1]]
    scale = np.sqrt(weights @ (seen**2).sum(axis=1))
    np.testing.assert_allclose(fitted.coefficients[[1, 3, 4], 1], 2 / scale, rtol=1e-5)


def test_outputs_that_see_the_same_blocks_are_fitted_together() -> None:
    blocks, examples = own_blocks_of_three()
    head = Recorder()
    fitted = fit_head(head, examples, blocks[3:])
    assert [outputs for _, outputs, _ in head.calls] == [[0, 1, 2]]
    assert head.calls[0][2] is None
    assert fitted.intercepts.tolist() == [10, 10, 10]


def test_outputs_are_fitted_in_groups_if_the_head_asks_for_them() -> None:
    blocks, examples = own_blocks_of_three()
    head, duals = Recorder(together=2), np.arange(12, dtype=np.float32).reshape(4, 3)
    fitted = Problem(examples, blocks[3:]).solve(head, duals=duals)
    assert [outputs for _, outputs, _ in head.calls] == [[0, 1], [2]]
    assert [some.tolist() for some in head.duals if some is not None] == [duals[:, :2].tolist(), duals[:, 2:].tolist()]
    assert fitted.intercepts.tolist() == [10, 10, 20]
    assert fitted.duals is not None
    assert fitted.duals.tolist() == [[1, 1, 2]] * 4
    scores, found = Problem(examples, blocks[3:]).score_out_of_fold(head, np.array([1]))
    assert [outputs for _, outputs, _ in head.calls[2:]] == [[0, 1], [2]]
    assert scores.shape == (1, 3)
    assert found is not None
    assert found.tolist() == [[3, 3, 4]] * 4


def test_a_start_is_scaled_as_the_features_are() -> None:
    blocks, examples = own_blocks_of_three()
    start = FittedHead(np.arange(15.0).reshape(5, 3), np.array([7.0, 8.0, 9.0]), np.zeros(5), "softmax")
    head = Recorder()
    fitted = fit_head(head, examples, blocks, start=start)
    _, _, given = head.calls[1]
    assert given is not None
    scale = 2 / fitted.coefficients[1, 1]
    np.testing.assert_allclose(given.coefficients, np.array([[4.0], [10.0], [13.0]]) * scale, rtol=1e-6)
    assert given.intercepts.tolist() == [8]
    assert given.link == "softmax"
    other = FittedHead(np.zeros((4, 3)), np.zeros(3), np.zeros(4), "softmax")  # of another shape: not used
    fit_head(head, examples, blocks, start=other)
    assert head.calls[-1][2] is None


@pytest.mark.parametrize(("max_memory", "kind"), [(None, DenseFeatures), (10**9, DenseFeatures), (1, OnDemandFeatures)])
def test_features_that_do_not_fit_are_computed_on_demand(max_memory: int | None, kind: type) -> None:
    blocks, examples = own_blocks_of_three()
    head = Recorder()
    fit_head(head, examples, blocks, max_memory)
    assert all(type(features) is kind for features, _, _ in head.calls)


def test_blocks_of_folds_make_the_features_of_their_documents() -> None:
    blocks, examples = own_blocks_of_three()
    heavy = [replace(block, weights=block.weights * 2) for block in blocks]
    folds = [FoldBlocks(np.array([0, 2]), heavy), FoldBlocks(np.array([1, 3]), blocks)]
    plain, crossed = (fit_head(Recorder(), examples, blocks, fold_blocks=given) for given in ((), folds))
    X, weights = in_memory(examples.documents).matrix.toarray(), np.array([1, 1, 1, 2]) / 5
    np.testing.assert_allclose(plain.means[:3], weights @ X, rtol=1e-6)
    X[[0, 2]] *= 2
    np.testing.assert_allclose(crossed.means[:3], weights @ X, rtol=1e-6)


def test_some_examples_are_documents_with_their_targets() -> None:
    _, examples = own_blocks_of_three()
    some = examples.rows(np.array([2, 0]))
    assert in_memory(some.documents).matrix.toarray().tolist() == [[1, 1, 0], [1, 0, 2]]
    assert some.targets.labels.tolist() == [2, 0]


# several heads on one problem --------------------------------------------------------------------------------------


def count_features(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the number of views whenever features are made."""
    made: list[int] = []

    def counted(documents: Any, blocks: Any, views: Any, *rest: Any) -> Any:
        for features in features_of_views(documents, blocks, views, *rest):
            made.append(features.features.shape[1])
            yield features

    monkeypatch.setattr(base, "features_of_views", counted)
    return made


def test_features_that_all_outputs_share_are_made_once_for_several_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = count_features(monkeypatch)
    blocks, examples = own_blocks_of_three()
    shared = Problem(examples, [replace(block, output=None) for block in blocks])
    heads = [resolve_head(name, C=C) for name, C in (("svm", 0.1), ("svm", 10.0), ("ridge", 1.0))]
    found = [shared.solve(head) for head in heads]
    assert made == [6]  # 3 + 2 columns, and one of ones
    for head, fitted in zip(heads, found, strict=True):
        alone = fit_head(head, examples, shared.blocks)
        np.testing.assert_allclose(fitted.coefficients, alone.coefficients, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(fitted.intercepts, alone.intercepts, rtol=1e-5, atol=1e-6)


def test_features_of_several_views_are_made_for_each_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once would not fit: with a hundred classes there are a hundred views."""
    made = count_features(monkeypatch)
    blocks, examples = own_blocks_of_three()
    problem = Problem(examples, blocks)
    for count in (1, 2):
        problem.solve(resolve_head("svm", C=1.0))
        assert made == [4] * 3 * count


def test_blocks_without_columns_give_intercepts_alone() -> None:
    """A corpus in which no two documents share a character n-gram has a block without columns."""
    _, examples = own_blocks_of_three()
    empty = Block("(characters)", np.zeros(3, np.float32), sp.csr_array(np.zeros((3, 0), np.float32)), "unit")
    for name in ("svm", "lr"):
        fitted = fit_head(resolve_head(name, C=1.0), examples, [empty])
        assert fitted.coefficients.shape == (0, 3)
        assert np.isfinite(fitted.intercepts).all()
        assert fitted.intercepts[0] > fitted.intercepts[1]  # of more weight
