"""Plots and pages of results; they need the extra ``report``, which is checked here."""

from tfcr.errors import MissingExtraError

try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
except ImportError:
    raise MissingExtraError("drawing pictures and writing reports", "report") from None

from tfcr.report.curves import draw_curves
from tfcr.report.diagrams import draw_evaluation
from tfcr.report.drawing import PICTURE_FORMATS
from tfcr.report.page import report_page
from tfcr.report.ranks import draw_ranks

__all__ = ["PICTURE_FORMATS", "draw_curves", "draw_evaluation", "draw_ranks", "report_page"]
