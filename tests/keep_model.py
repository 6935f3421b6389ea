"""Write the small model that stays in the tests for the present schema: ``python -m tests.keep_model``."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import Embeddings
from tfcr.trained import rounding
from tfcr.trained.format import SCHEMA


def main() -> None:
    corpus = random_corpus(30)
    seen = random_vectors(corpus, 2)
    vectors = Embeddings.from_arrays([*seen.words, "unseen", "another"], np.concatenate([seen.vectors, np.eye(2)]))
    parts = ("ngrams", "vectors", "plain")
    model = plain_classifier(parts=parts, embeddings=vectors, blocks="own").fit(corpus.texts, corpus.labels)
    assert all(model.part_weights_.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounding, "ROUNDED_FROM", 0)  # as large tables are
        model._set_trained(model.model_.rounded())
    folder = Path(__file__).parent / "models" / f"schema-{SCHEMA}"
    model.save(folder)
    (folder / ".lock").unlink()
    texts = [*corpus.texts[:3], "", "unknown", "unseen w0_99", "common1, uncommon w1_2w2_1 another"]
    expected = {"texts": texts, "scores": model.decision_function(texts).tolist()}
    folder.with_name(f"{folder.name}.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
