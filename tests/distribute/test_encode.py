"""Encoding into a folder: what is there at the end follows from the input alone, whatever happened on the way."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.distribute.encode import in_this_process
from likewise.errors import BadInput
from likewise.files.vector_origin import VectorOrigin
from likewise.runtime.temporary_files import temporary_folder
from likewise.runtime.writer_lock import WriterLock

from .outputs import content, encoded, jsonl, numbered, rows_of, sentence, settings


class Killed(BaseException):
    """What ends a run in these tests."""


def killed_after(embedder, shards, before_note=False):
    """Encodes this many shards, and ends; `before_note`: the last one's file is there, and its record is not."""

    def encode_shards(job, numbers, advance):
        for count, record in enumerate(in_this_process(embedder)(job, numbers, advance), 1):
            if count > shards:
                raise Killed
            if count == shards and before_note:
                raise Killed
            yield record

    return encode_shards


def test_every_row_is_there_once_in_order_with_the_vector_of_its_text(static, tmp_path):
    (tmp_path / "lines.txt").write_text("one line\ntwo lines\n")
    (tmp_path / "table.csv").write_text('name,text,year\na,red house,2020\nb,"blue\nsea, salt",2021\n')
    sources = [tmp_path / "lines.txt", numbered(tmp_path / "n.jsonl", 5), tmp_path / "table.csv"]
    report = encoded(sources, tmp_path / "out", static, settings(4, text="text"))
    assert (report.rows, report.shards, report.made, report.left_out) == (9, 3, 3, 0)
    rows = rows_of(tmp_path / "out")
    texts = ["one line", "two lines", *(sentence(i) for i in range(5)), "red house", "blue\nsea, salt"]
    assert [row["text"] for row in rows] == texts
    np.testing.assert_array_equal(np.array([row["vector"] for row in rows], np.float32), static.encode(texts))
    assert [row["year"] for row in rows] == [None] * 7 + ["2020", "2021"]
    assert [row["id_"] for row in rows] == [None, None, *(f"n{i}" for i in range(5)), None, None]
    places = ["lines.txt:1", "lines.txt:2", *(f"n.jsonl:{i}" for i in range(1, 6)), "table.csv:2", "table.csv:4"]
    assert [row["id"] for row in rows] == [f"{tmp_path}/{place}" for place in places]
    shards = [path.read_bytes() for path in sorted((tmp_path / "out" / "shards").iterdir())]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["records"] == [
        {"number": i, "rows": n, "bytes": len(data), "blake2b": hashlib.blake2b(data, digest_size=32).hexdigest()}
        for i, (n, data) in enumerate(zip((4, 4, 1), shards, strict=True))
    ]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_id_column_gives_the_ids_and_keep_the_columns(static, tmp_path, ending):
    rows, source = [{"key": i, "text": sentence(i), "a": i, "b": "x"} for i in range(3)], tmp_path / f"n.{ending}"
    jsonl(source, rows) if ending == "jsonl" else pq.write_table(pa.Table.from_pylist(rows), source)
    encoded([source], tmp_path / "out", static, settings(id="key", keep=("a",)))
    assert [(row["id"], row["a"]) for row in rows_of(tmp_path / "out")] == [("0", 0), ("1", 1), ("2", 2)]
    assert list(rows_of(tmp_path / "out")[0]) == ["id", "text", "vector", "a"]


@pytest.mark.parametrize("shards", [0, 1, 2])
@pytest.mark.parametrize("before_note", [False, True])
def test_ended_after_any_shard_and_run_again_the_bytes_are_those_of_one_run(static, tmp_path, shards, before_note):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "whole", static, settings())
    with pytest.raises(Killed):
        ended = killed_after(static, shards, before_note)
        encoded([source], tmp_path / "out", static, settings(), encode_shards=ended)
    kept = max(0, shards - before_note)
    assert encoded([source], tmp_path / "out", static, settings()).made == 3 - kept
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_model_is_asked_with_the_options_of_the_job(static, tmp_path):
    asked = []

    class Asked:
        """A model that notes how it is called."""

        def encode_stream(self, texts, *, show_progress_bar, **options):
            asked.append(options)
            yield static.encode([*texts])

    origin, chosen = (
        VectorOrigin.of(static, "static", prompt="a ", overflow="error"),
        replace(settings(), batch_tokens=7),
    )
    encoded([numbered(tmp_path / "n.jsonl", 4)], tmp_path / "out", Asked(), chosen, origin=origin)
    assert asked == [{"prompt": "a ", "overflow": "error", "batch_tokens": 7}]


