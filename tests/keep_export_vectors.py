"""Write docs/export-vectors.json, test vectors for readers of the table: ``python -m tests.keep_export_vectors``.

Needed after a change of the format only: training gives other last digits on another machine.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tfcr import Embeddings, TfcrClassifier
from tfcr.decision import Calibration, Decision
from tfcr.text.pieces import Pieces
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained.model import TrainedModel
from tfcr.trained.pruning import short_weights
from tfcr.trained.rounding import round_table
from tfcr.trained.table_json import as_document
from tfcr.trained.word_table import PieceTable

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


SUB_WORDS = [*" adefgimopsbu", "oo", " g", "od", " goo", " good", "is", "sh", "ish", "um", " b", " s"]
MORE_TEXTS = ["good film", "so so bad", "goodish dogs ?", "sobbing mood, bad", "", "no known word"]


def with_sub_words(model: TrainedModel, segmentation: str) -> TrainedModel:
    """Return a model that scores unseen words by sub-words."""
    table, rng = model.table, np.random.default_rng(1)
    values = rng.normal(size=(len(SUB_WORDS), table.words.values.shape[1])).astype(np.float32)
    values[:, 0] = 0  # the number of the scale
    weights = rng.uniform(0.5, 2, (len(SUB_WORDS), 1)).astype(np.float32)
    rows = table.words._replace(weights=weights, values=values)
    return replace(model, table=replace(table, pieces=(PieceTable(Pieces(SUB_WORDS, segmentation), rows),)))


def model_of_several_labels() -> TrainedModel:
    """Return a model of 8 and 16 bits, with thresholds, and with sub-words that are merged."""
    texts = ["so good", "so bad", "good film", "bad film", "a film", "so so"] * 2
    labels = [["praise"], ["blame"], ["praise", "film"], ["blame", "film"], ["film"], ["praise", "blame"]] * 2
    trained = TfcrClassifier.from_preset("fast", tokenizer="whitespace", parts=("bigrams",), C=1.0).fit(texts, labels)
    model = with_sub_words(trained.model_, "merge")
    calibration = Calibration(1.5, np.array([0.1, -0.2, 0.3]))
    decision = Decision(model.classes, "independent", "lists", np.array([0.6, 0.2, 0.3]), calibration)
    table = short_weights(round_table(model.table, 0, weak_bigrams=True))
    return replace(model, table=table, decision=decision)


def model_of_costs() -> TrainedModel:
    """Return a model of two classes whose labels are picked by their costs, and may be unsure."""
    texts, labels = ["so good", "good film", "so bad", "bad film"] * 3, ["praise", "praise", "blame", "blame"] * 3
    trained = TfcrClassifier.from_preset("fast", tokenizer="whitespace", parts=("words",), C=1.0).fit(texts, labels)
    model = with_sub_words(trained.model_, "longest")
    calibration, costs = Calibration(2.0, np.array([0.1, -0.1])), np.array([[0.0, 1.0], [3.0, 0.0]])
    least = np.array([0.75, 0.6])
    decision = Decision(model.classes, "multinomial", calibration=calibration, least_probabilities=least, costs=costs)
    return replace(model, decision=decision)


MODELS = {
    "one label of three; n-grams; vectors": (small_model, TEXTS),
    "several labels, thresholds; int8, bfloat16; merge": (model_of_several_labels, MORE_TEXTS),
    "two classes, costs, least probabilities; longest": (model_of_costs, MORE_TEXTS),
}
"""What the tables are about, the models, and the texts."""


def expected(model: TrainedModel, text: str) -> dict[str, Any]:
    """Return what a reader should find; positions count characters (Unicode code points)."""
    found = model.explain(text)
    return {
        "text": text,
        "labels": [str(label) for label in (found.label if found.decision.several else [found.label])],
        "sure": found.sure,
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


def vectors() -> list[dict[str, Any]]:
    """Return the content of the file."""
    found = []
    for about, (make, texts) in MODELS.items():
        model = make()
        found.append({"about": about, "table": as_document(model), "texts": [expected(model, text) for text in texts]})
    return found


if __name__ == "__main__":
    TARGET.write_text(json.dumps(vectors(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
