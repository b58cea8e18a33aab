"""likewise train --kind cross-encoder, poly-encoder: from a file to a saved reranker."""

import json

import pytest

from likewise import Reranker
from likewise.cli import main
from likewise.data.column_names import NLI_LABELS
from likewise.errors import BadInput
from likewise.reranker import CrossEncoder, PolyEncoder
from likewise.train import TrainSettings, load_data, train
from likewise.train.objectives import RERANKER_OBJECTIVES
from likewise.train.step.trainable import check_same_labels

PAIRS = [("a cat sleeps", "the cat naps", 4.5), ("dogs bark", "the dog is on", 3.0), ("rain falls", "a cat", 0.5)]
RUN = ["--batch-size", "8", "--learning-rate", "1e-3", "--threads", "1", "--device", "cpu"]
SCORED = ["--data", "pairs.csv@regression", "--columns", "score=score/5", "--dev", "pairs.csv"]

FOUR = ["--data", "nli.csv@classification:num_labels=4"]


@pytest.fixture
def place(tmp_path, own, monkeypatch):
    """A folder with a model, scored pairs, pairs with labels, and triples; the current one."""
    monkeypatch.chdir(tmp_path)
    own().rename(tmp_path / "tiny")
    pairs = [(f"{a} {i}", f"{b} {i}", s) for i in range(8) for a, b, s in PAIRS]
    labels = ["entailment", "neutral", "contradiction"]
    (tmp_path / "pairs.csv").write_text("sentence1,sentence2,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in pairs))
    (tmp_path / "nli.csv").write_text(
        "sentence1,sentence2,label\n" + "".join(f"{a},{b},{labels[i % 3]}\n" for i, (a, b, _) in enumerate(pairs))
    )
    (tmp_path / "found.csv").write_text("anchor,positive\n" + "".join(f"{a},{b}\n" for a, b, _ in pairs))
    return tmp_path


def test_a_cross_encoder_is_begun_trained_measured_saved_and_goes_on_from_labels_to_scores(place, capsys):
    nli = ["--data", "nli.csv@classification", "--dev", "nli.csv"]
    command = ["train", "tiny", "--kind", "cross-encoder", *nli, *RUN, "--epochs", "2", "-o", "nli"]
    assert main(command) == 0
    assert "nli.csv accuracy × 100:" in capsys.readouterr().out
    result = CrossEncoder.load("nli", device="cpu")
    assert isinstance(result, CrossEncoder) and list(result.labels) == ["contradiction", "entailment", "neutral"]
    card = (place / "nli/README.md").read_text()
    assert "A reranker. Reads two texts together, and returns the probabilities of contradiction" in card
    assert main(command) == 0
    assert "this run is already finished" in capsys.readouterr().err

    assert main(["train", "nli", "--kind", "cross-encoder", *SCORED, *RUN, "--max-steps", "2", "-o", "out"]) == 0
    assert "pairs.csv spearman × 100:" in capsys.readouterr().out
    assert Reranker.load("out", device="cpu").score([("a", "b")]).shape == (1,)
    record = json.loads((place / "out/run.json").read_text())
    assert record["model"]["kind"] == "CrossEncoder" and record["data"][0]["objective"]["objective"] == "PairRegression"


def test_a_poly_encoder_learns_from_its_batch_and_a_saved_one_is_trained_on(place, capsys):
    command = ["--kind", "poly-encoder", *RUN, "--max-steps", "2"]
    (place / "poly.toml").write_text('model = "tiny"\npoly_codes = 3\n')
    assert main(["train", "poly.toml", *command, "--data", "found.csv@in-batch", "-o", "poly"]) == 0
    result = Reranker.load("poly", device="cpu")
    assert isinstance(result, PolyEncoder) and len(result.codes) == 3
    assert main(["train", "poly", *command, *SCORED, "-o", "again"]) == 0
    assert "pairs.csv spearman" in capsys.readouterr().out
    (place / "same.toml").write_text('model = "poly"\npoly_codes = 3\npooling = "mean"\n')
    assert main(["train", "same.toml", *command, *SCORED, "--dry-run"]) == 0
    (place / "codes.toml").write_text('model = "poly"\npoly_codes = 5\n')
    assert main(["train", "codes.toml", *command, *SCORED, "-o", "other"]) == 2
    assert "poly is already a poly-encoder with 3 codes; omit poly_codes" in capsys.readouterr().err
    assert main(["train", "poly", *command, *SCORED, "--pooling", "max", "-o", "other"]) == 2
    assert "poly is already a poly-encoder with the pooling mean; omit --pooling" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["cross-encoder", "poly-encoder"])
