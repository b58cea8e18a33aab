"""Loading an encoder from a folder's config.json and safetensors files, and saving it there.

Nothing is unpickled and no code from the folder runs. The shapes that the config implies are compared with the
header of the weights before any memory is allocated, so a broken or hostile folder fails at once.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from ..errors import BadInput, BadModel
from ..runtime.installation import missing_extra
from ..runtime.untrusted_files import read_object, regular_file_exists
from ..runtime.weight_files import FLOAT_TYPES, ROW_STEP_SUFFIX, match_tensor_name
from . import quantization
from .config import in_eight_bits, is_in_eight_bits, read_config
from .encoder import Encoder
from .families import FAMILIES, Names

M = TypeVar("M", bound=nn.Module)

WeightFormat = Literal["int8"]
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.ckpt.index", "tf_model.h5", "flax_model.msgpack")


def load_encoder(folder: Path, dtype: torch.dtype = torch.float32) -> Encoder:
    """Load the encoder of a Hugging Face folder, in evaluation mode, with its weights converted to `dtype`."""
    config = read_config(folder)
    kind = model_type(config, folder)
    family = FAMILIES.get(kind)
    if family is None and is_in_eight_bits(folder):
        known = ", ".join(FAMILIES)
        raise BadModel(f"{folder} holds int8 weights of an unknown {kind!r} encoder; those known here are {known}")
    if family is None:
        return _through_transformers(folder, config, dtype)
    module = load_module(lambda: family.build(config), family.names, folder, dtype)
    module.config = config
    return module


def model_type(config: Mapping[str, Any], folder: Path) -> str:
    """The `model_type` in the folder's config."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise BadModel(f"config.json in {folder} names no model_type; known here are {', '.join(FAMILIES)}")
    return kind


def load_module(build: Callable[[], M], names: Names, folder: Path, dtype: torch.dtype) -> M:
    """The module that `build` returns, with the folder's weights of these names, in evaluation mode."""
    with torch.device("meta"):
        module = build()
    with ExitStack() as stack:
        weights = CheckpointReader(folder, stack)
        sources = {ours: tuple(weights.find(n) for n in _theirs(ours, names)) for ours in module.state_dict()}
        _compare(module, sources, weights, folder)
        state = {ours: torch.cat([weights.read(n, dtype) for n in found]) for ours, found in sources.items()}
    module.load_state_dict(state, assign=True)
    return module.eval()


def has_weights_for(folder: Path, module: nn.Module, names: Names) -> bool:
    """Whether the folder has a tensor for every weight of the module; shapes are not compared."""
    with ExitStack() as stack:
        weights = CheckpointReader(folder, stack)
        try:
            return all(weights.find(n) for ours in module.state_dict() for n in _theirs(ours, names))
        except BadModel:
            return False


