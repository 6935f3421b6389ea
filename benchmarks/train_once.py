"""Train one contestant on texts and labels of a file; benchmarks/waiting.py starts it as a fresh process.

python benchmarks/train_once.py fast|best|words|bigrams FILE
"""

import pickle
import sys
from pathlib import Path
from typing import Any

STRENGTHS = (0.1, 1.0, 10.0)
NGRAMS = {"words": (1, 1), "bigrams": (1, 2)}


def train_ours(preset: str, texts: list[str], labels: Any) -> None:
    from tfcr import TfcrClassifier  # noqa: PLC0415 - each contestant loads what it needs

    TfcrClassifier.from_preset(preset, random_state=0).fit(texts, labels)


def train_peer(terms: str, texts: list[str], labels: Any) -> None:
    """Fit TF-IDF with LinearSVC at three strengths on 80 % of the documents, and the best of them on all."""
    import numpy as np  # noqa: PLC0415
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415
    from sklearn.metrics import f1_score  # noqa: PLC0415
    from sklearn.svm import LinearSVC  # noqa: PLC0415

    features = TfidfVectorizer(sublinear_tf=True, ngram_range=NGRAMS[terms]).fit_transform(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    held, rest = np.split(order, [len(texts) // 5])

    def score(C: float) -> float:
        predicted = LinearSVC(C=C).fit(features[rest], labels[rest]).predict(features[held])
        return float(f1_score(labels[held], predicted, average="macro"))

    LinearSVC(C=max(STRENGTHS, key=score)).fit(features, labels)


if __name__ == "__main__":
    who, file = sys.argv[1:]
    texts, labels = pickle.loads(Path(file).read_bytes())
    (train_peer if who in NGRAMS else train_ours)(who, texts, labels)
