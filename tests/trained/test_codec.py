"""Models whose bytes were changed by a forger, who gives them their hash again: refused, or scored the same way by both
paths."""

import json
import shutil
import subprocess
import sys
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
from tfcr.text.documents import count_terms
from tfcr.trained import packing, rounding
from tfcr.trained.codec import read_decision
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
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packing, "MOSTLY", 0.99)  # so that some groups have rows, and some entries
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
    "b": [0, 1],
}
TYPES = ["<f2", "<f4", "<f8", "i1", "<i2", "<i4", "<i8", "u1", "<u4"]


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
    packed = model.table.native
    compiled, unknown = packed.score_texts(SCORED, model.tokenizer)  # type: ignore[arg-type]
    assert np.isfinite(plain).all()
    near = {"rtol": 1e-6, "atol": 1e-6 * max(1, np.abs(plain).max())}
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
            model.class_counts()
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


def put(name: str, at: Any, value: float) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays[name].__setitem__(at, value)


def cut(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.update({name: arrays[name][1:]})


def more_places(arrays: dict[str, Any]) -> None:
    places = arrays["entries.places"]
    arrays["entries.places"] = np.concatenate([places, places[-1:].repeat(999, axis=0)])


def fill_slots(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays[name].__setitem__(..., arrays[name][arrays[name] != 0].flat[0])


def as_wider(name: str) -> Callable[[dict[str, Any]], None]:
    """Give an array another type: twice as many bytes, or half as many."""
    other = {1: "u4", 2: "u4", 4: "i8", 8: "u4"}
    return lambda arrays: arrays.update({name: arrays[name].astype(other[arrays[name].itemsize])})


def two_lists_for_a_divisor(arrays: dict[str, Any]) -> None:
    for name in [name for name in arrays if name.startswith("pieces0.")]:
        arrays[name.replace("pieces0", "pieces1")] = arrays[name]


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a bigram of other words": (put("bigrams", (0, 1), 10**6), "'bigrams' points outside of its words"),
    "a word number out of range": (put("words.slots", (slice(None), 0), 2**32 - 1), "'words.slots' holds numbers out"),
    "no empty slot": (fill_slots("words.slots"), "'words.slots' holds numbers out of range, or no empty slot"),
    "a bigram number out of range": (put("bigrams.slots", 0, 2**32 - 1), "'bigrams.slots' holds numbers out of range"),
    "no empty slot of bigrams": (fill_slots("bigrams.slots"), "'bigrams.slots' .* or no empty slot"),
    "words that are not UTF-8": (put("words.text", 0, 255), "the strings 'words' are not UTF-8"),
    "no room after the words": (put("words.text", -1, 65), "the strings 'words' are not UTF-8"),
    "offsets that fall": (put("words.offsets", 1, 10**6), "'words.offsets' does not rise"),
    "symbols of fewer words": (cut("words.symbols"), "'words.symbols' is of type bool"),
    "NaN": (put("word_rows.values", (0, 1), np.nan), "'word_rows.values' holds numbers that are not between"),
    "infinity": (put("intercepts", 0, np.inf), "numbers that are not between"),
    "sums beyond all bounds": (put("bigram_rows.values", (0, 1), 3e38), "numbers that are not between"),
    "a deviation below 0": (put("deviations", 0, -1), "'deviations' holds numbers that are not between 0 and"),
    "a square below 0": (
        lambda a: a["bigram_rows.weights"].__imul__(-1),
        "'bigram_rows.weights' holds a square below 0",
    ),
    "almost 0": (put("entries.weights", 0, 1e-40), "or a number below 1e-36"),
    "a scale that is not there": (put("word_rows.values", (0, 0), 1), "'word_rows.values' holds numbers of scales out"),
    "a scale below 0": (put("entries.values", 0, -1), "'entries.values' holds numbers of scales out of range"),
    "no scales": (lambda a: a.update(scales=a["scales"][:, :0]), "'scales' is empty"),
    "a group that is not there": (put("word_rows.groups", 0, 99), "'word_rows.groups' holds indices out of range"),
    "a group below 0": (put("bigram_rows.groups", 0, -1), "'bigram_rows.groups' holds indices out of range"),
    "a group twice": (lambda a: a["word_rows.groups"].__setitem__(1, a["word_rows.groups"][0]), "names a group twice"),
    "an entry of no group": (put("entries.groups", 0, 99), "'entries.groups' holds indices out of range"),
    "places that fall": (put("entries.places", (1, 0), 10**6), "'entries.places' does not say where"),
    "values elsewhere": (put("entries.places", (-1, 1), 0), "'entries.places' does not say where"),
    "places of more terms": (
        lambda a: a.update(
            {"entries.places": np.concatenate([a["entries.places"], a["entries.places"][-1:].repeat(999, 0)])}
        ),
        "'entries.places' does not say where",
    ),
    "an output twice": (lambda a: a["outputs"].__setitem__(1, a["outputs"][0]), "names an output twice in a group"),
    "an output that is not there": (put("outputs", 0, 99), "'outputs' holds indices out of range"),
    "no columns": (lambda a: a.update(outputs=a["outputs"][:0]), "it has 0 columns"),
    "a row too few": (cut("bigram_rows.values"), "'bigram_rows.values' is of type"),
    "a weight too few": (cut("word_rows.weights"), "'word_rows.weights' is of type"),
    "pieces of an averaged divisor": (
        put("pieces0.groups", 0, 2),
        "its pieces add to several divisors, or to one|'pieces0.values' is of type",
    ),
    "pieces that are not UTF-8": (put("pieces0.names.text", 0, 255), "the strings 'pieces0.names' are not UTF-8"),
    "no pieces": (lambda a: a.pop("pieces1.names.offsets"), "the array 'pieces1.names.offsets' is missing"),
    "a piece's square below 0": (put("pieces0.weights", (0, 0), -1), "'pieces0.weights' holds a square below 0"),
    "two lists of pieces for a divisor": (two_lists_for_a_divisor, "two lists of its pieces add to the same divisor"),
    **{
        f"{name} of another type": (as_wider(name), f"'{name}' is of type u?int(32|64)")
        for name in (
            "words.text",
            "words.offsets",
            "words.slots",
            "bigrams",
            "bigrams.slots",
            "starts",
            "outputs",
            "entries.places",
            "entries.groups",
            "word_rows.groups",
            "pieces0.groups",
            "pieces0.names.text",
            "pieces1.names.slots",
        )
    },
    "mixed types": (
        lambda a: a.update({"bigram_rows.values": a["bigram_rows.values"].astype(np.int8)}),
        "'bigram_rows.values' is of",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_tables_are_refused(kind: str, saved: dict[str, Path], tmp_path: Path) -> None:
    change, message = DAMAGES[kind]
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    assert same_scores(TrainedModel.load(folder))
    change_file(folder, "table", change_arrays(change))
    with pytest.raises(ModelError, match=message) as caught:
        TrainedModel.load(folder)
    check_message(caught.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"segmentation": "longer"}, "unknown segmentation 'longer'"),
        ({"segmentation": ["ngrams"]}, "is damaged"),
        ({}, "lacks or misstates 'segmentation'"),
        (None, "lacks or misstates"),
    ],
)
def test_pieces_that_cannot_be_are_refused(said: Any, message: str, saved: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["pieces"] = [said, *config["pieces"][1:]]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message) as caught:
        TrainedModel.load(folder)
    check_message(caught.value)


