"""Cross-validation against scikit-learn's, and trained models on labelled texts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tests.conftest import plain_classifier, random_corpus
from tfcr import Embeddings, TfcrClassifier
from tfcr.data import Corpus
from tfcr.errors import CorpusWarning, InputError
from tfcr.evaluation import (
    FoldPlan,
    compare,
    compare_on_newest,
    cross_validate,
    evaluate,
    plan_folds,
    prepare,
    split_by_time,
    train_and_measure,
    validation,
)
from tfcr.features import checks
from tfcr.predict_table import predict_frame
from tfcr.system.progress import Stages


def test_cross_validation_is_scikit_learns(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors)
    ours = cross_validate(model, corpus, folds=4, seed=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    theirs = cross_val_predict(model, corpus.texts, corpus.labels, cv=folds)
    np.testing.assert_array_equal(ours.predicted, theirs)
    scores = [
        f1_score(np.array(corpus.labels)[test], theirs[test], average="macro")
        for _, test in folds.split(corpus.texts, corpus.labels)
    ]
    assert ours.fold_scores == pytest.approx(scores)
    assert ours.macro_f1 == pytest.approx(np.mean(scores))
    assert ours.std == pytest.approx(np.std(scores))
    assert ours.pooled_macro_f1 == pytest.approx(f1_score(corpus.labels, theirs, average="macro"))
    assert ours.accuracy == pytest.approx(np.mean(theirs == np.array(corpus.labels)))
    assert sum(score.documents for score in ours.per_class()) == 120


class Named(Stages):
    """Stages that remember the names of those that were begun, and what was expected."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.expected: list[str] = []

    def expect(self, stages: Iterable[tuple[str, float]]) -> None:
        planned = list(stages)
        self.expected = [kind for kind, seconds in planned if seconds]
        super().expect(planned)

    def begin(self, kind: str, name: str = "") -> None:
        super().begin(kind, name)
        self.names.append(self.name)


def test_comparing_shows_progress_over_all(corpus: Corpus, vectors: Embeddings) -> None:
    stages = Named()
    models = {name: plain_classifier(embeddings=vectors, scheme=name) for name in ("none", "tfcr")}
    results = compare(models, corpus, folds=2, stages=stages)
    folds = ["none, fold 1 of 2", "none, fold 2 of 2", "tfcr, fold 1 of 2", "tfcr, fold 2 of 2"]
    assert stages.names == ["counting words", "counting classes", *folds]  # loaded vectors take no time
    assert stages.expected == ["counting words", "counting classes", "fit", "fit", "fit", "fit"]
    assert results["none"].macro_f1 < results["tfcr"].macro_f1


@pytest.mark.parametrize("n_folds", [0, 3])
def test_training_expects_what_it_does(n_folds: int, corpus: Corpus) -> None:
    stages = Named()
    model = TfcrClassifier(embeddings="w2v", dimensions=4, random_state=0)
    train_and_measure(model, corpus, folds=n_folds, stages=stages)
    assert stages.expected == ["counting words", "vectors", "counting classes", *["fit"] * (n_folds + 1), "saving"]
    folds = [f"fold {number + 1} of {n_folds}" for number in range(n_folds)]
    expected = ["counting words", "training word2vec", "counting classes", *folds, "all documents"]
    assert stages.names == expected


def test_fits_are_expected_to_take_longer_for_more_of_everything() -> None:
    def expected(model: TfcrClassifier, n_documents: int, n_classes: int, words: int = 10) -> float:
        labels = [str(number % n_classes) for number in range(n_documents)]
        stages = Named()
        stages.begin = stop  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            train_and_measure(model, Corpus(["word " * words] * n_documents, labels), folds=0, stages=stages)
        return dict(stages._to_come)["fit"]

    def stop(kind: str, name: str = "") -> None:
        raise KeyboardInterrupt

    fast, paper = TfcrClassifier.from_preset("fast"), TfcrClassifier.from_preset("paper", embeddings="w2v")
    assert expected(fast, 1000, 2) < expected(fast, 60_000, 2) < expected(fast, 60_000, 9)
    assert expected(fast, 1000, 2) < expected(fast, 1000, 2, words=1000)
    assert 3 * expected(paper, 1000, 100) < expected(paper, 1000, 300)  # the square of the classes
    assert expected(paper.set_params(blocks="own"), 1000, 300) < 2 * expected(paper, 1000, 100)


