"""Downloads against a real server on this machine, with all that can go wrong on the way."""

import errno
import hashlib
import io
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.file_server import CONTENT, HALF, SHA256, Server, visible
from tfcr.errors import DownloadError
from tfcr.system import download as module
from tfcr.system.download import Download, download
from tfcr.system.limits import LIMITS


def test_a_download_is_whole_and_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = download(
        server.wanted(size=len(CONTENT), sha256=SHA256), tmp_path / "new", progress=lambda *s: seen.append(s)
    )
    assert path.read_bytes() == CONTENT
    assert sorted(file.name for file in path.parent.iterdir()) == [".data.bin.seal", "data.bin"]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    download(server.wanted(), tmp_path / "new")
    assert len(server.asked) == 1  # it was there already
    server.content = b"newer"
    assert download(server.wanted(), tmp_path / "new", again=True).read_bytes() == b"newer"


def test_an_empty_file(server: Server, tmp_path: Path) -> None:
    server.content = b""
    assert download(server.wanted(), tmp_path).read_bytes() == b""


def test_a_cut_download_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF]
    told: list[str] = []
    assert download(server.wanted(sha256=SHA256), tmp_path, tell=told.append).read_bytes() == CONTENT
    assert [asked.get("Range") for asked in server.asked] == [None, f"bytes={HALF}-"]
    assert told == ["data.bin: the connection ended early after 524.3 kB; trying again"]


def test_a_server_that_ignores_ranges_is_asked_for_all(server: Server, tmp_path: Path) -> None:
    server.cuts, server.ranges = [HALF], False
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_another_part_than_was_asked_for_is_not_used(server: Server, tmp_path: Path) -> None:
    server.cuts, server.shifts = [HALF, 100], [7]
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT


def test_a_file_that_changes_meanwhile_is_got_anew(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF] * module.TRIES + [0] * module.TRIES
    server.ranges = False
    with pytest.raises(DownloadError, match="5 times in a row; 524.3 kB are kept: type the same command again"):
        download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []
    server.reset()
    server.content, server.etag = b"other" * 1000, '"2"'
    assert download(server.wanted(), tmp_path).read_bytes() == b"other" * 1000
    assert server.asked[0]["If-Range"] == '"1"'


@pytest.mark.parametrize("size", [10, HALF, HALF + 1])
def test_a_file_that_changes_unmarked_is_got_anew(server: Server, size: int, tmp_path: Path) -> None:
    server.etag, server.cuts = None, [HALF] + [0] * module.TRIES
    with pytest.raises(DownloadError, match="5 times in a row; try again later"):
        download(server.wanted(), tmp_path)
    server.reset()
    server.etag, server.content = None, b"x" * size
    assert download(server.wanted(), tmp_path).read_bytes() == b"x" * size


def test_a_part_of_another_address_is_not_used(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF] + [0] * module.TRIES
    with pytest.raises(DownloadError, match="kept"):
        download(server.wanted(), tmp_path)
    server.reset()
    moved = Download(f"{server.url}/elsewhere", "data.bin")
    assert download(moved, tmp_path).read_bytes() == CONTENT
    assert "Range" not in server.asked[0]


def test_giving_up_after_nothing_came(server: Server, tmp_path: Path) -> None:
    server.refusals = [503] * module.TRIES
    with pytest.raises(DownloadError, match="the server answers 503 .*, 5 times in a row; try again later"):
        download(server.wanted(), tmp_path)
    server.refusals = [503, 429, 500]
    assert download(server.wanted(), tmp_path).read_bytes() == CONTENT


def test_no_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="no connection"):
        download(Download("http://127.0.0.1:9/file", "data.bin"), tmp_path)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_tried_again(server: Server, status: int, tmp_path: Path) -> None:
    server.refusals = [status]
    with pytest.raises(DownloadError, match=f"/file: the server answers {status} .*; expected the file data.bin"):
        download(server.wanted(), tmp_path)
    assert len(server.asked) == 1
    assert visible(tmp_path) == []


