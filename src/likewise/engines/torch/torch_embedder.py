"""TorchEmbedder: an embedder composed of torch modules, with gradients, loading and saving."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ...array_types import Float
from ...arrays.ragged import Ragged
from ...arrays.sequences import Sequences
from ...embedder import Embedder, HeadWeights, warn_of_readers
from ...encoders.checkpoint import (
    check_writable,
    encoder_settings,
    identifying_weights,
    load_encoder,
    save_encoder,
    state_digest,
)
from ...encoders.encoder import Encoder
from ...encoders.families import family_name
from ...engine_registry import Loadable, LoadOptions
from ...errors import BadInput, BadModel
from ...heads import Normalize, apply_heads, head_settings, heads_in_order, out_width, read_head, with_truncation
from ...inference import Rows, WindowBatches
from ...model_files import POOLING_FOLDER, Manifest, ModulePart, atomic_folder, read_manifest, write_manifest
from ...model_files.folder import check_same
from ...model_files.provenance import readable_provenance, write_provenance
from ...module_registry import head_shapes
from ...pooling import Pooling, describe_pooling, pooling_of, read_pooling
from ...pooling.reductions import last
from ...runtime.atomic_files import target_folder
from ...runtime.devices import MovableModule, device_and_dtype, leave_training_mode, precision_name
from ...runtime.fingerprint import Weights
from ...runtime.weight_files import WeightFormat
from ...text.inputs import Windows
from ...text.tokenizer import Tokenizer, max_input_length
from ..former_fingerprints import former_pooled_settings


class TorchEmbedder(MovableModule, Embedder, Loadable):
    """A sentence encoder composed of a tokenizer and torch modules: encoder, pooling, heads.

    >>> embedder = TorchEmbedder.load("likewise-mini")
    >>> embedder.encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)

    Several threads can use one embedder at the same time. `encode` and its relatives put it into eval mode, as in
    sentence-transformers: call `train()` before the next step of your own training loop. Change weights under
    `torch.no_grad()` or with an optimizer: an in-place change through `weight.data` bypasses version tracking, and
    `encode` on a CPU would not see it.
    """

    encoder: Encoder
    pooling: Pooling

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, pooling: Pooling, heads: nn.Module, manifest: Manifest):
        super().__init__()
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.pooling = pooling
        self.heads = heads
        self.manifest = manifest
        _check_fit(self)

    @classmethod
    def check_options(cls, options: LoadOptions) -> None:
        device_and_dtype(options.device, options.precision)

    @classmethod
    def check_model(cls, manifest: Manifest, options: LoadOptions) -> None:
        """Accept every model: torch supports all of them."""

    @classmethod
    def from_manifest(cls, manifest: Manifest, options: LoadOptions) -> "TorchEmbedder":
        device, dtype = device_and_dtype(options.device, options.precision)
        encoder = load_encoder(manifest.encoder, dtype)
        limit = max_input_length(options.max_seq_length, manifest.max_seq_length, encoder.longest)
        tokenizer = Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
        pooling = _pooling(manifest.pooling if options.pooling is None else options.pooling, encoder.depth)
        heads = [read_head(part.kind, part.config, part.folder) for part in manifest.heads]
        if options.truncate_dim is not None:
            width = out_width(nn.Sequential(*heads), pooling.width(encoder.width))
            heads = with_truncation(heads, options.truncate_dim, width)
        return cls(tokenizer, encoder, pooling, nn.Sequential(*heads), manifest).to(device).eval()

    def pool(self, tokens: Ragged, skip: Sequence[int] | None = None) -> Float[Tensor, "N W"]:
        """Map packed tokens to pooled vectors, before the heads, excluding the first `skip` tokens of each sentence."""
        layers, units = self.encoder(tokens), self.encoder.units(tokens)
        if skip is not None:
            units, rows = units.without_first(skip)
            layers = (x[rows] for x in layers)
        return self.pooling(layers, units)

    def forward(self, tokens: Ragged) -> Float[Tensor, "N E"]:
        """Map packed tokens to vectors, with gradients if they are enabled."""
        if not isinstance(tokens, Ragged):
            raise BadInput("expected packed tokens (Ragged); to encode texts, call embedder.encode(texts)")
        return apply_heads(self.heads, self.pool(tokens))

    def head_weights(self) -> list[HeadWeights]:
        found = head_settings(self.heads, self.pooling.width(self.encoder.width))
        return [HeadWeights(kind, head_shapes(kind, config, Path(kind))[1], _arrays(w)) for kind, config, w in found]

    def with_pooling(self, pooling: str) -> "TorchEmbedder":
        chosen = pooling_of(pooling, self.encoder.depth)
        return TorchEmbedder(self.tokenizer, self.encoder, chosen, self.heads, self.manifest).eval()

    def pooling_weights(self) -> Mapping[str, np.ndarray]:
        return _arrays(self.pooling.state_dict()) if isinstance(self.pooling, nn.Module) else {}

    def save(self, folder: str | Path, *, weights: WeightFormat | None = None) -> None:
        target, described = target_folder(folder), describe_pooling(self.pooling)
        pooling = described if isinstance(described, str) else ModulePart(*described, Path())
        heads = head_settings(self.heads, self.pooling.width(self.encoder.width))
        manifest = replace(self._written(pooling, [head[:2] for head in heads]), static=self.is_static(weights=weights))
        check_writable(self.encoder, weights)
        warn_of_readers(self.only_here(weights=weights))
        with atomic_folder(target) as partial:
            write_manifest(partial, manifest, self.encoder.width)
            self.tokenizer.save(partial)
            write_provenance(partial, readable_provenance(self))
            for name, tensors in self._weights_of_parts(heads).items():
                save_file(tensors, partial / name / "model.safetensors", {"format": "pt"})
            if manifest.static:
                self.write_static(partial, _arrays(self.encoder.state_dict())["table.weight"])
            else:
                save_encoder(self.encoder, partial, weights=weights)
            check_same(written=manifest, read_back=read_manifest(partial))

    def _weights_of_parts(
        self, heads: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]]
    ) -> dict[str, dict[str, Tensor]]:
        weights_by_folder = {f"{i}_{kind}": dict(weights) for i, (kind, _, weights) in enumerate(heads, 2)}
        if isinstance(self.pooling, nn.Module):
            state = self.pooling.state_dict()
            weights_by_folder[POOLING_FOLDER] = {
                name: tensor.detach().cpu().contiguous() for name, tensor in state.items()
            }
        return {name: weights for name, weights in weights_by_folder.items() if weights}

    @property
    def dimension(self) -> int:
        return out_width(self.heads, self.pooling.width(self.encoder.width))

    @property
    def is_unit(self) -> bool:
        return any(isinstance(head, Normalize) for head in heads_in_order(self.heads)[-1:])

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": family_name(self.encoder.config),
            "layers": self.encoder.depth,
            "width": self.encoder.width,
            "parameters": sum(p.numel() for p in self.parameters()),
            "pooling": self.pooling.spec,
            "heads": [type(head).__name__ for head in self.heads.children()],
        }

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def precision(self) -> str:
        return precision_name(next(self.encoder.parameters()).dtype)

    def _encoder_settings(self) -> list[Any]:
        return encoder_settings(self.encoder)

    def _encoder_weights(self) -> Weights:
        return identifying_weights(self.encoder, self.manifest.encoder)

    def former_fingerprint(self, tokenizer: str) -> str:
        """The fingerprint that earlier versions recorded (`engines.former_fingerprints`)."""
        spec, *others = former_pooled_settings(self)
        unknown, shape = self.tokenizer.unknown, getattr(self.encoder, "shape", self.encoder.config)
        settings = [spec, str(self.heads), *others, tokenizer, *([str(unknown)] if unknown else []), str(shape)]
        return state_digest(self.state_dict(), settings)

    def _heads_to_identify(self) -> list[HeadWeights]:
        try:
            return self.head_weights()
        except BadModel:  # heads that cannot be saved, such as custom modules for training
            return [HeadWeights(str(self.heads), "", _arrays(self.heads.state_dict()))]

    @torch.inference_mode()
    def _pooled(self, windows: Windows, batches: WindowBatches) -> Float[np.ndarray, "P W"]:
        leave_training_mode(self)

        def pooled(tokens: Sequences, skips: Rows | None) -> Tensor:
            return self.pool(Ragged.packed(tokens, self.device), None if skips is None else skips.tolist()).float()

        results = torch.empty(len(windows), self.pooling.width(self.encoder.width), device=self.device)
        return np.asarray(batches.run_windows(windows, pooled, results).cpu().numpy())

    @torch.inference_mode()
    def through_heads(self, pooled: Float[np.ndarray, "n W"]) -> Float[np.ndarray, "n E"]:
        leave_training_mode(self)
        headed = apply_heads(self.heads, torch.from_numpy(pooled).to(self.device))
        return np.asarray(headed.float().cpu().numpy())

    @torch.inference_mode()
    def _layers(self, tokens: Sequences, only_last: bool, batches: WindowBatches) -> list[Float[np.ndarray, "L t D"]]:
        leave_training_mode(self)
        results = [np.empty((0, 0, 0), np.float32)] * len(tokens)
        return batches.run(tokens.lengths, lambda rows: self._block(tokens.take(rows), only_last), results)

    def _block(self, sequences: Sequences, only_last: bool) -> list[Float[np.ndarray, "L t D"]]:
        """All layers of some texts, or only the last one, copied to the CPU."""
        tokens = Ragged.packed(sequences, self.device)
        layers = self.encoder(tokens)
        chosen = [last(layers)] if only_last else layers
        stacked = torch.stack([x.float().cpu() for x in chosen])
        return [one.numpy().copy() for one in torch.split(stacked, list(self.encoder.units(tokens).lengths), dim=1)]


def require_torch_engine(embedder: Embedder, purpose: str) -> TorchEmbedder:
    """Return the embedder if it runs on torch; otherwise raise BadInput."""
    if not isinstance(embedder, TorchEmbedder):
        raise BadInput(f"{purpose} needs a model loaded with engine='torch', but this is a {type(embedder).__name__}")
    return embedder


def _arrays(weights: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in weights.items()}


def _pooling(described: str | ModulePart, depth: int) -> Pooling:
    if isinstance(described, str):
        return pooling_of(described, depth)
    return read_pooling(described.kind, described.config, described.folder, depth)


def _check_fit(embedder: TorchEmbedder) -> None:
    embedder.tokenizer.check(embedder.encoder.vocabulary)
    unknown = embedder.tokenizer.unknown
    if unknown is not None and unknown.buckets and not embedder.manifest.include_prompt:
        raise BadModel("a model that splits words into character n-grams cannot exclude the prompt from pooling")
    width = embedder.pooling.width(embedder.encoder.width)
    try:
        out_width(embedder.heads, width)
    except RuntimeError as error:
        raise BadModel(
            f"{embedder.pooling.spec} pooling returns {width} dimensions, which the heads do not accept: {error}"
        ) from None
