"""Write the small model that stays in the tests for the present schema: ``python -m tests.keep_model``."""

import json
from pathlib import Path

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr.trained.format import SCHEMA


def main() -> None:
    corpus = random_corpus(30)
    parts = ("words", "bigrams", "vectors")
    model = plain_classifier(parts=parts, embeddings=random_vectors(corpus, 2), blocks="own")
    model.fit(corpus.texts, corpus.labels)
    folder = Path(__file__).parent / "models" / f"schema-{SCHEMA}"
    model.save(folder)
    (folder / ".lock").unlink()
    texts = [*corpus.texts[:3], "", "unknown"]
    expected = {"texts": texts, "scores": model.decision_function(texts).tolist()}
    folder.with_name(f"{folder.name}.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
