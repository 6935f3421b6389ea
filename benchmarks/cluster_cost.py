"""What a cluster of 1 to 1,000 workers would take, simulated from the cost of each step on one core.

    python benchmarks/cluster_cost.py [--costs FILE] [--documents N ...] [--job train] [--bandwidth BYTES] …

Reads seconds and bytes per million documents (benchmarks/cluster_costs.json) and says in its table which of them were
measured and which are assumed. A worker is one core. For each number of workers it draws runs: a divided step ends when
its slowest worker does, which is slowed down by a log-normal factor; the driver sends the coefficients out and gets the
gradients back over trees of workers; the scheduler starts one task per shard and pass; a worker that fails takes its
shards along, which the others count again. Prints where the time goes, the speed-up and the efficiency (speed-up per
worker), and up to how many workers doubling them pays. Writes benchmarks/results/cluster_cost.md, .json and
docs/images/cluster.svg.
"""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import write_results

COSTS = Path(__file__).with_name("cluster_costs.json")
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "cluster.svg"
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
DOCUMENTS = (10_000_000, 100_000_000, 1_000_000_000)
PAYS = 1.3
"""Twice the workers pay if they are at least so many times as fast."""
MILLION = 1_000_000


class Step(NamedTuple):
    """How a step runs: on all workers, or on the driver; whether coefficients go out, and gradients come back."""

    divided: bool
    down: bool = False
    up: bool = False


STEPS: dict[str, Step] = {
    "read and count": Step(divided=True),
    "merge vocabularies": Step(divided=False),
    "gradient": Step(divided=True, down=True, up=True),
    "Hessian product": Step(divided=True, down=True, up=True),
    "word2vec": Step(divided=False),
    "predict": Step(divided=True, down=True),
}
JOBS: dict[str, tuple[str, ...]] = {
    "train": ("read and count", "merge vocabularies", "gradient", "Hessian product"),
    "train-word2vec": ("read and count", "merge vocabularies", "word2vec", "gradient", "Hessian product"),
    "predict": ("predict",),
}
PARTS = ("work", "stragglers", "network", "scheduler", "failures", "driver")
"""Where time goes: what would be left if everything were divided evenly, and what comes on top."""


@dataclass(frozen=True)
class Cluster:
    """What a cluster is like. All of it is assumed.

    Attributes
    ----------
    bandwidth, latency
        Of one connection; bytes per second, and seconds per message.
    fan_in
        How many results are added up at a time where gradients come back.
    spread
        Standard deviation of the logarithm of how much slower a worker is in a pass.
    hours_between_failures, detection
        Of one worker; and the seconds until its failure is noticed.
    shard, task
        Documents per shard; seconds that the scheduler needs per task.
    """

    bandwidth: float = 1.25e9
    latency: float = 0.001
    fan_in: int = 2
    spread: float = 0.2
    hours_between_failures: float = 1000.0
    detection: float = 30.0
    shard: int = 20_000
    task: float = 0.0005


@dataclass(frozen=True)
class Costs:
    """What was measured, or assumed, of each step."""

    seconds: Mapping[str, float]
    bytes: Mapping[str, float]
    passes: Mapping[str, int]
    coefficients: float
    growth: float
    assumed: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "Costs":
        """Read a file of costs; end with one line if it lacks something."""
        try:
            found = json.loads(path.read_text("utf-8"))
            steps, passes, size = found["steps"], dict(found["passes"]), found["coefficients"]
            rows = {**steps, "number of passes": passes, "size of the coefficients": size}
            assumed = tuple(name for name, row in rows.items() if row["measured"] is not True)
            return cls(
                {name: _positive(steps[name]["seconds"]) for name in STEPS},
                {name: _positive(steps[name]["bytes"]) for name in STEPS},
                {name: int(_positive(passes.get(name, 1))) for name in STEPS},
                _positive(size["bytes"]),
                _positive(size["growth"]),
                assumed,
            )
        except OSError as error:
            sys.exit(f"cannot read {path}: {error.strerror}")
        except (LookupError, TypeError, ValueError) as error:
            sys.exit(f"{path} lacks or misstates {error}; expected the rows of {COSTS.name}")

    def size(self, documents: float) -> float:
        """Return the bytes of the coefficients, which grow with the vocabulary."""
        return float(self.coefficients * (documents / MILLION) ** self.growth)


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{value!r}, which is not a number from 0 on")
    return float(value)


