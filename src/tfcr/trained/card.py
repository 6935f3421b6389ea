"""The card of a saved model: what it was trained on and how it scored, for people."""

from collections.abc import Iterable
from typing import Any

from tfcr.text.label_sets import ONE


def model_card(config: dict[str, Any]) -> str:
    """Return the text of a model's README.md."""
    sections = [
        "# A text classifier made with tfcr",
        "\n".join(["```python", "from tfcr import load", "", 'load("this-folder").predict(["a text"])', "```"]),
        _scores(config["scores"]),
        _trained_on(config["training"], config["classes"]["values"]),
        *_decision(config.get("decision"), config["classes"]["values"], config["training"]),
        _hashes(config.get("hashed_texts")),
        *_documents(config.get("kept_documents")),
        _table("Settings", ("setting", "value"), sorted(config["settings"].items())),
        _table("Made with", ("", "version"), sorted(config["training"]["versions"].items())),
    ]
    return "\n\n".join(sections) + "\n"


def _scores(scores: dict[str, float]) -> str:
    if not scores:
        return "## How it scores\n\nNot measured when it was saved."
    return _table("How it scores", ("measure", "score"), [(name, f"{score:.3f}") for name, score in scores.items()])


def _trained_on(training: dict[str, Any], classes: list[Any]) -> str:
    summary = (
        f"{training['documents']:,.0f} documents, {training['tokens']:,.0f} tokens, {training['words']:,} different "
        f"words, on {training['date'][:10]}. {_vectors(training)}"
    )
    rows = [(label, f"{size:,.0f}") for label, size in zip(classes, training["documents_per_class"], strict=True)]
    return _table("What it was trained on", ("class", "documents"), rows, summary)


def _decision(decision: dict[str, Any] | None, classes: list[Any], training: dict[str, Any]) -> list[str]:
    """Return what a reader must know of how scores become probabilities and labels; older models do not tell."""
    if decision is None:
        return []
    known = decision["calibration"]
    about = "Probabilities are not calibrated: they rank."
    columns: dict[str, list[float]] = {}
    if known is not None:
        one_output = decision["form"] == ONE and len(classes) == 2  # which is two logits apart
        about = (
            "Probabilities are calibrated on out-of-fold documents, to the class frequencies of the training data: "
            f"{known['scale'] / (2 if one_output else 1):.3f} times the score, plus an offset."
        )
        columns["offset of the probability"] = known["offsets"]
    if decision.get("costs") is not None:
        about += " The label of the least expected cost is picked."
    elif decision["form"] != ONE and decision["rule"] == "probability" and known is not None:
        about += " A text may have several labels, or none: those with a probability above one half."
    elif decision["form"] == ONE and decision["rule"] == "probability":
        about += " The likeliest label is picked."
    elif decision["form"] == ONE:
        about += " The label with the largest score is picked, which is tuned for macro-F1 if classes are balanced."
    else:
        about += " A text may have several labels, or none: those whose scores are above these thresholds."
        columns["threshold of the score"] = decision["thresholds"] or [0.0] * len(classes)
    shown = {name: [f"{value:+.3f}" for value in column] for name, column in columns.items()}
    least = decision.get("least_probabilities")
    if least is not None:
        about += (
            " A label that is less probable than its class takes for the wanted precision is unsure: out of fold, "
            f"{training['decided']:.1%} of the training documents were decided."
        )
        shown["least probability"] = ["never decided" if value > 1 else f"{value:.3f}" for value in least]
    sections = [f"## How labels are picked\n\n{about}"]
    if shown:
        rows = zip(classes, *shown.values(), strict=True)
        sections = [_table("How labels are picked", ("class", *shown), rows, about)]
    if decision.get("costs") is not None:
        sections.append(_table("What mistakes cost", ("true class", "assigned", "cost"), _costs(decision, classes)))
    return sections


def _costs(decision: dict[str, Any], classes: list[Any]) -> list[tuple[Any, ...]]:
    """Return the costs that differ from the usual ones, 0 if right and 1 if wrong, and a row for these."""
    rows: list[tuple[Any, ...]] = []
    for true, given in enumerate(decision["costs"]):
        for assigned, cost in enumerate(given):
            if cost != (true != assigned):
                rows.append((classes[true], classes[assigned], f"{cost:g}"))
    return [*rows, ("any", "any other", "1")]


def _hashes(stored: int | None) -> str:
    if stored is None:
        return "It holds no hashes of its training texts."
    return (
        f"It holds hashes of {stored:,} training texts, so that `tfcr evaluate` notices when it is scored on them. "
        "No text can be read from them, but who has a text can check whether it was among these."
    )


def _documents(kept: int | None) -> list[str]:
    if kept is None:
        return []
    return [
        f"It holds {kept:,} training documents, counted: `tfcr update` adds more. Who has it can read how often each "
        "word occurs in each of them, and which words follow each other."
    ]


def _vectors(training: dict[str, Any]) -> str:
    if training["embeddings"] is None:
        return "No vectors."
    return (
        f"Vectors: {training['embeddings']}, which cover {training['coverage_tokens']:.1%} of the tokens and "
        f"{training['coverage_words']:.1%} of the different words."
    )


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[Any, ...]], before: str = "") -> str:
    lines = [f"## {title}", ""]
    if before:
        lines += [before, ""]
    lines += [_row(head), "|---" * len(head) + "|", *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: tuple[Any, ...]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: Any) -> str:
    return " ".join(str(value).replace("|", "\\|").split())
