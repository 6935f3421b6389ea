"""Compile all native code in advance, for container images."""

import numpy as np

from tfcr.classifier import TfcrClassifier
from tfcr.embeddings import Embeddings
from tfcr.presets import PRESETS
from tfcr.system.native import last_row_end
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained.rounding import round_table
from tfcr.transformers import WeightedEmbeddingVectorizer

N_DOCUMENTS, N_CLASSES, N_WORDS, DIMENSIONS = 20_000, 10, 2_000, 64


def warm_up() -> None:
    """Train and predict on enough made-up texts for every kernel to be compiled.

    Using the public estimators instead of calling each kernel compiles them for the argument types that users need.
    """
    random = np.random.default_rng(0)
    words = [f"word{number}" for number in range(N_WORDS)]
    labels = random.integers(0, N_CLASSES, N_DOCUMENTS)
    chosen = random.integers(0, N_WORDS, (N_DOCUMENTS, 20))
    chosen[:, 0] = labels  # something to learn
    texts = [" ".join(words[number] for number in row) for row in chosen.tolist()]
    vectors = Embeddings.from_arrays(words, random.normal(size=(N_WORDS, DIMENSIONS)))
    model = TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=vectors).fit(texts, labels)
    model.predict(texts)
    model.model_.score_counted(count_terms(texts))
    for part in PRESETS["best"]["parts"]:  # one by one: stacking might leave one out
        table = TfcrClassifier(parts=[part], embeddings=vectors, C=1.0).fit(texts, labels).table_
        for small_or_large in (table, round_table(table, at_least=0)):
            small_or_large.score_texts([*texts, "unseen!"], TOKENIZERS["symbols"])
    WeightedEmbeddingVectorizer(embeddings=vectors).fit_transform(texts, labels)
    last_row_end(np.frombuffer(b"a,b\n", np.uint8), ord(","), True)
