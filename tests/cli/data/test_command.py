"""`likewise data` lists, shows and compares, in words or JSON, without torch."""

import gzip
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.cli import main
from likewise.data.catalogue import DATASETS
from likewise.data.datasets import dataset_names


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def put(name, **columns):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)
        return path

    return put


@pytest.fixture
def some(place):
    place("stsb/train", sentence1=["A cat [sleeps].", "x"], sentence2=["A dog runs.", "y"], score=[1.0, 2.0])
    place("stsb/test", sentence1=["a dog runs.", "new"], sentence2=["a cat [sleeps].", "z"], score=[3.0, 4.0])
    place("trec/test", text=["Who?"], label=["HUM"])
    return place


LISTED = """
stsb/train                       2      5,749  changed  CC BY-SA 4.0
stsb/dev                                1,500  missing
stsb/test                        2      1,379  changed
"""


@pytest.mark.filterwarnings("ignore:(stsb|trec)/")
def test_the_list_has_every_data_set_and_what_is_here(some, tmp_path, capsys, json_output):
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DATASETS)
    assert shown.startswith("data                          rows  published  state    licence\nsts12/test ")
    assert LISTED in shown and shown.endswith(
        f"\n\nLIKEWISE_DATA is {tmp_path}\nTo see details of a data set and how to get it: likewise data show NAME\n"
    )
    rows = {row["name"]: row for row in json_output(["data", "list", "--json"])}
    assert set(rows) == set(dataset_names())
    assert (rows["stsb/test"]["state"], rows["stsb/test"]["rows"]) == ("changed", 2)
    assert (rows["sts12/test"]["state"], rows["sts12/test"]["path"]) == ("missing", None)
    assert rows["sick/test"]["licence"] == "CC BY-NC-SA 3.0"


SHOWN = """
            (tab-separated, unquoted): the score is in column 5, the sentences in columns 6 and 7

stsb/train: changed; 2 of 5,749 published rows
  sentence1        sentence2    score
  A cat [sleeps].  A dog runs.  1.0
  x                y            2.0

stsb/dev: missing
  expected columns: sentence1, sentence2, score; on the hub in mteb/stsbenchmark-sts

stsb/test: changed; 4 of 1,379 published rows
  sentence1    sentence2        score
  a dog runs.  a cat [sleeps].  3.0
  new          z                4.0
  three        y                5.0
"""


