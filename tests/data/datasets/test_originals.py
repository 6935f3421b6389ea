"""The quirks of the paper's original formats."""

import csv
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.datasets.files import pairs, write_tar
from tfcr.data import load_dataset
from tfcr.data.datasets import originals
from tfcr.data.datasets.originals import news_rows
from tfcr.errors import DataError
from tfcr.system import archives


def test_articles_in_elements_of_their_own(tmp_path: Path) -> None:
    article = "<article><title>{0}</title><category>{0}</category><description>text</description></article>"
    (tmp_path / "news.xml").write_text(f"<all_news>{article.format('A')}{article.format('B')}</all_news>")
    assert pairs(load_dataset("ns200", tmp_path)) == [("A", "A\ntext"), ("B", "B\ntext")]


TEXTS = st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip)


XML_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1).filter(str.strip)


@given(rows=st.lists(st.tuples(st.integers(1, 4), TEXTS, TEXTS), min_size=1))
def test_whatever_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("zhang")
    with (folder / "test.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    expected = [(f"class {number}", f"{title}\n{text}") for number, title, text in rows]
    assert pairs(load_dataset("agnews", folder)) == expected


@given(articles=st.lists(st.tuples(XML_TEXTS, XML_TEXTS), min_size=1), chunk=st.integers(1, 60))
def test_xml_is_read_whatever_its_chunks(
    tmp_path_factory: pytest.TempPathFactory, articles: list[tuple[str, str]], chunk: int
) -> None:
    file = tmp_path_factory.mktemp("news") / "news.xml"
    elements = [
        f"<title>{escape(text)}</title><image/><category>{escape(label)}</category>" for label, text in articles
    ]
    file.write_text(f"<all_news>\n{' '.join(elements)}</all_news>", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archives, "CHUNK", chunk)
        assert pairs(load_dataset("ns200", file)) == articles


def test_a_zhang_archive_that_is_another(tmp_path: Path) -> None:
    other = write_tar(tmp_path / "other.tar.gz", {f"x/{number}.txt": b"text" for number in range(9)})
    with pytest.raises(DataError, match="holds x/0.txt, .*, …; expected train.csv or test.csv"):
        load_dataset("yahoo", other)


def test_classes_without_names_and_beyond_them(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text('1,"a"\n3,"b"\n')
    assert load_dataset("sogou", tmp_path).labels == ["class 1", "class 3"]
    (tmp_path / "classes.txt").write_text("one\ntwo\n")
    with pytest.raises(DataError, match="test.csv: found the class '3'; expected 1 to 2, a line of classes.txt"):
        load_dataset("sogou", tmp_path)


def test_a_copy_with_bare_texts_counts_its_classes_from_0(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("1,a text, with comma\n0,another\n")
    (tmp_path / "classes.txt").write_text("Company\nArtist\n")
    assert pairs(load_dataset("dbpedia", tmp_path)) == [("Artist", "a text, with comma"), ("Company", "another")]


@pytest.mark.parametrize("encoding", ["nonsense", "utf-7", "hex", "big5", "idna"])
def test_xml_in_an_unknown_encoding(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "news.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><all><title>a</title></all>')
    with pytest.raises(DataError, match="news.xml is not valid XML, or is truncated"):
        list(news_rows(tmp_path / "news.xml"))


@pytest.mark.parametrize(
    "content",
    [
        "<title>" + "word " * 9000,
        '<title a="' + "word " * 90_000,
        "<a>" * 200,
        "".join(f"<a{n}/>" for n in range(2000)),
    ],
)
def test_one_huge_element_is_refused(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "MOST_ARTICLE", 10_000)
    monkeypatch.setattr(archives, "CHUNK", 1000)
    (tmp_path / "news.xml").write_text(f"<all>{content}")
    with pytest.raises(DataError, match="in one place; expected news articles"):
        list(news_rows(tmp_path / "news.xml"))
