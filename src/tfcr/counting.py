"""Labelled texts that come batch by batch, counted into shards: what training on more texts than memory begins with."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.checks import check_classes
from tfcr.heads.large import SAMPLE_DOCUMENTS
from tfcr.system.array_codec import Arrays, read_strings, write_strings
from tfcr.system.checkpoints import BYTES, NO_CHECKPOINTS, Checkpoints
from tfcr.system.files import scratch_folder
from tfcr.system.hardware import map_large_arrays, return_memory
from tfcr.system.places import Kept, Places, local_places
from tfcr.text.class_counts import check_sample_weight
from tfcr.text.documents import check_texts
from tfcr.text.label_numbers import LabelNumbers
from tfcr.text.label_sets import AnyLabels, LabelSets, NumberedLabels, classes_of
from tfcr.text.labels import label_array
from tfcr.text.shards import SHARD_CHARACTERS, SHARD_DOCUMENTS, ShardedDocuments, TermRoom, count_shard, unite
from tfcr.text.tokenizers import AnyTokenizer
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.kept_documents import KeptDocuments, map_packed, pack_shard, write_packed
from tfcr.trained.seen import TrainingTexts, hash_texts

SHARD, PIECE, COUNTED, PACKED = "shard", "piece", "counted", "packed"
"""Names of checkpoints."""
BASE_BYTES, DOCUMENT_BYTES = 350_000_000, 32
"""Memory that training in shards takes whatever the data, and for each document; measured on the generated corpus."""
TERM_BYTES, OUTPUT_BYTES = 600, 125
"""Memory for a term, and for each of its outputs: coefficients, gradient, step and what solving for it takes."""
VALUE_BYTES = 16
"""Memory for each value of a word table while it is made."""
SHARD_ENTRIES = 4
"""Sparse features for each word up to which shards have their full size."""
SAFETY = 0.85
"""The fraction of the memory left for terms that is planned for."""
LEAST_SHARE = 0.2
"""The fraction of all memory that terms may take at the least."""

Batch = tuple[list[str], list[Any]] | tuple[list[str], list[Any], Iterable[float]]
"""Texts, and their labels: one each, or several; and the weight of each text, if it is not 1."""


class Part(Protocol):
    """Texts and labels that any process can read."""

    def read(self) -> tuple[list[str], list[Any]]:
        """Return them."""


@runtime_checkable
class InParts(Protocol):
    """Batches that can be read in parts, elsewhere; `classes` are all labels."""

    classes: Sequence[Any]

    def parts(self) -> Iterator[Part]:
        """Yield the parts, in the order of the batches."""


@dataclass(frozen=True)
class CountedTexts:
    """Texts counted into shards over one vocabulary.

    Attributes
    ----------
    documents, labels, weights
        The counts, and the labels and weights of the same documents.
    seen
        Hashes of the texts.
    notes
        What was left out, one line each.
    kept
        The documents as a model keeps them, if that was wanted.
    """

    documents: ShardedDocuments
    labels: NumberedLabels | LabelSets
    weights: NDArray[np.float64]
    seen: TrainingTexts
    notes: tuple[str, ...] = ()
    kept: KeptDocuments | None = None


def count_batches(
    batches: Iterable[Batch],
    places: Places,
    tokenizer: str | AnyTokenizer,
    *,
    bigrams: bool,
    max_memory: int,
    progress: Callable[[int], None] = lambda documents: None,
    keep_documents: bool = False,
    all_blocks: bool = False,
    entries_per_word: float = 1.0,
) -> CountedTexts:
    """Count labelled texts into shards.

    Parameters
    ----------
    batches
        Texts and labels, of any size. If they can be read in parts, and the places are elsewhere, they are read there.
    places
        Where shards are kept.
    tokenizer, bigrams
        What is counted.
    max_memory
        Where the terms would take more than a share of it, those that the fewest documents hold are left out.
    progress
        Called with the number of documents so far.
    keep_documents
        Whether shards are also packed, to be kept in a model; in a temporary file.
    all_blocks
        Whether the output of each class sees the blocks of all classes: terms take more memory then.
    entries_per_word
        Sparse features that documents have for each of their words: if there are many, shards are smaller.
    """
    map_large_arrays()  # or memory that is free would count, too
    if (known := _resumed(places, bigrams, keep_documents=keep_documents)) is not None:
        return known
    numbers, hashes = LabelNumbers(), []
    weights: list[NDArray[np.float64]] = []

    def texts_to_count() -> Iterator[list[str]]:
        done = 0
        for texts, labels, of_texts in shard_batches(batches, entries_per_word):
            numbers.add(labels)
            weights.append(of_texts)
            hashes.append(hash_texts(texts))
            yield texts
            done += len(texts)
            progress(done)

    if places.reads_files and isinstance(batches, InParts):
        classes = batches.classes
        shards = places.make(_count_part, batches.parts(), tokenizer, bigrams, classes, name=SHARD)
        done = 0
        for labels_of_shard, sizes, hashes_of_shard in places.map(_labels_of, shards):
            numbers.add_numbers(classes, labels_of_shard, sizes)
            weights.append(np.ones(len(hashes_of_shard)))
            hashes.append(hashes_of_shard)
            done += len(hashes_of_shard)
            progress(done)
    else:
        shards = places.make(_count_texts, texts_to_count(), tokenizer, bigrams, name=SHARD)
    if not hashes:
        raise InputError("found no documents; expected documents of at least two classes")
    labels = numbers.labels()
    check_classes(classes_of(labels))
    of_all, seen = np.concatenate(weights), TrainingTexts.of_hashes(hashes)
    weights.clear()
    hashes.clear()
    packed = _pack(places, shards) if keep_documents else None
    return_memory()  # what reading has freed, and below, what uniting has
    room = room_for_terms(max_memory, len(labels), len(labels.classes), all_blocks=all_blocks)
    united = unite(places, shards, room=room)
    return_memory()
    notes: tuple[str, ...] = ()
    if united.least_documents > 1:
        kept = len(united.documents.vocabulary)
        notes = (
            f"found {united.n_terms:,} terms or more, and less room for them in max_memory; those in fewer than "
            f"{united.least_documents} documents are left out: {kept:,} are kept",
        )
    kept_documents = None if packed is None else _keep(packed, labels, of_all, bigrams)
    counted = CountedTexts(united.documents, labels, of_all, seen, notes, kept_documents)
    _preserve(counted)
    places.drop(shards)
    return counted


def _keep(
    packed: tuple[Arrays, ...], labels: NumberedLabels | LabelSets, weights: NDArray[np.float64], bigrams: bool
) -> KeptDocuments:
    return KeptDocuments(packed, labels, None if (weights == 1).all() else weights, bigrams)


def _count_texts(texts: list[str], tokenizer: str | AnyTokenizer, bigrams: bool) -> Arrays:
    return count_shard(texts, tokenizer, bigrams=bigrams)


def _count_part(part: Part, tokenizer: str | AnyTokenizer, bigrams: bool, classes: Sequence[Any]) -> Arrays:
    """Read and count a part; its shard also holds the labels, as numbers of classes, and the hashes of the texts."""
    texts, labels = part.read()
    numbers = dict(zip(classes, range(len(classes)), strict=True))
    several = {"label.sizes": np.fromiter(map(len, labels), np.int32, len(labels))} if _several(labels) else {}
    flat = [label for row in labels for label in row] if several else labels
    return {
        **count_shard(texts, tokenizer, bigrams=bigrams),
        "labels": np.fromiter(map(numbers.__getitem__, flat), np.int32, len(flat)),
        **several,
        "hashes": hash_texts(texts),
    }


def _several(labels: Sequence[Any]) -> bool:
    return any(isinstance(label, tuple) for label in labels[:1])


def _labels_of(shard: Arrays) -> tuple[NDArray[np.int32], NDArray[np.int32] | None, NDArray[np.uint64]]:
    """Return the labels of a shard that `_count_part` made, how many each text has, and the hashes of the texts."""
    return shard["labels"], shard.get("label.sizes"), shard["hashes"]


def room_for_terms(max_memory: int, n_documents: int, n_classes: int, *, all_blocks: bool = False) -> TermRoom:
    """Return the memory that terms may take, with a coefficient for each class.

    If each class sees the blocks of all, a term has as many values as there are classes for each class that it is in,
    and it is in no more classes than documents.

    >>> room_for_terms(2 * 10**9, 10**7, 20)
    TermRoom(bytes=1130500000, each=3100, by_document=0, documents=0)
    """
    left = SAFETY * (max_memory - BASE_BYTES - DOCUMENT_BYTES * n_documents)
    room = TermRoom(int(max(left, LEAST_SHARE * max_memory)), TERM_BYTES + OUTPUT_BYTES * n_classes)
    return replace(room, by_document=VALUE_BYTES * n_classes, documents=n_classes) if all_blocks else room


def shard_batches(
    batches: Iterable[Batch], entries_per_word: float = 1.0
) -> Iterator[tuple[list[str], list[Any], NDArray[np.float64]]]:
    """Yield texts, labels and weights in batches that make a shard each; the last may be smaller.

    Texts of weight 0 are left out. The features of a shard are in memory together, so that it has fewer texts if these
    have many.
    """
    most_characters = SHARD_CHARACTERS / max(1.0, entries_per_word / SHARD_ENTRIES)
    texts: list[str] = []
    labels: list[Any] = []
    weights: list[float] = []
    characters = 0
    for some, of_some, *given in batches:
        checked = check_texts(some)
        if len(checked) != len(of_some):
            raise InputError(f"found {len(checked)} texts and {len(of_some)} labels; expected the same number of each")
        known = [1.0] * len(checked) if not given else list(given[0])
        if any(known) or len(known) != len(checked):  # all texts of one batch may have the weight 0
            known = check_sample_weight(known, len(checked)).tolist()
        for text, label, weight in zip(checked, of_some, known, strict=True):
            if not weight:
                continue
            texts.append(text)
            labels.append(label)
            weights.append(weight)
            characters += len(text)
            if characters >= most_characters or len(texts) >= SHARD_DOCUMENTS:
                yield texts, labels, np.array(weights)
                texts, labels, weights, characters = [], [], [], 0
    if texts:
        yield texts, labels, np.array(weights)


# resuming ------------------------------------------------------------------------------------------------------------


def _preserve(counted: CountedTexts) -> None:
    """Let a later run find counted texts, so that it need not read them again."""
    documents, labels = counted.documents, counted.labels
    places = documents.places
    if not places.preserve(documents.pieces, PIECE):
        return
    of_labels: Arrays
    if isinstance(labels, LabelSets):
        members, numbers = np.nonzero(labels.members)
        of_labels = {"labels": numbers, "label.sizes": np.bincount(members, minlength=len(labels))}
    else:
        of_labels = {"labels": labels.numbers}
    said = json.dumps({"classes": labels.classes.tolist(), "notes": counted.notes}).encode()
    places.checkpoints.write(
        COUNTED,
        {
            **write_strings("words", documents.vocabulary.words),
            "bigrams": np.ascontiguousarray(documents.vocabulary.bigrams),
            "bounds": documents.bounds,
            "lengths": documents.lengths,
            "weights": counted.weights,
            **of_labels,
            **counted.seen.write(),
            "said": np.frombuffer(said, np.uint8),
        },
    )


def _resumed(places: Places, bigrams: bool, *, keep_documents: bool) -> CountedTexts | None:
    """Return the texts that an earlier run has counted; None if it has not counted all."""
    known, pieces = places.checkpoints.read(COUNTED), places.preserved(PIECE)
    packed = _packed_before(places) if keep_documents else None
    if known is None or pieces is None or (keep_documents and packed is None):
        return None
    said = json.loads(known["said"].tobytes())
    classes, numbers = label_array(said["classes"]), known["labels"]
    labels: NumberedLabels | LabelSets = NumberedLabels(classes, numbers)
    if "label.sizes" in known:
        members = np.zeros((len(known["label.sizes"]), len(classes)), np.bool_)
        members[np.repeat(np.arange(len(members)), known["label.sizes"]), numbers] = True
        labels = LabelSets(classes, members)
    vocabulary = Vocabulary(read_strings(known, "words"), known["bigrams"])
    return CountedTexts(
        ShardedDocuments(places, pieces, vocabulary, known["bounds"], known["lengths"]),
        labels,
        known["weights"],
        TrainingTexts(known["hashes"], int(known["distinct"][0])),
        tuple(said["notes"]),
        None if packed is None else _keep(packed, labels, known["weights"], bigrams),
    )


def _pack(places: Places, shards: Kept) -> tuple[Arrays, ...]:
    """Return shards packed, as views of a file: a temporary one, or one that a later run finds."""
    folder, packed = places.checkpoints.folder, places.map(pack_shard, shards)
    if folder is None:
        with scratch_folder() as scratch:
            return map_packed(scratch / PACKED, write_packed(scratch / PACKED, packed))
    path = folder / f"{PACKED}{BYTES}"
    sizes = write_packed(path, packed)
    places.checkpoints.write(PACKED, {"sizes": sizes})
    return map_packed(path, sizes)


def _packed_before(places: Places) -> tuple[Arrays, ...] | None:
    known, folder = places.checkpoints.read(PACKED), places.checkpoints.folder
    return None if known is None or folder is None else map_packed(folder / f"{PACKED}{BYTES}", known["sizes"])


# documents that a model keeps ----------------------------------------------------------------------------------------


def count_to_keep(
    texts: list[str],
    labels: AnyLabels,
    weights: NDArray[np.float64] | None,
    tokenizer: str | AnyTokenizer,
    *,
    bigrams: bool,
) -> KeptDocuments:
    """Count texts as a model keeps them, with all of their bigrams: one that is rare now may be frequent later."""
    shards = (
        count_shard(some, tokenizer, bigrams=bigrams) for some, *_ in shard_batches([(texts, [None] * len(texts))])
    )
    return KeptDocuments.of(shards, labels, weights, bigrams=bigrams)


def count_batches_to_keep(
    batches: Iterable[Batch],
    tokenizer: str | AnyTokenizer,
    *,
    bigrams: bool,
    progress: Callable[[int], None] = lambda documents: None,
) -> tuple[KeptDocuments, TrainingTexts]:
    """Count texts that come batch by batch as `count_to_keep` does, packed in a temporary file; and their hashes."""
    numbers, hashes, weights = LabelNumbers(), [np.zeros(0, np.uint64)], [np.zeros(0)]

    def packed() -> Iterator[Arrays]:
        for texts, labels, of_texts in shard_batches(batches):
            numbers.add(labels)
            hashes.append(hash_texts(texts))
            weights.append(of_texts)
            yield pack_shard(count_shard(texts, tokenizer, bigrams=bigrams))
            progress(sum(map(len, weights)))

    with scratch_folder() as scratch:
        shards = map_packed(scratch / PACKED, write_packed(scratch / PACKED, packed()))
    return _keep(shards, numbers.labels(), np.concatenate(weights), bigrams), TrainingTexts.of_hashes(hashes)


@contextmanager
def opened_documents(
    kept: KeptDocuments, max_memory: int, checkpoints: Checkpoints = NO_CHECKPOINTS, *, all_blocks: bool = False
) -> Iterator[ShardedDocuments]:
    """Give kept documents over one vocabulary, in temporary files; few of them with all of their terms, as by `fit`."""
    with local_places(checkpoints) as places:
        shards = places.keep(kept.shards())
        room = room_for_terms(max_memory, len(kept), len(kept.labels.classes), all_blocks=all_blocks)
        documents = unite(places, shards, room=room if len(kept) > SAMPLE_DOCUMENTS else None).documents
        places.drop(shards)
        yield documents
