"""CrossEncoder: a torch encoder reads both texts as one sequence, so that each text's words attend to the other's.

It loads any sequence-classification folder of a known family. Without torch, and by default on CPUs, other engines
compute the same results (engines/array_cross_encoder.py).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..array_types import Float
from ..arrays.activations import HEAD_ACTIVATIONS
from ..arrays.ragged import Layers, Ragged
from ..encoders import checkpoint
from ..encoders.config import read_config
from ..encoders.encoder import Encoder
from ..encoders.families import family_name, model_type
from ..encoders.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear, initialize_weights
from ..encoders.shapes import changed_settings
from ..errors import BadInput, BadModel
from ..inference import Rows, WindowBatches
from ..model_files import PairManifest, atomic_folder, read_pair_manifest, write_pair_manifest
from ..model_files.folder import check_same
from ..pooling.reductions import Reduce
from ..runtime.atomic_files import target_folder
from ..runtime.devices import leave_training_mode
from ..runtime.fingerprint import Weights
from ..text.tokenizer import Tokenizer
from .classification_heads import CLASSIFIERS, HeadShape, check_head, head_of, labels_of
from .joint_reranker import JointReranker, TokenIdPair, torch_name
from .text_pairs import TextPairs
from .torch_reranker import TorchReranker, parts_of, tokenizer_of


class CrossEncoder(TorchReranker, JointReranker):
    """A cross-encoder in torch: tokenizer, encoder and classification head."""

    head: Any
    """The torch module that turns layers into logits: a `PairClassifier`, or the heads of a modular reranker."""

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, head: nn.Module, manifest: PairManifest):
        super().__init__(tokenizer, encoder, manifest)
        self.head = head
        self._read_settings(encoder.config, getattr(getattr(encoder, "shape", None), "segments", 0))
        older = {"activation_fn": torch_name(self.activation)}  # where sentence-transformers 4 and 5 look for it
        self.encoder.config = {**encoder.config, "sentence_transformers": older}

    @classmethod
    def read(cls, manifest: PairManifest, dtype: torch.dtype, max_seq_length: int | None) -> "CrossEncoder":
        folder = manifest.encoder
        config = read_config(folder)
        head = head_of(model_type(config, folder), f"{folder} holds")
        check_head(folder, config, head)  # before any weight is read
        encoder = checkpoint.load_encoder(folder, dtype)
        built = checkpoint.load_module(lambda: head.build(encoder.config), head.names, folder, dtype)
        return cls(tokenizer_of(encoder, manifest, max_seq_length), encoder, built, manifest)

    @classmethod
    def start(
        cls,
        source: Any,
        labels: int | Sequence[str] = 1,
        *,
        seed: int = 0,
        max_seq_length: int | None = None,
    ) -> "CrossEncoder":
        names = _names(labels)
        tokenizer, encoder, _, manifest = parts_of(source, max_seq_length)
        head = head_of(family_name(encoder.config), "this is")
        encoder.config = {
            **encoder.config,
            "architectures": [f"{head.architecture}ForSequenceClassification"],
            "id2label": {str(i): name for i, name in enumerate(names)},
            "label2id": {name: i for i, name in enumerate(names)},
        }
        encoder.config.pop("num_labels", None)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            built = head.build(encoder.config)
            initialize_weights(built)
        first = next(encoder.parameters())
        return cls(tokenizer, encoder, built.to(first.device, first.dtype), manifest).eval()

    def forward(self, tokens: Ragged) -> Float[Tensor, "N C"]:
        """Turn packed pairs (from `tokens`) into logits, with gradients if enabled."""
        logits: Tensor = self.head(self.encoder(tokens), tokens)
        return logits

    def tokens(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> Ragged:
        """Tokenized pairs of texts, truncated to the model's limit: the input of `forward`."""
        return self.packed(self.token_id_pairs(pairs, documents, prompt=prompt, prompt_name=prompt_name))

    def packed(self, contents: Sequence[TokenIdPair]) -> Ragged:
        """Pairs of ids (from `token_id_pairs`) with special tokens, packed end to end."""
        ids, kinds = self._sequences(contents)
        return Ragged.of(ids, self.device, kinds)

    def save(self, folder: str | Path) -> None:
        """Write a folder for `load`, transformers (sequence classifier) and sentence-transformers (`CrossEncoder`).

        A new folder appears only when complete; an existing one is replaced as in `Embedder.save`.

        Raises:
            BadInput: the folder cannot be written to.
            BadModel: loading the folder would give a different model.
        """
        target = target_folder(folder)
        checkpoint.check_writable(self.encoder)
        if self.activation not in HEAD_ACTIVATIONS:
            known = ", ".join(HEAD_ACTIVATIONS)
            raise BadModel(f"the activation {self.activation!r} cannot be saved; expected one of {known}")
        self._check_head()
        manifest = self._written_manifest()
        with atomic_folder(target) as partial:
            write_pair_manifest(partial, manifest, self.encoder.width)
            self._written_tokenizer().save(partial)
            self._write_weights(partial)
            check_same(written=manifest, read_back=read_pair_manifest(partial))

    def _write_weights(self, folder: Path) -> None:
        row = CLASSIFIERS[family_name(self.encoder.config)]
        tensors = checkpoint.tensors_by_file_name(self.head, row.names)
        checkpoint.save_encoder(self.encoder, folder, row.prefix, tensors)

    def _check_head(self) -> None:
        """Check, before anything is written, that the saved head would be loaded as the same head."""
        with torch.device("meta"):
            built = CLASSIFIERS[family_name(self.encoder.config)].build(self.encoder.config)
        checkpoint.check_same_form(built, self.head, "a classification head of this config")
        again = labels_of(self.encoder.config)
        if list(self.labels) != again:
            raise BadModel(
                f"the labels are {', '.join(self.labels)}, but would be loaded as {', '.join(again)}; "
                "Reranker.start(model, labels) creates a reranker with different labels"
            )

    @property
    def _settings(self) -> list[Any]:
        return [self.activation, list(self.labels), self.head.settings, self.segmented]

    def _identifying_weights(self) -> Weights:
        head = checkpoint.tensors_by_file_name(self.head, CLASSIFIERS[family_name(self.encoder.config)].names)
        return checkpoint.identifying_weights(self.encoder, self.manifest.encoder, head)

    @torch.inference_mode()
    def _window_logits(self, contents: list[TokenIdPair], batches: WindowBatches) -> Float[np.ndarray, "n C"]:
        leave_training_mode(self)

        def logits(batch: Rows) -> Float[np.ndarray, "b C"]:
            return np.asarray(self(self.packed([contents[i] for i in batch])).float().cpu().numpy())

        results = np.empty((len(contents), len(self.labels)), np.float32)
        return batches.run(self._lengths(contents), logits, results)