def test_the_order_in_which_shards_are_finished_changes_nothing(static, tmp_path):
    def backwards(job, numbers, advance):
        return in_this_process(static)(job, [*reversed(numbers)], advance)

    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "whole", static, settings())
    encoded([source], tmp_path / "out", static, settings(), encode_shards=backwards)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_progress_counts_the_rows_that_are_read_and_then_those_that_are_encoded(static, tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.distribute.plan.CHECK_EVERY", 4)
    monkeypatch.setattr("likewise.text.inputs.CHUNK_TEXTS", 3)
    source, seen, tokens = numbered(tmp_path / "n.jsonl", 10), [], []
    how = {"show_progress_bar": lambda meter: (seen.append((meter.texts, meter.total)), tokens.append(meter.tokens))}
    read = {"show_progress_bar": lambda meter: seen.append((meter.texts, meter.tokens, meter.total))}
    with pytest.raises(Killed):
        encoded([source], tmp_path / "none", static, settings(), encode_shards=killed_after(static, 0), **read)
    assert seen[:3] == [(4, 0, None), (8, 0, None), (10, 0, None)]
    seen.clear()
    with pytest.raises(Killed):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=killed_after(static, 1), **how)
    assert list(dict.fromkeys(seen)) == [*((n, None) for n in (4, 8, 10)), *((n, 10) for n in (3, 4, 7, 8))]
    seen.clear()
    encoded([source], tmp_path / "out", static, settings(), **how)
    assert list(dict.fromkeys(seen)) == [(3, 6), (4, 6), (6, 6)]
    static.encode([sentence(i) for i in range(4, 10)], **read)
    assert tokens[-1] == seen[-1][1]


def test_a_run_that_fails_at_once_leaves_an_empty_folder_and_no_new_one(static, tmp_path):
    (tmp_path / "empty").mkdir()
    source = jsonl(tmp_path / "n.jsonl", [{"text": 3}])
    with pytest.raises(BadInput, match=r"n\.jsonl/new cannot be written: Not a directory"):
        encoded([source], source / "new", static, settings())
    for name in ("empty", "new/newer"):
        with pytest.raises(BadInput, match="expected a text"):
            encoded([source], tmp_path / name, static, settings())
        assert (tmp_path / name).exists() == (name == "empty")
    assert encoded([numbered(source)], tmp_path / "new/newer", static, settings()).rows == 10


