"""`likewise doctor` reports what is there, what is broken, and whether a text can be encoded."""

import importlib.metadata
import os
import platform
import re
from pathlib import Path
from types import SimpleNamespace

import likewise
from likewise.cli import doctor, machine, main
from likewise.data.catalogue import DATASETS
from likewise.engine_registry import ENGINES
from likewise.engines.native import golden
from likewise.errors import NativeUnavailable
from likewise.native.library import ARITHMETIC
from likewise.runtime.installation import EXTRAS, checkout
from likewise.source_commit import source_commit
from tests.native_library import NATIVE


def test_the_report_is_printed_and_given_as_json(capsys, json_output):
    report = json_output(["doctor", "--json"])
    assert set(report["engines"]) == set(ENGINES) and set(report["extras"]) == set(EXTRAS)
    assert report["likewise"] == {
        "version": likewise.__version__,
        "commit": source_commit(),
        "folder": str(Path(likewise.__file__).parent),
        "checkout": str(checkout()) if checkout() else None,
    }
    assert report["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert report["models"]["bundled"] == ["likewise-mini", "likewise-static"]
    assert report["first_text"]["works"] and report["first_text"]["dimension"] == 384
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for label in "likewise python engines cpu threads memory models data extras bits works".split():  # noqa: SIM905
        assert f"\n{label} " in f"\n{shown}"
    assert "yes: likewise-mini loaded and encoded a text into a vector of 384 dimensions" in shown


def test_bits_are_those_of_every_machine_or_differ_loudly(monkeypatch):
    def line():
        return " ".join(doctor.LINES["bits"]({"bits": doctor._bits()}))

    if not NATIVE:
        assert "was not checked: NativeUnavailable" in line()
        return
    assert re.fullmatch(rf"arithmetic {ARITHMETIC} on \w+: the same as on any machine \(200 texts\)", line())
    monkeypatch.setattr(golden, "golden_hash", lambda model, precision, number: "another")
    assert "DIFFERENT from other machines in fp32, int8" in line()


def test_a_broken_model_is_reported_by_the_exit_code(monkeypatch, capsys):
    def broken(name):
        raise ValueError(f"bad {'weights ' * 100}\nand more")

    monkeypatch.setattr("likewise.Embedder.load", broken)
    assert main(["doctor"]) == 1
    first_line = f"NO: likewise-mini: ValueError: bad {'weights ' * 100}"
    assert f"{first_line[: len('NO: likewise-mini: ValueError: ') + 200]}\n" in capsys.readouterr().out


def test_the_first_text_is_timed(monkeypatch):
    clock = iter([10.0, 11.2345])
    monkeypatch.setattr(doctor, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert doctor._first_text() == {"works": True, "model": "likewise-mini", "dimension": 384, "seconds": 1.23}


def test_folders_that_are_not_there_are_problems(monkeypatch, capsys):
    monkeypatch.setenv("LIKEWISE_MODELS", "/nowhere/models")
    monkeypatch.setenv("LIKEWISE_DATA", "/nowhere/data")
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "PROBLEM: LIKEWISE_MODELS is /nowhere/models, which is not a folder" in shown
    assert "PROBLEM: LIKEWISE_DATA is /nowhere/data, which is not a folder" in shown


def test_data_sets_in_the_data_folder_are_counted(monkeypatch, tmp_path):
    (tmp_path / "stsb").mkdir()
    (tmp_path / "stsb/train.csv").write_text("")
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    assert doctor._data() == {"here": ["stsb"], "known": len(DATASETS), "folder": str(tmp_path), "problem": None}
    monkeypatch.delenv("LIKEWISE_DATA")
    assert doctor._data() == {"here": [], "known": len(DATASETS), "folder": None, "problem": None}


def test_without_torch_its_engine_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    engines = doctor.engines()
    assert not engines["torch"]["usable"] and "pip install" in engines["torch"]["problem"]
    assert engines["numpy"]["usable"]


def test_torch_names_its_devices_and_threads(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda number: f"card {number}")
    monkeypatch.setattr("torch.get_num_threads", lambda: 7)
    found = doctor.engines()["torch"]
    assert (found["devices"], found["threads"]) == (["cpu", "cuda:0 card 0", "cuda:1 card 1"], 7)


BROKEN = "a broken build " * 100


def test_engines_that_cannot_be_loaded_report_their_problems(monkeypatch):
    def broken():
        raise NativeUnavailable("no library")

    def torn():
        raise RuntimeError(f"{BROKEN}\nand more")

    monkeypatch.setattr("likewise.engines.native.library.load", broken)
    monkeypatch.setattr("torch.get_num_threads", torn)
    engines = doctor.engines()
    assert engines["native"] == {"usable": False, "problem": "no library"}
    assert engines["torch"] == {"usable": False, "problem": f"installed, but unusable: {BROKEN[:160]}"}


def test_what_is_not_installed_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("pyarrow", "faiss-cpu") else "1.0")
    extras = doctor.extras()
    assert extras["torch"] == {"installed": True, "packages": {"torch": "1.0"}, "install": None}
    lines = list(doctor.LINES["extras"]({"extras": extras}))
    assert len(lines) == 2 and lines[1].startswith("not installed: ")
    assert "faiss" in lines[1] and "parquet" in lines[1] and lines[1].count("pip install") == 1


def test_the_cpu_is_that_of_the_kernel(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: A Processor\n")
    assert machine.cpu(tmp_path / "cpuinfo") == "A Processor"


def test_where_the_system_says_nothing_it_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sysconf_names", {}, raising=False)
    nothing = tmp_path / "nothing"
    assert machine.memory(nothing, tmp_path) == {"total_gb": None, "free_gb": None, "limit_gb": None}
    assert machine.cpu(nothing) == (platform.processor() or platform.machine())


def test_memory_is_counted_in_pages_where_there_is_no_meminfo(tmp_path, monkeypatch):
    counts = {"SC_PHYS_PAGES": 25_000_000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf_names", counts, raising=False)
    monkeypatch.setattr(os, "sysconf", counts.__getitem__, raising=False)
    assert machine.memory(tmp_path / "nothing", tmp_path)["total_gb"] == 102.4


def test_memory_is_what_the_container_leaves(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 160000000 kB\nMemFree: 1 kB\nMemAvailable: 80000000 kB\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path) == {"total_gb": 163.8, "free_gb": 81.9, "limit_gb": None}
    (tmp_path / "memory.max").write_text("4000000000\n")
    (tmp_path / "memory.current").write_text("1500000000\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path) == {"total_gb": 163.8, "free_gb": 2.5, "limit_gb": 4.0}
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path)["free_gb"] == 81.9


def test_threads_name_what_limits_them(tmp_path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    threads = machine.threads({"OMP_NUM_THREADS": "3", "HOME": "/"}, tmp_path)
    assert (threads["quota"], threads["used"], threads["environment"]) == (1.5, 3, {"OMP_NUM_THREADS": "3"})
    assert machine.threads({}, tmp_path / "nothing")["quota"] is None
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    assert (threads["cpus"], threads["affinity"]) == (os.cpu_count(), allowed)


REPORT = {
    "likewise": {"version": "1.2.3", "commit": "abcdef", "folder": "/there"},
    "system": {"python": "3.12", "executable": "/bin/python", "platform": "Linux"},
    "packages": {"numpy": "2.0", "safetensors": None},
    "engines": {
        "native": {"usable": True, "version": "1 (avx2)", "devices": ["cpu", "cuda:0"]},
        "torch": {"usable": False, "problem": "not installed"},
    },
    "cpu": "A Processor",
    "threads": {"used": 2, "cpus": 8, "affinity": 4, "quota": 2.5, "environment": {"OMP_NUM_THREADS": "3"}},
    "memory": {"total_gb": 16.4, "free_gb": None, "limit_gb": 4.0},
    "models": {"bundled": ["a", "b"], "local": [], "not_installed": ["c"], "folder": "/models", "problem": "gone"},
    "data": {"here": ["x"], "known": 30, "folder": "/data", "problem": "gone too"},
    "extras": {
        "map": {"installed": True, "install": None},
        "torch": {"installed": False, "install": "pip install torch"},
        "table": {"installed": False, "install": "pip install table"},
    },
    "bits": {"arithmetic": 1, "instructions": "avx2", "equal": {"fp32": True, "int8": False}, "texts": 200},
    "first_text": {"works": True, "model": "m", "dimension": 384, "seconds": 0.5},
}
SHOWN = """\
likewise  1.2.3 (commit abcdef), in /there
python    3.12, /bin/python; Linux
          numpy 2.0, safetensors MISSING
engines   native 1 (avx2) on cpu, cuda:0
          torch: not installed
cpu       A Processor
threads   2 used by default (8 CPUs, 4 allowed by affinity, quota of 2.5, OMP_NUM_THREADS=3)
memory    unknown free of 16.4 GB, container limit 4.0 GB
models    bundled: a, b
          local: none (LIKEWISE_MODELS is /models)
          not installed: c; to see how to get them: likewise model list
          PROBLEM: gone
data      1 of 30 known data sets are available here; LIKEWISE_DATA is /data
          PROBLEM: gone too
extras    installed: map
          not installed: torch, table; for torch: pip install torch (--json lists every command)
bits      arithmetic 1 on avx2: DIFFERENT from other machines in int8 (200 texts)
works     yes: m loaded and encoded a text into a vector of 384 dimensions in 0.5 s
"""


def test_every_part_of_a_report_is_shown(capsys):
    doctor.show_diagnosis(REPORT)
    assert capsys.readouterr().out == SHOWN


def test_what_a_machine_does_not_have_is_not_shown(capsys):
    nothing = {"folder": None, "problem": None}
    less = {
        "threads": {"used": 2, "cpus": 1, "affinity": None, "quota": None, "environment": {}},
        "memory": {"total_gb": 1e4, "free_gb": 2.0, "limit_gb": None},
        "models": {"bundled": ["a"], "local": ["b"], "not_installed": [], **nothing},
        "data": {"here": [], "known": 30, **nothing},
        "extras": {"map": {"installed": True, "install": None}},
        "first_text": {"works": False, "model": "m", "problem": "ValueError: bad"},
    }
    doctor.show_diagnosis(REPORT | less)
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line not in SHOWN.splitlines()] == [
        "threads   2 used by default (1 CPU, no quota)",
        "memory    2.0 GB free of 10,000.0 GB",
        "models    bundled: a",
        "          local: b",
        "data      0 of 30 known data sets are available here; LIKEWISE_DATA is not set",
        "works     NO: m: ValueError: bad",
    ]
    assert len(shown) == len(SHOWN.splitlines()) - 4  # what is not installed, and problems
