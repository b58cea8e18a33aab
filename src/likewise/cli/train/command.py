"""likewise train: from pairs, triplets or scores to a trained model; an interrupted run resumes."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runtime.atomic_files import check_not_input, check_writable_file, check_writable_folder
from ...runtime.lazy_imports import require_torch
from ...wording import counted
from ..output import print_json
from ..sources import input_files, model_folders
from .config import add_flags, train_command

if TYPE_CHECKING:
    from ...train.step.processes import Processes
    from .build import ReadyToTrain
    from .config import TrainCommand

EXAMPLES = """examples:
  likewise train all-MiniLM-L6-v2 --data stsb/train --objective cosent --dev stsb/dev --output out/
  likewise train bert-base-uncased --data pairs.parquet@contrastive --batch-size 64 --learning-rate 2e-5 -o out/
  likewise train MODEL --data nli.csv@classification --data stsb/train@cosent --dev stsb/dev -o out/
  likewise train MODEL --data faq.csv@contrastive --columns anchor=question,positive=answer --dry-run
  likewise train MODEL --kind cross-encoder --data stsb/train@regression --columns score=score/5 --dev stsb/dev -o out/
  likewise train config.toml --seed 3 --output out-3/

The same command again resumes from the last checkpoint. Several processes, for example one per GPU, train as one:
  torchrun --nproc-per-node 2 -m likewise train MODEL --data … --output out/

A TOML file uses the same names with underscores:
  model = "bert-base-uncased"
  output = "out"
  dev = "stsb/dev"
  epochs = 1
  learning_rate = 2e-5
  [[data]]
  file = "pairs.parquet"
  objective = "contrastive:temperature=0.05"
  columns = {anchor = "question", positive = "answer"}"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser(
        "train",
        usage="likewise train MODEL|CONFIG.toml --data FILE@OBJECTIVE [--data …] --output FOLDER [options]",
        description="Train a sentence encoder or a reranker, and save it with its log, curve, record and model card.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument(
        "model_or_config",
        nargs="?",
        metavar="MODEL|CONFIG.toml",
        help="the model to train (as --model), or a TOML file with all settings",
    )
    groups = {"data": verb.add_argument_group("data"), "model": verb.add_argument_group("model")}
    _add_data_flags(groups["data"])
    add_flags(verb, groups)
    other = verb.add_argument_group("other")
    other.add_argument("--dry-run", action="store_true", help="show the plan and one batch without training")
    other.add_argument(
        "--fresh", action="store_true", help="start over: delete the checkpoints and the finished run in --output"
    )
    other.add_argument("--json", action="store_true", help="print the record of the run as JSON")
    other.add_argument("--list-objectives", action="store_true", help="list all objectives with columns and options")
    verb.set_defaults(run=run)


def _add_data_flags(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--data",
        action="append",
        metavar="FILE[@OBJECTIVE]",
        help="training data: .parquet, .csv, .tsv, .jsonl or the name of a data set (likewise data), and the training "
        "objective; can be given several times, and the data are mixed",
    )
    group.add_argument("--objective", metavar="NAME[:OPTION=VALUE,…]", help="objective of every --data that names none")
    group.add_argument(
        "--columns",
        metavar="NAME=COLUMN,…",
        help="columns under other names: anchor=question; score=similarity/5 also scales",
    )
    group.add_argument("--labels", metavar="TEXT,…", help="label texts; a label's number is its position, from 0")
    group.add_argument(
        "--where", metavar="CONDITION", help="use only rows that satisfy this condition: label==1, score>0.5"
    )


def run(args: argparse.Namespace) -> int:
    """Train, save and report; 130 where the run was interrupted."""
    require_torch("likewise train")
    if args.list_objectives:
        return _list_objectives()
    command = train_command(args)
    _check_outputs(command)
    from ...train.step.processes import process_group
    from .build import prepare_training

    with process_group() as processes:
        prepared = prepare_training(command)
        if not args.dry_run:
            return _train_or_interrupt(prepared, args, processes)
        if processes.is_main:
            from .dry_run import dry_run

            dry_run(prepared, as_json=args.json)
        return 0


def _list_objectives() -> int:
    from ...train.objectives import objectives_text

    print(objectives_text(min(100, shutil.get_terminal_size().columns)))
    return 0


def _check_outputs(command: "TrainCommand") -> None:
    """Refuse, before training, outputs that cannot be written to, or that are inputs."""
    options = command.options
    inputs = input_files(options.dev, *(one.file for one in command.data))
    if options.output:
        folder = Path(options.output)
        check_not_input(folder, model_folders(options.model or ""))
        check_not_input(folder / "log.jsonl", inputs)
        check_writable_folder(folder)
    if options.record is not None:
        check_not_input(Path(options.record), inputs)
        check_writable_file(Path(options.record))


def _train_or_interrupt(prepared: "ReadyToTrain", args: argparse.Namespace, processes: "Processes") -> int:
    try:
        return _train(prepared, args, processes)
    except KeyboardInterrupt:
        print(
            f"\nlikewise: stopped at once; the last checkpoint, if any, is in {prepared.folder}, and the same command "
            "resumes from it",
            file=sys.stderr,
        )
        return 130


def _train(prepared: "ReadyToTrain", args: argparse.Namespace, processes: "Processes") -> int:
    """Every process trains; the main one prints and saves."""
    from ...train.output.record import append_result_line
    from ...train.output.run_folder import run_in_folder

    folder = prepared.folder
    finished = run_in_folder(folder, prepared.job, resume=not args.fresh, is_main=processes.is_main)
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
    print(f"saved in {folder}: the model, README.md, run.json, log.jsonl{_curve(folder)}")


def _curve(folder: Path) -> str:
    return ", curve.png" if (folder / "curve.png").exists() else ""
