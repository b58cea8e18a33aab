"""Attention over packed sentences, beside a loop over sentences, heads and tokens."""

import math
import sys
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.ragged import Ragged
from likewise.encoders import attention
from likewise.encoders.attention import BLOCK, SHORT_LENGTH, TINY_LENGTH, _by_length, _padded, attend
from likewise.encoders.packed_kernel import packed_attention
from likewise.encoders.positions import Distances, RelativeBias, bucket
from likewise.encoders.shapes import deberta_shape
from tests.tiny import config_of, packed

HEADS, WIDTH = 3, 4
WAYS = {"by length": _by_length, "padded": _padded}


def _bias(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Depends on the two positions, as relative positions do, and on query and key, as DeBERTa's distances do."""
    generator, length = torch.Generator().manual_seed(7), q.shape[2]
    table = torch.randn(HEADS, 20, 20, generator=generator, dtype=torch.float64)[:, :length, :length]
    return table + q.sum(-1)[..., None] / 4 - k.sum(-1)[..., None, :] / 3


def _slow(q, k, v, tokens, bias, window):
    """One token of one head of one sentence at a time, in float64."""
    out, start = torch.zeros_like(v, dtype=torch.float64), 0
    q, k, v = q.double(), k.double(), v.double()
    for length in tokens.lengths:
        a, b = (x[start : start + length].transpose(0, 1)[None] for x in (q, k))
        extra = bias(a, b)[0] if bias else torch.zeros(HEADS, length, length)
        for h in range(HEADS):
            for i in range(length):
                seen = [j for j in range(length) if window is None or abs(i - j) <= window]
                scores = [q[start + i, h] @ k[start + j, h] / math.sqrt(WIDTH) + extra[h, i, j] for j in seen]
                shares = torch.stack(scores).softmax(0)
                out[start + i, h] = sum(s * v[start + j, h] for s, j in zip(shares, seen, strict=True))
        start += length
    return out


def _qkv(lengths, dtype=torch.float32):
    return (Ragged(packed(lengths, HEADS, WIDTH, seed=s).values.to(dtype), tuple(lengths)) for s in range(3))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("window", [None, 0, 1, 3, 100])
def test_every_way_equals_the_loop(way, biased, window):
    lengths = [9, 9, 4, 1, 1, 1, 6, 2]
    q, k, v = _qkv(lengths)
    bias = _bias if biased else None
    result = WAYS[way](q.values, k.values, v.values, q, bias, window, 0.0)
    torch.testing.assert_close(result.double(), _slow(q.values, k.values, v.values, q, bias, window), atol=2e-6, rtol=0)


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("biased", [False, True])
def test_attention_that_drops_equals_the_loop_where_nothing_happens_to_be_dropped(biased, window):
    """With a probability that rounds to none; and with one of a half, the mean over many draws is near."""
    q, k, v = (x.values.requires_grad_() for x in _qkv([9, 9, 4, 1, 6]))
    tokens, bias = packed([9, 9, 4, 1, 6]), _bias if biased else None
    expected = _slow(q, k, v, tokens, bias, window)
    result = _by_length(q, k, v, tokens, bias, window, 1e-9)
    torch.testing.assert_close(result.double(), expected, atol=2e-6, rtol=0)
    slopes = [torch.autograd.grad((x * expected.detach()).sum(), [q, k, v]) for x in (result.double(), expected)]
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)
    torch.manual_seed(0)
    with torch.no_grad():
        drawn = torch.stack([_by_length(q, k, v, tokens, bias, window, 0.5) for _ in range(400)])
    assert (drawn.mean(0) - expected).abs().max() < 0.5 and drawn.std(0).max() > 0.1


@given(st.lists(st.integers(0, 7), max_size=6), st.one_of(st.none(), st.integers(0, 4)))
def test_both_ways_agree_on_any_lengths_empty_sentences_too(lengths, window):
    q, k, v = _qkv(lengths)
    one, other = (way(q.values, k.values, v.values, q, None, window, 0.0) for way in WAYS.values())
    torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("window", [None, 2])
