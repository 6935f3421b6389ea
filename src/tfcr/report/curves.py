"""Learning curves: one panel per dataset, one line per scheme or system, a band of one standard deviation over folds.

Lines differ in colour, dashes and markers, so that they can be distinguished in print and by the colour-blind; the
colours are those of Okabe and Ito.
"""

from itertools import cycle
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from tfcr.experiment.plan.profiles import PAPER_SCHEMES
from tfcr.experiment.plan.published import paper_datasets
from tfcr.experiment.results.summary import Curve, Figure
from tfcr.report.drawing import saved, under

PANELS_PER_ROW = 4
"""As in the paper's figure: sixteen datasets are four rows."""


class Look(NamedTuple):
    """How a line is drawn."""

    colour: str
    dashes: str | tuple[int, tuple[int, ...]]
    marker: str


LOOKS = (
    Look("#000000", ":", "o"),
    Look("#E69F00", "--", "s"),
    Look("#009E73", "-.", "^"),
    Look("#0072B2", (0, (5, 1)), "D"),
    Look("#D55E00", "-", "v"),
    Look("#CC79A7", (0, (3, 1, 1, 1)), "P"),
    Look("#56B4E9", (0, (1, 1)), "X"),
)


def draw_curves(figure: Figure, kind: str) -> bytes:
    """Return the learning curves as a picture; `kind` is a name of PICTURE_FORMATS."""
    with under(figure.place.title):
        return saved(_draw(figure), kind)


def _draw(figure: Figure) -> Picture:
    columns = min(PANELS_PER_ROW, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    width, height = (3.2, 2.5) if columns < PANELS_PER_ROW else (2.4, 2.0)
    picture = Picture(figsize=(width * columns + 0.4, height * rows + 0.9), layout="constrained")
    looks = scheme_looks(figure)
    axes = picture.subplots(rows, columns, squeeze=False).ravel().tolist()
    panels = in_papers_order(figure)
    for number, (panel, dataset) in enumerate(zip(axes, panels, strict=False)):
        _draw_panel(panel, dataset, figure.panels[dataset], looks)
        if number % columns == 0:
            panel.set_ylabel("macro-F1")
        if number + columns >= len(panels):
            panel.set_xlabel("training documents")
    for panel in axes[len(figure.panels) :]:
        panel.set_axis_off()
    lines = {name: line for panel in axes for line, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    width = min(len(looks), 4 * columns)
    picture.legend([lines[name] for name in looks], list(looks), loc="outside lower center", ncols=width, frameon=False)
    return picture


def in_papers_order(figure: Figure) -> list[str]:
    """Return the datasets of the panels: the paper's in the order of its tables, then others as they come."""
    known = paper_datasets()

    def place(panel: str) -> int:
        dataset = panel.split(" (", maxsplit=1)[0].split(",", maxsplit=1)[
            0
        ]  # what stands in for it, or its sample, may follow
        return known.index(dataset) if dataset in known else len(known)

    return sorted(figure.panels, key=place)


def scheme_looks(figure: Figure) -> dict[str, Look]:
    """Return how each line is drawn: the paper's schemes always the same, others with the looks that are left."""
    names = dict.fromkeys(name for curves in figure.panels.values() for name in curves)
    left = cycle(LOOKS[len(PAPER_SCHEMES) :])
    paper = dict(zip(PAPER_SCHEMES, LOOKS, strict=False))
    known = [name for name in PAPER_SCHEMES if name in names]
    return {name: paper.get(name) or next(left) for name in [*known, *(name for name in names if name not in known)]}


def _draw_panel(panel: Axes, dataset: str, curves: dict[str, Curve], looks: dict[str, Look]) -> None:
    for scheme, look in looks.items():
        if scheme not in curves:
            continue
        curve = curves[scheme]
        below = [mean - std for mean, std in zip(curve.means, curve.stds, strict=True)]
        above = [mean + std for mean, std in zip(curve.means, curve.stds, strict=True)]
        panel.fill_between(curve.sizes, below, above, color=look.colour, alpha=0.15, linewidth=0)
        panel.plot(
            curve.sizes,
            curve.means,
            color=look.colour,
            linestyle=look.dashes,
            marker=look.marker,
            markersize=3,
            markevery=max(1, len(curve.sizes) // 10),
            linewidth=1.1,
            label=scheme,
        )
    panel.set_title(dataset)
    panel.grid(alpha=0.25, linewidth=0.5)
