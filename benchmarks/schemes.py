"""Weighting schemes that the library does not have, and other ways to use the vectors, each beside `tfcr-log`.

    python benchmarks/schemes.py

First the vectors alone, to rank all of TRIALS; then what did best, in the whole preset `best`. Ten stratified folds,
seed 0, the same for all; GloVe of 100 dimensions. Trials run as cells of an experiment, into
benchmarks/results/schemes.sqlite: a killed run can be resumed, and a change of this file runs all of them again. Writes
benchmarks/results/schemes.md and .json.

In the formulas, as in tfcr.schemes: df_c documents of class c hold word w, df all documents; |w_c| and |w| are its
occurrences; D_c and D are documents, N_c and N occurrences; K is the number of classes; r is all that is not in c.
A word that never occurs weighs 0, and so does what comes out below 0.
"""

import hashlib
import sys
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import measuring
import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr
from systems import GLOVE, vector_file

from tfcr import SCHEMES, ClassCounts, Embeddings, TfcrClassifier
from tfcr.errors import TfcrWarning
from tfcr.experiment import Reporter, Request, Results, TextSystem, VectorsChoice, open_results, run_experiment
from tfcr.experiment.plan.parsing import parse_dataset
from tfcr.experiment.plan.request import ALL_DOCUMENTS
from tfcr.experiment.results.statistics import corrected_resampled_t, holm
from tfcr.features.parts import PARTS, Part, vector_blocks
from tfcr.schemes import Scheme, Weights
from tfcr.text.class_counts import Labels
from tfcr.text.documents import count_terms
from tfcr.text.shards import Documents

Floats = NDArray[np.float64]

# schemes -------------------------------------------------------------------------------------------------------------


def relevance_frequency(counts: ClassCounts) -> Weights:
    """Return log2(2 + df_c / max(df_r, 1)), of Lan et al. (2009)."""
    return _weights(counts, _relevance(counts))


def relevance_frequency_log(counts: ClassCounts) -> Weights:
    """Return log2(2 + df_c / max(df_r, 1)) · log(df_c + 1)."""
    return _weights(counts, _relevance(counts) * np.log1p(counts.documents.toarray()))


def chi_square(counts: ClassCounts) -> Weights:
    """Return χ² of holding the word and being in the class, whether the word speaks for the class or against it."""
    return _weights(counts, _phi(counts) ** 2 * counts.n_documents)


def chi_root(counts: ClassCounts) -> Weights:
    """Return √χ² where the word speaks for the class, else 0."""
    return _weights(counts, _phi(counts) * np.sqrt(counts.n_documents))


def information_gain(counts: ClassCounts) -> Weights:
    """Return the mutual information of holding the word and the class: one weight for all classes."""
    cells = _contingency(counts)
    return _weights(counts, _information(counts, cells[:2]).sum(axis=1, keepdims=True))


def information_gain_class(counts: ClassCounts) -> Weights:
    """Return the mutual information of holding the word and being in the class or not."""
    return _weights(counts, _information(counts, _contingency(counts)))


def gravity_moment(counts: ClassCounts) -> Weights:
    """Return 1 + 7 · f_1 / Σ_i i · f_i, the f_i being all df_c from the largest down: Chen et al. (2016)."""
    return _weights(counts, 1 + 7 * _gravity(counts).max(axis=1, keepdims=True))


def gravity_moment_class(counts: ClassCounts) -> Weights:
    """Return 1 + 7 · df_c / Σ_i i · f_i: the same with the class's own df_c on top."""
    return _weights(counts, 1 + 7 * _gravity(counts))


def gravity_moment_log(counts: ClassCounts) -> Weights:
    """Return df_c / (Σ_i i · f_i) · log(df_c + 1): tfcr-log with the moment in place of df."""
    return _weights(counts, _gravity(counts) * np.log1p(counts.documents.toarray()))


def smooth_inverse_frequency(counts: ClassCounts, *, a: float = 1e-3) -> Weights:
    """Return a / (a + |w| / N), of Arora et al. (2017), one weight for all classes; no component is removed."""
    return _weights(counts, (a / (a + counts.word_occurrences / counts.n_occurrences))[:, None])


def smooth_inverse_frequency_class(counts: ClassCounts, *, a: float = 1e-3) -> Weights:
    """Return a / (a + |w| / N) · df_c / df."""
    ratio = counts.documents.toarray() / np.maximum(counts.word_documents, 1)[:, None]
    return _weights(counts, smooth_inverse_frequency(counts, a=a) * ratio)


