"""Grids as users write them."""

import pytest

from tfcr.errors import InputError
from tfcr.experiment.plan.parsing import parse_folds, parse_sizes


def test_sizes_and_folds_as_people_write_them() -> None:
    assert parse_sizes("1000:10000:1000,15000:90000:5000,all")[8:12] == (9000, 10_000, 15_000, 20_000)
    assert parse_sizes("all") == (None,)
    assert parse_folds("10") == (10, None)
    for bad in ("0", "1:2", "ten", "-5", "1:5:0x"):
        with pytest.raises(InputError, match="expected"):
            parse_sizes(bad)