def test_measuring_looks_at_the_labels_a_few_times_only(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(list[Any]):
        passes = 0

        def __iter__(self) -> Iterator[Any]:
            Counted.passes += 1
            return super().__iter__()

    def planned(*arguments: Any, **options: Any) -> FoldPlan:
        plan = plan_folds(*arguments, **options)
        return replace(plan, corpus=replace(plan.corpus, labels=Counted(plan.corpus.labels)))

    monkeypatch.setattr(validation, "plan_folds", planned)
    train_and_measure(TfcrClassifier.from_preset("fast"), corpus, folds=2)
    assert 1 <= Counted.passes < 10  # not once for each of 120 documents


def test_slow_blocks_are_warned_of_once_before_the_work(
    corpus: Corpus, vectors: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "LONG_FIT", 1e-3)
    with pytest.warns(CorpusWarning, match="^blocks='all' with 3 classes and 120 documents: .* 0 minutes;") as caught:
        train_and_measure(plain_classifier(embeddings=vectors, blocks="all"), corpus, folds=2)
    assert len(caught) == 1
    train_and_measure(plain_classifier(embeddings=vectors, blocks="own"), corpus, folds=2)
    monkeypatch.setattr(checks, "LONG_FIT", 120.0)
    with pytest.warns(CorpusWarning, match=r"takes about 10 minutes; with blocks='own', .* about 1$"):
        checks.warn_of_slow_blocks(5000, 1000, 50)
    checks.warn_of_slow_blocks(5000, 100, 50)


def test_a_corpus_is_warned_of_once(corpus: Corpus) -> None:
    vectors = Embeddings.from_arrays(["common0", "common1"], [[1.0, 0.0], [0.0, 1.0]])
    texts = ["…", *corpus.texts[1:]]
    model = plain_classifier(embeddings=vectors)
    for run in (cross_validate, train_and_measure):
        with pytest.warns(CorpusWarning) as caught:
            run(model, replace(corpus, texts=texts), folds=3)
        messages = sorted(str(warning.message) for warning in caught)
        assert len(messages) == 2, messages
        assert messages[0].startswith("1 of 120 texts contain no words, the first is number 0")
        assert "of the tokens" in messages[1]


@pytest.mark.parametrize("grouped", [False, True])
def test_labels_may_be_any_numbers(grouped: bool, corpus: Corpus, vectors: Embeddings) -> None:
    """scikit-learn takes labels such as 0.5 for a regression."""
    names = sorted(set(corpus.labels))
    numbers = [names.index(label) + 0.5 for label in corpus.labels]
    corpus = replace(corpus, groups=list(range(len(numbers))) if grouped else None)
    plain = cross_validate(plain_classifier(embeddings=vectors), corpus, folds=3)
    found = cross_validate(plain_classifier(embeddings=vectors), replace(corpus, labels=numbers), folds=3)
    assert found.fold_scores == plain.fold_scores
    assert [score.f1 for score in found.per_class()] == [score.f1 for score in plain.per_class()]
    assert [score.label for score in found.per_class()] == [place + 0.5 for place in range(len(names))]


def test_models_of_different_parts_are_compared_each_on_what_it_needs(vectors: Embeddings) -> None:
    corpus = random_corpus(60)
    models = {name: TfcrClassifier.from_preset(name, embeddings=vectors) for name in ("fast", "best")}
    found = compare(models, corpus, folds=2)
    alone = cross_validate(models["best"], corpus, folds=2)
    assert found["best"].fold_scores == alone.fold_scores


def test_training_measures_what_it_saves(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors)
    rare = Corpus([*corpus.texts, "w0_1 rare"], [*corpus.labels, "rare"], name="some/where.csv", columns=("text",))
    scores, notes = train_and_measure(model, rare, folds=3)
    assert "rare (1)" in notes[0]
    of_most_frequent = ["macro-F1 of the most frequent class", "accuracy of the most frequent class"]
    assert list(scores) == ["macro-F1, mean of 3 folds", "accuracy", *of_most_frequent]
    assert scores[of_most_frequent[1]] == pytest.approx(1 / 3)
    assert "rare" in model.classes_
    assert model.training_["data"] == "where.csv"
    assert train_and_measure(model, rare, folds=0, min_class_size=2)[0] == {}
    assert "rare" not in model.classes_


def test_a_model_is_scored_on_other_texts(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, corpus.labels)
    result = evaluate(model.model_, corpus)
    assert result.accuracy == model.score(corpus.texts, corpus.labels)
    with pytest.raises(
        InputError, match="found the label 'other', which the model does not know; its classes: class 0"
    ):
        evaluate(model.model_, Corpus(["a"], ["other"]))


def test_labels_of_another_type_are_compared_as_text(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, [label[-1] for label in corpus.labels])
    numbers = Corpus(corpus.texts, [int(label[-1]) for label in corpus.labels])
    assert evaluate(model.model_, numbers).accuracy > 0.9


def test_predictions_for_a_table(corpus: Corpus, vectors: Embeddings) -> None:
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, corpus.labels)
    frame = pl.DataFrame({"a": ["w0_1", None, "w1_1 strange"], "b": ["w0_2", " ", None]})
    seen: list[tuple[int, int]] = []
    found = predict_frame(model.model_, frame, ["a", "b"], progress=lambda done, total: seen.append((done, total)))
    assert found["predicted"].to_list()[:2] == ["class 0", None]
    assert found["unknown_words"].to_list() == [0, None, 0.5]
    assert seen == [(2, 2)]
    expected = model.predict_proba(["w0_1\nw0_2"]).max()
    assert found["probability"][0] == pytest.approx(expected)


