import numpy as np

from tests.labelling.conftest import corpus
from tfcr import TfcrClassifier
from tfcr.labelling import Pool
from tfcr.labelling.learner import assigned_to, scores_of, surenesses, train


def test_it_is_the_preset_fast_as_train_fits_it(pool: Pool, texts: list[str], truth: list[str]) -> None:
    found = train(pool, range(50), truth[:50])
    assert found is not None
    expected = TfcrClassifier.from_preset("fast").fit(texts[:50], truth[:50])
    assert assigned_to(found, scores_of(found, pool, np.arange(200))) == expected.predict(texts).tolist()


def test_the_least_sure_text_has_two_likely_classes(pool: Pool, truth: list[str]) -> None:
    model = train(pool, range(100), truth[:100])
    assert model is not None
    scores = np.array([[3.0, 0.0, 1.0], [2.0, 1.9, -5.0]])
    assert np.allclose(surenesses(model, scores), [2.0, 0.1])


def test_several_labels_are_least_sure_near_a_threshold() -> None:
    texts, labels = corpus(60)
    model = train(
        Pool.of(texts), range(60), [(label, "all") if number % 2 else (label,) for number, label in enumerate(labels)]
    )
    assert model is not None
    at = model.decision.limits
    assert np.allclose(surenesses(model, np.stack([at + 1, at + np.array([3, 0.25, -3, 5])])), [1, 0.25])


def test_nothing_is_learned_from_nothing_or_one_class(pool: Pool) -> None:
    assert train(pool, [], []) is None
    assert train(pool, [0, 1], ["sport", "sport"]) is None
    assert train(Pool.of(["", "   "]), [0, 1], ["a", "b"]) is None
