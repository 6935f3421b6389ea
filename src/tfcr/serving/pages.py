"""Pages for people: a table of them, each made when it is asked for. Text from data is escaped, never run.

A further page is a function that returns a `Page`, and a row of PAGES.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfcr.pages import content_policy, escape, page
from tfcr.serving.documentation import documentation_html
from tfcr.serving.models import Models

SHOWN_CLASSES = 20


@dataclass(frozen=True)
class Page:
    """A page: its title, its body as HTML, and scripts of our own."""

    title: str
    body: str
    scripts: tuple[str, ...] = ()

    def html(self) -> str:
        """Return the whole page."""
        return page(self.title, self.body, scripts=self.scripts)

    def policy(self) -> str:
        """Return the content security policy to send along: no script but its own, and no frame around it."""
        return content_policy(self.scripts) + "; frame-ancestors 'none'"


def start_page(models: Models, openapi: dict[str, Any], address: str) -> Page:
    """Return the first page: which models are served, and where to go."""
    rows = []
    for name, served in models.current.items():
        more = len(served.keys) - SHOWN_CLASSES
        classes = ", ".join(served.keys[:SHOWN_CLASSES]) + (f", and {more} more" if more > 0 else "")
        rows.append(
            f'<tr><td class="name">{escape(name)}</td><td class="text">{escape(classes)}</td>'
            f'<td class="text"><code>{escape(served.hash)}</code></td></tr>'
        )
    body = (
        "<h1>Text classification</h1>"
        '<div class="scroll" tabindex="0"><table><caption>Models</caption><thead><tr><th scope="col">model</th>'
        '<th scope="col" class="text">classes</th><th scope="col" class="text">hash</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        '<p><a href="docs">What this server answers</a></p>'
    )
    return Page("tfcr", body)


def documentation_page(models: Models, openapi: dict[str, Any], address: str) -> Page:
    """Return the page that describes the interface."""
    return Page("What this server answers", documentation_html(openapi, address))


PAGES: dict[str, Callable[[Models, dict[str, Any], str], Page]] = {
    "/": start_page,
    "/docs": documentation_page,
}
"""Path → what makes the page, from the models, the OpenAPI description and the server's address."""
