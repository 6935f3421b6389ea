"""Models that are replaced while they are served."""

import shutil
from pathlib import Path

import pytest

from tests.serving.conftest import Connect, other_model
from tfcr.errors import ModelError
from tfcr.serving.models import Models, identity_of, load_served
from tfcr.trained.format import config_hash


def test_a_replaced_model_takes_over(folder: Path) -> None:
    models = Models({"tickets": folder})
    before = models.get(None)
    assert models.changed() == []
    new = other_model(folder)
    assert models.changed() == ["tickets"]
    models.renew("tickets")
    after = models.get("tickets")
    assert (after.hash, models.replaced, models.changed()) == (new, 1, [])
    assert before.hash != new
    text = ["common1"]
    assert before.model.predict_proba(text).tolist() != after.model.predict_proba(text).tolist()


def test_a_link_that_leads_to_another_model_is_followed(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "second")
    new = other_model(tmp_path / "second")
    (tmp_path / "current").symlink_to(folder)
    models = Models({"current": tmp_path / "current"})
    (tmp_path / "next").symlink_to(tmp_path / "second")
    (tmp_path / "next").replace(tmp_path / "current")
    models.renew(*models.changed())
    assert models.get(None).hash == new


@pytest.mark.parametrize("damage", ["removed", "cut", "other"])
def test_a_model_that_cannot_be_loaded_changes_nothing(damage: str, folder: Path, connect: Connect) -> None:
    client = connect()
    before = client.get("/health").json()
    served = Models({"tickets": folder})
    if damage == "removed":
        shutil.rmtree(folder)
    elif damage == "cut":
        (folder / "config.json").write_text('{"format": "tfcr-mo')
    else:
        (folder / "config.json").write_text('{"format": "other"}')
    assert served.changed() == ["tickets"]
    served.renew("tickets")
    assert served.changed() == []  # until it changes again
    assert served.get(None).hash == before["models"]["tickets"]
    assert served.troubles["tickets"]
    assert client.post("/predict", json={"text": "w0_1"}).status_code == 200


def test_the_trouble_is_told_and_forgotten(folder: Path) -> None:
    from tfcr.serving.answers import describe

    models = Models({"tickets": folder})
    config = (folder / "config.json").read_bytes()
    (folder / "config.json").write_bytes(b"{")
    models.renew("tickets")
    assert "damaged" in describe(models, ["tickets"])["models"][0]["trouble"]
    (folder / "config.json").write_bytes(config)
    models.renew("tickets")
    assert "trouble" not in describe(models, ["tickets"])["models"][0]
    assert models.replaced == 0  # it is the same one


def test_the_server_looks_by_itself(folder: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr("tfcr.serving.service.LOOK_EVERY", 0.05)
    client = connect()
    new = other_model(folder)
    for _ in range(200):
        if client.get("/health").json()["models"]["tickets"] == new:
            break
        time.sleep(0.05)
    assert client.post("/predict", json={"text": "a"}).json()["model_hash"] == new
    assert "tfcr_models_replaced_total 1" in client.get("/metrics").text


def test_the_hash_is_that_of_the_config_that_was_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = iter(["first", "second", "second", "second"])
    monkeypatch.setattr("tfcr.serving.models.config_hash", lambda _: next(hashes))
    assert load_served("tickets", folder).hash == "second"
    changing = iter(map(str, range(100)))
    monkeypatch.setattr("tfcr.serving.models.config_hash", lambda _: next(changing))
    with pytest.raises(ModelError, match="again and again"):
        load_served("tickets", folder)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    assert identity_of(tmp_path) is None
    with pytest.raises(ModelError, match="has no config.json"):
        Models({"none": tmp_path})
    with pytest.raises(ModelError, match=r"cannot read .*config.json"):
        config_hash(tmp_path)
