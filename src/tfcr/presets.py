"""Named sets of ordinary parameters of TfcrClassifier; print one, change what you like."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # The paper's method, with TF-CR as the author's program computes it: that is what its scores come from.
    "paper": {
        "tokenizer": "paper",
        "scheme": "tfcr-log",
        "head": "svm",
        "averaging": "weights",
        "blocks": "all",
        "class_weight": "balanced",
        "C": 1.0,
    },
    # Words alone, punctuation and the characters of Chinese among them, at a strength picked inside the training data:
    # about what TF-IDF with LinearSVC costs.
    "fast": {
        "tokenizer": "symbols",
        "parts": ("words",),
        "embeddings": None,
        "head": "svm",
        "class_weight": "balanced",
        "C": None,
    },
    # Words, pairs of words and weighted vectors, each with the share that documents held out say it deserves.
    "best": {
        "tokenizer": "symbols",
        "parts": ("words", "bigrams", "vectors"),
        "scheme": "tfcr-log",
        "head": "svm",
        "averaging": "weights",
        "blocks": "own",
        "class_weight": "balanced",
        "C": None,
    },
}
