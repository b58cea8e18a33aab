"""What an engine without torch computes by default: nothing special."""

from dataclasses import fields

from likewise.engines.description import BlockWeights, Description


def test_a_description_of_a_table_of_words_has_nothing_of_a_transformer():
    about = vars(Description(vocabulary=3, width=2, longest=5, words="table"))
    given = {"vocabulary": 3, "width": 2, "longest": 5, "words": "table"}
    assert {name: value for name, value in about.items() if value} == given | {
        **{"heads": 1, "activation": "gelu", "eps": 1e-12, "word_scale": 1.0}
    }


def test_a_block_rotates_nothing_and_attends_to_all_tokens():
    block = BlockWeights("query", "out", "up", "down")
    rest = {field.name: getattr(block, field.name) for field in fields(block)[4:]}
    assert {name: value for name, value in rest.items() if value is not None} == {
        **{"theta": 0.0, "stretch": 1.0, "reach": -1}
    }
