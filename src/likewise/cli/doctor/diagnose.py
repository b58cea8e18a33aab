"""`likewise doctor`: versions, engines, CPU, memory, models and data, and whether a first text can be encoded."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...source_commit import commit_phrase
from ...wording import counted
from ..output import print_json

EPILOG = """examples:
  likewise doctor
  likewise doctor --json > doctor.json

Include the output when you report a problem. The exit code is 1 if the default model cannot encode a text."""

LABEL = 10  # columns


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "doctor",
        description="Reports what is installed, what the machine has, and whether the default model works here.",
        epilog=EPILOG,
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the report."""
    report = diagnose()
    if args.json:
        print_json(report)
    else:
        show_diagnosis(report)
    return 0 if report["first_text"]["works"] else 1


def diagnose() -> dict[str, Any]:
    """All that is known, as plain values."""
    from . import installed, machine

    return {
        "likewise": installed.likewise(),
        "system": machine.system(),
        "packages": installed.packages(),
        "engines": installed.engines(),
        "cpu": machine.cpu(),
        "threads": machine.threads(),
        "memory": machine.memory(),
        "models": installed.models(),
        "data": installed.data(),
        "extras": installed.extras(),
        "first_text": installed.first_text(),
    }


def show_diagnosis(report: Mapping[str, Any]) -> None:
    """The report for reading: one or more lines under each label."""
    from ..terminal_tables import fill

    for label, describe in LINES.items():
        for i, line in enumerate(describe(report)):
            fill(f"{'' if i else label:{LABEL}}{line}", indent=LABEL)


def _likewise(report: Mapping[str, Any]) -> Iterator[str]:
    described = report["likewise"]
    yield f"{described['version']} ({commit_phrase(described['commit'])}), in {described['folder']}"


def _python(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['system']['python']}, {report['system']['executable']}; {report['system']['platform']}"
    yield ", ".join(f"{name} {version or 'MISSING'}" for name, version in report["packages"].items())


def _engines(report: Mapping[str, Any]) -> Iterator[str]:
    for name, engine in report["engines"].items():
        if engine["usable"]:
            yield f"{name} {engine['version']} on {', '.join(engine['devices'])}"
        else:
            yield f"{name}: {engine['problem']}"


def _cpu(report: Mapping[str, Any]) -> Iterator[str]:
    sets = report["cpu"]["instruction_sets"]
    known = "instruction sets are not reported by this system" if sets is None else ", ".join(sets) or "no vector units"
    yield f"{report['cpu']['name']}: {known}"


def _threads(report: Mapping[str, Any]) -> Iterator[str]:
    threads = report["threads"]
    limits = [counted(threads["cpus"], "CPU")]
    limits += [f"{threads['affinity']} allowed by affinity"] if threads["affinity"] is not None else []
    limits += [f"quota of {threads['quota']:g}"] if threads["quota"] is not None else ["no quota"]
    limits += [f"{name}={value}" for name, value in threads["environment"].items()]
    yield f"{threads['used']} used by default ({', '.join(limits)})"


def _memory(report: Mapping[str, Any]) -> Iterator[str]:
    amounts = {name: f"{value:,.1f} GB" if value is not None else "unknown" for name, value in report["memory"].items()}
    limit = f", limit of the container {amounts['limit_gb']}" if report["memory"]["limit_gb"] is not None else ""
    yield f"{amounts['free_gb']} free of {amounts['total_gb']}{limit}"


def _models(report: Mapping[str, Any]) -> Iterator[str]:
    models = report["models"]
    yield f"bundled: {_names(models['bundled'])}"
    yield f"local: {_names(models['local'])}" + (
        f" (LIKEWISE_MODELS is {models['folder']})" if models["folder"] else ""
    )
    if models["not_installed"]:
        yield f"not installed: {_names(models['not_installed'])}; how to get them: likewise model list"
    yield from _problem(models)


def _data(report: Mapping[str, Any]) -> Iterator[str]:
    data = report["data"]
    where = f"LIKEWISE_DATA is {data['folder']}" if data["folder"] else "LIKEWISE_DATA is not set"
    yield f"{len(data['here'])} of {data['known']} known data sets are here; {where}"
    yield from _problem(data)


def _extras(report: Mapping[str, Any]) -> Iterator[str]:
    extras = report["extras"]
    yield f"installed: {_names([name for name, extra in extras.items() if extra['installed']])}"
    if missing := [name for name, extra in extras.items() if not extra["installed"]]:
        example = f"{missing[0]} by {extras[missing[0]]['install']}"
        yield f"not installed: {', '.join(missing)}; {example}; the others alike (--json has every command)"


def _works(report: Mapping[str, Any]) -> Iterator[str]:
    first = report["first_text"]
    if first["works"]:
        vector = f"a vector of {first['dimension']} dimensions"
        yield f"yes: {first['model']} loaded and encoded a text into {vector} in {first['seconds']} s"
    else:
        yield f"NO: {first['model']}: {first['problem']}"


def _problem(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["problem"]:
        yield f"PROBLEM: {facts['problem']}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


LINES = {
    "likewise": _likewise,
    "python": _python,
    "engines": _engines,
    "cpu": _cpu,
    "threads": _threads,
    "memory": _memory,
    "models": _models,
    "data": _data,
    "extras": _extras,
    "works": _works,
}
"""Each label, and what describes its part of the report."""
