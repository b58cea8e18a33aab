"""Each recipe from its flags to the line in the list of runs, on a tiny model and a few dozen rows of its own data."""

import csv
import hashlib
import importlib
import json
import shutil
import signal
from argparse import ArgumentParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from likewise import Embedder, Reranker
from likewise.arrays.correlation import spearman
from likewise.data.datasets import read_dataset
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.evaluate.tasks.sentence_pairs import RatedPairs
from likewise.evaluate.tasks.sts import STS_NAMES, STS_SETS
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import Distillation
from likewise.train.output import callbacks
from likewise.train.output.callbacks import TIMING_FIELDS, read_log
from likewise.train.teacher_outputs import TEACHER_OUTPUTS
from papers.recipes import argument_similarity
from papers.recipes import recipe as shared
from papers.recipes.ablation_pooling_concatenation import CELLS, cells
from papers.recipes.distillation import bundle, distil, evened, mini, multilingual, unlabelled
from papers.recipes.distillation.static import LONGEST, alone, word_piece_table
from papers.recipes.distillation.teacher import Teacher, centred, fitted, principal, whitened, with_teacher
from papers.tables.sbert_ablation import ABLATION
from tests.tiny import model_folder

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(published rows|the known copy|the catalogue's copy)"
)  # the data are meant to be others

ROOT = Path(__file__).parents[3]
PLACES = {
    path.stem: ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in Path(shared.__file__).parent.rglob("*.py")
    if path.stem != "__init__"
}
"""The module of each recipe."""
WORDS = ["the", "cat", "dog", "query", "a", "b", "quick", "on", "sleeps", "7", "barks", "naps", "42"]
LINE = ("model", "recipe", "backbone", "seed", "stsb_train", *(f"sts{year}" for year in range(12, 17)))
LINE += ("stsb", "sickr", "avg", "seconds", "device", "commit", "rows", "steps")


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    """A folder of data sets under the names that recipes ask for, each a few dozen rows that are nobody's data."""
    root = tmp_path_factory.mktemp("data")
    draw = np.random.default_rng(0)

    def text() -> str:
        return " ".join(draw.choice(WORDS, size=draw.integers(3, 7)))

    def put(name: str, rows: int, **columns) -> None:
        path = root / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows([[made(i) for made in columns.values()] for i in range(rows)])

    texts = {"sentence1": lambda i: text(), "sentence2": lambda i: text()}
    sides = {name: (lambda i: text()) for name in ("anchor", "positive", "negative")}
    for name in {of.data for of in STS_SETS.values()} | {"stsb/train"}:
        kinds = {"subset": lambda i: "ab"[i % 2], "label": lambda i: "NEUTRAL", "lang": lambda i: "de"}
        put(name, 30, **texts, score=lambda i: (i * 7) % 6, **kinds)
    label = {"label": lambda i: ("contradiction", "entailment", "neutral")[i % 3], "source": lambda i: "snli"}
    put("nli/train", 48, **texts, **label)
    put("nli/triplets", 48, **sides)
    put("ukp_aspect/all", 45, **texts, label=lambda i: ("NS", "SS", "HS")[(i // 3) % 3], topic=lambda i: f"t{i % 3}")
    split = {"article_id": lambda i: i % 5, "split": lambda i: ("train", "test")[i % 2]}
    put("wiki_sections/triplets", 60, **sides, **split)
    put("diverse_text/part-0", 40, text=lambda i: f"{text()} {i}", source=lambda i: "xy"[i % 2], kind=lambda i: "title")
    marked = {"english_in_any_tatoeba_test": lambda i: "yes" if i % 4 == 0 else ""}
    for name in multilingual.TATOEBA:
        put(name, 20, english=lambda i: f"{text()} {i}", sentence=lambda i: f"{text()} {i} 7", **marked)
    put(
        "multi30k/train", 20, **{name: lambda i, name=name: f"{text()} {name} {i}" for name in ("en", "de", "fr", "cs")}
    )
    spoken = {"lang": lambda i: ("fr", "ku")[i % 2]}
    put("tico19/all", 20, id=str, **spoken, english=lambda i: f"{text()} {i}", text=lambda i: f"{text()} fr {i}")
    several = {"lang": lambda i: ("en", "de", "pl")[i % 3], "index": lambda i: i // 3}
    for name in ("train", "dev"):
        put(f"stsb_multi_mt/{name}", 30, **several, **texts, score=lambda i: i % 6)
    put("jsts/train", 20, **texts, score=lambda i: i % 6)
    put("wiki_sections/sentences", 40, text=lambda i: f"{text()} {i}", article=lambda i: "x", section=lambda i: "y")
    return root


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> str:
    return str(model_folder(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="session")
def words(tmp_path_factory) -> str:
    """Word vectors, whose folder is made once."""
    path = tmp_path_factory.mktemp("words") / "w.txt"
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 6)).round(3)
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, rows, strict=True)))
    return f"avg-glove({path})"


