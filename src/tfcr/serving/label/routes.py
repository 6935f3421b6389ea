"""What the page for labelling asks, and what it is answered. Everything is on disk before it is acknowledged."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tfcr.errors import InputError, in_one_line
from tfcr.labelling import Question, Session
from tfcr.serving.guard import Guard
from tfcr.serving.label.page import label_html, label_policy
from tfcr.serving.label.trainer import Trainer
from tfcr.serving.metrics import Metrics
from tfcr.serving.problems import RequestError, internal_error, one_of, to_json
from tfcr.serving.settings import Settings

MOST_SHOWN = 20_000
"""Characters of a text that are sent to the page."""
HTML = "text/html; charset=utf-8"
FULL = 507
MOST_LABELS = 1_000

logger = logging.getLogger("tfcr")


class Told(BaseModel):
    """What every request of the page says: which tab it is from."""

    model_config = ConfigDict(strict=True, extra="forbid")

    tab: str = Field(default="", max_length=64)


class OfRow(Told):
    """A request about the text of a row."""

    row: int


class AnswerRequest(OfRow):
    """What ``POST /label/answer`` takes; `again` if the text had an answer that was looked at again."""

    label: str | list[str] = Field(max_length=MOST_LABELS)
    again: bool = False


class ClassRequest(Told):
    """What ``POST /label/class`` takes."""

    name: str = Field(max_length=1_000)


Shape = TypeVar("Shape", bound=Told)
EXPECTED = {
    "tab": "a name of up to 64 characters",
    "row": "the number of a row",
    "label": "a class, or a list of classes if texts have several",
    "again": "true or false",
    "name": "the name of a class",
}


def parse(shape: type[Shape], body: bytes) -> Shape:
    """Return a request; raise RequestError if it is none."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        raise RequestError(400, first["msg"], "JSON in UTF-8")
    field = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden" or field not in EXPECTED:
        raise RequestError(422, f"found {field[:80]!r}" if field else "no object", one_of(list(shape.model_fields)))
    raise RequestError(422, f"{field}: {first['msg']}", EXPECTED[field])


