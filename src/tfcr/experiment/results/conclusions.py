"""What an experiment shows, in words computed from its cells."""

from collections import Counter
from collections.abc import Sequence

from tfcr.experiment.results.summary import Group

SIGNIFICANT = 0.05
CLOSE = 0.02
"""A score this near to the published one is said to reproduce it."""
MOST_NAMED = 4


def conclude(groups: Sequence[Group]) -> list[str]:
    """Return for each table what is best where, how sure that is, and how near it is to the paper."""
    return [sentence for group in groups for sentence in (_best(group), _sure(group), _published(group)) if sentence]


def _best(group: Group) -> str:
    """Return which column wins on how many datasets, and by how much on average."""
    wins = Counter(group.winner(dataset) for dataset in group.rows)
    best, n_wins = wins.most_common(1)[0]
    won = [dataset for dataset in group.rows if group.winner(dataset) == best]
    mean = sum(group.rows[dataset][best].score for dataset in won) / len(won)
    where = (
        f"on {_named(won)}"
        if n_wins == len(group.rows)
        else f"on {n_wins} of {len(group.rows)} datasets ({_named(won)})"
    )
    average = " on average" if len(won) > 1 else ""
    return f"{_place(group)}: {best} is best {where}, with a macro-F1 of {mean:.3f}{average}."


def _sure(group: Group) -> str:
    """Return against how many others the best is significantly better."""
    tests = [test for test in group.tests if test.p_holm is not None]
    if not tests:
        return ""
    n_sure = sum(test.p_holm is not None and test.p_holm < SIGNIFICANT for test in tests)
    return (
        f"{n_sure} of {len(tests)} comparisons of the best with another are significant "
        f"(p < {SIGNIFICANT:g} after Holm's correction)."
    )


def _published(group: Group) -> str:
    """Return how many of the published figures ours come near to."""
    found = [score.difference for row in group.rows.values() for score in row.values() if score.difference is not None]
    if not found:
        return ""
    close = sum(abs(difference) <= CLOSE for difference in found)
    mean = sum(map(abs, found)) / len(found)
    near = f"{close} of {len(found)} published figures are reproduced to within {CLOSE:g}"
    return f"{near}; the mean distance is {mean:.3f}."


def _place(group: Group) -> str:
    place = group.place
    return ", ".join(filter(None, (place.embedding or "no vectors", place.head, place.profile)))


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + rest
