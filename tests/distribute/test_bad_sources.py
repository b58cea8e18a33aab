"""What cannot be used is refused before anything is encoded, with the file and the line; or left out and counted."""

import gzip
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.distribute import shards as shards_module
from likewise.errors import BadInput
from likewise.files.lines import LinePlace, open_lines
from likewise.files.vector_origin import VectorOrigin

from .outputs import content, encoded, jsonl, numbered, rows_of, settings

GOOD = '{"id": "a", "text": "a red house"}\n'


def lines(path: Path, *rows: str | bytes) -> Path:
    path.write_bytes(b"".join(row if isinstance(row, bytes) else row.encode() for row in rows))
    return path


BAD_LINES = [
    ('{"id": "b"}\n', "line 2: there is no column 'text'; found id"),
    ('{"id": "b", "text": null}\n', "line 2: the text in column 'text' is null"),
    ('{"id": "b", "text": 3}\n', "line 2: expected a text in column 'text', found '3' .int."),
    ('{"text": "x"}\n', "line 2: there is no column 'id' for ids; found text"),
    ('{"id": null, "text": "x"}\n', "line 2: the id in column 'id' is None; expected a text or a whole number"),
    ('{"id": 1.5, "text": "x"}\n', "line 2: the id in column 'id' is 1.5"),
    ('{"id": true, "text": "x"}\n', "line 2: the id in column 'id' is True"),
    ('{"id": "", "text": "x"}\n', "line 2: the id in column 'id' is ''"),
    ('{"id": "b", "text": "x"\n', "line 2 is not valid JSON"),
    ("[1, 2]\n", "line 2 contains a list; expected an object or a text"),
    ('{"id": "b", "text": "\\ud800"}\n', "line 2: the column 'text' contains half of a surrogate pair"),
    (b'{"id": "b", "text": "\xe9t\xe9"}\n', r"line 2 is not valid UTF-8 \(byte 22 is 0xe9\)"),
]


@pytest.mark.parametrize(("bad", "words"), BAD_LINES)
def test_a_bad_row_is_an_error_that_names_it_or_is_left_out_and_counted(static, tmp_path, bad, words):
    source = lines(tmp_path / "n.jsonl", GOOD, bad, '{"id": "c", "text": "the sea"}\n')
    with pytest.raises(BadInput, match=words) as error:
        encoded([source], tmp_path / "out", static, settings(id="id"))
    assert str(source) in str(error.value)
    assert not (tmp_path / "out").exists()
    report = encoded([source], tmp_path / "out", static, settings(1, id="id", skip=True))
    assert (report.rows, report.left_out) == (2, 1)
    assert [row["id"] for row in rows_of(tmp_path / "out")] == ["a", "c"]


@pytest.mark.parametrize(
    ("bad", "words"), [("b,c,d\n", "line 3: this row has 3 fields"), (b"b,\xff\n", "line 3 is not")]
)
def test_a_bad_row_of_a_table_too(static, tmp_path, bad, words):
    source = lines(tmp_path / "n.csv", "id,text\n", "a,a red house\n", bad, 'c,"the\nsea"\n')
    with pytest.raises(BadInput, match=words):
        encoded([source], tmp_path / "out", static, settings(id="id"))
    assert encoded([source], tmp_path / "out", static, settings(1, id="id", skip=True)).left_out == 1
    assert [row["text"] for row in rows_of(tmp_path / "out")] == ["a red house", "the\nsea"]


def test_a_first_line_that_names_the_columns_cannot_be_skipped(static, tmp_path):
    source = lines(tmp_path / "n.csv", b"\xff,text\n", "a,a red house\n", "b,the sea\n")
    with pytest.raises(BadInput, match="line 1 is not valid UTF-8, but it names the columns; save the file as UTF-8"):
        encoded([source], tmp_path / "out", static, settings(1, skip=True))


def test_a_null_in_parquet_too(static, tmp_path):
    pq.write_table(pa.table({"text": ["a red house", None, "the sea"]}), tmp_path / "n.parquet")
    with pytest.raises(BadInput, match=r"n\.parquet, row 2: the text in column 'text' is null"):
        encoded([tmp_path / "n.parquet"], tmp_path / "out", static, settings())
    assert encoded([tmp_path / "n.parquet"], tmp_path / "out", static, settings(skip=True)).left_out == 1
    ids = [row["id"][-1] for row in rows_of(tmp_path / "out")]
    assert ids == ["0", "2"]  # an interrupted run of an earlier version goes on with the same ids


