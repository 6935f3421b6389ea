"""What is answered: the same as in Python, and one clear line for what cannot be."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.serving.conftest import KEPT, TEXTS, Connect
from tests.several import several_corpus
from tfcr import TfcrClassifier, TrainedModel
from tfcr.errors import MissingExtraError
from tfcr.serving import Limits
from tfcr.serving.problems import to_json
from tfcr.trained.format import config_hash


def test_predictions_are_those_of_python(client: TestClient, model: TrainedModel) -> None:
    answer = client.post("/predict", json={"texts": TEXTS, "probabilities": True})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["model"], found["model_hash"]) == ("tickets", config_hash(KEPT))
    _, probabilities, unknown = model.predict_with_unknown(TEXTS)
    rows = found["predictions"]
    assert [row["label"] for row in rows] == list(model.predict(TEXTS))
    assert not any(row["unsure"] for row in rows)
    np.testing.assert_allclose([row["probability"] for row in rows], probabilities, atol=1e-9)
    np.testing.assert_allclose([row["unknown_words"] for row in rows], unknown, atol=1e-9)
    chances = model.predict_proba(TEXTS)
    np.testing.assert_allclose([list(row["probabilities"].values()) for row in rows], chances, atol=1e-9)
    np.testing.assert_allclose([row["second_probability"] for row in rows], np.sort(chances)[:, -2], atol=1e-9)
    assert list(rows[0]["probabilities"]) == model.classes.tolist()


def test_one_text_is_a_batch_of_one(client: TestClient) -> None:
    one = client.post("/predict", json={"text": TEXTS[0]}).json()
    assert one == client.post("/predict", json={"texts": TEXTS[:1]}).json()
    assert client.post("/predict", json={"texts": []}).json()["predictions"] == []


def test_a_large_batch_is_scored_on_other_threads(client: TestClient) -> None:
    many = client.post("/predict", json={"texts": TEXTS * 100}).json()["predictions"]
    few = client.post("/predict", json={"texts": TEXTS}).json()["predictions"]
    assert many == few * 100


def test_explanations_add_up_to_the_scores(client: TestClient, model: TrainedModel) -> None:
    answer = client.post("/explain", json={"texts": TEXTS, "top": 2, "label": "class 1", "without": "w1_1"}).json()
    for text, found in zip(TEXTS, answer["explanations"], strict=True):
        expected = model.explain(text)
        assert found["label"] == expected.label
        assert found["explained"] == "class 1"
        assert found["other_words"] == max(0, len(expected.words) - 2)
        for label, score in found["scores"].items():
            number = expected.classes.tolist().index(label)
            added = sum(word["contributions"][label] for word in found["words"])
            total = found["baseline"][label] + added + found["other_contributions"][label]
            assert total == pytest.approx(score, abs=1e-6)
            assert score == pytest.approx(expected.scores[number], abs=1e-6)
        assert (found["without"] is None) == ("w1_1" not in text)
    assert client.post("/explain", json={"text": "a", "top": 2.0}).status_code == 200
    for top in (0, 2.5, 1001, True, "2"):
        assert client.post("/explain", json={"text": "a", "top": top}).status_code == 422
    word = answer["explanations"][1]["words"][0]
    assert TEXTS[1][slice(*word["spans"][0])] == word["word"]
    assert "without" not in client.post("/explain", json={"text": "w1_1"}).json()["explanations"][0]


def test_models_and_words_are_described(client: TestClient, model: TrainedModel) -> None:
    (found,) = client.get("/model").json()["models"]
    assert found["classes"] == model.classes.tolist()
    assert found["model_hash"] == config_hash(KEPT)
    words = client.get("/words", params={"top": 3}).json()["words"]
    assert {label: [row["word"] for row in rows] for label, rows in words.items()} == {
        label: [word for word, _ in rows] for label, rows in model.top_words(3).items()
    }
    assert list(client.get("/words", params={"label": "class 2"}).json()["words"]) == ["class 2"]
    assert client.get("/health").json() == {"status": "ok", "models": {"tickets": config_hash(KEPT)}}


def test_several_models_are_told_apart_by_name(connect: Connect, folder: Path) -> None:
    client = connect(folder, KEPT)
    assert client.post("/predict", params={"model": "tickets"}, json={"text": "a"}).json()["model"] == "tickets"
    assert client.post("/predict", json={"text": "a", "model": KEPT.name}).json()["model"] == KEPT.name
    assert len(client.get("/model").json()["models"]) == 2
    assert len(client.get("/model", params={"model": "tickets"}).json()["models"]) == 1
    none = client.post("/predict", json={"text": "a"})
    assert none.status_code == 422
    assert "tickets, schema-5" in none.json()["expected"]
    two = client.post("/predict", params={"model": "tickets"}, json={"text": "a", "model": KEPT.name})
    assert two.status_code == 422


def test_several_labels_are_lists(connect: Connect, tmp_path: Path) -> None:
    texts, labels = several_corpus()
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels)
    trained.save(tmp_path / "several")
    client = connect(tmp_path / "several")
    rows = client.post("/predict", json={"texts": texts, "probabilities": True}).json()["predictions"]
    assert [sorted(row["label"]) for row in rows] == [sorted(found) for found in trained.predict(texts)]
    for row in rows:
        assert row["probability"] == [row["probabilities"][label] for label in row["label"]]
        assert row["probability"] == sorted(row["probability"], reverse=True)
    explained = client.post("/explain", json={"text": texts[0]}).json()["explanations"][0]
    assert sorted(explained["label"]) == sorted(trained.predict(texts[:1])[0])


def test_labels_that_are_not_sure_enough_are_null(connect: Connect, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels = random.choice(["bill", "order", "refund"], 360).tolist()
    words = [label if random.random() < 0.7 else "hello" for label in labels]
    texts = [f"{word} w{random.integers(40)} w{random.integers(40)}" for word in words]
    trained = TfcrClassifier.from_preset("fast", random_state=0, precision=0.9).fit(texts, labels)
    trained.save(tmp_path / "unsure")
    client = connect(tmp_path / "unsure")
    rows = client.post("/predict", json={"texts": texts}).json()["predictions"]
    assert [row["label"] for row in rows] == trained.model_.decide(texts)
    assert {row["unsure"] for row in rows} == {True, False}
    assert all(row["likeliest"] == row["label"] for row in rows if not row["unsure"])
    unsure = next(text for text, row in zip(texts, rows, strict=True) if row["unsure"])
    assert client.post("/explain", json={"text": unsure}).json()["explanations"][0]["label"] is None


def test_numbers_as_labels_stay_numbers(connect: Connect, tmp_path: Path) -> None:
    TfcrClassifier.from_preset("fast").fit(["good", "bad"] * 20, [1, 0] * 20).save(tmp_path / "numbers")
    client = connect(tmp_path / "numbers")
    row = client.post("/predict", json={"text": "good", "probabilities": True}).json()["predictions"][0]
    assert (row["label"], set(row["probabilities"])) == (1, {"0", "1"})
    assert client.post("/explain", json={"text": "good", "label": "0"}).json()["explanations"][0]["explained"] == 0


def test_no_number_is_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"probability": float("nan")})
    from tfcr.serving.answers import _numbers

    assert _numbers(np.array([1.0, np.nan, -np.inf])) == [1.0, None, None]


# bad input -----------------------------------------------------------------------------------------------------------

DEEP = b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BODIES: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 400, "Invalid JSON"),
    "no JSON": (b"text=hello", 400, "Invalid JSON"),
    "cut": (b'{"text": "a', 400, "Invalid JSON"),
    "invalid UTF-8": (b'{"text": "\xff\xfe"}', 400, "Invalid JSON"),
    "half of a surrogate pair": (b'{"text": "\\ud800"}', 400, "Invalid JSON"),
    "deep": (DEEP, 400, "recursion limit"),
    "NaN": (b'{"text": NaN}', 422, "valid string"),
    "a list": (b"[]", 422, "no object"),
    "null": (b"null", 422, "no object"),
    "neither": (b"{}", 422, "neither"),
    "both": (b'{"text": "a", "texts": ["a"]}', 422, "both"),
    "a number as text": (b'{"text": 1}', 422, "text: "),
    "null as text": (b'{"text": null}', 422, "text: "),
    "a number among texts": (b'{"texts": ["a", 1]}', 422, "texts[1]: "),
    "a text as texts": (b'{"texts": "a"}', 422, "texts: "),
    "an unknown field": (b'{"text": "a", "colour": 1}', 422, "'colour'"),
    "a text as a switch": (b'{"text": "a", "probabilities": "yes"}', 422, "probabilities: "),
    "an unknown model": (b'{"text": "a", "model": "x"}', 404, "no model of the name 'x'"),
    "an empty name": (b'{"text": "a", "model": ""}', 404, "no model of the name ''"),
    "too many texts": (b'{"texts": ["a", "b", "c", "d"]}', 422, "4 texts"),
    "too long a text": (json.dumps({"text": "x" * 51}).encode(), 422, "51 characters"),
    "a huge number": (b'{"text": ' + b"9" * 100_000 + b"}", 400, "number out of range"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_cannot_be_used_gets_one_clear_line(name: str, connect: Connect) -> None:
    body, status, says = BODIES[name]
    client = connect(limits=Limits(max_batch=3, max_text=50))
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "expected"}
    assert says in answer.json()["error"]
    assert answer.json()["expected"]
    assert client.post("/predict", json={"text": "w0_1"}).status_code == 200  # the next is served as usual


def test_any_character_may_be_in_a_text(client: TestClient, model: TrainedModel) -> None:
    texts = ["a\0b w0_1", "<script>alert(1)</script> w1_1", "\u202e w2_1 \x1b[31m", "😀" * 100, " "]
    rows = client.post("/predict", json={"texts": texts}).json()["predictions"]
    assert [row["label"] for row in rows] == list(model.predict(texts))


WRONG: dict[str, tuple[str, str, int, str]] = {
    "unknown path": ("GET", "/nothing", 404, "/predict, /explain"),
    "another method": ("GET", "/predict", 405, "POST"),
    "unknown class": ("GET", "/words?label=class+9", 404, "class 0, class 1, class 2"),
    "unknown model": ("GET", "/model?model=x", 404, "one of tickets"),
    "unknown parameter": ("GET", "/words?tpo=3", 422, "one of model, label, top"),
    "parameter of none": ("GET", "/health?x=1", 422, "none"),
    "twice": ("GET", "/words?top=1&top=2", 422, "one of"),
    "no number": ("GET", "/words?top=many", 422, "/docs"),
    "too many words": ("GET", "/words?top=201", 422, "/docs"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_address_that_cannot_be_used_gets_one_clear_line(name: str, client: TestClient) -> None:
    method, path, status, says = WRONG[name]
    answer = client.request(method, path)
    assert answer.status_code == status
    assert says in answer.json()["expected"]
    assert answer.headers["content-type"] == "application/json"


def test_an_unknown_class_to_explain(client: TestClient) -> None:
    answer = client.post("/explain", json={"text": "a", "label": "class 9"})
    assert (answer.status_code, answer.json()["expected"]) == (404, "one of class 0, class 1, class 2")


def test_too_many_probabilities_are_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.serving.answers.MOST_PROBABILITIES", 5)
    assert client.post("/predict", json={"texts": ["a", "b"]}).status_code == 200
    assert client.post("/predict", json={"texts": ["a", "b"], "probabilities": True}).status_code == 422


def test_an_explanation_that_takes_too_long_is_given_up(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.serving.work.Work.deadline", lambda self: 0.0)
    answer = client.post("/explain", json={"text": "a"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_scoring_that_takes_too_long_is_given_up(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    client = connect(limits=Limits(timeout=0.2))
    monkeypatch.setattr("tfcr.serving.answers.words", lambda *_: time.sleep(0.6))
    answer = client.get("/words")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "too long" in answer.json()["error"]


def test_an_error_of_ours_is_not_quoted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret text")

    monkeypatch.setattr("tfcr.serving.answers.predict", fail)
    answer = client.post("/predict", json={"text": "a secret text"})
    assert answer.status_code == 500
    assert answer.json()["error"] == "an error of the server"
    assert "RuntimeError at " in caplog.text
    assert "secret" not in caplog.text + answer.text


def test_texts_are_never_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    for body in ({"text": "a secret text"}, {"texts": ["a secret text", 1]}, {"text": "a secret text", "model": "x"}):
        client.post("/predict", json=body)
    assert "secret" not in caplog.text


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tfcr.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tfcr\[serve\]'"):
        import tfcr.serving  # noqa: F401
