"""A file over HTTP: uploaded, read, classified, corrected, downloaded; and all that can be wrong with it."""

import csv
import errno
import gzip
import io
import json
import threading
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

from tests.serving.conftest import TOKEN, Connect
from tests.serving.files.conftest import CSV, FILE, Analyst
from tests.serving.test_guard import HUNG_UP, ask, part
from tfcr import TfcrClassifier, TrainedModel
from tfcr.predict_table import predict_frame
from tfcr.serving import Limits, Settings, make_app
from tfcr.serving.files import download, jobs, looking, routes
from tfcr.serving.files import folder as folders
from tfcr.serving.guard import Guard
from tfcr.serving.models import Models


def cells(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


# the way of a file ---------------------------------------------------------------------------------------------------


def test_a_csv_file_from_upload_to_download(analyst: Analyst, model: TrainedModel) -> None:
    found = analyst.upload()
    look = found["look"]
    assert (look["columns"], look["rows"], look["text"], look["label"]) == (
        ["id", "text", "note", "label"],
        5,
        "text",
        "label",
    )
    assert look["preview"][2] == ["3", "w2_1 w2_3", "two\nlines", "class 0"]
    assert "comma" in look["how"] or "," in look["how"]
    done = analyst.classify(label="label")
    assert (done["stage"], done["done"], done["job"]["classes"]) == ("done", 5, [str(one) for one in model.classes])
    page = analyst.ask("/rows")
    expected = predict_frame(model, pl.DataFrame({"text": [row["text"] or None for row in page["rows"]]}), ["text"])
    assert [row["label"] for row in page["rows"]] == expected["predicted"].to_list()
    for row, chance in zip(page["rows"], expected["probability"].to_list(), strict=True):
        assert row["probability"] == (None if chance is None else pytest.approx(chance))
    assert [row["given"] for row in page["rows"]] == ["class 0", "class 1", "class 0", None, "class 2"]
    assert [row["agrees"] for row in page["rows"]][:4] == [True, True, False, None]
    assert page["counts"]["compared"] == 4
    assert not page["rows"][3]["has_text"]
    analyst.correct(3, "class 0")
    analyst.correct(4, "class 2")
    rows = cells(analyst.download("csv"))
    original = cells(CSV)
    for before, after in zip(original, rows, strict=True):
        changed = {"note": "'=1+1"} if before["id"] == "1" else {}  # as tfcr predict guards against formulas
        assert {name: after[name] for name in before} == {**before, **changed}
    assert list(rows[0])[4:] == [
        *("predicted", "probability", "unknown_words", "second", "second_probability"),
        *("unsure", "corrected", "final"),
    ]
    assert [row["corrected"] for row in rows] == ["", "", "class 0", "class 2", ""]
    assert [row["final"] for row in rows][:4] == ["class 0", "class 1", "class 0", "class 2"]
    assert rows[0]["unsure"] == "false"


def test_the_csv_is_what_predict_writes_and_more(
    analyst: Analyst, model: TrainedModel, tmp_path: Path, run: Any
) -> None:
    (tmp_path / "tickets.csv").write_bytes(CSV)
    analyst.upload()
    analyst.classify()
    out = tmp_path / "out.csv"
    assert run("predict", tmp_path / "tickets", tmp_path / "tickets.csv", "--second", "-o", out).status == 0
    ours, theirs = cells(analyst.download("csv")), cells(out.read_bytes())
    assert [{name: row[name] for name in theirs[0]} for row in ours] == theirs


def test_excel_in_and_out(analyst: Analyst, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"nr": [1, 2], "Betreff": ["w0_1 w0_2", "=SUM(1)"], "Betreff2": ["<b>x</b>", None], "when": ["2024-05-31", "x"]}
    )
    table.write_excel(tmp_path / "in.xlsx")
    found = analyst.upload((tmp_path / "in.xlsx").read_bytes(), "Anfragen <b>.xlsx")
    assert found["look"]["text"] == "Betreff"
    analyst.classify("Betreff")
    analyst.correct(2, "class 1")
    (tmp_path / "out.xlsx").write_bytes(analyst.download("xlsx"))
    after = pl.read_excel(tmp_path / "out.xlsx", infer_schema_length=0)
    before = pl.read_excel(tmp_path / "in.xlsx", infer_schema_length=0)
    assert after.select(before.columns).equals(before)
    assert after["final"].to_list()[1] == after["corrected"].to_list()[1] == "class 1"


def test_json_lines_keep_lists_and_types(analyst: Analyst) -> None:
    records: list[dict[str, Any]] = [
        {"text": "w0_1", "n": 1, "tags": ["a", "b"], "inner": {"a": None}},
        {"text": "w1_1", "n": 2, "tags": [], "inner": {"a": 3}},
    ]
    analyst.upload("\n".join(map(json.dumps, records)).encode(), "a.jsonl")
    analyst.classify()
    found = [json.loads(line) for line in analyst.download("jsonl").splitlines()]
    assert [{name: row[name] for name in records[0]} for row in found] == records
    assert found[0]["unsure"] is False
    assert found[0]["corrected"] is None
    refused = analyst.tell("download", {"format": "csv"}, 422)
    assert "tags" in refused["error"] or "inner" in refused["error"]


