"""The fingerprints in older indexes, which date from before all engines shared one fingerprint per model.

They covered the engine's class, the precision, and the tokenizer as serialized by the `tokenizers` library.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from ..embedder import Embedder
from ..engine_registry import ENGINES, Computation, computation_of
from ..errors import BadModel
from ..text.library_tokenizer import library_object
from .description import read_description, tensors

COMPUTED_WITHOUT_TORCH = (("native", "fp32"), ("native", "bf16"), ("native", "int8"), ("numpy", "fp32"))


def former_computation(embedder: Embedder, recorded: str) -> Computation | None:
    """The computation that this former fingerprint stands for; None if it does not belong to this model.

    For torch, only this embedder's own precision is tried. The version of the arithmetic is 0.

    Raises:
        MissingExtra: the `tokenizers` package is not installed.
    """
    return next((computed for print_, computed in _former_fingerprints(embedder) if print_ == recorded), None)


def _former_fingerprints(embedder: Embedder) -> Iterator[tuple[str, Computation]]:
    tokenizer = _as_the_library_writes_it(embedder)
    of_torch = getattr(embedder, "former_fingerprint", None)
    if of_torch is not None:
        yield of_torch(tokenizer), computation_of(embedder)
    with suppress(BadModel, OSError):  # a model that only torch can run, or one without a folder
        stored = [array for one in tensors(read_description(embedder.manifest.encoder)) for array in one.arrays]
        for engine, precision in COMPUTED_WITHOUT_TORCH:
            yield _of_arrays(embedder, tokenizer, stored, engine, precision), Computation(engine, precision, 0)


def _as_the_library_writes_it(embedder: Embedder) -> str:
    backend = library_object(
        embedder.tokenizer.description, "the fingerprint of an index that was made by an earlier version of likewise"
    )
    backend.no_truncation()
    backend.no_padding()
    return str(backend.to_str())


def _of_arrays(embedder: Embedder, tokenizer: str, stored: list[np.ndarray], engine: str, precision: str) -> str:
    heads = embedder.head_weights()
    settings: list[Any] = [ENGINES[engine].embedder.partition(":")[2], precision, *former_pooled_settings(embedder)]
    settings += [str(embedder.tokenizer.unknown), tokenizer]
    settings.append([f"Dense {head.activation}" if head.kind == "Dense" else head.kind for head in heads])
    digest = hashlib.sha256(json.dumps(settings).encode())
    beside = [embedder.pooling_weights(), *(head.arrays for head in heads)]
    for array in [*stored, *(array for arrays in beside for array in arrays.values())]:
        digest.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


def former_pooled_settings(embedder: Embedder) -> list[Any]:
    """The pooling, prompt and input settings, in the order in which both kinds of fingerprint included them."""
    m, t = embedder.manifest, embedder.tokenizer
    prompts = [dict(m.prompts), m.default_prompt]
    return [embedder.pooling.spec, m.include_prompt, *prompts, t.max_seq_length, t.lowercase]
