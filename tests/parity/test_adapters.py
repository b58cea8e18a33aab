"""Adapters as PEFT saves them: our vectors beside those of PEFT's own model, whose matrices are not merged."""

import numpy as np
import pytest
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from sentence_transformers import SentenceTransformer

from likewise import Embedder
from likewise.train import TrainSettings, load_data, train
from tests.tiny import TEXTS, model_folder, write

KINDS = {
    "bert": ["query", "value", "dense"],
    "modernbert": ["Wqkv", "Wo"],
    "distilbert": ["q_lin", "lin1"],
    "xlm-roberta": "all-linear",
}
OPTIONS = [{}, {"use_rslora": True}, {"alpha_pattern": {"query": 3}, "rank_pattern": {"value": 2}}]
SHORT = [text for text in TEXTS if text]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("family", KINDS)
def test_vectors_are_those_of_peft(family, options, tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    base = model_folder(tmp_path / "base", family)
    padding = "<pad>" if '"<pad>"' in (base / "tokenizer.json").read_text("utf-8") else "[PAD]"
    write(base / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": padding})
    torch.manual_seed(2)
    loaded = transformers.AutoModel.from_pretrained(base)
    made = get_peft_model(loaded, LoraConfig(r=4, lora_alpha=8, target_modules=KINDS[family], **options))
    for name, parameter in made.named_parameters():
        if "lora_" in name:
            parameter.data.normal_(0, 0.2)
    made.save_pretrained(tmp_path / "adapter")
    reference = SentenceTransformer(str(base), device="cpu")
    without = reference.encode(SHORT)
    plain = transformers.AutoModel.from_pretrained(base)
    reference[0].model = PeftModel.from_pretrained(plain, str(tmp_path / "adapter")).eval()
    expected = reference.encode(SHORT)
    assert np.abs(expected - without).max() > 0.01
    np.testing.assert_allclose(Embedder.load(tmp_path / "adapter").encode(SHORT), expected, atol=2e-6, rtol=0)


def test_peft_reads_the_adapter_that_training_saves(tmp_path):
    base = model_folder(tmp_path / "base", "bert")
    pairs = {"anchor": SHORT, "positive": SHORT[1:] + SHORT[:1]}
    settings = TrainSettings(max_steps=4, batch_size=4, learning_rate=1e-2, lora_rank=2, show_progress_bar=False)
    train(base, load_data(pairs, "contrastive"), settings, output=tmp_path / "out")
    plain = transformers.AutoModel.from_pretrained(base)
    merged = PeftModel.from_pretrained(plain, str(tmp_path / "out" / "adapter")).merge_and_unload().state_dict()
    finished = transformers.AutoModel.from_pretrained(tmp_path / "out").state_dict()
    finished = {name: tensor for name, tensor in finished.items() if "pooler" not in name}  # it is not in the files
    original = transformers.AutoModel.from_pretrained(base).state_dict()
    changed = [name for name in finished if not torch.allclose(original[name], finished[name], atol=1e-6)]
    assert any("query" in name for name in changed) and any("value" in name for name in changed)
    for name, tensor in finished.items():
        torch.testing.assert_close(merged[name], tensor, atol=1e-6, rtol=0)
