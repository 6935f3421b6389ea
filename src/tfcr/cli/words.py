"""``tfcr words``."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.help import model_option, output_option
from tfcr.cli.options import Data, Json, Reading, refuse_given, with_options
from tfcr.cli.output import note, print_json, print_table

if TYPE_CHECKING:
    from tfcr.schemes import ContestedWord
    from tfcr.text.class_counts import ClassCounts

TopWords = dict[Any, list[tuple[str, float]]]
FOR_DATA_ONLY = ("tokenizer", *(field.name for field in fields(Reading)))
"""Options that have no effect on a model, or on counts."""
DEFAULT_SCHEME = "tfcr-log"


@with_options
def words(
    context: typer.Context,
    data: Data,
    reading: Reading,
    scheme: Annotated[
        list[str] | None,
        model_option(
            "--scheme",
            metavar="NAME",
            help="Weighting scheme, one of {schemes}. Repeat to compare several; all compares every scheme. Of a "
            "model, the weights of its training texts.",
            show_default="tfcr-log; of a model, what it learned",
        ),
    ] = None,
    tokenizer: Annotated[
        str, model_option("--tokenizer", metavar="NAME", help="For data: one of {tokenizers}.")
    ] = "words",
    contested: Annotated[
        bool, output_option("--contested", help="List the words that two classes fight over instead.")
    ] = False,
    top: Annotated[int, output_option("--top", metavar="N", help="Number of words per class.", min=1)] = 20,
    plot: Annotated[
        str | None,
        output_option(
            "--plot", metavar="FILE", help="Draw the words as bars, 30 per class at most: a .png, .svg or .pdf file."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the top words of classes, of data, a model or counts.

    \b
    tfcr words tickets.csv --label queue --scheme tfcr --top 10
    tfcr words tickets.csv --label queue --scheme tfcr --scheme kld
    tfcr words model
    tfcr words model --contested
    tfcr words tickets.counts --scheme kld
    """
    from tfcr.errors import InputError
    from tfcr.text.stored_counts import is_counts_file
    from tfcr.trained.format import is_model

    schemes = _schemes(scheme)
    if contested and (len(schemes) > 1 or plot):
        raise InputError(
            "found --contested along with several schemes or --plot; expected it alone, or with one scheme"
        )
    if plot is not None:
        _check_picture(plot)
    if is_model(data[0]):
        refuse_given(context, FOR_DATA_ONLY, f"along with the model {data[0]}, whose own words are shown")
        found, fought = _of_model(data, schemes, top)
    elif is_counts_file(data[0]):
        refuse_given(context, FOR_DATA_ONLY, f"along with {data[0]}, whose words are counted already")
        found, fought = _of_counts(data, schemes or [DEFAULT_SCHEME], top)
    else:
        found, fought = _of_data(reading, data, schemes or [DEFAULT_SCHEME], tokenizer, top)
    if contested:
        _print_contested(fought, json=json)
        return
    if plot is not None:
        _draw(plot, found)
        note(f"drawn to {plot}")
    if json:
        shown = {name: _as_json(of_classes) for name, of_classes in found.items()}
        print_json(shown if len(shown) > 1 else next(iter(shown.values())))
    elif len(found) > 1:
        _print_side_by_side(found)
    else:
        rows = [(str(label), ", ".join(word for word, _ in ws)) for label, ws in next(iter(found.values())).items()]
        print_table(("class", "words"), rows)


def _schemes(given: list[str] | None) -> list[str]:
    """Return the schemes that are asked for, after checking them."""
    from tfcr.schemes import SCHEMES, resolve_scheme

    names = list(SCHEMES) if given == ["all"] else list(dict.fromkeys(given or []))
    for name in names:
        resolve_scheme(name)
    return names


