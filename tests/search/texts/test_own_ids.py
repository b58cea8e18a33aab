"""Texts under the caller's ids: added, replaced, deleted and read again, whatever index keeps them."""

from enum import Enum, StrEnum
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise import Embedder, TextIndex
from likewise.errors import BadInput
from likewise.files.documents import Document, read_documents
from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.indexes import INDEXES
from likewise.search.records import Records
from likewise.search.texts import stored_texts
from likewise.search.texts.given_texts import given_documents
from likewise.text.chunking import ChunkSettings

LONG = "The cat sleeps. A dog barks at the cat. " * 8
EMBEDDED = ["collection", "memory", *(["faiss"] if find_spec("faiss") else [])]


@pytest.fixture
def embedder(folders):
    return Embedder.load(folders("bert"), engine="numpy")


@pytest.fixture(params=EMBEDDED)
def index(request, embedder, tmp_path):
    location = f"{INDEXES[request.param].scheme}{tmp_path / 'index'}"
    with TextIndex.open(location, embedder, chunking=ChunkSettings(20)) as opened:
        yield opened
    MemoryIndex.discard(location)


def test_texts_come_back_by_their_ids(index):
    index.add([{"id": "a", "text": "the cat", "year": 2020}, {"id": "b", "text": "a dog"}, "no id"])
    index.add(["quick"], ids=["c"], metadata=[{"year": 2021}])
    cat = {"id": "a", "text": "the cat", "year": 2020}
    assert index.get(["c", "a"]) == [{"id": "c", "text": "quick", "year": 2021}, cat]
    [best] = index.search("a dog", 1).passages
    assert (best.id, best.text) == ("b", "a dog")
    assert {one.id for one in index.search("cat", where="year > 2020").passages} == {"c"}


def test_columns_named_id_or_text_do_not_hide_the_text_and_its_id(index, tmp_path):
    (tmp_path / "rows.csv").write_text("id,text,body\n7,short,a long body\n")
    index.add(read_documents([str(tmp_path / "rows.csv")], "body"))
    [found] = index.get([str(tmp_path / "rows.csv")])
    assert found == {"id": str(tmp_path / "rows.csv"), "text": "a long body", "file": str(tmp_path / "rows.csv")}


def test_a_long_text_is_one_id_of_several_passages(index):
    index.add([{"id": "long", "text": LONG, "lang": "en"}, {"id": "long#1", "text": "quick"}])
    found = [one for one in index.search("cat", 99).passages if one.id == "long"]
    assert len(found) > 3 and len({one.key for one in found}) == len(found)
    [text] = index.get(["long"])
    assert text["text"].split() == LONG.split() and text["lang"] == "en" and {*text} == {"id", "text", "lang"}
    assert index.delete(["long", "unknown"]) == len(found)
    assert index.get(["long#1"])[0]["text"] == "quick" and index.index.count() == 1


def test_an_id_that_is_there_is_refused_by_add_and_replaced_by_upsert(index):
    index.add([{"id": "a", "text": LONG}])
    before = index.index.count()
    with pytest.raises(BadInput, match="the id 'a' is already in the index; upsert replaces its text"):
        index.add([{"id": "new", "text": "quick"}, {"id": "a", "text": "the cat"}])
    assert index.index.count() == before  # a list is checked before any of it is stored
    report = index.upsert([{"id": "a", "text": "the cat", "x": 1}, {"id": "new", "text": "quick"}])
    assert (report.added, report.deleted) == (2, before)
    assert index.get(["a"]) == [{"id": "a", "text": "the cat", "x": 1}]


def test_other_metadata_replace_the_old_without_embedding_again(index, monkeypatch):
    index.add([{"id": "a", "text": "the cat", "x": 1, "y": 2}])
    monkeypatch.setattr(type(index.embedder), "encode_document", None)
    report = index.upsert([{"id": "a", "text": "the cat", "x": 3}])
    assert (report.added, report.moved) == (0, 1) and index.get(["a"]) == [{"id": "a", "text": "the cat", "x": 3}]
    for value in (1, True, 1.0, 1):  # which are equal in Python
        assert index.upsert([{"id": "a", "text": "the cat", "x": value}]).moved == 1
        assert type(index.get(["a"])[0]["x"]) is type(value)


