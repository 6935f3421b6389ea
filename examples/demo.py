"""The whole job on the docstrings of Python's standard library: compare schemes, look inside, save, load.

python examples/demo.py
"""

import sys
import tempfile

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from tfcr import Embeddings, TfcrClassifier, load
from tfcr.corpus import load_pydocs

SCHEMES = ("none", "tfidf", "kld-all", "tftrr", "tfcr", "tfcr-log")


def main() -> None:
    corpus = load_pydocs()
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    print(f"pydocs: {len(texts)} docstrings of the standard library, {len(set(labels))} modules to tell apart\n")
    tell("training word2vec on the texts …")
    vectors = Embeddings.train(corpus.texts)

    print("macro-F1, three folds, SVM, word2vec trained on all the texts without their labels")
    for scheme in SCHEMES:
        tell(f"cross-validating {scheme} …")
        print(f"  {scheme:<9} {cross_validated(TfcrClassifier(embeddings=vectors, scheme=scheme), texts, labels):.3f}")

    model = TfcrClassifier(embeddings=vectors).fit(texts, labels)
    print("\nThe words that speak most for some modules")
    for label, words in list(model.top_words(8).items())[2:7]:
        print(f"  {label:<12} {', '.join(word for word, _ in words)}")

    question = "Return the header of the message, or raise an error if it cannot be decoded."
    print(f"\nWhich module would say: {question}")
    print(model.explain(question))

    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        assert (load(f"{folder}/model").predict(texts) == model.predict(texts)).all()  # noqa: S101
    print("\nSaved, loaded again without the vectors: the same predictions.")


def cross_validated(
    model: TfcrClassifier, texts: "np.typing.NDArray[np.object_]", labels: "np.typing.NDArray[np.str_]"
) -> float:
    scores = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(texts, labels):
        predicted = model.fit(texts[train], labels[train]).predict(texts[test])
        scores.append(f1_score(labels[test], predicted, average="macro"))
    return float(np.mean(scores))


def tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
