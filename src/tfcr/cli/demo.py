"""``tfcr demo``."""

from typing import Annotated

from tfcr.cli.help import output_option
from tfcr.cli.output import if_stopped, print_table, progress_bar

QUESTION = "Return the header of the message, or raise an error if it cannot be decoded."
FOLDS = 3


def demo(
    output: Annotated[
        str, output_option("--output", "-o", metavar="FOLDER", help="Folder for the model.")
    ] = "demo-model",
) -> None:
    """Run the whole workflow on an embedded corpus. It takes under two minutes.

    \b
    tfcr demo
    """
    from tfcr.classifier import TfcrClassifier
    from tfcr.cli.explain import print_explanation
    from tfcr.data import load_dataset
    from tfcr.evaluation import compare, expected_stages, fit_on, prepare
    from tfcr.schemes import SCHEMES
    from tfcr.trained.format import check_writable

    check_writable(output)
    corpus = load_dataset("pydocs")
    print(
        f"pydocs: {len(corpus):,} docstrings of Python's standard library, from {len(set(corpus.labels))} modules.\n"
        f"Which module is a docstring from? {FOLDS} folds, SVM, word2vec trained on the texts of all folds.\n"
    )
    paper = {"tokenizer": "words", "random_state": 0}
    models = {scheme: TfcrClassifier.from_preset("paper", scheme=scheme, **paper) for scheme in SCHEMES}
    if_stopped("no model was saved; to start over, type the same command again")
    with progress_bar() as stages:
        stages.expect(expected_stages(list(models.values()), corpus, FOLDS))
        prepared = prepare(models["tfcr-log"], corpus, stages)
        results = compare(models, corpus, folds=FOLDS, stages=stages, prepared=prepared)
        model = fit_on(models["tfcr-log"], prepared, stages)
    print_table(("scheme", "macro-F1", "std"), [(name, r.macro_f1, r.std) for name, r in results.items()])

    print("\nThe words that raise the score of some modules most:")
    some = list(model.top_words(8).items())[2:8]
    print_table(("module", "words"), [(label, ", ".join(word for word, _ in words)) for label, words in some])

    print(f"\nWhich module would say: {QUESTION}")
    print_explanation(model.explain(QUESTION), top=8)

    model.save(output, scores={f"macro-F1, {FOLDS} folds": results["tfcr-log"].macro_f1})
    print(f"\nThe model is saved in {output}. Type next:")
    print(f'  tfcr explain {output} "Set the colour of the pen."')
    print("  tfcr train YOUR.csv --text TEXT_COLUMN --label LABEL_COLUMN -o model")
