"""Architectures that come through transformers: folders with something wrong fail before memory is taken."""

import importlib
import json
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from likewise.arrays.ragged import Ragged
from likewise.encoders.checkpoint import load_encoder, save_encoder
from likewise.errors import BadModel
from likewise.reranker import Reranker
from tests.tiny import amend, pack, wordpieces, write

transformers = pytest.importorskip("transformers")
from likewise.encoders.architectures import transformers_model  # noqa: E402, which needs transformers

pytestmark = [pytest.mark.usefixtures("unchecked"), pytest.mark.filterwarnings("ignore")]

SMALL = {
    "vocab_size": 100,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
CONFIGS = {
    "gpt2": {"vocab_size": 100, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
    "deberta": {**SMALL, "max_position_embeddings": 32, "hidden_act": "gelu", "hidden_dropout_prob": 0.1},
    "longformer": {**SMALL, "max_position_embeddings": 40, "attention_window": 4},
    "xlnet": {"vocab_size": 100, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24, "dropout": 0.1},
    "gpt_neo": {
        **{"vocab_size": 100, "hidden_size": 16, "num_layers": 2, "num_heads": 2, "window_size": 4},
        **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 32},
    },
    "mt5": {
        **{"vocab_size": 100, "d_model": 16, "num_layers": 2, "num_heads": 2, "d_kv": 8, "d_ff": 24},
        "dropout_rate": 0.1,
    },
}
JUNK = [True, -1, 0, 1.5, 5, "abc", [1], {}, 10**9]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A kind's name to a folder with a small model of it; a test that changes its config writes all of it anew."""
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            config = transformers.AutoConfig.for_model(kind, **CONFIGS[kind])
            transformers.AutoModel.from_config(config).save_pretrained(made[kind])
            wordpieces().save(str(made[kind] / "tokenizer.json"))
            (made[kind] / "original.json").write_text((made[kind] / "config.json").read_text())
        write(made[kind] / "config.json", json.loads((made[kind] / "original.json").read_text()))
        return made[kind]

    return folder


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_whole_folder_loads(kind, saved):
    encoder = load_encoder(saved(kind))
    assert [layer.shape for layer in encoder(pack([3, 2]))] == [(5, 16)] * (encoder.depth + 1)


def test_a_sentence_has_the_layers_that_its_model_gives_it_alone_whatever_stands_beside_it(saved):
    encoder = load_encoder(saved("deberta"))  # which looks both ways, so padding must be hidden from it
    sentences = [[5, 6, 7, 8], [9], [10, 11]]
    with torch.no_grad():
        together = torch.stack(list(encoder(Ragged.of(sentences))))
        alone = [
            torch.stack(encoder.model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states)[:, 0]
            for ids in sentences
        ]
    torch.testing.assert_close(together, torch.cat(alone, 1), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", CONFIGS)
def test_any_setting_loads_or_is_a_bad_model_and_takes_no_time(kind, saved):
    folder = saved(kind)
    config = json.loads((folder / "config.json").read_text())
    for key in CONFIGS[kind]:
        for value in JUNK:
            write(folder / "config.json", {**config, key: value})
            began = time.process_time()
            try:
                load_encoder(folder)
            except BadModel as error:
                assert str(folder) in str(error) or key in str(error), (key, value)
            assert time.process_time() - began < 5, (key, value)


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("gpt2", {"n_embd": "abc"}, "transformers cannot read"),
        ("gpt2", {"embd_pdrop": 5}, "transformers cannot read"),
        ("gpt2", {"dtype": "abc"}, "transformers cannot read"),
        ("deberta", {"hidden_act": "magic"}, "transformers cannot read"),
        ("longformer", {"attention_window": 0}, "transformers cannot read"),
        ("gpt2", {"n_layer": 10**9}, "n_layer = 1000000000; expected at most 200"),
        ("gpt2", {"n_layer": 100}, "lacks|parts, but the weight files hold"),
        ("gpt2", {"num_labels": 10**8}, "num_labels = 100000000; expected at most 100,000"),
        ("gpt2", {"vocab_size": 10**7}, "parameters in .* parts?, but the weight files hold"),
        ("gpt2", {"n_positions": 10**7}, "parameters in .* parts?, but the weight files hold"),
        ("gpt2", {"attn_implementation": "someone/kernel"}, "code to download"),
        ("mt5", {"num_decoder_layers": 10**9}, "expected at most 200"),
        ("mt5", {"model_type": "no-such-kind"}, "transformers cannot read"),
        ("gpt2", {"vocab_size": 101}, "wte.weight with the wrong shape, so transformers would initialize it randomly"),
    ],
    ids=str,
)
def test_a_config_that_no_such_model_has_is_refused(kind, changes, told, saved):
    folder = saved(kind)
    amend(folder / "config.json", **changes)
    with pytest.raises(BadModel, match=told):
        load_encoder(folder)


