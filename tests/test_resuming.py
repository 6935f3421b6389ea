"""Training in shards that is stopped at any stage is resumed by the same call, as if it had not been stopped."""

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.test_streams import NAMES, write
from tests.heads.test_sharded import TEXTS
from tfcr import TfcrClassifier, load
from tfcr.data import ReadOptions
from tfcr.data.labelled_stream import labelled_stream
from tfcr.errors import InputError
from tfcr.evaluation.streams import resumable_places, train_stream
from tfcr.heads import large
from tfcr.system.array_files import write_piece
from tfcr.system.checkpoints import checkpoint_folder

STAGES = (
    ("tfcr.counting.count_shard", 1),
    ("tfcr.counting.count_shard", 3),
    ("tfcr.text.shards._make_piece", 2),
    ("tfcr.counting._preserve", 1),
    ("tfcr.classifier.resolve_tables", 1),
    ("tfcr.evaluation.streams.cross_validate_prepared", 1),
    ("tfcr.evaluation.streams.begin_fit", 1),
    ("tfcr.heads.large.OutOfFold", 1),
    ("tfcr.heads.large.OutOfFold", 2),
    ("tfcr.heads.sharded.descend_shards", 1),
    ("tfcr.heads.sharded.minimise_sums", 1),
    ("tfcr.heads.newton._step_sizes", 2),  # of the first part, after one more step
    ("tfcr.heads.newton._step_sizes", 3),
    ("tfcr.heads.large.fit_sharded", 2),
    ("tfcr.heads.sharded.minimise_sums", 1),
    ("tfcr.heads.large.weigh_parts", 1),
    ("tfcr.classifier.collapse", 1),
    ("tfcr.trained.model.save_folder", 1),
)
"""Functions, in the order in which training calls them, and the call of each at which a run is stopped."""
ONCE = {
    "tfcr.counting.count_shard": 4,
    "tfcr.embeddings.store.train_word2vec": 1,
    "tfcr.evaluation.streams.cross_validate_prepared": 1,
    "tfcr.heads.large.OutOfFold": 2,
    "tfcr.heads.sharded.descend_shards": 1,
    "tfcr.heads.large._keep_fit": 2,
}
"""How often some functions are called in an undisturbed run; so often they must end in all runs together."""


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.counting.SHARD_DOCUMENTS", 64)
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 150)
    monkeypatch.setattr(large, "HELD_OUT", 60)
    monkeypatch.setattr("tfcr.heads.sharded_descent.MAX_GAPS", 1)  # so that Newton's method has something to do


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data.csv", zip(TEXTS, NAMES, strict=True))


def new_model(**parameters: Any) -> TfcrClassifier:
    given = {"parts": ("bigrams", "plain"), "embeddings": "w2v", "dimensions": 4, "random_state": 0, **parameters}
    return TfcrClassifier(**given)


def train(
    data: str,
    output: Path,
    options: ReadOptions | None = None,
    folds: int = 2,
    notes: list[str] | None = None,
    **parameters: Any,
) -> tuple[Any, list[str]]:
    """Train as the command does, and return the scores of the saved model, and what was noted."""
    model, notes = new_model(**parameters), [] if notes is None else notes
    with (
        labelled_stream([data], options) as stream,
        resumable_places(output, model, stream, note=notes.append, folds=folds) as places,
    ):
        train_stream(model, stream, folds=folds, note=notes.append, places=places)
        model.save(output)
    return load(output).decision_function(TEXTS), notes


class Stopped(KeyboardInterrupt):
    """Stands for Ctrl-C, or the power."""


def patch(
    patched: pytest.MonkeyPatch, place: str, stop_at: int | None = None, ended: "Counter[str] | None" = None
) -> None:
    """Stop at a call of a function, or count those that end."""
    module, _, name = place.rpartition(".")
    known: Callable[..., Any] = getattr(import_module(module), name)
    calls = count(1)

    def called(*arguments: Any, **given: Any) -> Any:
        if next(calls) == stop_at:
            raise Stopped
        result = known(*arguments, **given)
        if ended is not None:
            ended[place] += 1
        return result

    patched.setattr(place, called)


def test_a_training_that_is_stopped_at_every_stage_is_resumed(data: str, tmp_path: Path) -> None:
    output = tmp_path / "model"
    expected, noted = train(data, tmp_path / "whole")
    assert not any(note.startswith("resuming") for note in noted)
    ended: Counter[str] = Counter()
    resumed = []
    for stage, number in STAGES:
        with pytest.MonkeyPatch.context() as patched:
            for place in ONCE:
                patch(patched, place, ended=ended)
            patch(patched, stage, number)
            notes: list[str] = []
            with pytest.raises(Stopped):
                train(data, output, notes=notes)
        resumed.append(next((note for note in notes if note.startswith("resuming")), ""))
        assert not (output / "config.json").exists()
    found, notes = train(data, output)
    # Newton's method goes on from scores that are computed anew, whose last digits differ
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert ended == ONCE
    assert resumed[0] == resumed[1] == ""
    assert resumed[2] == f"resuming training: 128 of {len(TEXTS)} documents are counted"
    assert notes[0] == (
        "resuming training: all documents are counted; a strength is picked for bigrams, plain; fitted: bigrams, plain"
    )
    assert [note for note in notes if "cross-validated" in note] == [note for note in noted if "cross-valid" in note]
    assert list(tmp_path.glob(".*")) == []  # no shard is left behind


