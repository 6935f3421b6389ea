"""The paper's tables with our scores beside the published ones, as text, Markdown, LaTeX, CSV or JSON."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tfcr.data.dialect import guarded
from tfcr.errors import look_up
from tfcr.experiment.plan.published import PAPER_TABLES
from tfcr.experiment.results.statistics import Comparison
from tfcr.experiment.results.summary import Group, Score


@dataclass(frozen=True)
class Line:
    """A line of a dataset's rows: its title, and how each score is written."""

    name: str
    write: Callable[[Score], str]


def write_score(value: float | None) -> str:
    """Write a score as the paper does.

    Examples
    --------
    >>> write_score(0.9116), write_score(1), write_score(None)
    ('.912', '1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def write_difference(value: float | None) -> str:
    """Write a difference with its sign."""
    return "–" if value is None else f"{value:+.3f}".replace("+0", "+").replace("-0", "−")


def _write_mean(score: Score) -> str:
    part = "" if len(score.folds) == score.wanted else f" ({len(score.folds)}/{score.wanted})"
    return f"{write_score(score.mean)} ±{write_score(score.std)}{part}"


LINES: dict[str, Line] = {
    "mean": Line("mean ± std", _write_mean),
    "pooled": Line("pooled", lambda score: write_score(score.pooled)),
    "published": Line("published", lambda score: write_score(score.published)),
    "difference": Line("difference", lambda score: write_difference(score.difference)),
}


ABOUT = ("folds", "documents", "vectors for")
"""Columns after the scores: what a row was measured on."""
_HEADLINES = {"mean": "mean of", "pooled": "over the pooled predictions of"}


@dataclass(frozen=True)
class Row:
    """A printed row: its dataset, the line's title, its cells, and the number of the best cell, if it is marked."""

    dataset: str
    line: str
    cells: list[str]
    winner: int | None


@dataclass(frozen=True)
class Printed:
    """A table as it is printed."""

    title: str
    columns: list[str]
    rows: list[Row]
    tests: tuple[Comparison, ...]
    notes: list[str]


def printed(group: Group) -> Printed:
    """Lay out a table: for each dataset, our scores, the published ones, and the difference."""
    rows = []
    headline = group.place.headline
    shown = {name: line for name, line in LINES.items() if _is_shown(name, group)}
    for dataset, scores in group.rows.items():
        winner = group.columns.index(group.winner(dataset))
        for number, (name, line) in enumerate(shown.items()):
            cells = [line.write(scores[column]) if column in scores else "–" for column in group.columns]
            about = [group.folds_of(dataset), group.sample_of(dataset), _coverage(scores)]
            head = dataset if number == 0 else ""
            cells += about if number == 0 else [""] * len(about)
            rows.append(Row(head, line.name, cells, winner if name == headline else None))
    notes = [
        f"macro-F1, {_HEADLINES[headline]} the folds that each row names; the best of each row is marked, and the "
        "difference is our score minus the published one",
        *group.notes,
    ]
    return Printed(group.place.title, ["dataset", "", *group.columns, *ABOUT], rows, group.tests, notes)


def _is_shown(line: str, group: Group) -> bool:
    if line not in ("published", "difference"):
        return True
    return any(score.published is not None for row in group.rows.values() for score in row.values())


def _coverage(scores: dict[str, Score]) -> str:
    some = next((score for score in scores.values() if score.coverage_words), None)  # not every system has vectors
    return f"{some.coverage_tokens:.0%} of tokens, {some.coverage_words:.0%} of words" if some else ""


def select(groups: Iterable[Group], *, table: str | None = None, profile: str | None = None) -> list[Group]:
    """Return the groups of a paper's table, in its order, or all; of one profile, or of all."""
    kept = [group for group in groups if profile in (None, group.place.profile)]
    if table is None:
        return kept
    wanted = look_up(PAPER_TABLES, table, "table").groups
    of_table = [group for group in kept if (group.place.embedding, group.place.head) in wanted]
    return sorted(
        of_table, key=lambda group: (group.place.profile, wanted.index((group.place.embedding, group.place.head)))
    )


# formats -----------------------------------------------------------------------------------------------------------


def as_text(groups: Sequence[Group]) -> str:
    """Write tables for a terminal; the best score carries a star."""
    return "\n\n".join(_text_table(printed(group)) for group in groups)


