"""``tfcr train``."""

from typing import Annotated

import typer

from tfcr.cli.help import evaluation_option, model_option, output_option
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
from tfcr.cli.output import if_stopped, note, print_json, print_table, progress_bar


@with_options
def train(
    context: typer.Context,
    data: Data,
    output: Annotated[
        str, output_option("--output", "-o", metavar="FOLDER", help="Folder for the model.", show_default=False)
    ],
    reading: Reading,
    training: Training,
    scheme: Annotated[
        str | None, model_option("--scheme", metavar="NAME", help=SCHEME_HELP, show_default="tfcr-log")
    ] = None,
    folds: Folds = 5,
    no_cv: Annotated[bool, evaluation_option("--no-cv", help="Skip the cross-validation.")] = False,
    min_class_size: MinClassSize = 0,
    no_text_hashes: Annotated[
        bool,
        output_option(
            "--no-text-hashes",
            help="Store no hashes of the training texts; evaluate will not notice when the model is scored on them.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Train a classifier on labelled texts and save it.

    \b
    tfcr train tickets.csv --text subject --text body --label queue -o model
    """
    from tfcr.evaluation import SAVING, train_and_measure
    from tfcr.trained.format import check_writable

    check_writable(output)
    if no_cv:
        refuse_given(context, ("folds", "group"), "along with --no-cv, but it is for cross-validation")
    model = training.model(scheme, data[0])
    if_stopped(f"no model was saved to {output}; to start over, type the same command again")
    with progress_bar() as stages:
        stages.begin("reading")
        corpus = reading.corpus(data)
        scores, notes = train_and_measure(
            model, corpus, folds=0 if no_cv else folds, min_class_size=min_class_size, stages=stages, note=note
        )
        stages.begin(SAVING)
        model.save(output, scores=scores, hashes=not no_text_hashes)
        if_stopped(f"the model is saved in {output}")
    for line in notes:
        note(line)
    if json:
        figures = model.model_.measured()
        print_json({"model": output, "scores": scores, "training": model.training_, "figures": figures})
        return
    sizes = model.training_["documents_per_class"]
    rows = [(str(label), int(size)) for label, size in zip(model.classes_.tolist(), sizes, strict=True)]
    print_table(("class", "documents"), rows)
    print()
    for name, score in scores.items():
        print(f"{name}: {score:.3f}")
    if "decided" in model.training_:
        print(f"decided at the wanted precision, out of fold: {model.training_['decided']:.3f} of the documents")
    print(f"Saved to {output}. Next: tfcr predict {output} NEW.csv")