def test_tsv_in_another_encoding_stays_as_it_is(analyst: Analyst) -> None:
    content = "text\tnote\nw0_1\tGrüße\nw1_1\tÖl\n".encode("cp1252")
    analyst.upload(content, "a.tsv")
    analyst.classify()
    lines = analyst.download("tsv").decode("cp1252").splitlines()
    assert [line.split("\t")[:2] for line in lines] == [
        line.split("\t") for line in content.decode("cp1252").splitlines()
    ]


def test_a_file_is_read_in_the_way_that_a_person_says(analyst: Analyst) -> None:
    found = analyst.upload(b"w0_1 one\nw1_1 two, three\nw2_1\n", "a.txt")
    analyst.tell("read", {"format": "lines"})
    found = analyst.until("ready", "failed")
    assert (found["look"]["columns"], found["look"]["rows"], found["said"]) == (["text"], 3, {"format": "lines"})
    analyst.classify()
    analyst.correct(1, "class 2")
    again = analyst.tell("read", {"header": "no"}, 409)
    assert "corrected" in again["error"]
    for bad in ({"format": "tar"}, {"separator": "x"}, {"unknown": "x"}, {"format": 1}):
        analyst.tell("read", bad, 422)


def test_a_model_that_may_be_unsure(connect: Connect, folder: Path) -> None:
    found = TrainedModel.load(folder)
    chances = found.predict_proba(["w0_1 w0_2 w0_3", "w0_1 w1_1 w2_1"]).max(axis=1)
    decision = replace(found.decision, least_probabilities=np.full(3, chances.mean()))
    replace(found, decision=decision, training={**found.training, "decided": 0.5}).save(folder)
    analyst = Analyst(connect(folder))
    analyst.upload(b"text\nw0_1 w0_2 w0_3\nw0_1 w1_1 w2_1\n", "a.csv")
    assert analyst.classify()["job"]["may_be_unsure"]
    page = analyst.ask("/rows", show="unsure")
    assert [row["row"] for row in page["rows"]] == [2]
    assert page["rows"][0]["label"] in ("class 0", "class 1", "class 2")
    rows = cells(analyst.download("csv"))
    assert (rows[1]["predicted"], rows[1]["unsure"], rows[1]["likeliest"]) == (
        "unsure",
        "true",
        page["rows"][0]["label"],
    )
    analyst.correct(2, "class 1")
    assert analyst.ask("/rows", show="unsure")["total"] == 0  # it has been decided
    assert cells(analyst.download("csv"))[1]["final"] == "class 1"


def test_several_labels(connect: Connect, tmp_path: Path) -> None:
    texts = ["good cheap", "good", "cheap", "bad"] * 10
    labels = [["good", "cheap"], ["good"], ["cheap"], []] * 10
    TfcrClassifier.from_preset("fast", C=1.0).fit(texts, labels).save(tmp_path / "reviews")
    analyst = Analyst(connect(tmp_path / "reviews"))
    analyst.upload(b"text,tags\ngood cheap,good;cheap\nbad,\n", "a.csv")
    analyst.classify(label="tags")
    page = analyst.ask("/rows")
    assert sorted(page["rows"][0]["label"]) == ["cheap", "good"]
    assert page["rows"][0]["agrees"]
    analyst.correct(2, ["good"])
    assert analyst.ask("/rows", label="good")["total"] == 2
    assert analyst.correct(1, [])["changed"] == 2
    analyst.tell("corrections", {"corrections": [{"row": 1, "label": "good"}]}, 422)
    analyst.tell("corrections", {"corrections": [{"row": 1, "label": ["good", "good"]}]}, 422)
    rows = cells(analyst.download("csv"))
    assert [row["final"] for row in rows] == ["", "good"]
    assert [json.loads(line)["corrected"] for line in analyst.download("jsonl").splitlines()] == [[], ["good"]]
    assert analyst.ask("/rows", order="least")["total"] == 2


def test_corrections_stay_with_models_of_their_kind(connect: Connect, folder: Path, tmp_path: Path) -> None:
    texts, labels = ["good cheap", "good", "cheap", "bad"] * 10, [["good", "cheap"], ["good"], ["cheap"], []] * 10
    TfcrClassifier.from_preset("fast", C=1.0).fit(texts, labels).save(tmp_path / "reviews")
    analyst = Analyst(connect(folder, tmp_path / "reviews"))
    analyst.upload()
    analyst.classify(model="tickets")
    analyst.classify(model="reviews")  # nothing was corrected: any model will do
    analyst.correct(1, ["good"])
    refused = analyst.tell("classify", {"text": "text", "model": "tickets"}, 409)
    assert "have been corrected to several labels" in refused["error"]
    assert analyst.ask("/rows")["rows"][0]["corrected"] == ["good"]
    analyst.tell("read", {})
    analyst.until("ready")
    analyst.tell("classify", {"text": "text", "model": "tickets"}, 409)  # also if it was read anew meanwhile
    assert analyst.classify("note", model="reviews")["stage"] == "done"
    assert len(cells(analyst.download("csv"))) == 5
    analyst.correct(1, None)
    assert analyst.classify(model="tickets")["stage"] == "done"