def _text_table(table: Printed) -> str:
    rows = [table.columns] + [[row.dataset, row.line, *_marked(row, "{}*")] for row in table.rows]
    widths = [max(len(row[number]) for row in rows) for number in range(len(table.columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([table.title, "", *lines, "", *map(_test_line, table.tests), *map("note: {}".format, table.notes)])


def _marked(row: Row, pattern: str, escape: Callable[[str], str] = str) -> list[str]:
    cells = [escape(cell) for cell in row.cells]
    return [pattern.format(cell) if number == row.winner else cell for number, cell in enumerate(cells)]


def _test_line(test: Comparison) -> str:
    corrected = "" if test.p_holm is None else f", with Holm's correction {test.p_holm:.3g}"
    effect = "" if test.effect is None else f"; {test.measure} {test.effect:.2f}"
    return f"{test.test}, {test.compared}: statistic {test.statistic:.3f}, p = {test.p:.3g}{corrected}{effect}"


def as_markdown(groups: Sequence[Group]) -> str:
    """Write tables in Markdown; the best score is bold."""
    return "\n\n".join(_markdown_table(printed(group)) for group in groups)


def _markdown_table(table: Printed) -> str:
    rows = [table.columns, ["---"] * len(table.columns)]
    rows += [[_bar(row.dataset), row.line, *_marked(row, "**{}**", _bar)] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    below = [f"- {_bar(line)}" for line in [*map(_test_line, table.tests), *table.notes]]
    return "\n".join([f"**{table.title}**", "", *lines, "", *below])


def _bar(text: str) -> str:
    return text.replace("|", "\\|")


def as_latex(groups: Sequence[Group]) -> str:
    """Write tables in LaTeX with booktabs; the best score is bold."""
    return "\n\n".join(_latex_table(printed(group)) for group in groups)


def _latex_table(table: Printed) -> str:
    lines = ["% \\usepackage{booktabs}", "\\begin{table}", "  \\centering"]
    lines += [
        f"  \\begin{{tabular}}{{ll{'r' * (len(table.columns) - 2 - len(ABOUT))}{'l' * len(ABOUT)}}}",
        "    \\toprule",
    ]
    lines += [f"    {' & '.join(map(latex_escape, table.columns))} \\\\"]
    for row in table.rows:
        lines += ["    \\midrule"] if row.dataset else []
        cells = [latex_escape(row.dataset), latex_escape(row.line), *_marked(row, "\\textbf{{{}}}", latex_escape)]
        lines += [f"    {' & '.join(cells)} \\\\"]
    lines += ["    \\bottomrule", "  \\end{tabular}"]
    caption = " ".join([f"{table.title}.", *(f"{note.rstrip('.')}." for note in table.notes)])
    lines += [f"  \\caption{{{latex_escape(caption)}}}", "\\end{table}"]
    return "\n".join([*lines, *(f"% {_test_line(test)}" for test in table.tests)])


_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "±": "$\\pm$",
    "−": "$-$",
    "–": "--",
    "<": "$<$",
    ">": "$>$",
}


def latex_escape(text: str) -> str:
    """Return text with the special characters of LaTeX escaped."""
    return "".join(_LATEX.get(character, character) for character in text)


def flat_rows(groups: Iterable[Group]) -> list[dict[str, Any]]:
    """Return one row per score, for machines."""
    return [
        {
            **asdict(group.place),
            "dataset": dataset,
            "scheme": column,
            "score": score.score,
            "winner": column == group.winner(dataset),
            "mean": score.mean,
            "std": score.std,
            "pooled": score.pooled,
            "published": score.published,
            "difference": score.difference,
            "folds": len(score.folds),
            "wanted": score.wanted,
            "documents": score.documents,
            "documents_in_all": score.documents_in_all,
            "train_documents": score.train_documents,
            "coverage_words": score.coverage_words,
            "coverage_tokens": score.coverage_tokens,
            "seconds": score.seconds,
        }
        for group in groups
        for dataset, row in group.rows.items()
        for column, score in row.items()
    ]


def as_csv(groups: Sequence[Group]) -> str:
    """Write one line per score."""
    rows = flat_rows(groups)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["dataset"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: guarded(cell) if isinstance(cell, str) else cell for name, cell in row.items()})
    return text.getvalue().rstrip("\n")


def as_json(groups: Sequence[Group]) -> str:
    """Write scores with those of all folds, tests and notes."""
    data = [
        {
            **asdict(group.place),
            "scores": [
                {**row, "macro_f1_of_folds": list(group.rows[row["dataset"]][row["scheme"]].folds.values())}
                for row in flat_rows([group])
            ],
            "tests": [asdict(test) for test in group.tests],
            "notes": list(group.notes),
        }
        for group in groups
    ]
    return json.dumps(data, ensure_ascii=False)


TABLE_FORMATS: dict[str, Callable[[Sequence[Group]], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": as_csv,
    "json": as_json,
}
