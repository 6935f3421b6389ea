"""From results to what a table or a curve shows: scores by dataset and scheme or system, and tests between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfcr.data import DATASETS
from tfcr.decision import macro_f1
from tfcr.experiment.plan.cells import Cell
from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.profiles import PAPER_SCHEMES, resolve_profile
from tfcr.experiment.plan.published import paper_datasets, published_scores
from tfcr.experiment.plan.word2vec import W2V_SOURCES
from tfcr.experiment.results.statistics import (
    FEWEST_DATASETS,
    Comparison,
    Ranking,
    across_datasets,
    best_against_others,
    rank_schemes,
)
from tfcr.experiment.results.store import CellResult, FoldResult
from tfcr.schemes import SCHEMES

A_PART = 0.9
"""A dataset with less than this fraction of the documents it should have is a part of it."""

FoldName = tuple[int, int]
"""The seed and the number of a fold."""


@dataclass(frozen=True)
class Score:
    """How good a scheme or system is on a dataset.

    Attributes
    ----------
    score
        The headline of the profile: `mean` or `pooled`.
    mean, std
        Mean and standard deviation of macro-F1 over the folds.
    pooled
        Macro-F1 of the predictions of all folds together, averaged over seeds.
    published
        What the paper prints for it, if anything.
    folds
        Macro-F1 of each fold, by seed and number.
    wanted
        How many folds there will be.
    train_documents
        On average.
    test_to_train
        Number of test documents divided by that of training documents.
    coverage_words, coverage_tokens
        The fraction of the words, and of the tokens, that have a vector.
    seconds
        Of all folds together.
    dataset, source, documents, documents_in_all
        What it was measured on: the dataset's name, the file or dataset that was read, and the sample of its documents.
    """

    score: float
    mean: float
    std: float
    pooled: float
    published: float | None
    folds: Mapping[FoldName, float]
    wanted: int
    train_documents: float
    test_to_train: float
    coverage_words: float
    coverage_tokens: float
    seconds: float
    dataset: str = ""
    source: str = ""
    documents: int = 0
    documents_in_all: int = 0

    @property
    def difference(self) -> float | None:
        """Our score minus the published one."""
        return None if self.published is None else self.score - self.published


@dataclass(frozen=True)
class Place:
    """What the scores of one table share.

    Attributes
    ----------
    profile, embedding, head
        By name; those that do not apply are empty.
    vectors
        Description of the vectors.
    trained_on
        What in-domain word2vec was trained on; empty for other vectors.
    cut
        The number of folds that documents are cut into.
    """

    profile: str
    embedding: str
    head: str
    vectors: str
    trained_on: str
    cut: int

    @classmethod
    def of(cls, result: CellResult) -> "Place":
        """Return the place of a cell."""
        cell = result.cell
        trained_on = cell.settings.word2vec.trained_on if cell.settings.word2vec else ""
        return cls(cell.profile, cell.embedding, cell.head, cell.vectors, trained_on, cell.settings.folds)

    @property
    def title(self) -> str:
        """The title of its table."""
        vectors = f"{self.embedding} ({self.vectors})" if self.embedding else "no vectors"
        return ", ".join(filter(None, [vectors, self.head, self.profile and f"profile {self.profile}"]))

    @property
    def headline(self) -> str:
        """Which score counts: ``mean`` or ``pooled``."""
        return resolve_profile(self.profile).score if self.profile else "mean"

    def takes(self, other: "Place") -> bool:
        """Whether the scores of a system that runs at the `other` place stand beside those of this one."""
        ours, theirs = ((place.cut, place.embedding, place.vectors, place.trained_on) for place in (self, other))
        return ours == theirs if other.embedding else self.cut == other.cut


@dataclass(frozen=True)
class Group:
    """The scores of one table by dataset and column, its tests, and notes for the reader."""

    place: Place
    rows: dict[str, dict[str, Score]]
    tests: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The schemes and systems of all rows, the paper's first and in its order."""
        found = dict.fromkeys(column for row in self.rows.values() for column in row)
        return sorted(found, key=lambda name: PAPER_SCHEMES.index(name) if name in PAPER_SCHEMES else len(found) + 5)

    def folds_of(self, label: str) -> str:
        """Return how many folds of a row were run, in words; its columns may differ."""
        return folds_in_words([score.folds for score in self.rows[label].values()], self.place.cut)

    def sample_of(self, label: str) -> str:
        """Return how many documents of a dataset a row is about, in words."""
        score = next(iter(self.rows[label].values()))
        part = f" of {score.documents_in_all:,}" if score.documents < score.documents_in_all else ""
        return f"{score.documents:,}{part}"

    def winner(self, dataset: str) -> str:
        """Return the column with the best score on a dataset."""
        row = self.rows[dataset]
        return max(row, key=lambda column: row[column].score)


