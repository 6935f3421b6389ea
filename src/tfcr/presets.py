"""Named sets of parameters of TfcrClassifier. Each is an ordinary dict: print one, change what you like."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # The paper's method, with TF-CR as the author's program computes it: the published scores come from that program.
    "paper": {
        "tokenizer": "paper",
        "embeddings": "w2v",
        "parts": ("vectors",),
        "scheme": "tfcr-log",
        "head": "svm",
        "averaging": "weights",
        "blocks": "all",
        "class_weight": "balanced",
        "C": 1.0,
    },
    # TF-IDF words and symbols, in small corpora character n-grams too, with C picked inside the training data: costs
    # about as much as TF-IDF with LinearSVC.
    "fast": {
        "tokenizer": "symbols",
        "parts": ("lexical",),
        "embeddings": None,
        "head": "svm",
        "class_weight": "balanced",
        "C": None,
    },
    # Words, bigrams and character n-grams, class-weighted vectors and plain vectors, stacked: the part weights are
    # learned out of fold. These are the defaults of TfcrClassifier.
    "best": {
        "tokenizer": "symbols",
        "parts": ("ngrams", "vectors", "plain"),
        "scheme": "tfcr-log",
        "head": "svm",
        "averaging": "weights",
        "blocks": "own",
        "class_weight": "balanced",
        "C": None,
    },
}
