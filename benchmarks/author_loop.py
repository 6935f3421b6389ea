"""One cell of the experiments against a plain loop over words like the author's program.

    export OPENBLAS_NUM_THREADS=1 TFCR_THREADS=1
    python benchmarks/author_loop.py [--dataset 20ng] [--scheme tfcr] [--sample 100000] [--dimensions 100] [--folds 10]

The first fold with in-domain word2vec and the SVM: counts, weights, document vectors and classifier, in one process.
Reading, tokenising and word2vec come before, and count for neither. The loop works as the program does: document counts
in dictionaries, for each document and class a walk over its words that adds up vectors one by one, and LinearSVC. Ours
are the cells of both profiles; that of `published` computes the same, with our own solver.
"""

import argparse
import math
import time
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from tfcr.data import ReadOptions
from tfcr.decision import confusion_matrix, macro_f1
from tfcr.experiment.plan.corpora import CorpusPlan
from tfcr.experiment.plan.folds import Split, cut_folds
from tfcr.experiment.plan.profiles import PROFILES
from tfcr.experiment.plan.vectors import plan_vectors
from tfcr.experiment.plan.word2vec import Word2Vec
from tfcr.experiment.run.corpora import PreparedCorpus, open_corpus, prepare_corpus
from tfcr.experiment.run.features import FoldFeatures, count_training, weigh
from tfcr.experiment.run.vectors import PrepareVectors, WordVectors, open_vectors
from tfcr.heads import resolve_head
from tfcr.system.hardware import memory_limit
from tfcr.text.tokenizers import TOKENIZERS

Weights = dict[str, dict[str, float]]


def main(dataset: str, scheme: str, sample: int, dimensions: int, folds: int) -> None:
    plan = CorpusPlan(dataset, ReadOptions(), "paper", sample, 0, folds)
    handle = prepare_corpus(plan)
    wanted = plan_vectors("w2v", Word2Vec(dimensions=dimensions), plan, handle, None)
    list(PrepareVectors(wanted).work())
    corpus = open_corpus(handle.entry)
    split = cut_folds(corpus.labels, corpus.groups, folds, 0)[0]
    vectors = open_vectors(wanted, corpus, split.train)
    print(f"{dataset}, {scheme}, one fold: {len(split.train)} documents to train on, {len(split.test)} to test")
    run_ours(corpus, split, vectors, scheme, "equations")  # compiled code is loaded
    print(f"| | counts and weights | document vectors | classifier | all | ratio | macro-F1 |\n|{'---|' * 7}")
    loop = run_loop(corpus, split, vectors, scheme)
    print(row("a loop like the program's", loop, loop), flush=True)
    for profile in PROFILES:
        print(row(f"ours, {profile}", run_ours(corpus, split, vectors, scheme, profile), loop), flush=True)


def row(name: str, timed: tuple[list[float], float], loop: tuple[list[float], float]) -> str:
    seconds, score = timed
    cells = [f"{second:.2f} s" for second in [*seconds, sum(seconds)]]
    return f"| {name} | {' | '.join(cells)} | {sum(loop[0]) / sum(seconds):.1f} × | {score:.3f} |"


def run_ours(
    corpus: PreparedCorpus, split: Split, vectors: WordVectors, scheme: str, profile: str
) -> tuple[list[float], float]:
    record = PROFILES[profile]
    times = [time.perf_counter()]
    blocks = weigh(record.scheme(scheme), count_training(corpus, split.train, record), vectors, record)
    times.append(time.perf_counter())
    features = FoldFeatures.of(corpus, split, blocks, record, memory_limit())
    times.append(time.perf_counter())
    predicted = features.predict(resolve_head("svm", C=record.C))
    times.append(time.perf_counter())
    confusion = confusion_matrix(corpus.labels[split.test], predicted, len(corpus.classes))
    return np.diff(times).tolist(), macro_f1(confusion)


def run_loop(corpus: PreparedCorpus, split: Split, vectors: WordVectors, scheme: str) -> tuple[list[float], float]:
    texts = corpus.texts()
    tokens = [TOKENIZERS["paper"](text) for text in texts]
    labels = corpus.classes[corpus.labels].tolist()
    words = list(corpus.documents.vocabulary.words)
    known = {words[number]: vectors.vectors[number] for number in np.flatnonzero(vectors.found).tolist()}
    train, test = split.train.tolist(), split.test.tolist()
    times = [time.perf_counter()]
    weights = loop_weights(scheme, [tokens[place] for place in train], [labels[place] for place in train])
    times.append(time.perf_counter())
    classes = sorted(set(labels))
    features = [[document_vector(tokens[place], weights, classes, known) for place in part] for part in (train, test)]
    times.append(time.perf_counter())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(class_weight="balanced", random_state=0)
        predicted = model.fit(features[0], [labels[place] for place in train]).predict(features[1])
    times.append(time.perf_counter())
    score = f1_score([labels[place] for place in test], predicted, average="macro")
    return np.diff(times).tolist(), float(score)


def loop_weights(scheme: str, documents: list[list[str]], labels: list[str]) -> Weights | None:
    if scheme == "none":
        return None
    df: dict[str, dict[str, int]] = {}
    sizes: dict[str, int] = {}
    for tokens, label in zip(documents, labels, strict=True):
        sizes[label] = sizes.get(label, 0) + 1
        for word in set(tokens):
            of_word = df.setdefault(word, {})
            of_word[label] = of_word.get(label, 0) + 1
    weights: Weights = {}
    for word, of_word in df.items():
        total = sum(of_word.values())
        weights[word] = {}
        for label, n in of_word.items():
            p, q = n / sizes[label], total / len(labels)
            forms = {
                "tfcr": n / total * math.log(n + 1),
                "tfidf": math.log(sizes[label]) / n * math.log(n + 1),
                "kld": max(p * math.log(p / q), 0),
            }
            weights[word][label] = forms[scheme]
    return weights


def document_vector(
    tokens: list[str], weights: Weights | None, classes: list[str], vectors: dict[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    dimensions = len(next(iter(vectors.values())))
    blocks = []
    for label in classes if weights is not None else ["all"]:
        total = np.zeros(dimensions, np.float32)
        mass = 0.0
        for word in tokens:
            weight = float(word in vectors) if weights is None else weights.get(word, {}).get(label, 0.0)
            mass += weight
            if word in vectors:
                total = np.add(total, vectors[word] * weight)
        blocks.append(total / mass if mass > 0 else total)
    return np.concatenate(blocks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="20ng")
    parser.add_argument("--scheme", default="tfcr", choices=("none", "tfidf", "kld", "tfcr"))
    parser.add_argument("--sample", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--folds", type=int, default=10)
    main(**vars(parser.parse_args()))
