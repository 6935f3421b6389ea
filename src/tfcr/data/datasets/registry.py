"""The datasets that have a name in tfcr, one row each in DATASETS: the paper's sixteen, and some others.

To add one, write a row: what it is, where it comes from, and the reader that turns its files into rows. Sources and
licences are as the paper and the sources' own pages state them. Addresses have not been tried, unless
`Download.tried` says when.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tfcr.data.corpus import Corpus, read_corpus
from tfcr.data.datasets.delimited import ABUSE, DIRECTORY, POLARITIES, SENTIMENTS, STARS, Column, Delimited, Joined
from tfcr.data.datasets.originals import amazon_rows, news_rows, semeval_rows, zhang_rows
from tfcr.data.datasets.pydocs import load_pydocs
from tfcr.data.datasets.rows import Row
from tfcr.data.options import ReadOptions
from tfcr.data.readers import label_lines
from tfcr.errors import DataError
from tfcr.system.download import Download
from tfcr.system.limits import is_folder, is_there

UNKNOWN = "not stated"


@dataclass(frozen=True)
class Dataset:
    """A dataset: what it is, where it comes from, and how its files are read.

    Attributes
    ----------
    what
        Its description in a line.
    read
        Yields its rows from the place of its files: a file, a folder or an archive.
    documents, classes, language
        As stated by the paper or the source; rounded where they say "nearly".
    paper
        What the paper says about it; empty if the paper does not use it.
    page
        Web page of its source.
    licence
        As far as known.
    files
        What its folder below TFCR_DATA, or the path that a user gives, holds; empty if it needs no files.
    downloads
        What `fetch_dataset` downloads; empty if it must be asked for.
    ask
        How to get what cannot be downloaded.
    tokenizer
        The tokeniser it needs, if not the default.
    """

    what: str
    read: Callable[[Path], Iterator[Row]]
    documents: int
    classes: int
    language: str = "English"
    paper: str = ""
    page: str = ""
    licence: str = UNKNOWN
    files: str = ""
    downloads: tuple[Download, ...] = ()
    ask: str = ""
    tokenizer: str = ""


# readers of files in a general format -------------------------------------------------------------------------------


def _rows(corpus: Corpus) -> Iterator[Row]:
    return (Row(label, text) for label, text in zip(corpus.labels, corpus.texts, strict=True))


def _read_pydocs(place: Path) -> Iterator[Row]:
    return _rows(load_pydocs())


def _read_newsgroups(place: Path) -> Iterator[Row]:
    archive = place / "20news-bydate.tar.gz"
    return _rows(read_corpus(archive if is_there(archive) else place, encoding="latin-1"))


def _read_davidson(place: Path) -> Iterator[Row]:
    file = place / "labeled_data.csv" if is_folder(place) else place
    return _renamed(read_corpus(file, text=("tweet",), label="class"), ["hate", "offensive", "neither"])


def _read_emoji(folder: Path) -> Iterator[Row]:
    parts = ("train", "val", "test")
    corpus = read_corpus(
        *(folder / f"{part}_text.txt" for part in parts),
        format="lines",
        label_files=tuple(str(folder / f"{part}_labels.txt") for part in parts),
    )
    return _renamed(corpus, [_emoji_name(line, folder) for line in label_lines(folder / "mapping.txt", ReadOptions())])


def _emoji_name(line: str, folder: Path) -> str:
    cells = line.split("\t")
    if len(cells) < 3:
        raise DataError(
            f"{folder / 'mapping.txt'}: found {line!r}; expected a number, an emoji and its name, with tabs"
        )
    return cells[2].strip("_")


def _read_thucnews(folder: Path) -> Iterator[Row]:
    files = (folder / "dev.txt", folder / "test.txt")
    corpus = read_corpus(*files, text=("1",), label="2", format="tsv", header=False, quoting=False)
    return _renamed(corpus, list(label_lines(folder / "class.txt", ReadOptions())))


def _renamed(corpus: Corpus, names: list[str]) -> Iterator[Row]:
    """Yield the rows, class numbers replaced by names."""
    numbered = {str(number): name for number, name in enumerate(names)}
    for label, text in zip(corpus.labels, corpus.texts, strict=True):
        if str(label) not in numbered:
            raise DataError(f"{corpus.name}: found the class {label!r}; expected 0 to {len(names) - 1}")
        yield Row(numbered[str(label)], text)


# what several rows share ---------------------------------------------------------------------------------------------


_RATING = Column(("stars", "star_rating", "rating", "overall", "score"), 1)
_TRIPADVISOR = Delimited(r".*\.(csv|tsv|txt)(\.gz)?", _RATING, STARS)
_SENTIMENT = Delimited(r".*\.(csv|tsv|txt)(\.gz)?", Column(("sentiment", "label", "polarity"), 1), SENTIMENTS)
_FOUNTA = Delimited(
    r"hatespeech_text_label_vote.*\.csv", Column(("label", "class"), 2), ABUSE, Column(("text", "tweet"), 1)
)
_REPLAB = Joined(Column(("polarity",), 3), POLARITIES)
_ODP = Joined(Column(("odp_category", "category"), 4), DIRECTORY)


def _tripadvisor(what: str, documents: int) -> Dataset:
    return Dataset(
        f"TripAdvisor reviews of {what}, by stars",
        _TRIPADVISOR.rows,
        documents,
        5,
        paper=f"{documents:,} reviews",
        page="https://doi.org/10.7717/peerj-cs.225",
        licence=f"{UNKNOWN}; the texts are their authors' and TripAdvisor's",
        files="delimited files of stars (1 to 5) and texts: with a header, or stars first and text last",
        ask="ask the authors of the article (Jiang and Zubiaga, 2019) for the reviews",
    )


def _amazon(what: str, name: str, documents: int) -> Dataset:
    file = f"reviews_{name}.json.gz"
    return Dataset(
        f"Amazon reviews of {what}, by stars",
        amazon_rows,
        documents,
        5,
        paper=f"{documents:,} reviews",
        page="https://jmcauley.ucsd.edu/data/amazon/",
        licence=f"{UNKNOWN}; the source asks to be cited (McAuley et al. 2015, He and McAuley 2016)",
        files=file,
        downloads=(Download(f"https://snap.stanford.edu/data/amazon/productGraph/categoryFiles/{file}", file),),
    )


def _zhang(what: str, name: str, documents: int, classes: int, licence: str, language: str = "English") -> Dataset:
    file = f"{name}_csv.tgz"
    return Dataset(
        what,
        zhang_rows,
        documents,
        classes,
        language,
        paper=f"{documents:,} documents",
        page="https://arxiv.org/abs/1509.01626",
        licence=licence,
        files=f"{file} (or .tar.gz), or train.csv, test.csv and classes.txt",
        downloads=(Download(f"https://s3.amazonaws.com/fast-ai-nlp/{file}", file),),
    )


def _from_github(repository: str, *names: str) -> tuple[Download, ...]:
    folder = f"https://raw.githubusercontent.com/{repository}"
    return tuple(Download(f"{folder}/{name}", name) for name in names)


_TWITTER = "Twitter's terms: texts may not be passed on, only ids"

DATASETS: dict[str, Dataset] = {
    "pydocs": Dataset(
        "docstrings of Python's standard library, by module",
        _read_pydocs,
        3_397,
        14,
        page="https://docs.python.org/3/library/",
        licence="PSF-2.0",
    ),
    "replab": Dataset(
        "RepLab 2013: tweets about companies, by polarity for their reputation",
        _REPLAB.rows,
        84_745,
        3,
        "English and Spanish",
        paper="84,745 tweets that could still be had, of more than 140,000",
        page="http://nlp.uned.es/replab2013/",
        licence=_TWITTER,
        files="tab-separated files: one of tweet_id and polarity, one of tweet_id and text, with headers",
        ask="ids and labels are on the page (replab2013-dataset.tar.gz); ask its organisers for the texts, or get them "
        "from Twitter by their ids",
    ),
    "odp": Dataset(
        "ODPtweets: tweets by the category of the page they link to",
        _ODP.rows,
        25_000_000,
        17,
        paper="nearly 25 million tweets",
        page="https://www.zubiaga.org/datasets/odptweets/",
        licence=_TWITTER,
        files="tab-separated files without a header: tweet_id, username, md5, category; and tweet_id first, text last",
        ask="ids and categories are on the page; get the texts from Twitter by their ids, or ask the author",
    ),
    "rev-rest": _tripadvisor("restaurants", 14_542_460),
    "rev-attr": _tripadvisor("attractions", 6_358_253),
    "rev-hote": _tripadvisor("hotels", 3_598_292),
    "rev-book": _amazon("books", "Books", 22_507_155),
    "rev-clot": _amazon("clothing", "Clothing_Shoes_and_Jewelry", 5_748_920),
    "rev-home": _amazon("homeware", "Home_and_Kitchen", 4_253_926),
    "semeval": Dataset(
        "SemEval 2013 to 2017, task A: sentiment of tweets",
        semeval_rows,
        61_767,
        3,
        paper="61,767 tweets",
        page="https://alt.qcri.org/semeval2017/task4/",
        licence=_TWITTER,
        files="twitter-2013train-A.txt and so on, one file per year and part: id, label, text, tab-separated",
        ask="take 'data and tools' on the page, with the files of all years",
    ),
    "sentiment": Dataset(
        "sentiment1319: tweets of 2013 to 2019, labelled by their emoticons",
        _SENTIMENT.rows,
        33_203_834,
        2,
        paper="33,203,834 tweets",
        page="http://www.zubiaga.org/datasets/sentiment1319/",
        licence=_TWITTER,
        files="delimited files of positive or negative (pos, neg) and texts: with a header, or text last",
        ask="ask the author of the page; the tweets come from https://archive.org/details/twitterstream",
    ),
    "hate": Dataset(
        "Founta et al.: abusive, hateful, spam and normal tweets",
        _FOUNTA.rows,
        99_996,
        4,
        paper="99,996 tweets",
        page="https://zenodo.org/records/3678559",
        licence=_TWITTER,
        files="hatespeech_text_label_vote_RESTRICTED_100K.csv: text, label, votes, tab-separated, no header",
        ask="the texts are restricted: ask for access at https://zenodo.org/records/3678576",
    ),
    "ns200": Dataset(
        "AG's corpus of news articles (newsspace200), by category",
        news_rows,
        500_000,
        14,
        paper="nearly 500,000 articles",
        page="http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html",
        licence="for research and other non-commercial use, says the source",
        files="newsspace200.xml.bz, or the .xml",
        downloads=(Download("https://www.di.unipi.it/~gulli/newsspace200.xml.bz", "newsspace200.xml.bz"),),
    ),
    "20ng": Dataset(
        "20 Newsgroups, by date",
        _read_newsgroups,
        18_846,
        20,
        paper="nearly 20,000 posts",
        page="http://qwone.com/~jason/20Newsgroups/",
        files="20news-bydate.tar.gz, or its folders",
        downloads=(
            Download(  # the copy that scikit-learn downloads, with its sum
                "https://ndownloader.figshare.com/files/5975967",
                "20news-bydate.tar.gz",
                sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            ),
        ),
    ),
    "dbpedia": _zhang(
        "DBpedia abstracts, by kind of thing", "dbpedia", 630_000, 14, "CC BY-SA 3.0 and GFDL, as DBpedia itself"
    ),
    "sogou": _zhang("Sogou news, by topic", "sogou_news", 510_000, 5, UNKNOWN, "Chinese, written in Pinyin"),
    "yahoo": _zhang(
        "Yahoo! Answers: questions and their best answers, by topic",
        "yahoo_answers",
        1_460_000,
        10,
        "Yahoo! Webscope's: for research only",
    ),
    "davidson": Dataset(
        "hate speech and offensive language in tweets",
        _read_davidson,
        24_783,
        3,
        page="https://github.com/t-davidson/hate-speech-and-offensive-language",
        licence="MIT",
        files="labeled_data.csv",
        downloads=(
            Download(
                "https://raw.githubusercontent.com/t-davidson/hate-speech-and-offensive-language/master/data/"
                "labeled_data.csv",
                "labeled_data.csv",
            ),
        ),
    ),
    "agnews": Dataset(
        "AG news, test part",
        partial(zhang_rows, escaped=False),  # its texts hold bare backslashes, some before an n
        7_600,
        4,
        page="https://github.com/mhjabreel/CharCnn_Keras",
        licence="for research and other non-commercial use, says the source of the articles",
        files="test.csv and classes.txt",
        downloads=_from_github("mhjabreel/CharCnn_Keras/master/data/ag_news_csv", "test.csv", "classes.txt"),
    ),
    "emoji": Dataset(
        "tweets by the emoji they held",
        _read_emoji,
        100_000,
        20,
        page="https://github.com/cardiffnlp/tweeteval",
        licence=_TWITTER,
        files="{train,val,test}_text.txt, {train,val,test}_labels.txt and mapping.txt",
        downloads=_from_github(
            "cardiffnlp/tweeteval/main/datasets/emoji",
            "mapping.txt",
            *(f"{part}_{what}.txt" for part in ("train", "val", "test") for what in ("text", "labels")),
        ),
    ),
    "thucnews": Dataset(
        "Chinese news titles",
        _read_thucnews,
        20_000,
        10,
        "Chinese",
        page="https://github.com/649453932/Chinese-Text-Classification-Pytorch",
        licence="MIT",
        files="dev.txt, test.txt and class.txt",
        downloads=_from_github(
            "649453932/Chinese-Text-Classification-Pytorch/master/THUCNews/data", "dev.txt", "test.txt", "class.txt"
        ),
        tokenizer="jieba",
    ),
}

PAPER = tuple(name for name, dataset in DATASETS.items() if dataset.paper)
"""The names of the paper's sixteen."""