def folds_in_words(columns: Iterable[Iterable[FoldName]], cut: int) -> str:
    """Return how many of the folds some columns have.

    Examples
    --------
    >>> folds_in_words([[(0, 0), (0, 1)], [(0, 0), (0, 1), (0, 2)]], 10)
    '2 to 3 of 10'
    >>> folds_in_words([[(0, 0), (1, 0)]], 10)
    '1 of 10, with 2 seeds'
    """
    names = [list(column) for column in columns]
    counts = sorted({len({fold for _, fold in some}) for some in names})
    run = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    seeds = len({seed for some in names for seed, _ in some})
    return f"{run} of {cut}" + (f", with {seeds} seeds" if seeds > 1 else "")


@dataclass(frozen=True)
class Curve:
    """A line of a learning curve: training sizes, mean and standard deviation of macro-F1 over folds."""

    sizes: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    stds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """The learning curves of one place: for each dataset, a line for each scheme or system."""

    place: Place
    panels: dict[str, dict[str, Curve]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ProgressRow:
    """How far the cells of a profile, dataset, embedding and head are."""

    profile: str
    dataset: str
    embedding: str
    head: str
    cells: int
    cells_done: int
    folds_done: int
    folds_left: int
    seconds: float


def progress_of(results: Iterable[CellResult]) -> list[ProgressRow]:
    """Return what is done and what is left, by profile, dataset, embedding and head."""
    parts: dict[tuple[str, str, str, str], list[CellResult]] = {}
    for result in results:
        cell = result.cell
        parts.setdefault((cell.profile, cell.dataset, cell.embedding, cell.head), []).append(result)
    return [
        ProgressRow(
            *place,
            cells=len(cells),
            cells_done=sum(len(cell.folds) >= cell.wanted for cell in cells),
            folds_done=sum(len(cell.folds) for cell in cells),
            folds_left=sum(max(0, cell.wanted - len(cell.folds)) for cell in cells),
            seconds=sum(fold.seconds for cell in cells for fold in cell.folds),
        )
        for place, cells in parts.items()
    ]


def summarise(results: Iterable[CellResult]) -> list[Group]:
    """Return the tables of all cells that trained on whole training folds."""
    whole = [result for result in results if result.cell.settings.size is None]
    return [_group(place, cells) for place, cells in _by_place(whole).items()]


def summarise_curves(results: Iterable[CellResult]) -> list[Figure]:
    """Return the learning curves of all places where there are at least two training sizes."""
    figures = []
    for place, cells in _by_place(results).items():
        panels: dict[str, dict[str, Curve]] = {}
        folds: dict[str, str] = {}
        for dataset, same in _by_dataset(_newest(cells)).items():
            alike = _with_common_folds(same)
            lines = {name: _curve(scores) for name, scores in _by_size(place, alike).items() if len(scores) > 1}
            if lines:
                panels[dataset] = lines
                folds[dataset] = folds_in_words(_folds_by_column(alike).values(), place.cut)
        if panels:
            counted = [f"{dataset}: {count} folds" for dataset, count in folds.items()]
            figures.append(Figure(place, panels, (*counted, *_notes(place, cells))))
    return figures


def _by_place(results: Iterable[CellResult]) -> dict[Place, list[CellResult]]:
    """Return the cells of each table; systems stand in the tables of all schemes with the same vectors."""
    places: dict[Place, list[CellResult]] = {}
    finished = [result for result in results if result.folds]
    # those that fit into most places last: without vectors, a system stands beside all that there are
    for result in sorted(finished, key=lambda result: (not result.cell.of_paper, not result.cell.embedding)):
        own = Place.of(result)
        beside = [] if result.cell.of_paper else [place for place in places if place.takes(own)]
        for place in beside or [own]:
            places.setdefault(place, []).append(_scored_for(place, result))
    return places


def _scored_for(place: Place, result: CellResult) -> CellResult:
    """Return a system's result with macro-F1 over the classes that count in a profile."""
    if result.cell.of_paper or not place.profile:
        return result
    counted = resolve_profile(place.profile).counted(result.cell.facts.classes)
    rows = (replace(row, macro_f1=macro_f1(row.confusion, counted)) for row in result.folds)
    return replace(result, folds=tuple(rows))


def _labels(cells: Sequence[CellResult]) -> dict[str, str]:
    """Return the name of each cell's row: its dataset, what stands in for it, and how it differs from other rows.

    Rows differ by the size of the sample, or by how many documents classes kept; a hash tells apart what only the data
    itself does. With other seeds, other documents are sampled: that alone makes no other row.
    """
    labels = {result.cell.key: _name(result) for result in cells}
    for detail in (_sample_detail, _class_sizes_detail, _hash_detail):
        variants: dict[tuple[str, int], set[tuple[str, ClassSizes | None]]] = {}
        details: dict[str, set[str]] = {}
        for result in cells:
            label, settings = labels[result.cell.key], result.cell.settings
            variants.setdefault((label, settings.seed), set()).add((settings.data, settings.class_sizes))
            details.setdefault(label, set()).add(detail(result.cell))
        unclear = {label for (label, _), found in variants.items() if len(found) > 1 and len(details[label]) > 1}
        labels |= {
            result.cell.key: labels[result.cell.key] + detail(result.cell)
            for result in cells
            if labels[result.cell.key] in unclear
        }
    return labels


def _sample_detail(cell: Cell) -> str:
    return f", {cell.facts.documents:,} of {cell.facts.documents_in_all:,} documents"


def _class_sizes_detail(cell: Cell) -> str:
    return "" if cell.settings.class_sizes is None else f", {cell.settings.class_sizes.described()}"


def _hash_detail(cell: Cell) -> str:
    return f" [{cell.settings.data[:6]}]"


def _name(result: CellResult) -> str:
    dataset, source = result.cell.dataset, result.cell.facts.source
    return dataset if source == dataset else f"{dataset} ({source})"


def _column(result: CellResult) -> str:
    """Return the name of a cell's column; a system may have the name of a scheme."""
    cell = result.cell
    return f"{cell.scheme} (system)" if not cell.of_paper and cell.scheme in SCHEMES else cell.scheme


def _newest(cells: Iterable[CellResult]) -> list[CellResult]:
    """Return the last result of each name: older ones had another tokenizer, own code or protocol."""
    return list({_line(result): result for result in cells}.values())


def _line(result: CellResult) -> tuple[Any, ...]:
    settings = result.cell.settings
    return _name(result), settings.data, _column(result), settings.size, settings.class_sizes, settings.seed


def _by_dataset(cells: list[CellResult]) -> dict[str, list[CellResult]]:
    labels = _labels(cells)
    parts: dict[str, list[CellResult]] = {}
    for result in cells:
        parts.setdefault(labels[result.cell.key], []).append(result)
    return parts


def _group(place: Place, cells: list[CellResult]) -> Group:
    rows: dict[str, dict[str, Score]] = {}
    for label, row in _by_dataset(_newest(cells)).items():
        columns: dict[str, list[CellResult]] = {}
        for result in row:
            columns.setdefault(_column(result), []).append(result)
        rows[label] = {column: _score(place, same) for column, same in columns.items()}
    group = Group(place, rows)
    return Group(place, rows, tuple(_tests(group)), (*_notes(place, cells), *_test_notes(group)))


def _score(place: Place, cells: list[CellResult]) -> Score:
    """Join the repeats with several seeds into one score."""
    cell = cells[0].cell
    folds = {(result.cell.settings.seed, row.fold): row for result in cells for row in result.folds}
    scores = [row.macro_f1 for row in folds.values()]
    mean = float(np.mean(scores))
    pooled = float(np.mean([_pooled(place, result) for result in cells]))
    return Score(
        score={"mean": mean, "pooled": pooled}[place.headline],
        mean=mean,
        std=float(np.std(scores)),
        pooled=pooled,
        published=published_scores().get((cell.embedding, cell.head, cell.dataset, cell.scheme)),
        folds={name: row.macro_f1 for name, row in folds.items()},
        wanted=sum(result.wanted for result in cells),
        train_documents=_mean(folds.values(), "train_documents"),
        test_to_train=float(np.mean([row.test_documents / row.train_documents for row in folds.values()])),
        coverage_words=_mean(folds.values(), "coverage_words"),
        coverage_tokens=_mean(folds.values(), "coverage_tokens"),
        seconds=float(sum(row.seconds for row in folds.values())),
        dataset=cell.dataset,
        source=cell.facts.source,
        documents=cell.facts.documents,
        documents_in_all=cell.facts.documents_in_all,
    )


def _pooled(place: Place, result: CellResult) -> float:
    confusion = np.sum([row.confusion for row in result.folds], axis=0)
    counted = resolve_profile(place.profile).counted(result.cell.facts.classes) if place.profile else None
    return macro_f1(confusion, counted)


def _mean(rows: Iterable[FoldResult], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def _with_common_folds(cells: list[CellResult]) -> list[CellResult]:
    """Return the cells of a panel with the folds that all of them have, or unchanged if there are none."""
    common = set.intersection(*_folds_by_column(cells).values())
    if not common:
        return cells
    alike = [
        replace(result, folds=tuple(row for row in result.folds if (result.cell.settings.seed, row.fold) in common))
        for result in cells
    ]
    return [result for result in alike if result.folds]


def _folds_by_column(cells: Iterable[CellResult]) -> dict[tuple[str, int | None], set[FoldName]]:
    """Return the folds of each column and training size."""
    parts: dict[tuple[str, int | None], set[FoldName]] = {}
    for result in cells:
        names = parts.setdefault((_column(result), result.cell.settings.size), set())
        names.update((result.cell.settings.seed, row.fold) for row in result.folds)
    return parts


def _by_size(place: Place, cells: list[CellResult]) -> dict[str, list[Score]]:
    """Return the scores of each column's training sizes."""
    parts: dict[str, dict[int | None, list[CellResult]]] = {}
    for result in cells:
        parts.setdefault(_column(result), {}).setdefault(result.cell.settings.size, []).append(result)
    return {column: [_score(place, same) for same in line.values()] for column, line in parts.items()}


def _curve(scores: list[Score]) -> Curve:
    ordered = sorted(scores, key=lambda score: score.train_documents)
    return Curve(
        [score.train_documents for score in ordered],
        [score.mean for score in ordered],
        [score.std for score in ordered],
    )


# tests and notes ---------------------------------------------------------------------------------------------------


def _tests(group: Group) -> list[Comparison]:
    found = []
    for dataset, row in group.rows.items():
        common = set.intersection(*(set(score.folds) for score in row.values()))
        if len(row) > 1 and len(common) > 1:
            folds = {column: [score.folds[name] for name in sorted(common)] for column, score in row.items()}
            best = group.winner(dataset)
            found += best_against_others(folds, best, row[best].test_to_train, dataset)
    complete = _complete_rows(group)
    if len(complete) >= FEWEST_DATASETS and len(group.columns) > 1:
        scores = {column: [row[column].score for row in complete] for column in group.columns}
        found += across_datasets(scores, max(scores, key=lambda column: float(np.mean(scores[column]))))
    return found


def ranking_of(group: Group) -> Ranking | None:
    """Return the mean ranks of a table's columns over its datasets; None if there are too few of either."""
    complete = _complete_rows(group)
    if len(complete) < FEWEST_DATASETS or len(group.columns) < 2:
        return None
    return rank_schemes({column: [row[column].score for row in complete] for column in group.columns})


def _complete_rows(group: Group) -> list[dict[str, Score]]:
    """Return one row of each dataset that has all columns: that of the largest sample, then of the most folds."""
    complete = [row for row in group.rows.values() if set(row) == set(group.columns)]
    largest: dict[str, dict[str, Score]] = {}
    for row, dataset in zip(complete, _same_datasets(complete), strict=True):
        if dataset not in largest or _size(row) > _size(largest[dataset]):
            largest[dataset] = row
    return list(largest.values())


def _size(row: dict[str, Score]) -> tuple[int, int]:
    return next(iter(row.values())).documents, min(len(score.folds) for score in row.values())


def _same_datasets(rows: Sequence[dict[str, Score]]) -> list[str]:
    """Return a name for the dataset of each row: rows of one name, or of one file of the same size, are of one."""
    scores = [next(iter(row.values())) for row in rows]
    names = {score.dataset: score.dataset for score in scores}
    first: dict[tuple[str, int], str] = {}
    for score in scores:
        known, name = first.setdefault((score.source, score.documents_in_all), score.dataset), names[score.dataset]
        names = {dataset: names[known] if joined == name else joined for dataset, joined in names.items()}
    return [names[score.dataset] for score in scores]


def _test_notes(group: Group) -> list[str]:
    n_datasets = len(_complete_rows(group))
    notes = []
    if n_datasets < sum(set(row) == set(group.columns) for row in group.rows.values()):
        notes.append(
            "several rows are samples of one dataset: tests across datasets count it once, by its largest sample"
        )
    if n_datasets < FEWEST_DATASETS:
        notes.append(
            f"no Friedman and Wilcoxon tests across datasets: with {n_datasets}, fewer than {FEWEST_DATASETS}, they "
            "cannot reach p < .05"
        )
    return notes


def _notes(place: Place, cells: list[CellResult]) -> tuple[str, ...]:
    notes = [W2V_SOURCES[place.trained_on]] if place.trained_on else []
    shown = {result.cell.key for result in _newest(cells)}
    older = dict.fromkeys((result.cell.dataset, _column(result)) for result in cells if result.cell.key not in shown)
    notes += [
        f"{dataset}: an older result for {column}, with another tokenizer, code of your own or protocol, is not shown"
        for dataset, column in older
    ]
    for result in cells:
        notes += _dataset_notes(result.cell)
    return tuple(dict.fromkeys(notes))


def _dataset_notes(cell: Cell) -> list[str]:
    facts, notes = cell.facts, []
    if facts.source != cell.dataset and cell.dataset in paper_datasets():
        notes.append(f"{facts.source} stands in for the paper's dataset")
    elif cell.dataset in DATASETS and facts.documents_in_all < A_PART * DATASETS[cell.dataset].documents:
        whole = f"{DATASETS[cell.dataset].documents:,}"
        notes.append(f"{facts.documents_in_all:,} documents, a part of the dataset's {whole}")
    notes += facts.notes
    if facts.documents < facts.documents_in_all:
        notes.append(f"a sample of {facts.documents} of {facts.documents_in_all} documents")
    if cell.settings.class_sizes is not None:
        notes.append(f"training documents: {cell.settings.class_sizes.described()}")
    return [f"{cell.dataset}: {note}" for note in notes]