def test_a_finished_output_is_left_as_it_is(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert encoded([source], tmp_path / "out", static, settings()).made == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("damage", [b'{"number": 1, "ro', b'{"number": 1}\n', b"\xff\xfe\n", b"{"])
def test_a_torn_or_damaged_line_of_the_journal_is_made_again(static, tmp_path, damage):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "whole", static, settings())
    with pytest.raises(Killed):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=killed_after(static, 1))
    journal = tmp_path / "out" / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(damage)
    with pytest.raises(Killed):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=killed_after(static, 1))
    first, damaged, second = journal.read_bytes().splitlines()
    assert (json.loads(first)["number"], damaged, json.loads(second)["number"]) == (0, damage.rstrip(), 1)
    assert encoded([source], tmp_path / "out", static, settings()).made == 1
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize("harm", ["edit", "remove all"])
@pytest.mark.parametrize("complete", [False, True])
def test_a_finished_shard_that_was_changed_is_made_again(static, tmp_path, harm, complete):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "whole", static, settings())
    if complete:
        encoded([source], tmp_path / "out", static, settings())
    else:
        with pytest.raises(Killed):
            encoded([source], tmp_path / "out", static, settings(), encode_shards=killed_after(static, 2))
    shard = tmp_path / "out" / "shards" / "000001.parquet"
    if harm == "edit":
        data = shard.read_bytes()
        shard.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    else:
        shutil.rmtree(shard.parent)
    report = encoded([source], tmp_path / "out", static, settings())
    assert report.made == (3 if harm == "remove all" else 1 if complete else 2)
    told = (
        "has changed since it was written: the size is the same, but the checksum differs"
        if harm == "edit"
        else "cannot be read: No"
    )
    assert any("000001.parquet " + told in one for one in report.damaged)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_an_output_with_a_damaged_shard_does_not_count_as_complete(static, tmp_path):
    source, output = numbered(tmp_path / "n.jsonl"), tmp_path / "out"
    encoded([source], output, static, settings())
    (output / "shards" / "000001.parquet").write_bytes(b"")
    with pytest.raises(Killed):
        encoded([source], output, static, settings(), encode_shards=killed_after(static, 0))
    manifest = json.loads((output / "manifest.json").read_text())
    assert not manifest["complete"] and not manifest["records"]


def other_model(origin):
    return replace(origin, model="another", fingerprint="f" * 32)


def other_prompt(origin):
    return replace(origin, prompt="query: ")


@pytest.mark.parametrize(
    ("origin", "chosen", "words"),
    [
        (other_model, settings(), "static and another: fingerprint '.*' and 'ffff"),
        (other_prompt, settings(), "prompt '' and 'query: '"),
        (lambda origin: origin, settings(5), "shard_rows 4 and 5"),
        (lambda origin: origin, settings(id="id"), "column id None and 'id'"),
    ],
)
def test_another_model_or_option_is_refused_and_both_are_named(static, tmp_path, origin, chosen, words):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    before = content(tmp_path / "out")
    other = origin(VectorOrigin.of(static, "static"))
    with pytest.raises(BadInput, match=words):
        encoded([source], tmp_path / "out", static, chosen, origin=other)
    assert content(tmp_path / "out") == before
    encoded([source], tmp_path / "out", static, chosen, origin=other, resume=False)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["origin"]["prompt"] == other.prompt


