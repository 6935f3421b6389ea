"""What is fuzzed: one row of TARGETS for each thing that reads what others wrote.

A target gives seeds, small valid files that mutations start from, and runs one case in a folder. It returns if the case
is fine, raises TfcrError if it is refused, and whatever else it raises is a finding: also Disagreement, if two ways to
the same result differ.
"""

import hashlib
import json
import math
import os
import re
import shutil
import struct
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st
from safetensors.numpy import save as dump_tensors

from tests.conftest import random_corpus, random_vectors
from tests.data import files as data_files
from tests.data.datasets.files import ORIGINALS
from tests.embeddings import vector_files
from tests.experiment.conftest import cell_of
from tests.fuzz.cases import Files, read_files
from tests.fuzz.hostile_server import HostileServer, scripts
from tests.fuzz.mutators import DIGITS, NUMBERS, TOKENS, mutate_file, other_value
from tfcr import ClassCounts, Embeddings, TrainedModel
from tfcr.counting import count_to_keep
from tfcr.data import ReadOptions, load_dataset, read_corpus
from tfcr.data import streaming as pieces_module
from tfcr.data.labelled_stream import LabelledStream
from tfcr.data.sources import load_pieces
from tfcr.errors import TfcrError
from tfcr.evaluation import Evaluation, Figures
from tfcr.experiment.plan.corpora import CorpusPlan
from tfcr.experiment.plan.gridfile import read_grid
from tfcr.experiment.plan.grids import make_request
from tfcr.experiment.results.store import open_results
from tfcr.experiment.results.summary import progress_of, summarise, summarise_curves
from tfcr.experiment.results.tables import TABLE_FORMATS
from tfcr.experiment.run.corpora import open_corpus, prepare_corpus
from tfcr.system import download as download_module
from tfcr.system.archives import members, unpack_one
from tfcr.system.download import Download, download
from tfcr.system.files import cache_folder
from tfcr.system.limits import LIMITS, Limit
from tfcr.system.mapped_arrays import arrays_of
from tfcr.system.places import local_places
from tfcr.text import documents as documents_module
from tfcr.text.class_counts import check_targets
from tfcr.text.documents import count_terms
from tfcr.text.label_sets import LabelSets
from tfcr.text.shards import unite
from tfcr.text.stored_counts import _with_hash
from tfcr.text.tokenizers import TOKENIZERS, Tokenizer
from tfcr.trained import word_table as word_table_module
from tfcr.trained.figures import StoredFigures
from tfcr.trained.kept_documents import StoredDocuments, read_documents

OPTIONS, LABELS = "options.json", "labels.txt"
"""The file of a case that says how its other files are read, and one with labels."""


class DisagreementError(Exception):
    """Two ways to the same result gave different ones."""


def _same(files: Files) -> Files:
    return files


def _nothing(random: Random, files: Files) -> Files:
    return files


@dataclass(frozen=True)
class Target:
    """Something that reads what others wrote.

    Attributes
    ----------
    run
        Reads the files of a case from a folder.
    seeds
        Returns valid cases; may write to an empty folder.
    change
        Changes a case as a whole: its options, its names, what its files are.
    drawn
        Cases as hypothesis draws them.
    special
        Cases known to be nasty; each is run as it is, once.
    mend
        Makes checksums right again, so that a mutant gets beyond them.
    kept
        Files of a case that are not mutated.
    """

    run: Callable[[Path], None]
    seeds: Callable[[Path], list[Files]]
    change: Callable[[Random, Files], Files] = _nothing
    drawn: Callable[[], "st.SearchStrategy[Files]"] | None = None
    special: Callable[[], list[Files]] = list
    mend: Callable[[Files], Files] = _same
    kept: tuple[str, ...] = field(default=(OPTIONS,))


def make_mutant(target: Target, seeds: list[Files], random: Random) -> Files:
    """Return one of the seeds with one of its files mutated, or two."""
    files = dict(random.choice(seeds))
    for _ in range(random.choice((1, 1, 1, 2))):
        names = [name for name in files if name not in target.kept]
        if names:
            name = random.choice(names)
            other = random.choice(list(random.choice(seeds).values()))
            files[name] = mutate_file(random, name, files[name], other)
    files = target.change(random, files)
    return target.mend(files) if random.random() < 0.95 else files


# data files ----------------------------------------------------------------------------------------------------------

_ENCODINGS = (
    *(
        "utf-8",
        "utf-16",
        "utf-16-le",
        "utf-32",
        "latin-1",
        "cp1252",
        "ascii",
        "utf-7",
        "gb18030",
        "shift_jis",
        "koi8-r",
    ),
    *(
        "rot13",
        "base64",
        "hex",
        "zlib",
        "idna",
        "punycode",
        "unicode_escape",
        "raw_unicode_escape",
        "undefined",
        "mbcs",
    ),
    *(
        "",
        "x",
        "é",
        "\0",
        "a" * 300,
        "../utf_8",
        "utf-8-sig",
        "cp037",
        "hz",
        "iso2022_jp",
        "utf_16_be",
        "big5",
        "cp65001",
    ),
)
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "encoding": _ENCODINGS,
    "separator": (",", ";", "\t", "|", "tab", "comma", " ", '"', "\n", "\r", "", "ab", "é", "\0", "x"),
    "quoting": (True, False),
    "header": (True, False),
    "columns": (1, 2, 3, 0, -1, 10**6, 10**12),
    "text": (["text"], ["1"], ["2"], ["1", "1"], ["x"], ["0"], ["99999999999999999999"], [""], ["²"]),
    "label": ("label", "1", "2", "3", "x", "", DIGITS, "²", "٣"),
    "group": ("label", "text", "1", "x"),
    "time": ("label", "text", "1", "x"),
    "format": ("csv", "tsv", "jsonl", "parquet", "xlsx", "fasttext", "lines", "folder", "tar", "x"),
    "bad_rows": ("skip",),
    "piece": (1, 2, 3, 7, 16, 40, 100, 1000),
}
"""What a user may say about a file: sensible and silly values. ``piece`` is the size of pieces, for the harness."""


