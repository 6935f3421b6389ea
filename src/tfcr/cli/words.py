"""``tfcr words``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.options import Data, Json, Reading, with_options
from tfcr.cli.output import print_json, print_table

if TYPE_CHECKING:
    from tfcr.corpus import Corpus

TopWords = dict[Any, list[tuple[str, float]]]


@with_options
def words(
    data: Data,
    reading: Reading,
    scheme: Annotated[str, typer.Option("--scheme", help="Weighting scheme, for data.")] = "tfcr-log",
    tokenizer: Annotated[str, typer.Option("--tokenizer", help="For data.")] = "words",
    top: Annotated[int, typer.Option("--top", help="Words for each class.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show the words that weigh most in each class of some data, or that drive a model's classes.

    \b
    tfcr words tickets.csv --label queue --scheme tfcr --top 10
    tfcr words model
    """
    from tfcr.loading import load
    from tfcr.storage import is_model

    found: TopWords = (
        load(data[0]).top_words(top) if is_model(data[0]) else _by_weight(reading.corpus(data), scheme, tokenizer, top)
    )
    if json:
        print_json({str(label): [{"word": word, "value": value} for word, value in ws] for label, ws in found.items()})
    else:
        print_table(("class", "words"), [(label, ", ".join(word for word, _ in ws)) for label, ws in found.items()])


def _by_weight(corpus: "Corpus", scheme: str, tokenizer: str, top: int) -> TopWords:
    from tfcr.counts import ClassCounts
    from tfcr.schemes import top_weights

    counts = ClassCounts.from_texts(corpus.texts, corpus.labels, tokenizer=tokenizer)
    return top_weights(scheme, counts, top)
