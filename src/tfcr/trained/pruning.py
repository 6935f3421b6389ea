"""A trained model made smaller: an ordinary model that keeps what matters most within a number of bytes.

Terms that look private are left out first, whatever the size. Then two steps, each only if it is needed:

1. Values of 8 bits, as large models have them (see `trained.rounding`; but all bigrams stay), and weights of 16. A
   small model keeps its values: the scales of rounded ones would take more room.
2. Of terms, and of pieces of unseen words, those are left out that add least to the variance of scores per byte. What a
   term adds is the square of its influence. A bigram is worth no more than the lesser of its words, as it cannot be
   without them:

       term          variance   bytes   per byte    worth      with room for 100 bytes
       good          8.0        40      .2          .2         kept
       so            1.2        40      .03         .03        kept
       so good       1.1        11      .1          .03        kept
       so bad        .1         11      .009        .009       left out

   A list of sub-words is kept as a whole or not at all, whichever keeps more variance.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.kernels.layout import ENTRY, VALUE
from tfcr.system.limits import in_words
from tfcr.text.pieces import Pieces
from tfcr.text.private import private_terms
from tfcr.trained.model import TrainedModel
from tfcr.trained.rounding import round_table
from tfcr.trained.table_json import piece_bytes, table_json, term_bytes
from tfcr.trained.word_table import Entries, PieceTable, Rows, WordTable

WHOLE_LISTS = ("longest", "merge")
"""Segmentations that cut words otherwise if one of their pieces is missing: all of the pieces are kept, or none.

