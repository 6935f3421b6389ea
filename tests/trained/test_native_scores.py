"""Prediction by compiled code: what threads keep between texts."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.conftest import plain_classifier, random_corpus
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained.native_scores import NativeTable

CORPUS = random_corpus(40)
TOKENIZER = TOKENIZERS["words"]


@pytest.fixture(scope="module")
def native() -> NativeTable:
    return plain_classifier(parts=["words"], embeddings=None).fit(CORPUS.texts, CORPUS.labels).table_.native


def test_no_more_idle_scorers_are_kept_than_threads_are_used(
    native: NativeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFCR_THREADS", "2")
    expected = native.score_texts(CORPUS.texts, TOKENIZER, threads=1)[0]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: native.score_texts(CORPUS.texts, TOKENIZER, threads=4)[0], range(24)):
            np.testing.assert_array_equal(found, expected)
    assert 1 <= len(native._idle) <= 2
    native.score_texts(CORPUS.texts, TOKENIZERS["symbols"], threads=1)  # of another tokeniser: a new one
    assert native._idle[-1][0] == "symbols"


def test_an_idle_scorer_that_another_thread_has_taken_is_not_waited_for(native: NativeTable) -> None:
    class Taken(list[object]):
        """Says that it has some, and has none: another thread came first."""

        def __bool__(self) -> bool:
            return True

    native._idle = Taken()  # type: ignore[assignment]
    assert native._take_scorer(TOKENIZER).native is native
