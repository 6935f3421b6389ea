"""The paper's tables with our scores beside the published ones, as text, Markdown, LaTeX, CSV or JSON."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from tfcr.data.dialect import guarded
from tfcr.errors import look_up
from tfcr.experiment.plan.published import PAPER_TABLES
from tfcr.experiment.results.conclusions import conclude
from tfcr.experiment.results.latex import as_latex, as_paper
from tfcr.experiment.results.printing import Printed, Row, printed
from tfcr.experiment.results.statistics import Comparison
from tfcr.experiment.results.summary import Group


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
    """Write tables for a terminal, then what they show in words; the best score carries a star."""
    return "\n\n".join([*(_text_table(printed(group)) for group in groups), "\n".join(conclude(groups))])


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
    """Write tables in Markdown, then what they show in words; the best score is bold."""
    return "\n\n".join([*(_markdown_table(printed(group)) for group in groups), _bar(" ".join(conclude(groups)))])


def _markdown_table(table: Printed) -> str:
    rows = [table.columns, ["---"] * len(table.columns)]
    rows += [[_bar(row.dataset), row.line, *_marked(row, "**{}**", _bar)] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    below = [f"- {_bar(line)}" for line in [*map(_test_line, table.tests), *table.notes]]
    return "\n".join([f"**{table.title}**", "", *lines, "", *below])


def _bar(text: str) -> str:
    return text.replace("|", "\\|")


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
    "paper": as_paper,
    "csv": as_csv,
    "json": as_json,
}
