"""Every command through the real entry point, and what each kind of bad input gets."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.conftest import random_corpus
from tfcr import cli, load
from tfcr.data import streaming as pieces
from tfcr.embeddings import Embeddings
from tfcr.schemes import SCHEMES


class Result(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["tfcr", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as caught:
                cli.main()
        shown = capsys.readouterr()
        return Result(int(caught.value.code or 0), shown.out, shown.err)

    return command


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.csv"
    corpus = random_corpus()
    pairs = zip(corpus.texts, corpus.labels, strict=True)
    rows = [f"{text},{label},g{number % 9}" for number, (text, label) in enumerate(pairs)]
    path.write_text("text,label,who\n" + "\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture(scope="session")
def vectors_file(data: Path) -> Path:
    from tests.conftest import random_vectors

    path = data.with_name("vectors.vec")
    random_vectors(random_corpus()).save(path)
    return path


@pytest.fixture(scope="session")
def model(data: Path, vectors_file: Path) -> Path:
    from tfcr.classifier import TfcrClassifier
    from tfcr.data import read_corpus

    corpus = read_corpus(data)
    trained = TfcrClassifier(embeddings=str(vectors_file)).fit(corpus.texts, corpus.labels)
    trained.training_["columns"] = ["text"]
    trained.save(data.with_name("model"))
    return data.with_name("model")


# the commands ------------------------------------------------------------------------------------------------------


def test_train_saves_a_model_with_a_score_on_its_card(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    result = run("train", data, "-e", vectors_file, "-o", tmp_path / "model")
    assert result.status == 0
    assert "note: " in result.err
    assert "comma-separated, utf-8, 120 rows; text: text, label: label" in result.err
    assert "macro-F1, mean of 5 folds: " in result.out
    assert f"Next: tfcr predict {tmp_path / 'model'} NEW.csv" in result.out
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "| macro-F1, mean of 5 folds | " in card
    assert load(tmp_path / "model").training_["columns"] == ["text"]


def test_train_without_measuring_and_as_json(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    result = run("train", data, "-e", vectors_file, "-o", tmp_path / "model", "--no-cv", "--json", "--head", "lr")
    assert json.loads(result.out)["scores"] == {}
    assert "Not measured" in (tmp_path / "model" / "README.md").read_text("utf-8")


def test_train_makes_its_own_vectors(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("train", data, "-o", tmp_path / "model", "--no-cv", "--dimensions", 8)
    assert result.status == 0
    assert load(tmp_path / "model").training_["embeddings"] == "w2v"


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_predict_keeps_all_columns_and_adds_three(run: Run, model: Path, ending: str, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text('id,text,predicted\n007,w0_1 w0_2,old\n008,"",old\n009,w1_1 strange,old\n')
    target = tmp_path / f"out.{ending}"
    result = run("predict", model, new, "-o", target)
    assert result.status == 0
    assert "1 of 3 rows have no text and get no prediction" in result.err
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "csv": lambda path: pl.read_csv(path, infer_schema=False),
        "tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema=False),
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
    }
    frame = readers[ending](target)
    assert frame.columns == ["id", "text", "predicted", "predicted_", "probability", "unknown_words"]
    assert frame["id"].to_list() == ["007", "008", "009"]
    assert frame["predicted_"][0] == "class 0"
    assert frame["predicted_"][1] is None
    assert float(frame["unknown_words"][2]) == 0.5


def test_predict_says_which_columns_the_model_knows(run: Run, model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("id,subject\n1,w0_1\n")
    result = run("predict", model, new)
    assert result.status == 2
    assert "the model was trained on the columns text, and there is no 'text'; give --text NAME" in result.err
    assert "class 0" in run("predict", model, new, "--text", "subject").out
    new.write_text("text\n")
    assert "holds no rows; expected texts" in run("predict", model, new).err


def test_no_arguments_and_the_version(run: Run) -> None:
    result = run()
    assert result.status == 2
    assert "\n  train " in result.err
    assert run("--version").out.startswith("tfcr ")


PIECES: dict[str, tuple[str, list[str]]] = {
    "data.csv": ("text,id\n" + "".join(f'"w{n % 3}_1, ""w{n % 3}_2""\nw{n % 3}_3",{n:03}\n' for n in range(60)), []),
    "bare.csv": ("".join(f"w{n % 3}_1 w{n % 3}_2;{n:03}\n" for n in range(60)), ["--no-header", "--text", "1"]),
    "data.tsv": ("text\tid\n" + "".join(f"w{n % 3}_1 w{n % 3}_2\t{n:03}\n" for n in range(60)), []),
    "data.jsonl": ("".join(json.dumps({"text": f"w{n % 3}_1 w{n % 3}_2", "id": n}) + "\n" for n in range(60)), []),
    "data.txt": ("".join(f"__label__x w{n % 3}_1 w{n % 3}_2\n" for n in range(60)), []),
    "data.csv.gz": ("text,id\n" + "".join(f"w{n % 3}_1 w{n % 3}_2,{n:03}\n" for n in range(60)), []),
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predict_reads_large_files_in_pieces(
    run: Run, model: Path, name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, options = PIECES[name]
    new = tmp_path / name
    new.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    whole, in_pieces = tmp_path / f"whole.{ending}", tmp_path / f"pieces.{ending}"
    run("predict", model, new, "-o", whole, *options)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    result = run("predict", model, new, "-o", in_pieces, *options)
    assert "in pieces" in result.err
    read: Any = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    found, expected = read(in_pieces), read(whole)
    assert found.height == 60
    assert_frame_equal(found, expected)
    assert found["predicted"].to_list()[:3] == ["class 0", "class 1", "class 2"]


def test_pieces_of_parquet_and_of_several_files(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    monkeypatch.setattr(pieces, "PARQUET_ROWS", 7)
    frame = pl.DataFrame({"text": [f"w{n % 3}_1 w{n % 3}_2" for n in range(30)], "id": range(30)})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("text,more\n" + "w1_1 w1_2,x\n" * 30)
    run("predict", model, tmp_path / "a.parquet", "-o", tmp_path / "one.csv")
    assert pl.read_csv(tmp_path / "one.csv")["id"].to_list() == list(range(30))
    run("predict", model, tmp_path / "a.parquet", tmp_path / "b.csv", "-o", tmp_path / "two.csv")
    both = pl.read_csv(tmp_path / "two.csv")
    assert both.columns == ["text", "id", "more", "predicted", "probability", "unknown_words"]
    assert both.height == 60
    assert both["predicted"].to_list()[-1] == "class 1"


def test_an_error_in_a_piece_names_the_file_and_leaves_nothing(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    new = tmp_path / "new.csv"
    new.write_text("text,id\n" + "w0_1,1\n" * 100 + "w0_1,1,too many\n")
    result = run("predict", model, new, "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert "new.csv, line 102: found 3 columns; expected 2" in result.err
    new.write_text("".join(json.dumps({"text": "w0_1"}) + "\n" for _ in range(60)) + '{"text": "w0_1", "late": 1}\n')
    result = run("predict", model, new, "--format", "jsonl", "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert "found the column 'late' only after the first rows were written" in result.err
    assert not list(tmp_path.glob("*out.csv*"))


def test_pieces_that_are_none(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    rows = [{"text": f"w{n % 3}_1 w{n % 3}_2", "id": n} for n in range(60)]
    (tmp_path / "list.json").write_text(json.dumps(rows, indent=1))
    (tmp_path / "blank.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n" * 500)
    for name in ("list.json", "blank.jsonl"):
        assert run("predict", model, tmp_path / name, "-o", tmp_path / "out.csv").status == 0
        assert pl.read_csv(tmp_path / "out.csv").height == 60


def test_tables_that_a_format_cannot_hold(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 200)
    nested = tmp_path / "nested.jsonl"
    nested.write_text('{"text": "w0_1", "tags": [1, 2]}\n' * 3)
    result = run("predict", model, nested, "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert "JSON lines hold anything: -o FILE.jsonl" in result.err
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"text": "w0_1", "id": 1}\n' * 40 + '{"text": "w0_1", "id": "x"}\n' * 40)
    result = run("predict", model, mixed, "-o", tmp_path / "out.parquet")
    assert result.status == 2
    assert "cannot write such a table" in result.err
    late = tmp_path / "late.jsonl"
    late.write_text('{"text": "w0_1"}\n' * 40 + '{"text": "w0_1", "late": "x"}\n')
    result = run("predict", model, late, late, "-o", tmp_path / "out.jsonl")
    assert result.status == 2
    assert "found the column 'late' only after the first rows of its file" in result.err
    assert not list(tmp_path.glob("*out*"))


def test_predict_to_standard_output(run: Run, model: Path, data: Path) -> None:
    lines = run("predict", model, data).out.splitlines()
    assert lines[0] == "text,label,who,predicted,probability,unknown_words"
    assert len(lines) == 121
    first = json.loads(run("predict", model, data, "--json").out.splitlines()[0])
    assert first["predicted"] == "class 0"


def test_evaluate_by_cross_validation(run: Run, data: Path, vectors_file: Path) -> None:
    result = run("evaluate", data, "-e", vectors_file, "--cv", 3)
    assert result.status == 0
    assert "precision" in result.out
    assert "class 2" in result.out
    parsed = json.loads(run("evaluate", data, "-e", vectors_file, "--cv", 3, "--json").out)
    assert parsed[0]["macro_f1"] > 0.7
    assert len(parsed[0]["folds"]) == 3
    assert parsed[0]["classes"][0]["documents"] == 40


def test_evaluate_compares_schemes_and_writes_predictions(
    run: Run, data: Path, vectors_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "predictions.csv"
    result = run("evaluate", data, "-e", vectors_file, "--cv", 2, "--scheme", "all", "--predictions", target)
    assert all(name in result.out for name in SCHEMES)
    frame = pl.read_csv(target)
    assert frame.columns == ["row", "scheme", "fold", "label", "predicted", "probability"]
    assert frame.height == 120 * len(SCHEMES)
    assert frame.filter(pl.col("scheme") == "tfcr")["row"].to_list() == list(range(1, 121))


def test_evaluate_keeps_groups_together(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "predictions.csv"
    run("evaluate", data, "-e", vectors_file, "--cv", 3, "--group", "who", "--predictions", target)
    groups = pl.read_csv(data)["who"]
    folds = pl.read_csv(target).with_columns(groups).group_by("who").agg(pl.col("fold").n_unique())
    assert folds["fold"].to_list() == [1] * 9
    result = run("evaluate", data, "-e", vectors_file, "--cv", 10, "--group", "who")
    assert (result.status, "found 9 groups for 10 folds" in result.err) == (2, True)


def test_evaluate_a_model(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data)
    assert "macro-F1" in result.out
    assert json.loads(run("evaluate", model, data, "--json").out)[0]["accuracy"] > 0.9
    moved = data.with_name("moved.csv")
    moved.write_text(data.read_text().replace("text,label,who", "text,other,body"))
    result = run("evaluate", model, moved, "--label", "other")
    assert "text: text, label: other" in result.err
    result = run("evaluate", model)
    assert (result.status, "and no data" in result.err) == (2, True)


def test_explain(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("explain", model, "w0_1 w0_2 strange")
    assert result.out.startswith("class 0\n")
    assert "not known: strange" in result.out
    parsed = json.loads(run("explain", model, "w0_1 w0_2 strange", "--json").out)
    for label, score in parsed["scores"].items():
        total = parsed["baseline"][label] + sum(word["contributions"][label] for word in parsed["words"])
        assert total == pytest.approx(score, abs=1e-6)
    monkeypatch.setattr("sys.stdin", io.StringIO("w1_1"))
    assert "w1_1" in run("explain", model, "-").out


def test_words_of_data_and_of_a_model(run: Run, data: Path, model: Path) -> None:
    parsed = json.loads(run("words", data, "--scheme", "tfcr", "--top", 3, "--json").out)
    assert all(entry["word"].startswith(f"w{label[-1]}_") for label, entries in parsed.items() for entry in entries[:1])
    assert "class 0" in run("words", model, "--top", 2).out
    assert "all" in run("words", data, "--scheme", "tfidf").out


def test_embeddings_commands(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    assert "wglove-50" in run("embeddings", "list").out
    assert {row["name"] for row in json.loads(run("embeddings", "list", "--json").out)} >= {"gw2v", "cglove"}
    facts = json.loads(run("embeddings", "info", vectors_file, "--data", data, "--json").out)
    assert (facts["words"], facts["dimensions"]) == (24, 8)
    assert 0.8 < facts["share of the tokens covered"] <= 1
    assert "dimensions" in run("embeddings", "info", vectors_file).out
    for ending in ("bin", "txt", "npy", "vec"):
        target = tmp_path / f"copy-{ending}.{ending}"
        assert run("embeddings", "convert", vectors_file, "-o", target).status == 0
        assert Embeddings.load(target).words == Embeddings.load(vectors_file).words
        assert (Embeddings.load(target).vectors == Embeddings.load(vectors_file).vectors).all()
    trained = tmp_path / "trained.vec"
    assert run("embeddings", "train", data, "-o", trained, "--dimensions", 5, "--epochs", 1).status == 0
    assert Embeddings.load(trained).dimensions == 5
    assert run("embeddings", "convert", vectors_file, "-o", tmp_path / "x.doc").status == 2
    (tmp_path / "notes.txt").write_text("precious")
    result = run("embeddings", "convert", vectors_file, "-o", tmp_path / "notes.npy")
    assert (result.status, "choose another name" in result.err) == (2, True)
    assert (tmp_path / "notes.txt").read_text() == "precious"
    assert run("embeddings", "train", data, "-o", trained, "--epochs", 0).status == 2


def test_datasets_commands(run: Run) -> None:
    assert "pydocs" in run("datasets", "list").out
    assert json.loads(run("datasets", "list", "--json").out)[0]["name"] == "pydocs"
    assert "asyncio" in run("datasets", "info", "pydocs").out
    facts = json.loads(run("datasets", "info", "pydocs", "--json").out)
    assert facts["found"]["classes"]["asyncio"] >= 100
    assert facts["state"] == "ready"
    assert "pydocs is ready" in run("datasets", "fetch", "pydocs").out


@pytest.mark.slow
def test_demo(run: Run, tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path / "model")
    assert result.status == 0
    assert "tfcr-log" in result.out
    assert "Type next:" in result.out
    assert load(tmp_path / "model").classes_.tolist()


def test_every_command_shows_an_example(run: Run) -> None:
    for command in [
        ["train"],
        ["predict"],
        ["evaluate"],
        ["explain"],
        ["words"],
        ["demo"],
        ["embeddings", "list"],
        ["embeddings", "info"],
        ["embeddings", "fetch"],
        ["embeddings", "convert"],
        ["embeddings", "train"],
        ["datasets", "list"],
        ["datasets", "info"],
        ["datasets", "fetch"],
        ["experiment", "run"],
        ["experiment", "table"],
        ["experiment", "curve"],
        ["experiment", "report"],
        ["experiment", "status"],
    ]:
        shown = run(*command, "--help")
        assert shown.status == 0
        assert f"  tfcr {' '.join(command)}" in shown.out


# a ticket export from a German office ------------------------------------------------------------------------------


def german_tickets(path: Path) -> Path:
    topics = {
        "Drucker": ["Der Drucker druckt nicht", "Papierstau am Drucker", "Toner leer, bitte Tinte für Drucker"],
        "Zugang": [
            "Passwort zurücksetzen",
            "Zugang gesperrt, Passwort läuft ab",
            "Anmeldung geht nicht, Passwort falsch",
        ],
        "Störung": ["Netzwerk fällt aus", "Größere Störung im Netzwerk", "Internet ist langsam, Netzwerk gestört"],
    }
    lines = ["Nr;Betreff;Nachricht;Warteschlange"]
    for number in range(90):
        label = list(topics)[number % 3]
        text = topics[label][number // 3 % 3]
        lines.append(f'{number};{text};"Grüße,\r\nTicket {number}; danke für „Hilfe“ – {text}";{label}')
    lines += [
        "90;;;Drucker",
        ";;;",
        "91;Kaffee;Die Maschine ist kaputt;Küche",
        "92;Kaffee leer;;Küche",
        "93;Tee;;Küche",
    ]
    path.write_bytes("\r\n".join(lines).encode("cp1252") + b"\r\n")
    return path


def test_a_german_ticket_export_needs_no_option_but_the_columns(run: Run, tmp_path: Path) -> None:
    export = german_tickets(tmp_path / "Tickets 2026.csv")
    columns = ["--text", "Betreff", "--text", "Nachricht"]
    result = run("train", export, *columns, "--label", "Warteschlange", "-o", tmp_path / "model")
    assert result.status == 0, result.err
    assert "semicolon-separated, cp1252, 90 line breaks inside quoted cells" in result.err
    assert "95 rows; text: Betreff + Nachricht, label: Warteschlange" in result.err
    assert "2 of 95 rows have no text and are left out (row 91, 92)" in result.err
    assert "the class 'Küche' has 3 documents: 3 folds instead of 5" in result.err
    result = run("predict", tmp_path / "model", export, "-o", tmp_path / "out.csv")
    assert result.status == 0, result.err
    frame = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert frame.columns[:4] == ["Nr", "Betreff", "Nachricht", "Warteschlange"]
    right = (frame["predicted"] == frame["Warteschlange"])[:90]
    assert right.sum() >= 85
    assert "Grüße,\r\nTicket 0; danke für „Hilfe“ – Der Drucker druckt nicht" in frame["Nachricht"].to_list()


# bad input: refused ------------------------------------------------------------------------------------------------


def bad(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


REFUSED: dict[str, tuple[Callable[[Path], list[object]], str]] = {
    "missing file": (lambda t: ["evaluate", t / "no.csv"], "no.csv does not exist; expected a data file"),
    "empty file": (lambda t: ["evaluate", bad(t, "e.csv", b"")], "e.csv is empty"),
    "wrong column": (
        lambda t: ["evaluate", bad(t, "a.csv", b"text,label\na,x\n"), "--text", "txt"],
        "unknown column for --text 'txt'; known: text, label. Did you mean 'text'?",
    ),
    "unknown scheme": (
        lambda t: ["evaluate", bad(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"), "--scheme", "tf-cr", "-e", "w2v"],
        "unknown scheme 'tf-cr'; known: none, tfidf",
    ),
    "unknown head": (
        lambda t: ["evaluate", bad(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"), "--head", "forest"],
        "unknown head 'forest'; known: lr, svm, ridge",
    ),
    "unknown tokenizer": (
        lambda t: ["words", bad(t, "a.csv", b"text,label\na,x\nb,y\n"), "--tokenizer", "letters"],
        "unknown tokenizer 'letters'; known: paper, words",
    ),
    "one class only": (
        lambda t: ["train", bad(t, "a.csv", b"text,label\na,x\nb,x\n"), "-o", t / "m"],
        "found one class only, 'x'",
    ),
    "not in the encoding": (
        lambda t: ["evaluate", bad(t, "a.csv", "text,label\ngröße,x\n".encode("cp1252")), "--encoding", "utf-8"],
        "a.csv: byte 13, in line 2, is not utf-8",
    ),
    "damaged vectors": (
        lambda t: [
            "evaluate",
            bad(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"),
            "-e",
            bad(t, "v.txt", b"a 1 2\nb 1\n"),
        ],
        "v.txt, line 2: found 1 numbers after the word; expected 2",
    ),
    "missing vectors": (
        lambda t: ["evaluate", bad(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"), "-e", "no.bin"],
        "no.bin does not exist",
    ),
    "no model": (lambda t: ["predict", t, bad(t, "a.csv", b"text\na\n")], "is no model: it has no config.json"),
    "folder with other things": (
        lambda t: ["train", bad(t, "a.csv", b"text,label\na,x\nb,y\n"), "-o", t],
        "holds a.csv and no model; give a new or empty folder",
    ),
    "output of unknown kind": (
        lambda t: ["predict", t, bad(t, "a.csv", b"text\na\n"), "-o", t / "out.doc"],
        "unknown format to write 'doc'; known: csv, tsv, jsonl, parquet",
    ),
    "output nowhere": (
        lambda t: ["predict", t, bad(t, "a.csv", b"text\na\n"), "-o", t / "no" / "out.csv"],
        "does not exist; make it first: mkdir -p",
    ),
    "option that is none": (lambda t: ["train", "--txt", "x"], "No such option"),
    "option missing": (lambda t: ["train", "x.csv"], "Missing option"),
    "command that is none": (lambda t: ["trian"], "No such command"),
    "number that is none": (lambda t: ["evaluate", "x", "--cv", "ten"], "Invalid value for '--cv'"),
    "no model folder": (lambda t: ["predict", t / "no", t / "a.csv"], "does not exist; expected a model's folder"),
    "seed": (lambda t: ["evaluate", "pydocs", "--seed", "-1"], "'--seed'"),
    "wrong case": (
        lambda t: ["words", bad(t, "a.csv", b"text,label\na,x\nb,y\n"), "--scheme", "TFCR"],
        "Did you mean 'tfcr'?",
    ),
    "quoting": (lambda t: ["evaluate", t / "a.csv", "--quoting", "single"], "found --quoting single; expected none"),
}


WITHOUT_EFFECT: dict[str, tuple[list[object], str]] = {
    "vectors for a preset without": (
        ["--preset", "fast", "-e", "w2v"],
        "found --embeddings, which is about vectors, and only words to look at; leave it out, or add them: "
        "--parts words,vectors",
    ),
    "a scheme without vectors": (["--parts", "words,bigrams", "--scheme", "tfcr"], "found --scheme, which is about"),
    "an averaging without vectors": (["--parts", "words", "--averaging", "sum"], "found --averaging, which is about"),
    "blocks without vectors": (["--preset", "fast", "--blocks", "own"], "found --blocks, which is about vectors"),
    "dimensions without vectors": (["--preset", "fast", "--dimensions", 100], "found --dimensions, which is about"),
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
    "strength": (["-C", -1], "found C=-1.0; expected a number above 0"),
    "class weight": (["--class-weight", "x"], "found class_weight='x'"),
    "vectors": (["-e", "no.bin"], "no.bin does not exist"),
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


@pytest.mark.parametrize("option", [["--cv", 5], ["--group", "who"]])
def test_options_of_cross_validation_go_with_it(option: list[object], run: Run, data: Path, tmp_path: Path) -> None:
    result = run("train", data, "-o", tmp_path / "m", "--no-cv", *option)
    assert (result.status, f"found {option[0]} along with --no-cv" in result.err) == (2, True)


def test_words_checks_its_options_before_the_data_is_read(run: Run) -> None:
    assert "unknown scheme 'tf-cr'" in run("words", "no-such-data.csv", "--scheme", "tf-cr").err
    assert "unknown tokenizer 'x'" in run("words", "no-such-data.csv", "--tokenizer", "x").err


@pytest.mark.parametrize(
    "option",
    [
        ["--scheme", "tfcr"],
        ["--head", "svm"],
        ["--seed", 0],
        ["--min-count", 1],
        ["-C", 1],
        ["--cv", 10],
        ["--min-class-size", 0],
        ["--group", "who"],
    ],
)
def test_a_model_is_evaluated_as_it_is(option: list[object], run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data, *option)
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        f"tfcr: found {option[0]} along with the model {model}, which is trained already; leave it out\n"
    )


def test_a_model_shows_its_own_words(run: Run, model: Path, data: Path) -> None:
    for option in (["--scheme", "tfcr-log"], ["--tokenizer", "words"], ["--label", "label"]):
        result = run("words", model, *option)
        assert (result.status, f"found {option[0]} along with the model" in result.err) == (2, True)
    result = run("words", model, data)
    assert (result.status, "expected a model alone, or data alone" in result.err) == (2, True)


def test_a_preset_without_vectors_gets_those_asked_for(run: Run, data: Path, tmp_path: Path) -> None:
    options = ["--preset", "fast", "--parts", "words,vectors", "--dimensions", 4, "--no-cv"]
    assert run("train", data, "-o", tmp_path / "model", *options).status == 0
    assert list(load(tmp_path / "model").part_weights_) == ["words", "vectors"]


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_in_one_line_with_status_2(kind: str, run: Run, tmp_path: Path) -> None:
    arguments, message = REFUSED[kind]
    result = run(*arguments(tmp_path))
    assert result.status == 2, result
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.err
    assert lines[0].startswith("tfcr: ")
    assert message in lines[0]
    assert result.out == ""
    assert not (tmp_path / "m").exists()


def test_archives_that_are_dangerous(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfcr.system import archives

    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("x/../../evil/1")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    result = run("evaluate", path)
    assert (result.status, "leads out of its folder" in result.err) == (2, True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["evil.tar.gz"]
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("x/1")
        member.size = 50_000_000
        archive.addfile(member, io.BytesIO(bytes(50_000_000)))
    monkeypatch.setattr(archives, "MOST_HARMLESS", 1_000_000)
    result = run("evaluate", path)
    assert (result.status, "unpacks to more than" in result.err) == (2, True)


def test_a_full_disk(run: Run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "out.csv"
    target.write_text("precious")
    monkeypatch.setattr("os.fsync", full)
    result = run("predict", model, data, "-o", target)
    assert result.status == 2
    assert "No space left on device" in result.err
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    result = run("train", data, "-o", tmp_path / "m", "--no-cv", "--dimensions", 4)
    assert (result.status, "cannot write the model to" in result.err) == (2, True)


def test_a_read_only_place(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.access", lambda *arguments: False)  # root may write anywhere, so that chmod tests nothing
    result = run("train", data, "-o", tmp_path / "m")
    assert (result.status, "is not a folder one may write to" in result.err) == (2, True)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


def test_ctrl_c_stops_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    data = tmp_path / "big.csv"
    corpus = random_corpus(3000)
    rows = [f"{text},{label}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True)]
    data.write_text("text,label\n" + "".join(rows * 10))
    command = [sys.executable, "-m", "tfcr.cli", "train", str(data), "-o", str(tmp_path / "model")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True)
    assert process.stderr is not None
    assert "rows" in process.stderr.readline()  # the file is read: the long work begins
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 5
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "model").exists()


def test_a_reader_that_goes_away(model: Path, data: Path) -> None:
    command = f"'{sys.executable}' -m tfcr.cli predict '{model}' '{data}' '{data}' | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment())
    assert result.stdout.startswith("text,label,who,predicted")
    assert "Traceback" not in result.stderr


def test_standard_input(data: Path) -> None:
    command = [sys.executable, "-m", "tfcr.cli", "words", "-", "--top", "2"]
    result = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=True, env=environment())
    assert b"class 0" in result.stdout


# bad input: reported, and the work goes on -------------------------------------------------------------------------


def test_what_is_odd_is_reported_and_the_work_goes_on(run: Run, tmp_path: Path) -> None:
    rows = [("good film 💚", 1), ("bad film \x07", 2)] * 6
    lines = [f"{text},{label}" for text, label in rows]
    lines += [",1", "no label,", "u\u0308ber good,1", "über bad,2", "one of a kind,3"]
    path = tmp_path / "odd.csv"
    path.write_text("text,label\n" + "\n".join(lines) + "\n", "utf-8")
    result = run("evaluate", path, "--cv", 9, "--dimensions", 4)
    assert result.status == 0, result.err
    for message in (
        "1 of 17 rows have no text and are left out (row 13)",
        "1 of 17 rows have no label and are left out (row 14)",
        "10 rows repeat the text and label of another",
        "the labels are numbers (1, 2, 3); each is taken as a class of its own",
        "1 classes with fewer than 2 documents are left out: 3 (1)",
        "the class 1 has 7 documents: 7 folds instead of 9",
        "word2vec is trained once on the texts of all folds, without their labels",
    ):
        assert f"note: {message}" in result.err, message


def test_small_classes_can_be_left_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "good a,x\nbad b,y\n" * 5 + "rare c,z\n" * 3)
    result = run("evaluate", path, "--cv", 5, "--min-class-size", 5, "--dimensions", 4)
    assert result.status == 0
    assert "1 classes with fewer than 5 documents are left out: z (3)" in result.err


def test_low_coverage_is_reported(run: Run, data: Path, tmp_path: Path) -> None:
    few = bad(tmp_path, "few.txt", b"common1 1 2\nw0_1 3 4\n")
    result = run("evaluate", data, "-e", few, "--cv", 2)
    assert result.status == 0
    assert "of the running words" in result.err


def test_a_document_of_ten_megabytes(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("text\n" + "w0_1 common1 " * 800_000 + "\nw1_1\n")
    result = run("predict", model, path, "-o", tmp_path / "out.parquet")
    assert result.status == 0
    assert pl.read_parquet(tmp_path / "out.parquet")["predicted"].to_list()[0] == "class 0"


def test_the_package_is_the_command_line_too() -> None:
    command = [sys.executable, "-m", "tfcr", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert result.stdout.startswith("tfcr ")
