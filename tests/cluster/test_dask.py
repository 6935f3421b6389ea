import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from distributed import Client, get_worker

from tests.cluster.conftest import cluster_corpus
from tests.conftest import random_vectors
from tfcr import Embeddings, TfcrClassifier, counting
from tfcr.cluster import DaskPlaces, open_client
from tfcr.counting import count_batches
from tfcr.data import Corpus, parts
from tfcr.data.labelled_stream import labelled_stream
from tfcr.data.writers import Style, write_frame
from tfcr.errors import ClusterError, DataError
from tfcr.evaluation.streams import StreamBatches
from tfcr.heads import large
from tfcr.heads.sharded import _curved_of
from tfcr.system.array_codec import Arrays
from tfcr.system.places import ByPiece, MemoryPlaces

MEMORY = 10**9


def doubled(piece: Arrays, by: int) -> Arrays:
    return {"a": piece["a"] * by}


def total(piece: Arrays, more: Any = 0) -> float:
    return float(piece["a"].sum() + np.sum(more))


def refuse(item: int) -> Arrays:
    raise DataError(f"found {item}; expected another")


def slow_piece(item: int) -> Arrays:
    time.sleep(0.1)
    return {"a": np.arange(item)}


def batches_of(corpus: Corpus, size: int = 50) -> list[tuple[list[str], list[Any]]]:
    starts = range(0, len(corpus), size)
    return [(corpus.texts[start : start + size], corpus.labels[start : start + size]) for start in starts]


@pytest.fixture
def places(client: Client) -> DaskPlaces:
    return DaskPlaces(client)


def test_pieces_are_kept_transformed_and_summed_as_in_memory(places: DaskPlaces) -> None:
    for where in (places, MemoryPlaces()):
        kept = where.keep({"a": np.arange(10) + number} for number in range(7))
        twice = where.transform(doubled, kept, 2)
        where.drop(kept)
        assert len(twice) == 7
        assert list(where.map(total, twice)) == [2 * (45 + 10 * number) for number in range(7)]
        assert list(where.map(total, twice, ByPiece(list(range(7)))))[:2] == [90.0, 111.0]


def test_made_pieces_and_results_come_in_order(places: DaskPlaces) -> None:
    made = places.make(slow_piece, iter([5, 3, 4]))
    assert list(places.map(total, made)) == [10.0, 3.0, 6.0]
    assert list(places.each(sum, iter([[1, 2], [3]]))) == [3, 3]


def where(item: int, large: Any) -> tuple[int, str]:
    time.sleep(0.05)
    return item, str(get_worker().address)


def test_items_are_done_by_all_workers_whoever_holds_what_they_share(places: DaskPlaces) -> None:
    found = list(places.each(where, iter(range(8)), np.ones(5_000_000)))
    assert [item for item, _ in found] == list(range(8))
    by_worker = Counter(address for _, address in found)
    assert len(by_worker) == len(places.client.nthreads())
    assert max(by_worker.values()) <= 5


def test_an_error_of_the_work_is_raised_here(places: DaskPlaces) -> None:
    with pytest.raises(DataError, match="found 1; expected another"):
        places.make(refuse, [1, 2])
    with pytest.raises(DataError, match="found 7"):
        list(places.each(refuse, [7]))


def test_a_large_array_is_sent_once_and_again_if_it_was_changed(places: DaskPlaces) -> None:
    kept = places.keep({"a": np.zeros(1)} for _ in range(3))
    large_array = np.ones(100_000)
    sent: list[int] = []
    give = places._sent.send
    places._sent.send = lambda array: sent.append(len(array)) or give(array)  # type: ignore[func-returns-value]
    assert list(places.map(total, kept, large_array)) == [100_000.0] * 3
    assert list(places.map(total, kept, [large_array, large_array])) == [200_000.0] * 3
    assert sent == [100_000]
    large_array[:] = 2
    assert list(places.map(total, kept, large_array)) == [200_000.0] * 3
    assert len(sent) == 2


# the same model as in memory


def trained(preset: str, corpus: Corpus, places: Any, vectors: Embeddings | None) -> TfcrClassifier:
    given = {"embeddings": vectors} if vectors is not None else {}
    return TfcrClassifier.from_preset(preset, **given).fit_batches(batches_of(corpus), places=places)


def assert_same(one: TfcrClassifier, other: TfcrClassifier, corpus: Corpus) -> None:
    assert one.counts_ is not None
    assert other.counts_ is not None
    assert list(one.counts_.words) == list(other.counts_.words)
    np.testing.assert_array_equal(one.counts_.occurrences.toarray(), other.counts_.occurrences.toarray())
    scores, others = one.decision_function(corpus.texts), other.decision_function(corpus.texts)
    np.testing.assert_allclose(scores, others, atol=0.02)  # on one machine, descent comes before Newton's method
    ordered = np.sort(scores, axis=1)
    sure = ordered[:, -1] - ordered[:, -2] > 0.01
    assert (one.predict(corpus.texts) == other.predict(corpus.texts))[sure].all()


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 200)
    monkeypatch.setattr(large, "HELD_OUT", 50)
    monkeypatch.setattr(counting, "SHARD_DOCUMENTS", 40)


