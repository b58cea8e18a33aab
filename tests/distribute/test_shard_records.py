"""What `likewise encode` wrote is loaded into an index: every row once, however often, and only what was written."""

import numpy as np
import pytest

from likewise.cli.main import main
from likewise.distribute.shard_records import ShardRecords
from likewise.engine_registry import computation_of
from likewise.errors import BadInput
from likewise.files.vector_origin import VectorOrigin
from likewise.search.indexes import open_index
from likewise.search.texts.text_index import TextIndex
from tests.distribute.outputs import encoded, jsonl, numbered, settings


def test_rows_are_loaded_with_texts_vectors_and_other_columns_and_found_by_their_texts(static, tmp_path, capsys):
    rows = [{"id": f"n{i}", "text": f"a cat on {i} mats", "year": 2000 + i, "tags": ["a"]} for i in range(11)]
    source = jsonl(tmp_path / "texts.jsonl", rows)
    encoded([source], tmp_path / "out", static, settings(4, id="id"))
    for copied in (11, 0):
        assert main(["index", "copy", str(tmp_path / "out"), str(tmp_path / "x.index")]) == 0
        assert f"{copied} passage" in capsys.readouterr().err
    with open_index(str(tmp_path / "x.index"), read_only=True) as index:
        found = index.get(["n7"])
        assert found.texts == ["a cat on 7 mats"] and found.metadata[0] == {"year": 2007, "tags": '["a"]'}
        assert index.count("year >= 2005") == 6
        expected = static.encode(["a cat on 7 mats"], normalize_embeddings=True)
        np.testing.assert_allclose(found.vectors, expected, atol=1e-3)
        assert TextIndex(index, static).search("a cat on 3 mats", k=1).passages[0].id == "n3"
    assert (
        main(["search", str(tmp_path / "x.index"), "a cat on 3 mats", "-m", "likewise-static", "--engine", "numpy"])
        == 0
    )
    assert "n3" in capsys.readouterr().out  # where a passage is from no file, its id is shown


def test_texts_with_another_prompt_than_the_stored_ones_are_neither_added_nor_copied(static, tmp_path, capsys):
    source, location = numbered(tmp_path / "n.jsonl", 3), str(tmp_path / "x.index")
    for name, prompt in (("plain", ""), ("prompted", "passage: ")):
        origin = VectorOrigin.of(static, "likewise-static", prompt=prompt)
        encoded([source], tmp_path / name, static, settings(), origin=origin)
    assert main(["index", "copy", str(tmp_path / "prompted"), location, "-q"]) == 0
    with TextIndex.open(location, static) as index:
        assert len(index.search("a red house").passages) == 3
        with pytest.raises(BadInput, match="were embedded with the prompt 'passage: ', and the new ones with ''"):
            index.add(["a red house"])
    assert main(["index", "copy", str(tmp_path / "plain"), location, "-q"]) == 2
    assert "were embedded with the prompt 'passage: ', and the new ones with ''" in capsys.readouterr().err
    assert main(["index", "copy", str(tmp_path / "plain"), f"{location}2", "-q"]) == 0
    with TextIndex.open(f"{location}2", static) as index:
        assert index.add(["a red house"]).added == 1


def test_columns_get_names_and_values_that_an_index_can_store_and_search_show(static, tmp_path, capsys):
    rows = [{"text": "a cat\0", "star rating": float("nan"), "start": 1, "n": 1 << 70}, {"text": "a dog"}]
    encoded([jsonl(tmp_path / "t.jsonl", rows)], tmp_path / "out", static, settings(4))
    location = str(tmp_path / "x.index")
    assert main(["index", "copy", str(tmp_path / "out"), location, "-q"]) == 0
    with open_index(location, read_only=True) as index:
        contents = index.contents([*index.ids()])
    expected = {"star_rating": None, "start_": 1, "n": str(1 << 70)}
    assert dict(contents[f"{tmp_path / 't.jsonl'}:1"][1]) == expected
    assert main(["search", location, "cat", "-m", "likewise-static", "--engine", "numpy"]) == 0
    assert "a cat\ufffd" in capsys.readouterr().out


def test_blocks_are_of_at_most_as_many_rows_as_asked_for(static, tmp_path):
    encoded([numbered(tmp_path / "t.jsonl", 10)], tmp_path / "out", static, settings(4))
    records = ShardRecords(tmp_path / "out")
    assert records.model.computed == computation_of(static)
    blocks = list(records.records(3))
    assert sum(map(len, blocks)) == len(records) == 10 and max(map(len, blocks)) == 3


def test_what_is_not_complete_or_was_changed_is_not_loaded(static, tmp_path):
    out = tmp_path / "out"
    encoded([numbered(tmp_path / "t.jsonl", 10)], out, static, settings(4))
    shard = out / "shards" / "000001.parquet"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(BadInput, match=r"000001.parquet has changed.*to restore it"):
        list(ShardRecords(out).records())
    manifest = out / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete": true', '"complete": false'))
    with pytest.raises(BadInput, match="is not complete"):
        ShardRecords(out)
    with pytest.raises(BadInput, match="was not written by `likewise encode`"):
        ShardRecords(tmp_path)


def test_numbers_of_a_csv_are_numbers_as_in_index_add(static, tmp_path):
    (tmp_path / "t.csv").write_text("id,text,score\na,a cat,4.5\nb,a dog,\n")
    encoded([tmp_path / "t.csv"], tmp_path / "out", static, settings(4))
    (records,) = ShardRecords(tmp_path / "out").records()
    assert [row["score"] for row in records.metadata] == [4.5, None]
