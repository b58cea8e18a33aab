"""The pooling methods that read only the last layer, each compared with a loop."""

import math
from itertools import combinations

import pytest
import torch

from likewise.arrays.ragged import Ragged
from likewise.arrays.reductions import REDUCTIONS
from likewise.errors import BadModel
from likewise.pooling import Pooling, pooling_of
from likewise.pooling.reductions import Reduce
from tests.tiny import packed

LENGTHS = [4, 4, 1, 7, 2]


def _slow(name: str, rows: list[torch.Tensor]) -> torch.Tensor:
    """The vector of one sentence from its tokens' vectors."""
    if name == "cls":
        return rows[0]
    if name == "last-token":
        return rows[-1]
    if name == "max":
        return torch.stack([max(row[d] for row in rows) for d in range(len(rows[0]))])
    if name == "weighted-mean":
        return sum(i * row for i, row in enumerate(rows, 1)) / sum(range(1, len(rows) + 1))
    return sum(rows) / {"mean": len(rows), "mean-sqrt-len": math.sqrt(len(rows))}[name]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_each_equals_a_loop_over_tokens(name, dtype):
    tokens = packed(LENGTHS, 5)
    x = tokens.values.to(dtype)
    pooling = pooling_of(name, 6)
    found = pooling(iter([torch.zeros_like(x), x]), tokens)
    wanted = torch.stack([_slow(name, list(part.double().unbind())) for part in torch.split(x, LENGTHS)])
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    assert isinstance(pooling, Pooling) and (pooling.spec, pooling.width(7)) == (name, 7)
    torch.testing.assert_close(found.double(), wanted, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("pair", list(combinations(REDUCTIONS, 2)), ids="+".join)
def test_concatenations_lie_in_the_order_of_the_table_however_they_are_written(pair):
    tokens = packed(LENGTHS, 5)
    both = torch.cat([pooling_of(name, 6)(iter([tokens.values]), tokens) for name in pair], 1)
    for spec in ("+".join(pair), "+".join(pair[::-1])):
        pooling = pooling_of(spec, 6)
        assert torch.equal(pooling(iter([tokens.values]), tokens), both)
        assert pooling.width(5) == 10
        assert pooling.spec == "+".join(pair)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_reach_the_tokens(name):
    tokens = packed(LENGTHS, 5)
    x = tokens.values.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: pooling_of(name, 6)(iter([x]), tokens), x)
    pooling_of(name, 6)(iter([x]), tokens).sum().backward()
    assert all(part.abs().sum() > 0 for part in torch.split(x.grad, LENGTHS))


@pytest.mark.parametrize("spec", ["", "median", "mean+", "mean+mean", "mean cls", "+"])
def test_an_unknown_pooling_is_refused_with_the_list_of_them(spec):
    with pytest.raises(BadModel, match=r"expected one of cls, max, mean, .*joined by \+"):
        Reduce.parse(spec)


def test_long_half_precision_sums_are_added_up_exactly():
    tokens = packed([5000], 1)
    x = torch.ones(5000, 1, dtype=torch.bfloat16)
    for name in ("mean", "weighted-mean"):
        assert pooling_of(name, 6)(iter([x]), tokens).item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_where_torch_reduces_no_segments_the_same_is_done_by_index(name, monkeypatch):
    tokens = packed(LENGTHS, 5)
    below = Ragged(-1 - tokens.values.abs(), tokens.lengths)  # the largest value is below 0
    wanted = [pooling_of(name, 6)(iter([some.values]), some) for some in (tokens, below)]
    monkeypatch.setattr("likewise.pooling.reductions.SEGMENTS", ())
    for some, expected in zip((tokens, below), wanted, strict=True):
        torch.testing.assert_close(pooling_of(name, 6)(iter([some.values]), some), expected, atol=1e-6, rtol=0)
