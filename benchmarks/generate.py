"""Write labelled texts of any size, and word vectors for them: what training on more data than memory is measured with.

    python benchmarks/generate.py --documents 10000000 -o FOLDER      # texts.csv of about 5 GB, and vectors.bin
    python benchmarks/generate.py --documents 100000 --files 4 --gz -o FOLDER      # texts-0.csv.gz to texts-3.csv.gz

The frequency of the word of rank r falls as 1/r up to rank 5,000 and as 1/r² beyond, as in English (Ferrer i Cancho and
Solé, 2001): the vocabulary grows with about the square root of the texts and does not end (Heaps). Frequent words are
short. Lengths are log-normal.

Words beyond the most frequent ones stand in blocks, by rank, with one word for each class. In a document a token is
topical with some probability, which differs between documents: then it is not the word that was drawn but that of the
document's class in the same block. So the whole corpus stays Zipf-distributed, and each class prefers its own words::

    rank     40   41   42  …  59   60   61  …
    class    c7   c8   c9     c6   c3   c4         a topical token of class c9 that drew rank 41 becomes rank 42

A few labels are wrong. The same seed gives the same documents, whatever the number of documents, of files, or of
documents made at once; those of a smaller corpus are the first of a larger one.
"""

import argparse
import gzip
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr import Embeddings
from tfcr.system.files import written_beside

BATCH = 20_000
"""Documents made at once; each batch has a random stream of its own."""
STEEPER = 5_000
"""The rank from which on frequencies fall as 1/r²."""
COMMON = 40
"""Words that all classes use alike: the most frequent ones."""


@dataclass(frozen=True)
class Recipe:
    """What kind of corpus is made.

    Attributes
    ----------
    words
        All words that there are; 100,000 documents hold about 114,000 of them, 10 million about 770,000.
    classes
        The classes; the first is the most frequent, their sizes fall with the root of their number.
    tokens, spread
        The median length of a document, and the standard deviation of its logarithm.
    topical
        The mean fraction of tokens beyond the most frequent words that are topical.
    noise
        The fraction of labels that are drawn at random.
    seed, dimensions
        Of everything; of the vectors.
    """

    words: int = 1_000_000
    classes: int = 20
    tokens: float = 80.0
    spread: float = 0.5
    topical: float = 0.4
    noise: float = 0.03
    seed: int = 0
    dimensions: int = 25


class Batch(NamedTuple):
    """Documents as numbers of words; the last token of each is `words` plus the number of its label."""

    tokens: NDArray[np.int64]
    starts: NDArray[np.int64]


