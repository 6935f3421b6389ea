"""From results to what a table or a curve shows: scores by dataset and scheme, and the tests between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfcr.data import DATASETS
from tfcr.experiment.plan.profiles import PAPER_SCHEMES, resolve_profile
from tfcr.experiment.plan.request import W2V_SOURCES
from tfcr.experiment.results.published import paper_datasets, published_scores
from tfcr.experiment.results.scoring import macro_f1
from tfcr.experiment.results.statistics import FEWEST_DATASETS, Comparison, across_datasets, best_against_others
from tfcr.experiment.results.store import CellResult, FoldRow

A_PART = 0.9
"""A dataset with less than this share of the documents it should have is a part of it."""

FoldName = tuple[int, int]
"""The seed and the number of a fold."""


@dataclass(frozen=True)
class Score:
    """How good a scheme is on a dataset.

    Attributes
    ----------
    score
        The headline of the profile: `mean` or `pooled`.
    mean, spread
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
        Documents tested on for one trained on.
    coverage_words, coverage_tokens
        The share of the words, and of the running words, that have a vector.
    seconds
        Of all folds together.
    """

    score: float
    mean: float
    spread: float
    pooled: float
    published: float | None
    folds: Mapping[FoldName, float]
    wanted: int
    train_documents: float
    test_to_train: float
    coverage_words: float
    coverage_tokens: float
    seconds: float

    @property
    def difference(self) -> float | None:
        """Ours less the published one."""
        return None if self.published is None else self.score - self.published


@dataclass(frozen=True)
class Place:
    """What the scores of one table share.

    Attributes
    ----------
    profile, embedding, head
        By name.
    vectors
        What the vectors are, in words.
    trained_on
        What in-domain word2vec saw; empty for other vectors.
    cut
        The number of folds that documents are cut into.
    """

    profile: str
    embedding: str
    head: str
    vectors: str
    trained_on: str
    cut: int

    @property
    def title(self) -> str:
        """Return it in words."""
        return f"{self.embedding} ({self.vectors}), {self.head}, profile {self.profile}"


@dataclass(frozen=True)
class Group:
    """The scores of one table, its tests, and what a reader must know of it."""

    place: Place
    rows: dict[str, dict[str, Score]]
    tests: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def schemes(self) -> list[str]:
        """Return the schemes of all rows, the paper's first and in its order."""
        found = dict.fromkeys(scheme for row in self.rows.values() for scheme in row)
        return sorted(found, key=lambda name: PAPER_SCHEMES.index(name) if name in PAPER_SCHEMES else len(found) + 5)

    @property
    def folds_run(self) -> str:
        """Return how many folds were run, in words."""
        names = {name for row in self.rows.values() for score in row.values() for name in score.folds}
        seeds = {seed for seed, _ in names}
        run = len({fold for _, fold in names})
        repeats = f", repeated with {len(seeds)} seeds" if len(seeds) > 1 else ""
        return f"{run} of {self.place.cut} folds{repeats}"

    def winner(self, dataset: str) -> str:
        """Return the scheme with the best score on a dataset."""
        row = self.rows[dataset]
        return max(row, key=lambda scheme: row[scheme].score)