def _with_options(files: Files, **options: Any) -> Files:
    return {**files, OPTIONS: json.dumps(options).encode()}


def _change_options(random: Random, files: Files) -> Files:
    options = _options_of(files[OPTIONS])
    if random.random() < 0.3:
        name = random.choice(list(_OPTIONS))
        options[name] = random.choice(_OPTIONS[name])
    return {**_change_names(random, files), OPTIONS: json.dumps(options).encode()}


def _change_names(random: Random, files: Files) -> Files:
    """Give a file another name, now and then one that is not UTF-8, or make it a link."""
    if random.random() > 0.05 or len(files) < 3:
        return files
    name = random.choice([name for name in files if name != OPTIONS])
    folder = name.rpartition("/")[0]
    new = random.choice(("\udcff.txt", ".x", "é", "e\u0301", "\n", "a b", " ", "-x", "x@link", "x@fifo", "CON"))
    return {**{key: value for key, value in files.items() if key != name}, f"{folder}/{new}".lstrip("/"): files[name]}


def _options_of(content: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        options = json.loads(content)
        if isinstance(options, dict):
            return options
    return {}


def _read_options(folder: Path) -> dict[str, Any]:
    options = _options_of((folder / OPTIONS).read_bytes())
    labels = {"label_files": (str(folder / LABELS),)} if (folder / LABELS).exists() else {}
    known = {name: value for name, value in options.items() if name in _OPTIONS}
    return labels | {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}


def _place(folder: Path) -> Path:
    """Return the file or folder that a case is about: the first that is not about the harness."""
    return next((path for path in sorted(folder.iterdir()) if path.name not in (OPTIONS, LABELS)), folder / "absent")


def _docstring_rows() -> list[tuple[str, str]]:
    """Return real texts with labels: docstrings of Python's own types, quotes and line breaks included."""
    kinds = (str, bytes, dict, list, int, float, set, type, memoryview)
    found = [
        (str(getattr(kind, name).__doc__ or "")[:300], kind.__name__)
        for kind in kinds
        for name in sorted(vars(kind))
        if not name.startswith("_")
    ]
    return [row for row in found if row[0]][::9][:25]


def _quoted(cell: str, separator: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in (separator, '"', "\n")) else cell


def _delimited(rows: list[tuple[str, str]], separator: str) -> bytes:
    lines = [separator.join(_quoted(cell, separator) for cell in row) for row in [("text", "label"), *rows]]
    return ("\n".join(lines) + "\n").encode()


_TEXT_ROWS: dict[str, Callable[[list[tuple[str, str]]], Files]] = {
    "csv": lambda rows: {"data.csv": _delimited(rows, ",")},
    "tsv": lambda rows: {"data.tsv": _delimited(rows, "\t")},
    "jsonl": lambda rows: {
        "data.jsonl": "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows).encode()
    },
    "fasttext": lambda rows: {
        "data.txt": "".join(f"__label__{label} {' '.join(text.split())}\n" for text, label in rows).encode()
    },
}


def _data_seeds(kind: str) -> Callable[[Path], list[Files]]:
    def seeds(folder: Path) -> list[Files]:
        written = data_files.FILES[kind](folder)
        small = {
            name: content
            for name, content in read_files(folder).items()
            if (folder / name == written or written in (folder / name).parents) and ".DS_Store" not in name
        }
        if kind == "lines":
            return [_with_options({**small, LABELS: (folder / LABELS).read_bytes()}, format="lines")]
        found = [_with_options(small)]
        if kind in _TEXT_ROWS:
            found.append(_with_options(_TEXT_ROWS[kind](_docstring_rows())))
        if kind == "jsonl":
            lists = [{"text": text, "label": number} for number, (text, _) in enumerate(_docstring_rows()[:8])]
            found.append(_with_options({"data.json": json.dumps(lists).encode()}))
        return found

    return seeds


def _run_reader(folder: Path) -> None:
    options = _read_options(folder)
    options.pop("piece", None)
    place = _place(folder)
    refused: TfcrError | None = None
    try:
        read_corpus(place, **options)
    except TfcrError as error:
        refused = error
    for table, _ in load_pieces([str(place)], ReadOptions(**options)):
        table.frame.rows()
    if refused is not None:
        raise refused


def _run_pieces(folder: Path) -> None:
    options = _read_options(folder)
    size = options.pop("piece", 40)
    place = _place(folder)
    whole = _rows_or_error(place, options)
    with mock.patch.object(pieces_module, "PIECE_BYTES", size):
        found = {"in pieces": _rows_or_error(place, options)}
        if not {"group", "time"} & set(options):  # which a stream cannot have
            found["as a stream"] = _streamed_or_error(place, options)
    for how, parts in found.items():
        refused = [isinstance(rows, TfcrError) for rows in (whole, parts)]
        if not all(refused) and (any(refused) or whole != parts):
            raise DisagreementError(f"whole: {_shown(whole)}\n{how} of {size}: {_shown(parts)}")
    if isinstance(whole, TfcrError):
        raise whole


def _rows_or_error(place: Path, options: dict[str, Any]) -> list[tuple[str, str]] | TfcrError:
    try:
        corpus = read_corpus(place, **options)
    except TfcrError as error:
        return error
    return list(zip(corpus.texts, map(str, corpus.labels), strict=True))


def _streamed_or_error(place: Path, options: dict[str, Any]) -> list[tuple[str, str]] | TfcrError:
    try:
        stream = LabelledStream([str(place)], ReadOptions(**options))
        return [row for piece in stream for row in zip(piece.texts, map(str, piece.labels), strict=True)]
    except TfcrError as error:
        return error


def _shown(rows: list[tuple[str, str]] | TfcrError) -> str:
    return f"refused ({rows})"[:300] if isinstance(rows, TfcrError) else f"{len(rows)} rows: {str(rows)[:300]}"


def _piece_seeds(folder: Path) -> list[Files]:
    found = []
    for kind in ("csv", "tsv", "jsonl", "fasttext", "lines", "parquet"):
        (folder / kind).mkdir()
        found += [_with_options(files, **_options_of(files[OPTIONS])) for files in _data_seeds(kind)(folder / kind)]
    return found


def _change_pieces(random: Random, files: Files) -> Files:
    changed = _change_options(random, files)
    options = {**_options_of(changed[OPTIONS]), "piece": random.choice(_OPTIONS["piece"])}
    return {**changed, OPTIONS: json.dumps(options).encode()}


_CELLS = st.text(st.sampled_from('ab",;|\t\n\r \\é\u0301\0\ufeff1'), max_size=12)


def _drawn_table() -> "st.SearchStrategy[Files]":
    """Draw delimited text: cells of what separates cells, quoted at random."""
    cell = st.tuples(_CELLS, st.sampled_from(("", '"'))).map(lambda drawn: drawn[1] + drawn[0] + drawn[1])
    row = st.tuples(cell, cell, st.sampled_from(",;\t|")).map(lambda drawn: drawn[2].join(drawn[:2]))
    text = st.lists(row, min_size=1, max_size=12).map(lambda rows: "\n".join(("text,label", *rows)).encode())
    options = st.fixed_dictionaries(
        {"piece": st.sampled_from(_OPTIONS["piece"])},
        optional={name: st.sampled_from(_OPTIONS[name]) for name in ("quoting", "header", "separator", "columns")},
    )
    return st.tuples(text, options).map(lambda drawn: _with_options({"data.csv": drawn[0]}, **drawn[1]))


def _drawn_json() -> "st.SearchStrategy[Files]":
    """Draw JSON lines whose values may be anything."""
    leaf = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)
    value = st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    )
    line = st.fixed_dictionaries({"text": value, "label": value}).map(json.dumps) | value.map(json.dumps)
    return st.tuples(st.lists(line, min_size=1, max_size=8), st.sampled_from(_OPTIONS["piece"])).map(
        lambda drawn: _with_options({"data.jsonl": "\n".join(drawn[0]).encode()}, piece=drawn[1])
    )


