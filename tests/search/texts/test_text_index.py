"""TextIndex: what is added is found, what is unchanged is not embedded again, and what is gone is deleted."""

import hashlib

import numpy as np
import pytest

from likewise import Embedder, TextIndex
from likewise.errors import BadInput
from likewise.files.documents import Document, read_documents
from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.index import ModelIdentity
from likewise.search.indexes import create_index, open_index
from likewise.search.texts import adding, text_index
from likewise.search.texts.passages import Passage, PassageReader
from likewise.search.texts.text_index import chunk_settings
from likewise.text.chunking import ChunkSettings

TEXTS = ["the cat sleeps", "a dog barks", "quick query", "the cat and the dog"]


@pytest.fixture
def embedder(folders):
    return Embedder.load(folders("bert"), engine="numpy")


@pytest.fixture
def index(embedder):
    MemoryIndex.discard("memory:texts")
    with TextIndex.open("memory:texts", embedder) as opened:
        yield opened
    MemoryIndex.discard("memory:texts")


@pytest.fixture
def encoded(embedder, monkeypatch):
    """The texts that were embedded as documents."""
    found: list[str] = []
    monkeypatch.setattr(
        type(embedder), "encode_document", lambda self, texts, **how: found.extend(texts) or self.encode(texts)
    )
    return found


def test_a_document_without_text_is_not_counted(index):
    report = index.add([Document("They sleep.", "/a.md"), Document("", "/b.md"), Document(" \n", "/c.md")])
    assert (report.documents, report.added) == (1, 1)


def test_the_order_is_that_of_the_cosine_and_nothing_is_printed(index, embedder, capsys):
    index.add(TEXTS)
    cosines = embedder.encode(TEXTS) @ embedder.encode(["cat"])[0]
    found = index.search("cat", 10).passages
    assert [one.text for one in found] == [TEXTS[i] for i in np.argsort(-cosines)]
    assert capsys.readouterr() == ("", "")


def test_unchanged_texts_are_not_embedded_again(index, encoded):
    index.add(TEXTS[:3])
    report = index.add([*TEXTS, TEXTS[0]])
    assert encoded == TEXTS and (report.added, report.unchanged) == (1, 3)


def test_a_file_s_new_passages_are_added_moved_ones_kept_and_old_ones_deleted(index, encoded, tmp_path):
    path = tmp_path / "notes.md"
    other = tmp_path / "other.txt"
    other.write_text("quick\n")
    path.write_text("# One\n\nThe cat sleeps.\n\n# Two\n\nA dog barks.\n")
    index.add(read_documents([str(tmp_path)]))
    assert {one.metadata.get("headings") for one in index.search("cat").passages} == {"One", "Two", None}
    encoded.clear()
    path.write_text("# New\n\nQuick.\n\n# Two\n\nA dog barks.\n")
    report = index.add(read_documents([str(path)]))
    assert (report.added, report.unchanged, report.moved, report.deleted) == (1, 1, 1, 1)
    assert encoded == ["# New\n\nQuick."]
    passages = [one for one in index.search("dog").passages if one.file == str(path)]
    text = path.read_text()
    assert {text[one.metadata["start"] : one.metadata["stop"]] for one in passages} == {one.text for one in passages}
    assert index.index.count() == 3


