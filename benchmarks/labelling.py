"""Labelling simulated: 200 answers to the questions of `tfcr label`, against 200 texts drawn at random.

    python benchmarks/labelling.py [--datasets agnews,davidson,dbpedia] [--seeds 10] [--best]

True labels answer the questions. Of each dataset 5,000 texts can be asked for, another 5,000 (fewer if there are not as
many) tell the true macro-F1; each seed draws others. After 20, 50, 100, 150 and 200 answers the preset ``fast`` is
trained on the answers, as `tfcr train` would do, and the score that the page shows is compared with the true one. The
classifier that asks is trained again after every ten answers. `--best` trains the preset ``best`` too, on all answers.

Results are kept in benchmarks/results/labelling.jsonl, one line for each dataset and seed: what is there is not run
again. Writes benchmarks/results/labelling.md and docs/images/labelling.svg.
"""

import argparse
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS

from tfcr import TfcrClassifier
from tfcr.data import load_dataset
from tfcr.decision import macro_f1_of_labels
from tfcr.errors import TfcrWarning
from tfcr.labelling import Pool, Session
from tfcr.labelling.estimate import Evidence, estimate_macro_f1
from tfcr.trained.model import TrainedModel

POINTS = (20, 50, 100, 150, 200)
LEARN_EVERY = 10
POOL = TEST = 5_000
KEPT = RESULTS / "labelling.jsonl"
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "labelling.svg"
LINES = {"asked": ("asked by tfcr label", "o-", "#0072b2"), "random": ("drawn at random", "s--", "#d55e00")}
"""Of the picture: what it is called, and how it is drawn."""
Texts = Sequence[str]
Record = dict[str, Any]


def simulate(dataset: str, seed: int, *, best: bool) -> Record:
    """Return what one dataset and seed give: scores of both ways to choose, and the estimates."""
    began = time.process_time()
    texts, labels, test, truth = split(dataset, seed)
    scores: dict[str, dict[str, float]] = {"asked": {}, "random": {}}
    session = Session(Pool.of(texts), sorted(set(labels)), seed=seed)
    estimates: dict[str, Any] = {}
    seconds = []
    for number in range(1, POINTS[-1] + 1):
        question = session.ask()
        assert question is not None
        session.answer(question.number, labels[question.number])
        if number % LEARN_EVERY == 0:
            wall = time.process_time()
            session.learn()
            seconds.append(time.process_time() - wall)
        if number in POINTS:
            scores["asked"][str(number)] = true_score(fitted("fast", texts, labels, list(session.answers)), test, truth)
            if gathered := session.evidence(number):
                sample, evidence = gathered
                estimates[str(number)] = [sample, evidence.counts.tolist(), evidence.shares.tolist()]
    drawn = np.random.default_rng([1, seed]).permutation(len(texts))
    for point in POINTS:
        some = drawn[:point]
        scores["random"][str(point)] = true_score(fitted("fast", texts, labels, some), test, truth)
    if best:
        for name, some in (("asked", np.array(list(session.answers))), ("random", drawn[: POINTS[-1]])):
            scores[name]["best"] = true_score(fitted("best", texts, labels, some), test, truth)
    learning = float(np.median(seconds))
    found = {"dataset": dataset, "seed": seed, "scores": scores, "estimates": estimates, "learning": learning}
    return {**found, "seconds": time.process_time() - began}


def split(dataset: str, seed: int) -> tuple[list[str], list[str], list[str], np.ndarray[Any, Any]]:
    """Return the texts that can be asked for, with their labels, and those that test, with theirs."""
    corpus = load_dataset(dataset)
    order = np.random.default_rng([0, seed]).permutation(len(corpus)).tolist()
    asked, test = order[:POOL], order[POOL : POOL + TEST]
    labels = list(map(str, corpus.labels))
    texts = corpus.texts
    return (
        [texts[n] for n in asked],
        [labels[n] for n in asked],
        [texts[n] for n in test],
        np.array([labels[n] for n in test]),
    )


