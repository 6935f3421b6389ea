"""Models on disk: whole at every moment, checked when read, and never run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import Embeddings, TfcrClassifier, load
from tfcr.data import Corpus
from tfcr.errors import InputError, ModelError, TfcrWarning
from tfcr.features.blocks import AVERAGINGS, BLOCKS
from tfcr.heads import HEADS
from tfcr.system.files import temporary_name
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained.format import SCHEMA, _digest, check_writable

KEPT_MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture
def model(corpus: Corpus, vectors: Embeddings) -> TfcrClassifier:
    return plain_classifier(embeddings=vectors).fit(corpus.texts, corpus.labels)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
def test_a_model_comes_back_as_it_was(
    head: str, blocks: str, averaging: str, corpus: Corpus, vectors: Embeddings, tmp_path: Path
) -> None:
    model = plain_classifier(
        embeddings=vectors, head=head, blocks=blocks, averaging=averaging, class_weight={"class 1": 2}
    )
    model.fit(corpus.texts, corpus.labels)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(corpus.texts), model.decision_function(corpus.texts))
    np.testing.assert_array_equal(again.predict_proba(corpus.texts), model.predict_proba(corpus.texts))
    assert again.counts_ == model.counts_
    assert again.top_words(5) == model.top_words(5)
    assert again.training_ == model.training_
    assert {**again.get_params(), "embeddings": vectors} == model.get_params()


def test_counts_can_be_left_out(model: TfcrClassifier, corpus: Corpus, tmp_path: Path) -> None:
    model.save(tmp_path / "model", counts=False)
    assert load(tmp_path / "model").counts_ is None
    assert not list((tmp_path / "model").glob("counts-*"))
    load(tmp_path / "model").save(tmp_path / "again")
    assert load(tmp_path / "again").score(corpus.texts, corpus.labels) > 0.9


def test_an_own_tokenizer_must_be_given_again(corpus: Corpus, vectors: Embeddings, tmp_path: Path) -> None:
    model = plain_classifier(embeddings=vectors, tokenizer=str.split).fit(corpus.texts, corpus.labels)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError, match=r"a tokenizer of your own, 'split'.*tokenizer=split\)"):
        load(tmp_path / "model")
    again = load(tmp_path / "model", tokenizer=str.split)
    np.testing.assert_array_equal(again.decision_function(corpus.texts), model.decision_function(corpus.texts))


def test_a_named_tokenizer_cannot_be_replaced(model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="was trained with 'words'; leave it out"):
        load(tmp_path / "model", tokenizer=str.split)


def test_a_tokenizer_of_ours_given_as_an_object_is_kept_by_name(
    corpus: Corpus, vectors: Embeddings, tmp_path: Path
) -> None:
    plain_classifier(embeddings=vectors, tokenizer=TOKENIZERS["whitespace"]).fit(corpus.texts, corpus.labels).save(
        tmp_path / "m"
    )
    assert load(tmp_path / "m").tokenizer == "whitespace"


def test_numpy_numbers_are_settings_too(corpus: Corpus, vectors: Embeddings, tmp_path: Path) -> None:
    labels = np.arange(120) % 3
    settings: dict[str, Any] = {"class_weight": {label: np.float32(1) for label in np.unique(labels)}}
    model = plain_classifier(embeddings=vectors, min_count=np.int64(1), **settings)
    model.fit(corpus.texts, labels).save(tmp_path / "model")
    assert load(tmp_path / "model").class_weight == {0: 1, 1: 1, 2: 1}


def test_a_damaged_model_may_be_replaced(model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text("{")
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").classes_.tolist() == model.classes_.tolist()


def test_words_may_hold_anything(vectors: Embeddings, tmp_path: Path) -> None:
    texts = ["common1 \x00nul", "common2 \udc80", "common1 💚\u200d", "common2 a"]
    model = plain_classifier(embeddings=vectors, tokenizer="whitespace").fit(texts, ["x", "y", "x", "y"])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.table_.vocabulary.words == model.table_.vocabulary.words
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))


def test_overwriting_leaves_only_the_new_model(corpus: Corpus, vectors: Embeddings, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    for C in (0.1, 1, 10):
        plain_classifier(embeddings=vectors, C=C).fit(corpus.texts, corpus.labels).save(folder)
    (folder / temporary_name("table-0000.safetensors")).write_bytes(b"left by a killed save")
    load(folder).save(folder)
    names = sorted(path.name.split("-")[0] for path in folder.iterdir())
    assert names == [".lock", "README.md", "config.json", "counts", "seen", "table"]


def test_data_files_that_are_there_are_not_written_again(model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    before = {path.name: path.stat() for path in (tmp_path / "model").glob("*.safetensors")}
    load(tmp_path / "model").save(tmp_path / "model", scores={"accuracy": 0.5})
    after = {path.name: path.stat() for path in (tmp_path / "model").glob("*.safetensors")}
    assert {name: status.st_ino for name, status in after.items()} == {name: one.st_ino for name, one in before.items()}
    for name in before:
        (tmp_path / "model" / name).write_bytes(b"damaged")
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").counts_ == model.counts_


def test_a_folder_with_other_things_is_not_touched(model: TfcrClassifier, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ModelError, match="holds thesis.txt and no model; give a new or empty folder"):
        model.save(tmp_path)
    (tmp_path / "config.json").write_text('{"format": "another"}')
    with pytest.raises(ModelError, match="of another program; give a new or empty folder"):
        model.save(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot write the model to"):
        model.save(tmp_path / "file")


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        ".notes.tmp",
        ".x.tmp",
        ".lock",
        ".table-0000.safetensors-x.tmp",
        "table-0123456789abcdef.safetensors",
    ],
)
def test_a_folder_with_a_single_file_of_the_users_is_not_touched(
    name: str, model: TfcrClassifier, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("precious")
    with pytest.raises(ModelError, match=f"holds {name} and no model; give a new or empty folder"):
        model.save(tmp_path)
    with pytest.raises(ModelError, match="give a new or empty folder"):
        check_writable(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "precious"


def test_what_a_killed_first_save_left_may_be_replaced(model: TfcrClassifier, tmp_path: Path) -> None:
    content = b"a whole data file"
    (tmp_path / f"table-{_digest(content)}.safetensors").write_bytes(content)
    (tmp_path / temporary_name("config.json")).write_bytes(b"half")
    (tmp_path / ".lock").touch()
    model.save(tmp_path)
    names = sorted(path.name.split("-")[0] for path in tmp_path.iterdir())
    assert names == [".lock", "README.md", "config.json", "counts", "seen", "table"]


def test_other_files_in_the_folder_of_a_model_are_kept(model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path)
    mine = ["notes.txt", ".hidden.tmp", "table-0123456789abcdef.safetensors", "scores-0123456789abcdef.safetensors"]
    for name in mine:
        (tmp_path / name).write_text("precious")
    (tmp_path / "plots").mkdir()
    model.set_params(C=3).fit(["common1 common2", "common3 common4"] * 4, ["x", "y"] * 4).save(tmp_path)
    assert all((tmp_path / name).read_text() == "precious" for name in mine)
    assert (tmp_path / "plots").is_dir()
    assert load(tmp_path).classes_.tolist() == ["x", "y"]
    assert len(list(tmp_path.glob("table-*"))) == 2  # the model's, and the user's


def test_a_card_that_was_changed_is_kept(model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path)
    model.save(tmp_path)  # a card of ours is replaced without a word
    assert not list(tmp_path.glob("README-*"))
    card = (tmp_path / "README.md").read_text("utf-8")
    (tmp_path / "README.md").write_text(f"{card}\nTrained for the second paper.", "utf-8")
    with pytest.warns(TfcrWarning, match="README.md is not as tfcr wrote it; it is kept as README-"):
        model.save(tmp_path)
    kept = next(tmp_path.glob("README-*.md"))
    assert kept.read_text("utf-8").endswith("second paper.")
    assert "# A text classifier" in (tmp_path / "README.md").read_text("utf-8")
    model.save(tmp_path)
    assert kept.exists()


def test_a_name_that_is_not_unicode(vectors: Embeddings, tmp_path: Path) -> None:
    labels = ["coffee", "tea"] * 2
    model = plain_classifier(embeddings=vectors).fit(["common1", "common2"] * 2, labels)
    model.save(tmp_path / os.fsdecode(b"caf\xe9"))
    assert load(tmp_path / os.fsdecode(b"caf\xe9")).classes_.tolist() == sorted(set(labels))


def test_labels_that_no_file_can_hold(vectors: Embeddings, tmp_path: Path) -> None:
    labels = np.array([np.datetime64("2020-01-01"), np.datetime64("2021-01-01")] * 2)
    with pytest.raises(InputError, match="is of type date; expected one label for each text"):
        plain_classifier(embeddings=vectors).fit(["common1", "common2"] * 2, labels)


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))


def change_table(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the table and name it after its content again, as a forger would."""
    old = next(folder.glob("table-*"))
    arrays = load_file(old)
    change(arrays)
    save_file(arrays, old)
    new = folder / f"table-{_digest(old.read_bytes())}.safetensors"
    old.rename(new)
    files = json.loads((folder / "config.json").read_text())["files"]
    change_config(folder, files={**files, "table": new.name})


