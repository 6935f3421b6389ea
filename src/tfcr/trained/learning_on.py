"""A trained model learns on from new documents alone: the weights of words stay, the scores of terms move.

A model holds what each term adds to each score, and no vectors. So a correction Δ of these is learned, in the features
of one group of its table, x(d) = (1 + log n) · weight / L2 norm. With the old scores s(d), calibrated by a and b:

    minimise   Σ_new log loss(a · (s + x Δ + δ) + b)  +  ½ Σ_tk precision_tk · Δ_tk²

The precision says how much the old documents know of a coefficient, by Laplace's approximation at the old optimum with
a diagonal Hessian:

    precision_tk = 1 / σ_k²  +  n_old · E[x_t²] · a² E[p_k (1 - p_k)]

σ_k² is the variance of coefficients before training, told by those of the table, and E[x_t²] follows from the frequency
of the term, which the table holds. A word that thousands of old documents hold hardly moves; a new word is as free as
any was before training.

A class that is new gets an output of its own, 0 at first. That old documents are not of it is told by bags of words,
drawn from the class counts that the model keeps.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from tfcr.decision import NEVER, Calibration, Decision
from tfcr.errors import InputError
from tfcr.text.class_counts import ClassCounts, Labels, unite_classes
from tfcr.text.documents import CountedDocuments
from tfcr.text.label_sets import AnyLabels, LabelSets, class_numbers, classes_of
from tfcr.text.terms import find_terms
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.model import TrainedModel
from tfcr.trained.packing import LooseTable, loosen, pack
from tfcr.trained.seen import TrainingTexts
from tfcr.trained.word_table import WordTable

UNIT = "unit"
DRAWN = 200
"""Bags of words that stand for the documents of an old class, if there is a new one."""
MOST_STEPS, TOLERANCE = 200, 1e-7
LOG_SCALES = (-3.0, 4.0)
"""Between which the log of the scale of logits lies."""
LEAST_VARIANCE, MOST_VARIANCE = 1e-4, 1e6

Matrix = NDArray[np.float64]


def learn_on(
    model: TrainedModel, texts: list[str], labels: AnyLabels, weights: NDArray[np.float64] | None = None
) -> TrainedModel:
    """Return the model after it has learned on from texts of weights above 0.

    Raises
    ------
    InputError
        If labels are of another type, or of a new class and the model was saved without its counts.
    """
    weights = np.ones(len(texts)) if weights is None else weights
    decision, loose = _with_classes(model, labels)
    n_old = float(model.training["documents"])
    table, group = _with_words(loose, texts, model, n_old)
    examples = _Examples.of(table, group, count(table, texts, model), labels, weights, decision)
    known = np.isin(decision.classes, model.classes)
    counts = model.class_counts()
    if not known.all() and counts is not None:
        drawn = _drawn_examples(table, group, counts, decision)
        if decision.several:  # an old document may have other labels, too
            drawn = replace(drawn, asked=np.where(known, 0.0, drawn.asked))
        examples = examples.plus(drawn)
    decision = _with_frequencies(decision, model, labels, weights)
    totals = _totals(model, decision, labels, weights)[1]
    favoured = totals if model.settings.get("class_weight") == "balanced" else np.ones_like(totals)
    found = _Correction.of(table, group, examples, decision, favoured, n_old).solve()
    after = _corrected(table, group, examples.columns, found, count(table, texts, model), n_old)
    return _described(replace(model, table=after, decision=decision), model, texts, labels, weights)


def count(table: WordTable, texts: list[str], model: TrainedModel) -> CountedDocuments:
    """Count the terms of texts over a table's vocabulary, which has all of their words."""
    return replace(table, pieces=()).count(texts, model.tokenizer)


# classes -------------------------------------------------------------------------------------------------------------


def _with_classes(model: TrainedModel, labels: AnyLabels) -> tuple[Decision, LooseTable]:
    """Return decision and table with an output for each class, old or new."""
    old, loose = model.decision, loosen(model.table)
    if isinstance(labels, LabelSets) != old.several:
        kinds = ["several labels" if several else "one label" for several in (not old.several, old.several)]
        raise InputError(
            f"found {kinds[0]} per text, and a model that gives {kinds[1]}; expected labels as it gives them"
        )
    classes = unite_classes(old.classes, classes_of(labels))
    if len(classes) == len(old.classes):
        return old, loose
    if model.class_counts() is None:
        new = next(label for label in classes.tolist() if label not in old.classes)
        raise InputError(
            f"found the new class {new!r}, and a model that was saved without its counts, which tell what it is not; "
            "expected its old classes only: train it again with all texts"
        )
    if not old.several and len(old.classes) == 2:
        loose = _two_outputs(loose)
    places = np.searchsorted(classes, old.classes)
    intercepts = np.zeros(len(classes))
    intercepts[places] = loose.intercepts
    return _over_classes(old, classes, places), replace(loose, outputs=places[loose.outputs], intercepts=intercepts)


