"""The tables of objectives: every one is listed with its columns and options, and data find the ones that fit."""

import inspect
from pathlib import Path

import pytest

from likewise.cli import main
from likewise.errors import BadInput
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import OBJECTIVES, RERANKER_OBJECTIVES, Contrastive, CoSENT
from likewise.train.objectives.registry import (
    fitting_hint,
    fitting_objectives,
    objectives_markdown,
    objectives_text,
    parse_objective,
)
from likewise.train.objectives.reranking import PairRegression

EVERY = [*OBJECTIVES.items(), *RERANKER_OBJECTIVES.items()]


@pytest.mark.parametrize("listing", [objectives_text(10_000), objectives_markdown()], ids=["terminal", "Markdown"])
def test_every_objective_is_listed_with_columns_options_purpose_and_paper(listing):
    for name, entry in EVERY:
        columns = entry.build().reads()
        options = inspect.signature(entry.build).parameters
        for fact in (name, entry.purpose, entry.paper, entry.sentence_transformers, *columns.texts, *columns.numbers):
            assert fact in listing
        assert all(f"{option}=" in listing for option, one in options.items() if one.default is not one.empty)
        assert entry.purpose and entry.paper


def test_the_command_line_lists_them(capsys):
    assert main(["train", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name}\n" in listed for name, _ in EVERY)


def test_a_terminal_is_not_exceeded():
    assert max(map(len, objectives_text(80).splitlines())) <= 80


def test_the_page_of_objectives_is_the_table_of_the_code():
    page = Path(__file__).parents[3] / "docs" / "objectives.md"
    assert objectives_markdown() in page.read_text("utf-8"), "run: python -m benchmarks.objectives_page"


@pytest.mark.parametrize(
    ("columns", "fitting"),
    [
        (["anchor", "positive"], ["contrastive"]),
        (["anchor", "positive", "negative"], ["contrastive", "triplet"]),
        (["sentence1", "sentence2", "score"], ["regression", "cosent", "angle"]),
        (["sentence1", "sentence2", "label"], ["classification", "margin-pairs"]),
        (["sentence"], ["simcse", "tsdae"]),
        (["question", "answer"], []),
    ],
)
def test_columns_find_the_objectives_that_read_them(columns, fitting):
    assert fitting_objectives(columns) == fitting
    hint = fitting_hint(columns)
    assert ", ".join(columns) in hint and (", ".join(fitting) or "none") in hint


def test_an_objective_that_does_not_fit_names_those_that_do():
    pairs = {"anchor": ["a", "b"], "positive": ["c", "d"]}
    with pytest.raises(BadInput, match="objectives that fit the columns anchor, positive: contrastive;"):
        TrainingRows.of(pairs, CoSENT())
    with pytest.raises(BadInput, match="objectives that fit the columns sentence1, sentence2, label: classification;"):
        TrainingRows.of({"sentence1": ["a"], "sentence2": ["b"], "label": [1]}, PairRegression())


@pytest.mark.usefixtures("unchecked")
def test_a_text_that_is_missing_in_the_first_row_is_named():
    with pytest.raises(BadInput, match="row 0: positive is None"):
        TrainingRows.of({"anchor": ["a", "b"], "positive": [None, "d"]}, Contrastive())


def test_rerankers_have_objectives_of_their_own():
    assert fitting_objectives(["anchor", "positive", "negative"], RERANKER_OBJECTIVES) == [
        *("margin", "ranking", "in-batch")
    ]


@pytest.mark.parametrize(
    ("loss", "table", "ours"),
    [
        ("MultipleNegativesRankingLoss", OBJECTIVES, "use contrastive instead; docs/moving"),
        ("GISTEmbedLoss", OBJECTIVES, "use contrastive instead; docs/moving"),
        ("TripletLoss", OBJECTIVES, "use triplet instead; docs/moving"),
        ("MSELoss", RERANKER_OBJECTIVES, "use regression instead; docs/moving"),
        ("MatryoshkaLoss", OBJECTIVES, "is unknown; docs/moving-from-sentence-transformers.md lists the"),
        ("contrastiv", OBJECTIVES, r"did you mean contrastive\?"),
    ],
)
def test_a_loss_of_sentence_transformers_is_found_by_its_name_there(loss, table, ours):
    with pytest.raises(BadInput, match=ours):
        parse_objective(loss, table)
