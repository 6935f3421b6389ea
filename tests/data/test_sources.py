"""What a user may name as DATA."""

import gzip
import io
import os
from pathlib import Path

import pytest

from tests.data.datasets.files import pairs as dataset_pairs
from tests.data.datasets.files import write_founta
from tfcr.data import Corpus, ReadOptions, load_data, read_corpus, sources
from tfcr.data.sources import load_pieces, load_texts
from tfcr.errors import DataError, InputError


def test_path_goes_with_a_name(tmp_path: Path) -> None:
    expected = write_founta(tmp_path)
    assert dataset_pairs(load_data(["hate"], path=tmp_path)) == expected
    with pytest.raises(InputError, match="expected it with a dataset's name: pydocs, replab"):
        load_data(["data.csv"], path=tmp_path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give two files, and none of any dataset."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "none"))
    Path("a.csv").write_text("text,label\na,x\n")
    Path("sub").mkdir()
    Path("sub/b.csv").write_text("tweet,class\nb,y\n")
    return tmp_path


def test_a_path_then_a_glob_then_a_dataset_then_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "load_dataset", lambda name, path: Corpus([f"dataset {name}"], ["x"]))
    assert load_data(["pydocs"]).texts == ["dataset pydocs"]
    Path("pydocs").write_text("text,label\nfile,x\n")
    assert load_data(["pydocs"]).texts == ["file"]
    Path("[a].csv").write_text("text,label\nbrackets,x\n")
    assert load_data(["[a].csv"]).texts == ["brackets"]
    Path("[a].csv").unlink()
    assert load_data(["[a].csv"]).texts == ["a"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text,label\nstdin,x\n")))
    assert load_data(["-"]).texts == ["stdin"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_is_refused_without_waiting_for_a_writer(folder: Path) -> None:
    os.mkfifo("pipe.tsv")
    with pytest.raises(DataError, match=r"pipe.tsv is a pipe; expected a file, or standard input: give - instead"):
        load_data(["pipe.tsv"])


@pytest.mark.parametrize("name", ["z" * 300, "long.csv"])
def test_a_name_that_no_file_can_have(name: str, folder: Path) -> None:
    Path("long.csv").symlink_to("z" * 300)
    with pytest.raises(DataError, match=r"z does not exist; expected a data file|cannot read long.csv: File name too"):
        load_data([name])
    with pytest.raises(DataError, match=r"cannot read .*: File name too long"):
        read_corpus(name)
    with pytest.raises(DataError, match="does not exist; expected the files of 'hate'"):
        load_data(["hate"], path=name)
    with pytest.raises(DataError, match="does not exist; expected a file of labels"):
        load_data(["a.csv"], ReadOptions(format="lines", label_files=(name,)))


def test_a_glob_is_all_that_match_in_the_order_of_their_names(folder: Path) -> None:
    Path("0.csv").write_text("text,label\n0,x\n")
    assert load_data(["*.csv"]).texts == ["0", "a"]
    assert load_data([str(folder / "**" / "*.csv")]).texts == ["0", "a", "b"]
    assert load_data(["a.csv", "sub/*"]).texts == ["a", "b"]
    with pytest.raises(DataError, match=r"x\*.csv matches no file; expected a data file, a folder, a glob, a dataset"):
        load_data(["a.csv", "x*.csv"])
    with pytest.raises(DataError, match="x.csv does not exist; expected a data file, a folder, a glob, a"):
        load_data(["x.csv"])


def test_a_dataset_stands_alone(folder: Path) -> None:
    with pytest.raises(InputError, match="found the dataset 'pydocs' among several sources; expected it alone"):
        load_data(["a.csv", "pydocs"])


def test_texts_of_files_with_other_columns(folder: Path) -> None:
    texts, how = load_texts(["a.csv", "sub/b.csv"], OPTIONS)
    assert texts == ["a", "b"]
    assert how.count("text: ") == 2
    tables = [(table.frame.to_dicts(), columns.text) for table, columns in load_pieces(["a.csv", "sub/b.csv"], OPTIONS)]
    assert tables == [
        ([{"text": "a", "label": "x", "tweet": None, "class": None}], ("text",)),
        ([{"text": None, "label": None, "tweet": "b", "class": "y"}], ("tweet",)),
    ]
    with pytest.raises(DataError, match="found standard input or a pipe among several files"):
        list(load_pieces(["a.csv", "-"], OPTIONS))


def test_columns_of_a_model_come_first(folder: Path) -> None:
    Path("c.csv").write_text("text,body,label,queue\n1,2,3,4\n")
    corpus = load_data(["c.csv"], ReadOptions(default_text=("body",), default_label="queue"))
    assert (corpus.texts, corpus.labels) == (["2"], [4])
    corpus = load_data(["c.csv"], ReadOptions(text=("text",), default_text=("body",), default_label="none"))
    assert (corpus.texts, corpus.labels) == (["1"], [3])
    with pytest.raises(DataError, match="trained on the columns title, and there is no 'title'; give --text NAME; col"):
        load_data(["c.csv"], ReadOptions(default_text=("title",)))


OPTIONS = ReadOptions()


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (gzip.compress(b"text,label\na,x\n", mtime=0)[:-9], {}),
        (b"", {}),
        (b"text,label\na,x,y\n", {}),
        (b"no archive", {"format": "tar"}),
        (b"PAR1 no parquet", {}),
        (b"one\ntwo\n", {}),
    ],
)
def test_standard_input_is_called_so(content: bytes, options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(DataError, match="standard input") as caught:
        load_data(["-"], ReadOptions(**options))  # type: ignore[arg-type]
    assert "/" not in str(caught.value)
