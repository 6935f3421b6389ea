"""The telling words of each class as bars: one panel per class, and per scheme if there are several."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from tfcr.report.drawing import BLUE, saved, shown_name, under

PANELS_PER_ROW = 3
MOST_PANELS = 60
"""More would make a picture that nobody reads."""
MOST_BARS = 30
"""Words of a panel; more of many classes would take minutes to draw."""
BAR_HEIGHT = 0.17

TopWords = Mapping[Any, Sequence[tuple[str, float]]]


def draw_words(found: Mapping[str, TopWords], kind: str) -> bytes:
    """Return the picture; `kind` is a name of PICTURE_FORMATS.

    Parameters
    ----------
    found
        From the name of a scheme to the top words of each class, the largest value first; MOST_BARS are drawn.
    kind
        A name of PICTURE_FORMATS.
    """
    several = len(found) > 1
    panels = [
        (f"{shown_name(str(label))}, {name}" if several else shown_name(str(label)), words[:MOST_BARS])
        for name, of_classes in found.items()
        for label, words in of_classes.items()
    ][:MOST_PANELS]
    columns = min(PANELS_PER_ROW, len(panels))
    rows = -(-len(panels) // columns)
    tallest = max(len(words) for _, words in panels)
    with under("words"):
        size = (3.0 * columns + 0.3, (BAR_HEIGHT * tallest + 0.7) * rows + 0.2)
        picture = Picture(figsize=size, layout="constrained")
        axes: list[Axes] = picture.subplots(rows, columns, squeeze=False).ravel().tolist()
        for panel, (title, words) in zip(axes, panels, strict=False):
            _draw_panel(panel, title, words)
        for panel in axes[len(panels) :]:
            panel.set_axis_off()
        return saved(picture, kind)


def _draw_panel(panel: Axes, title: str, words: Sequence[tuple[str, float]]) -> None:
    places = range(len(words))
    panel.barh(places, [value for _, value in words], color=BLUE, height=0.7)
    panel.set_yticks(places, [shown_name(word) for word, _ in words])
    panel.invert_yaxis()
    panel.set_title(title)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", alpha=0.25, linewidth=0.5)