def log_odds(counts: ClassCounts, *, prior: float = 1000) -> Weights:
    """Return max(z, 0), z of the log-odds ratio with an informative Dirichlet prior: Monroe et al. (2008).

    With p = prior · |w| / N: o_c = log((|w_c| + p) / (N_c + prior - |w_c| - p)), and o_r likewise;
    z = (o_c - o_r) / √(1 / (|w_c| + p) + 1 / (|w_r| + p)).
    """
    imagined = prior * counts.word_occurrences[:, None] / counts.n_occurrences
    inside = counts.occurrences.toarray() + imagined
    outside = counts.word_occurrences[:, None] + 2 * imagined - inside
    with np.errstate(divide="ignore", invalid="ignore"):  # words that never occur
        odds_inside = inside / (counts.class_occurrences + prior - inside)
        odds_outside = outside / (counts.n_occurrences - counts.class_occurrences + prior - outside)
        z = np.log(odds_inside / odds_outside) / np.sqrt(1 / inside + 1 / outside)
    return _weights(counts, z)


def smoothed_tfcr(counts: ClassCounts, *, k: float) -> Weights:
    """Return (df_c + k) / (df + K · k) · log(df_c + k + 1): tfcr-log with k more documents in each class."""
    documents = counts.documents.toarray() + k
    return _weights(counts, documents / documents.sum(axis=1, keepdims=True) * np.log1p(documents))


def root_of(counts: ClassCounts, *, scheme: str) -> Weights:
    """Return the square root of a scheme of the library."""
    return np.sqrt(SCHEMES[scheme](counts))


def _weights(counts: ClassCounts, values: Floats | Weights) -> Weights:
    return np.where(counts.word_documents[:, None] > 0, np.maximum(values, 0), 0).astype(np.float32)


def _contingency(counts: ClassCounts) -> tuple[Floats, Floats, Floats, Floats]:
    """Return documents with the word and without it in c, then in r; (n_words, n_classes) each."""
    inside = counts.documents.toarray()
    outside = counts.word_documents[:, None] - inside
    n_outside = counts.n_documents - counts.class_documents
    return inside, counts.class_documents - inside, outside, n_outside - outside


def _relevance(counts: ClassCounts) -> Floats:
    inside, _, outside, _ = _contingency(counts)
    return np.asarray(np.log2(2 + inside / np.maximum(outside, 1)))


def _phi(counts: ClassCounts) -> Floats:
    """Return the correlation of holding the word and being in the class; 0 where one of them does not vary."""
    a, b, c, d = _contingency(counts)
    product = (a + b) * (c + d) * (a + c) * (b + d)
    return np.divide(a * d - b * c, np.sqrt(product), out=np.zeros_like(a), where=product > 0)


def _information(counts: ClassCounts, cells: Sequence[Floats]) -> Floats:
    """Return Σ p · log(p / (p_word · p_class)) over the cells of `_contingency` that are given."""
    with_word = counts.word_documents[:, None] / counts.n_documents
    in_class = counts.class_documents / counts.n_documents
    expected = [word * share for share in (in_class, 1 - in_class) for word in (with_word, 1 - with_word)]
    found = [rel_entr(cell / counts.n_documents, by_chance) for cell, by_chance in zip(cells, expected, strict=False)]
    return np.asarray(np.sum(found, axis=0))


def _gravity(counts: ClassCounts) -> Floats:
    """Return df_c / Σ_i i · f_i."""
    inside = counts.documents.toarray()
    moments = -np.sort(-inside, axis=1) @ np.arange(1, inside.shape[1] + 1)
    return np.asarray(inside / np.maximum(moments, 1)[:, None])


# what is tried -------------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """A scheme, other parameters of TfcrClassifier, the scheme of a second part of vectors, vectors from prefixes."""

    scheme: str | Scheme = "tfcr-log"
    settings: Mapping[str, Any] = {}
    second: str | Scheme | None = None
    prefixes: bool = False


