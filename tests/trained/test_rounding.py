"""Large tables made small: what is wrong by at most half a scale, what is left out, and what stays as it was."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import random_corpus, random_vectors
from tests.trained.tables import column_groups, matrices_of
from tfcr import TfcrClassifier, TrainedModel, load
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained import packing, rounding
from tfcr.trained.rounding import LARGEST, PER_OCTAVE, round_table
from tfcr.trained.word_table import WordTable

CORPUS = random_corpus(80, n_classes=4)
UNSEEN = [*CORPUS.texts[:20], "", "unseen words, common1", "common1 " * 50]


@pytest.fixture(params=[0.99, 0.0], ids=["entries", "rows"])
def trained(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> TfcrClassifier:
    monkeypatch.setattr(packing, "MOSTLY", request.param)
    model = TfcrClassifier(embeddings=random_vectors(CORPUS), C=1.0, random_state=0)
    return model.fit(CORPUS.texts, CORPUS.labels)


@pytest.fixture
def rounded(trained: TfcrClassifier, monkeypatch: pytest.MonkeyPatch) -> WordTable:
    monkeypatch.setattr(rounding, "ROUNDED_FROM", 0)
    monkeypatch.setattr(rounding, "CHUNK", 50)  # several ranges of entries
    return round_table(trained.table_)


def test_small_tables_stay_as_they_are(trained: TfcrClassifier, rounded: WordTable) -> None:
    assert trained.table_.words.values.dtype == np.float32
    assert rounded.words.values.dtype == rounded.entries.values.dtype == np.int8
    assert round_table(rounded) is rounded


def test_values_are_wrong_by_half_a_scale_at_most(trained: TfcrClassifier, rounded: WordTable) -> None:
    exact, found = trained.table_, rounded
    names = {name: number for number, name in enumerate(exact.vocabulary.names)}
    kept = [names[name] for name in found.vocabulary.names]
    before, after = matrices_of(exact).scores.toarray()[kept], matrices_of(found).scores.toarray()
    for group in range(exact.n_groups):
        columns = column_groups(exact) == group
        largest = np.abs(before[:, columns]).max(axis=1, keepdims=True)
        half = largest * 2 ** (1 / PER_OCTAVE) / LARGEST / 2
        assert (np.abs(before[:, columns] - after[:, columns]) <= half * 1.0001 + 1e-9).all()
    np.testing.assert_array_equal(
        matrices_of(exact).divisor_weights.toarray()[kept], matrices_of(found).divisor_weights.toarray()
    )


def test_every_path_scores_rounded_tables_the_same(rounded: WordTable) -> None:
    plain = rounded.score_texts(UNSEEN, TOKENIZERS["symbols"])
    for threads in (1, 2):
        compiled, unknown = rounded.native.score_texts(UNSEEN, TOKENIZERS["symbols"], threads)
        np.testing.assert_allclose(compiled, plain.scores, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(unknown, plain.unknown_fractions)
    counted = rounded.count(UNSEEN, TOKENIZERS["symbols"])
    np.testing.assert_allclose(rounded.decision(counted), plain.scores, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(rounded.native.score_counted(counted), plain.scores, rtol=1e-6, atol=1e-9)


def test_rounded_scores_are_near(trained: TfcrClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "ROUNDED_FROM", 0)
    monkeypatch.setattr(rounding, "PRUNED", 0)
    rounded = round_table(trained.table_)
    exact = trained.table_.score_texts(UNSEEN, TOKENIZERS["symbols"]).scores
    found = rounded.score_texts(UNSEEN, TOKENIZERS["symbols"]).scores
    np.testing.assert_allclose(found, exact, atol=0.01 * exact.std())
    assert np.abs(found - exact).max() > 0


def test_bigrams_of_least_influence_are_left_out(trained: TfcrClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = trained.table_
    n_words = exact.vocabulary.n_words
    if len(exact.entries.places) > n_words + 1:
        pytest.skip("a table whose bigrams have entries keeps them all")
    monkeypatch.setattr(rounding, "ROUNDED_FROM", 0)
    monkeypatch.setattr(rounding, "PRUNED", 0.1)
    found = round_table(exact)
    influences = np.abs(exact.influences()[n_words:]).max(axis=1)
    kept = set(found.vocabulary.names)
    is_kept = np.array([name in kept for name in exact.vocabulary.names[n_words:]])
    assert 0 < is_kept.sum() < len(is_kept)
    assert influences[is_kept].min() >= influences[~is_kept].max() * 0.999
    assert (influences[~is_kept] ** 2).sum() <= 0.1 * (influences**2).sum()
    assert list(found.vocabulary.words) == list(exact.vocabulary.words)


def test_a_fitted_model_is_what_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "ROUNDED_FROM", 0)
    model = TfcrClassifier(embeddings=random_vectors(CORPUS), C=1.0, random_state=0).fit(CORPUS.texts, CORPUS.labels)
    assert model.table_.words.values.dtype == np.int8
    model.save(tmp_path / "model")
    for check in (True, False):
        again = load(tmp_path / "model", check=check)
        np.testing.assert_array_equal(again.decision_function(UNSEEN), model.decision_function(UNSEEN))
        told = again.explain(UNSEEN[1])
        added = told.baseline + sum((word.contributions for word in told.words), np.zeros(4))
        np.testing.assert_allclose(added, told.scores, rtol=0, atol=1e-9)
    assert again.top_words(3) == model.top_words(3)
    copied = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copied.decision_function(UNSEEN), model.decision_function(UNSEEN))


def test_an_older_large_model_keeps_its_scores_until_it_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = TrainedModel.load(Path(__file__).parents[1] / "models" / "schema-4")
    before = older.score_texts(UNSEEN).scores
    monkeypatch.setattr(rounding, "ROUNDED_FROM", 0)
    older.save(tmp_path / "model")
    saved = TrainedModel.load(tmp_path / "model").score_texts(UNSEEN).scores
    np.testing.assert_array_equal(older.score_texts(UNSEEN).scores, before)
    np.testing.assert_array_equal(older.rounded().score_texts(UNSEEN).scores, saved)
    assert 0 < np.abs(saved - before).mean() < 0.01 * before.std()
