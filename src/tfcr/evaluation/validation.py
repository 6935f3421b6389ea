"""Training and testing: cross-validation, comparing classifiers, and a trained model on labelled texts."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tfcr.classifier import FITTING, TfcrClassifier
from tfcr.data import Corpus
from tfcr.data.labels import spelling_key
from tfcr.decision import Decision, Scores, macro_f1_of_labels
from tfcr.embeddings import Embeddings, embeddings_key, sources_of
from tfcr.embeddings.automatic import CANDIDATES, Note
from tfcr.embeddings.pretrained import AUTO, IN_DOMAIN, is_ready
from tfcr.errors import CorpusWarning, InputError, shown
from tfcr.evaluation.figures import Figures
from tfcr.evaluation.folds import MIN_CLASS_SIZE, TimeSplit, plan_folds, splits
from tfcr.evaluation.scores import Evaluation, compare_with_majority, majority_class
from tfcr.evaluation.words import MistakeWords, explain_mistakes
from tfcr.features.checks import (
    check_classes,
    check_coverage,
    count_classes,
    seconds_of_all_blocks,
    warn_of_slow_blocks,
)
from tfcr.features.parts import PARTS, UNSEEN_WORDS
from tfcr.heads.stacking import expected_fits
from tfcr.system.parameters import FOLDS, zero_or
from tfcr.system.progress import Stages, Tell
from tfcr.text.class_counts import check_targets
from tfcr.text.documents import CountedDocuments
from tfcr.text.label_sets import AnyLabels, LabelSets, class_numbers, classes_of
from tfcr.text.labels import label_array
from tfcr.trained.model import TrainedModel

MEASURED_FOLDS = zero_or(FOLDS)

COUNTING, VECTORS, CHECKING, FIT, SAVING = "counting words", "vectors", "counting classes", "fit", "saving"
"""The kinds of stages that a progress bar goes through."""
CHARACTERS = 5
"""About how many characters of text make a token, with the space."""


Elsewhere = Callable[..., Iterator[Any]]
"""Calls a function for each item of a sequence, with more arguments, and yields what it returns: `DaskPlaces.each`."""


@dataclass(frozen=True)
class Prepared:
    """Counted documents and vectors, which all folds share; `needs` is what they depend on."""

    documents: CountedDocuments
    labels: AnyLabels
    embeddings: Sequence[Embeddings]
    needs: Hashable


def prepare(model: TfcrClassifier, corpus: Corpus, stages: Stages | None = None, note: Note | None = None) -> Prepared:
    """Count the words and load or train the vectors once; warn here, for all folds, of what both lack.

    In-domain word2vec sees the texts of all folds, without their labels, as in the paper. `note` is called with a line
    that names the vectors, if they were chosen automatically.
    """
    stages = stages or Stages()
    labels = check_targets(corpus.labels, len(corpus))
    model.check_parameters()
    stages.begin(COUNTING)
    documents = model.count(corpus.texts)
    if _vector_seconds(model, corpus):
        stages.begin(VECTORS, "training word2vec" if trains_vectors(model) else "loading vectors")
    embeddings = model.load_embeddings(corpus.texts, documents=documents, progress=stages.count, note=note)
    stages.begin(CHECKING)
    _, kept = count_classes(documents.only_words(), labels, np.ones(len(labels)), model.min_count)
    if embeddings and model.embeddings != AUTO:
        check_coverage(embeddings[0], kept)
    if embeddings and model.blocks == "all":
        warn_of_slow_blocks(len(labels), len(kept.classes), embeddings[0].dimensions)
    return Prepared(documents, labels, embeddings, needs_of(model))


def for_part(model: TfcrClassifier, whole: AnyLabels, part: AnyLabels) -> TfcrClassifier:
    """Return an untrained classifier for a part of a corpus, which may lack classes that its parameters name.

    Raises
    ------
    InputError
        If the whole corpus lacks them.
    """
    model.check_choices(whole, classes_of(whole))
    known = {str(label) for label in classes_of(part).tolist()}
    found: TfcrClassifier = clone(model)
    if isinstance(model.class_weight, Mapping):
        missing = {str(label) for label in classes_of(whole).tolist()} - known
        found.class_weight = {label: value for label, value in model.class_weight.items() if str(label) not in missing}
    if isinstance(model.precision, Mapping):
        named = model.precision.items()
        found.precision = {label: value for label, value in named if label is None or str(label) in known}
    if model.costs is not None:
        found.costs = {pair: cost for pair, cost in model.costs.items() if {*map(str, pair)} <= known}
    return found


@contextmanager
def _warned() -> Iterator[None]:
    """Leave out the warnings that `prepare` has given for the whole corpus."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpusWarning)
        yield