@pytest.mark.filterwarnings("ignore:stsb/")
def test_one_is_shown_whole_with_the_first_three_rows_of_its_files(some, capsys, json_output):
    four = ["a dog runs.", "new", "three", "four"], ["a cat [sleeps].", "z", "y", "x"], [3.0, 4.0, 5.0, 1.0]
    some("stsb/test", **dict(zip(("sentence1", "sentence2", "score"), four, strict=True)))
    assert main(["data", "show", "stsb"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("stsb: STS Benchmark\n  note      257 of the ") and shown.endswith(SHOWN)
    records = json_output(["data", "show", "stsb/test", "--json"])
    assert [file["name"] for file in records["files"]] == ["stsb/test"]
    assert records["files"][0]["first"]["score"] == [3.0, 4.0, 5.0]


def test_files_that_cannot_be_read_are_reported_in_place(place, tmp_path, capsys, json_output):
    place("sick/test", left=["a"], right=["b"])
    place("mr/all", text=["a"], label=[1]).write_bytes(b"PAR1 no")
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert "unreadable" in shown
    assert "mr/all: " in shown
    assert "is not a Parquet file" in shown
    assert main(["data", "show", "sick"]) == 0
    assert "it has left, right" in " ".join(capsys.readouterr().out.split())
    assert "it has left, right" in json_output(["data", "show", "sick/test", "--json"])["files"][0]["error"]


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_can_be_shown_where_none_is_at_hand(name, place, capsys):
    assert main(["data", "show", name]) == 0
    shown = capsys.readouterr().out
    assert "missing" in shown
    assert "expected columns" in shown


LEAKS = """\
stsb/train contains
  of the test file  texts  of   share  pairs  both texts  of
  stsb/test             2   4  50.0 %      1           1   2
  sst2/test             1   3  33.3 %      –           –   –
  nothing from trec/test

trec/test contains
  nothing from stsb/test, sst2/test

Texts: distinct texts in the test file that occur in training. Pairs: pairs in the test file that
  also occur in training. Both texts: pairs in the test file whose texts both occur in training,
  together or separately.
"""


@pytest.mark.filterwarnings("ignore:(stsb|trec|sst2)/")
def test_the_leak_report_names_what_is_known(some, capsys, json_output):
    some("sst2/test", text=["X", "q", "r"], label=[1, 0, 1])
    assert main(["data", "leaks", "stsb/train", "trec/test"]) == 0
    assert capsys.readouterr().out == LEAKS
    (leak,) = json_output(["data", "leaks", "stsb/train", "--against", "stsb", "--json"])
    assert (leak["test"], leak["pairs"], leak["share"]) == ("stsb/test", 1, 0.5)
    assert leak["examples"] == [["a dog runs.", "a cat [sleeps]."]]


@pytest.mark.filterwarnings("ignore:(diverse_text|stsb)/")
def test_rows_are_counted_unless_a_note_counts_them_and_other_columns_are_named(place, capsys):
    place("diverse_text/part-0", text=["a", "b"], source=["x", "y"], kind=["k", "l"], year=[1, 2], page=[3, 4])
    place("stsb/test", sentence1=["a"], sentence2=["b"], score=[3.0])
    assert main(["data", "show", "diverse_text/part-0"]) == 0
    shown = capsys.readouterr().out
    assert "diverse_text/part-0: 2 rows; changed; " in shown and shown.endswith("  and year, page\n")
    assert main(["data", "show", "stsb/test"]) == 0
    assert "stsb/test: changed; 1 of 1,379 published rows" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:stsb/")
def test_rows_of_any_values_are_shown_as_json(place, json_output):
    more = {"day": [date(2024, 1, 2)], "raw": [b"x"], "weight": [float("nan")]}
    place("stsb/test", sentence1=["a"], sentence2=["b"], score=[3.0], **more)
    first = json_output(["data", "show", "stsb/test", "--json"])["files"][0]["first"]
    assert (first["day"], first["weight"]) == (["2024-01-02"], [None])


def test_only_a_file_and_itself_are_not_compared(tmp_path, json_output):
    one, other = (str(tmp_path / name) for name in ("one.txt", "other.txt"))
    for path in (one, other):
        Path(path).write_text("a\n")
    leaks = json_output(["data", "leaks", one, other, "--against", one, "--json"])
    assert [(leak["train"], leak["test"]) for leak in leaks] == [(other, one)]


@pytest.mark.filterwarnings("ignore:stsb/")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("mine.csv.gz", gzip.compress(b"n,text\n1,new\n", mtime=0).decode("latin-1"), id="compressed"),
        ("mine.txt", "new\n\nold\n"),
        ("mine.csv", "n,text\n1,new\n2,old\n"),
        ("mine.jsonl", '{"anchor": "new", "positive": "p", "negative": "n"}\n'),
    ],
)
def test_a_file_of_one_s_own_is_compared_by_its_path(name, content, some, tmp_path, json_output):
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    assert json_output(["data", "leaks", str(tmp_path / name), "--against", "stsb/test", "--json"])[0]["texts"] == 1


@pytest.mark.filterwarnings("ignore:stsb/")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "nope"], "there is no data set 'nope'; available: sts12"),
        (["show", "stsb/nope"], "there is no data set 'stsb/nope'; available: stsb/train"),
        (["leaks", "mr"], "the data set 'mr/all' was not found"),
        (
            ["leaks", "stsb/test", "--against", "stsb/test"],
            "no test data to compare with other than the training file itself",
        ),
        (["leaks", "nowhere.csv"], "nowhere.csv does not exist"),
        (["leaks", "odd.csv"], "odd.csv: expected one of the columns text, sentence1"),
    ],
)
def test_what_cannot_be_is_an_error_that_helps(words, message, some, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.csv").write_text("n,m\n1,2\n")
    assert main(["data", *words]) == 2
    assert message in capsys.readouterr().err


def test_torch_is_not_loaded(some):
    script = (
        "import sys; from likewise.cli import main\n"
        "assert main(['data', 'list']) == 0\n"
        "assert main(['data', 'leaks', 'trec/test', '--against', 'stsb', '--json']) == 0\n"
        "assert not {'torch', 'transformers', 'pandas', 'scipy'} & set(sys.modules), 'heavy modules were imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
