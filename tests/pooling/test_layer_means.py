"""A mean of layers, compared with a loop over tokens and layers, and what a name or a folder must specify."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadModel
from likewise.pooling import LayerMean, Reduce, pooling_of, read_pooling
from tests.tiny import packed

LENGTHS, WIDTH, DEPTH = [4, 1, 7], 5, 3


def layers(dtype=torch.float32):
    return [packed(LENGTHS, WIDTH, seed=i).values.to(dtype) for i in range(DEPTH + 1)]


def _slow(every, numbers):
    """The mean over tokens of each token's mean over layers, one sentence and one token at a time."""
    begin, rows = 0, []
    for length in LENGTHS:
        tokens = range(begin, begin := begin + length)
        words = [sum(every[number][t].double() for number in numbers) / len(numbers) for t in tokens]
        rows.append(sum(words) / length)
    return torch.stack(rows)


@pytest.mark.parametrize("numbers", [(0,), (3,), (0, 3), (1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_it_equals_a_loop_and_no_block_above_its_last_layer_is_run(numbers, dtype):
    every, run = layers(dtype), []

    def computed():
        for number, x in enumerate(every):
            run.append(number)
            yield x

    found = LayerMean(("mean",), numbers)(computed(), packed(LENGTHS, WIDTH))
    assert found.dtype == torch.promote_types(dtype, torch.float32) and run == list(range(numbers[-1] + 1))
    torch.testing.assert_close(found.double(), _slow(every, numbers), atol=1e-6, rtol=1e-6)


def test_layers_are_averaged_before_tokens_are_reduced():
    every, tokens = layers(), packed(LENGTHS, WIDTH)
    both = (every[1] + every[3]) / 2
    wanted = Reduce.parse("cls+max")(iter([both]), tokens)
    assert torch.equal(pooling_of("cls+max:layers=1+3", DEPTH)(iter(every), tokens), wanted)


def test_the_mean_of_one_layer_is_the_pooling_of_that_layer():
    tokens = packed(LENGTHS, WIDTH)
    alone = pooling_of(f"mean:layers={DEPTH}", DEPTH)(iter(layers()), tokens)
    assert torch.equal(alone, pooling_of("mean", DEPTH)(iter(layers()), tokens))


def test_gradients_reach_the_layers_that_are_read_and_no_others():
    every = [x.requires_grad_() for x in layers()]
    pooling_of("mean:layers=0+2", DEPTH)(iter(every), packed(LENGTHS, WIDTH)).sum().backward()
    assert [x.grad is not None for x in every] == [True, False, True, False]


@given(st.sets(st.integers(0, DEPTH), min_size=1), st.sampled_from(["mean", "max", "cls+mean"]))
def test_its_name_and_its_settings_are_read_back_as_itself(numbers, reduce):
    pooling = LayerMean(tuple(reduce.split("+")), tuple(sorted(numbers)))
    assert pooling_of(pooling.spec, DEPTH) == pooling
    backwards = "+".join(map(str, sorted(numbers, reverse=True)))
    assert pooling_of(f"{reduce}:layers={backwards}", DEPTH) == pooling
    assert read_pooling("LayerMean", pooling.config, Path("folder"), DEPTH) == pooling
    assert pooling.width(WIDTH) == WIDTH * (1 + ("+" in reduce))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mean:layers=", "'mean:layers=' is unknown; expected a reduction and layer numbers"),
        ("mean:layers=0+-1", "is unknown; expected a reduction and layer numbers"),
        ("mean:layers=1,2", "is unknown; expected a reduction and layer numbers"),
        ("mean:layers=²", "is unknown; expected a reduction and layer numbers"),
        ("mean:layers=1+1", "names a layer twice"),
        ("mean:layers=4", "reads layer 4, but the last layer of this encoder is 3"),
        ("median:layers=1", "the pooling mode 'median' is unknown"),
    ],
)
def test_names_of_layers_that_cannot_be_are_refused(spec, message):
    with pytest.raises(BadModel, match=message):
        pooling_of(spec, DEPTH)


WRONG = [{}, {"reduce": "mean"}, {"reduce": ["mean"], "layers": [1]}, {"reduce": "median", "layers": [1]}]
WRONG += [{"reduce": "mean", "layers": layers} for layers in ([], [1, 0], [0, 0], [True], ["1"], [4], "0+1")]


@pytest.mark.parametrize("config", WRONG)
def test_settings_that_cannot_be_are_refused_with_the_folder(config, tmp_path):
    with pytest.raises(BadModel, match=str(tmp_path)):
        read_pooling("LayerMean", config, tmp_path, DEPTH)
