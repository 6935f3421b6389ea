"""Pictures of an evaluation: the same file each time, and all that counts written on them."""

from pathlib import Path

import numpy as np
import pytest

from tests.several import random_sets
from tfcr.evaluation import Evaluation, decided_curve
from tfcr.report.diagrams import (
    DIAGRAMS,
    draw_confusion,
    draw_decided,
    draw_evaluation,
    draw_reliability,
    shown_classes,
)
from tfcr.report.drawing import PICTURE_FORMATS


def random_result(n_classes: int = 4, n_documents: int = 200, prefix: str = "class") -> Evaluation:
    random = np.random.default_rng(0)
    classes = np.array([f"{prefix} {number:03}" for number in range(n_classes)])
    chances = random.dirichlet(np.full(n_classes, 0.3), n_documents)
    labels = classes[[random.choice(n_classes, p=row) for row in chances]]
    predicted = classes[chances.argmax(axis=1)]
    return Evaluation(labels, predicted, classes, chances, np.zeros(n_documents, np.int64), (0.5,))


@pytest.mark.parametrize("kind", PICTURE_FORMATS)
def test_the_same_evaluation_gives_the_same_files(kind: str) -> None:
    result = random_result()
    first = draw_evaluation(result, kind)
    assert list(first) == list(DIAGRAMS)
    assert all(len(content) > 1000 for content in first.values())
    assert draw_evaluation(result, kind) == first


def test_the_confusion_matrix_has_its_numbers_written() -> None:
    result = random_result()
    [axes, _] = draw_confusion(result).axes
    written = sorted(int(text.get_text()) for text in axes.texts)
    assert written == sorted(count for count in result.confusion().ravel().tolist() if count)
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["1 class 000", "2 class 001"]


def test_many_classes_are_added_up() -> None:
    result = random_result(60, 1500)
    [axes, _] = draw_confusion(result).axes
    assert sum(int(text.get_text()) for text in axes.texts) == 1500
    assert axes.get_xticklabels()[-1].get_text() == "(35 others)"
    assert len(axes.get_xticklabels()) == 26


def test_long_and_odd_names_are_shown_shortened() -> None:
    classes = np.array(["a\nb$\x1b" + "x" * 50, "empty", "z"])
    labels, predicted = classes[[0, 0, 2]], classes[[0, 2, 2]]
    result = Evaluation(labels, predicted, classes, np.ones((3, 3)) / 3, np.zeros(3, np.int64), (0.5,))
    names, matrix = shown_classes(result)
    assert names == ["1 a?b$?" + "x" * 16 + "…", "3 z"]
    assert matrix.tolist() == [[1, 1], [0, 1]]


def test_points_of_the_other_pictures() -> None:
    result = random_result(n_documents=500)
    axes, below = draw_reliability(result.reliability()).axes
    [diagonal, points] = axes.lines
    found = result.reliability()
    assert diagonal.get_linestyle() == "--"
    assert points.get_marker() == "o"
    np.testing.assert_allclose(np.asarray(points.get_ydata(), np.float64), found.right[found.sizes > 0])
    assert len(below.texts) == np.count_nonzero(found.sizes)
    [curve, marks] = draw_decided(decided_curve(result)).axes[0].lines
    assert np.asarray(curve.get_ydata())[-1] == pytest.approx(result.accuracy)
    assert marks.get_marker() == "o"
    assert len(draw_decided(decided_curve(result)).axes[0].texts) == len(np.asarray(marks.get_xdata())) > 3


def test_scripts_without_a_font_are_drawn_without_a_warning(tmp_path: Path) -> None:
    assert draw_evaluation(random_result(prefix="中文"))["confusion"].startswith(b"\x89PNG")


def test_several_labels_have_a_reliability_diagram_only() -> None:
    sets = random_sets(np.random.default_rng(0), 30, 3)
    result = Evaluation(sets, sets, sets.classes, np.full((30, 3), 0.4), np.zeros(30, np.int64), (1.0,))
    assert list(draw_evaluation(result)) == ["reliability"]
