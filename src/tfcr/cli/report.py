"""``tfcr report``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.evaluation import Found
from tfcr.cli.help import evaluation_option, output_option
from tfcr.cli.options import Model, Reading, refuse_given, with_options
from tfcr.cli.output import note, progress_bar
from tfcr.cli.pages import check_page, write_page

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier
    from tfcr.data import Corpus
    from tfcr.evaluation import Evaluation, Figures
    from tfcr.report.model_page import Tested
    from tfcr.system.progress import Stages
    from tfcr.trained.model import TrainedModel

SEEN = 0.5
"""If the model was trained on a larger share of the texts, its settings are cross-validated instead."""
CURVE = (0.1, 0.25, 0.5, 1.0)
"""Parts of the training documents of a learning curve."""


@with_options
def report(
    context: typer.Context,
    model: Model,
    reading: Reading,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATA]...", help="Labelled texts to show the model's mistakes on.", show_default=False),
    ] = None,
    output: Annotated[
        str, output_option("--output", "-o", metavar="FILE", help="Page to write, an .html file.")
    ] = "report.html",
    folds: Annotated[
        int,
        evaluation_option(
            "--cv", metavar="N", help="Folds, if the texts are those that the model was trained on.", min=2
        ),
    ] = 5,
    curve: Annotated[
        bool,
        evaluation_option(
            "--curve", help="Add a learning curve of these settings on these texts: would more help? Trains four times."
        ),
    ] = False,
) -> None:
    """Write a page on how good a model is, and what it confuses. Send it to anyone: it needs nothing else.

    With labelled texts it shows mistakes and likely label errors too. If the model was trained on these texts, its
    settings are cross-validated on them.

    \b
    tfcr report model
    tfcr report model tickets.csv -o report.html
    """
    from tfcr.errors import InputError
    from tfcr.evaluation import Figures
    from tfcr.report.model_page import model_page
    from tfcr.trained.model import TrainedModel

    check_page(output, "-o")
    if not data:
        given = ("folds", "curve", *Reading.__dataclass_fields__)
        refuse_given(context, given, f"without data, but it is for labelled texts: tfcr report {model} DATA")
    loaded = TrainedModel.load(model)
    tested, figures = None, None
    if data:
        with progress_bar() as stages:
            stages.begin("reading")
            several = loaded.decision.several
            corpus = reading.corpus(data, loaded.training, loaded.classes.tolist(), several=several)
            if not len(corpus):
                raise InputError(f"{corpus.name}: found no labelled text; expected some")
            _check_labels(corpus, loaded.classes.tolist())
            tested, figures = _tested(loaded, model, corpus, folds, stages, curve=curve)
    elif (kept := loaded.measured()) is not None:
        figures = Figures.from_json(kept)
    write_page(output, model_page(loaded, Path(model).resolve().name, figures, tested))
    note(f"written to {output}")


def _tested(
    model: "TrainedModel", path: str, corpus: "Corpus", folds: int, stages: "Stages", *, curve: bool
) -> "tuple[Tested, Figures]":
    """Test the model on texts that it has not seen, or cross-validate its settings on those that it has."""
    from tfcr.evaluation import evaluate
    from tfcr.report.model_page import Tested

    trained_on = model.training_texts()
    seen = None if trained_on is None else trained_on.count(corpus.texts)
    balanced = model.settings.get("class_weight") == "balanced"
    if seen is not None and seen.texts > SEEN * len(corpus):
        note(
            f"the model was trained on {seen.texts:,} of these {len(corpus):,} texts: its settings are cross-validated"
        )
        corpus, result, how = _cross_validated(model, path, corpus, folds, stages)
    else:
        stages.begin("predicting")
        result, how = evaluate(model, corpus, explain=True), f"those of {corpus.name}, which it was not trained on"
    found = Found(corpus, {path: result}, balanced, model.tokenizer)
    [figures] = found.figures().values()
    points = _learning_curve(model, corpus, stages) if curve else ()
    return Tested(corpus, result, found.diagnosis(), how, points), figures


def _cross_validated(
    model: "TrainedModel", path: str, corpus: "Corpus", folds: int, stages: "Stages"
) -> "tuple[Corpus, Evaluation, str]":
    from tfcr.evaluation import compare, plan_folds
    from tfcr.report.model_page import how_cross_validated

    plan = plan_folds(corpus, folds)
    for line in plan.notes:
        note(line)
    found = compare(
        {path: _untrained(model, plan.corpus)}, plan.corpus, folds=plan.folds, stages=stages, note=note, explain=True
    )
    return plan.corpus, found[path], how_cross_validated(plan.folds)


def _learning_curve(model: "TrainedModel", corpus: "Corpus", stages: "Stages") -> list[tuple[int, float]]:
    from tfcr.evaluation import learning_curve

    return learning_curve(_untrained(model, corpus), corpus, CURVE, stages=stages)


def _untrained(model: "TrainedModel", corpus: "Corpus") -> "TfcrClassifier":
    """Return a classifier with the settings of a model; thresholds for a precision are not needed here."""
    from tfcr.classifier import TfcrClassifier
    from tfcr.evaluation import for_part
    from tfcr.text.class_counts import check_targets

    classifier = TfcrClassifier.from_trained(model).set_params(precision=None)
    return for_part(classifier, model.classes, check_targets(corpus.labels, len(corpus)))


def _check_labels(corpus: "Corpus", classes: list[Any]) -> None:
    """Raise DataError if texts have labels, and none of them is a class of the model that they are for."""
    from tfcr.errors import DataError, shown_names

    found, known = sorted({*map(str, corpus.class_sizes())}), sorted({*map(str, classes)})
    if found and known and not {*found} & {*known}:
        raise DataError(
            f"{corpus.name}: found the labels {shown_names(found)}; expected those of the model, {shown_names(known)}; "
            "name another column with --label, or give what the labels mean with --label-map"
        )
