from collections import Counter
from pathlib import Path

import pytest

from tests.labelling.conftest import Label, corpus, full_disk
from tfcr.errors import DataError, InputError
from tfcr.labelling import AnswersFile, Pool, Session
from tfcr.labelling.answers import Answer

CLASSES = ["sport", "politics", "weather"]


@pytest.fixture
def session(pool: Pool) -> Session:
    return Session(pool, CLASSES)


def kept(path: Path, pool: Pool, **options: object) -> Session:
    return Session(pool, CLASSES, file=AnswersFile(path, pool), **options)  # type: ignore[arg-type]


# asking --------------------------------------------------------------------------------------------------------------


def test_every_fifth_question_is_drawn_at_random(session: Session, label: Label) -> None:
    label(session, 50, learn=True)
    chosen = [answer.chosen for answer in session.answers.values()]
    assert chosen[4::5] == ["random"] * 10
    assert Counter(chosen) == {"random": 10, "spread": 16, "unsure": 24}


def test_random_questions_do_not_depend_on_answers(session: Session, pool: Pool, label: Label) -> None:
    other = Session(pool, CLASSES)
    label(session, 40, learn=True)
    label(other, 40, lambda number: CLASSES[number % 3], learn=True)
    drawn = [[n for n, answer in one.answers.items() if answer.chosen == "random"] for one in (session, other)]
    assert drawn[0] == drawn[1]
    assert set(session.answers) != set(other.answers)


def test_texts_set_aside_teach_nothing_about_what_to_ask(pool: Pool, truth: list[str], label: Label) -> None:
    """Wrong labels of random texts change no other question."""
    found = []
    for wrong in (False, True):
        session = Session(pool, CLASSES)
        aside = set(session.aside.tolist())
        label(session, 40, lambda n, w=wrong, a=aside: "weather" if w and n in a else truth[n], learn=True)
        found.append([n for n in session.answers if n not in aside])
    assert found[0] == found[1]


def test_a_page_that_asks_again_gets_the_same_text_and_another_page_another(session: Session) -> None:
    first, second = session.ask("one"), session.ask("two")
    assert first is not None
    assert second is not None
    assert session.ask("one") == first
    assert session.ask("two") == second
    assert first.number != second.number
    session.answer(first.number, "sport")
    again = session.ask("one")
    assert again is not None
    assert again.number not in (first.number, second.number)


def test_pages_that_were_closed_do_not_keep_their_texts_forever(session: Session) -> None:
    for page in range(300):
        assert session.ask(f"page {page}") is not None


def test_all_texts_are_asked_for_once(label: Label) -> None:
    texts, truth = corpus(30)
    session = Session(Pool.of([*texts, texts[0]]), CLASSES)
    label(session, 30, lambda number: (truth + truth)[number])
    assert session.ask() is None
    assert session.n_open == 0
    assert len(session.answers) == 30


def test_questions_follow_the_classifier(session: Session, label: Label) -> None:
    label(session, 20)
    assert session.learn()
    plan = [session.ask(str(page)) for page in range(3)]
    assert [question.chosen for question in plan if question] == ["unsure"] * 3


def test_one_class_only_goes_on_spreading(session: Session, label: Label) -> None:
    label(session, 30, lambda _: "sport")
    assert not session.learn()
    question = session.ask()
    assert question is not None
    assert question.chosen == "spread"


# answering -----------------------------------------------------------------------------------------------------------


def test_answers_can_be_undone_one_by_one(session: Session, label: Label) -> None:
    label(session, 3)
    numbers = list(session.answers)
    session.skip(session.ask().number)  # type: ignore[union-attr]
    for number in [*session.answers][::-1]:
        question = session.undo()
        assert question is not None
        assert question.number == number
        assert session.ask() == question
    assert session.undo() is None
    assert session.answers == {}
    assert session.ask().number == numbers[0]  # type: ignore[union-attr]


