"""Pages for people: a table of them, each made when it is asked for. Text from data is escaped, never run.

A further page is a function that returns a `Page`, and a row of PAGES. What its script asks of the server are routes of
its own, in the module of that page.
"""

from tfcr.pages import escape, resource
from tfcr.serving.documentation import documentation_html
from tfcr.serving.documents.routes import documents_page
from tfcr.serving.files.page import files_html
from tfcr.serving.page import Entry, Page
from tfcr.serving.service import Service
from tfcr.serving.trying.routes import try_page

SHOWN_CLASSES = 20


def menu(current: str, service: Service) -> str:
    """Return links to all pages of this server, as HTML."""
    links = [
        f'<a href="{path}"{" aria-current=page" if path == current else ""}>{escape(entry.name)}</a>'
        for path, entry in PAGES.items()
        if entry.is_there(service)
    ]
    return f'<nav aria-label="Pages">{"".join(links)}</nav>'


def start_page(service: Service) -> Page:
    """Return the first page: which models are served."""
    rows = []
    for name, served in service.models.current.items():
        more = len(served.keys) - SHOWN_CLASSES
        classes = ", ".join(served.keys[:SHOWN_CLASSES]) + (f", and {more} more" if more > 0 else "")
        rows.append(
            f'<tr><td class="name">{escape(name)}</td><td class="text">{escape(classes)}</td>'
            f'<td class="text"><code>{escape(served.hash)}</code></td></tr>'
        )
    body = (
        '<h1>Text classification</h1><p class="lead"><a href="/try">Try a text</a></p>'
        '<div class="scroll" tabindex="0"><table><caption>Models</caption><thead><tr><th scope="col">model</th>'
        '<th scope="col" class="text">classes</th><th scope="col" class="text">hash</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return Page("tfcr", body)


def documentation_page(service: Service) -> Page:
    """Return the page that describes the interface."""
    body = documentation_html(service.openapi(), service.settings.address)
    return Page("What this server answers", body)


def files_page(service: Service) -> Page:
    """Return the page that classifies files."""
    return Page("Classify a file", files_html(service), (resource("files.js"),), connects=True)


PAGES: dict[str, Entry] = {
    "/": Entry("Models", start_page),
    "/try": Entry("Try", try_page),
    "/classify": Entry("Classify a file", files_page, lambda service: service.settings.work is not None),
    "/documents": Entry("Documents", documents_page, lambda service: service.documents is not None),
    "/docs": Entry("For programs", documentation_page),
}
"""Path → page, in the order of the menu."""
