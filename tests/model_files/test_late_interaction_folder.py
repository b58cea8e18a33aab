"""What a late-interaction model's folder says of its tokens, in each form, and what holds where it says nothing."""

import string

import pytest

from likewise.errors import BadModel
from likewise.model_files.reranker_folder import read_pair_manifest
from tests.tiny import amend, colbert_folder, write

SPOKEN = "config_sentence_transformers.json"
PUNCTUATION = tuple(string.punctuation)
NOTHING = {
    "query_length": None,
    "document_length": None,
    "expanded_to": 0,
    "expansion_token": None,
    "attends_expansion": False,
    "has_markers": True,
    "unscored": (),
}
CASES = {
    "Stanford's, all left out": (
        "HF_ColBERT", "artifact.metadata", {},
        {"query_prefix": "[unused0]", "document_prefix": "[unused1]", "query_length": 32, "expanded_to": 32,
         "unscored": PUNCTUATION},
    ),
    "Stanford's": (
        "HF_ColBERT", "artifact.metadata",
        {"query_token_id": "[Q]", "doc_token_id": "[D]", "query_maxlen": 20, "doc_maxlen": 50,
         "attend_to_mask_tokens": True, "mask_punctuation": False},
        {"query_prefix": "[Q]", "document_prefix": "[D]", "query_length": 20, "document_length": 50, "expanded_to": 20,
         "attends_expansion": True},
    ),
    "PyLate's, all left out": (
        "ColBERT", SPOKEN, {"model_type": "ColBERT"},
        {"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 32, "expanded_to": 32,
         "unscored": PUNCTUATION},
    ),
    "PyLate's": (
        "ColBERT", SPOKEN,
        {"model_type": "ColBERT", "query_prefix": "q", "document_prefix": "d", "query_length": 20,
         "document_length": 50, "do_query_expansion": False, "attend_to_expansion_tokens": True, "skiplist_words": []},
        {"query_prefix": "q", "document_prefix": "d", "query_length": 20, "document_length": 50,
         "attends_expansion": True},
    ),
    "sentence-transformers', all left out": (
        "MultiVectorEncoder", "sentence_bert_config.json", {},
        {"query_prefix": "[unused0] ", "document_prefix": "[unused1] ", "has_markers": False, "unscored": (".", ",")},
    ),
    "sentence-transformers', of a fixed length": (
        "MultiVectorEncoder", "sentence_bert_config.json",
        {"query_length": 40, "document_length": 50,
         "query_expansion": {"strategy": "fixed", "length": 20, "token": "[M]", "attend": True}},
        {"query_prefix": "[unused0] ", "document_prefix": "[unused1] ", "query_length": 20, "document_length": 50,
         "expanded_to": 20, "expansion_token": "[M]", "attends_expansion": True, "has_markers": False,
         "unscored": (".", ",")},
    ),
    "sentence-transformers', of at least a length": (
        "MultiVectorEncoder", "sentence_bert_config.json",
        {"query_length": 40, "query_expansion": {"strategy": "minimum", "length": 20}},
        {"query_prefix": "[unused0] ", "document_prefix": "[unused1] ", "query_length": 40, "expanded_to": 20,
         "has_markers": False, "unscored": (".", ",")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_settings_are_those_of_the_folder_or_of_the_form(name, tmp_path):
    form, file, given, wanted = CASES[name]
    folder = colbert_folder(tmp_path / "m", form)
    write(folder / file, given)
    manifest = read_pair_manifest(folder)
    assert manifest.late.config == NOTHING | wanted
    (dense,) = manifest.heads
    assert dense.kind == "Dense"
    assert {name: dense.config[name] for name in ("in_features", "out_features", "bias")} == {
        "in_features": 32, "out_features": 16, "bias": False,
    }  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("key", ["query_maxlen", "doc_maxlen"])
def test_lengths_are_whole_numbers_below_a_bound(key, tmp_path):
    folder = colbert_folder(tmp_path / "m")
    for length in (0, (1 << 30) - 1):
        amend(folder / "artifact.metadata", **{key: length})
        assert (
            read_pair_manifest(folder).late.config[{"query_maxlen": "query_length"}.get(key, "document_length")]
            == length
        )
    for length in (-1, 1 << 30, 32.0, True):
        amend(folder / "artifact.metadata", **{key: length})
        with pytest.raises(BadModel, match="expected whole numbers of tokens"):
            read_pair_manifest(folder)
