"""What ``tfcr evaluate`` prints: scores of all classifiers, and of a single one what to look at next."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcr.cli.output import print_line, print_table, print_text

if TYPE_CHECKING:
    from tfcr.data import Corpus
    from tfcr.evaluation import Diagnosis, Evaluation, Figures, TimeSplit
    from tfcr.evaluation.diagnosis import Word

SHOWN = 5
"""Pairs, mistakes, doubtful labels and groups of near-duplicates that a terminal shows."""
MOST_ROWS = 6
"""Rows of a group of near-duplicates that a terminal shows."""
MOST_CLASSES = 12
"""Classes of a confusion matrix that a terminal shows."""
SHORT = (
    "macro_f1",
    "std",
    "macro_f1_pooled",
    "micro_f1",
    "accuracy",
    "calibration_error",
    "folds",
    "intervals",
    "most_frequent_class",
    "classes",
)
"""The figures of each of several classifiers; a single one has all of them."""


class Found(NamedTuple):
    """The evaluation of one or several classifiers, by name.

    Attributes
    ----------
    corpus
        The documents that were tested.
    results
        The predictions of each.
    balanced
        Whether classes were given equal weight.
    tokenizer
        That of the only classifier, for finding near-duplicates.
    whole, split
        If the corpus was split by time: all documents, and how.
    """

    corpus: "Corpus"
    results: "dict[str, Evaluation]"
    balanced: bool
    tokenizer: Any
    whole: "Corpus | None" = None
    split: "TimeSplit | None" = None

    @property
    def only(self) -> "Evaluation | None":
        """The evaluation, if there is a single one."""
        return next(iter(self.results.values())) if len(self.results) == 1 else None

    def diagnosis(self) -> "Diagnosis":
        """Return what to look at next, of a single classifier."""
        import numpy as np

        from tfcr.evaluation import diagnose
        from tfcr.text.class_counts import check_targets
        from tfcr.text.documents import count_terms

        [result] = self.results.values()
        if self.whole is None or self.split is None:
            return diagnose(result, count_terms(self.corpus.texts, self.tokenizer))
        folds = np.full(len(self.whole), -1)
        folds[self.split.newest] = 0
        labels = check_targets(self.whole.labels, len(self.whole))
        return diagnose(result, count_terms(self.whole.texts, self.tokenizer), labels, folds)

    def figures(self) -> "dict[str, Figures]":
        """Return the figures of each classifier."""
        from tfcr.evaluation import Figures

        return {
            name: Figures.of(result, rows_of(self.corpus), self.corpus.groups) for name, result in self.results.items()
        }


def rows_of(corpus: "Corpus") -> list[int]:
    """Return the number of each document's row in its file."""
    return corpus.rows or list(range(1, len(corpus) + 1))


# JSON ----------------------------------------------------------------------------------------------------------------


def as_json(found: Found) -> list[dict[str, Any]]:
    """Return all that is known, as JSON can hold it."""
    summaries = [_summary(name, figures) for name, figures in found.figures().items()]
    if found.only is None:
        return [{name: summary[name] for name in ("name", *SHORT)} for summary in summaries]
    seen = {} if found.only.seen is None else {"seen_in_training": found.only.seen.texts}
    split = {} if found.split is None else {"split": found.split.as_json()}
    return [{**summaries[0], **_decided_as_json(found.only), **split, **seen, **_diagnosis_as_json(found)}]


def _decided_as_json(result: "Evaluation") -> dict[str, Any]:
    """Return how often decided labels are right, if a precision was wanted; nothing else."""
    from tfcr.evaluation import decided_scores

    scores = decided_scores(result)
    if not scores:
        return {}
    every, *classes = map(vars, scores)
    return {
        "at_precision": {
            "share_decided": every["decided"] / len(result.labels),
            "right": every["right"],
            "classes": classes,
        }
    }


def _summary(name: str, figures: "Figures") -> dict[str, Any]:
    known = figures.as_json()
    return {
        "name": name,
        **{key: value for key, value in known.items() if key != "fold_scores"},
        "folds": known["fold_scores"],
    }