def fitted(preset: str, texts: Texts, labels: Texts, some: Any) -> TrainedModel | None:
    chosen = [labels[n] for n in some]
    if len(set(chosen)) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TfcrWarning)
        return TfcrClassifier.from_preset(preset, random_state=0).fit([texts[n] for n in some], chosen).model_


def true_score(model: TrainedModel | None, test: Texts, truth: Any) -> float:
    return 0.0 if model is None else macro_f1_of_labels(truth, np.asarray(model.predict(test)).astype(str))


# tables and picture --------------------------------------------------------------------------------------------------


def mean_and_spread(values: Sequence[float]) -> str:
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}"


def table(records: Sequence[Record]) -> str:
    """Return the scores of both ways to choose, the estimates, and how often the interval holds the true score."""
    lines = [
        "| dataset | answers | asked | random | difference | estimate | interval | true score inside |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for dataset, rows in by_dataset(records).items():
        for point in map(str, [*POINTS, "best"]):
            known = [row for row in rows if point in row["scores"]["asked"]]
            if not known:
                continue
            asked, random = ([row["scores"][name][point] for row in known] for name in ("asked", "random"))
            what = f"{POINTS[-1]}, `best`" if point == "best" else point
            cells = [dataset, what, mean_and_spread(asked), mean_and_spread(random)]
            cells.append(f"{100 * (np.mean(asked) - np.mean(random)):+.1f}")
            lines.append(f"| {' | '.join([*cells, *estimate_cells(known, point)])} |")
    return "\n".join(lines)


def estimate_cells(rows: Sequence[Record], point: str) -> list[str]:
    found = [
        (row["scores"]["asked"][point], *bounds(row["estimates"][point])) for row in rows if point in row["estimates"]
    ]
    if not found:
        return ["", "", ""]
    true, middle, low, high = (np.array(column) for column in zip(*found, strict=True))
    inside = int(((low <= true) & (true <= high)).sum())
    return [
        mean_and_spread(middle.tolist()),
        f"{100 * low.mean():.0f}–{100 * high.mean():.0f}",
        f"{inside} of {len(true)}",
    ]


def bounds(stored: Any) -> tuple[float, float, float]:
    return estimate_macro_f1(Evidence(np.array(stored[1]), np.array(stored[2])))


def by_dataset(records: Sequence[Record]) -> dict[str, list[Record]]:
    return {
        name: [row for row in records if row["dataset"] == name]
        for name in dict.fromkeys(row["dataset"] for row in records)
    }


def draw(records: Sequence[Record]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415

    found = by_dataset(records)
    figure = Figure(figsize=(3.6 * len(found), 3.2), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (dataset, rows) in zip(panels, found.items(), strict=True):
        for name, (label, style, colour) in LINES.items():
            means = [100 * np.mean([row["scores"][name][str(point)] for row in rows]) for point in POINTS]
            axes.plot(POINTS, means, style, color=colour, label=label)
        axes.set(title=dataset, xlabel="answers")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("macro-F1 on other texts, %")
    panels[0].legend(frameon=False)
    figure.savefig(IMAGE, metadata={"Date": None})


def stored() -> dict[tuple[str, int], Record]:
    if not KEPT.exists():
        return {}
    lines = KEPT.read_text("utf-8").splitlines()
    return {(row["dataset"], row["seed"]): row for row in map(json.loads, lines)}


def keep(record: Mapping[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", default="agnews,davidson,dbpedia")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--best", action="store_true")
    asked = parser.parse_args()
    wanted = [(dataset, seed) for seed in range(asked.seeds) for dataset in asked.datasets.split(",")]
    known = stored()
    for dataset, seed in wanted:
        record = known.get((dataset, seed))
        if record is None or (asked.best and "best" not in record["scores"]["asked"]):
            known[dataset, seed] = simulate(dataset, seed, best=asked.best)
            keep(known[dataset, seed])
            print(dataset, seed, f"{known[dataset, seed]['seconds']:.0f} s", flush=True)
    records = [known[dataset, seed] for dataset in asked.datasets.split(",") for seed in range(asked.seeds)]
    text = table(records)
    print(text)
    (RESULTS / "labelling.md").write_text(text + "\n", "utf-8")
    draw(records)


if __name__ == "__main__":
    main()
