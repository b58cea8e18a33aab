"""Your own collections: every format gives the same collection, and errors name the file and line."""

import json

import pytest

from likewise.errors import BadInput
from likewise.evaluate.collection import layout, read_collection

DOCUMENTS = [("d1", "Cats", "They sleep."), ("d2", "", "Dogs bark."), ("d3", "Rain", "")]
QUERIES = [("1", "who sleeps"), ("2", "who barks"), ("3", "not judged")]
GRADES = [("1", "d1", 2), ("1", "d2", 0), ("2", "d2", 1)]


def jsonl(names, rows):
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def separated(delimiter):
    def written(names, rows):
        return "".join(delimiter.join(map(str, row)) + "\n" for row in [names, *rows])

    return written


FORMATS = {".jsonl": jsonl, ".tsv": separated("\t"), ".csv": separated(",")}
COLUMNS = {"corpus": ("_id", "title", "text"), "queries": ("_id", "text"), "qrels": ("query-id", "corpus-id", "score")}
ROWS = {"corpus": DOCUMENTS, "queries": QUERIES, "qrels": GRADES}


def write(folder, ending=".jsonl", **changed):
    """Write the three files of a collection; `changed` replaces the rows of one of them."""
    parts = {part: folder / f"{part}{ending}" for part in ROWS}
    for part, path in parts.items():
        path.write_text(FORMATS[ending](COLUMNS[part], changed.get(part, ROWS[part])))
    return parts


def check(found):
    assert found.ids == ("d1", "d2", "d3")
    assert found.documents == ("Cats They sleep.", "Dogs bark.", "Rain")
    assert (found.query_ids, found.queries) == (("1", "2"), ("who sleeps", "who barks"))
    assert found.judgements == {"1": {"d1": 2, "d2": 0}, "2": {"d2": 1}}


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_collection_by_files_and_as_a_folder(ending, tmp_path):
    parts = write(tmp_path, ending)
    check(read_collection(*parts.values()))
    check(read_collection(tmp_path))
    assert layout(tmp_path) == parts


