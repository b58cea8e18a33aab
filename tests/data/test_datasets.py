"""Data sets by name: read from wherever they lie, compared with what was published, and errors that help."""

import gzip
import hashlib
import json
import os
import sys
import types
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.data import datasets
from likewise.data.catalogue import DATASETS, DatasetFile
from likewise.data.catalogue.entry import TEXT_COLUMNS
from likewise.data.datasets import check_dataset, dataset_names, load_dataset, read_dataset
from likewise.errors import BadInput, DataNotFound

PAIRS = {"sentence1": ["a cat", "ключ 🙂"], "sentence2": ["the dog", "b, c"], "score": [5.0, 0.25]}
REAL = pytest.mark.skipif("LIKEWISE_DATA" not in os.environ, reason="LIKEWISE_DATA names no folder of data sets")
FOLDER = Path(os.environ.get("LIKEWISE_DATA", "."))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of data sets, and how a file comes into it."""
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def put(name, columns):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if path.suffix == ".parquet":
            pq.write_table(pa.table(columns), path)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        else:
            mark = "," if path.suffix == ".csv" else "\t"
            lines = [list(columns), *(row.values() for row in rows)]
            path.write_text("".join(mark.join(f'"{x}"' for x in line) + "\n" for line in lines), "utf-8")
        return path

    return put


@pytest.mark.filterwarnings("ignore:mine/pairs")
@pytest.mark.parametrize("ending", datasets.FORMATS)
def test_a_file_of_any_kind_gives_its_columns_in_its_order(ending, place):
    place(f"sts12/test{ending}", PAIRS)
    with pytest.warns(UserWarning, match=r"sts12/test: 2 of 3,108 published rows"):
        result = read_dataset("sts12/test")
    assert {name: list(result[name]) for name in PAIRS} == PAIRS


def test_what_was_read_can_be_changed_without_harm(place):
    place("mine.parquet", PAIRS)
    first = read_dataset("mine")
    first["score"].clear()
    assert read_dataset("mine")["score"] == PAIRS["score"]


def test_a_file_that_changed_is_read_again(place):
    path = place("mine.jsonl", PAIRS)
    assert len(read_dataset("mine")["score"]) == 2
    place("mine.jsonl", {name: values[:1] for name, values in PAIRS.items()})
    os.utime(path, ns=(1, 1))
    assert len(read_dataset("mine")["score"]) == 1


@pytest.mark.parametrize("ending", datasets.FORMATS)
def test_rows_without_a_score_are_left_out_and_counted(ending, place):
    none = None if ending in (".parquet", ".jsonl") else ""
    place(f"mine{ending}", {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"], "score": [1.0, none, 3.0]})
    for _ in range(2):  # each model's results need the note
        with pytest.warns(UserWarning, match="mine: 1 of 3 rows has no score and was left out"):
            result, notes = read_dataset("mine"), load_dataset("mine").notes
    assert (list(result["sentence1"]), result["score"]) == (["a", "c"], [1.0, 3.0])
    assert notes == ("1 of 3 rows has no score and was left out",)


def test_a_nan_is_no_score(place):
    place("mine.parquet", {"sentence1": ["a", "b"], "score": [float("nan"), 2.0]})
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        assert read_dataset("mine")["score"] == [2.0]


@pytest.mark.filterwarnings("ignore:(sst5|wiki_sections_dor|mr)/")
def test_published_names_of_columns_and_spelled_labels_are_understood(place):
    place("wiki_sections_dor/test.csv", {"Sentence1": ["a"], "Sentence2": ["b"], "Sentence3": ["c"]})
    assert read_dataset("wiki_sections_dor/test") == {"anchor": ["a"], "positive": ["b"], "negative": ["c"]}
    for written, labels in ((["3", "0"], [3, 0]), (["good", "0"], ["good", "0"])):
        path = place("sst5/dev.tsv", {"text": ["fine", "bad"], "label": written})
        os.utime(path, ns=(0, len(written[0])))
        assert read_dataset("sst5/dev")["label"] == labels


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"s1": ["a"], "s2": ["b"], "score": [1]},
            "expected the columns sentence1, sentence2, score; it has s1, s2, score",
        ),
        ({"sentence1": ["a"], "sentence2": ["b"], "score": ["high"]}, "row 1: score is 'high'; expected a number"),
        (
            {"sentence1": ["a", None], "sentence2": ["b", "c"], "score": [1, 2]},
            "row 2: sentence1 is None; expected a text",
        ),
    ],
)
def test_wrong_columns_and_values_are_named(columns, message, place):
    place("sts13/test.parquet", columns)
    with pytest.raises(BadInput, match=message):
        read_dataset("sts13/test")


def test_missing_data_says_where_it_was_looked_for_and_how_to_get_it(place, tmp_path):
    with pytest.raises(DataNotFound) as raised:
        read_dataset("stsb/test")
    message = str(raised.value)
    for part in (str(tmp_path / "stsb/test"), "HF_HUB_OFFLINE", "Stsbenchmark.tar.gz", "sentence1, sentence2, score"):
        assert part in message
    for name, part in (
        ("stsb/tset", "stsb has the files stsb/train, stsb/dev, stsb/test"),
        ("stbs/test", "Did you mean stsb/test"),
        ("zzz", "To list all data sets: likewise data list"),
        ("../secret", "is not the name of a file under"),
        ("/etc/passwd", "is not the name of a file under"),
        ("", "is not the name of a file under"),
    ):
        with pytest.raises(DataNotFound, match=part):
            read_dataset(name)


def test_a_folder_that_is_not_there_is_told_apart_from_one_without_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for folder, is_there in ((tmp_path, True), (tmp_path / "none", False)):
        monkeypatch.setenv("LIKEWISE_DATA", str(folder))
        with pytest.raises(DataNotFound) as error:
            read_dataset("cr/all")
        assert ("there is no such folder" in str(error.value)) != is_there


def test_without_a_folder_the_setting_is_named(monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataNotFound, match="LIKEWISE_DATA is not set"):
        read_dataset("cr/all")
    assert check_dataset("cr/all").state == "missing"


COPIES = [  # of two rows: the entry's rows, whether its sha256 is this copy's, published rows and kind; state and note
    ((2, True, 2), "complete", ""),
    ((2, True, 9, "partial"), "partial", "2 of 9 published rows"),
    ((2, True, None, "look-alike"), "look-alike", ""),
    ((2, False, 2), "changed", "the same number of rows as the catalogue's copy, but different bytes"),
    (
        (2, False, 9, "partial"),
        "changed",
        "the same number of rows as the catalogue's copy, but different bytes; 2 of 9",
    ),
    ((3, False, 2), "complete", ""),
    ((3, False, 4, "partial"), "changed", "2 of 4 published rows"),
    ((3, False, None), "changed", "2 rows; the catalogue's copy has 3"),
    ((1003, False, None), "changed", "2 rows; the catalogue's copy has 1,003"),
    ((2, None, 2), "complete", ""),
    ((2, None, None, "look-alike"), "look-alike", ""),
    ((None, None, 2), "complete", ""),
    ((None, None, 1005), "changed", "2 of 1,005 published rows"),
    ((None, None, None), "unchecked", ""),
]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
@pytest.mark.parametrize(("entry", "state", "note"), COPIES)
def test_a_copy_is_compared_with_the_published_file(ending, entry, state, note, place, monkeypatch):
    path = place(f"t/a{ending}", {"remark": ["a", "b"], "label": [0, 1]})
    rows, same, published, *kind = entry
    sha256 = None if same is None else sha256_of(path) if same else "0" * 64
    file = DatasetFile(("remark",), rows, sha256, published, *kind)
    monkeypatch.setattr(datasets, "dataset_entry", lambda name: (None, file))
    if ending == ".jsonl" and rows == 2 and not same:  # bytes of other formats are not compared
        state, note = kind[0] if kind else "complete", note.partition("bytes; ")[2]
    checked = check_dataset("t/a")
    assert (checked.name, checked.path, checked.rows, checked.published) == ("t/a", path, 2, published)
    assert checked.state == state and "; ".join(checked.notes).startswith(note) and bool(checked.notes) == bool(note)
    datasets._load_files.cache_clear()
    monkeypatch.setattr(warnings, "warn", lambda text, **_: warned.append(text))
    warned = []
    assert load_dataset("t/a").notes == checked.notes
    assert warned == ([f"t/a: {'; '.join(checked.notes)}"] if state == "changed" and 2 not in (rows, published) else [])


def test_a_copy_that_is_missing_or_cannot_be_read_is_told(place, tmp_path):
    assert check_dataset("stsb/test") == datasets.DatasetCheck("stsb/test", None, None, 1379, "missing")
    path = tmp_path / "cr" / "all.parquet"
    path.parent.mkdir()
    path.write_bytes(b"PAR1 no")
    found = check_dataset("cr/all")
    assert (found.path, found.rows, found.published, found.state) == (path, None, 3775, "unreadable")
    assert "not a Parquet file" in found.notes[0]


def test_the_credit_of_a_data_set_has_what_is_known_of_it(place):
    nothing = {"licence": None, "hub": None, "sha256": None}
    assert datasets.dataset_credit("mine") == nothing
    place("mine/too.jsonl", PAIRS)
    assert datasets.dataset_credit("mine/too")["sha256"] == sha256_of(datasets.local_files("mine/too")[0])
    assert datasets.dataset_credit("sts13/test") == {
        "licence": DATASETS["sts13"].licence,
        "hub": "mteb/sts13-sts",
        "sha256": None,
    }
    assert datasets.dataset_credit("sick/test")["hub"] is None


def sha256_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that gives a folder; what it was asked for."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    requested = []
    module = types.ModuleType("huggingface_hub")
    module.__spec__ = types.SimpleNamespace()
    module.snapshot_download = lambda repository, **how: (requested.append((repository, how)), str(tmp_path))[1]
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.setattr("likewise.model_files.hub._has_address", lambda: True)
    monkeypatch.setattr("likewise.model_files.hub._quiet_until", [0.0])
    return requested


def test_the_hub_s_packed_lines_are_read_at_the_pinned_revision(hub, tmp_path):
    row = {"sentence1": "a", "sentence2": "b", "score": 1.5}
    (tmp_path / "test.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    (tmp_path / "test.txt").write_text("no data")
    with pytest.warns(UserWarning, match="1 of 1,500 published rows"):
        assert read_dataset("sts13/test") == {"sentence1": ["a"], "sentence2": ["b"], "score": [1.5]}
    repository, how = hub[0]
    assert repository == DATASETS["sts13"].files["test"].hub.repository
    assert (how["repo_type"], len(how["revision"])) == ("dataset", 40)


@pytest.mark.filterwarnings("ignore:scifact/qrels")
def test_files_of_the_hub_are_joined_and_their_names_fill_a_column(hub, tmp_path):
    (tmp_path / "qrels").mkdir()
    for split in ("train", "test"):
        (tmp_path / f"qrels/{split}.tsv").write_text("query-id\tcorpus-id\tscore\n1\t2\t1\n")
    result = read_dataset("scifact/qrels")
    assert (result["split"], result["doc_id"], result["score"]) == (["train", "test"], ["2", "2"], [1.0, 1.0])


def test_a_local_copy_needs_the_column_that_names_of_the_hub_s_files_fill(place):
    place("scifact/qrels.tsv", {"query-id": ["1"], "corpus-id": ["2"], "score": ["1"]})
    with pytest.raises(BadInput, match="was read as scifact/qrels; expected the columns .*split"):
        read_dataset("scifact/qrels")


def test_a_hub_that_fails_or_lacks_the_file_is_reported(hub, monkeypatch):
    with pytest.raises(DataNotFound, match=r"no file matches \*test\* at revision 7e90230"):
        read_dataset("sts13/test")

    def broken(*_words, **_how):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(sys.modules["huggingface_hub"], "snapshot_download", broken)
    with pytest.raises(DataNotFound, match="mteb/sts13-sts: ConnectionError: no route\n"):
        read_dataset("sts13/test")


@pytest.mark.parametrize("name", DATASETS)
def test_every_entry_of_the_catalogue_is_whole(name):
    dataset = DATASETS[name]
    assert dataset.name == name
    assert all((dataset.title, dataset.citation, dataset.obtain))
    assert dataset.homepage.startswith("http")
    assert len(dataset.licence) <= 15
    for file in dataset.files.values():
        assert {*map(type, file.columns)} == {str}
        assert (file.sha256 is None) == (file.rows is None)
        assert file.sha256 is None or len(file.sha256) == 64
        assert file.published is None or file.rows is None or file.rows <= file.published
        assert file.kind != "partial" or file.rows < file.published
        assert set(file.aliases) <= set(file.columns)
        assert file.hub is None or (len(file.hub.revision) == 40 and file.hub.repository.count("/") == 1)


SMALLER = {"cr/all": 3771, "mpqa/all": 10603, "nli/train": 159221, "nli/triplets": 31167, "qqp_subset/pairs": 29324}
SMALLER |= {"nli/mnli_dev_matched_partial": 9570, "nli/mnli_dev_mismatched_partial": 3912}
"""Files of whose rows the copy that was measured on has fewer than were published."""


def test_copies_have_as_many_rows_as_were_published_but_for_those_that_are_known_to_have_fewer():
    files = {f"{name}/{part}": file for name, dataset in DATASETS.items() for part, file in dataset.files.items()}
    both = {name: file for name, file in files.items() if file.rows is not None and file.published is not None}
    assert {name: file.rows for name, file in both.items() if file.rows != file.published} == SMALLER


def test_published_sizes_are_those_of_the_literature():
    published = {
        name: [file.published for file in DATASETS[name].files.values()]
        for name in ("afs", "cr", "mpqa", "sst5", "qqp_subset", "wiki_sections_dor")
    }
    assert published == {
        "afs": [6000],
        "cr": [3775],
        "mpqa": [10606],
        "sst5": [8544, 1101, 2210],
        "qqp_subset": [404290],
        "wiki_sections_dor": [None, None, 222957],
    }
    nli = {part: file.published for part, file in DATASETS["nli"].files.items()}
    assert nli["train"] == 549_367 + 392_702  # SNLI's and MultiNLI's
    assert (nli["triplets"], nli["mnli_dev_matched_partial"], nli["mnli_dev_mismatched_partial"]) == (
        275601,
        9815,
        9832,
    )


def test_sick_s_hub_copy_is_not_read_for_its_test_set():
    assert all(file.hub is None for file in DATASETS["sick"].files.values())


@REAL
@pytest.mark.parametrize("name", [name for name in dataset_names() if (FOLDER / f"{name}.parquet").is_file()])
def test_the_real_files_are_read_and_recognised(name):
    result = check_dataset(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if result.state == "changed" else "error")
        columns = read_dataset(name)
    assert set(entry_columns(name)) <= set(columns)
    assert {len(values) for values in columns.values()} == {result.rows}
    file = datasets.dataset_entry(name)[1]
    assert result.rows == file.rows or datasets._digest(result.path, 0) != file.sha256
    assert all(
        isinstance(text, str) for column in entry_columns(name) if column in TEXT_COLUMNS for text in columns[column]
    )
    assert result.state in ("complete", "partial", "look-alike", "changed")


def entry_columns(name):
    return datasets.dataset_entry(name)[1].columns