def _diagnosis_as_json(found: Found) -> dict[str, Any]:
    diagnosis = found.diagnosis()
    whole = found.whole or found.corpus
    rows, texts, all_rows = rows_of(found.corpus), found.corpus.texts, rows_of(whole)

    def with_row(record: Any) -> dict[str, Any]:
        values = {name: value for name, value in vars(record).items() if name != "document"}
        words = {
            name: _words_as_json(values[name]) for name in ("towards_predicted", "towards_label") if name in values
        }
        row = {"row": rows[record.document], "text": texts[record.document]} if hasattr(record, "document") else {}
        return {**row, **values, **words}

    one_label = {
        "confused_pairs": [with_row(pair) for pair in diagnosis.pairs],
        "confident_mistakes": [with_row(mistake) for mistake in diagnosis.mistakes],
        "likely_label_errors": [with_row(error) for error in diagnosis.label_errors],
    }
    duplicates = diagnosis.duplicates
    return {
        **({} if whole.several else one_label),
        "near_duplicates": {
            "contradictory": [
                {
                    "rows": [all_rows[place] for place in group.documents],
                    "labels": list(group.labels),
                    "texts": [whole.texts[place] for place in group.documents],
                }
                for group in duplicates.contradictory
            ],
            "across_folds": [rows[place] for place in duplicates.across_folds],
            "macro_f1_without": duplicates.macro_f1_without,
        },
    }


def _words_as_json(words: "Sequence[Word]") -> list[dict[str, Any]]:
    return [word._asdict() for word in words]


# the terminal --------------------------------------------------------------------------------------------------------


def print_scores(found: Found, kind: str) -> None:
    """Print the scores of all classifiers; of a single one those of its classes, and what to look at next."""
    figures = found.figures()
    if found.only is not None:
        [only] = figures.values()
        rows = [(str(s.label), s.precision, s.recall, s.f1, s.documents) for s in only.classes]
        print_table(("class", "precision", "recall", "F1", "documents"), rows)
        print()
    _print_totals(figures, kind)
    if found.only is not None:
        _print_findings(found, only)


def _print_totals(figures: "Mapping[str, Figures]", kind: str) -> None:
    first = next(iter(figures.values()))
    cross_validated = len(first.fold_scores) > 1
    names = {"macro_f1": "macro-F1", "micro_f1": "micro-F1", "accuracy": "accuracy"}
    if cross_validated:
        means = {"macro_f1": "macro-F1, mean of folds", "std": "std", "macro_f1_pooled": "pooled"}
        names = means | {"micro_f1": "micro-F1", "accuracy": "accuracy"}
    rows = [(name, *(getattr(scores, key) for key in names)) for name, scores in figures.items()]
    trivial = first.most_frequent_class
    if trivial is not None:
        rows.append((f"(always {trivial.label})", *(getattr(trivial, key) for key in names)))
    head = kind if cross_validated else ""
    print_table((head, *names.values()), rows)
    print()
    print_table((head, "expected calibration error"), [(name, one.calibration_error) for name, one in figures.items()])


def _print_findings(found: Found, figures: "Figures") -> None:
    names = {"macro_f1_pooled": "macro-F1", "micro_f1": "micro-F1", "accuracy": "accuracy"}
    if len(figures.fold_scores) > 1:
        names["macro_f1_pooled"] = "macro-F1 (pooled)"
    if not figures.several:
        del names["micro_f1"]
    intervals = [f"{name} {_interval(figures.intervals[key])}" for key, name in names.items()]
    print_line(f"\n95 % intervals by bootstrap: {', '.join(intervals)}")
    print_line(f"unknown words: {figures.unknown_words:.1%} of a text in the mean")
    if found.only is not None:
        _print_decided(found.only)
    diagnosis = found.diagnosis()
    for section in (_small_classes, _confusion):
        section(figures)
    for part in (_pairs, _mistakes, _label_errors, _contradictory, _across_folds):
        part(found, diagnosis)


def _print_decided(result: "Evaluation") -> None:
    """Print how often decided labels are right, by class, if a precision was wanted."""
    from tfcr.evaluation import decided_scores

    scores = decided_scores(result)
    if not scores:
        return
    every, *classes = scores
    print_line(
        f"\nDecided at the wanted precision: {every.decided / len(result.labels):.1%} of the texts, of which "
        f"{every.right:.1%} are right"
    )
    rows = [(str(score.label), score.decided, score.right if score.decided else "") for score in classes]
    print_table(("class", "decided", "right"), rows)


def _interval(bounds: "tuple[float, float]") -> str:
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def _heading(text: str, shown: int, total: int, more: str) -> None:
    rest = f"; {total - shown:,} more: {more}" if total > shown else ""
    print_line(f"\n{text}{rest}")


def _small_classes(figures: "Figures") -> None:
    from tfcr.evaluation.scores import SMALL_CLASS

    small = [score for score in figures.classes if score.documents < SMALL_CLASS]
    if small:
        title = f"Classes with fewer than {SMALL_CLASS} documents, whose scores are uncertain"
        _heading(title, min(SHOWN, len(small)), len(small), "--json")
        rows = [(str(one.label), one.documents, one.f1, _interval(one.f1_interval)) for one in small[:SHOWN]]
        print_table(("class", "documents", "F1", "95 % interval"), rows)


