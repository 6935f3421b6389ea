"""Prepared corpora and vectors in the cache that are not what they should be are made again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.conftest import stored
from tfcr.experiment import Request, open_results, run_experiment
from tfcr.experiment.run import corpora, vectors
from tfcr.system.files import cache_folder


def forget() -> None:
    corpora.open_corpus.cache_clear()
    vectors._open_aligned.cache_clear()


def no_facts(entry: Path) -> None:
    content = json.loads((entry / "facts.json").read_text())
    (entry / "facts.json").write_text(json.dumps({**content, "facts": {}}))


def facts_of_other_types(entry: Path) -> None:
    content = json.loads((entry / "facts.json").read_text())
    (entry / "facts.json").write_text(json.dumps({**content, "facts": dict.fromkeys(content["facts"], 3)}))


def other_arrays(entry: Path) -> None:
    content = json.loads((entry / "facts.json").read_text())
    first = next(iter(content["arrays"]))
    (entry / f"{first}.raw").rename(entry / "other.raw")
    arrays = {("other" if name == first else name): value for name, value in content["arrays"].items()}
    (entry / "facts.json").write_text(json.dumps({**content, "arrays": arrays}))


@pytest.mark.parametrize("damage", [no_facts, facts_of_other_types, other_arrays])
def test_a_damaged_entry_is_made_again(damage: Callable[[Path], None], request_: Request, tmp_path: Path) -> None:
    request = replace(request_, schemes=("tfcr",), heads=("lr",), first_folds=1)
    shutil.rmtree(cache_folder(corpora.SECTION), ignore_errors=True)
    forget()
    one, two = (open_results(tmp_path / name, make=True) for name in ("one.sqlite", "two.sqlite"))
    run_experiment(request, one)
    for entry in cache_folder(corpora.SECTION).iterdir():
        if (entry / "facts.json").exists():
            damage(entry)
    forget()
    try:
        run_experiment(request, two)
    except OSError as error:  # vectors are deleted, and made again by the next run
        assert "run the same command again" in str(error)  # noqa: PT017
        run_experiment(request, two)
    assert stored(two.path) == stored(one.path)
    one.close()
    two.close()
