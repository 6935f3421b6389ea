"""Datasets by their name: where their files are, getting them, reading them."""

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars as pl

from tfcr.data.columns import Columns, Corpus, joined_text
from tfcr.data.datasets.registry import DATASETS, Dataset
from tfcr.data.datasets.rows import Row
from tfcr.data.options import ReadOptions, Table
from tfcr.data.sources import read_corpus, read_pieces, read_unlabelled
from tfcr.errors import DataError, DownloadError, InputError, look_up
from tfcr.system.download import download
from tfcr.system.files import fetched_folder, find_data, looked_in, remember_path

READY, DOWNLOADABLE, TO_BE_ASKED_FOR = "ready", "can be downloaded", "must be asked for"


def load_data(sources: Sequence[str], *, path: str | Path | None = None, **options: Any) -> Corpus:
    """Return the labelled texts that a user names: paths that exist, standard input, or a dataset's name.

    Parameters
    ----------
    sources
        Files, or one name of DATASETS.
    path
        Where the files of the named dataset are, if tfcr shall not look for them.
    options
        What is known of files; see ReadOptions.
    """
    if _is_name(sources, path):
        return load_dataset(sources[0], path)
    return read_corpus(*sources, **options)


def load_unlabelled(
    sources: Sequence[str], options: ReadOptions, usual: Sequence[str] = (), path: str | Path | None = None
) -> tuple[Table, Columns]:
    """Return a table of what a user names, whose labels do not matter, and which of its columns hold the text.

    Parameters
    ----------
    sources, path
        As in `load_data`.
    options
        What is known of files.
    usual
        The columns that hold the text of files where none are given.
    """
    if not _is_name(sources, path):
        return read_unlabelled(sources, options, usual)
    corpus = load_dataset(sources[0], path)
    frame = pl.DataFrame({"text": corpus.texts, "label": corpus.labels})
    return Table(frame, f"{corpus.name}: {len(corpus):,} documents"), Columns(("text",), None, None)


def load_pieces(
    sources: Sequence[str], options: ReadOptions, usual: Sequence[str] = (), path: str | Path | None = None
) -> Generator[tuple[Table, Columns]]:
    """Return the same piece by piece; only files are larger than memory."""
    if _is_name(sources, path):
        yield load_unlabelled(sources, options, usual, path)
    else:
        yield from read_pieces(sources, options, usual)


def load_texts(sources: Sequence[str], options: ReadOptions, path: str | Path | None = None) -> tuple[list[str], str]:
    """Return the texts of what a user names, without those that are empty, and how they were read."""
    table, columns = load_unlabelled(sources, options, path=path)
    return [text for text in joined_text(table.frame, columns.text) if text is not None], table.how


def _is_name(sources: Sequence[str], path: str | Path | None) -> bool:
    """Tell whether a dataset is meant: one name, and no file of that name, unless the dataset's own path is given."""
    named = len(sources) == 1 and sources[0] in DATASETS
    if path is not None and not named:
        raise InputError(
            f"found --path {path} with {', '.join(sources)}; expected it with a dataset's name: {', '.join(DATASETS)}"
        )
    return named and (path is not None or not Path(sources[0]).exists())


def load_dataset(name: str, path: str | Path | None = None, *, sample: int | None = None, seed: int = 0) -> Corpus:
    """Return the texts of a dataset, or say how to get its files.

    Parameters
    ----------
    name
        A name of DATASETS.
    path
        Where its files are: a file, a folder or an archive. Else the place given to `fetch_dataset`, the folders of
        TFCR_DATA and what was downloaded are looked through.
    sample
        At most so many documents, drawn at random in one pass: the others are never held in memory.
    seed
        Of the drawing.
    """
    drawn = _draw(dataset_rows(name, path), sample, seed)
    if not drawn.whole:
        raise DataError(
            f"the files of {name!r} hold no document with a text and a label ({drawn.missing:,} without); "
            f"expected {DATASETS[name].files}"
        )
    return Corpus(
        texts=[row.text or "" for _, row in drawn.kept],
        labels=[row.label for _, row in drawn.kept],
        rows=[number for number, _ in drawn.kept],
        name=name,
        notes=tuple(_notes(drawn, seed)),
    )


def dataset_rows(name: str, path: str | Path | None = None) -> Iterator[Row]:
    """Yield the rows of a dataset one by one, with None for what is missing."""
    dataset = look_up(DATASETS, name, "dataset")
    place = Path(path) if path is not None else dataset_place(name)
    if not place.exists():
        raise DataError(f"{place} does not exist; expected the files of {name!r}: {dataset.files}")
    return dataset.read(place)


