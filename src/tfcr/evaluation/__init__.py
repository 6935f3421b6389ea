"""How good a classifier is: cross-validation, and scores of a trained model on labelled texts."""

from tfcr.evaluation.folds import FoldPlan, plan_folds, splits
from tfcr.evaluation.scores import (
    ClassScore,
    Evaluation,
    compare_with_majority,
    majority_class,
    most_frequent_class,
)
from tfcr.evaluation.validation import (
    SAVING,
    Prepared,
    compare,
    cross_validate,
    cross_validate_prepared,
    evaluate,
    expected_stages,
    fit_on,
    prepare,
    train_and_measure,
    trains_vectors,
)

__all__ = [
    "SAVING",
    "ClassScore",
    "Evaluation",
    "FoldPlan",
    "Prepared",
    "compare",
    "compare_with_majority",
    "cross_validate",
    "cross_validate_prepared",
    "evaluate",
    "expected_stages",
    "fit_on",
    "majority_class",
    "most_frequent_class",
    "plan_folds",
    "prepare",
    "splits",
    "train_and_measure",
    "trains_vectors",
]
