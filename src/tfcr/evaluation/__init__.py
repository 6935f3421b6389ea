"""How good a classifier is: cross-validation, scores of a trained model, and what to look at next."""

from tfcr.evaluation.diagnosis import Diagnosis, diagnose
from tfcr.evaluation.figures import Figures
from tfcr.evaluation.folds import FoldPlan, TimeSplit, plan_folds, split_by_time, splits
from tfcr.evaluation.scores import (
    ClassScore,
    Evaluation,
    bootstrap,
    compare_with_majority,
    decided_curve,
    decided_scores,
    majority_class,
    most_frequent_class,
)
from tfcr.evaluation.updating import Update, learn_on_and_measure, update_and_measure
from tfcr.evaluation.validation import (
    SAVING,
    Prepared,
    compare,
    compare_on_newest,
    cross_validate,
    cross_validate_prepared,
    evaluate,
    expected_stages,
    fit_on,
    for_part,
    learning_curve,
    prepare,
    train_and_measure,
    trains_vectors,
)

__all__ = [
    "SAVING",
    "ClassScore",
    "Diagnosis",
    "Evaluation",
    "Figures",
    "FoldPlan",
    "Prepared",
    "TimeSplit",
    "Update",
    "bootstrap",
    "compare",
    "compare_on_newest",
    "compare_with_majority",
    "cross_validate",
    "cross_validate_prepared",
    "decided_curve",
    "decided_scores",
    "diagnose",
    "evaluate",
    "expected_stages",
    "fit_on",
    "for_part",
    "learn_on_and_measure",
    "learning_curve",
    "majority_class",
    "most_frequent_class",
    "plan_folds",
    "prepare",
    "split_by_time",
    "splits",
    "train_and_measure",
    "trains_vectors",
    "update_and_measure",
]
