"""HEADS: one row for each kind of head that can follow the pooling, with the function that reads its settings.

A model folder's settings are read before any weights. Every engine implements the heads under these names (torch:
likewise/heads.py). A learned fusion, which is pooling with weights, is read in the same way. Nothing here needs torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from .errors import BadInput, BadModel
from .runtime.untrusted_files import bad_setting, boolean_setting, whole_number_setting

LARGEST_WIDTH = 10**6  # dimensions of a vector
HeadShapes = tuple[dict[str, tuple[int, ...]], str]


def check_pooling(pooling: object) -> None:
    """Reject a pooling that is not given by name; None means the model's own pooling."""
    if pooling is not None and not isinstance(pooling, str):
        from .arrays.reductions import REDUCTIONS  # here, so that --help loads no NumPy

        raise BadInput(
            f"pooling is {pooling!r}; expected the name of a pooling mode, such as {', '.join(REDUCTIONS)}, a sum such "
            "as cls+mean, a mode with layers such as mean:layers=0+6, or sbert-wk"
        )


@dataclass(frozen=True)
class FusionShape:
    """The settings of a learned fusion: which layers it reads (0: the embeddings), and how it pools each of them."""

    reduce: tuple[str, ...]
    first: int
    last: int
    encoder_width: int

    def __post_init__(self) -> None:
        check_layer_range(self.first, self.last)

    @classmethod
    def read(cls, config: Mapping[str, Any], folder: Path, depth: int) -> "FusionShape":
        """The fusion described by a folder, for a model with `depth` blocks."""
        from .arrays.reductions import reduction_names  # here, so that --help loads no NumPy

        try:
            reduce = reduction_names(config["reduce"])
        except (KeyError, TypeError, AttributeError, BadModel) as error:
            raise BadModel(f"the fusion in {folder} cannot be read: {error!r}") from error
        numbers = {"first": depth, "last": depth, "encoder_width": LARGEST_WIDTH}
        path = folder / "config.json"
        return cls(reduce, *(whole_number_setting(config, key, most, path) for key, most in numbers.items()))

    @property
    def config(self) -> Mapping[str, Any]:
        spec = "+".join(self.reduce)
        return {"reduce": spec, "first": self.first, "last": self.last, "encoder_width": self.encoder_width}

    @property
    def spec(self) -> str:
        return f"fusion: {'+'.join(self.reduce)} of layers {self.first} to {self.last}"

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        width = len(self.reduce) * self.encoder_width
        return {"map.weight": (width, (self.last - self.first + 1) * width), "map.bias": (width,)}

    def width(self, encoder_width: int) -> int:
        """The dimension of a pooled vector; raises if the encoder's width is not the one the fusion was trained for."""
        if encoder_width != self.encoder_width:
            raise BadModel(f"the fusion needs an encoder of width {self.encoder_width}; this one's is {encoder_width}")
        return len(self.reduce) * self.encoder_width


def check_layer_range(first: int, last: int) -> None:
    if not 0 <= first <= last:
        raise BadModel(f"layers {first} to {last} were requested; expected 0 ≤ first ≤ last")


def check_truncation(width: object, available: int) -> int:
    """Return `truncate_dim` as a plain int, after checking that the model has that many dimensions."""
    if isinstance(width, bool) or not isinstance(width, Integral) or not 1 <= int(width) <= available:
        raise BadInput(f"truncate_dim is {width!r}; expected the number of dimensions to keep, from 1 to {available}")
    return int(width)


def head_shapes(kind: str, config: Mapping[str, Any], folder: Path) -> HeadShapes:
    """The shape of each of a head's tensors by name, and the activation, which only a dense head has."""
    if kind not in HEADS:
        raise BadModel(f"{folder} has a head of the kind {kind!r}; expected one of {', '.join(HEADS)}")
    return HEADS[kind](config, folder)


def _dense(config: Mapping[str, Any], folder: Path) -> HeadShapes:
    name = _activation(config, folder)
    _check_plain(config, folder)
    inputs, outputs = _size(config, "in_features", folder), _size(config, "out_features", folder)
    bias = {"linear.bias": (outputs,)} if boolean_setting(config, "bias", True, folder / "config.json") else {}
    return {"linear.weight": (outputs, inputs), **bias}, name


def _activation(config: Mapping[str, Any], folder: Path) -> str:
    from .arrays.activations import HEAD_ACTIVATIONS  # here, so that --help loads no NumPy

    named = config.get("activation_function", "torch.nn.modules.activation.Tanh")
    package, _, name = str(named).rpartition(".")
    if name not in HEAD_ACTIVATIONS or (package and package.partition(".")[0] != "torch"):
        raise BadModel(
            f"the Dense head in {folder} asks for the activation {named!r:.100}; expected one of torch's "
            f"{', '.join(HEAD_ACTIVATIONS)}"
        )
    return name


def _check_plain(config: Mapping[str, Any], folder: Path) -> None:
    """Reject a dense head with settings that would be ignored: it must map the sentence vector and do nothing else."""
    plain = {
        "use_residual": (False, None),
        "module_input_name": ("sentence_embedding", None),
        "module_output_name": ("sentence_embedding", None),
    }
    for key, known in plain.items():
        if config.get(key) not in known:
            raise bad_setting(folder / "config.json", key, config[key], f"{known[0]!r}, the only supported one")


def _norm(config: Mapping[str, Any], folder: Path) -> HeadShapes:
    width = _size(config, "dimension", folder)
    return {"norm.weight": (width,), "norm.bias": (width,)}, "Identity"


HEADS: dict[str, Callable[[Mapping[str, Any], Path], HeadShapes]] = {
    "Dense": _dense,
    "LayerNorm": _norm,
    "Normalize": lambda *_: ({}, "Identity"),
}  # the function that reads the config of each kind of head, by the kind's name in model folders


def _size(config: Mapping[str, Any], key: str, folder: Path) -> int:
    return whole_number_setting(config, key, LARGEST_WIDTH, folder / "config.json", least=1)
