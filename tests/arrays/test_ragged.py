"""Ragged: concatenated sentences and their lengths."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise import Ragged
from likewise.arrays.ragged import EqualLengthRun
from tests.tiny import packed

rows = st.lists(st.lists(st.integers(0, 1000), max_size=12), max_size=12)


@given(rows)
def test_what_is_packed_comes_back_sentence_by_sentence(rows):
    tokens = Ragged.of(rows)
    assert [part.tolist() for part in tokens.split()] == rows
    assert len(tokens) == len(rows)
    assert tokens.values.dtype == torch.int64


@given(rows)
def test_every_token_knows_its_sentence_and_its_place_in_it(rows):
    tokens = Ragged.of(rows)
    assert tokens.sentence.tolist() == [i for i, row in enumerate(rows) for _ in row]
    assert tokens.position.tolist() == [j for row in rows for j, _ in enumerate(row)]
    assert tokens.counts.tolist() == [len(row) for row in rows]
    begins = [sum(len(r) for r in rows[:i]) for i in range(len(rows) + 1)]
    assert tokens.offsets.tolist() == begins
    assert tokens.offsets.dtype == torch.int32


@given(rows)
def test_runs_are_neighbours_of_one_length_and_cover_every_row_once(rows):
    tokens = Ragged.of(rows)
    lengths = [run.length for run in tokens.runs for _ in range(run.sentences)]
    assert lengths == [len(row) for row in rows]
    assert [i for run in tokens.runs for i in range(run.rows.start, run.rows.stop)] == list(range(len(tokens.values)))
    assert all(a.length != b.length for a, b in zip(tokens.runs, tokens.runs[1:], strict=False))


@given(st.integers(0, 20), st.integers(1, 100))
def test_parts_of_a_run_cover_it_and_all_but_the_last_are_of_the_size(sentences, size):
    run = EqualLengthRun(7, sentences, 3)
    parts = list(run.parts(size))
    assert [i for part in parts for i in range(part.rows.start, part.rows.stop)] == list(range(*run.rows.indices(999)))
    assert all(part.length == 3 for part in parts)
    assert all(part.sentences == size for part in parts[:-1])
    assert not parts or 1 <= parts[-1].sentences <= size


@given(rows)
def test_rounding_adds_sentences_of_one_token_behind_the_others(rows):
    tokens = Ragged.of(rows)
    more = len(tokens.rounded().values) - len(tokens.values)
    assert [part.tolist() for part in tokens.rounded().split()] == rows + more * [[0]]


def test_rounding_costs_little_and_leaves_few_numbers_of_tokens():
    rounds = {count: len(packed([count]).rounded().values) for count in range(1, 2049)}
    assert all(count <= rounded <= min(count + count / 8, count + 31) for count, rounded in rounds.items())
    assert all(rounds[rounded] == rounded for rounded in rounds.values()), "what is round stays as it is"
    assert len(set(rounds.values())) == 104
    assert all(rounds[count] == count for count in range(1, 16)), "few tokens are not worth it"


@given(rows.filter(len), st.data())
def test_without_first_drops_tokens_but_leaves_the_last_one(rows, data):
    skip = data.draw(st.lists(st.integers(0, 15), min_size=len(rows), max_size=len(rows)))
    tokens = Ragged.of(rows)
    shorter, kept = tokens.without_first(skip)
    wanted = [row[min(s, max(len(row) - 1, 0)) :] for row, s in zip(rows, skip, strict=True)]
    assert [part.tolist() for part in shorter.split()] == wanted
    assert torch.equal(tokens.values[kept], shorter.values)
    assert torch.equal(tokens.position[kept], shorter.position), "tokens keep their positions"
    again, kept_again = shorter.without_first(skip)
    assert torch.equal(shorter.position[kept_again], again.position)
    assert [part.tolist() for part in again.split()] == [
        row[min(s, max(len(row) - 1, 0)) :] for row, s in zip(wanted, skip, strict=True)
    ]
    rounded = shorter.rounded()
    assert torch.equal(rounded.position[: len(shorter.values)], shorter.position)
    assert not rounded.position[len(shorter.values) :].any()


def test_first_positions_are_one_for_each_sentence():
    with pytest.raises(ValueError, match="there are 2 sentences, but 1 first positions"):
        Ragged(torch.zeros(3), (2, 1), first_positions=(1,))


@pytest.mark.parametrize("lengths", [(2,), (4, -1), (1, 1, 2)])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    with pytest.raises(ValueError, match="add up to"):
        Ragged(torch.zeros(3), lengths)


@pytest.mark.usefixtures("unchecked")
def test_segments_lie_as_the_values_do():
    tokens = Ragged.of([[5, 6, 7], [8]], segments=[[0, 0, 1], [1]])
    assert tokens.segments.tolist() == [0, 0, 1, 1]
    many = Ragged.of([[5] * 17], segments=[[1] * 17]).rounded()
    assert many.segments.tolist() == [1] * 17 + [0] * (len(many.values) - 17) and {*many.lengths[1:]} == {1}
    assert Ragged.of([[5, 6, 7], [8]]).segments is None
    with pytest.raises(ValueError, match="there are 4 values, but 3 segments"):
        Ragged.of([[5, 6, 7], [8]], segments=[[0, 0, 1]])
