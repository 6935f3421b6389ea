"""Files of costs."""

from pathlib import Path

import pytest

from tests.cli.runner import bad_file
from tfcr.data.costs import read_costs
from tfcr.errors import DataError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("costs.csv", b"spam,ham,0.5\nham,spam,10\n"),
        ("costs.csv", b"true,predicted,cost\nspam,ham,0.5\nham,spam,10\n"),
        ("costs.tsv", b"spam\tham\t.5\n ham \tspam\t1e1\n"),
        ("costs.csv", b"spam;ham;0.5\r\nham;spam;10\r\n"),
    ],
)
def test_a_file_of_three_columns(name: str, content: bytes, tmp_path: Path) -> None:
    assert read_costs(bad_file(tmp_path, name, content)) == {("spam", "ham"): 0.5, ("ham", "spam"): 10.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"spam,ham\n", "has 2 columns; expected three: the true label, the assigned one, and what that costs"),
        (b"true,predicted,cost\n", "has no row with a cost"),
        (
            b"spam,ham,1\nham,spam,much\n",
            "row 2: found ['ham', 'spam', 'much']; expected a true label, an assigned one",
        ),
        (b"spam,ham,1\nham,spam,-1\n", "row 2: found ['ham', 'spam', '-1']"),
        (b"spam,ham,-1\nham,spam,1\n", "row 1: found ['spam', 'ham', '-1']"),
        (b"spam,ham,1O\nham,spam,1\n", "row 1: found ['spam', 'ham', '1O']"),
        (b"spam,ham,1\nham,spam,nan\n", "row 2: found ['ham', 'spam', 'nan']"),
        (b"spam,ham,1\n,spam,1\n", "row 2: found"),
        (b"spam,ham,1\nspam,ham,2\n", "row 2: 'spam' taken for 'ham' had another cost before; give it once"),
    ],
)
def test_others_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_costs(bad_file(tmp_path, "costs.csv", content))
    assert message in str(caught.value)
