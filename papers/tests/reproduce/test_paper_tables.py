"""Every table of the registry has what a page needs, and its printed figures are those cited elsewhere."""

from argparse import ArgumentParser
from importlib import import_module

import pytest

from likewise.errors import BadInput
from likewise.evaluate.tasks.registry import TASKS
from papers.ledger import experiment_key
from papers.measuring import evaluated, sentence_rates, trained
from papers.measuring.trained import TrainedByRecipe
from papers.paper_table import MEAN, Effort
from papers.tables.paper_tables import PAPER_TABLES, select_tables
from papers.tables.sbert_ablation import ABLATION

EFFORT = Effort(("tiny", "other"), ("tuned",), seeds=2)
TABLES = pytest.mark.parametrize("table", PAPER_TABLES.values(), ids=PAPER_TABLES)


@TABLES
def test_a_table_says_what_it_is_and_prints_figures_of_its_columns(table):
    assert table.title and "20" in table.citation and table.protocol.endswith(".")
    assert all(row.values and set(row.values) <= {*table.columns, MEAN} for row in table.paper)
    assert len({row.system for row in table.paper}) == len(table.paper)
    assert len({system.name for system in table.systems}) == len(table.systems)


@TABLES
def test_every_system_stands_beside_a_row_of_the_paper_or_none(table):
    rows = {row.system for row in table.paper}
    assert {system.beside for system in table.systems} - {None} <= rows
    assert any(system.beside for system in table.systems)


@TABLES
def test_every_column_is_measured_and_every_measure_exists(table):
    experiments = table.experiments(EFFORT)
    means = {MEAN} if table.mean else set()
    assert {column for one in experiments for column in one.columns} == set(table.columns) | means
    assert {one.system for one in experiments} == {system.name for system in table.systems}
    assert {task for task, _ in table.measures.values()} <= set(TASKS)


@TABLES
def test_a_quick_run_says_so_in_every_experiment_and_trains_one_backbone(table):
    quick = table.experiments(Effort(("tiny", "other"), ("tuned",), seeds=2, quick=True, quick_training=True))
    assert all(one.quick and one.settings for one in quick)
    assert {one.backbone for one in quick if one.seed is not None} <= {"tiny", "avg-glove"}


@TABLES
def test_the_papers_printed_means_are_those_of_its_columns_but_for_rounding(table):
    for row in table.paper if table.mean else ():
        mean = sum(row.values[column] for column in table.columns) / len(table.columns)
        off = 0.03 if (table.name, row.system) == ("sbert-1", "SBERT-NLI-base") else 0  # 74.89 is not its row's mean
        assert row.values[MEAN] == pytest.approx(mean + off, abs=0.0051), row.system


def test_all_ten_cells_of_the_ablation_are_there_and_those_that_the_paper_prints_twice():
    rows = PAPER_TABLES["sbert-6"].paper
    assert len(rows) == len(ABLATION) == 12
    assert {row.system for row in rows} == {system.beside for system in PAPER_TABLES["sbert-6"].systems}


TRAINED = {
    (system.method.recipe, *flags)
    for table in PAPER_TABLES.values()
    for system in table.systems
    if isinstance(system.method, TrainedByRecipe)
    for flags in (system.method.flags, (*system.method.flags, *system.method.quick))
}


@pytest.mark.parametrize("recipe", sorted(TRAINED), ids=" ".join)
def test_every_recipe_takes_the_flags_that_it_is_given(recipe, monkeypatch):
    class Parsed(Exception):
        pass

    def parse(parser, argv):
        raise Parsed(parse_known(parser, argv))

    parse_known = ArgumentParser.parse_args
    monkeypatch.setattr(ArgumentParser, "parse_args", parse)
    name, *flags = recipe
    with pytest.raises(Parsed):
        import_module(f"papers.recipes.{name}").main(["tiny", *flags, "--seed", "1", "-o", "x", "--record", "y"])


@pytest.mark.parametrize(
    ("name", "rate"), [("bert-base-uncased", None), ("google-bert/bert-base-uncased", None), ("tiny", 1e-4)]
)
def test_the_papers_backbone_is_trained_at_the_papers_rate(name, rate):
    for table, system in [("sbert-2", "STS-B, cosine"), ("sbert-3", "trained on arguments"), ("sbert-6", "stsb, mean")]:
        flags = {one.settings for one in PAPER_TABLES[table].experiments(Effort((name,), ())) if one.system == system}
        assert ["--learning-rate 1e-4" in one for one in flags] == [rate is not None]


def test_only_equal_systems_share_a_line_of_the_ledger(monkeypatch):
    for module in (evaluated, trained, sentence_rates):
        monkeypatch.setattr(module, "model_fingerprint", str)
        monkeypatch.setattr(module, "files_identity", lambda files: dict.fromkeys(files, "digest"))
    names = {}
    for table in PAPER_TABLES.values():
        for one in table.experiments(EFFORT):
            names.setdefault(experiment_key(one), set()).add((one.system, one.backbone, one.settings))
    assert len(names) > 200 and all(len(shared) == 1 for shared in names.values())


def test_recorded_runs_stand_beside_rows_of_the_paper():
    run = {"recipe": "ablation-nli", "pooling": "mean", "objective": {"concatenation": ["u", "v", "|u-v|"]}}
    assert PAPER_TABLES["sbert-6"].recorded(run) == "nli, mean, (u, v, |u-v|)"
    assert PAPER_TABLES["sbert-6"].recorded(run | {"pooling": "last"}) is None
    assert PAPER_TABLES["sbert-1"].recorded({"recipe": "sbert-nli"}) == "SBERT-NLI-base"
    assert PAPER_TABLES["sbert-5"].recorded({"recipe": "sbert-nli"}) is None


def test_tables_are_chosen_by_name_and_each_once():
    assert [table.name for table in select_tables(["sbert-2,sbert-1", "sbert-2"])] == ["sbert-2", "sbert-1"]
    assert select_tables(["all"]) == list(PAPER_TABLES.values())
    with pytest.raises(BadInput, match="no table 'sbert-9'; expected sbert-1, "):
        select_tables(["sbert-9"])
    with pytest.raises(BadInput, match="no table was given"):
        select_tables([])
