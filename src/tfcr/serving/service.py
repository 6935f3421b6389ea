"""What the routes share: models, threads, counters, and what is done while the server runs."""

import asyncio
import logging
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request, Response

from tfcr.serving import answers
from tfcr.serving.documents.scored import ScoredDocuments
from tfcr.serving.metrics import Metrics
from tfcr.serving.models import Models, ServedModel
from tfcr.serving.problems import RequestError, one_of, to_json
from tfcr.serving.settings import Settings
from tfcr.serving.shapes import ExplainRequest, PredictRequest, parse
from tfcr.serving.work import SMALL_BODY, Work

LOOK_EVERY = 1.0
"""Seconds between two looks at the models' folders."""

logger = logging.getLogger("tfcr")


class Service:
    """What the routes share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.models = Models(settings.folders)
        self.work = Work(settings.limits.timeout, settings.workers)
        self.documents = (
            None
            if settings.documents is None
            else ScoredDocuments(settings.documents, self.models, self.work.n_threads)
        )
        self.metrics = Metrics(settings.metrics)
        self.openapi: Callable[[], dict[str, Any]] = dict
        self.at_end: list[Callable[[], object]] = []
        """Called when the server stops."""

    async def answer(
        self, request: Request, function: Callable[[bytes], tuple[bytes, int]], *, quick: bool
    ) -> Response:
        """Answer a request with a body: at once if it is small, or else on another thread."""
        body: bytes = request.scope["tfcr.body"]
        if quick and len(body) <= SMALL_BODY:
            found, n_texts = function(body)
        else:
            found, n_texts = await self.work.run(function, body)
        self.metrics.add("texts", n_texts)
        return Response(found, media_type="application/json")

    def served(self, in_address: str | None, in_body: str | None = None) -> ServedModel:
        """Return the model that a request names, in its address or its body."""
        if in_address is not None and in_body is not None and in_address != in_body:
            raise RequestError(422, f"found two models: {in_address[:80]} and {in_body[:80]}", "one of them")
        return self.models.get(in_address if in_address is not None else in_body)

    def predict(self, name: str | None, body: bytes) -> tuple[bytes, int]:
        """Return the answer to ``POST /predict``, and the number of texts."""
        asked = parse(PredictRequest, body, self.settings.limits)
        texts = asked.given()
        found = answers.predict(
            self.served(name, asked.field("model")),
            texts,
            probabilities=asked.probabilities,
            threads=self.work.threads_for(len(body)),
        )
        return to_json(found), len(texts)

    def explain(self, name: str | None, deadline: float, body: bytes) -> tuple[bytes, int]:
        """Return the answer to ``POST /explain``, and the number of texts."""
        asked = parse(ExplainRequest, body, self.settings.limits)
        wanted = answers.Wanted(asked.field("label"), asked.field("without"), asked.top)
        texts = asked.given()
        return to_json(answers.explain(self.served(name, asked.field("model")), texts, wanted, deadline)), len(texts)

    async def look_around(self) -> None:
        """Load models that have been replaced, for as long as the server runs.

        A worker whose supervisor was killed ends as if by SIGTERM: nobody would stop it.
        """
        supervisor = multiprocessing.parent_process() if self.settings.workers > 1 else None
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if supervisor is not None and os.getppid() != supervisor.pid:
                signal.raise_signal(signal.SIGTERM)
                return
            for name in self.models.changed():
                # not on a thread of `work`: requests need those
                await asyncio.to_thread(self.models.renew, name)
                if self.documents is not None:
                    await asyncio.to_thread(self.documents.renew, name)

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Look for new models while the server runs, and say at the end what became of its requests."""
        looking = asyncio.create_task(self.look_around())
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        for end in self.at_end:
            end()
        self.work.close()
        accepted, answered = self.metrics.get("accepted"), self.metrics.get("answered")
        logger.warning("stopped: %d requests accepted, %d of them answered", accepted, answered)


def check_query(request: Request, *known: str) -> None:
    """Refuse parameters that are not known, or given twice: a misspelt one would be ignored."""
    if not request.scope["query_string"]:
        return
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known or given.count(name) > 1:
            what = "an unknown parameter" if name not in known else "twice the parameter"
            raise RequestError(422, f"found {what} {name[:80]!r}", one_of(known) if known else "none")