def test_documents_that_are_kept_are_resumed_too(data: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"parts": ("words",), "C": 1.0, "embeddings": None, "keep_documents": True, "folds": 0}
    train(data, tmp_path / "whole", **given)
    for stage, number in (("tfcr.counting.pack_shard", 2), ("tfcr.classifier.collapse", 1)):
        with pytest.MonkeyPatch.context() as patched:
            patch(patched, stage, number)
            with pytest.raises(Stopped):
                train(data, tmp_path / "model", **given)
    train(data, tmp_path / "model", **given)
    whole, found = (load(tmp_path / name).model_.kept_documents() for name in ("whole", "model"))
    assert whole is not None
    assert found is not None
    assert len(found) == len(whole) == len(TEXTS)
    for one, two in zip(whole.write().items(), found.write().items(), strict=True):
        assert one[0] == two[0]
        np.testing.assert_array_equal(one[1], two[1])


def test_several_labels_are_resumed(tmp_path: Path) -> None:
    labels = ["a" if label == "pos" else "b;c" if label == "neg" else "" for label in NAMES]
    data = write(tmp_path / "data.csv", zip(TEXTS, labels, strict=True))
    given: dict[str, Any] = {
        "parts": ("words",),
        "C": 1.0,
        "embeddings": None,
        "options": ReadOptions(label_separator=";"),
    }
    expected, _ = train(data, tmp_path / "whole", folds=0, **given)
    with pytest.MonkeyPatch.context() as patched:
        patch(patched, "tfcr.classifier.collapse", 1)
        with pytest.raises(Stopped):
            train(data, tmp_path / "model", folds=0, **given)
    found, _ = train(data, tmp_path / "model", folds=0, **given)
    np.testing.assert_allclose(found, expected, atol=1e-6)


FAST: dict[str, Any] = {"parts": ("words",), "C": 1.0, "embeddings": None, "folds": 0}


@pytest.fixture
def stopped(data: str, tmp_path: Path) -> Path:
    """The output of a training that was stopped when all documents were counted."""
    with pytest.MonkeyPatch.context() as patched:
        patch(patched, "tfcr.classifier.collapse", 1)
        with pytest.raises(Stopped):
            train(data, tmp_path / "model", **FAST)
    assert checkpoint_folder(tmp_path / "model").is_dir()
    return tmp_path / "model"


def test_other_data_or_options_start_over(data: str, stopped: Path) -> None:
    _, notes = train(data, stopped, **{**FAST, "C": 2.0})
    assert notes[0] == "training starts over: options changed since it was stopped"
    assert not checkpoint_folder(stopped).exists()


def test_data_that_changed_starts_over(data: str, stopped: Path) -> None:
    write(Path(data), [*zip(TEXTS, NAMES, strict=True), ("one more", "pos")])
    _, notes = train(data, stopped, **FAST)
    assert notes[0] == "training starts over: data changed since it was stopped"


def test_another_version_starts_over(data: str, stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.evaluation.streams.recorded_versions", lambda: {"tfcr": "99"})
    _, notes = train(data, stopped, **FAST)
    assert notes[0] == "training starts over: versions changed since it was stopped"


def test_what_is_wrong_with_the_input_is_not_kept(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **more: Any) -> None:
        raise InputError("found labels that cannot be")

    monkeypatch.setattr("tfcr.classifier.collapse", refuse)
    with pytest.raises(InputError):
        train(data, tmp_path / "model", **FAST)
    assert not checkpoint_folder(tmp_path / "model").exists()


def test_a_full_disk_is_resumed(data: str, tmp_path: Path) -> None:
    def full(path: Path, piece: Any) -> None:
        if path.name.startswith("shard-2"):
            raise OSError(28, "No space left on device", str(path))
        write_piece(path, piece)

    notes: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tfcr.system.array_files.write_piece", full)
        with pytest.raises(OSError, match="No space left"):
            train(data, tmp_path / "model", notes=notes, **FAST)
    assert notes[-1].startswith("what is done so far is kept in ")
    _, notes = train(data, tmp_path / "model", **FAST)
    assert notes[0] == f"resuming training: 128 of {len(TEXTS)} documents are counted"


def test_standard_input_is_not_resumed(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for stops in (True, False):
        with pytest.MonkeyPatch.context() as patched, Path(data).open() as file:
            patched.setattr("sys.stdin", file)
            if stops:
                patch(patched, "tfcr.classifier.collapse", 1)
            with pytest.raises(Stopped) if stops else nullcontext():
                _, notes = train("-", tmp_path / "model", **FAST)
        assert list(tmp_path.glob(".*")) == []
    assert not any("resuming" in note or "starts over" in note for note in notes)
