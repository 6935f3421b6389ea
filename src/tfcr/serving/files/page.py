"""The page that classifies files."""

from string import Template

from tfcr.pages import escape, resource
from tfcr.serving.files.folder import MOST_KEPT
from tfcr.serving.files.looking import READING
from tfcr.serving.service import Service
from tfcr.system.limits import in_words

NAMES = {"format": "Format", "separator": "Separator", "quoting": "Quotes", "header": "First row has the names"}
"""What the page calls what can be chosen about reading."""


def files_html(service: Service) -> str:
    """Return the body of the page: everything else is asked by its script."""
    settings = service.settings
    models = "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in service.models.current)
    return Template(resource("files.html")).substitute(
        most=settings.limits.max_upload,
        most_kept=MOST_KEPT,
        most_in_words=escape(in_words(settings.limits.max_upload)),
        days=settings.keep_days,
        models=models,
        many=' data-many="yes"' if len(service.models.current) > 1 else "",
        reading="".join(_select(name, READING[name]) for name in NAMES),
    )


def _select(name: str, values: tuple[str, ...]) -> str:
    options = "".join(f'<option value="{value}">{value}</option>' for value in values)
    return (
        f'<p><label for="read-{name}">{NAMES[name]}</label> <select id="read-{name}" data-said="{name}">'
        f'<option value="">detected</option>{options}</select></p>'
    )
