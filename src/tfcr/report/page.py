"""One self-contained HTML page: tables, curves, settings, versions, and how to run it all again."""

from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from tfcr.experiment.plan.profiles import resolve_profile
from tfcr.experiment.results.store import CellResult, Results
from tfcr.experiment.results.summary import Figure, summarise, summarise_curves
from tfcr.experiment.results.tables import printed
from tfcr.report.curves import draw_curves


def report_page(results: Results, *, title: str = "Experiments with class-weighted word embeddings") -> str:
    """Return the page; it loads nothing from elsewhere, and text that comes from data is escaped."""
    cells = results.cells()
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(
        files("tfcr.report").joinpath("page.html.jinja").read_text("utf-8")
    )
    return template.render(
        title=title,
        version=version("tfcr"),
        source=results.path.name,
        n_cells=len(cells),
        n_folds=sum(len(cell.folds) for cell in cells),
        n_wanted=sum(cell.wanted for cell in cells),
        tables=[printed(group) for group in summarise(cells)],
        figures=[_figure(figure) for figure in summarise_curves(cells)],
        datasets=_datasets(cells),
        profiles=_profiles(cells),
        versions=_versions(cells),
        commands=list(dict.fromkeys(filter(None, results.commands()))),
    )


def _figure(figure: Figure) -> dict[str, Any]:
    drawn = draw_curves(figure, "svg").decode("utf-8")
    # our own drawing, in which matplotlib escapes names; the page needs the element without the head of a file
    svg = Markup(drawn[drawn.index("<svg") :])  # noqa: S704
    return {"title": figure.place.title, "svg": svg, "notes": figure.notes}


def _datasets(cells: Iterable[CellResult]) -> list[tuple[Any, ...]]:
    rows: dict[tuple[Any, ...], None] = {}
    for result in cells:
        facts = result.cell.facts
        rows[result.cell.dataset, facts.source, facts.documents, facts.documents_in_all, len(facts.classes)] = None
    return list(rows)


def _profiles(cells: Iterable[CellResult]) -> list[dict[str, Any]]:
    names = dict.fromkeys(result.cell.profile for result in cells if result.cell.of_paper)
    return [
        {
            "name": name,
            "what": resolve_profile(name).what,
            "settings": [
                (key, value) for key, value in asdict(resolve_profile(name)).items() if key not in ("name", "what")
            ],
        }
        for name in names
    ]


def _versions(cells: Iterable[CellResult]) -> list[tuple[str, str]]:
    found: dict[str, dict[str, None]] = {}
    for result in cells:
        for fold in result.folds:
            for name, number in fold.versions.items():
                found.setdefault(name, {})[number] = None
    return [(name, ", ".join(numbers)) for name, numbers in found.items()]
