"""TfcrClassifier: text in, label out. The one place that spells out the order of the stages."""

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tfcr.embeddings import Embeddings
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import InputError, look_up
from tfcr.features.blocks import check_blocks
from tfcr.features.checks import AnyEmbeddings, check_classes, check_seed, class_names, count_classes, vectors_of_words
from tfcr.features.cross_fit import check_cross_fit
from tfcr.features.parts import PARTS, Ingredients, Part
from tfcr.heads import LINKS, FittedHead, Head, check_class_weight, make_targets, resolve_head
from tfcr.heads.stacking import Lesson, PartToFit, fit_parts
from tfcr.presets import PRESETS
from tfcr.schemes import Scheme, resolve_scheme, scheme_name
from tfcr.system.hardware import memory_limit
from tfcr.text.bigrams import count_terms
from tfcr.text.class_counts import ClassCounts, Labels, Progress, check_labels, check_sample_weight
from tfcr.text.documents import CountedDocuments, check_texts, count_words
from tfcr.text.tokenizers import AnyTokenizer, Tokenizer, resolve_tokenizer, tokenizer_name
from tfcr.trained.card import model_card
from tfcr.trained.codec import write_classes, write_counts, write_table
from tfcr.trained.explain import Explanation, explain_text, top_words
from tfcr.trained.format import save_folder
from tfcr.trained.word_table import collapse
from tfcr.transformers import WeightedEmbeddingVectorizer


