"""The paper's datasets, each from a small file in its original format; finding, drawing, what bad files are told."""

import bz2
import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.data import DATASETS, Corpus, dataset_rows, fetch_dataset, load_data, load_dataset
from tfcr.data.datasets.registry import PAPER
from tfcr.data.datasets.fetch import DOWNLOADABLE, READY, TO_BE_ASKED_FOR, how_to_get, state_of
from tfcr.errors import DataError, DownloadError, InputError
from tfcr.system import archives

Pairs = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin with no data and no remembered place."""
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


# the original formats, each with what must be read from it -----------------------------------------------------------


def write_newsgroups(folder: Path) -> Pairs:
    posts = {
        "20news-bydate-test/sci.space/61": "From: a@b\n\nThe moon is f\xe4r.\n",
        "20news-bydate-train/rec.autos/7": "From: c@d\n\nMy car.\n",
        "20news-bydate-train/sci.space/12": "From: e@f\n\nMars.\n",
    }
    write_tar(folder / "20news-bydate.tar.gz", {name: text.encode("latin-1") for name, text in posts.items()})
    return [(name.split("/")[1], text) for name, text in posts.items()]


def zhang_writer(name: str, quoted_number: bool) -> Callable[[Path], Pairs]:
    def write(folder: Path) -> Pairs:
        number = '"{}"' if quoted_number else "{}"
        train = f'{number.format(2)},"A ""title"", with comma","first line\\nsecond line",""\n'
        test = f'{number.format(1)},"Größe","of a thing"\n'
        files = {"classes.txt": "Company\nArtist\n", "readme.txt": "about", "test.csv": test, "train.csv": train}
        write_tar(folder / f"{name}_csv.tgz", {f"{name}_csv/{file}": text.encode() for file, text in files.items()})
        return [("Company", "Größe\nof a thing"), ("Artist", 'A "title", with comma\nfirst line\nsecond line')]

    return write


def amazon_writer(name: str) -> Callable[[Path], Pairs]:
    def write(folder: Path) -> Pairs:
        reviews = [
            {"reviewerID": "A1", "asin": "0001", "helpful": [0, 1], "reviewText": "Gute Größe.", "overall": 5.0},
            {"reviewerID": "A2", "asin": "0001", "reviewText": "", "overall": 3.0},
            {"reviewerID": "A3", "asin": "0002", "reviewText": "It broke.\nTwice.", "overall": 1.0, "summary": "bad"},
        ]
        lines = "".join(json.dumps(review) + "\n" for review in reviews)
        (folder / f"reviews_{name}.json.gz").write_bytes(gzip.compress(lines.encode()))
        (folder / f"meta_{name}.json.gz").write_bytes(gzip.compress(b"{'asin': 'not strict JSON'}\n"))
        return [("5 stars", "Gute Größe."), ("1 star", "It broke.\nTwice.")]

    return write


def write_newsspace(folder: Path) -> Pairs:
    head = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<all_news>'
    first = (
        "<source>Reuters</source><url>http://x/1</url><title>Oil &amp; gas</title><image>none</image>"
        "<category>Business</category><description>Prices r\xf6se.</description><rank>5</rank><pubdate>2004</pubdate>"
    )
    second = (
        "\n<source>BBC</source><url>http://x/2</url><title>Cup final</title><image></image>"
        "<category>Sports</category><description></description><rank>1</rank><pubdate>2005</pubdate>\n"
    )
    text = head + first + second + "</all_news>\n"
    (folder / "newsspace200.xml.bz").write_bytes(bz2.compress(text.encode("latin-1")))
    return [("Business", "Oil & gas\nPrices röse."), ("Sports", "Cup final")]


def write_semeval(folder: Path) -> Pairs:
    years = {
        "twitter-2013train-A.txt": '11\tpositive\t"so it opens\n12\tneutral\tNot Available\n'
        "13\tneutral\tIt\\u2019s ok\n",
        "twitter-2016test-A.txt": "11\tnegative\ta second label\n14\tnegative\tbad day\t\n15\tneutral\n",
        "SemEval2017-task4-test.subtask-A.english.txt": "16\tpositive\tgreat ☺\r\n",
        "sms-2013test-A.txt": "17\tpositive\tno tweet\n",
        "README.txt": "about\n",
    }
    for name, text in years.items():
        (folder / name).write_bytes(text.encode())
    return [
        ("positive", "great ☺"),
        ("positive", '"so it opens'),
        ("neutral", "It’s ok"),
        ("negative", "bad day"),
    ]


def write_replab(folder: Path) -> Pairs:
    (folder / "labels").mkdir()
    (folder / "labels" / "goldstandard.dat").write_text(
        '"tweet_id"\t"entity_id"\t"filtering"\t"polarity"\n'
        '"101"\t"RL2013D01E001"\t"RELATED"\t"POSITIVE"\n'
        '"102"\t"RL2013D01E001"\t"RELATED"\t"NEGATIVE"\n'
        '"103"\t"RL2013D01E001"\t"RELATED"\t"NEUTRAL"\n'
        '"101"\t"RL2013D01E002"\t"RELATED"\t"NEUTRAL"\n'
        '"104"\t"RL2013D01E001"\t"UNRELATED"\t""\n'
    )
    (folder / "tweet_info.dat").write_text("tweet_id\tauthor\tmd5\n101\tx\tabc\n")
    (folder / "tweet_text.tsv").write_text(
        'tweet_id\ttext\n102\tel coche "nuevo" se rompe\n101\t"I ""love"" it"\n104\tother\n105\tno label\n', "utf-8"
    )
    return [("negative", 'el coche "nuevo" se rompe'), ("positive", 'I "love" it')]


def write_odp(folder: Path) -> Pairs:
    (folder / "odptweets-march").write_text("201\tanna\td41d8\tTop/Arts/Music\n202\tbob\td41d9\tKids_and_Teens\n")
    (folder / "odptweets-april").write_text("203\tcarl\td41da\tSports\n")
    (folder / "texts.tsv").write_text("203\tcarl\tgoal!\n201\tanna\ta new song http://t.co/x\n202\tbob\ttoys\n")
    return [("Sports", "goal!"), ("Arts", "a new song http://t.co/x"), ("Kids and Teens", "toys")]


def write_tripadvisor(folder: Path) -> Pairs:
    (folder / "reviews.csv").write_text(
        'id,rating,title,text\n1,50,Fine,"Good food,\nbad music"\n2,3.0,So,so\n3,,None,no stars\n', "utf-8"
    )
    (folder / "more.tsv").write_text("1\tnever again\n4\tnice\n")
    return [("1 star", "never again"), ("4 stars", "nice"), ("5 stars", "Good food,\nbad music"), ("3 stars", "so")]


def write_sentiment(folder: Path) -> Pairs:
    rows = b"2013-01-01\t301\tpos\thappy day\n2013-01-02\t302\tneg\tsad day\n"
    (folder / "sentiment1319.tsv.gz").write_bytes(gzip.compress(rows))
    return [("positive", "happy day"), ("negative", "sad day")]


def write_founta(folder: Path) -> Pairs:
    (folder / "hatespeech_text_label_vote_RESTRICTED_100K.csv").write_text(
        '"a tweet, with ""quotes"""\tabusive\t4\nplain tweet\tnormal\t5\nbuy now\tspam\t3\n', "utf-8"
    )
    (folder / "hatespeech_id_label_PUBLIC_100K.csv").write_text("401,spam\n")
    (folder / "retweets.csv").write_text("1,2,3\n")
    return [("abusive", 'a tweet, with "quotes"'), ("normal", "plain tweet"), ("spam", "buy now")]


