"""From results to the scores of a table."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.experiment.conftest import (
    cell_of,
    changed_cell,
)
from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.published import paper_datasets
from tfcr.experiment.results.store import CellResult
from tfcr.experiment.results.summary import summarise, summarise_curves
from tfcr.experiment.results.tables import (
    as_text,
    flat_rows,
)


def test_scores_stand_beside_the_published_ones() -> None:
    cells = [cell_of("20ng", "none", [0.70, 0.72]), cell_of("20ng", "tfcr", [0.93, 0.95])]
    [group] = summarise(cells)
    best = group.rows["20ng"]["tfcr"]
    assert (best.score, best.published, best.std) == pytest.approx((0.94, 0.922, 0.01))
    assert best.difference == pytest.approx(0.018)
    assert best.pooled == pytest.approx((2 * 16 / (20 + 18) + 2 * 18 / (20 + 22)) / 2)
    assert group.winner("20ng") == "tfcr"
    assert group.columns == ["none", "tfcr"]
    text = as_text([group])
    assert ".940 ±.010 (2/10)*" in text
    assert "+.018" in text
    assert "90% of tokens, 50% of words" in text
    assert "corrected resampled t-test, 20ng: tfcr against none" in text
    assert "with 1, fewer than 6" in text


def test_a_part_of_a_dataset_is_told() -> None:
    some = cell_of("dbpedia", "tfcr", [0.5, 0.6])
    assert any("dbpedia: 200 documents, a part of the dataset's 630,000" in note for note in summarise([some])[0].notes)
    whole = changed_cell(some, facts=replace(some.cell.facts, documents=630_000, documents_in_all=630_000))
    assert not any("a part of" in note for note in summarise([whole])[0].notes)


def test_the_headline_is_the_profiles() -> None:
    [group] = summarise([cell_of("20ng", "tfcr", [0.2, 0.3], "published")])
    score = group.rows["20ng"]["tfcr"]
    assert score.score == score.pooled != score.mean


def test_repeats_are_joined_and_changed_data_is_kept_apart() -> None:
    [group] = summarise([cell_of("20ng", "tfcr", [0.2, 0.3], seed=seed) for seed in (0, 1)])
    assert len(group.rows["20ng"]["tfcr"].folds) == 4
    assert group.folds_of("20ng") == "2 of 10, with 2 seeds"
    one, two = cell_of("20ng", "none", [0.2, 0.3]), cell_of("20ng", "tfcr", [0.2, 0.3])
    changed = changed_cell(two, settings=replace(two.cell.settings, data="changed"))
    [group] = summarise([one, changed])
    assert list(group.rows) == ["20ng [20ng0]", "20ng [change]"]
    again = changed_cell(
        two, key="again", settings=replace(changed.cell.settings, seed=1)
    )  # the whole of it, so the same hash
    [group] = summarise([one, changed, again])
    assert list(group.rows) == ["20ng [20ng0]", "20ng [change]"]


def test_results_of_other_code_are_not_mixed() -> None:
    old, new = cell_of("20ng", "mine", [0.2, 0.3]), cell_of("20ng", "mine", [0.4, 0.5])
    [group] = summarise([changed_cell(old, key="old"), new])
    assert list(group.rows["20ng"]["mine"].folds.values()) == [0.4, 0.5]
    assert any("20ng: an older result for mine" in note for note in group.notes)
    [group] = summarise([new])
    assert not any("older" in note for note in group.notes)


def test_the_tests_are_about_the_marked_scheme() -> None:
    good = np.array([[10, 0], [0, 10]])
    one, two = cell_of("20ng", "none", [0.9, 0.9], "published"), cell_of("20ng", "tfcr", [0.8, 0.8], "published")
    pooled = CellResult(two.cell, two.wanted, tuple(replace(row, confusion=good) for row in two.folds))
    [group] = summarise([one, pooled])
    assert group.winner("20ng") == "tfcr"
    assert [test.compared for test in group.tests] == ["20ng: tfcr against none"]


def test_all_points_of_a_panel_show_the_same_folds() -> None:
    small = cell_of("20ng", "tfcr", [0.2, 0.4], key="small")
    small = changed_cell(small, settings=replace(small.cell.settings, size=90))
    small = CellResult(small.cell, 2, tuple(replace(row, train_documents=90) for row in small.folds))
    [figure] = summarise_curves([small, cell_of("20ng", "tfcr", [0.6, 0.8, 0.1, 0.1])])
    assert figure.panels["20ng"]["tfcr"].means == pytest.approx([0.3, 0.7])
    assert "20ng: 2 of 10 folds" in figure.notes


def test_across_datasets() -> None:
    draw = np.random.default_rng(0)
    cells = [
        cell_of(dataset, scheme, (draw.random(3) * 0.1 + gain).tolist())
        for dataset in paper_datasets()[:7]
        for scheme, gain in (("none", 0.4), ("kld", 0.5), ("tfcr", 0.7))
    ]
    [group] = summarise(cells)
    named = {test.test for test in group.tests}
    assert named == {"corrected resampled t-test", "Friedman test", "Wilcoxon signed-rank test"}
    assert all(test.p < 0.05 for test in group.tests if test.test != "corrected resampled t-test")


def test_systems_stand_beside_all_schemes_with_their_vectors() -> None:
    system: dict[str, Any] = {"head": "", "profile": ""}
    plain = {**system, "embedding": "", "vectors": ""}
    cells = [
        cell_of("20ng", "fast", [0.5, 0.6], key="fast", **plain),
        cell_of("20ng", "best", [0.6, 0.7], key="best", **system),
        cell_of("20ng", "tfcr", [0.4, 0.5]),
        cell_of("20ng", "tfcr", [0.4, 0.5], "published"),
        cell_of("20ng", "tfcr", [0.4, 0.5], key="w2v", embedding="w2v", vectors="word2vec"),
    ]
    groups = summarise(cells)
    assert [(group.place.title, group.columns) for group in groups] == [
        ("gw2v (gw2v), lr, profile equations", ["tfcr", "best", "fast"]),
        ("gw2v (gw2v), lr, profile published", ["tfcr", "best", "fast"]),
        ("w2v (word2vec), lr, profile equations", ["tfcr", "fast"]),
    ]
    assert [group.place.title for group in summarise(cells[:1])] == ["no vectors"]
    [both] = summarise(cells[:2])
    assert (both.place.title, both.columns, both.winner("20ng")) == ("gw2v (gw2v)", ["best", "fast"], "best")
    [group] = summarise([cells[2], cell_of("20ng", "tfidf", [0.5, 0.6], key="peer", **plain)])
    assert group.columns == ["tfcr", "tfidf (system)"]


def test_a_system_is_scored_as_the_profile_scores() -> None:
    classes = replace(cell_of("20ng", "tfcr", []).cell.facts, classes=("0", "1"))
    plain: dict[str, Any] = {"embedding": "", "vectors": "", "head": "", "profile": "", "facts": classes}
    system = cell_of("20ng", "fast", [0.5, 0.6], key="fast", **plain)
    [group] = summarise([cell_of("20ng", "tfcr", [0.4, 0.5], "published", facts=classes), system])
    score = group.rows["20ng"]["fast"]
    assert score.mean == score.pooled == score.score == pytest.approx(2 * 9 / (10 + 11))  # of the class 1 alone


def sampled(dataset: str, scheme: str, documents: int, scores: list[float], **changes: Any) -> CellResult:
    """Return the scores of a sample of a dataset of 1,000 documents."""
    result = cell_of(dataset, scheme, scores)
    facts = replace(result.cell.facts, documents=documents, documents_in_all=1000, **changes)
    settings = replace(result.cell.settings, data=f"{dataset} {documents}")
    return changed_cell(result, key=f"{result.cell.key} {documents}", facts=facts, settings=settings)


def gains(dataset: str, documents: int, **changes: Any) -> list[CellResult]:
    draw = np.random.default_rng(documents)
    return [
        sampled(dataset, scheme, documents, (draw.random(3) * 0.1 + gain).tolist(), **changes)
        for scheme, gain in (("none", 0.4), ("kld", 0.5), ("tfcr", 0.7))
    ]


def test_samples_of_one_dataset_count_once() -> None:
    sizes = [100, 200, 300, 400, 500, 600]
    [group] = summarise([cell for size in sizes for cell in gains("20ng", size)])
    assert list(group.rows) == [f"20ng, {size} of 1,000 documents" for size in sizes]
    assert {test.test for test in group.tests} == {"corrected resampled t-test"}
    assert "several rows are samples of one dataset: tests across datasets count it once, by its largest sample" in (
        group.notes
    )
    assert any("with 1, fewer than 6" in note for note in group.notes)


def test_one_file_under_several_names_counts_once() -> None:
    names = [f"name {number}" for number in range(6)]
    [group] = summarise([cell for name in names for cell in gains(name, 500, source="same.csv")])
    assert len(group.rows) == 6
    assert any("with 1, fewer than 6" in note for note in group.notes)
    [group] = summarise([cell for name in names for cell in gains(name, 500)])
    assert any(test.test == "Friedman test" for test in group.tests)
    assert not any("samples of one dataset" in note for note in group.notes)


def test_the_largest_sample_stands_for_its_dataset() -> None:
    several = [cell for name in "abcdef" for cell in gains(name, 500)]
    [alone] = summarise(several)
    [more] = summarise([*gains("a", 100), *several, *gains("b", 50)])
    across = [[test for test in group.tests if "resampled" not in test.test] for group in (alone, more)]
    assert across[0] == across[1]
    assert "over 6 datasets" in across[0][0].compared


def test_each_row_says_its_own_folds_and_sample() -> None:
    cells = [
        sampled("20ng", "tfcr", 500, [0.5, 0.6]),
        sampled("olid", "tfcr", 1000, [0.5, 0.6, 0.7]),
        sampled("olid", "none", 1000, [0.5, 0.6, 0.7, 0.8]),
    ]
    [group] = summarise(cells)
    assert {label: (group.folds_of(label), group.sample_of(label)) for label in group.rows} == {
        "20ng": ("2 of 10", "500 of 1,000"),
        "olid": ("3 to 4 of 10", "1,000"),
    }
    text = as_text([group])
    assert "3 of 10 folds" not in text
    [header] = [line for line in text.splitlines() if line.startswith("dataset")]
    assert header.split() == ["dataset", "none", "tfcr", "folds", "documents", "vectors", "for"]
    assert re.search("^20ng .* 2 of 10 +500 of 1,000 ", text, re.MULTILINE)
    assert {(row["dataset"], row["folds"], row["documents"]) for row in flat_rows([group])} == {
        ("20ng", 2, 500),
        ("olid", 3, 1000),
        ("olid", 4, 1000),
    }


def test_other_class_sizes_have_a_row_of_their_own() -> None:
    whole = cell_of("20ng", "tfcr", [0.8, 0.8])
    few = changed_cell(whole, key="few", settings=replace(whole.cell.settings, class_sizes=ClassSizes(10)))
    [group] = summarise([whole, few])
    assert list(group.rows) == ["20ng", "20ng, 10 per class"]
    assert "20ng: training documents: 10 per class" in group.notes
    assert [row["tfcr"].mean for row in group.rows.values()] == pytest.approx([0.8, 0.8])
