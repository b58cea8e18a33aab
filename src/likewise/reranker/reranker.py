"""Reranker: the base class of cross-encoder and poly-encoder, from pairs of texts to scores and ranks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float

from ..encoders.checkpoint import load_encoder
from ..encoders.encoder import Encoder
from ..encoders.fingerprint import fingerprint
from ..errors import BadInput, BadModel
from ..heads import ACTIVATIONS
from ..inference import InferenceRun, inference_run
from ..model_files import OWN_RERANKER, Manifest, PairManifest, locate, read_manifest, read_pair_manifest
from ..runtime.devices import MovableModule, Precision, device_and_dtype, precision_name
from ..runtime.progress import Progress
from ..runtime.unknown_options import explain_attributes, explains_unknown_options, unknown_options
from ..text.prompts import resolve_prompt
from ..text.tokenizer import Tokenizer, max_input_length
from ..text.truncation import TruncationCounter
from .text_pairs import TextPairs, checked_texts

PairOverflow = Literal["error", "warn", "truncate"]
OPTIONS = ("prompt", "prompt_name", "overflow", "progress", "batch_tokens")
"""What `logits` takes, and `score`, `rank` and `probabilities` pass to it."""
SCORE_ADVICE = {
    "batch_size": "batches are sized by tokens, and fit any device as they are; to choose: batch_tokens=4096",
    "show_progress_bar": "it is called progress here: progress=True, or False",
    "activation_fn": "the activation is the model's own; logits returns what it is applied to",
    "activation_fct": "the activation is the model's own; logits returns what it is applied to",
    "apply_softmax": "probabilities returns the softmax of several labels",
    "convert_to_tensor": "scores are NumPy arrays; torch.from_numpy(scores) makes a tensor of them",
    "convert_to_numpy": "scores are NumPy arrays already",
    "device": "the device is chosen when the model is loaded: Reranker.load(name, device=…)",
}
RANK_ADVICE = {**SCORE_ADVICE, "top_k": "it is called k here: rank(query, documents, k=10)"}
LOAD_ADVICE = {
    "model_name_or_path": "the name or folder comes first, without a name",
    "max_seq_length": "it is called max_length here: max_length=256",
    "num_labels": "an untrained reranker with so many labels is started by Reranker.start(model, labels)",
    "trust_remote_code": "code of a model folder is never run",
    "torch_dtype": "it is called precision here: precision='bf16'",
}
ATTRIBUTE_ADVICE = {
    "predict": "it is called score here: score(pairs); logits(pairs) without the activation",
    "num_labels": "labels has the names of the labels: len(reranker.labels)",
    "max_length": "reranker.tokenizer.max_length; to choose: Reranker.load(name, max_length=…)",
    "max_seq_length": "reranker.tokenizer.max_length; to choose: Reranker.load(name, max_length=…)",
    "encode": "a reranker scores pairs of texts: score(pairs), rank(query, documents); an Embedder encodes texts",
    "fit": "from likewise.train import train; or on the command line: likewise train --kind cross-encoder",
    "save_pretrained": "it is called save here: save(folder)",
    "push_to_hub": "save(folder), then upload that folder, for example with: hf upload",
}


@runtime_checkable
class HasEncoder(Protocol):
    """What a reranker can be started from: an embedder, say."""

    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def encoder(self) -> Encoder: ...
    @property
    def manifest(self) -> Manifest | PairManifest: ...


class Reranker(MovableModule, ABC):
    """Two texts to one score: slower than comparing vectors, and more accurate.

    >>> reranker = Reranker.load("cross-encoder/ms-marco-MiniLM-L6-v2")      # doctest: +SKIP
    >>> reranker.rank("how do cats sleep", ["Cats nap.", "Shares fell."])    # doctest: +SKIP
    [(0, 0.93), (1, 0.02)]

    `load` returns a `CrossEncoder` or a `PolyEncoder`, by what the folder holds; both are torch modules that return
    logits, with gradients, when called. Calls of one reranker may come from several threads at once.
    """

    kind: str
    """What training and teaching go by (a row of TRAINING_STRATEGIES)."""
    MODULE_TYPE: str | None = None
    """Its key in RERANKERS."""
    labels: Sequence[str]
    """The names of the labels: C of them; a single one is plain scoring."""
    activation: str
    """What turns logits into scores, where there is one label: a name in `likewise.heads.ACTIVATIONS`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        explain_attributes(cls, "a reranker", ATTRIBUTE_ADVICE)

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, manifest: PairManifest):
        super().__init__()
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.manifest = manifest
        tokenizer.check(encoder.vocabulary)

    @classmethod
    @explains_unknown_options("Reranker.load", LOAD_ADVICE)
    def load(
        cls,
        name: str | Path,
        *,
        precision: Precision | None = None,
        device: str | torch.device | None = None,
        max_length: int | None = None,
    ) -> "Reranker":
        """The reranker of this name or folder.

        Args:
            name: a folder (a Hugging Face sequence classifier, a CrossEncoder of sentence-transformers, or a
                poly-encoder), or a hub name.
            precision: `"fp32"` (the default on a CPU), `"bf16"` (the default on CUDA) or `"fp16"`.
            device: `"cpu"`, `"cuda"` …; the first GPU if there is one.
            max_length: another maximum input length, in tokens with the special ones.

        Raises:
            ModelNotFound: the name leads nowhere; the message lists what was tried.
            BadModel: the folder is broken, unsafe, or holds no reranker.
        """
        torch_device, dtype = device_and_dtype(device, precision)
        manifest = read_pair_manifest(locate(name))
        kind = None if manifest.late is None else manifest.late.kind
        if kind not in RERANKERS:
            known = ", ".join(name for name in RERANKERS if name is not None)
            raise BadModel(f"{manifest.encoder} holds a reranker of the kind {kind!r}; known here: {known}")
        reranker_class = _reranker_class(kind)
        if not issubclass(reranker_class, cls):
            raise BadModel(f"{manifest.encoder} holds a {reranker_class.__name__}; load it with Reranker.load")
        return reranker_class.read(manifest, dtype, max_length).to(torch_device).eval()

    @classmethod
    @abstractmethod
    def read(cls, manifest: PairManifest, dtype: torch.dtype, max_length: int | None) -> "Reranker":
        """The reranker that a folder describes."""

    @classmethod
    def start(
        cls,
        source: HasEncoder | str | Path,
        labels: int | Sequence[str] = 1,
        *,
        seed: int = 0,
        max_length: int | None = None,
    ) -> "Reranker":
        """An untrained cross-encoder: an encoder, copied, and a classification head drawn at random.

        Its scores mean nothing before it is trained.

        Args:
            source: an embedder, or the name or folder of an embedding model or of a plain encoder; or another reranker,
                one trained for inference say, whose head is not used.
            labels: how many labels (1: a score), or their names.
            seed: the random seed of the head.
            max_length: the maximum input length, in tokens of both texts with the special ones.
        """
        return _reranker_class(None).start(source, labels, seed=seed, max_length=max_length)

    @abstractmethod
    def logits(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: PairOverflow = "warn",
        progress: Progress = None,
        batch_tokens: int | None = None,
    ) -> Float[np.ndarray, "N C"]:
        """The model's output for each pair before any activation, float32, in the order given; see `score`."""

    def probabilities(
        self, pairs: TextPairs, documents: Iterable[str] | None = None, **how: Any
    ) -> Float[np.ndarray, "N C"]:
        """The activation of the logits; of several labels, their softmax unless the model names another activation."""
        logits = torch.from_numpy(self.logits(pairs, documents, **how))
        if len(self.labels) > 1 and self.activation == "Identity":
            return np.asarray(logits.softmax(1).numpy())
        return np.asarray(ACTIVATIONS[self.activation]()(logits).numpy())

    def score(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        label: int | str | None = None,
        **how: Any,
    ) -> Float[np.ndarray, " N"]:
        """One number per pair, float32, in the order given.

        Args:
            pairs: pairs of texts; or the first texts, with `documents` for the second ones.
            documents: one for every first text.
            label: whose probability is the score, by name or number, where the model has several labels
                (`"entailment"`, say).
            how: as `logits` takes it: `prompt` (a text put before every first text), `prompt_name` (the name of one of
                the model's own, in its place), `overflow` (a pair of more tokens than the model reads: `"error"`;
                `"warn"` truncates the longer text first and warns; `"truncate"` does so silently), `progress`,
                `batch_tokens`.

        Raises:
            BadInput: an item is not a pair of texts (its index is named), or an option is unknown.
            TooLong: under `overflow="error"`.
            OutOfMemory: one single pair does not fit into memory.
        """
        _check_options("score", how, SCORE_ADVICE)
        return self.probabilities(pairs, documents, **how)[:, self._label(label)]

    def pair_scores(self, first: Sequence[str], second: Sequence[str], **how: Any) -> Float[np.ndarray, " N"]:
        """One score per pair of texts; an embedder's method of this name gives similarities."""
        return self.score(first, second, **how)

    def rank(
        self,
        query: str,
        documents: Iterable[str],
        k: int | None = None,
        *,
        label: int | str | None = None,
        return_documents: bool = False,
        **how: Any,
    ) -> list[Any]:
        """The k documents that match the query best (by default all of them), best first.

        Each is (index, score), or (index, score, document) with `return_documents`. Documents of equal score keep
        their order.
        """
        _check_options("rank", how, RANK_ADVICE)
        if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
            raise BadInput(f"k is {k!r}; expected how many documents to keep, 1 or more")
        if not isinstance(query, str):
            raise BadInput(f"the query is {query!r:.40}; expected one str (score takes many)")
        texts = checked_texts(documents, "documents")
        scores = self.score([query] * len(texts), texts, label=label, **how)
        best = [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]
        return [(*row, texts[row[0]]) for row in best] if return_documents else best

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """A folder that `load` reads, weights in the precision that they have here."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with anything that changes scores: weights, tokenizer, head, prompts."""
        t, m, shape = self.tokenizer, self.manifest, getattr(self.encoder, "shape", self.encoder.config)
        words = [t.max_length, t.lowercase, t.backend.to_str(), dict(m.prompts), m.default_prompt, str(shape)]
        return fingerprint([self.MODULE_TYPE, *words, *self._settings], self.state_dict())

    @property
    @abstractmethod
    def _settings(self) -> list[Any]:
        """Settings besides tokenizer, encoder and weights that change scores, as JSON can hold them."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def precision(self) -> str:
        return precision_name(next(self.encoder.parameters()).dtype)

    def _label(self, label: int | str | None) -> int:
        """The column of a label; the only one where there is one."""
        if label is None and len(self.labels) == 1:
            return 0
        known = ", ".join(self.labels[:20])
        if label is None:
            raise BadInput(
                f"this model has {len(self.labels)} labels ({known}); name the one that is the score: label=…"
            )
        if isinstance(label, str):
            same = [i for i, name in enumerate(self.labels) if name.lower() == label.lower()]
            if len(same) == 1:
                return same[0]
        elif isinstance(label, Integral) and not isinstance(label, bool) and 0 <= label < len(self.labels):
            return int(label)
        raise BadInput(f"there is no label {label!r}; there are {known}")

    def _run(
        self, counter: TruncationCounter, total: int, progress: Progress, batch_tokens: int | None
    ) -> AbstractContextManager[InferenceRun]:
        return inference_run(
            counter,
            total=total,
            device=self.device.type,
            precision=self.precision,
            progress=progress,
            batch_tokens=batch_tokens,
        )

    def _token_ids(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text, whole, without special tokens, all of them in the encoder's vocabulary."""
        contents = self.tokenizer.token_ids(texts)
        unknown = self.tokenizer.first_out_of_vocabulary(contents, self.encoder.vocabulary)
        if unknown is not None:
            text = texts[unknown[0]]
            raise BadInput(f"the text {text!r:.60} holds the token {unknown[1]!r}, for which the encoder has no vector")
        return contents

    def _prompt(self, prompt: str | None, prompt_name: str | None) -> str:
        return resolve_prompt(prompt, prompt_name, self.manifest.prompts, self.manifest.default_prompt)


