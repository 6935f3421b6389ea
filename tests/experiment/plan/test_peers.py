"""What people use today runs as cells, with what it needs installed or refused in one line."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import random_corpus
from tests.experiment.conftest import Run, assert_refused
from tfcr.errors import MissingExtraError
from tfcr.experiment import Request, Results, resolve_system, run_experiment
from tfcr.experiment.plan import named_systems
from tfcr.experiment.plan.peers import PEERS, FastText, Peer, TfidfSvm, inner_split, inner_splits, is_installed
from tfcr.experiment.results.summary import summarise, summarise_curves
from tfcr.presets import PRESETS


def test_no_peer_has_the_name_of_a_preset() -> None:
    assert all(peer.name == name for name, peer in PEERS.items())
    assert not set(PEERS) & set(PRESETS)
    assert len({json.dumps(peer.settings) for peer in PEERS.values()}) == len(PEERS)
    assert all(bool(peer.packages) == bool(peer.extra) for peer in PEERS.values())


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if not peer.packages])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_peers_learn(name: str, n_classes: int) -> None:
    corpus = random_corpus(90, n_classes)
    model = PEERS[name].make(None, 0).fit(corpus.texts, np.array(corpus.labels))
    assert (model.predict(corpus.texts) == corpus.labels).mean() > 0.75
    assert model.picked in TfidfSvm().choices


def test_the_inner_split() -> None:
    labels = np.repeat(["a", "b", "c", "d"], [100, 100, 100, 1])
    train, test = inner_split(labels)
    assert sorted([*train, *test]) == list(range(301))
    assert [int((labels[test] == label).sum()) for label in "abcd"] == [20, 20, 20, 0]
    splits = inner_splits(labels)
    assert len({tuple(test) for _, test in splits}) == 5
    assert len(inner_splits(np.repeat(labels, 7))) == 1


def test_a_peer_stands_in_tables_and_curves_beside_the_schemes(request_: Request, results: Results) -> None:
    asked = replace(request_, schemes=("tfcr",), heads=("lr",), systems=("tfidf-svm", "fast"), sizes=(60, None))
    assert run_experiment(asked, results).folds_run == 3 * 2 * 2
    [group] = summarise(results.cells())
    assert group.columns == ["tfcr", "tfidf-svm", "fast"]
    assert len(group.tests) == 2
    [figure] = summarise_curves(results.cells())
    assert set(figure.panels["small (small.csv)"]) == {"tfcr", "tfidf-svm", "fast"}


def test_a_peer_without_its_package_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, run: Run, data: Path
) -> None:
    missing = Peer("missing", TfidfSvm, packages=("no_such_package",), extra="bench")
    assert not is_installed(missing)
    assert is_installed(PEERS["tfidf-svm"])
    monkeypatch.setitem(PEERS, "missing", missing)
    with pytest.raises(MissingExtraError, match=r"the system missing needs .* pip install 'tfcr\[bench\]'"):
        resolve_system("missing")
    monkeypatch.setattr(named_systems, "is_installed", lambda system: False)
    result = run("experiment", "run", "--datasets", str(data), "--systems", "fasttext")
    assert_refused(result, r"the system fasttext needs the extra 'bench'; install it with: pip install 'tfcr\[bench\]'")


class _Fake:
    """Stands in for a model of fastText: knows each line's first word."""

    def __init__(self, path: str) -> None:
        lines = [line.split() for line in Path(path).read_text("utf-8").splitlines()]
        self.labels = {words[1]: label for label, *words in (([line[0], *line]) for line in lines) if len(words) > 1}

    def predict(self, lines: list[str]) -> tuple[list[tuple[str, ...]], None]:
        return [(self.labels[word],) if (word := line.split(" ")[0]) in self.labels else () for line in lines], None


def test_fasttext_tries_smaller_rates_where_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def train_supervised(path: str, lr: float, **given: Any) -> _Fake:
        rates.append(lr)
        if lr > 0.3:
            raise RuntimeError("Encountered NaN.")
        return _Fake(path)

    module = ModuleType("fasttext")
    vars(module)["train_supervised"] = train_supervised
    monkeypatch.setitem(sys.modules, "fasttext", module)
    model = FastText(choices=((5, 0.5, 1),)).fit(["a x", "b x", "a y", "b y"], np.array(["one", "two", "one", "two"]))
    assert rates == [0.5, 0.25]
    assert model.predict(["A b", "b!", "c"]).tolist() == ["one", "two", "one"]
    monkeypatch.setitem(vars(module), "train_supervised", lambda path, lr, **given: _fail())
    with pytest.raises(RuntimeError, match="even with a learning rate of 0.0625"):
        model.fit(["a", "b"], np.array(["one", "two"]))


def _fail() -> None:
    raise RuntimeError("Encountered NaN.")
