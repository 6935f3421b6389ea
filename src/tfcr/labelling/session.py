"""A session of labelling: it asks, takes answers, learns, and says how good the answers are.

A session may be used by several threads: one that learns, and those that answer requests.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from tfcr.errors import InputError, unknown_name
from tfcr.evaluation.diagnosis import likely_label_errors
from tfcr.labelling.answers import Answer, AnswersFile
from tfcr.labelling.choosing import (
    GIVEN,
    LOOKED_THROUGH,
    RANDOM,
    RANDOM_EVERY,
    SPREAD,
    START,
    UNSURE,
    Numbers,
    spread_texts,
    unsure_texts,
)
from tfcr.labelling.estimate import FOLDS, LEAST_SAMPLE, Estimate, Evidence, estimate_macro_f1, gather_evidence
from tfcr.labelling.learner import assigned_to, scores_of, surenesses, train
from tfcr.labelling.pool import Pool
from tfcr.trained.model import TrainedModel

PLANNED = 20
"""Texts that are chosen ahead; a newer classifier chooses others."""
MOST_ASKERS = 50
"""Pages that may have a question open at the same time; the oldest ones lose theirs."""
MOST_CLASSES = 1_000
LONGEST_CLASS = 200
MOST_DOUBTS = 20


@dataclass(frozen=True)
class Question:
    """A text to label: its position in the pool, and how it was chosen."""

    number: int
    text: str
    chosen: str


@dataclass(frozen=True)
class Doubt:
    """An answer that is probably a mistake.

    Attributes
    ----------
    number, text, label
        The text and the label that it has.
    likelier, odds
        What is `odds` times as likely, in words.
    fixed
        The label that it would then have.
    """

    number: int
    text: str
    label: Any
    likelier: str
    odds: float
    fixed: Any


class _Change(NamedTuple):
    """What can be undone: the answer of a text before, None if it had none."""

    number: int
    before: Answer | None


class Session:
    """Asks for labels, and keeps them.

    Parameters
    ----------
    pool
        The texts.
    classes
        The classes to begin with; those of labels that are there are added.
    several
        Whether a text may have several labels, or none.
    file
        Where answers are kept; None: nowhere, as in a simulation.
    seed
        What draws.

    Attributes
    ----------
    classes
        All classes, in the order in which they are shown.
    answers
        From the position of a text to its answer, those that were given with the texts first.
    curve
        The estimates so far, by the number of answers.
    """

    def __init__(
        self,
        pool: Pool,
        classes: Sequence[str] = (),
        *,
        several: bool = False,
        file: AnswersFile | None = None,
        seed: int = 0,
    ) -> None:
        self.pool = pool
        self.several = several
        self.file = file
        self.lock = RLock()
        self.random = np.random.default_rng(seed)
        drawn = np.random.default_rng([seed, len(pool)]).permutation(pool.firsts)
        self.aside: Numbers = drawn[: -(-len(drawn) // RANDOM_EVERY)]
        self._is_aside = set(self.aside.tolist())
        self._rest: Numbers = np.sort(drawn[len(self.aside) :])
        given = {n: Answer(label, GIVEN) for n, label in enumerate(pool.labels) if label is not None}
        stored = {} if file is None else file.read()
        self.answers: dict[int, Answer] = {**{n: stored.get(n, answer) for n, answer in given.items()}, **stored}
        self.classes: list[str] = []
        for name in classes:
            self.add_class(name)
        labels = [*pool.labels, *(answer.label for answer in self.answers.values())]
        for name in sorted({name for label in labels for name in _names(label)}):
            if name not in self.classes:
                self.add_class(name)
        self._check()
        if file is not None:
            file.write(self.answers)
        self.curve: dict[int, Estimate] = {}
        self.version = 0
        self._history = [_Change(n, None) for n, answer in self.answers.items() if answer.chosen != GIVEN]
        self._asked: dict[str, int] = {}
        self._chosen: dict[int, str] = {}
        self._plan: list[tuple[int, str]] = []
        self._chooser: TrainedModel | None = None
        self._tried = -1

    def _check(self) -> None:
        if len(self.classes) < 2 and not self.several:
            found = f"one class, {self.classes[0]!r}" if self.classes else "no class"
            raise InputError(f"found {found}; expected at least two: --classes a,b")
        if not self.classes:
            raise InputError("found no class; expected at least one: --classes a,b")
        for answer in self.answers.values():
            if isinstance(answer.label, tuple) is not self.several and answer.label is not None:
                found = "several labels" if not self.several else "one label"
                what = "give --several" if not self.several else "leave out --several"
                raise InputError(f"found {found} per text in the data or in the answers so far; {what}")

    # asking ----------------------------------------------------------------------------------------------------------

    @property
    def n_answers(self) -> int:
        """How many texts people have labelled here."""
        return sum(answer.chosen != GIVEN and answer.label is not None for answer in self.answers.values())

    @property
    def n_skipped(self) -> int:
        """How many texts were skipped."""
        return sum(answer.label is None for answer in self.answers.values())

    @property
    def n_given(self) -> int:
        """How many labels came with the texts."""
        return sum(answer.chosen == GIVEN for answer in self.answers.values())

    @property
    def last(self) -> int | None:
        """The text whose answer can be undone."""
        return self._history[-1].number if self._history else None

    def class_counts(self) -> Counter[str]:
        """Return how many texts have each class."""
        return Counter(name for answer in self.answers.values() for name in _names(answer.label))

    @property
    def n_open(self) -> int:
        """How many different texts can still be asked for."""
        return sum(n not in self.answers for n in self.pool.firsts.tolist())

    def known(self) -> dict[int, Any]:
        """Return all labels that are known, by the position of their text."""
        return {n: answer.label for n, answer in self.answers.items() if answer.label is not None}

    def ask(self, asker: str = "") -> Question | None:
        """Return the text to label next; None if all have an answer.

        Whoever asks again gets the same text until it has an answer, and no other asker gets it meanwhile.
        """
        with self.lock:
            number = self._asked.pop(asker, None)
            if number is None or number in self.answers:
                number = self._next()
            if number is None:
                return None
            self._asked[asker] = number
            while len(self._asked) > MOST_ASKERS:
                del self._asked[next(iter(self._asked))]
            return self.question(number)

    def question(self, number: int) -> Question:
        """Return the question for a text."""
        return Question(number, self.pool.texts[number], self._chosen.get(number, RANDOM))

    def _next(self) -> int | None:
        asked = set(self._asked.values())
        drawn = next((n for n in self.aside.tolist() if n not in self.answers and n not in asked), None)
        position = len(self._history) + len(asked)
        if drawn is None or position % RANDOM_EVERY != RANDOM_EVERY - 1:
            for _ in range(2):
                while self._plan:
                    number, how = self._plan.pop(0)
                    if number not in self.answers and number not in asked:
                        self._chosen[number] = how
                        return number
                self.choose()
        if drawn is not None:
            self._chosen[drawn] = RANDOM
        return drawn

    def _open(self) -> Numbers:
        """Return the texts that can be chosen."""
        taken = np.zeros(len(self.pool), np.bool_)
        taken[[*self.answers, *self._asked.values()]] = True
        return self._rest[~taken[self._rest]]

    def _seen(self) -> dict[int, Any]:
        """Return the labels that choosing depends on: none of a text that is set aside."""
        return {n: label for n, label in self.known().items() if n not in self._is_aside}

    def choose(self) -> None:
        """Choose the next texts by what is known now."""
        with self.lock:
            texts, known, model = self._open(), self._seen(), self._chooser
            random = np.random.default_rng(self.random.integers(2**32))
        if not len(texts):
            return
        if model is None or len(known) < START:
            found, how = spread_texts(self.pool.vectors, texts, np.array(list(known), np.int64), START, random), SPREAD
        else:
            if len(texts) > LOOKED_THROUGH:
                texts = np.sort(random.choice(texts, LOOKED_THROUGH, replace=False))
            sure = surenesses(model, scores_of(model, self.pool, texts))
            found, how = unsure_texts(self.pool.vectors, sure, texts, PLANNED, random), UNSURE
        with self.lock:
            self._plan = [(number, how) for number in found.tolist()]

    # answering -------------------------------------------------------------------------------------------------------

    def answer(self, number: int, label: Any, *, checked: bool = False) -> Answer | None:
        """Take the label of a text, or a tuple of several; return the answer that it had before, if any.

        Once this returns, the answer is on disk. `checked`: the label was looked at again.
        """
        self._check_number(number)
        self._check_label(label)
        with self.lock:
            before = self.answers.get(number)
            chosen = self._chosen.get(number, RANDOM) if before is None else before.chosen
            self._set(number, Answer(label, chosen, checked))
            return before

    def skip(self, number: int) -> None:
        """Leave a text without a label; it is not asked for again."""
        self._check_number(number)
        with self.lock:
            before = self.answers.get(number)
            if before is not None and before.label is not None:
                raise InputError(
                    f"found an answer for row {self.pool.rows[number]}; expected a text without one to skip"
                )
            self._set(number, Answer(None, self._chosen.get(number, RANDOM)))

    def undo(self, asker: str = "") -> Question | None:
        """Take back the last answer, and ask for its text again; None if there is none."""
        with self.lock:
            if not self._history:
                return None
            number, before = self._history[-1]
            self._chosen[number] = self.answers[number].chosen
            self._store(number, before)
            self._history.pop()
            n_answers = self.n_answers
            self.curve = {n: estimate for n, estimate in self.curve.items() if n <= n_answers}
            if before is None:
                self._asked[asker] = number
            return self.question(number)

    def add_class(self, name: str) -> None:
        """Add a class."""
        name = name.strip()
        if not name or len(name) > LONGEST_CLASS or not name.isprintable():
            raise InputError(
                f"found the class {name[:80]!r}; expected a name of 1 to {LONGEST_CLASS} characters in one line"
            )
        with self.lock:
            if name in self.classes:
                raise InputError(f"found the class {name!r} twice; expected each once")
            if len(self.classes) >= MOST_CLASSES:
                raise InputError(f"found more than {MOST_CLASSES:,} classes; expected fewer")
            self.classes.append(name)

    def _set(self, number: int, answer: Answer) -> None:
        before = self.answers.get(number)
        if before == answer:  # sent twice, because the first acknowledgement was lost
            return
        self._store(number, answer)
        self._history.append(_Change(number, before))

    def _store(self, number: int, answer: Answer | None) -> None:
        """Write the file with one answer changed; only if that succeeds, the answer counts."""
        answers = dict(self.answers)
        if answer is None:
            del answers[number]
        else:
            answers[number] = answer
        if self.file is not None:
            self.file.write(answers)
        self.answers = answers
        self.version += 1

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self.pool):
            raise InputError(f"found text number {number}; expected one from 0 to {len(self.pool) - 1}")

    def _check_label(self, label: Any) -> None:
        if isinstance(label, tuple) is not self.several:
            raise InputError(f"found {'several labels' if not self.several else 'one label'}; expected the other")
        names = _names(label)
        if len(set(names)) < len(names):
            raise InputError("found a class twice in one answer; expected each once")
        for name in names:
            if name not in self.classes:
                raise InputError(unknown_name(name, self.classes, "class"))

    # learning --------------------------------------------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        """Whether there are answers that have not been learned from."""
        return self.version != self._tried

    def prepare(self) -> None:
        """Choose the first questions, before somebody waits for them."""
        if not self.learn() or not self._plan:
            self.choose()

    def learn(self) -> bool:
        """Train on the answers so far, and choose the next texts; return whether there is a classifier to choose by."""
        with self.lock:
            seen, version = self._seen(), self.version
        self._chooser = train(self.pool, list(seen), list(seen.values()))
        if self._chooser is not None and len(seen) >= START:
            self.choose()
        self._tried = version
        return self._chooser is not None

    def sample(self, known: Mapping[int, Any]) -> list[int]:
        """Return the texts drawn at random that have a label: those before the first that is still open."""
        found = []
        for number in self.aside.tolist():
            if number in known:
                found.append(number)
            elif number not in self.answers or self.answers[number].label is not None:
                break
        return found

    def evidence(self, n_answers: int) -> tuple[int, Evidence] | None:
        """Return what tells how good a classifier is that is trained on the first answers; None if they are too few.

        That is the number of texts drawn at random, and what they say.
        """
        with self.lock:
            everything, classes = self.known(), list(self.classes)
            own = [n for n in everything if self.answers[n].chosen != GIVEN]
        later = set(own[n_answers:])
        known = {n: label for n, label in everything.items() if n not in later}
        sample = self.sample(known)
        if len(sample) < LEAST_SAMPLE:
            return None
        model = train(self.pool, list(known), list(known.values()))
        if model is None:
            return None
        some = np.concatenate([self.aside, self._rest])
        some = (
            some
            if len(some) <= LOOKED_THROUGH
            else np.random.default_rng(0).choice(some, LOOKED_THROUGH, replace=False)
        )
        assigned = assigned_to(model, scores_of(model, self.pool, some))
        found = gather_evidence(self.pool, known, sample, classes, assigned)
        return None if found is None else (len(sample), found)

    def measure(self, n_answers: int | None = None) -> Estimate | None:
        """Estimate the macro-F1 of a classifier trained on the first answers, by default on all; None if too few.

        It is kept in `curve`.
        """
        n_answers = self.n_answers if n_answers is None else n_answers
        found = self.evidence(n_answers)
        if found is None:
            return None
        estimate = Estimate(n_answers, found[0], *estimate_macro_f1(found[1]))
        with self.lock:
            if n_answers <= self.n_answers:  # else an answer was undone meanwhile
                self.curve[n_answers] = estimate
        return estimate

    # looking again ---------------------------------------------------------------------------------------------------

    def doubts(self) -> list[Doubt]:
        """Return the answers that are probably mistakes, the most doubtful first; those kept once are not listed."""
        with self.lock:
            known = self.known()
            checked = {n for n, answer in self.answers.items() if answer.checked}
        numbers = np.random.default_rng(0).permutation(np.array(list(known), np.int64))
        found: list[Doubt] = []
        for fold in range(FOLDS):
            held_out = numbers[fold::FOLDS]
            rest = [n for n in known if n not in set(held_out.tolist())]
            model = train(self.pool, rest, [known[n] for n in rest])
            if model is not None and len(held_out):
                found += self._doubts_of(model, held_out, known)
        found.sort(key=lambda doubt: -doubt.odds)
        return [doubt for doubt in found if doubt.number not in checked][:MOST_DOUBTS]

    def _doubts_of(self, model: TrainedModel, numbers: Numbers, known: Mapping[int, Any]) -> list[Doubt]:
        places = {str(label): place for place, label in enumerate(model.classes.tolist())}
        chances = model.decision.probabilities(scores_of(model, self.pool, numbers))
        if self.several:
            return self._several_doubts(numbers, known, places, chances)
        kept = np.array([at for at, n in enumerate(numbers.tolist()) if known[n] in places], np.int64)
        labels = np.array([places[known[n]] for n in numbers[kept].tolist()], np.int64)
        rows, suggested, odds = likely_label_errors(labels, chances[kept])
        names = list(places)
        return [
            Doubt(n, self.pool.texts[n], known[n], names[other], ratio, names[other])
            for n, other, ratio in zip(numbers[kept][rows].tolist(), suggested.tolist(), odds.tolist(), strict=True)
        ]

    def _several_doubts(
        self, numbers: Numbers, known: Mapping[int, Any], places: Mapping[str, int], chances: Any
    ) -> list[Doubt]:
        """Return texts of which one class is probably missing, or one too many: each class is yes or no."""
        found: dict[int, Doubt] = {}
        for name, place in places.items():
            has = np.array([name in known[n] for n in numbers.tolist()], np.int64)
            rows, _, odds = likely_label_errors(has, np.stack([1 - chances[:, place], chances[:, place]], axis=1))
            for at, ratio in zip(rows.tolist(), odds.tolist(), strict=True):
                n = int(numbers[at])
                if n not in found or found[n].odds < ratio:
                    likelier = f"not {name}" if has[at] else f"{name} too"
                    fixed = tuple(x for x in known[n] if x != name) if has[at] else (*known[n], name)
                    found[n] = Doubt(n, self.pool.texts[n], known[n], likelier, ratio, fixed)
        return list(found.values())

    def keep(self, number: int) -> None:
        """Note that an answer was looked at again and is right."""
        with self.lock:
            answer = self.answers.get(number)
            if answer is None or answer.label is None:
                raise InputError(f"found text number {number}, which has no answer; expected one that has")
            self._set(number, replace(answer, checked=True))


def _names(label: Any) -> tuple[str, ...]:
    return label if isinstance(label, tuple) else () if label is None else (label,)