@pytest.fixture
def place(tmp_path, data, words, monkeypatch) -> Path:
    monkeypatch.setenv("LIKEWISE_DATA", str(data))
    monkeypatch.setenv("LIKEWISE_CACHE", str(Path(words[10:-1]).parent / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def carried_out(name, backbone, place, *more, out="out", steps=2):
    """What a recipe gives, and the last line that it added."""
    args = f"-o {place / out} --record {place / 'runs.jsonl'} --threads 1 --device cpu".split()
    args += ["--max-steps", str(steps)] if steps else []
    found = importlib.import_module(PLACES[name]).main([backbone, *args, *more])
    return found, json.loads((place / "runs.jsonl").read_text().splitlines()[-1])


def distilled(model, place, *more, **how):
    """What `distil` gives with the model as backbone and teacher, and the line that it added."""
    return carried_out("distil", model, place, "--teacher", model, "--sentences", "nli/train", *more, **how)


TAUGHT = ["--teacher", "MODEL", "--sentences", "nli/train,vocabulary", "--batch-size", "16"]
RECIPES = {
    "sbert_nli": [["--pooling", "cls"], ["--objective", "contrastive", "--rows", "20"]],
    "sbert_stsb": [[], ["--objective", "cosent", "--scale", "5", "--adam-bias-correction", "--ema-decay", "0.9"]],
    "fusion_stsb": [],
    "sbert_nli_then_stsb": [],  # has a test of its own
    "untrained": [],  # these two as well
    "rerankers_stsb": [],
    "wiki_sections_triplets": [[]],
    "argument_similarity": [],
    "ablation_pooling_concatenation": [["--only", "mean-|u-v|+u*v"]],
    "distil": [["--keep", "0,2", *TAUGHT], ["--rows", "20", *TAUGHT]],
    "mini": [["--keep", "1", "--words", "12", "--inner", "20", *TAUGHT]],
    "static": [["--words", "12", *TAUGHT]],
    "multilingual": [["--keep", "1", "--words", "12", "--english", "9", *TAUGHT]],
    "simcse": [[]],
    "infersent": [["--width", "6"]],
    "small_transformer": [["--depth", "1", "--width", "8", "--inner", "8"]],
    "deep_averaging": [["--pairs", "50", "--layers", "8"]],
}
CASES = [(name, flags) for name, several in RECIPES.items() for flags in several]


def test_every_recipe_is_tried_and_told_of():
    others = "recipe flags teacher unlabelled more_words changed_texts near_texts bundle evened soup"
    files = set(PLACES) - set(others.split())
    page = (ROOT / "docs" / "recipes.md").read_text()
    assert files == set(RECIPES) and all(f"python -m {PLACES[name]} " in page for name in files)


@pytest.mark.parametrize(("name", "flags"), CASES, ids=lambda c: c if isinstance(c, str) else "".join(c))
def test_a_recipe_leaves_a_model_and_a_line(name, flags, place, model, words):
    backbone = words if name in ("infersent", "deep_averaging") else model
    _, line = carried_out(name, backbone, place, *(model if flag == "MODEL" else flag for flag in flags))
    began = "random weights" if name == "small_transformer" else "tiny" if backbone == model else words
    assert set(LINE) <= set(line) and line["backbone"] == began
    assert line["avg"] == pytest.approx(np.mean([line[shared.KEYS.get(task, task)] for task in STS_NAMES]), abs=0.01)
    assert line["stsb_train"] == ("stsb" in name or name == "multilingual")  # which reads its sentences, translated
    assert line["steps"] == 2 and line["whole"] is False and "sts12/test" in line["other_data"]
    (folder,) = [path.parent for path in (place / "out").rglob("log.jsonl") if "nli" not in path.parts[-2:-1]][:1] or [
        0
    ]
    assert TorchEmbedder.load(folder).encode(["a cat"]).shape[0] == 1
    assert len([line for line in read_log(folder / "log.jsonl") if line["step"]]) == 2  # step 0 is the model before
    assert "| sts12 |" in (folder / "README.md").read_text() and (folder / "curve.png").exists()
    seen = json.loads((folder / "likewise.json").read_text())
    assert line["data"][0].split("/")[0] in [*seen.get("trained_on", []), *seen.get("less_tests", [])]


def test_a_soup_is_the_mean_of_runs_of_several_seeds_and_one_line(place, model):
    begun = ["sbert_stsb", model, place, "--soup", "3", "--seed", "4"]
    _, line = carried_out(*begun)
    soup = place / "out"
    runs = [soup / f"run-{seed}" for seed in (4, 5, 6)]
    weights = [TorchEmbedder.load(run).state_dict() for run in runs]
    assert not all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    for name, value in TorchEmbedder.load(soup).state_dict().items():
        torch.testing.assert_close(value, sum(one[name] for one in weights) / 3, rtol=1e-5, atol=1e-7)
    assert line["steps"] == 6 and line["note"].endswith("mean of 3 runs")
    finished = [(run / "run.json").stat().st_mtime_ns for run in runs]
    (soup / "run.json").unlink()  # as if it had been interrupted before its end
    carried_out(*begun)
    assert [(run / "run.json").stat().st_mtime_ns for run in runs] == finished
    _, line = carried_out("sbert_stsb", model, place, "--soup", "4", "--seed", "4")  # one more
    assert [(run / "run.json").stat().st_mtime_ns for run in runs] == finished
    assert line["steps"] == 8 and line["note"].endswith("mean of 4 runs") and (soup / "run-7/run.json").exists()
    with pytest.raises(BadInput, match="another finished run: soup was 4 and is now 3"):
        carried_out(*begun)


def test_both_stages_of_the_two_step_recipe_are_told_and_one_line_is_added(place, model):
    record, line = carried_out("sbert_nli_then_stsb", model, place)
    assert line["data"] == ["nli/train", "stsb/train"] and line["rows"] == 48 + 30
    assert record["backbone"]["name"] == "tiny" and len((place / "runs.jsonl").read_text().splitlines()) == 1
    assert record["identity"]["backbone"] == TorchEmbedder.load(place / "out/nli").fingerprint


@pytest.mark.parametrize(("flags", "name"), [([], "untrained"), (["--random", "--pooling", "cls"], "random")])
def test_a_backbone_as_it_is_gets_a_line_and_no_folder(flags, name, place, model):
    _, line = carried_out("untrained", model, place, *flags, steps=None)
    assert set(LINE) <= set(line) and line["recipe"] == name and line["steps"] == 0 and line["data"] == []
    assert not (place / "out").exists()


@pytest.mark.parametrize("kind", ["cross", "poly"])
def test_rerankers_are_measured_on_the_pairs_of_the_benchmark_alone(kind, place, model):
    _, line = carried_out("rerankers_stsb", model, place, "--kind", kind, "--codes", "3")
    assert line["recipe"] == f"{kind}-encoder-stsb" and -100 <= line["stsb"] <= 100 and line["avg"] is None
    pairs = read_dataset("stsb/test")
    reranker = Reranker.load(place / "out")
    ours = reranker.score(pairs["sentence1"], pairs["sentence2"], overflow="truncate")
    assert spearman(ours, np.asarray(pairs["score"])) * 100 == pytest.approx(line["stsb"], abs=0.01)


def test_a_fused_model_can_be_trained_further(place, model, data, tmp_path, monkeypatch):
    shutil.copytree(data, tmp_path / "more")
    rows = [f"cat {i},the dog {i % 7} sleeps,{i % 6},a,NEUTRAL" for i in range(200)]
    for name in ("stsb/train", "sts13/test"):
        (tmp_path / "more" / f"{name}.csv").write_text("\n".join(["sentence1,sentence2,score,subset,label", *rows]))
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "more"))
    told = ["--batch-size", "8", "--epochs", "2", "--learning-rate", "0.01"]
    record, line = carried_out("fusion_stsb", model, place, *told, out="fused", steps=None)
    assert [line[name] for name in ("batch", "epochs", "rate", "precision")] == [8, 2, 0.01, "fp32"]
    assert any("200 of its 200 pairs" in leak for leak in record["leaks"])
    assert line["stsb_train"] is True and line["rows"] == 200 and line["pooling"].startswith(("fusion", "mean"))
    fused = TorchEmbedder.load(place / "fused")
    _, line = carried_out("sbert_stsb", str(place / "fused"), place, "--objective", "cosent", out="further")
    assert line["recipe"] == "fusion-stsb, sbert-stsb-cosent" and line["data"] == ["stsb/train", "stsb/train"]
    assert TorchEmbedder.load(place / "further").pooling.spec == fused.pooling.spec