def test_a_skipped_text_is_not_asked_for_again_and_teaches_nothing(session: Session) -> None:
    question = session.ask()
    assert question is not None
    session.skip(question.number)
    assert session.n_skipped == 1
    assert session.known() == {}
    assert session.ask() != question


def test_the_last_answer_wins_and_can_be_undone(session: Session) -> None:
    number = session.ask().number  # type: ignore[union-attr]
    assert session.answer(number, "sport") is None
    before = session.answer(number, "weather")
    assert before is not None
    assert before.label == "sport"
    session.undo()
    assert session.known() == {number: "sport"}
    with pytest.raises(InputError, match="expected a text without one"):
        session.skip(number)


def test_the_same_answer_twice_counts_once(session: Session) -> None:
    number = session.ask().number  # type: ignore[union-attr]
    session.answer(number, "sport")
    version = session.version
    session.answer(number, "sport")
    assert session.version == version
    session.undo()
    assert session.answers == {}


WRONG = {
    "unknown class 'rain'": "rain",
    "found several labels": ("sport",),
}


@pytest.mark.parametrize("says", WRONG)
def test_wrong_answers_are_refused(says: str, session: Session) -> None:
    with pytest.raises(InputError, match=says):
        session.answer(0, WRONG[says])
    assert session.answers == {}


def test_a_text_that_is_not_there_is_refused(session: Session) -> None:
    for number in (-1, 200):
        with pytest.raises(InputError, match="expected one from 0 to 199"):
            session.answer(number, "sport")
        with pytest.raises(InputError, match="expected one from 0 to 199"):
            session.skip(number)
    with pytest.raises(InputError, match="has no answer"):
        session.keep(0)


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201, "sport", " sport "])
def test_wrong_classes_are_refused(name: str, session: Session) -> None:
    with pytest.raises(InputError, match="expected"):
        session.add_class(name)
    assert session.classes == CLASSES


@pytest.mark.parametrize("classes", [[], ["one"], ["a", "a"]])
def test_sessions_need_two_classes(classes: list[str], pool: Pool) -> None:
    with pytest.raises(InputError, match="expected"):
        Session(pool, classes)


def test_several_labels(pool: Pool, truth: list[str], label: Label, tmp_path: Path) -> None:
    session = kept(tmp_path / "a.jsonl", pool, several=True)
    session.add_class("long")
    label(session, 60, lambda n: tuple({truth[n], "long"} if n % 3 == 0 else {truth[n]} if n % 7 else ()))
    estimate = session.measure()
    assert estimate is not None
    assert estimate.low < estimate.macro_f1 < estimate.high
    for wrong in ("sport", ("sport", "sport"), ("rain",)):
        with pytest.raises(InputError):
            session.answer(0, wrong)
    assert kept(tmp_path / "a.jsonl", pool, several=True).answers == session.answers
    with pytest.raises(InputError, match="give --several"):
        kept(tmp_path / "a.jsonl", pool)
    assert isinstance(session.doubts(), list)


# labels that are there -----------------------------------------------------------------------------------------------


def test_labels_that_are_there_are_used(texts: list[str], truth: list[str], tmp_path: Path) -> None:
    pool = Pool.of(texts, [label if number < 60 else None for number, label in enumerate(truth)])
    session = Session(pool, file=AnswersFile(tmp_path / "a.jsonl", pool))
    assert session.classes == sorted(CLASSES)
    assert (session.n_given, session.n_answers, session.n_open) == (60, 0, len({*texts[60:]} - {*texts[:60]}))
    assert session.learn()
    question = session.ask()
    assert question is not None
    assert question.chosen == "unsure"
    assert question.number >= 60
    assert session.undo() is None
    assert len(AnswersFile(tmp_path / "a.jsonl", pool).read()) == 60


