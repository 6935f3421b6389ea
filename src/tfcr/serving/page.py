"""What a page is: its parts, its menu, and what it may do. Which pages there are is in `pages.PAGES`."""

from collections.abc import Callable
from dataclasses import dataclass

from tfcr.pages import content_policy, escape, page
from tfcr.serving.service import Service


@dataclass(frozen=True)
class Page:
    """A page: its title, its body as HTML, and scripts of our own, which may ask this server if it `connects`."""

    title: str
    body: str
    scripts: tuple[str, ...] = ()
    connects: bool = False

    def html(self, menu: str) -> str:
        """Return the whole page, below a menu."""
        return page(self.title, menu + self.body, scripts=self.scripts, connects=self.connects)

    def policy(self) -> str:
        """Return the content security policy to send along: no script but its own, and no frame around it."""
        return content_policy(self.scripts, connects=self.connects) + "; frame-ancestors 'none'"


@dataclass(frozen=True)
class Entry:
    """A row of PAGES: what the menu calls the page, what makes it, and whether this server has it."""

    name: str
    make: Callable[[Service], Page]
    is_there: Callable[[Service], bool] = lambda _: True


def model_select(service: Service) -> str:
    """Return a list to choose a model from, as HTML; hidden if there is one only."""
    names = list(service.models.current)
    options = "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in names)
    hidden = " hidden" if len(names) == 1 else ""
    return f'<p{hidden}><label for="model">Model</label> <select id="model">{options}</select></p>'