def test_a_small_folder_takes_little_memory_and_time(saved):
    folder = saved("gpt2")
    amend(folder / "config.json", vocab_size=1_500_000, n_embd=768)
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadModel, match="the weight files hold"):
        load_encoder(folder)
    assert time.process_time() - began < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes; the model has 4.6 GB


def test_tables_that_are_computed_are_bounded_too(saved, monkeypatch):
    monkeypatch.setattr(transformers_model, "MOST_BUFFERS", 10)
    with pytest.raises(BadModel, match="bytes of buffers; the maximum is 10"):
        load_encoder(saved("gpt_neo"))


def test_what_watched_the_building_is_gone_afterwards(saved):
    with pytest.raises(BadModel):
        folder = saved("gpt2")
        amend(folder / "config.json", vocab_size=10**7)
        load_encoder(folder)
    assert torch.nn.Embedding(10**4, 2000) is not None, "20 million numbers that no folder has to hold"


def _copy(folder, to):
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


@pytest.mark.parametrize("file", ["generation_config.json", "adapter_config.json", "preprocessor_config.json"])
def test_pipes_and_adapters_are_refused(file, saved, tmp_path):
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("Windows has no pipes with names")
    folder = _copy(saved("gpt2"), tmp_path)
    os.mkfifo(folder / file)
    with pytest.raises(BadModel, match=f"{file} is a pipe"):
        load_encoder(folder)
    (folder / file).unlink()
    write(folder / "adapter_config.json", {"base_model_name_or_path": "/"})
    with pytest.raises(BadModel, match="holds an adapter"):
        load_encoder(folder)


def test_a_tensor_that_lacks_is_missed(saved, tmp_path):
    folder = _copy(saved("gpt2"), tmp_path)
    weights = load_file(folder / "model.safetensors")
    save_file({n: t for n, t in weights.items() if "h.1.mlp" not in n}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadModel, match="lacks"):
        load_encoder(folder)


def test_a_reranker_of_another_kind_is_refused_before_its_weights_are_read(saved, monkeypatch):
    monkeypatch.setattr(transformers_model, "AutoEncoder", None)
    with pytest.raises(BadModel, match="a 'gpt2' encoder; a reranker needs one of bert"):
        Reranker.load(saved("gpt2"))


class Recorded:
    """As much of a model as is tried when it is loaded: its layers are zeros of some width."""

    def __init__(self, vocabulary, width, found):
        self.vocabulary, self.width, self.found, self.read = vocabulary, width, found, []

    def __call__(self, tokens):
        self.read.append(tokens.values.tolist())
        yield from (torch.zeros(1, 1), torch.zeros(len(tokens.values), self.found))


@pytest.mark.parametrize(("vocabulary", "ids"), [(9, [1, 2, 1]), (2, [1, 0, 1]), (1, [0, 0, 0])])
def test_a_model_is_tried_on_three_tokens_that_it_has(vocabulary, ids, tmp_path):
    model = Recorded(vocabulary, 4, 4)
    transformers_model.AutoEncoder._try(model, tmp_path)
    assert model.read == [ids]
    with pytest.raises(BadModel, match=r"returns a layer of shape \(3, 5\); expected \(3, 4\)"):
        transformers_model.AutoEncoder._try(Recorded(vocabulary, 4, 5), tmp_path)


@pytest.mark.parametrize(
    ("key", "largest"),
    [
        *((key, 200) for key in ("num_layers", "n_layer", "depth")),
        *((key, 100_000) for key in ("num_labels", "_num_labels", "n_langs")),
        *(("vocab_size", 10**8), ("rope_theta", 10**15)),
    ],
)
def test_a_size_is_bounded_wherever_it_stands_in_a_config(key, largest):
    most = transformers_model._most(key)
    assert most == largest
    for within in (lambda value: value, lambda value: {"inner": {key: value}}):
        transformers_model._check_setting(key, within(most))
        with pytest.raises(BadModel, match=f"{key} = .*; expected at most"):
            transformers_model._check_setting(key, within(most + 1))


