"""Batches in groups: every row once, labels with company, the same wherever one begins to read."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.train.data.batch import group_by_label
from likewise.train.data.schedule import BatchSchedule, DataSource
from likewise.train.objectives import BatchTriplets, Matryoshka, Weighted
from tests.train.run_trainer import source

LABELS = st.lists(st.integers(0, 12), min_size=1, max_size=90)


def order(labels: list[int], each: int, batch: int, seed: int = 0) -> list[int]:
    return group_by_label(np.array(labels), each, batch, np.random.default_rng(seed)).tolist()


def batches(labels: list[int], each: int, batch: int, seed: int = 0) -> list[list[int]]:
    """The labels of every whole batch."""
    result = [labels[i] for i in order(labels, each, batch, seed)]
    return [result[i : i + batch] for i in range(0, len(result) - batch + 1, batch)]


def slowly(labels: list[int], each: int, batch: int, seed: int) -> list[int]:
    """The order by plain lists: of the first 32 groups that wait, the first that leaves the fewest rows alone."""
    random = np.random.default_rng(seed)
    shuffled, size = random.permutation(len(labels)).tolist(), max(2, min(each, batch // 2))
    waiting = []
    for label in sorted(set(labels)):
        rows = [i for i in shuffled if labels[i] == label]
        count = max(1, min(math.ceil(len(rows) / size), len(rows) // 2))
        jitter, ends = random.random(count), [0]
        for k in range(count):
            ends.append(ends[-1] + len(rows) // count + (k < len(rows) % count))
            waiting.append(((k + jitter[k]) / count, rows[ends[-2] : ends[-1]]))
    waiting = [rows for _, rows in sorted(waiting, key=lambda one: one[0])]
    result: list[int] = []
    while waiting:
        free = batch - len(result) % batch
        seen = {labels[i] for i in result[len(result) // batch * batch :]}
        costs = []
        for rows in waiting[:32]:
            known, taken = labels[rows[0]] in seen, min(len(rows), free)
            costs.append(((taken == 1 and len(rows) > 1 and not known) + (len(rows) - taken == 1), known))
        group = waiting.pop(costs.index(min(costs)))
        result += group[:free]
        waiting = [group[free:], *waiting] if group[free:] else waiting
    return result


@given(st.lists(st.integers(0, 40), min_size=1, max_size=150), st.integers(2, 6), st.integers(1, 20), st.integers(0, 9))
def test_the_order_is_that_of_plain_lists(labels, each, batch, seed):
    assert order(labels, each, batch, seed) == slowly(labels, each, batch, seed)


@pytest.mark.parametrize(("count", "rows"), [(40, 3), (200, 2), (35, 7)])
def test_the_order_of_more_groups_than_are_looked_at_is_that_of_plain_lists(count, rows):
    labels = [label for label in range(count) for _ in range(rows)]
    labels += [*range(0, count, 7), *[0] * 60]
    assert order(labels, 3, 8, 1) == slowly(labels, 3, 8, 1)


@given(st.integers(5, 40), st.integers(2, 5), st.integers(2, 5), st.integers(1, 6), st.integers(0, 9))
def test_labels_of_equal_size_fill_batches_of_p_groups_of_k_rows(count, each, p, parts, seed):
    labels = [label for label in range(count) for _ in range(each * parts)]
    result = batches(labels, each, each * p, seed)
    assert len(result) == count * parts // p > 0
    for batch in result:
        assert all(n % each == 0 for n in Counter(batch).values())


@given(LABELS, st.integers(2, 6), st.integers(4, 20), st.integers(0, 9))
def test_hardly_a_row_is_without_company(labels, each, batch, seed):
    many = Counter(labels)
    result = batches(labels, each, batch, seed)
    assert len(result) == len(labels) // batch
    alone = [sum(n == 1 and many[label] > 1 for label, n in Counter(one).items()) for one in result]
    assert sum(alone) <= 1 + len(result)  # a batch may end in an odd place, and the pass with what is left over


def course(each: int = 2, rows: int = 60) -> DataSource:
    objective = BatchTriplets(per_label=each)
    columns = {"sentence": [f"text {i}" for i in range(rows)], "label": [i // 3 for i in range(rows)]}
    return source(objective, columns=columns)


@given(st.integers(0, 40), st.integers(0, 12), st.integers(2, 16), st.integers(0, 5))
def test_batches_are_the_same_from_wherever_one_reads(begin, more, batch, seed):
    curriculum = BatchSchedule([course()], batch, seed)
    whole = [batch.texts for _, batch in curriculum.batches(0, begin + more)]
    assert [batch.texts for _, batch in curriculum.batches(begin, begin + more)] == whole[begin:]


@pytest.mark.parametrize(
    "objective", [Matryoshka(BatchTriplets(per_label=3), (8,)), Weighted([BatchTriplets(per_label=3)])]
)
def test_what_wraps_wants_the_same_groups(objective):
    reads = objective.reads()
    assert (reads.group_by, reads.per_group) == ("label", 3)
