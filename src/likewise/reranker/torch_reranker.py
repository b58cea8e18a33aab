"""TorchReranker: the base of torch cross-encoders and poly-encoders, which can be trained and run on GPUs."""

from abc import abstractmethod
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..encoders.checkpoint import encoder_settings, load_encoder
from ..encoders.encoder import Encoder
from ..engine_registry import Loadable, LoadOptions
from ..errors import BadInput, BadModel
from ..model_files import OWN_RERANKER, Manifest, PairManifest, locate, read_manifest
from ..model_files.reranker_folder import MODULES
from ..model_files.saving import reading_one_model
from ..runtime.devices import MovableModule, device_and_dtype, precision_name
from ..text.tokenizer import Tokenizer, max_input_length
from .reranker import Reranker


class TorchReranker(MovableModule, Reranker, Loadable):
    """A reranker made of torch modules, which returns logits, with gradients, when called."""

    encoder: Encoder
    MODULE_TYPE: str | None = None
    """The class's key in TORCH_RERANKERS."""

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, manifest: PairManifest):
        super().__init__()
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.manifest = manifest
        tokenizer.check(encoder.vocabulary)

    @classmethod
    def check_options(cls, options: LoadOptions) -> None:
        device_and_dtype(options.device, options.precision)

    @classmethod
    def check_model(cls, manifest: PairManifest, options: LoadOptions) -> None:  # noqa: ARG003
        found = _class_of(manifest)
        if not issubclass(found, cls):
            raise BadModel(f"{manifest.encoder} contains a {found.__name__}; load it with Reranker.load")

    @classmethod
    def from_manifest(cls, manifest: PairManifest, options: LoadOptions) -> "TorchReranker":
        device, dtype = device_and_dtype(options.device, options.precision)
        return _class_of(manifest).read(manifest, dtype, options.max_seq_length).to(device).eval()

    @classmethod
    @abstractmethod
    def read(cls, manifest: PairManifest, dtype: torch.dtype, max_seq_length: int | None) -> "TorchReranker":
        """Load the reranker that a folder describes, on the CPU."""

    def _identifying_settings(self) -> tuple[list[Any], list[Any]]:
        return encoder_settings(self.encoder), self._settings

    @property
    @abstractmethod
    def _settings(self) -> list[Any]:
        """JSON-serializable settings, besides tokenizer, encoder and weights, that affect scores."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def precision(self) -> str:
        return precision_name(next(self.encoder.parameters()).dtype)


TORCH_RERANKERS: dict[str | None, str] = {
    None: "cross_encoder:CrossEncoder",
    MODULES: "modular_cross_encoder:ModularCrossEncoder",
    f"{OWN_RERANKER}PolyEncoder": "poly_encoder:PolyEncoder",
}
"""The class of each kind of reranker (`PairManifest.kind`)."""


def _class_of(manifest: PairManifest) -> type[TorchReranker]:
    """Import and return the class for the kind of reranker in a folder."""
    kind = manifest.kind
    if kind not in TORCH_RERANKERS:
        known = ", ".join(name for name in TORCH_RERANKERS if name is not None)
        raise BadModel(f"{manifest.encoder} contains a reranker of kind {kind!r}; known kinds: {known}")
    module, _, name = TORCH_RERANKERS[kind].partition(":")
    reranker_class: type[TorchReranker] = getattr(import_module(f"{__package__}.{module}"), name)
    return reranker_class


Parts = tuple[Tokenizer, Encoder, Manifest | PairManifest, PairManifest]
"""A tokenizer, an encoder, the manifest of the model that they come from, and the manifest of a new reranker."""


def parts_of(source: Any, max_seq_length: int | None) -> Parts:
    """The parts of a new reranker, from an embedder, another reranker, or a named model; the encoder is a copy."""
    if isinstance(source, str | Path):
        with reading_one_model(locate(source)) as folder:
            manifest = read_manifest(folder)
            encoder = load_encoder(manifest.encoder)
            tokenizer = tokenizer_of(encoder, manifest, None)
    elif isinstance(getattr(source, "encoder", None), nn.Module):
        tokenizer, encoder, manifest = source.tokenizer, deepcopy(source.encoder), source.manifest
    else:
        expected = "a new reranker needs a name, a folder, or a model loaded with engine='torch'"
        raise BadInput(f"{expected}; found a {type(source).__name__}")
    pairs = PairManifest(encoder=manifest.encoder, lowercase=tokenizer.lowercase)
    if max_seq_length is not None:
        tokenizer = tokenizer_of(encoder, pairs, max_seq_length)
    return tokenizer, encoder, manifest, pairs


def tokenizer_of(encoder: Encoder, manifest: Manifest | PairManifest, max_seq_length: int | None) -> Tokenizer:
    """A folder's tokenizer, with the given maximum length or, by default, the folder's or the encoder's."""
    limit = max_input_length(max_seq_length, manifest.max_seq_length, encoder.longest)
    return Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
