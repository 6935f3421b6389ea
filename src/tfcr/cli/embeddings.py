"""``tfcr embeddings list|info|fetch|convert|train|distill``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfcr.cli.help import Command, Group, input_option, model_option, output_option
from tfcr.cli.options import Again, Data, Json, Place, Reading, with_options
from tfcr.cli.output import if_stopped, note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from tfcr.embeddings.pretrained import PretrainedModel

app = typer.Typer(cls=Group, help="Word vectors: list, fetch, convert, train and distill them.", no_args_is_help=True)

Source = Annotated[str, typer.Argument(metavar="VECTORS", help="A vector file or a known name.", show_default=False)]
Output = Annotated[
    str,
    output_option(
        "--output",
        "-o",
        metavar="FILE",
        help="Vector file to write; its ending gives the format, such as .vec or .npy.",
        show_default=False,
    ),
]


@app.command("list", cls=Command)
def list_known(json: Json = False) -> None:
    """List the known vectors and whether they are here.

    \b
    tfcr embeddings list
    """
    from tfcr.embeddings import PRETRAINED
    from tfcr.embeddings.automatic import CANDIDATES
    from tfcr.embeddings.pretrained import is_ready

    if json:
        print_json([{"name": name, **model.facts(), "ready": is_ready(name)} for name, model in PRETRAINED.items()])
        return
    rows = [
        (name, model.words, model.dimensions, model.what, model.licence, "ready" if is_ready(name) else _where(model))
        for name, model in PRETRAINED.items()
    ]
    rows.append(("w2v", "", "", "word2vec trained on your own texts", "yours", "ready"))  # type: ignore[arg-type]
    best = f"the best of {', '.join(CANDIDATES)} and w2v for your texts"
    rows.append(("auto", "", "", best, "", "ready"))  # type: ignore[arg-type]
    print_table(("name", "words", "dimensions", "what", "licence", "where"), rows)


def _where(model: "PretrainedModel") -> str:
    if model.download is None:
        return model.source
    size = f" ({model.download.size / 1e9:.1f} GB)" if model.download.size else ""
    return f"can be downloaded{size}"


@app.command(cls=Command)
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A known name.", show_default=False)],
    path: Place = None,
    again: Again = False,
    json: Json = False,
) -> None:
    """Download known vectors, or register a copy with --path.

    \b
    tfcr embeddings fetch wglove-50
    """
    from tfcr.embeddings.pretrained import fetch_pretrained

    if_stopped("what was downloaded is kept; to resume, type the same command again")
    with progress_bar(in_bytes=True) as stages:
        file = fetch_pretrained(name, path, again=again, stages=stages, tell=note)
    if json:
        print_json({"name": name, "file": str(file)})
    else:
        print(f"{name} is ready: {file}. Next: tfcr embeddings info {name}")


@app.command(cls=Command)
@with_options
def info(
    vectors: Source,
    reading: Reading,
    data: Annotated[
        list[str] | None,
        input_option("--data", metavar="DATA", help="Texts whose coverage by the vectors is reported."),
    ] = None,
    json: Json = False,
) -> None:
    """Describe a vector file. With --data, report its coverage of a corpus.

    \b
    tfcr embeddings info glove.6B.100d.txt --data tickets.csv
    """
    from tfcr.embeddings import Embeddings
    from tfcr.text.class_counts import ClassCounts

    with progress_bar() as stages:
        stages.begin("loading vectors")
        loaded = Embeddings.load(vectors)
    facts: dict[str, object] = {
        "name": loaded.name,
        "words": len(loaded),
        "segmentation": loaded.segmentation,
        "dimensions": loaded.dimensions,
        "skipped, not UTF-8": loaded.report.not_utf8,
        "skipped, repeated": loaded.report.repeated,
    }
    if data:
        texts = reading.texts(data)
        coverage = loaded.coverage(ClassCounts.from_texts(texts, ["text"] * len(texts)))
        facts |= {"fraction of words covered": coverage.words, "fraction of tokens covered": coverage.tokens}
    if json:
        print_json(facts)
    else:
        print_table(("", ""), [(name, "whole words" if fact is None else fact) for name, fact in facts.items()])


@app.command(cls=Command)
def convert(vectors: Source, output: Output) -> None:
    """Write vectors in another format.

    \b
    tfcr embeddings convert glove.6B.100d.txt -o glove.bin
    """
    from tfcr.embeddings import Embeddings
    from tfcr.embeddings.formats import check_target

    check_target(output)
    if_stopped(f"{output} was not written; to start over, type the same command again")
    with progress_bar() as stages:
        stages.begin("loading vectors")
        loaded = Embeddings.load(vectors)
        stages.begin("writing vectors")
        loaded.save(output)
    print(f"{len(loaded):,} vectors of {loaded.dimensions} dimensions written to {output}")


@app.command(cls=Command)
@with_options
def train(
    data: Data,
    output: Output,
    reading: Reading,
    dimensions: Annotated[int, model_option("--dimensions", metavar="N", help="Length of each vector.")] = 100,
    window: Annotated[int, model_option("--window", metavar="N", help="Context words on either side.")] = 5,
    epochs: Annotated[int, model_option("--epochs", metavar="N", help="Number of passes over the texts.")] = 10,
    skip_gram: Annotated[bool, model_option("--skip-gram", help="Train skip-gram instead of CBOW.")] = False,
    min_count: Annotated[int, model_option("--min-count", metavar="N", help="Rarer words get no vector.")] = 2,
    tokenizer: Annotated[str, model_option("--tokenizer", metavar="NAME", help="One of {tokenizers}.")] = "words",
    seed: Annotated[int, model_option("--seed", metavar="N", help="Random seed.")] = 0,
) -> None:
    """Train word2vec on texts; labels are not needed.

    \b
    tfcr embeddings train tickets.csv --text body -o tickets.vec
    """
    from tfcr.embeddings import Embeddings
    from tfcr.embeddings.formats import check_target

    check_target(output)
    if_stopped(f"{output} was not written; to start over, type the same command again")
    with progress_bar() as stages:
        stages.begin("reading")
        texts = reading.texts(data)
        stages.begin("training word2vec")
        trained = Embeddings.train(
            texts,
            dimensions=dimensions,
            window=window,
            epochs=epochs,
            skip_gram=skip_gram,
            min_count=min_count,
            seed=seed,
            tokenizer=tokenizer,
            progress=stages.count,
        )
        stages.begin("saving")
        trained.save(output)
    print(f"{len(trained):,} vectors of {trained.dimensions} dimensions written to {output}")


@app.command(cls=Command)
def distill(
    encoder: Annotated[
        str,
        typer.Argument(
            metavar="ENCODER", help="Folder of a sentence encoder, or one of {encoders}.", show_default=False
        ),
    ],
    output: Annotated[
        str,
        output_option("--output", "-o", metavar="FILE", help="File to write; .safetensors.", show_default=False),
    ],
    dimensions: Annotated[int, model_option("--dimensions", metavar="N", help="Length of each vector.", min=1)] = 256,
) -> None:
    """Make a static table of sub-words from a sentence encoder.

    The extra distill is needed. Nothing is downloaded, and no code of the encoder's folder is run.

    \b
    tfcr embeddings distill minilm -o minilm.safetensors
    """
    import os

    from tfcr.embeddings import FORMATS
    from tfcr.embeddings.automatic import CANDIDATES
    from tfcr.embeddings.distill import distill as make_table
    from tfcr.embeddings.distill import encoder_folder
    from tfcr.embeddings.formats import check_target, format_for
    from tfcr.embeddings.pretrained import is_ready
    from tfcr.errors import EmbeddingsError

    check_target(output)
    if FORMATS[format_for(Path(output))].write_pieces is None:
        raise EmbeddingsError(f"found -o {output}; expected a name that ends in .safetensors: only it keeps sub-words")
    encoder_folder(encoder)
    os.environ["HF_HUB_OFFLINE"] = (
        "1"  # only files on this machine are read, and the libraries shall not ask for others
    )
    if_stopped(f"{output} was not written; to start over, type the same command again")
    with progress_bar() as stages:
        stages.begin("encoding sub-words")
        table = make_table(encoder, dimensions=dimensions, progress=stages.count)
        stages.begin("saving")
        table.save(output)
    print(f"{len(table):,} vectors of {table.dimensions} dimensions written to {output}")
    beside = f"{CANDIDATES[0]}+" if is_ready(CANDIDATES[0]) else ""
    print(f"Next: tfcr train DATA -o MODEL -e {beside}{output}")