def _bombs() -> list[Files]:
    """Return small files that unpack to large ones: 300 MB each."""
    import bz2
    import gzip

    block = b"a,b\n" * (1 << 18)
    packed = gzip.compress(block, 9, mtime=0) * 300
    return [
        _with_options({"data.csv.gz": packed}),
        _with_options({"data.csv.bz2": bz2.compress(block, 9) * 300}),
        _with_options({"data.txt.gz": packed}, format="lines"),
    ]


# datasets ------------------------------------------------------------------------------------------------------------

_DATASETS = (
    "replab",
    "odp",
    "rev-rest",
    "rev-book",
    "semeval",
    "sentiment",
    "hate",
    "ns200",
    "20ng",
    "dbpedia",
    "sogou",
)


def _dataset_seeds(folder: Path) -> list[Files]:
    found = []
    for name in _DATASETS:
        (folder / name).mkdir()
        ORIGINALS[name](folder / name)
        files = {f"data/{file}": content for file, content in read_files(folder / name).items()}
        found.append(_with_options(files, dataset=name))
    return found


def _run_dataset(folder: Path) -> None:
    name = _options_of((folder / OPTIONS).read_bytes())["dataset"]
    load_dataset(name, folder / "data")


# vectors -------------------------------------------------------------------------------------------------------------


def _vector_seeds(folder: Path) -> list[Files]:
    found = []
    for number, (_, write) in enumerate(vector_files.FILES.values()):
        (folder / str(number)).mkdir()
        written = write(folder / str(number))
        files = read_files(folder / str(number))
        words = written.with_suffix(".txt").name  # beside the vectors, unless the file holds words itself
        beside = written.suffix in (".npy", ".safetensors") and words in files
        kept = (written.name, words) if beside else (written.name,)
        options = {"file": written.name}
        found.append(_with_options({name: files[name] for name in kept}, **options))
    vectors = random_vectors(random_corpus(), 4)
    for ending in (".vec", ".safetensors", ".npy"):
        (folder / ending).mkdir()
        vectors.save(folder / ending / f"w{ending}")
        found.append(_with_options(read_files(folder / ending), file=f"w{ending}"))
    return found