@pytest.mark.usefixtures("unchecked")
def test_columns_and_values_may_be_numpy_s(index):
    index.add(np.array(["the cat", "a dog"]), ids=np.array(["a", "b"]), metadata=np.array([{"n": np.int64(3)}, {}]))
    index.upsert([{"id": "c", "text": "quick", "x": np.float32(0.5), "y": np.True_}])
    assert index.get(np.array(["c", "a"])) == [
        {"id": "c", "text": "quick", "x": 0.5, "y": True},
        {"id": "a", "text": "the cat", "n": 3},
    ]
    assert index.delete(np.array(["a", "b"])) == 2


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("value", [StrEnum("Lang", ["EN"]).EN, np.int64(3), np.float64(0.5), np.True_, np.str_("x")])
def test_a_value_of_a_subclass_is_unchanged_when_it_is_added_again(index, value):
    document = Document("the cat", id="a", metadata={"x": value})
    for texts in ([document], [{"id": "a", "text": "the cat", "x": value}]):
        index.upsert(texts)
        assert index.upsert(texts).moved == 0


class Name(str, Enum):  # noqa: UP042 - a StrEnum is shown as its value
    CAT = "cat"


def test_an_id_from_an_enumeration_is_its_value(index):
    index.add(["a cat"], ids=[Name.CAT])
    index.upsert([{"id": Name.CAT, "text": "the cat"}])
    assert index.get(["cat"]) == index.get([Name.CAT]) == [{"id": "cat", "text": "the cat"}]
    assert index.delete([Name.CAT]) == 1


def test_the_order_of_metadata_is_no_change(index):
    index.add([{"id": "a", "text": "the cat", "x": 1, "y": 2}])
    assert index.upsert([{"id": "a", "text": "the cat", "y": 2, "x": 1}]).moved == 0


def test_a_text_is_put_together_from_its_passages_in_their_order_without_overlaps(index):
    passages = {
        "two three": {"start": 4, "stop": 13, "n": 1, "of": "a"},
        "one two": {"start": 0, "stop": 7, "n": 1, "of": "b"},
        "four": {"start": 14, "stop": 18, "n": 1},
        "fo": {"start": 14, "stop": 16, "n": 1},
        "five": {"start": 20, "stop": 24, "n": 1},
        "six": {"start": 24, "stop": 27, "n": 1},
        "next row": {"row": 2, "start": 3, "stop": 11, "n": 1},
    }
    ids = [f"C#{number:020x}" for number in range(len(passages))]
    index.index.add(Records(ids, index.embedder.encode([*passages]), [*passages], [*passages.values()]))
    assert index.get(["C"]) == [{"id": "C", "text": "one two three four\nfivesix\nnext row", "n": 1}]


