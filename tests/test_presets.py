"""PRESETS: every row makes a classifier, and `best` is what TfcrClassifier does by default."""

import pytest

from tfcr import PRESETS, TfcrClassifier


def test_best_is_the_default() -> None:
    assert TfcrClassifier.from_preset("best").get_params() == TfcrClassifier().get_params()
    defaults = TfcrClassifier().get_params()
    assert PRESETS["best"] == {name: defaults[name] for name in PRESETS["best"]}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_all_that_presets_differ_in(name: str) -> None:
    model = TfcrClassifier.from_preset(name)
    model.check_parameters()
    about_vectors = {"scheme", "averaging", "blocks"} if "vectors" not in model.parts else set()
    assert set(PRESETS["best"]) - about_vectors <= set(PRESETS[name])
