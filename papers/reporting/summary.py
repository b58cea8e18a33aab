"""A table's results as plain values, from which its page is generated: rows with verdicts, the paper's rows, claims."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..ledger import Entry, measured_figures
from ..paper_table import MEAN, Effort, Experiment, Measured, PaperRow, PaperTable, System, data_reasons, is_model
from ..recipes.flags import PAPER_RATE
from ..recipes.recipe import KEYS
from .claims import checked_claims, difference_text, holds
from .run_lines import Line, distinct_runs, over_the_seeds
from .verdict import over_runs, verdict

Finished = Sequence[tuple[Experiment, Entry]]


def summarized(
    table: PaperTable,
    effort: Effort,
    finished: Finished,
    missing: Sequence[tuple[str, str, str]] = (),
    runs: Sequence[Line] = (),
) -> dict[str, Any]:
    """Everything on a table's page; `missing` has system, backbone and reason, and `runs` has lines of earlier runs."""
    own = [entry["run"] for _, entry in finished if entry["run"] is not None]
    rows = [*_rows(table, finished), *_recorded_rows(table, runs)]
    return {
        "table": table.name,
        "title": table.title,
        "citation": table.citation,
        "protocol": table.protocol,
        "unit": table.unit,
        "quick": "all" if effort.quick else "training" if effort.quick_training else None,
        "columns": dict(table.columns) | ({MEAN: "avg"} if table.mean else {}),
        "paper": [
            {"system": row.system, "values": _paper_values(table, row), "spread": dict(row.spread)}
            for row in table.paper
        ],
        "rows": rows,
        "claims": [*_trained_claims(table, [*own, *runs]), *measured_claims(table, rows)],
        "missing": [dict(zip(("system", "backbone", "why"), one, strict=True)) for one in missing],
        "made": _made(finished) | {"command": _command(table, effort, runs)},
    }


def _rows(table: PaperTable, finished: Finished) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for experiment, entry in finished:
        groups.setdefault((experiment.system, experiment.backbone, experiment.settings), []).append(entry)
    order = [system.name for system in table.systems]
    for (name, backbone, settings), entries in sorted(groups.items(), key=lambda group: order.index(group[0][0])):
        system = table.system(name)
        yield _row(
            table,
            {
                "system": name,
                "backbone": backbone,
                "settings": settings if (run := entries[0]["run"]) is None else run_text(run),
                "seeds": len({entry["seed"] for entry in entries}),
                "quick": any(entry["quick"] for entry in entries),
                "seconds": round(sum(entry["seconds"] for entry in entries), 1),
                "beside": system.beside,
            },
            _by_seed(entries),
            _reasons(system, backbone, entries),
        )


def _by_seed(entries: Sequence[Entry]) -> list[dict[str, Measured]]:
    """The figures for each seed; one seed's columns may be spread over several lines."""
    figures: dict[int | None, dict[str, Measured]] = {}
    for entry in entries:
        figures.setdefault(entry["seed"], {}).update(measured_figures(entry))
    return list(figures.values())


def run_text(run: Line) -> str:
    """A description of a finished run's settings."""
    epochs = f"{run['epochs']:g} epochs" if run["epochs"] != 1 else "1 epoch"
    parts = [f"{run['rows']:,} rows", epochs, f"{run['steps']:,} steps", f"batch {run['batch']}"]
    parts += [f"rate {run['rate']:g}", run.get("precision", "fp32")]
    trained = parts if run["steps"] else parts[:1]
    return ", ".join([*filter(None, [run.get("note", "")]), *trained])


def _row(
    table: PaperTable, described: Mapping[str, Any], by_seed: Sequence[Mapping[str, Measured]], reasons: Sequence[str]
) -> dict[str, Any]:
    """A row with its figures over seeds, including the mean of the columns, and a verdict for each."""
    seeds = [_with_mean(table, one) for one in by_seed]
    complete = [column for column in (*table.columns, MEAN) if all(column in one for one in seeds)]
    figures = {column: over_runs([one[column] for one in seeds]) for column in complete}
    printed = next((_paper_values(table, row) for row in table.paper if row.system == described["beside"]), {})
    return {
        **described,
        "figures": {column: asdict(figure) for column, figure in figures.items()},
        "printed": {column: printed[column] for column in figures if column in printed},
        "verdicts": {column: verdict(figure, printed.get(column), reasons) for column, figure in figures.items()},
    }