@pytest.mark.parametrize(
    ("name", "flags", "why"),
    [
        ("fusion_stsb", ["--soup", "2"], "--soup has no effect"),
        ("fusion_stsb", ["--max-steps", "2"], "--max-steps has no effect"),
        ("fusion_stsb", ["--ema-decay", "0.9"], "--ema-decay has no effect"),
        ("fusion_stsb", ["--epochs", "0.5"], "--epochs is 0.5; expected a whole number of at least 1"),
        ("untrained", ["--learning-rate", "1"], "--learning-rate has no effect"),
        ("sbert_stsb", ["--rows", "-5"], "--rows: -5 is not a whole number of at least 1"),
        ("sbert_stsb", ["--rows", "0"], "--rows: 0 is not a whole number of at least 1"),
        ("sbert_stsb", ["--threads", "-1"], "--threads: -1 is not a whole number of at least 1"),
        ("sbert_stsb", ["--seed", "-1"], "--seed: -1 is not a whole number of at least 0"),
        ("sbert_stsb", ["--record", "/proc/none/runs.jsonl"], "--record: /proc/none/runs.jsonl cannot be written"),
        ("sbert_stsb", ["--record", "."], "--record: . is a folder"),
        ("sbert_stsb", ["--output", "/proc/none/model"], "--output: /proc/none/model cannot be written"),
    ],
)
def test_a_flag_that_cannot_work_is_refused_before_anything_is_trained(name, flags, why, place, model, capsys):
    with pytest.raises(SystemExit):
        carried_out(name, model, place, *flags, steps=None)
    assert why in " ".join(capsys.readouterr().err.split()) and not (place / "out").exists()


def test_a_run_upon_a_finished_run_tells_of_both(place, model):
    carried_out("sbert_nli", model, place, out="first")
    record, line = carried_out("sbert_stsb", str(place / "first"), place, out="second")
    assert line["recipe"] == "sbert-nli, sbert-stsb" and line["data"] == ["nli/train", "stsb/train"]
    assert line["backbone"] == "tiny" and line["note"].startswith("after sbert-nli on 48 rows (") and line["rows"] == 78
    assert record["identity"]["backbone"] == TorchEmbedder.load(place / "first").fingerprint and line["whole"] is False


def test_a_whole_run_says_so_and_is_not_trained_again_nor_written_down_twice(place, model):
    first, line = carried_out("sbert_stsb", model, place, "--epochs", "1", steps=None)
    assert line["whole"] is True and line["rows"] == 30 and line["steps"] == 1
    again, _ = carried_out("sbert_stsb", model, place, "--epochs", "1", steps=None)
    assert first == again and len((place / "runs.jsonl").read_text().splitlines()) == 1
    fresh, line = carried_out("sbert_stsb", model, place, "--fresh", "--seed", "1", "--rows", "20", steps=None)
    assert fresh["run"]["seed"] == 1 and len((place / "runs.jsonl").read_text().splitlines()) == 2
    assert line["rows"] == 20 and line["whole"] is False


