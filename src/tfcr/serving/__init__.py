"""Models over HTTP; they need the extra ``serve``, which is checked here.

A request takes this way:

    guard       Host, Origin and token are checked; the body is read, up to a limit; a full queue is answered at once
    app         routes: which function answers, and what OpenAPI says of it
    service     what the routes share
    shapes      what a request may hold: JSON into a record, or a `RequestError` that says what was expected
    models      the model that is meant; one that is replaced on disk is loaded beside, and then takes over
    work        scoring on a few threads, so that the event loop stays free
    answers     what is answered, as plain data
    metrics     what happened, for Prometheus
    files/      files that are uploaded, classified in the background, corrected and downloaded
    journal     what people decided, on disk before it is acknowledged

``server`` binds the address and runs all this with uvicorn, in one process or several. Pages for people are rows of
`pages.PAGES`; ``trying`` and ``documents`` hold those that ask the server, with the routes that they ask.
"""

from tfcr.errors import MissingExtraError

try:
    import fastapi  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise MissingExtraError("serving models over HTTP", "serve") from None

from tfcr.serving.app import make_app
from tfcr.serving.documents.store import write_documents
from tfcr.serving.server import serve
from tfcr.serving.settings import Limits, Settings, name_folders

__all__ = ["Limits", "Settings", "make_app", "name_folders", "serve", "write_documents"]
