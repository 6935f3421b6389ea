"""The paper's grids."""

from pathlib import Path

import pytest

from tfcr.errors import TfcrError
from tfcr.experiment import (
    DatasetChoice,
)
from tfcr.experiment.plan.grids import make_request


def test_the_papers_grids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    with pytest.raises(TfcrError, match="found none of the paper's datasets on this machine"):
        make_request(table="1")
    given = {"datasets": (DatasetChoice("pydocs", "pydocs"),)}
    first, _ = make_request(table="1", given=given)
    assert ([choice.name for choice in first.embeddings], first.heads) == (["w2v"], ("svm", "lr"))
    with pytest.raises(TfcrError, match="found none of gw2v, tw2v, cglove, wglove on this machine"):
        make_request(table="2", given=given)
    curve, _ = make_request(curve=True, given=given)
    assert (curve.sizes[0], curve.sizes[-2:], len(curve.sizes)) == (1000, (90_000, None), 91)
    assert curve.heads == ("lr",)