def cross_validate(
    model: TfcrClassifier, corpus: Corpus, *, folds: int = 10, seed: int = 0, stages: Stages | None = None
) -> Evaluation:
    """Test on each fold after training on the others.

    Folds are stratified, shuffled and seeded; documents of one group stay together.
    """
    return cross_validate_prepared(
        model, prepare(model, corpus, stages), corpus.groups, folds=folds, seed=seed, stages=stages
    )


def cross_validate_prepared(
    model: TfcrClassifier,
    prepared: Prepared,
    groups: list[Any] | None = None,
    *,
    folds: int = 10,
    seed: int = 0,
    stages: Stages | None = None,
    name: str = "",
    explain: bool = False,
    elsewhere: Elsewhere | None = None,
) -> Evaluation:
    """Cross-validate on documents that are counted already; `name` is shown if it is one of several classifiers.

    If `explain`, the words behind mistakes are kept: each fold's model explains its own, and is gone with its fold.
    Folds are run `elsewhere`, such as on a cluster, if it is given.
    """
    stages = stages or Stages()
    labels = prepared.labels
    tested = np.zeros(len(labels), np.int64)
    classes = classes_of(labels)
    probabilities = np.zeros((len(labels), len(classes)))
    unknown = np.zeros(len(labels))
    words = MistakeWords() if explain and not isinstance(labels, LabelSets) else None
    sure = None if model.precision is None else np.zeros(len(labels), np.bool_)
    cuts = list(splits(labels, groups, folds, seed))
    names = [f"{name}fold {number + 1} of {folds}" for number in range(len(cuts))]
    scores = []
    found: list[_Tested] = []
    for number, fold in enumerate(_folds(cuts, model, prepared, names, stages, elsewhere, explain=words is not None)):
        test = cuts[number][1]
        found.append(fold)
        probabilities[np.ix_(test, np.searchsorted(classes, fold.classes))] = fold.probabilities
        unknown[test] = fold.unknown
        if sure is not None:
            sure[test] = fold.sure
        if words is not None and fold.words is not None:
            words.add(fold.words)
        tested[test] = number
        scores.append(macro_f1_of_labels(labels[test], fold.predicted))
    order = np.argsort(np.concatenate([test for _, test in cuts]))  # from the order of folds to that of the documents
    predicted = _joined([fold.predicted for fold in found])[order]
    return Evaluation(
        labels,
        predicted,
        classes,
        probabilities,
        tested,
        tuple(scores),
        unknown_fractions=unknown,
        words=words,
        sure=sure,
    )


