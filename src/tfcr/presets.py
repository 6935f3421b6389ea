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
}
