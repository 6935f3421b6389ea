"""``tfcr export``."""

from dataclasses import fields
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.help import evaluation_option, output_option
from tfcr.cli.options import Json, Model, Reading, refuse_given, with_options
from tfcr.cli.output import if_stopped, note, print_json, printable

if TYPE_CHECKING:
    from tfcr.data import Corpus
    from tfcr.trained.model import TrainedModel
    from tfcr.trained.pruning import Pruned


@with_options
def export(
    context: typer.Context,
    model: Model,
    reading: Reading,
    html: Annotated[
        str | None,
        output_option(
            "--html", metavar="FILE", help="Page that classifies and explains in the browser, without a server."
        ),
    ] = None,
    json_table: Annotated[
        str | None,
        output_option("--json-table", metavar="FILE", help="The table alone, as JSON; docs/export.md describes it."),
    ] = None,
    max_size: Annotated[
        str,
        output_option("--max-size", metavar="SIZE", help="The terms that matter least are left out of a larger file."),
    ] = "5MB",
    keep_private: Annotated[
        bool,
        output_option("--keep-private", help="Keep terms that look like e-mail addresses, phone or card numbers."),
    ] = False,
    data: Annotated[
        list[str] | None,
        evaluation_option(
            "--data",
            metavar="DATA",
            help="Labelled texts, not those of training, to measure what the smaller size costs; repeat for several.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a model as one page that needs no server.

    \b
    tfcr export model --html classifier.html --data test.csv
    """
    from tfcr.errors import InputError
    from tfcr.system.files import write_file
    from tfcr.system.hardware import size_in_bytes
    from tfcr.trained.export_html import export_page
    from tfcr.trained.model import TrainedModel
    from tfcr.trained.pruning import prune
    from tfcr.trained.table_json import check_exportable, table_json

    made = {"html": export_page, "json_table": table_json}
    files = {kind: Path(path) for kind, path in (("html", html), ("json_table", json_table)) if path is not None}
    _check_files(files)
    if not data:
        refuse_given(context, [field.name for field in fields(Reading)], "without --data, which it is for")
    most = size_in_bytes(max_size, "--max-size ", "5MB")
    if_stopped("no file was written; to start over, type the same command again")
    trained = TrainedModel.load(model)
    check_exportable(trained.tokenizer)
    corpus = (
        reading.corpus(data, trained.training, trained.classes.tolist(), several=trained.decision.several)
        if data
        else None
    )
    largest = made[next(iter(files))]  # the page holds the table
    try:
        pruned = prune(trained, most, keep_private=keep_private, size=lambda some: len(largest(some).encode()))
    except InputError as error:
        raise InputError(f"{model}: {error}") from None
    measured = None if corpus is None else _measured(trained, pruned.model, corpus)
    contents = {path: made[kind](pruned.model).encode() for kind, path in files.items()}
    for number, (path, content) in enumerate(contents.items(), 1):
        write_file(path, content)
        if_stopped(f"written: {', '.join(map(str, [*contents][:number]))}; to write all, type the same command again")
    found = _described(trained, pruned, files, measured)
    if json:
        print_json(found)
    else:
        _print(found)


def _check_files(files: dict[str, Path]) -> None:
    """Refuse, before any long work, files that cannot be written."""
    from tfcr.errors import InputError
    from tfcr.system.files import check_writable

    if not files:
        raise InputError("found no file to write; expected one: tfcr export MODEL --html FILE, or --json-table FILE")
    if len(set(map(Path.resolve, files.values()))) < len(files):
        raise InputError(f"found {files['html']} for both files; give each its own name")
    for path in files.values():
        if path.is_dir() or not path.absolute().parent.is_dir():
            what = "is a folder" if path.is_dir() else f"is in {path.parent}, which is not a folder"
            raise InputError(
                f"found {path}, which {what}; expected the name of a file to write, in a folder that exists"
            )
        check_writable(path)


def _measured(full: "TrainedModel", pruned: "TrainedModel", corpus: "Corpus") -> dict[str, Any]:
    """Return how both models score on labelled texts, and how often they agree."""
    import numpy as np

    from tfcr.evaluation import evaluate
    from tfcr.text.label_sets import LabelSets

    before, after = evaluate(full, corpus), evaluate(pruned, corpus)
    if isinstance(before.predicted, LabelSets) and isinstance(after.predicted, LabelSets):
        same = (before.predicted.members == after.predicted.members).all(axis=1)
    else:
        same = np.asarray(before.predicted == after.predicted)
    return {
        "texts": len(corpus),
        "same_label": float(same.mean()),
        "macro_f1_before": before.macro_f1,
        "macro_f1_after": after.macro_f1,
        **({} if before.seen is None else {"seen_in_training": before.seen.texts}),
    }


def _described(
    full: "TrainedModel", pruned: "Pruned", files: dict[str, Path], measured: dict[str, Any] | None
) -> dict[str, Any]:
    def terms(model: "TrainedModel") -> dict[str, int]:
        vocabulary, pieces = model.table.vocabulary, sum(len(some.pieces) for some in model.table.pieces)
        return {"words": vocabulary.n_words, "bigrams": len(vocabulary.bigrams), "pieces": pieces}

    return {
        "files": {str(path): path.stat().st_size for path in files.values()},
        "terms": terms(pruned.model),
        "terms_of_model": terms(full),
        "private": pruned.private,
        "kept_influence": pruned.kept_influence,
        "measured": measured,
    }


def _print(found: dict[str, Any]) -> None:
    from tfcr.system.limits import in_words

    for path, size in found["files"].items():
        print(f"{printable(path)}: {in_words(size)}")
    names = {"pieces": "parts of unseen words"}
    kept = [
        f"{found['terms'][kind]:,} of {size:,} {names.get(kind, kind)}"
        for kind, size in found["terms_of_model"].items()
        if size
    ]
    print(f"kept {', '.join(kept)}")
    for kind, count in found["private"].items():
        note(f"left out {count:,} terms that look like {kind}; --keep-private keeps them")
    measured = found["measured"]
    if measured is None:
        kept = floor(1e4 * found["kept_influence"]) / 1e4  # 100 % means all
        print(f"kept {kept:.2%} of what all of them add to the variance of scores, by estimate")
        if found["terms"] != found["terms_of_model"]:
            note("what that costs in accuracy is not known; add --data DATA to measure it on labelled texts")
        return
    before, after = measured["macro_f1_before"], measured["macro_f1_after"]
    print(f"same label as the model for {measured['same_label']:.2%} of {measured['texts']:,} texts")
    print(f"macro-F1 {after:.4f}, of the model {before:.4f}: {100 * (after - before):+.2f} points")
    if measured.get("seen_in_training"):
        note(f"the model was trained on {measured['seen_in_training']:,} of these texts: both scores may be too high")
