"""Shards are cut by the input alone, and a shard reads again exactly its rows: the same as reading a file whole."""

import csv
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.distribute.plan import EncodeSettings, make_plan, plan_from_json, plan_to_json
from likewise.distribute.shards import EncodeJob, shard_rows
from likewise.distribute.sources import distinct_ids
from likewise.distribute.sources.output_columns import MIXED, column_kind
from likewise.distribute.sources.source_files import ChosenColumns
from likewise.errors import BadInput
from likewise.files.vector_origin import VectorOrigin

from .outputs import jsonl, settings

ORIGIN = VectorOrigin("m", "f", "numpy", "fp32", 2, "mean", True, 8)
TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)
TABLES = st.lists(st.lists(TEXTS, max_size=7), min_size=1, max_size=4)
"""The texts of some sources."""


def write_jsonl(path, texts):
    path.write_text(
        "\n".join(json.dumps({"text": text, "n": i}) + "\n" * (i % 2) for i, text in enumerate(texts)), "utf-8"
    )


def write_csv(path, texts):
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\r\n")
        rows.writerows([["text", "n"], *([text, i] for i, text in enumerate(texts))])


def write_lines(path, texts):
    path.write_text("".join(" ".join(text.split()) + "\n" for text in texts), "utf-8")


def write_parquet(path, texts):
    pq.write_table(pa.table({"text": pa.array(texts, pa.string()), "n": range(len(texts))}), path, row_group_size=2)


WRITERS = {".jsonl": write_jsonl, ".csv": write_csv, ".txt": write_lines, ".parquet": write_parquet}


def expected_texts(ending, texts):
    """As a reader of the whole file gives them: the slow, obvious way."""
    return [" ".join(text.split()) for text in texts] if ending == ".txt" else list(texts)


@given(TABLES, st.data(), st.integers(1, 6))
def test_shards_read_back_are_the_rows_in_order_each_once(tables, data, size):
    endings = data.draw(st.lists(st.sampled_from(sorted(WRITERS)), min_size=len(tables), max_size=len(tables)))
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / f"{i}{ending}" for i, ending in enumerate(endings)]
        for path, texts in zip(paths, tables, strict=True):
            WRITERS[path.suffix](path, texts)
        plan = make_plan(paths, settings(size))
        assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
        assert [(source.rows, source.text) for source in plan.sources] == [
            (len(texts), "text" if texts else "") for texts in tables
        ]
        job = EncodeJob(Path(place) / "out", plan, ORIGIN, settings(size))
        found = [[row.text for row in shard_rows(job, shard)] for shard in plan.shards]
    expected = [text for path, texts in zip(paths, tables, strict=True) for text in expected_texts(path.suffix, texts)]
    assert [len(part) for part in found] == [shard.rows for shard in plan.shards]
    assert all(len(part) == size for part in found[:-1])
    assert [text for part in found for text in part] == expected


NUMBERS = st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False)
VALUES = st.none() | st.booleans() | NUMBERS | TEXTS | st.lists(st.integers(0, 3), max_size=2)


