"""Reading a config.json: values that a real encoder could have, or an error that names the key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..runtime.untrusted_files import require_object

Config = Mapping[str, Any]

MAX_SIZE = 10**8  # no size of a real encoder comes near; a config that asks for more is broken or hostile
MAX_DEPTH = 200


ENCODER_ACTIVATIONS: dict[str, str] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
    "mish": "mish",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
"""The activation functions of encoders by their names in config.json, and the function that each name means.

Each engine has a table of implementations with exactly these functions as keys.
"""

EIGHT_BITS = "likewise-int8"
"""The kind of encoder that config.json names where weights are in our eight bits, so that no other library reads them
as what they are not; the real kind stands beside it."""
_KIND, _REAL = "model_type", "likewise_model_type"


def in_eight_bits(config: Config) -> dict[str, Any]:
    """The config of these weights in eight bits; `read_config` undoes it."""
    return {**config, _KIND: EIGHT_BITS, _REAL: config[_KIND]}


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json, as if it had no word of our eight bits: weights are in full when they are read."""
    config = require_object(folder / "config.json", "without it a folder is no model folder")
    if config.get(_KIND) == EIGHT_BITS:
        config[_KIND] = config.pop(_REAL, None)
    if config.get("quantization_config") is not None:
        raise BadModel(f"{folder} holds quantised weights of others; the model in fp32, fp16 or bf16 is expected")
    return config


def size(config: Config, key: str, default: int | None = None, least: int = 1) -> int:
    """A whole number of the config that a real model could have."""
    value = config.get(key, default)
    most = MAX_DEPTH if key in ("num_hidden_layers", "n_layers", "num_hidden_groups") else MAX_SIZE
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadModel(f"config.json says {key} = {value!r}; expected a whole number from {least} to {most:,}")
    return value


def number(config: Config, key: str, default: float, most: float = 10**12) -> float:
    """A number of the config, from 0 to `most`."""
    value = config.get(key, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise BadModel(f"config.json says {key} = {value!r:.100}; expected a number from 0 to {most:,}")
    return float(value)


def fraction(config: Config, key: str, default: float) -> float:
    """A number of the config from 0 to 1: the rate of a dropout, or an epsilon."""
    return number(config, key, default, most=1)


def boolean(config: Config, key: str, default: bool) -> bool:
    """True or false; `default` where the config does not say, or says null."""
    value = config.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise BadModel(f"config.json says {key} = {value!r:.100}; expected true or false")
    return value


def activation(config: Config, key: str, default: str) -> str:
    """The activation that the config asks for, by its name in `ENCODER_ACTIVATIONS`.

    Raises:
        BadModel: it is not one of those that are known.
    """
    name = config.get(key, default)
    if not isinstance(name, str) or name not in ENCODER_ACTIVATIONS:
        known = ", ".join(ENCODER_ACTIVATIONS)
        raise BadModel(f"config.json sets {key} to {name!r}; the activations known here are {known}")
    return ENCODER_ACTIVATIONS[name]


def require_supported(config: Config, **unwanted: Any) -> None:
    """An error where the config asks for a variant that ours would silently compute wrongly."""
    for key, plain in unwanted.items():
        if config.get(key, plain) not in (plain, None):
            raise BadModel(f"config.json says {key} = {config[key]!r}; the encoder here knows only {plain!r}")
