"""TrainedModel: what is left after training. It predicts, explains, saves and loads, and needs no embeddings."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import Decision
from tfcr.errors import DamagedError, InputError, ModelError, TfcrWarning, in_one_line
from tfcr.schemes import ContestedWord
from tfcr.system.array_codec import Arrays
from tfcr.text.class_counts import ClassCounts, Labels
from tfcr.text.documents import CountedDocuments
from tfcr.text.label_sets import AnyLabels
from tfcr.text.stored_counts import read_classes, read_counts, write_classes, write_counts
from tfcr.text.tokenizers import AnyTokenizer, resolve_tokenizer
from tfcr.trained.card import model_card
from tfcr.trained.codec import (
    describe_pieces,
    read_decision,
    read_table,
    write_decision,
    write_table,
)
from tfcr.trained.explain import Explanation, contested_terms, explain_text, strongest_terms, top_words
from tfcr.trained.figures import StoredFigures, write_figures
from tfcr.trained.format import SCHEMA, load_folder, read_data, save_folder
from tfcr.trained.kept_documents import KeptDocuments, StoredDocuments
from tfcr.trained.rounding import round_table
from tfcr.trained.seen import StoredTexts, TrainingTexts
from tfcr.trained.word_table import TextScores, WordTable

LATER = ("counts", "seen", "figures", "documents")
"""Data files that prediction does not need; they are read when they are asked for."""


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A trained text classifier.

    Attributes
    ----------
    table
        What each term adds to each score.
    decision
        How scores become probabilities and labels.
    tokenizer
        Splits texts into tokens.
    settings
        The parameters that it was trained with, as JSON.
    training
        What it was trained on, and with which versions, as JSON.
    counts
        The class counts of the training texts, needed to add data later; None if they were not kept. In a loaded model,
        where they are: see `class_counts`.
    scores
        How it scored when it was measured: a name and a figure each.
    seen
        Hashes of the training texts, to notice when it is scored on them; None if they were not kept.
    figures
        The figures of its cross-validation as JSON (see `evaluation.figures`); None if it was not measured so. In a
        loaded model, where they are: see `measured`.
    documents
        Its training documents, counted, to train it again with more of them; None unless that was wanted. In a loaded
        model, where they are: see `kept_documents`.
    """

    table: WordTable
    decision: Decision
    tokenizer: AnyTokenizer
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    counts: "ClassCounts | StoredCounts | None" = None
    scores: Mapping[str, float] = field(default_factory=dict)
    seen: TrainingTexts | StoredTexts | None = None
    figures: Mapping[str, Any] | StoredFigures | None = None
    documents: KeptDocuments | StoredDocuments | None = None

    @property
    def classes(self) -> Labels:
        """The classes, sorted."""
        return self.decision.classes

    def score_texts(self, texts: Iterable[str]) -> TextScores:
        """Return the scores of texts, (n_documents, n_outputs), and the fraction of unknown tokens of each."""
        return self.table.score_texts(texts, self.tokenizer)

    def score_counted(self, documents: CountedDocuments) -> NDArray[np.float64]:
        """Return the scores of documents that are counted already, over any vocabulary; (n_documents, n_outputs).

        A model with bigrams needs them counted: together with the training documents, which leaves out bigrams that
        only one document holds, or by ``model.table.count(texts, model.tokenizer)``.
        """
        if len(self.table.vocabulary.bigrams) and not len(documents.vocabulary.bigrams):
            raise InputError(
                "found documents counted without the bigrams that this model knows; expected them counted with these, "
                "as model.table.count(texts, model.tokenizer) does, or give the texts to predict"
            )
        return self.table.decision(self.table.recount(documents))

    def predict(self, texts: Iterable[str]) -> Any:
        """Return the class of each text; if texts have several, lists of labels or an indicator: see `Decision`."""
        return self.decision.labels(self.score_texts(texts).scores)

    def decide(self, texts: Iterable[str]) -> list[Any]:
        """Return the class of each text, None if it is unsure: less probable than the wanted precision takes."""
        return self.decision.decided(self.score_texts(texts).scores)

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Return a probability for each class; (n_documents, n_classes)."""
        return self.decision.probabilities(self.score_texts(texts).scores)

    def predict_with_unknown(self, texts: Iterable[str]) -> tuple[AnyLabels, NDArray[np.float64], NDArray[np.float64]]:
        """Return the class of each text, its probability, and the fraction of unknown tokens.

        If texts have several labels, these are LabelSets, and the probabilities are those of all classes.
        """
        found = self.score_texts(texts)
        scores = found.scores
        return self.decision.assigned(scores), self.decision.confidences(scores), found.unknown_fractions

    def explain(self, text: str, *, without: str | None = None) -> Explanation:
        """Return what each term of a text adds to each class's score; `without` shows what changes without a word."""
        return explain_text(text, self.table, self.decision, self.tokenizer, without)

    def strongest_terms(self, texts: Sequence[str], n: int = 3) -> list[list[str]]:
        """Return the terms of each text that spoke most for its label, at most n."""
        return strongest_terms(texts, self.table, self.decision, self.tokenizer, n)

    def top_words(self, n: int = 20) -> dict[Any, list[tuple[str, float]]]:
        """Return, for each class, the terms that raise its score most over the training documents."""
        return top_words(self.table, self.decision, n)

    def contested_terms(self, n: int = 20) -> list[ContestedWord]:
        """Return the terms that raise the scores of two classes most over the training documents."""
        return contested_terms(self.table, self.decision, n)

    def class_counts(self) -> ClassCounts | None:
        """Return the class counts of the training texts, which a loaded model reads now; None if they were not kept."""
        return self.counts.read() if isinstance(self.counts, StoredCounts) else self.counts

    def _kept_counts(self) -> Arrays | None:
        """Return the class counts as they are written; those of a loaded model of this schema as they were found."""
        if isinstance(self.counts, StoredCounts):
            found = self.counts.arrays()
            if found is None:
                raise _gone(self.counts.folder / self.counts.file, "class counts", "counts=False")
            if not self.counts.is_older:
                return found
        counts = self.class_counts()
        return None if counts is None else write_counts(counts)

    def _kept_texts(self) -> TrainingTexts | None:
        """Return the hashes of the training texts as they are written."""
        found = self.training_texts()
        if found is None and isinstance(self.seen, StoredTexts):
            raise _gone(self.seen.folder / self.seen.file, "hashes of training texts", "hashes=False")
        return found

    def rounded(self) -> "TrainedModel":
        """Return the model as `save` writes it: the values of a large table are rounded to 8 bits."""
        return replace(self, table=round_table(self.table))

    def training_texts(self) -> TrainingTexts | None:
        """Return the hashes of the training texts, which a loaded model reads now; None if they were not kept."""
        return self.seen.read() if isinstance(self.seen, StoredTexts) else self.seen

    def kept_documents(self) -> KeptDocuments | None:
        """Return the counted training documents, which a loaded model reads now; None if they were not kept."""
        if not isinstance(self.documents, StoredDocuments):
            return self.documents
        found = self.documents.read()
        if found is None:
            raise _gone(self.documents.folder / self.documents.file, "counted documents", "documents=False")
        return found

    def measured(self) -> Mapping[str, Any] | None:
        """Return the figures of the cross-validation as JSON, which a loaded model reads now; None if there are none.

        ``tfcr.evaluation.Figures.from_json`` checks them and gives them names.
        """
        return self.figures.read() if isinstance(self.figures, StoredFigures) else self.figures

    def _kept_figures(self) -> Mapping[str, Any] | None:
        """Return the figures as they are written; warn if a loaded model has lost them."""
        found = self.measured()
        if found is None and isinstance(self.figures, StoredFigures):
            warnings.warn(
                f"found no {self.figures.folder / self.figures.file}, which held the figures of the model's "
                "cross-validation; it is saved without them",
                TfcrWarning,
                stacklevel=3,
            )
        return found

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        counts: bool = True,
        scores: Mapping[str, float] | None = None,
        hashes: bool = True,
        documents: bool = True,
    ) -> None:
        """Write the model to a folder, replacing an older one; a reader finds the old or the new model at any moment.

        The values of a large word table are rounded to 8 bits, as those of a classifier are after `fit`.

        Parameters
        ----------
        path
            The folder.
        counts
            Whether to keep the class counts, which are needed to add data later.
        scores
            How the model scored, for its card; by default what it has.
        hashes
            Whether to keep the hashes of the training texts. Who has them can check whether a text was among these.
        documents
            Whether to keep the counted training documents, if the model has them; `update` needs them.

        Raises
        ------
        ModelError
            If it cannot be written; or if it was loaded, and its folder no longer has the counts or hashes to keep.
        """
        seen = self._kept_texts() if hashes else None
        kept = self._kept_counts() if counts else None
        figures = self._kept_figures()
        again = self.kept_documents() if documents else None
        table = round_table(self.table)
        config = {
            "settings": self.settings,
            "classes": write_classes(self.classes),
            "link": self.decision.link,
            "decision": write_decision(self.decision),
            "averagings": list(table.averagings),
            "pieces": describe_pieces(table),
            "training": self.training,
            "scores": dict(self.scores if scores is None else scores),
            "hashed_texts": None if seen is None else len(seen.hashes),
            "kept_documents": None if again is None else len(again),
        }
        data = {"table": write_table(table)}
        if kept is not None:
            data["counts"] = kept
        if seen is not None:
            data["seen"] = seen.write()
        if figures is not None:
            data["figures"] = write_figures(figures)
        if again is not None:
            data["documents"] = again.write()
        save_folder(Path(path), config, data, model_card(config))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, tokenizer: AnyTokenizer | None = None, check: bool = True
    ) -> "TrainedModel":
        """Load a model that was saved. Nothing that the folder names is imported or run.

        Its word table stays in the file, which is mapped into memory: processes that load the same model share it.

        Parameters
        ----------
        path
            The model's folder.
        tokenizer
            The callable that the model was trained with, if it was a callable; a model keeps only its name.
        check
            Whether to read all of the word table now and compare its hash, so that a damaged file is noticed.
        """
        folder = Path(path)
        config, data = load_folder(folder, without=LATER, check=check)
        _check_tokenizer(config.get("settings"), folder, tokenizer)
        try:
            model = _read_model(config, data, tokenizer)
            model_card(config)  # raises if the config lacks what saving the model again needs
        except (DamagedError, ModelError) as error:
            raise ModelError(f"{folder} is damaged: {error}; get or save the model again") from None
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
            raise ModelError(
                f"{folder} is damaged: its config lacks or misstates {in_one_line(error)}; save the model again"
            ) from None
        files, is_older = config["files"], config["schema"] < SCHEMA
        there = Path(os.path.realpath(folder))  # found later too, from another working directory
        return replace(
            model,
            counts=StoredCounts(there, files["counts"], model.classes, is_older) if "counts" in files else None,
            seen=StoredTexts(there, files["seen"]) if "seen" in files else None,
            figures=StoredFigures(there, files["figures"]) if "figures" in files else None,
            documents=StoredDocuments(there, files["documents"], model.classes, model.decision.form)
            if "documents" in files
            else None,
        )


