"""`likewise index` and `likewise search`: what is added is found, kept, copied, verified and deleted."""

import io
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from likewise import Reranker, TextIndex
from likewise.calibrate import Calibration, cut_off
from likewise.cli import main
from likewise.cli.index import describe, opening
from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.collection import Collection
from likewise.search.indexes import open_index
from likewise.search.records import Records
from likewise.search.texts.reranking import PAIRS_AT_ONCE
from tests.cli.rarer_pairs import make_pairs_rarer
from tests.native_library import needs_native
from tests.tiny import classifier_folder, colbert_folder

NOTES = "# Cats\n\nThe cat sleeps a lot.\n\n# Dogs\n\nA dog barks at night.\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory with files, and the name of an index that is not there yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    Path("notes/animals.md").write_text(NOTES)
    Path("rows.csv").write_text("text,year,lang\nthe quick cat,2019,en\nla chatte,2021,fr\n")
    return "notes.index"


@pytest.fixture
def call(capsys):
    """Runs a command; returns its exit code, its output and its messages."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words])
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


@pytest.fixture
def filled(place, call, folders):
    code, _, err = call("index", "add", place, "notes", "rows.csv", "-m", str(folders("bert")))
    assert code == 0, err
    assert "4 passages of 3 documents added, 0 unchanged; 4 in total" in err
    return place


def json_of(call, *words: str) -> dict:
    code, out, err = call(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_flag_before_its_action_is_explained(capsys):
    with pytest.raises(SystemExit):
        main(["index", "--zzz", "add"])
    assert "the action comes before its flags: likewise index ACTION --zzz" in capsys.readouterr().err


def test_what_is_added_is_found_with_its_place(filled, call):
    code, out, _ = call("search", filled, "A dog barks at night.", "-k", "1")
    assert code == 0
    assert "notes/animals.md, characters 31–60 · animals · Dogs" in out
    assert "# Dogs A dog barks at night." in out
    found = json_of(call, "search", filled, "the quick cat", "--filter", "year < 2020 and lang = 'en'")
    assert [(one["text"], one["metadata"]["row"]) for one in found["passages"]] == [("the quick cat", 1)]
    assert found["passages"][0]["score"] == pytest.approx(1, abs=1e-3) and found["searched"] == 4


@pytest.mark.parametrize("wrong", [("--chunk", "500"), ("--overlap", "100"), ("--column", "body")])
def test_an_impossible_option_leaves_no_new_index(place, call, folders, wrong):
    code, _, err = call("index", "add", place, "rows.csv", "-m", str(folders("bert")), *wrong)
    assert code == 2 and err and not Path(place).exists()


def test_an_overlap_alone_keeps_the_default_size_of_passages(filled, call, folders):
    short = ("-m", str(folders("bert")), "--max-seq-length", "16")
    assert json_of(call, "index", "add", "short.index", "notes", "--overlap", "5", *short)["added"] == 4


def test_adding_again_embeds_nothing_and_what_is_gone_is_deleted(filled, call):
    again = json_of(call, "index", "add", filled, "notes", "rows.csv")
    assert (again["added"], again["unchanged"], again["deleted"]) == (0, 4, 0)
    Path("notes/animals.md").write_text(NOTES.replace("A dog", "The dog"))
    changed = json_of(call, "index", "add", filled, "notes", "-q")
    assert (changed["added"], changed["unchanged"], changed["deleted"], changed["passages"]) == (1, 1, 1, 4)
    assert 0 <= changed["seconds"] < 60
    Path("notes/animals.md").write_text(NOTES)
    _, _, err = call("index", "add", filled, "notes")
    assert err.startswith(f"{filled}: 1 passage of 1 document added, 1 unchanged, 1 deleted; 4 in total, ")
    assert call("index", "add", filled, "notes", "-q") == (0, "", "")


def test_options_of_the_model_are_recorded_with_its_name(place, call, folders):
    assert call("index", "add", place, "rows.csv", "-m", str(folders("bert")), "--truncate-dim", "8")[0] == 0
    about = json_of(call, "index", "info", place)
    assert about["dimension"] == 8 and about["model"]["name"] == f"{folders('bert')}(truncate_dim=8)"
    assert json_of(call, "search", place, "la chatte")["passages"][0]["text"] == "la chatte"


def test_another_model_is_refused_and_both_are_named(filled, call, own):
    other = own(seed=3)
    code, _, err = call("index", "add", filled, "notes", "-m", str(other))
    assert code == 2 and "Vectors of two models cannot be compared" in err and other.name in err
    assert err.count("\n") == 1


def test_passages_are_deleted_by_file_filter_and_id(filled, call):
    assert json_of(call, "index", "delete", filled, "--filter", "year >= 2020", "--dry-run")["deleted"] == 1
    assert json_of(call, "index", "delete", filled, "--filter", "year >= 2020")["passages"] == 3
    with open_index(filled, read_only=True) as index:
        name = next(name for name in index.ids() if "rows.csv" in name)
    assert json_of(call, "index", "delete", filled, "--id", name)["passages"] == 2
    code, out, _ = call("index", "delete", filled, "--file", "notes/animals.md")
    assert code == 0 and "2 passages deleted; 0 in total" in out
    for words in (["--file", "notes/animals.md"], ["--id", "x"], ["--filter", "nothing = 1"], []):
        assert call("index", "delete", filled, *words)[0] == 2


def test_an_index_is_exported_and_the_file_can_be_read_again(filled, call):
    assert json_of(call, "index", "export", filled, "-o", "out.jsonl")["passages"] == 4
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    files = [(Path(row["file"]).name, row["text"].split()[-1]) for row in rows]
    assert files == [
        *(("animals.md", end) for end in ("lot.", "night.")),
        *(("rows.csv", end) for end in ("cat", "chatte")),
    ]
    assert len(rows[0]["vector"]) == 32
    assert call("index", "export", filled, "-o", "out.csv")[0] == 0
    assert "vector" not in Path("out.csv").read_text().splitlines()[0]
    assert call("index", "export", filled, "-o", "out.parquet")[0] == 0
    assert json_of(call, "index", "add", "again.index", "out.csv", "--column", "text")["added"] == 4


def test_a_copy_holds_the_same_and_goes_on_where_it_was_stopped(filled, call):
    with open_index(filled) as index:
        some = next(index.records(2))
    assert json_of(call, "index", "copy", filled, "copy.index")["copied"] == 4
    with open_index("copy.index") as copy:
        copy.delete(list(some.ids))
    again = json_of(call, "index", "copy", filled, "copy.index")
    assert (again["copied"], again["passages"]) == (2, 4)
    first, second = (json_of(call, "search", place, "the cat")["passages"] for place in (filled, "copy.index"))
    assert [one["id"] for one in first] == [one["id"] for one in second]
    assert call("index", "copy", filled, filled)[0] == 2


def test_a_copy_keeps_the_data_type_and_an_export_every_column(place, call):
    with Collection.create("own.index", 2, dtype="float32") as index:
        index.add(Records(["x"], np.eye(1, 2), ["thé"], [{"vector": 1, "vector_": 2, "id": 3}]))
    assert call("index", "copy", "own.index", "copy.index")[0] == 0
    with open_index("copy.index") as copy:
        assert copy.dtype == "float32"
    assert call("index", "export", "copy.index", "-o", "out.jsonl")[0] == 0
    expected = {"id": "x", "text": "thé", "vector_": 1, "vector__": 2, "id_": 3, "vector": [1.0, 0.0]}
    line = Path("out.jsonl").read_text("utf-8")
    assert json.loads(line) == expected and '"thé"' in line


def test_headings_are_embedded_unless_the_index_was_made_without_them(filled, call, folders):
    assert json_of(call, "index", "add", filled, "notes", "--headings")["headings"] is True
    code, _, err = call("index", "add", filled, "notes", "--no-headings")
    assert code == 2 and "were embedded with their titles and headings, and new ones would be embedded without" in err
    model = ("-m", str(folders("bert")))
    plain = json_of(call, "index", "add", "plain.index", "notes", "--no-headings", *model)
    assert (plain["headings"], plain["passages"]) == (False, 2)
    assert json_of(call, "index", "add", "plain.index", "notes")["unchanged"] == 2
    assert "headings    not embedded" in call("index", "info", "plain.index")[1]
    code, _, err = call("index", "copy", filled, "plain.index")
    assert code == 2 and "plain.index were embedded without their titles and headings, and new" in err


def test_an_index_is_migrated_to_another_model(filled, call, own):
    other = str(own(seed=3))
    elsewhere = json_of(call, "index", "migrate", filled, "-m", other, "-o", "other.index")
    assert (elsewhere["embedded"], elsewhere["location"]) == (4, "other.index")
    Path("own.txt").write_text("a passage of its own\n")
    assert call("index", "add", "other.index", "own.txt")[0] == 0
    code, _, err = call("index", "migrate", filled, "-m", other, "-o", "other.index")
    assert code == 2 and "other.index already contains 1 record that notes.index does not have" in err
    assert json_of(call, "index", "info", "other.index")["passages"] == 5
    assert json_of(call, "index", "migrate", filled, "-m", other)["embedded"] == 4
    assert json_of(call, "index", "info", filled)["model"]["name"] == other
    assert {path.name for path in Path().glob("*.index*")} == {"notes.index", "other.index"}
    assert json_of(call, "index", "add", filled, "notes", "rows.csv")["unchanged"] == 4
    for place in (filled, "other.index"):
        found = json_of(call, "search", place, "la chatte")["passages"][0]
        assert found["text"] == "la chatte" and found["score"] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected -m MODEL"),
        (["-m", "M", "-o", "x.index", "--keep-old"], "--keep-old applies only if the index is replaced"),
    ],
)
def test_a_migration_that_is_not_meant_is_refused(filled, call, words, message):
    code, _, err = call("index", "migrate", filled, *words)
    assert code == 2 and message in err


def test_an_index_is_verified_compacted_and_repaired(filled, call):
    assert json_of(call, "index", "verify", filled)["clean"] is True
    call("index", "delete", filled, "--file", "rows.csv")
    assert json_of(call, "index", "compact", filled) == {"location": filled, "returned": 2, "passages": 2}
    [segment] = Path(filled, "vectors").iterdir()
    data = bytearray(segment.read_bytes())
    data[-3] ^= 64
    segment.write_bytes(data)
    code, out, _ = call("index", "verify", filled)
    assert code == 1 and "1 passage is damaged" in out and "likewise index repair" in out
    assert "more: --json" not in out and sum(line.startswith("  ") for line in out.splitlines()) == 1
    repaired = json_of(call, "index", "repair", filled)
    assert repaired["kept"] == 1 and len(repaired["removed"]) == 1
    assert call("index", "verify", filled)[0] == 0
    assert json_of(call, "index", "add", filled, "notes")["added"] == 1


@pytest.mark.usefixtures("unchecked")
def test_a_damaged_file_is_reported_and_a_repair_says_where_the_rest_is(filled, call):
    [segment] = Path(filled, "vectors").iterdir()
    segment.write_bytes(segment.read_bytes()[:64])
    assert "\n  vectors/00000001.rows has 0 of 4 rows\n" in call("index", "verify", filled)[1]
    code, out, _ = call("index", "repair", filled)
    assert code == 0 and f"{filled}: 0 passages kept, 4 damaged passages removed" in out
    assert sum(line.startswith("  ") for line in out.splitlines()) == 4
    rest = Path(out.splitlines()[-1].removeprefix("The parts that could still be read are in "))
    assert "the quick cat" in rest.read_text()


def test_only_the_first_damaged_passages_are_listed_and_the_others_counted(monkeypatch, capsys):
    monkeypatch.setattr(opening, "SHOWN", 2)
    opening.print_first({"a": "text", "b": "vector", "c": "row"})
    assert capsys.readouterr().out == "  a: text\n  b: vector\n  and 1 more: --json lists them all\n"
    opening.print_first({"a": "text", "b": "vector"})
    assert capsys.readouterr().out == "  a: text\n  b: vector\n"


def test_words_and_meaning_are_searched_together(filled, call):
    found = json_of(call, "search", filled, "chatte", "--hybrid", "-k", "2")
    assert found["passages"][0]["text"] == "la chatte" and {*found["passages"][0]["scores"]} == {
        "cosine",
        "words",
        "fused",
    }


def test_a_search_in_two_stages_is_sorted_by_late_interaction(filled, call, tmp_path):
    folder = colbert_folder(tmp_path / "colbert")
    first = json_of(call, "search", filled, "cat")["passages"]
    found = json_of(call, "search", filled, "cat", "--rerank", str(folder))
    scores = Reranker.load(folder).score([("cat", hit["text"]) for hit in found["passages"]])
    assert found["reranked"] == 4 and {hit["text"] for hit in found["passages"]} == {hit["text"] for hit in first}
    np.testing.assert_allclose([hit["score"] for hit in found["passages"]], scores, atol=1e-4)
    assert sorted(scores, reverse=True) == [*scores]


def test_a_reranker_is_given_the_best(filled, call, tmp_path):
    reranker = str(classifier_folder(tmp_path / "reranker"))
    found = json_of(call, "search", filled, "cat", "--rerank", reranker, "--budget", "60000")
    assert found["reranked"] == 4
    assert "4 passages reranked\n" in call("search", filled, "cat", "--rerank", reranker)[2]
    scores = [one["score"] for one in found["passages"]]
    assert scores == sorted(scores, reverse=True) and "cosine" in found["passages"][0]["scores"]
    for option in (("--budget", "5"), ("--label", "x")):
        code, _, err = call("search", filled, "cat", *option)
        assert code == 2 and "--budget and --label require --rerank" in err


def test_a_budget_is_in_milliseconds(place, call, folders, tmp_path, monkeypatch):
    Path("lines.txt").write_text("".join(f"the cat {i}\n" for i in range(PAIRS_AT_ONCE + 1)))
    assert call("index", "add", place, "lines.txt", "-m", str(folders("bert")))[0] == 0
    words = ("search", place, "-", "--rerank", str(classifier_folder(tmp_path / "reranker")), "--budget")
    for budget, reranked in (("0.001", PAIRS_AT_ONCE), ("60000", PAIRS_AT_ONCE + 1)):
        monkeypatch.setattr("sys.stdin", io.StringIO("a cat\n"))
        found = json_of(call, *words, budget)
        assert (found["query"], found["reranked"]) == ("a cat", reranked)


def test_what_only_reads_an_index_runs_while_another_program_adds_to_it(filled, call):
    with open_index(filled, read_only=False):
        for words in (["info"], ["verify"], ["export", "-o", "out.jsonl"], ["copy", "copy.index"]):
            assert call("index", words[0], filled, *words[1:])[0] == 0
        assert call("index", "delete", filled, "--filter", "year > 0", "--dry-run")[0] == 0
        assert call("search", filled, "cat")[0] == 0
        assert call("index", "delete", filled, "--filter", "year > 0")[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search", "none.index", "cat"], "is not a collection"),
        (["index", "add", "x.index", "nowhere.md"], "nowhere.md does not exist"),
        (["index", "add", "notes", "rows.csv"], "is not a collection"),
        (
            ["index", "add", "x.index", "rows.csv", "-m", "no-such-model", "--overlap", "200"],
            "overlap is 200 tokens and size 200",
        ),
        (["index", "export", "x.index", "-o", "out.npy"], "out.npy ends in '.npy'"),
        (["index", "verify", "memory:x"], "there is no memory:x"),
        (["search", "ftp://x", "cat"], "is not an index location"),
        (
            ["search", "x.index", "cat", "--rerank", "r", "--budget", "-5"],
            "--budget is -5; expected milliseconds above 0",
        ),
        (
            ["search", "x.index", "cat", "--rerank", "r", "--budget", "0"],
            "--budget is 0; expected milliseconds above 0",
        ),
        (["index", "add", "memory:x", "rows.csv"], "memory:x would not outlive this command; expected a folder"),
        (["index", "copy", "x.index", "memory:x"], "memory:x would not outlive this command"),
        (["index", "migrate", "x.index", "-m", "M", "-o", "memory:x"], "memory:x would not outlive this command"),
        (["index", "migrate", "faiss:x.index", "-m", "M"], "faiss:x.index is not a folder, so it cannot be replaced"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(place, call, words, message):
    code, _, err = call(*words)
    assert code == 2 and message in err and err.count("\n") == 1
    assert not Path("x.index").exists() and not Path("none.index").exists()


def test_a_filter_with_an_unknown_column_names_those_there_are(filled, call):
    code, _, err = call("search", filled, "cat", "--filter", "yeer = 1")
    assert code == 2 and "yeer" in err and "year" in err


@pytest.fixture
def calibrated(place, call, folders):
    """An index of 150 texts, and a calibration of them."""
    model = str(folders("bert"))
    words = ("cat", "dog", "bird", "fox", "horse"), ("sleeps", "runs", "eats"), range(10)
    texts = [f"the {a} {b} {c}" for a, b, c in product(*words)]
    Path("texts.txt").write_text("\n".join(texts) + "\n")
    assert call("index", "add", place, "texts.txt", "-m", model)[0] == 0
    how = ("calibrate", "texts.txt", "-m", model, "--chance-pairs", "5000", "-q")
    assert call(*how, "--queries", "texts.txt", "-o", "c.json")[0] == 0
    assert call(*how, "-o", "of-texts.json")[0] == 0
    make_pairs_rarer(Path("c.json"))
    return place


def test_passages_get_p_values_and_those_like_chance_are_left_out(calibrated, call):
    how = ("search", calibrated, "the cat sleeps alone", "--calibration", "c.json", "-k", "20")
    every = json_of(call, *how)
    cosines = [one["scores"]["cosine"] for one in every["passages"]]
    p = Calibration.load(Path("c.json")).p_values(np.array(cosines))
    assert len(cosines) == 20 and [one["scores"]["p"] for one in every["passages"]] == p.tolist()
    found = json_of(call, *how, "--fdr", "0.5")
    cut = cut_off(Calibration.load(Path("c.json")), np.array(cosines), comparisons=150, fdr=0.5)
    assert cut.discoveries > 0 and len(found["passages"]) == cut.discoveries
    assert found["cut_off"]["comparisons"] == 150 and found["cut_off"]["cosine"] == cut.cosine
    code, _, err = call("search", calibrated, "the cat", "--calibration", "of-texts.json")
    assert code == 2 and "is for pairs of texts" in err and "--queries" in err
    code, out, err = call(*how, "--fdr", "1e-9")
    assert (code, out) == (0, "") and "no passage is more similar than chance at a false discovery rate of 1e-09" in err


@needs_native
def test_int8_searches_an_index_of_another_precision_by_consent_and_adds_nothing_to_it(filled, call):
    assert "  computed    native, fp32, arithmetic" in call("index", "info", filled)[1]
    code, _, err = call("search", filled, "a cat", "--precision", "int8")
    assert code == 2 and "computed by native, fp32" in err and "--allow int8" in err
    assert call("search", filled, "a cat", "--precision", "int8", "--allow", "int8")[0] == 0
    assert call("search", filled, "a cat", "--precision", "bf16")[0] == 0
    Path("more.txt").write_text("birds sing\n")
    code, _, err = call("index", "add", filled, "more.txt", "--precision", "int8")
    assert code == 2 and "load the model in fp32" in err


@needs_native
def test_an_index_made_in_int8_is_opened_in_int8_or_in_another_precision_by_consent(place, call, folders):
    assert call("index", "add", place, "notes", "-m", str(folders("bert")), "--precision", "int8")[0] == 0
    about = json_of(call, "index", "info", place)["model"]
    assert about["precision"] == "int8" and about["engine"] == "native"
    assert call("search", place, "a cat")[0] == 0
    code, _, err = call("search", place, "a cat", "--precision", "fp32")
    assert code == 2 and "computed by native, int8" in err
    assert call("search", place, "a cat", "--precision", "fp32", "--allow", "int8")[0] == 0


def test_a_calibration_is_of_cosines_and_of_one_model(calibrated, call, folders):
    code, _, err = call("search", calibrated, "cat", "--hybrid", "--calibration", "c.json")
    assert code == 2 and "--calibration cannot be combined with --hybrid or --rerank" in err
    code, _, err = call("search", calibrated, "cat", "--fdr", "0.1")
    assert code == 2 and "--fdr needs to know how similar random pairs are" in err
    Path("rows.csv").rename("again.txt")
    other = "another.index"
    assert call("index", "add", other, "again.txt", "-m", str(folders("roberta")))[0] == 0
    code, _, err = call("search", other, "cat", "--calibration", "c.json")
    assert code == 2 and "fingerprint" in err


def test_what_is_skipped_is_said_and_a_broken_file_is_exit_code_1(place, call, folders):
    Path("notes/photo.jpg").write_bytes(b"\xff\xd8")
    code, _, err = call("index", "add", place, "notes", "-m", str(folders("bert")))
    assert code == 0 and "skipped 1 .jpg: not a supported format; convert texts to" in err
    Path("notes/old.md").write_bytes(b"caf\xe9")
    Path("notes/zebras.md").write_text("A zebra.")
    code, _, err = call("index", "add", place, "notes")
    assert code == 1 and "1 passage of 2 documents added, 2 unchanged" in err
    assert err.endswith("old.md, line 1 is not valid UTF-8 (byte 4)\n")
    code, out, err = call("index", "add", place, "notes", "--json")
    assert code == 1 and [(one["kind"], one["count"], one["failed"]) for one in json.loads(out)["skipped"]] == [
        (".jpg", 1, False),
        ("", 1, True),
    ]
    code, out, err = call("index", "add", place, "notes", "-q")
    assert code == 1 and not out and err.startswith("skipped: notes/old.md, line 1")


def test_a_bad_row_leaves_its_file_out_and_the_passages_of_before_in(place, call, folders):
    """What the help promises of broken files is true of tables and lines too, wherever the bad row is."""
    assert call("index", "add", place, "rows.csv", "-m", str(folders("bert")))[0] == 0
    Path("rows.csv").write_text("text,year,lang\na new cat,2019,en\nshort,1\n")
    Path("lines.txt").write_bytes(b"one\ncaf\xe9\n")
    Path("unnamed.jsonl").write_text('{"x": "a", "y": "b"}\n')
    Path("broken.parquet").write_bytes(b"PAR1 no")
    Path("zebras.txt").write_text("A zebra.\n\n")
    names = ("rows.csv", "lines.txt", "unnamed.jsonl", "broken.parquet", "zebras.txt")
    code, _, err = call("index", "add", place, *names)
    assert code == 1 and "1 passage of 1 document added, 0 unchanged; 3 in total" in err
    assert "rows.csv, line 3: this row has 2 fields, but the first line names 3 columns, so no row of the file" in err
    assert all(f"\nskipped: {name}" in err for name in names[:4]) and "skipped 1 row without text" in err
    texts = {one["text"] for one in json_of(call, "search", place, "cat")["passages"]}
    assert texts == {"the quick cat", "la chatte", "A zebra."}


@pytest.mark.parametrize("name", ["bad.md", "bad.txt"])
def test_a_file_that_cannot_be_read_leaves_no_new_index_if_it_is_alone(place, call, folders, name):
    Path(name).write_bytes(b"caf\xe9")
    code, _, err = call("index", "add", place, name, "-m", str(folders("bert")))
    assert code == 2 and "line 1 is not valid UTF-8" in err and not Path(place).exists()


def test_rows_without_text_are_counted(place, call, folders):
    Path("blank.csv").write_text("text,n\na,1\n,2\n  ,3\nb,4\n")
    code, _, err = call("index", "add", place, "blank.csv", "-m", str(folders("bert")))
    assert code == 0 and "2 passages of 2 documents added" in err and err.endswith("\nskipped 2 rows without text\n")
    found = json_of(call, "index", "add", place, "blank.csv")["skipped"]
    expected = {"kind": "row", "count": 2, "reason": "it has no text", "failed": False, "files": ["blank.csv"]}
    assert found == [expected]


def test_a_filter_that_nothing_can_pass_is_explained(filled, call):
    written = f'file = "{Path("rows.csv").absolute()}"'
    for condition, hint in (
        ("file = 'rows.csv'", f"file contains absolute paths: write {written.partition(' = ')[2]}"),
        ("year = '2019'", "year contains numbers, not texts: write year = 2019"),
    ):
        assert call("search", filled, "cat", "--filter", condition) == (0, "", f"nothing was found\n{hint}\n")
        _, out, err = call("search", filled, "cat", "--filter", condition, "--json")
        assert json.loads(out)["passages"] == [] and err == f"{hint}\n"
        assert call("index", "delete", filled, "--filter", condition)[2] == f"{hint}\n"
    assert call("search", filled, "cat", "--filter", "year = 1")[2] == "nothing was found\n"
    some = "year = 2021 or year = '2019'"
    assert call("search", filled, "cat", "--filter", some)[2] == ""
    assert call("index", "delete", filled, "--filter", some, "--dry-run")[2] == ""
    assert len(json_of(call, "search", filled, "cat", "--filter", written)["passages"]) == 2


@pytest.fixture
def memory():
    with MemoryIndex.create("memory:pets", 2) as index:
        yield index
    MemoryIndex.discard("memory:pets")


def test_info_lists_the_columns_of_the_first_passages_of_other_indexes(memory, call, monkeypatch):
    assert json_of(call, "index", "info", memory.location)["columns"] == []
    monkeypatch.setattr(describe, "SAMPLE", 2)
    memory.add(Records(["x", "y", "z"], np.ones((3, 2)), None, [{"kind": "cat", "age": 3}, {}, {"size": 1}]))
    assert json_of(call, "index", "info", memory.location)["columns"] == ["age", "kind"]
    assert call("index", "info", memory.location)[1].splitlines() == [
        "memory:pets (MemoryIndex): 3 passages",
        "  model       unknown, 2 dimensions",
        "  fingerprint none: the model cannot be checked",
        "  headings    not embedded",
        "  columns     age, kind (of the first 2 passages)",
        "          3  (no file)",
    ]


def test_only_folders_are_verified_and_other_indexes_closed_again(memory, call, monkeypatch):
    closed = []
    monkeypatch.setattr(MemoryIndex, "close", lambda index: closed.append(index))
    code, _, err = call("index", "verify", memory.location)
    assert code == 2 and "verify works only on folders; memory:pets is not a folder" in err and len(closed) == 1


def test_info_lists_some_files_and_counts_the_others(filled, call, monkeypatch):
    assert "more file" not in call("index", "info", filled)[1]
    about = json_of(call, "index", "info", filled)
    assert about["bytes"] == sum(path.stat().st_size for path in Path(filled).rglob("*") if path.is_file())
    monkeypatch.setattr(describe, "SHOWN", 1)
    assert call("index", "info", filled)[1].splitlines() == [
        f"{filled} (Collection): 4 passages, {about['bytes'] / 1e6:.1f} MB",
        f"  model       {about['model']['name']}, 32 dimensions",
        f"  fingerprint {about['model']['fingerprint']}",
        f"  computed    {about['model']['engine']}, fp32, arithmetic {about['model']['arithmetic']}",
        "  headings    embedded",
        "  columns     file, headings, lang, row, start, stop, title, year",
        "          2  notes/animals.md",
        "  and 1 more file: --json lists them all",
    ]


def test_info_lists_the_columns_of_all_passages(filled, call, monkeypatch):
    monkeypatch.setattr(describe, "SAMPLE", 1)
    columns = ["file", "headings", "lang", "row", "start", "stop", "title", "year"]
    assert json_of(call, "index", "info", filled)["columns"] == columns
    assert f"  columns     {', '.join(columns)}\n" in call("index", "info", filled)[1]


def test_texts_with_ids_of_their_own_are_deleted_by_them(place, call, folders):
    with TextIndex.open(place, str(folders("bert"))) as index:
        index.add(["the cat", "a dog"], ids=["cat", "dog"])
    assert json_of(call, "search", place, "cat", "-k", "1")["passages"][0]["id"] == "cat"
    assert json_of(call, "index", "info", place)["files"] == {"cat": 1, "dog": 1}
    assert json_of(call, "index", "delete", place, "--id", "cat")["deleted"] == 1
    code, _, err = call("index", "delete", place, "--id", "cat")
    assert code == 2 and "the id 'cat' is not in" in err
