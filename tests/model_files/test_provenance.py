"""On what a model was trained: kept beside it, read from where its encoder lies, and never taken over from another."""

import json
from types import SimpleNamespace

import pytest

from likewise.errors import BadModel
from likewise.model_files.provenance import FILE, UNKNOWN_PROVENANCE, Provenance, provenance, write_provenance


def model(folder):
    return SimpleNamespace(manifest=SimpleNamespace(encoder=folder))


def test_files_count_as_their_data_sets_each_once_in_the_order_read():
    before = Provenance(("nli",), ("wiki",))
    after = before.after(["stsb/train", "nli/snli", "stsb/dev", "qqp"], ["sick/train", "wiki"])
    assert after == Provenance(("nli", "stsb", "qqp"), ("wiki", "sick"))
    assert before == Provenance(("nli",), ("wiki",)) and UNKNOWN_PROVENANCE.after() == UNKNOWN_PROVENANCE


@pytest.mark.parametrize("message", [Provenance(("a", "b"), ("c",)), Provenance(("a",)), Provenance((), ("c",))])
def test_what_is_written_is_read_from_the_folder_or_the_one_above_it(message, tmp_path):
    inner = tmp_path / "0_Transformer"
    inner.mkdir()
    write_provenance(tmp_path, message)
    assert provenance(model(tmp_path)) == provenance(model(inner)) == message
    assert set(json.loads((tmp_path / FILE).read_text())) == {name for name, value in vars(message).items() if value}


def test_where_nothing_is_known_no_file_is_left_not_even_an_older_one(tmp_path):
    write_provenance(tmp_path, Provenance(("a",)))
    write_provenance(tmp_path, UNKNOWN_PROVENANCE)
    assert not list(tmp_path.iterdir()) and provenance(model(tmp_path)) == UNKNOWN_PROVENANCE
    write_provenance(tmp_path, UNKNOWN_PROVENANCE)


@pytest.mark.parametrize("value", ["stsb", 3, [1], {"a": 1}])
@pytest.mark.parametrize("key", ["trained_on", "less_tests"])
def test_what_is_no_list_of_names_is_a_bad_model(key, value, tmp_path):
    (tmp_path / FILE).write_text(json.dumps({key: value}))
    with pytest.raises(BadModel, match=f"has {key} = .*; expected a list of names"):
        provenance(model(tmp_path))


@pytest.mark.parametrize("what", [None, SimpleNamespace(), SimpleNamespace(manifest=None), model("a/name")])
def test_what_is_no_model_of_a_folder_has_none(what):
    assert provenance(what) == UNKNOWN_PROVENANCE
