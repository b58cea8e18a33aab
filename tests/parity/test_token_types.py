"""Token types of pairs, beside sentence-transformers: they depend on the class of the tokenizer."""

import json

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import CrossEncoder as TheirCrossEncoder

from likewise import Reranker
from tests.tiny import config_of, wordpieces

PAIRS = [("a cat sleeps", "the dog and the cat"), ("", "one text is empty"), ("the quick fox", "jumps over the dog")]
CLASSES = (
    *(None, "BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast", "ConvBertTokenizer"),
    *("MobileBertTokenizer", "LayoutLMTokenizer", "SqueezeBertTokenizer", "LxmertTokenizer", "FNetTokenizer"),
    *("PreTrainedTokenizerFast", "TokenizersBackend", "DistilBertTokenizer", "RetriBertTokenizer", "NoSuchTokenizer"),
    "missing",
)
"""Classes that take tokenizer.json as it is; others (MPNetTokenizer, say) put special tokens of their own."""


@pytest.fixture(scope="module", params=["bert", "electra", "albert"])
def folder(request, tmp_path_factory):
    """A classifier whose token types change scores, with a tokenizer that has no settings yet."""
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(**config_of(request.param), num_labels=1)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0.0, 0.3)
    place = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(place)
    wordpieces().save(str(place / "tokenizer.json"))
    return place


@pytest.mark.parametrize("inputs", [None, ["input_ids", "attention_mask"], ["input_ids", "token_type_ids"]], ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_scores_are_those_of_sentence_transformers_whatever_the_tokenizers_class(folder, name, inputs, tmp_path):
    if name in (None, "missing") and folder.name.startswith("albert"):
        pytest.skip("transformers' own class for ALBERT cannot read word pieces")
    settings = {"tokenizer_class": name} if name else {}
    settings |= {"model_input_names": [*inputs, "attention_mask"]} if inputs else {}
    path = folder / "tokenizer_config.json"
    path.unlink(missing_ok=True)
    if name != "missing":
        special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
        path.write_text(json.dumps({**settings, **special}))
    expected = [float(TheirCrossEncoder(str(folder), device="cpu").predict([pair])[0]) for pair in PAIRS]
    ours = Reranker.load(folder)
    np.testing.assert_allclose(ours.score(PAIRS), expected, atol=1e-5, rtol=0)
    ours.save(tmp_path / "saved")
    np.testing.assert_allclose(Reranker.load(tmp_path / "saved").score(PAIRS), expected, atol=1e-5, rtol=0)