BASELINE = "tfcr-log"
TRIALS: dict[str, Trial] = {
    **{name: Trial(name) for name in SCHEMES},
    "relevance frequency": Trial(relevance_frequency),
    "relevance frequency · log": Trial(relevance_frequency_log),
    "chi-square": Trial(chi_square),
    "root of chi-square": Trial(chi_root),
    "information gain": Trial(information_gain),
    "information gain by class": Trial(information_gain_class),
    "gravity moment": Trial(gravity_moment),
    "gravity moment by class": Trial(gravity_moment_class),
    "gravity moment · log": Trial(gravity_moment_log),
    "smooth inverse frequency": Trial(smooth_inverse_frequency),
    "smooth inverse frequency · CR": Trial(smooth_inverse_frequency_class),
    "log-odds": Trial(log_odds),
    **{f"tfcr-log, k = {k}": Trial(partial(smoothed_tfcr, k=k)) for k in (0.1, 1, 5)},
    "root of tfcr": Trial(partial(root_of, scheme="tfcr")),
    "root of tfcr-log": Trial(partial(root_of, scheme="tfcr-log")),
    "min_count 2": Trial(settings={"min_count": 2}),
    "min_count 3": Trial(settings={"min_count": 3}),
    "all blocks": Trial(settings={"blocks": "all"}),
    "tftrr, all blocks": Trial("tftrr", {"blocks": "all"}),
    "vectors from prefixes": Trial(prefixes=True),
    "tfcr-log twice": Trial(second="tfcr-log"),
    "tfcr-log beside tftrr": Trial(second="tftrr"),
    "tfcr-log beside log-odds": Trial(second=log_odds),
    "tfcr-log beside none": Trial(second="none"),
}
BEST = (
    BASELINE,
    "tftrr",
    "tfcr-log, k = 0.1",
    "relevance frequency · log",
    "min_count 2",
    "vectors from prefixes",
    "tfcr-log beside tftrr",
)
"""What did best with vectors alone, on average or on two of three datasets, and so is tried in the whole preset."""


def second_part(scheme: str | Scheme) -> Part:
    """Return the part `vectors` with a scheme of its own."""

    def blocks(documents: Documents, counts: Callable[[], ClassCounts], given: Any) -> Any:
        return vector_blocks(documents, counts, replace(given, scheme=scheme))

    return Part(blocks, (1.0,))


def add_prefixes(vectors: Embeddings, words: Iterable[str], shortest: int = 4) -> Embeddings:
    """Give words without a vector the mean of those that share their longest prefix, if it is long enough."""
    order = np.argsort(np.array(vectors.words, dtype=object))
    known = [vectors.words[row] for row in order]
    made = {}
    for word in set(words).difference(known):
        for end in range(len(word), shortest - 1, -1):
            first, last = (bisect_left(known, word[:end] + after) for after in ("", chr(sys.maxunicode)))
            if last > first:
                made[word] = vectors.vectors[order[first:last]].mean(axis=0)
                break
    if not made:
        return vectors
    return Embeddings.from_arrays([*vectors.words, *made], np.vstack([vectors.vectors, *made.values()]))


# running -------------------------------------------------------------------------------------------------------------

FOLDS = 10
MOST_DOCUMENTS = {"20ng": 5_000}
OTHERS = ("davidson", "agnews", "semeval", "dbpedia", "20ng")


class Stage(NamedTuple):
    """A table: its title, the parts of the score, the datasets with how many of the folds, and what is tried."""

    title: str
    parts: tuple[str, ...]
    datasets: Mapping[str, int]
    trials: Sequence[str]

    def keys(self, dataset: str, trial: str) -> list["Key"]:
        """Return what the scores of a trial belong to, fold by fold."""
        return [Key(self.title, dataset, trial, fold) for fold in range(self.datasets[dataset])]


class Key(NamedTuple):
    """What a score belongs to."""

    stage: str
    dataset: str
    trial: str
    fold: int


STAGES = (
    Stage("Vectors alone", ("vectors",), dict.fromkeys(("davidson", "agnews", "pydocs"), 5), list(TRIALS)),
    Stage("Preset `best`", ("words", "bigrams", "vectors"), dict.fromkeys(OTHERS, 3), BEST),
)


@dataclass(frozen=True)
class TrialSystem(TextSystem):
    """A trial of a stage."""

    stage: str
    trial: str
    parts: tuple[str, ...]
    needs_vectors: bool = True

    @property
    def name(self) -> str:
        """The title of its column."""
        return f"{self.stage}: {self.trial}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its name and the source of all formulas."""
        source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:32]
        return {"trial": self.trial, "parts": self.parts, "source": source}

    def make(self, embeddings: Embeddings | None, seed: int) -> "TrialClassifier":
        """Return the classifier."""
        return TrialClassifier(TRIALS[self.trial], self.parts, embeddings, seed)


