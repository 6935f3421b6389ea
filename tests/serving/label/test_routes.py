"""What the page for labelling asks: answered, refused in one line, and on disk before it is acknowledged."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.labelling.conftest import full_disk
from tests.serving.label.conftest import TRUTH, Desk
from tests.serving.test_pages import Tags


def state(client: TestClient, tab: str = "one") -> Any:
    return client.get("/label/state", params={"tab": tab}).json()


def answer(client: TestClient, row: int, label: Any, tab: str = "one") -> Any:
    return client.post("/label/answer", json={"tab": tab, "row": row, "label": label})


def saved(answers: Path) -> list[tuple[int, Any]]:
    return [(line["row"], line["label"]) for line in map(json.loads, answers.read_text("utf-8").splitlines())]


def test_answers_are_on_disk_when_they_are_acknowledged(client: TestClient, answers: Path) -> None:
    found = state(client)
    expected = []
    for _ in range(12):
        row = found["question"]["row"]
        found = answer(client, row, TRUTH[row - 1]).json()
        expected.append((row, TRUTH[row - 1]))
        assert saved(answers) == expected
    assert (found["answers"], found["open"], found["last"]) == (12, 48, expected[-1][0])
    assert sum(one["count"] for one in found["classes"]) == 12


def test_skip_and_undo(client: TestClient, answers: Path) -> None:
    first = state(client)["question"]
    found = client.post("/label/skip", json={"tab": "one", "row": first["row"]}).json()
    assert found["skipped"] == 1
    assert saved(answers) == [(first["row"], None)]
    second = found["question"]
    answer(client, second["row"], "sport")
    found = client.post("/label/undo", json={"tab": "one", "row": second["row"]}).json()
    assert found["question"] == second
    assert found["notice"] == f"Undone: row {second['row']}."
    # the acknowledgement was lost, and the page sends it again
    again = client.post("/label/undo", json={"tab": "one", "row": second["row"]}).json()
    assert "nothing was undone" in again["notice"]
    assert again["question"] == second
    assert saved(answers) == [(first["row"], None)]


def test_two_tabs_get_different_texts_and_the_last_answer_wins(client: TestClient, answers: Path) -> None:
    one, two = state(client, "one")["question"]["row"], state(client, "two")["question"]["row"]
    assert one != two
    assert state(client, "one")["question"]["row"] == one  # after a reload
    answer(client, one, "sport", "one")
    found = answer(client, one, "weather", "two").json()
    assert found["notice"] == f"Row {one} had the label sport, in another tab perhaps; now it has weather."
    assert found["question"]["row"] == two
    found = client.post("/label/skip", json={"tab": "two", "row": one}).json()
    assert "keeps it" in found["notice"]
    assert saved(answers) == [(one, "weather")]
    assert answer(client, one, "weather", "one").json()["notice"] == ""


def test_classes_can_be_added(client: TestClient) -> None:
    row = state(client)["question"]["row"]
    assert answer(client, row, "<i>new</i>").status_code == 422
    found = client.post("/label/class", json={"name": " <i>new</i> "}).json()
    assert [one["name"] for one in found["classes"]][3:] == ["<i>new</i>"]
    assert answer(client, row, "<i>new</i>").status_code == 200
    refused = client.post("/label/class", json={"name": "sport"})
    assert refused.status_code == 422
    assert refused.json() == {"error": "found the class 'sport' twice", "expected": "each once"}


def test_several_labels(desk: Desk, answers: Path) -> None:
    client = desk(several=True)
    row = state(client)["question"]["row"]
    assert answer(client, row, "sport").status_code == 422
    assert answer(client, row, ["sport", "weather"]).status_code == 200
    row = state(client)["question"]["row"]
    assert answer(client, row, []).status_code == 200
    assert [label for _, label in saved(answers)] == [["sport", "weather"], []]


def test_it_learns_meanwhile_and_shows_a_score(client: TestClient) -> None:
    found = state(client)
    while found["question"]:
        row = found["question"]["row"]
        found = answer(client, row, TRUTH[row - 1]).json()
    until = time.monotonic() + 60
    while (found := state(client))["busy"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    *_, [n_answers, sample, score, low, high] = found["curve"]
    assert (n_answers, sample) == (60, 12)
    assert 0 < low < score < high <= 1
    wrong = TRUTH.index("sport") + 1
    answer(client, wrong, "politics")
    doubts = client.post("/label/doubts", json={}).json()["doubts"]
    assert all(set(one) == {"row", "text", "label", "likelier", "odds", "fixed"} for one in doubts)
    assert client.post("/label/keep", json={"row": wrong}).status_code == 200


def test_a_full_disk_is_told_and_loses_nothing(
    client: TestClient, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = state(client)["question"]["row"]
    second = answer(client, first, "sport").json()["question"]["row"]
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        for path, more in (("answer", {"label": "sport"}), ("skip", {}), ("undo", {"row": first})):
            refused = client.post(f"/label/{path}", json={"tab": "one", "row": second, **more})
            assert refused.status_code == 507
            assert refused.json()["error"] == "this was not saved: No space left on device"
    assert saved(answers) == [(first, "sport")]
    assert state(client)["question"]["row"] == second
    assert answer(client, second, "weather").status_code == 200
    assert saved(answers) == [(first, "sport"), (second, "weather")]


BAD: list[tuple[str, Any, int, str]] = [
    ("answer", {"row": 1, "label": "rain"}, 422, "unknown class 'rain'"),
    ("answer", {"row": 61, "label": "sport"}, 404, "found row 61"),
    ("answer", {"row": -1, "label": "sport"}, 404, "found row -1"),
    ("answer", {"row": 10**30, "label": "sport"}, 404, "found row 1000"),
    ("answer", {"row": "1", "label": "sport"}, 422, "row: Input should be a valid integer"),
    ("answer", {"row": True, "label": "sport"}, 422, "row: Input should be a valid integer"),
    ("answer", {"label": "sport"}, 422, "row: Field required"),
    ("answer", {"row": 1}, 422, "label: Field required"),
    ("answer", {"row": 1, "label": 5}, 422, "label: "),
    ("answer", {"row": 1, "label": ["sport"]}, 422, "found several labels"),
    ("answer", {"row": 1, "label": "sport", "<b>": 1}, 422, "found '<b>'"),
    ("answer", {"row": 1, "label": "sport", "tab": "x" * 65}, 422, "tab: "),
    ("answer", [1], 422, "no object"),
    ("skip", {"row": 0}, 404, "found row 0"),
    ("undo", {"row": 99}, 404, "found row 99"),
    ("keep", {"row": 1}, 422, "found text number 0, which has no answer"),
    ("class", {"name": "\u0000"}, 422, "found the class"),
    ("class", {"name": "x" * 100_000}, 422, "name: "),
]


@pytest.mark.parametrize(("path", "body", "status", "says"), BAD, ids=lambda value: str(value)[:40])
def test_bad_requests_get_one_line(path: str, body: Any, status: int, says: str, client: TestClient) -> None:
    found = client.post(f"/label/{path}", json=body)
    assert found.status_code == status
    assert found.json()["error"].startswith(says)
    assert found.json()["expected"]
    assert state(client)["answers"] == 0


def test_other_bad_requests(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    deep = b"[" * 100_000
    for body in (b"", b"{", b"\xff", deep, b'{"row": NaN}'):
        assert client.post("/label/answer", content=body, headers=headers).status_code in (400, 422)
    assert client.post("/label/answer", content=b"{}").status_code == 415
    assert client.post("/label/answer", content=b" " * 11_000_000, headers=headers).status_code == 413
    assert client.get("/label/answer").status_code == 405
    assert client.get("/nowhere").status_code == 404
    assert client.get("/label/state", headers={"host": "elsewhere"}).status_code == 421
    assert client.post("/label/class", json={"name": "x"}, headers={"origin": "http://elsewhere"}).status_code == 403
    assert client.get("/health").json() == {"status": "ok"}


def test_the_token_is_asked_for(desk: Desk) -> None:
    client = desk(token="a-token-of-some-length")
    assert client.get("/").status_code == 401
    assert client.get("/label/state").status_code == 401
    assert client.post("/label/class", json={"name": "x"}).status_code == 401
    assert client.get("/?token=a-token-of-some-length").status_code == 303
    assert client.get("/").status_code == 200


def test_the_page_shows_markup_and_loads_nothing(client: TestClient) -> None:
    found = client.get("/")
    tags = Tags()
    tags.feed(found.text)
    assert "tickets &lt;b&gt;" in found.text
    assert "b" not in tags.found
    assert tags.links == []
    assert "script-src 'sha256-" in found.headers["content-security-policy"]
    assert "connect-src 'self'" in found.headers["content-security-policy"]


def test_long_texts_are_cut(desk: Desk) -> None:
    client = desk(["word " * 10_000, "another"])
    sizes = {state(client, tab)["question"]["characters"] for tab in "ab"}
    assert sizes == {50_000, 7}
    assert max(len(state(client, tab)["question"]["text"]) for tab in "ab") == 20_000
