"""The flags of every recipe, and the training settings derived from them."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from likewise.errors import BadInput
from likewise.runtime.atomic_files import check_writable_file, check_writable_folder
from likewise.train.settings import TrainSettings

OUTPUT = Path("out")
"""The folder for the runs' folders, unless the flags name another."""
RUN_LIST = OUTPUT / "training.jsonl"
PAPER_RATE = 2e-5
"""Sentence-BERT's peak learning rate."""


def flags(
    docstring: str | None,
    *,
    backbone: str | None = None,
    epochs: float = 1,
    batch_size: int = 16,
    learning_rate: float = PAPER_RATE,
) -> argparse.ArgumentParser:
    """A parser with the flags of every recipe; the numbers are the recipe's defaults."""
    description, _, epilog = (docstring or "").partition("\n")
    parser = argparse.ArgumentParser(description=description, epilog=epilog)
    add = parser.add_argument
    add("backbone", nargs="?" if backbone else None, default=backbone, help="the model to start from: name or folder")
    message = "folder for the model (default: out/RECIPE-BACKBONE-SEED)"
    add("-o", "--output", type=checked_path(check_writable_folder), metavar="FOLDER", help=message)
    add("--seed", type=count_from(0), default=0, metavar="N", help="random seed (default: %(default)s)")
    add("--epochs", type=float, default=epochs, metavar="X", help="passes over the data (default: %(default)g)")
    add(
        "--batch-size", type=count_from(1), default=batch_size, metavar="N", help="rows per step (default: %(default)s)"
    )
    add("--learning-rate", type=float, default=learning_rate, metavar="X", help="peak learning rate (%(default)g)")
    add("--rows", type=count_from(1), metavar="N", help="train on only N random rows, the same ones for every seed")
    add("--max-steps", type=count_from(1), metavar="N", help="stop after N steps")
    add("--tasks", metavar="NAMES", help="evaluate on only these comma-separated tasks (default: the STS sets)")
    add("--threads", type=count_from(1), metavar="N", help="number of CPU threads")
    add("--device", help="cpu, cuda …; by default, a GPU if there is one")
    add("--precision", choices=("fp32", "bf16"), default="fp32", help="precision of matrix products (%(default)s)")
    add("--adam-bias-correction", action="store_true", help="use Adam's bias correction, unlike the authors' code")
    add("--ema-decay", type=float, default=0.0, metavar="X", help="save a moving average of the weights (try 0.99)")
    message = "train N times with consecutive seeds, and keep the mean of the weights (%(default)s)"
    add("--soup", type=count_from(1), default=1, metavar="N", help=message)
    add("--fresh", action="store_true", help="start over; otherwise the same command resumes from its checkpoint")
    add(
        "--record",
        type=checked_path(check_writable_file),
        default=str(RUN_LIST),  # argparse checks text, but not a path
        metavar="FILE",
        help="append a line about the run to this .jsonl file (default: %(default)s)",
    )
    return parser


def checked_path(check: Callable[[Path], None]) -> Callable[[str], Path]:
    """The argument type of a flag that takes a path; `check` raises BadInput if it cannot be used."""

    def path(text: str) -> Path:
        try:
            check(Path(text))
        except BadInput as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return Path(text)

    return path


def count_from(least: int) -> Callable[[str], int]:
    """The argument type of a flag that takes a whole number of at least `least`."""

    def count(text: str) -> int:
        if not re.fullmatch(r"\d+", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least {least}")
        return int(text)

    return count


def number_up_to(most: float) -> Callable[[str], float]:
    """The argument type of a flag that takes a number from 0 to `most`."""

    def number(text: str) -> float:
        value = float(text)
        if not 0 <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to {most:g}")
        return value

    return number


def parse_used(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, unused: Sequence[str]
) -> argparse.Namespace:
    """Parse the arguments of a recipe in which some of the flags of every recipe have no effect; reject those."""
    args = parser.parse_args(argv)
    for name in unused:
        if getattr(args, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} has no effect in this recipe; leave it out")
    return args


STEP_FLAGS = ("max_steps", "precision", "adam_bias_correction", "ema_decay", "soup")
"""Flags of every recipe without effect if the recipe takes no training steps."""
SETTINGS = (
    *("epochs", "max_steps", "batch_size", "seed", "learning_rate"),
    *("adam_bias_correction", "precision", "ema_decay"),
)
"""Flags of every recipe that are training settings."""


def paper_settings(args: argparse.Namespace, **more: Any) -> TrainSettings:
    """The paper's optimizer: Adam as in its authors' code, without bias correction, and a 10 % warm-up."""
    return TrainSettings(**{name: getattr(args, name) for name in SETTINGS} | more)
