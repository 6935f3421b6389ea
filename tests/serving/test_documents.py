"""Documents by class: counted as by hand, listed in pages, and scored again when the model is replaced."""

import csv
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.cli.runner import Run
from tests.serving.conftest import KEPT, Connect, other_model, serving
from tests.several import several_corpus
from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import Corpus, read_corpus
from tfcr.serving import write_documents
from tfcr.serving.documents.answers import PER_PAGE


@pytest.fixture
def listing(connect: Connect, documents: Path) -> TestClient:
    return connect(documents=documents)


def get(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(f"/documents/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows_of(found: Any) -> list[int]:
    return [one["row"] for one in found["documents"]]


def test_classes_with_the_share_right(listing: TestClient, model: TrainedModel) -> None:
    found = get(listing, "classes")
    assert (found["data"], found["documents"]) == ("some.csv", 61)
    assert found["of_status"] == {"right": 58, "wrong": 2, "unsure": 0, "unlabelled": 1}
    rows = {one["label"]: (one["documents"], one["right"], one["wrong"], one["predicted"]) for one in found["classes"]}
    assert rows == {
        "class 0": (18, 18, 0, 20),
        "class 1": (20, 20, 0, 20),
        "class 2": (21, 20, 1, 20),
        "another": (1, 0, 1, 0),
    }
    assert [one["known"] for one in found["classes"]] == [True, True, True, False]
    assert found["trained_on"] == 0


def test_a_class_with_its_mistakes_and_words(listing: TestClient, model: TrainedModel) -> None:
    found = get(listing, "class", label="class 0")
    assert found["called"] == []
    assert found["holds"] == [{"label": "class 2", "documents": 1}, {"label": "another", "documents": 1}]
    assert [one["word"] for one in found["words"]] == [word for word, _ in model.top_words(30)["class 0"]]
    assert get(listing, "class", label="class 2")["called"] == [{"label": "class 0", "documents": 1}]
    assert get(listing, "class", label="another")["words"] == []


def test_lists_are_filtered_and_paged(listing: TestClient) -> None:
    first, second = get(listing, "list"), get(listing, "list", page=2)
    assert (first["total"], first["pages"], PER_PAGE) == (61, 2, 50)
    assert rows_of(first) + rows_of(second) == list(range(1, 62))
    assert rows_of(get(listing, "list", page=99)) == []
    assert rows_of(get(listing, "list", status="wrong")) == [1, 4]
    assert rows_of(get(listing, "list", label="class 2", predicted="class 0", status="wrong")) == [1]
    assert rows_of(get(listing, "list", predicted="class 0", status="wrong")) == [1, 4]
    assert get(listing, "list", label="class 1", status="right")["total"] == 20
    assert rows_of(get(listing, "list", status="unlabelled")) == [61]
    assert rows_of(get(listing, "list", predicted="class 1", status="unlabelled")) == [61]
    by_probability = [one["probability"] for one in get(listing, "list", order="probability")["documents"]]
    assert by_probability == sorted(by_probability, reverse=True)


def test_a_document_is_listed_as_it_is_predicted(listing: TestClient, model: TrainedModel) -> None:
    (one,) = get(listing, "list", status="unlabelled")["documents"]
    expected = model.explain("w1_1 <b>w1_2</b>")
    assert (one["text"], one["labels"], one["predicted"]) == ("w1_1 <b>w1_2</b>", [], [expected.label])
    assert one["probability"] == pytest.approx(expected.probability, abs=1e-6)
    assert get(listing, "text", number=one["number"])["text"] == "w1_1 <b>w1_2</b>"


def test_unsure_documents_are_neither_right_nor_wrong(connect: Connect, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels = random.choice(["bill", "order", "refund"], 360).tolist()
    words = [label if random.random() < 0.7 else "hello" for label in labels]
    texts = [f"{word} w{random.integers(40)} w{random.integers(40)}" for word in words]
    trained = TfcrClassifier.from_preset("fast", random_state=0, precision=0.9).fit(texts, labels)
    trained.save(tmp_path / "unsure")
    (tmp_path / "some").mkdir()
    write_documents(Corpus(texts, labels), tmp_path / "some")
    found = get(connect(tmp_path / "unsure", documents=tmp_path / "some"), "classes")
    decided = trained.model_.decide(texts)
    pairs = list(zip(decided, labels, strict=True))
    assert found["of_status"]["unsure"] == decided.count(None) > 0
    assert found["of_status"]["right"] == sum(one == two for one, two in pairs)
    assert found["trained_on"] == 360


def test_several_labels_are_counted_one_by_one(connect: Connect, tmp_path: Path) -> None:
    texts, labels = several_corpus()
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels)
    trained.save(tmp_path / "several")
    (tmp_path / "some").mkdir()
    write_documents(Corpus(texts, [tuple(some) for some in labels]), tmp_path / "some")
    client = connect(tmp_path / "several", documents=tmp_path / "some")
    predicted = trained.predict(texts)
    for one in get(client, "classes")["classes"]:
        has = [one["label"] in map(str, some) for some in labels]
        gets = [one["label"] in map(str, some) for some in predicted]
        assert one["documents"] == sum(has)
        assert one["right"] == sum(a and b for a, b in zip(has, gets, strict=True))
        assert one["predicted"] == sum(gets)
        wrong = get(client, "list", label=one["label"], status="wrong")
        assert wrong["total"] == one["wrong"]
        for other in get(client, "class", label=one["label"])["called"]:
            listed = get(client, "list", label=one["label"], predicted=other["label"], status="wrong")
            assert listed["total"] == other["documents"]


def test_confusions_add_up(connect: Connect, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    labels = random.choice(["a", "b", "c"], 300).tolist()
    texts = [f"{label if random.random() < 0.5 else 'x'} w{random.integers(9)}" for label in labels]
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(texts[:150], labels[:150])
    trained.save(tmp_path / "noisy")
    (tmp_path / "some").mkdir()
    write_documents(Corpus(texts, labels), tmp_path / "some")
    client = connect(tmp_path / "noisy", documents=tmp_path / "some")
    pairs = list(zip(labels, trained.predict(texts).tolist(), strict=True))
    for label in "abc":
        found = get(client, "class", label=label)
        assert {one["label"]: one["documents"] for one in found["called"]} == {
            other: pairs.count((label, other)) for other in "abc" if other != label and (label, other) in pairs
        }
        assert sum(one["documents"] for one in found["called"]) == found["wrong"]


def test_a_replaced_model_scores_the_documents_again(listing: TestClient, folder: Path, documents: Path) -> None:
    before = get(listing, "classes")
    new = other_model(folder)
    for _ in range(200):
        after = get(listing, "classes")
        if after["model_hash"] == new:
            break
        time.sleep(0.05)
    assert after["model_hash"] == new
    expected = TrainedModel.load(folder).predict([get(listing, "text", number=n)["text"] for n in range(61)]).tolist()
    rows = get(listing, "list")["documents"] + get(listing, "list", page=2)["documents"]
    assert [one["predicted"] for one in rows] == [[label] for label in expected]
    assert {path.stem for path in documents.glob("*.npz")} == {before["model_hash"], new}


WRONG: dict[str, tuple[str, int, str]] = {
    "no page": ("list?page=0", 422, "a whole number from 1"),
    "a page that is no number": ("list?page=two", 422, "a whole number from 1"),
    "a huge page": ("list?page=" + "9" * 30, 422, "a whole number from 1"),
    "unknown status": ("list?status=good", 422, "one of right, wrong, unsure, unlabelled"),
    "unknown order": ("list?order=length", 422, "one of row, probability"),
    "unknown class": ("list?label=class+9", 404, "class 0, class 1, class 2, another"),
    "unknown prediction": ("list?predicted=", 404, "one of class 0"),
    "unknown parameter": ("list?lable=a", 422, "one of model, label"),
    "twice": ("list?page=1&page=2", 422, "one of"),
    "unknown model": ("classes?model=x", 404, "one of tickets"),
    "no class": ("class", 422, "one of class 0"),
    "no number": ("text", 422, "a whole number from 0"),
    "no document": ("text?number=61", 404, "one from 0 to 60"),
    "a negative number": ("text?number=-1", 422, "a whole number from 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parameters_that_cannot_be_used_get_one_clear_line(name: str, listing: TestClient) -> None:
    path, status, says = WRONG[name]
    answer = listing.get(f"/documents/{path}")
    assert answer.status_code == status, answer.text
    assert says in answer.json()["expected"]


def test_without_data_there_are_no_documents(client: TestClient) -> None:
    assert client.get("/documents/list").status_code == 404


# from the shell ------------------------------------------------------------------------------------------------------


def written(path: Path) -> Path:
    with path.open("w", newline="") as file:
        rows = [
            ("body", "queue"),
            ("w0_1 w0_2", "class 0"),
            ("w1_1", ""),
            ("w2_1 w2_2", "class 1"),
            ("w1_1", "class 1"),
        ]
        csv.writer(file).writerows(rows)
    return path


def test_texts_without_a_label_are_kept_apart(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"text": ("body",), "label": "queue"}
    corpus = read_corpus(written(tmp_path / "data.csv"), **columns, keep_unlabelled=True)
    assert (corpus.rows, corpus.unlabelled) == ([1, 3, 4], {2: "w1_1"})
    assert "1 of 4 rows have no label and are kept apart (row 2)" in corpus.notes
    assert read_corpus(tmp_path / "data.csv", **columns).unlabelled == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--data", "missing.csv"], "missing.csv does not exist"),
        (["--data", "DATA", "--label", "colour"], "colour"),
        (["--data", "DATA", "--text", "colour"], "colour"),
        (["--label", "queue"], "found --label without --data"),
    ],
)
def test_bad_data_is_refused_before_the_server_starts(
    options: list[str], says: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = written(tmp_path / "data.csv")
    monkeypatch.setattr("tfcr.serving.serve", lambda *_: pytest.fail("the server was started"))
    result = run("serve", KEPT, *(str(data) if one == "DATA" else one for one in options))
    assert result.status == 2
    assert says in result.err
    assert len([line for line in result.err.splitlines() if line.startswith("tfcr: ")]) == 1


@pytest.mark.slow
def test_workers_share_one_scoring(tmp_path: Path) -> None:
    data = written(tmp_path / "data.csv")
    options = ("--data", data, "--text", "body", "--label", "queue")
    with serving(KEPT, *options, "--workers", "2") as server:
        found = [urllib.request.urlopen(f"{server.address}/documents/classes", timeout=60).read() for _ in range(10)]
        status, said = server.stop()
    assert len(set(found)) == 1
    assert b'"right":2,"wrong":1,"unsure":0,"unlabelled":1' in found[0]
    assert status == 0
    assert "Error" not in said
