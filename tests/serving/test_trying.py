"""What the page Try is told: the numbers of Python, as view.js takes them."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.serving.conftest import KEPT, TEXTS, Connect, other_model
from tests.several import several_corpus
from tfcr import SCHEMES, ClassCounts, TfcrClassifier, TrainedModel
from tfcr.schemes import compute_weights
from tfcr.serving import Limits
from tfcr.serving.trying.answers import utf16_offsets


def ask(client: TestClient, text: str, **fields: Any) -> Any:
    answer = client.post("/try/explain", json={"text": text, "model": "tickets", **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_is_what_python_explains(client: TestClient, model: TrainedModel) -> None:
    for text in [*TEXTS, "😀 w0_1 w1_2, w2_3 neverseen", ""]:
        found, expected = ask(client, text), model.explain(text)
        classes = found["classes"]
        assert classes == model.classes.tolist()
        assert [classes[number] for number in found["order"]] == expected.order
        assert found["labels"] == [expected.label]
        np.testing.assert_allclose([found["probabilities"][str(n)] for n in range(3)], expected.probabilities)
        units = utf16_offsets(text)
        marks = [[units[mark.start], units[mark.end], pytest.approx(mark.added)] for mark in expected.marks()]
        assert found["marks"] == marks
        for number in map(str, found["order"]):
            added = sum(term["added"][number] for term in found["terms"]) + found["others"]["added"][number]
            assert found["baseline"][number] + added == pytest.approx(found["scores"][number])
        assert found["how"].startswith(f"Probability of {expected.label}: ")


def test_a_class_is_chosen_by_its_number(client: TestClient, model: TrainedModel) -> None:
    known = ask(client, "w0_1")["model_hash"]
    found = ask(client, "w0_1 w2_2", hash=known, shown=2)
    assert (found["viewed"], "classes" in found) == (2, False)
    assert [mark[2] for mark in found["marks"]] == [
        pytest.approx(mark.added) for mark in model.explain("w0_1 w2_2").marks("class 2")
    ]
    assert ask(client, "w0_1", hash="of another", shown=99)["classes"] == model.classes.tolist()


def test_a_replaced_model_sends_its_classes(client: TestClient, folder: Path) -> None:
    known = ask(client, "w0_1")["model_hash"]
    new = other_model(folder)
    for _ in range(200):
        found = ask(client, "w0_1", hash=known, shown=1)
        if found["model_hash"] == new:
            break
        time.sleep(0.05)
    assert found["model_hash"] == new
    assert found["classes"]


def test_of_a_long_text_the_beginning_is_marked(client: TestClient, model: TrainedModel) -> None:
    text = "w1_1 w1_2 common3 😀 " * 3_000
    found = ask(client, text)
    assert found["probabilities"]["1"] == pytest.approx(model.explain(text).probability)
    assert 19_000 < found["marks"][-1][1] <= 20_001
    assert len(found["terms"]) <= 12


def test_many_classes_are_cut_to_what_is_shown(connect: Connect, tmp_path: Path) -> None:
    labels = [f"class {number % 30}" for number in range(300)]
    texts = [f"word{number % 30} other" for number in range(300)]
    TfcrClassifier.from_preset("fast", C=1.0).fit(texts, labels).save(tmp_path / "many")
    client = connect(tmp_path / "many")
    body = {"text": "word3", "model": "many"}
    known = client.post("/try/explain", json=body).json()
    assert (len(known["classes"]), len(known["order"]), len(known["probabilities"])) == (30, 10, 10)
    other = next(number for number in range(30) if number not in known["order"])
    found = client.post("/try/explain", json={**body, "hash": known["model_hash"], "shown": other}).json()
    assert str(other) in found["scores"]
    assert str(other) in found["probabilities"]


def test_several_labels_and_their_thresholds(connect: Connect, tmp_path: Path) -> None:
    texts, labels = several_corpus()
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels)
    trained.save(tmp_path / "several")
    client = connect(tmp_path / "several")
    for text, expected in zip(texts[:10], trained.predict(texts[:10]), strict=True):
        found = client.post("/try/explain", json={"text": text, "model": "several"}).json()
        assert found["several"]
        assert sorted(found["labels"]) == sorted(map(str, expected))
        assert "above its threshold" in found["how"]


def test_unsure_and_costs_are_told(connect: Connect, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels = random.choice(["bill", "order", "refund"], 360).tolist()
    words = [label if random.random() < 0.7 else "hello" for label in labels]
    texts = [f"{word} w{random.integers(40)} w{random.integers(40)}" for word in words]
    costs = {("refund", "bill"): 2.0}
    trained = TfcrClassifier.from_preset("fast", random_state=0, costs=costs, precision=0.9).fit(texts, labels)
    trained.save(tmp_path / "costly")
    client = connect(tmp_path / "costly")
    told = set()
    for text in texts[:60]:
        found = client.post("/try/explain", json={"text": text, "model": "costly"}).json()
        told.add(found["sure"])
        expected = trained.model_.explain(text)
        assert (found["sure"], found["labels"]) == (expected.sure, [expected.label])
        assert "the least expected cost" in found["how"]
        assert found["how"].endswith(": sure." if found["sure"] else ": unsure.")
    assert told == {True, False}


# words ---------------------------------------------------------------------------------------------------------------


def test_a_word_has_its_weight_by_every_scheme(connect: Connect, tmp_path: Path) -> None:
    texts, labels = ["good good film", "bad film", "fine"] * 20, ["pos", "neg", "pos"] * 20
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels)
    trained.save(tmp_path / "films")
    counts = ClassCounts.from_texts(texts, labels)
    client = connect(tmp_path / "films")
    found = client.post("/try/word", json={"word": " Film ", "text": "a film", "model": "films"}).json()
    assert (found["word"], found["kept"]) == ("film", True)
    assert found["occurrences"] == [20.0, 20.0]
    place = list(counts.words).index("film")
    assert set(found["schemes"]) == set(SCHEMES)
    for name, weights in found["schemes"].items():
        expected = np.broadcast_to(compute_weights(name, counts)[place], 2)
        np.testing.assert_allclose(weights, expected, rtol=1e-5)
    (term,) = [word for word in trained.explain("a film").words if word.word == "film"]
    np.testing.assert_allclose(found["added"], term.contributions)
    assert not found["alone"]


def test_a_word_that_is_not_in_the_text_is_weighed_alone(client: TestClient, model: TrainedModel) -> None:
    found = client.post("/try/word", json={"word": "w1_1", "text": "w0_1", "model": "tickets"}).json()
    assert found["alone"]
    np.testing.assert_allclose(found["added"], model.explain("w1_1").words[0].contributions)


def test_a_word_that_training_did_not_see(client: TestClient) -> None:
    found = client.post("/try/word", json={"word": "neverseen", "text": "w0_1", "model": "tickets"}).json()
    assert (found["schemes"], found["documents"], found["alone"]) == ({}, None, True)


def test_a_model_without_counts_says_so(connect: Connect, tmp_path: Path) -> None:
    TrainedModel.load(KEPT).save(tmp_path / "bare", counts=False)
    found = connect(tmp_path / "bare").post("/try/word", json={"word": "w0_1", "text": "w0_1", "model": "bare"}).json()
    assert (found["kept"], found["schemes"]) == (False, {})
    assert len(found["added"]) == 3


# bad input -----------------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[str, bytes, int, str]] = {
    "no JSON": ("explain", b"text", 400, "Invalid JSON"),
    "no text": ("explain", b'{"model": "tickets"}', 422, "text: Field required"),
    "no model": ("explain", b'{"text": "a"}', 422, "model: Field required"),
    "an unknown model": ("explain", b'{"text": "a", "model": "x"}', 404, "no model of the name 'x'"),
    "a number as text": ("explain", b'{"text": 1, "model": "tickets"}', 422, "text: "),
    "an unknown field": ("explain", b'{"text": "a", "model": "tickets", "x": 1}', 422, "'x'"),
    "no number": ("explain", b'{"text": "a", "model": "tickets", "shown": "a"}', 422, "shown: "),
    "too long": ("explain", json.dumps({"text": "x" * 51, "model": "tickets"}).encode(), 422, "51 characters"),
    "no word": ("word", b'{"word": " ", "model": "tickets"}', 422, "0 words"),
    "too many words": ("word", b'{"word": "a b c", "model": "tickets"}', 422, "3 words"),
    "a long word": ("word", json.dumps({"word": "x" * 1001, "model": "tickets"}).encode(), 422, "word: "),
    "a long text": ("word", json.dumps({"word": "a", "text": "x" * 51, "model": "tickets"}).encode(), 422, "51"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_used_gets_one_clear_line(name: str, connect: Connect) -> None:
    path, body, status, says = WRONG[name]
    client = connect(limits=Limits(max_text=50))
    answer = client.post(f"/try/{path}", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert says in answer.json()["error"]
    assert answer.json()["expected"]
    assert ask(client, "w0_1")["labels"]


def test_a_class_that_is_not_there(client: TestClient) -> None:
    known = ask(client, "a")["model_hash"]
    for number in (-1, 3, 10**30):
        body = {"text": "a", "model": "tickets", "hash": known, "shown": number}
        answer = client.post("/try/explain", json=body)
        assert (answer.status_code, answer.json()["expected"]) == (404, "one from 0 to 2")
    assert client.post("/try/explain?x=1", json={"text": "a", "model": "tickets"}).status_code == 422
