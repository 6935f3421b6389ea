"""``tfcr datasets list|info``."""

from typing import Annotated

import typer

from tfcr.cli.options import Json
from tfcr.cli.output import print_json, print_table

app = typer.Typer(help="Datasets that have a name.", no_args_is_help=True)


@app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the datasets, and whether their files are on this machine.

    \b
    tfcr datasets list
    """
    from tfcr.corpus.datasets import DATASETS, is_ready

    rows = [
        (
            name,
            dataset.documents,
            dataset.classes,
            dataset.what,
            dataset.paper,
            "ready" if is_ready(name) else "not here",
        )
        for name, dataset in DATASETS.items()
    ]
    columns = ("name", "documents", "classes", "what", "in the paper", "state")
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows)


@app.command()
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name.", show_default=False)],
    json: Json = False,
) -> None:
    """Read a dataset and count its classes.

    \b
    tfcr datasets info pydocs
    """
    from collections import Counter

    from tfcr.corpus.datasets import DATASETS, load_dataset

    corpus = load_dataset(name)
    sizes = Counter(corpus.labels)
    if json:
        facts = {"name": name, "what": DATASETS[name].what, "documents": len(corpus), "classes": sizes}
        print_json(facts)
        return
    print(f"{name}: {DATASETS[name].what}; {len(corpus):,} documents, {len(sizes)} classes\n")
    print_table(("class", "documents"), sorted(sizes.items()))
