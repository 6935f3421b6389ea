"""``tfcr update``."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfcr.cli.help import evaluation_option, model_option, output_option
from tfcr.cli.options import Data, Json, Model, Reading, refuse_given, with_options
from tfcr.cli.output import if_stopped, note, print_json, print_line, progress_bar

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier
    from tfcr.evaluation import Update

KEPT = (
    "the word weights are kept, and only the scores of terms learned on; that cost .1 to 1.6 points of macro-F1 on two "
    "datasets added in ten parts (docs/update.md): train again with all texts now and then"
)


@with_options
def update(
    context: typer.Context,
    model: Model,
    data: Data,
    reading: Reading,
    keep_weights: Annotated[
        bool,
        model_option(
            "--keep-weights",
            help="Of a model without documents: keep the weights of words, and let scores learn on from DATA alone.",
        ),
    ] = False,
    embeddings: Annotated[
        str | None,
        model_option(
            "--embeddings",
            "-e",
            metavar="VECTORS",
            help="Where the vectors are that the model was trained with, if not where they were.",
            show_default="the model's",
        ),
    ] = None,
    max_memory: Annotated[
        str | None,
        model_option(
            "--max-memory",
            metavar="SIZE",
            help="Memory limit for training, such as 4GB.",
            show_default="half of this machine's",
        ),
    ] = None,
    folds: Annotated[
        int,
        evaluation_option(
            "--cv", metavar="N", help="Cross-validate on all documents, old and new.", min=2, show_default="none"
        ),
    ] = 0,
    output: Annotated[
        str | None,
        output_option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder for the updated model.",
            show_default="MODEL, which is replaced",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Add labelled texts to a model: documents, words and classes.

    A model trained with --keep-documents is trained again, and equals one trained on everything at once. Of any other,
    --keep-weights lets the scores learn on from the new texts.

    \b
    tfcr train january.csv -o model --keep-documents
    tfcr update model february.csv
    """
    from tfcr.classifier import load
    from tfcr.evaluation import SAVING, learn_on_and_measure, update_and_measure
    from tfcr.evaluation.streams import fits_into_memory, resumable
    from tfcr.evaluation.updating import again, update_from_stream
    from tfcr.system.checkpoints import remove_checkpoints
    from tfcr.trained.format import check_writable, config_hash

    target = output or model
    check_writable(target)
    if keep_weights:
        refuse_given(
            context, ("folds", "embeddings", "max_memory"), "along with --keep-weights, which trains nothing again"
        )
    refuse_given(context, ("group",), "which is for cross-validation of all documents, and old ones have no groups")
    if_stopped(f"no model was saved to {target}; to start over, type the same command again")
    with progress_bar() as stages, ExitStack() as until_saved:
        stages.begin("reading")
        loaded = load(model)
        _check_kept(loaded, model, keep_weights=keep_weights)
        given = {"embeddings": embeddings, "max_memory": max_memory}
        loaded.set_params(**{name: value for name, value in given.items() if value is not None})
        known = loaded.model_
        about = known.training, known.classes.tolist()
        stream = reading.stream(data, *about, several=known.decision.several)
        if keep_weights or fits_into_memory(stream, loaded):
            corpus = reading.corpus(data, *about, several=known.decision.several, stream=stream)
            seen = known.training_texts()
            if seen is not None and (repeated := seen.count(corpus.texts).texts):
                note(again(repeated))
            if keep_weights:
                found = learn_on_and_measure(loaded, corpus, stages=stages)
            else:
                found = update_and_measure(loaded, corpus, folds=folds, stages=stages, note=note)
        else:
            for line in stream.notes:
                note(line)
            checkpoints = until_saved.enter_context(
                resumable(target, loaded, stream, note=note, updates=config_hash(Path(model)), folds=folds)
            )
            if_stopped(f"no model was saved to {target}; to resume, type the same command again")
            found = update_from_stream(loaded, stream, folds=folds, stages=stages, note=note, checkpoints=checkpoints)
        stages.begin(SAVING)
        loaded.save(target)
        until_saved.close()
        remove_checkpoints(target)
        if_stopped(f"the model is saved in {target}")
    if keep_weights:
        note(KEPT)
    _report(loaded, found, target, json=json)


def _check_kept(loaded: "TfcrClassifier", model: str, *, keep_weights: bool) -> None:
    """Refuse, before any long work, to update a model without documents, unless its weights are kept."""
    from tfcr.errors import InputError

    if loaded.model_.documents is None and not keep_weights:
        raise InputError(
            f"{model} keeps no documents; expected a model trained with --keep-documents: train it so, or let its "
            f"scores learn on from the new texts alone: tfcr update {model} DATA --keep-weights"
        )


def _report(loaded: "TfcrClassifier", found: "Update", target: str, *, json: bool) -> None:
    if json:
        print_json({"model": target, "added": found.as_json(), "training": loaded.training_})
        return
    total = loaded.training_["documents"]
    print(f"{found.documents:,} documents and {found.words:,} words added, {total:,.0f} documents in all")
    if found.classes:
        print_line(f"new classes: {', '.join(map(str, found.classes))}")
    if found.before is not None:
        print(f"macro-F1 of the old model on the new documents: {found.before:.3f}")
    for name, score in found.scores.items():
        print(f"{name}: {score:.3f}")
    print_line(f"Saved to {target}. Next: tfcr predict {target} NEW.csv")
