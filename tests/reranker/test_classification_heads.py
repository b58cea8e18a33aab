"""The heads of cross-encoders: where each family drops units, which is where transformers does."""

import pytest

from likewise.reranker.classification_heads import CLASSIFIERS

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
