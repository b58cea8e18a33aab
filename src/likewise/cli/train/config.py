"""The configuration of `likewise train`, from flags and a TOML file, which use the same names."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from ...errors import BadInput
from ...train.setting_fields import Setting, check_known, from_settings, settings_of
from ...train.settings import TrainSettings
from ..parser import options
from ..sources import objectives_hint

Kind = Literal["embedder", "cross-encoder", "poly-encoder"]

DATA_FLAGS = ("objective", "columns", "labels", "where")
"""Flags that belong to --data."""
FILE_ONLY = """poly_codes recipe gradient_accumulation_steps data_mixing max_grad_norm layer_lr_decay
learning_rates objective_learning_rate adam_betas adam_epsilon adam_bias_correction ema_decay lora_alpha lora_layers
early_stopping_patience logging_steps tensorboard show_progress_bar"""
"""Settings that have no flag and can only be set in the TOML file."""
_MODEL = "model"
_OUTPUT = "output and evaluation"
_MACHINE = "device"


@dataclass(frozen=True)
class DataOptions:
    """Training data and how to use them; corresponds to a [[data]] table in the TOML file."""

    file: Annotated[str, ".parquet, .csv, .tsv or .jsonl, or the name of a data set"]
    objective: Any = None  # a string or a TOML table
    columns: Annotated[tuple[str, ...], "NAME=COLUMN, or NAME=COLUMN/5 to scale"] = ()
    labels: Annotated[tuple[str, ...], "the text labels in the data, numbered by position from 0"] = ()
    where: Annotated[str | None, "use only rows that satisfy this condition: label==1"] = None
    prompts: Annotated[
        Mapping[str, str], "a prompt for each column, by the objective's column names: {anchor = 'query: '}"
    ] = field(default_factory=dict)
    licence: Annotated[str | None, "licence of the data, for the model card"] = None
    hub: Annotated[str | None, "name of the data on the hub, for the model card"] = None


@dataclass(frozen=True)
class CommandOptions:
    """Everything except the data and the training settings."""

    model: Annotated[str | None, "model to train: a folder, a bundled model or a name on the hub", _MODEL] = None
    kind: Annotated[
        Kind, "kind of model to train: an embedder (text to vector) or a reranker (pairs to scores)", _MODEL
    ] = "embedder"
    poly_codes: Annotated[int, "number of context vectors in a new poly-encoder", _MODEL] = 64
    pooling: Annotated[str | None, "pooling method: mean, cls, max, cls+mean …; default: the model's own", _MODEL] = (
        None
    )
    max_seq_length: Annotated[
        int | None, "maximum input length in tokens, including special tokens; default: the model's own", _MODEL
    ] = None

    output: Annotated[
        str | None, "folder for the trained model, and for checkpoints during training (required)", _OUTPUT
    ] = None
    dev: Annotated[
        str | None,
        "pairs to evaluate on (a file or a data set): sentence1, sentence2 and score; anchor and positive (to be found "
        "among all positives); or label for classifiers",
        _OUTPUT,
    ] = None
    dev_columns: Annotated[
        tuple[str, ...], "NAME=COLUMN,… for --dev; --columns applies to --dev too if it fits", _OUTPUT
    ] = ()
    record: Annotated[str | None, "append a line about the finished run to this .jsonl file", _OUTPUT] = None
    recipe: Annotated[str | None, "name of the run, for the record and the model card", _OUTPUT] = None

    device: Annotated[
        str | None, "cpu, cuda, cuda:1, mps …; default: a GPU if there is one, else the CPU", _MACHINE
    ] = None
    threads: Annotated[int | None, "number of CPU threads; default: all available CPUs", _MACHINE] = None


@dataclass(frozen=True)
class TrainCommand:
    options: CommandOptions
    data: tuple[DataOptions, ...]
    settings: TrainSettings


SETTINGS = {**settings_of(CommandOptions), **settings_of(TrainSettings)}


def train_command(args: argparse.Namespace) -> TrainCommand:
    """The command given by these arguments: flags override the file's settings, which override the defaults.

    The file's settings must be valid even if flags override them.

    Raises:
        BadInput: a name is unknown, a value has the wrong type, or something required is missing.
    """
    config, model = _config_and_model(args)
    where = str(config) if config else "the command line"
    values, data = _read_config(config) if config else ({}, [])
    flags = {name: value for name in SETTINGS if (value := getattr(args, name, None)) is not None}
    flags |= ({"model": model} if model else {}) | ({"show_progress_bar": False} if args.quiet else {})
    _parsed(values, where)  # parsed separately, so that flags are not blamed for errors in the file
    chosen, settings = _parsed({**values, **flags}, "the command line" if flags else where)
    data = _data_of_flags(args) or _data_of_config(data, args, where)
    for name, value, flag in (("model", chosen.model, "MODEL"), ("data", data, "--data FILE@OBJECTIVE")):
        if not value:
            raise BadInput(f"no {name} was given; expected {flag}, or a TOML file that sets it")
    if chosen.dev_columns and not chosen.dev:
        raise BadInput("--dev-columns requires --dev FILE, which was not given")
    if chosen.kind != "poly-encoder" and chosen.poly_codes != settings_of(CommandOptions)["poly_codes"].default:
        raise BadInput(f"poly_codes has no effect with --kind {chosen.kind}; expected --kind poly-encoder")
    if not chosen.output and not args.dry_run:
        raise BadInput("no output was given; expected --output FOLDER, or --dry-run to see the plan")
    return TrainCommand(chosen, tuple(data), settings)


def add_flags(parser: argparse.ArgumentParser, groups: dict[str, Callable[..., None]]) -> None:
    """Add a flag for each option and training setting, to the given groups or to new groups after them."""
    for setting in SETTINGS.values():
        if setting.name not in FILE_ONLY.split():
            if setting.group not in groups:
                groups[setting.group] = options(parser, setting.group)
            _add_flag(groups[setting.group], setting)


def _config_and_model(args: argparse.Namespace) -> tuple[Path | None, str | None]:
    """The TOML file and the model, which may come from MODEL or --model."""
    first = args.model_or_config or ""
    if first.endswith(".toml"):
        return Path(first), args.model
    if first and args.model and first != args.model:
        raise BadInput(f"two models were given, {first} and --model {args.model}; expected one")
    return None, first or args.model


def _add_flag(add: Callable[..., None], setting: Setting) -> None:
    short = {"model": "-m ", "output": "-o "}.get(setting.name, "")
    spec = f"{short}--{setting.name.replace('_', '-')}"
    text = (setting.help + _shown_default(setting.default)).replace("%", "%%")
    if setting.kind is bool:
        add(spec, text, action="store_const", const=True)
    elif setting.choices:
        add(spec, text, choices=setting.choices)
    else:
        add(f"{spec} {_metavar(setting)}", text, type=str)  # parsed later, together with the file's settings


def _shown_default(default: Any) -> str:
    if default in (None, (), False):
        return ""
    return f" (default: {default:g})".replace("e-0", "e-") if isinstance(default, float) else f" (default: {default})"


def _metavar(setting: Setting) -> str:
    by_name = {"dev": "FILE", "output": "FOLDER", "record": "FILE", "max_seq_length": "TOKENS", "freeze": "PART,…"}
    by_name |= {"dev_columns": "NAME=COLUMN,…", "max_tokens_per_step": "TOKENS", "max_steps": "N", "threads": "N"}
    by_kind = {int: "N", float: "X"}
    return by_name.get(setting.name) or by_kind.get(setting.kind) or setting.name.rpartition("_")[2].upper()


def _parsed(values: Mapping[str, Any], where: str) -> tuple[CommandOptions, TrainSettings]:
    known = settings_of(CommandOptions)
    chosen = {name: value for name, value in values.items() if name in known}
    others = {name: value for name, value in values.items() if name not in known}
    return from_settings(CommandOptions, chosen, where), from_settings(TrainSettings, others, where)


def _read_config(path: Path) -> tuple[dict[str, Any], list[DataOptions]]:
    import tomllib  # imported here, since --help needs no TOML parser

    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from None
    check_known(values, [*SETTINGS, "data"], str(path))
    tables = values.pop("data", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadInput(f"{path}: data is {tables!r}; expected tables, [[data]], each with file and objective")
    if "dev_columns" in values:
        values["dev_columns"] = _column_pairs(values["dev_columns"])
    return values, [_data_table(table, f"{path}, data {i}") for i, table in enumerate(tables, 1)]


def _data_table(table: Mapping[str, Any], where: str) -> DataOptions:
    check_known(table, [*settings_of(DataOptions), "objective"], where)
    rest = {name: value for name, value in table.items() if name != "objective"}
    if "columns" in rest:
        rest["columns"] = _column_pairs(rest["columns"])
    if "file" not in rest or "objective" not in table:
        raise BadInput(f"{where}: expected file and objective; found {', '.join(table) or 'nothing'}")
    return replace(from_settings(DataOptions, rest, where), objective=table["objective"])


def _column_pairs(columns: Any) -> Any:
    """Convert a TOML table {anchor = "question"} to NAME=COLUMN pairs."""
    return [f"{name}={column}" for name, column in columns.items()] if isinstance(columns, dict) else columns


def _data_of_config(data: list[DataOptions], args: argparse.Namespace, file: str) -> list[DataOptions]:
    """The data in a file, which have their own settings."""
    unused = [f"--{name}" for name in DATA_FLAGS if getattr(args, name)]
    if data and unused:
        raise BadInput(
            f"{', '.join(unused)} on the command line would have no effect: the data in {file} have their own settings."
            " Write them into its [[data]], or give the data with --data"
        )
    return data


def _data_of_flags(args: argparse.Namespace) -> list[DataOptions]:
    """The data from --data FILE@OBJECTIVE, or --data FILE with --objective; other flags also apply to all data."""
    data = []
    for given in args.data or ():
        file, at, objective = given.rpartition("@")
        file, objective = (file, objective) if at else (given, args.objective)
        if not objective:
            hint = objectives_hint(file, args.kind, args.columns.split(",") if args.columns else ())
            raise BadInput(
                f"--data {given} has no objective; expected --data {given}@OBJECTIVE, or --objective OBJECTIVE; {hint}"
            )
        rest = {"file": file, "columns": args.columns or (), "labels": args.labels or (), "where": args.where}
        data.append(replace(from_settings(DataOptions, rest, "the command line"), objective=objective))
    return data
