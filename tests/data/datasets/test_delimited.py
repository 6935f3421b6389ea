"""Datasets that are published as tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.data import dataset_rows


@given(data=st.data(), n=st.integers(1, 30))
def test_joining_finds_every_pair(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n: int) -> None:
    folder = tmp_path_factory.mktemp("odp")
    labels = {number: data.draw(st.sampled_from(("Arts", "Home", "World"))) for number in range(n)}
    texts = {number: f"text {number}" for number in data.draw(st.permutations(range(n + 5)))[: n + 2]}
    (folder / "labels").write_text("".join(f"{number}\tx\ty\t{label}\n" for number, label in labels.items()))
    (folder / "texts").write_text("".join(f"{number}\t{text}\n" for number, text in texts.items()))
    expected = [(labels[number], text) for number, text in texts.items() if number in labels]
    assert [(row.label, row.text) for row in dataset_rows("odp", folder) if row.text] == expected