def test_a_run_that_was_interrupted_goes_on_to_the_same_model(place, model, monkeypatch):
    carried_out("sbert_nli", model, place, out="whole", steps=4)
    shown = callbacks.ConsoleProgress.__call__

    def interrupt(self, state):
        shown(self, state)
        if state.step == 2:
            signal.raise_signal(signal.SIGTERM)

    def interrupted(*args, **how):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(callbacks.ConsoleProgress, "__call__", interrupt)
        carried_out("sbert_nli", model, place, steps=4)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shared, "evaluate", interrupted)  # it is trained by then
        carried_out("sbert_nli", model, place, steps=4)
    assert (place / "out/checkpoints").exists() and not (place / "out/model.safetensors").exists()
    carried_out("sbert_nli", model, place, steps=4)
    assert (place / "out/model.safetensors").read_bytes() == (place / "whole/model.safetensors").read_bytes()
    logs = [
        [{k: v for k, v in told.items() if k not in TIMING_FIELDS} for told in read_log(place / name / "log.jsonl")]
        for name in ("out", "whole")
    ]
    assert logs[0] == logs[1] and len(logs[0]) == 5  # step 0 too: the scores before training


def test_fewer_rows_are_the_same_ones_for_every_seed():
    rows = TrainingRows({"sentence": list("abcdefgh")}, {"score": np.arange(8, dtype=np.float32)})
    few = shared.sample_rows(rows, 5)
    assert list(few.texts["sentence"]) == sorted(few.texts["sentence"]) and len(few) == 5
    assert [ord(x) - ord("a") for x in few.texts["sentence"]] == few.numbers["score"].tolist()
    assert (
        shared.sample_rows(rows, 5).texts == few.texts
        and shared.sample_rows(rows, None) is shared.sample_rows(rows, 9) is rows
    )


def test_what_data_know_of_a_test_is_said_and_a_test_that_is_not_at_hand_is_left_out(
    place, model, data, monkeypatch, capsys
):
    own = place / "data"
    shutil.copytree(data, own)
    shutil.copy(own / "sts13/test.csv", own / "stsb/train.csv")
    (own / "sick/test.csv").unlink()
    monkeypatch.setenv("LIKEWISE_DATA", str(own))
    record, line = carried_out("sbert_stsb", model, place)
    (told,) = [leak for leak in record["leaks"] if "sts13" in leak]
    assert "and 30 of its 30 pairs" in told and told in (place / "out/README.md").read_text()
    assert line["sickr"] is None and line["avg"] is None and line["sts12"] is not None
    assert "sick-r was not measured" in capsys.readouterr().err


def test_folds_that_have_spoken_are_not_trained_again(place, model, monkeypatch):
    first, _ = carried_out("argument_similarity", model, place, "--ways", "cross-topic")
    assert len(list((place / "out/folds/cross-topic").iterdir())) == 3
    monkeypatch.setattr(argument_similarity, "Trainer", lambda *a, **k: pytest.fail("it was trained again"))
    again, line = carried_out("argument_similarity", model, place, "--ways", "cross-topic")
    assert again == first and "ukp-aspect spearman cross-topic" in line


def test_of_each_fold_pairs_are_asked_that_were_not_learned_from():
    pairs = RatedPairs(tuple(map(str, range(40))), ("x",) * 40, np.zeros(40), np.arange(40) % 2, ("a", "b"), (0,) * 40)
    for way, make in argument_similarity.WAYS.items():
        asked = [test for learned, test in make(pairs) if not {*learned.tolist()} & {*test.tolist()}]
        assert sorted(i for test in asked for i in test.tolist()) == list(range(40)), way


def test_cells_of_the_ablation_are_chosen_by_name_or_by_a_part_of_it():
    assert cells(None) == list(CELLS)
    assert cells("stsb,nli-mean") == ["nli-mean", "stsb-mean", "stsb-cls", "stsb-max"]
    with pytest.raises(BadInput, match="no cell 'median'; expected one of nli-mean, "):
        cells("stsb,median")


def test_the_ablation_has_the_cells_of_the_papers_table():
    cells = {(name.split("-")[0], how, " ".join(parts)) for name, (how, parts) in CELLS.items()}
    assert {(f"ablation-{on}", how, parts) for on, how, parts in cells} == set(ABLATION)


def test_a_student_of_another_width_learns_from_projected_vectors(place, model, tmp_path):
    narrow = model_folder(
        tmp_path / "narrow",
        pooling={"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True},
        changes={"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24},
    )
    carried_out("distil", str(narrow), place, "--teacher", model, "--sentences", "nli/train")
    assert TorchEmbedder.load(place / "out").encode(["a cat"]).shape == (1, 16)
    with pytest.raises(BadInput, match="have 32 dimensions, more than the teacher's 16"):
        carried_out("distil", model, place, "--teacher", str(narrow), "--sentences", "nli/train", out="wider")


def test_projected_vectors_are_turned_to_the_backbone_and_keep_their_cosines(model):
    backbone = TorchEmbedder.load(model, device="cpu")
    texts = [
        f"{a} {b}" for a in ("a cat", "the dog", "quick", "barks", "sleeps") for b in ("on a cat", "the quick", "a")
    ]
    own = backbone.encode(texts)
    wider = (
        np.concatenate([own, np.zeros_like(own)], 1) @ np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))[0]
    )
    found = fitted(wider.astype(np.float32), 32, texts, backbone)
    np.testing.assert_allclose(found @ found.T, own @ own.T, atol=1e-4)
    np.testing.assert_allclose(found, own, atol=1e-3)


