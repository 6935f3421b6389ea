"""A cell is known by its settings."""

import json
from dataclasses import replace
from pathlib import Path

from tests.experiment.conftest import (
    plan_all,
)
from tfcr.experiment import (
    PROFILES,
    Request,
    VectorsChoice,
    Word2Vec,
)
from tfcr.experiment.plan.cells import Settings
from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.systems import SchemeSystem


def test_keys_do_not_change(tmp_path: Path) -> None:
    """Results that people have would no longer count."""
    profile = {
        "name": "equations",
        "counting": "occurrences",
        "count_urls": True,
        "plain_mean": "seen",
        "features": "scaled",
        "C": 1.0,
        "score": "mean",
        "left_out": None,
        "tokenizer": "paper",
    }
    stored = {
        "protocol": 1,
        "data": "dcbdca96cc30049b902f7a9e1b123baf",
        "tokenizer": "paper",
        "vectors": "b6099bc65941d36a6b2657175718b861",
        "word2vec": None,
        "scheme": "none",
        "head": "svm",
        "profile": profile,
        "size": 50,
        "seed": 0,
        "folds": 5,
    }
    settings = Settings.from_json(stored)
    assert settings.key() == "e0840726d809ffd24611a81b1d9186ad"
    assert settings.to_json() == stored
    assert SchemeSystem("none", "svm", PROFILES["equations"], "paper").settings == settings.system


def test_settings_are_read_as_they_were_written() -> None:
    settings = Settings("data", None, Word2Vec(dimensions=4), 50, ClassSizes(50, 0.35), 1, 5, {"preset": "best"})
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    assert settings.key() != replace(settings, class_sizes=None).key()


def test_systems_run_once_per_embedding_if_they_need_vectors(request_: Request) -> None:
    both = replace(request_, embeddings=(*request_.embeddings, VectorsChoice("w2v", "w2v")), profiles=tuple(PROFILES))
    planned = plan_all(replace(both, schemes=("tfcr",), heads=("lr",), systems=("best", "fast")))
    cells = [(one.cell.scheme, one.cell.embedding, one.cell.head, one.cell.profile) for one in planned]
    schemes = [("tfcr", embedding, "lr", profile) for embedding in ("file", "w2v") for profile in PROFILES]
    # two ways to train word2vec: that of equations and log-tf, and that of published and ko; a file is as it is
    best = [("best", embedding, "", "") for embedding in ("file", "w2v", "w2v")]
    assert sorted(cells) == sorted([*schemes, *best, ("fast", "", "", "")])
    lengths = {one.vectors.length for one in planned if one.cell.scheme == "best" and one.vectors}
    assert lengths == {PROFILES["equations"].vector_length, PROFILES["published"].vector_length}
    unscaled = plan_all(replace(both, schemes=("tfcr",), heads=("lr",), vector_length=0))
    assert {one.vectors.length for one in unscaled if one.vectors} == {None}
    one_way = plan_all(replace(both, profiles=("equations", "log-tf"), schemes=(), systems=("best",)))
    assert [one.cell.embedding for one in one_way] == ["file", "w2v"]