(But for those that look private: words with these are cut otherwise.)
"""
CLOSE = 0.01
"""Part of the room that may be left."""
MOST_TRIES = 12


class Pruned(NamedTuple):
    """A smaller model, and what it lacks.

    Attributes
    ----------
    model
        It predicts, explains and saves like any other.
    private
        How many terms were left out because they look private, by kind; see `text.private`.
    kept_influence
        The fraction of the variance that the terms of the given model, private ones included, and its pieces add to
        scores, which those that are kept hold: 1 if nothing is left out. That of pieces is estimated.
    """

    model: TrainedModel
    private: dict[str, int]
    kept_influence: float


def prune(
    model: TrainedModel,
    max_bytes: int,
    *,
    keep_private: bool = False,
    size: Callable[[TrainedModel], int] = lambda model: len(table_json(model).encode()),
) -> Pruned:
    """Return a model that takes at most so many bytes when it is exported.

    Parameters
    ----------
    model
        A trained model; it stays as it is.
    max_bytes
        The most that `size` may give for the result.
    keep_private
        Whether terms that look like e-mail addresses, phone or card numbers are kept.
    size
        How many bytes a model takes; by default, its table as JSON.

    Raises
    ------
    InputError
        If not even a model without terms is that small, or if its tokeniser cannot be exported.
    """
    public, private = (model, {}) if keep_private else without_private(model)
    found = public if size(public) <= max_bytes else _smaller(public, max_bytes, size)
    return Pruned(found, private, 1.0 if found is model else kept_variance(model.table, found.table))


def without_private(model: TrainedModel) -> tuple[TrainedModel, dict[str, int]]:
    """Return a model without the terms and pieces that look private, and how many there were of each kind.

    Character n-grams that only private words hold are left out too: chained, they would spell them.
    """
    table = model.table
    names, n_words = table.vocabulary.names, table.vocabulary.n_words
    by_kind = private_terms(names)
    gone = np.zeros(len(names), np.bool_)
    gone[[number for numbers in by_kind.values() for number in numbers]] = True
    gone[n_words:] |= gone[table.vocabulary.bigrams].any(axis=1)  # no bigram can be without its words
    found = {kind: {names[number] for number in numbers} for kind, numbers in by_kind.items()}
    words = [[names[number] for number in np.flatnonzero(some[:n_words]).tolist()] for some in (gone, ~gone)]
    pieces = []
    for some in table.pieces:
        is_private = _only_in(some.pieces, *words)
        looks = [name.strip() for name in some.pieces.names]
        for kind, numbers in private_terms(looks).items():
            is_private[numbers] = True
            found.setdefault(kind, set()).update(looks[number] for number in numbers)
        pieces.append(_take_pieces(some, np.flatnonzero(~is_private)) if is_private.any() else some)
    if not found:
        return model, {}
    smaller = replace(take_terms(table, np.flatnonzero(~gone)), pieces=tuple(pieces))
    return replace(model, table=smaller, counts=None, seen=None, documents=None), {
        kind: len(terms) for kind, terms in found.items()
    }


def _only_in(pieces: Pieces, words: list[str], others: list[str]) -> NDArray[np.bool_]:
    """Return which pieces occur in these words and in no others; (n_pieces,).

    Sub-words are not asked for: their list is that of the vectors, whatever the texts hold.
    """
    found = np.zeros(len(pieces), np.bool_)
    if words and pieces.segmentation not in WHOLE_LISTS:
        found[pieces.cut(words)[0]] = True
        found[pieces.cut(others)[0]] = False
    return found


def _smaller(model: TrainedModel, max_bytes: int, size: Callable[[TrainedModel], int]) -> TrainedModel:
    """Return a model of 8 bits and, if that is not enough, the largest that fits, but for CLOSE of the room."""
    rounded = round_table(model.table, 0, weak_bigrams=True)
    tables = [model.table] if rounded is model.table else [rounded, model.table]
    whole = [replace(model, table=short_weights(table), counts=None, seen=None, documents=None) for table in tables]
    least = []
    for large, some in sorted(((size(some), some) for some in whole), key=lambda pair: pair[0]):
        if large <= max_bytes:
            return some
        fits = []
        for lists in _some_lists(some.table):
            found, small = _largest(replace(some, table=lists), max_bytes, size)
            least.append(small)
            fits += [] if found is None else [found]
        if fits:
            return max(fits, key=lambda found: kept_variance(model.table, found.table))
    enough = int(1.06 * min(size(model), 2 * min(least)))  # more, as it is shown rounded
    raise InputError(
        f"found a model that takes {in_words(min(least))} without any term; expected at most {in_words(max_bytes)}: "
        f"give more room, such as --max-size {in_words(enough).replace(' ', '')}"
    )


def _some_lists(table: WordTable) -> list[WordTable]:
    """Return the table with all of its lists of sub-words, then without the one worth least per byte, and so on."""
    lists = [some for some in table.pieces if some.pieces.segmentation in WHOLE_LISTS and len(some.pieces)]
    lists.sort(key=lambda some: _piece_variances(table, some).sum() / piece_bytes(some).sum())
    return [
        replace(table, pieces=tuple(some for some in table.pieces if some not in lists[:n_gone]))
        for n_gone in range(len(lists) + 1)
    ]


def _largest(
    model: TrainedModel, max_bytes: int, size: Callable[[TrainedModel], int]
) -> tuple[TrainedModel | None, int]:
    """Return the largest model that fits, but for CLOSE of the room, with all of its lists of sub-words.

    None if they do not fit by themselves; and how many bytes they take so.
    """
    ranked = _Ranked.of(model.table)

    def within(room: float) -> tuple[TrainedModel, int]:
        found = replace(model, table=ranked.within(model.table, room))
        return found, size(found)

    low, high = 0.0, float(ranked.costs.sum())
    best, small = within(low)
    least, large = small, size(model)
    if small > max_bytes or large <= max_bytes:
        return (None if small > max_bytes else model), least
    for _ in range(MOST_TRIES):
        # where a straight line between both sizes reaches the limit, or a little less
        room = low + (high - low) * max(0.0, (1 - CLOSE / 2) * max_bytes - small) / (large - small)
        found, now = within(room)
        if now > max_bytes:
            high, large = room, now
            continue
        best, low, small = found, room, now
        if now >= (1 - CLOSE) * max_bytes:
            break
    return best, least


# what is worth how much --------------------------------------------------------------------------------------------


def variances(table: WordTable) -> NDArray[np.float64]:
    """Return about what each term adds to the variance of the scores over training documents; (n_terms,).

    What it adds to all classes alike changes no label, and does not count.
    """
    influences = table.influences()
    centre = influences.mean(axis=1, keepdims=True) if influences.shape[1] > 1 else 0.0
    return np.asarray(((influences - centre) ** 2).sum(axis=1))


def _piece_variances(table: WordTable, some: PieceTable) -> NDArray[np.float64]:
    """Return about what each piece adds to the variance of the scores; (n_pieces,).

    How often it occurs in unseen words is estimated by the words that training saw least: by Good and Turing, new texts
    have about as many unseen words as the training texts had words that occurred once, and these look alike.
    """
    frequencies = table.deviations[: table.vocabulary.n_words].astype(np.float64) ** 2
    rare = np.flatnonzero(frequencies <= 1.5 * frequencies[frequencies > 0].min(initial=np.inf))
    numbers, _ = some.pieces.cut([table.vocabulary.words[number] for number in rare.tolist()])
    counts = np.bincount(numbers, minlength=len(some.pieces)) + 1  # one more: no piece is impossible
    expected = frequencies[rare].sum() * counts / (len(rare) + len(some.pieces))
    group = some.group
    codes = np.clip(some.rows.values[:, 0].astype(np.int64), 0, table.scales.shape[1] - 1)
    factors = table.scales[group][codes].astype(np.float64) / (float(table.typical[group]) or 1.0)
    added = some.rows.values[:, 1:] * factors[:, None]
    centre = added.mean(axis=1, keepdims=True) if added.shape[1] > 1 else 0.0
    return np.asarray(((added - centre) ** 2).sum(axis=1) * expected)


def kept_variance(whole: WordTable, part: WordTable) -> float:
    """Return which fraction of the variance that terms and pieces add to scores is that of a part of them."""
    of_terms = variances(whole)
    total, kept = of_terms.sum(), of_terms[part.vocabulary.positions_in(whole.vocabulary)].sum()
    left = {some.group: some.pieces for some in part.pieces}
    for some in whole.pieces:
        adds = _piece_variances(whole, some)
        total += adds.sum()
        names = set(left[some.group].names) if some.group in left else set()
        kept += adds[[name in names for name in some.pieces.names]].sum() if len(adds) else 0.0
    return min(1.0, float(kept / total)) if total else 1.0


class _Ranked(NamedTuple):
    """All terms, and after them all pieces of each piece table: what each is worth per byte, and its bytes.

    Lists of sub-words, which are kept as a whole, cost nothing here.
    """

    worth: NDArray[np.float64]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, table: WordTable) -> "_Ranked":
        costs = [term_bytes(table)]
        worth = [variances(table) / costs[0]]
        n_words, bigrams = table.vocabulary.n_words, table.vocabulary.bigrams
        if len(bigrams):
            worth[0][n_words:] = np.minimum(worth[0][n_words:], worth[0][bigrams].min(axis=1))
        for some in table.pieces:
            cost = piece_bytes(some)
            whole_list = some.pieces.segmentation in WHOLE_LISTS
            worth.append(np.full(len(cost), np.inf) if whole_list else _piece_variances(table, some) / cost)
            costs.append(np.zeros(len(cost)) if whole_list else cost)
        return cls(np.concatenate(worth), np.concatenate(costs))

    def within(self, table: WordTable, room: float) -> WordTable:
        """Return the table with what is worth most, as far as there is room."""
        order = np.argsort(-self.worth, kind="stable")
        n_kept = int(np.searchsorted(np.cumsum(self.costs[order]), max(room, 0.0), "right"))
        kept = np.zeros(len(order), np.bool_)
        kept[order[:n_kept]] = True
        last = len(table.vocabulary)
        smaller = take_terms(table, np.flatnonzero(kept[:last]))
        pieces = []
        for some in table.pieces:
            first, last = last, last + len(some.pieces)
            own = kept[first:last]
            if own.any():
                pieces.append(_take_pieces(some, np.flatnonzero(own)))
        return replace(smaller, pieces=tuple(pieces))


# parts of tables ---------------------------------------------------------------------------------------------------


def take_terms(table: WordTable, terms: NDArray[np.int64]) -> WordTable:
    """Return the table with some of its terms, in rising order; with each bigram, both of its words.

    If the entries of the terms 0 to 3 begin at 0 2 2 3 and end at 5, those of the terms 0 and 3 are 0 1 and 3 4: they
    begin at 0 2 then, and end at 4.
    """
    n_words = table.vocabulary.n_words
    return replace(
        table,
        vocabulary=table.vocabulary.take(terms),
        words=_take_rows(table.words, terms[terms < n_words]),
        bigrams=_take_rows(table.bigrams, terms[terms >= n_words] - n_words),
        entries=_take_entries(table, terms),
        deviations=table.deviations[terms],
    )


def _take_rows(rows: Rows, numbers: NDArray[np.int64]) -> Rows:
    return rows._replace(weights=rows.weights[numbers], values=rows.values[numbers])


def _take_pieces(some: PieceTable, numbers: NDArray[np.int64]) -> PieceTable:
    return PieceTable(some.pieces.take(numbers), _take_rows(some.rows, numbers))


def _take_entries(table: WordTable, terms: NDArray[np.int64]) -> Entries:
    places = table.entries.places.astype(np.int64)
    own = terms[terms < len(places) - 1]
    is_own = np.zeros(len(places) - 1, np.bool_)
    is_own[own] = True
    sizes = np.diff(places, axis=0)
    entries, values = (np.repeat(is_own, sizes[:, part]) for part in (ENTRY, VALUE))
    ends = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(sizes[own], axis=0)])
    return Entries(
        ends.astype(np.uint32),
        table.entries.groups[entries],
        table.entries.weights[entries],
        table.entries.values[values],
    )


def short_weights(table: WordTable) -> WordTable:
    """Return the table with weights of 16 bits, each wrong by a 256th at most."""
    return replace(
        table,
        words=_short_rows(table.words),
        bigrams=_short_rows(table.bigrams),
        entries=table.entries._replace(weights=shortened(table.entries.weights)),
        pieces=tuple(replace(some, rows=_short_rows(some.rows)) for some in table.pieces),
    )


def _short_rows(rows: Rows) -> Rows:
    return rows._replace(weights=shortened(rows.weights))


def shortened(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return numbers rounded to the upper half of a float32, ties to even.

    >>> shortened(np.array([1.0, 3.14159, -0.1], np.float32)).tolist()
    [1.0, 3.140625, -0.10009765625]
    """
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return ((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)