def test_labels_that_are_numbers_keep_their_type(connect: Connect, tmp_path: Path) -> None:
    TfcrClassifier.from_preset("fast", C=1.0).fit(["good", "bad"] * 9, [1, 0] * 9).save(tmp_path / "stars")
    analyst = Analyst(connect(tmp_path / "stars"))
    analyst.upload(b'{"text": "good"}\n{"text": "bad"}\n', "a.jsonl")
    assert analyst.classify()["job"]["classes"] == ["0", "1"]
    analyst.correct(2, "1")
    assert [json.loads(line)["final"] for line in analyst.download("jsonl").splitlines()] == [1, 1]


def test_several_models_are_told_apart_by_name(connect: Connect, folder: Path, tmp_path: Path) -> None:
    TfcrClassifier.from_preset("fast", C=1.0).fit(["good", "bad"] * 9, ["yes", "no"] * 9).save(tmp_path / "other")
    analyst = Analyst(connect(folder, tmp_path / "other"))
    analyst.upload()
    assert "several models" in analyst.tell("classify", {"text": "text"}, 422)["error"]
    assert analyst.classify(model="other")["job"]["classes"] == ["no", "yes"]
    analyst.correct(1, "no")
    assert analyst.classify(model="tickets")["job"]["classes"] == ["class 0", "class 1", "class 2"]
    assert analyst.ask("/rows")["rows"][0]["corrected"] == "no"  # rows are the same: what was decided stays


# rows ----------------------------------------------------------------------------------------------------------------