@dataclass(frozen=True, eq=False)
class StoredCounts:
    """The class counts in a model's folder, read when they are needed; `is_older` if they are of an older schema."""

    folder: Path
    file: str
    classes: Labels
    is_older: bool

    def read(self) -> ClassCounts | None:
        """Return the counts; None if the model has been replaced since it was loaded."""
        arrays = self.arrays()
        try:
            return None if arrays is None else read_counts(arrays, self.classes)
        except (DamagedError, ModelError) as error:
            raise ModelError(f"{self.folder} is damaged: {error}; get or save the model again") from None

    def arrays(self) -> Arrays | None:
        """Return the arrays of the counts; None if the model has been replaced since it was loaded."""
        try:
            return read_data(self.folder, self.file)
        except FileNotFoundError:
            return None


def _gone(file: Path, what: str, left_out: str) -> ModelError:
    """Return the error of a save that would silently lose what the loaded model had."""
    return ModelError(
        f"found no {file}, which held the {what} of the model when it was loaded; expected its folder unchanged; "
        f"load the model again, or save it without them: save(path, {left_out})"
    )


def _read_model(config: dict[str, Any], data: dict[str, Arrays], tokenizer: AnyTokenizer | None) -> TrainedModel:
    is_older = config["schema"] < SCHEMA
    if is_older:
        from tfcr.trained.older_schemas import read_older_table, upgraded_config  # noqa: PLC0415 - needs scipy

        config = upgraded_config(config)
    settings = dict(config["settings"])
    decision = read_decision(read_classes(config["classes"]), config["link"], config.get("decision"))
    if is_older:
        table = read_older_table(data["table"], config, decision.n_outputs)
    else:
        table = read_table(data["table"], tuple(config["averagings"]), decision.n_outputs, config["pieces"])
    return TrainedModel(
        table=table,
        decision=decision,
        tokenizer=resolve_tokenizer(settings["tokenizer"]) if tokenizer is None else tokenizer,
        settings=settings,
        training=dict(config["training"]),
        scores=dict(config.get("scores") or {}),
    )


def _check_tokenizer(settings: Any, folder: Path, tokenizer: AnyTokenizer | None) -> None:
    if not isinstance(settings, dict):
        return
    name = settings.get("tokenizer")
    if tokenizer is not None and not (callable(tokenizer) and settings.get("own_tokenizer")):
        raise InputError(f"found tokenizer={tokenizer!r}, but {folder} was trained with {name!r}; leave it out")
    if settings.get("own_tokenizer") and tokenizer is None:
        raise ModelError(
            f"{folder} was trained with a tokenizer of your own, {name!r}, of which a model keeps only the name; "
            f"give it again: load({str(folder)!r}, tokenizer={name})"
        )