@dataclass(frozen=True)
class _Tested:
    """What the model of a fold says of its test documents; `sure` is None if no precision was wanted."""

    classes: NDArray[Any]
    predicted: AnyLabels
    probabilities: NDArray[np.float64]
    unknown: NDArray[np.float64]
    sure: NDArray[np.bool_] | None
    words: MistakeWords | None


Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def _folds(
    cuts: Sequence[Split],
    model: TfcrClassifier,
    prepared: Prepared,
    names: Sequence[str],
    stages: Stages,
    elsewhere: Elsewhere | None,
    *,
    explain: bool,
) -> Iterator[_Tested]:
    """Train and test each fold, here one after the other, or elsewhere."""
    if elsewhere is None:
        for cut, name in zip(cuts, names, strict=True):
            yield _test_fold(cut, model, prepared, explain, begin_fit(stages, name))
        return
    vectors = [table.carried(prepared.documents.vocabulary.words, UNSEEN_WORDS) for table in prepared.embeddings]
    carried = Prepared(prepared.documents, prepared.labels, vectors, None)
    found = elsewhere(_test_fold, cuts, model, carried, explain)
    for name in names:
        stages.begin(FIT, name)
        yield next(found)


def _test_fold(
    cut: Split,
    model: TfcrClassifier,
    prepared: Prepared,
    explain: bool,
    tell: Tell = lambda step, fraction: None,
) -> _Tested:
    """Train on a part of the documents, and test on the others."""
    train, test = cut
    labels = prepared.labels
    fitted = for_part(model, labels, labels[train])
    with _warned():
        rows = prepared.documents.rows(train)
        fitted.fit_counted(rows, labels[train], np.ones(len(train)), prepared.embeddings, tell)
    trained = fitted.model_
    decision, documents = trained.decision, prepared.documents.rows(test)
    scores = trained.score_counted(documents)
    predicted = decision.assigned(scores)
    confidences = decision.confidences(scores)
    return _Tested(
        decision.classes,
        predicted,
        decision.probabilities(scores),
        documents.only_words().over(trained.table.vocabulary.only_words()).unknown_fractions(),
        None if model.precision is None else decision.sure(scores),
        _words_of_fold(trained, documents, test, labels, predicted, confidences) if explain else None,
    )


def learning_curve(
    model: TfcrClassifier,
    corpus: Corpus,
    fractions: Sequence[float],
    *,
    folds: int = 5,
    first_folds: int = 2,
    stages: Stages | None = None,
) -> list[tuple[int, float]]:
    """Return macro-F1 by the number of training documents, which tells whether more of them would help.

    Parameters
    ----------
    model, corpus
        The classifier and the texts.
    fractions
        Of the training documents of a fold, taken at random from each class.
    folds, first_folds
        How the corpus is split, and how many of the folds are tested; the mean is returned.
    stages
        Told of the fits.
    """
    stages = stages or Stages()
    plan = plan_folds(corpus, folds)
    seconds = _fit_seconds(model, plan.corpus)
    stages.expect([(FIT, seconds * fraction) for _ in range(first_folds) for fraction in fractions])
    prepared = prepare(model, plan.corpus, stages)
    labels, documents = prepared.labels, prepared.documents
    scores: dict[float, list[tuple[int, float]]] = {fraction: [] for fraction in fractions}
    for number, (train, test) in enumerate(splits(labels, plan.corpus.groups, plan.folds, 0)):
        if number == first_folds:
            break
        for fraction in fractions:
            some = train[taken_fraction(labels[train], fraction)]
            tell = begin_fit(stages, f"learning curve, {len(some):,} documents")
            with _warned():
                fitted = for_part(model, check_targets(corpus.labels, len(corpus)), labels[some]).fit_counted(
                    documents.rows(some), labels[some], np.ones(len(some)), prepared.embeddings, tell
                )
            decision = fitted.model_.decision
            found = decision.assigned(fitted.model_.score_counted(documents.rows(test)))
            scores[fraction].append((len(some), _macro_f1_over(labels[test], found)))
    means = [np.mean(points, axis=0).tolist() for points in scores.values()]
    return [(round(size), score) for size, score in means]