def test_what_a_run_left_that_was_killed_at_its_very_end_is_removed(static, tmp_path):
    source = numbered(tmp_path / "a.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    whole = content(tmp_path / "out")
    (tmp_path / "out" / "journal.jsonl").write_text("{}\n")
    encoded([source], tmp_path / "out", static, settings())
    assert content(tmp_path / "out") == whole and not (tmp_path / "out" / "journal.jsonl").exists()


def test_other_sources_are_refused_and_named(static, tmp_path):
    first, second = numbered(tmp_path / "a.jsonl"), numbered(tmp_path / "b.jsonl")
    encoded([first], tmp_path / "out", static, settings())
    with pytest.raises(BadInput, match=r"sources differ: 1 new \(.*b\.jsonl\)"):
        encoded([first, second], tmp_path / "out", static, settings())
    with pytest.raises(BadInput, match=r"1 new \(.*b\.jsonl\), 1 gone \(.*a\.jsonl\)"):
        encoded([second], tmp_path / "out", static, settings())
    encoded([first, second], tmp_path / "both", static, settings())
    with pytest.raises(BadInput, match="the sources differ: in a different order"):
        encoded([second, first], tmp_path / "both", static, settings())


def test_a_source_that_changed_is_refused_and_starting_over_takes_it(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    numbered(source, 11)
    with pytest.raises(BadInput, match=r"n\.jsonl has changed since it was first read: .* bytes then, .* now"):
        encoded([source], tmp_path / "out", static, settings())
    assert encoded([source], tmp_path / "out", static, settings(), resume=False).rows == 11


def test_starting_over_leaves_no_shard_of_the_earlier_run(static, tmp_path):
    encoded([numbered(tmp_path / "n.jsonl", 20)], tmp_path / "out", static, settings())
    with pytest.raises(Killed):
        ended = killed_after(static, 0)
        encoded(
            [numbered(tmp_path / "m.jsonl", 4)], tmp_path / "out", static, settings(), resume=False, encode_shards=ended
        )
    assert {*content(tmp_path / "out")} == {"manifest.json", "shards/000000.parquet"}
    encoded([tmp_path / "m.jsonl"], tmp_path / "out", static, settings())
    encoded([tmp_path / "m.jsonl"], tmp_path / "whole", static, settings())
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_shard_that_is_not_in_the_manifest_and_what_killed_runs_left_is_removed_at_the_end(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    with pytest.raises(Killed):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=killed_after(static, 1))
    shards = tmp_path / "out" / "shards"
    shutil.copy(shards / "000000.parquet", shards / "000009.parquet")
    for name in ("manifest.json", "000001.parquet", "ids"):
        with temporary_folder(tmp_path / "out" / name) as left:
            pass
        left.mkdir()
    encoded([source], tmp_path / "out", static, settings())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"manifest.json", "shards"}
    assert sorted(path.name for path in shards.iterdir()) == [f"00000{number}.parquet" for number in range(3)]


def test_starting_over_with_what_is_refused_leaves_the_earlier_output(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    before = content(tmp_path / "out")
    with pytest.raises(BadInput, match="there is no column 'body'"):
        encoded([source], tmp_path / "out", static, settings(text="body"), resume=False)
    assert content(tmp_path / "out") == before


def test_one_process_writes_at_a_time_and_a_refused_one_changes_nothing(static, tmp_path):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "out", static, settings())
    lock = WriterLock(tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(BadInput, match=r"out is being written by process \d+"):
        encoded([source], tmp_path / "out", static, settings(), resume=False)
    assert content(tmp_path / "out") == before
    lock.remove()
    assert encoded([source], tmp_path / "out", static, settings()).made == 0


@pytest.mark.parametrize(
    ("name", "content_of_it"),
    [
        ("thesis.tex", "years of work"),
        ("manifest.json", '{"name": "a web application"}'),
        ("manifest.json", "[1]"),
        ("journal.jsonl", "{}"),
        ("shards/000000.parquet", "another program's"),
    ],
)
def test_a_folder_with_other_files_is_not_written_to(static, tmp_path, name, content_of_it):
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text(content_of_it)
    for resume in (True, False):
        with pytest.raises(
            BadInput, match=r"contains other files \(|is not a manifest of format 1|contains files, but no manifest"
        ):
            encoded([numbered(tmp_path / "n.jsonl")], tmp_path / "out", static, settings(), resume=resume)
    assert content(tmp_path / "out") == {name: content_of_it.encode()}


@pytest.mark.parametrize("damaged", ['{"format": 1}', "{", "[" * 100_000])
def test_fresh_starts_over_from_a_damaged_manifest_and_removes_it_last(damaged, static, tmp_path, monkeypatch):
    source, output = numbered(tmp_path / "n.jsonl"), tmp_path / "out"
    encoded([source], output, static, settings())
    expected = content(output)
    (output / "manifest.json").write_text(damaged)
    removed, unlink = [], Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **how: (removed.append(path.name), unlink(path, **how))[1])
    encoded([source], output, static, settings(), resume=False)
    assert content(output) == expected
    assert removed[: removed.index("manifest.json") + 1][-2:] == ["journal.jsonl", "manifest.json"]


def test_a_model_s_notes_reach_the_caller(static, tmp_path):
    source = jsonl(tmp_path / "n.jsonl", [{"text": "red house " * 3000}, {"text": "a red house"}])
    static_notes = encoded([source], tmp_path / "out", static, settings()).notes
    with pytest.warns(UserWarning) as expected:
        static.encode(["red house " * 3000, "a red house"], overflow="warn")
    assert list(static_notes) == [str(note.message) for note in expected]
    (_,) = encoded([source, source], tmp_path / "twice", static, settings(shard_rows=2)).notes  # two equal shards
