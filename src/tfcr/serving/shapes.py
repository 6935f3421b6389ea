"""What a request may hold: JSON into a record, or a `RequestError` that says what was expected.

pydantic parses and checks in one pass of compiled code, with a limit on nesting; sizes are checked afterwards, since
they are the user's to set.
"""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tfcr.serving.answers import MOST_EXPLAINED
from tfcr.serving.problems import RequestError
from tfcr.serving.settings import Limits

MOST_TOP = 1_000
MOST_NAME = 1_000
"""Characters of a model's name, a class or a word in a request."""

Shape = TypeVar("Shape", bound="Texts")
AnyShape = TypeVar("AnyShape", bound=BaseModel)


def _whole(value: Any) -> Any:
    """Return 20.0 as 20: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Texts(BaseModel):
    """One text, or a batch."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: str = Field(default="", description="One text.")
    texts: list[str] = Field(default=[], description="A batch of texts.")
    model: str = Field(
        default="", max_length=MOST_NAME, description="The name of a model; needed if several are served."
    )

    def field(self, name: str) -> Any:
        """Return a field that was given; None if it was not."""
        return getattr(self, name) if name in self.model_fields_set else None

    def given(self) -> list[str]:
        """Return the texts, one or a batch."""
        return [self.text] if "text" in self.model_fields_set else self.texts


class PredictRequest(Texts):
    """What ``POST /predict`` takes."""

    probabilities: bool = Field(default=False, description="Give the probability of each class.")


class ExplainRequest(Texts):
    """What ``POST /explain`` takes."""

    label: str = Field(
        default="", max_length=MOST_NAME, description="The class to explain; by default the predicted one."
    )
    without: str = Field(default="", max_length=MOST_NAME, description="A word to leave out, to see what changes.")
    top: Annotated[int, BeforeValidator(_whole)] = Field(
        default=20, ge=1, le=MOST_TOP, description="How many words are listed."
    )


EXPECTED = {
    "text": "a string",
    "texts": "a list of strings",
    "model": "the name of a model, a string",
    "probabilities": "true or false",
    "label": "a class of the model, as a string",
    "without": "a word, as a string",
    "top": f"a whole number from 1 to {MOST_TOP}",
    "hash": "the hash of a model, as a string",
    "shown": "the number of a class, from 0",
    "word": "a word, as a string",
}
"""What each field should hold, in words."""


def parse(shape: type[Shape], body: bytes, limits: Limits) -> Shape:
    """Return a request; raise RequestError if it is none."""
    found = validated(shape, body)
    if ("text" in found.model_fields_set) == ("texts" in found.model_fields_set):
        both = "both text and texts" if "text" in found.model_fields_set else "neither text nor texts"
        raise RequestError(422, f"found {both}", 'one of them: {"text": "…"} or {"texts": ["…", "…"]}')
    most = most_texts(shape, limits)
    if len(found.texts) > most:
        raise RequestError(422, f"found {len(found.texts):,} texts", f"at most {most:,} in one request: send several")
    check_length(max(map(len, found.given()), default=0), limits)
    return found


def validated(shape: type[AnyShape], body: bytes) -> AnyShape:
    """Return a request whose fields are of the right types; raise RequestError if they are not."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise _problem(shape, error) from None


def check_length(size: int, limits: Limits) -> None:
    """Refuse a text of more characters than one may have."""
    if size > limits.max_text:
        raise RequestError(
            422,
            f"found a text of {size:,} characters",
            f"at most {limits.max_text:,}: split it, or give a part of it",
        )


def most_texts(shape: type[Texts], limits: Limits) -> int:
    """Return how many texts a request may hold."""
    return min(limits.max_batch, MOST_EXPLAINED) if shape is ExplainRequest else limits.max_batch


def _problem(shape: type[BaseModel], error: ValidationError) -> RequestError:
    """Return the first thing that is wrong; the texts themselves are not repeated."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    known = ", ".join(shape.model_fields)
    if first["type"] == "json_invalid":
        return RequestError(400, first["msg"], 'JSON in UTF-8, such as {"text": "…"} or {"texts": ["…", "…"]}')
    if not first["loc"]:
        return RequestError(
            422, "found JSON that is no object", 'an object, such as {"text": "…"} or {"texts": ["…", "…"]}'
        )
    field = str(first["loc"][0])
    where = field[:80] + "".join(f"[{place}]" for place in first["loc"][1:])
    if first["type"] == "extra_forbidden":
        return RequestError(422, f"found an unknown field {where!r}", f"only {known}")
    return RequestError(422, f"{where}: {first['msg']}", EXPECTED[field])


def schema_of(shape: type[Texts], limits: Limits, names: list[str]) -> dict[str, Any]:
    """Return the JSON schema of a request, with the limits and the names of the models."""
    schema = shape.model_json_schema()
    fields = schema["properties"]
    for field in fields.values():
        field.pop("title", None)
        if field.get("default") in ("", []):
            del field["default"]
    fields["text"]["maxLength"] = fields["texts"]["items"]["maxLength"] = limits.max_text
    fields["texts"]["maxItems"] = most_texts(shape, limits)
    fields["model"] |= {"enum": names}
    schema["oneOf"] = [{"required": ["text"]}, {"required": ["texts"]}]
    return schema
