"""Models of schema 4 whose bytes were changed by a forger: what no table can be made of is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mutations import check_message
from tests.trained.test_codec import change_arrays, change_file
from tfcr import TrainedModel
from tfcr.errors import ModelError
from tfcr.system.array_codec import read_strings, write_strings

KEPT = Path(__file__).parents[1] / "models" / "schema-4"


def repeat_word(arrays: dict[str, Any]) -> None:
    """Make the second word the twin of the first."""
    text, offsets = arrays["words.text"], arrays["words.offsets"]
    text[offsets[1] : offsets[2]] = text[offsets[0] : offsets[1]]


def put(name: str, at: int, value: float) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays[name].__setitem__(at, value)


DISAGREEMENTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a word twice": (repeat_word, "the strings 'words' hold 'common0' more than once"),
    "a bigram twice": (lambda a: a["bigrams"].__setitem__(1, a["bigrams"][0]), "holds a bigram more than once"),
    "a column twice in a row": (
        lambda a: a["scores.indices"].__setitem__(1, a["scores.indices"][0]),
        "the array 'scores.indices' names a column twice in a row",
    ),
    "NaN": (put("scores.data", 0, np.nan), "numbers that are not between"),
    "infinity": (put("intercepts", 0, np.inf), "numbers that are not between"),
    "sums beyond float32": (put("scores.data", 0, 3e38), "numbers that are not between"),
    "a frequency below 0": (put("frequencies", 0, -1), "'frequencies' holds numbers that are not between 0 and"),
    "a square below 0": (
        lambda a: a["divisor_weights.data"].__imul__(-1),
        "holds a square below 0",
    ),
    "almost 0": (put("divisor_weights.data", 0, 1e-40), "or a number below 1e-36"),
    "no columns": (lambda a: a.update(outputs=a["outputs"][:0]), "it has 0 columns"),
}


@pytest.mark.parametrize("kind", DISAGREEMENTS)
def test_what_plain_and_compiled_code_would_read_differently(kind: str, tmp_path: Path) -> None:
    change, message = DISAGREEMENTS[kind]
    folder = shutil.copytree(KEPT, tmp_path / "model")
    change_file(folder, "table", change_arrays(change))
    with pytest.raises(ModelError, match=message):
        TrainedModel.load(folder)


def rename_piece(arrays: dict[str, Any]) -> None:
    names = read_strings(arrays, "pieces0.names")
    arrays.update(write_strings("pieces0.names", [names[0], names[0], *names[2:]]))


def of_another_divisor(arrays: dict[str, Any]) -> None:
    columns = arrays["pieces0.columns"]
    others = np.flatnonzero(arrays["divisors"] != arrays["divisors"][columns[0]])
    columns[0] = others[0]


PIECE_DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a piece twice": (rename_piece, "the strings 'pieces0.names' hold '.*' more than once"),
    "a square below 0": (put("pieces0.divisor_weights", 0, -1), "'pieces0.divisor_weights' holds numbers that are not"),
    "a square almost 0": (put("pieces1.divisor_weights", 0, 1e-40), "squares of its pieces hold a number below 1e-36"),
    "NaN": (put("pieces0.scores", 0, np.nan), "'pieces0.scores' holds numbers that are not between"),
    "a column out of range": (put("pieces0.columns", 0, 99), "'pieces0.columns' holds indices out of range"),
    "a column below 0": (put("pieces0.columns", 0, -1), "'pieces0.columns' holds indices out of range"),
    "a column twice": (lambda a: a["pieces0.columns"].__setitem__(1, a["pieces0.columns"][0]), "or twice to a column"),
    "columns of another divisor": (of_another_divisor, "its pieces add to columns of another divisor"),
    "a score too few": (lambda a: a.update({"pieces0.scores": a["pieces0.scores"][1:]}), "'pieces0.scores' is of type"),
    "a square too few": (
        lambda a: a.update({"pieces0.divisor_weights": a["pieces0.divisor_weights"][1:]}),
        "'pieces0.divisor_weights' is of type",
    ),
    "no names": (lambda a: a.pop("pieces1.names.offsets"), "the array 'pieces1.names.offsets' is missing"),
    "names that are not UTF-8": (put("pieces0.names.text", 0, 255), "the strings 'pieces0.names' are not UTF-8"),
}


@pytest.mark.parametrize("kind", PIECE_DAMAGES)
def test_damaged_pieces_are_refused(kind: str, tmp_path: Path) -> None:
    change, message = PIECE_DAMAGES[kind]
    folder = shutil.copytree(KEPT, tmp_path / "model")
    TrainedModel.load(folder)
    change_file(folder, "table", change_arrays(change))
    with pytest.raises(ModelError, match=message) as caught:
        TrainedModel.load(folder)
    check_message(caught.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"divisor": 99}, "its pieces add to the divisor 99; expected a number below"),
        ({"divisor": -1}, "its pieces add to the divisor -1; expected"),
        ({"divisor": True}, "its pieces add to the divisor True; expected"),
        ({"divisor": "0"}, "its pieces add to the divisor '0'; expected"),
        ({"divisor": "weights"}, "its pieces add to a divisor without L2 norm"),
        ({"divisor": None}, "its pieces add to the divisor None"),
        ({"segmentation": "longer"}, "unknown segmentation 'longer'"),
        ({"segmentation": ["ngrams"]}, "is damaged"),
        ({}, "lacks or misstates 'divisor'"),
        (None, "lacks or misstates"),
    ],
)
def test_pieces_that_cannot_be_are_refused(said: Any, message: str, tmp_path: Path) -> None:
    folder = shutil.copytree(KEPT, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    first, *others = config["pieces"]
    if said and said.get("divisor") == "weights":
        said = {"divisor": config["averagings"].index("weights")}
    config["pieces"] = [{**first, **said} if said else said, *others]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message) as caught:
        TrainedModel.load(folder)
    check_message(caught.value)


def test_two_lists_of_pieces_for_a_divisor_are_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(KEPT, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["pieces"] = [config["pieces"][0]] * 2
    (folder / "config.json").write_text(json.dumps(config))
    change_file(
        folder,
        "table",
        change_arrays(
            lambda a: a.update(
                {name.replace("ces0", "ces1"): a[name] for name in list(a) if name.startswith("pieces0")}
            )
        ),
    )
    with pytest.raises(ModelError, match="two lists of its pieces add to the same divisor"):
        TrainedModel.load(folder)
