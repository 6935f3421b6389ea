"""The page Documents, and what its script asks: paths for that page, and no part of the described interface."""

from collections.abc import Callable, Sequence
from string import Template
from typing import Any

from fastapi import FastAPI, Request, Response

from tfcr.pages import escape, resource
from tfcr.serving.documents import answers
from tfcr.serving.documents.results import ORDERS, STATUSES, Results, Wanted
from tfcr.serving.documents.scored import ScoredDocuments, whole_number
from tfcr.serving.page import Page, model_select
from tfcr.serving.problems import RequestError, one_of, to_json
from tfcr.serving.service import Service, check_query
from tfcr.trained.explain import MAX_CHARACTERS

MOST_PAGES = 1_000_000_000

Parameters = dict[str, str]


def documents_page(service: Service) -> Page:
    """Return the page: a table of classes, one class, and a list of documents, which its script fills."""
    name = service.documents.documents.name if service.documents is not None else ""
    body = Template(resource("documents.html")).substitute(name=escape(name), models=model_select(service))
    return Page(
        "Documents", body, (resource("view.js"), resource("asking.js"), resource("documents.js")), connects=True
    )


def add_routes(app: FastAPI, service: Service) -> None:
    """Add what the script of the page asks, if the server was started with documents."""
    scored = service.documents
    if scored is None:
        return
    most = min(service.settings.limits.max_text, MAX_CHARACTERS)

    def text(results: Results, given: Parameters) -> dict[str, Any]:
        number = whole_number("number", given.get("number", ""), 0, MOST_PAGES)
        return answers.text(results, number, most)

    _add(app, service, scored, "/documents/classes", (), lambda results, _: answers.classes(results))
    _add(app, service, scored, "/documents/class", ("label",), _one_class)
    _add(app, service, scored, "/documents/list", ("label", "predicted", "status", "order", "page"), _listed)
    _add(app, service, scored, "/documents/text", ("number",), text)


def _add(
    app: FastAPI,
    service: Service,
    scored: ScoredDocuments,
    path: str,
    known: Sequence[str],
    find: Callable[[Results, Parameters], dict[str, Any]],
) -> None:
    """Add a path that takes these parameters, and a model's name."""

    async def answer(request: Request) -> Response:
        check_query(request, "model", *known)
        given = dict(request.query_params)
        results = scored.get(given.get("model"))
        return Response(await service.work.run(lambda: to_json(find(results, given))), media_type="application/json")

    app.get(path, include_in_schema=False)(answer)


def _one_class(results: Results, given: Parameters) -> dict[str, Any]:
    if "label" not in given:
        raise RequestError(422, "found no label", one_of(results.names))
    return answers.one_class(results, given["label"])


def _listed(results: Results, given: Parameters) -> dict[str, Any]:
    label, predicted = (
        answers.class_number(results, given[name]) if name in given else None for name in ("label", "predicted")
    )
    for name, allowed in (("status", list(STATUSES)), ("order", list(ORDERS))):
        if given.get(name, allowed[0]) not in allowed:
            raise RequestError(422, f"{name}: found {given[name][:80]!r}", one_of(allowed))
    wanted = Wanted(label, predicted, given.get("status"), given.get("order", ORDERS[0]))
    return answers.listed(results, wanted, whole_number("page", given.get("page", "1"), 1, MOST_PAGES))
