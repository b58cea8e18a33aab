"""`verify_output` finds whatever is not as it was written."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.distribute.shards import file_digest
from likewise.distribute.verify_output import TOLERANCE, verify_output
from likewise.errors import BadInput
from likewise.files.vector_origin import VectorOrigin

from .outputs import encoded, numbered, sentence, settings


@pytest.fixture
def output(static, tmp_path):
    encoded([numbered(tmp_path / "n.jsonl")], tmp_path / "out", static, settings())
    return tmp_path / "out"


def rewritten(folder, number, change):
    """Replace a shard by another table, and its checksum in the manifest by the new one, as a careful hand would."""
    path = folder / "shards" / f"{number:06}.parquet"
    table = change(pq.read_table(path))
    pq.write_table(table, path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["records"][number]["bytes"], manifest["records"][number]["blake2b"] = file_digest(path)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def with_vectors(table, change):
    """The table with other vectors: what `change` returns for those that it has."""
    vectors = np.array(change(np.array(table["vector"].to_pylist(), np.float32)), np.float32)
    field = table.schema.field("vector")
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), field.type.list_size).cast(field.type)
    return table.set_column(2, field, column)


def test_what_was_written_is_clean_and_every_row_computes_the_same(static, output):
    report = verify_output(output, static, sample=10, show_progress_bar=False)
    assert (report.rows, report.shards, report.compared, report.largest_difference) == (10, 3, 10, 0.0)
    assert report.is_clean
    seen = []
    shown = {"show_progress_bar": lambda meter: seen.append((meter.texts, meter.tokens, meter.total))}
    report = verify_output(output, static, **shown)
    assert (report.compared, seen) == (0, [(4, 0, 10), (8, 0, 10), (10, 0, 10)])


def test_a_changed_byte_a_shorter_file_and_a_missing_one_are_found(static, output):
    for number, change in enumerate([lambda data: data[:50] + b"\0" + data[51:], lambda data: data[:-1], None]):
        path = output / "shards" / f"{number:06}.parquet"
        path.write_bytes(change(path.read_bytes())) if change else path.unlink()
    report = verify_output(output, static, sample=10, show_progress_bar=False)
    assert list(report.damaged) == [0, 1, 2] and not report.is_clean
    assert "has changed" in report.damaged[0] and "cannot be read: No such file" in report.damaged[2]


def test_rows_columns_and_vectors_are_found_changed_where_the_checksum_was_changed_too(static, output):
    rewritten(output, 0, lambda table: table.slice(1))
    rewritten(output, 1, lambda table: table.drop_columns(["id"]))
    rewritten(output, 2, lambda table: with_vectors(table, lambda vectors: np.roll(vectors, 1, axis=1)))
    report = verify_output(output, static, sample=10, show_progress_bar=False)
    assert "has 3 rows; expected 4" in report.damaged[0]
    assert "has columns or an origin that differ" in report.damaged[1]
    assert "the vector of" in report.damaged[2] and "differs by" in report.damaged[2]


def test_a_shard_of_another_model_is_damaged(output):
    rewritten(output, 1, lambda table: table.replace_schema_metadata({**table.schema.metadata, b"fingerprint": b"x"}))
    report = verify_output(output, show_progress_bar=False)
    assert list(report.damaged) == [1] and "has columns or an origin that differ" in report.damaged[1]


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_in_other_precisions_a_vector_may_differ_by_a_fiftieth_and_the_first_row_that_does_is_named(
    static, tmp_path, precision
):
    origin = replace(VectorOrigin.of(static, "static"), precision=precision)
    encoded([numbered(tmp_path / "n.jsonl")], tmp_path / "out", static, settings(id="id"), origin=origin)
    lengths = np.linalg.norm(static.encode([sentence(i) for i in range(4, 8)]), axis=1)
    for parts, damaged in (((0, 0.018, 0.019, 0), []), ((0, 0.01, 0.024, 0.03), [1])):
        nudge = (np.array(parts) * lengths)[:, None] * (np.arange(static.dimension) == 2)
        rewritten(tmp_path / "out", 1, lambda table, nudge=nudge: with_vectors(table, lambda vectors: vectors + nudge))
        report = verify_output(tmp_path / "out", static, sample=10, show_progress_bar=False)
        assert list(report.damaged) == damaged
        encoded([tmp_path / "n.jsonl"], tmp_path / "out", static, settings(id="id"), origin=origin, resume=False)
    told = "000001.parquet: the vector of 'n6' differs by 0.024 of its length from what the model computes now"
    assert f"{told}; expected at most 0.02" in report.damaged[1]


@pytest.mark.parametrize(("part", "damaged"), [(0.9, []), (1.2, [1]), (np.nan, [1])])
def test_a_vector_may_differ_by_a_ten_thousandth_of_its_length(static, output, part, damaged):
    def nudged(vectors):
        vectors[:, 2] += part * TOLERANCE["fp32"] * np.linalg.norm(vectors, axis=1)
        return vectors

    rewritten(output, 1, lambda table: with_vectors(table, nudged))
    report = verify_output(output, static, sample=10, show_progress_bar=False)
    assert list(report.damaged) == damaged and TOLERANCE == {"fp32": 1e-4}
    expected = np.inf if np.isnan(part) else pytest.approx(part * 1e-4, rel=0.02)
    assert report.largest_difference == expected


def test_as_many_rows_are_computed_again_as_asked_for_others_by_another_seed(static, output, monkeypatch):
    chosen, encode = [], type(static).encode

    def watched(self, texts, **options):
        chosen[-1] |= {*texts}
        return encode(self, texts, **options)

    monkeypatch.setattr(type(static), "encode", watched)
    for seed in range(30):
        chosen.append(set())
        assert (
            verify_output(output, static, sample=3, seed=seed, show_progress_bar=False).compared == 3 == len(chosen[-1])
        )
    assert len(set.union(*chosen)) == 10
    chosen.append(set())
    verify_output(output, static, sample=3, show_progress_bar=False)
    assert chosen[-1] == chosen[0]  # the seed is 0 by default


def test_what_is_missing_or_strange_is_a_problem(static, output):
    manifest = json.loads((output / "manifest.json").read_text())
    manifest["complete"] = False
    (output / "manifest.json").write_text(json.dumps(manifest))
    shutil.copy(output / "shards" / "000000.parquet", output / "shards" / "000007.parquet")
    seen = []
    report = verify_output(output, show_progress_bar=lambda meter: seen.append((meter.texts, meter.total)))
    assert not report.is_clean and seen == []
    assert report.problems == ["3 of 3 shards are not encoded yet", "shards/000007.parquet is not in the manifest"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "was not written by `likewise encode`: it has no manifest.json"),
        ("{", "cannot be read"),
        ('{"format": 2}', "is not a manifest of format 1"),
        ('{"format": 1}', "is damaged"),
        ("[]", "is not a manifest"),
    ],
)
def test_a_folder_without_a_good_manifest_is_refused(tmp_path, content, words):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(BadInput, match=words):
        verify_output(tmp_path)
