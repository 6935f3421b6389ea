"""``tfcr datasets list|info|fetch``."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from tfcr.cli.options import Again, Json, Place
from tfcr.cli.output import note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from tfcr.system.download import Download

app = typer.Typer(help="Datasets that have a name: which there are, what they are, getting them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name.", show_default=False)]


@app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the datasets, and which are ready, can be downloaded, or must be asked for.

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


@app.command()
def info(name: Name, path: Place = None, json: Json = False) -> None:
    """Tell all that is known of a dataset: what it is, its licence, how to get it; count its classes if it is here.

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
        "in the paper": dataset.paper or "not one of the paper's",
        "page": dataset.page,
        "licence": dataset.licence,
        "files": dataset.files or "none needed",
        "state": state,
        "downloads": [asdict(file) for file in dataset.downloads],
        "how to get it": how_to_get(name) if dataset.files else "it is here",
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
        size = f"{file.size:,} bytes" if file.size else "size not known"
        checked = "SHA-256 known" if file.sha256 else "SHA-256 not known"
        lines.append(f"{file.url} ({size}, {checked}, {f'tried {file.tried}' if file.tried else 'not tried by us'})")
    return "\n".join(lines) or "none"


def _count(name: str, path: Optional[str]) -> dict[str, Any]:  # noqa: UP045
    """Count the documents of each class, without holding them."""
    from collections import Counter

    from tfcr.data import dataset_rows

    sizes = Counter(row.label for row in dataset_rows(name, path) if row.label and row.text)
    return {"documents": sizes.total(), "classes": sizes}


@app.command()
def fetch(name: Name, path: Place = None, again: Again = False, json: Json = False) -> None:
    """Download a dataset, or say with --path where its files are; an interrupted download goes on where it was.

    \b
    tfcr datasets fetch pydocs
    """
    from tfcr.data import fetch_dataset

    with progress_bar(f"fetching {name}", in_bytes=True) as progress:
        place = fetch_dataset(name, path, again=again, progress=progress, tell=note)
    if json:
        print_json({"name": name, "place": str(place)})
    else:
        print(f"{name} is ready in {place}. Next: tfcr datasets info {name}")
