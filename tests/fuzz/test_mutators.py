"""Mutations give bytes for any bytes, the same for the same random numbers, and mostly other ones."""

import io
import json
import tarfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.cases import Case, Files, read_files, write_files
from tests.fuzz.mutators import BYTES, RARE, STRUCTURES, Mutate, mutate_file
from tests.fuzz.targets import TARGETS, make_mutant, make_seeds, reseal
from tfcr import TrainedModel

ALL = list(dict.fromkeys([*BYTES, *RARE, *(mutate for row in STRUCTURES.values() for mutate in row)]))


@pytest.mark.parametrize("mutate", ALL, ids=lambda mutate: mutate.__name__)
@given(data=st.binary(max_size=200), seed=st.integers(0, 10**6))
def test_any_bytes_give_bytes(mutate: Mutate, data: bytes, seed: int) -> None:
    found = mutate(Random(seed), data)
    assert isinstance(found, bytes)
    assert found == mutate(Random(seed), data)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_fine_and_mutants_repeatable_and_different(name: str, tmp_path: Path) -> None:
    target, seeds = TARGETS[name], make_seeds(name)
    for number, seed in enumerate(seeds if name != "downloads" else seeds[:1]):
        (tmp_path / str(number)).mkdir()
        write_files(tmp_path / str(number), seed)
        if name != "grids":  # whose data are not there
            target.run(tmp_path / str(number))
    mutants = [make_mutant(target, seeds, Random(number)) for number in range(40)]
    assert mutants == [make_mutant(target, seeds, Random(number)) for number in range(40)]
    assert sum(mutant not in seeds for mutant in mutants) > 30


def test_a_resealed_model_gets_beyond_the_checksum(tmp_path: Path) -> None:
    files = make_seeds("models")[-1]
    name = next(name for name in files if "table" in name)
    changed = {**files, name: files[name][:-4] + bytes(4)}  # the last number
    write_files(tmp_path, reseal(changed))
    TrainedModel.load(tmp_path / "model")


def test_a_mutated_tar_header_has_the_right_sum() -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    [mutate] = STRUCTURES[".tar"]
    headers = [mutate(Random(number), content.getvalue())[:512] for number in range(50)]
    sizes = {tarfile.TarInfo.frombuf(header, "utf-8", "replace").size for header in headers if header[148:156].strip()}
    assert len(sizes) > 3


def test_a_case_is_kept_in_a_file_with_links_and_odd_names(tmp_path: Path) -> None:
    files: Files = {"a/b.txt": b"text", "c@link": b"a/b.txt", "d@fifo": b"", "\udcff": bytes(range(256)), "e\0": b""}
    Case("csv", files, "here", "a\nb").save(tmp_path / "case.json")
    assert Case.load(tmp_path / "case.json") == Case("csv", files, "here", "a\nb")
    assert json.loads((tmp_path / "case.json").read_text())["files"]["a/b.txt"] == {"text": "text"}
    (tmp_path / "place").mkdir()
    write_files(tmp_path / "place", files)
    assert (tmp_path / "place" / "d").is_fifo()
    assert read_files(tmp_path / "place") == {"a/b.txt": b"text", "c": b"text", "\udcff": bytes(range(256))}


def test_large_mutants_are_rare() -> None:
    sizes = [len(mutate_file(Random(number), "x.csv", b"a,b\n" * 50, b"")) for number in range(500)]
    assert sum(size > 1 << 18 for size in sizes) < 25
