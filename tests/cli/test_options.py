"""Options that several commands share: the same defaults as in Python, and what is refused."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import Run, leaves
from tests.file_server import Server
from tfcr import PRESETS, ClassCounts, Embeddings, TfcrClassifier
from tfcr.cli.options import OF_PRESET, Training
from tfcr.embeddings.distill import distill
from tfcr.evaluation import compare, train_and_measure
from tfcr.experiment import Request, Word2Vec

WITHOUT_EFFECT: dict[str, tuple[list[object], str]] = {
    "vectors for a preset without": (
        ["--preset", "fast", "-e", "w2v"],
        "found --embeddings, which needs the part vectors, and only the parts lexical; leave it out, or add vectors: "
        "--parts lexical,vectors",
    ),
    "a scheme without vectors": (["--parts", "words,bigrams", "--scheme", "tfcr"], "found --scheme, which needs"),
    "an averaging without vectors": (["--parts", "words", "--averaging", "sum"], "found --averaging, which needs"),
    "blocks without vectors": (["--preset", "fast", "--blocks", "own"], "found --blocks, which needs the part vectors"),
    "dimensions without vectors": (["--preset", "fast", "--dimensions", 100], "found --dimensions, which needs"),
    "dimensions of automatic vectors": (["-e", "auto", "--dimensions", 9], "and --embeddings auto; leave out one of"),
    "dimensions of given vectors": (["-e", "v.vec", "--dimensions", 100], "and --embeddings v.vec; leave out one"),
    "a strength for ridge": (["--preset", "paper", "--head", "ridge", "-C", 2], "found -C, and --head ridge"),
}


WRONG: dict[str, tuple[list[object], str]] = {
    "scheme": (["--scheme", "tf-cr"], "unknown scheme 'tf-cr'"),
    "preset": (["--preset", "bets"], "unknown preset 'bets'"),
    "part": (["--parts", "words,pear"], "unknown part 'pear'"),
    "no part": (["--parts", ""], "unknown part ''"),
    "head": (["--head", "forest"], "unknown head 'forest'"),
    "tokenizer": (["--tokenizer", "letters"], "unknown tokenizer 'letters'"),
    "averaging": (["--averaging", "mean"], "unknown averaging 'mean'"),
    "blocks": (["--blocks", "none"], "unknown blocks 'none'"),
    "memory": (["--max-memory", "much"], "found max_memory='much'"),
    "strength": (["-C", -1], "found C=-1.0; expected a number from 1e-09 to 1e+09"),
    "class weight": (["--class-weight", "x"], "found --class-weight x; expected balanced or none"),
    "vectors": (["-e", "no.bin"], "no.bin does not exist"),
    "second vectors": (["-e", "w2v+no.bin"], "no.bin does not exist"),
    "folds": (["--cv", 1], "Invalid value for '--cv'"),
}


@pytest.mark.parametrize("kind", [*WITHOUT_EFFECT, *WRONG])
@pytest.mark.parametrize("command", [["train", "-o", "m"], ["evaluate"]])
def test_options_are_checked_before_the_data_is_read(
    kind: str, command: list[str], run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    options, message = {**WITHOUT_EFFECT, **WRONG}[kind]
    result = run(*command, "no-such-data.csv", *options)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


# the same defaults in Python and in the shell ----------------------------------------------------------------------

COMMANDS = dict(leaves())
IN_PYTHON = {"strength": "C", "seed": "random_state", "trained_on": "trained_on"}
PYTHON: dict[str, list[Callable[..., Any]]] = {
    "train": [train_and_measure, TfcrClassifier],
    "evaluate": [compare, TfcrClassifier],
    "words": [ClassCounts.from_texts],
    "embeddings train": [Embeddings.train],
    "embeddings distill": [distill],
    "experiment run": [Request, Word2Vec],
}
DIFFERENT = {
    ("words", "min_count"),
    # a model from the shell can be reproduced without an option; in Python a seed is given on purpose
    ("train", "seed"),
    ("evaluate", "seed"),
}


def shown_default(parameter: Any) -> Any:
    return parameter.show_default if isinstance(parameter.show_default, str) else parameter.default


def as_shown(value: Any) -> str:
    """Write a default of Python as the help shows it."""
    if value == ():
        return "none"
    if isinstance(value, tuple):
        return ",".join("all" if item is None else getattr(item, "name", str(item)) for item in value)
    return {True: "skip-gram", False: "cbow"}.get(value, str(value)) if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("command", PYTHON)
def test_every_shell_default_is_the_one_of_python(command: str) -> None:
    compared = 0
    for parameter in COMMANDS[command].params:
        for function in PYTHON[command]:
            known = inspect.signature(function).parameters.get(IN_PYTHON.get(parameter.name, parameter.name))
            if known is None or (command, parameter.name) in DIFFERENT or known.default is inspect.Parameter.empty:
                continue
            shown = shown_default(parameter)
            if shown == OF_PRESET:
                differing = {str(preset[known.name]) for preset in PRESETS.values() if known.name in preset}
                assert len(differing) > 1, f"{parameter.opts[0]}: all presets agree, show {known.default!r}"
            elif not (known.default is None or isinstance(parameter.default, bool)):
                assert str(shown) == as_shown(known.default), parameter.opts[0]
            compared += 1
    assert compared


def test_a_model_of_the_shell_is_a_model_of_python() -> None:
    assert Training().model(None, "data.csv").get_params() == TfcrClassifier(random_state=0).get_params()
    taken = {IN_PYTHON.get(field.name, field.name) for field in fields(Training)} - {"preset"}
    assert set(TfcrClassifier().get_params()) - taken == {
        "keep_documents",  # of train alone
        "scheme",
        "unlabelled",
        "warm_start",
    }


@pytest.mark.parametrize("preset", [name for name, row in PRESETS.items() if "vectors" in row["parts"]])
def test_a_scheme_changes_the_scheme_of_any_preset_and_nothing_else(preset: str) -> None:
    plain = Training(preset=preset).model(None, "data.csv").get_params()
    assert Training(preset=preset).model("kld", "data.csv").get_params() == {**plain, "scheme": "kld"}


# data ----------------------------------------------------------------------------------------------------------------


def _tickets(bad: str = "") -> str:
    rows = [f"the {'printer' if number % 2 else 'network'} is slow {number},{number % 2}\n" for number in range(24)]
    return "".join(["text,label\n", *rows[:12], bad, *rows[12:]])


def test_bad_rows_stop_a_command_or_are_left_out(run: Run, tmp_path: Path) -> None:
    data, model = tmp_path / "a.csv", tmp_path / "model"
    data.write_text(_tickets("a,b,c\n"))
    stopped = run("train", data, "-o", model, "--preset", "fast")
    assert stopped.status == 2
    assert "a.csv, line 14: found 3 columns; expected 2, as in the first line." in stopped.err
    assert stopped.err.endswith("or leave such rows out: --bad-rows skip\n")
    assert not model.exists()
    trained = run("train", data, "-o", model, "--preset", "fast", "--bad-rows", "skip")
    assert trained.status == 0
    assert f"1 row of {data} could not be read and is left out, row 13: line 14: found 3 columns" in trained.err
    predicted = run("predict", model, data, "-o", tmp_path / "out.csv", "--bad-rows", "skip")
    assert predicted.status == 0
    assert f"1 row of {data} could not be read and is empty, row 13: line 14" in predicted.err
    assert (tmp_path / "out.csv").read_text().split("\n")[13] == ",,,,"
    wrong = run("train", data, "-o", model, "--bad-rows", "drop")
    assert (wrong.status, "'drop'; known: stop, skip" in wrong.err) == (2, True)


def test_commands_read_addresses(run: Run, tmp_path: Path, server: Server) -> None:
    server.content, server.kind = _tickets().encode(), "text/csv"
    address, model = f"{server.url}/a.csv?key=secret", tmp_path / "model"
    assert run("train", address, "-o", model, "--preset", "fast").status == 0
    assert all(b"secret" not in file.read_bytes() for file in model.iterdir() if file.is_file())
    assert run("evaluate", model, address).status == 0
    assert run("predict", model, address, address, "-o", tmp_path / "out.csv").status == 0
    assert (tmp_path / "out.csv").read_text().count("\n") == 49
    (tmp_path / "out").mkdir()
    assert run("predict", model, address, "-o", tmp_path / "out").status == 0
    assert (tmp_path / "out" / "a.csv").read_text().count("\n") == 25
    resumed = run("predict", model, address, "-o", tmp_path / "out.csv", "--resume")
    assert (resumed.status, "expected files to read" in resumed.err) == (2, True)