ORIGINALS: dict[str, Callable[[Path], Pairs]] = {
    "replab": write_replab,
    "odp": write_odp,
    "rev-rest": write_tripadvisor,
    "rev-attr": write_tripadvisor,
    "rev-hote": write_tripadvisor,
    "rev-book": amazon_writer("Books"),
    "rev-clot": amazon_writer("Clothing_Shoes_and_Jewelry"),
    "rev-home": amazon_writer("Home_and_Kitchen"),
    "semeval": write_semeval,
    "sentiment": write_sentiment,
    "hate": write_founta,
    "ns200": write_newsspace,
    "20ng": write_newsgroups,
    "dbpedia": zhang_writer("dbpedia", quoted_number=False),
    "sogou": zhang_writer("sogou_news", quoted_number=True),
    "yahoo": zhang_writer("yahoo_answers", quoted_number=True),
}


def pairs(corpus: Corpus) -> Pairs:
    return list(zip(corpus.labels, corpus.texts, strict=True))


def test_the_papers_sixteen() -> None:
    assert set(PAPER) == set(ORIGINALS)
    assert len(PAPER) == 16


@pytest.mark.parametrize("name", PAPER)
def test_the_original_format_is_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "data" / name
    folder.mkdir(parents=True)
    expected = ORIGINALS[name](folder)
    assert state_of(name) == READY
    assert pairs(load_dataset(name)) == expected
    elsewhere = folder.rename(tmp_path / "elsewhere")
    assert pairs(load_dataset(name, elsewhere)) == expected
    with pytest.raises(DataError, match=f"the files of the dataset '{name}' are not on this machine"):
        load_dataset(name)