class Desk:
    """What the routes share: the session, and the thread that learns from it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.trainer = Trainer(session)
        self.places = {row: number for number, row in enumerate(session.pool.rows)}

    def number(self, row: int) -> int:
        """Return the text of a row."""
        if row not in self.places:
            raise RequestError(
                404, f"found row {str(row)[:80]}", f"a row of the data that has a text, up to {max(self.places)}"
            )
        return self.places[row]

    def state(self, tab: str, notice: str = "") -> dict[str, Any]:
        """Return all that the page shows."""
        session = self.session
        with session.lock:
            question, last = session.ask(tab), session.last
            counts = session.class_counts()
            found = {
                "several": session.several,
                "classes": [{"name": name, "count": counts[name]} for name in session.classes],
                "question": None if question is None else self.shown(question),
                "last": None if last is None else session.pool.rows[last],
                "answers": session.n_answers,
                "skipped": session.n_skipped,
                "given": session.n_given,
                "open": session.n_open,
                "curve": [
                    [point.answers, point.sample, point.macro_f1, point.low, point.high]
                    for _, point in sorted(session.curve.items())
                ],
            }
        return {**found, "busy": self.trainer.is_busy, "notice": notice}

    def shown(self, question: Question) -> dict[str, Any]:
        """Return a question as the page shows it."""
        return {
            "row": self.session.pool.rows[question.number],
            "text": question.text[:MOST_SHOWN],
            "characters": len(question.text),
            "chosen": question.chosen,
        }

    def answer(self, body: bytes) -> dict[str, Any]:
        """Take an answer."""
        asked = parse(AnswerRequest, body)
        label = tuple(asked.label) if isinstance(asked.label, list) else asked.label
        before = self.session.answer(self.number(asked.row), label, checked=asked.again)
        self.trainer.wake()
        if before is None or before.label == label or asked.again:
            return self.state(asked.tab)
        had = "was skipped" if before.label is None else f"had the label {_named(before.label)}"
        return self.state(asked.tab, f"Row {asked.row} {had}, in another tab perhaps; now it has {_named(label)}.")

    def skip(self, body: bytes) -> dict[str, Any]:
        """Leave a text without a label."""
        asked = parse(OfRow, body)
        number = self.number(asked.row)
        before = self.session.answers.get(number)
        if before is not None and before.label is not None:
            named = _named(before.label)
            return self.state(asked.tab, f"Row {asked.row} has the label {named} from another tab, and keeps it.")
        self.session.skip(number)
        return self.state(asked.tab)

    def undo(self, body: bytes) -> dict[str, Any]:
        """Take back the last answer, if it is the one that the page means."""
        asked = parse(OfRow, body)
        number = self.number(asked.row)
        with self.session.lock:
            if self.session.last != number:
                return self.state(asked.tab, f"Row {asked.row} is not the last answer any more; nothing was undone.")
            self.session.undo(asked.tab)
        self.trainer.wake()
        return self.state(asked.tab, f"Undone: row {asked.row}.")

    def add_class(self, body: bytes) -> dict[str, Any]:
        """Add a class."""
        asked = parse(ClassRequest, body)
        self.session.add_class(asked.name)
        return self.state(asked.tab)

    def keep(self, body: bytes) -> dict[str, Any]:
        """Note that an answer was looked at again, and stays."""
        asked = parse(OfRow, body)
        self.session.keep(self.number(asked.row))
        return self.state(asked.tab)

    def doubts(self, _: bytes) -> dict[str, Any]:
        """Return the answers that are probably mistakes."""
        rows = self.session.pool.rows
        listed = [
            {
                "row": rows[doubt.number],
                "text": doubt.text[:MOST_SHOWN],
                "label": doubt.label,
                "likelier": doubt.likelier,
                "odds": round(doubt.odds, 1),
                "fixed": list(doubt.fixed) if isinstance(doubt.fixed, tuple) else doubt.fixed,
            }
            for doubt in self.session.doubts()
        ]
        return {"doubts": listed}


def _named(label: Any) -> str:
    return (", ".join(label) or "none") if isinstance(label, tuple) else str(label)


def make_label_app(session: Session, settings: Settings, name: str, output: str) -> Guard:
    """Return the application, with its guard around it.

    Parameters
    ----------
    session
        What is labelled.
    settings
        Address, token and limits; it serves no models.
    name, output
        What the page calls the data, and the file of answers.
    """
    desk = Desk(session)
    metrics = Metrics(None)

    async def show(request: Request) -> Response:
        headers = {"content-type": HTML, "content-security-policy": label_policy()}
        return Response(label_html(name, output), headers=headers)

    async def state(request: Request) -> Response:
        tab = request.query_params.get("tab", "")[:64]
        return _json(await run_in_threadpool(desk.state, tab))

    async def health(request: Request) -> Response:
        return _json({"status": "ok"})

    def post(path: str, function: Callable[[bytes], dict[str, Any]]) -> Route:
        async def answer(request: Request) -> Response:
            return _json(await run_in_threadpool(function, request.scope["tfcr.body"]))

        return Route(path, answer, methods=["POST"])

    routes = [
        Route("/", show),
        Route("/health", health),
        Route("/label/state", state),
        post("/label/answer", desk.answer),
        post("/label/skip", desk.skip),
        post("/label/undo", desk.undo),
        post("/label/class", desk.add_class),
        post("/label/keep", desk.keep),
        post("/label/doubts", desk.doubts),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        desk.trainer.start()
        yield
        await run_in_threadpool(desk.trainer.stop)

    paths = [route.path for route in routes]
    handlers = {kind: _refuse(paths) for kind in (RequestError, InputError, OSError, HTTPException, Exception)}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), settings, metrics)


def _json(data: Any) -> Response:
    return Response(to_json(data), media_type="application/json")


def _refuse(paths: list[str]) -> Callable[[Request, Exception], Response]:
    def refused(request: Request, error: Exception) -> Response:
        found = error if isinstance(error, RequestError) else _problem(request, error, paths)
        return Response(found.body, found.status, found.headers, "application/json")

    return refused


def _problem(request: Request, error: Exception, paths: list[str]) -> RequestError:
    """Return an error of others as ours."""
    match error:
        case InputError():
            found, _, expected = in_one_line(error).partition("; ")
            return RequestError(422, found, expected.removeprefix("expected ") or "another one")
        case OSError():
            logger.error("an answer could not be saved: %s", in_one_line(error))
            return RequestError(
                FULL,
                f"this was not saved: {in_one_line(error)}",
                "room on the disk of the answers; what was acknowledged before is safe: free some, and answer again",
            )
        case HTTPException(status_code=405):
            allowed = (error.headers or {}).get("Allow", "")
            return RequestError(405, f"found {request.method} {request.url.path[:80]}", allowed, error.headers)
        case HTTPException():
            return RequestError(error.status_code, f"found nothing at {request.url.path[:80]!r}", one_of(paths))
    return internal_error()
