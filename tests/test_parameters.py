"""Every parameter of every public estimator and function with values that it cannot use: one line, before any work."""

import inspect
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tfcr import (
    SCHEMES,
    ClassCounts,
    Embeddings,
    TfcrClassifier,
    TfcrError,
    WeightedEmbeddingTransformer,
    WeightedEmbeddingVectorizer,
)
from tfcr.data import Corpus
from tfcr.errors import InputError, shown
from tfcr.evaluation import cross_validate, plan_folds, train_and_measure
from tfcr.features.parts import PARTS
from tfcr.schemes import tftrr, tftrr_all, top_weights
from tfcr.system.parameters import flag, number, whole

TEXTS = ["good film", "bad film", "good good", "bad bad"] * 3
LABELS = ["pos", "neg", "pos", "neg"] * 3
VECTORS = Embeddings.from_arrays(["good", "bad", "film"], [[1, 0], [-1, 0], [0, 1]])
CORPUS = Corpus(texts=TEXTS, labels=LABELS)
COUNTS = ClassCounts.from_texts(TEXTS, LABELS)

JUNK: dict[str, Any] = {
    "text": "1",
    "empty text": "",
    "bytes": b"1",
    "None": None,
    "true": True,
    "fraction": 1.5,
    "zero": 0,
    "negative": -1,
    "huge": 10**5000,
    "infinite": float("inf"),
    "NaN": float("nan"),
    "complex": 1j,
    "Decimal": Decimal(1),
    "list": [1],
    "list of lists": [[]],
    "dict": {"a": "b"},
    "set": {1},
    "array": np.ones((2, 2)),
    "object": object(),
}


def classifier(**parameters: Any) -> Any:
    return TfcrClassifier(**{"embeddings": VECTORS, "parts": ["vectors"], "C": 1.0, **parameters}).fit(TEXTS, LABELS)


def vectorizer(**parameters: Any) -> Any:
    return WeightedEmbeddingVectorizer(**{"embeddings": VECTORS, **parameters}).fit(TEXTS, LABELS)


def transformer(**parameters: Any) -> Any:
    return WeightedEmbeddingTransformer(**parameters).fit(np.array([[1, 0], [0, 1]] * 3), ["a", "b"] * 3)


CALLS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "TfcrClassifier": (classifier, list(inspect.signature(TfcrClassifier).parameters)),
    "WeightedEmbeddingVectorizer": (vectorizer, list(inspect.signature(WeightedEmbeddingVectorizer).parameters)),
    "WeightedEmbeddingTransformer": (transformer, list(inspect.signature(WeightedEmbeddingTransformer).parameters)),
    "TfcrClassifier.fit": (
        lambda **given: TfcrClassifier.from_preset("fast").fit(**{"X": TEXTS, "y": LABELS, **given}),
        ["X", "y", "sample_weight"],
    ),
    "ClassCounts.from_texts": (
        lambda **given: ClassCounts.from_texts(**{"texts": TEXTS, "labels": LABELS, **given}),
        ["texts", "labels", "tokenizer", "sample_weight"],
    ),
    "ClassCounts.at_least": (COUNTS.at_least, ["min_count"]),
    "Embeddings.train": (
        lambda **given: Embeddings.train(TEXTS, **{"epochs": 1, "dimensions": 2, **given}),
        ["dimensions", "window", "epochs", "skip_gram", "min_count", "seed", "tokenizer"],
    ),
    "tftrr": (lambda **given: tftrr(COUNTS, **given), ["alpha"]),
    "tftrr-all": (lambda **given: tftrr_all(COUNTS, **given), ["alpha"]),
    "top_weights": (lambda **given: top_weights(**{"scheme": "tfcr", "counts": COUNTS, "n": 2, **given}), ["n"]),
    "plan_folds": (lambda **given: plan_folds(CORPUS, **{"folds": 2, **given}), ["folds", "min_class_size"]),
    "cross_validate": (
        lambda **given: cross_validate(TfcrClassifier.from_preset("fast"), CORPUS, **{"folds": 2, **given}),
        ["folds", "seed"],
    ),
    "train_and_measure": (
        lambda **given: train_and_measure(TfcrClassifier.from_preset("fast"), CORPUS, **{"folds": 0, **given}),
        ["folds", "min_class_size"],
    ),
}
PARAMETERS = [(call, name) for call, (_, names) in CALLS.items() for name in names]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "name"), PARAMETERS, ids=[f"{call}, {name}" for call, name in PARAMETERS])
def test_junk_is_used_or_refused_in_one_line(call: str, name: str) -> None:
    function, _ = CALLS[call]
    refused = 0
    for value in JUNK.values():
        try:
            function(**{name: value})
        except TfcrError as error:
            refused += 1
            lines = str(error).splitlines()
            assert len(lines) == 1
            assert len(lines[0]) < 1000
    assert refused >= 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": "1"}, "found C='1'; expected a number from 1e-09 to 1e+09, or None to pick it"),
        ({"dimensions": 1.5}, "found dimensions=1.5; expected a whole number from 1 to 10000"),
        ({"min_count": None}, "found min_count=None; expected a number from 0 to 1e+09"),
        ({"warm_start": "yes"}, "found warm_start='yes'; expected True or False"),
        ({"max_memory": [1]}, "found max_memory=[1]; expected a number of bytes or a size such as '4GB', or None"),
        ({"parts": 3}, f"found parts=3; expected a list of one or more of {', '.join(PARTS)}"),
    ],
)
def test_what_is_said(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        classifier(**parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize("weights", [["1"] * 12, np.array(["a"] * 12), [None] * 12, [[1]] * 12, object(), [1j] * 12])
def test_sample_weights_that_are_no_numbers_are_refused(weights: Any) -> None:
    with pytest.raises(InputError, match="^found (a negative|sample_weight)"):
        ClassCounts.from_texts(TEXTS, LABELS, sample_weight=weights)


def test_weights_of_any_numeric_type_can_be_used() -> None:
    expected = ClassCounts.from_texts(TEXTS, LABELS, sample_weight=np.full(12, 2.0))
    for weights in ([2] * 12, (2 for _ in range(12)), [Decimal(2)] * 12, np.full(12, 2, np.int8), 2.0):
        assert ClassCounts.from_texts(TEXTS, LABELS, sample_weight=weights) == expected  # type: ignore[arg-type]


def test_ends_of_ranges() -> None:
    assert [whole("n", 1, 3).accepts(value) for value in (0, 1, 3, 4, 2.0, True, np.int8(2))] == [
        *(False, True, True, False, False, False, True)
    ]
    assert [number("x", 0, 1).accepts(value) for value in (-0.1, 0, 1, 1.1, np.float32(0.5), "0", np.nan)] == [
        *(False, True, True, False, True, False, False)
    ]
    assert [flag("f").accepts(value) for value in (True, np.False_, 1, None)] == [True, True, False, False]
    assert whole("n", 1, 3).or_none("for all").accepts(None)
    assert whole("n", 1, 3).or_none("for all").expected == "a whole number from 1 to 3, or None for all"


def test_long_values_are_cut() -> None:
    assert shown("a\nb") == "'a\\nb'"
    assert shown(np.ones((2, 2))) == "array([[1., 1.], [1., 1.]])"
    assert len(shown("x" * 500)) == 81
    assert shown(10**5000) == "a value of type int too long to show"


def test_schemes_take_any_counts() -> None:
    for scheme in SCHEMES.values():
        assert np.isfinite(scheme(COUNTS)).all()
