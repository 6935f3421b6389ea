"""What exported pages weigh, what pruning costs, and how soon a page answers a key press.

    python -m benchmarks.export [--models FOLDER] [--sizes 5MB,2MB,1MB]

Trains `best` on fold 1 of 10 of agnews and 20ng, or takes the models that FOLDER holds from the last time. Prints for
each size the terms that are left, the macro-F1 of the full and of the pruned model on the fold, and how many labels
stay the same. Then the time from a key press to the new label, words and table in Chromium, layout included, on the
median post of 20ng and on one that is longer than 95 % of them.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from tests.browser.chromium import chromium

from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import load_dataset
from tfcr.decision import macro_f1_of_labels
from tfcr.experiment.plan.parsing import parse_names
from tfcr.system.hardware import size_in_bytes
from tfcr.trained.export_html import export_page
from tfcr.trained.format import is_model
from tfcr.trained.pruning import Pruned, prune

KEY_PRESSES = 100
PRESS = """(presses) => {
    const text = document.getElementById("text"), times = [];
    for (let press = 0; press < presses; press++) {
        text.value += press % 6 ? "e" : " ";
        const start = performance.now();
        text.dispatchEvent(new Event("input"));
        document.body.getBoundingClientRect();  // layout, which a browser would do before it paints
        times.push(performance.now() - start);
    }
    return times;
}"""


def fold(name: str) -> tuple[Any, Any, Any, Any]:
    corpus = load_dataset(name)
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    train, test = next(iter(StratifiedKFold(10, shuffle=True, random_state=0).split(texts, labels)))
    return texts[train], labels[train], texts[test], labels[test]


def trained(name: str, folder: Path, texts: Any, labels: Any) -> TrainedModel:
    path = folder / f"{name}-best"
    if not is_model(path):
        TfcrClassifier.from_preset("best", random_state=0).fit(texts, labels).save(path)
    return TrainedModel.load(path)


def exported(model: TrainedModel, size: str) -> Pruned:
    return prune(model, size_in_bytes(size, "--sizes ", "5MB"), size=lambda some: len(export_page(some).encode()))


def measure(name: str, folder: Path, sizes: tuple[str, ...]) -> None:
    texts, labels, test, true = fold(name)
    full = trained(name, folder, texts, labels)
    before = full.predict(test)
    print(
        f"| {name} | as trained | {len(full.table.vocabulary):,} | {100 * macro_f1_of_labels(true, before):.2f} | | |"
    )
    for size in sizes:
        pruned = exported(full, size)
        after = pruned.model.predict(test)
        weight = len(export_page(pruned.model).encode()) / 1e6
        terms, same = len(pruned.model.table.vocabulary), float(np.mean(before == after))
        cost = 100 * (macro_f1_of_labels(true, after) - macro_f1_of_labels(true, before))
        score = 100 * macro_f1_of_labels(true, after)
        print(f"| {name} | {weight:.2f} MB | {terms:,} | {score:.2f} | {cost:+.2f} | {same:.2%} |", flush=True)


def press_keys(folder: Path) -> None:
    texts, labels, test, _ = fold("20ng")
    page_file = folder / "20ng.html"
    page_file.write_text(export_page(exported(trained("20ng", folder, texts, labels), "5MB").model), "utf-8")
    by_length = sorted(test.tolist(), key=len)
    print("\n| post of 20ng | characters | median | 95 % | processor time, mean |\n|---|---|---|---|---|")
    with chromium() as browser:
        page = browser.new_page()
        page.goto(page_file.absolute().as_uri())
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        for name, part in (("median", 0.5), ("longer than 95 %", 0.95)):
            text = by_length[int(part * len(by_length))]
            page.locator("#text").fill(text)
            page.evaluate(PRESS, KEY_PRESSES)  # until the browser has compiled the page's code
            page.locator("#text").fill(text)
            before = _processor_time(session)
            times = page.evaluate(PRESS, KEY_PRESSES)
            used = 1000 * (_processor_time(session) - before) / KEY_PRESSES
            slowest = f"{np.percentile(times, 95):.1f} ms | {used:.1f} ms |"
            print(f"| {name} | {len(text):,} | {np.median(times):.1f} ms | {slowest}", flush=True)


def _processor_time(session: Any) -> float:
    """Return the seconds that the page's thread has run so far; other work on the machine does not count."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in found if metric["name"] == "TaskDuration"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=Path)
    parser.add_argument("--sizes", type=parse_names, default=("5MB", "2MB", "1MB"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = asked.models or Path(own)
        print("| dataset | page | terms | macro-F1 | points | same label |\n|---|---|---|---|---|---|")
        for name in ("agnews", "20ng"):
            measure(name, folder, tuple(asked.sizes))
        press_keys(folder)


if __name__ == "__main__":
    main()
