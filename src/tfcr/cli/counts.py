"""``tfcr counts make|merge``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tfcr.cli.help import Command, Group, model_option, output_option
from tfcr.cli.options import Data, Json, Reading, refuse_given, with_options
from tfcr.cli.output import if_stopped, note, print_json, print_line, print_table, progress_bar

if TYPE_CHECKING:
    from tfcr.data.labelled_stream import LabelledStream
    from tfcr.text.class_counts import ClassCounts

app = typer.Typer(cls=Group, help="Word counts by class: make them, and add them up.", no_args_is_help=True)

Output = Annotated[
    str, output_option("--output", "-o", metavar="FILE", help="File of counts to write.", show_default=False)
]


@app.command(cls=Command)
@with_options
def make(
    context: typer.Context,
    data: Data,
    output: Output,
    reading: Reading,
    tokenizer: Annotated[str, model_option("--tokenizer", metavar="NAME", help="One of {tokenizers}.")] = "words",
    json: Json = False,
) -> None:
    """Count the words of labelled texts by class; no text is kept.

    \b
    tfcr counts make tickets.csv --text body --label queue -o tickets.counts
    tfcr words tickets.counts
    """
    from tfcr.text.class_counts import ClassCounts
    from tfcr.text.stored_counts import check_target
    from tfcr.text.tokenizers import resolve_tokenizer

    refuse_given(context, ("group",), "but it is for cross-validation")
    resolve_tokenizer(tokenizer)
    check_target(output)
    if_stopped(f"{output} was not written; to start over, type the same command again")
    with progress_bar() as stages:
        stages.begin("reading")
        with reading.stream(data) as stream:
            for line in stream.notes:
                note(line)
            stages.begin("counting")
            counts = ClassCounts.total(_counted(stream, tokenizer))
        counts.save(output)
    _report(counts, output, json=json)


@app.command(cls=Command)
def merge(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Files that tfcr counts make wrote.", show_default=False)
    ],
    output: Output,
    json: Json = False,
) -> None:
    """Add up files of counts; their order does not matter.

    \b
    tfcr counts merge monday.counts tuesday.counts -o week.counts
    """
    from tfcr.text.stored_counts import check_target, total_of_files

    _refuse_repeated(files)
    check_target(output)
    if_stopped(f"{output} was not written; to start over, type the same command again")
    with progress_bar() as stages:
        stages.begin("adding up")
        counts = total_of_files(files)
        counts.save(output)
    _report(counts, output, json=json)


def _counted(stream: "LabelledStream", tokenizer: str) -> "Iterator[ClassCounts]":
    """Count the pieces of files one by one; together they need not fit into memory."""
    from tfcr.text.class_counts import ClassCounts
    from tfcr.text.label_numbers import LabelNumbers

    for piece in stream:
        numbers = LabelNumbers()  # which takes lists of 0 and 1 for labels, whatever else is in this piece
        numbers.add(piece.labels)
        yield ClassCounts.from_texts(piece.texts, numbers.labels(), tokenizer=tokenizer)


def _refuse_repeated(files: list[str]) -> None:
    """Refuse a file that is given twice: its documents would count twice."""
    from pathlib import Path

    from tfcr.errors import InputError

    seen: set[Path] = set()
    for file in files:
        path = Path(file).resolve()
        if path in seen:
            raise InputError(f"found {file} twice; expected each file of counts once")
        seen.add(path)


def _report(counts: "ClassCounts", output: str, *, json: bool) -> None:
    classes = list(zip(counts.classes.tolist(), counts.class_documents.tolist(), strict=True))
    if json:
        facts = {
            "counts": output,
            "documents": counts.n_documents,
            "tokens": counts.n_occurrences,
            "words": len(counts.words),
            "classes": {str(label): size for label, size in classes},
            "tokenizer": counts.tokenizer,
        }
        print_json({name: _whole(fact) for name, fact in facts.items()})
        return
    print_table(("class", "documents"), [(str(label), _whole(size)) for label, size in classes])
    print()
    print(f"{counts.n_documents:,.12g} documents, {counts.n_occurrences:,.12g} tokens, {len(counts.words):,} words")
    print_line(f"Saved to {output}. Next: tfcr words {output}")


def _whole(number: object) -> object:
    """Return a count without a decimal point, unless weights made it a fraction; also those of a dict."""
    if isinstance(number, dict):
        return {name: _whole(value) for name, value in number.items()}
    return int(number) if isinstance(number, float) and number.is_integer() else number
