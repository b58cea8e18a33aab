"""Reads config.json and checks that each value is plausible for an encoder; errors name the key."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..arrays.activations import ENCODER_ACTIVATIONS
from ..errors import BadModel
from ..runtime.static_tables import static_table
from ..runtime.untrusted_files import boolean_setting, read_object, require_object

Config = Mapping[str, Any]

MAX_SIZE = 10**8  # far larger than any size in a real encoder; a config that exceeds it is broken or hostile
MAX_DEPTH = 200
DEPTH_KEYS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")  # keys for the number of blocks

EIGHT_BITS = "likewise-int8"
"""The `model_type` in config.json for weights in our int8 format, so that no other library misreads them; the actual
type is recorded under another key."""
_KIND, _REAL = "model_type", "likewise_model_type"


def in_eight_bits(config: Config) -> dict[str, Any]:
    """The config to save with int8 weights, from which `read_config` restores the original."""
    return {**config, _KIND: EIGHT_BITS, _REAL: config[_KIND]}


def is_in_eight_bits(folder: Path) -> bool:
    """Whether this library saved the folder's encoder with int8 weights."""
    return read_object(folder / "config.json").get(_KIND) == EIGHT_BITS


def read_config(folder: Path) -> dict[str, Any]:
    """Read the folder's config.json, without our int8 mark, because weights are dequantized when they are read.

    A static model lacks this file, or its file contains no sizes, so the config is derived from its embedding table.
    """
    static = static_table(folder)
    if static is not None:
        return static.config
    config = require_object(folder / "config.json", "a model folder must contain it")
    if config.get(_KIND) == EIGHT_BITS:
        config[_KIND] = config.pop(_REAL, None)
    if config.get("quantization_config") is not None:
        raise BadModel(f"{folder} holds weights quantized by another library; expected the model in fp32, fp16 or bf16")
    return config


def size(config: Config, key: str, default: int | None = None, least: int = 1) -> int:
    """An integer in the config, from `least` to `MAX_SIZE`."""
    value = config.get(key, default)
    most = MAX_DEPTH if key in (*DEPTH_KEYS, "num_hidden_groups") else MAX_SIZE
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadModel(f"config.json has {key} = {value!r}; expected a whole number from {least} to {most:,}")
    return value


def number(config: Config, key: str, default: float, most: float = 10**12) -> float:
    """A number in the config, from 0 to `most`."""
    value = config.get(key, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise BadModel(f"config.json has {key} = {value!r:.100}; expected a number from 0 to {most:,}")
    return float(value)


fraction = partial(number, most=1)
"""Like `number`, but from 0 to 1, for values such as a dropout rate or an epsilon."""


def boolean(config: Config, key: str, default: bool) -> bool:
    """A boolean in the config; `default` if it is missing or null."""
    return boolean_setting(config, key, default, Path("config.json"))


def activation(config: Config, key: str, default: str) -> str:
    """The activation in the config, as a key of `arrays.activations.ACTIVATIONS`."""
    name = config.get(key, default)
    if not isinstance(name, str) or name not in ENCODER_ACTIVATIONS:
        known = ", ".join(ENCODER_ACTIVATIONS)
        raise BadModel(f"config.json sets {key} to {name!r}; expected one of {known}")
    return ENCODER_ACTIVATIONS[name]


def require_supported(config: Config, **unwanted: Any) -> None:
    """Raise an error if the config selects a variant for which our encoder would silently give wrong results."""
    for key, plain in unwanted.items():
        if config.get(key, plain) not in (plain, None):
            raise BadModel(f"config.json has {key} = {config[key]!r}; this encoder supports only {plain!r}")