def taken_fraction(labels: AnyLabels, fraction: float, seed: int = 0) -> NDArray[np.int64]:
    """Return some documents at random, the same fraction of each class, at least two; of several labels, of all.

    >>> taken_fraction(np.array(["a"] * 8 + ["b"] * 4), 0.5).size
    6
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    if isinstance(labels, LabelSets):
        return np.sort(order[: max(2, round(fraction * len(labels)))])
    taken = []
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        taken.append(mine[: max(2, round(fraction * len(mine)))])
    return np.sort(np.concatenate(taken))


def _macro_f1_over(labels: AnyLabels, predicted: AnyLabels) -> float:
    """Return macro-F1; of several labels, a small part of the corpus may lack some classes."""
    if isinstance(labels, LabelSets) and isinstance(predicted, LabelSets):
        predicted = predicted.over(labels.classes)
    return macro_f1_of_labels(labels, predicted)


def _words_of_fold(
    model: TrainedModel,
    documents: CountedDocuments,
    test: NDArray[np.int64],
    labels: AnyLabels,
    predicted: AnyLabels,
    confidences: NDArray[np.float64],
) -> MistakeWords:
    """Return the words behind the mistakes of a fold's model, by the positions of documents in the whole corpus."""
    classes = classes_of(labels)
    found = explain_mistakes(
        model,
        lambda chosen: model.table.recount(documents.rows(chosen)),
        class_numbers(labels[test], classes),
        class_numbers(predicted, classes),
        confidences,
        classes,
    )
    found.mistakes = {int(test[place]): pulls for place, pulls in found.mistakes.items()}
    return found


def _joined(parts: Sequence[AnyLabels]) -> AnyLabels:
    """Return the labels of several folds one after the other."""
    sets = [part for part in parts if isinstance(part, LabelSets)]
    if sets:
        return replace(sets[0], members=np.concatenate([part.members for part in sets]))
    return np.concatenate([part for part in parts if not isinstance(part, LabelSets)])


def compare(
    models: Mapping[str, TfcrClassifier],
    corpus: Corpus,
    *,
    folds: int = 10,
    seed: int = 0,
    stages: Stages | None = None,
    prepared: Prepared | None = None,
    note: Note | None = None,
    explain: bool = False,
    elsewhere: Elsewhere | None = None,
) -> dict[str, Evaluation]:
    """Cross-validate several classifiers on the same folds; those with the same counts and vectors share them.

    `prepared` is used for the models that need just these counts and vectors; for `note` see `prepare`, for `explain`
    and `elsewhere` `cross_validate_prepared`.
    """
    results: dict[str, Evaluation] = {}
    for model in models.values():
        model.check_parameters()
    ready = {} if prepared is None else {prepared.needs: prepared}
    stages = stages or Stages()
    stages.expect(expected_stages(list(models.values()), corpus, folds, set(ready)))
    for name, model in models.items():
        needs = needs_of(model)
        if needs not in ready:
            ready[needs] = prepare(model, corpus, stages, note)
        called = f"{name}, " if len(models) > 1 else ""
        results[name] = cross_validate_prepared(
            model,
            ready[needs],
            corpus.groups,
            folds=folds,
            seed=seed,
            stages=stages,
            name=called,
            explain=explain,
            elsewhere=elsewhere,
        )
    return results


def compare_on_newest(
    models: Mapping[str, TfcrClassifier],
    corpus: Corpus,
    split: TimeSplit,
    *,
    stages: Stages | None = None,
    note: Note | None = None,
    explain: bool = False,
) -> dict[str, Evaluation]:
    """Train on the older part of a corpus and test on its newest; for `note` and `explain` see `compare`.

    Nothing of the newest part is seen in training, in-domain word2vec included. A class that only the newest part has
    is never predicted: its documents are mistakes.
    """
    older, newest = corpus.take(split.older), corpus.take(split.newest)
    stages = stages or Stages()
    expected = [stage for model in models.values() for stage in expected_stages([model], older, 0)]
    stages.expect([*expected, *((FIT, _fit_seconds(model, older)) for model in models.values())])
    results = {}
    every = check_targets(corpus.labels, len(corpus))
    for name, given in models.items():
        prepared = prepare(given, older, stages, note)
        model = for_part(given, every, prepared.labels)
        trained = fit_on(model, prepared, stages, f"{name}, the older part").model_
        results[name] = evaluate(trained, newest, explain=explain, new_classes=True)
    return results


