r"""Tables fit for a paper, in LaTeX with booktabs: one for each place, or all in the layout of the paper's own tables.

They are fragments for ``\input``: a caption in whole sentences, a label, and notes below the table. What they show, in
words, follows them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tfcr.experiment.plan.profiles import resolve_profile
from tfcr.experiment.results.conclusions import conclude
from tfcr.experiment.results.printing import LINES, coverage_of, is_shown, write_score
from tfcr.experiment.results.statistics import Comparison
from tfcr.experiment.results.summary import Group, Place

SIDE_BY_SIDE = 2
"""How many tables stand side by side, as in the paper."""
HEADS_IN_WORDS = {"svm": "SVM", "lr": "logistic regression", "ridge": "ridge regression"}
HEADLINES = {"mean": "the mean over the folds", "pooled": "computed once over the predictions of all folds"}
PACKAGES = "% needs \\usepackage{booktabs}"

_ESCAPED = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "±": "$\\pm$",
    "−": "$-$",
    "×": "$\\times$",
    "–": "--",
    "“": "``",
    "”": "''",
    "’": "'",
    "<": "$<$",
    ">": "$>$",
}


def latex_escape(text: str) -> str:
    """Return text with the special characters of LaTeX escaped."""
    return "".join(_ESCAPED.get(character, character) for character in text)


# one table for each place ------------------------------------------------------------------------------------------


def as_latex(groups: Sequence[Group]) -> str:
    """Write a table for each place, with all lines of each dataset; the best score is bold."""
    return "\n\n".join([PACKAGES, *map(_whole_table, groups), *_conclusion(groups)])


def _whole_table(group: Group) -> str:
    shown = {name: line for name, line in LINES.items() if is_shown(name, group)}
    rows = []
    for dataset, scores in group.rows.items():
        rows.append("\\midrule")
        for number, (name, line) in enumerate(shown.items()):
            best = group.winner(dataset) if name == group.place.headline else ""
            cells = [
                _cell(line.write(scores[column]) if column in scores else "–", bold=column == best)
                for column in group.columns
            ]
            rows.append(_row([dataset if number == 0 else "", line.name], cells))
    header = _row(["dataset", ""], map(latex_escape, group.columns))
    body = [f"\\begin{{tabular}}{{ll{'r' * len(group.columns)}}}", "\\toprule", header, *rows, "\\bottomrule"]
    notes = [*(_about(group, dataset) for dataset in group.rows), *group.notes, *map(_test_in_words, group.tests)]
    place = group.place
    caption = (
        f"Macro-F1 of {_listed(group.columns)} {_compared([group])}{_reading(place)}. The headline is "
        f"{HEADLINES[place.headline]}, and the best one of each dataset is bold."
    )
    return _float([*body, "\\end{tabular}"], caption, _label([place]), notes)


# the layout of the paper's own tables ------------------------------------------------------------------------------


def as_paper(groups: Sequence[Group]) -> str:
    """Write one table for each profile, as the paper does: two heads or embedding models side by side, in blocks.

    Each dataset has a row with our scores, and one with those that the paper prints for it, if it does.
    """
    parts: dict[tuple[str, int], list[Group]] = {}
    for group in groups:
        parts.setdefault((group.place.profile, group.place.cut), []).append(group)
    return "\n\n".join([PACKAGES, *map(_side_by_side, parts.values()), *_conclusion(groups)])


@dataclass(frozen=True)
class _Half:
    """One half of a block: what stands above it, its columns, and a function from a dataset and line to cells."""

    title: str
    columns: list[str]
    cells: Callable[[str, bool], list[str]]


def _side_by_side(groups: Sequence[Group]) -> str:
    columns = list(dict.fromkeys(column for group in groups for column in group.columns))
    bands = [groups[at : at + SIDE_BY_SIDE] for at in range(0, len(groups), SIDE_BY_SIDE)]
    halves = min(SIDE_BY_SIDE, len(groups))
    body = [f"\\begin{{tabular}}{{l{('r' * len(columns)) * halves}}}", "\\toprule"]
    for number, band in enumerate(bands):
        body += ["\\midrule"] if number else []
        body += _band([_half(group, columns, groups) for group in band], halves, _datasets(band))
    body += ["\\bottomrule", "\\end{tabular}"]
    notes = list(dict.fromkeys(note for group in groups for note in _short_notes(group)))
    place = groups[0].place
    published = any(is_shown("published", group) for group in groups)
    caption = (
        f"Macro-F1 of {_listed(columns)} {_compared(groups)}{_reading(place)}. Each score is "
        f"{HEADLINES[place.headline]}, and the best one of each row is bold"
        f"{'; in italics, the scores that the paper prints' if published else ''}."
    )
    return _float(
        ["\\footnotesize\\setlength{\\tabcolsep}{3pt}", *body], caption, _label([g.place for g in groups]), notes
    )


def _half(group: Group, columns: list[str], among: Sequence[Group]) -> _Half:
    def cells(dataset: str, published: bool) -> list[str]:
        row = group.rows.get(dataset, {})
        if published:
            scores = [row[column].published if column in row else None for column in columns]
            return [f"\\textit{{{write_score(score)}}}" if score is not None else "" for score in scores]
        best = group.winner(dataset) if row else ""
        return [_cell(write_score(row[name].score), bold=name == best) if name in row else "" for name in columns]

    place = group.place
    by_head = len({other.place.embedding for other in among}) == 1
    title = HEADS_IN_WORDS.get(place.head, place.head) if by_head and place.head else place.embedding or "no vectors"
    return _Half(title, columns, cells)


def _band(halves: Sequence[_Half], n_halves: int, datasets: Iterable[str]) -> list[str]:
    width = len(halves[0].columns)
    titles = [f"\\multicolumn{{{width}}}{{c}}{{{latex_escape(half.title)}}}" for half in halves]
    rules = [f"\\cmidrule(lr){{{2 + at * width}-{1 + (at + 1) * width}}}" for at in range(len(halves))]
    missing = [""] * width * (n_halves - len(halves))
    names = [_title(column) for half in halves for column in half.columns]
    # an empty half is still as wide as the others
    lines = [_row([""], [*titles, *missing]), "".join(rules), _row(["dataset"], [*names, *missing]), "\\midrule"]
    for dataset in datasets:
        lines.append(_row([dataset], [*(cell for half in halves for cell in half.cells(dataset, False)), *missing]))
        published = [cell for half in halves for cell in half.cells(dataset, True)]
        lines += [_row([""], [*published, *missing])] if any(published) else []
    return lines


def _title(column: str) -> str:
    return "$\\emptyset$" if column == "none" else latex_escape(column)


def _datasets(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(dataset for group in groups for dataset in group.rows))


def _short_notes(group: Group) -> list[str]:
    """Return the notes of a table without those on tests, which a table of this layout does not show."""
    about = [_about(group, dataset) for dataset in group.rows]
    return [*about, *(note for note in group.notes if "Friedman" not in note and "tests across" not in note)]


# in words ----------------------------------------------------------------------------------------------------------


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _compared(groups: Sequence[Group]) -> str:
    heads = list(dict.fromkeys(HEADS_IN_WORDS.get(g.place.head, g.place.head) for g in groups if g.place.head))
    vectors = list(dict.fromkeys(f"{g.place.embedding} ({g.place.vectors})" for g in groups if g.place.embedding))
    parts = [f"with {_listed(heads)}"] if heads else []
    parts += [f"{'and' if parts else 'with'} the vectors {_listed(vectors)}"] if vectors else []
    return " ".join(parts) or "without vectors"


def _reading(place: Place) -> str:
    return f", in the profile {place.profile} ({resolve_profile(place.profile).what})" if place.profile else ""


def _about(group: Group, dataset: str) -> str:
    coverage = coverage_of(group.rows[dataset])
    vectors = f", vectors for {coverage}" if coverage and group.place.embedding else ""
    return f"{dataset}: {group.folds_of(dataset)} folds, {group.sample_of(dataset)} documents{vectors}"


def _test_in_words(test: Comparison) -> str:
    corrected = "" if test.p_holm is None else f", {test.p_holm:.3g} with Holm's correction"
    effect = "" if test.effect is None else f"; {test.measure} {test.effect:.2f}"
    return f"{test.test}, {test.compared}: p = {test.p:.3g}{corrected}{effect}"


def _conclusion(groups: Sequence[Group]) -> list[str]:
    sentences = conclude(groups)
    return ["\\paragraph{Conclusion.} " + latex_escape(" ".join(sentences))] if sentences else []


# LaTeX -------------------------------------------------------------------------------------------------------------


def _cell(text: str, *, bold: bool) -> str:
    return f"\\textbf{{{latex_escape(text)}}}" if bold else latex_escape(text)


def _row(first: Sequence[str], cells: Iterable[str]) -> str:
    return f"{' & '.join([*map(latex_escape, first), *cells])} \\\\"


def _label(places: Sequence[Place]) -> str:
    names = [name for place in places for name in (place.profile, place.embedding, place.head) if name]
    return "tab:" + re.sub(r"[^a-z0-9]+", "-", "-".join(dict.fromkeys(names)).lower()).strip("-")


def _float(body: Sequence[str], caption: str, label: str, notes: Iterable[str]) -> str:
    """Return a table that floats: caption and label above, the table, and the notes below it."""
    below = " ".join(latex_escape(_sentence(note)) for note in notes)
    lines = [
        "\\begin{table}[htbp]",
        "\\centering",
        f"\\caption{{{latex_escape(caption)}}}",
        f"\\label{{{label}}}",
        *body,
    ]
    if below:
        lines.append(f"\\par\\smallskip\\parbox{{\\linewidth}}{{\\footnotesize {below}}}")
    return "\n".join([*lines, "\\end{table}"])


def _sentence(note: str) -> str:
    """Return a note as a sentence; names of datasets stay as they are."""
    return note if note.endswith(".") else f"{note}."
