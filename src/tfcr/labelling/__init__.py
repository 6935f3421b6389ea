"""Labelling without a model: which texts to ask for, how good the labels make a classifier, and where they are kept.

    pool         the texts, counted once, with a short vector each to tell how alike they are
    choosing     which text to ask for next: spread over the corpus, least sure, or at random
    learner      the preset ``fast``, trained on the answers, again and again
    estimate     the macro-F1 of that classifier, from texts that were drawn at random, with an interval
    answers      the file of answers, which is complete before an answer is acknowledged
    session      all of that together: ask, answer, skip, undo, look again

The page of ``tfcr label`` (`tfcr.serving.label`) and ``benchmarks/labelling.py`` use the same session::

    pool = Pool.of(texts)
    session = Session(pool, classes=["sport", "politics"])
    question = session.ask()
    session.answer(question.number, "sport")
    session.learn()
"""

from tfcr.labelling.answers import AnswersFile
from tfcr.labelling.estimate import Estimate
from tfcr.labelling.pool import Pool
from tfcr.labelling.session import Question, Session

__all__ = ["AnswersFile", "Estimate", "Pool", "Question", "Session"]