def test_comparing_vectors_that_look_alike(corpus: Corpus, vectors: Embeddings) -> None:
    useless = Embeddings.from_arrays(vectors.words, np.ones_like(vectors.vectors))
    assert str(useless) == str(vectors)
    models = {
        name: plain_classifier(embeddings=given, scheme="none")
        for name, given in {"good": vectors, "bad": useless}.items()
    }
    results = compare(models, corpus, folds=3)
    given_some = compare(models, corpus, folds=3, prepared=prepare(models["good"], corpus))
    for name, model in models.items():
        assert results[name].macro_f1 == cross_validate(model, corpus, folds=3).macro_f1
        assert given_some[name].macro_f1 == results[name].macro_f1
    assert results["bad"].macro_f1 < results["good"].macro_f1


def test_comparing_word2vec_of_other_texts(corpus: Corpus) -> None:
    models = {
        name: plain_classifier(embeddings="w2v", dimensions=4, random_state=0, unlabelled=more)
        for name, more in {"alone": None, "more": corpus.texts[::-1] * 5}.items()
    }
    results = compare(models, corpus, folds=3)
    assert results["alone"].probabilities.tolist() != results["more"].probabilities.tolist()


def test_costs_and_precision_may_name_classes_that_a_part_lacks() -> None:
    corpus = random_corpus(120)
    groups = ["all" if label == "class 2" else str(number) for number, label in enumerate(corpus.labels)]
    corpus = replace(corpus, texts=[*corpus.texts, "once"], labels=[*corpus.labels, "lonely"], groups=[*groups, "x"])
    costs = {("lonely", "class 0"): 2.0, ("class 2", "class 0"): 3.0}
    model = TfcrClassifier.from_preset("fast", embeddings=None, parts=("words",), costs=costs)
    train_and_measure(model, corpus, folds=3)  # lonely is in no fold, and class 2 is in one
    assert model.costs == costs
    assert model.model_.decision.costs is not None
    assert model.model_.decision.costs[3, 0] == 2
    careful = TfcrClassifier.from_preset(
        "fast", embeddings=None, parts=("words",), precision={None: 0.1, "class 2": 0.2}
    )
    assert cross_validate(careful, plan_folds(corpus, 3).corpus, folds=3).sure is not None
    old = Corpus(corpus.texts[:120], corpus.labels[:120], times=list(np.argsort(np.argsort(corpus.labels[:120]))))
    compare_on_newest({"model": model.set_params(costs={("class 2", "class 0"): 3.0})}, old, split_by_time(old, 0.3))
    with pytest.raises(InputError, match="unknown class 'typo'"):
        cross_validate(model.set_params(costs={("typo", "class 0"): 3.0}), old, folds=3)


def test_a_part_may_lack_a_class_that_weights_name() -> None:
    whole, part = np.array(["a", "b", "rare"]), np.array(["a", "b"])
    weighted = TfcrClassifier.from_preset("fast", class_weight={"rare": 5.0, "a": 2.0})
    assert validation.for_part(weighted, whole, part).class_weight == {"a": 2.0}
    wrong = validation.for_part(TfcrClassifier.from_preset("fast", class_weight={"nowhere": 5.0}), whole, part)
    with pytest.raises(InputError, match="class_weight for 'nowhere'"):
        wrong.fit(["one two", "three"] * 20, ["a", "b"] * 20)
