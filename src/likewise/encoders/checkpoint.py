"""Loads an encoder from the config.json and safetensors files of a folder, and saves one to a folder.

Nothing is unpickled, and no code from the folder runs. The shapes implied by the config are compared with the headers
of the weight files before any memory is allocated, so a broken or hostile folder fails at once.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ..array_types import Float, Int8
from ..errors import BadInput, BadModel
from ..runtime.fingerprint import Weights
from ..runtime.installation import missing_extra
from ..runtime.static_tables import static_table
from ..runtime.weight_files import COLUMN_SCALE_SUFFIX, LARGEST_INT8, ROW_STEP_SUFFIX, WeightFormat, WeightReader
from .config import in_eight_bits, is_in_eight_bits, read_config
from .encoder import Encoder
from .families import FAMILIES, Names, family_name, file_names, model_type
from .shapes import changed_settings

M = TypeVar("M", bound=nn.Module)


def load_encoder(folder: Path, dtype: torch.dtype = torch.float32) -> Encoder:
    """Load the encoder of a Hugging Face folder in eval mode, with its weights converted to `dtype`."""
    config = read_config(folder)
    kind = model_type(config, folder)
    family = FAMILIES.get(kind)
    if family is None and is_in_eight_bits(folder):
        known = ", ".join(FAMILIES)
        raise BadModel(f"{folder} holds int8 weights of an unknown {kind!r} encoder; expected one of {known}")
    if family is None:
        return _through_transformers(folder, config, dtype)
    static = static_table(folder)
    if static is None:
        module: Encoder = load_module(lambda: family.build(config), family.names, folder, dtype)
    else:
        module = family.build(config).eval()
        module.load_state_dict({"table.weight": torch.from_numpy(static.rows()).to(dtype)}, assign=True)
    module.config = config
    return module


def load_module(build: Callable[[], M], names: Names, folder: Path, dtype: torch.dtype) -> M:
    """Build a module and load its weights from a folder, under the given names; the module is in eval mode."""
    with torch.device("meta"):
        module = build()
    with ExitStack() as stack:
        weights = WeightReader(folder, stack, "pt")
        sources = {ours: tuple(weights.find(n) for n in file_names(ours, names)) for ours in module.state_dict()}
        for ours, tensor in module.state_dict().items():
            for name in sources[ours]:
                weights.check(name, (tensor.shape[0] // len(sources[ours]), *tensor.shape[1:]))
        state = {ours: torch.cat([read_tensor(weights, n, dtype) for n in found]) for ours, found in sources.items()}
    module.load_state_dict(state, assign=True)
    return module.eval()


def save_encoder(
    module: Encoder,
    folder: Path,
    prefix: str = "",
    head: Mapping[str, Tensor] | None = None,
    weights: WeightFormat | None = None,
) -> None:
    """Write config.json and model.safetensors, with the tensor names that transformers uses.

    The config records the precision of the weights, because transformers loads them in the recorded precision. If a
    head is saved too, its tensors keep their names, and the encoder's names start with `prefix`, as in classifiers of
    transformers. Only likewise can read an int8 encoder, and the config marks it as such.
    """
    check_writable(module, weights)
    dtype = str(next(module.parameters()).dtype).removeprefix("torch.")
    config = {**{key: value for key, value in module.config.items() if key != "dtype"}, "torch_dtype": dtype}
    family = FAMILIES.get(family_name(config))
    if family is None:
        module.save(folder)  # type: ignore[operator]
        return
    tensors = {prefix + name: tensor for name, tensor in tensors_by_file_name(module, family.names).items()}
    if weights == "int8":
        config, tensors = in_eight_bits(config), quantized_tensors(tensors)
    (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")
    save_file(tensors | dict(head or {}), folder / "model.safetensors", {"format": "pt"})


def check_writable(module: Encoder, weights: WeightFormat | None = None) -> None:
    """Check, before anything is written, that loading the saved encoder would give the same encoder."""
    if weights not in (None, "int8"):
        raise BadInput(f'weights is {weights!r}; expected "int8", or None to keep their format')
    kind = family_name(module.config)
    family = FAMILIES.get(kind)
    if family is not None:
        with torch.device("meta"):
            again = family.build(module.config)
        check_same_form(again, module, f"a {kind!r} encoder of this config")
    elif weights is not None:
        raise BadInput(f"a {kind!r} encoder runs in transformers, so it cannot be saved in {weights}")
    elif getattr(module, "without_decoder", False):
        raise BadModel(f"a {kind!r} encoder cannot be saved: without its decoder, it could not be loaded again")
    elif not hasattr(module, "save"):
        raise BadModel(f"a {type(module).__name__} cannot be saved; only these encoders can: {', '.join(FAMILIES)}")


def check_same_form(again: nn.Module, module: nn.Module, what: str) -> None:
    """Check that a module has the same structure as `again`, the module that loading would build."""
    for expected, found, of in (
        ([type(part) for part in again.modules()], [type(part) for part in module.modules()], "parts"),
        (_shapes(again), _shapes(module), "shapes of weights"),
        (getattr(again, "shape", None), getattr(module, "shape", None), "sizes"),
    ):
        if expected != found:
            raise BadModel(f"this model cannot be saved: it would be loaded as {what}, whose {of} differ")


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def tensors_by_file_name(module: nn.Module, names: Names) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for ours, tensor in module.state_dict().items():
        theirs = file_names(ours, names)
        parts = tensor.detach().cpu().chunk(len(theirs))
        found |= {name: part.contiguous() for name, part in zip(theirs, parts, strict=True)}
    return found


def read_tensor(weights: WeightReader, name: str, dtype: torch.dtype) -> Tensor:
    """Read a tensor as `dtype`, dequantizing int8; raise an error if it contains NaN or infinity."""
    tensor: Tensor = weights.tensor(name)
    if tensor.dtype == torch.int8:
        tensor = dequantized(tensor, weights.tensor(name + ROW_STEP_SUFFIX))
        columns = name + COLUMN_SCALE_SUFFIX
        tensor = tensor * weights.tensor(columns).float() if columns in weights.home else tensor
    tensor = tensor.to(dtype)
    if not torch.isfinite(tensor.sum(dtype=torch.float32)):
        raise weights.not_finite(name)
    return tensor


def _through_transformers(folder: Path, config: dict[str, Any], dtype: torch.dtype) -> Encoder:
    with ExitStack() as stack:  # checks that the files are safetensors before transformers opens them
        weights = WeightReader(folder, stack, "pt")
        shapes = {name: weights.kinds[name].shape for name in weights.names}
    try:
        from .architectures.transformers_model import AutoEncoder
    except ImportError:
        kind, known = config["model_type"], ", ".join(FAMILIES)
        why = f"{folder} holds a {kind!r} encoder; likewise itself supports {known}, and any other encoder"
        raise missing_extra("transformers", "transformers", why) from None
    return AutoEncoder(folder, config, shapes, dtype)


# Int8 files are a quarter the size of fp32 files. Rounding errors are at most half a scale: 1/254 of the row's maximum.
def quantized_tensors(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights by name, with each matrix replaced by two tensors: its int8 values and its scales."""
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.dim() == 2:
            found[name], found[name + ROW_STEP_SUFFIX] = quantize_rows(tensor.float())
        else:
            found[name] = tensor.float()
    return found


