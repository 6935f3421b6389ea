"""The experiments: protocol, profiles, the runner that may be killed, and what it does with bad input."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from tests.cli.runner import Result, Run, environment, run
from tests.conftest import random_corpus, random_vectors
from tfcr import TfcrClassifier
from tfcr.data import read_corpus
from tfcr.embeddings import Embeddings
from tfcr.errors import InputError, ResultsError, TfcrError
from tfcr.evaluation import cross_validate
from tfcr.experiment import (
    PAPER_SCHEMES,
    PROFILES,
    DatasetChoice,
    Request,
    Results,
    VectorsChoice,
    Word2Vec,
    open_results,
    run_experiment,
)
from tfcr.experiment.plan.cells import corpus_plans, plan_cells
from tfcr.experiment.plan.folds import cut_folds, sample_documents, training_part
from tfcr.experiment.plan.gridfile import read_grid
from tfcr.experiment.plan.grids import ask
from tfcr.experiment.plan.own_schemes import own_scheme
from tfcr.experiment.plan.parsing import parse_folds, parse_sizes
from tfcr.experiment.plan.request import with_own_schemes
from tfcr.experiment.results.published import PAPER_TABLES, paper_datasets, published_scores
from tfcr.experiment.results.scoring import confusion_of, macro_f1
from tfcr.experiment.results.statistics import across_datasets, best_against_others, corrected_resampled_t, holm
from tfcr.experiment.run.corpora import prepare_corpus
from tfcr.experiment.run.processes import Pool, TaskError, open_pool
from tfcr.experiment.run.runner import Standing, Teller
from tfcr.experiment.run.vectors import IdentifyVectors
from tfcr.schemes import SCHEMES
from tfcr.system.hardware import memory_limit

assert run  # the fixture


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("experiment") / "small.csv"
    corpus = random_corpus(150)
    # the paper's tokenizer deletes the underscore
    texts = [f"{text.replace('_', 'x')} see http://x.org/{number % 7}" for number, text in enumerate(corpus.texts)]
    rows = [f"{text},{label}" for text, label in zip(texts, corpus.labels, strict=True)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", "utf-8")
    small_vectors(0).save(path.with_name("vectors.vec"))
    return path


def small_vectors(seed: int) -> Embeddings:
    vectors = random_vectors(random_corpus(150), seed=seed)
    return Embeddings.from_arrays([word.replace("_", "x") for word in vectors.words], vectors.vectors)


@pytest.fixture
def request_(data: Path) -> Request:
    return Request(
        datasets=(DatasetChoice("small", str(data)),),
        embeddings=(VectorsChoice("file", str(data.with_name("vectors.vec"))),),
        folds=5,
        first_folds=2,
    )


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return open_results(tmp_path / "r.sqlite", make=True)


def stored(path: Path) -> dict[tuple[str, int], tuple[float, str]]:
    """Return score and confusion of each fold of each cell."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT cell, fold, macro_f1, confusion FROM folds").fetchall()
    connection.close()
    assert len(rows) == len({row[:2] for row in rows})
    return {(cell, fold): (score, confusion) for cell, fold, score, confusion in rows}


# the paper's figures and the protocol ------------------------------------------------------------------------------


def test_all_480_published_scores_are_there() -> None:
    scores = published_scores()
    assert len(scores) == 480
    assert len(paper_datasets()) == 16
    assert scores["w2v", "lr", "20ng", "tfcr"] == 0.896
    assert scores["wglove", "lr", "yahoo", "tfcr"] == 0.682
    groups = {(embedding, head) for embedding, head, _, _ in scores}
    assert groups == {group for table in PAPER_TABLES.values() for group in table.groups}
    assert {scheme for _, _, _, scheme in scores} == set(PAPER_SCHEMES)


@given(st.integers(2, 500), st.integers(0, 5), st.integers(0, 9), st.data())
def test_training_parts_contain_the_smaller_ones(n: int, seed: int, fold: int, drawn: st.DataObject) -> None:
    train = np.flatnonzero(np.random.default_rng(seed).random(n * 2) < 0.7)
    sizes = sorted(drawn.draw(st.lists(st.integers(1, max(1, len(train))), min_size=2, max_size=5)))
    parts = [training_part(train, size, seed, fold) for size in sizes]
    for smaller, larger in pairwise(parts):
        assert set(smaller) <= set(larger) <= set(train)
    assert [len(part) for part in parts] == [min(size, len(train)) for size in sizes]
    np.testing.assert_array_equal(training_part(train, sizes[0], seed, fold), parts[0])
    np.testing.assert_array_equal(training_part(train, None, seed, fold), train)


