"""What the script of the page asks: uploading, reading, classifying, rows, corrections, download."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import FastAPI, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import FileResponse

from tfcr.errors import DataError, InputError, in_one_line
from tfcr.serving.files import looking
from tfcr.serving.files.download import FORMATS, write_result
from tfcr.serving.files.folder import DAY, State, Upload, Uploads, described, disk_errors, unknown
from tfcr.serving.files.jobs import Jobs
from tfcr.serving.files.rows import ORDERS, SHOWN, Held, Rows, check_correction
from tfcr.serving.files.rows import Query as RowQuery
from tfcr.serving.problems import RETRY, RequestError, one_of, to_json
from tfcr.serving.service import Service, check_query

MOST_AT_ONCE = 1_000
"""Corrections of one request."""
MOST_COLUMN = 100_000
"""Characters of a column's name."""
MOST_WRITING = 2
"""Results that each worker writes, or that wait for it: others would fill the queue of all requests."""
MEDIA = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/x-ndjson",
}
"""What a browser is told of a download."""
_RESULT = re.compile(r"result-[0-9a-f]{8}\.(csv|tsv|xlsx|jsonl)")

Shape = TypeVar("Shape", bound="_Shape")


# what a request may hold ---------------------------------------------------------------------------------------------


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class ReadRequest(_Shape):
    """How a file is to be read; what is empty is detected."""

    format: str = Field(default="", max_length=100)
    separator: str = Field(default="", max_length=100)
    quoting: str = Field(default="", max_length=100)
    encoding: str = Field(default="", max_length=100)
    header: str = Field(default="", max_length=100)
    sheet: str = Field(default="", max_length=100)


class ClassifyRequest(_Shape):
    """What to classify, by which model; and a column of labels to compare with."""

    text: str = Field(max_length=MOST_COLUMN)
    label: str | None = Field(default=None, max_length=MOST_COLUMN)
    model: str | None = Field(default=None, max_length=1_000)


class Correction(_Shape):
    """A row, and its label: a class, a list of them if texts have several, or null for the predicted one."""

    row: int
    label: str | list[str] | None


class CorrectionsRequest(_Shape):
    """Corrections, whether they undo earlier ones, and the version that the page has seen."""

    corrections: list[Correction] = Field(min_length=1, max_length=MOST_AT_ONCE)
    undo: bool = False
    version: int = Field(default=0, ge=0)


class DownloadRequest(_Shape):
    """The format that is wanted."""

    format: str = Field(max_length=20)


