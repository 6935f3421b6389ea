"""benchmarks/cluster_cost.py: small clusters by hand, and what it says about figures that nobody measured."""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PERFECT = {"bandwidth": 1e30, "latency": 0.0, "spread": 0.0, "hours_between_failures": 1e30, "task": 0.0, "shard": 1000}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(importlib.import_module("measuring"), "RESULTS", tmp_path)
    found = importlib.import_module("cluster_cost")
    monkeypatch.setattr(found, "IMAGE", tmp_path / "cluster.svg")
    return found


def run(module: Any, workers: int, documents: int = 1_000_000, **changed: Any) -> dict[str, float]:
    costs = module.Costs.read(module.COSTS)
    cluster = module.Cluster(**{**PERFECT, **changed})
    found: dict[str, float] = module.simulate("train", documents, workers, costs, cluster, np.random.default_rng(0))
    return found


def test_one_worker_takes_the_sum_of_the_costs(module: Any) -> None:
    costs = module.Costs.read(module.COSTS)
    found = run(module, 1, 2_000_000)
    work = sum(costs.seconds[name] * costs.passes[name] for name in ("read and count", "gradient", "Hessian product"))
    assert found == pytest.approx(
        {"work": 2 * work, "driver": 2 * costs.seconds["merge vocabularies"]}
        | dict.fromkeys(("stragglers", "network", "scheduler", "failures"), 0.0)
    )


def test_a_perfect_cluster_divides_the_work(module: Any) -> None:
    assert run(module, 10)["work"] == pytest.approx(run(module, 1)["work"] / 10)
    assert sum(run(module, 10).values()) == pytest.approx(run(module, 10)["work"] + run(module, 10)["driver"])


def test_ten_shards_on_four_workers_take_as_long_as_three(module: Any) -> None:
    found = run(module, 4, documents=10_000)
    assert found["stragglers"] / found["work"] == pytest.approx(3 / 2.5 - 1)


def test_each_trouble_costs_where_it_belongs(module: Any) -> None:
    costs = module.Costs.read(module.COSTS)
    passes = costs.passes["gradient"] + costs.passes["Hessian product"]
    network = run(module, 8, bandwidth=1e9)["network"]
    by_hand = passes * 6 * costs.size(1_000_000) / 1e9 + costs.bytes["merge vocabularies"] / 1e9
    assert network == pytest.approx(by_hand), "three levels down, three up"
    assert run(module, 100, spread=0.5)["stragglers"] > run(module, 100, spread=0.1)["stragglers"] > 0
    assert run(module, 1000, task=0.1)["scheduler"] > 0
    assert run(module, 8, hours_between_failures=0.01)["failures"] > 30


def test_it_tells_what_is_assumed(module: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--documents", "1000000", "--runs", "2"]
    module.main(few)
    shown = capsys.readouterr().out
    assert shown.startswith(("All costs of steps were measured", "Assumed, not measured: "))
    assert "| 1,000 |" in shown
    assert "Twice the workers pay up to" in shown
    assert (tmp_path / "cluster.svg").stat().st_size > 10_000
    costs = json.loads(module.COSTS.read_text())
    for row in (*costs["steps"].values(), costs["passes"], costs["coefficients"]):
        row["measured"] = True
    costs["steps"]["gradient"]["measured"] = False
    (tmp_path / "costs.json").write_text(json.dumps(costs))
    module.main([*few, "--costs", str(tmp_path / "costs.json"), "--job", "predict"])
    assert "Assumed, not measured: gradient; and the cluster." in capsys.readouterr().out
    costs["steps"]["gradient"]["measured"] = True
    (tmp_path / "costs.json").write_text(json.dumps(costs))
    module.main([*few, "--costs", str(tmp_path / "costs.json")])
    assert "All costs of steps were measured" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["{", "{}", '{"steps": {}, "passes": {}, "coefficients": {}}', None])
def test_bad_costs_end_in_one_line(module: Any, content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "costs.json").write_text(content)
    with pytest.raises(SystemExit) as caught:
        module.Costs.read(tmp_path / "costs.json")
    assert "costs.json" in str(caught.value.code)
    assert "\n" not in str(caught.value.code)


def test_wrong_numbers_are_refused(module: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--documents", "0"], ["--shard", "0"], ["--fan-in", "1"]):
        with pytest.raises(SystemExit):
            module.main(wrong)
        assert "expected" in capsys.readouterr().err
    costs = json.loads(module.COSTS.read_text())
    costs["steps"]["predict"]["seconds"] = -1
    (tmp_path / "costs.json").write_text(json.dumps(costs))
    with pytest.raises(SystemExit, match="-1"):
        module.Costs.read(tmp_path / "costs.json")