class TfcrClassifier(ClassifierMixin, BaseEstimator):
    """Classify texts by word embeddings weighted by class.

    After `fit` it holds a table over words and needs no embeddings any more.

    Parameters
    ----------
    embeddings
        An Embeddings, a path, a known name, or ``"w2v"``: train word2vec on the texts given to `fit`. None: do without,
        and leave out the part ``vectors``.
    parts
        Names of PARTS, the kinds of features: ``vectors`` (word vectors weighted by class, the paper's method),
        ``words`` (the words themselves, by TF-IDF), ``pairs`` (words, and pairs of neighbouring words). Each is fitted
        by itself; where there are several, or C is picked, the share of each in the score is learned from documents
        held out, and how far to lean to rare or frequent classes if they are balanced. (Pairs, and how rare a word is,
        are counted by texts, whatever they weigh.)
    scheme
        A name of SCHEMES, or a callable from ClassCounts to weights.
    head
        A name of HEADS, or a scikit-learn linear classifier.
    tokenizer
        A name of TOKENIZERS, or a callable from a text to its tokens.
    averaging
        What each block is divided by: ``weights`` (the sum of the document's weights), ``length`` (all its tokens),
        ``sum`` (nothing) or ``unit`` (to length 1, counts as 1 + log n).
    blocks
        ``all``: each class's classifier sees the blocks of all classes, as in the paper. ``own``: it sees its own
        block, the plain mean, and its share of the weight; cost then grows linearly with the number of classes.
    cross_fit
        Folds into which training documents are cut, so that each one's vector is made with the weights that the other
        folds give; 0: with those of all, itself included.
    C
        Inverse strength of regularisation of ``lr`` and ``svm``, on scaled features. None: picked for each part, on
        documents held out.
    class_weight
        ``"balanced"``, None, or a dict from class to weight. (A scikit-learn head keeps its own.)
    min_count
        Words that occur less often in training weigh nothing.
    dimensions
        Of word2vec, where it is trained here.
    unlabelled
        More texts to train word2vec on.
    max_memory
        What the training features of vectors may take, in bytes or as ``"4GB"``; half of the machine's memory if None.
        If they took more, they are not kept but worked out anew whenever they are needed: slower, and the same result.
    warm_start
        Whether `fit` starts from what the last one learned: quicker for a grid of C, or for more and more documents.
        Of no effect with several parts, or where C is picked.
    random_state
        Seed of all randomness; with one set, the same data gives the same model.

    Attributes
    ----------
    classes_
        The classes, sorted, of the type they were given in.
    table_
        WordTable: what each word adds to each score.
    part_weights_
        The share of each part in the score, of parts that vary alike.
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

    def __init__(
        self,
        *,
        embeddings: AnyEmbeddings | None = IN_DOMAIN,
        parts: Sequence[str] = ("words", "bigrams", "vectors"),
        scheme: str | Scheme = "tfcr-log",
        head: Any = "svm",
        tokenizer: str | AnyTokenizer = "symbols",
        averaging: str = "weights",
        blocks: str = "own",
        cross_fit: int = 0,
        C: float | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        min_count: float = 1,
        dimensions: int = 100,
        unlabelled: Iterable[str] | None = None,
        max_memory: float | str | None = None,
        warm_start: bool = False,
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
        self.min_count = min_count
        self.dimensions = dimensions
        self.unlabelled = unlabelled
        self.max_memory = max_memory
        self.warm_start = warm_start
        self.random_state = random_state

    @classmethod
    def from_preset(cls, name: str, **parameters: Any) -> "TfcrClassifier":
        """Return a classifier with the parameters of PRESETS[name]; those given here come first."""
        return cls(**{**look_up(PRESETS, name, "preset"), **parameters})

    def fit(self, X: Iterable[str], y: Iterable[Any], sample_weight: Iterable[float] | None = None) -> "TfcrClassifier":
        """Learn from texts and labels.

        A text of weight 2 counts as two, one of weight 0 as none (word2vec, where trained here, sees each once).
        """
        texts = check_texts(X)
        labels = check_labels(y, len(texts))
        weights = check_sample_weight(sample_weight, len(texts))
        used = np.flatnonzero(weights > 0)
        check_classes(np.unique(labels[used]))
        self.check_parameters()
        texts = [texts[number] for number in used]
        embeddings = self.load_embeddings(texts)
        return self.fit_counted(self.count(texts), labels[used], weights[used], embeddings)

    def count(self, texts: Iterable[str]) -> CountedDocuments:
        """Count the words of texts to train on, and pairs of them where a part needs these."""
        counted = count_terms if any(self._part(name).uses_bigrams for name in self.parts) else count_words
        return counted(texts, self.tokenizer)

    def fit_counted(
        self,
        documents: CountedDocuments,
        labels: Labels,
        sample_weight: NDArray[np.float64],
        embeddings: Embeddings | None,
    ) -> "TfcrClassifier":
        """Learn from documents that are counted already; every weight is above 0."""
        self.check_parameters()
        counts, kept = count_classes(documents.without_bigrams(), labels, sample_weight, self.min_count)
        documents = documents.over_words(kept.words)
        targets = make_targets(labels, counts.classes, sample_weight, self.class_weight)
        lesson = Lesson(documents, targets, memory_limit(self.max_memory))
        parts = self._parts_to_fit(kept, embeddings)
        mixture = fit_parts(parts, lesson, kept, self._last_solution(counts.classes), self._seed())

        self.classes_ = counts.classes
        self.counts_: ClassCounts | None = counts
        seen = documents if mixture.uses_bigrams else documents.without_bigrams()
        self.table_ = collapse(seen, sample_weight, mixture.blocks, mixture.fitted)
        self.link_ = mixture.fitted.link
        self.part_weights_ = mixture.shares
        self._solution = mixture.fitted if self.warm_start else None
        self.training_ = self._describe_training(counts, embeddings)
        return self

    def load_embeddings(self, texts: list[str], progress: Progress | None = None) -> Embeddings | None:
        """Return the vectors to train with; ``"w2v"`` is trained on these texts."""
        if self.embeddings is None or "vectors" not in self.parts:
            return None
        return self._vectorizer(self.embeddings).load_or_train(texts, progress)

    def predict_with_unknown(
        self, texts: Iterable[str]
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return the class of each text, its probability, and the share of words that the model does not know."""
        check_is_fitted(self)
        found = self.table_.score_texts(check_texts(texts), resolve_tokenizer(self.tokenizer))
        return self.labels_of(found.scores), LINKS[self.link_](found.scores).max(axis=1), found.unknown_fractions

    def predict_counted(self, documents: CountedDocuments) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the class of documents that are counted already, over whatever words, and its probability.

        A model with pairs of words needs them counted: together with the training documents by `count`, which leaves
        out pairs that one document alone holds, or by `table_.count`.
        """
        if self.table_.n_bigrams and not documents.n_bigrams:
            raise InputError(
                "found documents counted without the pairs of words that this model knows; expected them counted with "
                "these, as model.table_.count(texts, tokenizer) does, or give the texts to predict"
            )
        scores = self.table_.decision(documents.over(self.table_.words, self.table_.n_bigrams))
        return self.labels_of(scores), LINKS[self.link_](scores).max(axis=1)

    def decision_function(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return the scores: (n_documents, n_classes), or (n_documents,) for two classes."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Iterable[str]) -> NDArray[Any]:
        """Return the class of each text."""
        return self.labels_of(self._scores(X))

    def labels_of(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the classes for scores of `table_`; (n_documents, n_outputs)."""
        best = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return a probability for each class; (n_documents, n_classes).

        Those of ``lr`` are normalised sigmoids. Those of ``svm`` and ``ridge`` are a softmax of the scores and not
        calibrated: they rank, and promise nothing. With several parts, or where C is picked, they are a softmax scaled
        to fit documents held out, each class counting the same if balanced.
        """
        scores = self._scores(X)
        return LINKS[self.link_](scores)

    def explain(self, text: str) -> Explanation:
        """Return what each word of a text adds to each class's score; it adds up to the score."""
        check_is_fitted(self)
        return explain_text(text, self.table_, self.classes_, resolve_tokenizer(self.tokenizer))

    def top_words(self, n: int = 20) -> dict[Any, list[tuple[str, float]]]:
        """Return, for each class, the words that raise its score most over the training documents."""
        check_is_fitted(self)
        return top_words(self.table_, self.classes_, n)

    def save(
        self, path: str | os.PathLike[str], *, counts: bool = True, scores: Mapping[str, float] | None = None
    ) -> None:
        """Write the model to a folder; one there is replaced, safely at every moment.

        Parameters
        ----------
        path
            The folder.
        counts
            Whether to keep the word counts beside the table. They are needed to add data later.
        scores
            How the model scored, for its card: a name, such as ``"macro-F1, 10 folds"``, and a figure each.
        """
        check_is_fitted(self)
        config = {
            "settings": self._settings(),
            "classes": write_classes(self.classes_),
            "link": self.link_,
            "averagings": list(self.table_.averagings),
            "bigrams": self.table_.n_bigrams,
            "training": self.training_,
            "scores": dict(scores or {}),
        }
        data = {"table": write_table(self.table_)}
        if counts and self.counts_ is not None:
            data["counts"] = write_counts(self.counts_)
        save_folder(Path(path), config, data, model_card(config))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "table_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def check_parameters(self) -> None:
        """Refuse unknown names before any long work."""
        if isinstance(self.parts, str | None) or not [self._part(name) for name in self.parts]:
            raise InputError(f"found parts={self.parts!r}; expected a list of one or more of {', '.join(PARTS)}")
        if self.embeddings is None and set(self.parts) == {"vectors"}:
            raise InputError("found embeddings=None and no part but 'vectors'; expected vectors, or parts=['words']")
        if isinstance(self.head, str) and self.head == "ridge" and set(self.parts) != {"vectors"}:
            raise InputError(
                "found head='ridge' for words, which are too many for it; expected 'svm' or 'lr', or the part "
                "'vectors' alone, as in the preset 'paper'"
            )
        resolve_scheme(self.scheme)
        resolve_tokenizer(self.tokenizer)
        check_blocks(self.blocks, self.averaging)
        check_cross_fit(self.cross_fit)
        check_class_weight(self.class_weight)
        memory_limit(self.max_memory)
        check_seed(self.random_state)
        self._heads((1.0,))

    def _part(self, name: str) -> Part:
        return look_up(PARTS, name, "part")

    def _heads(self, strengths: Sequence[float]) -> list[Head]:
        """Return the heads to pick one of: of the strength given, or of each of these."""
        if self.C is None and not (isinstance(self.head, str) and self.head in ("svm", "lr")):
            strengths = (1.0,)  # others have a strength of their own
        given = strengths if self.C is None else (self.C,)
        return [resolve_head(self.head, C=C, random_state=self.random_state) for C in given]

    def _parts_to_fit(self, counts: ClassCounts, embeddings: Embeddings | None) -> list[PartToFit]:
        """Return the parts to fit, with the vectors for the words counted."""
        if "vectors" in self.parts and self.embeddings is not None and embeddings is None:
            raise InputError(
                "found no vectors for the part 'vectors'; expected those of load_embeddings, or embeddings=None"
            )
        names = [name for name in dict.fromkeys(self.parts) if name != "vectors" or embeddings is not None]
        vectors = None if embeddings is None else vectors_of_words(embeddings, counts)
        given = Ingredients(vectors, class_names(counts.classes), self.scheme, self.blocks, self.averaging)
        parts = [(name, self._part(name)) for name in names]
        return [
            PartToFit(
                name=name,
                blocks=part.maker(given),
                heads=self._heads(part.strengths),
                uses_bigrams=part.uses_bigrams,
                cross_fit=self.cross_fit if part.by_class else 0,
                seed=self._seed(),
            )
            for name, part in parts
        ]

    def _seed(self) -> int:
        """Return the seed for which documents are held out: without one given, the same each time."""
        return check_seed(self.random_state) or 0

    def _vectorizer(self, embeddings: AnyEmbeddings) -> WeightedEmbeddingVectorizer:
        return WeightedEmbeddingVectorizer(
            embeddings=embeddings,
            scheme=self.scheme,
            tokenizer=self.tokenizer,
            averaging=self.averaging,
            blocks=self.blocks,
            min_count=self.min_count,
            dimensions=self.dimensions,
            unlabelled=self.unlabelled,
            random_state=self.random_state,
        )

    def _last_solution(self, classes: Labels) -> FittedHead | None:
        """Return what the last `fit` learned, if this one shall start there and is about the same classes."""
        last = getattr(self, "_solution", None) if self.warm_start else None
        return last if last is not None and np.array_equal(self.classes_, classes) else None

    def _scores(self, texts: Iterable[str]) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.table_.score_texts(check_texts(texts), resolve_tokenizer(self.tokenizer)).scores

    def _describe_training(self, counts: ClassCounts, embeddings: Embeddings | None) -> dict[str, Any]:
        coverage = None if embeddings is None else embeddings.coverage(counts)
        return {
            "documents": counts.n_documents,
            "tokens": counts.n_occurrences,
            "words": len(counts.words),
            "documents_per_class": counts.class_documents.tolist(),
            "embeddings": None if embeddings is None else embeddings.name,
            "coverage_words": None if coverage is None else coverage.words,
            "coverage_tokens": None if coverage is None else coverage.tokens,
            "shares": self.part_weights_,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("tfcr", "numpy", "scipy", "scikit-learn", "gensim")},
            },
        }

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as JSON; a callable by its name, for people."""
        by_class = self.class_weight
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
            "class_weight": [list(pair) for pair in by_class.items()] if isinstance(by_class, Mapping) else by_class,
            "min_count": self.min_count,
            "dimensions": self.dimensions,
            "random_state": check_seed(self.random_state),
        }


def _embeddings_name(embeddings: AnyEmbeddings | None) -> str | None:
    if isinstance(embeddings, Embeddings):
        return embeddings.name
    return None if embeddings is None else str(embeddings)
