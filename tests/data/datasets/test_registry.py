"""Every row of DATASETS, and the paper's sixteen from their original formats."""

from pathlib import Path

import pytest

from tests.data.datasets.files import ORIGINALS, pairs, write_tar, write_zip
from tfcr.data import DATASETS, load_dataset
from tfcr.data.datasets.fetch import READY, state_of
from tfcr.data.datasets.registry import PAPER
from tfcr.errors import DataError


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


@pytest.mark.parametrize("name", [name for name in PAPER if name != "20ng"])
def test_an_empty_folder_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds nothing"):
        load_dataset(name, tmp_path / "empty")


def test_emoji_without_names(tmp_path: Path) -> None:
    for part in ("train", "val", "test"):
        (tmp_path / f"{part}_text.txt").write_text("hello\n")
        (tmp_path / f"{part}_labels.txt").write_text("0\n")
    (tmp_path / "mapping.txt").write_text("0 heart\n")
    with pytest.raises(DataError, match="mapping.txt: found '0 heart'; expected a number, an emoji and its name"):
        load_dataset("emoji", tmp_path)


SHARED = {name: DATASETS[name].documents for name in ("20ng", "davidson", "agnews", "emoji", "thucnews")}
SHARED |= {"semeval": 61_853, "dbpedia": 14_000}  # the one has more than the paper says, the other is a part


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_datasets_are_read_whole(name: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_DATA", str(shared_data))
    corpus = load_dataset(name)
    assert (len(corpus), len(set(corpus.labels))) == (SHARED[name], DATASETS[name].classes)
    assert all(isinstance(label, str) for label in corpus.labels)