SEVERAL = ("replab", "odp", "rev-rest", "rev-attr", "rev-hote", "semeval")


@pytest.mark.parametrize("name", [name for name in PAPER if name not in SEVERAL])
def test_the_one_file_is_read(name: str, tmp_path: Path) -> None:
    expected = ORIGINALS[name](tmp_path)
    file = next(file for file in tmp_path.iterdir() if not file.name.startswith(("meta_", "retweets", "hatespeech_id")))
    assert pairs(load_dataset(name, file)) == expected


@pytest.mark.parametrize("name", SEVERAL)
def test_archives_of_several_files_are_read(name: str, tmp_path: Path) -> None:
    expected = sorted(ORIGINALS[name](tmp_path))
    files = {f"top/{file.name}": file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert sorted(pairs(load_dataset(name, write_tar(tmp_path / "all.tar.gz", files)))) == expected
    assert sorted(pairs(load_dataset(name, write_zip(tmp_path / "all.zip", files)))) == expected


@pytest.mark.parametrize("name", DATASETS)
def test_every_row_says_where_it_comes_from(name: str) -> None:
    dataset = DATASETS[name]
    assert dataset.page.startswith(("http://", "https://"))
    assert dataset.licence
    assert bool(dataset.files) != (name == "pydocs")
    assert not (dataset.downloads and dataset.ask)
    assert dataset.downloads or dataset.ask or name == "pydocs"
    assert all(file.url.startswith("https://") for file in dataset.downloads)


def test_states_and_how_to_get(tmp_path: Path) -> None:
    assert state_of("pydocs") == READY
    assert state_of("ns200") == DOWNLOADABLE
    assert state_of("hate") == TO_BE_ASKED_FOR
    assert "type tfcr datasets fetch ns200" in how_to_get("ns200")
    assert "ask for access at https://zenodo.org" in how_to_get("hate")
    with pytest.raises(DownloadError, match="'hate' cannot be downloaded: .*--path PLACE"):
        fetch_dataset("hate")


def test_a_place_is_remembered_and_nothing_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = write_founta(tmp_path)
    file = tmp_path / "hatespeech_text_label_vote_RESTRICTED_100K.csv"
    monkeypatch.chdir(tmp_path)
    fetch_dataset("hate", file.name)
    monkeypatch.chdir("/")
    assert pairs(load_dataset("hate")) == expected
    assert fetch_dataset("hate") == file
    assert pairs(load_data(["hate"])) == expected
    file.unlink()
    assert state_of("hate") == TO_BE_ASKED_FOR


def test_a_wrong_place_is_refused_and_the_old_one_kept(tmp_path: Path) -> None:
    write_founta(tmp_path)
    file = tmp_path / "hatespeech_text_label_vote_RESTRICTED_100K.csv"
    fetch_dataset("hate", file)
    (tmp_path / "other.csv").write_text("nothing,of,this\n")
    with pytest.raises(
        DataError, match="holds no document with a text and a label of 'hate'; expected hatespeech_text"
    ):
        fetch_dataset("hate", tmp_path / "other.csv")
    with pytest.raises(DataError, match="nowhere does not exist; expected the files of 'hate'"):
        fetch_dataset("hate", tmp_path / "nowhere")
    assert fetch_dataset("hate") == file


def test_path_goes_with_a_name(tmp_path: Path) -> None:
    expected = write_founta(tmp_path)
    assert pairs(load_data(["hate"], path=tmp_path)) == expected
    with pytest.raises(InputError, match="expected it with a dataset's name: pydocs, replab"):
        load_data(["data.csv"], path=tmp_path)


def test_missing_texts_and_labels_are_counted(tmp_path: Path) -> None:
    write_replab(tmp_path)
    corpus = load_dataset("replab", tmp_path)
    assert corpus.notes == ("1 of 3 rows have no text, or no label of the dataset's: left out",)
    assert corpus.rows == [1, 2]


@given(n=st.integers(1, 40), most=st.integers(1, 50), seed=st.integers(0, 5))
def test_a_sample_is_drawn_in_one_pass(tmp_path_factory: pytest.TempPathFactory, n: int, most: int, seed: int) -> None:
    file = tmp_path_factory.mktemp("reviews") / "reviews.json"
    file.write_text("".join(json.dumps({"reviewText": f"text {i}", "overall": 1 + i % 5}) + "\n" for i in range(n)))
    whole = load_dataset("rev-book", file)
    drawn = load_dataset("rev-book", file, sample=most, seed=seed)
    assert len(whole) == n
    assert len(drawn) == min(n, most)
    assert drawn.rows == sorted(set(drawn.rows))
    assert pairs(drawn) == [pairs(whole)[row - 1] for row in drawn.rows]
    assert drawn.texts == load_dataset("rev-book", file, sample=most, seed=seed).texts
    assert any("drawn with seed" in note for note in drawn.notes) == (most < n)


def test_each_document_is_as_likely_to_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "reviews.json"
    file.write_text("".join(json.dumps({"reviewText": f"text {i}", "overall": 1}) + "\n" for i in range(10)))
    counts = [0] * 10
    for seed in range(400):
        for row in load_dataset("rev-book", file, sample=3, seed=seed).rows:
            counts[row - 1] += 1
    assert min(counts) > 80  # 120 expected, four standard deviations away
    assert max(counts) < 160


def test_halves_of_characters_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "reviews.json").write_text('{"reviewText": "so \\ud83d\\ude00 \\ud83d", "overall": 5}\n')
    (tmp_path / "twitter-2013train-A.txt").write_text("1\tpositive\tso \\ud83d\\ude00 \\ude00\n")
    assert load_dataset("rev-book", tmp_path).texts == ["so \U0001f600 \ufffd"]
    assert load_dataset("semeval", tmp_path).texts == ["so \U0001f600 \ufffd"]


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "reviews.json.gz"
    good = json.dumps({"reviewText": "fine", "overall": 4}) + "\n"
    file.write_bytes(gzip.compress(good.encode() * 3 + b"bad\n"))
    rows = dataset_rows("rev-home", file)
    assert [next(rows).label for _ in range(3)] == ["4 stars"] * 3
    with pytest.raises(DataError, match="line 4: .*expected a JSON object with reviewText and overall"):
        next(rows)


