"""TfcrClassifier: text in, label out. It spells out the order of the stages, and nothing else."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tfcr.counting import (
    Batch,
    CountedTexts,
    count_batches,
    count_batches_to_keep,
    count_to_keep,
    opened_documents,
)
from tfcr.decision import RULES, UNSURE, Decision, cost_matrix
from tfcr.embeddings import AnyEmbeddings, Embeddings, resolve_tables, sources_of
from tfcr.embeddings.automatic import choose_embeddings
from tfcr.embeddings.pretrained import AUTO, IN_DOMAIN
from tfcr.errors import CorpusWarning, InputError, ModelError, TfcrWarning, look_up, shown
from tfcr.features.blocks import AVERAGINGS, check_blocks
from tfcr.features.checks import check_classes, check_seed, class_names, count_classes, vectors_of_words
from tfcr.features.cross_fit import check_cross_fit
from tfcr.features.parts import PARTS, CharacterNgrams, NgramLimits, Part, PartSettings, PlainVectors
from tfcr.heads import Examples, FittedHead, Head, check_class_weight, make_targets, newton, resolve_head
from tfcr.heads.large import Fitted, fit_documents
from tfcr.heads.precision import (
    Precision,
    PrecisionLimits,
    check_limits,
    check_precision,
    find_limits,
    wanted_precision,
)
from tfcr.heads.stacking import PartToFit, Stacked
from tfcr.presets import PRESETS
from tfcr.schemes import Scheme, resolve_scheme, scheme_name
from tfcr.system.array_codec import read_strings, write_strings
from tfcr.system.checkpoints import NO_CHECKPOINTS, Checkpoints
from tfcr.system.hardware import check_fits, memory_limit, return_memory
from tfcr.system.parameters import DIMENSIONS, MAX_MEMORY, MIN_COUNT, UNLABELLED, Parameter, check_all, flag, number
from tfcr.system.places import Places, local_places
from tfcr.system.progress import Progress, Tell
from tfcr.system.versions import recorded_versions
from tfcr.text.class_counts import LEAST_WEIGHT, ClassCounts, Labels, check_sample_weight, check_targets
from tfcr.text.documents import CountedDocuments, TextStream, check_texts, count_terms
from tfcr.text.label_sets import (
    INDICATOR,
    ONE,
    AnyLabels,
    GivenLabels,
    LabelSets,
    classes_of,
    classes_with_members,
    joined_labels,
)
from tfcr.text.labels import label_array
from tfcr.text.shards import Documents, ShardedDocuments
from tfcr.text.tokenizers import AnyTokenizer, Tokenizer, resolve_tokenizer, tokenizer_name
from tfcr.trained.collapse import collapse
from tfcr.trained.explain import Explanation
from tfcr.trained.kept_documents import KeptDocuments
from tfcr.trained.learning_on import learn_on
from tfcr.trained.model import TrainedModel
from tfcr.trained.packing import check_groups
from tfcr.trained.seen import TrainingTexts
from tfcr.trained.word_table import WordTable

TABLE_BYTES = 32
"""Memory for each score of a word table while it is made: value, row and column, twice."""
PARAMETERS = (
    newton.STRENGTH.or_none("to pick it"),
    Parameter(
        "embeddings",
        lambda value: isinstance(value, Embeddings | str | os.PathLike | None),
        "vectors: an Embeddings, a path, a known name, 'w2v' or 'auto'; or None",
    ),
    Parameter(
        "decision",
        lambda value: value is None or (isinstance(value, str) and value in RULES),
        f"{' or '.join(map(repr, RULES))}, or None",
    ),
    MIN_COUNT,
    DIMENSIONS,
    UNLABELLED,
    MAX_MEMORY,
    flag("warm_start"),
    flag("keep_documents"),
)
"""What the numbers among the parameters may be; names are looked up in their tables."""
PAIRS = ("class_weight", "precision", "costs")
"""Parameters that may be a dict, whose keys may be any labels."""
COST = number("costs", 0, 1e9)
Costs = Mapping[tuple[Any, Any], float]
"""From a true and an assigned label to what that costs."""
DESCRIBED = ("data", "columns", "label_column", "label_separator", "updates")
"""What a model's facts say of the files that it was trained on; an update keeps it."""
FITTING = 0.9
"""About what fraction of the time of `fit_counted` goes into fitting the parts; the rest makes the word table."""


