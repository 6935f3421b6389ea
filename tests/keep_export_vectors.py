"""Write docs/export-vectors.json, test vectors for readers of the table: ``python -m tests.keep_export_vectors``.

Needed after a change of the format only: training gives other last digits on another machine.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tfcr import Embeddings, TfcrClassifier
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained.model import TrainedModel
from tfcr.trained.table_json import as_document

TARGET = Path(__file__).parents[1] / "docs" / "export-vectors.json"

TRAINING = {
    "praise": ["so good!", "good film, good music 😀", "Sehr schön, wirklich schön", "很好 很好", "what a good film"],
    "blame": ["so bad!", "bad film, bad music 🙁", "Sehr schlecht, wirklich schlecht", "不好 很差", "what a bad film"],
    "question": ["what is it?", "is it good or bad?", "Was ist das?", "这是什么?", "why so?"],
}
TEXTS = [
    "So GOOD, so good!!",
    "Scho\u0308n, aber goodish 😀😀",
    "不好?",
    "a film <b>without</b> known words: ΟΔΟΣ",
    "👩‍👩‍👧 what is it",
    "",
]


def small_model() -> TrainedModel:
    """Return a model of three classes with words, bigrams, vectors and pieces of unseen words."""
    texts = [text for some in TRAINING.values() for text in some]
    labels = [label for label, some in TRAINING.items() for _ in some]
    words = sorted({token for text in texts for token in TOKENIZERS["symbols"](text)} | {"goodish"})
    vectors = Embeddings.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), 4)))
    trained = TfcrClassifier(embeddings=vectors, C=1.0, random_state=0).fit(texts, labels)
    found: TrainedModel = trained.model_
    return found


def expected(model: TrainedModel, text: str) -> dict[str, Any]:
    """Return what a reader should find; positions count characters (Unicode code points)."""
    found = model.explain(text)
    return {
        "text": text,
        "label": str(found.label),
        "scores": found.scores.round(6).tolist(),
        "probabilities": found.probabilities.round(6).tolist(),
        "terms": [
            {
                "term": word.word,
                "count": word.count,
                "unseen": word.unseen,
                "bigram": word.bigram,
                "spans": word.spans,
                "added": word.contributions.round(6).tolist(),
            }
            for word in found.words
        ],
        "unknown": found.unknown,
    }


def vectors() -> dict[str, Any]:
    """Return the content of the file."""
    model = small_model()
    return {"table": as_document(model), "texts": [expected(model, text) for text in TEXTS]}


if __name__ == "__main__":
    TARGET.write_text(json.dumps(vectors(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
