"""The heads of cross-encoders: where each family drops units, which is where transformers does."""

import pytest

from likewise.errors import BadModel
from likewise.reranker.classification_heads import CLASSIFIERS, check_head, head_of, labels_of

BEFORE_THE_DENSE_LAYER = {"roberta", "xlm-roberta", "camembert", "electra", "mpnet"}
"""Their heads drop their input as well; the others drop only what the dense layer gives."""


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_dropout_comes_where_the_family_has_it(kind):
    config = {"hidden_size": 8, "dim": 8, "id2label": {"0": "a"}}
    assert CLASSIFIERS[kind].shape(config).drops_first == (kind in BEFORE_THE_DENSE_LAYER)


DROPOUTS = {
    "mpnet": ("hidden_dropout_prob", 0.1),
    "albert": ("classifier_dropout_prob", 0.1),
    "distilbert": ("seq_classif_dropout", 0.2),
    "modernbert": ("classifier_dropout", 0.0),
    "deberta-v2": ("cls_dropout", 0.1),
    "nomic_bert": ("classifier_dropout", 0.0),
}
"""The setting of families that have their own, and its default; the others have `classifier_dropout`, or 0.1."""


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_what_a_config_leaves_out_is_what_transformers_takes(kind):
    config, shape = {"hidden_size": 8, "dim": 8}, CLASSIFIERS[kind].shape
    name, default = DROPOUTS.get(kind, ("classifier_dropout", 0.1))
    assert shape(config).dropout == default and shape({**config, name: 0.3}).dropout == 0.3
    if kind not in DROPOUTS:  # whose next choice is the encoder's own
        both = {**config, "hidden_dropout_prob": 0.4}
        assert (shape(both).dropout, shape({**both, name: 0.3}).dropout) == (0.4, 0.3)
    found = shape(config)
    assert (found.width, found.labels, found.pooling, found.bias) == (8, 2, "cls", kind != "modernbert")
    assert (found.norm, found.norm_bias) == ((1e-5, False) if kind == "modernbert" else (None, False))


@pytest.mark.parametrize(
    ("kind", "setting", "message"),
    [
        ("modernbert", {"classifier_pooling": "max"}, "classifier_pooling = 'max'; expected cls or mean"),
        ("deberta-v2", {"pooler_hidden_size": 9}, "pooler_hidden_size"),
        ("bert", {"num_labels": 100_001}, "num_labels = 100,001; expected at most 100,000"),
        ("bert", {"id2label": {"0": "a", "1": ["b"]}}, r"id2label = .*; \['b'\] is not a label name; expected 1 to"),
        ("bert", {"id2label": {str(i): "a" for i in range(100_001)}}, "expected 1 to 100,000 names numbered 0, 1, 2"),
    ],
)
def test_what_a_head_cannot_have_is_refused(kind, setting, message):
    with pytest.raises(BadModel, match=message):
        CLASSIFIERS[kind].shape({"hidden_size": 8, **setting})


def test_as_many_labels_as_are_allowed_are_read_and_numbers_are_names():
    assert len(labels_of({"num_labels": 100_000})) == 100_000
    assert len(labels_of({"id2label": dict.fromkeys(range(100000), "a")})) == 100_000
    assert labels_of({"id2label": {"1": 7, "0": "a"}}) == ["a", "7"]
    assert CLASSIFIERS["modernbert"].shape({"hidden_size": 8, "classifier_pooling": "mean"}).pooling == "mean"


@pytest.mark.parametrize("names", [3, "BertForSequenceClassification", [3], ["BertForSequenceClassification", None]])
def test_architectures_are_a_list_of_names(names, tmp_path):
    with pytest.raises(BadModel, match="architectures = .*; expected a list of names"):
        check_head(tmp_path, {"architectures": names}, CLASSIFIERS["bert"])


def test_a_family_without_a_head_is_named_with_those_that_have_one():
    with pytest.raises(BadModel, match="the folder holds a 't5' encoder; a reranker needs one of bert, roberta, "):
        head_of("t5", "the folder holds")