def _names(labels: int | Sequence[str]) -> list[str]:
    if isinstance(labels, int) and not isinstance(labels, bool) and labels >= 1:
        return [f"LABEL_{i}" for i in range(labels)]
    listed = isinstance(labels, list | tuple) and len(labels) > 0 and all(isinstance(name, str) for name in labels)
    if listed and len(set(labels)) == len(labels):  # type: ignore[arg-type]
        return list(labels)  # type: ignore[arg-type]
    raise BadInput(f"labels is {labels!r}; expected their number, 1 or more, or a list of distinct names")


class PairClassifier(nn.Module):
    """Turns layers into logits: out(norm(activation(dense(pooled last layer))))."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape = shape
        self.reduce = Reduce.parse(shape.pooling)
        self.dense = Linear(shape.width, shape.width, bias=shape.bias)
        self.norm = nn.Identity() if shape.norm is None else LayerNorm(shape.width, shape.norm, shape.norm_bias)
        self.out = Linear(shape.width, shape.labels)
        self.activation = ACTIVATION_FUNCTIONS[shape.activation]
        self.drop = nn.Dropout(shape.dropout)

    @property
    def settings(self) -> Any:
        """The settings that affect scores, as JSON values that are the same for every engine."""
        return changed_settings(self.shape)

    def forward(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N C"]:
        x = self.reduce(layers, tokens).to(self.dense.weight.dtype)
        x = self.dense(self.drop(x) if self.shape.drops_first else x)
        logits: Tensor = self.out(self.drop(self.norm(self.activation(x))))
        return logits
