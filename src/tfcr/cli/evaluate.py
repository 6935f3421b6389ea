"""``tfcr evaluate``."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.evaluation import Found, as_json, print_scores, rows_of
from tfcr.cli.help import evaluation_option, model_option, output_option
from tfcr.cli.options import (
    SCHEME_HELP,
    Dask,
    Data,
    Folds,
    Json,
    MinClassSize,
    Reading,
    Training,
    dask_places,
    refuse_given,
    with_options,
)
from tfcr.cli.output import alarm, note, print_json, progress_bar, warn

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier
    from tfcr.cluster import DaskPlaces
    from tfcr.data import Corpus
    from tfcr.evaluation import Evaluation
    from tfcr.system.progress import Stages
    from tfcr.trained.seen import Seen

FOR_DATA_ONLY = (
    "scheme",
    "dask",
    "folds",
    "min_class_size",
    "group",
    "time",
    *(field.name for field in fields(Training)),
)
"""Options for training and cross-validation; a model is trained already."""
BAR_MISSED = 1
"""The exit status if the score is below what the user asked for."""


@with_options
def evaluate(
    context: typer.Context,
    data: Data,
    reading: Reading,
    training: Training,
    scheme: Annotated[
        list[str] | None,
        model_option(
            "--scheme",
            metavar="NAME",
            help=f"{SCHEME_HELP} Repeat to compare several; all compares every scheme.",
            show_default="tfcr-log",
        ),
    ] = None,
    folds: Folds = 10,
    min_class_size: MinClassSize = 0,
    time: Annotated[
        str | None,
        evaluation_option(
            "--time",
            metavar="COLUMN",
            help="Train on the older 80 % by this column of dates, times or numbers, and test on the newest 20 %.",
        ),
    ] = None,
    min_macro_f1: Annotated[
        float | None,
        evaluation_option("--min-macro-f1", metavar="X", help="Exit with status 1 if macro-F1 is below X."),
    ] = None,
    dask: Dask = None,
    predictions: Annotated[
        str | None,
        output_option(
            "--predictions", metavar="FILE", help="Write the out-of-fold predictions, with row numbers, to this file."
        ),
    ] = None,
    plot: Annotated[
        str | None,
        output_option(
            "--plot",
            metavar="FOLDER",
            help="Draw confusion.png, reliability.png and decided.png (share decided against share right) here.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Cross-validate a classifier, or test a trained model. Show what to look at next: mistakes, labels, duplicates.

    \b
    tfcr evaluate tickets.csv --label queue --cv 10
    tfcr evaluate tickets.csv --label queue --scheme tfcr --scheme tfcr-log
    tfcr evaluate tickets.csv --label queue --time date --plot pictures
    tfcr evaluate model newer-tickets.csv --min-macro-f1 0.8
    """
    from tfcr.data.writers import check_target
    from tfcr.evaluation import compare_with_majority
    from tfcr.system.parameters import number
    from tfcr.trained.format import is_model

    check_target(predictions)
    if min_macro_f1 is not None:
        number("--min-macro-f1", 0, 1).check(min_macro_f1)
    if time is not None:
        refuse_given(context, ("folds", "group", "dask"), f"along with --time {time}, but it is for cross-validation")
    _check_plot(plot, scheme or [])
    if is_model(data[0]):
        refuse_given(context, FOR_DATA_ONLY, f"along with the model {data[0]}, which is trained already")
        found = _of_model(data[0], reading, data[1:])
    else:
        models = _models(training, scheme or [], data[0])
        with dask_places(dask) as places, progress_bar() as stages:
            stages.begin("reading")
            corpus = reading.corpus(data, time=time)
            if time is None:
                found = _cross_validated(models, corpus, folds, min_class_size, training.seed, stages, places)
            else:
                found = _on_newest(models, corpus, min_class_size, stages)
    if predictions:
        _write_predictions(predictions, found.corpus, found.results)
    if json:
        print_json(as_json(found))
    else:
        print_scores(found, "scheme" if scheme else "preset")
    if plot is not None and found.only is not None:
        _draw(plot, found.only)
    best = max(found.results.values(), key=lambda result: result.macro_f1)
    for line in compare_with_majority(best, balanced=found.balanced):
        note(line)
    if min_macro_f1 is not None and best.macro_f1 < min_macro_f1:
        alarm(f"macro-F1 {best.macro_f1:.4f} is below {min_macro_f1:g}, which --min-macro-f1 asks for")
        raise typer.Exit(BAR_MISSED)


def _check_plot(folder: str | None, schemes: list[str]) -> None:
    """Refuse, before any long work, pictures that cannot be drawn."""
    from pathlib import Path

    from tfcr.errors import InputError

    if folder is None:
        return
    import tfcr.report  # noqa: F401 - raises MissingExtraError

    if len(schemes) > 1 or schemes == ["all"]:
        raise InputError("found --plot along with several schemes; expected one classifier: give one --scheme, or none")
    if not folder or (Path(folder).exists() and not Path(folder).is_dir()):
        raise InputError(f"found --plot {folder!r}, which is not a folder; expected one, or a new name")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"found --plot {folder}, which cannot be made: {error.strerror}; give another folder"
        ) from None