def test_a_dry_run_of_a_reranker_shows_plan_and_batch_and_trains_nothing(kind, place, capsys, json_output):
    assert main(["train", "tiny", "--kind", kind, *SCORED, *RUN, "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert f"the score of a {kind}" in output and "the dog" in output and "dry run" in output
    assert len(json_output(["train", "tiny", "--kind", kind, *SCORED, *RUN, "--dry-run", "--json"])["first batch"]) == 4


@pytest.mark.parametrize("kind", ["cross-encoder", "poly-encoder"])
def test_a_dry_run_shows_the_default_prompt_before_the_first_text(kind, place, capsys, json_output):
    command = ["--kind", kind, *SCORED, *RUN, "--dry-run", "--json"]
    first, second = json_output(["train", "tiny", *command])["first batch"][0]
    assert main(["train", "tiny", *command[:-2], "--max-steps", "1", "-o", "out"]) == 0
    capsys.readouterr()
    settings = place / "out/config_sentence_transformers.json"
    known = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps({**known, "prompts": {"ask": "on "}, "default_prompt_name": "ask"}))
    prompted, unprompted = json_output(["train", "out", *command])["first batch"][0]
    assert (prompted, unprompted) == ([first[0], "on", *first[1:]], second)


def test_what_does_not_go_together_is_refused(place, capsys):
    for flags, reported in [
        (["--kind", "cross-encoder", "--data", "found.csv@in-batch"], "expected a PolyEncoder"),
        (["--kind", "cross-encoder", "--data", "found.csv@contrastive"], "the objective 'contrastive' is unknown"),
        (["--kind", "poly-encoder", "--data", "nli.csv@classification"], "needs 3 labels"),
        (
            ["--kind", "cross-encoder", "--data", "pairs.csv@regression"],
            "pairs.csv, line 2: score is 4.5; expected 0 … 1",
        ),
        (["--kind", "cross-encoder", "--pooling", "mean", *SCORED], "has no pooling"),
        (["--data", "found.csv@in-batch"], "the objective 'in-batch' is unknown"),
        (["--kind", "cross-encoder", "--data", "found.csv@margin"], "one or more columns of negatives"),
        (["--kind", "cross-encoder", *(2 * ["--data", "nli.csv@classification"]), *FOUR], "models with 3 and 4 labels"),
    ]:
        assert main(["train", "tiny", *flags, *RUN, "-o", "out"]) == 2
        assert reported in capsys.readouterr().err


def test_label_texts_may_spell_the_scores_of_a_model_with_one_label(place):
    (place / "words.csv").write_text("sentence1,sentence2,score\na cat,the cat,yes\na dog,rain,no\n")
    words = ["--data", "words.csv@regression", "--labels", "no,yes"]
    assert main(["train", "tiny", "--kind", "cross-encoder", *words, *RUN, "--dry-run"]) == 0


def test_labels_that_are_numbers_get_no_names_and_the_case_of_names_does_not_matter(place, unchecked):
    rows = [f"a {i},b {i},{i % 3}\n" for i in range(9)]
    (place / "numbers.csv").write_text("sentence1,sentence2,label\n" + "".join(rows))
    command = ["train", "tiny", "--kind", "cross-encoder", "--data", "numbers.csv@classification", *RUN]
    assert main([*command, "--max-steps", "1", "-o", "out"]) == 0
    assert list(CrossEncoder.load("out", device="cpu").labels) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    check_same_labels([("a", ["Contradiction", "Entailment", "Neutral"]), ("b", NLI_LABELS)])
    check_same_labels([("a", NLI_LABELS), ("b", ["LABEL_0", "LABEL_1", "LABEL_2"]), ("c", "01"), ("d", ())])
    with pytest.raises(BadInput, match="of a are .*, but those of b .*: --labels ENTAILMENT,NEUTRAL,CONTRADICTION"):
        check_same_labels([("x", ()), ("a", ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"]), ("b", NLI_LABELS)])


def test_label_texts_are_numbered_as_in_the_model(place, capsys, unchecked):
    header, rows = "sentence1,sentence2,label\n", [f"a {i},b {i}" for i in range(9)]
    (place / "numbers.csv").write_text(header + "".join(f"{row},{i % 2 + 1}\n" for i, row in enumerate(rows)))
    (place / "dev.csv").write_text(header + "".join(f"{row},contradiction\n" for row in rows))
    order = ["Neutral", "entailment", "contradiction"]
    CrossEncoder.start("tiny", order).save("own")
    command = ["train", "own", "--kind", "cross-encoder", *RUN, "--max-steps", "1", "--data"]
    assert main([*command, "numbers.csv@classification", "--dev", "dev.csv", "-o", "out", "-q"]) == 0
    model = Reranker.load("own", engine="torch", precision="fp32", device="cpu")
    data = load_data("numbers.csv", "classification", objectives=RERANKER_OBJECTIVES)
    result = train(model, data, TrainSettings(max_steps=1, show_progress_bar=False), evaluator="dev.csv")
    expected = float((CrossEncoder.load("own").logits([row.split(",") for row in rows]).argmax(1) == 2).mean())
    assert result.initial_scores == {"dev.csv accuracy": expected}
    assert json.loads((place / "out/run.json").read_text())["result"]["initial_scores"] == result.initial_scores

    capsys.readouterr()
    for flags, reported in [
        (
            ["numbers.csv@classification", "--labels", "x,y,z"],
            "the labels of own are Neutral, entailment, contradiction",
        ),
        (
            ["numbers.csv@classification", "--labels", "x,y"],
            "--labels names 2, x, y, but the objective of numbers.csv has",
        ),
        (["nli.csv@classification"], "--labels Neutral,entailment,contradiction"),
    ]:
        assert main([*command, *flags, "-o", "out"]) == 2
        assert reported in capsys.readouterr().err
    with pytest.raises(
        BadInput, match=r"the labels of the model are Neutral, .* those of nli\.csv are numbered as cont"
    ):
        train(model, load_data("nli.csv", "classification", objectives=RERANKER_OBJECTIVES), output="out")


def test_data_sets_with_their_labels_in_another_order_are_not_mixed(place, capsys):
    table = '[[data]]\nfile = "nli.csv"\nobjective = "classification"\n'
    (place / "mixed.toml").write_text(
        f'model = "tiny"\nkind = "cross-encoder"\n{table}{table}labels = ["entailment", "neutral", "contradiction"]\n'
    )
    assert main(["train", "mixed.toml", "--dry-run"]) == 2
    reported = (
        "the labels of nli.csv are contradiction, entailment, neutral, but those of nli.csv are numbered as entail"
    )
    assert reported in capsys.readouterr().err