@pytest.mark.parametrize("kind", ["<f2", "<f8"])
def test_floats_of_another_size_are_read(kind: str, saved: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(saved["best"], tmp_path / "model")
    names = [f"{part}.{name}" for part in ("word_rows", "bigram_rows", "entries") for name in ("values", "weights")]
    names += [f"pieces{number}.{array}" for number in (0, 1) for array in ("values", "weights")]
    names += ["scales", "typical", "deviations", "intercepts"]
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
    header = b'{"scales":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
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


REWRITER = """
import json, sys, warnings
from pathlib import Path
import numpy as np
from tests.trained.test_codec import SCORED
from tfcr import TrainedModel
from tfcr.system import mapped_arrays
from tfcr.trained.native_scores import NativeTable

warnings.simplefilter("ignore")  # the numbers are random
np.seterr(all="ignore")
mapped_arrays.MAPPED_FROM = 0
file = next(Path(sys.argv[1]).glob("table-*"))
content = file.read_bytes()
size = 8 + int.from_bytes(content[:8], "little")
header = json.loads(content[8:size])
places = {name: said["data_offsets"] for name, said in header.items() if name.endswith(sys.argv[2])}
model = TrainedModel.load(sys.argv[1])
counted = model.table.count(SCORED, model.tokenizer)
for seed in range(5):
    random = np.random.default_rng(seed)
    with file.open("r+b") as changed:
        for first, last in places.values():
            changed.seek(size + first)
            changed.write(random.bytes(last - first))
    native = NativeTable(model.table)  # which remembers no unseen words of before
    compiled = native.score_texts(SCORED, model.tokenizer)[0]
    again = native.score_counted(counted)
    plain = model.table.decision(counted)
    if sys.argv[2] == ".values":
        near = {"rtol": 1e-6, "atol": 1e-6 * np.abs(plain).max()}
        np.testing.assert_allclose(compiled, plain, **near)
        np.testing.assert_allclose(again, plain, **near)
print("alive", len(places))
"""


@pytest.mark.parametrize(("names", "rounded"), [(".values", True), ("", True), ("", False)])
def test_a_file_changed_in_place_is_never_read_out_of_bounds(
    names: str, rounded: bool, saved: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "ROUNDED_FROM", 0 if rounded else 1 << 30)
    TrainedModel.load(saved["best"]).save(tmp_path / "model")
    command = [sys.executable, "-c", REWRITER, str(tmp_path / "model"), names]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("alive")


@pytest.mark.parametrize("more", [{"least_probabilities": [0.5, 0.5]}, {"costs": [[0, 1], [1, 0]]}])
def test_precision_and_costs_are_of_one_label(more: dict[str, Any]) -> None:
    stored = {"form": "lists", "thresholds": None, "calibration": None, "rule": "macro-f1"}
    assert read_decision(np.array(["a", "b"]), "independent", stored).several
    with pytest.raises(ModelError, match="several labels"):
        read_decision(np.array(["a", "b"]), "independent", {**stored, **more})
