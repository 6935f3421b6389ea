"""The user's own schemes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tfcr.errors import InputError, TfcrError
from tfcr.experiment import (
    Request,
    Results,
    run_experiment,
)
from tfcr.experiment.plan.own_schemes import own_scheme
from tfcr.experiment.plan.request import with_own_schemes

OWN = """
import numpy as np
from tfcr import SCHEMES


def square_root(counts):
    return np.sqrt(SCHEMES["tfcr"](counts))
"""


def test_a_scheme_of_ones_own_is_known_by_its_source(request_: Request, results: Results, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    small = replace(request_, schemes=("tfcr",), heads=("lr",), first_folds=1)
    asked = with_own_schemes(small, [own_scheme(f"{file}:square_root")])
    assert run_experiment(asked, results).folds_run == 2
    assert run_experiment(asked, results).folds_run == 0
    file.write_text(OWN.replace("np.sqrt", "np.cbrt"))
    with pytest.raises(TfcrError, match=r"mine\.py has changed since the run began; type the same command again"):
        run_experiment(replace(asked, first_folds=2), results)
    changed = with_own_schemes(small, [own_scheme(f"{file}:square_root")])
    assert run_experiment(changed, results).folds_run == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine.py", "expected FILE.py:FUNCTION or MODULE:FUNCTION"),
        ("no.py:f", "no.py does not exist"),
        ("z" * 300 + ".py:f", "z.py does not exist"),
        ("no_such_module:f", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("json:no_such_name", "json has no 'no_such_name'"),
        ("json:__name__", "which is not a function"),
    ],
)
def test_code_that_is_none(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        own_scheme(text)