def test_samples_and_folds_are_seeded() -> None:
    np.testing.assert_array_equal(sample_documents(5, 10, 0), np.arange(5))
    sample = sample_documents(1000, 100, 3)
    assert len(set(sample.tolist())) == 100
    np.testing.assert_array_equal(sample, sample_documents(1000, 100, 3))
    assert (sample != sample_documents(1000, 100, 4)).any()
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    folds = cut_folds(labels, None, 10, 0)
    assert sorted(place for fold in folds for place in fold.test) == list(range(100))
    assert all(Counter(labels[fold.test].tolist()) == {0: 5, 1: 3, 2: 2} for fold in folds)


def test_sizes_and_folds_as_people_write_them() -> None:
    assert parse_sizes("1000:10000:1000,15000:90000:5000,all")[8:12] == (9000, 10_000, 15_000, 20_000)
    assert parse_sizes("all") == (None,)
    assert parse_folds("10") == (10, None)
    for bad in ("0", "1:2", "ten", "-5", "1:5:0x"):
        with pytest.raises(InputError, match="expected"):
            parse_sizes(bad)


@given(st.integers(2, 5), st.integers(0, 99))
def test_scores_are_scikit_learns(n_classes: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    true, predicted = draw.integers(0, n_classes, 40), draw.integers(0, n_classes, 40)
    ours = macro_f1(confusion_of(true, predicted, n_classes), [f"class {number}" for number in range(n_classes)])
    assert ours == pytest.approx(f1_score(true, predicted, labels=np.unique(true), average="macro", zero_division=0))


def test_a_class_named_0_is_left_out_as_in_the_program() -> None:
    true, predicted = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 0])
    expected = f1_score(true, predicted, labels=[1, 2], average="macro")
    assert macro_f1(confusion_of(true, predicted, 3), ["0", "1", "2"], "0") == pytest.approx(expected)


# statistics --------------------------------------------------------------------------------------------------------


def test_the_corrected_t_test() -> None:
    draw = np.random.default_rng(0)
    one, two = draw.random(10).tolist(), draw.random(10).tolist()
    plain = stats.ttest_rel(one, two)
    assert corrected_resampled_t(one, two, 0.0) == pytest.approx((plain.statistic, plain.pvalue))
    # worked by hand: differences 1, 2, 3; t = 2 / sqrt((1/3 + 1/9) · 1) = 3, 2 degrees of freedom
    t, p = corrected_resampled_t([2, 3, 4], [1, 1, 1], 1 / 9)
    assert (t, p) == pytest.approx((3, 2 * stats.t.sf(3, 2)))
    assert corrected_resampled_t([1, 2], [1, 2], 0.1) == (0.0, 1.0)
    assert corrected_resampled_t([2, 3], [1, 2], 0.1) == (np.inf, 0.0)


def test_holms_correction() -> None:
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_tests_across_datasets_are_scipys() -> None:
    draw = np.random.default_rng(1)
    scores = {name: draw.random(8).tolist() for name in ("none", "kld", "tfcr")}
    friedman, *pairs = across_datasets(scores, "tfcr")
    assert friedman.p == pytest.approx(stats.friedmanchisquare(*scores.values()).pvalue)
    expected = [float(stats.wilcoxon(scores["tfcr"], scores[name]).pvalue) for name in ("none", "kld")]
    assert [pair.p for pair in pairs] == pytest.approx(expected)
    assert [pair.p_holm for pair in pairs] == pytest.approx(holm(expected))
    same = across_datasets({"a": [0.5] * 6, "b": [0.5] * 6, "c": [0.5] * 6}, "a")
    assert [test.p for test in same] == [1.0, 1.0]
    within = best_against_others({"a": [0.9, 0.8], "b": [0.7, 0.7]}, "a", 1 / 9, "20ng")
    assert within[0].compared == "20ng: a against b"


