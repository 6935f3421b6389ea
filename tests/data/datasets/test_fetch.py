"""Finding and getting the files of a dataset."""

from pathlib import Path

import pytest

from tests.data.datasets.files import pairs, write_founta
from tfcr.data import fetch_dataset, load_data, load_dataset
from tfcr.data.datasets.fetch import DOWNLOADABLE, READY, TO_BE_ASKED_FOR, how_to_get, state_of
from tfcr.errors import DataError, DownloadError, UnknownNameError


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


def test_datasets_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    with pytest.raises(DataError, match="the files of the dataset '20ng' are not on this machine .*set TFCR_DATA"):
        load_dataset("20ng")
    with pytest.raises(UnknownNameError, match="unknown dataset '20gn'; known: pydocs, replab.*Did you mean '20ng'"):
        load_dataset("20gn")
