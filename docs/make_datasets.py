"""Write the tables of docs/datasets.md from the program itself: ``python docs/make_datasets.py``."""

from pathlib import Path

from tfcr.data import DATASETS
from tfcr.data.datasets.registry import Dataset
from tfcr.embeddings import PRETRAINED
from tfcr.embeddings.pretrained import PretrainedModel

TARGET = Path(__file__).with_name("datasets.md")


def reference() -> str:
    """Return the text of docs/datasets.md, its tables made anew."""
    tables = {
        "paper": _datasets([name for name, dataset in DATASETS.items() if dataset.paper]),
        "others": _datasets([name for name, dataset in DATASETS.items() if not dataset.paper]),
        "files": _files(),
        "vectors": _vectors(),
    }
    text = TARGET.read_text("utf-8")
    for name, table in tables.items():
        text = _with_table(text, name, table)
    return text


def _with_table(text: str, name: str, table: str) -> str:
    """Put the table between its two marks."""
    before, mark, rest = text.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    return before + mark + table + end + after


def _table(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _datasets(names: list[str]) -> str:
    columns = ("name", "what", "documents", "classes", "language", "licence", "to get it")
    rows = [(f"`{name}`", *_facts(DATASETS[name])) for name in names]
    return _table(columns, rows)


def _facts(dataset: Dataset) -> tuple[object, ...]:
    get = "`fetch`" if dataset.downloads else dataset.ask or "it is always here"
    source = f"[{get}]({dataset.page})" if dataset.downloads else f"{get} ([page]({dataset.page}))"
    return (
        dataset.what,
        f"{dataset.documents:,}",
        dataset.classes,
        dataset.language,
        dataset.licence,
        source,
    )


def _files() -> str:
    return _table(("name", "files"), [(f"`{name}`", row.files) for name, row in DATASETS.items() if row.files])


def _vectors() -> str:
    columns = ("name", "what", "words", "dimensions", "licence", "to get it")
    return _table(columns, [(f"`{name}`", *_vector_facts(name, model)) for name, model in PRETRAINED.items()])


def _vector_facts(name: str, model: PretrainedModel) -> tuple[object, ...]:
    if model.installed is not None:
        get = f"`{model.source}`"
    elif model.download is None:
        get = f"[by hand]({model.source})"
    else:
        size = f", {model.download.size / 1e9:.1f} GB" if model.download.size else ""
        get = f"[`fetch`]({model.source}){size}"
    return model.what, f"{model.words:,}", model.dimensions, model.licence, get


if __name__ == "__main__":
    TARGET.write_text(reference(), "utf-8")
