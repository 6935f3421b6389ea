"""``tfcr train``."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

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
from tfcr.cli.output import if_stopped, note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier


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
    dask: Dask = None,
    no_text_hashes: Annotated[
        bool,
        output_option(
            "--no-text-hashes",
            help="Store no hashes of the training texts; evaluate will not notice when the model is scored on them.",
        ),
    ] = False,
    keep_documents: Annotated[
        bool,
        output_option(
            "--keep-documents",
            help="Store the training documents, counted and without their texts, so that tfcr update can add more.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Train a classifier on labelled texts and save it.

    \b
    tfcr train tickets.csv --text subject --text body --label queue -o model
    """
    from tfcr.evaluation import SAVING, train_and_measure
    from tfcr.evaluation.streams import fits_into_memory, resumable_places, train_stream
    from tfcr.system.checkpoints import remove_checkpoints
    from tfcr.trained.format import check_writable

    check_writable(output)
    if no_cv:
        refuse_given(context, ("folds", "group"), "along with --no-cv, but it is for cross-validation")
    model = training.model(scheme, data[0]).set_params(keep_documents=keep_documents)
    model.check_parameters()
    if_stopped(f"no model was saved to {output}; to start over, type the same command again")
    if dask is not None:
        refuse_given(context, ("group",), f"along with --dask {dask}, but it needs all rows on one machine")
    with dask_places(dask) as cluster, progress_bar() as stages, ExitStack() as until_saved:
        stages.begin("reading")
        stream = None if reading.group else reading.stream(data)  # groups need all rows
        n_folds = 0 if no_cv else folds
        notes: tuple[str, ...] = ()
        if stream is not None and (cluster is not None or not fits_into_memory(stream, model)):
            for line in stream.notes:
                note(line)
            choices = {"folds": n_folds, "min_class_size": min_class_size}
            places = until_saved.enter_context(
                resumable_places(output, model, stream, note=note, cluster=cluster, **choices)
            )
            if_stopped(f"no model was saved to {output}; to resume, type the same command again")
            scores = train_stream(
                model,
                stream,
                folds=n_folds,
                min_class_size=min_class_size,
                stages=stages,
                note=note,
                places=places,
            )
        else:
            corpus = reading.corpus(data, stream=stream)
            scores, notes = train_and_measure(
                model, corpus, folds=n_folds, min_class_size=min_class_size, stages=stages, note=note
            )
        stages.begin(SAVING)
        model.save(output, scores=scores, hashes=not no_text_hashes)
        until_saved.close()
        remove_checkpoints(output)
        if_stopped(f"the model is saved in {output}")
    for line in notes:
        note(line)
    if json:
        figures = model.model_.measured()
        print_json({"model": output, "scores": scores, "training": model.training_, "figures": figures})
        return
    _print_model(model, scores, output)


def _print_model(model: "TfcrClassifier", scores: Mapping[str, float], output: str) -> None:
    """Print the classes, the scores, and what to type next."""
    sizes = model.training_["documents_per_class"]
    rows = [(str(label), int(size)) for label, size in zip(model.classes_.tolist(), sizes, strict=True)]
    print_table(("class", "documents"), rows)
    print()
    for name, score in scores.items():
        print(f"{name}: {score:.3f}")
    if "decided" in model.training_:
        print(f"decided at the wanted precision, out of fold: {model.training_['decided']:.3f} of the documents")
    print(f"Saved to {output}. Next: tfcr predict {output} NEW.csv")
