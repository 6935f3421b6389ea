"""Every scheme on six datasets: five folds, ridge head, GloVe of 100 dimensions.

python benchmarks/library_schemes.py [DATASET ...]
"""

import sys
import time
import warnings

from tfcr import SCHEMES, Embeddings, TfcrClassifier
from tfcr.data import load_dataset
from tfcr.data.datasets.fetch import dataset_place
from tfcr.evaluation import cross_validate_prepared, prepare

DATASETS = ("20ng", "semeval", "davidson", "agnews", "dbpedia", "emoji")


def main(datasets: list[str]) -> None:
    warnings.simplefilter("ignore")
    vectors = Embeddings.load(dataset_place("20ng").parent / "embeddings" / "glove.6B.100d.subset.bin")
    print(f"| dataset | {' | '.join(SCHEMES)} | seconds |\n|---|{'---|' * (len(SCHEMES) + 1)}", flush=True)
    for dataset in datasets:
        began = time.perf_counter()
        prepared = prepare(
            TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=vectors), load_dataset(dataset)
        )
        scores = []
        for scheme in SCHEMES:
            model = TfcrClassifier.from_preset(
                "paper", tokenizer="words", embeddings=vectors, scheme=scheme, head="ridge"
            )
            scores.append(cross_validate_prepared(model, prepared, folds=5).macro_f1)
            print(f"{dataset} {scheme} {scores[-1]:.3f}", file=sys.stderr, flush=True)
        cells = [f"**{score:.3f}**" if score == max(scores) else f"{score:.3f}" for score in scores]
        print(f"| {dataset} | {' | '.join(cells)} | {time.perf_counter() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(DATASETS))