class TfcrClassifier(ClassifierMixin, BaseEstimator):
    """Classify texts by word embeddings weighted by class, words and bigrams.

    The defaults are the preset ``best``; the paper's method is ``TfcrClassifier.from_preset("paper")``. After `fit` it
    holds a TrainedModel, a table over words that needs no embeddings.

    Parameters
    ----------
    embeddings
        An Embeddings, a path, a known name, or ``"w2v"``: train word2vec on the texts given to `fit`. ``"auto"``: the
        best of what is installed and knows the words of these texts, else ``"w2v"``; ``training_["embeddings"]`` names
        it. Two, as in ``"wglove-50+wordllama"``: the first is weighted by class, both are part of ``plain``. None:
        leave out the parts that need vectors.
    parts
        Names of PARTS, the kinds of features: ``vectors`` (word vectors weighted by class, the paper's method),
        ``plain`` (the sum of word vectors, which sees words that training did not), ``words`` (TF-IDF of words),
        ``bigrams`` (TF-IDF of words and bigrams), ``characters`` (TF-IDF of the character n-grams of words),
        ``ngrams`` (words, bigrams and character n-grams together), ``lexical`` (words, with character n-grams in small
        corpora). Each part is fitted by itself. With several parts,
        or if C is picked, stacking learns the weight of each part from out-of-fold scores, and a class offset tuned
        for macro-F1 if classes are balanced. (Bigrams and document frequencies ignore sample weights.)
    scheme
        Of the part ``vectors``: a name of SCHEMES, or a callable from ClassCounts to weights.
    head
        The linear classifier: a name of HEADS, or a scikit-learn linear classifier.
    tokenizer
        A name of TOKENIZERS, or a callable from a text to its tokens.
    averaging
        Of the part ``vectors``: the divisor of each block. ``weights`` (the sum of the document's weights), ``length``
        (all its tokens), ``sum`` (1) or ``unit`` (the L2 norm, with sublinear counts).
    blocks
        Of the part ``vectors``. ``all``: each class's output sees the blocks of all classes, as in the paper. ``own``:
        it sees its own block, the unweighted mean and its mass; cost then grows linearly with the number of classes.
    cross_fit
        Number of folds for cross-fitting the class weights; 0: no cross-fitting.
    C
        Inverse regularisation strength of ``lr`` and ``svm``, on scaled features. None: picked for each part, by
        out-of-fold loss.
    class_weight
        ``"balanced"``, None, or a dict from class to weight. (A scikit-learn head keeps its own.)
    decision
        What `predict` picks labels by. ``"macro-f1"``: the score, with the class offset or thresholds tuned for
        macro-F1 if classes are balanced. ``"probability"``: `predict_proba`. None: the first if `class_weight` is
        balanced, else the second.
    precision
        How often a label is to be right, such as .95; or a dict from class to that, in which None stands for all other
        classes. `decide` then leaves texts whose label is less probable than that takes. Out-of-fold scores of all
        documents tell how probable: training takes longer.
    costs
        A dict from (true label, assigned label) to what that costs; pairs that are not given cost 1, and right labels
        nothing. `predict` then picks the label of the least expected cost.
    min_count
        Words that occur less often in training have no weight.
    dimensions
        Of word2vec, if it is trained here.
    unlabelled
        More texts to train word2vec on.
    max_memory
        Memory that training may take, in bytes or as ``"4GB"``; by default half of the machine's. Dense features that
        do not fit are computed on demand: slower, with the same result. In `fit_batches`, terms that few documents hold
        are left out if not all have room.
    warm_start
        Whether `fit` starts from the last solution: faster for a grid of C, or for more and more documents. Without
        effect with several parts, or if C is picked.
    keep_documents
        Whether the model keeps its training documents, counted, so that `update` can add more; texts are not kept. A
        model without them is smaller, and `partial_fit` lets its scores learn on.
    random_state
        Seed of all randomness; with a seed, the same data gives the same model.

    Attributes
    ----------
    model_
        The TrainedModel.
    classes_
        The classes, sorted, of the type that they were given in; of an indicator, the numbers of its columns.
    table_
        WordTable: what each term adds to each score.
    part_weights_
        The weight of each part in scores of equal standard deviation.
    counts_
        ClassCounts of the training texts; None in a model that was saved without.
    training_
        What it was trained on, and with which versions.

    Examples
    --------
    >>> from tfcr import Embeddings, TfcrClassifier
    >>> vectors = Embeddings.from_arrays(["good", "bad", "film"], [[1, 0], [-1, 0], [0, 1]])
    >>> model = TfcrClassifier(embeddings=vectors)
    >>> model.fit(["good film", "bad film", "good", "bad"], ["pos", "neg", "pos", "neg"]).predict(["a good one"])
    array(['pos'], dtype='<U3')
    """

    _held: tuple[list[str], AnyLabels, NDArray[np.float64], Labels] | None = None
    """Texts, labels, weights and all classes of the first calls of `partial_fit`, until all classes have texts."""

    def __init__(
        self,
        *,
        embeddings: AnyEmbeddings | None = AUTO,
        parts: Sequence[str] = ("ngrams", "vectors", "plain"),
        scheme: str | Scheme = "tfcr-log",
        head: Any = "svm",
        tokenizer: str | AnyTokenizer = "symbols",
        averaging: str = "weights",
        blocks: str = "own",
        cross_fit: int = 0,
        C: float | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        decision: str | None = None,
        precision: Precision | None = None,
        costs: Costs | None = None,
        min_count: float = 1,
        dimensions: int = 100,
        unlabelled: Iterable[str] | None = None,
        max_memory: float | str | None = None,
        warm_start: bool = False,
        keep_documents: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.embeddings = embeddings
        self.parts = parts
        self.scheme = scheme
        self.head = head
        self.tokenizer = tokenizer
        self.averaging = averaging
        self.blocks = blocks
        self.cross_fit = cross_fit
        self.C = C
        self.class_weight = class_weight
        self.decision = decision
        self.precision = precision
        self.costs = costs
        self.min_count = min_count
        self.dimensions = dimensions
        self.unlabelled = unlabelled
        self.max_memory = max_memory
        self.warm_start = warm_start
        self.keep_documents = keep_documents
        self.random_state = random_state

    @classmethod
    def from_preset(cls, name: str, **parameters: Any) -> "TfcrClassifier":
        """Return a classifier with the parameters of PRESETS[name]; those given here take precedence."""
        return cls(**{**look_up(PRESETS, name, "preset"), **parameters})

    @classmethod
    def from_trained(cls, model: TrainedModel) -> "TfcrClassifier":
        """Return the estimator around a trained model, with the parameters that it was trained with."""
        settings = dict(model.settings)
        del settings["own_tokenizer"]
        settings["parts"] = tuple(settings["parts"])
        if not isinstance(model.tokenizer, Tokenizer):
            settings["tokenizer"] = model.tokenizer
        for name in PAIRS:
            if isinstance(settings.get(name), list):
                settings[name] = {_hashable(key): value for key, value in settings[name]}
        classifier = cls(**settings, keep_documents=model.documents is not None)
        classifier._set_trained(model)
        return classifier

    def fit(self, X: Iterable[str], y: Any, sample_weight: Iterable[float] | None = None) -> "TfcrClassifier":
        """Learn from texts and labels: one for each text, or several.

        Several labels are given as a list, tuple or set for each text, empty for none; or as an indicator, an array or
        sparse matrix of 0 and 1 with a column for each class. Each class then has a threshold of its own, and `predict`
        answers in the form that was given.

        A text of weight 2 counts as two, one of weight 0 as none (word2vec, if trained here, sees each once).
        """
        self._held = None
        texts = check_texts(X)
        labels = check_targets(y, len(texts))
        weights = check_sample_weight(sample_weight, len(texts))
        used = np.flatnonzero(weights > 0)
        check_classes(classes_of(labels[used]))
        self.check_parameters()
        texts = [texts[number] for number in used]
        documents = self.count(texts)
        embeddings = self.load_embeddings(texts, documents=documents)
        self.fit_counted(documents, labels[used], weights[used], embeddings)
        self.check_limits()
        self._set_trained(self._trained().rounded())  # as it will be saved
        return self.remember_texts(texts).remember_documents(texts, labels[used], weights[used])

    def fit_batches(self, batches: Iterable[Batch], *, places: Places | None = None) -> "TfcrClassifier":
        """Learn from texts and labels that come batch by batch, and need not fit into memory.

        Texts are counted into shards, in temporary files, and not kept. The result is that of `fit` on all of them, but
        for rounding errors; `max_memory` bounds what the whole takes.

        Parameters
        ----------
        batches
            Texts and labels; or texts, labels and the weight of each text, as `sample_weight` of `fit`. They are
            iterated over more than once if word2vec is trained here: a generator will not do then.
        places
            Where shards are kept and work on them is done; files and threads of this machine by default.
        """
        self.check_parameters()
        trains = self.uses_vectors and isinstance(self.embeddings, str) and IN_DOMAIN in sources_of(self.embeddings)
        if trains and iter(batches) is batches:
            raise InputError(
                "found batches that can be read only once, and word2vec to be trained on their texts; expected an "
                "object that gives them each time it is iterated over, or vectors from a file (embeddings=PATH)"
            )
        with nullcontext(places) if places is not None else local_places() as where:
            counted = self.count_batches(batches, where)
            for note in counted.notes:
                warnings.warn(note, CorpusWarning, stacklevel=2)
            texts = TextStream(lambda: (text for some, *_ in batches for text in some))
            embeddings = self.load_embeddings(texts, documents=counted.documents)
            self.fit_counted(counted.documents, counted.labels, counted.weights, embeddings)
        self.check_limits()
        self._set_trained(replace(self._trained(), seen=counted.seen, documents=counted.kept).rounded())
        return self

    def remember_texts(self, texts: Iterable[str]) -> "TfcrClassifier":
        """Keep hashes of the training texts in the model, so that scoring it on them is noticed."""
        self._set_trained(replace(self._trained(), seen=TrainingTexts.of(texts)))
        return self

    def remember_documents(
        self, texts: list[str], labels: AnyLabels, sample_weight: NDArray[np.float64] | None = None
    ) -> "TfcrClassifier":
        """Keep the training documents in the model, counted, if that is wanted."""
        if self.keep_documents:
            kept = count_to_keep(texts, labels, sample_weight, self.tokenizer, bigrams=self.uses_bigrams)
            self._set_trained(replace(self._trained(), documents=kept))
        return self

    def update(self, X: Iterable[str], y: Any, sample_weight: Iterable[float] | None = None) -> "TfcrClassifier":
        """Train again with more documents, words and classes: the result is that of `fit` on all of them at once.

        The model must have kept its documents (`keep_documents`); parameters are those of this estimator. Of a model
        without, `partial_fit` lets the scores learn on from the new documents alone.
        """
        before = self._trained()
        texts, whole = self.with_documents(X, y, sample_weight)
        with opened_documents(whole, memory_limit(self.max_memory), all_blocks=self.has_all_blocks) as documents:
            embeddings = self.load_embeddings([], documents=documents)
            self.fit_counted(documents, whole.labels, whole.sample_weight(), embeddings)
        self.check_limits()
        return self.updated_from(before, TrainingTexts.of(texts), whole)

    def partial_fit(
        self,
        X: Iterable[str],
        y: Any,
        classes: Iterable[Any] | None = None,
        sample_weight: Iterable[float] | None = None,
    ) -> "TfcrClassifier":
        """Let the scores learn on from new documents alone; the weights of words stay.

        The first call of an estimator that is not fitted is `fit`. New words and new classes are learned, too. What the
        old documents know is held by how often their words occurred: see docs/update.md for what that loses.

        A class that has no text in the first call is known all the same if `classes` names it. It is never predicted
        until it has texts; and until all have some, those of all calls are held in memory, and fitted together.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes
            All labels that may ever occur; needed in the first call if it has texts of one class only.
        """
        texts = check_texts(X)
        labels = check_targets(y, len(texts))
        weights = check_sample_weight(sample_weight, len(texts))
        if classes is not None:
            _check_among(classes_of(labels), classes)
        if self._held is not None or not self.__sklearn_is_fitted__():
            return self._fit_first(texts, labels, weights, classes_of(labels) if classes is None else classes)
        used = np.flatnonzero(weights > 0)
        if not len(used):
            return self
        before = self._trained()
        texts, labels, weights = [texts[number] for number in used], labels[used], weights[used]
        found = learn_on(before, texts, labels, weights)
        kept = before.kept_documents()
        if kept is not None:
            added = count_to_keep(texts, labels, weights, before.tokenizer, bigrams=kept.bigrams)
            found = replace(found, documents=kept.plus(added))
        self._set_trained(found)
        return self

    def _fit_first(
        self, texts: list[str], labels: AnyLabels, weights: NDArray[np.float64], classes: Iterable[Any]
    ) -> "TfcrClassifier":
        """Fit on the documents of the first calls, until there are some of all classes."""
        every = label_array(list(classes))
        if self._held is not None:
            before, labels_before, weights_before, every = self._held
            _check_among(classes_of(labels), every.tolist())
            texts, labels = [*before, *texts], joined_labels(labels_before, labels)
            weights = np.concatenate([weights_before, weights])
        absent = np.setdiff1d(every, classes_with_members(labels[weights > 0]))
        with warnings.catch_warnings():
            if len(absent):  # as the caller knows
                warnings.filterwarnings("ignore", ".*(contain no words|no document has)", CorpusWarning)
            if isinstance(labels, LabelSets):
                self.fit(texts, labels if labels.form == INDICATOR else labels.over(np.unique(every)), weights)
            elif len(absent):
                self._fit_without(absent, texts, labels, weights)
            else:
                self.fit(texts, labels, weights)
        self._held = (texts, labels, weights, every) if len(absent) else None
        return self

    def _fit_without(
        self, absent: Labels, texts: list[str], labels: NDArray[Any], weights: NDArray[np.float64]
    ) -> None:
        """Fit though some classes have no text: an empty one of the least weight stands for each."""
        given = {"class_weight": self.class_weight, "decision": self.decision}
        if self.class_weight == "balanced":  # by the classes that have texts, else empty ones would weigh as much
            present, numbers = np.unique(labels, return_inverse=True)
            sizes = np.maximum(np.bincount(numbers, weights), LEAST_WEIGHT)
            balanced = dict(zip(present.tolist(), (sizes.sum() / sizes / len(sizes)).tolist(), strict=True))
            self.set_params(class_weight=dict.fromkeys(absent.tolist(), 1.0) | balanced, decision=self._rule())
        try:
            self.fit(
                [*texts, *[""] * len(absent)],
                np.concatenate([labels, absent]),
                np.concatenate([weights, np.full(len(absent), LEAST_WEIGHT)]),
            )
        finally:
            self.set_params(**given)
        self._set_trained(replace(self.model_, settings=self._settings()))

    def with_documents(
        self, X: Iterable[str], y: Any, sample_weight: Iterable[float] | None = None
    ) -> tuple[list[str], KeptDocuments]:
        """Return new texts that count, and the documents that the model keeps with these added.

        Raises
        ------
        InputError
            If the model keeps none, or they were counted otherwise, or the labels are of another type.
        """
        kept = self._documents_to_update()
        texts = check_texts(X)
        labels = check_targets(y, len(texts))
        weights = check_sample_weight(sample_weight, len(texts))
        used = np.flatnonzero(weights > 0)
        texts = [texts[number] for number in used]
        added = count_to_keep(texts, labels[used], weights[used], self.tokenizer, bigrams=kept.bigrams)
        whole = kept.plus(added)
        self.keep_documents = True
        return texts, whole

    def with_batches(
        self, batches: Iterable[Batch], progress: Callable[[int], None] = lambda documents: None
    ) -> tuple[TrainingTexts, KeptDocuments]:
        """Return the hashes of new texts that come batch by batch, and all documents; see `with_documents`."""
        kept = self._documents_to_update()
        added, seen = count_batches_to_keep(batches, self.tokenizer, bigrams=kept.bigrams, progress=progress)
        whole = kept.plus(added)
        self.keep_documents = True
        return seen, whole

    def _documents_to_update(self) -> KeptDocuments:
        """Return the documents that the model keeps; raise InputError if it could not be trained again with more."""
        kept = self._trained().kept_documents()
        if kept is None:
            raise InputError(
                "found a model that keeps no documents; expected one trained with keep_documents=True "
                "(--keep-documents): train it so, or let its scores learn on from the new texts alone: partial_fit "
                "(--keep-weights)"
            )
        known = self._trained().settings["tokenizer"]
        if tokenizer_name(self.tokenizer) != known or self.uses_bigrams > kept.bigrams:
            raise InputError(
                f"found the tokenizer {tokenizer_name(self.tokenizer)!r} and the parts {', '.join(self.parts)}, and "
                f"kept documents counted by {known!r} {'with' if kept.bigrams else 'without'} bigrams; expected the "
                "same: fit again with all texts"
            )
        self.check_parameters()
        return kept

    def updated_from(self, before: TrainedModel, texts: TrainingTexts, whole: KeptDocuments | None) -> "TfcrClassifier":
        """Let the model that was fitted again remember what the one before it did, and these texts."""
        seen = before.training_texts()
        model = self._trained()
        kept = {name: before.training[name] for name in DESCRIBED if name in before.training}
        self._set_trained(
            replace(
                model,
                training={**model.training, **kept},
                seen=None if seen is None else seen.plus(texts),
                documents=whole,
            ).rounded()
        )
        return self

    def count(self, texts: Iterable[str]) -> CountedDocuments:
        """Count the words of training texts, and their bigrams if a part uses them."""
        return count_terms(texts, self.tokenizer, bigrams=self.uses_bigrams)

    def count_batches(
        self, batches: Iterable[Batch], places: Places, progress: Callable[[int], None] = lambda documents: None
    ) -> CountedTexts:
        """Count training texts that come batch by batch into shards; see `counting.count_batches`."""
        return count_batches(
            batches,
            places,
            self.tokenizer,
            bigrams=self.uses_bigrams,
            max_memory=memory_limit(self.max_memory),
            progress=progress,
            keep_documents=self.keep_documents,
            all_blocks=self.has_all_blocks,
            entries_per_word=self.entries_per_word,
        )

    def fit_counted(
        self,
        documents: Documents,
        labels: GivenLabels,
        sample_weight: NDArray[np.float64],
        embeddings: Embeddings | Sequence[Embeddings] | None,
        tell: Tell = lambda name, fraction: None,
    ) -> "TfcrClassifier":
        """Learn from documents that are counted already; every weight is above 0.

        Of several `embeddings`, the first are weighted by class, and all are part of ``plain``.
        """
        self.check_parameters()
        tables = _as_sequence(embeddings)
        counts, kept = count_classes(documents.only_words(), labels, sample_weight, self.min_count)
        self.check_choices(labels, counts.classes)
        if self.embeddings == AUTO:  # the vectors of a whole corpus may know no word of a small part of it
            tables = [table for table in tables if table.coverage(kept).words]
        documents = documents.over_words(counts.occurs(self.min_count))
        self._check_table(kept)
        examples = Examples(documents, make_targets(labels, counts.classes, sample_weight, self.class_weight))
        fitted = fit_documents(
            self._parts_to_fit(documents, kept, tables),
            examples,
            kept,
            max_memory=memory_limit(self.max_memory),
            start=self._last_solution(counts.classes),
            seed=self._seed(),
            hold_out=self.precision is not None,
            tell=lambda name, fraction: tell(name, fraction * FITTING),
        )
        stacked = fitted.stacked
        decision, self._limits = self._decide(labels, counts.classes, stacked)
        tell("building the word table", FITTING)
        return_memory()  # what fitting has freed
        seen = documents if stacked.uses_bigrams else documents.only_words()
        table = collapse(seen, sample_weight, stacked.blocks, stacked.fitted)
        self._solution = stacked.fitted if self.warm_start else None
        self._set_trained(
            TrainedModel(
                table=table,
                decision=decision,
                tokenizer=resolve_tokenizer(self.tokenizer),
                settings=self._settings(),
                training=_describe_training(counts, tables, fitted, self._limits),
                counts=counts,
            )
        )
        return self

    def load_embeddings(
        self,
        texts: list[str] | TextStream,
        *,
        documents: Documents | None = None,
        progress: Progress | None = None,
        note: Callable[[str], None] | None = None,
    ) -> list[Embeddings]:
        """Return the vectors to train with; ``"w2v"`` is trained on these texts.

        ``"auto"`` chooses by the counts of the texts, `documents`, and names its choice in a `note`. Word2vec that was
        trained before training was stopped is not trained again, if the documents lie where checkpoints are kept.
        """
        if self.embeddings is None or not self.uses_vectors:
            return []
        kept = documents.places.checkpoints if isinstance(documents, ShardedDocuments) else NO_CHECKPOINTS
        trained = _trained_before(kept)
        if self.keep_documents and self.embeddings == AUTO:
            chosen = choose_embeddings(self.count(texts) if documents is None else documents)
            _refuse_in_domain(chosen.sources)
        tables = resolve_tables(
            self.embeddings,
            texts,
            lambda: self.count(texts) if documents is None else documents,
            dimensions=self.dimensions,
            unlabelled=self.unlabelled,
            tokenizer=self.tokenizer,
            random_state=self.random_state,
            progress=progress,
            note=note,
            trained=trained,
        )
        for table in tables:
            if table.name == IN_DOMAIN and trained is None:
                kept.write(IN_DOMAIN, {**write_strings("words", table.words), "vectors": table.vectors})
        return tables

    @property
    def uses_vectors(self) -> bool:
        """Whether one of the parts needs embeddings."""
        return any(part.needs_vectors for part in self._part_rows())

    @property
    def memory_per_byte(self) -> float:
        """About how many bytes training takes for each byte of text, if all of it is in memory."""
        return max(part.memory for part in self._part_rows())

    @property
    def entries_per_word(self) -> float:
        """About how many sparse features a document has for each of its different words."""
        return max(part.entries for part in self._part_rows())

    @property
    def has_all_blocks(self) -> bool:
        """Whether the output of each class sees the blocks of all classes."""
        return self.blocks == "all" and any(part.supervised for part in self._part_rows())

    @property
    def uses_bigrams(self) -> bool:
        """Whether one of the parts sees bigrams."""
        return any(part.uses_bigrams for part in self._part_rows())

    def decision_function(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return the scores: (n_documents, n_classes), or (n_documents,) for two classes of which each text has one."""
        scores = self._trained().score_texts(X).scores
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Iterable[str]) -> Any:
        """Return the class of each text, an array; if texts have several, lists of labels or an indicator, as given."""
        return self._trained().predict(X)

    def decide(self, X: Iterable[str]) -> list[Any]:
        """Return the class of each text, or None if it is not probable enough for the `precision` that is wanted."""
        return self._trained().decide(X)

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return a probability for each class; (n_documents, n_classes).

        With several parts, or if C is picked, probabilities are calibrated on out-of-fold documents, to the class
        frequencies of the training data. The likeliest class is then not always the one that `predict` picks: see
        `decision`. With one part and one C they are not calibrated, and rank: normalised sigmoids of ``lr``, a softmax
        of the scores of ``svm`` and ``ridge``. If texts have several labels, each class has a probability of its own.
        """
        return self._trained().predict_proba(X)

    def explain(self, text: str, *, without: str | None = None) -> Explanation:
        """Return what each word of a text adds to each class's score; the contributions add up to the score.

        `without` shows what changes without a word.
        """
        return self._trained().explain(text, without=without)

    def top_words(self, n: int = 20) -> dict[Any, list[tuple[str, float]]]:
        """Return, for each class, the words that raise its score most over the training documents."""
        return self._trained().top_words(n)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        counts: bool = True,
        scores: Mapping[str, float] | None = None,
        hashes: bool = True,
        documents: bool = True,
    ) -> None:
        """Write the model to a folder; see `TrainedModel.save`."""
        self._trained().save(path, counts=counts, scores=scores, hashes=hashes, documents=documents)

    @property
    def table_(self) -> WordTable:
        """What each term adds to each score."""
        return self.model_.table

    @property
    def counts_(self) -> ClassCounts | None:
        """The class counts of the training texts."""
        return self.model_.class_counts()

    @property
    def training_(self) -> Mapping[str, Any]:
        """What the model was trained on, and with which versions."""
        return self.model_.training

    @property
    def part_weights_(self) -> dict[str, float]:
        """The weight of each part in scores of equal standard deviation."""
        return dict(self.model_.training["part_weights"])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def check_limits(self) -> None:
        """Raise InputError if the wanted precision cannot be had, and warn of classes for which it cannot.

        To be called after `fit_counted`; in folds, that would be too early to give up.
        """
        if self._limits is None or self.precision is None:
            return
        check_limits(self._limits, self.precision, self.classes_)
        if never := self._limits.without(self.classes_):
            warnings.warn(
                f"texts of these classes are always unsure, in brackets the precision that can be had: {never}",
                TfcrWarning,
                stacklevel=3,
            )

    def check_choices(self, labels: GivenLabels, classes: Labels) -> None:
        """Raise InputError for a precision or costs that these labels cannot have, before any long work."""
        for name in ("precision", "costs"):
            if isinstance(labels, LabelSets) and getattr(self, name) is not None:
                raise InputError(
                    f"found {name}={shown(getattr(self, name))}, and several labels per text; expected one label for "
                    f"each, or no {name}"
                )
        if self.precision is not None:
            wanted_precision(self.precision, classes)
            if UNSURE in map(str, classes.tolist()):
                raise InputError(
                    f"found precision={shown(self.precision)}, and a class named {UNSURE!r}, which stands for texts "
                    "that are not decided; expected another name: --label-map FILE gives it one"
                )
        if self.costs is not None:
            cost_matrix(self.costs, classes)

    def _decide(
        self, labels: GivenLabels, classes: Labels, stacked: Stacked
    ) -> tuple[Decision, PrecisionLimits | None]:
        """Return how scores become labels, and how probable these must be for the precision that is wanted."""
        link, form = ("independent", labels.form) if isinstance(labels, LabelSets) else (stacked.fitted.link, ONE)
        costs = None if self.costs is None else cost_matrix(self.costs, classes)
        decision = Decision(classes, link, form, stacked.thresholds, stacked.calibration, self._rule(), costs=costs)
        if self.precision is None:
            return decision, None
        if stacked.held_out is None:
            raise InputError(
                f"found precision={shown(self.precision)}, and too few texts to measure it; expected two different "
                "texts of a class at least: label more"
            )
        limits = find_limits(decision, *stacked.held_out, wanted_precision(self.precision, classes))
        return replace(decision, least_probabilities=limits.least_probabilities), limits

    def _rule(self) -> str:
        """Return what labels are picked by: a name of RULES."""
        if self.decision is not None:
            return self.decision
        return RULES[0] if self.class_weight == "balanced" else RULES[1]

    def check_parameters(self) -> None:
        """Raise InputError for parameters that cannot be used, before any long work."""
        if isinstance(self.parts, str) or not isinstance(self.parts, Sequence) or not self._part_rows():
            raise InputError(f"found parts={shown(self.parts)}; expected a list of one or more of {', '.join(PARTS)}")
        if self.embeddings is None and all(part.needs_vectors for part in self._part_rows()):
            raise InputError(
                f"found embeddings=None and no part but {', '.join(map(repr, self.parts))}; expected vectors, or "
                "parts=['words']"
            )
        if self._sparse_parts() and not self._heads(PARTS[self._sparse_parts()[0]])[0].takes_sparse:
            raise InputError(
                f"found head={self.head!r}, which cannot use the sparse features of {', '.join(self._sparse_parts())}; "
                "expected 'svm' or 'lr', or parts=['vectors'], as in the preset 'paper'"
            )
        check_all(PARAMETERS, vars(self))
        if self.keep_documents and self.uses_vectors and self.embeddings not in (None, AUTO):
            _refuse_in_domain(sources_of(self.embeddings))
        resolve_scheme(self.scheme)
        resolve_tokenizer(self.tokenizer)
        check_blocks(self.blocks, self.averaging)
        check_cross_fit(self.cross_fit)
        check_class_weight(self.class_weight)
        check_precision(self.precision)
        _check_costs(self.costs)
        memory_limit(self.max_memory)
        check_seed(self.random_state)
        for part in self._part_rows():
            self._heads(part)

    def _sparse_parts(self) -> list[str]:
        return [name for name in self.parts if PARTS[name].sparse]

    def _part_rows(self) -> list[Part]:
        return [look_up(PARTS, name, "part") for name in self.parts]

    def _heads(self, part: Part) -> list[Head]:
        """Return the heads to pick one of for a part: that of the given C, or one for each of its strengths."""
        strengths = part.strengths if self.C is None else (self.C,)
        heads = [resolve_head(self.head, C=C, random_state=self.random_state) for C in strengths]
        return heads if heads[0].has_strength else heads[:1]

    def _parts_to_fit(self, documents: Documents, counts: ClassCounts, tables: Sequence[Embeddings]) -> list[PartToFit]:
        """Return the parts to fit, those that need vectors only if there are any."""
        rows = {name: PARTS[name] for name in self.parts if tables or not PARTS[name].needs_vectors}
        if not tables and self.uses_vectors and self.embeddings is not None:
            self._check_without_vectors(rows)
        settings = PartSettings(
            vectors=self._word_vectors(tables, counts),
            class_names=class_names(counts.classes),
            scheme=self.scheme,
            blocks=self.blocks,
            averaging=self.averaging,
            plain=[
                PlainVectors.of(table, documents.vocabulary.words, len(counts.classes))
                for table in tables
                if "plain" in rows
            ],
        )

        @cache
        def with_ngrams(limits: NgramLimits | None) -> PartSettings:
            ngrams = None if limits is None else CharacterNgrams.of(documents, len(counts.classes), limits)
            return replace(settings, ngrams=ngrams)

        return [
            PartToFit(
                name=name,
                make_blocks=part.block_maker(with_ngrams(part.ngrams)),
                heads=self._heads(part),
                uses_bigrams=part.uses_bigrams,
                supervised=part.supervised,
                cross_fit=self.cross_fit if part.supervised else 0,
                cost=part.cost,
                entries=part.entries,
            )
            for name, part in rows.items()
        ]

    def _check_without_vectors(self, rows: Mapping[str, Part]) -> None:
        """Raise InputError if there are no vectors though they are needed; "auto" only needs other parts."""
        if self.embeddings != AUTO:
            raise InputError(
                "found no vectors for the part 'vectors'; expected those of load_embeddings, or embeddings=None"
            )
        if not rows:
            raise InputError(
                f"found no vectors for the parts {', '.join(self.parts)}: too few texts to train word2vec on; give "
                "more, or vectors from a file (embeddings=PATH), or add the part 'words'"
            )

    def _word_vectors(self, tables: Sequence[Embeddings], counts: ClassCounts) -> NDArray[np.float32] | None:
        """Return a vector for each word, to be weighted by class; warn if few have one and the user chose them."""
        if not tables:
            return None
        return tables[0].of_words(counts.words) if self.embeddings == AUTO else vectors_of_words(tables[0], counts)

    def _check_table(self, counts: ClassCounts) -> None:
        """Raise InputError if there are too many classes for a block of each, or for each to see the blocks of all."""
        n_classes = len(counts.classes)
        if not self.uses_vectors or self.embeddings is None or n_classes <= 2:
            return
        if AVERAGINGS[self.averaging].weights:
            check_groups(n_classes)
        if self.blocks == "all":
            check_fits(
                TABLE_BYTES * counts.documents.nnz * n_classes,
                f"blocks='all' with {n_classes:,} classes and {len(counts.words):,} words: scores",
                "use blocks='own', where each class sees its own block",
            )

    def _seed(self) -> int:
        """Return the seed of the folds: the same each time if none is given."""
        return check_seed(self.random_state) or 0

    def _last_solution(self, classes: Labels) -> FittedHead | None:
        """Return the solution of the last `fit`, if this one shall start there and has the same classes."""
        last = getattr(self, "_solution", None) if self.warm_start else None
        return last if last is not None and np.array_equal(self.classes_, classes) else None

    def _trained(self) -> TrainedModel:
        check_is_fitted(self)
        return self.model_

    def _set_trained(self, model: TrainedModel) -> None:
        self.model_ = model
        self.classes_ = model.classes

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as JSON; a callable by its name, for people."""
        return {
            "embeddings": _embeddings_name(self.embeddings),
            "parts": list(self.parts),
            "scheme": scheme_name(self.scheme),
            "head": self.head if isinstance(self.head, str) else repr(self.head),
            "tokenizer": tokenizer_name(self.tokenizer),
            "own_tokenizer": not isinstance(self.tokenizer, str | Tokenizer),
            "averaging": self.averaging,
            "blocks": self.blocks,
            "cross_fit": self.cross_fit,
            "C": self.C,
            **{name: _pairs(getattr(self, name)) for name in PAIRS},
            "decision": self.decision,
            "min_count": self.min_count,
            "dimensions": self.dimensions,
            "random_state": check_seed(self.random_state),
        }


def load(path: str | os.PathLike[str], *, tokenizer: AnyTokenizer | None = None, check: bool = True) -> TfcrClassifier:
    """Load a saved model as an estimator; see `TrainedModel.load`."""
    model = TrainedModel.load(path, tokenizer=tokenizer, check=check)
    try:
        return TfcrClassifier.from_trained(model)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} is damaged: its settings lack or misstate {error}; save the model again") from None


def _as_sequence(embeddings: Embeddings | Sequence[Embeddings] | None) -> Sequence[Embeddings]:
    if embeddings is None:
        return ()
    return (embeddings,) if isinstance(embeddings, Embeddings) else embeddings


def _trained_before(kept: Checkpoints) -> Embeddings | None:
    """Return word2vec that an earlier run has trained; None if there is none."""
    known = kept.read(IN_DOMAIN)
    if known is None:
        return None
    return Embeddings.from_arrays(read_strings(known, "words"), known["vectors"], name=IN_DOMAIN)


def _refuse_in_domain(sources: Sequence[object]) -> None:
    """Raise InputError if vectors are trained on the texts: these are not kept, and so it could not be done again."""
    if IN_DOMAIN in [source for source in sources if isinstance(source, str)]:
        raise InputError(
            "found keep_documents (--keep-documents) and word2vec to be trained on the texts, which are not kept; "
            "expected vectors that stay the same: tfcr embeddings train DATA -o vectors.vec, then "
            "embeddings='vectors.vec' (--embeddings vectors.vec)"
        )


def _check_among(found: Labels, classes: Iterable[Any]) -> None:
    """Raise InputError naming the first label that is not among the classes."""
    known = set(classes)
    for label in found.tolist():
        if label not in known:
            raise InputError(f"found the label {label!r}; expected one of classes={shown(sorted(known, key=str))}")


def _describe_training(
    counts: ClassCounts,
    tables: Sequence[Embeddings],
    fitted: Fitted,
    limits: PrecisionLimits | None,
) -> dict[str, Any]:
    coverage = tables[0].coverage(counts) if tables else None
    return {
        "documents": counts.n_documents,
        "tokens": counts.n_occurrences,
        "words": len(counts.words),
        "documents_per_class": counts.class_documents.tolist(),
        "embeddings": " + ".join(table.name for table in tables) or None,
        "coverage_words": None if coverage is None else coverage.words,
        "coverage_tokens": None if coverage is None else coverage.tokens,
        "part_weights": dict(fitted.stacked.part_weights),
        **({} if fitted.sample is None else {"sample": fitted.sample, "held_out": fitted.held_out}),
        **({} if limits is None else {"decided": limits.decided}),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": recorded_versions(),
    }


def _check_costs(costs: object) -> None:
    if costs is None:
        return
    if not isinstance(costs, Mapping) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in costs):
        raise InputError(
            f"found costs={shown(costs)}; expected a dict from (true label, assigned label) to a number, or None"
        )
    for cost in costs.values():
        COST.check(cost)


def _pairs(value: Any) -> Any:
    """Return a dict as a list of its pairs, which JSON can hold; anything else as it is."""
    return [list(pair) for pair in value.items()] if isinstance(value, Mapping) else value


def _hashable(key: Any) -> Any:
    """Return a key as it was before JSON made a list of a tuple."""
    return tuple(key) if isinstance(key, list) else key


def _embeddings_name(embeddings: AnyEmbeddings | None) -> str | None:
    if isinstance(embeddings, Embeddings):
        return embeddings.name
    return None if embeddings is None else str(embeddings)
