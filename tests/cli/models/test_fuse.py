"""What `likewise model fuse` takes from a file."""

import json
import re

import pytest

from likewise import Embedder
from likewise.cli.main import main
from likewise.cli.models import fuse
from likewise.cli.sources import texts_by_column
from likewise.errors import BadInput
from likewise.evaluate.statistics.significance import Interval
from likewise.wording import counted
from tests.cli.models.pairs import examples_of


def test_pairs_and_triplets_are_found_by_the_names_of_their_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n,sentence2,sentence1,label\n" + "".join(f"{i},b{i},a{i},{i % 5}\n" for i in range(30)))
    texts, examples = examples_of(path)
    assert len(examples) == 30
    assert set(texts) == {f"{side}{i}" for side in "ab" for i in range(30)}
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"anchor": "a{i}", "positive": "p{i}", "negative": "n{i}"}}\n' for i in range(30)))
    texts, examples = examples_of(path)
    assert (len(examples), len(texts)) == (30, 90)


def test_a_teacher_reads_lines_or_any_columns_of_sentences(tmp_path):
    (tmp_path / "t.txt").write_text("a\n\nb\n")
    assert texts_by_column(tmp_path / "t.txt") == {"text": ["a", "b"]}
    (tmp_path / "t.csv").write_text("sentence1,sentence2\na,b\nc,d\n")
    assert texts_by_column(tmp_path / "t.csv") == {"sentence1": ["a", "c"], "sentence2": ["b", "d"]}
    (tmp_path / "m.csv").write_text("anchor,positive,negative_1,negative_2\na,b,c,d\n")
    assert list(texts_by_column(tmp_path / "m.csv").values()) == [["a"], ["b"], ["c"], ["d"]]
    (tmp_path / "o.csv").write_text("left,right\na,b\n")
    with pytest.raises(BadInput, match="o.csv: expected one of the columns text, .*; found left, right"):
        texts_by_column(tmp_path / "o.csv")


def test_an_empty_file_says_what_is_wanted(tmp_path):
    (tmp_path / "t.jsonl").write_text("")
    with pytest.raises(BadInput, match=r"has the columns \(none\); expected sentence1"):
        examples_of(tmp_path / "t.jsonl")


def test_what_was_tried_is_reported_and_with_json_nothing_else_is_on_stdout(tmp_path, own, capsys):
    model, pairs = own(), tmp_path / "pairs.csv"
    lines = [f"a cat {i} sleeps,the cat {i} naps,{i % 5}\n" for i in range(60)]
    pairs.write_text("sentence1,sentence2,score\n" + "".join(lines))
    command = ["model", "fuse", str(model), "--pairs", str(pairs), "-o", str(tmp_path / "out")]
    assert main([*command, "--depth", "auto", "--json"]) == 0
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert [one["blocks"] for one in result["tried"]] == list(range(1, Embedder.load(model).encoder.depth + 1))
    built = Embedder.load(tmp_path / "out")
    assert (result["blocks"], result["pooling"]) == (built.encoder.depth, built.pooling.spec)
    assert result["tried"][0]["fused"]["low"] <= result["tried"][0]["fused"]["value"]
    for one in result["tried"]:
        fused, baseline, gain = (str(Interval(**one[name])) for name in ("fused", "baseline", "gain"))
        line = f"{one['blocks']} of 3 blocks, 9 held-out pairs: fused {fused}; baseline {baseline}; gain {gain}; "
        note = "; no significant gain, so the baseline is kept" if one["kept_baseline"] else ""
        assert re.search(rf"^{re.escape(line)}[\d,]+ texts/s{note}$", output.err, re.MULTILINE)
    depth, loss = counted(built.encoder.depth, "block"), Interval(**result["difference_to_deepest"])
    assert "60 examples with 120 distinct texts; encoding each text once\n" in output.err
    assert f"\nchosen: {depth}; difference from all blocks {loss} on held-out pairs. Other kinds of text" in output.err
    assert f"\nsaved in {tmp_path / 'out'}: {built.pooling.spec}, {depth}; README.md is its model card\n" in output.err
    assert all(f"\n{name} " in output.err for name in ("fused", "baseline", "gain", "texts/s")), "the legend"
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    chosen = next(one for one in result["tried"] if one["blocks"] == result["blocks"])
    assert loss.value == pytest.approx(chosen["fused"]["value"] - result["tried"][-1]["fused"]["value"])
    assert card.startswith("---\n") and "\n# out\n" in card and 'Embedder.load("out")' in card
    assert "60 examples with 120 distinct texts from `pairs.csv`. The" in card and "on 9 held-out pairs, whose" in card
    assert f"the model has {depth} and the pooling `{built.pooling.spec}`." in card
    shown = " | ".join(str(Interval(**chosen[name])) for name in ("fused", "baseline", "gain"))
    assert f"\n| {shown} |\n" in card and ("was kept" in card) == chosen["kept_baseline"]
    about = {name: result[name] for name in ("model", "pairs", "teacher", "output", "examples", "texts")}
    paths = {"model": str(model), "pairs": str(pairs), "output": str(tmp_path / "out")}
    assert about == {**paths, "teacher": None, "examples": 60, "texts": 120}