def test_gradients_are_those_of_the_loop(way, window):
    lengths = [5, 3, 3, 1]
    q, k, v = [x.values.requires_grad_() for x in _qkv(lengths)]
    tokens, weights = packed(lengths), packed(lengths, HEADS, WIDTH, seed=9).values
    result = torch.autograd.grad((WAYS[way](q, k, v, tokens, _bias, window, 0.0) * weights).sum(), [q, k, v])
    expected = torch.autograd.grad((_slow(q, k, v, tokens, _bias, window) * weights).sum(), [q, k, v])
    for one, other in zip(result, expected, strict=True):
        torch.testing.assert_close(one, other, atol=5e-6, rtol=1e-5)
        assert one.abs().max() > 0


@pytest.mark.parametrize("length", [1, TINY_LENGTH, TINY_LENGTH + 1, SHORT_LENGTH, SHORT_LENGTH + 1])
def test_half_precision_is_near_full_precision(length):
    whole = BLOCK // length
    q, k, v = _qkv([length] * (2 * whole + 1) + [3], torch.bfloat16)
    full = attend(q.values.float(), k.values.float(), v.values.float(), q)
    half = attend(q.values, k.values, v.values, q)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), full, atol=3e-2, rtol=0)


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("length", [1, TINY_LENGTH, TINY_LENGTH + 1, SHORT_LENGTH + 1])
def test_gradients_in_half_precision_are_near_those_in_full_precision(length, window):
    found = {}
    for dtype in (torch.bfloat16, torch.float32):
        q, k, v = _qkv([length] * (BLOCK // length + 1) + [3], torch.bfloat16)
        rows = [x.values.to(dtype).requires_grad_() for x in (q, k, v)]
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            attend(*rows, q, window=window).float().square().sum().backward()
        found[dtype] = torch.stack([x.grad.float() for x in rows])
    error = (found[torch.bfloat16] - found[torch.float32]).norm() / found[torch.float32].norm()
    assert 0 < error < 0.02


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 500)), min_size=1, max_size=3))
def test_plain_products_meet_one_shape_a_length_and_never_more_than_a_block(runs):
    shapes, whole = set(), attention._products
    q, k, v = _qkv([length for length, sentences in runs for _ in range(sentences)], torch.bfloat16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "_products", lambda q, k, v: shapes.add(q.shape) or whole(q, k, v))
        attend(q.values, k.values, v.values, q)
    assert all(shape == (BLOCK // shape[2], HEADS, shape[2], WIDTH) for shape in shapes)


def test_no_sentences_give_no_rows():
    q, k, v = _qkv([])
    assert attend(q.values, k.values, v.values, q).shape == (0, HEADS, WIDTH)


def _slow_bucket(offset: int, buckets: int, far: int = 128) -> int:
    """T5's rule, one distance at a time."""
    half = buckets // 2
    first, distance = (half if offset > 0 else 0), abs(offset)
    near = half // 2
    if distance < near:
        return first + distance
    share = math.log(distance / near) / math.log(far / near)
    return first + min(near + int(share * (half - near) + 1e-6), half - 1)


@pytest.mark.parametrize("buckets", [8, 32])
def test_relative_buckets_are_those_of_the_rule(buckets):
    at = torch.arange(300)
    offsets = at[None] - at[:, None]
    expected = {o: _slow_bucket(o, buckets) for o in range(-299, 300)}
    assert bucket(offsets, buckets).tolist() == [[expected[o] for o in row] for row in offsets.tolist()]


def _slow_row(distance: int, buckets: int, farthest: int) -> int:
    """DeBERTa's rule, one distance at a time."""
    near, row = buckets // 2, abs(distance)
    if row > near:
        row = near + math.ceil(math.log(row / near) / math.log((farthest - 1) / near) * (near - 1) - 1e-9)
    return min(max(buckets + (row if distance > 0 else -row), 0), 2 * buckets - 1)


@pytest.mark.parametrize(("buckets", "farthest"), [(8, 40), (9, 40), (32, 200)])
def test_rows_of_distances_are_those_of_the_rule(buckets, farthest):
    named = {"position_buckets": buckets, "max_relative_positions": farthest, "max_position_embeddings": 512}
    table = Distances(deberta_shape({**config_of("deberta-v2"), **named}))
    distances = torch.arange(300)[:, None] - torch.arange(300)
    expected = {d: _slow_row(d, buckets, farthest) for d in range(-299, 300)}
    found = dict(zip(distances.flatten().tolist(), table._row(distances).flatten().tolist(), strict=True))
    for rounded in (1 - farthest, farthest - 1):  # where the logarithm may be just above or below a whole number
        del expected[rounded], found[rounded]
    assert found == expected


def test_the_relative_bias_depends_on_the_distance_alone_and_is_made_once_a_length():
    relative = RelativeBias(8, HEADS)
    torch.nn.init.normal_(relative.table.weight)
    cached = relative.cached()
    rows = torch.zeros(1, HEADS, 6, WIDTH)
    bias = cached(rows, rows)
    assert cached(rows, rows) is bias
    assert bias.shape == (HEADS, 6, 6)
    assert torch.equal(bias[:, 1:, 1:], bias[:, :-1, :-1])
    assert not torch.equal(bias[:, 0, 1], bias[:, 1, 0]), "before and after are different"


@pytest.mark.parametrize(
    ("window", "reach"), [(None, (-1, -1)), (0, (0, 0)), (6, (6, 6)), (7, (-1, -1)), (100, (-1, -1))]
)
def test_the_kernel_for_packed_tokens_is_given_offsets_and_a_reach_that_no_sentence_is_within(
    window, reach, monkeypatch
):
    given = []

    def kernel(*arguments, **how):
        given.append((arguments, how))
        return arguments[2]

    monkeypatch.setitem(sys.modules, "torch.nn.attention.varlen", SimpleNamespace(varlen_attn=kernel))
    lengths = [7, 2, 4]
    q, k, v = _qkv(lengths)
    assert packed_attention(q.values, k.values, v.values, q, window) is v.values
    [(arguments, how)] = given
    assert all(a is b for a, b in zip(arguments[:3], (q.values, k.values, v.values), strict=True))
    assert [x.tolist() for x in arguments[3:5]] == [[0, 7, 9, 13]] * 2 and arguments[5:] == (7, 7)
    assert how == {"window_size": reach}


class _On:
    """Stands for a tensor on some device."""

    def __init__(self, kind, dtype):
        self.device, self.dtype = SimpleNamespace(type=kind), dtype


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("kind", "dtype", "more", "way"),
    [
        ("cuda", torch.bfloat16, {}, "packed_attention"),
        ("cuda", torch.float16, {"window": 3}, "packed_attention"),
        ("cuda", torch.float16, {"bias": _bias}, "_padded"),
        ("cuda", torch.float16, {"dropout": 0.1}, "_padded"),
        ("cuda", torch.float32, {}, "_padded"),
        ("mps", torch.float16, {"window": 3}, "_padded"),
        ("cpu", torch.float16, {"dropout": 0.1}, "_by_length"),
        ("cpu", torch.bfloat16, {}, "_by_length"),
    ],
)
def test_each_device_has_its_way(kind, dtype, more, way, monkeypatch):
    requested = []
    monkeypatch.setattr(attention, "is_trusted", lambda q, *_: q.device.type == "cuda" and q.dtype != torch.float32)
    for name in ("packed_attention", "_by_length", "_padded"):
        monkeypatch.setattr(attention, name, lambda *given, n=name: requested.append((n, given)))
    q, k, v = (_On(kind, dtype) for _ in range(3))
    attend(q, k, v, "tokens", **more)
    settings = {"bias": None, "window": None, "dropout": 0.0, **more}
    expected = (settings["window"],) if way == "packed_attention" else tuple(settings.values())
    assert requested == [(way, (q, k, v, "tokens", *expected))]


@pytest.mark.parametrize(
    ("dtype", "length", "more", "kernels"),
    [  # of a whole block of sentences, and of one sentence more
        (torch.bfloat16, 16, {}, ["products", "in fp32"]),
        (torch.bfloat16, 17, {}, ["products", "fused"]),
        (torch.bfloat16, 96, {}, ["products", "fused"]),
        (torch.bfloat16, 97, {}, ["fused"]),
        (torch.bfloat16, 16, {"window": 15}, ["products", "in fp32"]),
        (torch.bfloat16, 16, {"window": 14}, ["masked"]),
        (torch.bfloat16, 16, {"bias": lambda q, _: torch.zeros(HEADS, q.shape[2], q.shape[2])}, ["masked"]),
        (torch.bfloat16, 16, {"dropout": 0.5}, ["dropping"]),
        (torch.bfloat16, 17, {"trains": True}, ["products", "in fp32"]),
        (torch.bfloat16, 97, {"trains": True}, ["in fp32"]),
        (torch.bfloat16, 17, {"has products": False}, ["in fp32"]),
        (torch.bfloat16, 97, {"has products": False}, ["in fp32"]),
        (torch.bfloat16, 16, {"has products": False, "window": 14}, ["masked"]),
        (torch.float32, 16, {}, ["fused"]),
        (torch.float32, 16, {"window": 15}, ["fused"]),
        (torch.float32, 16, {"trains": True}, ["fused"]),
    ],
)
def test_each_block_has_the_kernel_that_is_fastest_for_it(dtype, length, more, kernels, monkeypatch):
    trains, has_products = more.get("trains", False), more.get("has products", True)
    more = {name: value for name, value in more.items() if name not in ("trains", "has products")}
    monkeypatch.setattr(attention, "HAS_BF16_PRODUCTS", has_products)
    called = []
    fused, products, dropping = attention.scaled_dot_product_attention, attention._products, attention._dropping

    def sdpa(q, k, v, attn_mask=None):
        wider = q.dtype == torch.float32 != dtype
        called.append("masked" if attn_mask is not None else "in fp32" if wider else "fused")
        return fused(q, k, v, attn_mask=attn_mask)

    monkeypatch.setattr(attention, "scaled_dot_product_attention", sdpa)
    monkeypatch.setattr(attention, "_products", lambda *x: called.append("products") or products(*x))
    monkeypatch.setattr(attention, "_dropping", lambda *x: called.append("dropping") or dropping(*x))
    q, k, v = _qkv([length] * (BLOCK // length + 1), dtype)
    attend(q.values.requires_grad_(trains), k.values, v.values, q, **more)
    assert called == kernels


@pytest.mark.parametrize("kernel", ["_dropping", "_fused"])
def test_what_is_computed_in_fp32_is_so_under_autocast_too(kernel):
    q, k, v = (torch.randn(3, HEADS, TINY_LENGTH, WIDTH).bfloat16() for _ in range(3))
    rows = [x.float() for x in (q, k, v)] if kernel == "_dropping" else [q, k, v]
    more = [None, 1e-9] if kernel == "_dropping" else []
    expected = getattr(attention, kernel)(*rows, *more)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(getattr(attention, kernel)(*rows, *more), expected)


def test_a_window_that_reaches_everywhere_needs_no_mask():
    rows = torch.zeros(1, HEADS, 4, WIDTH)
    assert all(attention._mask(rows, rows, None, window) is None for window in (None, 3, 9))
    near = attention._mask(rows, rows, None, 2)
    assert (near == -torch.inf).nonzero().tolist() == [[0, 3], [3, 0]] and near[0, 0] == 0
    bias = torch.ones(HEADS, 4, 4)
    assert torch.equal(attention._mask(rows, rows, lambda *_: bias, 3), bias)


def test_blocks_of_short_sentences_have_512_tokens_and_others_all_sentences_of_a_length():
    tokens = packed([1] * 1100 + [3] * 171 + [100] * 7 + [0, 0])
    runs = [(part.sentences, part.length) for part in attention._parts(tokens, lambda length: length < 100)]
    assert runs == [(512, 1), (512, 1), (76, 1), (170, 3), (1, 3), (7, 100)]