def test_a_teacher_with_other_axes_is_rotated_to_the_backbone_if_asked(place, model, monkeypatch):
    distilled(model, place)
    told = ["-o", str(place / "turned"), "--sentences", "nli/train", "--power", "0"]
    turned = str(evened.main([str(place / "out"), *told]))
    learned, sources_of = [], distil.sources_of
    monkeypatch.setattr(distil, "sources_of", lambda *a: learned.append(a[:2]) or sources_of(*a))
    told = ["--teacher", turned, "--sentences", "nli/train"]
    carried_out("distil", str(place / "out"), place, *told, out="as-it-is")
    _, line = carried_out("distil", str(place / "out"), place, *told, "--rotate", out="rotated")
    assert "rotated" in line["note"]
    own = TorchEmbedder.load(place / "out", device="cpu").encode([*learned[0][0]["nli/train"]])
    apart, near = (float(np.abs(vectors - own).max()) for _, vectors in learned)
    assert near < 0.01 < 0.1 < apart


def test_what_a_test_holds_is_left_out_of_the_sentences(place, model, monkeypatch):
    teacher, letters = TorchEmbedder.load(model, device="cpu"), unlabelled.letters
    asked = next(unlabelled.texts_of("stsb/dev"))
    assert letters(asked) in unlabelled.tested(("nli/train",))
    assert not unlabelled.tested() >= {letters(text) for text in unlabelled.texts_of("nli/train")}
    one = next(unlabelled.texts_of("nli/train"))
    monkeypatch.setattr(unlabelled, "tested", lambda sources: {letters(f"{one.upper()}!")})
    found = unlabelled.unlabelled(("nli/train", unlabelled.VOCABULARY), teacher.tokenizer)
    forms = [letters(text) for text in found["nli/train"]]
    assert letters(one) not in forms and len(forms) == len(set(forms)) > 40
    assert set(found[unlabelled.VOCABULARY]) <= set(teacher.tokenizer.token_ids_by_name)


def test_the_lessons_of_one_teacher_serve_several_students(place, model, monkeypatch):
    distilled(model, place, "--keep", "0")
    monkeypatch.setitem(TEACHER_OUTPUTS, "teacher", lambda *_: pytest.fail("the teacher is asked again"))
    distilled(model, place, "--keep", "1", out="other")


def test_a_narrowed_model_is_about_what_it_was(model):
    whole = TorchEmbedder.load(model, device="cpu")
    made = mini.narrowed(whole, 31, 48)
    texts = ["the quick cat sleeps", "a dog barks on a cat"]
    cosines = (whole.encode(texts) * made.encode(texts)).sum(1)
    assert cosines.min() > 0.9
    with pytest.raises(BadInput, match="inner units"):
        mini.narrowed(whole, 31, 49)


def test_a_finished_run_is_bundled_with_its_card(place, model, capsys, monkeypatch):
    carried_out("mini", model, place, "--keep", "1", "--words", "12", "--inner", "20", "--teacher", model,
                "--sentences", "nli/train")  # fmt: skip
    told = [str(place / "out"), "--into", str(place / "models"), "--tasks", "stsb,sts12",
            "--before", "It had read a novel."]  # fmt: skip
    made = bundle.main(told)
    assert bundle.main(told) == made == place / "models" / "out"
    page = (made / "README.md").read_text()
    assert "| stsb |" in page and "comes with the package" in page and "in int8" in page
    assert (
        "offered under Apache-2.0, as its teacher all-MiniLM-L6-v2 is" in page
        and "## Before this training\n\nIt had read a novel." in page
    )
    digest = capsys.readouterr().out.split('sha256="')[1][:64]
    assert digest == hashlib.sha256((made / "model.safetensors").read_bytes()).hexdigest() and digest in page
    assert json.loads((made / "likewise.json").read_text()) == {"less_tests": ["nli"]}
    small, whole = TorchEmbedder.load(made), TorchEmbedder.load(place / "out")
    assert small.tokenizer.max_seq_length == TorchEmbedder.load(model).tokenizer.max_seq_length
    np.testing.assert_allclose(small.encode(["the cat"]), whole.encode(["the cat"]), atol=0.02)
    assert "The best step was chosen by stsb-dev" in page
    assert TorchEmbedder.load(made).fingerprint in page
    with pytest.raises(BadInput, match="not a finished run"):
        bundle.main([str(place)])
    with pytest.raises(BadInput, match="contains the run itself"):
        bundle.main([str(place / "out"), "--into", str(place)])
    monkeypatch.setattr(bundle, "LARGEST_BUNDLED", 10)
    with pytest.raises(BadInput, match="expected at most 10"):
        bundle.main(told)
    assert made.exists() and (place / "out" / "run.json").exists()


def test_a_card_tells_of_former_weights_and_of_all_licences(place, model):
    told = ["--teacher", model, "--sentences", "nli/train,vocabulary", "--near-texts", "80"]
    carried_out("distil", model, place, *told, out="tiny")
    page = bundle.main([str(place / "tiny"), "--into", str(place / "models"), "--tasks", "stsb"])
    text = (page / "README.md").read_text()
    assert "Trained from `earlier weights of tiny` with NearTexts" in text and "base_model" not in text
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ")[3] for line in text.splitlines() if "in near" in line}
    assert rows == {"nli/train": "mixed", "vocabulary": bundle.LICENCES["vocabulary"]}
    assert "The licence is unknown for: vocabulary" in (place / "tiny" / "README.md").read_text()


