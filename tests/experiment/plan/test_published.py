"""The scores that the paper prints."""

from tfcr.experiment import (
    PAPER_SCHEMES,
)
from tfcr.experiment.plan.published import PAPER_TABLES, paper_datasets, published_scores


def test_all_480_published_scores_are_there() -> None:
    scores = published_scores()
    assert len(scores) == 480
    assert len(paper_datasets()) == 16
    assert scores["w2v", "lr", "20ng", "tfcr"] == 0.896
    assert scores["wglove", "lr", "yahoo", "tfcr"] == 0.682
    groups = {(embedding, head) for embedding, head, _, _ in scores}
    assert groups == {group for table in PAPER_TABLES.values() for group in table.groups}
    assert {scheme for _, _, _, scheme in scores} == set(PAPER_SCHEMES)