def _run_vectors(folder: Path) -> None:
    path = folder / str(_options_of((folder / OPTIONS).read_bytes())["file"])
    first = Embeddings.load(path)
    _check_vectors(first)
    _check_equal(first, Embeddings.load(path), "the second time, from the cache")


def _check_vectors(vectors: Embeddings) -> None:
    words = vectors.words
    if len(set(words)) != len(words) or vectors.vectors.shape != (len(words), vectors.dimensions):
        raise DisagreementError(f"{len(words)} words, {len(set(words))} distinct, and vectors {vectors.vectors.shape}")
    if not np.isfinite(vectors.vectors).all():
        raise DisagreementError("some vectors hold NaN or infinity")
    vectors.of_words([*words[:3], "absent"])


def _check_equal(one: Embeddings, two: Embeddings, what: str) -> None:
    if one.words != two.words or not np.array_equal(one.vectors, two.vectors):
        raise DisagreementError(f"{what}, other words or vectors: {one.words[:5]} and {two.words[:5]}")


def _vector_claims() -> list[Files]:
    """Return vector files that claim to be much larger than they are."""
    found = []
    for claim in ("3 50000000", "50000000 3", "3 0", "0 3", f"{DIGITS} 3", "3 9223372036854775807", "-3 3", "3.0 3"):
        text = f"{claim}\ngood 1 2 3\nfilm 4 5 6\nbad 7 8 9\n".encode()
        found.append(_with_options({"w.vec": text}, file="w.vec"))
        binary = (
            f"{claim}\n".encode() + b"good " + struct.pack("<3f", 1, 2, 3) + b"\nfilm " + struct.pack("<3f", 4, 5, 6)
        )
        found.append(_with_options({"w.bin": binary}, file="w.bin"))
    one_line = b"word " + b"1 " * 2_000_000 + b"\n"
    return [
        *found,
        _with_options({"w.vec": one_line}, file="w.vec"),
        _with_options({"w.vec": b"a" * (8 << 20)}, file="w.vec"),
    ]


# caches --------------------------------------------------------------------------------------------------------------


def _artifact(section: str) -> Path:
    """Return the only artefact of a section of the cache."""
    [found] = [path for path in cache_folder(section).iterdir() if path.is_dir() and not path.name.startswith(".")]
    return found


@contextmanager
def _own_cache(folder: Path) -> Iterator[None]:
    with mock.patch.dict(os.environ, TFCR_CACHE=str(folder / "cache")):
        yield


def _vector_cache_seeds(folder: Path) -> list[Files]:
    corpus = random_corpus()
    found = []
    for dimensions in (1, 5):
        (folder / str(dimensions)).mkdir()
        random_vectors(corpus, dimensions).save(folder / str(dimensions) / "w.vec")
        with _own_cache(folder / str(dimensions)):
            Embeddings.load(folder / str(dimensions) / "w.vec")
            stored = {f"stored/{name}": content for name, content in read_files(_artifact("embeddings")).items()}
        found.append({"w.vec": (folder / str(dimensions) / "w.vec").read_bytes(), **stored})
    return found


def _damage(artifact: Path, stored: Path) -> None:
    """Put the mutated files in the place of those of an artefact, and nothing else."""
    for path in stored.rglob("*"):
        target = artifact / path.relative_to(stored)
        if path.is_file() and target.exists() and path.read_bytes() != target.read_bytes():
            shutil.copy(path, target)


def _run_vector_cache(folder: Path) -> None:
    with _own_cache(folder):
        expected = Embeddings.load(folder / "w.vec")
        words, vectors = list(expected.words), np.array(expected.vectors)
        _damage(_artifact("embeddings"), folder / "stored")
        found = Embeddings.load(folder / "w.vec")
        if found.words != words or not np.array_equal(found.vectors, vectors):
            raise DisagreementError(f"a damaged cache was trusted: {found.words[:5]} for {words[:5]}")


def _corpus_plan(folder: Path) -> CorpusPlan:
    return CorpusPlan(str(folder / "data.csv"), ReadOptions(), "words", 100, 0, 3)