def test_a_server_that_falls_silent(server: Server, tmp_path: Path) -> None:
    server.silence = 0.4
    with pytest.raises(DownloadError, match="timed out"):
        download(replace(server.wanted()), tmp_path, timeout=0.1)


def test_a_wrong_sum_is_not_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"found the SHA-256 sum {SHA256}; expected 000.*was not kept"):
        download(server.wanted(sha256="0" * 64), tmp_path)
    assert not [file for file in tmp_path.iterdir() if not file.name.endswith(".lock")]


def test_a_wrong_size_is_refused_before_it_comes(server: Server, tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(DownloadError, match="offers 1,048,576 bytes; expected 7: it is another file"):
        download(server.wanted(size=7), tmp_path, progress=lambda done, _: seen.append(done))
    assert not seen
    server.length = False
    with pytest.raises(DownloadError, match="sends more than 7 bytes; expected no more"):
        download(server.wanted(size=7), tmp_path)
    assert visible(tmp_path) == []


def test_a_web_page_is_no_file(server: Server, tmp_path: Path) -> None:
    server.kind = "text/html; charset=utf-8"
    with pytest.raises(DownloadError, match="the server sends a web page; expected the file data.bin"):
        download(server.wanted(), tmp_path)


def test_where_a_server_directs(server: Server, tmp_path: Path) -> None:
    server.moved = f"{server.url}/moved"
    assert download(server.wanted(), tmp_path).read_bytes() == CONTENT
    for place in ("file:///etc/hostname", "ftp://127.0.0.1/file"):
        server.moved = place
        with pytest.raises(DownloadError):
            download(server.wanted(), tmp_path, again=True)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://x/y", "data.bin", "//x/y"])
def test_only_http(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="expected one that starts with https:// or http://"):
        download(Download(url, "x"), tmp_path)


def test_from_https_to_http_is_refused() -> None:
    from email.message import Message
    from http.client import HTTPMessage
    from urllib.request import Request

    headers: Message = HTTPMessage()
    with pytest.raises(DownloadError, match="expected an address that starts with https://"):
        module._SafeRedirects().redirect_request(
            Request("https://x/y"),
            io.BytesIO(),
            302,
            "Found",
            headers,  # type: ignore[arg-type]
            "http://x/y",
        )


def test_no_space_for_it(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(DownloadError, match=r"needs 1.0 MB more, and .* has 1.0 kB left; make room, or set TFCR_CACHE"):
        download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []


def test_the_disk_is_full_half_way(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def until_full(path: Path, mode: str = "r", *rest: Any, **more: Any) -> IO[Any]:
        if mode == "ab" and path.suffix == ".part" and path.stat().st_size >= HALF:
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, mode, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", until_full)
        with pytest.raises(DownloadError, match="no space left in .* kB of data.bin; make room and type"):
            download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert int(server.asked[-1]["Range"].strip("bytes=-")) >= HALF


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    cuts=st.lists(st.integers(0, 3000), max_size=8),
    ranges=st.booleans(),
    marked=st.booleans(),
    size=st.integers(0, 3000),
)
def test_whatever_is_cut_the_file_is_whole_or_not_there(
    server: Server,
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[int],
    ranges: bool,
    marked: bool,
    size: int,
) -> None:
    server.reset()
    server.content, server.cuts, server.ranges = CONTENT[:size], list(cuts), ranges
    server.etag = '"1"' if marked else None
    folder = tmp_path_factory.mktemp("cut")
    wanted = server.wanted(sha256=hashlib.sha256(CONTENT[:size]).hexdigest())
    for _ in range(9):
        try:
            assert download(wanted, folder).read_bytes() == CONTENT[:size]
        except DownloadError:
            assert visible(folder) == []
        else:
            break
    assert visible(folder) == ["data.bin"]


# processes -----------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from tfcr.system.download import Download, download
print("ready", flush=True)
sys.stdin.readline()
url, folder, sha256 = sys.argv[1:]
download(Download(url, "data.bin", sha256=sha256), Path(folder), tell=lambda text: print(text, flush=True))
"""


def start(server: Server, folder: Path) -> "subprocess.Popen[str]":
    """Start a process that will download once it is told to."""
    command = [sys.executable, "-c", PROGRAM, f"{server.url}/file", str(folder), SHA256]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_download_goes_on(server: Server, tmp_path: Path) -> None:
    server.pause = 0.05
    process = start(server, tmp_path)
    go(process)
    part = tmp_path / ".data.bin.part"
    wait_for(lambda: part.exists() and part.stat().st_size > 200_000)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = part.stat().st_size
    assert visible(tmp_path) == []
    server.pause = 0.0
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert server.asked[-1]["Range"] == f"bytes={kept}-"


def test_two_at_once_download_it_once(server: Server, tmp_path: Path) -> None:
    server.may_send.clear()
    first, second = start(server, tmp_path), start(server, tmp_path)
    go(first)
    wait_for(lambda: server.asked)
    go(second)
    assert second.stdout is not None
    assert second.stdout.readline() == "another process is downloading data.bin; waiting for it\n"
    server.may_send.set()
    assert [process.communicate(timeout=60)[0] for process in (first, second)] == ["", ""]
    assert [process.returncode for process in (first, second)] == [0, 0]
    assert len(server.asked) == 1
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_the_second_goes_on_when_the_first_is_killed(server: Server, tmp_path: Path) -> None:
    server.pause = 0.05
    first, second = start(server, tmp_path), start(server, tmp_path)
    go(first)
    part = tmp_path / ".data.bin.part"
    wait_for(lambda: part.exists() and part.stat().st_size > 100_000)
    go(second)
    assert second.stdout is not None
    assert second.stdout.readline().startswith("another process")
    first.kill()
    first.communicate()
    server.pause = 0.0
    output = second.communicate(timeout=60)[0]
    assert output.startswith("data.bin: resuming at")
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


OTHER = bytes(reversed(CONTENT))


def cut_half(server: Server, folder: Path, **facts: Any) -> None:
    server.cuts = [HALF] + [0] * module.TRIES
    with pytest.raises(DownloadError, match="times in a row"):
        download(server.wanted(**facts), folder)
    server.cuts = []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"etag": '"1"'}, {"etag": '"2"'}),
        ({"etag": '"1"'}, {"etag": None}),
        ({"etag": 'W/"1"', "modified": "Mon, 01 Jan 2024 00:00:00 GMT"}, {"etag": 'W/"2"'}),
        (
            {"etag": None, "modified": "Mon, 01 Jan 2024 00:00:00 GMT"},
            {"etag": None, "modified": "Tue, 02 Jan 2024 00:00:00 GMT"},
        ),
        ({"etag": None}, {"etag": None}),
    ],
)
def test_a_server_that_joins_two_versions_is_not_believed(
    server: Server, before: dict[str, Any], after: dict[str, Any], tmp_path: Path
) -> None:
    """If-Range is ignored: the rest of another version of the same size is sent as if it were this one's."""
    vars(server).update(before)
    cut_half(server, tmp_path)
    server.keeps_promises, server.content = False, OTHER
    vars(server).update(after)
    assert download(server.wanted(), tmp_path).read_bytes() == OTHER


def test_a_resumed_file_without_marks_is_known_by_its_sum(server: Server, tmp_path: Path) -> None:
    server.etag = None
    cut_half(server, tmp_path, sha256=SHA256)
    server.asked.clear()
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert server.asked[0]["Range"] == f"bytes={HALF}-"


@pytest.mark.parametrize("note", [b"[" * 100_000, b'{"url": 1}', b"9" * 5000, b'{"url": "x", "total": {}}', b"\xff"])
def test_a_damaged_note_starts_anew(server: Server, note: bytes, tmp_path: Path) -> None:
    cut_half(server, tmp_path)
    (tmp_path / ".data.bin.part-of").write_bytes(note)
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT


def lower(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    for name, value in values.items():
        row = name.replace("_", " ")
        monkeypatch.setitem(LIMITS, row, LIMITS[row]._replace(value=value))


def test_a_body_without_an_end(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.length, server.endless = False, bytes(1 << 16)
    with pytest.raises(DownloadError, match="sends more than 1,048,576 bytes"):
        download(server.wanted(size=len(CONTENT)), tmp_path)
    lower(monkeypatch, download=3_000_000)
    with pytest.raises(DownloadError, match="sends more than 3,000,000 bytes"):
        download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []


def test_a_drip_ends(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lower(monkeypatch, download_window=0, download_rate=1_000_000)
    server.step, server.pause = 1, 0.001
    with pytest.raises(DownloadError, match="slower than 1,000,000 bytes per second.*5 times in a row"):
        download(server.wanted(), tmp_path)
    assert len(server.asked) == module.TRIES


def test_a_drip_ends_though_each_connection_brings_a_byte(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def receive_a_byte(part: Any, *rest: object) -> None:
        module._append(part, b"x")
        raise module._CutError("slow") from module._SlowError()

    monkeypatch.setattr(module, "_receive", receive_a_byte)
    with pytest.raises(DownloadError, match="slow, 5 times in a row"):
        download(server.wanted(), tmp_path)


def test_only_the_time_that_the_server_takes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    class Sender(io.RawIOBase):
        takes, sends = 0.0, 500

        def readinto(self, buffer: Any) -> int:
            clock[0] += self.takes
            return self.sends

    sender = Sender()
    paced = module._Paced(sender)
    for _ in range(100):
        clock[0] += 1000  # a slow disk
        assert paced.readinto(bytearray(1000)) == 500
    sender.takes = 0.4
    for _ in range(1000):
        paced.readinto(bytearray(1000))
    sender.takes = 0.1
    for _ in range(100):
        paced.readinto(bytearray(1000))
    sender.takes = 60
    with pytest.raises(OSError, match="slower than 1,000 bytes per second"):
        paced.readinto(bytearray(1000))


def test_headers_without_an_end(server: Server, tmp_path: Path) -> None:
    server.before = b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000
    with pytest.raises(DownloadError, match="more than 1.0 MB around its data"):
        download(server.wanted(), tmp_path)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("/file", "infinite loop|answers 302"),
        ("http://[", "leads nowhere|Invalid|no connection"),
        (f"http://{'a' * 100}.test/", "leads nowhere|no connection"),
        ("file:///etc/passwd", "unknown url|not allowed|answers 302"),
    ],
)
def test_redirects_that_lead_nowhere(server: Server, address: str, found: str, tmp_path: Path) -> None:
    server.moved = address
    with pytest.raises(DownloadError, match=found):
        download(server.wanted(), tmp_path)


@pytest.mark.parametrize("length", ["²", "-1", "1" * 5000, "1e3", "", "0x10"])
def test_a_length_that_is_none(server: Server, length: str, tmp_path: Path) -> None:
    assert module._number(length) is None


def test_damage_after_the_download_is_noticed(server: Server, tmp_path: Path) -> None:
    path = download(server.wanted(sha256=SHA256), tmp_path)
    (tmp_path / ("z" * 255)).write_text("not ours: a seal beside it would have too long a name")
    assert module.changed_since_download(tmp_path) is None
    path.touch()
    assert module.changed_since_download(path) is None
    path.write_bytes(OTHER)
    assert module.changed_since_download(path) == "data.bin is not what was written"
    assert module.changed_since_download(tmp_path) == "data.bin is not what was written"
    download(server.wanted(sha256=SHA256), tmp_path, again=True)
    assert module.changed_since_download(path) is None
