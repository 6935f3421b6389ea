"""One self-contained HTML page: tables, curves, settings, versions, and how to run it all again."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from tfcr.experiment.plan.profiles import resolve_profile
from tfcr.experiment.plan.word2vec import Word2Vec
from tfcr.experiment.results.conclusions import conclude
from tfcr.experiment.results.printing import printed
from tfcr.experiment.results.store import CellResult, Results
from tfcr.experiment.results.summary import Figure, Group, ranking_of, summarise, summarise_curves
from tfcr.pages import page
from tfcr.report.curves import draw_curves
from tfcr.report.ranks import draw_ranks


def report_page(results: Results, *, title: str = "Experiments with class-weighted word embeddings") -> str:
    """Return the page; it loads nothing from elsewhere, and text that comes from data is escaped."""
    cells = results.cells()
    groups = summarise(cells)
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(
        files("tfcr.report").joinpath("page.html.jinja").read_text("utf-8")
    )
    body = template.render(
        title=title,
        version=version("tfcr"),
        source=results.path.name,
        conclusions=conclude(groups),
        n_folds=sum(len(cell.folds) for cell in cells),
        n_wanted=sum(cell.wanted for cell in cells),
        tables=[(printed(group), _ranks(group)) for group in groups],
        figures=[_figure(figure) for figure in summarise_curves(cells)],
        datasets=_datasets(cells),
        profiles=_profiles(cells),
        versions=_versions(cells),
        commands=list(dict.fromkeys(filter(None, results.commands()))),
    )
    return page(title, body)


def _figure(figure: Figure) -> dict[str, Any]:
    drawn = b64encode(draw_curves(figure, "svg")).decode()
    return {"title": figure.place.title, "address": f"data:image/svg+xml;base64,{drawn}", "notes": figure.notes}


def _ranks(group: Group) -> str | None:
    """Return the address of the critical-difference diagram; None if there are too few datasets."""
    ranking = ranking_of(group)
    if ranking is None:
        return None
    return f"data:image/svg+xml;base64,{b64encode(draw_ranks(ranking, 'svg', group.place.title)).decode()}"


def _datasets(cells: Iterable[CellResult]) -> list[tuple[Any, ...]]:
    rows: dict[tuple[Any, ...], None] = {}
    for result in cells:
        facts = result.cell.facts
        rows[result.cell.dataset, facts.source, facts.documents, facts.documents_in_all, len(facts.classes)] = None
    return list(rows)


IN_WORDS: dict[str, str] = {
    "schemes": "formulas",
    "counting": "a word counts by its",
    "counted_text": "words are counted in the text, as",
    "plain_mean": "the plain average takes words",
    "term_frequency": "a word's count enters document vectors as its",
    "blocks": "blocks",
    "features": "features are",
    "C": "C",
    "score": "the score is the",
    "left_out": "class that does not count",
    "vector_length": "length that in-domain vectors are scaled to",
    "word2vec": "in-domain word2vec",
    "tokenizer": "tokeniser",
}
"""What the settings of a profile are called."""


def _profiles(cells: Iterable[CellResult]) -> list[dict[str, Any]]:
    names = dict.fromkeys(result.cell.profile for result in cells if result.cell.of_paper)
    return [
        {
            "name": name,
            "what": resolve_profile(name).what,
            "settings": [
                (IN_WORDS[key], _in_words(value))
                for key, value in vars(resolve_profile(name)).items()
                if key in IN_WORDS
            ],
        }
        for name in names
    ]


def _in_words(value: Any) -> str:
    """Return a setting for people.

    >>> _in_words({"tfcr": "tfcr-log", "none": "none"}), _in_words(None), _in_words(True)
    ('tfcr-log for tfcr; the others by their names', 'none', 'yes')
    """
    if isinstance(value, Mapping):
        others = [f"{used} for {name}" for name, used in value.items() if used != name]
        rest = "the others by their names" if others else "those of these names"
        return "; ".join([*others, *([rest] if len(others) < len(value) else [])])
    if isinstance(value, Word2Vec):
        return value.described()
    return (
        {None: "none", True: "yes", False: "no"}.get(value, str(value))
        if isinstance(value, bool | None)
        else str(value)
    )


def _versions(cells: Iterable[CellResult]) -> list[tuple[str, str]]:
    found: dict[str, dict[str, None]] = {}
    for result in cells:
        for fold in result.folds:
            for name, number in fold.versions.items():
                found.setdefault(name, {})[number] = None
    return [(name, ", ".join(numbers)) for name, numbers in found.items()]