def _two_outputs(loose: LooseTable) -> LooseTable:
    """Return the table of a model of two classes, one output, with an output for each: -s and s."""
    n_columns = len(loose.outputs)
    return replace(
        loose,
        scores=sp.csr_array(sp.hstack([-loose.scores, loose.scores])),
        outputs=np.repeat([0, 1], n_columns),
        divisors=np.tile(loose.divisors, 2),
        intercepts=np.concatenate([-loose.intercepts, loose.intercepts]),
        pieces=tuple(
            replace(
                some,
                scores=np.concatenate([-some.scores, some.scores], axis=1),
                columns=np.concatenate([some.columns, some.columns + n_columns]),
            )
            for some in loose.pieces
        ),
    )


def _over_classes(old: Decision, classes: Labels, places: NDArray[np.int64]) -> Decision:
    """Return a decision over more classes; labels of new ones have no precision that is known, and so are unsure."""

    def spread(values: Matrix, otherwise: float) -> Matrix:
        found = np.full(len(classes), otherwise)
        found[places] = values
        return found

    calibration = old.calibration
    if calibration is not None:
        halved = 2 if not old.several and len(old.classes) == 2 else 1
        calibration = Calibration(calibration.scale / halved, spread(calibration.offsets, 0.0))
    costs = old.costs
    if costs is not None:
        costs = 1 - np.eye(len(classes))
        costs[np.ix_(places, places)] = old.costs
    return replace(
        old,
        classes=classes,
        thresholds=None if old.thresholds is None else spread(old.thresholds, 0.0),
        calibration=calibration,
        least_probabilities=None if old.least_probabilities is None else spread(old.least_probabilities, NEVER),
        costs=costs,
    )


# terms ---------------------------------------------------------------------------------------------------------------


def _with_words(loose: LooseTable, texts: list[str], model: TrainedModel, n_old: float) -> tuple[WordTable, int]:
    """Return the table with the new words of texts, which add what their pieces did, and the group that learns.

    That is the group of the most terms with an L2 norm, such as that of TF-IDF words; a table without any gets one.
    """
    unseen = find_terms(texts, model.tokenizer, model.table.vocabulary, unseen=True).unseen
    rows = model.table.unseen_rows(unseen)
    vocabulary = Vocabulary([*loose.vocabulary.words, *unseen], loose.vocabulary.bigrams)
    n_words, n_new = loose.vocabulary.n_words, len(unseen)
    of_pieces = _piece_rows(loose, model.table, rows, n_new)
    grown = replace(
        loose,
        vocabulary=vocabulary,
        scores=_inserted(loose.scores, n_words, of_pieces[0]),
        divisor_weights=_inserted(loose.divisor_weights, n_words, of_pieces[1]),
        frequencies=np.insert(loose.frequencies, n_words, np.zeros(n_new, np.float32)),
    )
    group = _learning_group(grown)
    if group is None:
        grown, group = _with_group(grown, n_old)
    column = grown.divisor_weights[:, [group]].toarray()[:, 0]
    known = np.flatnonzero((column > 0) & (grown.frequencies > 0))
    rare = known[grown.frequencies[known] <= 1.5 * grown.frequencies[known].min(initial=np.inf)]
    missing = np.flatnonzero(column[n_words : n_words + n_new] == 0) + n_words
    typical = float(column[rare].mean()) if len(rare) else 1.0
    added = sp.csr_array(
        (np.full(len(missing), typical), (missing, np.full(len(missing), group))), grown.divisor_weights.shape
    )
    grown = replace(grown, divisor_weights=sp.csr_array(grown.divisor_weights + added).astype(np.float32))
    return pack(_with_columns(grown, group)), group


