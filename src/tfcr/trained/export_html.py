"""A trained model as one HTML file that classifies and explains in the browser, without a server."""

from string import Template

from tfcr.pages import as_json_block, escape, page, resource
from tfcr.trained.model import TrainedModel
from tfcr.trained.table_json import table_json

LISTED_CLASSES = 5
"""Classes that the title names."""


def export_page(model: TrainedModel) -> str:
    """Return the page; raise InputError if the model's tokeniser cannot run in one."""
    labels = [str(label) for label in model.classes.tolist()]
    listed = ", ".join(labels[:LISTED_CLASSES]) + (", …" if len(labels) > LISTED_CLASSES else "")
    title = f"Text classifier: {listed}".encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    body = Template(resource("try.html")).substitute(
        title=escape(title),
        about=escape(_about(model)),
        explanation=Template(resource("explanation.html")).substitute(word=""),
        table=as_json_block(table_json(model), "table"),
    )
    return page(title, body, scripts=[resource("classify.js"), resource("view.js"), resource("try.js")])


def _about(model: TrainedModel) -> str:
    vocabulary = model.table.vocabulary
    terms = f"{vocabulary.n_words:,} words"
    if len(vocabulary.bigrams):
        terms += f" and {len(vocabulary.bigrams):,} bigrams"
    unseen = "Words that it never saw are scored by their parts." if model.table.pieces else "Other words add nothing."
    return f"This classifier has {len(model.classes):,} classes and knows {terms}. {unseen}"
