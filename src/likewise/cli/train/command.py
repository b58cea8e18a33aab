"""Trains a sentence encoder or a reranker, and saves it with its log, curve, record and model card."""

import argparse
import shutil
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runtime.atomic_files import check_not_input, check_writable_file
from ...runtime.lazy_imports import require_torch
from ...wording import counted
from ..output import note, print_json
from ..parser import options
from ..sources import check_new_folder, input_files
from .config import add_flags, train_command

if TYPE_CHECKING:
    from ...train.objectives.registry import ObjectiveEntry
    from ...train.step.processes import Processes
    from .build import ReadyToTrain
    from .config import TrainCommand

EPILOG = """examples:
  likewise train all-MiniLM-L6-v2 --data stsb/train --objective cosent --dev stsb/dev --output out/
  likewise train bert-base-uncased --data pairs.parquet@contrastive --batch-size 64 --learning-rate 2e-5 -o out/
  likewise train MODEL --data nli.csv@classification --data stsb/train@cosent --dev stsb/dev -o out/
  likewise train MODEL --data faq.csv@contrastive --columns anchor=question,positive=answer --dry-run
  likewise train MODEL --kind cross-encoder --data stsb/train@regression --columns score=score/5 --dev stsb/dev -o out/
  likewise train config.toml --seed 3 --output out-3/

Run the same command again to resume from the last checkpoint. To train on several processes, for example one per GPU:
  torchrun --nproc-per-node 2 -m likewise train MODEL --data … --output out/

A TOML file uses the same names with underscores, and also accepts poly_codes, recipe, and every field of
likewise.train.TrainSettings, such as ema_decay or lora_alpha:
  model = "bert-base-uncased"
  output = "out"
  dev = "stsb/dev"
  epochs = 1
  learning_rate = 2e-5
  [[data]]
  file = "pairs.parquet"
  objective = "contrastive:temperature=0.05"
  columns = {anchor = "question", positive = "answer"}"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "likewise train MODEL|CONFIG.toml --data FILE@OBJECTIVE [--data …] --output FOLDER [options]"
    first = "model to train (like --model), or a TOML file with all settings"
    options(parser)("MODEL|CONFIG.toml", first, dest="model_or_config", nargs="?")
    groups = {"data": options(parser, "data"), "model": options(parser, "model")}
    add = groups["data"]
    data = "training data (.parquet, .csv, .tsv, .jsonl or the name of a data set: likewise data list) and training "
    data += "objective; if given several times, the data sets are mixed"
    add("--data FILE[@OBJECTIVE]", data, action="append")
    add("--objective NAME[:OPTION=VALUE,…]", "objective for every --data without one of its own")
    add("--columns NAME=COLUMN,…", "which columns to use, such as anchor=question; score=similarity/5 divides by 5")
    add("--labels TEXT,…", "the text labels in the data, numbered by position from 0")
    add("--where CONDITION", "use only rows that satisfy this condition: label==1, score>0.5")
    add_flags(parser, groups)
    add = options(parser, "other")
    add("--dry-run", "show the plan and one batch without training")
    add("--fresh", "start over: delete the checkpoints and the finished run in --output")
    add("--json", "print the record of the run, the plan of --dry-run or the objectives of --list as JSON")
    add("-q --quiet", "show no progress")
    add("--list", "list all objectives with their columns and options")


def run(args: argparse.Namespace) -> int:
    """Train, save and report; returns 130 if the run was interrupted."""
    require_torch("likewise train")
    if args.list:
        _list_objectives(args.json)
        return 0
    command = train_command(args)
    _check_outputs(command)
    from ...train.step.processes import process_group
    from .build import prepare_training

    with process_group() as processes:
        prepared = prepare_training(command)
        if processes.is_main and not args.quiet:
            _note_columns(prepared)
        if not args.dry_run:
            return _train(prepared, args, processes)
        if processes.is_main:
            from .dry_run import dry_run

            dry_run(prepared, as_json=args.json)
        return 0


def _note_columns(prepared: "ReadyToTrain") -> None:
    """Report which columns of the data are read; renamed columns appear as NAME=COLUMN, as in --columns."""
    from ...train.data.batch import TrainingRows

    for source in prepared.job.sources:
        if isinstance(source.rows, TrainingRows):  # streams, which only Python has, are not read yet
            pairs = source.rows.read_from.items()
            read = ", ".join(name if name == column else f"{name}={column}" for name, column in pairs)
            note(f"likewise: note: the columns read from {source.name} are {read}")


def _list_objectives(as_json: bool) -> None:
    from ...train.objectives.registry import OBJECTIVES, RERANKER_OBJECTIVES, objectives_text

    if not as_json:
        print(objectives_text(min(100, shutil.get_terminal_size().columns)))
        return
    tables = {"embedder": OBJECTIVES, "reranker": RERANKER_OBJECTIVES}
    print_json([_objective_as_json(name, kind, one) for kind, table in tables.items() for name, one in table.items()])


def _objective_as_json(name: str, kind: str, entry: "ObjectiveEntry") -> dict[str, Any]:
    reads, parameters = entry.build().reads(), signature(entry.build).parameters.values()
    return {
        "objective": name,
        "kind": kind,
        "purpose": entry.purpose,
        "columns": {part: getattr(reads, part) for part in ("texts", "more_texts", "numbers", "optional")},
        "options": {one.name: one.default for one in parameters if one.default is not one.empty},
        "paper": entry.paper,
        "sentence_transformers": entry.sentence_transformers,
    }


def _check_outputs(command: "TrainCommand") -> None:
    """Before training, reject outputs that are unwritable or are also inputs."""
    chosen = command.options
    inputs = input_files(chosen.dev, *(one.file for one in command.data))
    if chosen.output:
        check_not_input(Path(chosen.output) / "log.jsonl", inputs)
        check_new_folder(Path(chosen.output), chosen.model or "")
    if chosen.record is not None:
        check_not_input(Path(chosen.record), inputs)
        check_writable_file(Path(chosen.record))


def _train(prepared: "ReadyToTrain", args: argparse.Namespace, processes: "Processes") -> int:
    from ...train.output.record import append_result_line
    from ...train.output.run_folder import run_in_folder

    folder = Path(prepared.command.options.output or "")
    try:
        finished = run_in_folder(folder, prepared.job, resume=not args.fresh, is_main=processes.is_main)
    except KeyboardInterrupt:
        note(f"\nlikewise: stopped immediately; to resume from a checkpoint in {folder}, if any, run the command again")
        return 130
    if finished.result.interrupted:
        return 130
    if finished.record is not None and processes.is_main:
        if prepared.command.options.record is not None:
            append_result_line(Path(prepared.command.options.record), finished.record, str(folder))
        _print_result(finished.record, folder, args.json)
    return 0


def _print_result(record: dict[str, Any], folder: Path, as_json: bool) -> None:
    if as_json:
        print_json(record)
        return
    result = record["result"]
    for name, score in record["scores"].items():
        before = f"{100 * result['initial_scores'][name]:.2f} → " if name in result["initial_scores"] else ""
        between = f" [{100 * score['low']:.2f}, {100 * score['high']:.2f}]" if "low" in score else ""
        items = f", n = {score['n']:,}" if "n" in score else ""
        print(f"{name} × 100: {before}{100 * score['value']:.2f}{between}{items}")
    best = f", best score at step {result['best_step']:,}" if result["best_step"] else ""
    early = "; stopped early because the score no longer improved" if result["stopped_early"] else ""
    print(f"{counted(result['steps'], 'step')} in {result['seconds']:,.0f} s{best}{early}")
    curve = ", curve.png" if (folder / "curve.png").exists() else ""
    print(f"saved in {folder}: the model, README.md, run.json, log.jsonl{curve}")
