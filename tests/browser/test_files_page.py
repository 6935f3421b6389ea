"""The page that classifies files, in a real browser, as an analyst meets it."""

import base64
import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.browser.chromium import SCREENS, check_accessible
from tests.serving.conftest import Running, serving
from tfcr import TfcrClassifier
from tfcr.serving.files.folder import MOST_KEPT

MARKUP = "<img src=x onerror=alert(1)>"
CLASSES = ["<b>accounts</b>", "hardware", "network"]
WORDS = {"<b>accounts</b>": "password login", "hardware": "printer paper", "network": "internet cable"}
NAME = "tickets <script>alert(2)<!-- &amp;.csv"

Visit = Callable[..., Any]


def csv_file() -> bytes:
    texts = [f"{WORDS[CLASSES[n % 3]]} {n}" for n in range(120)]
    texts[4] = f"{MARKUP} the printer, and the password"
    rows = [
        [n, text, CLASSES[n % 3], "=1+1" if n == 2 else "two\nlines" if n == 3 else ""] for n, text in enumerate(texts)
    ]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([["id", "message", "team", "note"], *rows])
    return buffer.getvalue().encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "model"
    texts = [f"{WORDS[label]} please help {n}" for n in range(15) for label in CLASSES]
    TfcrClassifier.from_preset("fast", C=1.0).fit(texts, CLASSES * 15).save(folder)
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def server(model: Path, work: Path) -> Iterator[Running]:
    with serving(model, "--work", work, "--max-upload", "1MB") as running:
        yield running


