"""``tfcr evaluate``."""

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.help import model_option, output_option
from tfcr.cli.options import (
    SCHEME_HELP,
    Data,
    Folds,
    Json,
    MinClassSize,
    Reading,
    Training,
    refuse_given,
    with_options,
)
from tfcr.cli.output import note, print_json, print_table, progress_bar, warn

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier
    from tfcr.data import Corpus
    from tfcr.evaluation import Evaluation
    from tfcr.system.progress import Stages
    from tfcr.trained.seen import Seen

FOR_DATA_ONLY = ("scheme", "folds", "min_class_size", "group", *(field.name for field in fields(Training)))
"""Options for training and cross-validation; a model is trained already."""


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
    predictions: Annotated[
        str | None,
        output_option(
            "--predictions", metavar="FILE", help="Write the out-of-fold predictions, with row numbers, to this file."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Cross-validate a classifier, or test a trained model.

    \b
    tfcr evaluate tickets.csv --label queue --cv 10
    tfcr evaluate tickets.csv --label queue --scheme tfcr --scheme tfcr-log
    tfcr evaluate model newer-tickets.csv
    """
    from tfcr.data.writers import check_target
    from tfcr.evaluation import compare_with_majority
    from tfcr.trained.format import is_model

    check_target(predictions)
    if is_model(data[0]):
        refuse_given(context, FOR_DATA_ONLY, f"along with the model {data[0]}, which is trained already")
        corpus, results, balanced = _of_model(data[0], reading, data[1:])
    else:
        models = _models(training, scheme or [], data[0])
        with progress_bar() as stages:
            stages.begin("reading")
            corpus, results = _cross_validated(
                models, reading.corpus(data), folds, min_class_size, training.seed, stages
            )
        balanced = all(model.class_weight == "balanced" for model in models.values())
    if predictions:
        _write_predictions(predictions, corpus, results)
    if json:
        print_json([_summary(name, result) for name, result in results.items()])
    else:
        _print(results, "scheme" if scheme else "preset")
    best = max(results.values(), key=lambda result: result.macro_f1)
    for line in compare_with_majority(best, balanced=balanced):
        note(line)


def _of_model(path: str, reading: Reading, data: list[str]) -> "tuple[Corpus, dict[str, Evaluation], bool]":
    """Return the documents, the evaluation, and whether the model gives classes equal weight."""
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
        result = evaluate_model(model, corpus)
    if result.seen and result.seen.texts:
        warn(_seen_warning(result.seen, len(corpus)))
    return corpus, {path: result}, model.settings.get("class_weight") == "balanced"


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
) -> "tuple[Corpus, dict[str, Evaluation]]":
    from tfcr.embeddings.pretrained import AUTO
    from tfcr.evaluation import compare, plan_folds, trains_vectors

    plan = plan_folds(corpus, folds, min_class_size=min_class_size)
    for line in plan.notes:
        note(line)
    if any(model.embeddings != AUTO and trains_vectors(model) for model in models.values()):
        note("word2vec is trained once on the texts of all folds, without their labels")
    return plan.corpus, compare(models, plan.corpus, folds=plan.folds, seed=seed, stages=stages, note=note)


def _summary(name: str, result: "Evaluation") -> dict[str, Any]:
    from tfcr.evaluation import majority_class, most_frequent_class

    trivial = majority_class(result)
    most_frequent = trivial and {
        "label": most_frequent_class(result.labels)[0],
        "macro_f1": trivial.macro_f1,
        "accuracy": trivial.accuracy,
    }
    return {
        "name": name,
        "macro_f1": result.macro_f1,
        "std": result.std,
        "macro_f1_pooled": result.pooled_macro_f1,
        **({"micro_f1": result.micro_f1} if result.several else {}),
        "accuracy": result.accuracy,
        "calibration_error": result.reliability().expected_error,
        "folds": list(result.fold_scores),
        "most_frequent_class": most_frequent,
        "classes": [vars(score) for score in result.per_class()],
        **({} if result.seen is None else {"seen_in_training": result.seen.texts}),
    }


def _print(results: "dict[str, Evaluation]", kind: str) -> None:
    from tfcr.evaluation import majority_class, most_frequent_class

    if len(results) == 1:
        result = next(iter(results.values()))
        rows = [(str(s.label), s.precision, s.recall, s.f1, s.documents) for s in result.per_class()]
        print_table(("class", "precision", "recall", "F1", "documents"), rows)
        print()
    first = next(iter(results.values()))
    trivial = majority_class(first)
    always = f"(always {most_frequent_class(first.labels)[0]})"
    shown = results if trivial is None else {**results, always: trivial}
    columns: dict[str, Callable[[Evaluation], float]] = {"macro-F1": lambda result: result.macro_f1}
    if len(first.fold_scores) > 1:
        columns = {
            "macro-F1, mean of folds": lambda result: result.macro_f1,
            "std": lambda result: result.std,
            "pooled": lambda result: result.pooled_macro_f1,
        }
    if first.several:
        columns["micro-F1"] = lambda result: result.micro_f1
    columns["accuracy"] = lambda result: result.accuracy
    head = "" if len(first.fold_scores) == 1 else kind
    print_table((head, *columns), [(name, *(column(r) for column in columns.values())) for name, r in shown.items()])
    print()
    print_table(
        (head, "expected calibration error"), [(name, r.reliability().expected_error) for name, r in results.items()]
    )


def _write_predictions(path: str, corpus: "Corpus", results: "dict[str, Evaluation]") -> None:
    import polars as pl

    from tfcr.data.writers import Style, write_frame
    from tfcr.predict_table import OUTPUT_SEPARATOR, label_columns

    rows = corpus.rows or list(range(1, len(corpus) + 1))
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