def simulate(
    job: str, documents: int, workers: int, costs: Costs, cluster: Cluster, random: np.random.Generator
) -> dict[str, float]:
    """Return the seconds of each part of one run."""
    spent = dict.fromkeys(PARTS, 0.0)
    for name in JOBS[job]:
        if not STEPS[name].divided:
            spent["driver"] += documents / MILLION * costs.seconds[name]
            spent["network"] += documents / MILLION * costs.bytes[name] / cluster.bandwidth if workers > 1 else 0.0
            continue
        for _ in range(costs.passes[name]):
            for part, seconds in one_pass(name, documents, workers, costs, cluster, random).items():
                spent[part] += seconds
    return spent


def one_pass(
    name: str, documents: int, workers: int, costs: Costs, cluster: Cluster, random: np.random.Generator
) -> dict[str, float]:
    """Return the seconds of one pass of all workers over their shards.

    Of 10 shards on 4 workers, two have 3 and two have 2: without any slow-down the pass takes 3, and 2.5 is work.
    """
    step, per_document = STEPS[name], costs.seconds[name] / MILLION
    shards = -(-documents // cluster.shard)
    loads = np.full(workers, shards // workers)
    loads[: shards % workers] += 1
    slow = random.lognormal(0, cluster.spread, workers)
    slowest = float((loads * slow).max()) * per_document * documents / shards
    work = per_document * documents / workers
    size = costs.size(documents)
    network = 0.0
    if workers > 1:
        network += step.down * math.ceil(math.log2(workers)) * (size / cluster.bandwidth + cluster.latency)
        levels = math.ceil(round(math.log(workers, cluster.fan_in), 9))
        network += step.up * levels * ((cluster.fan_in - 1) * size / cluster.bandwidth + cluster.latency)
    scheduler = max(0.0, shards * cluster.task - slowest) if workers > 1 else 0.0  # else it works meanwhile
    lasted = slowest + network + scheduler
    failures = random.poisson(workers * lasted / (3600 * cluster.hours_between_failures))
    lost = documents / workers * (costs.seconds["read and count"] / MILLION + per_document) / max(1, workers - 1)
    return {
        "work": work,
        "stragglers": slowest - work,
        "network": network,
        "scheduler": scheduler,
        "failures": failures * (cluster.detection + lost),
    }


class Point(NamedTuple):
    """The mean of several runs."""

    documents: int
    workers: int
    seconds: dict[str, float]

    @property
    def total(self) -> float:
        """The seconds from beginning to end."""
        return sum(self.seconds.values())


def curve(job: str, documents: int, costs: Costs, cluster: Cluster, runs: int, seed: int) -> list[Point]:
    """Return a point for each number of workers."""
    points = []
    for workers in WORKERS:
        random = np.random.default_rng([seed, workers])
        drawn = [simulate(job, documents, workers, costs, cluster, random) for _ in range(runs)]
        points.append(Point(documents, workers, {part: sum(run[part] for run in drawn) / runs for part in PARTS}))
    return points


def pays_up_to(points: Sequence[Point]) -> Point:
    """Return the last point at which the doubling before it still paid."""
    for one, two in pairwise(points):
        if one.total < PAYS * two.total:
            return one
    return points[-1]


def table(points: Sequence[Point], costs: Costs) -> list[str]:
    """Return the table of one number of documents, and what follows from it."""
    documents, base = points[0].documents, points[0].total
    held = costs.bytes["read and count"] * documents / MILLION
    parts = (f"{part}, s" for part in PARTS)
    columns = ("workers", "hours", "speed-up", "efficiency", *parts, "shards per worker, GB")
    lines = [
        f"{documents:,} documents; coefficients of {costs.size(documents) / 1e9:.2f} GB:",
        "",
        f"| {' | '.join(columns)} |",
        f"|{'---|' * len(columns)}",
    ]
    for point in points:
        speed_up = base / point.total
        spent = " | ".join(f"{point.seconds[part]:,.0f}" for part in PARTS)
        lines.append(
            f"| {point.workers:,} | {point.total / 3600:.2f} | {speed_up:.1f} | {speed_up / point.workers:.2f} "
            f"| {spent} | {held / point.workers / 1e9:.1f} |"
        )
    last = pays_up_to(points)
    most = max((part for part in PARTS if part != "work"), key=lambda part: last.seconds[part])
    lines += ["", f"Twice the workers pay up to {last.workers:,}; besides work, most time goes to: {most}."]
    return lines


def told(costs: Costs) -> str:
    """Return which figures are assumed."""
    if not costs.assumed:
        return "All costs of steps were measured; the cluster is assumed."
    return f"Assumed, not measured: {', '.join(costs.assumed)}; and the cluster."


def draw(curves: Sequence[list[Point]], costs: Costs, job: str) -> None:
    """Draw the speed-ups, and where the time goes for the largest number of documents."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(WORKERS, WORKERS, ":", color="grey", label="ideal")
    for points in curves:
        speed_ups = [points[0].total / point.total for point in points]
        left.plot(WORKERS, speed_ups, "-o", ms=3, label=f"{points[0].documents:,} documents")
    left.set(xscale="log", yscale="log", xlabel="workers", ylabel="speed-up", title=f"{job}: speed-up")
    left.legend(fontsize="x-small")
    points = curves[-1]
    shares = [[100 * point.seconds[part] / point.total for point in points] for part in PARTS]
    right.stackplot(WORKERS, shares, labels=PARTS)
    right.set(xscale="log", xlabel="workers", ylabel="% of the time", title=f"{points[0].documents:,} documents")
    right.legend(fontsize="x-small", loc="lower left")
    figure.suptitle(
        "Simulated" + (" from ASSUMED costs" if costs.assumed else " from measured costs"), fontsize="small"
    )
    IMAGE.parent.mkdir(exist_ok=True)
    figure.savefig(IMAGE, metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--costs", type=Path, default=COSTS, metavar="FILE")
    parser.add_argument("--documents", type=int, nargs="+", default=list(DOCUMENTS), metavar="N")
    parser.add_argument("--job", choices=JOBS, default="train")
    parser.add_argument("--runs", type=int, default=10, help="runs drawn for each number of workers")
    parser.add_argument("--seed", type=int, default=0)
    for field in fields(Cluster):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    given = parser.parse_args(arguments)
    least = {"runs": 1, "shard": 1, "fan_in": 2, "bandwidth": 1, "hours_between_failures": 1e-6}
    for name, value in least.items():
        if getattr(given, name) < value:
            parser.error(f"found --{name.replace('_', '-')} {getattr(given, name)}; expected {value:g} or more")
    if min(given.documents) < 1:
        parser.error(f"found --documents {min(given.documents)}; expected 1 or more")
    costs = Costs.read(given.costs)
    cluster = Cluster(**{field.name: getattr(given, field.name) for field in fields(Cluster)})
    curves = [curve(given.job, documents, costs, cluster, given.runs, given.seed) for documents in given.documents]
    lines = [told(costs)]
    for points in curves:
        lines += ["", *table(points, costs)]
    print("\n".join(lines))
    data = [{"documents": p.documents, "workers": p.workers, **p.seconds} for points in curves for p in points]
    write_results("cluster_cost", "\n".join(lines), {"job": given.job, "assumed": costs.assumed, "points": data})
    draw(curves, costs, given.job)


if __name__ == "__main__":
    main()
