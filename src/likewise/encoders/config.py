"""Reading a config.json: values that a real encoder could have, or an error that names the key."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadModel

Config = Mapping[str, Any]

LARGEST = 10**8  # no size of a real encoder comes near; a config that asks for more is broken or hostile
DEEPEST = 200


EIGHT_BITS = "likewise-int8"
"""The kind of encoder that config.json names where weights are in our eight bits, so that no other library reads them
as what they are not; the real kind stands beside it."""
_KIND, _REAL = "model_type", "likewise_model_type"


def in_eight_bits(config: Config) -> dict[str, Any]:
    """The config of these weights in eight bits; `read_config` undoes it."""
    return {**config, _KIND: EIGHT_BITS, _REAL: config[_KIND]}


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json, as if it had no word of our eight bits: weights are in full when they are read."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadModel(f"{folder} holds no config.json, so it is no model folder") from None
    except (ValueError, RecursionError) as error:
        raise BadModel(f"{path} is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise BadModel(f"{path} holds a {type(config).__name__}; wanted an object")
    if config.get(_KIND) == EIGHT_BITS:
        config[_KIND] = config.pop(_REAL, None)
    if config.get("quantization_config") is not None:
        raise BadModel(f"{folder} holds quantised weights of others; the model in fp32, fp16 or bf16 is wanted")
    return config


def size(config: Config, key: str, default: int | None = None, least: int = 1) -> int:
    """A whole number of the config that a real model could have."""
    value = config.get(key, default)
    most = DEEPEST if key in ("num_hidden_layers", "n_layers", "num_hidden_groups") else LARGEST
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadModel(f"config.json says {key} = {value!r}; wanted a whole number from {least} to {most:,}")
    return value


def number(config: Config, key: str, default: float) -> float:
    """A finite number of the config, not below 0."""
    value = config.get(key, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise BadModel(f"config.json says {key} = {value!r}; wanted a number not below 0")
    return float(value)


def activation(config: Config, key: str, default: str, known: Iterable[str]) -> str:
    """The name of one of the activations that are known."""
    name = config.get(key, default)
    if not isinstance(name, str) or name not in known:
        raise BadModel(f"config.json says {key} = {name!r}; the activations known here are {', '.join(known)}")
    return name


def refuse(config: Config, **unwanted: Any) -> None:
    """An error where the config asks for a variant that ours would silently compute wrongly."""
    for key, plain in unwanted.items():
        if config.get(key, plain) not in (plain, None):
            raise BadModel(f"config.json says {key} = {config[key]!r}; the encoder here knows only {plain!r}")
