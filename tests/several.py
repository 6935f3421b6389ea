"""A small corpus whose documents have several labels, one, or none."""

import numpy as np

from tfcr.text.label_sets import LabelSets

WORDS = {"fruit": "apple pear juice sweet", "pet": "cat dog cow horse", "road": "bus train car wheel"}


def several_corpus(n_documents: int = 150, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Return texts that hold three words of each of their classes, and some of none."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_documents):
        own = [label for label in WORDS if random.random() < 0.4]
        words = [str(random.choice(WORDS[label].split())) for label in own for _ in range(3)]
        words += [str(word) for word in random.choice(["the", "of", "it", "was", "so"], 4)]
        random.shuffle(words)
        texts.append(f"{' '.join(words)} n{random.integers(40)}")
        labels.append(own)
    return texts, labels


def indicator(labels: list[list[str]]) -> np.ndarray:
    """Return a row of 0 and 1 for each document."""
    return np.array([[int(name in own) for name in WORDS] for own in labels])


def random_sets(random: np.random.Generator, n_documents: int, n_classes: int) -> LabelSets:
    """Return labels at random, each class with a third of the documents."""
    return LabelSets(np.array(list("abcdefgh"[:n_classes])), random.random((n_documents, n_classes)) < 1 / 3)