@dataclass
class TrialClassifier:
    """The preset `best`, changed as a trial says."""

    trial: Trial
    parts: tuple[str, ...]
    embeddings: Embeddings | None
    seed: int

    def fit(self, texts: Sequence[str], labels: Labels) -> "TrialClassifier":
        """Learn."""
        vectors = self.embeddings
        if self.trial.prefixes and vectors is not None:
            vectors = add_prefixes(vectors, count_terms(texts, "symbols").vocabulary.words)
        second = {} if self.trial.second is None else {"second": second_part(self.trial.second)}
        given = {"parts": (*self.parts, *second), "scheme": self.trial.scheme, **self.trial.settings}
        self._model = TfcrClassifier.from_preset("best", embeddings=vectors, random_state=self.seed, **given)
        with patch.dict(PARTS, second):  # a row more while it is fitted
            self._model.fit(texts, labels)
        return self

    def predict(self, texts: Sequence[str]) -> Labels:
        """Return the class of each text."""
        return np.asarray(self._model.predict(texts))


def run_stage(stage: Stage, results: Results) -> dict[Key, float]:
    """Run the missing folds of a stage, and return the scores of all."""
    systems = tuple(TrialSystem(stage.title, trial, stage.parts) for trial in stage.trials)
    reporter = Reporter(on_progress=lambda progress: print(progress.doing, file=sys.stderr, flush=True))
    scores = {}
    for source, first in stage.datasets.items():
        dataset = parse_dataset(source)
        request = Request(
            datasets=(dataset,),
            embeddings=(VectorsChoice("glove", str(vector_file(GLOVE))),),
            schemes=(),
            systems=systems,
            folds=FOLDS,
            first_folds=first,
            sample=MOST_DOCUMENTS.get(source, ALL_DOCUMENTS),
        )
        run_experiment(request, results, reporter=reporter)
        found = {result.cell.scheme: result for result in results.cells() if result.cell.dataset == dataset.name}
        for system in systems:
            for row in found[system.name].folds[:first]:
                scores[Key(stage.title, source, system.trial, row.fold)] = row.macro_f1
    return scores


# tables --------------------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """The folds of a trial; by how many points it is above the baseline, p, and p corrected for all trials."""

    folds: list[float]
    points: float
    p: float
    p_holm: float

    def shown(self) -> str:
        """Return its two cells of the table."""
        difference = f"{self.points:+.2f} ({self.p:.3f})"
        return f"{np.mean(self.folds):.4f} ± {np.std(self.folds):.4f} | " + (
            f"**{difference}**" if self.p_holm < 0.05 else difference
        )


def compare(stage: Stage, dataset: str, scores: Mapping[Key, float]) -> dict[str, Result]:
    """Compare all trials of a dataset with the baseline, fold by fold."""
    folds = {trial: [scores[key] for key in stage.keys(dataset, trial)] for trial in stage.trials}
    base = folds[BASELINE]
    p = [corrected_resampled_t(found, base, 1 / (FOLDS - 1))[1] for found in folds.values()]
    others = [number for number, trial in enumerate(folds) if trial != BASELINE]
    corrected = dict(zip(others, holm([p[number] for number in others]), strict=True))
    return {
        trial: Result(found, 100 * float(np.mean(found) - np.mean(base)), p[number], corrected.get(number, 1.0))
        for number, (trial, found) in enumerate(folds.items())
    }


def table_of(stage: Stage, scores: Mapping[Key, float]) -> str:
    """Return the table of a stage, the best on average first."""
    results = {dataset: compare(stage, dataset, scores) for dataset in stage.datasets}
    average = {trial: float(np.mean([row[trial].points for row in results.values()])) for trial in stage.trials}
    header = ["", *(cell for dataset in results for cell in (dataset, "points (p)")), "average"]
    rows = [
        " | ".join([trial, *(row[trial].shown() for row in results.values()), f"{average[trial]:+.2f}"])
        for trial in sorted(average, key=lambda trial: -average[trial])
    ]
    lines = [f"{stage.title}:", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    return "\n".join([*lines, *(f"| {row} |" for row in rows)])


def main() -> None:
    warnings.simplefilter("ignore", TfcrWarning)  # few of the words of tweets have vectors
    measuring.RESULTS.mkdir(exist_ok=True)
    tables, kept = [], []
    with closing(open_results(measuring.RESULTS / "schemes.sqlite", make=True)) as results:
        for stage in STAGES:
            scores = run_stage(stage, results)
            tables.append(table_of(stage, scores))
            kept += [{**key._asdict(), "macro_f1": score} for key, score in scores.items()]
            print(tables[-1], end="\n\n", flush=True)
    measuring.write_results("schemes", "\n\n".join(tables), kept)


if __name__ == "__main__":
    main()
