"""Pictures of words."""

import re
from xml.etree import ElementTree

from tfcr.report.word_bars import MOST_BARS, draw_words


def test_a_picture_holds_no_control_characters_and_not_too_many_words() -> None:
    words = [(f"w{number} \x1b[31m", 1.0) for number in range(1000)]
    picture = draw_words({"tfcr": {"\x07\ud800 <b>": words}}, "svg")
    ElementTree.fromstring(picture)
    assert len(re.findall(rb"<!-- w\d+ \?\[31m -->", picture)) == MOST_BARS
