"""The page of ``tfcr label``: one process, one session, behind the same guard as ``tfcr serve``.

routes      what the page asks: a question, an answer, skip, undo, a class, a second look
trainer     a thread that learns from the answers meanwhile
page        the page itself
"""

from tfcr.serving.label.routes import make_label_app

__all__ = ["make_label_app"]