def _of_model(data: list[str], schemes: list[str], top: int) -> "tuple[dict[str, TopWords], list[ContestedWord]]":
    from tfcr.errors import InputError
    from tfcr.trained.model import TrainedModel

    if len(data) > 1:
        raise InputError(f"found the model {data[0]} and {data[1]}; expected a model alone, or data alone")
    model = TrainedModel.load(data[0])
    if not schemes:
        return {"learned": model.top_words(top)}, model.contested_terms(top)
    counts = model.class_counts()
    if counts is None:
        raise InputError(
            f"found --scheme {schemes[0]}, and {data[0]}, which was saved without its counts; give the training data: "
            f"tfcr words DATA --scheme {schemes[0]}"
        )
    return _by_weight(counts, schemes, top)


def _of_counts(files: list[str], schemes: list[str], top: int) -> "tuple[dict[str, TopWords], list[ContestedWord]]":
    from tfcr.text.stored_counts import total_of_files

    return _by_weight(total_of_files(files), schemes, top)


def _of_data(
    reading: Reading, data: list[str], schemes: list[str], tokenizer: str, top: int
) -> "tuple[dict[str, TopWords], list[ContestedWord]]":
    from tfcr.text.class_counts import ClassCounts
    from tfcr.text.tokenizers import resolve_tokenizer

    resolve_tokenizer(tokenizer)
    corpus = reading.corpus(data)
    return _by_weight(ClassCounts.from_texts(corpus.texts, corpus.labels, tokenizer=tokenizer), schemes, top)


def _by_weight(
    counts: "ClassCounts", schemes: list[str], top: int
) -> "tuple[dict[str, TopWords], list[ContestedWord]]":
    """Return the words with the largest weights by each scheme, and those that two classes fight over by the first."""
    from tfcr.schemes import compute_weights, contested_words, top_weights

    weights = compute_weights(schemes[0], counts)
    fought = contested_words(weights, counts.classes.tolist(), counts.words.__getitem__, top)
    return {name: top_weights(name, counts, top) for name in schemes}, fought


def _as_json(found: TopWords) -> dict[str, Any]:
    return {str(label): [{"word": word, "value": value} for word, value in ws] for label, ws in found.items()}


def _print_side_by_side(found: dict[str, TopWords]) -> None:
    """Print a table for each class: the rank of a word, and the word at that rank by each scheme."""
    labels = list(dict.fromkeys(label for of_classes in found.values() for label in of_classes))
    for number, label in enumerate(labels):
        columns = {name: [word for word, _ in ws[label]] for name, ws in found.items() if label in ws}
        rows = [
            (rank + 1, *(words[rank] if rank < len(words) else "" for words in columns.values()))
            for rank in range(max(map(len, columns.values())))
        ]
        print_table(("rank", *columns), rows, title=str(label))
        if number + 1 < len(labels):
            print()


def _print_contested(fought: "list[ContestedWord]", *, json: bool) -> None:
    if json:
        print_json([{"word": word, "labels": labels, "values": values} for word, labels, values in fought])
    elif not fought:
        note("no word speaks for two classes")
    else:
        rows = [(word, str(labels[0]), values[0], str(labels[1]), values[1]) for word, labels, values in fought]
        print_table(("word", "speaks for", "by", "and for", "by"), rows)


def _check_picture(path: str) -> None:
    from pathlib import Path

    from tfcr.errors import DataError, InputError
    from tfcr.report.drawing import PICTURE_FORMATS
    from tfcr.system.limits import is_folder

    if Path(path).suffix[1:].lower() not in PICTURE_FORMATS:
        endings = ", ".join(f".{name}" for name in PICTURE_FORMATS)
        raise InputError(f"found --plot {path}; expected a file that ends in one of {endings}")
    if not is_folder(Path(path).parent):
        raise DataError(f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}")


def _draw(path: str, found: dict[str, TopWords]) -> None:
    from pathlib import Path

    from tfcr.report.word_bars import draw_words
    from tfcr.system.files import written_beside

    picture = draw_words(found, Path(path).suffix[1:].lower())
    with written_beside(Path(path)) as file:
        file.write(picture)
