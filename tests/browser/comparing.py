"""What the browser finds, held against Python."""

from itertools import accumulate
from typing import Any

import numpy as np

from tfcr.trained.model import TrainedModel
from tfcr.trained.table_json import table_json

EXPLAIN = """([name, texts]) => texts.map((text) => {
    const found = tfcr.explain(models[name], text);
    return {...found, marks: tfcr.marks(found, found.order[0])};
})"""


def in_units(text: str) -> list[int]:
    """Return where each character begins in UTF-16 units, and the end.

    >>> in_units("a😀b")
    [0, 1, 3, 4]
    """
    return [0, *accumulate(1 + (ord(one) > 0xFFFF) for one in text)]


def send_model(page: Any, name: str, model: TrainedModel) -> None:
    """Let the page read the model."""
    page.evaluate("([name, table]) => { models[name] = tfcr.read(JSON.parse(table)); }", [name, table_json(model)])


def check_same(page: Any, name: str, model: TrainedModel, texts: list[str], atol: float = 1e-6) -> None:
    """Assert that labels, probabilities, contributions, positions and unknown words are the same."""
    for text, found in zip(texts, page.evaluate(EXPLAIN, [name, texts]), strict=True):
        expected, units = model.explain(text), in_units(text)
        labels = expected.label if expected.decision.several else [expected.label]
        assert found["labels"] == [str(label) for label in labels], text
        assert found["sure"] == expected.sure
        assert [model.classes.tolist()[number] for number in found["order"]] == expected.order
        np.testing.assert_allclose(found["probabilities"], expected.probabilities, atol=atol)
        np.testing.assert_allclose(found["scores"], expected.scores, atol=atol)
        np.testing.assert_allclose(found["baseline"], expected.baseline, atol=atol)
        assert found["unknown"] == list(expected.unknown)
        terms = {(term["term"], term["bigram"]): term for term in found["terms"]}
        assert terms.keys() == {(word.word, word.bigram) for word in expected.words}, text
        for word in expected.words:
            term = terms[word.word, word.bigram]
            assert (term["count"], term["unseen"]) == (word.count, word.unseen)
            assert term["spans"] == [[units[start], units[end]] for start, end in word.spans], (text, word.word)
            np.testing.assert_allclose(term["added"], word.contributions, atol=atol)
        marks = expected.marks()
        assert [[mark["start"], mark["end"]] for mark in found["marks"]] == [
            [units[mark.start], units[mark.end]] for mark in marks
        ]
        np.testing.assert_allclose(
            [mark["added"] for mark in found["marks"]], [mark.added for mark in marks], atol=atol
        )
