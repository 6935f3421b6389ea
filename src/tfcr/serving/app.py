"""The routes: which function answers, and what OpenAPI says of it."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tfcr.errors import TfcrError, in_one_line
from tfcr.serving import answers
from tfcr.serving.documents import routes as documents
from tfcr.serving.files import routes as files
from tfcr.serving.guard import Guard
from tfcr.serving.metrics import CONTENT_TYPE
from tfcr.serving.models import MOST_WORDS
from tfcr.serving.openapi import ANSWERS, describe_interface, request_body
from tfcr.serving.page import Entry
from tfcr.serving.pages import PAGES, menu
from tfcr.serving.problems import RequestError, internal_error, one_of, to_json
from tfcr.serving.service import Service, check_query
from tfcr.serving.settings import Settings
from tfcr.serving.shapes import ExplainRequest, PredictRequest
from tfcr.serving.trying import routes as trying

HTML = "text/html; charset=utf-8"

ModelName = Annotated[str | None, Query(description="The name of a model; needed if several are served.")]


def make_app(settings: Settings) -> Guard:
    """Return the application, with its guard around it; the models are loaded now."""
    service = Service(settings)
    models = service.models
    app = FastAPI(
        title="tfcr",
        version=version("tfcr"),
        description="Classifies texts, and explains why.",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=service.lifespan,
        redirect_slashes=False,
    )
    names = list(models.current)

    @app.post("/predict", responses=ANSWERS["/predict"], openapi_extra=request_body(PredictRequest))
    async def predict(request: Request, model: ModelName = None) -> Response:
        """Classify one text or a batch."""
        check_query(request, "model")
        return await service.answer(request, lambda body: service.predict(model, body), quick=True)

    @app.post("/explain", responses=ANSWERS["/explain"], openapi_extra=request_body(ExplainRequest))
    async def explain(request: Request, model: ModelName = None) -> Response:
        """Tell what each word of a text adds to the score of a class; baseline and contributions sum to the score."""
        check_query(request, "model")
        deadline = service.work.deadline()
        return await service.answer(request, lambda body: service.explain(model, deadline, body), quick=False)

    @app.get("/model", responses=ANSWERS["/model"])
    async def describe(request: Request, model: ModelName = None) -> Response:
        """Describe the models: hash, classes, how they scored when they were measured."""
        check_query(request, "model")
        found = answers.describe(models, names if model is None else [models.get(model).name])
        return Response(to_json(found), media_type="application/json")

    @app.get("/words", responses=ANSWERS["/words"])
    async def words(
        request: Request,
        model: ModelName = None,
        label: Annotated[str | None, Query(description="Only this class.")] = None,
        top: Annotated[int, Query(ge=1, le=MOST_WORDS, description="How many words of each class.")] = 20,
    ) -> Response:
        """List the words that raise the score of each class most."""
        check_query(request, "model", "label", "top")
        served = service.served(model)
        found = await service.work.run(lambda: to_json(answers.words(served, top, label)))
        return Response(found, media_type="application/json")

    @app.get("/health", responses=ANSWERS["/health"])
    async def health(request: Request) -> Response:
        """Say that the server answers, and with which models."""
        check_query(request)
        return Response(to_json(answers.health(models)), media_type="application/json")

    @app.get("/metrics", responses=ANSWERS["/metrics"])
    async def metrics(request: Request) -> Response:
        """Count requests, texts and seconds, for Prometheus."""
        check_query(request)
        hashes = {name: served.hash for name, served in models.current.items()}
        return Response(service.metrics.text(hashes, models.replaced), headers={"content-type": CONTENT_TYPE})

    trying.add_routes(app, service)
    documents.add_routes(app, service)
    files.add_routes(app, service)
    for path, entry in PAGES.items():
        if entry.is_there(service):
            app.get(path, include_in_schema=False)(_show(path, entry, service))
    describe_interface(app, settings.limits, names)
    service.openapi = app.openapi
    _answer_problems(app)
    return Guard(app, settings, service.metrics)


def _show(path: str, entry: Entry, service: Service) -> Callable[[Request], Response]:
    """Return the function that answers with a page."""

    def shown(request: Request) -> Response:
        page = entry.make(service)
        headers = {"content-type": HTML, "content-security-policy": page.policy()}
        return Response(page.html(menu(path, service)), headers=headers)

    return shown


def _answer_problems(app: FastAPI) -> None:
    """Answer what is wrong with a request in one form."""

    async def wrong_request(request: Request, error: Exception) -> Response:
        found = error if isinstance(error, RequestError) else _problem(app, request, error)
        return Response(found.body, found.status, found.headers, "application/json")

    for kind in (TfcrError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, wrong_request)


def _problem(app: FastAPI, request: Request, error: Exception) -> RequestError:
    """Return an error of others as ours."""
    match error:
        case RequestValidationError():
            first = error.errors()[0]
            return RequestError(422, f"{first['loc'][-1]}: {first['msg']}", "what GET /docs says of this parameter")
        case HTTPException(status_code=405):
            allowed = (error.headers or {}).get("Allow", "")
            return RequestError(405, f"found {request.method} {request.url.path[:80]}", allowed, error.headers)
        case HTTPException():
            known = [*app.openapi()["paths"], *PAGES, "/openapi.json"]
            return RequestError(error.status_code, f"found nothing at {request.url.path[:80]!r}", one_of(known))
        case TfcrError():
            return RequestError(422, in_one_line(error), "what GET /docs says of this request")
    return internal_error()
