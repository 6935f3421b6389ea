"""``tfcr embeddings list|info|fetch|convert|train``."""

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from tfcr.cli.options import Again, Data, Json, Place, Reading, with_options
from tfcr.cli.output import note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from tfcr.embeddings.pretrained import PretrainedModel

app = typer.Typer(help="Word vectors: which there are, getting them, convert, train.", no_args_is_help=True)

Source = Annotated[str, typer.Argument(metavar="VECTORS", help="A vector file or a known name.", show_default=False)]
Output = Annotated[
    str, typer.Option("--output", "-o", help="File to write: .bin, .vec, .txt (GloVe) or .npy.", show_default=False)
]


@app.command("list")
def list_known(json: Json = False) -> None:
    """List the vectors that have a name, and whether they are on this machine.

    \b
    tfcr embeddings list
    """
    from tfcr.embeddings import PRETRAINED
    from tfcr.embeddings.pretrained import is_ready

    if json:
        print_json([{"name": name, **model.facts(), "ready": is_ready(name)} for name, model in PRETRAINED.items()])
        return
    rows = [
        (name, model.words, model.dimensions, model.what, model.licence, "ready" if is_ready(name) else _where(model))
        for name, model in PRETRAINED.items()
    ]
    rows.append(("w2v", "", "", "word2vec trained on your own texts", "yours", "ready"))  # type: ignore[arg-type]
    print_table(("name", "words", "dimensions", "what", "licence", "where"), rows)


def _where(model: "PretrainedModel") -> str:
    if model.download is None:
        return model.source
    size = f" ({model.download.size / 1e9:.1f} GB)" if model.download.size else ""
    return f"can be downloaded{size}"


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of known vectors.", show_default=False)],
    path: Place = None,
    again: Again = False,
    json: Json = False,
) -> None:
    """Download vectors that have a name, or say with --path where their file is.

    \b
    tfcr embeddings fetch wglove-50
    """
    from tfcr.embeddings.pretrained import fetch_pretrained

    with progress_bar(f"fetching {name}", in_bytes=True) as progress:
        file = fetch_pretrained(name, path, again=again, progress=progress, tell=note)
    if json:
        print_json({"name": name, "file": str(file)})
    else:
        print(f"{name} is ready: {file}. Next: tfcr embeddings info {name}")


@app.command()
@with_options
def info(
    vectors: Source,
    reading: Reading,
    data: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--data", help="Texts, to see how many of their words have a vector."),
    ] = None,
    json: Json = False,
) -> None:
    """Tell what a vector file holds and, with --data, how much of a corpus it covers.

    \b
    tfcr embeddings info glove.6B.100d.txt --data tickets.csv
    """
    from tfcr.data.sources import load_texts
    from tfcr.embeddings import Embeddings
    from tfcr.text.class_counts import ClassCounts

    loaded = Embeddings.load(vectors)
    facts: dict[str, object] = {
        "name": loaded.name,
        "words": len(loaded),
        "dimensions": loaded.dimensions,
        "left out, not UTF-8": loaded.report.not_utf8,
        "left out, repeated": loaded.report.repeated,
    }
    if data:
        texts, how = load_texts(data, reading.options(), reading.path)
        note(how)
        coverage = loaded.coverage(ClassCounts.from_texts(texts, ["text"] * len(texts)))
        facts |= {"share of the words covered": coverage.words, "share of the tokens covered": coverage.tokens}
    if json:
        print_json(facts)
    else:
        print_table(("", ""), list(facts.items()))


@app.command()
def convert(vectors: Source, output: Output) -> None:
    """Write vectors in another format.

    \b
    tfcr embeddings convert glove.6B.100d.txt -o glove.bin
    """
    from tfcr.embeddings import Embeddings

    loaded = Embeddings.load(vectors)
    loaded.save(output)
    print(f"{len(loaded):,} vectors of {loaded.dimensions} dimensions written to {output}")


@app.command()
@with_options
def train(
    data: Data,
    output: Output,
    reading: Reading,
    dimensions: Annotated[int, typer.Option("--dimensions", help="Length of each vector.")] = 100,
    window: Annotated[int, typer.Option("--window", help="Words of context to either side.")] = 5,
    epochs: Annotated[int, typer.Option("--epochs", help="Times to go through the texts.")] = 10,
    skip_gram: Annotated[bool, typer.Option("--skip-gram", help="Instead of CBOW.")] = False,
    min_count: Annotated[int, typer.Option("--min-count", help="Rarer words get no vector.")] = 2,
    tokenizer: Annotated[str, typer.Option("--tokenizer", help="words, signs, paper, whitespace or jieba.")] = "words",
    seed: Annotated[int, typer.Option("--seed", help="Of all randomness.")] = 0,
) -> None:
    """Train word2vec on texts; labels are not needed.

    \b
    tfcr embeddings train tickets.csv --text body -o tickets.vec
    """
    from tfcr.data.sources import load_texts
    from tfcr.embeddings import Embeddings

    texts, how = load_texts(data, reading.options(), reading.path)
    note(how)
    with progress_bar("training word2vec") as progress:
        trained = Embeddings.train(
            texts,
            dimensions=dimensions,
            window=window,
            epochs=epochs,
            skip_gram=skip_gram,
            min_count=min_count,
            seed=seed,
            tokenizer=tokenizer,
            progress=progress,
        )
    trained.save(output)
    print(f"{len(trained):,} vectors of {trained.dimensions} dimensions written to {output}")