def test_parquet_as_on_the_hub_is_read_with_integers_as_ids_and_without_grades(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    parts = {
        "corpus": {"_id": [1, 2], "text": ["Cats sleep.", "Dogs bark."]},
        "queries": {"_id": [7], "text": ["who sleeps"]},
        "qrels": {"query-id": [7], "corpus-id": [1]},
    }
    for part, columns in parts.items():
        (tmp_path / part).mkdir()
        pq.write_table(pa.table(columns), tmp_path / part / "train-00000-of-00001.parquet")
    found = read_collection(tmp_path)
    assert (found.ids, found.judgements) == (("1", "2"), {"7": {"1": 1}})


def test_of_the_hubs_parquet_files_those_of_test_are_read_and_several_are_refused(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    write(tmp_path)
    (tmp_path / "qrels.jsonl").unlink()
    (tmp_path / "qrels").mkdir()
    for split, document in (("dev", "d2"), ("test", "d1")):
        table = pa.table({"query-id": ["1"], "corpus-id": [document]})
        pq.write_table(table, tmp_path / "qrels" / f"{split}-00000-of-00001.parquet")
    assert read_collection(tmp_path).judgements == {"1": {"d1": 1}}
    pq.write_table(table, tmp_path / "qrels" / "test-00001-of-00002.parquet")
    with pytest.raises(BadInput, match=r"qrels has 2 Parquet files \(test-00000-of-00001.*join them"):
        read_collection(tmp_path)


@pytest.mark.parametrize("name", ["qrels.trec", "qrels.txt", "qrels.tsv", "qrels.test"])
def test_judgements_in_trecs_format_are_read_whatever_the_ending(name, tmp_path):
    parts = write(tmp_path)
    (tmp_path / name).write_text("1 0 d1 2\n1\t0\td2\t0\n\n2 Q0 d2 1\n")
    check(read_collection(parts["corpus"], parts["queries"], tmp_path / name))


def test_beirs_folder_of_judgements_is_read_for_its_test_split(tmp_path):
    parts = write(tmp_path)
    (tmp_path / "qrels").mkdir()
    for split, rows in (("train", [("3", "d3", 1)]), ("test", GRADES)):
        (tmp_path / "qrels" / f"{split}.tsv").write_text(FORMATS[".tsv"](COLUMNS["qrels"], rows))
    parts["qrels"].unlink()
    check(read_collection(tmp_path))
    rows = [(*row, "test") for row in GRADES] + [("3", "d3", 1, "train")]
    parts["qrels"].write_text(jsonl((*COLUMNS["qrels"], "split"), rows))
    check(read_collection(tmp_path))


def test_a_collection_has_the_name_of_its_folder_and_texts_may_be_missing(tmp_path):
    (folder := tmp_path / "beir.v1").mkdir()
    write(folder, corpus=[("d1", "Cats", None), ("d2", None, "Dogs bark."), ("d3", "", "")])
    found = read_collection(folder)
    assert found.name == "beir.v1" and found.documents == ("Cats", "Dogs bark.", "")


def test_documents_alone_are_a_collection_without_queries(tmp_path):
    found = read_collection(write(tmp_path)["corpus"])
    assert (found.name, found.queries, found.judgements) == ("corpus", (), {})


def test_judged_queries_without_a_relevant_document_are_left_out_and_counted(tmp_path):
    write(tmp_path, qrels=[*GRADES, ("3", "d1", 0), ("3", "d2", -1)])
    check(found := read_collection(tmp_path))
    assert found.notes == ("left out 1 judged query without a relevant document",)


BAD = {
    "an unknown document": (
        {"qrels": [*GRADES, ("1", "d9", 1)]},
        "qrels.jsonl, line 4: the document 'd9' is judged, but it is not in the corpus",
    ),
    "an unknown query": ({"qrels": [("9", "d1", 1)]}, "qrels.jsonl, line 1: the query '9' is judged, but"),
    "a repeated document": (
        {"corpus": [*DOCUMENTS, ("d2", "", "again")]},
        "corpus.jsonl, line 4: the _id 'd2' is already on line 2",
    ),
    "a repeated query": ({"queries": [*QUERIES, ("3", "again")]}, "queries.jsonl, line 4: the _id '3' is already on"),
    "an empty query": ({"queries": [("1", "  ")]}, r"queries.jsonl, line 1: text is '  '; expected a text"),
    "a document that is a number": ({"corpus": [("d1", "", 3)]}, "corpus.jsonl, line 1: text is 3; expected a text"),
    "a missing id": ({"corpus": [(None, "", "text")]}, "corpus.jsonl, line 1: the id is None"),
    "an id with a space": ({"corpus": [("d 1", "", "text")]}, "corpus.jsonl, line 1: the id is 'd 1'"),
    "a grade in words": (
        {"qrels": [("1", "d1", "good")]},
        "qrels.jsonl, line 1: the grade is 'good'; expected a",
    ),
    "a grade with a fraction": (
        {"qrels": [("1", "d1", 0.5)]},
        "qrels.jsonl, line 1: the grade is 0.5; expected a",
    ),
    "an infinite grade": ({"qrels": [("1", "d1", float("inf"))]}, "qrels.jsonl, line 1: the grade is inf"),
    "two grades": (
        {"qrels": [*GRADES, ("1", "d1", 1)]},
        "qrels.jsonl, line 4: document 'd1' has grade 1 for query",
    ),
    "nothing relevant": ({"qrels": [("1", "d1", 0)]}, "qrels.jsonl has no relevant document"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named_with_file_and_line(case, tmp_path):
    changed, message = BAD[case]
    write(tmp_path, **changed)
    with pytest.raises(BadInput, match=message):
        read_collection(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [("1 0 d1", "line 2: found 3 fields; expected query 0 document grade"), ("1 0 d1 x", "line 2: the grade is 'x'")],
)
def test_lines_that_are_not_trecs_are_named(line, message, tmp_path):
    parts = write(tmp_path)
    (tmp_path / "qrels.trec").write_text(f"1 0 d1 1\n{line}\n")
    with pytest.raises(BadInput, match=f"qrels.trec, {message}"):
        read_collection(parts["corpus"], parts["queries"], tmp_path / "qrels.trec")


def test_missing_files_columns_and_halves_are_named(tmp_path):
    parts = write(tmp_path)
    with pytest.raises(BadInput, match="nowhere.jsonl does not exist"):
        read_collection(tmp_path / "nowhere.jsonl")
    for ending in (".tsv", ".trec"):
        with pytest.raises(BadInput, match=f"nowhere{ending} does not exist"):
            read_collection(parts["corpus"], parts["queries"], tmp_path / f"nowhere{ending}")
    with pytest.raises(BadInput, match=r"corpus\.csv has no documents"):
        read_collection(write(tmp_path, ".csv", corpus=[])["corpus"])
    with pytest.raises(BadInput, match=r"queries.jsonl has the columns _id, text; expected one named query-id or"):
        read_collection(parts["corpus"], parts["queries"], parts["queries"])
    with pytest.raises(BadInput, match="found only one of them"):
        read_collection(parts["corpus"], parts["queries"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="is not a folder in the BEIR layout"):
        read_collection(tmp_path / "empty")