def test_a_student_is_known_by_what_it_was_made_of(place, model, monkeypatch):
    told = ["--keep", "1", "--words", "12", "--inner", "20", "--teacher", model, "--sentences", "nli/train"]
    first, line = carried_out("mini", model, place, *told)
    solved = mini.least_squares
    monkeypatch.setattr(mini, "least_squares", lambda a, b: solved(a, b) + 1e-9)  # as another order of sums would
    assert carried_out("mini", model, place, *told)[0] == first
    assert line["note"] == "blocks 1, words 12, inner 20, more words 3500, from tiny, Adam corrected"
    assert first["backbone"]["fingerprint"] == TorchEmbedder.load(model).fingerprint
    with pytest.raises(BadInput, match="another finished run"):
        carried_out("mini", model, place, *told[:-4], "--inner", "19", *told[-4:])


def test_what_a_teacher_learned_from_is_told_of_its_student(place, model, tmp_path):
    shutil.copytree(model, tmp_path / "teacher")
    (tmp_path / "teacher" / "likewise.json").write_text('{"trained_on": ["stsb"]}')
    _, line = carried_out("distil", model, place, "--teacher", str(tmp_path / "teacher"), "--sentences", "nli/train")
    assert line["stsb_train"] is True
    seen = {"trained_on": ["stsb"], "less_tests": ["nli"]}
    assert json.loads((place / "out" / "likewise.json").read_text()) == seen


def test_what_the_backbone_had_seen_is_told_beside_what_is_learned_now(place, model, tmp_path):
    shutil.copytree(model, tmp_path / "before")
    (tmp_path / "before" / "likewise.json").write_text('{"trained_on": ["nli"], "less_tests": ["mrpc"]}')
    carried_out("sbert_stsb", str(tmp_path / "before"), place)
    seen = {"trained_on": ["nli", "stsb"], "less_tests": ["mrpc"]}
    assert json.loads((place / "out" / "likewise.json").read_text()) == seen


def test_few_rows_do_not_wait_for_all_lessons(place, model, monkeypatch):
    asked = []
    answer = TEACHER_OUTPUTS["teacher"]
    monkeypatch.setitem(TEACHER_OUTPUTS, "teacher", lambda t, c: asked.extend(c["sentence"]) or answer(t, c))
    distilled(model, place, "--rows", "9")
    assert len(asked) == 9
    assert json.loads((place / "out" / "run.json").read_text())["data"][0]["rows"] == 9  # not a share of the share


def test_data_are_read_several_times_in_a_pass(place, model):
    told = ["--teacher", model, "--sentences", "nli/train,stsb/train"]
    once, _ = carried_out("distil", model, place, *told)
    more, _ = carried_out("distil", model, place, *told, "--repeat", "nli/train=2", out="more")
    assert [one["rows"] for one in more["data"]] == [2 * once["data"][0]["rows"], once["data"][1]["rows"]]
    with pytest.raises(
        BadInput, match="--repeat names 'mrpc/train', which is not read; expected one of nli/train, stsb"
    ):
        carried_out("distil", model, place, *told, "--repeat", "mrpc/train=2", out="none")
    for wrong in ("nli/train", "nli/train=0", "nli/train=1.5", "nli/train=x"):
        with pytest.raises(SystemExit):
            carried_out("distil", model, place, *told, "--repeat", wrong, out="none")


def test_changed_texts_are_read_beside_the_others(place, model, monkeypatch):
    record, _ = distilled(model, place, "--changed", "30")
    plain, changed = record["data"]
    assert (changed["name"], changed["rows"]) == ("changed", 30)
    again, _ = distilled(model, place, "--changed", "30", "--whiten", "0.2", out="again")
    assert [one["rows"] for one in again["data"]] == [plain["rows"], 30]
    assert len([*(place / "out" / "lessons").glob("*.parquet")]) == 2  # of both, each once
    for wrong in ("-1", "x"):  # refused before the teacher encodes anything
        with pytest.raises(SystemExit):
            distilled(model, place, f"--changed={wrong}", out="none")


@pytest.mark.parametrize("recipe", ["distil", "static", "mini"])
def test_texts_are_learned_with_their_neighbours(place, model, recipe):
    told = ["--teacher", model, "--sentences", "nli/train,vocabulary"]
    told += ["--words", "8"] if recipe != "distil" else []
    told += ["--inner", "20", "--keep", "0"] if recipe == "mini" else []
    record, line = carried_out(recipe, model, place, *told, "--near-texts", "80")
    (near,) = record["data"]
    assert near["name"] == "near texts" and near["rows"] == 80 and "near texts 80" in line["note"]
    assert "| nli/train | in near texts |" in (place / "out" / "README.md").read_text()
    assert near["of"] == [{"name": "nli/train", "licence": "mixed"}, {"name": "vocabulary", "licence": None}]
    assert near["objective"] == {"objective": "NearTexts", "weight": 3e-4}
    with pytest.raises(SystemExit):
        carried_out(recipe, model, place, *told, "--near-texts=-1", out="none")


def test_whitening_evens_out_principal_axes(place, model):
    x = np.random.default_rng(0).normal(size=(2000, 6)) * [9, 5, 3, 2, 1, 0.5]

    def normalized(vectors):
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    x = normalized(x)

    def squares(vectors):
        return np.linalg.eigvalsh(vectors.T @ vectors / len(vectors))

    spread = [squares(whitened(x, power))[-1] / squares(whitened(x, power))[0] for power in (0, 0.2, 0.5)]
    assert spread[0] > 3 * spread[1] > 6 * spread[2]
    np.testing.assert_allclose(whitened(x, 0), x, atol=1e-5)
    near = normalized(x + 2)
    assert (near @ near.T).mean() > (whitened(near, 0.2) @ whitened(near, 0.2).T).mean() + 0.05
    np.testing.assert_allclose(np.linalg.norm(whitened(x, 0.2), axis=1), 1, atol=1e-5)
    _, line = distilled(model, place, "--whiten", "0.2")
    assert "whitened 0.2" in line["note"]


