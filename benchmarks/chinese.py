"""What people would pick for Chinese: TF-IDF of characters and character bigrams with LinearSVC.

    python benchmarks/chinese.py

On the folds of ``tfcr evaluate thucnews --cv 3``. The lower rows show how much of the difference is due to the tokens.
"""

import re

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr.data import load_dataset
from tfcr.decision import macro_f1_of_labels
from tfcr.evaluation import splits
from tfcr.text.tokenizers import TOKENIZERS

SYMBOLS = TOKENIZERS["symbols"]


def with_spaces(text: str) -> list[str]:
    chunks = re.findall(r"\s+|\S+", text)
    return [token for chunk in chunks for token in ([" "] if chunk.isspace() else SYMBOLS(chunk))]


def with_letters(text: str) -> list[str]:
    return [letter for token in SYMBOLS(text) for letter in token]


ROWS = {
    "characters": TfidfVectorizer(sublinear_tf=True, analyzer="char"),
    "characters and bigrams": TfidfVectorizer(sublinear_tf=True, analyzer="char", ngram_range=(1, 2)),
} | {
    f"{name} and bigrams": TfidfVectorizer(
        sublinear_tf=True, tokenizer=tokens, token_pattern=None, lowercase=False, ngram_range=(1, 2)
    )
    for name, tokens in {
        "tokens of symbols": SYMBOLS,
        "these, spaces": with_spaces,
        "these, each letter of a word": with_letters,
    }.items()
}


def main() -> None:
    corpus = load_dataset("thucnews")
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    for name, vectorizer in ROWS.items():
        scores = []
        for train, test in splits(labels, None, 3, 0):
            peer = make_pipeline(vectorizer, LinearSVC()).fit(texts[train], labels[train])
            scores.append(macro_f1_of_labels(labels[test], peer.predict(texts[test])))
        print(f"{name}: {np.mean(scores):.3f} ± {np.std(scores):.3f}", flush=True)


if __name__ == "__main__":
    main()
