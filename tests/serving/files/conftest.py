"""An analyst's requests, as the page makes them."""

import time
from typing import Any

import pytest
from starlette.testclient import TestClient

FILE = {"content-type": "application/octet-stream"}

CSV = (
    'id,text,note,label\r\n1,w0_1 w0_2 w0_3,=1+1,class 0\r\n2,"w1_1, w1_2",,class 1\r\n'
    '3,w2_1 w2_3,"two\nlines",class 0\r\n4,,-5,\r\n5,w0_1 w1_1 w2_1,ü,class 2\r\n'
).encode()


class Analyst:
    """What a person does with one file."""

    def __init__(self, client: TestClient) -> None:
        self.client, self.id = client, ""

    def upload(self, content: bytes = CSV, name: str = "tickets.csv", **options: Any) -> Any:
        answer = self.client.post("/files", params={"name": name}, content=content, headers=FILE, **options)
        assert answer.status_code == 200, answer.text
        self.id = answer.json()["id"]
        return self.until("ready", "failed")

    def until(self, *stages: str) -> Any:
        """Wait until the work is done."""
        for _ in range(600):
            found = self.ask("")
            if found["stage"] in stages:
                return found
            time.sleep(0.02)
        raise AssertionError(found)

    def when_stopped(self) -> Any:
        """Wait until the thread has let go of the file; it has said before that it is done."""
        for _ in range(100):
            found = self.ask("")
            if found["stopped"]:
                return found
            time.sleep(0.02)
        raise AssertionError(found)

    def ask(self, path: str, status: int = 200, **query: Any) -> Any:
        answer = self.client.get(f"/files/{self.id}{path}", params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    def tell(self, path: str, body: Any, status: int = 200) -> Any:
        answer = self.client.post(f"/files/{self.id}/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def classify(self, text: str = "text", **more: Any) -> Any:
        self.tell("classify", {"text": text, **more})
        return self.until("done", "failed")

    def correct(self, row: int, label: Any, **more: Any) -> Any:
        return self.tell("corrections", {"corrections": [{"row": row, "label": label}], **more})

    def download(self, format_name: str) -> bytes:
        found = self.client.get(self.tell("download", {"format": format_name})["path"])
        assert found.status_code == 200
        return found.content


@pytest.fixture
def analyst(client: TestClient) -> Analyst:
    return Analyst(client)
