"""A stack of layers and the map over it: what they compute, and what a model folder must specify."""

import json

import pytest
import torch
from safetensors.torch import save_file

from likewise.errors import BadModel
from likewise.pooling import Fusion, Reduce, Stack, read_pooling
from tests.tiny import packed

LENGTHS, WIDTH, DEPTH = [4, 1, 7], 5, 3


def layers(seed=0):
    return [packed(LENGTHS, WIDTH, seed=seed + i).values for i in range(DEPTH + 1)]


@pytest.mark.parametrize(("first", "last"), [(0, 3), (1, 2), (2, 2), (0, 0)])
@pytest.mark.parametrize("reduce", ["mean", "cls+max"])
def test_a_stack_is_the_pooled_layers_side_by_side_and_no_block_above_is_run(first, last, reduce):
    tokens, every, run = packed(LENGTHS, WIDTH), layers(), []

    def computed():
        for i, x in enumerate(every):
            run.append(i)
            yield x

    stack = Stack(Reduce.parse(reduce), first, last)
    found = stack(computed(), tokens)
    wanted = [Reduce.parse(reduce)(iter([every[i]]), tokens) for i in range(first, last + 1)]
    assert torch.equal(found, torch.cat(wanted, 1)) and run == list(range(last + 1))
    assert found.shape[1] == stack.width(WIDTH) == (last - first + 1) * WIDTH * (1 + (reduce != "mean"))
    assert stack.spec == f"{reduce} of layers {first} to {last}"


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (3, 2)])
def test_layers_that_cannot_be_are_refused(first, last):
    with pytest.raises(BadModel, match=f"layers {first} to {last} were requested; expected 0 ≤ first ≤ last"):
        Stack(Reduce.parse("mean"), first, last)


def test_an_encoder_of_too_few_layers_says_so():
    stack = Stack(Reduce.parse("mean"), 1, DEPTH + 1)
    with pytest.raises(BadModel, match="reads the mean of layers 1 to 4, but the encoder has fewer layers"):
        stack(iter(layers()), packed(LENGTHS, WIDTH))


def test_a_fusion_begins_as_the_last_layer_pooled_and_is_a_linear_map_of_the_stack():
    stack, tokens = Stack(Reduce.parse("mean"), 1, 3), packed(LENGTHS, WIDTH)
    fusion = Fusion(stack, WIDTH)
    assert fusion.spec == "fusion: mean of layers 1 to 3"
    torch.testing.assert_close(fusion(iter(layers()), tokens), Reduce.parse("mean")(iter(layers()), tokens))
    with torch.no_grad():
        fusion.map.weight.normal_()
        fusion.map.bias.normal_()
    wanted = stack(iter(layers()), tokens) @ fusion.map.weight.T + fusion.map.bias
    torch.testing.assert_close(fusion(iter(layers()), tokens), wanted)


def test_a_fusion_is_for_encoders_of_its_width():
    fusion = Fusion(Stack(Reduce.parse("cls+max"), 0, 1), WIDTH)
    assert fusion.width(WIDTH) == 2 * WIDTH
    with pytest.raises(BadModel, match="an encoder of width 5; this one's is 6"):
        fusion.width(6)


@pytest.fixture
def folder(tmp_path):
    """A folder with a saved fusion of layers 1 to 3, its settings as a plain object, and the fusion."""
    fusion = Fusion(Stack(Reduce.parse("mean"), 1, 3), WIDTH)
    with torch.no_grad():
        fusion.map.weight.normal_()
    save_file(fusion.state_dict(), tmp_path / "model.safetensors")
    return tmp_path, dict(fusion.config), fusion


def test_what_is_read_is_what_was_written(folder):
    place, config, fusion = folder
    read = read_pooling("Fusion", json.loads(json.dumps(config)), place, 3)
    assert isinstance(read, Fusion) and read.config == config
    assert all(torch.equal(tensor, read.state_dict()[name]) for name, tensor in fusion.state_dict().items())


@pytest.mark.parametrize(
    ("change", "depth", "said"),
    [
        ({}, 2, "has last = 3; expected a whole number from 0 to 2"),
        ({"first": None}, 3, "has first = None; expected a whole number from 0 to 3"),
        ({"last": "many"}, 3, "has last = 'many'; expected a whole number from 0 to 3"),
        ({"encoder_width": 10**9}, 3, "encoder_width = 1000000000; expected a whole number from 0"),
        ({"encoder_width": 4}, 3, r"needs weights of shapes .*, but has .*"),
        ({"first": 4}, 9, "expected 0 ≤ first ≤ last"),
        ({"reduce": "median"}, 3, "median"),
    ],
)
def test_a_folder_that_says_it_wrongly_is_a_bad_model(folder, change, depth, said):
    place, config, _ = folder
    with pytest.raises(BadModel, match=said):
        read_pooling("Fusion", config | change, place, depth)


def test_a_setting_or_the_weights_that_are_not_there_are_a_bad_model(folder):
    place, config, _ = folder
    with pytest.raises(BadModel, match="has first = None; expected a whole number from 0 to 3"):
        read_pooling("Fusion", {"reduce": "mean"}, place, 3)
    (place / "model.safetensors").unlink()
    with pytest.raises(BadModel, match="no model.safetensors, so the fusion has no weights"):
        read_pooling("Fusion", config, place, 3)


def test_a_pooling_of_ours_that_is_not_known_is_named_with_those_that_are(tmp_path):
    with pytest.raises(BadModel, match="has the unknown pooling method 'Median'; expected one of Dissection, Fusion"):
        read_pooling("Median", {}, tmp_path, 3)