def _with_mean(table: PaperTable, figures: Mapping[str, Measured]) -> dict[str, Measured]:
    """The figures in a table's columns, and their mean if the table has one: as measured, or without an interval."""
    known = {column: figures[column] for column in table.columns if column in figures}
    if table.mean and len(known) == len(table.columns):
        known[MEAN] = figures.get(MEAN) or Measured(sum(one.value for one in known.values()) / len(known))
    return known


def _reasons(system: System, backbone: str, entries: Sequence[Entry]) -> list[str]:
    """Why a system's figures are not comparable with the paper's; empty if they are."""
    reasons = [system.differs] if system.differs else []
    if system.original is not None:
        rates = {entry["run"]["rate"] for entry in entries if entry["run"] is not None}
        reasons += [] if is_model(backbone, system.original) else [f"{backbone} in place of {system.original}"]
        reasons += [f"learning rate {rate:g} in place of {PAPER_RATE:g}" for rate in sorted(rates - {PAPER_RATE})]
    reasons += data_reasons(system.method.data)
    return [*reasons, *(["--quick"] if any(entry["quick"] for entry in entries) else [])]


def _recorded_rows(table: PaperTable, runs: Sequence[Line]) -> Iterator[dict[str, Any]]:
    names = {KEYS.get(column, column): column for column in table.columns}
    systems = {system.name for system in table.systems}
    chosen = [line for line in distinct_runs(runs) if table.recorded(line) is not None]
    for group in over_the_seeds(chosen):
        one = group[0]
        complete = {key: column for key, column in names.items() if all(line.get(key) is not None for line in group)}
        beside = table.recorded(one)
        described = {
            "system": f"{beside if beside in systems else one['recipe']} (recorded)",
            "backbone": one["backbone"],
            "settings": run_text(one),
            "seeds": len(group),
            "quick": False,
            "seconds": round(sum(line["seconds"] for line in group), 1),
            "beside": beside,
        }
        reasons = [f"{one['backbone']} in place of the paper's backbone", *data_reasons(one["data"])]
        if complete:
            by_seed = [{column: Measured(line[key]) for key, column in complete.items()} for line in group]
            yield _row(table, described, by_seed, reasons)


def _paper_values(table: PaperTable, row: PaperRow) -> dict[str, float]:
    """The figures in a paper's row, with their mean added if the table has one and the row does not."""
    values = dict(row.values)
    if table.mean and set(table.columns) <= set(values):
        values.setdefault(MEAN, round(sum(values[column] for column in table.columns) / len(table.columns), 2))
    return values


def _trained_claims(table: PaperTable, runs: Sequence[Line]) -> Iterator[dict[str, Any]]:
    chosen = distinct_runs([run for run in runs if run["recipe"] in table.claims_on])
    for one in checked_claims(over_the_seeds(chosen)):
        difference, found = one.verdict()
        where = f"{one.ours[0]['backbone']}, {one.ours[0]['rows']:,} rows"
        yield {"claim": one.claim.statement, "on": where, "measure": one.claim.column, "seeds": len(one.figures),
               "difference": difference, "holds": found}  # fmt: skip


def measured_claims(table: PaperTable, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Claims decided by a single figure in a row: a claim is supported if the figure's whole interval is above 0."""
    by_row = {system.name: system.claim for system in table.systems if system.claim}
    columns = {**table.columns, MEAN: "avg"}
    return [
        {
            "claim": by_row.get(row["system"]) or table.claims[column],
            "on": row["backbone"],
            "measure": columns[column],
            "seeds": row["seeds"],
            "difference": difference_text(figure["value"], figure["low"], figure["high"]),
            "holds": holds(figure["low"], figure["high"]),
        }
        for row in rows
        for column, figure in row["figures"].items()
        if figure["low"] is not None and (row["system"] in by_row or column in table.claims)
    ]


def _command(table: PaperTable, effort: Effort, runs: Sequence[Line]) -> str:
    quick = "--quick" if effort.quick else "--quick-training" if effort.quick_training else ""
    models = [f"--model {shlex.quote(name)}" for name in effort.backbones]
    flags = (f"python -m papers {table.name}", *models, quick, f"--seeds {effort.seeds}", "--runs FILE" if runs else "")
    return " ".join(filter(None, flags))


def _made(finished: Finished) -> dict[str, Any]:
    entries = [entry for _, entry in finished]
    return {
        "machines": sorted({f"{e['machine']['device']}, {e['machine']['cores']} cores" for e in entries}),
        "commits": sorted({str(e["machine"]["commit"]) for e in entries}),
        "from": min((e["finished"] for e in entries), default=""),
        "to": max((e["finished"] for e in entries), default=""),
        "experiments": len(entries),
        "seconds": round(sum(e["seconds"] for e in entries)),
    }
