"""`likewise doctor` reports what is there, what is broken, and whether a text can be encoded."""

import importlib.metadata
import os
import re

from likewise.cli import doctor, machine, main
from likewise.engine_registry import ENGINES
from likewise.engines.native import golden
from likewise.native.library import ARITHMETIC
from likewise.runtime.installation import EXTRAS
from tests.native_library import NATIVE


def test_the_report_is_printed_and_given_as_json(capsys, json_output):
    report = json_output(["doctor", "--json"])
    assert set(report["engines"]) == set(ENGINES) and set(report["extras"]) == set(EXTRAS)
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
        raise ValueError("bad weights\nand more")

    monkeypatch.setattr("likewise.Embedder.load", broken)
    assert main(["doctor"]) == 1
    assert "NO: likewise-mini: ValueError: bad weights\n" in capsys.readouterr().out


def test_folders_that_are_not_there_are_problems(monkeypatch, capsys):
    monkeypatch.setenv("LIKEWISE_MODELS", "/nowhere/models")
    monkeypatch.setenv("LIKEWISE_DATA", "/nowhere/data")
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "PROBLEM: LIKEWISE_MODELS is /nowhere/models, which is not a folder" in shown
    assert "PROBLEM: LIKEWISE_DATA is /nowhere/data, which is not a folder" in shown


def test_without_torch_its_engine_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    engines = doctor.engines()
    assert not engines["torch"]["usable"] and "pip install" in engines["torch"]["problem"]
    assert engines["numpy"]["usable"]


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


def test_where_the_system_says_nothing_it_is_unknown(tmp_path):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9 if hasattr(os, "sysconf") else None
    expected = {"total_gb": total and round(total, 1), "free_gb": None, "limit_gb": None}
    assert machine.memory(tmp_path / "nothing", tmp_path) == expected


def test_memory_is_what_the_container_leaves(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 16000000 kB\nMemFree: 1 kB\nMemAvailable: 8000000 kB\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path) == {"total_gb": 16.4, "free_gb": 8.2, "limit_gb": None}
    (tmp_path / "memory.max").write_text("4000000000\n")
    (tmp_path / "memory.current").write_text("1500000000\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path) == {"total_gb": 16.4, "free_gb": 2.5, "limit_gb": 4.0}
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path)["free_gb"] == 8.2


def test_threads_name_what_limits_them(tmp_path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    threads = machine.threads({"OMP_NUM_THREADS": "3", "HOME": "/"}, tmp_path)
    assert (threads["quota"], threads["used"], threads["environment"]) == (1.5, 3, {"OMP_NUM_THREADS": "3"})
    assert machine.threads({}, tmp_path / "nothing")["quota"] is None
