"""In-batch contrast: against loops over rows, with every mask, and where little is left."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.train.data.batch import TrainingRows, text_id
from likewise.train.objectives import Contrastive, SimCSE
from tests.train.objectives.test_values import cos, drawn, near


def slowly(columns, names, scale, group=None, guide=None):
    """Mean over anchors of −log p(own positive); wrong answers are gone through one by one."""
    rows, losses = range(len(names)), []
    for i in rows:
        alike = [r for r in rows if names[r][0] == names[i][0] or (group is not None and group[r] == group[i])]
        right = {names[r][1] for r in alike} | {names[i][0]}
        own = scale * cos(columns[0][i], columns[1][i])
        wrong = [
            scale * cos(columns[0][i], columns[c][j])
            for c in range(1, len(columns))
            for j in rows
            if (c, j) != (1, i)
            and names[j][c] not in right
            and (guide is None or cos(guide[0][i], guide[c][j]) <= cos(guide[0][i], guide[1][i]))
        ]
        losses.append(math.log(sum(math.exp(x) for x in [own, *wrong])) - own)
    return sum(losses) / len(losses)


def named(names):
    """Small numbers as the digests of texts that they stand for."""
    return torch.tensor([[text_id(f"text {i}") for i in row] for row in names])


@given(st.data())
def test_infonce_is_its_formula_whatever_comes_twice(data):
    rows, more = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 2))
    names = data.draw(st.lists(st.tuples(*[st.integers(0, 6)] * (2 + more)), min_size=rows, max_size=rows))
    group = data.draw(st.none() | st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    columns = drawn(2 + more, rows, 5, seed=data.draw(st.integers(0, 99)))
    digests = named(names)
    groups = None if group is None else torch.tensor(group) + 2**60
    expected = slowly(columns, digests.tolist(), 4.0, group)
    near(Contrastive(0.25)(*columns, text_ids=digests, group=groups), expected)
    turned = [[row[1], row[0]] for row in digests.tolist()]
    back = slowly([columns[1], columns[0]], turned, 4.0, group)
    both = Contrastive(0.25, symmetric=True)(*columns, text_ids=digests, group=groups)
    near(both, (expected + back) / 2)


@pytest.mark.parametrize("more", [0, 1, 2])
def test_what_the_guide_finds_nearer_than_the_positive_is_no_negative(more):
    columns, guide = drawn(2 + more, 6, 5, seed=1), drawn(2 + more, 6, 3, seed=2)
    guide[0, 0] = guide[1, 0] = guide[1, 3] = torch.eye(3)[0]  # the first anchor's positive and one that is as near
    ids = torch.arange(6 * (2 + more)).view(2 + more, 6).T
    given = {"text_ids": ids, "guide": torch.cat(list(guide), dim=1)}
    expected = slowly(columns, ids.tolist(), 4.0, guide=guide)
    assert expected != pytest.approx(slowly(columns, ids.tolist(), 4.0))
    near(Contrastive(0.25)(*columns, **given), expected)
    back = slowly(columns[[1, 0]], ids[:, [1, 0]].tolist(), 4.0, guide=guide[[1, 0]])
    near(Contrastive(0.25, symmetric=True)(*columns, **given), (expected + back) / 2)


def test_guides_vectors_must_be_one_per_text():
    columns = drawn(3, 4, 5, seed=1)
    with pytest.raises(BadInput, match=r"guide has 10 numbers per row for 3 texts; expected one vector per text"):
        Contrastive()(*columns, text_ids=torch.arange(12).view(3, 4).T, guide=torch.ones(4, 10))


def test_of_batches_joined_over_processes_the_names_are_those_of_one_batch():
    columns = {"anchor": ["a cat", "dogs bark", "rain"], "positive": ["rain", "a cat", "a cat"]}
    rows = TrainingRows.of(columns, Contrastive())
    parts = [rows.take([0]).names, rows.take([1, 2]).names]
    assert torch.equal(torch.cat(parts), rows.take([0, 1, 2]).names)
    assert text_id("a cat") == 5867787368591784627  # in every process, on every machine


def test_names_are_compared_as_whole_numbers_of_63_bits():
    columns = drawn(2, 2, 5)
    large = 2**62
    separate = Contrastive()(*columns, text_ids=torch.tensor([[1, large], [2, large + 1]]))
    near(separate, float(Contrastive()(*columns, text_ids=torch.tensor([[1, 3], [2, 4]]))))
    assert Contrastive()(*columns, text_ids=torch.tensor([[1, large], [2, large]])) == 0
    groups = torch.tensor([2**53, 2**53 + 1])
    near(Contrastive()(*columns, text_ids=torch.tensor([[1, 3], [2, 4]]), group=groups), float(separate))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("learned", [False, True])
def test_where_only_the_positive_is_left_the_loss_is_nothing_and_the_gradient_finite(symmetric, learned):
    columns = [drawn(2, 5, seed=s).requires_grad_() for s in (1, 2, 3)]
    objective = Contrastive(symmetric=symmetric, learn_temperature=learned).double()
    names = torch.tensor([[0, 1, 1], [0, 1, 0]])
    loss = objective(*columns, text_ids=names)
    loss.backward()
    assert loss == 0
    assert all(x.grad is None or torch.equal(x.grad, torch.zeros_like(x)) for x in columns)
    one = Contrastive()(*(drawn(1, 5, seed=s) for s in (1, 2)), text_ids=torch.tensor([[0, 1]]))
    assert one == 0


def test_a_learned_temperature_gets_the_gradient_of_its_formula():
    a, p, n = drawn(3, 5, 5)
    names = named([[5 * c + i for c in range(3)] for i in range(5)])
    objective = Contrastive(0.2, learn_temperature=True, symmetric=True).double()
    objective(a, p, n, text_ids=names).backward()

    def at(log_scale):
        return float(Contrastive(math.exp(-log_scale), symmetric=True)(a, p, n, text_ids=names))

    step, here = 1e-5, float(objective.log_scale.detach())
    slope = (at(here + step) - at(here - step)) / (2 * step)
    assert float(objective.log_scale.grad) == pytest.approx(slope, rel=1e-5) and slope != 0
    assert not list(Contrastive(0.2).parameters())


def test_a_fixed_temperature_is_taken_as_it_is():
    columns, names = drawn(2, 4, 5), named([[i, 4 + i] for i in range(4)])
    near(Contrastive(0.004)(*columns, text_ids=names), slowly(columns, names.tolist(), 250.0))


def test_simcse_reads_one_column_twice_and_is_contrast_of_the_two():
    reads = SimCSE().reads()
    assert reads.texts == ("sentence",) and reads.repeats == 2 and reads.text_ids and not reads.more_texts
    first, again = drawn(2, 4, 5)
    names = named([[0, 0], [1, 1], [0, 0], [2, 2]])
    near(SimCSE()(first, again, text_ids=names), slowly([first, again], names.tolist(), 20.0))


def test_a_run_begins_with_the_temperature_that_was_set_whatever_another_has_learned():
    objective = Contrastive(0.2, learn_temperature=True)
    before = objective.log_scale.item()
    with torch.no_grad():
        objective.log_scale += 1
    objective.initialize(3)
    assert objective.log_scale.item() == before and objective.log_scale.requires_grad
