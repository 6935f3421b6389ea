"""``tfcr train``."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.runner import Run
from tests.data.files import write_sheets
from tfcr import PRESETS, load
from tfcr.data import ReadOptions
from tfcr.data.readers import read_table


def test_train_saves_a_model_with_a_score_on_its_card(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    result = run("train", data, "-e", vectors_file, "--preset", "paper", "-o", tmp_path / "model")
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
    model = load(tmp_path / "model")
    assert model.training_["embeddings"] == "w2v"
    assert (model.parts, list(model.part_weights_)) == (PRESETS["best"]["parts"], ["ngrams", "vectors", "plain"])


def test_the_vectors_that_were_chosen_are_named(run: Run, data: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tfcr.embeddings.automatic.installed", lambda name: None)
        trained = run("train", data, "-o", tmp_path / "model", "--no-cv")
        measured = run("evaluate", data, "--cv", 2)
    expected = "note: vectors: w2v, word2vec trained on these texts without their labels (wglove-50 is not installed"
    assert (trained.status, measured.status) == (0, 0)
    assert expected in trained.err
    assert expected in measured.err
    model = load(tmp_path / "model")
    assert (model.embeddings, model.training_["embeddings"]) == ("auto", "w2v")


def test_a_preset_without_vectors_gets_those_asked_for(run: Run, data: Path, tmp_path: Path) -> None:
    options = ["--preset", "fast", "--parts", "words,vectors", "--dimensions", 4, "--no-cv"]
    assert run("train", data, "-o", tmp_path / "model", *options).status == 0
    assert list(load(tmp_path / "model").part_weights_) == ["words", "vectors"]


@pytest.mark.parametrize("option", [["--cv", 5], ["--group", "who"]])
def test_options_of_cross_validation_go_with_it(option: list[object], run: Run, data: Path, tmp_path: Path) -> None:
    result = run("train", data, "-o", tmp_path / "m", "--no-cv", *option)
    assert (result.status, f"found {option[0]} along with --no-cv" in result.err) == (2, True)


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
    assert "1 of 95 rows have no text and no label and are left out" in result.err
    assert "the class 'Küche' has 3 documents: 3 folds instead of 5" in result.err
    result = run("predict", tmp_path / "model", export, "-o", tmp_path / "out.csv")
    assert result.status == 0, result.err
    assert (tmp_path / "out.csv").read_bytes().decode("cp1252").startswith("Nr;Betreff;")  # as the input is written
    frame = read_table(tmp_path / "out.csv", ReadOptions()).frame
    assert frame.columns[:4] == ["Nr", "Betreff", "Nachricht", "Warteschlange"]
    right = (frame["predicted"] == frame["Warteschlange"])[:90]
    assert right.sum() >= 85
    assert "Grüße,\r\nTicket 0; danke für „Hilfe“ – Der Drucker druckt nicht" in frame["Nachricht"].to_list()


def test_labels_that_are_numbers_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "years.csv"
    path.write_text(
        "text,label\n" + "".join(f"words of {year} {n},{year}\n" for year in (2024, 2025) for n in range(9))
    )
    for command in (["train", path, "-o", tmp_path / "m", "--no-cv"], ["evaluate", path, "--cv", 2]):
        result = run(*command, "--preset", "fast")
        assert "\n2024  " in result.out
    assert "\n2024  " in run("words", path, "--top", 1).out


def test_an_excel_workbook_to_the_end(run: Run, tmp_path: Path) -> None:
    topics = {7: "the printer does not print", 8: "please reset my password", 9: "the network is slow"}
    rows = [[number, f"{topics[7 + number % 3]}, ticket {number}", 7 + number % 3] for number in range(60)]
    tickets = write_sheets(tmp_path / "tickets.xlsx", Tickets=[["id", "body", "queue"], *rows, [60, None, 7]])
    columns = ["--text", "body", "--label", "queue"]
    result = run("train", tickets, *columns, "--preset", "fast", "-o", tmp_path / "model")
    assert result.status == 0, result.err
    assert "tickets.xlsx: Excel, sheet Tickets, 61 rows; text: body, label: queue" in result.err
    assert "1 of 61 rows have no text and are left out (row 61)" in result.err
    assert load(tmp_path / "model").classes_.tolist() == [7, 8, 9]
    assert run("predict", tmp_path / "model", tickets, "-o", tmp_path / "out.csv").status == 0
    frame = pl.read_csv(tmp_path / "out.csv")
    assert (frame["id"].to_list(), frame["predicted"][60]) == (list(range(61)), None)
    assert frame["predicted"][:60].to_list() == [row[2] for row in rows]
    result = run("evaluate", tmp_path / "model", tickets, *columns, "--json")
    assert json.loads(result.out)[0]["macro_f1"] == 1, result.err
    bare = write_sheets(tmp_path / "bare.xlsx", Sheet=[row[1:] for row in rows])
    result = run("evaluate", bare, "--no-header", "--text", 1, "--label", 2, "--preset", "fast", "--cv", 2)
    assert result.status == 0, result.err


def test_a_read_only_place(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.access", lambda *arguments: False)  # root may write anywhere, so that chmod tests nothing
    result = run("train", data, "-o", tmp_path / "m")
    assert (result.status, "is not a writable folder" in result.err) == (2, True)
