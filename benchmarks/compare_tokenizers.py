"""Which tokeniser should be the default? Macro-F1 of each on the shared datasets.

    python benchmarks/compare_tokenizers.py

Three folds of ten, GloVe of 100 dimensions, tfcr-log, all blocks, ridge head (which picks its own strength).
"""

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from tfcr import Embeddings, TfcrClassifier
from tfcr.data import load_dataset
from tfcr.data.datasets.fetch import dataset_place

DATASETS = ("20ng", "semeval", "davidson", "agnews", "dbpedia")
NAMES = ("words", "paper", "whitespace")
FOLDS = 3


def main() -> None:
    vectors = Embeddings.load(dataset_place("20ng").parent / "embeddings" / "glove.6B.100d.subset.bin")
    print(f"| dataset | {' | '.join(NAMES)} |\n|---|{'---|' * len(NAMES)}", flush=True)
    for dataset in DATASETS:
        corpus = load_dataset(dataset)
        texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
        folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(texts, labels))[:FOLDS]
        cells = []
        for name in NAMES:
            scores = []
            for train, test in folds:
                model = TfcrClassifier.from_preset("paper", embeddings=vectors, tokenizer=name, head="ridge")
                predicted = model.fit(texts[train], labels[train]).predict(texts[test])
                scores.append(f1_score(labels[test], predicted, average="macro"))
            cells.append(f"{np.mean(scores):.3f} ± {np.std(scores):.3f}")
        print(f"| {dataset} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
