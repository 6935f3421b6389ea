"""What a page is: its parts, its menu, and what it may do. Which pages there are is in `pages.PAGES`."""

from collections.abc import Callable
from dataclasses import dataclass

from tfcr.pages import content_policy, page
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
