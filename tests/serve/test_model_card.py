"""A model's card as JSON: what the recipes and packaged models write is read back, and anything else is harmless."""

from importlib.resources import as_file, files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.serve.routes.model_card import about, card_notes, card_scores, card_text, front_value

BUNDLED = ("likewise-mini", "likewise-static")
CARD = """---
license: apache-2.0
language: en
---

# tiny

A sentence encoder, by `mean`.

base_model: none, outside of the head

## Scores

The best step was chosen by stsb-dev.

| score | × 100 | 95 % interval | items | before training |
| --- | --- | --- | --- | --- |
| stsb-dev | 86.04 | 84.36 … 87.55 | 1,500 | 40.00 |
| mean | -3 | — | — | — |
| broken | many | 1 … 2 | 3 | — |

## Limits

- Texts longer than 256 tokens are truncated.
"""


@pytest.mark.parametrize("name", BUNDLED)
def test_the_scores_of_packaged_models_lie_within_their_intervals(name):
    with as_file(files("likewise") / "bundled" / name) as folder:
        scores = card_scores(card_text(folder))
    assert len(scores) >= 10
    assert sum(score["low"] is not None for score in scores) >= 10
    assert all(score["low"] is None or score["low"] <= score["score"] <= score["high"] for score in scores)


def test_a_card_is_read_by_its_heads_and_rows_without_a_number_are_left_out():
    assert [tuple(score.values()) for score in card_scores(CARD)] == [
        ("stsb-dev", 86.04, 84.36, 87.55, 1500),
        ("mean", -3.0, None, None, None),
    ]
    assert about(CARD) == "A sentence encoder, by mean."
    assert card_notes(CARD) == ["The best step was chosen by stsb-dev.", "Texts longer than 256 tokens are truncated."]
    assert (front_value(CARD, "license"), front_value(CARD, "base_model")) == ("apache-2.0", None)


def test_the_table_of_another_kind_of_card_is_not_taken_for_scores():
    assert card_scores("## Scores\n\n| fused | baseline | gain |\n|---|---|---|\n| 80 | 79 | 1 |\n") == []


@given(st.text(alphabet="#|-×10 95%… \n:abc.,`", max_size=300))
def test_any_text_is_a_card_with_or_without_scores(text):
    for card in (text, "## Scores\n" + text):
        assert all(isinstance(score["score"], float) for score in card_scores(card))
        assert about(card) is None or about(card)
        assert all(card_notes(card))


def test_a_folder_without_a_card_has_none(tmp_path):
    assert card_text(tmp_path) == ""
    (tmp_path / "README.md").write_bytes(b"\xff\xfe")
    assert card_text(tmp_path) == ""
    for size, is_read in ((1 << 20, True), ((1 << 20) + 1, False)):
        (tmp_path / "README.md").write_bytes(b"a" * size)
        assert len(card_text(tmp_path)) == size * is_read


def test_the_route_tells_no_path_of_the_machine(client, served_models):
    card = client.get("/card").json()
    assert card["model"] == "tiny"
    assert (card["scores"], card["notes"], card["about"]) == ([], [], None)
    model, facts = served_models[0], card["facts"]
    assert (facts["numbers"], facts["longest_input"], facts["precision"]) == (32, model.max_seq_length, "fp32")
    assert (facts["vocabulary"], facts["prompts"], facts["license"]) == (model.tokenizer.vocabulary, {}, None)
    assert card["facts"]["fingerprint"] == served_models[0].fingerprint
    assert str(served_models[0].manifest.encoder) not in str(card)
    assert client.get("/card?model=nothing").status_code == 404
