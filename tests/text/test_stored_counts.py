"""Files of counts: the same counts come back, the same counts are the same bytes, and damage is told in one line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as dump_tensors

from tests.mutations import check_message, mutated
from tests.trained.test_codec import with_odd_array
from tfcr import ClassCounts
from tfcr.errors import DamagedError, DataError, InputError
from tfcr.text.stored_counts import (
    SCHEMA,
    _with_hash,
    check_target,
    is_counts_file,
    load_counts,
    read_classes,
    save_counts,
    total_of_files,
    write_classes,
)

WORDS = st.sampled_from(["a", "b", "dd", "é", "字", "0", "longer" * 9])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
LABELS = {
    "text": st.sampled_from(["x", "ü", "a b"]),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "numbers": st.sampled_from([0.5, 1.0, 2.25]),
    "booleans": st.booleans(),
    "several": st.lists(st.sampled_from("xyz"), max_size=3, unique=True),
}


def example() -> ClassCounts:
    texts = ["good good film", "bad film", "a film", "so bad", "so so"]
    return ClassCounts.from_texts(texts, ["pos", "neg", "pos", "neg", "so"])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    example().save(tmp_path / "a.counts")
    return tmp_path / "a.counts"


@pytest.mark.parametrize("kind", LABELS)
@given(data=st.data())
def test_counts_come_back_as_they_were(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = data.draw(st.lists(st.tuples(TEXTS, LABELS[kind], st.sampled_from([1, 2, 0.3])), min_size=1, max_size=9))
    rows.append(("a", ["x"] if kind == "several" else rows[0][1], 1))  # one at least has a label
    texts, labels, weights = map(list, zip(*rows, strict=True))
    counts = ClassCounts.from_texts(texts, labels, sample_weight=weights)
    file = tmp_path_factory.mktemp("counts") / "a.counts"
    counts.save(file)
    again = ClassCounts.load(file)
    assert again == counts
    assert (again.classes.dtype, again.tokenizer) == (counts.classes.dtype, "words")
    before = file.read_bytes()
    again.save(file)
    assert file.read_bytes() == before


def test_strange_words_and_no_documents_come_back(tmp_path: Path) -> None:
    strange = ClassCounts.from_texts(["x"], ["y"], tokenizer=lambda text: ["\ud800", "\n", "", "\0"])
    empty = ClassCounts.from_texts([], [])
    for counts in (strange, empty):
        counts.save(tmp_path / "a.counts")
        again = ClassCounts.load(tmp_path / "a.counts")
        assert (again, again.tokenizer, list(again.words)) == (counts, counts.tokenizer, sorted(counts.words))
    assert ClassCounts.total([empty, example(), empty]) == example()


@given(
    parts=st.lists(st.lists(st.tuples(TEXTS, LABELS["text"]), min_size=1, max_size=4), min_size=1, max_size=5),
    random=st.randoms(),
)
def test_files_in_any_order_have_the_same_sum_to_the_byte(
    parts: list[list[tuple[str, str]]], random: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("counts")
    for number, rows in enumerate(parts):
        ClassCounts.from_texts([text for text, _ in rows], [label for _, label in rows]).save(folder / str(number))
    whole = [row for rows in parts for row in rows]
    ClassCounts.from_texts([text for text, _ in whole], [label for _, label in whole]).save(folder / "whole")
    files = [str(folder / str(number)) for number in range(len(parts))]
    for order in (files, random.sample(files, len(files))):
        total_of_files(order).save(folder / "sum")
        assert (folder / "sum").read_bytes() == (folder / "whole").read_bytes()


def test_every_damage_of_one_byte_is_noticed(saved: Path) -> None:
    """Flipped bits are refused; the few that leave the same JSON in the header are read as what was saved."""
    content, random = saved.read_bytes(), Random(0)
    for at in range(len(content)):
        saved.write_bytes(content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :])
        try:
            assert load_counts(saved) == example()
        except DataError as error:
            check_message(error)
    for end in range(0, len(content), 7):
        saved.write_bytes(content[:end])
        with pytest.raises(DataError, match=r"is damaged|is not a file of counts"):
            load_counts(saved)


def resealed(content: bytes) -> bytes:
    """Return a file with the hash that its arrays have now."""
    try:
        arrays = load_tensors(content)
    except Exception:  # whatever the library raises: a file that it cannot read stays as it is
        return content
    return dump_tensors(_with_hash({name: array for name, array in arrays.items() if name != "sha256"}))


def test_files_changed_by_a_forger_are_refused_or_counts(saved: Path) -> None:
    content, random = saved.read_bytes(), Random(0)
    read = 0
    for number in range(300):
        saved.write_bytes(resealed((mutated if number % 3 else with_odd_array)(content, random)))
        try:
            counts = load_counts(saved)
        except DataError as error:
            check_message(error)
        else:
            assert (counts + counts).n_documents == 2 * counts.n_documents
            read += 1
    assert read > 10


def change(settings: dict[str, Any]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        arrays = load_tensors(content)
        found = {**json.loads(arrays["settings"].tobytes()), **settings}
        arrays["settings"] = np.frombuffer(json.dumps(found).encode(), np.uint8)
        return resealed(dump_tensors(arrays))

    return changed


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            change({"schema": SCHEMA + 1}),
            f"is of schema {SCHEMA + 1}, and this tfcr reads up to .*pip install --upgrade",
        ),
        (change({"schema": "1"}), "lack the format or the schema"),
        (change({"format": "other"}), "lack the format or the schema"),
        (change({"tokenizer": ["x"]}), "its tokenizer is"),
        (change({"classes": {"type": "text", "values": ["a"]}}), "is damaged: the array"),
        (change({"classes": {"type": [], "values": ["a"]}}), "is damaged"),
        (lambda content: b"text,label\na,b\n", "is not a file of counts"),
        (lambda content: b"", "is not a file of counts"),
        (lambda content: content + b"more", "is damaged"),
        (lambda content: content[:-1], "is damaged"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(damage: Callable[[bytes], bytes], message: str, saved: Path) -> None:
    saved.write_bytes(damage(saved.read_bytes()))
    with pytest.raises(DataError, match=message):
        load_counts(saved)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("none", "does not exist"), ("", "it is a folder"), ("pipe", "it is a pipe")):
        assert not is_counts_file(tmp_path / name)
        with pytest.raises(DataError, match=message):
            load_counts(tmp_path / name)
    for path in (tmp_path / "no" / "a.counts", tmp_path / "pipe"):
        with pytest.raises(DataError, match="cannot write the counts to"):
            check_target(path)
        with pytest.raises(DataError, match="cannot write the counts to"):
            save_counts(example(), path)


def test_files_of_other_tokenizers_and_labels_do_not_add_up(saved: Path) -> None:
    other = saved.with_name("b.counts")
    ClassCounts.from_texts(["a"], ["x"], tokenizer="paper").save(other)
    with pytest.raises(InputError, match="b.counts: found counts by the tokenizer 'paper' and by 'words'"):
        total_of_files([str(saved), str(other)])
    ClassCounts.from_texts(["a"], [1]).save(other)
    with pytest.raises(InputError, match="b.counts: found labels of type .*expected one type"):
        total_of_files([str(saved), str(other)])
    with pytest.raises(InputError, match="found no counts"):
        total_of_files([])


@pytest.mark.parametrize(
    "labels",
    [[-(2**63), 2**63 - 1], [0.5, 2.0], [False, True], ["a", "b", "ü"]],
)
def test_classes_come_back_with_their_type(labels: list[Any]) -> None:
    classes = np.array(labels)
    again = read_classes(json.loads(json.dumps(write_classes(classes))))
    assert again.tolist() == labels
    assert again.dtype == classes.dtype


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ["a", "a"]),
        ("text", ["b", "a"]),
        ("text", ["a", "a\0"]),
        ("text", ["a", 1]),
        ("text", ["a", "\udc80"]),
        ("integer", [1, 2**63]),
        ("text", [["a"], ["b"]]),
        ("integer", [1, True]),
        ("integer", [0, 2**64]),
        ("integer", [0, 10**30]),
        ("number", [0, float("nan")]),
        ("number", [0, "1"]),
        ("boolean", [0, 1]),
        ("date", ["a", "b"]),
    ],
)
def test_classes_that_cannot_be(kind: str, values: list[Any]) -> None:
    with pytest.raises(DamagedError, match="its classes"):
        read_classes({"type": kind, "values": values})
