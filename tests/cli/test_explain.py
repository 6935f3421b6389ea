"""``tfcr explain``."""

import html
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.runner import Run
from tfcr.cli.explain import marked_words, print_explanation
from tfcr.trained.model import TrainedModel


def test_explain(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("explain", model, "w0_1 w0_2 strange")
    assert result.out.startswith("class 0\n")
    assert "not known: strange" in result.out
    parsed = json.loads(run("explain", model, "w0_1 w0_2 strange", "--json").out)
    for label, score in parsed["scores"].items():
        total = parsed["baseline"][label] + sum(word["contributions"][label] for word in parsed["words"])
        assert total == pytest.approx(score, abs=1e-6)
    monkeypatch.setattr("sys.stdin", io.StringIO("w1_1"))
    assert "w1_1" in run("explain", model, "-").out


def test_what_changes_without_a_word(run: Run, model: Path) -> None:
    result = run("explain", model, "w0_1 w1_1 w0_2", "--without", "w0_1")
    assert "\nwithout w0_1: " in result.out
    parsed = json.loads(run("explain", model, "w0_1 w1_1 w0_2", "--without", "w0_1", "--json").out)
    rest = json.loads(run("explain", model, "w1_1 w0_2", "--json").out)
    assert parsed["without"].pop("word") == "w0_1"
    assert parsed["without"]["scores"] == pytest.approx(rest["scores"])


def test_how_a_label_followed_is_told(run: Run, model: Path) -> None:
    result = run("explain", model, "w0_1 w0_2")
    assert "probability of class 0: 0." in result.out
    assert "picked: the largest score; the runner-up is class " in result.out
    parsed = json.loads(run("explain", model, "w0_1 w0_2", "--json").out)
    assert parsed["sure"] is True
    assert parsed["runner_up"] in parsed["scores"]
    assert sum(parsed["probabilities"].values()) == pytest.approx(1)


def test_rows_of_a_file(run: Run, model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("id,text\n" + "".join(f"{n},w{n % 3}_1\n" for n in range(30)) + "x,\n")
    result = run("explain", model, "--file", new)
    assert result.out.count("\nrow ") + 1 == 20
    assert "these are the first rows of" in result.err
    assert "new.csv; --rows 21-31 explains others" in result.err
    lines = run("explain", model, "--file", new, "--rows", "2,30-31", "--json").out.splitlines()
    assert [json.loads(line)["row"] for line in lines] == [2, 30]
    assert json.loads(lines[0])["words"] == json.loads(run("explain", model, "w1_1", "--json").out)["words"]
    assert (
        "1 of these rows have no text, the first is row 31" in run("explain", model, "--file", new, "--rows", "31").err
    )


def test_a_page_runs_nothing_of_what_it_shows(run: Run, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    result = run("explain", model, "<script>w0_1</script> & w0_2 \u202e \ud800", "--html", page)
    assert result.status == 0
    text = page.read_text("utf-8")
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "script-src 'none'" in html.unescape(text)
    assert 'src="http' not in text
    assert text.count("<mark class=") >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "found no text; expected one of them"),
        (["w0_1", "--file", "new.csv"], "found a text and --file"),
        (["w0_1", "--rows", "2"], "found --rows along with a text, but it is for --file"),
        (["--file", "new.csv", "--without", "x"], "found --without along with --file"),
        (["--file", "new.csv", "--rows", "0"], "expected rows from 1 on"),
        (["--file", "new.csv", "--rows", "3-1"], "expected rows from 1 on"),
        (["--file", "new.csv", "--rows", "a"], "expected numbers and ranges of rows, such as 3,7,10-12"),
        (["--file", "new.csv", "--rows", "1-99999"], "expected at most 10,000 at once"),
        (["--file", "new.csv", "--rows", "9"], "has 1 rows; expected some of --rows 9"),
        (["w0_1", "--without", "w0_2"], "found no 'w0_2' in the text; expected one of its words to leave out"),
        (["w0_1", "--html", "why.txt"], "found --html why.txt; expected a file that ends in .html"),
        (["w0_1", "--html", "nowhere/why.html"], "the folder nowhere does not exist"),
    ],
)
def test_bad_calls(
    run: Run, model: Path, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.csv").write_text("text\nw0_1\n")
    result = run("explain", model, *arguments)
    assert result.status == 2
    assert message in result.err
    assert len(result.err.splitlines()[-1]) < 400


def test_a_terminal_shows_words_marked(model: Path) -> None:
    told = TrainedModel.load(model).explain("w0_1 w0_2 w1_1 \x1b[31m")
    text = marked_words(told)
    assert text.plain.startswith(f"w0_1 w0_2 w1_1 \\x1b[31m\n\nbold speaks for {told.label}, italic against it")
    styles = {text.plain[span.start : span.end]: str(span.style) for span in text.spans}
    signs = {told.text[mark.start : mark.end]: mark.added > 0 for mark in told.marks()}
    assert {word: "bold" in styles[word] for word in signs if word in styles} == {
        word: sign for word, sign in signs.items() if word in styles
    }


def test_terms_of_one_spelling_are_shown_apart(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = TrainedModel.load(model).explain("w0_1 w0_2")
    again = replace(found.words[0], contributions=found.words[0].contributions / 2)
    print_explanation(replace(found, words=(*found.words, again)), 1)
    assert "(2 more words)" in capsys.readouterr().out