def test_articles_in_elements_of_their_own(tmp_path: Path) -> None:
    article = "<article><title>{0}</title><category>{0}</category><description>text</description></article>"
    (tmp_path / "news.xml").write_text(f"<all_news>{article.format('A')}{article.format('B')}</all_news>")
    assert pairs(load_dataset("ns200", tmp_path)) == [("A", "A\ntext"), ("B", "B\ntext")]


ENTITIES = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY lol "lol">]><a><title>&lol;</title></a>'
TRUNCATED = gzip.compress(b'{"reviewText": "a", "overall": 1.0}\n' * 1000, mtime=0)[:-20]


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("rev-book", "reviews_Books.json.gz", TRUNCATED, "is truncated or damaged .*get the file again"),
        (
            "rev-book",
            "r.json",
            b'{"reviewText": "a"}\n',
            "line 1: no 'overall'; expected a JSON object with reviewText",
        ),
        ("rev-book", "r.json", b'["a"]\n', "line 1: .*; expected a JSON object with reviewText and overall"),
        (
            "rev-book",
            "r.json",
            b'{"reviewText": "a", "overall": 9}\n',
            "no document with a text and a label .1 without",
        ),
        ("rev-book", "notes.txt.gz", b"x", None),
        ("ns200", "n.xml", b"<all_news><title>a</title>", "n.xml is no XML, or truncated .no element found"),
        ("ns200", "n.xml", b"no xml", "n.xml is no XML, or truncated"),
        ("ns200", "n.xml", ENTITIES.encode(), "declares the entity 'lol'; expected plain XML"),
        ("dbpedia", "dbpedia_csv.tgz", b"<html>", "is truncated or no tar archive .*get the file again"),
        ("dbpedia", "train.csv", b'x,"a","b"\n', "found the class 'x'; expected 1 to 99"),
        ("20ng", "20news-bydate.tar.gz", b"<html>", "is truncated or no tar archive"),
        ("semeval", "twitter-2013train-A.txt", b"\n", "hold no document with a text and a label"),
        ("replab", "labels.tsv", b"tweet_id\tpolarity\n1\tPOSITIVE\n", "none has texts; expected a tab-separated file"),
        ("odp", "texts.tsv", b"12\tsome text\n", "none has labels; expected a tab-separated file of ids and labels"),
        ("davidson", "labeled_data.csv", b"tweet,class\na b,hate\nc,0\n", "found the class 'hate'; expected 0 to 2"),
        ("davidson", "labeled_data.csv", b"tweet,class\na b,3\nc,0\n", "found the class 3; expected 0 to 2"),
        ("hate", "hatespeech_text_label_vote.csv", b"text\tlabel\na\tb\n", "no document with a text and a label"),
    ],
)
def test_bad_files(name: str, file: str, content: bytes, message: str | None, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(
        DataError, match=message or "holds notes.txt.gz; expected a file such as reviews_Books"
    ) as caught:
        load_dataset(name, tmp_path)
    assert "\n" not in str(caught.value)


def test_emoji_without_names(tmp_path: Path) -> None:
    for part in ("train", "val", "test"):
        (tmp_path / f"{part}_text.txt").write_text("hello\n")
        (tmp_path / f"{part}_labels.txt").write_text("0\n")
    (tmp_path / "mapping.txt").write_text("0 heart\n")
    with pytest.raises(DataError, match="mapping.txt: found '0 heart'; expected a number, an emoji and its name"):
        load_dataset("emoji", tmp_path)


@pytest.mark.parametrize("name", [name for name in PAPER if name != "20ng"])
def test_an_empty_folder_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds nothing"):
        load_dataset(name, tmp_path / "empty")


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


@given(data=st.data(), n=st.integers(1, 30))
def test_joining_finds_every_pair(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n: int) -> None:
    folder = tmp_path_factory.mktemp("odp")
    labels = {number: data.draw(st.sampled_from(("Arts", "Home", "World"))) for number in range(n)}
    texts = {number: f"text {number}" for number in data.draw(st.permutations(range(n + 5)))[: n + 2]}
    (folder / "labels").write_text("".join(f"{number}\tx\ty\t{label}\n" for number, label in labels.items()))
    (folder / "texts").write_text("".join(f"{number}\t{text}\n" for number, text in texts.items()))
    expected = [(labels[number], text) for number, text in texts.items() if number in labels]
    assert [(row.label, row.text) for row in dataset_rows("odp", folder) if row.text] == expected


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


def test_bytes_that_are_not_utf8_do_not_stop_the_reading(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_bytes(b"\xef\xbb\xbfstars,text\n5,caf\xe9\n")
    assert pairs(load_dataset("rev-rest", tmp_path)) == [("5 stars", "caf\ufffd")]