def as_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "is not a model: it has no config.json"),
    "no JSON": (lambda f: (f / "config.json").write_text("{"), "config.json is not JSON"),
    "foreign": (lambda f: (f / "config.json").write_text('{"model_type": "bert"}'), "of another program"),
    "newer": (lambda f: change_config(f, schema=SCHEMA + 1), f"is of schema {SCHEMA + 1}.*pip install --upgrade"),
    "no schema": (lambda f: change_config(f, schema=None), "lacks its schema"),
    "missing data": (lambda f: next(f.glob("table-*")).unlink(), "table-.* is missing"),
    "flipped byte": (
        lambda f: (p := next(f.glob("table-*"))).write_bytes(p.read_bytes()[:-1] + b"\x99"),
        "is not what was saved",
    ),
    "truncated": (lambda f: (p := next(f.glob("counts-*"))).write_bytes(p.read_bytes()[:99]), "not what was saved"),
    "path": (lambda f: change_config(f, files={"table": "../../etc/passwd"}), "names the file '../../etc/passwd'"),
    "no table": (lambda f: change_config(f, files={}), "lacks or misstates 'table'"),
    "settings": (lambda f: change_config(f, settings={"own_tokenizer": False}), "lacks or misstates"),
    "classes": (lambda f: change_config(f, classes={"type": "text", "values": ["one"]}), "it has 1 classes; expected"),
    "labels": (lambda f: change_config(f, classes={"type": "integer", "values": ["a", "b", "c"]}), "classes cannot"),
    "a folder for a file": (
        lambda f: (p := next(f.glob("table-*"))).rename(f / "moved") and p.mkdir(),  # type: ignore[func-returns-value]
        "cannot read .*table",
    ),
    "link": (lambda f: change_config(f, link="eval"), "unknown link 'eval'"),
    "averaging": (lambda f: change_config(f, averagings=["exec"] * 3), "averages by exec"),
    "missing array": (lambda f: change_table(f, lambda a: a.pop("typical")), "the array 'typical' is missing"),
    "shape": (
        lambda f: change_table(f, lambda a: a.update(typical=a["typical"][:1])),
        "the array 'typical' is of type",
    ),
    "index": (lambda f: change_table(f, lambda a: a["outputs"].__setitem__(0, 99)), "out of range"),
    "group": (lambda f: change_table(f, lambda a: a["entries.groups"].__setitem__(0, 99)), "out of range"),
    "columns": (lambda f: change_table(f, lambda a: a["starts"].__setitem__(1, 10**9)), "does not rise from 0"),
    "offsets": (
        lambda f: change_table(f, lambda a: a["words.offsets"].__setitem__(1, 10**9)),
        "'words.offsets' does not rise",
    ),
    "deep": (lambda f: (f / "config.json").write_text("[" * 100_000), "config.json is not JSON .*too deep"),
    "a long number": (lambda f: (f / "config.json").write_text("9" * 5000), "config.json is not JSON"),
    "a pipe for the config": (
        lambda f: as_pipe(f / "config.json"),
        "cannot read .*config.json: it is a pipe; expected",
    ),
    "a pipe for a file": (lambda f: as_pipe(next(f.glob("table-*"))), "cannot read .*table.*: it is a pipe; expected"),
    "a device for a file": (
        lambda f: (p := next(f.glob("table-*"))).unlink() or p.symlink_to("/dev/zero"),  # type: ignore[func-returns-value]
        "cannot read .*table.*: it is a device; expected a file",
    ),
    "a device for the config": (
        lambda f: (p := f / "config.json").unlink() or p.symlink_to("/dev/zero"),  # type: ignore[func-returns-value]
        "cannot read .*config.json: it is a device; expected a file",
    ),
    "too many files": (
        lambda f: change_config(f, files={str(n): next(f.glob("table-*")).name for n in range(1000)}),
        "lacks its schema or files",
    ),
    "utf-8": (
        lambda f: change_table(f, lambda a: a["words.text"].__setitem__(0, 255)),
        "the strings 'words' are not UTF-8",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_found_and_named(kind: str, model: TfcrClassifier, tmp_path: Path) -> None:
    damage, message = DAMAGES[kind]
    model.save(tmp_path / "model")
    damage(tmp_path / "model")
    with pytest.raises(ModelError, match=message) as caught:
        _ = load(tmp_path / "model").counts_  # which are read now
    assert "\n" not in str(caught.value)


def test_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist; expected a model's folder"):
        load(tmp_path / "nowhere")


def test_garbage_that_carries_its_own_hash(model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    name = f"table-{_digest(b'garbage')}.safetensors"
    (tmp_path / "model" / name).write_bytes(b"garbage")
    change_config(tmp_path / "model", files={"table": name})
    with pytest.raises(ModelError, match="cannot be read"):
        load(tmp_path / "model")


def test_loads_in_a_new_process_without_the_embedding_file(tmp_path: Path) -> None:
    corpus = random_corpus()
    path = tmp_path / "vectors.txt"
    vectors = random_vectors(corpus)
    rows = [f"{word} {' '.join(map(str, row))}" for word, row in zip(vectors.words, vectors.vectors, strict=True)]
    path.write_text("\n".join(rows))
    model = plain_classifier(embeddings=str(path)).fit(corpus.texts, corpus.labels)
    model.save(tmp_path / "model")
    path.unlink()
    code = "import sys, tfcr; print(tfcr.load(sys.argv[1]).decision_function(sys.argv[2:]).tolist())"
    command = [sys.executable, "-c", code, str(tmp_path / "model"), *corpus.texts[:5]]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    np.testing.assert_allclose(found, model.decision_function(corpus.texts[:5]), atol=1e-12)


@pytest.mark.parametrize("folder", sorted(KEPT_MODELS.glob("schema-*/")), ids=lambda path: path.name)
def test_models_of_every_schema_still_load(folder: Path) -> None:
    expected = json.loads((KEPT_MODELS / f"{folder.name}.json").read_text("utf-8"))
    model = load(folder)
    np.testing.assert_allclose(model.decision_function(expected["texts"]), expected["scores"], atol=1e-5)


def test_older_models_are_converted_when_they_are_saved(tmp_path: Path) -> None:
    older = Path(__file__).parents[1] / "models" / "schema-4"
    model, texts = load(older), ["common1 w0_1", "unseen w1_2"]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["schema"] == SCHEMA
    np.testing.assert_allclose(again.decision_function(texts), model.decision_function(texts), rtol=1e-12)
    assert again.counts_ == model.counts_
    sizes = [next(folder.glob("counts-*")).stat().st_size for folder in (tmp_path / "model", older)]
    assert sizes[0] < sizes[1] / 2
    again.save(tmp_path / "third")
    assert next((tmp_path / "third").glob("counts-*")).name == next((tmp_path / "model").glob("counts-*")).name


def test_a_model_of_this_schema_is_kept() -> None:
    assert sorted(path.name for path in KEPT_MODELS.glob("schema-*/")) == [f"schema-{n + 1}" for n in range(SCHEMA)]
    assert (KEPT_MODELS / f"schema-{SCHEMA}").is_dir()


SAVER = """
import os, sys
from tests.conftest import plain_classifier, random_corpus, random_vectors
corpus = random_corpus(40)
models = [plain_classifier(embeddings=random_vectors(corpus), C=C).fit(corpus.texts, corpus.labels) for C in (0.1, 10)]
models[0].save(sys.argv[1])
for line in sys.stdin:
    child = os.fork()
    while not child:
        for model in models:
            model.save(sys.argv[1])
    print(child, flush=True)
    os.waitpid(child, 0)
    print("killed", flush=True)
"""


def test_saving_over_a_model_and_being_killed_leaves_a_model(tmp_path: Path) -> None:
    """Some kills here; benchmarks/kill_saves.py does two hundred."""
    kill_saves(tmp_path / "model", kills=8)


def kill_saves(folder: Path, kills: int) -> None:
    """Start a process that saves without end, kill it at a random moment, load; again and again."""
    moments = random.Random(0)
    texts = random_corpus(40).texts
    command = [sys.executable, "-c", SAVER, str(folder)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, text=True) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        for _ in range(kills):
            starter.stdin.write("\n")
            starter.stdin.flush()
            saver = int(starter.stdout.readline())
            time.sleep(moments.uniform(0, 0.2))
            os.kill(saver, signal.SIGKILL)
            assert starter.stdout.readline() == "killed\n"
            assert load(folder).predict(texts).shape == (40,)
