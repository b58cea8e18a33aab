"""likewise train: from pairs, triplets or scores to a model. It goes on where it stopped, and shows what it does."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runtime.atomic_files import check_not_input, check_writable_file, check_writable_folder
from ...runtime.lazy_imports import require_torch
from ..output import print_json
from ..sources import input_files, model_folders
from .config import flags, train_command

if TYPE_CHECKING:
    from ...train.step.processes import Processes
    from .build import ReadyToTrain
    from .config import TrainCommand

EXAMPLES = """examples:
  likewise train bert-base-uncased --data pairs.parquet@contrastive --epochs 1 --batch 64 --precision bf16 -o out/
  likewise train MODEL --data nli.csv@classification --data stsb/train@cosent --dev stsb/dev -o out/
  likewise train MODEL --data faq.csv@contrastive --columns anchor=question,positive=answer --dry-run
  likewise train MODEL --kind cross-encoder --data stsb/train@regression --columns score=score/5 --dev stsb/dev -o out/
  likewise train run.toml --seed 3 -o out-3/

The same command again goes on from the last checkpoint. Several processes, a GPU each say, train as one:
  torchrun --nproc-per-node 2 -m likewise train MODEL --data … -o out/

A TOML file has the same names:
  model = "bert-base-uncased"
  output = "out"
  dev = "stsb/dev"
  epochs = 1
  rate = 2e-5
  [[data]]
  file = "pairs.parquet"
  objective = "contrastive:temperature=0.05"
  columns = {anchor = "question", positive = "answer"}"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb and its flags."""
    verb = verbs.add_parser(
        "train",
        help="train a model on pairs, triplets or scores",
        usage="likewise train MODEL|CONFIG.toml --data FILE@OBJECTIVE [--data …] -o FOLDER [options]",
        description="Trains a sentence encoder and saves it with its log, curve, record and card.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("model", nargs="?", help="a model's name or folder, or a .toml with all of this")
    data = verb.add_argument_group("the data; several --data are mixed")
    data.add_argument(
        "--data",
        action="append",
        metavar="FILE[@OBJECTIVE]",
        help=".parquet, .csv, .tsv, .jsonl or the name of a data set (likewise data), and what it is for",
    )
    data.add_argument("--objective", metavar="NAME[:OPTION=VALUE,…]", help="of every --data that names none")
    data.add_argument("--columns", metavar="WANTED=FOUND,…", help="columns by other names; score=similarity/5 scales")
    data.add_argument("--labels", metavar="TEXT,…", help="texts of labels: a label's number is its place from 0")
    data.add_argument("--where", metavar="CONDITION", help="only rows like label==1")
    flags(verb)
    verb.add_argument("--dry-run", action="store_true", help="show the plan and one batch, and train nothing")
    verb.add_argument("--fresh", action="store_true", help="begin anew, whatever checkpoint lies in the output")
    verb.add_argument("--json", action="store_true", help="print the record of the run as JSON")
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, saves, says what came of it; 130 where it was stopped."""
    require_torch("likewise train")
    job = train_command(args)
    _check_outputs(job)
    from ...train.step.processes import process_group
    from .build import prepare_training

    with process_group() as processes:
        prepared = prepare_training(job)
        if not args.dry_run:
            return _train_or_say(prepared, args, processes)
        if processes.leads:
            from .dry_run import dry_run

            dry_run(prepared, as_json=args.json)
        return 0


def _check_outputs(job: "TrainCommand") -> None:
    """What would be a pity to learn after the training: places that cannot be written, or that are read."""
    told = job.options
    inputs = input_files(told.dev, *(one.file for one in job.data))
    if told.output:
        folder = Path(told.output)
        check_not_input(folder, model_folders(told.model or ""))
        check_not_input(folder / "log.jsonl", inputs)
        check_writable_folder(folder)
    if told.record is not None:
        check_not_input(Path(told.record), inputs)
        check_writable_file(Path(told.record))


def _train_or_say(prepared: "ReadyToTrain", args: argparse.Namespace, processes: "Processes") -> int:
    try:
        return _train(prepared, args, processes)
    except KeyboardInterrupt:
        print(
            f"\nlikewise: stopped at once; the last checkpoint, if any, stays in {prepared.job.options.output}, and "
            "the same command goes on from it",
            file=sys.stderr,
        )
        return 130


def _train(made: "ReadyToTrain", args: argparse.Namespace, processes: "Processes") -> int:
    """Every process trains; the leader speaks and saves."""
    from ...train.output.log import TensorBoard
    from ...train.output.record import append_result_line
    from ...train.output.run_folder import finished_record, save_finished, train_in_folder
    from .build import final_scores

    job, folder = made.job, Path(made.job.options.output or "")
    record = None if args.fresh else finished_record(folder, made)
    if record is None:
        tell = [TensorBoard(folder / "tensorboard")] if job.options.tensorboard else []
        outcome = train_in_folder(
            folder, made, fresh=args.fresh, tell=tell, log_every=job.options.log_every, speaks=processes.leads
        )
        if outcome.interrupted:
            return 130
        if processes.leads:
            record = save_finished(made, outcome, folder, final_scores(made))
    elif processes.leads:
        print(f"likewise: this very run is finished in {folder}; --fresh trains it anew", file=sys.stderr)
    if record is not None and processes.leads:
        if job.options.record is not None:
            append_result_line(Path(job.options.record), record, str(folder))
        _say(record, folder, args.json)
    return 0


def _say(record: dict[str, Any], folder: Path, as_json: bool) -> None:
    if as_json:
        print_json(record)
        return
    outcome = record["outcome"]
    for name, score in record["scores"].items():
        between = f" [{100 * score['low']:.2f}, {100 * score['high']:.2f}]" if "low" in score else ""
        print(f"{name} × 100: {100 * score['value']:.2f}{between}, n = {score['n']:,}")
    best = f", the best of them step {outcome['best_step']:,}" if outcome["best_step"] else ""
    early = "; stopped early, nothing got better" if outcome["stopped_early"] else ""
    print(f"{outcome['steps']:,} steps in {outcome['seconds']:,.0f} s{best}{early}")
    print(f"saved in {folder}: the model, README.md, run.json, log.jsonl{_curve(folder)}")


def _curve(folder: Path) -> str:
    return ", curve.png" if (folder / "curve.png").exists() else ""
