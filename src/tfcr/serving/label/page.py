"""The page for labelling, as HTML; all that changes is asked for by its script."""

from string import Template

from tfcr.pages import content_policy, escape, page, resource

SCRIPT = "label.js"


def label_html(name: str, output: str) -> str:
    """Return the page for the data of that name, whose answers go to that file."""
    body = Template(resource("label.html")).substitute(name=escape(name), output=escape(output))
    return page(f"Label {name}", body, scripts=[resource(SCRIPT)], connects=True)


def label_policy() -> str:
    """Return the content security policy to send along."""
    return content_policy([resource(SCRIPT)], connects=True) + "; frame-ancestors 'none'"