class Alias(NamedTuple):
    """Draws from a distribution in constant time (Vose's method): take a column at random, or its alias."""

    limits: NDArray[np.float64]
    aliases: NDArray[np.int64]

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> "Alias":
        """Make the table: columns of height 1, each filled by one outcome and topped up by one that has too much."""
        limits = weights * (len(weights) / weights.sum())
        heights, aliases = limits.tolist(), list(range(len(limits)))
        small = [number for number, height in enumerate(heights) if height < 1]
        large = [number for number, height in enumerate(heights) if height >= 1]
        while small and large:
            low, high = small.pop(), large[-1]
            aliases[low] = high
            heights[high] -= 1 - heights[low]
            if heights[high] < 1:
                small.append(large.pop())
        for left in (*small, *large):  # but for rounding they are full
            heights[left] = 1.0
        return cls(np.array(heights), np.array(aliases))

    def draw(self, random: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return outcomes: the whole part of one random number picks a column, the rest whether its alias is taken."""
        places = random.random(size) * len(self.limits)
        columns = places.astype(np.int64)
        return np.where(places - columns < self.limits[columns], columns, self.aliases[columns])


class Corpus:
    """Makes documents."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        ranks = np.arange(1, recipe.words + 1)
        self.words = Alias.of(np.where(ranks <= STEEPER, 1 / ranks, STEEPER / ranks.astype(np.float64) ** 2))
        self.classes = Alias.of(1 / np.sqrt(np.arange(1, recipe.classes + 1)))
        n_blocks = -(-recipe.words // recipe.classes)
        self.shifts = np.random.default_rng([recipe.seed, 1]).integers(0, recipe.classes, n_blocks)
        self.names = np.array(
            [*(f"{word} ".encode() for word in make_words(recipe.words, recipe.seed)), *self._label_cells()], object
        )

    def _label_cells(self) -> Iterator[bytes]:
        return (f",class{number:02}\n".encode() for number in range(self.recipe.classes))

    def batch(self, number: int) -> Batch:
        """Return the documents of a batch."""
        recipe, random = self.recipe, np.random.default_rng([self.recipe.seed, 2, number])
        drawn = random.lognormal(np.log(recipe.tokens), recipe.spread, BATCH)
        lengths = np.maximum(1, np.rint(drawn)).astype(np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 1)])
        topics = self.classes.draw(random, BATCH)
        fractions = random.beta(2, 2 / recipe.topical - 2, BATCH)  # of the tokens of each document; mean `topical`
        tokens = self.words.draw(random, int(starts[-1]))
        is_topical = random.random(len(tokens)) < np.repeat(fractions, lengths + 1)
        is_topical &= tokens >= COMMON
        of_classes = np.repeat(topics, lengths + 1)[is_topical]
        tokens[is_topical] = self._of_class(tokens[is_topical], of_classes)
        wrong = random.random(BATCH) < recipe.noise
        labels = np.where(wrong, random.integers(0, recipe.classes, BATCH), topics)
        tokens[starts[1:] - 1] = recipe.words + labels
        return Batch(tokens, starts)

    def _of_class(self, words: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the word of each class in the block of each word; in the last block, which may be cut, the word."""
        blocks = words // self.recipe.classes
        found = blocks * self.recipe.classes + (classes + self.shifts[blocks]) % self.recipe.classes
        return np.where(found < self.recipe.words, found, words)

    def class_of_words(self) -> NDArray[np.int64]:
        """Return the class that prefers each word, -1 for the most frequent ones; (n_words,)."""
        ranks = np.arange(self.recipe.words)
        classes = (ranks - self.shifts[ranks // self.recipe.classes]) % self.recipe.classes
        return np.where(ranks < COMMON, -1, classes)

    def rows(self, batch: Batch, start: int, end: int) -> bytes:
        """Return documents number `start` to `end` of a batch as rows of CSV; words hold letters alone."""
        tokens = batch.tokens[batch.starts[start] : batch.starts[end]]
        return b"".join(self.names[tokens].tolist()).replace(b" ,", b",")

    def vectors(self) -> Embeddings:
        """Return vectors of all words: random, and nearer to the direction of the class that prefers the word."""
        random = np.random.default_rng([self.recipe.seed, 3])
        vectors = random.normal(size=(self.recipe.words, self.recipe.dimensions)).astype(np.float32)
        directions = random.normal(size=(self.recipe.classes + 1, self.recipe.dimensions)).astype(np.float32)
        directions[-1] = 0  # of words that no class prefers
        names = self.names[: self.recipe.words].tolist()
        return Embeddings.from_arrays(
            [name.decode().strip() for name in names], vectors + directions[self.class_of_words()]
        )


def make_words(n_words: int, seed: int) -> list[str]:
    """Return different words that can be pronounced, the first of them short.

    The first 80 have one short syllable (ba, ke), the next thousands two, the rest three.
    """
    onsets = [*"bcdfghjklmnpqrstvwyz", "br", "ch", "cl", "dr", "fl", "gr", "pl", "sh", "st", "th", "tr", "sp"]
    short = [onset + vowel for onset in onsets[:20] for vowel in "aeio"]
    syllables = [
        onset + vowel + coda
        for onset, vowel, coda in itertools.product(onsets, ("a", "e", "i", "o", "u", "ea"), ("", "n", "r", "s", "l"))
    ]
    random = np.random.default_rng([seed, 0])
    words = dict.fromkeys(random.permutation(short).tolist())
    for n_syllables, most in ((2, 30_000), (3, n_words)):
        while len(words) < min(most, n_words):
            drawn = random.integers(0, len(syllables), (min(most, n_words), n_syllables)).tolist()
            words.update(dict.fromkeys("".join(map(syllables.__getitem__, numbers)) for numbers in drawn))
    return list(words)[:n_words]


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, which appears when it is complete; packed if its name says so."""
    with written_beside(path) as file:
        if path.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile("", "wb", compresslevel=3, fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def write_texts(corpus: Corpus, n_documents: int, paths: Sequence[Path]) -> None:
    """Write documents to files, as many to each; the first ones to the first."""
    ends = [n_documents * number // len(paths) for number in range(1, len(paths) + 1)]
    done, batch, at = 0, corpus.batch(0), 0
    for path, end in zip(paths, ends, strict=True):
        with opened(path) as file:
            file.write(b"text,label\n")
            while done < end:
                if done // BATCH > at:
                    at = done // BATCH
                    batch = corpus.batch(at)
                upto = min(end, (at + 1) * BATCH)
                file.write(corpus.rows(batch, done - at * BATCH, upto - at * BATCH))
                done = upto
            if sys.stderr.isatty():
                print(f"{path}: done", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--files", type=int, default=1, metavar="N", help="write texts-0.csv, texts-1.csv, …")
    parser.add_argument("--gz", action="store_true", help="pack the texts: .csv.gz")
    parser.add_argument("--no-vectors", action="store_true", help="write no vectors.bin")
    for field in fields(Recipe):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    given = parser.parse_args(arguments)
    least = {"documents": 1, "files": 1, "words": 2 * COMMON, "classes": 2, "dimensions": 1}
    for name, value in least.items():
        if getattr(given, name) < value:
            parser.error(f"found --{name} {getattr(given, name)}; expected {value} or more")
    if not 0 < given.topical < 1:
        parser.error(f"found --topical {given.topical}; expected a fraction between 0 and 1")
    given.output.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    corpus = Corpus(Recipe(**{field.name: getattr(given, field.name) for field in fields(Recipe)}))
    ending = ".csv.gz" if given.gz else ".csv"
    names = ["texts"] if given.files == 1 else [f"texts-{number}" for number in range(given.files)]
    paths = [given.output / f"{name}{ending}" for name in names]
    write_texts(corpus, given.documents, paths)
    size = sum(path.stat().st_size for path in paths)
    print(f"{given.documents:,} documents, {size / 1e6:,.1f} MB, {time.perf_counter() - began:.0f} s: {paths[0]}")
    if not given.no_vectors:
        corpus.vectors().save(given.output / "vectors.bin")
        print(f"{given.words:,} vectors of {given.dimensions} dimensions: {given.output / 'vectors.bin'}")


if __name__ == "__main__":
    main()