# profiles ----------------------------------------------------------------------------------------------------------


def test_equations_are_the_librarys_classifier(request_: Request, results: Results, data: Path) -> None:
    run_experiment(replace(request_, first_folds=None), results)
    corpus = read_corpus(data)
    for cell in results.cells():
        model = TfcrClassifier(
            embeddings=str(data.with_name("vectors.vec")),
            scheme=cell.cell.scheme,
            head=cell.cell.head,
            tokenizer="paper",
            random_state=0,
        )
        expected = cross_validate(model, corpus, folds=5, seed=0)
        assert [fold.macro_f1 for fold in cell.folds] == pytest.approx(expected.fold_scores, abs=1e-9), cell.cell


def author_features(
    texts: list[str], weights: dict[str, dict[str, float]] | None, classes: list[str], vectors: dict[str, np.ndarray]
) -> np.ndarray:
    """Write out, word by word, what the author's program does."""
    rows = []
    for text in texts:
        blocks = []
        for label in classes if weights is not None else ["all"]:
            total, mass = np.zeros(8), 0.0
            for word in paper_tokens(text):
                weight = float(word in vectors) if weights is None else weights.get(word, {}).get(label, 0.0)
                mass += weight
                total += weight * vectors.get(word, np.zeros(8))
            blocks.append(total / mass if mass > 0 else total)
        rows.append(np.concatenate(blocks))
    return np.array(rows)


def paper_tokens(text: str) -> list[str]:
    return "".join(c for c in text.lower() if (c.isalnum() or c.isspace())).split()


