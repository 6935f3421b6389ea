"""How long finding near-duplicates takes, and how many there are.

    python benchmarks/near_duplicates.py [DATASET …]

Counting the words is not measured: see speed.py.
"""

import sys
import time

import numpy as np

from tfcr import PRESETS
from tfcr.data import load_data
from tfcr.evaluation.duplicates import near_duplicates
from tfcr.text.documents import count_terms

DATASETS = ("semeval", "20ng", "agnews")


def main() -> None:
    print("| dataset | texts | CPU, s | texts that nearly repeat another | with another label |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or DATASETS:
        corpus = load_data([name])
        documents = count_terms(corpus.texts, PRESETS["best"]["tokenizer"])
        start = time.process_time()
        originals = near_duplicates(documents)
        seconds = time.process_time() - start
        repeats, labels = np.flatnonzero(originals != np.arange(len(originals))), np.array(corpus.labels)
        contradicted = int((labels[repeats] != labels[originals[repeats]]).sum())
        print(f"| {name} | {len(corpus):,} | {seconds:.1f} | {len(repeats)} | {contradicted} |", flush=True)


if __name__ == "__main__":
    main()
