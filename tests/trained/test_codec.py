"""Models whose bytes were changed by a forger, who gives them their hash again: refused, or scored the same way by both
paths."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from tests.conftest import random_corpus
from tests.mutations import check_message, mutated
from tfcr import PRESETS, Embeddings, TfcrClassifier, TrainedModel
from tfcr import load as load_estimator
from tfcr.errors import ModelError, TfcrError
from tfcr.system.array_codec import read_strings, write_strings
from tfcr.text.documents import count_terms
from tfcr.trained.codec import read_classes, write_classes
from tfcr.trained.format import _digest

CORPUS = random_corpus(60)
TEXTS = [f"{text}, so; good! {text.split()[0].upper()} , zzz" for text in CORPUS.texts]
"""Words, bigrams across punctuation, symbols, and capitals."""
SCORED = [
    *TEXTS[:20],
    "",
    "zzz unknown",
    "common1 " * 300,
    " ".join(TEXTS),
    "commonly w0_99 goodish, good-so uncommon1 zz!!",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of every preset."""
    folder = tmp_path_factory.mktemp("saved")
    for preset in PRESETS:
        model = TfcrClassifier.from_preset(preset)
        if model.embeddings is not None:
            words = [*count_terms(TEXTS, model.tokenizer).vocabulary.words, "goodish", "uncommon1", "zz"]
            vectors = np.random.default_rng(0).normal(size=(len(words), 8))
            model.set_params(embeddings=Embeddings.from_arrays(words, vectors))
        model.fit(TEXTS, CORPUS.labels).save(folder / preset)
    return {preset: folder / preset for preset in PRESETS}


