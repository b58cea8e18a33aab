"""The heads of cross-encoders: where each family drops units, which is where transformers does."""

import pytest

from likewise.reranker.classification_heads import CLASSIFIERS

BEFORE_THE_DENSE_LAYER = {"roberta", "xlm-roberta", "camembert", "electra", "mpnet"}
"""Their heads drop their input as well; the others drop only what the dense layer gives."""


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_dropout_comes_where_the_family_has_it(kind):
    config = {"hidden_size": 8, "dim": 8, "id2label": {"0": "a"}}
    assert CLASSIFIERS[kind].shape(config).drops_first == (kind in BEFORE_THE_DENSE_LAYER)
