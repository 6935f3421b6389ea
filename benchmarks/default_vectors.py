"""Macro-F1 of the preset best with the vectors that embeddings="auto" may choose, and with others.

    python benchmarks/default_vectors.py [--datasets a,b] [--rows few,1000,5000] [--vectors w2v,wglove-50+wordllama]
                                         [--folds 3] [--results FILE] [--table]

The first vectors of a choice are weighted by class, all are part of plain: wglove-50+wordllama. Files among the shared
data may be named too. Word2vec is trained on the training texts. Runs what the file of results does not hold yet, then
prints the table of all that it holds.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr import PRESETS, TfcrClassifier
from tfcr.data import DATASETS, Corpus, load_data
from tfcr.decision import macro_f1_of_labels
from tfcr.errors import CorpusWarning
from tfcr.experiment.plan.folds import ClassSizes, Indices, class_part, cut_folds, training_part
from tfcr.experiment.plan.parsing import parse_names
from tfcr.system.files import data_folders

ROWS: dict[str, Callable[[Indices, NDArray[np.str_], int], Indices]] = {
    "few": lambda train, labels, fold: class_part(train, labels, ClassSizes(10), 0, fold),
    "1000": lambda train, labels, fold: training_part(train, 1000, 0, fold),
    "5000": lambda train, labels, fold: training_part(train, 5000, 0, fold),
}
"""How the training documents are drawn: ten of each class, or so many in all."""
OF_SHARED_DATA = {"glove-100": "glove.6B.100d.subset.bin"}
VECTORS = "w2v,w2v+wordllama,wglove-50,wglove-50+wordllama,wordllama,wordllama+wglove-50,glove-100,glove-100+wordllama"
DATA = "agnews,davidson,dbpedia,semeval,20ng,thucnews"


def source_of(name: str) -> str:
    """Return the path of vectors among the shared data, or else the name itself."""
    found = (folder / "embeddings" / OF_SHARED_DATA.get(name, name) for folder in data_folders())
    return next((str(path) for path in found if path.exists()), name)


@cache
def corpus_of(name: str) -> Corpus:
    return load_data([name])


def splits(dataset: str, row: str, folds: int) -> Iterator[tuple[int, Indices, Indices]]:
    """Yield the number, the training documents and the test documents of the first folds of ten."""
    labels = np.array(list(map(str, corpus_of(dataset).labels)))
    for fold, (train, test) in enumerate(cut_folds(labels, corpus_of(dataset).groups, 10, 0)[:folds]):
        yield fold, ROWS[row](train, labels, fold), test


def measure(dataset: str, vectors: str, train: Indices, test: Indices) -> dict[str, Any]:
    """Return macro-F1, CPU seconds of training (those of word2vec included), and the weight of each part."""
    corpus = corpus_of(dataset)
    labels = np.array(list(map(str, corpus.labels)))
    texts = [corpus.texts[row] for row in train.tolist()]
    sources = "+".join(map(source_of, vectors.split("+")))
    tokenizer = DATASETS[dataset].tokenizer or PRESETS["best"]["tokenizer"]
    model = TfcrClassifier(embeddings=sources, tokenizer=tokenizer, random_state=0)
    began = time.process_time()
    model.fit(texts, labels[train])
    seconds = time.process_time() - began
    predicted = model.predict([corpus.texts[row] for row in test.tolist()])
    return {
        "macro_f1": macro_f1_of_labels(labels[test], predicted),
        "seconds": seconds,
        "vectors": model.training_["embeddings"],
        "weights": model.part_weights_,
        "coverage": model.training_["coverage_tokens"],
    }


def table_of(results: dict[str, Any]) -> str:
    """Return a Markdown table of mean scores, in hundredths; a row that lacks a choice shows a dash."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, result in results.items():
        dataset, row, vectors, _ = key.split("/")
        scores.setdefault((dataset, row), {}).setdefault(vectors, []).append(100 * result["macro_f1"])
    choices = list(dict.fromkeys(vectors for found in scores.values() for vectors in found))
    whole = [found for found in scores.values() if len(found) == len(choices)]
    lines = [("dataset", "training", *choices), ("---", "---", *["---:"] * len(choices))]
    for (dataset, row), found in sorted(scores.items(), key=lambda item: list(ROWS).index(item[0][1])):
        lines.append((dataset, row, *(f"{fmean(found[name]):.1f}" if name in found else "–" for name in choices)))
    means = (f"{fmean(fmean(found[name]) for found in whole):.2f}" if whole else "–" for name in choices)
    lines.append(("mean", "", *means))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=parse_names, default=DATA)
    parser.add_argument("--rows", type=parse_names, default=",".join(ROWS))
    parser.add_argument("--vectors", type=parse_names, default=VECTORS)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=Path("default_vectors.json"))
    parser.add_argument("--table", action="store_true", help="print what the file of results holds, and run nothing")
    asked = parser.parse_args()
    results: dict[str, Any] = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    warnings.simplefilter("ignore", CorpusWarning)
    for row in () if asked.table else asked.rows:
        for dataset in asked.datasets:
            for fold, train, test in splits(dataset, row, asked.folds):
                for vectors in asked.vectors:
                    key = f"{dataset}/{row}/{vectors}/{fold}"
                    if key not in results:
                        results[key] = measure(dataset, vectors, train, test)
                        asked.results.write_text(json.dumps(results, indent=1))
    print(table_of(results))


if __name__ == "__main__":
    main()