def test_rows_are_paged_filtered_and_sorted(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PART_ROWS", 30)
    words = [f"w{n % 3}_1 w{n % 3}_2 {'w0_1 w1_1 w2_1' if n % 7 == 0 else ''}" for n in range(130)]
    analyst.upload(("text\n" + "\n".join(words) + "\n").encode(), "a.csv")
    analyst.classify()
    pages = [analyst.ask("/rows", start=start) for start in (0, 50, 100, 150)]
    assert [len(page["rows"]) for page in pages] == [50, 50, 30, 0]
    rows = [row for page in pages for row in page["rows"]]
    assert [row["row"] for row in rows] == list(range(1, 131))
    assert [row["text"] for row in rows] == [text.strip() if not text.strip() else text for text in words]
    least = analyst.ask("/rows", order="least")["rows"]
    assert [row["row"] for row in least] == [row["row"] for row in sorted(rows, key=lambda row: row["probability"])][
        :50
    ]
    assert analyst.ask("/rows", order="most")["rows"][0]["probability"] == max(row["probability"] for row in rows)
    some = analyst.ask("/rows", label="class 1", below=0.9)
    assert some["total"] == sum(row["label"] == "class 1" and row["probability"] < 0.9 for row in rows)
    analyst.correct(1, "class 1")
    assert [row["row"] for row in analyst.ask("/rows", show="changed")["rows"]] == [1]
    assert analyst.ask("/rows", show="unchanged")["total"] == 129
    assert analyst.ask("/rows", label="class 1")["rows"][0]["row"] == 1
    assert analyst.ask("/rows/130")["text"] == rows[129]["text"]
    for bad in ({"show": "x"}, {"order": "x"}, {"start": -1}, {"below": "x"}, {"below": "nan"}, {"other": 1}):
        analyst.ask("/rows", 422, **bad)
    analyst.ask("/rows/131", 404)
    analyst.ask("/rows/0", 404)
    analyst.ask("/rows/x", 422)


@pytest.mark.parametrize("order", ["file", "least", "most"])
def test_no_row_is_skipped_when_corrected_ones_leave_the_filter(analyst: Analyst, order: str) -> None:
    words = [f"w{n % 3}_1 {'w0_1 w1_1 w2_1' if n % 7 == 0 else ''}" if n % 40 else "" for n in range(1, 131)]
    analyst.upload(("text,n\n" + "".join(f"{text},{n}\n" for n, text in enumerate(words))).encode(), "a.csv")
    analyst.classify()
    everything = [row["row"] for at in (0, 50, 100) for row in analyst.ask("/rows", order=order, start=at)["rows"]]
    assert sorted(everything) == list(range(1, 131))

    def numbers(page: Any) -> list[int]:
        return [row["row"] for row in page["rows"]]

    def ask(**place: int) -> Any:
        return analyst.ask("/rows", show="unchanged", order=order, **place)

    seen = numbers(ask())
    kept = seen[::10]  # all others are corrected, and leave the filter
    analyst.tell("corrections", {"corrections": [{"row": row, "label": "class 1"} for row in seen if row not in kept]})
    second = ask(after=seen[-1])
    assert (numbers(second), second["start"], second["total"]) == (everything[50:100], len(kept), 130 - 45)
    third = ask(after=numbers(second)[-1])
    assert (numbers(third), third["start"]) == (everything[100:], len(kept) + 50)
    # back, also from a row that has left
    assert numbers(ask(before=everything[100])) == everything[50:100]
    assert numbers(ask(before=everything[50])) == kept
    assert numbers(ask(after=everything[1])) == [*kept[1:], *everything[50:96]][:50]
    # nothing follows or precedes: the last page, or the first; a row that is not there: the first
    assert numbers(ask(after=everything[-1])) == everything[80:]
    assert numbers(ask(before=everything[0])) == numbers(ask(after=131)) == numbers(ask())
    for bad in ({"after": 0}, {"before": "x"}, {"after": 1, "before": 2}, {"after": 1, "start": 50}):
        analyst.ask("/rows", 422, **bad)


def test_a_long_text_is_cut_in_the_list_only(analyst: Analyst) -> None:
    text = "w0_1 " * 500
    analyst.upload(f"text\n{text}\n".encode(), "a.csv")
    analyst.classify()
    row = analyst.ask("/rows")["rows"][0]
    assert (len(row["text"]), row["cut"]) == (400, True)
    assert analyst.ask("/rows/1")["text"].strip() == text.strip()


# corrections ---------------------------------------------------------------------------------------------------------


def test_two_tabs_lose_nothing_and_the_last_one_wins(analyst: Analyst) -> None:
    analyst.upload()
    analyst.classify()
    first = analyst.correct(1, "class 1", version=0)
    second = analyst.correct(2, "class 2", version=0)  # another tab, which has not seen the first
    assert second["changes"] == [{"row": 1, "label": "class 1"}, {"row": 2, "label": "class 2"}]
    third = analyst.correct(1, "class 0", version=first["version"])
    assert third["changes"] == [{"row": 2, "label": "class 2"}, {"row": 1, "label": "class 0"}]
    assert first["version"] < second["version"] < third["version"] == analyst.ask("/rows")["version"]
    assert [row["corrected"] for row in analyst.ask("/rows")["rows"]] == ["class 0", "class 2", None, None, None]
    assert analyst.correct(1, None, undo=True)["changed"] == 1
    assert analyst.ask("/rows", show="changed")["total"] == 1
    several = [{"row": row, "label": "class 1"} for row in (3, 4, 5)]
    assert analyst.tell("corrections", {"corrections": several})["changed"] == 4
    assert analyst.correct(1, "class 1", version=10**15)["changes"] != []


def test_corrections_are_seen_by_another_worker(analyst: Analyst, connect: Connect) -> None:
    analyst.upload()
    analyst.classify()
    other = Analyst(connect())
    other.id = analyst.id
    analyst.correct(1, "class 2")
    assert other.ask("/rows")["rows"][0]["corrected"] == "class 2"
    other.correct(1, "class 1")
    assert analyst.ask("/rows")["rows"][0]["corrected"] == "class 1"


def test_what_is_refused_while_another_reads_is_not_shown(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    analyst.upload()
    analyst.classify()
    analyst.correct(1, "class 1")
    reads = threading.Thread(target=lambda: analyst.ask("/rows"))

    def fails(handle: int) -> None:
        reads.start()
        time.sleep(0.3)
        full()

    monkeypatch.setattr("tfcr.serving.journal.os.fsync", fails)
    analyst.tell("corrections", {"corrections": [{"row": 2, "label": "class 2"}]}, 507)
    monkeypatch.undo()
    reads.join(10)
    assert [row["corrected"] for row in analyst.ask("/rows")["rows"]] == ["class 1", None, None, None, None]
    analyst.correct(3, "class 0")
    assert [row["corrected"] for row in analyst.ask("/rows")["rows"]] == ["class 1", None, "class 0", None, None]


def test_a_journal_that_was_replaced_is_read_anew(analyst: Analyst, work: Path) -> None:
    analyst.upload()
    analyst.classify()
    analyst.correct(1, "class 1")
    analyst.correct(2, "class 2")
    assert analyst.ask("/rows")["counts"]["changed"] == 2
    (work / analyst.id / "corrections.jsonl").write_text('{"row": 4, "label": "class 0"}\n')  # as from a backup
    assert [row["corrected"] for row in analyst.ask("/rows")["rows"]] == [None, None, None, "class 0", None]


def test_a_torn_journal_is_shown_up_to_the_tear(analyst: Analyst, connect: Connect, work: Path) -> None:
    analyst.upload()
    analyst.classify()
    analyst.correct(1, "class 2")
    journal = work / analyst.id / "corrections.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"row": "x"}\n{"row": 2, "label": {"a": 1}}\n{"row": 2, "la')
    other = Analyst(connect())
    other.id = analyst.id
    assert [row["corrected"] for row in other.ask("/rows")["rows"]] == ["class 2", None, None, None, None]
    other.correct(3, "class 1")
    assert [row["corrected"] for row in analyst.ask("/rows")["rows"]] == ["class 2", None, "class 1", None, None]


def test_wrong_corrections_change_nothing(analyst: Analyst) -> None:
    analyst.upload()
    refused = analyst.tell("corrections", {"corrections": [{"row": 1, "label": "class 1"}]}, 409)
    assert "not been classified" in refused["error"]
    analyst.classify()
    good = {"row": 1, "label": "class 1"}
    for status, bad in {
        404: [[good, {"row": 1, "label": "class 9"}], [{"row": 0, "label": None}], [{"row": 6, "label": None}]],
        422: [
            [],
            [{"row": "1", "label": None}],
            [{"row": 1}],
            [{"row": 1, "label": 1}],
            [{"row": 1, "label": ["class 1"]}],
        ],
    }.items():
        for corrections in bad:
            found = analyst.tell("corrections", {"corrections": corrections}, status)
            assert found["error"]
            assert found["expected"]
    assert (
        analyst.client.post(
            f"/files/{analyst.id}/corrections", content=b"{", headers={"content-type": "application/json"}
        ).status_code
        == 400
    )
    assert analyst.ask("/rows")["version"] == 0


# bad files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        (b"\n\n", "a.csv", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "a.csv", "is an image"),
        (b"%PDF-1.7\n", "a.xlsx", "a.xlsx"),
        (b"PK\x03\x04 xl/", "a.csv", "is an Excel workbook, whatever its name"),
        (b"a,b\n1,2\n", "a.xlsx", "a.xlsx"),
        (b"a,b\n1,2\n", "a.csv", "no column holds text"),
        (b"text\n", "a.csv", "holds no rows"),
        (b'{"text": "a"}\n{"text": \n', "a.jsonl", "line 2"),
        (b"old", "a.xls", "a.xls"),
        (b"zip", "a.zip", "is a zip archive"),
    ],
)
def test_a_bad_file_gets_a_clear_line(content: bytes, name: str, says: str, analyst: Analyst, work: Path) -> None:
    found = analyst.upload(content, name)
    assert (found["stage"], found["of"]) == ("failed", "reading"), found
    assert says in found["error"], found["error"]
    assert str(work) not in found["error"]
    assert "\n" not in found["error"]
    assert "not been read" in analyst.tell("classify", {"text": "text"}, 409)["error"]


