"""``tfcr words``."""

from dataclasses import fields
from typing import Annotated, Any

import typer

from tfcr.cli.help import model_option, output_option
from tfcr.cli.options import Data, Json, Reading, refuse_given, with_options
from tfcr.cli.output import print_json, print_table

TopWords = dict[Any, list[tuple[str, float]]]
FOR_DATA_ONLY = ("scheme", "tokenizer", *(field.name for field in fields(Reading)))
"""Options that have no effect on a model."""


@with_options
def words(
    context: typer.Context,
    data: Data,
    reading: Reading,
    scheme: Annotated[
        str, model_option("--scheme", metavar="NAME", help="For data: weighting scheme, one of {schemes}.")
    ] = "tfcr-log",
    tokenizer: Annotated[
        str, model_option("--tokenizer", metavar="NAME", help="For data: one of {tokenizers}.")
    ] = "words",
    top: Annotated[int, output_option("--top", metavar="N", help="Number of words per class.", min=1)] = 20,
    json: Json = False,
) -> None:
    """List the top words of each class, of data or of a model.

    \b
    tfcr words tickets.csv --label queue --scheme tfcr --top 10
    tfcr words model
    """
    from tfcr.trained.format import is_model

    if is_model(data[0]):
        refuse_given(context, FOR_DATA_ONLY, f"along with the model {data[0]}, whose own words are shown")
        found = _of_model(data, top)
    else:
        found = _by_weight(reading, data, scheme, tokenizer, top)
    if json:
        print_json({str(label): [{"word": word, "value": value} for word, value in ws] for label, ws in found.items()})
    else:
        print_table(
            ("class", "words"), [(str(label), ", ".join(word for word, _ in ws)) for label, ws in found.items()]
        )


def _of_model(data: list[str], top: int) -> TopWords:
    from tfcr.errors import InputError
    from tfcr.trained.model import TrainedModel

    if len(data) > 1:
        raise InputError(f"found the model {data[0]} and {data[1]}; expected a model alone, or data alone")
    return TrainedModel.load(data[0]).top_words(top)


def _by_weight(reading: Reading, data: list[str], scheme: str, tokenizer: str, top: int) -> TopWords:
    from tfcr.schemes import resolve_scheme, top_weights
    from tfcr.text.class_counts import ClassCounts
    from tfcr.text.tokenizers import resolve_tokenizer

    resolve_scheme(scheme)
    resolve_tokenizer(tokenizer)
    corpus = reading.corpus(data)
    counts = ClassCounts.from_texts(corpus.texts, corpus.labels, tokenizer=tokenizer)
    return top_weights(scheme, counts, top)