def _draw(folder: str, result: "Evaluation") -> None:
    from pathlib import Path

    from tfcr.report import draw_evaluation
    from tfcr.system.files import write_file

    for name, content in draw_evaluation(result).items():
        write_file(Path(folder) / f"{name}.png", content)
        note(f"drawn: {Path(folder) / name}.png")


def _of_model(path: str, reading: Reading, data: list[str]) -> Found:
    from tfcr.errors import InputError
    from tfcr.evaluation import evaluate as evaluate_model
    from tfcr.trained.model import TrainedModel

    if not data:
        raise InputError(f"found the model {path} and no data; give labelled texts: tfcr evaluate {path} DATA")
    model = TrainedModel.load(path)
    with progress_bar() as stages:
        stages.begin("reading")
        corpus = reading.corpus(data, model.training, model.classes.tolist(), several=model.decision.several)
        stages.begin("predicting")
        result = evaluate_model(model, corpus, explain=True)
    if result.seen and result.seen.texts:
        warn(_seen_warning(result.seen, len(corpus)))
    return Found(corpus, {path: result}, model.settings.get("class_weight") == "balanced", model.tokenizer)


def _seen_warning(seen: "Seen", n_texts: int) -> str:
    advice = "give texts that it was not trained on, or cross-validate: tfcr evaluate DATA"
    about = "" if seen.is_exact else "about "
    if seen.texts == n_texts:
        return f"the model was trained on {about}all {n_texts} of these texts; its score is no news: {advice}"
    return (
        f"the model was trained on {about}{seen.texts} of these {n_texts} texts "
        f"({seen.texts / n_texts:.1%}), which flatter its score; {advice}"
    )


def _models(training: Training, schemes: list[str], dataset: str) -> "dict[str, TfcrClassifier]":
    from tfcr.schemes import SCHEMES

    names = list(SCHEMES) if schemes == ["all"] else schemes
    if not names:
        return {training.preset: training.model(None, dataset)}
    return {name: training.model(name, dataset) for name in names}


def _cross_validated(
    models: "dict[str, TfcrClassifier]",
    corpus: "Corpus",
    folds: int,
    min_class_size: int,
    seed: int,
    stages: "Stages",
    places: "DaskPlaces | None",
) -> Found:
    from tfcr.embeddings.pretrained import AUTO
    from tfcr.evaluation import compare, for_part, plan_folds, trains_vectors
    from tfcr.text.class_counts import check_targets

    plan = plan_folds(corpus, folds, min_class_size=min_class_size)
    for line in plan.notes:
        note(line)
    if any(model.embeddings != AUTO and trains_vectors(model) for model in models.values()):
        note("word2vec is trained once on the texts of all folds, without their labels")
    labels = [check_targets(some.labels, len(some)) for some in (corpus, plan.corpus)]
    models = {name: for_part(model, *labels) for name, model in models.items()}
    results = compare(
        models,
        plan.corpus,
        folds=plan.folds,
        seed=seed,
        stages=stages,
        note=note,
        explain=len(models) == 1,
        elsewhere=None if places is None else places.each,
    )
    return Found(plan.corpus, results, *_shared(models))


def _on_newest(models: "dict[str, TfcrClassifier]", corpus: "Corpus", min_class_size: int, stages: "Stages") -> Found:
    from tfcr.evaluation import compare_on_newest, plan_folds, split_by_time

    if min_class_size:
        plan = plan_folds(corpus, 2, min_class_size=min_class_size)
        corpus = plan.corpus
        for line in plan.notes:
            note(line)
    split = split_by_time(corpus)
    for line in split.notes():
        note(line)
    results = compare_on_newest(models, corpus, split, stages=stages, note=note, explain=len(models) == 1)
    return Found(corpus.take(split.newest), results, *_shared(models), corpus, split)


def _shared(models: "dict[str, TfcrClassifier]") -> tuple[bool, Any]:
    """Return whether all classifiers give classes equal weight, and the tokeniser of the first."""
    balanced = all(model.class_weight == "balanced" for model in models.values())
    return balanced, next(iter(models.values())).tokenizer


def _write_predictions(path: str, corpus: "Corpus", results: "dict[str, Evaluation]") -> None:
    import polars as pl

    from tfcr.data.writers import Style, write_frame
    from tfcr.predict_table import OUTPUT_SEPARATOR, label_columns

    rows = rows_of(corpus)
    frames = []
    for name, result in results.items():
        label, _ = label_columns(result.labels, result.confidences)
        predicted, probability = label_columns(result.predicted, result.confidences)
        frame = pl.DataFrame({"row": rows, "scheme": [name] * len(rows), "fold": (result.folds + 1).tolist()})
        frames.append(frame.with_columns(label.alias("label"), predicted, probability))
    style = Style(
        fixed=("probability",),
        lists=("label", "predicted", "probability") if corpus.several else (),
        label_separator=corpus.label_separator or OUTPUT_SEPARATOR,
    )
    write_frame(pl.concat(frames), path, "csv", style)