def _confusion(figures: "Figures") -> None:
    size = len(figures.confusion_classes)
    if 2 <= size <= MOST_CLASSES:
        print_line("\nConfusion matrix: a row for each class, by column the documents that were assigned to it")
        numbers = [str(number) for number in range(1, size + 1)]
        labels = [f"{number} {label}" for number, label in zip(numbers, figures.confusion_classes, strict=True)]
        rows = [(label, *row) for label, row in zip(labels, figures.confusion, strict=True)]
        print_table(("", *numbers), rows)
    elif size > MOST_CLASSES:
        print_line(f"\nConfusion matrix of {size} classes: --plot FOLDER draws it, --json lists it")


def _pairs(found: Found, diagnosis: "Diagnosis") -> None:
    if diagnosis.pairs:
        shown = diagnosis.pairs[:SHOWN]
        _heading("Most confused, with the words that pull each way", len(shown), len(diagnosis.pairs), "--json")
        rows = [
            (
                str(pair.label),
                str(pair.predicted),
                pair.documents,
                f"{pair.fraction:.1%}",
                _words(pair.towards_predicted),
                _words(pair.towards_label),
            )
            for pair in shown
        ]
        print_table(("label", "predicted", "documents", "of the label", "to predicted", "to label"), rows)


def _words(words: "Sequence[Word]") -> str:
    return ", ".join(word.word for word in words)


def _mistakes(found: Found, diagnosis: "Diagnosis") -> None:
    shown = diagnosis.mistakes[:SHOWN]
    if shown and found.only is not None:
        total = len(found.only.mistakes())
        _heading("Most confident mistakes, with their words", len(shown), total, "--predictions FILE")
        for one in shown:
            words = [
                f"to {label}: {_words(words)}"
                for label, words in ((one.predicted, one.towards_predicted), (one.label, one.towards_label))
                if words
            ]
            print_line(
                f"row {rows_of(found.corpus)[one.document]}: {one.label}, predicted {one.predicted} "
                f"({one.probability:.3f}); {'; '.join(words)}"
            )
            print_text(found.corpus.texts[one.document])


def _label_errors(found: Found, diagnosis: "Diagnosis") -> None:
    from tfcr.evaluation.diagnosis import DOUBTFUL_ODDS

    shown = diagnosis.label_errors[:SHOWN]
    if shown:
        title = f"Likely label errors: another label is at least {DOUBTFUL_ODDS:.0f} times as likely"
        _heading(title, len(shown), len(diagnosis.label_errors), "--json")
        above = {mistake.document for mistake in diagnosis.mistakes[:SHOWN]}
        for one in shown:
            row = rows_of(found.corpus)[one.document]
            print_line(f"row {row}: labelled {one.label}, but {one.likelier} is {one.odds:,.0f} times as likely")
            if one.document not in above:
                print_text(found.corpus.texts[one.document])


def _contradictory(found: Found, diagnosis: "Diagnosis") -> None:
    groups = diagnosis.duplicates.contradictory
    if groups:
        _heading("Near-duplicate texts with different labels", min(SHOWN, len(groups)), len(groups), "--json")
    whole = found.whole or found.corpus
    for group in groups[:SHOWN]:
        rows = [
            f"{rows_of(whole)[place]} {_label(label)}"
            for place, label in zip(group.documents[:MOST_ROWS], group.labels, strict=False)
        ]
        more = f", and {len(group.documents) - MOST_ROWS} more" if len(group.documents) > MOST_ROWS else ""
        print_line(f"rows {', '.join(rows)}{more}")
        print_text(whole.texts[group.documents[0]])


def _label(label: Any) -> str:
    return " + ".join(map(str, label)) or "(none)" if isinstance(label, tuple) else str(label)


def _across_folds(found: Found, diagnosis: "Diagnosis") -> None:
    duplicates = diagnosis.duplicates
    if not duplicates.across_folds:
        return
    where = "in the older part" if found.split is not None else "in another fold"
    macro_f1 = duplicates.macro_f1_without
    without = "" if macro_f1 is None else f"; macro-F1 of the other texts is {macro_f1:.3f}"
    remedy = "" if found.split is not None else ". --group COLUMN keeps rows of one value together"
    count = len(duplicates.across_folds)
    print_line(f"\n{count:,} of {len(found.corpus):,} texts have a near-duplicate {where}{without}{remedy}")
