"""What an experiment shows, in words."""

from dataclasses import replace

from tfcr.experiment.results.conclusions import conclude
from tfcr.experiment.results.statistics import Comparison
from tfcr.experiment.results.summary import Group, Place, Score

PLACE = Place("equations", "w2v", "svm", "word2vec", "", 10)


def score(value: float, published: float | None = None) -> Score:
    return Score(value, value, 0.0, value, published, {(0, 0): value}, 10, 100, 0.1, 1.0, 1.0, 1.0)


GROUP = Group(
    PLACE,
    {
        "20ng": {"tfidf": score(0.8, 0.81), "tfcr": score(0.9, 0.95)},
        "semeval": {"tfidf": score(0.7), "tfcr": score(0.6)},
        "agnews": {"tfidf": score(0.8), "tfcr": score(0.85)},
    },
)


def test_the_best_is_named_with_its_datasets_and_its_mean() -> None:
    said = conclude([GROUP])
    assert said == [
        "w2v, svm, equations: tfcr is best on 2 of 3 datasets (20ng, agnews), with a macro-F1 of 0.875 on average.",
        "1 of 2 published figures are reproduced to within 0.02; the mean distance is 0.030.",
    ]


def test_significance_is_counted() -> None:
    tests = tuple(Comparison("t", "a against b", 1.0, 0.01, p) for p in (0.01, 0.2, 0.04))
    assert (
        "2 of 3 comparisons of the best with another are significant (p < 0.05 after Holm's correction)."
        in conclude([replace(GROUP, tests=tests)])
    )


def test_one_dataset_is_named_alone() -> None:
    one = replace(GROUP, rows={"semeval": GROUP.rows["semeval"]})
    assert conclude([one]) == ["w2v, svm, equations: tfidf is best on semeval, with a macro-F1 of 0.700."]
    assert conclude([]) == []