def test_rows_keep_their_columns_and_equal_rows_are_both_kept(index, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,year\nthe cat,2020\nthe cat,2021\na dog,2022\n")
    index.add(read_documents([str(path)]))
    found = index.search("the cat", where="year < 2022").passages
    assert [(one.metadata["row"], one.metadata["year"]) for one in found] == [(1, 2020), (2, 2021)]
    assert found[0].metadata == {"year": 2020, "file": str(path), "row": 1}


def test_a_long_row_is_cut_and_says_where(index, tmp_path):
    text = "The cat sleeps. " * 30
    index.add([Document(text, "/rows.csv", row=7)])
    found = index.search("cat", 99).passages
    assert len(found) > 3
    assert all(text[one.metadata["start"] : one.metadata["stop"]] == one.text for one in found)


def test_it_goes_on_where_it_was_stopped(index, encoded, monkeypatch):
    monkeypatch.setattr(adding, "FIRST_BLOCK", 2)
    monkeypatch.setattr(adding, "QUICK", 0)
    documents = [Document(f"cat {i}", "/a.csv", row=i) for i in range(5)]

    def stopped():
        yield from documents[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(stopped())
    assert index.index.count() == 2 == len(encoded)
    report = index.add(documents)
    assert (report.added, report.unchanged, report.deleted) == (3, 2, 0) and len(encoded) == 5


def test_after_a_block_that_failed_nothing_is_deleted_and_the_same_call_mends_it(index, monkeypatch):
    """What the failed block had of a file is not gone from the file."""
    documents = [Document(f"cat {i}", "/a.csv", row=i) for i in range(12)]
    index.add(documents)
    monkeypatch.setattr(adding, "FIRST_BLOCK", 3)
    monkeypatch.setattr(adding, "QUICK", 0)
    fails = iter([False, True])
    upsert = index.index.upsert

    def failing(records):
        if next(fails, False):
            raise BadInput("the disk is full")
        upsert(records)

    moved = [document._replace(metadata={"x": 1}) for document in documents]
    with monkeypatch.context() as patch, pytest.raises(BadInput, match="the disk is full"):
        patch.setattr(index.index, "upsert", failing)
        index.add(moved)
    assert len(index.index) == 12
    report = index.add(moved)
    assert (report.moved, report.unchanged, report.added, report.deleted) == (9, 12, 0, 0)


@pytest.mark.parametrize(("quick", "sizes"), [(1e9, [2, 4, 5, 5, 4]), (-1, [2] * 10)])
def test_blocks_grow_up_to_the_largest_while_they_are_stored_quickly(quick, sizes, monkeypatch):
    monkeypatch.setattr(adding, "FIRST_BLOCK", 2)
    monkeypatch.setattr(adding, "LARGEST_BLOCK", 5)
    monkeypatch.setattr(adding, "QUICK", quick)
    rows = [Document(f"cat {i}", f"/{i // 10}.csv", row=i) for i in range(20)]
    blanks = [Document("", "/blank.md"), Document(" ", "/1.csv", row=21)]
    found = [*adding.passage_blocks([*rows[:10], *blanks, *rows[10:]], PassageReader(len, ChunkSettings(9)))]
    assert [len(block.passages) for block in found if block.passages] == sizes
    assert [one.text for block in found for one in block.passages] == [one.text for one in rows]
    assert [sum(block.read for block in found), sum(block.documents for block in found)] == [22, 20]
    finished = [name for block in found for name in block.finished if name]
    assert finished == ["/0.csv", "/blank.md", "/1.csv"] and found[-1].finished[-1] == "/1.csv"


def test_passages_say_where_they_stand_unless_they_are_all_of_a_row():
    reader = PassageReader(lambda texts: [len(text) for text in texts], ChunkSettings(9))
    rows = [Document(text, "/a.csv", row=1) for text in ("one two three", "one")]
    places = [[one.metadata.get("start") for one in reader.passages(row)] for row in (*rows, Document("one", "/a.md"))]
    assert places == [[0, 8], [None], [0]]


def test_the_key_of_a_passage_has_its_id_a_hash_and_a_number_if_the_text_repeats():
    reader = PassageReader(len, ChunkSettings(9))
    sources = ["/a.csv", "/a.csv", "/a.csv", "/b.csv", "", ""]
    keys = [one.key for file in sources for one in reader.passages(Document("one", file, row=1))]
    key = "#" + hashlib.sha256(b"one").hexdigest()[:20]
    assert keys == [f"/a.csv{key}", f"/a.csv{key}.2", f"/a.csv{key}.3", f"/b.csv{key}", key, key]


def test_a_passage_is_ranked_by_the_last_score_it_got_and_by_none_outside_a_search():
    scores = {"words": 3.0, "cosine": 0.5, "fused": 0.1, "reranked": -0.9}
    for name in ("reranked", "fused", "cosine", "words"):
        assert Passage("key", "text", {}, scores).score == scores.pop(name)
    assert (Passage("key", "text", {}).score, Passage("key", "text", {}).file) == (0, "")


def test_progress_counts_documents_that_are_stored(index, monkeypatch):
    monkeypatch.setattr(adding, "FIRST_BLOCK", 2)
    seen = []
    index.add(
        TEXTS, total=4, show_progress_bar=lambda meter: seen.append((meter.texts, meter.total, index.index.count()))
    )
    assert seen[0] == (2, 4, 2) and seen[-1] == (4, 4, 4)


def test_a_reranker_orders_the_candidates_and_says_how_many_it_scored(index):
    index.add(TEXTS)
    found = index.search("cat", 2, reranker=lambda pairs: np.array([len(text) for _, text in pairs], float))
    assert found.reranked == 4
    assert [one.text for one in found.passages] == ["the cat and the dog", "the cat sleeps"]
    assert found.passages[0].scores["reranked"] == 19 and "cosine" in found.passages[0].scores
    hurried = index.search("cat", 4, reranker=lambda pairs: np.zeros(len(pairs)), budget=1e-9)
    assert hurried.reranked == 4  # the first are scored whatever the budget
    with pytest.raises(BadInput, match="budget requires a reranker"):
        index.search("cat", budget=1)
    index.add([f"cat {i}" for i in range(97)])
    assert index.search("cat", 4, reranker=lambda pairs: np.zeros(len(pairs))).reranked == 100  # of 101


def test_words_and_meaning_are_fused(embedder, tmp_path):
    with TextIndex.open(tmp_path / "index", embedder) as index:
        index.add([*TEXTS, "zebra 42"])
        found = index.search("zebra", 5, hybrid=True).passages
        assert found[0].text == "zebra 42" and {*found[0].scores} == {"cosine", "words", "fused"}
        assert {*found[1].scores} == {"cosine", "fused"} and len(found) == 5
        assert {*index.search("zebra", 1).passages[0].scores} == {"cosine"}
        assert [one.scores["fused"] for one in found] == sorted((one.scores["fused"] for one in found), reverse=True)


def test_a_hybrid_search_for_less_finds_the_first_of_a_search_for_more(embedder, tmp_path, monkeypatch):
    with TextIndex.open(tmp_path / "index", embedder) as index:
        index.add([*TEXTS, "zebra 42", "a zebra barks"])
        for query in ("zebra", "dog", "quick cat"):
            whole = index.search(query, 9, hybrid=True).passages
            assert len(whole) == 6
            assert [index.search(query, k, hybrid=True).passages for k in (1, 2, 6)] == [whole[:1], whole[:2], whole]
        monkeypatch.setattr(text_index, "CANDIDATES", 2)
        assert len(index.search("zebra", 5, hybrid=True).passages) == 5
        found = index.search("zebra", 5, reranker=lambda pairs: np.zeros(len(pairs)))
        assert (len(found.passages), found.reranked) == (5, 5)


def test_a_search_sees_one_state_whatever_is_deleted_meanwhile(embedder, tmp_path, monkeypatch):
    with TextIndex.open(tmp_path / "index", embedder) as writer:
        writer.add(TEXTS)
        with TextIndex.open(tmp_path / "index", embedder, read_only=True) as reader:
            words = reader.index.search_words

            def deleted_before(*query):
                assert writer.index.delete([*writer.index.ids()]) == len(TEXTS)
                return words(*query)

            monkeypatch.setattr(reader.index, "search_words", deleted_before)
            found = reader.search("cat", 9, hybrid=True).passages
            assert {one.text for one in found} == {*TEXTS} and any("words" in one.scores for one in found)
            assert reader.index.count() == 0


def test_an_index_without_search_by_words_says_so(index):
    index.add(TEXTS)
    with pytest.raises(BadInput, match="cannot search by words"):
        index.search("cat", hybrid=True)


def test_the_model_is_the_one_the_index_was_made_with(folders, own, tmp_path):
    name = str(folders("bert"))
    with TextIndex.open(tmp_path / "index", name) as made:
        made.add(TEXTS)
    with TextIndex.open(tmp_path / "index", read_only=True) as opened:
        assert opened.index.model.name == name and opened.search("a dog barks", 1).passages[0].text == "a dog barks"
    other = Embedder.load(own(seed=5))
    with pytest.raises(BadInput, match="Vectors of two models cannot be compared"):
        TextIndex.open(tmp_path / "index", other)


def test_an_index_that_is_not_there_is_not_made_by_reading(tmp_path):
    with pytest.raises(BadInput, match="is not a collection"):
        TextIndex.open(tmp_path / "index", read_only=True)
    assert not (tmp_path / "index").exists()


def test_what_is_no_index_is_not_written_to(tmp_path, embedder):
    (tmp_path / "index").mkdir()
    (tmp_path / "index/mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="is not a collection"):
        TextIndex.open(tmp_path / "index", embedder)


@pytest.mark.parametrize("wrong", [{"chunking": ChunkSettings(500)}, {"allow": "fp32"}])
def test_an_impossible_setting_leaves_no_new_index(tmp_path, embedder, wrong):
    with pytest.raises(BadInput):
        TextIndex.open(tmp_path / "index", embedder, **wrong)
    assert not (tmp_path / "index").exists()


def test_an_index_of_unknown_vectors_needs_a_model_of_its_width(embedder):
    MemoryIndex.discard("memory:unknown")
    create_index("memory:unknown", 7).close()
    with pytest.raises(BadInput, match="does not record which model"):
        TextIndex.open("memory:unknown")
    with pytest.raises(BadInput, match="vectors of 7 dimensions, but the model has 32"):
        TextIndex(open_index("memory:unknown"), embedder)
    MemoryIndex.discard("memory:unknown")


def test_chunks_that_the_model_cannot_read_are_refused(embedder):
    MemoryIndex.discard("memory:small")
    made = create_index("memory:small", 32, ModelIdentity("a", embedder.fingerprint))
    for size in (65, 500):
        with pytest.raises(BadInput, match=f"chunks of {size} tokens exceed the model's limit of 64"):
            TextIndex(made, embedder, chunking=ChunkSettings(size))
    assert TextIndex(made, embedder, chunking=ChunkSettings(64)).chunking == ChunkSettings(64, 0)
    assert TextIndex(made, embedder).chunking == chunk_settings(embedder) == ChunkSettings(64, 0)
    assert chunk_settings(embedder, 9, 3) == ChunkSettings(9, 3)
    MemoryIndex.discard("memory:small")