def test_centred_vectors_have_length_one_and_unrelated_ones_smaller_cosines(place, model):
    vectors = np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = [float((x @ x.T).mean()) for x in (centred(vectors, share) for share in (0, 0.5, 1))]
    assert cosine[0] > 0.4 > cosine[1] > cosine[2] and abs(cosine[2]) < 0.02
    np.testing.assert_allclose(np.linalg.norm(centred(vectors, 0.5), axis=1), 1, atol=1e-6)
    _, line = distilled(model, place, "--centre", "0.5")
    assert "centred 0.5" in line["note"]


def test_a_students_vectors_are_evened_out_by_one_layer_in_the_order_of_their_axes(place, model):
    distilled(model, place)
    made = evened.main([str(place / "out"), "-o", str(place / "evened"), "--sentences", "nli/train", "--power", "0.2"])
    texts = [*unlabelled.texts_of("nli/train")]
    before, after = (TorchEmbedder.load(folder).encode(texts) for folder in (place / "out", made))
    cosines = whitened(before, 0.2) @ whitened(before, 0.2).T
    np.testing.assert_allclose(after @ after.T, cosines, atol=0.1)  # its axes are of the texts that are in no test
    squares = np.square(after).mean(0)
    assert squares[: len(squares) // 2].sum() > 0.6
    assert "evened by 0.2" in json.loads((made / "run.json").read_text())["recipe"]
    turned = evened.main([str(made), "-o", str(place / "turned"), "--sentences", "nli/train", "--power", "0"])
    again = TorchEmbedder.load(turned).encode(texts)
    np.testing.assert_allclose(again @ again.T, after @ after.T, atol=1e-5)  # the second layer is part of the first
    with pytest.raises(BadInput, match="not a finished run"):
        evened.main([str(place), "-o", str(place / "none")])


def test_adams_epsilon_is_far_below_the_gradients_of_a_word_that_one_text_of_a_batch_has(place, model):
    record, _ = carried_out("static", model, place, "--teacher", model, "--sentences", "vocabulary", "--words", "6")
    words = torch.randn(512, 25, 384, generator=torch.manual_seed(0)).requires_grad_()
    student, teacher = (torch.nn.functional.normalize(x, dim=1) for x in (words.mean(1), torch.randn(512, 384)))
    Distillation()(student, teacher=teacher.detach()).backward()
    usual = words.grad[0, 0].square().mean().sqrt()  # 3e-8; with BERT's 1e-6 such a word would hardly move
    assert record["run"]["adam_epsilon"] < usual / 100


def test_a_student_reads_as_much_as_its_teacher(place, model, monkeypatch):
    monkeypatch.setattr(shared, "MAX_LENGTH", 5)
    distilled(model, place)
    assert TorchEmbedder.load(place / "out").max_seq_length == TorchEmbedder.load(model).max_seq_length > 5


def test_a_table_of_words_that_learns_again_reads_as_far_as_before(place, model):
    told = ["--teacher", model, "--sentences", "nli/train"]
    carried_out("static", model, place, "--words", "6", *told)
    carried_out("distil", str(place / "out"), place, *told, out="again")
    assert TorchEmbedder.load(place / "again").tokenizer.max_seq_length == LONGEST


def test_several_teachers_add_their_cosines(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # vectors are kept below the current folder
    one, texts = TorchEmbedder.load(model, device="cpu"), ["A cat sleeps.", "Shares fell.", "Rain."]
    other = TorchEmbedder.load(model_folder(tmp_path / "other", seed=1), device="cpu")
    alone, both = (Teacher({"a": one}, [1.0]), Teacher({"a": one, "b": other}, [1.0, 3.0]))
    cosines = [v @ v.T for v in (m.encode(texts) for m in (one, other))]
    found = both.vectors({"texts": texts})
    np.testing.assert_allclose(found @ found.T, (cosines[0] + 3 * cosines[1]) / 4, atol=1e-6)
    np.testing.assert_allclose(found, both.encode(texts), atol=1e-6)
    assert both.knows({"texts": texts}) and not both.knows({"texts": texts[:2]})
    assert (alone.fingerprint, alone.name, both.name) == (one.fingerprint, "a", "1 a + 3 b")
    assert len({both.fingerprint, alone.fingerprint, Teacher({"a": one, "b": other}, [1.0, 2.0]).fingerprint}) == 3
    assert (both.dimension, both.tokenizer) == (2 * one.dimension, one.tokenizer)


@pytest.mark.parametrize("wrong", ["a=x", "a,a", "a=0", "a=-1,b"])
def test_a_teachers_weight_that_is_none_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        with_teacher(ArgumentParser()).parse_args(["--teacher", wrong])
    assert "--teacher" in capsys.readouterr().err


def test_students_have_no_prompts(place, model, tmp_path):
    shutil.copytree(model, tmp_path / "asking")
    (tmp_path / "asking" / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "query: "}, "default_prompt_name": "query"}'
    )
    carried_out("distil", str(tmp_path / "asking"), place, "--teacher", model, "--sentences", "nli/train")
    student = Embedder.load(place / "out")
    assert not student.manifest.prompts and student.manifest.default_prompt is None