def _corpus_cache_seeds(folder: Path) -> list[Files]:
    corpus = random_corpus(9)
    rows = "".join(f"{text} http://x.org/a,{label}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True))
    (folder / "data.csv").write_text("text,label\n" + rows)
    with _own_cache(folder):
        prepare_corpus(_corpus_plan(folder))
        stored = {f"stored/{name}": content for name, content in read_files(_artifact("experiments")).items()}
    return [{"data.csv": (folder / "data.csv").read_bytes(), **stored}]


def _corpus_content(folder: Path) -> tuple[Any, ...]:
    handle = prepare_corpus(_corpus_plan(folder))
    open_corpus.cache_clear()
    corpus = open_corpus(handle.entry)
    matrix = corpus.documents.matrix
    return (
        *(handle.facts, handle.data_hash, corpus.texts(), corpus.documents.vocabulary.words, corpus.labels.tolist()),
        *(matrix.toarray().tolist(), corpus.program_counts.toarray().tolist(), corpus.classes.tolist()),
    )


def _run_corpus_cache(folder: Path) -> None:
    with _own_cache(folder):
        expected = _corpus_content(folder)
        _damage(_artifact("experiments"), folder / "stored")
        if _corpus_content(folder) != expected:
            raise DisagreementError("a damaged cache was trusted")


# counts --------------------------------------------------------------------------------------------------------------


def _count_seeds(folder: Path) -> list[Files]:
    corpus = random_corpus(12)
    one = ClassCounts.from_texts(corpus.texts, corpus.labels)
    several = ClassCounts.from_texts(["a b", "b é", "c"], [[1, 2], [2], []], sample_weight=[1, 0.5, 2])
    for number, counts in enumerate((one, several)):
        counts.save(folder / str(number))
    return [{"a.counts": (folder / str(number)).read_bytes()} for number in range(2)]


def _reseal_counts(files: Files) -> Files:
    """Give a file of counts the hash that its arrays have now, if it can be read at all."""
    with suppress(TfcrError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        arrays = arrays_of(memoryview(files["a.counts"]))
        arrays.pop("sha256", None)
        return {"a.counts": dump_tensors({name: np.array(array) for name, array in _with_hash(arrays).items()})}
    return files


def _run_counts(folder: Path) -> None:
    counts = ClassCounts.load(folder / "a.counts")
    counts.save(folder / "again.counts")
    if ClassCounts.load(folder / "again.counts") != counts:
        raise DisagreementError("counts that were written and read differ")
    if (counts + counts).n_documents != 2 * counts.n_documents:
        raise DisagreementError("counts do not add up")


# models --------------------------------------------------------------------------------------------------------------

_MODELS = Path(__file__).parents[1] / "models"
_DATA_FILE = re.compile(r"([a-z]+)-[0-9a-f]{16}\.safetensors")


def _model_seeds(folder: Path) -> list[Files]:
    return [
        {f"model/{name}": content for name, content in read_files(path).items() if not name.endswith("README.md")}
        for path in sorted(_MODELS.iterdir())
        if path.is_dir()
    ]


def reseal(files: Files) -> Files:
    """Name each data file of a model after its hash again, and let its config say so."""
    config = files.get("model/config.json", b"")
    sealed: Files = {}
    for name, content in files.items():
        match = _DATA_FILE.fullmatch(name.removeprefix("model/"))
        if match:
            new = f"{match[1]}-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
            config = config.replace(match[0].encode(), new.encode())
            sealed[f"model/{new}"] = content
        else:
            sealed[name] = content
    return {**sealed, "model/config.json": config}


def _change_model(random: Random, files: Files) -> Files:
    """Put a link to a device, a pipe or nothing in the place of a file, now and then."""
    if random.random() > 0.03:
        return files
    name = random.choice(list(files))
    rest = {other: content for other, content in files.items() if other != name}
    special: list[Files] = [{f"{name}@link": b"/dev/zero"}, {f"{name}@link": b"/dev/stdin"}, {f"{name}@fifo": b""}, {}]
    return {**rest, **random.choice(special)}


def _model_links() -> list[Files]:
    files = _model_seeds(Path())[-1]
    kinds: list[tuple[str, bytes]] = [
        ("@link", b"/dev/zero"),
        ("@link", b"/dev/urandom"),
        ("@link", b"."),
        ("@fifo", b""),
    ]
    return [
        {**{other: content for other, content in files.items() if other != name}, f"{name}{kind}": content}
        for name in files
        for kind, content in kinds
    ]


def _texts_for_models() -> list[str]:
    return ["", "unknown", "w0_1 w0_2 common1 common2 common1", "w1_3 common3 w2_1 w2_1 w2_1", "Common1, w0_1. W0_1!"]


@contextmanager
def _compiled(wanted: bool) -> Iterator[None]:
    least = 0 if wanted else 1 << 60
    with (
        mock.patch.object(documents_module, "MIN_NATIVE_CHARACTERS", least),
        mock.patch.object(word_table_module, "MIN_NATIVE_ENTRIES", least),
    ):
        yield


def _run_model(folder: Path) -> None:
    model = TrainedModel.load(folder / "model")
    texts = _texts_for_models()
    with np.errstate(all="ignore"), _compiled(False):
        plain = model.score_texts(texts)
        labels, probabilities, _ = model.predict_with_unknown(texts)
        model.explain(texts[2])
        model.top_words(3)
    if not np.isfinite(probabilities).all() or len(labels) != len(texts):
        raise DisagreementError(f"the probabilities are {probabilities.tolist()}")
    with np.errstate(all="ignore"), _compiled(True):
        compiled = model.score_texts(texts)
    _check_scores(plain.scores, compiled.scores, "compiled code")
    _check_scores(plain.unknown_fractions, compiled.unknown_fractions, "compiled code, unknown words")
    model.save(folder / "again")
    with np.errstate(all="ignore"), _compiled(False):
        _check_scores(plain.scores, TrainedModel.load(folder / "again").score_texts(texts).scores, "saved and loaded")


_DOCUMENTS = "documents.safetensors"
"""The counted documents that a model of the case keeps."""


def _document_seeds(folder: Path) -> list[Files]:
    texts, found = ["so good, so good", "", "a bad film é"], []
    for labels, weights in ((list("aba"), None), ([["a"], [], ["a", "b"]], np.array([1, 0.5, 2]))):
        kept = count_to_keep(texts, check_targets(labels, 3), weights, "symbols", bigrams=True)
        found.append({_DOCUMENTS: dump_tensors({name: np.array(array) for name, array in kept.write().items()})})
    return found


def _run_documents(folder: Path) -> None:
    """Read documents as those of a model, whose file has the right hash, and as what they wrote."""
    content = (folder / _DOCUMENTS).read_bytes()
    name = f"documents-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    (folder / name).write_bytes(content)
    form = "lists" if b'"label_sizes"' in content else "label"
    kept = StoredDocuments(folder, name, np.array(["a", "b"]), form).read()
    if kept is None:
        raise DisagreementError("the documents were not found")
    again = read_documents(kept.write(), kept.labels.classes, form)
    with local_places() as places:
        documents = unite(places, places.keep(again.shards())).documents
        if len(documents) != len(kept) or len(documents.rows(np.arange(len(kept))).lengths) != len(kept):
            raise DisagreementError("documents that were written and read differ")


_FIGURES = "figures.json"
"""The figures that a model of the case keeps."""


def _figure_seeds(folder: Path) -> list[Files]:
    labels = np.array(list("aabbba"))
    chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5], [0.7, 0.3], [0.6, 0.4]])
    predicted = np.where(chances[:, 0] > 0.5, "a", "b")
    one = Evaluation(labels, predicted, np.array(["a", "b"]), chances, np.arange(6) % 2, (0.5, 0.75))
    sets = LabelSets(np.array([1, 2]), chances > 0.3)
    several = Evaluation(sets, sets, sets.classes, chances, np.zeros(6, np.int64), (1.0,))
    return [{_FIGURES: json.dumps(Figures.of(result).as_json()).encode()} for result in (one, several)]


