"""The frame of all pages: nothing is loaded, and nothing but our own scripts runs."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.pages import STEPS, as_json_block, page, resource, strength


def policy(html: str) -> dict[str, str]:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert found
    parts = (part.strip().partition(" ") for part in unescape(found[1]).split(";"))
    return {name: allowed for name, _, allowed in parts}


def hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_only_our_own_style_and_scripts_are_allowed() -> None:
    html = page("A & B", "<p>body</p>", scripts=["let a = 1;", "let b = 2;"])
    assert "<title>A &amp; B</title>" in html
    allowed = policy(html)
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == f"{hash_of('let a = 1;')} {hash_of('let b = 2;')}"
    assert allowed["style-src"] == hash_of(resource("style.css"))
    assert f"<style>{resource('style.css')}</style>" in html
    assert policy(page("x", ""))["script-src"] == "'none'"


def test_a_dollar_in_texts_is_no_place_holder() -> None:
    assert "costs $5 $body" in page("costs $5 $body", "<p>$title</p>")


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_data_cannot_end_its_element(data: object) -> None:
    block = as_json_block(json.dumps(data), "table")
    inside = block.removeprefix('<script type="application/json" id="table">').removesuffix("</script>")
    assert "<" not in inside
    assert json.loads(inside) == data


@pytest.mark.parametrize(("value", "step"), [(0, 0), (0.01, 0), (0.2, 1), (0.21, 2), (-1, STEPS), (1, STEPS)])
def test_steps_of_colour(value: float, step: int) -> None:
    assert strength(value, 1.0) == step


def test_nothing_is_coloured_where_all_is_zero() -> None:
    assert strength(0.0, 0.0) == 0


def test_the_style_is_of_this_page_alone() -> None:
    """A notebook shows it beside others: rules are for elements of the class tfcr, or the body of a page of ours."""
    css = re.sub(r"@media[^{]*\{|/\*.*?\*/", "", resource("style.css"), flags=re.DOTALL)
    selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{", css) for one in rule.split(",")]
    assert {one for one in selectors if not one.startswith((".tfcr", "main.tfcr"))} == {"body:has(> main.tfcr)"}