def _piece_rows(loose: LooseTable, table: WordTable, rows: Any, n_new: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Return what new words add by their pieces: scores and divisor weights, as sparse rows."""
    scores = np.zeros((n_new, len(loose.outputs)), np.float32)
    weights = np.zeros((n_new, len(loose.averagings)), np.float32)
    twice = len(loose.outputs) // len(table.outputs)  # 2 if a model of two classes got two outputs
    for number, (group, stretch) in enumerate(zip(rows.groups.tolist(), table.stretch_slices(rows), strict=True)):
        values = rows.values[:, stretch][:, 1:]
        columns = np.arange(table.starts[group], table.starts[group + 1])
        for copy in range(twice):
            sign = -1 if twice == 2 and copy == 0 else 1
            scores[:, columns + copy * len(table.outputs)] += sign * values
        weights[:, group] += rows.weights[:, number]
    return sp.csr_array(scores), sp.csr_array(weights)


def _inserted(matrix: sp.csr_array, place: int, rows: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.vstack([matrix[:place], rows, matrix[place:]]))


def _learning_group(loose: LooseTable) -> int | None:
    """Return the group of L2 norm that the most terms add to, and that all outputs see; None if there is none."""
    sizes = np.bincount(loose.divisor_weights.indices, minlength=len(loose.averagings))
    fits = [name == UNIT for name in loose.averagings]
    return int(np.argmax(np.where(fits, sizes, -1))) if any(fits) else None


def _with_group(loose: LooseTable, n_old: float) -> tuple[LooseTable, int]:
    """Return the table with one more group, of all words by inverse document frequency; a count stands for that."""
    documents = np.minimum(loose.frequencies * n_old, n_old)
    idf = np.log((1 + n_old) / (1 + documents)) + 1
    idf[loose.vocabulary.n_words :] = 0
    group = len(loose.averagings)
    added = sp.csr_array((idf**2)[:, None].astype(np.float32))
    weights = _beside(loose.divisor_weights, added)
    typical = np.sqrt(float((loose.frequencies * idf**2).sum()))
    return replace(
        loose,
        divisor_weights=weights,
        averagings=(*loose.averagings, UNIT),
        typical=np.append(loose.typical, np.float32(typical)),
    ), group


def _beside(one: sp.csr_array, two: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.hstack([one, two]))


def _with_columns(loose: LooseTable, group: int) -> LooseTable:
    """Return the table with a column for each output in a group."""
    there = loose.outputs[loose.divisors == group]
    absent = np.setdiff1d(np.arange(len(loose.intercepts)), there)
    none: Any = sp.csr_array((loose.scores.shape[0], len(absent)), dtype=np.float32)
    return replace(
        loose,
        scores=_beside(loose.scores, none),
        outputs=np.concatenate([loose.outputs, absent]),
        divisors=np.concatenate([loose.divisors, np.full(len(absent), group)]),
    )


# documents -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Examples:
    """Features x over some terms (`columns`), old scores, classes as numbers or members, and weights of documents.

    `asked` is 0 for outputs that a document tells nothing of; (n_documents, n_outputs).
    """

    features: sp.csr_array
    columns: NDArray[np.int64]
    scores: Matrix
    numbers: NDArray[Any]
    weights: NDArray[np.float64]
    asked: Matrix

    @classmethod
    def of(
        cls,
        table: WordTable,
        group: int,
        documents: CountedDocuments,
        labels: AnyLabels,
        weights: NDArray[np.float64],
        decision: Decision,
    ) -> "_Examples":
        if isinstance(labels, LabelSets):
            labels = labels.over(decision.classes)
        features = group_features(table, group, documents)
        columns = np.flatnonzero(np.bincount(features.indices, minlength=features.shape[1]))
        numbers = class_numbers(labels, decision.classes)
        scores = table.decision(documents)
        return cls(features[:, columns], columns, scores, numbers, weights, np.ones_like(scores))

    def plus(self, more: "_Examples") -> "_Examples":
        columns = np.union1d(self.columns, more.columns)
        features = [
            _spread(some.features, np.searchsorted(columns, some.columns), len(columns)) for some in (self, more)
        ]
        return _Examples(
            sp.csr_array(sp.vstack(features)),
            columns,
            np.concatenate([self.scores, more.scores]),
            np.concatenate([self.numbers, more.numbers]),
            np.concatenate([self.weights, more.weights]),
            np.concatenate([self.asked, more.asked]),
        )


def _spread(matrix: sp.csr_array, columns: NDArray[np.int64], width: int) -> sp.csr_array:
    return sp.csr_array((matrix.data, columns[matrix.indices], matrix.indptr), (matrix.shape[0], width))


def group_features(table: WordTable, group: int, documents: CountedDocuments) -> sp.csr_array:
    """Return the features of a group of L2 norm, by which coefficients are multiplied; (n_documents, n_terms)."""
    roots = np.sqrt(group_weights(table, group))
    matrix = documents.matrix[:, : len(table.vocabulary)]
    counts = matrix.data.astype(np.float64)
    scaled = (1 + np.log(np.maximum(counts, 1))) * roots[matrix.indices]
    features = sp.csr_array((scaled, matrix.indices, matrix.indptr), matrix.shape)
    features.eliminate_zeros()
    norms = np.sqrt(np.asarray((features * features).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1)) @ features)


def group_weights(table: WordTable, group: int) -> NDArray[np.float64]:
    """Return what each term adds to a divisor: of L2 norm, the squares of weights; (n_terms,)."""
    return loosen(table).divisor_weights[:, [group]].toarray()[:, 0].astype(np.float64)


def _drawn_examples(table: WordTable, group: int, counts: ClassCounts, decision: Decision) -> _Examples:
    """Return bags of words that stand for the old documents of each class, whose weights add up to theirs."""
    random = np.random.default_rng(0)
    places = table.vocabulary.find_words(list(counts.words))
    rows: list[NDArray[np.int64]] = []
    numbers, weights = [], []
    for number, label in enumerate(counts.classes.tolist()):
        column = np.asarray(counts.occurrences[:, [number]].todense(), np.float64).ravel() * (places >= 0)
        size = float(counts.class_documents[number])
        if not column.sum() or not size:
            continue
        drawn = int(min(DRAWN, max(1, size)))
        lengths = np.maximum(1, random.poisson(counts.class_occurrences[number] / size, drawn))
        rows += [places[random.choice(len(column), length, p=column / column.sum())] for length in lengths]
        numbers += [int(np.searchsorted(decision.classes, label))] * drawn
        weights += [size / drawn] * drawn
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    shape = len(rows), len(table.vocabulary)
    matrix = sp.csr_array((np.ones(len(owners), np.int32), (owners, np.concatenate(rows))), shape)
    matrix.sum_duplicates()
    documents = CountedDocuments(table.vocabulary, matrix, np.asarray(matrix.sum(axis=1), np.int64).ravel())
    found = np.array(numbers)
    labels: AnyLabels = decision.classes[found]
    if decision.several:
        labels = LabelSets(decision.classes, np.eye(len(decision.classes), dtype=np.bool_)[found])
    return _Examples.of(table, group, documents, labels, np.array(weights), decision)


# the fit -------------------------------------------------------------------------------------------------------------


def _totals(
    model: TrainedModel, decision: Decision, labels: AnyLabels, weights: NDArray[np.float64]
) -> tuple[Matrix, Matrix]:
    """Return the documents of each class before and after."""
    before = np.zeros(len(decision.classes))
    before[np.searchsorted(decision.classes, model.classes)] = model.training["documents_per_class"]
    if isinstance(labels, LabelSets):
        return before, before + weights @ labels.over(decision.classes).members
    return before, before + np.bincount(class_numbers(labels, decision.classes), weights, len(before))


def _with_frequencies(
    decision: Decision, model: TrainedModel, labels: AnyLabels, weights: NDArray[np.float64]
) -> Decision:
    """Return the decision with probabilities that follow the class frequencies before and now."""
    if decision.calibration is None or decision.several:
        return decision
    before, after = _totals(model, decision, labels, weights)
    is_new = before == 0
    old, now = np.log((before + 0.5) / before.sum()), np.log((after + 0.5) / after.sum())
    offsets = decision.calibration.offsets
    beyond = float((offsets - old)[~is_new].mean())
    shifted = np.where(is_new, now + beyond, offsets + now - old)
    return replace(decision, calibration=Calibration(decision.calibration.scale, shifted))


class _Found(NamedTuple):
    """Corrections of coefficients, (n_columns, n_outputs), and of intercepts, (n_outputs,)."""

    coefficients: Matrix
    intercepts: NDArray[np.float64]


@dataclass(frozen=True)
class _Correction:
    """The objective: documents, their logits' scale and offsets, and the precision of each coefficient."""

    examples: _Examples
    weights: NDArray[np.float64]
    scale: float
    offsets: NDArray[np.float64]
    precision: Matrix
    of_intercepts: NDArray[np.float64]
    softmax: bool

    @classmethod
    def of(
        cls,
        table: WordTable,
        group: int,
        examples: _Examples,
        decision: Decision,
        totals: Matrix,
        n_old: float,
    ) -> "_Correction":
        softmax = not decision.several and examples.scores.shape[1] > 1
        weights = examples.weights
        scale, offsets = _logit_scale(decision, examples, totals, softmax=softmax)
        whole = cls(examples, weights, scale, offsets, np.zeros((0, 0)), np.zeros(0), softmax)
        chances, _ = whole.chances(examples.scores)
        spread = (chances * (1 - chances) * weights[:, None]).sum(axis=0) / weights.sum() * scale**2
        loose = loosen(table)
        squares = loose.divisor_weights[:, [group]].toarray()[:, 0].astype(np.float64)
        often = n_old * loose.frequencies.astype(np.float64)
        known = (often * squares / max(float(loose.typical[group]), 1e-12) ** 2)[:, None] * spread
        variances = _variances(loose, group, squares, known, examples.scores)
        precision = 1 / variances + known[examples.columns]
        return replace(whole, precision=precision, of_intercepts=1 / variances + n_old * spread)

    def chances(self, scores: Matrix) -> tuple[Matrix, Matrix]:
        """Return the probability of each output, and its log loss by document."""
        logits = self.scale * scores + self.offsets
        numbers, rows = self.examples.numbers, np.arange(len(scores))
        if self.softmax:
            logits = logits - logits.max(axis=1, keepdims=True)
            totals = np.log(np.exp(logits).sum(axis=1))
            return np.exp(logits - totals[:, None]), totals - logits[rows, numbers]
        truth = self._truth()
        signed = np.where(truth, -logits, logits)
        return 1 / (1 + np.exp(np.clip(-logits, -500, 500))), (self.examples.asked * np.logaddexp(0, signed)).sum(
            axis=1
        )

    def _truth(self) -> NDArray[np.bool_]:
        numbers = self.examples.numbers
        if numbers.ndim == 2:
            return np.asarray(numbers, np.bool_)
        if not self.softmax:
            return np.asarray(numbers[:, None] == 1, np.bool_)
        return np.asarray(numbers[:, None] == np.arange(len(self.offsets)), np.bool_)

    def solve(self) -> _Found:
        """Return the corrections of the least loss."""
        features, n_outputs = self.examples.features, self.examples.scores.shape[1]
        transposed = sp.csr_array(features.T)
        root, truth = np.sqrt(np.vstack([self.precision, self.of_intercepts])), self._truth()

        def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            # in units of the standard deviation of each coefficient, in which the penalty is round
            moved = given.reshape(root.shape)
            steps = moved / root
            chances, losses = self.chances(self.examples.scores + features @ steps[:-1] + steps[-1])
            slope = self.scale * self.weights[:, None] * self.examples.asked * (chances - truth)
            gradient = np.vstack([transposed @ slope, slope.sum(axis=0)]) / root + moved
            return float(self.weights @ losses + 0.5 * np.vdot(moved, moved)), gradient.ravel()

        start = np.zeros(root.size)
        options: Any = {"maxiter": MOST_STEPS, "ftol": TOLERANCE, "maxcor": 10}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x.reshape(root.shape) / root
        return _Found(found[:-1], found[-1].reshape(n_outputs))


def _logit_scale(
    decision: Decision, examples: _Examples, totals: Matrix, *, softmax: bool
) -> tuple[float, NDArray[np.float64]]:
    """Return what makes logits of scores: probabilities of the natural class frequencies, whatever scores favour.

    Without a calibration the scale is that of the least log loss on the new documents, which the model has not seen;
    `totals` are the documents of each class.
    """
    calibration = decision.calibration
    offsets = np.log((totals + 0.5) / totals.sum()) if calibration is None else calibration.offsets
    if calibration is None and decision.several:
        offsets = np.zeros(len(offsets))
    if examples.scores.shape[1] == 1:
        offsets = np.array([offsets[1] - offsets[0]])
    if calibration is not None:
        return calibration.scale, offsets

    def loss(log_scale: float) -> float:
        trial = _Correction(
            examples, examples.weights, np.exp(log_scale), offsets, np.zeros((0, 0)), np.zeros(0), softmax
        )
        return float(examples.weights @ trial.chances(examples.scores)[1])

    return float(np.exp(minimize_scalar(loss, bounds=LOG_SCALES, method="bounded").x)), offsets


def _variances(
    loose: LooseTable, group: int, squares: NDArray[np.float64], known: Matrix, scores: Matrix
) -> NDArray[np.float64]:
    """Return the variance of coefficients before training, of each output; of one without any, that of the others.

    Training shrinks coefficients, those of rare terms most. With the variance v, the square of one whose data is worth
    h is v · h v / (1 + h v) in the mean: v is what makes the sum over all terms that of the table's coefficients.
    """
    own = np.flatnonzero(loose.divisors == group)
    terms = np.flatnonzero(squares > 0)
    found = np.zeros(scores.shape[1])
    values = loose.scores[terms][:, own]
    scaled = sp.csr_array(sp.diags_array(1 / np.sqrt(squares[terms])) @ values)
    totals = np.asarray((scaled * scaled).sum(axis=0)).ravel()
    for output, total in zip(loose.outputs[own].tolist(), totals.tolist(), strict=True):
        if total > 0:
            found[output] = _unshrunk(total, known[terms, output])
    if not found.any():  # a group that is new: the correction may be as large as the scores
        found = scores.var(axis=0)
    return np.maximum(np.where(found > 0, found, found[found > 0].mean() if found.any() else 1.0), LEAST_VARIANCE)


def _unshrunk(total: float, known: NDArray[np.float64]) -> float:
    """Return v with Σ_t v · h_t v / (1 + h_t v) = total, by bisection; what training knows of each term is h_t.

    >>> round(_unshrunk(2 * 0.5, np.array([1.0, 1.0])), 3)
    1.0
    """
    low, high = np.log(LEAST_VARIANCE), np.log(MOST_VARIANCE)
    for _ in range(40):
        middle = (low + high) / 2
        variance = np.exp(middle)
        much = float((variance * known * variance / (1 + known * variance)).sum()) > total
        low, high = (low, middle) if much else (middle, high)
    return float(np.exp(low))


# the new model -------------------------------------------------------------------------------------------------------


def _corrected(
    table: WordTable,
    group: int,
    columns: NDArray[np.int64],
    found: _Found,
    documents: CountedDocuments,
    n_old: float,
) -> WordTable:
    """Return the table with corrected scores, and the frequencies of terms before and now."""
    loose = loosen(table)
    own = np.flatnonzero(loose.divisors == group)
    roots = np.sqrt(loose.divisor_weights[:, [group]].toarray()[:, 0].astype(np.float64))
    added = roots[columns, None] * found.coefficients[:, loose.outputs[own]]
    rows = np.repeat(columns, len(own))
    change = sp.csr_array((added.ravel(), (rows, np.tile(own, len(columns)))), loose.scores.shape)
    totals = loose.frequencies.astype(np.float64) * n_old + documents.occurrences()
    return pack(
        replace(
            loose,
            scores=sp.csr_array(loose.scores + change).astype(np.float32),
            intercepts=loose.intercepts + found.intercepts,
            frequencies=(totals / (n_old + len(documents))).astype(np.float32),
        )
    )


def _described(
    found: TrainedModel, before: TrainedModel, texts: list[str], labels: AnyLabels, weights: NDArray[np.float64]
) -> TrainedModel:
    """Return the model with counts and facts of the documents before and now; what was measured holds no longer."""
    new = ClassCounts.from_texts(texts, labels, tokenizer=before.tokenizer, sample_weight=weights)
    old = before.class_counts()
    both = None if old is None else replace(old, tokenizer=None) + replace(new, tokenizer=None)
    _, totals = _totals(before, found.decision, labels, weights)
    facts = {
        "documents": before.training["documents"] + float(weights.sum()),
        "tokens": before.training["tokens"] + new.n_occurrences,
        "words": len(both.words) if both is not None else found.table.vocabulary.n_words,
        "documents_per_class": totals.tolist(),
    }
    seen = before.training_texts()
    if seen is not None:
        seen = seen.plus(TrainingTexts.of(texts))
    training = {**before.training, **facts}
    return replace(found, training=training, counts=both, seen=seen, scores={}, figures=None, documents=None).rounded()
