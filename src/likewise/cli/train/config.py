"""What `likewise train` is asked for, from flags and from a TOML file: one list of names for both."""

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from ...errors import BadInput
from ...train.run import TrainSettings
from ...train.settings import Setting, check_known, from_settings, settings_of

Kind = Literal["embedder", "cross-encoder", "poly-encoder"]

OF_DATA = ("objective", "columns", "labels", "where")
"""Flags that go with --data."""


@dataclass(frozen=True)
class DataSet:
    """Rows and what they are for; a table [[data]] of the file."""

    file: Annotated[str, ".parquet, .csv, .tsv or .jsonl, or the name of a data set"]
    objective: Any = None  # a text, or a table of TOML
    columns: Annotated[tuple[str, ...], "WANTED=FOUND, or WANTED=FOUND/5 to scale"] = ()
    labels: Annotated[tuple[str, ...], "texts of labels: a label's number is its place from 0"] = ()
    where: Annotated[str | None, "only rows like label==1"] = None
    licence: Annotated[str | None, "for the model card"] = None
    hub: Annotated[str | None, "its name on the hub, for the model card"] = None


@dataclass(frozen=True)
class Options:
    """Everything but the data and the run's own settings."""

    model: Annotated[str | None, "a folder, a carried model or a hub name"] = None
    kind: Annotated[Kind, "what is trained: vectors of texts, or a reranker of pairs, begun from MODEL"] = "embedder"
    codes: Annotated[int, "of a poly-encoder that is begun: how many ways a context is seen"] = 64
    output: Annotated[str | None, "the folder of the new model, and of its checkpoints till then"] = None
    dev: Annotated[
        str | None, "pairs to measure on, sentence1, sentence2, score; of a classifying cross-encoder, label"
    ] = None
    pooling: Annotated[str | None, "another pooling than the model's own: mean, cls, max …"] = None
    max_length: Annotated[int | None, "another longest input, in tokens"] = None
    device: Annotated[str | None, "cpu, cuda …; the GPU if there is one"] = None
    threads: Annotated[int | None, "CPU threads; as many as this process may use"] = None
    log_every: Annotated[int, "steps between lines of log.jsonl"] = 1
    tensorboard: Annotated[bool, "writes TensorBoard's events into OUTPUT/tensorboard too"] = False
    record: Annotated[str | None, "a .jsonl to which a line about the finished run is added"] = None
    recipe: Annotated[str | None, "the run's name in the record and the card"] = None


@dataclass(frozen=True)
class TrainCommand:
    """What is to be done: where, with what data, how."""

    options: Options
    data: tuple[DataSet, ...]
    run: TrainSettings


def train_command(args: argparse.Namespace) -> TrainCommand:
    """The job of these arguments: flags first, then the file's settings, then defaults.

    A file's settings have to be right, be there a flag in their place or not.

    Raises:
        BadInput: a name is unknown, a value of the wrong kind, or something that is needed is missing.
    """
    given = args.model or ""
    file = given if given.endswith(".toml") else "the command line"
    values, sets = _file(Path(given)) if given.endswith(".toml") else ({}, [])
    told = {name: value for name in _names() if (value := getattr(args, name, None)) is not None and name != "model"}
    if given and not given.endswith(".toml"):
        told["model"] = given
    _made(values, file)  # so that what a file says wrongly is not blamed on the flags
    options, run = _made({**values, **told}, "the command line" if told else file)
    sets = _flagged(args) or _without_flags(sets, args, file)
    for name, value, flag in (("model", options.model, "MODEL"), ("data", sets, "--data FILE@OBJECTIVE")):
        if not value:
            raise BadInput(f"no {name} is told; wanted {flag}, or a TOML file that has it")
    if not options.output and not args.dry_run:
        raise BadInput("no output is told; wanted -o FOLDER, or --dry-run to see what would be done")
    return TrainCommand(options, tuple(sets), run)


def flags(parser: argparse.ArgumentParser) -> None:
    """A flag for each setting of a job and of its run."""
    job, training = parser.add_argument_group("the job"), parser.add_argument_group("the run")
    for group, holder in ((job, Options), (training, TrainSettings)):
        for setting in settings_of(holder).values():
            if setting.name != "model":
                _flag(group, setting)


def _flag(group: "argparse._ArgumentGroup", setting: Setting) -> None:
    names = ["-o"] if setting.name == "output" else []
    names.append("--" + setting.name.replace("_", "-"))
    default = setting.default
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    told = f" ({shown})" if default not in (None, (), False) and default is not True else ""
    text = (setting.help + told).replace("%", "%%")
    if setting.kind is bool and not default:
        group.add_argument(*names, action="store_const", const=True, help=text, dest=setting.name)
        return
    if setting.kind is bool:
        group.add_argument(*names, action=argparse.BooleanOptionalAction, help=text, dest=setting.name)
        return
    kind = {int: "N", float: "X"}.get(setting.kind, setting.name.rpartition("_")[2].upper())
    choices = setting.choices or None
    group.add_argument(*names, help=text, dest=setting.name, choices=choices, metavar=None if choices else kind)


def _made(values: Mapping[str, Any], where: str) -> tuple[Options, TrainSettings]:
    def of(holder: type) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name in settings_of(holder)}

    return from_settings(Options, of(Options), where), from_settings(TrainSettings, of(TrainSettings), where)


def _names() -> list[str]:
    return [*settings_of(Options), *settings_of(TrainSettings)]


def _file(path: Path) -> tuple[dict[str, Any], list[DataSet]]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path} is not there") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is no TOML: {error}") from None
    check_known(values, [*_names(), "data"], str(path))
    tables = values.pop("data", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadInput(f"{path}: data wants tables, [[data]], each with file and objective")
    return values, [_table(table, f"{path}, data {i}") for i, table in enumerate(tables, 1)]


def _table(table: Mapping[str, Any], where: str) -> DataSet:
    check_known(table, [*settings_of(DataSet), "objective"], where)
    rest = {name: value for name, value in table.items() if name != "objective"}
    if isinstance(rest.get("columns"), dict):
        rest["columns"] = [f"{wanted}={found}" for wanted, found in rest["columns"].items()]
    if "file" not in rest or "objective" not in table:
        raise BadInput(f"{where}: wanted file and objective; found {', '.join(table) or 'nothing'}")
    return replace(from_settings(DataSet, rest, where), objective=table["objective"])


def _without_flags(sets: list[DataSet], args: argparse.Namespace, file: str) -> list[DataSet]:
    """A file's data, which have settings of their own."""
    lost = [f"--{name}" for name in OF_DATA if getattr(args, name)]
    if sets and lost:
        raise BadInput(
            f"{', '.join(lost)} of the command line would be lost: {file} has data with settings of their own. Write"
            " them into its [[data]], or name the data with --data"
        )
    return sets


def _flagged(args: argparse.Namespace) -> list[DataSet]:
    """--data FILE@OBJECTIVE, or --data FILE with --objective for all; the other flags are for all too."""
    found = []
    for said in args.data or ():
        file, at, objective = said.rpartition("@")
        file, objective = (file, objective) if at else (said, args.objective)
        if not objective:
            raise BadInput(f"--data {said} has no objective; wanted --data {said}@OBJECTIVE, or --objective OBJECTIVE")
        rest = {"file": file, "columns": args.columns or (), "labels": args.labels or (), "where": args.where}
        found.append(replace(from_settings(DataSet, rest, "the command line"), objective=objective))
    return found