def test_columns_of_other_names_are_renamed_scaled_and_selected(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("kind,a,b,rating\n" + "".join(f"{i % 2},a{i},b{i},{i % 5}\n" for i in range(60)))
    texts, examples = examples_of(path, columns="sentence1=a,sentence2=b,score=rating/4", where="kind==1")
    assert len(examples) == 30 and examples.scores.max() == 1.0 and set(texts) >= {"a1", "b1"} and "a0" not in texts
    path.write_text("q,p,n\n" + "".join(f"q{i},p{i},n{i}\n" for i in range(30)))
    texts, examples = examples_of(path, columns="anchor=q,positive=p,negative=n")
    assert (len(examples), len(texts), examples.scores) == (30, 90, None)


@pytest.mark.parametrize(("depth", "depths"), [(None, [4]), ("auto", [1, 2, 3, 4]), ("1", [1]), ("4", [4])])
def test_a_depth_is_a_number_of_blocks_or_auto(depth, depths):
    assert fuse._depths(depth, 4) == depths


@pytest.mark.parametrize("depth", ["0", "5", "-1", "two"])
def test_a_depth_that_the_model_does_not_have_is_refused(depth):
    with pytest.raises(BadInput, match=f"--depth is '{depth}'; expected auto, or 1 to 4 blocks"):
        fuse._depths(depth, 4)


def test_without_torch_it_says_so_first(monkeypatch, capsys):
    monkeypatch.setattr("likewise.runtime.lazy_imports.has_torch", lambda: False)
    assert main(["model", "fuse", "no-such-model", "--pairs", "p.csv", "-o", "out"]) == 2
    assert capsys.readouterr().err.startswith("likewise: likewise model fuse needs the package torch")


def test_texts_of_labels_are_not_taken_for_scores(tmp_path):
    path = tmp_path / "t.csv"
    labels = ("entailment", "neutral", "contradiction")
    path.write_text("sentence1,sentence2,label\n" + "".join(f"a{i},b{i},{labels[i % 3]}\n" for i in range(30)))
    with pytest.raises(BadInput, match="label.*'entailment'|score.*'entailment'"):
        examples_of(path)


@pytest.mark.parametrize(
    "words", [["model", "fuse", "m", "--pairs", "p.csv", "-o", ""], ["model", "dissect", "m", "-o", " "]]
)
def test_an_output_without_a_name_is_refused_at_once(words, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert "the name is empty; expected a folder" in capsys.readouterr().err


COMMANDS = {"fuse": ["--pairs", "p.csv"], "quantize": [], "distil-static": [], "select-layers": ["--texts", "t.txt"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_model_is_written_over_that_of_a_training_run(command, tmp_path, capsys):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(SystemExit):
        main(["model", command, "m", *COMMANDS[command], "-o", str(tmp_path)])
    assert "contains a trained model and its run.json; expected another folder" in capsys.readouterr().err


def test_a_teacher_reads_renamed_and_selected_columns_and_data_sets(own, tmp_path, monkeypatch, unchecked):
    (tmp_path / "faq").mkdir()
    path = tmp_path / "faq" / "train.csv"
    path.write_text("q,a,lang\n" + "".join(f"q{i},a{i},{'en' if i % 2 else 'de'}\n" for i in range(40)) + " ,x,en\n")
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    for name in (path, "faq/train"):
        texts, examples = examples_of(name, "sentence1=q,sentence2=a", "lang==en", str(own()))
        assert len(examples) == 4 * len(texts)
        assert sorted(texts) == sorted([*(f"{side}{i}" for side in "qa" for i in range(1, 40, 2)), "x"])
    with pytest.raises(BadInput, match="expected one of the columns text, sentence1.*; found q, a, lang"):
        examples_of(path, teacher="unused")


@pytest.mark.filterwarnings("default:stsb/train")  # 40 of 5,749 published rows
def test_the_data_sets_behind_model_pairs_and_teacher_are_recorded(own, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    (tmp_path / "stsb").mkdir()
    lines = [f"a cat {i} sleeps,the cat {i} naps,{i % 5}\n" for i in range(40)]
    (tmp_path / "stsb/train.csv").write_text("sentence1,sentence2,score\n" + "".join(lines))
    model, teacher = own(), own()
    (model / "likewise.json").write_text('{"trained_on": ["nli"]}')
    (teacher / "likewise.json").write_text('{"trained_on": ["sick"], "less_tests": ["mrpc"]}')
    command = ["model", "fuse", str(model), "--pairs", "stsb/train"]
    assert main([*command, "-o", str(tmp_path / "tuned")]) == 0
    assert "chosen" not in capsys.readouterr().out  # among one depth
    assert json.loads((tmp_path / "tuned/likewise.json").read_text()) == {"trained_on": ["nli", "stsb"]}
    assert main([*command, "--teacher", str(teacher), "-o", str(tmp_path / "taught")]) == 0
    assert f"{teacher} encodes 80 texts\n" in capsys.readouterr().out
    recorded = json.loads((tmp_path / "taught/likewise.json").read_text())
    assert recorded == {"trained_on": ["nli", "sick", "stsb"], "less_tests": ["mrpc"]}