def author_weights(scheme: str, texts: list[str], labels: list[str]) -> dict[str, dict[str, float]] | None:
    if scheme == "none":
        return None
    documents = Counter(labels)
    df: dict[str, Counter[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        for word in set(paper_tokens(" ".join(part for part in text.split() if "://" not in part))):
            df.setdefault(word, Counter())[label] += 1
    all_df = sum(sum(counts.values()) for counts in df.values())

    def weight(word: str, label: str) -> float:
        n, of_word = df[word][label], sum(df[word].values())
        p, q = n / documents[label], of_word / len(labels)
        of_class = sum(counts[label] for counts in df.values())
        rest = (of_word - n) / (all_df - of_class) or 1 / all_df
        return float(
            {
                "tfidf": np.log(documents[label]) / n * np.log(n + 1),
                "kld": max(p * np.log(p / q), 0),
                "tftrr": (np.log(n) + 1) * np.log(n / of_class / rest + 1.2),
                "tfcr": n / of_word * np.log(n + 1),
            }[scheme]
        )

    return {word: {label: weight(word, label) for label in counts} for word, counts in df.items()}


def liblinear_predicts(head: str, train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Predict as the author's program does; scikit-learn's liblinear takes one class against the rest only, by now."""
    if head == "svm":
        model = LinearSVC(class_weight="balanced", dual=False, tol=1e-8, max_iter=10_000).fit(train, labels)
        return np.asarray(model.predict(test))
    classes = np.unique(labels)
    scores = []
    for label in classes:
        own = labels == label
        balance = {True: len(labels) / (len(classes) * own.sum()), False: 1.0}
        one = LogisticRegression(solver="liblinear", class_weight=balance, tol=1e-8, max_iter=10_000).fit(train, own)
        scores.append(one.decision_function(test))
    return np.asarray(classes[np.argmax(scores, axis=0)])


@pytest.mark.parametrize("head", ["svm", "lr"])
@pytest.mark.parametrize("scheme", PAPER_SCHEMES)
def test_published_is_the_authors_program(
    scheme: str, head: str, request_: Request, results: Results, data: Path
) -> None:
    run_experiment(replace(request_, profiles=("published",), schemes=(scheme,), heads=(head,)), results)
    corpus = read_corpus(data)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    classes = sorted(set(labels.tolist()))
    loaded = Embeddings.load(data.with_name("vectors.vec"))
    vectors = {word: np.asarray(loaded[word], np.float64) for word in loaded.words}
    [cell] = results.cells()
    for fold, (train, test) in zip(cell.folds, cut_folds(labels, None, 5, 0), strict=False):
        weights = author_weights(scheme, texts[train].tolist(), labels[train].tolist())
        seen, unseen = (author_features(texts[part].tolist(), weights, classes, vectors) for part in (train, test))
        predicted = liblinear_predicts(head, seen, labels[train], unseen)
        assert fold.macro_f1 == pytest.approx(f1_score(labels[test], predicted, average="macro"), abs=1e-9)


@pytest.mark.parametrize("profile", PROFILES)
def test_features_that_do_not_fit_are_not_held(profile: str, request_: Request, results: Results) -> None:
    from tfcr.experiment.run.trial import RunFold
    from tfcr.experiment.run.vectors import IdentifyVectors

    asked = replace(request_, profiles=(profile,), heads=("svm", "lr", "ridge"))
    run_experiment(asked, results)
    corpora = {plan: prepare_corpus(plan) for plan in corpus_plans(asked).values()}
    [facts] = IdentifyVectors(asked.embeddings[0].source).work()
    planned = tuple(plan_cells(asked, corpora, {asked.embeddings[0].source: facts}))
    expected = {(cell.cell.key, fold.fold): fold.confusion for cell in results.cells() for fold in cell.folds}
    for result in RunFold(planned, 1, max_memory=1000).work():
        differing = np.abs(result.confusion - expected[result.cell, 1]).sum()
        assert differing <= 2, result.cell  # the last digits differ, and one document may stand on the edge


def test_profiles_name_rows_that_exist() -> None:
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert set(profile.schemes) == set(PAPER_SCHEMES)
        assert set(profile.schemes.values()) <= set(SCHEMES)
        assert all(profile.paper_name(profile.scheme(scheme)) == scheme for scheme in PAPER_SCHEMES)


# the runner --------------------------------------------------------------------------------------------------------


def test_a_cell_is_never_run_twice(request_: Request, results: Results) -> None:
    first = run_experiment(request_, results)
    assert (first.cells, first.folds_before, first.folds_run) == (10, 0, 20)
    before = stored(results.path)
    again = run_experiment(request_, results)
    assert (again.cells, again.folds_before, again.folds_run) == (10, 20, 0)
    more = run_experiment(replace(request_, first_folds=3, schemes=("tfcr", "tfcr-log")), results)
    assert (more.folds_before, more.folds_run) == (4, 2 + 6)
    assert before.items() <= stored(results.path).items()
    renamed = DatasetChoice("other", request_.datasets[0].source)
    assert run_experiment(replace(request_, datasets=(renamed,)), results).folds_run == 0
    assert {cell.cell.dataset for cell in results.cells()} == {"other", "small"}


def test_other_data_vectors_and_seeds_are_other_cells(request_: Request, results: Results, tmp_path: Path) -> None:
    small = replace(request_, schemes=("none",), heads=("lr",), first_folds=1)
    run_experiment(small, results)
    changed = tmp_path / "changed.csv"
    changed.write_text(Path(small.datasets[0].source).read_text().replace("common1", "common2", 1))
    small_vectors(5).save(tmp_path / "v.vec")
    for other in (
        replace(small, datasets=(DatasetChoice("small", str(changed)),)),
        replace(small, embeddings=(VectorsChoice("file", str(tmp_path / "v.vec")),)),
        replace(small, seeds=(1,)),
        replace(small, folds=4),
        replace(small, sample=100),
        replace(small, profiles=("published",)),
        replace(small, sizes=(50,)),
    ):
        assert run_experiment(other, results).folds_run == 1, other


def test_sizes_that_are_too_large_are_left_out_with_a_note(request_: Request, results: Results) -> None:
    notes: list[str] = []
    asked = replace(request_, sizes=(30, 60, 120, 500, None), schemes=("tfcr",), heads=("lr",))
    run_experiment(asked, results, teller=Teller(notes.append))
    assert [cell.cell.size for cell in results.cells()] == [30, 60, None]
    assert "small has 120 documents to train on: 1 larger training sizes (500 to 500) are left out" in notes
    assert [cell.folds[0].train_documents for cell in results.cells()] == [30, 60, 120]


def test_in_domain_vectors_and_what_they_saw(request_: Request, results: Results) -> None:
    in_domain = replace(
        request_,
        embeddings=(VectorsChoice("w2v", "w2v"),),
        schemes=("tfcr",),
        heads=("lr",),
        word2vec=Word2Vec(dimensions=4, epochs=1),
    )
    notes: list[str] = []
    run_experiment(in_domain, results, teller=Teller(notes.append))
    assert any("on the whole dataset's text without labels" in note for note in notes)
    apart = replace(in_domain, word2vec=Word2Vec(dimensions=4, epochs=1, trained_on="train"))
    notes.clear()
    run_experiment(apart, results, teller=Teller(notes.append))
    assert any("on the text of each training part alone" in note for note in notes)
    whole, part = results.cells()
    assert whole.cell.key != part.cell.key
    assert whole.folds[0].coverage_words >= part.folds[0].coverage_words


def test_small_parts_may_lack_classes(request_: Request, results: Results) -> None:
    run_experiment(replace(request_, sizes=(1, 3), schemes=("tfcr",)), results)
    assert all(0 <= fold.macro_f1 < 1 for cell in results.cells() for fold in cell.folds)


def test_processes_give_the_same_results(request_: Request, results: Results, tmp_path: Path) -> None:
    run_experiment(request_, results)
    other = open_results(tmp_path / "other.sqlite", make=True)
    seen: list[tuple[int, int]] = []
    teller = Teller(standing=lambda standing: seen.append((standing.done, standing.total)))
    run_experiment(request_, other, processes=2, command="tfcr experiment run …", teller=teller)
    assert stored(tmp_path / "other.sqlite") == stored(results.path)
    assert seen[-1] == (20, 20)
    assert [run.command for run in other.runs()] == ["tfcr experiment run …"]
    other.close()


class Dies:
    def work(self) -> list[int]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []


def wait_for(pool: Pool) -> None:
    while pool.busy():
        pool.events()


def test_a_process_that_dies_is_told() -> None:
    with open_pool(2, 2) as pool:
        assert pool.memory * 2 <= memory_limit()
        pool.give(Dies())  # type: ignore[arg-type]
        with pytest.raises(TaskError, match="killed by signal 9, perhaps for want of memory; what was finished"):
            wait_for(pool)


# killed and resumed ------------------------------------------------------------------------------------------------


def command(data: Path, results: Path, *more: object) -> list[str]:
    grid = ["--datasets", f"small={data}", "--embeddings", f"file={data.with_name('vectors.vec')}", "--folds", "3/5"]
    arguments = [*grid, "--results", results, *more]
    return [sys.executable, "-m", "tfcr.cli", "experiment", "run", *map(str, arguments)]


def folds_in(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            count = int(connection.execute("SELECT count(*) FROM folds").fetchone()[0])
        connection.close()
    except sqlite3.OperationalError:  # not there yet
        return 0
    return count


def kill_and_resume(data: Path, folder: Path, kills: int, processes: int) -> None:
    """Kill a run at random moments, resume it, and compare it with an undisturbed one."""
    undisturbed, killed = folder / "undisturbed.sqlite", folder / "killed.sqlite"
    subprocess.run(
        command(data, undisturbed, "--processes", processes), check=True, capture_output=True, env=environment()
    )
    draw = random.Random(kills)
    for _ in range(kills):
        process = subprocess.Popen(
            command(data, killed, "--processes", processes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        wanted = folds_in(killed) + draw.randint(0, 30 // kills)
        while process.poll() is None and folds_in(killed) < wanted:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.03))
        process.kill()
        process.wait()
    finished = subprocess.run(
        command(data, killed, "--processes", processes, "--json"), check=True, capture_output=True, env=environment()
    )
    outcome = json.loads(finished.stdout)
    assert outcome["folds_before"] + outcome["folds_run"] == 30
    assert outcome["folds_before"] > 0
    assert stored(killed) == stored(undisturbed)
    with sqlite3.connect(killed) as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        assert connection.execute("SELECT count(*), sum(done) FROM results").fetchone() == (10, 30)
    connection.close()


def test_a_killed_run_continues_where_it_stopped(data: Path, tmp_path: Path) -> None:
    kill_and_resume(data, tmp_path, kills=3, processes=1)


@pytest.mark.slow
def test_many_kills(data: Path, tmp_path: Path) -> None:
    kill_and_resume(data, tmp_path, kills=15, processes=2)


def test_two_runs_at_once(data: Path, tmp_path: Path, request_: Request) -> None:
    target = tmp_path / "both.sqlite"
    calls = [command(data, target, "--processes", 1, "--json") for _ in range(2)]
    both = [subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) for call in calls]
    outputs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    outcomes = [json.loads(out) for out, _ in outputs]
    alone = open_results(tmp_path / "alone.sqlite", make=True)
    run_experiment(replace(request_, first_folds=3), alone)
    assert stored(target) == stored(tmp_path / "alone.sqlite")
    # each fold was run by one of the two
    assert sum(outcome["folds_run"] for outcome in outcomes) == 30
    alone.close()


def test_a_claim_holds_while_its_run_lives(results: Results, request_: Request, tmp_path: Path) -> None:
    with results.running("one") as one:
        assert one.claim([("cell", 0), ("cell", 1)]) == [("cell", 0), ("cell", 1)]
        other = open_results(results.path)
        with other.running("two") as two:
            assert two.claim([("cell", 1), ("cell", 2)]) == [("cell", 2)]
            assert other.under_way() == 3
            with sqlite3.connect(results.path) as connection:  # its process is gone
                connection.execute("UPDATE runs SET pid = 4194399 WHERE id = ?", (one.id,))
            connection.close()
            assert two.claim([("cell", 1)]) == [("cell", 1)]
        other.close()


def test_a_run_does_not_take_itself_for_dead(results: Results) -> None:
    with results.running("asleep") as asleep:
        asleep.claim([("cell", 0)])
        with sqlite3.connect(results.path) as connection:  # the machine slept, and there was no beat since
            connection.execute("UPDATE runs SET seen = 0")
        connection.close()
        assert asleep.claim([("cell", 0)]) == []


def test_what_a_killed_run_had_claimed_of_a_group_is_run(request_: Request, results: Results) -> None:
    small = replace(request_, schemes=("none", "tfcr"), heads=("lr",), first_folds=1)
    plans = {plan: prepare_corpus(plan) for plan in corpus_plans(small).values()}
    file = next(IdentifyVectors(small.embeddings[0].source).work())
    [first, _] = plan_cells(small, plans, {small.embeddings[0].source: file})
    other = open_results(results.path)
    with other.running("another") as another:
        another.claim([(first.cell.key, 0)])

        def kill_it(standing: Standing) -> None:
            if standing.done == 1:
                with sqlite3.connect(results.path) as connection:
                    connection.execute("UPDATE runs SET pid = 4194399 WHERE id = ?", (another.id,))
                connection.close()

        assert run_experiment(small, results, teller=Teller(standing=kill_it)).folds_run == 2
    other.close()


# files of results that are not right -------------------------------------------------------------------------------


def test_files_of_results_that_are_refused(tmp_path: Path) -> None:
    open_results(tmp_path / "new.sqlite", make=True).close()
    with sqlite3.connect(tmp_path / "new.sqlite") as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    (tmp_path / "text.sqlite").write_text(
        "no database at all, but long enough to have a header of a hundred bytes " * 3
    )
    for name, message in {
        "new.sqlite": "holds results of version 9, and this tfcr knows version 2",
        "other.sqlite": "is no file of tfcr's results",
        "text.sqlite": "file is not a database",
        "none.sqlite": "does not exist; expected a file of results",
        ".": "cannot be a file of results",
    }.items():
        with pytest.raises(ResultsError, match=message):
            open_results(tmp_path / name)
    for name in ("new.sqlite", "other.sqlite", "text.sqlite", "no/where.sqlite"):
        with pytest.raises(ResultsError):
            open_results(tmp_path / name, make=True)


def test_a_damaged_file_of_results(request_: Request, results: Results, run: Run) -> None:
    run_experiment(request_, results)
    results.close()
    content = bytearray(results.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    results.path.write_bytes(content)
    for command in ("table", "status", "report"):
        assert_refused(run("experiment", command, "--results", results.path), "r.sqlite cannot be read: .*malformed")


def test_a_full_disk_loses_nothing(request_: Request, results: Results) -> None:
    run_experiment(replace(request_, schemes=("tfcr",)), results)
    before = stored(results.path)
    pages = results._connection.execute("PRAGMA page_count").fetchone()[0]
    results._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ResultsError, match="cannot write to .*database or disk is full; what was finished is kept"):
        run_experiment(replace(request_, folds=4, first_folds=None), results)
    results._connection.execute("PRAGMA max_page_count = 1000000")
    assert before.items() <= stored(results.path).items()
    run_experiment(request_, results)


def test_a_damaged_cache_is_made_again(request_: Request, results: Results, tmp_path: Path) -> None:
    from tfcr.system.files import cache_folder

    run_experiment(replace(request_, schemes=("tfcr",)), results)
    for file in cache_folder("experiments").rglob("*.raw"):
        file.write_bytes(file.read_bytes()[:-10])
    other = open_results(tmp_path / "other.sqlite", make=True)
    # memory-mapped files are not looked at again by a process that has them open
    from tfcr.experiment.run.corpora import open_corpus
    from tfcr.experiment.run.vectors import _open_aligned

    open_corpus.cache_clear()
    _open_aligned.cache_clear()
    run_experiment(replace(request_, schemes=("tfcr",)), other)
    assert stored(tmp_path / "other.sqlite") == stored(results.path)
    other.close()


# a user's own experiment -------------------------------------------------------------------------------------------

OWN = """
import numpy as np
from tfcr import SCHEMES


def square_root(counts):
    return np.sqrt(SCHEMES["tfcr"](counts))
"""


def test_a_scheme_of_ones_own_is_known_by_its_source(request_: Request, results: Results, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    small = replace(request_, schemes=("tfcr",), heads=("lr",), first_folds=1)
    asked = with_own_schemes(small, [own_scheme(f"{file}:square_root")])
    assert run_experiment(asked, results).folds_run == 2
    assert run_experiment(asked, results).folds_run == 0
    file.write_text(OWN.replace("np.sqrt", "np.cbrt"))
    with pytest.raises(TfcrError, match=r"mine\.py has changed since the run began; type the same command again"):
        run_experiment(replace(asked, first_folds=2), results)
    changed = with_own_schemes(small, [own_scheme(f"{file}:square_root")])
    assert run_experiment(changed, results).folds_run == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine.py", "expected FILE.py:FUNCTION or MODULE:FUNCTION"),
        ("no.py:f", "no.py does not exist"),
        ("no_such_module:f", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("json:no_such_name", "json has no 'no_such_name'"),
        ("json:__name__", "which is no function"),
    ],
)
def test_code_that_is_none(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        own_scheme(text)


def test_a_small_toml_file(data: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(data.read_bytes())
    file = tmp_path / "my.toml"
    file.write_text(
        """
        [experiment]
        schemes = ["none", "tfcr"]
        heads = ["lr"]
        profile = ["equations", "published"]
        folds = "2/5"
        sizes = [50, "all"]
        seeds = [0, 1]
        sample = 1000
        word2vec = { dimensions = 8, epochs = 1 }

        [datasets.own]
        path = "own.csv"
        text = ["text"]
        label = "label"
        tokenizer = "words"

        [datasets.pydocs]

        [embeddings.w2v]

        [embeddings.mine]
        path = "v.vec"
        """
    )
    asked = ask(file=read_grid(file), given={"heads": ("svm",)}).request
    assert [dataset.source for dataset in asked.datasets] == [str(tmp_path / "own.csv"), "pydocs"]
    assert asked.datasets[0].options.text == ("text",)
    assert [choice.source for choice in asked.embeddings] == ["w2v", str(tmp_path / "v.vec")]
    assert (asked.schemes, asked.heads, asked.profiles) == (("none", "tfcr"), ("svm",), ("equations", "published"))
    assert (asked.folds, asked.first_folds, asked.sizes, asked.seeds) == (5, 2, (50, None), (0, 1))
    assert asked.word2vec == Word2Vec(dimensions=8, epochs=1)
    asked.check()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[experiment", "is no TOML"),
        ("[datasts.x]\npath = 'x.csv'", "unknown section in my.toml: 'datasts'; known: experiment, datasets"),
        ("[experiment]\nscheme_from = 'evil.py:f'", "unknown key in .experiment. of my.toml: 'scheme_from'"),
        ("[experiment]\nfolds = 'ten'", "found 'ten' for folds"),
        ("[datasets.x]\npth = 'x.csv'", "unknown key in .datasets.x.: 'pth'"),
        ("[datasets]\nx = 'x.csv'", "expected a section with path"),
        ("[embeddings.x]\nfile = 'x.csv'", "unknown key in .embeddings.x.: 'file'"),
        ("[datasets.pydocs]\n[experiment]\nschemes = ['mine']", "given as code: --scheme-from FILE.py:mine"),
        ("[datasets.pydocs]\n[experiment]\nheads = ['forest']", "unknown head 'forest'"),
        ("[datasets.pydocs]\n[experiment]\nprofile = 'printed'", "unknown profile 'printed'"),
        ("[datasets.pydocs]\n[experiment]\nfolds = 1", "found 1 folds"),
        ("[datasets.pydocs]\n[experiment]\nsample = 5", "found a sample of 5 for 10 folds"),
        ("[datasets.pydocs]\n[experiment]\nseeds = [-1]", "found the seed -1"),
        ("[datasets.pydocs]\ntokenizer = 'letters'", "unknown tokenizer 'letters'"),
        ("[experiment]\nheads = 'lr'", "found nothing to run"),
        ("[experiment]\nword2vec = { epochs = 'ten' }", "found epochs = 'ten' in .* expected a value of type int"),
        ("[datasets.x]\npath = 'x.csv'\nquoting = 'none'", "expected a value of type bool"),
    ],
)
def test_toml_files_that_are_refused(content: str, message: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(content)
    (tmp_path / "evil.py").write_text("raise SystemExit('loaded')")
    result = run("experiment", "run", file, "--results", tmp_path / "r.sqlite")
    assert_refused(result, message)
    assert not (tmp_path / "r.sqlite").exists()


def assert_refused(result: Result, message: str) -> None:
    import re

    assert result.status == 2, result
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.err
    assert re.search(message, lines[0]), lines[0]
    assert result.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "found nothing to run; give --table 1"),
        (["run", "--table", "3"], "unknown table '3'; known: 1, 2"),
        (["run", "no.toml"], "no.toml does not exist"),
        (["run", "--datasets", "pydocs", "--sizes", "many"], "found 'many' for training size"),
        (["run", "--datasets", "pydocs", "--folds", "11/10"], "found 11 of 10 folds"),
        (["run", "--datasets", "pydocs", "--w2v-from", "test"], "unknown text for --w2v-from 'test'"),
        (["run", "--datasets", "pydocs,pydocs=pydocs"], "found 'pydocs' twice among the datasets"),
        (["run", "--datasets", "no.csv"], "no.csv does not exist"),
        (["run", "--datasets", "three.csv"], "Give --label NAME.*in an experiment, by text"),
        (["run", "--datasets", "pydocs", "--sample", "99", "--embeddings", "no.vec"], "no.vec does not exist"),
        (["run", "--datasets", "pydocs", "--scheme-from", "x"], "expected FILE.py:FUNCTION"),
        (["run", "--datasets", "pydocs", "--processes", "0"], "'--processes'"),
        (["table", "--results", "none.sqlite"], "does not exist; expected a file of results"),
        (["table", "--format", "word"], "unknown format 'word'; known: text, markdown, latex, csv, json"),
        (["curve", "-o", "x.doc"], "unknown format of a picture 'doc'; known: png, svg, pdf"),
        (["report", "--results", "none.sqlite"], "does not exist"),
        (["status", "--results", "none.sqlite"], "does not exist"),
    ],
)
def test_commands_that_are_refused(
    arguments: list[str], message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    (tmp_path / "three.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    assert_refused(run("experiment", *arguments), message)


def test_the_papers_grids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    with pytest.raises(TfcrError, match="found none of the paper's datasets on this machine"):
        ask(table="1")
    given = {"datasets": (DatasetChoice("pydocs", "pydocs"),)}
    first = ask(table="1", given=given).request
    assert ([choice.name for choice in first.embeddings], first.heads) == (["w2v"], ("svm", "lr"))
    with pytest.raises(TfcrError, match="found none of gw2v, tw2v, cglove, wglove on this machine"):
        ask(table="2", given=given)
    curve = ask(curve=True, given=given).request
    assert (curve.sizes[0], curve.sizes[-2:], len(curve.sizes)) == (1000, (90_000, None), 91)
    assert curve.heads == ("lr",)