slow = pytest.mark.slow
PRESETS = ["fast", pytest.param("paper", marks=slow), pytest.param("best", marks=slow)]


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("preset", PRESETS)
def test_training_gives_the_model_of_one_machine(preset: str, places: DaskPlaces) -> None:
    corpus = cluster_corpus()
    vectors = None if preset == "fast" else random_vectors(corpus)
    in_memory = trained(preset, corpus, MemoryPlaces(), vectors)
    assert_same(trained(preset, corpus, places, vectors), in_memory, corpus)


@slow
@pytest.mark.usefixtures("small_sample")
def test_training_on_four_processes_gives_the_same_model() -> None:
    corpus = cluster_corpus()
    vectors = random_vectors(corpus)
    with open_client("local", processes=4) as client:
        assert len(client.nthreads()) == 4
        on_four = trained("paper", corpus, DaskPlaces(client), vectors)
    assert_same(on_four, trained("paper", corpus, MemoryPlaces(), vectors), corpus)


# workers that are lost


class DeadlyPlaces(DaskPlaces):
    """Kills a worker once: after some pieces are made, or when some work has begun."""

    def __init__(self, client: Client, *, made: int | None = None, work: Any = None) -> None:
        super().__init__(client)
        self.made, self.work = made, work
        self.killed: list[int] = []

    def kill(self) -> None:
        pid = next(iter(self.client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        self.killed.append(pid)

    def make(self, work: Any, items: Any, *arguments: Any, name: str = "") -> Any:
        def deadly() -> Iterator[Any]:
            for number, item in enumerate(items):
                if number == self.made:
                    self.kill()
                yield item

        return super().make(work, deadly(), *arguments)

    def map(self, work: Any, *arguments: Any) -> Iterator[Any]:
        results = super().map(work, *arguments)
        for number, result in enumerate(results):
            if number == 0 and self.work in (work, *arguments[:1]) and not self.killed:
                self.kill()
            yield result


@slow
@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("when", [{"made": 5}, {"work": _curved_of}], ids=["counting", "newton"])
def test_a_worker_killed_changes_nothing(when: dict[str, Any], client: Client) -> None:
    corpus = cluster_corpus()
    places = DeadlyPlaces(client, **when)
    after = trained("fast", corpus, places, None)
    assert places.killed
    assert_same(after, trained("fast", corpus, MemoryPlaces(), None), corpus)


@slow
def test_a_worker_killed_between_items_changes_nothing(client: Client) -> None:
    places = DeadlyPlaces(client)
    found = []
    for item, _ in places.each(where, iter(range(12)), np.ones(5_000_000)):
        found.append(item)
        if item == 1:
            places.kill()
    assert found == list(range(12))


@slow
def test_work_that_kills_every_worker_is_refused_in_one_line(client: Client) -> None:
    with pytest.raises(ClusterError, match="4 workers died doing the same task") as error:
        list(DaskPlaces(client).each(_die, [1]))
    assert "\n" not in str(error.value)


def _die(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# files that workers read


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_are_read_and_counted_on_workers(
    ending: str, tmp_path: Path, places: DaskPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 3000)
    corpus = cluster_corpus(200)
    path = tmp_path / f"texts.{ending}"
    write_frame(pl.DataFrame({"text": corpus.texts, "label": corpus.labels}), str(path), ending, Style())
    batches = StreamBatches(labelled_stream([str(path)]), None)
    there = count_batches(batches, places, "words", bigrams=True, max_memory=MEMORY)
    here = count_batches(batches, MemoryPlaces(), "words", bigrams=True, max_memory=MEMORY)
    assert len(there.documents.pieces) == (1 if ending == "parquet" else pytest.approx(5, abs=4))
    assert there.documents.vocabulary.words == here.documents.vocabulary.words
    np.testing.assert_array_equal(there.documents.vocabulary.bigrams, here.documents.vocabulary.bigrams)
    rows = np.arange(len(corpus))
    np.testing.assert_array_equal(
        there.documents.rows(rows).matrix.toarray(), here.documents.rows(rows).matrix.toarray()
    )
    assert there.labels.classes.tolist() == here.labels.classes.tolist()
    np.testing.assert_array_equal(there.labels.numbers, here.labels.numbers)  # type: ignore[union-attr]
    np.testing.assert_array_equal(there.seen.hashes, here.seen.hashes)