def _run_figures(folder: Path) -> None:
    """Read figures as those of a model, whose file has the right hash, and as what they wrote."""
    content = dump_tensors({"json": np.frombuffer((folder / _FIGURES).read_bytes(), np.uint8)})
    name = f"figures-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    (folder / name).write_bytes(content)
    figures = Figures.from_json(StoredFigures(folder, name).read())
    again = json.loads(json.dumps(figures.as_json()))
    if Figures.from_json(again) != figures:
        raise DisagreementError("figures that were written and read differ")


def _check_scores(one: Any, two: Any, what: str) -> None:
    scale = float(np.abs(one[np.isfinite(one)]).max(initial=1.0))
    if one.shape != two.shape or not np.allclose(one, two, rtol=1e-4, atol=1e-5 * scale, equal_nan=True):
        raise DisagreementError(f"{what}: {one.tolist()} and {two.tolist()}")


# results, grids ------------------------------------------------------------------------------------------------------


def _result_seeds(folder: Path) -> list[Files]:
    path = folder / "r.sqlite"
    results = open_results(path, make=True)
    cells = [
        cell_of(dataset, scheme, [score, score + 0.1, score - 0.1])
        for dataset, score in (("20ng", 0.5), ("other", 0.6))
        for scheme in ("none", "tfcr")
    ]
    results.add([cell.cell for cell in cells], 3)
    with results.running("tfcr experiment run") as run:
        for cell in cells:
            run.claim([(cell.cell.key, fold.fold) for fold in cell.folds])
            for fold in cell.folds:
                run.finish(cell.cell.key, fold)
    # the same bytes each time; a run that may still be alive
    results._connection.execute("UPDATE runs SET id = 'a', began = '2026-01-01', seen = 4e9, pid = 1")
    results._connection.execute("UPDATE folds SET run = 'a', finished = '2026-01-01'")
    results._connection.execute("UPDATE cells SET added = '2026-01-01'")
    results._connection.execute("PRAGMA journal_mode = DELETE")
    results._connection.execute("PRAGMA page_size = 1024")
    results._connection.execute("VACUUM")
    results.close()
    return [{"r.sqlite": path.read_bytes()}]


def _run_results(folder: Path) -> None:
    results = open_results(folder / "r.sqlite")
    try:
        cells = results.cells()
        results.commands()
        results.under_way()
        progress_of(cells)
        groups = summarise(cells)
        for write in TABLE_FORMATS.values():
            write(groups)
        summarise_curves(cells)
    finally:
        results.close()


_GRID = """
[experiment]
schemes = ["tfcr", "none"]
heads = "lr,svm"
systems = ["fast"]
profile = "equations"
sizes = "100:300:100,all"
folds = "3/10"
seeds = [0, 1]
sample = 1000

[experiment.word2vec]
dimensions = 50
epochs = 2
skip_gram = true
trained_on = "train"

[datasets.mine]
path = "data.csv"
text = ["text"]
label = "label"
encoding = "utf-8"
header = true
columns = 2

[datasets.20ng]

[embeddings.wglove]
path = "w.vec"
"""


def _grid_seeds(folder: Path) -> list[Files]:
    small = '[experiment]\nsizes = ["10:20:5"]\nfolds = 5\n[datasets.pydocs]\ntokenizer = "words"\n'
    return [{"grid.toml": _GRID.encode()}, {"grid.toml": small.encode()}]