@given(st.lists(VALUES, max_size=6))
def test_a_carried_column_has_a_type_that_holds_every_value(values):
    with tempfile.TemporaryDirectory() as place:
        source = jsonl(Path(place) / "n.jsonl", [{"text": "x", "v": value} for value in values])
        plan = make_plan([source], settings())
    column = {column.source: column for column in plan.columns}.get("v")
    if column is None:
        assert not values
        return
    arrow = {"string": pa.string(), "bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), MIXED: pa.string()}
    stored = pa.array([column.convert(value) for value in values], arrow[column.type]).to_pylist()
    if column.type == MIXED:
        stored = [
            found if isinstance(value, str | None) else json.loads(found)
            for found, value in zip(stored, values, strict=True)
        ]
    assert stored == values


def test_kinds_know_what_a_double_holds():
    values = (None, True, 1 << 53, -(1 << 53) - 1, (1 << 63) - 1, -(1 << 63), 1 << 63, 0.5, "a", [])
    assert [column_kind(value) for value in values] == [
        "none", "bool", "int", "long", "long", "long", "other", "float", "str", "other",
    ]  # fmt: skip


def test_columns_to_keep_must_be_in_some_source_unless_all_are_empty(tmp_path):
    first, second = jsonl(tmp_path / "a.jsonl", [{"text": "x", "a": 1}]), jsonl(tmp_path / "b.jsonl", [{"text": "y"}])
    assert [one.source for one in make_plan([first, second], settings(keep=("a",))).columns] == ["a"]
    with pytest.raises(BadInput, match="there is no column 'b' to keep in any source; the columns are text, a"):
        make_plan([first, second], settings(keep=("a", "b", "c")))
    assert make_plan([jsonl(tmp_path / "c.jsonl", [])], settings(keep=("b",))).columns == ()


def test_by_default_shards_have_16384_rows_all_columns_are_kept_and_bad_rows_are_errors():
    expected = EncodeSettings(ChosenColumns(text=None, id=None, keep=None), 16_384, None, skips_bad_rows=False)
    assert EncodeSettings() == expected and EncodeSettings().differences(expected) == []
    assert expected.differences(settings(1, skip=True, keep=("a",))) == [
        "shard_rows 16384 and 1",
        "skips_bad_rows False and True",
        "column keep None and ('a',)",
    ]


def test_a_shard_has_a_row_at_least(tmp_path):
    for rows in (0, -1):
        with pytest.raises(BadInput, match=f"{rows} rows per shard; expected 1 or more"):
            make_plan([jsonl(tmp_path / "a.jsonl", [])], settings(rows))
    assert [
        shard.rows for shard in make_plan([jsonl(tmp_path / "a.jsonl", [{"text": "x"}] * 2)], settings(1)).shards
    ] == [1, 1]


@given(st.lists(st.integers(0, 300), max_size=40), st.sampled_from([1, 60, 1 << 14]))
@example([*range(1500), 3, 900], 60)
def test_equal_ids_are_found_however_few_digests_are_held_in_memory(ids, room):
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct_ids, "BUFFER_BYTES", room)
        distinct = distinct_ids.DistinctIds(Path(place))
        for line, one in enumerate(ids, 1):
            distinct.add(str(one), line % 2, line)
        places = {f"{'ba'[line % 2 - 1]}:{line}" for line, one in enumerate(ids, 1) if ids.count(one) > 1}
        if not places:
            distinct.check(["a", "b"])
            assert not [*Path(place).iterdir()]
            return
        with pytest.raises(BadInput, match=r"^rows (\w:\d+) and (\w:\d+) have the same id") as told:
            distinct.check(["a", "b"])
    first, second = str(told.value).split()[1:4:2]
    assert {first, second} <= places and int(first[2:]) < int(second[2:])
    assert ids[int(first[2:]) - 1] == ids[int(second[2:]) - 1]


def test_types_of_parquet_stay_as_they_are(tmp_path):
    table = pa.table(
        {"text": ["a"], "when": pa.array([0], pa.timestamp("us", "UTC")), "small": pa.array([1], pa.int8())}
    )
    pq.write_table(table, tmp_path / "n.parquet")
    from likewise.distribute.shard_files import shard_schema

    plan = make_plan([tmp_path / "n.parquet"], settings())
    schema = shard_schema(plan.columns, ORIGIN)
    assert (schema.field("when").type, schema.field("small").type) == (pa.timestamp("us", "UTC"), pa.int8())
    jsonl(tmp_path / "n.jsonl", [{"text": "b", "when": "today", "small": 1 << 40}])
    mixed = {column.name: column.type for column in make_plan([*tmp_path.glob("n.*")], settings()).columns}
    assert mixed == {"when": MIXED, "small": "int64"}


def test_columns_that_are_named_as_ours_get_an_underscore(tmp_path):
    rows = [{"body": "a", "text": "b", "vector": 1, "id": 2, "id_": 3}]
    plan = make_plan([jsonl(tmp_path / "n.jsonl", rows)], settings(text="body"))
    assert {c.source: c.name for c in plan.columns} == {
        "text": "text_",
        "vector": "vector_",
        "id": "id_",
        "id_": "id__",
    }
