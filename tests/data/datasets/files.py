"""A small file of each of the paper's datasets in its original format, and what must be read from it."""

import bz2
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tfcr.data import Corpus

Pairs = list[tuple[str, str]]


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