def _run_grid(folder: Path) -> None:
    request, _ = make_request(file=read_grid(folder / "grid.toml"))
    request.check()


def _grid_claims() -> list[Files]:
    lines = (
        *(
            'sizes = "1:1000000000:1"',
            f"sizes = {DIGITS}",
            'sizes = "1:9:0"',
            f'folds = "{DIGITS}"',
            "folds = 1000000000",
        ),
        *(
            "x = " + "[" * 5000,
            "x." * 5000 + "y = 1",
            "sample = 1e400",
            "sample = nan",
            "seeds = [0, -1, 99999999999999]",
        ),
        *(
            'schemes = [["a"]]',
            "schemes = [{a = 1}]",
            "heads = 1979-05-27",
            "word2vec = 5",
            'folds = "0/0"',
            "sample = -1",
        ),
        *('sizes = "1:1000000:1"', "seeds = '" + ",".join(map(str, range(20000))) + "'", 'schemes = "\\uD800"'),
    )
    return [{"grid.toml": f"[experiment]\n{line}\n[datasets.pydocs]\n".encode()} for line in lines]


def _change_grid(random: Random, files: Files) -> Files:
    """Give a key another value, of another type."""
    lines = files["grid.toml"].split(b"\n")
    number = random.randrange(len(lines))
    key, equals, _ = lines[number].partition(b" = ")
    if random.random() < 0.5 or not equals:
        return files
    value = random.choice((other_value(random), str(random.choice(NUMBERS)), f"1:{random.choice(NUMBERS)}:1"))
    with suppress(ValueError):
        lines[number] = key + b" = " + json.dumps(value).encode()
    return {"grid.toml": b"\n".join(lines)}


# archives, downloads -------------------------------------------------------------------------------------------------


def _archive_seeds(folder: Path) -> list[Files]:
    import bz2
    import gzip
    import io
    import zipfile

    texts = {"a/1.txt": b"good film", "b/2.txt": b"bad film " * 30, "vectors.txt": b"good 1 2\nfilm 3 4\n"}
    packed, plain = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in texts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in {**texts, "é" * 60: b"x"}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "1.txt"
        tar.addfile(link)
    return [
        {"x.zip": packed.getvalue()},
        {"x.tar": plain.getvalue()},
        {"x.tar.gz": gzip.compress(plain.getvalue(), mtime=0)},
        {"x.tar.bz2": bz2.compress(plain.getvalue())},
        {"x.txt.gz": gzip.compress(texts["vectors.txt"], mtime=0)},
        {"x.txt.bz2": bz2.compress(texts["vectors.txt"])},
    ]


def _archive_bombs() -> list[Files]:
    """Return archives with a header of 300 MB, and files that unpack to 300 MB."""
    import gzip
    import io

    zeros = gzip.compress(b"\0" * (1 << 20), 9, mtime=0)
    head = io.BytesIO()
    with tarfile.open(fileobj=head, mode="w") as tar:
        entry = tarfile.TarInfo("pax")
        entry.type, entry.size = tarfile.XHDTYPE, 300 << 20
        head.write(entry.tobuf(tarfile.USTAR_FORMAT))
        tar.offset = 512
    pax = head.getvalue()[:512]
    return [{"x.tar.gz": gzip.compress(pax, mtime=0) + zeros * 301}, {"x.txt.gz": zeros * 300}, {"x.tar": pax}]


def _run_archive(folder: Path) -> None:
    place = _place(folder)
    refused: TfcrError | None = None
    try:
        for member in members(place, nested=True):
            for _ in member.chunks():
                pass
    except TfcrError as error:
        refused = error
    (folder / "out").mkdir()
    unpack_one(place, folder / "out" / "vectors.txt")
    if refused is not None:
        raise refused


_SHORT_WINDOW = {"download window": Limit(1, "seconds", "")}


@cache
def _server() -> HostileServer:
    return HostileServer()


def _run_download(folder: Path) -> None:
    script = _options_of((folder / "server.json").read_bytes())
    server = _server()
    server.play(script)
    wanted = script.get("wanted")
    size = wanted.get("size") if isinstance(wanted, dict) else None
    target = Download(server.url, "data.bin", size=size if type(size) is int else None)
    (folder / "out").mkdir()
    part = script.get("part")
    if isinstance(part, dict):
        (folder / "out" / ".data.bin.part").write_text(str(part.get("content")), "utf-8", "replace")
        note = {"url": server.url, "total": part.get("total"), "mark": part.get("etag")}
        (folder / "out" / ".data.bin.part-of").write_text(json.dumps(note))
    with mock.patch.object(download_module, "PAUSE", 0.0), mock.patch.dict(LIMITS, _SHORT_WINDOW):
        path = download(target, folder / "out", timeout=0.4)
    _check_download(path.read_bytes(), script, server)
    left = [name for name in read_files(folder / "out") if name.endswith((".part", ".part-of", ".lock", "tmp"))]
    if left:
        raise DisagreementError(f"a download leaves {left}")


