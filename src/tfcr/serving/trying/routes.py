"""The page Try, and what its script asks. These routes serve the page, and are no part of the described interface."""

from string import Template

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tfcr.pages import resource
from tfcr.serving.page import Page, model_select
from tfcr.serving.problems import to_json
from tfcr.serving.service import Service, check_query
from tfcr.serving.shapes import MOST_NAME, check_length, validated
from tfcr.serving.trying import answers
from tfcr.trained.explain import MAX_CHARACTERS


class TryRequest(BaseModel):
    """What ``POST /try/explain`` takes."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: str
    model: str = Field(max_length=MOST_NAME)
    hash: str = Field(default="", max_length=MOST_NAME)
    shown: int | None = None


class WordRequest(BaseModel):
    """What ``POST /try/word`` takes."""

    model_config = ConfigDict(strict=True, extra="forbid")

    word: str = Field(max_length=MOST_NAME)
    model: str = Field(max_length=MOST_NAME)
    text: str = ""


def try_page(service: Service) -> Page:
    """Return the page: a text field, and the parts that its script fills."""
    body = Template(resource("live.html")).substitute(
        models=model_select(service),
        most=min(service.settings.limits.max_text, MAX_CHARACTERS),
        explanation=Template(resource("explanation.html")).substitute(word=resource("word.html")),
    )
    return Page("Try", body, (resource("view.js"), resource("asking.js"), resource("live.js")), connects=True)


def add_routes(app: FastAPI, service: Service) -> None:
    """Add what the script of the page asks."""

    def explained(body: bytes) -> tuple[bytes, int]:
        asked = validated(TryRequest, body)
        check_length(len(asked.text), service.settings.limits)
        served = service.models.get(asked.model)
        return to_json(answers.explanation(served, asked.text, asked.hash, asked.shown)), 1

    def weighed(body: bytes) -> tuple[bytes, int]:
        asked = validated(WordRequest, body)
        check_length(len(asked.text), service.settings.limits)
        return to_json(answers.word_weights(service.models.get(asked.model), asked.word, asked.text)), 0

    @app.post("/try/explain", include_in_schema=False)
    async def explain(request: Request) -> Response:
        check_query(request)
        return await service.answer(request, explained, quick=False)

    @app.post("/try/word", include_in_schema=False)
    async def word(request: Request) -> Response:
        check_query(request)
        return await service.answer(request, weighed, quick=False)
