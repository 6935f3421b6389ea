"""In-domain word2vec, trained by gensim, which is imported only here and only when needed."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import EmbeddingsError
from tfcr.system.parameters import DIMENSIONS, SEED, check_all, flag, whole
from tfcr.system.progress import Progress
from tfcr.text.tokenizers import AnyTokenizer, check_tokens, resolve_tokenizer

PARAMETERS = (
    DIMENSIONS,
    whole("window", 1, 1000),
    whole("epochs", 1, 10_000),
    whole("min_count", 1, 10**9),
    flag("skip_gram"),
)
LONGEST_SENTENCE = 10_000
"""gensim silently drops further tokens of a sentence; longer documents are cut into several sentences."""


def train_word2vec(
    texts: Collection[str],
    *,
    dimensions: int,
    window: int,
    epochs: int,
    skip_gram: bool,
    min_count: int,
    seed: int,
    tokenizer: str | AnyTokenizer,
    progress: Progress | None,
) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words and their vectors, float32 of shape (n_words, dimensions)."""
    values = {"dimensions": dimensions, "window": window, "epochs": epochs, "min_count": min_count}
    check_all((*PARAMETERS, SEED), {**values, "skip_gram": skip_gram, "seed": seed})

    from gensim.models import Word2Vec  # noqa: PLC0415

    sentences = _tokenize(texts, tokenizer)
    model = Word2Vec(
        vector_size=dimensions,
        window=window,
        sg=int(skip_gram),
        min_count=min_count,
        seed=seed,
        workers=1,  # more would make the vectors differ from run to run, and be hardly faster
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise EmbeddingsError(
            f"no word occurs {min_count} times in the {len(texts)} texts given, so word2vec has nothing to "
            "learn from; give more text, or vectors from a file (embeddings=PATH)"
        )
    corpus = _Counted(sentences, model.corpus_count, epochs, progress)
    model.train(corpus, total_examples=model.corpus_count, epochs=epochs)
    return list(model.wv.index_to_key), np.asarray(model.wv.vectors, np.float32)


def _tokenize(texts: Collection[str], tokenizer: str | AnyTokenizer) -> Iterable[list[str]]:
    """Return the sentences of texts: held in memory if the texts are, else found anew for each pass."""
    sentences = _Sentences(texts, resolve_tokenizer(tokenizer))
    return list(sentences) if isinstance(texts, list) else sentences


class _Sentences:
    """The tokens of texts, cut where a text is too long for gensim."""

    def __init__(self, texts: Collection[str], split: AnyTokenizer) -> None:
        self.texts, self.split = texts, split

    def __iter__(self) -> Iterator[list[str]]:
        for text in self.texts:
            tokens = check_tokens(self.split(text), self.split)
            yield from (tokens[at : at + LONGEST_SENTENCE] for at in range(0, len(tokens), LONGEST_SENTENCE))


class _Counted:
    """The sentences, iterated once per epoch; reports how many are done."""

    def __init__(self, sentences: Iterable[list[str]], size: int, epochs: int, progress: Progress | None) -> None:
        self.sentences = sentences
        self.total = size * epochs
        self.progress = progress
        self.done = 0

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self.sentences:
            yield sentence
            self.done += 1
            if self.progress is not None and (self.done % 1000 == 0 or self.done == self.total):
                self.progress(self.done, self.total)