def test_messy_files_that_can_be_read(analyst: Analyst) -> None:
    for content in (b"text,text,text\nw0_1,b,c\n", b"text\nw0_1 \0 w0_2\n", "text\nw0_1 ü\n".encode("latin-1")):
        found = analyst.upload(content, "a.csv")
        assert found["stage"] == "ready", found
        assert analyst.classify(found["look"]["text"])["stage"] == "done"
    assert analyst.upload(b"text,text,text\nw0_1,b,c\n", "a.csv")["look"]["columns"] == ["text", "text (2)", "text (3)"]


def test_many_columns_take_no_long_time(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    schema = pl.DataFrame.schema.fget  # type: ignore[attr-defined]

    def counted(frame: pl.DataFrame) -> Any:
        asked.append(frame.width)
        return schema(frame)

    monkeypatch.setattr(pl.DataFrame, "schema", property(counted))
    content = ",".join(f"column{n}" for n in range(300)) + "\n" + ",".join(["a word"] * 300) + "\n"
    assert len(analyst.upload(content.encode(), "a.csv")["look"]["texts"]) == 300
    assert len(asked) < 100
    monkeypatch.setattr(looking, "MOST_COLUMNS", 299)
    found = analyst.upload(content.encode(), "a.csv")
    assert (found["stage"], found["error"]) == (
        "failed",
        "a.csv has 300 columns; expected at most 299, or another separator",
    )


def test_a_file_that_unpacks_to_too_much(connect: Connect, work: Path) -> None:
    analyst = Analyst(connect(limits=Limits(max_upload=5_000)))
    fits, large = (b"text,note\n" + b"w0_1 w0_2,\n" * rows for rows in (4_000, 6_000))
    assert analyst.upload(gzip.compress(fits), "a.csv.gz")["look"]["rows"] == 4_000
    found = analyst.upload(gzip.compress(large), "a.csv.gz")
    assert (found["stage"], found["of"]) == ("failed", "reading")
    assert "a.csv.gz unpacks to more than 50.0 kB; expected at most 10 times" in found["error"]
    analyst.tell("classify", {"text": "text"}, 409)


def test_few_results_are_kept(analyst: Analyst, work: Path) -> None:
    analyst.upload()
    analyst.classify()
    made = [analyst.tell("download", {"format": kind})["path"] for kind in ("csv", "tsv", "csv", "jsonl", "csv")]
    left = {path.name for path in (work / analyst.id).glob("result-*")}
    assert left == {path.rpartition("/")[2] for path in made[-3:]}
    assert analyst.client.get(made[0]).status_code == 404


def test_wrong_requests(analyst: Analyst, client: TestClient) -> None:
    for name in ("x" * 22, "x", "A" * 21 + "%2f", "%2e%2e%2f" + "x" * 22):
        for path in ("", "/rows", "/rows/1"):
            assert client.get(f"/files/{name}{path}").status_code == 404
    assert client.post(f"/files/{'x' * 22}/classify", json={"text": "a"}).status_code == 404
    assert client.delete(f"/files/{'x' * 22}").status_code == 404
    assert client.post("/files", content=b"", headers=FILE).status_code == 422
    assert client.post("/files", content=CSV).status_code == 415
    assert client.post("/files", content=CSV, headers=FILE, params={"nam": "x"}).status_code == 422
    assert client.post("/files", content=CSV, headers={**FILE, "origin": "http://evil.example"}).status_code == 403
    analyst.upload()
    assert "found no column" in analyst.tell("classify", {"text": "x"}, 422)["error"]
    assert "both" in analyst.tell("classify", {"text": "text", "label": "text"}, 422)["error"]
    assert analyst.tell("classify", {"text": "text", "model": "x"}, 404)
    assert "not been classified" in analyst.ask("/rows", 409)["error"]
    analyst.tell("download", {"format": "csv"}, 409)
    analyst.classify()
    analyst.tell("download", {"format": "exe"}, 422)
    for name in ("result-00000000.csv", "upload.json", "..%2fupload.json"):
        assert client.get(f"/files/{analyst.id}/download/{name}").status_code == 404


def test_slow_downloads_leave_room_for_other_requests(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    analyst.upload()
    analyst.classify()
    begun, may_end = threading.Event(), threading.Event()

    def slow(*given: Any) -> Path:
        begun.set()
        assert may_end.wait(30)
        return download.write_result(*given)

    monkeypatch.setattr(routes, "write_result", slow)
    path, statuses = f"/files/{analyst.id}/download", []

    def ask_for_one() -> None:
        statuses.append(analyst.client.post(path, json={"format": "csv"}).status_code)

    threads = [threading.Thread(target=ask_for_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    for _ in range(600):
        if len(statuses) == 2:
            break
        time.sleep(0.05)
    assert statuses == [503, 503]  # one is written, one waits
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert sorted(statuses) == [200, 200, 503, 503]
    assert analyst.download("csv")


def test_names_are_shown_and_lead_nowhere(analyst: Analyst, work: Path) -> None:
    found = analyst.upload(name="../../<b>é\n.csv")
    assert found["name"] == "<b>é .csv"
    assert sorted(path.name for path in work.iterdir()) == [analyst.id]
    analyst.classify()
    made = analyst.client.get(analyst.tell("download", {"format": "csv"})["path"])
    assert made.headers["content-disposition"] == "attachment; filename*=UTF-8''%3Cb%3E%C3%A9%20-classified.csv"
    assert made.headers["content-type"].startswith("text/csv")
    assert "default-src 'none'" in made.headers["content-security-policy"]


def test_a_file_is_deleted_with_all_that_was_made_of_it(analyst: Analyst, work: Path) -> None:
    analyst.upload()
    analyst.classify()
    analyst.correct(1, "class 1")
    assert analyst.client.delete(f"/files/{analyst.id}").json() == {"deleted": "tickets.csv"}
    assert list(work.iterdir()) == []
    for path in ("", "/rows", "/rows/1"):
        assert "upload it again" in analyst.ask(path, 404)["expected"]
    analyst.tell("corrections", {"corrections": [{"row": 1, "label": None}]}, 404)
    assert list(work.iterdir()) == []


def test_a_file_that_was_changed_on_disk(analyst: Analyst, work: Path) -> None:
    analyst.upload()
    analyst.classify()
    (work / analyst.id / "data.csv").write_bytes(CSV + CSV)
    assert "changed" in analyst.tell("download", {"format": "csv"}, 409)["error"]
    analyst.tell("classify", {"text": "text"}, 409)
    (work / analyst.id / "data.csv").unlink()
    analyst.tell("download", {"format": "csv"}, 409)


# uploading -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def app(folder: Path, work: Path) -> Guard:
    work.mkdir()
    return make_app(Settings({"tickets": folder}, limits=Limits(timeout=0.2, max_upload=200_000), work=work))


def post(app: Guard, messages: list[Any], **headers: str) -> tuple[int, str, bytes]:
    return ask(app, "POST", "/files", messages, b"", content_type="application/octet-stream", **headers)


def test_a_client_that_hangs_up_half_way_leaves_nothing(app: Guard, work: Path) -> None:
    sent = [part(b"text\n", more=True), part(b"x" * 70_000, more=True), HUNG_UP]
    assert post(app, sent)[0] == 0
    assert list(work.iterdir()) == []
    assert app.uploading == 0
    assert 'tfcr_requests_total{path="/files",status="499"} 1' in app.metrics.text({}, 0)


def test_a_file_whose_answer_cannot_arrive_is_deleted(app: Guard, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert post(app, [part(CSV), HUNG_UP])[0] == 0  # all of it has arrived
    assert list(work.iterdir()) == []
    assert 'tfcr_requests_total{path="/files",status="499"} 1' in app.metrics.text({}, 0)
    monkeypatch.setattr(jobs.Jobs, "read", full)
    assert post(app, [part(CSV)])[0] == 500
    assert list(work.iterdir()) == []
    monkeypatch.undo()
    assert post(app, [part(CSV)])[0] == 200
    assert len(list(work.iterdir())) == 1


def test_a_file_that_is_too_slow_or_too_large_leaves_nothing(app: Guard, work: Path) -> None:
    waits: list[Any] = [part(b"text\n", more=True), "wait"]
    status, _, body = post(app, waits)
    assert (status, list(work.iterdir())) == (408, [])
    assert b"of the file arrived in 0.2 s" in body
    large = [part(b"x" * 60_000, more=True) for _ in range(5)] + [part(b"x")]
    status, _, body = post(app, large)
    assert (status, list(work.iterdir())) == (413, [])
    assert b"--max-upload" in body
    assert post(app, [part(b"x")], content_length="200001")[0] == 413
    app.uploading = 4
    assert post(app, [part(b"x")])[0] == 503
    assert ask(app, "POST", "/predict", [part(b'{"text": "a"}')])[0] == 200  # others are not held up


def test_without_a_token_nothing_is_taken(connect: Connect, work: Path) -> None:
    client = connect(token=TOKEN)
    assert client.post("/files", content=CSV, headers=FILE).status_code == 401
    assert list(work.iterdir()) == []
    assert Analyst(connect(token=None)).upload()["stage"] == "ready"


def test_a_server_without_a_folder_has_no_such_page(connect: Connect) -> None:
    client = connect(work=None)
    assert client.get("/classify").status_code == 404
    assert client.post("/files", content=CSV, headers=FILE).status_code == 404
    assert "Classify a file" not in client.get("/").text


def test_50_mb_are_not_held_in_memory(folder: Path, work: Path) -> None:
    work.mkdir()
    app = make_app(Settings({"tickets": folder}, work=work))
    line = b"w0_1 w0_2 and some more words of a usual length," + b"y" * 50 + b"\n"
    same = part(line * (1_000_000 // len(line)), more=True)
    tracemalloc.start()
    status, *_ = post(app, [part(b"text,more\n", more=True), *[same] * 50, part(b"a,b\n")])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert status == 200
    assert peak < 20_000_000
    analyst = Analyst(TestClient(app, base_url="http://127.0.0.1:8765"))
    analyst.id = next(path.name for path in work.iterdir() if len(path.name) == 22)
    assert analyst.until("ready")["look"]["rows"] == 50 * (1_000_000 // len(line)) + 1


# a full disk ---------------------------------------------------------------------------------------------------------


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_while_uploading(analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_sync", full)
    answer = analyst.client.post("/files", content=CSV, headers=FILE)
    assert answer.status_code == 507
    assert "disk of the server is full" in answer.json()["error"]
    assert list(work.iterdir()) == []
    monkeypatch.undo()
    assert analyst.upload()["stage"] == "ready"


def test_a_full_disk_while_correcting_and_writing(
    analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyst.upload()
    analyst.classify()
    analyst.correct(1, "class 1")
    before = (work / analyst.id / "corrections.jsonl").read_bytes()
    monkeypatch.setattr("os.write", full)
    analyst.tell("corrections", {"corrections": [{"row": 2, "label": "class 1"}]}, 507)
    monkeypatch.undo()
    assert (work / analyst.id / "corrections.jsonl").read_bytes() == before
    monkeypatch.setattr("tfcr.data.writers.DelimitedRows.__call__", full)
    analyst.tell("download", {"format": "csv"}, 507)
    assert not list((work / analyst.id).glob("*.csv*")) or list((work / analyst.id).glob("*.csv*")) == [
        work / analyst.id / "data.csv"
    ]
    monkeypatch.undo()
    assert analyst.correct(2, "class 2")["changed"] == 2
    assert len(cells(analyst.download("csv"))) == 5


def test_a_full_disk_while_classifying_can_be_resumed(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    analyst.upload()
    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    failed = analyst.classify()
    assert failed["stage"] == "failed"
    assert "full" in failed["error"]
    monkeypatch.undo()
    assert analyst.classify()["stage"] == "done"


def slow_down(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let each part take some time."""
    classified = jobs.classified

    def slow(*given: Any) -> pl.DataFrame:
        time.sleep(seconds)
        return classified(*given)

    monkeypatch.setattr(jobs, "classified", slow)


# stopped and resumed -------------------------------------------------------------------------------------------------


def test_a_job_whose_worker_died_is_stopped_and_resumed(
    analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PART_ROWS", 2)
    analyst.upload()
    done = analyst.classify()
    state = json.loads((work / analyst.id / "state.json").read_text())
    assert state["parts"] == [2, 2, 1]
    # as if it had been killed after the first part, with a second one that the state does not know of
    (work / analyst.id / "state.json").write_text(
        json.dumps({**state, "stage": "classifying", "parts": [2], "done": 2})
    )
    stopped = analyst.when_stopped()
    assert (stopped["stage"], stopped["stopped"], stopped["done"]) == ("classifying", True, 2)
    assert [row["row"] for row in analyst.ask("/rows")["rows"]] == [1, 2]
    assert "not all rows" in analyst.tell("download", {"format": "csv"}, 409)["error"]
    scored: list[int] = []
    classified = jobs.classified

    def counted(frame: pl.DataFrame, *more: Any) -> pl.DataFrame:
        scored.append(frame.height)
        return classified(frame, *more)

    monkeypatch.setattr(jobs, "classified", counted)
    assert analyst.classify()["job"] == done["job"]
    assert scored == [2, 1]  # the first part is not done again
    assert len(analyst.ask("/rows")["rows"]) == 5
    scored.clear()
    analyst.classify("note")  # another column: all of it
    assert scored == [2, 2, 1]


def test_reading_that_was_stopped_is_done_again(analyst: Analyst, work: Path) -> None:
    analyst.upload()
    (work / analyst.id / "state.json").write_text(json.dumps({"stage": "reading", "said": {}, "done": 0}))
    assert analyst.when_stopped()["stage"] == "reading"
    analyst.tell("read", {})
    assert analyst.until("ready")["look"]["rows"] == 5


def test_one_job_at_a_time(analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "ATTEMPTS", 3)
    analyst.upload()
    lock = folders.Uploads(work, 30).get(analyst.id).lock()
    assert "already" in analyst.tell("classify", {"text": "text"}, 409)["error"]
    lock.close()
    assert analyst.classify()["stage"] == "done"


def test_a_server_that_stops_leaves_a_job_to_resume(folder: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PART_ROWS", 1)
    work.mkdir()
    slow_down(monkeypatch, 0.2)
    settings = Settings({"tickets": folder}, work=work)
    with TestClient(make_app(settings), base_url=settings.address) as client:
        analyst = Analyst(client)
        analyst.upload()
        analyst.tell("classify", {"text": "text"})
    with TestClient(make_app(settings), base_url=settings.address) as client:
        again = Analyst(client)
        again.id = analyst.id
        stopped = again.ask("")
        assert (stopped["stage"], stopped["stopped"]) == ("classifying", True)
        assert 1 <= stopped["done"] < 5
        assert again.classify()["done"] == 5


def test_a_file_deleted_while_it_is_classified(analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PART_ROWS", 1)
    slow_down(monkeypatch, 0.1)
    analyst.upload()
    analyst.tell("classify", {"text": "text"})
    analyst.client.delete(f"/files/{analyst.id}")
    analyst.upload()  # the thread goes on with the next file
    assert analyst.classify()["stage"] == "done"
    assert [path.name for path in work.iterdir()] == [analyst.id]


def test_the_thread_outlives_a_panic(analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As that of polars: no Exception."""

    def panic(*_: Any) -> Any:
        raise Panic

    monkeypatch.setattr(jobs, "look", panic)
    failed = analyst.upload()
    assert (failed["stage"], failed["of"]) == ("failed", "reading")
    assert "an error of the server" in failed["error"]

    def damage(upload: folders.Upload, *_: Any) -> Any:
        (upload.folder / "state.json").write_text("{")
        raise Panic

    monkeypatch.setattr(jobs, "look", damage)
    analyst.client.post("/files", content=CSV, headers=FILE)
    monkeypatch.undo()
    assert analyst.upload()["stage"] == "ready"


def test_a_thread_that_has_died_is_replaced(analyst: Analyst, folder: Path, work: Path) -> None:
    analyst.upload()
    ours = jobs.Jobs(Models({"tickets": folder}), 10_000)
    ours._thread = threading.Thread(target=bool)
    ours._thread.start()
    ours._thread.join()
    ours.read(folders.Uploads(work, 30).get(analyst.id), {})
    assert analyst.until("ready")["look"]["rows"] == 5
    ours.close()


# forgetting ----------------------------------------------------------------------------------------------------------


def test_old_files_are_deleted_and_not_too_many_kept(
    analyst: Analyst, connect: Connect, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyst.upload()
    old, now = analyst.id, time.time()
    assert analyst.ask("")["deleted_on"] == pytest.approx(now + 30 * 86_400, abs=60)
    monkeypatch.setattr("tfcr.serving.files.folder.time.time", lambda: now + 29 * 86_400)
    analyst.upload()
    assert (work / old).exists()
    monkeypatch.setattr("tfcr.serving.files.folder.time.time", lambda: now + 31 * 86_400)
    connect()
    assert not (work / old).exists()
    monkeypatch.setattr(folders, "MOST_KEPT", 1)
    connect()
    monkeypatch.undo()
    analyst.upload()
    monkeypatch.setattr(folders, "MOST_KEPT", 1)
    refused = analyst.client.post("/files", content=CSV, headers=FILE)
    assert (refused.status_code, "files already" in refused.json()["error"]) == (507, True)


def test_a_file_that_nobody_began_to_read_is_soon_deleted(
    analyst: Analyst, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyst.upload()
    read = analyst.id
    analyst.upload()
    unread, now = analyst.id, time.time()
    (work / unread / "state.json").write_text('{"stage": "received"}')  # as a kill before reading leaves it
    uploads = folders.Uploads(work, 30)
    uploads.make_room()
    assert (work / unread).exists()
    monkeypatch.setattr("tfcr.serving.files.folder.time.time", lambda: now + 3_700)
    uploads.make_room()
    assert [path.name for path in work.iterdir()] == [read]


def test_what_a_killed_upload_left_is_deleted(analyst: Analyst, work: Path) -> None:
    from tfcr.system.files import temporary_name

    left = work / temporary_name("x" * 22)
    left.mkdir()
    (left / "data.csv").write_bytes(b"half")
    analyst.upload()
    assert [path.name for path in work.iterdir()] == [analyst.id]


def test_folders_are_for_their_owner_alone(analyst: Analyst, work: Path) -> None:
    analyst.upload()
    assert (work / analyst.id).stat().st_mode & 0o777 == 0o700


def test_uploads_at_the_same_time(folder: Path, work: Path) -> None:
    work.mkdir()
    app = make_app(Settings({"tickets": folder}, work=work))
    results = [post(app, [part(CSV)])[0] for _ in range(3)]
    assert results == [200, 200, 200]
    assert len([path for path in work.iterdir() if len(path.name) == 22]) == 3