def needs_of(model: TfcrClassifier) -> Hashable:
    """Return what the counts and vectors of a model depend on."""
    training = model.dimensions, model.random_state, id(model.unlabelled)
    vectors = (embeddings_key(model.embeddings), *training) if model.uses_vectors else None
    return model.tokenizer, model.uses_bigrams, vectors


# how long it will take --------------------------------------------------------------------------------------------


def begin_fit(stages: Stages, name: str) -> Tell:
    """Begin the stage of a fit, and return how the fit tells of its steps."""
    stages.begin(FIT, name)
    return lambda step, fraction: stages.tell(f"{name}: {step}", fraction)


def expected_stages(
    models: Sequence[TfcrClassifier], corpus: Corpus, folds: int, ready: AbstractSet[Hashable] = frozenset()
) -> list[tuple[str, float]]:
    """Return the stages of cross-validating models, with rough seconds; counts and vectors may be ready."""
    known = set(ready)
    stages = []
    for model in models:
        if needs_of(model) not in known:
            known.add(needs_of(model))
            million = _million_tokens(corpus)
            stages += [(COUNTING, 1 + 0.3 * million), (VECTORS, _vector_seconds(model, corpus))]
            stages += [(CHECKING, 0.1 + 0.08 * million)]
        stages += [(FIT, _fit_seconds(model, corpus) * (1 - 1 / folds)) for _ in range(folds)]
    return stages


def _million_tokens(corpus: Corpus) -> float:
    return sum(map(len, corpus.texts)) / CHARACTERS / 1e6


def trains_vectors(model: TfcrClassifier) -> bool:
    """Return whether word2vec is trained, or may be since no vectors are installed."""
    if model.embeddings is None or not model.uses_vectors:
        return False
    if model.embeddings == AUTO:
        return not is_ready(CANDIDATES[0])
    return IN_DOMAIN in sources_of(model.embeddings)


def _vector_seconds(model: TfcrClassifier, corpus: Corpus) -> float:
    if not model.uses_vectors or model.embeddings is None or isinstance(model.embeddings, Embeddings):
        return 0.0
    if trains_vectors(model):
        return 1 + 14 * _million_tokens(corpus) * model.dimensions / 100
    return 0.3  # a file that was used before opens at once; others are rare


def _fit_seconds(model: TfcrClassifier, corpus: Corpus) -> float:
    # Measured: a fit of the part words took .1 s for 7,600 documents and .4 million tokens of 4 classes (agnews), .8 s
    # for 62,000, 1.4 and 3 (semeval), 4 s for 19,000, 7 and 20 (20ng), 2.6 s for 100,000, 1.4 and 20 (emoji).
    # Rather too long than too short: a bar that runs ahead stands still at the end.
    n_classes = len(corpus.class_sizes())
    of_words = 0.05 + (5e-6 * len(corpus) + 0.09 * _million_tokens(corpus)) * sqrt(n_classes)
    rows = [PARTS[name] for name in model.parts if model.embeddings is not None or not PARTS[name].needs_vectors]
    heads = [len(row.strengths) if model.C is None else 1 for row in rows]
    hold_out = model.precision is not None
    fits = [expected_fits(len(corpus), len(rows), n_heads, hold_out=hold_out) for n_heads in heads]
    of_parts = [
        max(row.cost * of_words, _block_seconds(model, len(corpus), n_classes) if row.needs_vectors else 0.0)
        for row in rows
    ]
    # class counts, weights and the word table take some time too
    return 0.3 + sum(seconds * n_fits for seconds, n_fits in zip(of_parts, fits, strict=True)) / FITTING