@pytest.fixture
def visit(browser: Any, server: Running) -> Iterator[Visit]:
    """Open the page; fail on any console error, and on any request that leaves the server."""
    problems: list[str] = []
    contexts: list[Any] = []

    def note(what: str, *, if_: bool) -> None:
        if if_:
            problems.append(what)

    def opened(address: str = "", context: Any = None, place: str = "", **options: Any) -> Any:
        if context is None:
            context = browser.new_context(**options)
            contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: note(message.text, if_=is_complaint(message)))
        page.on("pageerror", lambda error: note(str(error), if_=True))
        page.on("dialog", lambda dialog: note(f"dialog {dialog.message}", if_=True))
        page.on("request", lambda request: note(request.url, if_=not request.url.startswith(address or server.address)))
        page.goto(f"{address or server.address}/classify{place}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def is_complaint(message: Any) -> bool:
    """Return whether the console shows an error; a browser that ignores the policy asks for an icon, and gets none."""
    return message.type in ("error", "warning") and not message.location["url"].endswith("/favicon.ico")


def upload(page: Any, name: str, content: bytes) -> None:
    page.get_by_label("Choose a file").set_input_files({"name": name, "mimeType": "", "buffer": content})


def classified(page: Any, name: str = NAME, content: bytes | None = None) -> Any:
    upload(page, name, content or csv_file())
    page.get_by_text("Choose the columns, and classify.").wait_for()
    page.get_by_role("button", name="Classify").press("Enter")
    page.locator("#said", has_text="rows are classified").wait_for()
    loaded(page)
    return page


def loaded(page: Any) -> None:
    """Wait until rows are there, and no others are awaited: keys are for the rows that a person sees."""
    page.locator("#rows[aria-busy=false] tr").first.wait_for()


def cells(page: Any, column: str) -> list[str]:
    numbers = {"row": 1, "text": 2, "label": 3, "probability": 4, "second": 5, "given": 6, "notes": 7}
    found: list[str] = page.locator(f"#rows tr[data-row] td:nth-child({numbers[column]})").all_text_contents()
    return found


def saved(page: Any, row: int, label: str) -> None:
    page.locator("#said", has_text=f"Row {row}: {label}, saved.").wait_for()


def downloaded(page: Any, format_name: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=format_name, exact=True).click()
    content: bytes = Path(waiting.value.path()).read_bytes()
    return content


def test_a_csv_file_is_classified_corrected_by_keyboard_and_downloaded(visit: Visit) -> None:
    page = visit()
    upload(page, NAME, csv_file())
    page.get_by_text("Choose the columns, and classify.").wait_for()
    assert page.locator("#name").text_content() == NAME
    assert page.locator("#heads th").all_text_contents() == ["id", "message", "team", "note"]
    assert (
        page.locator("#first tr").nth(4).locator("td").nth(1).text_content()
        == f"{MARKUP} the printer, and the password"
    )
    assert page.locator("#about").text_content().startswith("120 rows, ")
    assert page.get_by_label("Column with the text").input_value() == "message"
    assert page.get_by_label("Compare with the labels in").input_value() == "team"
    page.get_by_role("button", name="Classify").press("Enter")
    page.locator("#said", has_text="All 120 rows are classified").wait_for()
    loaded(page)
    assert cells(page, "label")[:3] == CLASSES
    assert cells(page, "row") == [str(n) for n in range(1, 51)]
    assert "predicted as in the column team" in page.locator("#summary").text_content()
    # by keyboard: a digit, j and k, typing, undo
    loaded(page)
    page.locator("#rows tr").first.focus()
    page.keyboard.press("2")
    saved(page, 1, "hardware")
    assert cells(page, "label")[0] == "hardware instead of <b>accounts</b>"
    assert cells(page, "notes")[0] == "changed by me"
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.keyboard.type("acc")
    assert page.locator("#choices li").all_text_contents() == ["<b>accounts</b>"]
    page.keyboard.press("Enter")
    saved(page, 3, "<b>accounts</b>")
    page.keyboard.press("1")
    saved(page, 4, "<b>accounts</b>")
    page.keyboard.press("u")
    saved(page, 4, "the predicted label")
    assert page.locator("tr[aria-selected=true]").get_attribute("data-row") == "4"
    # the explanation of a row, with markup in its text
    page.keyboard.press("ArrowDown")
    page.keyboard.press("e")
    page.locator(".aside mark.for").first.wait_for()
    assert page.locator(".aside .words").text_content() == f"{MARKUP} the printer, and the password"
    page.keyboard.press("e")
    assert page.locator(".aside").count() == 0
    # filters, and a reload in the middle
    page.get_by_label("Show").select_option("changed by me")
    page.locator("#range", has_text="Rows 1 to 2 of 2").wait_for()
    page.locator("#rows tr").nth(1).click()
    page.reload()
    page.locator("#range", has_text="Rows 1 to 2 of 2").wait_for()
    assert cells(page, "row") == ["1", "3"]
    assert page.locator("tr[aria-selected=true]").get_attribute("data-row") == "3"
    page.get_by_label("Show").select_option("all rows")
    page.locator("#order").select_option("least sure first")
    page.locator("#rows tr[data-row='5']").wait_for()
    loaded(page)
    chances = [float(cell.rstrip("%")) for cell in cells(page, "probability")]
    assert chances == sorted(chances)
    page.locator("#class").select_option("network")
    page.locator("#range", has_text="of 39").wait_for()
    loaded(page)
    # undo after the reload; another tab; both are kept
    other = visit(context=page.context, place=page.url.partition("/classify")[2])
    loaded(other)
    other.locator("#rows tr").first.focus()
    other.keyboard.press("2")
    other.locator("#said", has_text="hardware, saved.").wait_for()
    page.get_by_role("button", name="Undo").click()
    saved(page, 3, "the predicted label")
    other.close()
    content = csv_file()
    found = list(csv.DictReader(io.StringIO(downloaded(page, "CSV").decode(), newline="")))
    before = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert len(found) == len(before) == 120
    for old, new in zip(before, found, strict=True):
        assert {name: new[name] for name in old} == {**old, "note": "'=1+1" if old["note"] == "=1+1" else old["note"]}
    assert [row["id"] for row in found if row["corrected"]] == [
        "0",
        *[row["id"] for row in found if row["corrected"]][1:],
    ]
    assert [row["corrected"] for row in found if row["corrected"]] == ["hardware", "hardware"]
    assert all(row["final"] == (row["corrected"] or row["predicted"]) for row in found)
    lines = downloaded(page, "JSON lines").splitlines()
    assert [json.loads(line)["message"] for line in lines] == [row["message"] for row in before]


DROP = """([name, base64]) => {
    const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name));
    const options = {dataTransfer: data, bubbles: true, cancelable: true};
    document.getElementById("drop").dispatchEvent(new DragEvent("drop", options));
}"""


def test_an_excel_file_is_dropped_and_deleted(visit: Visit, tmp_path: Path, work: Path) -> None:
    table = pl.DataFrame(
        {"Text": ["printer paper", "=cmd", "internet cable"], "Nr": [1, 2, 3], "x": [None, MARKUP, "ü"]}
    )
    table.write_excel(tmp_path / "in.xlsx")
    content = (tmp_path / "in.xlsx").read_bytes()
    page = visit()
    page.evaluate(DROP, ["Anfragen.xlsx", base64.b64encode(content).decode()])
    page.get_by_text("Choose the columns, and classify.").wait_for()
    page.get_by_role("button", name="Classify").click()
    page.locator("#said", has_text="All 3 rows are classified").wait_for()
    loaded(page)
    page.locator("#rows tr").nth(1).click(position={"x": 5, "y": 5})
    page.keyboard.press("3")
    saved(page, 2, "network")
    (tmp_path / "out.xlsx").write_bytes(downloaded(page, "Excel"))
    before = pl.read_excel(tmp_path / "in.xlsx", infer_schema_length=0)
    after = pl.read_excel(tmp_path / "out.xlsx", infer_schema_length=0)
    assert after.select(before.columns).equals(before)
    assert after["final"].to_list() == ["hardware", "network", "network"]
    file = page.evaluate("() => new URLSearchParams(location.hash.slice(1)).get('file')")
    assert (work / file).is_dir()
    page.get_by_role("button", name="Delete this file").click()
    page.get_by_role("button", name="Delete both").click()
    page.locator("#said", has_text="Anfragen.xlsx was deleted.").wait_for()
    assert not (work / file).exists()
    assert not page.locator("#results").is_visible()


def test_bad_files_get_a_clear_line(visit: Visit) -> None:
    page = visit()
    for name, content, says in (
        ("empty.csv", b"", "empty.csv is empty"),
        ("large.csv", b"x" * 1_000_001, "large.csv has 1,000,001 bytes; expected at most 1,000,000."),
        ("<i>image.csv", b"\x89PNG\r\n\x1a\n", "<i>image.csv is an image"),
        ("numbers.csv", b"a,b\n1,2\n", "no column holds text"),
    ):
        upload(page, name, content)
        page.locator("#problem", has_text=says).wait_for()
    assert page.locator("#reading").get_attribute("open") is not None  # to read it in another way
    page.get_by_label("Format").select_option("lines")
    page.get_by_role("button", name="Read again").click()
    page.get_by_text("Choose the columns, and classify.").wait_for()
    assert page.locator("#problem").text_content() == ""
    assert page.locator("#files a").first.text_content() == "numbers.csv"


def test_screens_and_accessibility(visit: Visit) -> None:
    first = classified(visit())
    place = first.url.partition("/classify")[2]
    for options in SCREENS.values():
        page = visit(place=place, bypass_csp=True, **options)
        loaded(page)
        page.locator("#rows tr").first.focus()
        page.keyboard.press("e")
        page.locator(".aside .words").wait_for()
        check_accessible(page)
        page.keyboard.press("Enter")
        page.locator("#choices li").first.wait_for()
        check_accessible(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        page.context.close()


def held(page: Any, pattern: str) -> Callable[[], Any]:
    """Hold back the requests of a pattern; return what waits for the next one, to be let go on later."""
    routes: list[Any] = []

    def hold(route: Any) -> None:
        routes.append(route)

    page.route(pattern, hold)

    def next_one() -> Any:
        for _ in range(3000):  # 30 s, as Playwright waits
            if routes:
                return routes.pop(0)
            page.wait_for_timeout(10)
        raise AssertionError(f"no request for {pattern}")

    return next_one


def selected(page: Any) -> str:
    found: str = page.locator("#rows tr[aria-selected=true]").get_attribute("data-row")
    return found


def test_keys_and_answers_that_come_while_rows_are_loaded(visit: Visit) -> None:
    page = classified(visit())
    next_rows = held(page, "**/rows?*")
    page.locator("#rows tr[data-row='49']").click(position={"x": 3, "y": 3})
    for _ in range(2):
        page.keyboard.press("2")
    waiting = next_rows()
    saved(page, 50, "hardware")
    for _ in range(2):
        page.keyboard.press("3")  # for rows that have not come yet
    page.locator("#said", has_text="this key was not taken").wait_for()
    assert selected(page) == "50"
    waiting.continue_()
    page.locator("#rows tr[data-row='51']").wait_for()
    assert selected(page) == "51"
    page.keyboard.press("3")
    saved(page, 51, "network")
    # an answer that comes late is not shown in place of a newer one
    page.get_by_label("Show").select_option("not changed by me")
    late = next_rows()
    page.get_by_label("Show").select_option("changed by me")
    next_rows().continue_()
    page.locator("#range", has_text="Rows 1 to 3 of 3").wait_for()
    with page.expect_response("**/rows?*") as answer:
        late.continue_()
    assert answer.value.json()["total"] == 117
    page.wait_for_timeout(100)
    assert cells(page, "row") == ["49", "50", "51"]
    assert [label.partition(" instead")[0] for label in cells(page, "label")] == ["hardware", "hardware", "network"]


def test_rows_that_lack_a_correction_saved_meanwhile_are_asked_for_again(visit: Visit) -> None:
    page = classified(visit())
    next_correction, next_rows = held(page, "**/corrections"), held(page, "**/rows?*")
    page.locator("#rows tr").first.focus()
    page.keyboard.press("3")
    page.get_by_label("Show").select_option("changed by me")
    late = next_rows()
    before = late.fetch()
    assert before.json()["total"] == 0
    next_correction().continue_()
    saved(page, 1, "network")
    late.fulfill(response=before)
    next_rows().continue_()
    page.locator("#range", has_text="Rows 1 to 1 of 1").wait_for()
    assert cells(page, "notes")[0].startswith("changed by me")


def test_a_correction_that_a_filter_lacks_comes_into_it_once_it_is_saved(visit: Visit) -> None:
    page = classified(visit())
    next_correction = held(page, "**/corrections")
    page.locator("#rows tr").first.focus()
    page.keyboard.press("3")
    page.get_by_label("Show").select_option("changed by me")
    page.locator("#range", has_text="No such rows").wait_for()
    next_correction().continue_()
    page.locator("#range", has_text="Rows 1 to 1 of 1").wait_for()
    assert cells(page, "row") == ["1"]


def test_corrections_are_sent_although_the_file_was_opened_again_meanwhile(visit: Visit) -> None:
    page = classified(visit())
    next_correction, next_rows = held(page, "**/corrections"), held(page, "**/rows?*")
    page.locator("#rows tr").first.focus()
    page.keyboard.press("3")
    page.locator("#files a").first.click()
    late = next_rows()
    before = late.fetch()
    with page.expect_response("**/corrections"):
        next_correction().continue_()
    page.wait_for_timeout(100)
    late.fulfill(response=before)
    next_rows().continue_()
    loaded(page)
    assert cells(page, "notes")[0].startswith("changed by me")
    page.locator("#rows tr[data-row='2']").click(position={"x": 3, "y": 3})
    page.keyboard.press("3")
    next_correction().continue_()
    saved(page, 2, "network")


def test_no_row_is_skipped_when_corrected_ones_leave_the_filter(visit: Visit) -> None:
    page = classified(visit())
    page.get_by_label("Show").select_option("not changed by me")
    page.wait_for_url("**show=unchanged**")
    loaded(page)
    page.locator("#rows tr").first.focus()
    page.keyboard.press("ArrowDown")  # row 1 is left as it is
    for _ in range(2, 51):
        page.keyboard.press("2")
    page.locator("#rows tr[data-row='51']").wait_for()
    saved(page, 50, "hardware")
    assert cells(page, "row") == [str(n) for n in range(51, 101)]
    assert selected(page) == "51"
    page.reload()
    page.locator("#range", has_text="Rows 2 to 51 of 71").wait_for()
    assert cells(page, "row") == [str(n) for n in range(51, 101)]
    loaded(page)
    page.locator("#rows tr").first.focus()
    page.keyboard.press("ArrowUp")
    page.locator("#range", has_text="Rows 1 to 1 of 71").wait_for()
    assert selected(page) == "1"
    page.get_by_role("button", name="Later rows").click()
    page.locator("#rows tr[data-row='51']").wait_for()
    page.get_by_role("button", name="Later rows").click()
    page.locator("#range", has_text="Rows 52 to 71 of 71").wait_for()
    assert page.locator("#later").is_disabled()


def test_the_list_of_files_has_the_time_of_upload_and_as_many_as_are_kept(visit: Visit, work: Path) -> None:
    page = visit()
    upload(page, "tickets.csv", csv_file())
    page.get_by_text("Choose the columns, and classify.").wait_for()
    file = page.evaluate("() => new URLSearchParams(location.hash.slice(1)).get('file')")
    facts = json.loads((work / file / "upload.json").read_text())
    (work / file / "upload.json").write_text(json.dumps({**facts, "received": 1_700_000_000.5}))
    others = [{"id": f"{n:032x}", "name": f"{n}.csv", "when": "2023-01-01 00:00"} for n in range(MOST_KEPT)]
    page.evaluate("(known) => localStorage.setItem('tfcr-files', JSON.stringify(known))", others)
    page.reload()
    page.get_by_text("Choose the columns, and classify.").wait_for()
    page.locator("#files li", has_text="tickets.csv").wait_for()
    assert page.locator("#files li").first.text_content() == "tickets.csv uploaded 2023-11-14 22:13"
    assert page.locator("#files li").count() == MOST_KEPT
    page.get_by_role("button", name="Delete this file").click()
    page.get_by_role("button", name="Delete both").click()
    page.locator("#said", has_text="tickets.csv was deleted.").wait_for()
    assert page.locator("#files li").count() == MOST_KEPT - 1


def test_corrections_wait_for_a_server_that_was_killed(browser: Any, model: Path, tmp_path: Path) -> None:
    page = browser.new_page()  # a server that is gone makes console messages
    with serving(model, "--work", tmp_path) as server:
        page.goto(f"{server.address}/classify")
        classified(page)
        loaded(page)
        page.locator("#rows tr").first.focus()
        server.process.kill()
        server.process.wait()
        page.keyboard.press("3")
        page.locator("#problem", has_text="your last correction is not saved yet").wait_for()
        assert cells(page, "notes")[0].startswith("saving…")
    with serving(model, "--work", tmp_path, port=server.port):
        saved(page, 1, "network")
        assert page.locator("#problem").text_content() == ""
        page.reload()
        page.locator("#rows tr").first.wait_for()
        assert cells(page, "label")[0].startswith("network instead of")
    page.close()


LEAVING = """() => {
    const event = new Event("beforeunload", {cancelable: true});
    window.dispatchEvent(event);
    return event.defaultPrevented;
}"""


def answer(status: int, error: str = "") -> dict[str, Any]:
    body = json.dumps({"error": error, "expected": "another"}) if error else "<html>Bad Gateway</html>"
    return {"status": status, "body": body}


def test_corrections_are_kept_whatever_a_proxy_or_a_full_disk_answers(browser: Any, server: Running) -> None:
    page = browser.new_context().new_page()  # refused requests make console messages
    page.goto(f"{server.address}/classify")
    classified(page, "tickets.csv")
    next_one = held(page, "**/corrections")
    loaded(page)
    page.locator("#rows tr").first.focus()
    for key in "333":
        page.keyboard.press(key)
    assert page.evaluate(LEAVING)
    problem = page.locator("#problem")
    for given in (
        answer(502),
        answer(500, "oops"),
        answer(507, "the disk is full"),
        answer(200),
        answer(401, "token"),
        answer(404),
    ):
        next_one().fulfill(**given)
        says = json.loads(given["body"])["error"] if given["body"][0] == "{" else f"the answer was {given['status']}"
        problem.filter(has_text=f"Your last 3 corrections are not saved yet: {says}").wait_for()
    next_one().continue_()
    saved(page, 1, "network")
    assert problem.text_content() == ""
    # of what the server refuses, that row alone is given up, and named until it is corrected
    next_one().fulfill(**answer(422, "found <i>nothing"))
    next_one().continue_()
    saved(page, 3, "network")
    assert problem.text_content() == "Row 2 of tickets.csv was not saved: found <i>nothing; expected another."
    assert not page.evaluate(LEAVING)
    page.locator("#rows tr[data-row='2'] .notes", has_not_text="saving").wait_for()
    assert [note.partition(",")[0] for note in cells(page, "notes")[:3]] == ["changed by me", "", "changed by me"]
    page.locator("#rows tr[data-row='2']").click(position={"x": 3, "y": 3})
    page.keyboard.press("3")
    next_one().continue_()
    saved(page, 2, "network")
    assert problem.text_content() == ""
    page.context.close()