def translated(monkeypatch, name, tests=(), **columns):
    """The rows that the recipe makes of a data set with these columns, if these texts are in tests."""
    monkeypatch.setattr(multilingual, "load_dataset", lambda asked: SimpleNamespace(columns=columns))
    return [*multilingual.taught_rows(name, {unlabelled.letters(text) for text in tests})]


def test_translations_learn_the_vector_of_the_english(monkeypatch):
    columns = {"english": ["Hello.", "Go.", "Run."], "sentence": ["Hallo.", "Geh.", "Lauf."]}
    columns["english_in_any_tatoeba_test"] = [False, True, False]
    rows = translated(monkeypatch, "tatoeba_pairs/deu", tests=["RUN!"], **columns)
    assert rows == [("Hallo.", "Hello."), ("Hello.", "Hello.")]
    monkeypatch.setattr(multilingual, "ASIDE", 1)  # all English sentences are development data
    assert translated(monkeypatch, "tatoeba_pairs/deu", **columns) == []
    spoken = {"lang": ["fr", "ku"], "english": ["Cough?", "Cough?"], "text": ["Toux ?", "Kuxuk?"]}
    assert translated(monkeypatch, multilingual.MEDICINE, **spoken) == [("Toux ?", "Cough?"), ("Cough?", "Cough?")]
    several = {"lang": ["en", "de"], "index": [7, 7], "sentence1": ["A.", "Ein."], "sentence2": ["Two.", "Zwei."]}
    rows = translated(monkeypatch, multilingual.STS, tests=["Two"], **several)
    assert rows == [("Ein.", "A."), ("A.", "A."), ("Zwei.", "Zwei.")]


def test_what_a_test_holds_is_in_no_translation(place, model):
    tokenizer = TorchEmbedder.load(model, device="cpu").tokenizer
    rows = multilingual.rows_by_source(tokenizer, ("nli/train",), 9)
    texts = [unlabelled.letters(text) for name, of in rows.items() if name != "vocabulary" for text, _ in of]
    tests = unlabelled.tested((*multilingual.PARALLEL, "jsts/train")) | {
        unlabelled.letters(text) for text in unlabelled.texts_of("stsb_multi_mt/dev")
    }
    assert len(texts) > 100 and len(texts) == len({*texts}) and not tests & {*texts}
    assert all(rows.values())
    with pytest.raises(
        BadInput, match="--repeat names 'mrpc/train', which is not read; expected one of tatoeba_pairs/"
    ):
        carried_out(
            "multilingual", model, place, "--teacher", model, "--sentences", "nli/train", "--repeat", "mrpc/train=2"
        )


def test_a_student_begins_with_its_backbones_vectors_evened_out_as_the_teachers_are(model):
    vectors = TorchEmbedder.load(model, device="cpu").encode(["the cat", "a dog barks", "42", "the quick cat naps"] * 9)
    with torch.no_grad():
        found = multilingual.evening_head(vectors, 0.2)(torch.from_numpy(vectors)).numpy()
    np.testing.assert_allclose(found, whitened(vectors, 0.2), atol=1e-5)


def test_a_card_names_the_models_languages(place, model, monkeypatch):
    monkeypatch.setitem(bundle.LANGUAGES, "out", {"en": "English", "de": "German"})
    distilled(model, place)
    page = bundle.main([str(place / "out"), "--into", str(place / "models"), "--tasks", "stsb"]) / "README.md"
    assert (
        "language: [en, de]" in page.read_text()
        and "The model is for English and German, and lower-cases" in page.read_text()
    )


def test_a_teacher_in_int8_is_the_native_engines(place, model, tmp_path):
    TorchEmbedder.load(model, device="cpu").save(tmp_path / "teacher", weights="int8")
    told = ["--teacher", str(tmp_path / "teacher"), "--teacher-precision", "int8", "--sentences", "nli/train"]
    _, line = carried_out("distil", model, place, *told)
    assert line["note"] == "from teacher"
    (file,) = (place / "out" / "lessons").glob("*.parquet")
    kept = pq.read_table(file)
    expected = Embedder.load(tmp_path / "teacher", engine="native", precision="int8").encode(
        kept["sentence"].to_pylist()
    )
    np.testing.assert_allclose(np.stack(kept["teacher"].to_numpy()), expected, atol=1e-6)


def test_a_table_begins_with_the_vector_of_each_piece_alone(model):
    whole = TorchEmbedder.load(model, device="cpu")
    made = word_piece_table(whole, whole.dimension)
    row = made.heads[0].linear(made.encoder.table.weight).detach()
    cosines = torch.nn.functional.cosine_similarity(row[7], alone(whole, {})[7].detach(), dim=0)
    assert float(cosines) == pytest.approx(1, abs=1e-5) and row[7].norm() < row[-1].norm()
    with pytest.raises(BadInput, match="expected 1 to"):
        word_piece_table(whole, whole.dimension + 1)


def test_principal_axes_about_the_origin_keep_dot_products_best():
    vectors = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32) @ np.eye(3, 8, dtype=np.float32) + 0
    np.testing.assert_allclose(principal(vectors, 3) @ principal(vectors, 3).T, vectors @ vectors.T, atol=1e-4)
    kept = np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32)
    u, s, _ = np.linalg.svd(kept, full_matrices=False)
    np.testing.assert_allclose(np.abs(principal(kept, 2)), np.abs(u[:, :2] * s[:2]), atol=1e-3)
