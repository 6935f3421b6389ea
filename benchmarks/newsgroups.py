"""TF-CR on 20 Newsgroups: in-domain word2vec, SVM, ten folds, macro-F1.

    python benchmarks/newsgroups.py [SCHEME ...]

word2vec sees all texts, without labels, as in the paper; weights and classifier see the training part only.
"""

import sys
import time

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from tfcr import Embeddings, TfcrClassifier
from tfcr.corpus import load_dataset


def main(schemes: list[str]) -> None:
    corpus = load_dataset("20ng")
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    began = time.perf_counter()
    vectors = Embeddings.train(corpus.texts, seed=0)
    print(f"{vectors} trained in {time.perf_counter() - began:.0f} s", flush=True)
    print("| scheme | macro-F1, mean of folds | spread | pooled | seconds |\n|---|---|---|---|---|", flush=True)
    for scheme in schemes:
        began = time.perf_counter()
        predicted, scores = np.empty_like(labels), []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(texts, labels):
            model = TfcrClassifier(embeddings=vectors, scheme=scheme, head="svm").fit(texts[train], labels[train])
            predicted[test] = model.predict(texts[test])
            scores.append(f1_score(labels[test], predicted[test], average="macro"))
        pooled = f1_score(labels, predicted, average="macro")
        seconds = time.perf_counter() - began
        print(f"| {scheme} | {np.mean(scores):.3f} | {np.std(scores):.3f} | {pooled:.3f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["none", "tfcr", "tfcr-log"])