def _check_download(content: bytes, script: dict[str, Any], server: HostileServer) -> None:
    """Two versions of a file must not be joined where the server says that they are two."""
    answers, files = script.get("answers"), script.get("files")
    if not isinstance(answers, list) or not isinstance(files, dict):
        return
    for answer in answers:
        headers = answer.get("headers") if isinstance(answer, dict) else None
        if not isinstance(headers, dict) or headers.get("ETag") != "auto" or answer.get("shift"):
            return
    versions = [str(text).encode("utf-8", "replace") for text in files.values()]
    part = script.get("part")
    if isinstance(part, dict) and not any(
        version.decode(errors="replace").startswith(str(part.get("content"))) for version in versions
    ):
        return
    whole = [version for version in versions if content == version or version.startswith(content)]
    if (
        not whole
        and content not in server.sent
        and not any(content[: len(sent)] == sent for sent in server.sent if sent)
    ):
        raise DisagreementError(f"found {content[:60]!r}… of {len(content)} bytes, which is no version of the file")
    mixed = [version for version in versions if len(content) == len(version) and content != version]
    if mixed and not whole and len(set(versions)) > 1 and content not in server.sent:
        raise DisagreementError("two versions of a file were joined")


# texts ---------------------------------------------------------------------------------------------------------------


@cache
def _model() -> TrainedModel:
    return TrainedModel.load(sorted(path for path in _MODELS.iterdir() if path.is_dir())[-1])


def _text_seeds(folder: Path) -> list[Files]:
    texts = [text for text, _ in _docstring_rows()]
    texts += [
        "w0_1 common1 w0_1",
        "Größe, naïve café! 日本語 12.5 https://x.org/a?b=c @you #tag :-) e\u0301\u0301 don't",
    ]
    return [{"text.txt": text.encode()} for text in texts]


def _drawn_text() -> "st.SearchStrategy[Files]":
    return st.text(max_size=60).map(lambda text: {"text.txt": text.encode("utf-8", "surrogatepass")})


def _run_text(folder: Path) -> None:
    text = (folder / "text.txt").read_bytes().decode("utf-8", "surrogateescape")
    for name, tokenizer in TOKENIZERS.items():
        if isinstance(tokenizer, Tokenizer) and tokenizer.table is not None:
            with _compiled(False):
                plain = count_terms([text, "w0_1"], tokenizer)
            with _compiled(True):
                compiled = count_terms([text, "w0_1"], tokenizer)
            if _counts(plain) != _counts(compiled):
                raise DisagreementError(f"compiled code, tokenizer {name}: {_counts(compiled)} for {_counts(plain)}")
    model = _model()
    score = model.score_texts([text]).scores[0]
    explained = model.explain(text)
    if not math.isfinite(float(np.sum(score))) or explained is None:
        raise DisagreementError(f"the scores are {score.tolist()}")


def _counts(documents: Any) -> dict[str, list[int]]:
    columns = documents.matrix.toarray().T.tolist()
    return {word: column for word, column in zip(documents.vocabulary.words, columns, strict=True) if any(column)}


def _marks() -> list[Files]:
    runs = (
        "\u0301" * 100_000,
        "\u0301\u0327" * 50_000,
        "a" * 4_000_000,
        "a " * 1_000_000,
        "\u1100" * 300_000,
        "@" * 10**6,
    )
    return [
        {"text.txt": text.encode()} for text in (*runs, *(token.decode("utf-8", "replace") * 999 for token in TOKENS))
    ]


TARGETS: dict[str, Target] = {
    "csv": Target(_run_reader, _data_seeds("csv"), _change_options, _drawn_table, _bombs),
    "tsv": Target(_run_reader, _data_seeds("tsv"), _change_options),
    "jsonl": Target(_run_reader, _data_seeds("jsonl"), _change_options, _drawn_json),
    "parquet": Target(_run_reader, _data_seeds("parquet"), _change_options),
    "xlsx": Target(_run_reader, _data_seeds("xlsx"), _change_options),
    "fasttext": Target(_run_reader, _data_seeds("fasttext"), _change_options),
    "lines": Target(_run_reader, _data_seeds("lines"), _change_options),
    "folder": Target(_run_reader, _data_seeds("folder"), _change_options),
    "tar": Target(_run_reader, _data_seeds("tar"), _change_options),
    "pieces": Target(_run_pieces, _piece_seeds, _change_pieces, lambda: _drawn_table() | _drawn_json()),
    "datasets": Target(_run_dataset, _dataset_seeds, _change_names),
    "vectors": Target(_run_vectors, _vector_seeds, special=_vector_claims),
    "vector cache": Target(_run_vector_cache, _vector_cache_seeds, kept=("w.vec",)),
    "corpus cache": Target(_run_corpus_cache, _corpus_cache_seeds, kept=("data.csv",)),
    "counts": Target(_run_counts, _count_seeds, mend=_reseal_counts),
    "models": Target(_run_model, _model_seeds, _change_model, special=_model_links, mend=reseal),
    "documents": Target(_run_documents, _document_seeds),
    "figures": Target(_run_figures, _figure_seeds),
    "results": Target(_run_results, _result_seeds),
    "grids": Target(_run_grid, _grid_seeds, _change_grid, special=_grid_claims),
    "archives": Target(_run_archive, _archive_seeds, special=_archive_bombs),
    "downloads": Target(_run_download, lambda folder: [{"server.json": script} for script in scripts()]),
    "texts": Target(_run_text, _text_seeds, drawn=_drawn_text, special=_marks),
}


def make_seeds(name: str) -> list[Files]:
    """Return the seeds of a target; whatever they need is written to a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        return TARGETS[name].seeds(Path(folder))
