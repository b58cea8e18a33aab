"""Any other architecture (XLNet, DeBERTa, …) through transformers' AutoModel [extra: transformers].

This is slower than likewise's own encoders, because it pads; the vectors are the same as with transformers.
"""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from ...array_types import Float
from ...arrays.ragged import Ragged
from ...errors import BadModel
from ...runtime.untrusted_files import MAX_JSON_BYTES, regular_file_exists
from ...wording import counted
from ..config import MAX_DEPTH, MAX_SIZE
from ..encoder import UNBOUNDED, Encoder

try:  # transformers 5 and later build empty models in this context
    from transformers.initialization import meta_device_safe_creation_ops
except ImportError:
    meta_device_safe_creation_ops = nullcontext

Shapes = Mapping[str, tuple[int, ...]]

INCIDENTAL = ("_name_or_path", "architectures", "transformers_version", "dtype", "torch_dtype")  # do not affect vectors

MOST_LABELS = 100_000
SPARE_NUMBERS, SPARE_PARTS = 1 << 24, 2000
"""How many parameters and modules a model may have beyond the multiples in `_counted`, to allow for parts that are not
used, such as a pooler or a decoder."""
MOST_BUFFERS = 1 << 29
"""Maximum bytes of buffers that a model computes rather than loads, such as masks and rotary angles."""


class AutoEncoder(Encoder):
    """A transformers model with likewise's interface: packed tokens in, layers out."""

    def __init__(self, folder: Path, config: Mapping[str, Any], shapes: Shapes, dtype: torch.dtype) -> None:
        super().__init__()
        _check_files(folder)
        _check_code(folder, config)
        for key, value in config.items():
            _check_setting(key, value)
        with _as_bad_model(folder):
            settings = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            model_class = _model_class(settings)
            _check_memory(model_class, settings, shapes, folder)
            model = _loaded(model_class, folder, settings, dtype)
            self._take(model)
            self._try(folder)

    def _take(self, model: Any) -> None:
        config = model.config
        self.without_decoder = _both_halves(config) and hasattr(model, "decoder")
        self.model = (model.get_encoder() if self.without_decoder else model).eval()
        positions = getattr(config, "max_position_embeddings", None)
        self.config = {key: value for key, value in config.to_dict().items() if key not in INCIDENTAL}
        self.width, self.depth = int(config.hidden_size), int(config.num_hidden_layers)
        self.vocabulary = int(self.model.get_input_embeddings().num_embeddings)
        self.longest = int(positions) - _first_position(model) if positions and positions > 0 else UNBOUNDED
        self.pad = self.config.get("pad_token_id") or 0

    @torch.inference_mode()
    def _try(self, folder: Path) -> None:
        """Encode one sentence with all layers, so that bad settings fail on loading rather than in use."""
        tokens = Ragged.of([[i % self.vocabulary for i in (1, 2, 1)]])
        last = deque(self(tokens), maxlen=1)[0]
        if tuple(last.shape) != (3, self.width):
            raise BadModel(f"{folder} returns a layer of shape {tuple(last.shape)}; expected (3, {self.width})")

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        ids = nn.utils.rnn.pad_sequence(list(tokens.split()), batch_first=True, padding_value=self.pad)
        real = torch.arange(ids.shape[1], device=ids.device)[None] < tokens.counts[:, None]
        states = self.model(input_ids=ids, attention_mask=real.long(), output_hidden_states=True).hidden_states
        for state in states:
            yield state[tokens.sentence, tokens.position]

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)


def _first_position(model: nn.Module) -> int:
    """The first position: in models that follow RoBERTa, the padding position + 1."""
    tables = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
    padding = next((m.padding_idx for m in tables if isinstance(m, nn.Embedding)), None)
    return 0 if padding is None else int(padding) + 1


def _check_files(folder: Path) -> None:
    """Reject files that transformers would open unchecked: pipes, devices, and adapters for models in other folders."""
    if regular_file_exists(folder / "adapter_config.json"):
        raise BadModel(f"{folder} holds an adapter (adapter_config.json); merge it into its model and save the result")
    for path in folder.glob("*.json"):
        regular_file_exists(path, MAX_JSON_BYTES if path.name != "tokenizer.json" else None)


def _check_code(folder: Path, config: Mapping[str, Any]) -> None:
    if config.get("auto_map") and config.get("model_type") not in transformers.CONFIG_MAPPING:
        raise BadModel(
            f"{folder} requires custom Python code (auto_map in config.json), and likewise never runs code from model "
            "folders; use a model whose architecture is part of transformers, or compute vectors with the model's own "
            "library and store them"
        )


