"""ModularCrossEncoder: a cross-encoder that computes scores by pooling and heads, as an embedder computes vectors."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ..array_types import Float
from ..arrays.ragged import Layers, Ragged
from ..encoders import checkpoint
from ..errors import BadModel
from ..heads import apply_heads, head_settings, out_width, read_head
from ..model_files import ModulePart, PairManifest
from ..module_registry import head_shapes
from ..pooling.reductions import Reduce
from ..runtime.fingerprint import Weights
from .cross_encoder import CrossEncoder
from .torch_reranker import tokenizer_of


class ModularCrossEncoder(CrossEncoder):
    """A cross-encoder in torch that sentence-transformers saved as several modules."""

    head: "PooledHeads"

    @classmethod
    def read(cls, manifest: PairManifest, dtype: torch.dtype, max_seq_length: int | None) -> "ModularCrossEncoder":
        encoder = checkpoint.load_encoder(manifest.encoder, dtype)
        head = PooledHeads.read(manifest, encoder.width)
        return cls(tokenizer_of(encoder, manifest, max_seq_length), encoder, head, manifest)

    def _check_head(self) -> None:
        self.head.described()

    def _written_manifest(self) -> PairManifest:
        parts = tuple(ModulePart(kind, config, Path()) for kind, config, _ in self.head.described())
        return replace(super()._written_manifest(), heads=parts)

    def _write_weights(self, folder: Path) -> None:
        checkpoint.save_encoder(self.encoder, folder)
        for i, (kind, _, weights) in enumerate(self.head.described(), 2):
            if weights:
                save_file(dict(weights), folder / f"{i}_{kind}" / "model.safetensors", {"format": "pt"})

    def _identifying_weights(self) -> Weights:
        named = [
            (f"heads.{i}.{n}", w) for i, (*_, weights) in enumerate(self.head.described()) for n, w in weights.items()
        ]
        heads = [(name, [tensor.float().numpy()]) for name, tensor in named]
        return [*checkpoint.identifying_weights(self.encoder, self.manifest.encoder), *heads]


class PooledHeads(nn.Module):
    """Turns layers into logits: heads(pooling(last layer)), in fp32."""

    def __init__(self, reduce: Reduce, heads: nn.Sequential, width: int) -> None:
        super().__init__()
        self.reduce, self.heads, self.width = reduce, heads, width  # width: dimensions of a pooled vector

    @classmethod
    def read(cls, manifest: PairManifest, encoder_width: int) -> "PooledHeads":
        """The pooling and heads that a folder describes, for an encoder with this hidden size."""
        reduce = Reduce.parse(manifest.pooling or "")
        heads = nn.Sequential(*(read_head(part.kind, part.config, part.folder) for part in manifest.heads))
        width = reduce.width(encoder_width)
        try:
            out_width(heads, width)
        except RuntimeError as error:
            pooled = f"the pooling mode {reduce.spec} returns {width} dimensions"
            raise BadModel(f"{pooled}, which the heads of {manifest.encoder} cannot process: {error}") from None
        return cls(reduce, heads, width)

    def described(self) -> list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]]:
        return head_settings(self.heads, self.width)

    @property
    def settings(self) -> Any:
        """The settings that affect scores, as JSON values that are the same for every engine."""
        kinds = [[kind, head_shapes(kind, config, Path(kind))[1]] for kind, config, _ in self.described()]
        return [self.reduce.spec, kinds]

    def forward(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N C"]:
        return apply_heads(self.heads, self.reduce(layers, tokens).float())