def test_a_file_s_id_is_its_path(index, tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("---\ntags: [a, b]\n---\n# One\n\nThe cat sleeps.\n\n# Two\n\nA dog barks.\n")
    index.add(read_documents([str(path)]))
    assert {one.id for one in index.search("cat").passages} == {str(path)}
    [found] = index.get([str(path)])
    assert found["text"].split() == path.read_text().split()[5:] and found["tags"] == '["a", "b"]'
    assert index.delete([str(path)]) == 2 and index.index.count() == 0


def test_any_number_of_texts_is_deleted_in_parts(index, monkeypatch):
    monkeypatch.setattr(stored_texts, "AT_ONCE", 2)
    index.add([f"cat {i}" for i in range(6)], ids=[str(i) for i in range(6)])
    assert index.delete(["0", "2", "3", "4", "5", "unknown", "5"]) == 5
    assert index.get(["1"])[0]["text"] == "cat 1" and index.index.count() == 1


def test_texts_with_an_id_and_those_that_pass_a_filter_are_deleted(index):
    index.add([f"cat {i}" for i in range(4)], ids=[*"abcd"], metadata=[{"n": i} for i in range(4)])
    assert index.delete(["a", "b"], where="n >= 1 and n < 3") == 3
    assert index.get(["d"])[0]["n"] == 3 and index.index.count() == 1


def test_the_title_of_a_text_is_that_of_its_document_if_it_is_a_text():
    given = [{"text": "a", "title": "T", "id": "b"}, {"text": "a", "title": 7}, "a", Document("a", title="D")]
    found = given_documents(given, metadata=[{}, {}, {"title": "M"}, {"x": 1}])
    assert [one.title for one in found] == ["T", "", "M", "D"]
    assert [dict(one.metadata) for one in found] == [{"title": "T"}, {"title": 7}, {"title": "M"}, {"x": 1}]
    assert [one.id for one in found] == ["b", "", "", ""]


def test_a_filter_deletes_what_meets_it(index):
    index.add([f"cat {i}" for i in range(6)], ids=[str(i) for i in range(6)], metadata=[{"n": i} for i in range(6)])
    assert index.delete(["0"], where="n > 3") == 3
    assert [one["n"] for one in index.get(["1", "2", "3"])] == [1, 2, 3]
    with pytest.raises(BadInput, match="the filter cannot be parsed"):
        index.delete(where="")


def test_a_record_that_is_replaced_while_all_are_read_comes_once(index):
    index.add([f"cat {i}" for i in range(6)], ids=[str(i) for i in range(6)])
    read = []
    for block in islice(index.index.records(2), 9):
        read += block.ids
        index.index.upsert(block)
    assert sorted(read) == sorted(index.index.ids()) and len(read) == 6


def test_an_iterator_is_added_as_it_comes(index):
    texts = iter([{"id": "a", "text": "the cat"}, {"id": "a", "text": "a dog"}])
    with pytest.raises(BadInput, match="the id 'a' occurs twice"):
        index.add(texts)
    assert index.add(Document(text, id=text) for text in ["one", "two"]).added == 2


@pytest.mark.parametrize(
    ("texts", "columns", "message"),
    [
        ("one string", {}, "expected a list of texts; got a single str"),
        ({"a", "b"}, {}, "expected a list, a column or an iterator of texts; got a set"),
        (np.array([["a", "b"]]), {}, "expected a list, a column or an iterator of texts; got a ndarray"),
        ([{"id": "a", "text": "cat"}, {"id": "a", "text": "dog"}], {}, "the id 'a' occurs twice"),
        ([{"id": "a"}], {}, r"texts\[0\] is \"{'id': 'a'}\" \(dict\); expected a string, a dictionary"),
        ([{"text": 3}], {}, r"texts\[0\] is"),
        ([None], {}, r"texts\[0\] is 'None' \(NoneType\)"),
        (["cat", " \n"], {}, r"texts\[1\] is blank"),
        ([{"id": 7, "text": "cat"}], {}, r"texts\[0\] has the id 7; expected a non-empty string"),
        ([{"id": "", "text": "cat"}], {}, r"texts\[0\] has the id ''; expected a non-empty string"),
        ([{"id": "a", "text": "cat", "tags": ["x"]}], {}, r"metadata\[0\]\['tags'\] is a list"),
        ([{"id": "a", "text": "cat", "start": 1}], {}, "has 'start', a name that the index reserves"),
        (["cat", "dog"], {"ids": ["a"]}, r"expected as many ids as texts \(2\); got 1"),
        (["cat", "dog"], {"ids": "ab"}, r"expected as many ids as texts \(2\); got a single string, 'ab'"),
        (["cat"], {"metadata": [{}, {}]}, r"expected as many metadata as texts \(1\); got 2"),
        ([{"id": "a", "text": "cat"}], {"ids": ["b"]}, "has its own id, 'a'"),
        (["cat", Document("dog", id="\ud800")], {}, r"the id of texts\[1\] has half of a surrogate pair"),
        ([Document("cat", id=7)], {}, r"texts\[0\] has the id 7"),
        ([Document(7)], {}, r"texts\[0\] has the text 7; expected a string"),
        ([LONG, Document("dog", metadata={"tags": ["x"]})], {}, r"metadata\[1\]\['tags'\] is a list"),
        ([Document("cat", metadata={"start": 1})], {}, "has 'start', a name that the index reserves"),
        ([Document("cat")], {"metadata": [{"file": "a"}]}, "has 'file', a name that the index reserves"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_added_is_named_and_nothing_is_stored(index, texts, columns, message):
    for call in (index.add, index.upsert):
        with pytest.raises(BadInput, match=message):
            call(texts, **columns)
    assert index.index.count() == 0


@pytest.mark.usefixtures("unchecked")
def test_ids_that_are_not_there_or_no_ids_are_refused(index):
    index.add(["no id", "cat"])
    with pytest.raises(BadInput, match="the id 'x' is not in"):
        index.get(["x"])
    for wrong in ([""], [None]):
        with pytest.raises(BadInput, match="is not an id; expected a non-empty string"):
            index.delete(wrong)
    for call in (index.get, index.delete):
        with pytest.raises(BadInput, match="half of a surrogate pair"):
            call(["\ud800"])
    with pytest.raises(BadInput, match="expected a list of ids; got a single string, 'x'"):
        index.get("x")
    with pytest.raises(BadInput, match="to say what to delete"):
        index.delete()
    assert index.index.count() == 2


def test_a_text_without_an_id_is_found_by_the_key_of_its_passage(index):
    index.add(["the cat"])
    [found] = index.search("cat").passages
    assert found.id == found.key and index.get([found.id]) == [{"id": found.id, "text": "the cat"}]
    assert index.delete([found.id]) == 1


def test_a_record_that_is_no_passage_is_replaced_and_deleted_by_its_exact_id(index):
    rows = index.embedder.encode(["the cat", "a dog", "quick"])
    index.index.add(Records(["C", "C#1", "Cd"], rows, ["the cat", "a dog", "quick"]))
    assert [one["text"] for one in index.get(["C", "C#1"])] == ["the cat", "a dog"]
    with pytest.raises(BadInput, match="the id 'C' is already in the index"):
        index.add([{"id": "C", "text": "cat"}])
    index.upsert([{"id": "C", "text": "cat"}])
    assert (index.get(["C"])[0]["text"], index.index.count()) == ("cat", 3)
    assert {one.id for one in index.search("cat").passages} == {"C", "C#1", "Cd"}
    assert (index.delete(["C"]), index.delete(["C#1"]), index.index.count()) == (1, 1, 1)


IDS = st.sampled_from(["a", "b", "a#b", "#", "a%", "ä", "/x.md", "a" * 300])
TEXTS = st.sampled_from(["the cat", "a dog", "quick", LONG, LONG[:90]])
ROWS = st.fixed_dictionaries({"text": TEXTS}, optional={"n": st.integers(0, 3), "s": st.text("ab", max_size=2)})
CALLS = st.one_of(
    st.tuples(st.sampled_from(["add", "upsert"]), st.dictionaries(IDS, ROWS, max_size=3)),
    st.tuples(st.just("delete"), st.lists(IDS, max_size=2, unique=True)),
    st.tuples(st.just("where"), st.integers(0, 3)),
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(calls=st.lists(CALLS, max_size=8))
def test_it_holds_what_a_dictionary_would(index, calls):
    index.delete([one.id for one in index.search("cat", 999).passages])
    model: dict[str, dict] = {}
    for name, value in calls:
        if name in ("add", "upsert"):
            given = [{"id": key, **row} for key, row in value.items()]
            if name == "add" and model.keys() & value:
                with pytest.raises(BadInput, match="is already in the index"):
                    index.add(given)
            else:
                getattr(index, name)(given)
                model |= value
        elif name == "delete":
            index.delete(value)
            model = {key: row for key, row in model.items() if key not in value}
        elif any("n" in row for row in model.values()):
            index.delete(where=f"n >= {value}")
            model = {key: row for key, row in model.items() if row.get("n", -1) < value}
        found = {one.pop("id"): {**one, "text": one["text"].split()} for one in index.get([*model])}
        assert found == {key: {**row, "text": row["text"].split()} for key, row in model.items()}
    assert {one.id for one in index.search("cat", 999).passages} == model.keys()


@pytest.mark.usefixtures("unchecked")
def test_ids_may_come_from_an_iterator(index):
    metadata = ({"n": i} for i in range(3))
    assert index.add(["one", "two", "three"], ids=(f"i{i}" for i in range(3)), metadata=metadata).added == 3
    assert [one["n"] for one in index.get(f"i{i}" for i in (0, 1))] == [0, 1]
    assert index.delete(f"i{i}" for i in (0, 1)) == 2
    with pytest.raises(BadInput, match="the id 'i0' is not in"):
        index.get(f"i{i}" for i in (0, 2))


def test_an_index_that_was_closed_says_so(embedder, tmp_path):
    with TextIndex.open(tmp_path / "it", embedder) as index:
        index.add(["one"])
    with pytest.raises(BadInput, match="it was closed; open it again"):
        index.search("one", 1)