def change_file(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a data file, and name it after its content again."""
    config = json.loads((folder / "config.json").read_text())
    old = folder / config["files"][name]
    content = change(old.read_bytes())
    old.unlink()
    config["files"][name] = f"{name}-{_digest(content)}.safetensors"
    (folder / config["files"][name]).write_bytes(content)
    (folder / "config.json").write_text(json.dumps(config))


ODD_NUMBERS: dict[str, list[float]] = {
    "f": [np.nan, np.inf, -np.inf, -1, 0, 1e30, 1e38, -1e30, 1e-45],
    "i": [-1, 0, 1, 2**31 - 1],
    "u": [0, 32, 97, 255],
}
TYPES = ["<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "u1"]


def with_odd_array(content: bytes, random: Random) -> bytes:
    """Flip a bit, copy a number to another place, put an odd one in, or change the type of an array."""
    arrays = load(content)
    name = random.choice([name for name, array in arrays.items() if array.size])
    array = arrays[name]
    raw = bytearray(array.tobytes())
    one, other = (slice(at, at + array.itemsize) for at in random.choices(range(0, len(raw), array.itemsize), k=2))
    how = random.random()
    if how < 0.4:
        raw[random.randrange(len(raw))] ^= 1 << random.randrange(8)
    elif how < 0.7:
        raw[one] = raw[other]
    else:
        raw[one] = np.array([random.choice(ODD_NUMBERS[array.dtype.kind])]).astype(array.dtype).tobytes()
    changed = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
    with np.errstate(all="ignore"):
        arrays[name] = changed.astype(random.choice(TYPES)) if random.random() < 0.1 else changed
    return save(arrays)


def same_scores(model: TrainedModel) -> bool:
    """Return whether plain and compiled code agree, from texts and from counts."""
    counted = model.table.count(SCORED, model.tokenizer)
    plain = model.table.decision(counted)
    packed = model.table._packed
    compiled, unknown = packed.score_texts(SCORED, model.tokenizer)  # type: ignore[arg-type]
    assert np.isfinite(plain).all()
    near = {"rtol": 1e-4, "atol": 1e-4 * max(1, np.abs(plain).max())}
    return (
        np.allclose(plain, compiled, **near)
        and np.allclose(plain, packed.score_counted(counted), **near)
        and np.allclose(counted.unknown_fractions(), unknown)
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_mutated_models_are_refused_or_scored_the_same(preset: str, saved: dict[str, Path], tmp_path: Path) -> None:
    random = Random(preset)
    folder = tmp_path / "model"
    loaded = 0
    for number in range(100):
        shutil.copytree(saved[preset], folder, dirs_exist_ok=True)
        change = mutated if number % 5 == 0 else with_odd_array
        change_file(folder, random.choice(("table", "table", "counts")), lambda content: change(content, random))  # noqa: B023
        try:
            model = TrainedModel.load(folder)
        except ModelError as error:
            check_message(error)
        else:
            assert same_scores(model)
            loaded += 1
        shutil.rmtree(folder)
    assert loaded > 10


def change_arrays(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        arrays = load(content)
        change(arrays)
        return save(arrays)

    return changed


def repeat_word(arrays: dict[str, Any]) -> None:
    """Make the second word, a comma, the twin of the first, an exclamation mark."""
    text, offsets = arrays["words.text"], arrays["words.offsets"]
    text[offsets[1] : offsets[2]] = text[offsets[0] : offsets[1]]


def put(name: str, at: int, value: float) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays[name].__setitem__(at, value)


DISAGREEMENTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a word twice": (repeat_word, "the strings 'words' hold '!' more than once"),
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
def test_what_plain_and_compiled_code_would_read_differently(kind: str, saved: dict[str, Path], tmp_path: Path) -> None:
    change, message = DISAGREEMENTS[kind]
    folder = shutil.copytree(saved["best"], tmp_path / "model")
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
def test_damaged_pieces_are_refused(kind: str, saved: dict[str, Path], tmp_path: Path) -> None:
    change, message = PIECE_DAMAGES[kind]
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    assert same_scores(TrainedModel.load(folder))
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
def test_pieces_that_cannot_be_are_refused(said: Any, message: str, saved: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    first, *others = config["pieces"]
    if said and said.get("divisor") == "weights":
        said = {"divisor": config["averagings"].index("weights")}
    config["pieces"] = [{**first, **said} if said else said, *others]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message) as caught:
        TrainedModel.load(folder)
    check_message(caught.value)


@pytest.mark.parametrize("kind", ["<f2", "<f8"])
def test_floats_of_another_size_are_read(kind: str, saved: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    names = ["scores.data", "divisor_weights.data", "typical", "frequencies", "intercepts"]
    names += [f"pieces{number}.{array}" for number in (0, 1) for array in ("scores", "divisor_weights")]
    change_file(folder, "table", change_arrays(lambda a: a.update({name: a[name].astype(kind) for name in names})))
    model = TrainedModel.load(folder)
    assert same_scores(model)
    np.testing.assert_allclose(
        model.score_texts(TEXTS).scores, TrainedModel.load(saved["best"]).score_texts(TEXTS).scores, atol=0.05
    )


def test_a_type_that_numpy_lacks(saved: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    change_file(folder, "table", lambda content: content.replace(b'"F32"', b'"I32"').replace(b'"F64"', b'"F64"'))
    with pytest.raises(ModelError, match="is of type int32"):
        TrainedModel.load(folder)
    header = b'{"scores.data":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    change_file(folder, "table", lambda content: len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(ModelError, match=r"table-.*cannot be read|is missing"):
        TrainedModel.load(folder)


ODD_VALUES: list[Any] = [None, 0, -1, 1.5, True, "", [], {}, "x", ["a"], {"a": 1}, 10**30, float("nan"), [[]], "\udc80"]


def with_odd_value(value: Any, random: Random) -> Any:
    """Change, repeat or drop something deep inside of JSON."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        rest = {name: held for name, held in value.items() if name != key}
        return rest if random.random() < 0.15 else {**rest, key: with_odd_value(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.7:
        at = random.randrange(len(value))
        return [*value[:at], with_odd_value(value[at], random), *value[at + (random.random() < 0.7) :]]
    return random.choice(ODD_VALUES)


@pytest.mark.parametrize("preset", PRESETS)
def test_mutated_settings_are_refused_or_work(preset: str, saved: dict[str, Path], tmp_path: Path) -> None:
    random = Random(preset)
    whole = (saved[preset] / "config.json").read_bytes()
    folder = shutil.copytree(saved[preset], tmp_path / "model")
    for number in range(100):
        odd = json.dumps(with_odd_value(json.loads(whole), random)).encode() if number % 4 else mutated(whole, random)
        (folder / "config.json").write_bytes(odd)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = load_estimator(folder)
            except TfcrError as error:
                check_message(error)
                continue
            model.predict_proba(TEXTS)
            model.explain(TEXTS[0])
            model.save(tmp_path / "again")
            load_estimator(tmp_path / "again")


@pytest.mark.parametrize(
    "labels",
    [[-(2**63), 2**63 - 1], [0.5, 2.0], [False, True], ["a", "b", "ü"]],
)
def test_classes_come_back_with_their_type(labels: list[Any]) -> None:
    classes = np.array(labels)
    again = read_classes(json.loads(json.dumps(write_classes(classes))))
    assert again.tolist() == labels
    assert again.dtype == classes.dtype


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ["a", "a"]),
        ("text", ["b", "a"]),
        ("text", ["a", "a\0"]),
        ("text", ["a", 1]),
        ("text", ["a", "\udc80"]),
        ("integer", [1, 2**63]),
        ("text", [["a"], ["b"]]),
        ("integer", [1, True]),
        ("integer", [0, 2**64]),
        ("integer", [0, 10**30]),
        ("number", [0, float("nan")]),
        ("number", [0, "1"]),
        ("boolean", [0, 1]),
        ("date", ["a", "b"]),
    ],
)
def test_classes_that_cannot_be(kind: str, values: list[Any]) -> None:
    with pytest.raises(ModelError, match="its classes"):
        read_classes({"type": kind, "values": values})