def parse(shape: type[Shape], body: bytes) -> Shape:
    """Return a request; raise RequestError if it is none."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(place)[:80] for place in first["loc"])
        status = 400 if first["type"] == "json_invalid" else 422
        expected = f"an object with {', '.join(shape.model_fields)}"
        raise RequestError(status, f"{where}: {first['msg']}" if where else first["msg"], expected) from None


# answers -------------------------------------------------------------------------------------------------------------


class Files:
    """What the routes share."""

    def __init__(self, service: Service, uploads: Uploads) -> None:
        self.service, self.uploads = service, uploads
        self.jobs = Jobs(service.models, service.settings.limits.max_upload)
        self.held = Held()
        self.slow = asyncio.Semaphore(1)
        self.writing = 0

    @asynccontextmanager
    async def turn_to_write(self) -> AsyncIterator[None]:
        """Let one result at a time be written, and one more wait."""
        if self.writing >= MOST_WRITING:
            raise RequestError(503, "other results are being written", "to try again later", RETRY)
        self.writing += 1
        try:
            async with self.slow:
                yield
        finally:
            self.writing -= 1

    def status(self, upload: Upload) -> dict[str, Any]:
        """Return all that a page shows of an upload, but for its rows."""
        state = upload.state()
        found: dict[str, Any] = {
            **described(upload),
            "received": upload.received,
            **{name: state.get(name) for name in ("stage", "stopped", "done", "error", "of")},
            "said": state.get("said", {}),
            "deleted_on": upload.last_change() + self.uploads.keep_days * DAY,
            "look": None,
            "job": None,
        }
        if state["stage"] not in ("received", "reading") and state.get("of") != "reading":
            found["look"] = upload.read("look.json")
        if "job" in state:
            job = state["job"]
            found["job"] = {**job, "classes": [str(label) for label in job["classes"]]}
        return found

    def rows(self, upload: Upload) -> tuple[State, Rows]:
        """Return the rows that are classified so far, with the corrections of now."""
        state = upload.state()
        if "job" not in state:
            raise RequestError(409, "the file has not been classified yet", "to choose a column and start")
        return state, Rows(upload, state, self.held.of(upload))

    def full_row(self, upload: Upload, number: int) -> dict[str, Any]:
        """Return a row with its whole text."""
        state, rows = self.rows(upload)
        check_correction(state, number, None)
        return rows.described([number], self.service.settings.limits.max_text)[0]

    def correct(self, upload: Upload, body: bytes) -> dict[str, Any]:
        """Write corrections to disk, and return what has changed since the version that the page has seen."""
        asked = parse(CorrectionsRequest, body)
        state = upload.state()
        if "job" not in state:
            raise RequestError(409, "the file has not been classified yet", "to choose a column and start")
        for one in asked.corrections:
            check_correction(state, one.row, one.label)
        more = {"undo": True} if asked.undo else {}
        with disk_errors():
            upload.journal.append(*({"row": one.row, "label": one.label, **more} for one in asked.corrections))
        found = self.held.of(upload)
        changes, version = upload.journal.since(asked.version if asked.version <= found.version else 0)
        last = {record.get("row"): record.get("label") for record in changes}
        return {
            "version": version,
            "changes": [{"row": row, "label": label} for row, label in last.items()],
            "changed": len(found.labels),
        }

    def write(self, upload: Upload, body: bytes) -> dict[str, Any]:
        """Write the result, and return where it is."""
        asked = parse(DownloadRequest, body)
        if asked.format not in FORMATS:
            raise RequestError(422, f"found the format {asked.format!r}", one_of(FORMATS))
        state, rows = self.rows(upload)
        if state["stage"] != "done":
            raise RequestError(409, "not all rows have been classified", "to wait until that is done, or to resume it")
        path = write_result(upload, state, rows, asked.format)
        return {"path": f"/files/{upload.id}/download/{path.name}", "size": path.stat().st_size}


def add_routes(app: FastAPI, service: Service) -> None:
    """Let an application take files; if it has no folder for them, it does not."""
    settings = service.settings
    if settings.work is None:
        return
    uploads = Uploads(settings.work, settings.keep_days)
    files = Files(service, uploads)
    service.at_end.append(files.jobs.close)
    with suppress(RequestError):  # whoever uploads the next file is told
        uploads.make_room()

    async def answer(function: Callable[[], Any]) -> Response:
        """Answer with what a function finds, on another thread."""
        return Response(to_json(await service.work.run(function)), media_type="application/json")

    @app.post("/files", include_in_schema=False)
    async def upload(request: Request, name: Annotated[str, Query(max_length=1_000)] = "") -> Response:
        """Take a file, and begin to look at it."""
        check_query(request, "name")
        sent = request.scope["tfcr.upload"]
        found = await uploads.receive(name, sent.parts(), asyncio.to_thread)  # scoring does not hold it up
        try:
            await service.work.run(files.jobs.read, found, {})
            told = await answer(lambda: files.status(found))
            if await request.is_disconnected():
                sent.give_up()
        except BaseException:  # nobody will ever know its name
            with suppress(RequestError, OSError):
                uploads.delete(found)
            raise
        return told

    @app.get("/files/{file}", include_in_schema=False)
    async def status(file: str) -> Response:
        """Tell how far the work on a file is."""
        return await answer(lambda: files.status(uploads.get(file)))

    @app.delete("/files/{file}", include_in_schema=False)
    async def delete(file: str) -> Response:
        """Delete a file, and all that was made from it."""

        def deleted() -> dict[str, Any]:
            found = uploads.get(file)
            uploads.delete(found)
            files.held.forget(found)
            return {"deleted": found.name}

        return await answer(deleted)

    @app.post("/files/{file}/read", include_in_schema=False)
    async def read(file: str, request: Request) -> Response:
        """Begin to look at a file in another way."""

        def begin() -> dict[str, Any]:
            found = uploads.get(file)
            files.jobs.read(found, _said(parse(ReadRequest, request.scope["tfcr.body"])))
            return files.status(found)

        return await answer(begin)

    @app.post("/files/{file}/classify", include_in_schema=False)
    async def classify(file: str, request: Request) -> Response:
        """Begin to classify the rows of a file, or resume it."""

        def begin() -> dict[str, Any]:
            found, asked = uploads.get(file), parse(ClassifyRequest, request.scope["tfcr.body"])
            files.jobs.classify(found, asked.model, asked.text, asked.label)
            return files.status(found)

        return await answer(begin)

    _add_row_routes(app, files, answer)


def _said(asked: ReadRequest) -> dict[str, str]:
    """Return what a person said about reading; raise RequestError for what no reader takes."""
    said = {name: value for name, value in asked.model_dump().items() if value}
    for name, value in said.items():
        known = looking.READING[name]
        if known and value not in known:
            raise RequestError(422, f"found {name} {value!r}", one_of(known))
    try:
        looking.options_of(said)
    except (DataError, InputError) as error:
        raise RequestError(422, in_one_line(error), "another way to read the file") from None
    return said


def _add_row_routes(app: FastAPI, files: Files, answer: Callable[[Callable[[], Any]], Any]) -> None:
    uploads = files.uploads

    @app.get("/files/{file}/rows", include_in_schema=False)
    async def rows(
        file: str,
        request: Request,
        show: str = "all",
        order: str = "file",
        label: str | None = None,
        below: Annotated[float | None, Query(ge=0, le=1)] = None,
        start: Annotated[int, Query(ge=0, le=2**40)] = 0,
        after: Annotated[int | None, Query(ge=1, le=2**40)] = None,
        before: Annotated[int | None, Query(ge=1, le=2**40)] = None,
    ) -> Response:
        """List rows, a page at a time."""
        check_query(request, "show", "order", "label", "below", "start", "after", "before")
        for value, known, what in ((show, SHOWN, "show"), (order, ORDERS, "order")):
            if value not in known:
                raise RequestError(422, f"found {what}={value[:80]!r}", one_of(list(known)))
        if len({"start", "after", "before"} & set(request.query_params)) > 1:
            raise RequestError(422, "found more than one place to begin at", "one of start, after, before")
        query = RowQuery(show, label, below, order, start, after, before)
        found: Response = await answer(lambda: files.rows(uploads.get(file))[1].page(query))
        return found

    @app.get("/files/{file}/rows/{row}", include_in_schema=False)
    async def row(file: str, row: int) -> Response:
        """Give one row, with its whole text."""
        found: Response = await answer(lambda: files.full_row(uploads.get(file), row))
        return found

    @app.post("/files/{file}/corrections", include_in_schema=False)
    async def correct(file: str, request: Request) -> Response:
        """Take corrections; they are on disk before they are acknowledged."""
        found: Response = await answer(lambda: files.correct(uploads.get(file), request.scope["tfcr.body"]))
        return found

    @app.post("/files/{file}/download", include_in_schema=False)
    async def write(file: str, request: Request) -> Response:
        """Write the result in a format; a large workbook takes longer than other answers may."""
        async with files.turn_to_write():
            made = await asyncio.to_thread(lambda: files.write(uploads.get(file), request.scope["tfcr.body"]))
        return Response(to_json(made), media_type="application/json")

    @app.get("/files/{file}/download/{result}", include_in_schema=False)
    async def download(file: str, result: str) -> Response:
        """Give a result that was written before."""
        found = uploads.get(file)
        path = found.folder / result
        kind = _RESULT.fullmatch(result)
        if kind is None or not path.is_file():
            raise unknown()
        stem = found.name[: -len(found.ending)] if found.ending else found.name.rpartition(".")[0] or found.name
        name = quote(f"{stem}-classified.{kind[1]}", safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return FileResponse(path, headers=headers, media_type=MEDIA[kind[1]])
