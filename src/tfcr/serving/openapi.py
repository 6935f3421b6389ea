"""What OpenAPI says of the routes: requests, answers, limits. Programs make clients from it, and tests their cases."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tfcr.serving.metrics import CONTENT_TYPE
from tfcr.serving.settings import Limits
from tfcr.serving.shapes import ExplainRequest, PredictRequest, Texts, schema_of

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": ["number", "null"]}
BOOLEAN: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
LABEL: Schema = {"type": ["string", "number", "boolean", "null"]}
LABELS: Schema = {"anyOf": [LABEL, {"type": "array", "items": LABEL}]}
NUMBERS: Schema = {"anyOf": [NUMBER, {"type": "array", "items": NUMBER}]}
BY_CLASS: Schema = {"type": "object", "additionalProperties": NUMBER}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: Schema, **others: Schema) -> Schema:
    fields = {**required, **others}
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


OF_MODEL = {"model": STRING, "model_hash": STRING}

PREDICTION = _object(
    {"label": LABELS, "probability": NUMBERS, "unknown_words": NUMBER},
    second=LABEL,
    second_probability=NUMBER,
    unsure=BOOLEAN,
    likeliest=LABEL,
    probabilities=BY_CLASS,
)
WORD = _object(
    {
        "word": STRING,
        "count": {"type": "number"},
        "unseen": BOOLEAN,
        "spans": _array(_array(COUNT)),
        "contributions": BY_CLASS,
    }
)
WITHOUT = {"anyOf": [_object({"word": STRING, "label": LABELS, "probability": NUMBER}), {"type": "null"}]}
EXPLANATION = _object(
    {
        "label": LABELS,
        "unsure": BOOLEAN,
        "probability": NUMBER,
        "explained": LABEL,
        "rival": LABEL,
        "scores": BY_CLASS,
        "baseline": BY_CLASS,
        "words": _array(WORD),
        "other_words": COUNT,
        "other_contributions": BY_CLASS,
        "unknown": _array(STRING),
        "how": _array(STRING),
    },
    without=WITHOUT,
)
MODEL = _object(
    {
        **OF_MODEL,
        "classes": _array(LABEL),
        "several_labels": BOOLEAN,
        "may_be_unsure": BOOLEAN,
        "terms": COUNT,
        "tokenizer": STRING,
        "trained": STRING,
        "documents": NUMBER,
        "scores": {"type": "object", "additionalProperties": NUMBER},
    },
    trouble=STRING,
)
TOP_WORD = _object({"word": STRING, "value": NUMBER})
PROBLEM = _object({"error": STRING, "expected": STRING})

SCHEMAS: dict[str, Schema] = {
    "Prediction": PREDICTION,
    "Explanation": EXPLANATION,
    "Model": MODEL,
    "Problem": PROBLEM,
}

_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS = {
    400: "The body is not JSON in UTF-8.",
    401: "The token is missing or wrong.",
    403: "A page of another server asked.",
    404: "Unknown path, model or class; the known ones are listed.",
    405: "Another method is expected.",
    408: "The body took too long.",
    413: "The body is too large.",
    415: "The body is not application/json, or is compressed.",
    421: "The Host header names another server.",
    422: "A field or parameter is missing, unknown, of a wrong type or too large.",
    503: "The queue is full, or the answer took too long; Retry-After says when to try again.",
}


def _answers(schema: Schema, *problems: int, media: str = "application/json") -> dict[int | str, dict[str, Any]]:
    found: dict[int | str, dict[str, Any]] = {
        200: {"description": "The answer.", "content": {media: {"schema": schema}}}
    }
    return found | {
        status: {"description": PROBLEMS[status], "content": _PROBLEM} for status in sorted({401, 403, 421, *problems})
    }


_BODY = (400, 404, 408, 413, 415, 422, 503)
_ref = "#/components/schemas/{}".format
ANSWERS = {
    "/predict": _answers(_object({**OF_MODEL, "predictions": _array({"$ref": _ref("Prediction")})}), *_BODY),
    "/explain": _answers(_object({**OF_MODEL, "explanations": _array({"$ref": _ref("Explanation")})}), *_BODY),
    "/model": _answers(_object({"models": _array({"$ref": _ref("Model")})}), 404, 422),
    "/words": _answers(
        _object({**OF_MODEL, "words": {"type": "object", "additionalProperties": _array(TOP_WORD)}}), 404, 422, 503
    ),
    "/health": _answers(_object({"status": STRING, "models": {"type": "object", "additionalProperties": STRING}}), 422),
    "/metrics": _answers(STRING, 422, media=CONTENT_TYPE),
}
"""What each path answers: status → description and schema."""

REQUESTS: dict[str, type[Texts]] = {"PredictRequest": PredictRequest, "ExplainRequest": ExplainRequest}


def request_body(shape: type[Texts]) -> Schema:
    """Return what OpenAPI says of a body; it is parsed by `shapes.parse`, not by FastAPI."""
    content = {"application/json": {"schema": {"$ref": _ref(shape.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}


def describe_interface(app: FastAPI, limits: Limits, names: list[str]) -> None:
    """Let an application describe itself with these limits, and the names of its models."""

    def openapi() -> Schema:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            of_requests = {name: schema_of(shape, limits, names) for name, shape in REQUESTS.items()}
            found["components"] = {"schemas": {**SCHEMAS, **of_requests}}
            for methods in found["paths"].values():
                for operation in methods.values():
                    operation["parameters"] = [_plain(one, names) for one in operation.get("parameters", ())]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _plain(parameter: Schema, names: list[str]) -> Schema:
    """Return a parameter whose schema is of one type: an address has no null."""
    schema = dict(parameter["schema"])
    for one in schema.pop("anyOf", ()):
        if one["type"] != "null":
            schema |= one
    schema.pop("title", None)
    if parameter["name"] == "model":
        schema["enum"] = names
    return {**parameter, "schema": schema}