def _reranker_class(kind: str | None) -> type[Reranker]:
    """The class of a kind of rerankers; its module is imported now."""
    module, _, name = RERANKERS[kind].partition(":")
    reranker_class: type[Reranker] = getattr(import_module(module), name)
    return reranker_class


RERANKERS: dict[str | None, str] = {
    None: "likewise.reranker.cross_encoder:CrossEncoder",
    f"{OWN_RERANKER}PolyEncoder": "likewise.reranker.poly_encoder:PolyEncoder",
}
"""The class of each kind, by the type in modules.json of the part after the encoder (None: a classification head)."""


def _check_options(name: str, how: Mapping[str, Any], advice: Mapping[str, str]) -> None:
    unknown = [option for option in how if option not in OPTIONS]
    if unknown:
        raise unknown_options(name, unknown, OPTIONS, advice)


def parts_of(source: HasEncoder | str | Path) -> tuple[Tokenizer, Encoder, Manifest | PairManifest]:
    """Tokenizer, encoder and manifest of an embedder or a reranker, or of the model of a name."""
    if not isinstance(source, str | Path):
        return source.tokenizer, source.encoder, source.manifest
    manifest = read_manifest(locate(source))
    encoder = load_encoder(manifest.encoder)
    return tokenizer_of(encoder, manifest, None), encoder, manifest


def tokenizer_of(encoder: Encoder, manifest: Manifest | PairManifest, max_length: int | None) -> Tokenizer:
    """The tokenizer of a folder, with the maximum length given, or the folder's, or the encoder's."""
    limit = max_input_length(max_length, manifest.max_length, encoder.longest)
    return Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