def save_encoder(
    module: Encoder,
    folder: Path,
    prefix: str = "",
    head: Mapping[str, Tensor] | None = None,
    weights: WeightFormat | None = None,
) -> None:
    """Write config.json and model.safetensors, with the tensor names that transformers uses.

    The config records the precision of the weights, because transformers loads them in the recorded one. If a head
    is saved too, it keeps its names, and the encoder's names start with `prefix`, as in transformers' classifiers. An
    int8 encoder can be read by likewise only, and the config marks it as such.
    """
    check_writable(module, weights)
    dtype = str(next(module.parameters()).dtype).removeprefix("torch.")
    config = {**{key: value for key, value in module.config.items() if key != "dtype"}, "torch_dtype": dtype}
    family = FAMILIES.get(config.get("model_type", ""))
    if family is None:
        module.save(folder)  # type: ignore[operator]
        return
    tensors = {prefix + name: tensor for name, tensor in tensors_by_file_name(module, family.names).items()}
    if weights == "int8":
        config, tensors = in_eight_bits(config), quantization.quantized_tensors(tensors)
    (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")
    save_file(tensors | dict(head or {}), folder / "model.safetensors", {"format": "pt"})


def check_writable(module: Encoder, weights: WeightFormat | None = None) -> None:
    """Check, before anything is written, that the saved encoder would be loaded as the same encoder.

    Raises:
        BadInput: `weights` is unknown, or not supported for this kind of encoder.
        BadModel: the encoder does not match its config.
    """
    if weights not in (None, "int8"):
        raise BadInput(f'weights is {weights!r}; expected "int8", or None: as they are')
    kind = module.config.get("model_type", "")
    family = FAMILIES.get(kind)
    if family is not None:
        with torch.device("meta"):
            again = family.build(module.config)
        check_same_form(again, module, f"a {kind!r} encoder of this config")
    elif weights is not None:
        raise BadInput(f"a {kind!r} encoder is transformers' own, which {weights} is not for")
    elif getattr(module, "without_decoder", False):
        raise BadModel(f"a {kind!r} encoder cannot be saved: it was loaded without its decoder, and not read again so")
    elif not hasattr(module, "save"):
        raise BadModel(f"a {type(module).__name__} cannot be saved; encoders that can are {', '.join(FAMILIES)}")


def check_same_form(again: nn.Module, module: nn.Module, what: str) -> None:
    """Check that a module has the same form as `again`, the one that would be built when it is loaded."""
    for expected, found, of in (
        ([type(part) for part in again.modules()], [type(part) for part in module.modules()], "parts"),
        (_shapes(again), _shapes(module), "shapes of weights"),
        (getattr(again, "shape", None), getattr(module, "shape", None), "sizes"),
    ):
        if expected != found:
            raise BadModel(f"this model cannot be saved: its {of} are not those of {what}, as which it would be loaded")


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def tensors_by_file_name(module: nn.Module, names: Names) -> dict[str, Tensor]:
    """The weights of a module by the names that they have in files."""
    found: dict[str, Tensor] = {}
    for ours, tensor in module.state_dict().items():
        theirs = _theirs(ours, names)
        parts = tensor.detach().cpu().chunk(len(theirs))
        found |= {name: part.contiguous() for name, part in zip(theirs, parts, strict=True)}
    return found


class CheckpointReader:
    """The tensors of one safetensors file, or of the shards listed in an index, read one at a time."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.files = {path.name: _open(path, stack) for path in _files(folder)}
        self.home = {name: file for file, handle in self.files.items() for name in handle.keys()}  # noqa: SIM118
        self.names: list[str] = sorted(self.home, key=len)

    def find(self, name: str) -> str:
        """The full name of the tensor in the file, with whatever prefix (`bert.`, `model.`) the file adds."""
        found = match_tensor_name(name, self.names)
        if found is None:
            raise BadModel(f"{self.folder} lacks the tensor {name}; its weights hold {len(self.home)} others")
        return found

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.files[self.home[name]].get_slice(name).get_shape())

    def _tensor(self, name: str) -> Tensor:
        tensor: Tensor = self.files[self.home[name]].get_tensor(name)
        return tensor

    def readable(self, name: str) -> bool:
        """Whether the tensor can be read: it is stored as floats, or as int8 with its quantization steps."""
        if self.stored(name) != "I8":
            return self.stored(name) in FLOAT_TYPES
        step, shape = name + ROW_STEP_SUFFIX, self.shape(name)
        return (
            step in self.home and len(shape) == 2 and self.shape(step) == shape[:1] and self.stored(step) in FLOAT_TYPES
        )

    def stored(self, name: str) -> str:
        """The data type in which the tensor is stored."""
        return str(self.files[self.home[name]].get_slice(name).get_dtype())

    def read(self, name: str, dtype: torch.dtype) -> Tensor:
        tensor: Tensor = self._tensor(name)
        if tensor.dtype == torch.int8:
            tensor = quantization.dequantized(tensor, self._tensor(name + ROW_STEP_SUFFIX))
        tensor = tensor.to(dtype)
        if not torch.isfinite(tensor.sum(dtype=torch.float32)):
            raise BadModel(
                f"the tensor {name} in {self.folder} is not finite; the file is damaged or training diverged"
            )
        return tensor


def _open(path: Path, stack: ExitStack) -> Any:
    regular_file_exists(path)
    try:
        return stack.enter_context(safe_open(path, framework="pt"))
    except (SafetensorError, OSError) as error:
        raise BadModel(f"{path} cannot be read ({error}); it may have been cut short: fetch it again") from error


def _files(folder: Path) -> list[Path]:
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if regular_file_exists(whole):
        return [whole]
    if regular_file_exists(index):
        return [folder / name for name in _shards(index)]
    pickled = [name for name in PICKLED if (folder / name).exists()]
    if pickled:
        raise BadModel(
            f"{folder} holds {pickled[0]}, and only safetensors are read here: a pickle can run any code when it is "
            "opened. Convert it once, where you trust it: transformers.AutoModel.from_pretrained(folder)"
            ".save_pretrained(folder) writes model.safetensors."
        )
    raise BadModel(f"{folder} holds no model.safetensors")


def _shards(index: Path) -> list[str]:
    """The shard files listed in an index, after checking that all of them exist."""
    homes = read_object(index).get("weight_map")
    if not isinstance(homes, dict) or not homes:
        raise BadModel(f"{index} names no shards: weight_map is {homes!r:.100}; expected the file of each tensor")
    for name in homes.values():
        if not isinstance(name, str) or Path(name).name != name:
            raise BadModel(f"{index} names the shard {name!r:.100}, which is not a file of this folder")
        if not name.endswith(".safetensors"):
            raise BadModel(f"{index} names the shard {name!r:.100}, and only safetensors are read here")
    names = sorted(set(homes.values()))
    for name in names:
        if not regular_file_exists(index.parent / name):
            raise BadModel(f"{index.parent} lacks the shard {name}")
    return names


def _theirs(ours: str, names: Names) -> tuple[str, ...]:
    """The names of our parameter in transformers' files: one, or three if ours fuses three of theirs."""
    module, _, parameter = ours.rpartition(".")
    block = re.search(r"(?<=blocks\.)\d+", module)
    template = names[re.sub(r"(?<=blocks\.)\d+", "{i}", module)]
    parts = (template,) if isinstance(template, str) else template
    return tuple(f"{part.replace('{i}', block[0] if block else '')}.{parameter}" for part in parts)


def _compare(
    module: nn.Module, sources: Mapping[str, tuple[str, ...]], weights: CheckpointReader, folder: Path
) -> None:
    for ours, tensor in module.state_dict().items():
        names = sources[ours]
        expected = (tensor.shape[0] // len(names), *tensor.shape[1:])
        for name in names:
            if not weights.readable(name):
                raise BadModel(
                    f"{name} in {folder} is stored as {weights.stored(name)}; expected {', '.join(FLOAT_TYPES)} "
                    '(or I8 with the steps of its rows beside it, as `save(weights="int8")` writes)'
                )
            if weights.shape(name) != expected:
                raise BadModel(
                    f"config.json in {folder} asks for {name} of shape {expected}, "
                    f"and the weights hold {weights.shape(name)}"
                )


def _through_transformers(folder: Path, config: dict[str, Any], dtype: torch.dtype) -> Encoder:
    with ExitStack() as stack:  # checks that the files are safetensors before transformers opens them
        weights = CheckpointReader(folder, stack)
        shapes = {name: weights.shape(name) for name in weights.names}
    try:
        from .architectures.transformers_model import AutoEncoder
    except ImportError:
        kind, known = config["model_type"], ", ".join(FAMILIES)
        why = f"{folder} holds a {kind!r} encoder; those known here are {known}, and any other one"
        raise missing_extra("transformers", "transformers", why) from None
    return AutoEncoder(folder, config, shapes, dtype)
