"""A whole run: prepares texts and exports, determines installed sizes, measures contenders, summarizes the results."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.model_files import locate, read_manifest
from likewise.text.tokenizer import Tokenizer

from . import quality, summary
from .arena import Arena
from .contenders import NOT_TRIED, REFERENCE, Contender, chosen, contenders
from .exports import exports_folder
from .installed import folder_megabytes
from .limit import Probe, Work, work_of
from .process import ROOT, Spec, environment, last_line, processors, say
from .texts import CORPORA, Material, Sizes, material, token_counts

PARTS = ("size", "cold", "speed", "quality")
VENVS = ("peers", "peers-onnx")
QUALITY = ("odd", "stsb", "sick")
Found = dict[str, Any]


def run(args: argparse.Namespace, sizes: Sizes, folder: Path, keep: Callable[[Found], None]) -> Found:
    """Measure everything; an interruption ends the run early, with the results so far."""
    model = Path(locate(args.model))
    manifest = read_manifest(model)
    tokenizer = Tokenizer.load(manifest.encoder, manifest.max_seq_length or 512, manifest.lowercase)
    work = work_of(manifest.encoder / "config.json")
    texts = material(tokenizer, sizes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(texts.texts), "utf-8")
    arena = _arena(args, sizes, folder, model, texts, work)
    tokens = token_counts(tokenizer, texts.texts)
    corpora = {name: {"texts": len(texts.texts[name]), "tokens": tokens[name]} for name in CORPORA}

    def so_far() -> Found:
        return collect(arena, args, corpora, work)

    try:
        _measure(arena, args, texts, lambda: keep(so_far()))
    except KeyboardInterrupt:
        say("interrupted; the results so far follow")
    finally:
        arena.stop()
    return so_far()


def _arena(args: argparse.Namespace, sizes: Sizes, folder: Path, model: Path, texts: Material, work: Work) -> Arena:
    exports = exports_folder(model)

    def spec_of(row: Contender, threads: int) -> Spec:
        options, cpus = dict(row.options), processors(threads)
        values = (row.name, row.backend, row.precision, args.model, str(model), str(exports))
        return Spec(*values, threads=threads, cpus=cpus, options=options)

    pythons = {"ours": sys.executable, **{venv: str(args.venvs / f"venv-{venv}" / "bin" / "python") for venv in VENVS}}
    counts = {name: len(part) for name, part in texts.texts.items()}
    rows, threads = chosen(contenders(work.depth), args.only), tuple(args.threads)
    return Arena(rows, spec_of, pythons, sizes, counts, threads, folder, Probe(folder))


def _measure(arena: Arena, args: argparse.Namespace, texts: Material, keep: Callable[[], None]) -> None:
    prepare(arena)
    if "size" not in args.skip:
        read_sizes(arena)
    if not {"speed", "quality"} <= {*args.skip}:
        arena.load()
        arena.try_out()
    if "speed" not in args.skip:
        arena.run_rounds(keep)
    if "cold" not in args.skip:
        arena.start_cold()
        keep()
    if "quality" not in args.skip:
        arena.encode_quality(QUALITY)
        judge(arena, texts)


def prepare(arena: Arena) -> None:
    """Convert the model to other libraries' formats; if a conversion fails, its contenders are left out."""
    for name, row in arena.rows.items():
        record = arena.records.setdefault(name, {})
        python = arena.pythons[row.venv]
        if not Path(python).exists():
            record.update(error=f"{python} is missing; make bench-peers installs it", failed="before the start")
        elif not row.ours and not row.own_model:
            say(f"files of {name}")
            spec = arena.spec_of(row, arena.threads[-1])
            command = [python, "-m", "benchmarks.peers.exports", spec.text(), str(arena.folder / "texts.json")]
            done = subprocess.run(
                command, env=environment(os.cpu_count() or 1), cwd=ROOT, capture_output=True, text=True
            )
            if done.returncode:
                record.update(error=last_line(done.stderr), failed="when its files were made")


def read_sizes(arena: Arena) -> None:
    """Determine each contender's installed size in MB; ours includes the package itself and its bundled models."""
    for name, row in arena.rows.items():
        if "error" in arena.records[name]:
            continue
        command = [arena.pythons[row.venv], "-m", "benchmarks.peers.installed", *row.packages]
        done = subprocess.run(command, env=environment(1), cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            say(f"the size of {name} is unknown: {last_line(done.stderr)}")
            continue
        found = json.loads(done.stdout)
        if row.ours:
            found["packages"]["likewise"] = round(folder_megabytes(ROOT / "src" / "likewise"), 1)
            found["mb"] = round(found["mb"] + found["packages"]["likewise"], 1)
        arena.records[name]["installed"] = {key: found[key] for key in ("mb", "packages", "missing")}


def judge(arena: Arena, texts: Material) -> None:
    """Compute cosines with the reference vectors and correlations with human scores, from the vector files."""
    encoded = {name: record["encoded"] for name, record in arena.records.items() if "encoded" in record}
    vectors = {name: {c: np.load(arena.vectors(name, c)) for c in corpora} for name, corpora in encoded.items()}
    for name, found in vectors.items():
        record = arena.records[name]
        record["quality"] = {"spearman": quality.correlations(found, texts.pairs)}
        if not arena.rows[name].own_model:
            record["quality"] |= quality.agreement(found, vectors.get(REFERENCE, {}))


def collect(arena: Arena, args: argparse.Namespace, corpora: Mapping[str, Mapping[str, int]], work: Work) -> Found:
    """Collect the results in the form in which they are written."""
    speeds = summary.speeds(arena.records, arena.rows, corpora, arena.limits, work)
    notes = dict(arena.probe.notes) | ({"all": work.unknown} if work.unknown else {})
    failed = {n: f"{r['error']} ({r['failed']})" for n, r in arena.records.items() if "error" in r}
    return {
        "model": args.model,
        "reference": REFERENCE,
        "quick": args.quick,
        "rounds": arena.sizes.rounds,
        "threads": list(arena.threads),
        "corpora": dict(corpora),
        "limits": summary.limit_rows(arena.limits, corpora, work),
        "limit_notes": notes,
        "contenders": {name: _row(arena, name, speeds.get(name, {})) for name in arena.rows if name in arena.records},
        "left_out": {**failed, **({} if args.only else NOT_TRIED)},
    }


def _row(arena: Arena, name: str, speed: Found) -> Found:
    row, record = arena.rows[name], arena.records[name]
    memory = {key: record.get(key) for key in ("loaded_mb", "peak_mb")}
    return {
        "precision": row.precision,
        "ours": row.ours,
        "note": row.note,
        "versions": record.get("versions", {}),
        "chosen": record.get("chosen", {}),
        "speed": speed,
        "query": summary.queries(record),
        "cold": summary.cold(record),
        "memory": memory if "loaded_mb" in record else None,
        "installed": record.get("installed"),
        "quality": record.get("quality"),
        "error": record.get("error"),
    }