@dataclass(frozen=True)
class Curve:
    """A line of a learning curve: training sizes, mean macro-F1 and its spread over folds."""

    sizes: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """The learning curves of one place: for each dataset, a line for each scheme."""

    place: Place
    panels: dict[str, dict[str, Curve]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ProgressRow:
    """How far the cells of a profile, dataset, vectors and classifier are."""

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
    """Tell what is done and what is left, by profile, dataset, vectors and classifier."""
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
    """Return the tables of all cells that trained on whole training parts."""
    whole = [result for result in results if result.cell.size is None]
    return [_group(place, cells) for place, cells in _by_place(whole).items()]


def summarise_curves(results: Iterable[CellResult]) -> list[Figure]:
    """Return the learning curves of all places where there are at least two training sizes."""
    figures = []
    for place, cells in _by_place(results).items():
        panels: dict[str, dict[str, Curve]] = {}
        folds: dict[str, int] = {}
        for dataset, same in _by_dataset(_newest(cells)).items():
            alike = _with_common_folds(same)
            lines = {scheme: _curve(scores) for scheme, scores in _by_size(alike).items() if len(scores) > 1}
            if lines:
                panels[dataset] = lines
                folds[dataset] = max(len(result.folds) for result in alike)
        if panels:
            counted = [f"{dataset}: {count} of {place.cut} folds" for dataset, count in folds.items()]
            figures.append(Figure(place, panels, (*counted, *_notes(place, cells))))
    return figures


def _by_place(results: Iterable[CellResult]) -> dict[Place, list[CellResult]]:
    places: dict[Place, list[CellResult]] = {}
    for result in results:
        if result.folds:
            cell = result.cell
            word2vec = cell.settings["word2vec"] or {}
            trained_on = word2vec.get("trained_on", "")
            place = Place(cell.profile, cell.embedding, cell.head, cell.facts["vectors"], trained_on, cell.folds)
            places.setdefault(place, []).append(result)
    return places


def _labels(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return the name of each cell's row: its dataset, what stands in for it, and a hash where data has changed."""
    # with other seeds, other documents are sampled: that alone is no change
    data: dict[tuple[str, int], set[str]] = {}
    cells = list(cells)
    for result in cells:
        data.setdefault((_name(result), result.cell.seed), set()).add(result.cell.settings["data"])
    changed = {name for (name, _), hashes in data.items() if len(hashes) > 1}
    hashes = {result.cell.key: f" [{result.cell.settings['data'][:6]}]" for result in cells if _name(result) in changed}
    return {result.cell.key: _name(result) + hashes.get(result.cell.key, "") for result in cells}


def _name(result: CellResult) -> str:
    dataset, source = result.cell.dataset, result.cell.facts["source"]
    return dataset if source == dataset else f"{dataset} ({source})"


def _newest(cells: Iterable[CellResult]) -> list[CellResult]:
    """Return the last result of each name: older ones had another tokenizer, own code or protocol."""
    return list({_line(result): result for result in cells}.values())


def _line(result: CellResult) -> tuple[Any, ...]:
    cell = result.cell
    return _name(result), cell.settings["data"], cell.scheme, cell.size, cell.seed


def _by_dataset(cells: list[CellResult]) -> dict[str, list[CellResult]]:
    labels = _labels(cells)
    parts: dict[str, list[CellResult]] = {}
    for result in cells:
        parts.setdefault(labels[result.cell.key], []).append(result)
    return parts


def _group(place: Place, cells: list[CellResult]) -> Group:
    rows: dict[str, dict[str, Score]] = {}
    for label, row in _by_dataset(_newest(cells)).items():
        schemes: dict[str, list[CellResult]] = {}
        for result in row:
            schemes.setdefault(result.cell.scheme, []).append(result)
        rows[label] = {scheme: _score(same) for scheme, same in schemes.items()}
    group = Group(place, rows)
    return Group(place, rows, tuple(_tests(group)), (*_notes(place, cells), *_test_notes(group)))


def _score(cells: Sequence[CellResult]) -> Score:
    """Join the folds of all seeds of a cell."""
    cell = cells[0].cell
    profile = resolve_profile(cell.profile)
    folds = {(result.cell.seed, row.fold): row for result in cells for row in result.folds}
    scores = [row.macro_f1 for row in folds.values()]
    pooled = float(np.mean([_pooled(result, profile.left_out) for result in cells]))
    mean = float(np.mean(scores))
    return Score(
        score={"mean": mean, "pooled": pooled}[profile.score],
        mean=mean,
        spread=float(np.std(scores)),
        pooled=pooled,
        published=published_scores().get((cell.embedding, cell.head, cell.dataset, cell.scheme)),
        folds={name: row.macro_f1 for name, row in folds.items()},
        wanted=sum(result.wanted for result in cells),
        train_documents=_mean(folds.values(), "train_documents"),
        test_to_train=float(np.mean([row.test_documents / row.train_documents for row in folds.values()])),
        coverage_words=_mean(folds.values(), "coverage_words"),
        coverage_tokens=_mean(folds.values(), "coverage_tokens"),
        seconds=float(sum(row.seconds for row in folds.values())),
    )


def _pooled(result: CellResult, left_out: str | None) -> float:
    confusion = np.sum([row.confusion for row in result.folds], axis=0)
    return macro_f1(confusion, result.cell.facts["classes"], left_out)


def _mean(rows: Iterable[FoldRow], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def _with_common_folds(cells: list[CellResult]) -> list[CellResult]:
    """Return the cells of a panel with the folds that all of them have, or as they are if there are none."""
    parts: dict[tuple[str, int | None], set[FoldName]] = {}
    for result in cells:
        names = parts.setdefault((result.cell.scheme, result.cell.size), set())
        names.update((result.cell.seed, row.fold) for row in result.folds)
    common = set.intersection(*parts.values())
    if not common:
        return cells
    alike = [
        replace(result, folds=tuple(row for row in result.folds if (result.cell.seed, row.fold) in common))
        for result in cells
    ]
    return [result for result in alike if result.folds]


def _by_size(cells: list[CellResult]) -> dict[str, list[Score]]:
    """Return the scores of each scheme's training sizes."""
    parts: dict[str, dict[int | None, list[CellResult]]] = {}
    for result in cells:
        parts.setdefault(result.cell.scheme, {}).setdefault(result.cell.size, []).append(result)
    return {scheme: [_score(same) for same in line.values()] for scheme, line in parts.items()}


def _curve(scores: list[Score]) -> Curve:
    ordered = sorted(scores, key=lambda score: score.train_documents)
    return Curve(
        [score.train_documents for score in ordered],
        [score.mean for score in ordered],
        [score.spread for score in ordered],
    )


# tests and notes ---------------------------------------------------------------------------------------------------


def _tests(group: Group) -> list[Comparison]:
    found = []
    for dataset, row in group.rows.items():
        common = set.intersection(*(set(score.folds) for score in row.values()))
        if len(row) > 1 and len(common) > 1:
            folds = {scheme: [score.folds[name] for name in sorted(common)] for scheme, score in row.items()}
            best = group.winner(dataset)
            found += best_against_others(folds, best, row[best].test_to_train, dataset)
    whole = _complete_rows(group)
    if len(whole) >= FEWEST_DATASETS and len(group.schemes) > 1:
        scores = {scheme: [row[scheme].score for row in whole] for scheme in group.schemes}
        found += across_datasets(scores, max(scores, key=lambda scheme: float(np.mean(scores[scheme]))))
    return found


def _complete_rows(group: Group) -> list[dict[str, Score]]:
    return [row for row in group.rows.values() if set(row) == set(group.schemes)]


def _test_notes(group: Group) -> list[str]:
    n_datasets = len(_complete_rows(group))
    if n_datasets >= FEWEST_DATASETS:
        return []
    return [
        f"no Friedman and Wilcoxon tests across datasets: with {n_datasets}, fewer than {FEWEST_DATASETS}, they cannot "
        "reach p < .05"
    ]


def _notes(place: Place, cells: list[CellResult]) -> tuple[str, ...]:
    notes = [W2V_SOURCES[place.trained_on]] if place.trained_on else []
    shown = {result.cell.key for result in _newest(cells)}
    older = dict.fromkeys((result.cell.dataset, result.cell.scheme) for result in cells if result.cell.key not in shown)
    notes += [
        f"{dataset}: an older result for {scheme}, with another tokenizer, code of your own or protocol, is not shown"
        for dataset, scheme in older
    ]
    for result in cells:
        cell = result.cell
        if cell.facts["source"] != cell.dataset and cell.dataset in paper_datasets():
            notes.append(f"{cell.dataset}: {cell.facts['source']} stands in for the paper's dataset")
        elif cell.dataset in DATASETS and cell.facts["documents_in_all"] < A_PART * DATASETS[cell.dataset].documents:
            whole = f"{DATASETS[cell.dataset].documents:,}"
            notes.append(
                f"{cell.dataset}: {cell.facts['documents_in_all']:,} documents, a part of the dataset's {whole}"
            )
        notes += [f"{cell.dataset}: {note}" for note in cell.facts["notes"]]
        if cell.facts["documents"] < cell.facts["documents_in_all"]:
            taken = f"{cell.facts['documents']} of {cell.facts['documents_in_all']} documents"
            notes.append(f"{cell.dataset}: a sample of {taken}")
    return tuple(dict.fromkeys(notes))