def _check_setting(key: str, value: object) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_setting(name, inner)
    if isinstance(value, int) and value > (most := _most(key)):
        raise BadModel(f"config.json has {key} = {value!r:.100}; expected at most {most:,}")
    if "attn_implementation" in key and isinstance(value, str) and "/" in value:
        raise BadModel(f"config.json has {key} = {value!r:.100}, which names code to download; likewise never runs it")


def _most(key: str) -> int:
    if "layers" in key or "n_layer" in key or "depth" in key:
        return MAX_DEPTH
    if key in ("num_labels", "_num_labels", "n_langs"):
        return MOST_LABELS
    return 10**15 if "theta" in key else MAX_SIZE


@contextmanager
def _as_bad_model(folder: Path) -> Iterator[None]:
    try:
        yield
    except (BadModel, MemoryError):
        raise
    except Exception as error:  # transformers may raise any type: KeyError, ZeroDivisionError, AttributeError …
        raise BadModel(f"transformers cannot read {folder}: {type(error).__name__}: {error!s:.500}") from error


def _model_class(settings: Any) -> Any:
    """AutoModel, or the encoder-only class named in config.json (T5EncoderModel, MarianEncoder …)."""
    (name, *_) = settings.architectures or [""]
    package, _, module = type(settings).__module__.rpartition(".")
    if not name.endswith(("Encoder", "EncoderModel")) or not package.startswith("transformers."):
        return transformers.AutoModel
    modeling = import_module(f"{package}.{module.replace('configuration_', 'modeling_')}")
    named = getattr(modeling, name, transformers.AutoModel)
    return (
        named if isinstance(named, type) and issubclass(named, transformers.PreTrainedModel) else transformers.AutoModel
    )


def _check_memory(model_class: Any, settings: Any, shapes: Shapes, folder: Path) -> None:
    """Build the model on the meta device, and reject one that is much larger than the weights in its folder."""
    with ExitStack() as stack:
        stack.enter_context(_counted(shapes, folder))
        stack.enter_context(torch.device("meta"))
        stack.enter_context(meta_device_safe_creation_ops())
        named = model_class is not transformers.AutoModel
        empty = model_class(settings) if named else model_class.from_config(settings, trust_remote_code=False)
    computed = sum(table.numel() * table.element_size() for table in empty.buffers())
    if computed > MOST_BUFFERS:
        raise BadModel(f"config.json in {folder} needs {computed:,} bytes of buffers; the maximum is {MOST_BUFFERS:,}")


@contextmanager
def _counted(shapes: Shapes, folder: Path) -> Iterator[None]:
    have = sum(prod(shape) for shape in shapes.values())
    numbers, parts = 4 * have + SPARE_NUMBERS, 8 * len(shapes) + SPARE_PARTS
    thread, count = threading.get_ident(), {"numbers": 0, "parts": 0}

    def one_more(_: nn.Module, __: str, part: Any) -> None:
        if part is None or threading.get_ident() != thread:
            return
        count["parts"] += 1
        count["numbers"] += part.numel() if isinstance(part, Tensor) else 0
        if count["numbers"] > numbers or count["parts"] > parts:
            raise BadModel(
                f"config.json in {folder} describes a model with more than {counted(count['numbers'], 'parameter')} in "
                f"{counted(count['parts'], 'part')}, but the weight files hold {counted(have, 'parameter')} in "
                f"{counted(len(shapes), 'tensor')}"
            )

    registers = (register_module_parameter_registration_hook, register_module_module_registration_hook)
    hooks = [register(one_more) for register in registers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _loaded(model_class: Any, folder: Path, settings: Any, dtype: torch.dtype) -> Any:
    model, report = model_class.from_pretrained(
        folder,
        config=settings,
        dtype=dtype,
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # mismatches are listed in the report
    )
    unread = ("pooler", "decoder.") if _both_halves(model.config) else ("pooler",)
    missing = sorted(n for n in report["missing_keys"] if not any(part in n for part in unread))
    mismatched = sorted(report["mismatched_keys"])
    if missing or mismatched:
        what = f"lacks {missing[0]}" if missing else f"holds {mismatched[0][0]} with the wrong shape"
        raise BadModel(f"{folder} {what}, so transformers would initialize it randomly")
    return model


def _both_halves(settings: Any) -> bool:
    return bool(getattr(settings, "is_encoder_decoder", False))