def test_ids_that_occur_twice_are_refused_and_both_places_named(static, tmp_path):
    sources = [numbered(tmp_path / "a.jsonl", 4), numbered(tmp_path / "b.jsonl", 5, first=3)]
    with pytest.raises(BadInput, match=r"rows .*a\.jsonl:4 and .*b\.jsonl:1 have the same id"):
        encoded(sources, tmp_path / "out", static, settings(id="id"))
    assert not (tmp_path / "out").exists()
    assert encoded(sources, tmp_path / "out", static, settings()).rows == 9


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def compressed_gz(path: Path) -> Path:
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def compressed_zst(path: Path) -> Path:
    zstandard = pytest.importorskip("zstandard")
    target = path.with_name(path.name + ".zst")
    frames = [path.read_bytes()[:100], path.read_bytes()[100:]]  # two frames, as concatenated files have
    target.write_bytes(b"".join(zstandard.ZstdCompressor().compress(frame) for frame in frames))
    return target


@pytest.mark.parametrize("compressed", [compressed_gz, compressed_zst])
def test_compressed_files_are_read_and_one_that_is_cut_off_or_damaged_is_refused(static, tmp_path, compressed):
    source = compressed(numbered(tmp_path / "n.jsonl", 30))
    encoded([tmp_path / "n.jsonl"], tmp_path / "plain", static, settings(7, id="id"))
    encoded([source], tmp_path / "out", static, settings(7, id="id"))
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "plain")
    whole = source.read_bytes()
    cut_off(source)
    with pytest.raises(BadInput, match=r"n\.jsonl\.\w+ is truncated or damaged after line \d+"):
        encoded([source], tmp_path / "other", static, settings())
    with open_lines(source, LinePlace(10**6, 29)) as lines, pytest.raises(BadInput, match="truncated or damaged: "):
        lines.skip()
    source.write_bytes(whole[:40] + bytes(20) + whole[60:])
    with pytest.raises(BadInput, match="is truncated or damaged"):
        encoded([source], tmp_path / "other", static, settings())


def test_parquet_that_is_cut_off_is_refused(static, tmp_path):
    pq.write_table(pa.table({"text": ["a red house"]}), tmp_path / "n.parquet")
    cut_off(tmp_path / "n.parquet")
    with pytest.raises(BadInput, match=r"n\.parquet is not a Parquet file"):
        encoded([tmp_path / "n.parquet"], tmp_path / "out", static, settings())


@pytest.mark.parametrize("at", ["plan", "end of plan", "shard"])
def test_a_file_that_grows_while_it_is_read_is_refused_and_what_is_finished_kept(static, tmp_path, monkeypatch, at):
    source = numbered(tmp_path / "n.jsonl")

    def append(*_):
        with source.open("a") as file:
            file.write(GOOD)

    if at != "shard":
        monkeypatch.setattr("likewise.distribute.plan.CHECK_EVERY", 4 if at == "plan" else 1 << 14)
        size = 10**9 if at == "plan" else source.stat().st_size + 1  # for ever, as fast as it is read; or once
        monkeypatch.setattr(
            "likewise.distribute.plan._Cutter.add", lambda *_: append() if source.stat().st_size < size else None
        )
    else:
        plain = shards_module.file_digest
        monkeypatch.setattr(shards_module, "file_digest", lambda path: (append(), plain(path))[1])
    with pytest.raises(BadInput, match=r"n\.jsonl has changed since it was first read"):
        encoded([source], tmp_path / "out", static, settings())
    assert (tmp_path / "out" / "journal.jsonl").exists() == (at == "shard")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error_that_names_it(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    source.chmod(0)
    with pytest.raises(OSError, match=r"n\.jsonl"):
        encoded([source], tmp_path / "out", static, settings())


def test_a_file_that_is_gone_when_its_shard_is_encoded_is_named(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")

    def gone(job, numbers, advance):
        source.unlink()
        yield shards_module.encode_shard(job, 0, static)

    where = r"shard 0 \(.*n\.jsonl:1 to 4\): .*n\.jsonl"
    with pytest.raises(BadInput, match=f"{where} cannot be read again: No such file"):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=gone)


@pytest.mark.parametrize(
    ("before", "after", "found"), [("a\nthe sea\n", "a the sea\n", 1), ('"a\nb"\nthe sea\n', " a\nb \nthe sea\n", 3)]
)
def test_a_shard_with_other_rows_is_refused_even_if_its_source_s_size_and_time_are_the_same(
    static, tmp_path, before, after, found
):
    source = lines(tmp_path / "n.csv", "text\n", before)

    def replaced(job, numbers, advance):
        modified = source.stat().st_mtime_ns
        os.utime(lines(source, "text\n", after), ns=(modified, modified))
        yield shards_module.encode_shard(job, 0, static)

    with pytest.raises(BadInput, match=f"expected 2 rows, found {found}: a source has changed; --fresh starts over"):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=replaced)