def _block_seconds(model: TfcrClassifier, n_documents: int, n_classes: int) -> float:
    """Return about how long a fit of vectors takes if each class sees the blocks of all; else 0."""
    if model.blocks != "all":
        return 0.0
    dimensions = model.embeddings.dimensions if isinstance(model.embeddings, Embeddings) else model.dimensions
    return seconds_of_all_blocks(n_documents, n_classes, dimensions)


def fit_on(
    model: TfcrClassifier, prepared: Prepared, stages: Stages | None = None, name: str = "all documents"
) -> TfcrClassifier:
    """Train on all documents; `name` is shown meanwhile."""
    tell = begin_fit(stages or Stages(), name)
    weights = np.ones(len(prepared.labels))
    with _warned():
        return model.fit_counted(prepared.documents, prepared.labels, weights, prepared.embeddings, tell)


def named_scores(result: Evaluation, folds: int) -> dict[str, float]:
    """Return the scores of a cross-validation as they are shown and kept in a model."""
    scores = {f"macro-F1, mean of {folds} folds": result.macro_f1}
    scores |= {"micro-F1": result.micro_f1} if result.several else {}
    scores["accuracy"] = result.accuracy
    if trivial := majority_class(result):
        scores |= {
            "macro-F1 of the most frequent class": trivial.macro_f1,
            "accuracy of the most frequent class": trivial.accuracy,
        }
    return scores


