"""The card of a saved model: what it was trained on and how it scored, for people."""

from typing import Any


def model_card(config: dict[str, Any]) -> str:
    """Return the text of a model's README.md."""
    sections = [
        "# A text classifier made with tfcr",
        "\n".join(["```python", "from tfcr import load", "", 'load("this-folder").predict(["a text"])', "```"]),
        _scores(config["scores"]),
        _trained_on(config["training"], config["classes"]["values"]),
        *_several(config.get("decision"), config["classes"]["values"]),
        _hashes(config.get("hashed_texts")),
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


def _several(decision: dict[str, Any] | None, classes: list[Any]) -> list[str]:
    """Return what a reader must know of a model that gives several labels; nothing of one that gives one."""
    if decision is None:
        return []
    limits = decision["thresholds"] or [0.0] * len(classes)
    rows = [(label, f"{limit:+.3f}") for label, limit in zip(classes, limits, strict=True)]
    about = "A text may have several labels, or none: those whose scores are above these thresholds."
    return [_table("Which labels a text gets", ("class", "threshold of the score"), rows, about)]


def _hashes(stored: int | None) -> str:
    if stored is None:
        return "It holds no hashes of its training texts."
    return (
        f"It holds hashes of {stored:,} training texts, so that `tfcr evaluate` notices when it is scored on them. "
        "No text can be read from them, but who has a text can check whether it was among these."
    )


def _vectors(training: dict[str, Any]) -> str:
    if training["embeddings"] is None:
        return "No vectors."
    return (
        f"Vectors: {training['embeddings']}, which cover {training['coverage_tokens']:.1%} of the tokens and "
        f"{training['coverage_words']:.1%} of the different words."
    )


def _table(title: str, head: tuple[str, str], rows: list[tuple[Any, Any]], before: str = "") -> str:
    lines = [f"## {title}", ""]
    if before:
        lines += [before, ""]
    lines += [f"| {head[0]} | {head[1]} |", "|---|---|"]
    lines += [f"| {_cell(left)} | {_cell(right)} |" for left, right in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return " ".join(str(value).replace("|", "\\|").split())
