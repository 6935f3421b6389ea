"""``embeddings="auto"``: the best of what is installed, for texts whose words it knows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from tfcr.embeddings.pretrained import AUTO, IN_DOMAIN, PRETRAINED, is_ready
from tfcr.embeddings.store import AnyEmbeddings, Embeddings, resolve_embeddings, sources_of
from tfcr.errors import CorpusWarning, EmbeddingsError
from tfcr.system.progress import Progress
from tfcr.text.documents import TextStream
from tfcr.text.pieces import MAX_CHARACTERS
from tfcr.text.shards import Documents
from tfcr.text.tokenizers import DEFAULT_TOKENIZER, AnyTokenizer

CANDIDATES = ("wglove-50", "wordllama")
"""Names of PRETRAINED that come with a package, best first; benchmarks/default_vectors.py compares them."""
LEAST_KNOWN = 0.5
"""A candidate that knows a smaller fraction of the texts is not used.

Measured: wglove-50 knows .67 to .88 of six English datasets, tweets among them, and less than .01 of a Chinese one;
of a few sentences each, .43 in French and .19 in German. wordllama knows all of these but .64 of Chinese, where it
helps too.
"""
FREQUENT = 10_000
"""A table of words knows a word of the texts if it is among so many most frequent ones: lists have words of all
languages, and those of their own first."""
ENOUGH_TOKENS = 100_000
"""From so much text on, word2vec trained on it does better than a table of sub-words if weighted by class."""

Note = Callable[[str], None]


@dataclass(frozen=True)
class Choice:
    """What ``"auto"`` stands for.

    Attributes
    ----------
    sources
        Loaded Embeddings, or ``"w2v"``: to be trained. The first is weighted by class.
    reasons
        Why others were not chosen.
    """

    sources: tuple[Embeddings | str, ...]
    reasons: tuple[str, ...] = ()

    def described(self, tables: Sequence[Embeddings]) -> str:
        """Return a note that names what was chosen, `tables` being what became of the sources."""
        names = " + ".join(table.name for table in tables) or "none, so that the parts that need vectors are left out"
        trained = (
            ", word2vec trained on these texts without their labels"
            if any(table.name == IN_DOMAIN for table in tables)
            else ""
        )
        reasons = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        return f"vectors: {names}{trained}{reasons}"


def choose_embeddings(documents: Documents) -> Choice:
    """Return what ``"auto"`` stands for: the same on every machine with the same packages.

    All candidates that are installed and know the texts are used. Word2vec trained on the texts takes the place of the
    first candidate, if that is not among them, and there is enough text or nothing else.
    """
    words, occurrences = _counted_words(documents)
    chosen: dict[str, Embeddings | str] = {}
    reasons = []
    for name in CANDIDATES:
        table = installed(name)
        known = 0.0 if table is None else known_fraction(table, words, occurrences)
        if table is None:
            reasons.append(f"{name} is not installed: {PRETRAINED[name].source}")
        elif known < LEAST_KNOWN:
            reasons.append(f"{name} knows {known:.0%} of these texts, less than {LEAST_KNOWN:.0%}")
        else:
            chosen[name] = table
    if CANDIDATES[0] not in chosen and (not chosen or occurrences.sum() >= ENOUGH_TOKENS):
        chosen = {IN_DOMAIN: IN_DOMAIN, **chosen}
    return Choice(tuple(chosen.values()), tuple(reasons))


def installed(name: str) -> Embeddings | None:
    """Return known vectors if they are on this machine."""
    return Embeddings.load(name) if is_ready(name) else None


def known_fraction(table: Embeddings, words: Sequence[str], occurrences: NDArray[np.float64]) -> float:
    """Return how much of a text a table knows, tokens without letters left aside.

    Parameters
    ----------
    table
        Of words: the fraction of the tokens that are among its FREQUENT first words. Of sub-words: the fraction of
        the characters that are in one of its pieces.
    words, occurrences
        The different words of the text, and how often each occurs; (n_words,).

    Examples
    --------
    >>> table = Embeddings.from_arrays(["good", "film"], [[1, 0], [0, 1]])
    >>> known_fraction(table, ["!", "film", "gut"], np.array([9.0, 3.0, 1.0]))
    0.75
    """
    sizes = np.array([min(len(word), MAX_CHARACTERS) for word in words], np.float64)
    lettered = occurrences * np.array([any(map(str.isalpha, word)) for word in words], np.float64)
    pieces, _ = table.pieces(FREQUENT)
    if table.segmentation is None:
        frequent = set(pieces.names)
        known, total = lettered @ np.array([f" {word} " in frequent for word in words], np.float64), lettered.sum()
    else:
        in_pieces = pieces.matrix(words) @ np.array([len(name.strip(" ")) for name in pieces.names], np.float64)
        known, total = lettered @ in_pieces, lettered @ sizes
    return float(known / total) if total else 0.0


def _counted_words(documents: Documents) -> tuple[Sequence[str], NDArray[np.float64]]:
    counts = documents.only_words()
    return counts.vocabulary.words, counts.occurrences()


def resolve_tables(
    source: AnyEmbeddings,
    texts: Sequence[str] | TextStream,
    documents: Callable[[], Documents],
    *,
    dimensions: int = 100,
    unlabelled: Iterable[str] | None = None,
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    random_state: Any = None,
    progress: Progress | None = None,
    note: Note | None = None,
    trained: Embeddings | None = None,
) -> list[Embeddings]:
    """Return the vectors that `source` stands for: the first are weighted by class, all are summed plainly.

    Parameters
    ----------
    source
        See `AnyEmbeddings`; ``"auto"``, which may stand for none at all; or several, as in ``"wglove-50+wordllama"``.
    texts, dimensions, unlabelled, tokenizer, random_state, progress
        See `resolve_embeddings`.
    documents
        Returns the counts of the texts, which ``"auto"`` depends on.
    note
        Called with a line that names what ``"auto"`` chose; without it, a warning says if that is nothing.
    trained
        What ``"w2v"`` stands for, if it has been trained already.
    """

    def resolve(one: AnyEmbeddings) -> Embeddings:
        if trained is not None and isinstance(one, str) and one == IN_DOMAIN:
            return trained
        return resolve_embeddings(
            one,
            texts,
            dimensions=dimensions,
            unlabelled=unlabelled,
            tokenizer=tokenizer,
            random_state=random_state,
            progress=progress,
        )

    if source != AUTO:
        return [resolve(one) for one in sources_of(source)]
    choice = choose_embeddings(documents())
    tables = []
    for one in choice.sources:
        try:
            tables.append(resolve(one))
        except EmbeddingsError as error:  # so few texts that word2vec has nothing to learn from
            choice = replace(choice, reasons=(*choice.reasons, str(error).partition(";")[0]))
    if note is not None:
        note(choice.described(tables))
    elif not tables:
        warn(choice.described(tables), CorpusWarning, stacklevel=2)
    return tables
