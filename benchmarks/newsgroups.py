"""TF-CR on 20 Newsgroups: in-domain word2vec, SVM, ten folds, macro-F1; and what a user would pick instead.

    python benchmarks/newsgroups.py [SCHEME ...] [tfidf+svm]

word2vec sees all texts, without labels, as in the paper; weights and classifier see the training part only.
"""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import Embeddings, TfcrClassifier
from tfcr.data import load_dataset

PEER = "tfidf+svm"


def main(names: list[str]) -> None:
    corpus = load_dataset("20ng")
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    vectors: Any = "w2v"
    if names != [PEER]:
        began = time.perf_counter()
        vectors = Embeddings.train(corpus.texts, seed=0)
        print(f"{vectors} trained in {time.perf_counter() - began:.0f} s", flush=True)
    print("| scheme | macro-F1, mean of folds | std | pooled | seconds |\n|---|---|---|---|---|", flush=True)
    for name in names:
        if name == PEER:
            print(_row(name, make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()), texts, labels), flush=True)
        else:
            model = TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=vectors, scheme=name)
            print(_row(name, model, texts, labels), flush=True)


def _row(name: str, model: Any, texts: NDArray[np.object_], labels: NDArray[np.str_]) -> str:
    began = time.perf_counter()
    predicted, scores = np.empty_like(labels), []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(texts, labels):
        predicted[test] = model.fit(texts[train], labels[train]).predict(texts[test])
        scores.append(f1_score(labels[test], predicted[test], average="macro"))
    pooled = f1_score(labels, predicted, average="macro")
    seconds = time.perf_counter() - began
    return f"| {name} | {np.mean(scores):.3f} | {np.std(scores):.3f} | {pooled:.3f} | {seconds:.0f} |"


if __name__ == "__main__":
    main(sys.argv[1:] or ["none", "tfcr", "tfcr-log", PEER])
