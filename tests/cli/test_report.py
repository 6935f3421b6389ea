"""``tfcr report``."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.runner import Run


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of three classes with markup in texts and in a label, of which a third is unclear."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("posts") / "posts.csv"
    labels = random.choice(["<b>bill</b>", "order", "שלום"], 240).tolist()
    words = [label.strip("</b>") if random.random() < 0.7 else "hello" for label in labels]
    texts = [f"<script>alert(1)</script> {word} w{random.integers(40)}" for word in words]
    rows = [f'{number},"{text}",{label}\n' for number, (text, label) in enumerate(zip(texts, labels, strict=True))]
    path.write_text("id,text,queue\n" + "".join(rows), "utf-8")
    return path


def trained(run: Run, posts: Path, folder: Path, *options: object) -> Path:
    result = run("train", posts, "--label", "queue", "--preset", "fast", "-o", folder, *options)
    assert result.status == 0, result.err
    return folder


def shown(page: Path) -> str:
    """Return the text of a page, after checking that nothing of the data is markup."""
    source = page.read_text("utf-8")
    assert "<script" not in source
    assert "<b>bill" not in source
    assert not re.search(r'(?:src|href)="(?!#|data:)', source)
    return " ".join(html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", source, flags=re.DOTALL)).split())


def test_a_model_alone_shows_its_cross_validation(run: Run, posts: Path, tmp_path: Path) -> None:
    model = trained(run, posts, tmp_path / "model")
    result = run("report", model, "-o", tmp_path / "report.html")
    assert result.status == 0, result.err
    text = shown(tmp_path / "report.html")
    assert "Report on model" in text
    assert "Measured on 240 texts, by 5-fold cross-validation: trained 5 times" in text
    assert "What it confuses" in text
    assert "The hardest rows" in text
    assert "<script>alert" not in text  # a model keeps no text
    assert "<b>bill</b>" in text


def test_the_training_texts_are_cross_validated(run: Run, posts: Path, tmp_path: Path) -> None:
    model = trained(run, posts, tmp_path / "model", "--no-cv")
    result = run("report", model, posts, "--cv", 3, "--curve", "-o", tmp_path / "report.html")
    assert "the model was trained on 240 of these 240 texts: its settings are cross-validated" in result.err
    text = shown(tmp_path / "report.html")
    assert "Measured on 240 texts, by 3-fold cross-validation: trained 3 times" in text
    assert "The most confident mistakes" in text
    assert "<script>alert(1)</script> hello" in text
    assert "Would more texts help? From" in text
    assert re.search(r"Annotated as שלום, the model says order: \d|Annotated as order, the model says שלום: \d", text)


def test_other_texts_test_the_model(run: Run, posts: Path, tmp_path: Path) -> None:
    model = trained(run, posts, tmp_path / "model", "--no-cv")
    new = tmp_path / "new.csv"
    new.write_text("text,queue\nbill now,<b>bill</b>\norder now,order\nan order,<b>bill</b>\n", "utf-8")
    assert run("report", model, new, "-o", tmp_path / "report.html").status == 0
    text = shown(tmp_path / "report.html")
    assert "Measured on 3 texts, those of " in text
    assert "Of 100 texts, 67 get the right label" in text


def test_a_model_that_was_not_measured_says_so(run: Run, posts: Path, tmp_path: Path) -> None:
    model = trained(run, posts, tmp_path / "model", "--no-cv")
    assert run("report", model, "-o", tmp_path / "report.html").status == 0
    text = shown(tmp_path / "report.html")
    assert "was not measured when it was trained" in text
    assert "The words of each class" in text


def test_several_labels(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "several.csv"
    data.write_text("text,label\n" + "".join(f"a b {n},x;y\na {n},x\nb {n},y\n" for n in range(8)))
    options = ("--label-separator", ";")
    assert run("train", data, *options, "--preset", "fast", "--cv", 2, "-o", tmp_path / "model").status == 0
    for call in ((), (data,)):
        result = run("report", tmp_path / "model", *call, "-o", tmp_path / "report.html")
        assert result.status == 0, result.err
        text = shown(tmp_path / "report.html")
        assert "get all labels right and no other" in text
        assert "What it confuses" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "report.txt"], "found -o report.txt; expected a file that ends in .html"),
        (["-o", "nowhere/report.html"], "the folder nowhere does not exist"),
        (["--curve"], "found --curve without data, but it is for labelled texts"),
        (["--label", "queue"], "found --label without data"),
        (["missing.csv"], "missing.csv does not exist"),
    ],
)
def test_bad_calls(
    run: Run, model: Path, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("report", model, *arguments)
    assert result.status == 2
    assert message in result.err
    assert not list(tmp_path.iterdir())


def test_numbers_as_labels_get_their_scores_from_a_file_of_text(run: Run, tmp_path: Path) -> None:
    rows = [(f"{'good' if number % 2 else 'bad'} w{number % 7}", number % 2) for number in range(60)]
    data, other = tmp_path / "data.jsonl", tmp_path / "other.jsonl"
    data.write_text("".join(f'{{"text": "{text}", "queue": {label}}}\n' for text, label in rows))
    other.write_text("".join(f'{{"text": "{text} new", "queue": "{label}"}}\n' for text, label in rows))
    model = trained(run, data, tmp_path / "model", "--no-cv")
    assert run("report", model, other, "-o", tmp_path / "report.html").status == 0
    assert "interval of F1 0 1.000 1.000 1.000" in shown(tmp_path / "report.html")


def test_labels_that_are_none_of_the_model_are_refused(run: Run, posts: Path, tmp_path: Path) -> None:
    model = trained(run, posts, tmp_path / "model", "--no-cv")
    new = tmp_path / "new.csv"
    new.write_text("text,queue\nbill now,1\norder now,2\n", "utf-8")
    result = run("report", model, new, "-o", tmp_path / "report.html")
    assert result.status == 2
    assert "found the labels 1, 2; expected those of the model, <b>bill</b>, order" in result.err
    assert "--label-map" in result.err
    assert not (tmp_path / "report.html").exists()
