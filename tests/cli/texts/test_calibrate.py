"""`likewise calibrate`, and --calibration and --fdr where pairs and duplicates are looked for."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from likewise import Embedder
from likewise.calibrate import Calibration, NullDistribution, cut_off
from likewise.cli import calibration_options, main
from likewise.cli.texts.calibrate import show_calibration
from likewise.files import Table
from likewise.search import closest_pairs
from likewise.search.index import ModelIdentity
from tests.cli.rarer_pairs import make_pairs_rarer

RANDOM = np.random.default_rng(0)
WORDS = ["cat", "dog", "the", "and", "quick", "on", "query", "a", "b", "c", "x", "7"]
TEXTS = list(dict.fromkeys(" ".join(RANDOM.choice(WORDS, 6)) for _ in range(160)))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    (folder / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    rows = [
        {"sentence1": a, "sentence2": b, "label": i % 2} for i, (a, b) in enumerate(zip(TEXTS, TEXTS[3:], strict=False))
    ]
    (folder / "labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def model(folders):
    return str(folders("bert"))


@pytest.fixture(scope="module")
def calibration(place, model):
    """A calibration under which the most similar tenth of pairs is rare, as it would be of other texts."""
    out = place / "c.json"
    words = ["calibrate", str(place / "in.txt"), "-m", model, "-o", str(out), "-q", "--chance-pairs", "5000"]
    assert main([*words, "--pairs", str(place / "labelled.jsonl")]) == 0
    make_pairs_rarer(out)
    return out


def test_the_table_the_json_and_the_file_agree(place, model, capsys, json_output):
    out = place / "own.json"
    words = ["calibrate", str(place / "in.txt"), "-m", model, "-o", str(out), "--chance-pairs", "2000"]
    assert json_output([*words, "--json"]) == json.loads(out.read_text())
    assert main(words) == 0
    shown = capsys.readouterr().out
    chance = Calibration.load(out).chance
    assert f"2,000 random pairs of {len(TEXTS)} distinct texts" in shown
    lines = {line[:16].strip(): line for line in shown.splitlines()}
    assert f"{chance.cosine_at(0.5):.3f} or more" in next(line for name, line in lines.items() if name == "1 in 2")
    assert shown.count("never") <= 1 and shown.rstrip().splitlines()[-1].count("or rarer") == shown.count("never")


def test_what_no_chance_pair_reaches_is_said_once(place, model, capsys):
    words = ["calibrate", str(place / "in.txt"), "-m", model, "-o", str(place / "own.json"), "--chance-pairs", "2000"]
    assert main([*words, "-q"]) == 0
    calibration = Calibration.load(place / "own.json")
    bounded = replace(calibration.chance, scale=1e-9)
    show_calibration(replace(calibration, chance=bounded))
    assert "never" not in capsys.readouterr().out
    show_calibration(replace(calibration, chance=replace(bounded, scale=10.0)))
    *_, last = capsys.readouterr().out.rstrip().splitlines()
    assert last.split() == ["1", "in", "100", "or", "rarer", "never"]


def test_the_table_marks_what_is_extrapolated_and_ends_with_the_threshold(capsys):
    cosine_at = {0.5: 0.1, 0.1: 0.25, 1e-2: 0.5, 1e-3: 0.75, 1e-4: 0.875, 1e-5: 1.0, 1e-6: 1.001}.__getitem__
    chance = SimpleNamespace(cosine_at=cosine_at, least_counted=1e-3, pairs=5000)
    threshold = SimpleNamespace(value=0.625, low=0.5, high=0.75)
    fit = SimpleNamespace(threshold=threshold, criterion="f1", value=0.875, pairs=2000, positives=1000)
    about = {"model": SimpleNamespace(name="m"), "chance": chance, "texts": 100}
    show_calibration(SimpleNamespace(**about, queries=1, labelled=fit))
    title, head, *rows, _, threshold = capsys.readouterr().out.splitlines()
    assert title == "m: 5,000 random pairs of 1 query and 100 distinct texts"
    assert head.split() == ["chance", "pairs", "cosine"]
    assert [" ".join(row.split()) for row in rows] == [
        *("1 in 2 0.100 or more", "1 in 10 0.250 or more", "1 in 100 0.500 or more", "1 in 1,000 0.750 or more"),
        *("1 in 10,000 0.875 or more extrapolated", "1 in 100,000 1.000 or more extrapolated"),
        "1 in 1,000,000 or rarer never",
    ]
    assert threshold == (
        "threshold 0.625 [0.500, 0.750], best for f1 (0.875) on 2,000 labelled pairs, 1,000 of them positive"
    )
    show_calibration(SimpleNamespace(**about, queries=None, labelled=None))
    assert capsys.readouterr().out.startswith("m: 5,000 random pairs of 100 distinct texts\n")


def test_a_plot_is_drawn(place, model):
    pytest.importorskip("matplotlib")
    words = ["calibrate", str(place / "in.txt"), "-m", model, "-o", str(place / "p.json"), "-q"]
    options = ["--pairs", str(place / "labelled.jsonl"), "--plot", str(place / "p.png"), "--queries"]
    assert main([*words, *options, str(place / "in.txt")]) == 0
    assert (place / "p.png").stat().st_size > 5000
    assert Calibration.load(place / "p.json").queries == len(TEXTS)


def test_without_matplotlib_a_plot_is_refused_at_once(place, monkeypatch, capsys):
    monkeypatch.setattr("likewise.cli.output.find_spec", lambda _: None)
    words = ["calibrate", str(place / "in.txt"), "-m", "no-such-model", "-o", str(place / "none.json")]
    for options, message in ((["--plot", "p.png"], "needs the package matplotlib"), ([], "there is no model")):
        assert main([*words, *options]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["pairs", "duplicates", "cluster"])
def test_a_calibration_of_queries_is_refused_for_pairs_of_texts(verb, place, model, calibration, tmp_path, capsys):
    of_queries = replace(Calibration.load(calibration), queries=100)
    of_queries.save(tmp_path / "q.json")
    words = [verb, str(place / "in.txt"), "-m", model, "--calibration", str(tmp_path / "q.json"), "--fdr", "0.05"]
    assert main(words) == 2
    assert "it was made with --queries" in capsys.readouterr().err


def test_labelled_pairs_of_queries_are_encoded_as_queries_and_texts(place, folders, tmp_path, monkeypatch):
    monkeypatch.setattr(Embedder, "encode_query", lambda self, texts, **how: self.encode([*texts], prompt="cat", **how))
    fits = []
    for number, options in enumerate(([], ["--queries", str(place / "in.txt")])):
        out = tmp_path / f"{number}.json"
        words = ["calibrate", str(place / "in.txt"), "-m", str(folders("bert")), "-o", str(out), "-q"]
        assert main([*words, "--pairs", str(place / "labelled.jsonl"), *options]) == 0
        fits.append(Calibration.load(out).labelled.score.x.tolist())
    assert fits[0] != fits[1]


def reference(model, calibration, fdr):
    """The pairs at this rate, by the cosines of all pairs."""
    vectors = Embedder.load(model).encode(TEXTS)
    every = closest_pairs(vectors, len(TEXTS) ** 2)
    cosines = np.array([pair.score for pair in every])
    return every, cut_off(Calibration.load(calibration), cosines, comparisons=len(every), fdr=fdr)


@pytest.mark.parametrize("fdr", [0.05, 0.3])
def test_pairs_at_a_false_discovery_rate_are_those_of_all_comparisons(
    fdr, place, model, calibration, capsys, json_output
):
    every, cut = reference(model, calibration, fdr)
    assert 0 < cut.discoveries < len(every)
    words = ["pairs", str(place / "in.txt"), "-m", model, "--calibration", str(calibration), "--fdr", str(fdr)]
    found = json_output([*words, "--json"])
    assert [pair["score"] for pair in found["pairs"]] == pytest.approx([p.score for p in every[: cut.discoveries]])
    assert found["cut_off"]["comparisons"] == len(every) and found["cut_off"]["discoveries"] == cut.discoveries
    assert found["cut_off"]["cosine"] == pytest.approx(cut.cosine, abs=1e-6)
    assert all(0 < pair["p"] <= fdr and 0 <= pair["probability"] <= 1 for pair in found["pairs"])
    assert main([*words, "-k", "2", "-o", str(place / "pairs.csv")]) == 0
    columns = Table.read(place / "pairs.csv", lambda names: names).columns
    assert len(columns["p"]) == 2
    assert f"{cut.discoveries:,} pairs are more similar than chance at a false discovery" in capsys.readouterr().err


def test_a_calibration_alone_adds_p_values(place, model, calibration, capsys, json_output):
    words = ["pairs", str(place / "in.txt"), "-m", model, "--calibration", str(calibration), "-k", "3"]
    assert main(words) == 0
    assert capsys.readouterr().out.count("p=") == 3
    found = json_output([*words, "--json"])
    assert "cut_off" not in found
    p = Calibration.load(calibration).p_values(np.array([pair["score"] for pair in found["pairs"]]))
    assert [pair["p"] for pair in found["pairs"]] == pytest.approx(p.tolist(), rel=0.01)


def test_duplicates_use_the_cut_off_of_all_pairs(place, model, calibration, json_output):
    _, cut = reference(model, calibration, 0.05)
    words = ["duplicates", str(place / "in.txt"), "-m", model]
    found = json_output([*words, "--calibration", str(calibration), "--fdr", "0.05", "--json"])
    assert found["above"] == pytest.approx(cut.cosine, abs=1e-6)
    assert json_output([*words, "--above", str(found["above"]), "--json"])["groups"] == found["groups"]


@pytest.mark.parametrize("most", [20, 100, 100_000])
def test_above_the_most_pairs_that_are_kept_the_cut_off_no_longer_falls_and_all_are_counted(
    most, place, model, calibration, monkeypatch, json_output
):
    every, cut = reference(model, calibration, 0.3)
    assert cut.discoveries > 100
    monkeypatch.setattr(calibration_options, "MOST", most)
    words = ["pairs", str(place / "in.txt"), "-m", model, "--calibration", str(calibration), "--fdr", "0.3", "--json"]
    found, scores = json_output(words), np.array([pair.score for pair in every])
    p, ranks = Calibration.load(calibration).p_values(scores), np.arange(1, len(every) + 1)
    count = np.flatnonzero(p <= 0.3 * np.minimum(ranks, most) / len(every))[-1] + 1
    assert found["cut_off"]["discoveries"] == count
    assert [pair["score"] for pair in found["pairs"]] == pytest.approx(scores[: min(most, count)].tolist())
    assert found["cut_off"]["cosine"] == pytest.approx(scores[count - 1])
    assert found["cut_off"]["p"] == pytest.approx(p[count - 1], rel=1e-4) and count <= cut.discoveries


def test_equal_texts_are_found_where_only_they_are_more_similar_than_chance():
    chance = NullDistribution(np.array([0.0, 1.0]), np.array([1.0, 0.5]), 1000, scale=0.1, shape=0.0)
    calibration = Calibration(ModelIdentity("m", "f" * 32), chance, texts=100)
    assert chance.cosine_at(0.5) == 1  # the least cosine of a discovery among one comparison
    pairs, cut = calibration_options.significant_pairs(np.eye(2)[[0, 0]], calibration, 0.5)
    assert (len(pairs.scores), cut.discoveries, cut.cosine) == (1, 1, 1)


def test_without_a_discovery_only_equal_texts_are_duplicates(place, model, capsys, json_output):
    out = str(place / "all.json")
    assert main(["calibrate", str(place / "in.txt"), "-m", model, "-o", out, "-q"]) == 0
    capsys.readouterr()
    (place / "twice.txt").write_text("".join(f"{text}\n" for text in [*TEXTS, TEXTS[3]]))
    words = ["duplicates", str(place / "twice.txt"), "-m", model, "--calibration", out, "--fdr", "1e-9"]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "no pair is more similar than chance at a false discovery rate of 1e-09" in shown.err
    assert f"1 of {len(TEXTS) + 1} texts is a copy" in shown.err
    assert json_output([*words, "--json"])["cut_off"]["cosine"] is None


@pytest.mark.parametrize("verb", ["pairs", "duplicates"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fdr", "0.05"], "--fdr needs to know how similar random pairs are: add --calibration FILE"),
        (["--calibration", "c.json", "--fdr", "0.05", "--above", "0.5"], "--fdr and --above both set"),
        (["--calibration", "c.json", "--fdr", "1"], "--fdr is 1.0; expected a rate above 0 and below 1"),
        (
            ["--calibration", "none.json", "--fdr", "0.05"],
            "there is no calibration none.json; to create it: likewise calibrate",
        ),
    ],
)
def test_options_that_contradict_each_other_are_one_line(verb, options, message, place, capsys):
    assert main([verb, str(place / "in.txt"), "-m", "no-such-model", *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("verb", ["duplicates", "cluster"])
def test_a_calibration_without_a_rate_is_refused_if_it_would_do_nothing(verb, place, capsys):
    assert main([verb, str(place / "in.txt"), "-m", "no-such-model", "--calibration", "c.json"]) == 2
    assert "--calibration does nothing without --fdr here; add a rate" in capsys.readouterr().err


def test_a_calibration_of_another_model_is_refused(place, folders, calibration, capsys):
    words = ["pairs", str(place / "in.txt"), "-m", str(folders("electra")), "--calibration", str(calibration)]
    assert main(words) == 2
    assert "Vectors of two models cannot be compared" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "c.txt"], "c.txt ends in '.txt'"),
        (["-o", "c.json", "--chance-pairs", "10"], "--chance-pairs is 10; expected a whole number, 1000 or more"),
        (["-o", "c.json", "--plot", "c.gif"], "c.gif ends in '.gif'"),
        (["-o", "c.json", "--pairs", "in.txt"], "in.txt has no column sentence1"),
    ],
)
def test_what_cannot_be_calibrated_is_one_line(options, message, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main(["calibrate", "in.txt", "-m", "no-such-model", *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_label_that_is_neither_0_nor_1_is_named(place, capsys):
    (place / "bad.csv").write_text("sentence1,sentence2,label\na,b,1\nc,d,maybe\n")
    words = ["calibrate", str(place / "in.txt"), "-m", "no-such-model", "-o", str(place / "n.json")]
    assert main([*words, "--pairs", str(place / "bad.csv")]) == 2
    assert "bad.csv, line 3: label is 'maybe'; expected 0 or 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["pairs", "-", "-", "--margin"], ["calibrate", "-", "--queries", "-", "-o", "c.json"]]
)
def test_standard_input_is_one_file(words, capsys):
    assert main([*words, "-m", "no-such-model"]) == 2
    assert "standard input (-) can be read only once" in capsys.readouterr().err