def train_and_measure(
    model: TfcrClassifier,
    corpus: Corpus,
    *,
    folds: int = 5,
    min_class_size: int = 0,
    stages: Stages | None = None,
    note: Note | None = None,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Train a model on all documents, and measure it by cross-validation (0 folds: do not measure).

    Returns the scores, and notes on what was changed to measure them. The model keeps the `Figures` of the
    cross-validation.

    Classes smaller than `min_class_size` are left out of both. For `note` see `prepare`.
    """
    MIN_CLASS_SIZE.check(min_class_size)
    MEASURED_FOLDS.check(folds)
    if min_class_size:
        corpus = plan_folds(corpus, 2, min_class_size=min_class_size).corpus
    every = check_targets(corpus.labels, len(corpus))
    check_classes(classes_of(every))
    plan = plan_folds(corpus, folds) if folds else None
    stages = stages or Stages()
    n_folds = plan.folds if plan else 0
    # thresholds of probability come from folds of their own, in the fit on all documents
    tested = every if plan is None else check_targets(plan.corpus.labels, len(plan.corpus))
    measured = for_part(model, every, tested).set_params(precision=None)
    stages.expect([*expected_stages([measured], corpus, n_folds), (FIT, _fit_seconds(model, corpus)), (SAVING, 0.3)])
    prepared = prepare(model, corpus, stages, note)
    scores: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    figures = None
    if plan:
        part = replace(
            prepared,
            documents=prepared.documents.rows(np.array(plan.kept)),
            labels=tested,
        )
        result = cross_validate_prepared(measured, part, plan.corpus.groups, folds=plan.folds, stages=stages)
        scores = named_scores(result, plan.folds)
        figures = Figures.of(result, plan.corpus.rows, plan.corpus.groups).as_json()
        notes = (*plan.notes, *compare_with_majority(result, balanced=model.class_weight == "balanced"))
    fit_on(model, prepared, stages).remember_texts(corpus.texts).remember_documents(corpus.texts, every)
    model.check_limits()
    columns: dict[str, Any] = {"columns": list(corpus.columns), "label_column": corpus.label_column}
    columns |= {"label_separator": corpus.label_separator} if corpus.several else {}
    training = {**model.training_, "data": Path(corpus.name).name, **columns}
    model.model_ = replace(model.model_, training=training, scores=scores, figures=figures)
    return scores, notes


def evaluate(model: TrainedModel, corpus: Corpus, *, explain: bool = False, new_classes: bool = False) -> Evaluation:
    """Score a trained model on labelled texts.

    Parameters
    ----------
    model, corpus
        The model and the texts.
    explain
        Whether to keep the words behind mistakes.
    new_classes
        Whether labels may be classes that the model does not know; else they are refused.
    """
    labels = check_targets(corpus.labels, len(corpus))
    check_several(model, corpus)
    if not new_classes:
        _check_known(model, classes_of(labels))
    found = model.score_texts(corpus.texts)
    classes = model.classes
    predicted, probabilities = model.decision.assigned(found.scores), model.decision.probabilities(found.scores)
    if isinstance(labels, LabelSets) and isinstance(predicted, LabelSets):
        known = {str(label) for label in classes.tolist()}
        new = [label for label in labels.classes.tolist() if str(label) not in known]
        classes = label_array([*classes.tolist(), *new]) if new else classes
        labels, predicted = labels.over(classes), predicted.over(classes)
    elif not isinstance(labels, LabelSets) and not isinstance(predicted, LabelSets):
        if labels.dtype.kind != predicted.dtype.kind:
            labels, predicted, classes = labels.astype(str), predicted.astype(str), classes.astype(str)
        classes = np.concatenate([classes, np.setdiff1d(labels, classes)])
    n_new = len(classes) - probabilities.shape[1]  # classes that the model does not know have probability 0
    probabilities = np.concatenate([probabilities, np.zeros((len(labels), n_new))], axis=1)
    score = macro_f1_of_labels(labels, predicted)
    trained_on = model.training_texts()
    seen = None if trained_on is None else trained_on.count(corpus.texts)
    folds = np.zeros(len(labels), np.int64)
    result = Evaluation(
        labels,
        predicted,
        classes,
        probabilities,
        folds,
        (score,),
        seen,
        unknown_fractions=found.unknown_fractions,
        sure=_sure(model.decision, found.scores),
    )
    return replace(result, words=_words_of_texts(model, corpus, result)) if explain and not result.several else result


def _sure(decision: Decision, scores: Scores) -> NDArray[np.bool_] | None:
    """Return which documents are decided; None if no precision was wanted."""
    return None if decision.least_probabilities is None else decision.sure(scores)


def _words_of_texts(model: TrainedModel, corpus: Corpus, result: Evaluation) -> MistakeWords:
    """Return the words behind the mistakes of a model."""
    return explain_mistakes(
        model,
        lambda chosen: model.table.count([corpus.texts[place] for place in chosen.tolist()], model.tokenizer),
        result.numbers(result.labels),
        result.numbers(result.predicted),
        result.confidences,
        result.classes,
    )


def _check_known(model: TrainedModel, classes: NDArray[Any]) -> None:
    """Refuse labels that the model does not know."""
    unknown = sorted({str(label) for label in classes} - {str(label) for label in model.classes.tolist()})
    if unknown:
        known = ", ".join(map(str, model.classes.tolist()))
        keys = {spelling_key(str(label)) for label in model.classes.tolist()}
        hint = "; --merge-labels takes other spellings for the same" if spelling_key(unknown[0]) in keys else ""
        raise InputError(f"found the label {unknown[0]!r}, which the model does not know; its classes: {known}{hint}")


def check_several(model: TrainedModel, corpus: Corpus) -> None:
    """Refuse several labels per document for a model that gives one, and one for a model that gives several."""
    if model.decision.several and not corpus.several:
        raise InputError(
            f"{corpus.name}: found one label per document, {shown(corpus.labels[0])}, and the model gives several; "
            "expected lists of labels, or say what separates them in a cell: --label-separator ';'"
        )
    if corpus.several and not model.decision.several:
        example = next((row for row in corpus.labels if len(row) > 1), corpus.labels[0])
        raise InputError(
            f"{corpus.name}: found several labels per document, {shown(list(example))}, and the model gives one; "
            "expected one label each, or a model trained on several: tfcr train DATA -o MODEL"
        )
