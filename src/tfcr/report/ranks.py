"""The critical-difference diagram: schemes on a line by their mean rank, joined where they do not differ significantly.

As Demšar (2006) draws it: the best stands at the left, the better half is labelled on the left, the other on the right,
and the bar at the top is as long as the critical difference.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from tfcr.experiment.results.statistics import Ranking
from tfcr.report.drawing import saved, shown_name, under

LINE, FIRST_CLIQUE, BETWEEN, LABELS = 0.0, -0.25, 0.2, 0.35
"""Where things stand below the axis, in lines of text: the axis, bars of cliques, their distance, that of labels."""


def draw_ranks(ranking: Ranking, kind: str, title: str) -> bytes:
    """Return the diagram as a picture; `kind` is a name of PICTURE_FORMATS."""
    with under(title):
        return saved(_draw(ranking, title), kind)


def _draw(ranking: Ranking, title: str) -> Picture:
    cliques = ranking.cliques()
    names = list(ranking.ranks)
    lines = -(-len(names) // 2)
    lowest = FIRST_CLIQUE - BETWEEN * len(cliques) - LABELS * (lines + 0.5)
    picture = Picture(figsize=(5.5, 0.9 - 0.75 * lowest), layout="constrained")
    axes = picture.subplots()
    axes.set_axis_off()
    axes.set_xlim(0.2, len(names) + 0.8)
    axes.set_ylim(lowest, 1.1)
    axes.set_title(title)
    _draw_axis(axes, len(names))
    _draw_length(axes, ranking)
    for number, clique in enumerate(cliques):
        height = FIRST_CLIQUE - BETWEEN * number
        ends = [ranking.ranks[clique[0]] - 0.04, ranking.ranks[clique[-1]] + 0.04]
        axes.plot(ends, [height] * 2, color="black", linewidth=3, solid_capstyle="butt")
    for number, name in enumerate(names):
        better = number < lines
        place = number if better else len(names) - 1 - number
        height = FIRST_CLIQUE - BETWEEN * len(cliques) - LABELS * (place + 0.5)
        _draw_name(axes, name, ranking.ranks[name], height, 0.55 if better else len(names) + 0.45, better)
    return picture


def _draw_axis(axes: Axes, n_names: int) -> None:
    axes.plot([1, n_names], [LINE] * 2, color="black", linewidth=0.8)
    for rank in range(1, n_names + 1):
        axes.plot([rank] * 2, [LINE, LINE + 0.1], color="black", linewidth=0.8)
        axes.text(rank, LINE + 0.15, str(rank), ha="center", va="bottom")


def _draw_length(axes: Axes, ranking: Ranking) -> None:
    end = 1 + ranking.critical_difference
    axes.plot([1, end], [0.65] * 2, color="black", linewidth=0.8)
    for edge in (1, end):
        axes.plot([edge] * 2, [0.58, 0.72], color="black", linewidth=0.8)
    text = (
        f"critical difference {ranking.critical_difference:.2f} (p < {ranking.alpha:g}, {ranking.n_datasets} datasets)"
    )
    axes.text(1, 0.75, text, ha="left", va="bottom")


def _draw_name(axes: Axes, name: str, rank: float, height: float, edge: float, on_left: bool) -> None:
    axes.plot([rank, rank, edge], [LINE, height, height], color="black", linewidth=0.6)
    label = f"{shown_name(name)}  {rank:.2f}"
    axes.text(edge - 0.05 if on_left else edge + 0.05, height, label, ha="right" if on_left else "left", va="center")
