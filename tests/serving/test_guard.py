"""Who may ask, how much, and how many at once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.serving.conftest import TOKEN, Connect
from tfcr.errors import InputError
from tfcr.serving import Limits, Settings, make_app
from tfcr.serving.guard import Guard
from tfcr.serving.settings import is_loopback, name_folders, token_for

JSON = {"content-type": "application/json"}


# who ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil", ""])
def test_a_foreign_host_is_refused(host: str, client: TestClient) -> None:
    answer = client.get("/health", headers={"host": host})
    assert answer.status_code == 421
    assert "--allow-host" in answer.json()["expected"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9999", "127.0.0.1:8765", "[::1]:8765"])
def test_names_of_this_machine_are_known(host: str, client: TestClient) -> None:
    assert client.get("/health", headers={"host": host}).status_code == 200


def test_an_address_is_a_host_only_where_others_can_connect(connect: Connect, client: TestClient) -> None:
    assert client.get("/health", headers={"host": "192.0.2.1:8765"}).status_code == 421
    public = connect(host="0.0.0.0", token=TOKEN, hosts=("proxy.example",))
    for host in ("192.0.2.1:8765", "proxy.example", "[2001:db8::1]:80"):
        assert public.get("/health", headers={"host": host}).status_code == 200
    assert public.get("/health", headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:3000", "https://[", "file://"])
def test_pages_from_elsewhere_are_refused(origin: str, client: TestClient) -> None:
    answer = client.post("/predict", json={"text": "a"}, headers={"origin": origin})
    assert answer.status_code == 403


def test_our_own_pages_may_ask(client: TestClient) -> None:
    for host in ("127.0.0.1:8765", "localhost:8765"):
        headers = {"origin": f"http://{host}", "host": host}
        assert client.post("/predict", json={"text": "a"}, headers=headers).status_code == 200


PATHS = ["/", "/docs", "/model", "/words", "/metrics", "/openapi.json", "/nothing"]


def test_a_token_is_asked_for(connect: Connect) -> None:
    client = connect(token=TOKEN)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    for path in PATHS:
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert client.get(path, headers=bearer).status_code in (200, 404)
    refused = client.post("/predict", json={"text": "a"})
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert client.post("/predict", json={"text": "a"}, headers=bearer).status_code == 200
    assert client.get("/health").status_code == 200  # for load balancers


def test_the_link_sets_a_cookie_and_leaves_the_token_behind(connect: Connect) -> None:
    client = connect(token=TOKEN)
    answer = client.get("/docs", params={"token": TOKEN, "x": "1"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/docs?x=1")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert client.get("/docs").status_code == 200  # the client has kept the cookie
    value = cookie.partition("=")[2].partition(";")[0]
    client.cookies.clear()
    assert client.get("/model", headers={"authorization": f"Bearer {value}"}).status_code == 401
    assert client.get("/model", headers={"cookie": "tfcr-8765=wrong; ]["}).status_code == 401
    assert client.get("/", params={"token": "wrong"}).status_code == 401


@pytest.mark.parametrize("other", ["a[]={1}", "b=x y", 'c="', "é=1", "=", "d;;", 'e={"f": [1, 2]}', "tfcr-8765x=1"])
def test_cookies_of_other_programs_do_not_hide_ours(other: str, folder: Path) -> None:
    app = make_app(Settings({"tickets": folder}, token=TOKEN))
    ours = f"{app.cookie_name}={app.cookie}"
    for cookie in (f"{other}; {ours}", f"{ours}; {other}", f"{other};{ours};{other}"):
        assert ask(app, "GET", "/model", cookie=cookie)[0] == 200
    assert ask(app, "GET", "/model", cookie=other)[0] == 401
    assert ask(app, "GET", "/model", cookie=f"{other}; {app.cookie_name}=wrong")[0] == 401


def test_a_link_with_anything_else_in_it(connect: Connect) -> None:
    client = connect(token=TOKEN)
    many = "&".join(f"a={number}" for number in range(25))
    assert client.get(f"/?token=x&{many}").status_code == 401
    assert client.get(f"/?token={TOKEN}&{many}").status_code == 401
    other = client.get(f"/?mytoken={TOKEN}")  # no link of ours
    assert (other.status_code, other.json()["error"]) == (401, "found no token")
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/model?mytoken=x", headers=bearer).status_code == 422  # and not a wrong token
    assert client.get(f"/docs?x=1&token={TOKEN}").headers["location"] == "/docs?x=1"


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/%0d%0aSet-Cookie:%20a=b", "/ä"])
def test_the_link_leads_nowhere_else(path: str, folder: Path) -> None:
    app = make_app(Settings({"tickets": folder}, token=TOKEN))
    _, place, _ = ask(app, "GET", path.encode().decode("latin-1"), query=f"token={TOKEN}".encode())
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\"))
    assert "\n" not in place


def test_any_address_but_this_machine_needs_a_token(folder: Path) -> None:
    folders = {"tickets": folder}
    with pytest.raises(InputError, match="found no token for 0.0.0.0"):
        Settings(folders, host="0.0.0.0")
    for bad in ("short", "x" * 15, "with a space in it", "ümlaut-ümlaut-ümlaut"):
        with pytest.raises(InputError, match="expected at least 16"):
            Settings(folders, token=bad)
    assert token_for(None, "127.0.0.1") is None
    assert token_for(TOKEN, "127.0.0.1") == TOKEN
    made = {token_for(None, "0.0.0.0"), token_for("generated", "127.0.0.1")}
    assert len(made) == 2
    assert all(len(token or "") > 30 for token in made)
    assert TOKEN not in repr(Settings(folders, token=TOKEN))


def test_loopback_addresses_are_known() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.1.2.3", "::1", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.0.2.1", "no such host"]))


def test_two_models_need_two_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two folders of the name model"):
        name_folders([str(tmp_path / "a" / "model"), str(tmp_path / "b" / "model")])


# how much ------------------------------------------------------------------------------------------------------------


def test_every_answer_tells_browsers_to_run_nothing(client: TestClient) -> None:
    answers = [client.get(path) for path in [*PATHS, "/health"]]
    answers.append(client.post("/predict", json={"text": "<script>alert(1)</script>"}))
    answers.append(client.post("/predict", content=b"{", headers=JSON))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_must_be_json(kind: str, client: TestClient) -> None:
    answer = client.post("/predict", content=b'{"text": "a"}', headers={"content-type": kind})
    assert (answer.status_code, answer.json()["expected"]) == (415, "application/json")


def test_a_compressed_body_is_refused(client: TestClient) -> None:
    answer = client.post("/predict", content=b"\x1f\x8b", headers={**JSON, "content-encoding": "gzip"})
    assert answer.status_code == 415


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(size // 1_000_000):
        yield b" " * 1_000_000


@pytest.mark.parametrize("is_known", [True, False])
def test_a_body_of_50_mb_is_refused(is_known: bool, client: TestClient) -> None:
    content = b" " * 50_000_000 if is_known else chunks(50_000_000)
    answer = client.post("/predict", content=content, headers=JSON)
    assert answer.status_code == 413
    assert "at most 10,000,000" in answer.json()["expected"]
    assert client.post("/predict", json={"text": "w0_1"}).status_code == 200


# raw requests --------------------------------------------------------------------------------------------------------

HUNG_UP: dict[str, Any] = {"type": "http.disconnect"}


def ask(
    app: Guard, method: str, path: str, messages: list[Any] | None = None, query: bytes = b"", **headers: str
) -> tuple[int, str, bytes]:
    """Call the application with messages as they come from the network; return status, place and body.

    After the last of them the client waits for its answer.
    """
    given = iter(messages or [{"type": "http.request", "body": b"", "more_body": False}])
    sent: list[Any] = []

    async def receive() -> Any:
        found = next(given, "wait")
        if found == "wait":
            await asyncio.sleep(60)
        return found

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = {"host": "localhost", **JSON, **headers}
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "scheme": "http",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in pairs.items()],
    }
    asyncio.run(app(scope, receive, send))
    if not sent:
        return 0, "", b""
    found = dict(sent[0]["headers"])
    return sent[0]["status"], found.get(b"location", b"").decode("latin-1"), sent[-1]["body"]


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.fixture
def app(folder: Path) -> Guard:
    return make_app(Settings({"tickets": folder}, limits=Limits(timeout=0.2, queue=1)))


def test_a_client_that_hangs_up_half_way_gets_no_answer(app: Guard) -> None:
    assert ask(app, "POST", "/predict", [part(b'{"text": ', more=True), HUNG_UP])[0] == 0
    assert app.waiting == 0
    assert ask(app, "POST", "/predict", [part(b'{"text": ', more=True), part(b'"a"}')])[0] == 200
    counted = app.metrics.text({}, 0)
    assert 'tfcr_requests_total{path="/predict",status="499"} 1' in counted
    assert "tfcr_accepted_total 2" in counted
    assert "tfcr_answered_total 1" in counted


def test_a_body_that_takes_too_long_is_given_up(app: Guard) -> None:
    waits: list[Any] = [part(b'{"text": ', more=True), "wait"]
    status, _, body = ask(app, "POST", "/predict", waits)
    assert (status, app.waiting) == (408, 0)
    assert b"not complete after 0.2 s" in body


def test_a_full_queue_says_when_to_come_back(app: Guard) -> None:
    app.waiting = 1
    status, _, body = ask(app, "POST", "/predict", [part(b'{"text": "a"}')])
    assert status == 503
    assert b"the queue is full" in body
    assert ask(app, "GET", "/health")[0] == 200  # what needs no queue is answered
    app.waiting = 0
    assert ask(app, "POST", "/predict", [part(b'{"text": "a"}')])[0] == 200


def test_a_client_that_asks_before_it_sends_is_told_at_once(app: Guard) -> None:
    waits: list[Any] = ["wait"]
    status, *_ = ask(app, "POST", "/predict", waits, content_length="50000000", expect="100-continue")
    assert status == 413


def test_a_refused_body_is_not_read_for_ever(app: Guard) -> None:
    waits: list[Any] = [part(b"x", more=True), "wait"]
    assert ask(app, "POST", "/predict", waits, content_length="50000000")[0] == 413


def test_a_length_that_is_no_number(app: Guard) -> None:
    assert ask(app, "POST", "/predict", content_length="many")[0] == 400


def test_other_protocols_are_not_answered(app: Guard) -> None:
    async def nothing(*_: Any) -> Any:
        raise AssertionError

    asyncio.run(app({"type": "websocket"}, nothing, nothing))