def test_no_code_of_a_folder_is_run_nothing_is_downloaded_and_no_pickle_read(saved, monkeypatch):
    asked = {}
    for kind, name in (
        ("AutoConfig", "from_pretrained"),
        ("AutoModel", "from_config"),
        ("AutoModel", "from_pretrained"),
    ):
        real = getattr(getattr(transformers, kind), name)

        def watched(*given, real=real, at=f"{kind}.{name}", **how):
            asked[at] = {key: value for key, value in how.items() if key != "config"}
            return real(*given, **how)

        monkeypatch.setattr(getattr(transformers, kind), name, watched)
    load_encoder(saved("gpt2"))
    alone = {"trust_remote_code": False, "local_files_only": True}
    assert asked == {
        "AutoConfig.from_pretrained": alone,
        "AutoModel.from_config": {"trust_remote_code": False},
        "AutoModel.from_pretrained": {
            **alone, "dtype": torch.float32, "use_safetensors": True, "output_loading_info": True,
            "ignore_mismatched_sizes": True,
        },
    }  # fmt: skip


@pytest.mark.parametrize(("numbers", "parts", "fine"), [(43, 1, True), (44, 1, False), (10, 10, True), (10, 11, False)])
def test_a_model_may_have_four_times_the_numbers_and_eight_times_the_parts_of_its_weights(
    numbers, parts, fine, monkeypatch, tmp_path
):
    monkeypatch.setattr(transformers_model, "SPARE_NUMBERS", 3)
    monkeypatch.setattr(transformers_model, "SPARE_PARTS", 2)

    def build():
        made = torch.nn.Module()
        for i in range(parts):
            made.register_parameter(f"p{i}", torch.nn.Parameter(torch.zeros(numbers if i == 0 else 0)))
        made.register_parameter("none", None)
        return made

    shapes = {"a": (2, 5)}  # ten numbers in one tensor
    if fine:
        with transformers_model._counted(shapes, tmp_path):
            build()
    else:
        told = (
            "a model with more than .* parameters? in .* parts?, but the weight files hold 10 parameters in 1 tensor$"
        )
        with pytest.raises(BadModel, match=told), transformers_model._counted(shapes, tmp_path):
            build()
    with transformers_model._counted(shapes, tmp_path), ThreadPoolExecutor(1) as pool:
        pool.submit(torch.nn.Linear, 100, 100).result()  # of another thread


ENCODERS = {
    "mt5": "MT5EncoderModel",
    "umt5": "UMT5EncoderModel",
    "longt5": "LongT5EncoderModel",
    "marian": "MarianEncoder",
}


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_encoder_saved_without_its_decoder_loads_gives_its_layers_and_is_saved_again(kind, tmp_path):
    config = transformers.AutoConfig.for_model(
        kind,
        **CONFIGS["mt5"] | {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 3},
        **{"encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 24} if kind == "marian" else {},
    )
    package, _, module = type(config).__module__.rpartition(".")
    modeling = importlib.import_module(f"{package}.{module.replace('configuration', 'modeling')}")
    theirs = getattr(modeling, ENCODERS[kind])._from_config(config).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    encoder = load_encoder(tmp_path / "theirs")
    with torch.no_grad():
        layers = torch.stack(list(encoder(pack([5]))))
        wanted = theirs(input_ids=pack([5]).values[None], output_hidden_states=True).hidden_states
    torch.testing.assert_close(layers, torch.cat(wanted), atol=1e-5, rtol=1e-4)
    (tmp_path / "ours").mkdir()
    save_encoder(encoder, tmp_path / "ours")
    torch.testing.assert_close(torch.stack(list(load_encoder(tmp_path / "ours")(pack([5])))), layers)


@pytest.mark.parametrize("name", ["AutoModel", "NoSuchEncoder", "T5Encoder", "logging", "GPT2Model", ""])
def test_any_other_name_of_an_architecture_changes_nothing(name, saved):
    folder = saved("gpt2")
    amend(folder / "config.json", architectures=[name])
    assert load_encoder(folder).depth == 2


def test_a_model_that_is_code_in_its_folder_is_refused_without_advice_to_trust_it(saved):
    folder = saved("gpt2")
    amend(folder / "config.json", model_type="somebodys", auto_map={"AutoModel": "modeling.Model"})
    with pytest.raises(BadModel, match="likewise never runs code from model folders; use a model whose") as refused:
        load_encoder(folder)
    assert "trust_remote_code" not in str(refused.value)