def test_a_source_that_grows_while_its_last_shard_is_encoded_is_refused(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl", 3)

    class Slow:
        """A model that is so slow that the source grows meanwhile."""

        def encode_stream(self, texts, **_):
            for text in texts:
                lines(source, source.read_bytes(), GOOD)
                yield static.encode([text])

    origin = VectorOrigin.of(static, "static")
    with pytest.raises(BadInput, match=r"shard 0 \(.*n\.jsonl has changed since it was first read"):
        encoded([source], tmp_path / "out", Slow(), settings(), origin=origin)


@pytest.mark.parametrize("is_nested", [False, True])
def test_categories_of_several_files_are_stored_together_or_their_column_is_named(static, tmp_path, is_nested):
    """As pandas writes them: each file has few enough for a byte."""
    kind = pa.dictionary(pa.int8(), pa.string())
    sources, expected = [tmp_path / "a.parquet", tmp_path / "b.parquet"], [str(i) for i in range(200)]
    for number, source in enumerate(sources):
        some = expected[100 * number :][:100]
        values = (
            pa.array([{"in": one} for one in some], pa.struct([("in", kind)])) if is_nested else pa.array(some, kind)
        )
        pq.write_table(pa.table({"text": ["a red house"] * 100, "kind": values}), source)
    if is_nested:
        with pytest.raises(BadInput, match="the column 'kind' cannot be stored as struct<in: dictionary<.*128"):
            encoded(sources, tmp_path / "out", static, settings(200))
    else:
        encoded(sources, tmp_path / "out", static, settings(200))
        assert [row["kind"] for row in rows_of(tmp_path / "out")] == expected


def test_a_text_that_cannot_be_encoded_is_sought_between_the_first_row_of_its_shard_and_the_last(static, tmp_path):
    sources = [numbered(tmp_path / "a.jsonl", 6), jsonl(tmp_path / "b.jsonl", [{"text": "red " * 9000}] * 3)]
    origin = VectorOrigin.of(static, "static", overflow="error")
    with pytest.raises(BadInput, match=r"shard 1 \(.*a\.jsonl:5 to .*b\.jsonl:2\): texts\[2\] has 9,000 tokens"):
        encoded(sources, tmp_path / "out", static, settings(), origin=origin)


def test_a_full_disk_loses_nothing_and_with_room_the_run_goes_on_to_the_same_bytes(static, tmp_path):
    resource = pytest.importorskip("resource")
    source = numbered(tmp_path / "n.jsonl", 40)

    def encode(folder: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
        """In a new process, not a forked one: Arrow's threads do not survive a fork."""
        options = ["-m", "likewise-static", "--engine", "numpy", "--shard-rows", "20", "-q"]
        command = [sys.executable, "-m", "likewise", "encode", str(source), "-o", str(tmp_path / folder), *options]
        bounds = (resource.RLIM_INFINITY, resource.RLIM_INFINITY) if limit is None else (limit, limit)
        limited = partial(resource.setrlimit, resource.RLIMIT_FSIZE, bounds)
        return subprocess.run(command, preexec_fn=limited, capture_output=True, text=True)

    assert encode("whole").returncode == 0
    size = (tmp_path / "whole" / "shards" / "000000.parquet").stat().st_size
    for limit in range(0, size, size // 5):
        failed = encode("out", limit)
        assert failed.returncode == 2 and "out" in failed.stderr and "Traceback" not in failed.stderr
    assert encode("out").returncode == 0
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_copied_source_with_other_times_is_refused_since_it_may_be_another(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    os.utime(source, ns=(0, 10**18))
    with pytest.raises(BadInput, match="modification time differs"):
        encoded([source], tmp_path / "out", static, settings())


def test_rows_of_no_sources_make_an_output_without_shards(static, tmp_path):
    source, seen = jsonl(tmp_path / "n.jsonl", []), []
    shown = {"show_progress_bar": lambda meter: seen.append(meter.texts)}
    report = encoded([source], tmp_path / "out", static, settings(), **shown)
    assert (report.rows, report.shards, rows_of(tmp_path / "out"), seen) == (0, 0, [], [0])


def test_a_folder_is_moved_and_goes_on(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    shutil.move(tmp_path / "out", tmp_path / "moved")
    assert encoded([source], tmp_path / "moved", static, settings()).made == 0