class _Drawn(NamedTuple):
    """Rows with their numbers; how many had both text and label; how many had not."""

    kept: list[tuple[int, Row]]
    whole: int
    missing: int


def _draw(rows: Iterator[Row], most: int | None, seed: int) -> _Drawn:
    """Keep all rows that have text and label, or `most` of them, each as likely as any other, in their order."""
    random = Random(seed)  # noqa: S311 - no secret
    kept: list[tuple[int, Row]] = []
    whole = missing = 0
    for number, row in enumerate(rows, start=1):
        if not row.label or not row.text or not row.text.strip():
            missing += 1
            continue
        whole += 1
        if most is None or len(kept) < most:
            kept.append((number, row))
        elif (place := random.randrange(whole)) < most:
            kept[place] = (number, row)
    return _Drawn(sorted(kept), whole, missing)


def _notes(drawn: _Drawn, seed: int) -> Iterator[str]:
    if drawn.missing:
        rows = drawn.whole + drawn.missing
        yield f"{drawn.missing:,} of {rows:,} rows have no text, or no label of the dataset's: left out"
    if len(drawn.kept) < drawn.whole:
        yield f"{len(drawn.kept):,} of {drawn.whole:,} documents, drawn with seed {seed}"


# where the files are -------------------------------------------------------------------------------------------------


def dataset_place(name: str) -> Path:
    """Return where the files of a dataset are, or say how to get them; of one without files, anywhere."""
    dataset = DATASETS[name]
    if not dataset.files:
        return Path()
    place = find_data(name)
    if place is None:
        raise DataError(
            f"the files of the dataset {name!r} are not on this machine ({looked_in()}); {how_to_get(name)}"
        )
    return place


def state_of(name: str) -> str:
    """Tell whether a dataset's files are on this machine, can be downloaded, or must be asked for."""
    if not DATASETS[name].files or find_data(name) is not None:
        return READY
    return DOWNLOADABLE if DATASETS[name].downloads else TO_BE_ASKED_FOR


def how_to_get(name: str) -> str:
    """Say what to do for a dataset's files."""
    dataset = DATASETS[name]
    give = f"tfcr datasets fetch {name} --path PLACE, or set TFCR_DATA to the folder that holds {name}/"
    if dataset.downloads:
        return f"type tfcr datasets fetch {name}; or give them: {give}"
    return f"{dataset.ask} ({dataset.page}), then give them: {give}"


# getting them --------------------------------------------------------------------------------------------------------


def fetch_dataset(
    name: str,
    path: str | Path | None = None,
    *,
    again: bool = False,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Get the files of a dataset, read its first document, and return their place.

    Parameters
    ----------
    name
        A name of DATASETS.
    path
        Where they are already: the place is remembered, nothing is copied.
    again
        Get them anew; what was got before is kept until they are there.
    progress, tell
        See `download`.
    """
    dataset = look_up(DATASETS, name, "dataset")
    if not dataset.files or (path is None and not again and state_of(name) == READY):
        place = dataset_place(name)
        _check(name, dataset, place)
        return place
    place = Path(path) if path is not None else _download(name, again, progress, tell)
    try:
        _check(name, dataset, place)
    except DataError as error:
        anew = "" if path is not None else f"; to download it anew: tfcr datasets fetch {name} --again"
        raise DataError(f"{error}{anew}") from error
    remember_path(name, place)
    return place


def _check(name: str, dataset: Dataset, place: Path) -> None:
    """Refuse files that are not the dataset's, before they are needed."""
    for row in dataset_rows(name, place):
        if row.label and row.text:
            return
    raise DataError(f"{place} holds no document with a text and a label of {name!r}; expected {dataset.files}")


def _download(
    name: str, again: bool, progress: Callable[[int, int], None] | None, tell: Callable[[str], None] | None
) -> Path:
    dataset, folder = DATASETS[name], fetched_folder() / name
    if not dataset.downloads:
        raise DownloadError(f"{name!r} cannot be downloaded: {how_to_get(name)}")
    for file in dataset.downloads:
        try:
            download(file, folder, again=again, progress=progress, tell=tell)
        except DownloadError as error:
            by_hand = f"get it by hand from {dataset.page}, and type tfcr datasets fetch {name} --path FILE"
            raise DownloadError(f"{error}; or {by_hand}") from error
    return folder