def quantize_rows(matrix: Float[Tensor, "R C"]) -> tuple[Int8[Tensor, "R C"], Float[Tensor, " R"]]:
    """Quantize a matrix to int8, with one scale per row; the scale of a zero row is 0."""
    step = matrix.abs().amax(1) / LARGEST_INT8
    whole = torch.where(step[:, None] > 0, matrix / step[:, None], 0.0).round().clamp(-LARGEST_INT8, LARGEST_INT8)
    return whole.to(torch.int8), step


def dequantized(whole: Int8[Tensor, "R C"], step: Float[Tensor, " R"]) -> Float[Tensor, "R C"]:
    """Dequantize a matrix; each value is within half a scale of the original."""
    return whole.float() * step.float()[:, None]


def encoder_settings(module: Encoder) -> list[Any]:
    kind = family_name(module.config)
    shape = changed_settings(module.shape) if kind in FAMILIES else json.loads(json.dumps(module.config, default=str))
    return [kind, shape]


def identifying_weights(module: Encoder, folder: Path, head: Mapping[str, Tensor] | None = None) -> Weights:
    """The weights of an encoder and its head for the model's fingerprint: as stored in the folder, if unchanged.

    An encoder in 16 bits, or one loaded from an int8 folder, holds the folder's weights in a converted form. A changed
    encoder, such as a trained one, is identified by its current values, which `save` would write.
    """
    family = FAMILIES.get(family_name(module.config))
    if family is not None:
        own = tensors_by_file_name(module, family.names) | dict(head or {})
    else:  # a transformers model, whose pooler is not used
        own = {n: p.detach().cpu() for n, p in getattr(module, "model", module).named_parameters() if "pooler" not in n}
    with suppress(BadModel, OSError):  # the folder no longer exists, or now holds another model
        if any(tensor.dtype != torch.float32 for tensor in own.values()) or is_in_eight_bits(folder):
            return _stored_weights(own, folder)
    return [(name, [tensor.float().numpy()]) for name, tensor in own.items()]


def _stored_weights(own: Mapping[str, Tensor], folder: Path) -> Weights:
    with ExitStack() as stack:
        weights = WeightReader(folder, stack, "pt")
        sources = {name: weights.find(name) for name in own}
        if not all(
            torch.equal(read_tensor(weights, sources[name], tensor.dtype), tensor) for name, tensor in own.items()
        ):
            raise BadModel(f"the weights in {folder} are not those of this model")
        return [(name, _stored_arrays(weights, source)) for name, source in sources.items()]


def _stored_arrays(weights: WeightReader, name: str) -> list[np.ndarray]:
    scales = [name + suffix for suffix in (ROW_STEP_SUFFIX, COLUMN_SCALE_SUFFIX) if name + suffix in weights.home]
    tensors = [weights.tensor(part) for part in (name, *scales)]
    return [(tensor if tensor.dtype == torch.int8 else tensor.float()).numpy() for tensor in tensors]


def state_digest(state: Mapping[str, Tensor], settings: Any = ()) -> str:
    """A digest (32 hexadecimal digits) of a module's weights in their current dtype, and of JSON settings."""
    digest = hashlib.sha256(json.dumps(settings).encode())
    for name, tensor in sorted(state.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:32]