def test_a_given_label_that_was_corrected_stays_corrected(texts: list[str], tmp_path: Path) -> None:
    pool = Pool.of(texts, ["sport", "weather", *[None] * 198])
    session = Session(pool, file=AnswersFile(tmp_path / "a.jsonl", pool))
    session.answer(0, "weather", checked=True)
    again = Session(pool, file=AnswersFile(tmp_path / "a.jsonl", pool))
    assert again.answers[0] == Answer("weather", "given", checked=True)


# the file ------------------------------------------------------------------------------------------------------------


def test_a_session_goes_on_where_it_was(pool: Pool, label: Label, tmp_path: Path) -> None:
    session = label(kept(tmp_path / "a.jsonl", pool), 23)
    session.skip(session.ask().number)  # type: ignore[union-attr]
    session.undo()
    session.answer(session.ask().number, "sport")  # type: ignore[union-attr]
    again = kept(tmp_path / "a.jsonl", pool)
    assert again.answers == session.answers
    assert list(again.answers) == list(session.answers)
    assert again.ask().chosen == "random"  # type: ignore[union-attr]
    assert again.undo().number == list(session.answers)[-1]  # type: ignore[union-attr]
    with pytest.raises(DataError, match="other data"):
        kept(tmp_path / "a.jsonl", Pool.of(["other", "texts"]))


def test_what_cannot_be_saved_is_not_answered(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = kept(tmp_path / "a.jsonl", pool)
    first = session.ask()
    assert first is not None
    session.answer(first.number, "sport")
    second = session.ask()
    assert second is not None
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        for what in (lambda: session.answer(second.number, "sport"), session.undo, lambda: session.skip(second.number)):
            with pytest.raises(OSError, match="No space"):
                what()
    assert session.known() == {first.number: "sport"}
    assert session.ask() == second
    session.answer(second.number, "weather")
    assert kept(tmp_path / "a.jsonl", pool).known() == {first.number: "sport", second.number: "weather"}


# how good ------------------------------------------------------------------------------------------------------------


def test_the_score_is_estimated_from_random_texts_alone(session: Session, label: Label) -> None:
    label(session, 45)
    assert session.measure() is None
    label(session, 55)
    found = session.measure()
    assert found is not None
    assert (found.answers, found.sample) == (100, 20)
    assert 0.5 < found.low < found.macro_f1 < found.high <= 1
    assert session.curve == {100: found}


def test_earlier_scores_are_those_of_earlier_answers(session: Session, label: Label) -> None:
    label(session, 60)
    at_60 = session.measure()
    label(session, 40)
    session.curve.clear()
    assert session.measure(60) == at_60
    session.undo()
    session.measure()
    for _ in range(45):
        session.undo()
    assert session.curve == {}


def test_the_score_does_not_believe_labels_at_random(session: Session, label: Label) -> None:
    label(session, 100, lambda number: CLASSES[number % 3])
    found = session.measure()
    assert found is not None
    assert found.macro_f1 < 0.55


def test_a_sample_ends_at_the_first_open_text(session: Session) -> None:
    first, second, third = session.aside.tolist()[:3]
    session.answer(first, "sport")
    session.answer(third, "sport")
    assert session.sample(session.known()) == [first]
    session.skip(second)
    assert session.sample(session.known()) == [first, third]


# looking again -------------------------------------------------------------------------------------------------------


def test_likely_mistakes_are_found_and_kept_or_changed(session: Session, truth: list[str], label: Label) -> None:
    label(session, 120)
    wrong = [n for n in session.answers if truth[n] == "politics"][:3]
    for number in wrong:
        session.answer(number, "sport")
    found = session.doubts()
    assert {doubt.number for doubt in found[:3]} == set(wrong)
    assert all(doubt.fixed == doubt.likelier == "politics" and doubt.odds >= 9 for doubt in found[:3])
    session.answer(wrong[0], "politics", checked=True)
    session.keep(wrong[1])
    assert not {wrong[0], wrong[1]} & {doubt.number for doubt in session.doubts()}
    assert session.answers[wrong[1]].label == "sport"
