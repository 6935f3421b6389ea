"""``tfcr datasets list|info|fetch``."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.help import Command, Group
from tfcr.cli.options import Again, Json, Place
from tfcr.cli.output import if_stopped, note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from tfcr.system.download import Download

app = typer.Typer(cls=Group, help="Known datasets: list, describe and fetch them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name.", show_default=False)]


@app.command("list", cls=Command)
def list_datasets(json: Json = False) -> None:
    """List the known datasets. They are ready, can be downloaded, or must be requested.

    \b
    tfcr datasets list
    """
    from tfcr.data.datasets.fetch import state_of
    from tfcr.data.datasets.registry import DATASETS

    columns = ("name", "documents", "classes", "what", "in the paper", "state")
    rows = [
        (name, dataset.documents, dataset.classes, dataset.what, dataset.paper, state_of(name))
        for name, dataset in DATASETS.items()
    ]
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows)


@app.command(cls=Command)
def info(name: Name, path: Place = None, json: Json = False) -> None:
    """Describe a dataset. If it is on this machine, its classes are counted.

    \b
    tfcr datasets info pydocs
    """
    from tfcr.data.datasets.fetch import READY, how_to_get, state_of
    from tfcr.data.datasets.registry import DATASETS
    from tfcr.errors import look_up

    dataset = look_up(DATASETS, name, "dataset")
    state = READY if path else state_of(name)
    facts: dict[str, Any] = {
        "name": name,
        "what": dataset.what,
        "documents": dataset.documents,
        "classes": dataset.classes,
        "language": dataset.language,
        "in the paper": dataset.paper or "not used in the paper",
        "page": dataset.page,
        "licence": dataset.licence,
        "files": dataset.files or "none needed",
        "state": state,
        "downloads": [asdict(file) for file in dataset.downloads],
        "how to get it": how_to_get(name) if dataset.files else "it is on this machine",
    }
    found = _count(name, path) if state == READY else None
    if json:
        print_json({**facts, "found": found})
        return
    print_table(("", ""), list({**facts, "downloads": _described(dataset.downloads)}.items()))
    if found:
        print(f"\nfound: {found['documents']:,} documents, {len(found['classes'])} classes\n")
        print_table(("class", "documents"), sorted(found["classes"].items()))


def _described(downloads: "tuple[Download, ...]") -> str:
    lines = []
    for file in downloads:
        size = f"{file.size:,} bytes" if file.size else "size unknown"
        checked = "SHA-256 known" if file.sha256 else "SHA-256 unknown"
        lines.append(f"{file.url} ({size}, {checked}, {f'tested {file.tried}' if file.tried else 'not tested'})")
    return "\n".join(lines) or "none"


def _count(name: str, path: str | None) -> dict[str, Any]:
    """Count the documents per class, without keeping them in memory."""
    from collections import Counter

    from tfcr.data import dataset_rows

    sizes = Counter(row.label for row in dataset_rows(name, path) if row.label and row.text)
    return {"documents": sizes.total(), "classes": sizes}


@app.command(cls=Command)
def fetch(name: Name, path: Place = None, again: Again = False, json: Json = False) -> None:
    """Download a dataset, or register a copy with --path. An interrupted download resumes.

    \b
    tfcr datasets fetch pydocs
    """
    from tfcr.data import fetch_dataset

    if_stopped("what was downloaded is kept; to resume, type the same command again")
    with progress_bar(in_bytes=True) as stages:
        place = fetch_dataset(name, path, again=again, stages=stages, tell=note)
    if json:
        print_json({"name": name, "place": str(place)})
    else:
        print(f"{name} is ready in {place}. Next: tfcr datasets info {name}")
