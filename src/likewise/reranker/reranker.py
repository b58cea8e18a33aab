"""Reranker: pairs of texts to scores and ranks, whatever computes them. Loading, and what all kinds share; no torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from jaxtyping import Float

from ..arrays.activations import HEAD_ACTIVATIONS, softmax
from ..engine_registry import LoadOptions, load_with_engine
from ..errors import BadInput
from ..inference import InferenceRun, inference_run
from ..model_files import PairManifest, locate, read_pair_manifest
from ..runtime.lazy_imports import require_torch
from ..runtime.progress import Progress
from ..text.inputs import resolve_prompt
from ..text.tokenizer import Tokenizer
from ..text.truncation import TruncationCounter
from .text_pairs import TextPairs, checked_texts

Loaded = TypeVar("Loaded")
"""The class that `load` was called on."""
PairOverflow = Literal["error", "warn", "truncate"]


class PairEncoder(Protocol):
    """What a reranker knows of its encoder, whatever computes it."""

    vocabulary: int
    """Rows of the table of words: ids are below."""


class Reranker(ABC):
    """Two texts to one score: slower than comparing vectors, and more accurate.

    >>> reranker = Reranker.load("cross-encoder/ms-marco-MiniLM-L6-v2")      # doctest: +SKIP
    >>> reranker.rank("how do cats sleep", ["Cats nap.", "Shares fell."])    # doctest: +SKIP
    [(0, 0.93), (1, 0.02)]

    `load` returns a cross-encoder or a poly-encoder, by what the folder holds, and picks the engine that computes it.
    Those of torch (`CrossEncoder`, `PolyEncoder`) are modules that return logits, with gradients, when called. Calls
    of one reranker may come from several threads at once.
    """

    kind: str
    """What training and teaching go by (a row of TRAINING_STRATEGIES)."""
    tokenizer: Tokenizer
    manifest: PairManifest
    encoder: PairEncoder
    labels: Sequence[str]
    """The names of the labels: C of them; a single one is plain scoring."""
    activation: str
    """What turns logits into scores if there is one label: a name in `arrays.activations.HEAD_ACTIVATIONS`."""

    @classmethod
    def load(
        cls: type[Loaded],
        name: str | Path,
        *,
        engine: str | None = None,
        precision: str | None = None,
        device: Any = None,
        max_seq_length: int | None = None,
    ) -> Loaded:
        """The reranker of this name or folder.

        Args:
            name: a folder (a Hugging Face sequence classifier, a CrossEncoder of sentence-transformers, or a
                poly-encoder), or a hub name.
            engine: what computes: `"native"` (the compiled library), `"torch"` (which alone computes poly-encoders) or
                `"numpy"`; by default the first of them that is installed and supports the model and the options, but
                torch where there is a GPU.
            precision: `"fp32"` (the default on a CPU), `"bf16"` (the default on CUDA), `"fp16"` (torch only) or
                `"int8"` (native only).
            device: `"cpu"`, `"cuda"` …; by default the first GPU if there is one.
            max_seq_length: another maximum input length, in tokens with the special ones.

        Raises:
            ModelNotFound: the name leads nowhere; the message lists what was tried.
            BadModel: the folder is broken, unsafe, or holds no reranker.
            BadInput: an option is unknown, or not supported by the engine.
            MissingExtra: the engine needs a package that is not installed.
        """
        options = LoadOptions(precision, None if device is None else str(device), max_seq_length=max_seq_length)
        manifest = cache(lambda: read_pair_manifest(locate(name)))
        only = None if cls is Reranker else cls
        loaded: Loaded = load_with_engine("reranker", engine, options, manifest, only)
        return loaded

    @classmethod
    @abstractmethod
    def from_manifest(cls, manifest: PairManifest, options: LoadOptions) -> "Reranker":
        """The reranker that a folder describes."""

    @classmethod
    @abstractmethod
    def check_options(cls, options: LoadOptions) -> None:
        """Refuses, by BadInput, options that this engine does not support; no model is read yet."""

    @classmethod
    @abstractmethod
    def check_model(cls, manifest: PairManifest, options: LoadOptions) -> None:
        """Refuses, by BadModel, a model that this engine does not compute; no weights are read yet."""

    @classmethod
    def start(
        cls,
        source: Any,
        labels: int | Sequence[str] = 1,
        *,
        seed: int = 0,
        max_seq_length: int | None = None,
    ) -> Any:
        """An untrained `CrossEncoder` of torch: an encoder, copied, and a classification head drawn at random.

        Its scores mean nothing before it is trained.

        Args:
            source: an embedder of torch, or the name or folder of an embedding model or of a plain encoder; or another
                reranker, one trained for inference say, whose head is not used.
            labels: how many labels (1: a score), or their names.
            seed: the random seed of the head.
            max_seq_length: the maximum input length, in tokens of both texts with the special ones.

        Raises:
            MissingExtra: torch is not installed.
        """
        require_torch("Reranker.start")
        cross_encoder = import_module(f"{__package__}.cross_encoder")
        return cross_encoder.CrossEncoder.start(source, labels, seed=seed, max_seq_length=max_seq_length)

    @abstractmethod
    def logits(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: PairOverflow = "warn",
        show_progress_bar: Progress = None,
        batch_tokens: int | None = None,
    ) -> Float[np.ndarray, "N C"]:
        """The model's output for each pair before any activation, float32, in the order given; see `score`."""

    def probabilities(
        self, pairs: TextPairs, documents: Iterable[str] | None = None, **how: Any
    ) -> Float[np.ndarray, "N C"]:
        """The activation of the logits; of several labels, their softmax unless the model names another activation."""
        return self.activated(self.logits(pairs, documents, **how))

    def activated(self, logits: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Logits through the model's activation, as `probabilities` has them."""
        several = len(self.labels) > 1 and self.activation == "Identity"
        return np.asarray(softmax(logits) if several else HEAD_ACTIVATIONS[self.activation](logits), np.float32)

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
                `"warn"` truncates the longer text first and warns; `"truncate"` does so silently), `show_progress_bar`,
                `batch_tokens`.

        Raises:
            BadInput: an item is not a pair of texts (its index is named), or an option is unknown.
            TooLong: under `overflow="error"`.
            OutOfMemory: one single pair does not fit into memory.
        """
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
    @abstractmethod
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with anything that changes scores: weights, tokenizer, head, prompts."""

    @property
    def batch_threads(self) -> int:
        """Threads that share the texts of a batch; 1 where all threads share every single product."""
        return 1

    @property
    @abstractmethod
    def device(self) -> Any:
        """The device that it computes on; its text is `"cpu"`, `"cuda:0"` …"""

    @property
    @abstractmethod
    def precision(self) -> str:
        """The precision that it computes in: `"fp32"`, `"bf16"`, `"fp16"` or `"int8"`."""

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
        self, counter: TruncationCounter, total: int, show_progress_bar: Progress, batch_tokens: int | None
    ) -> AbstractContextManager[InferenceRun]:
        return inference_run(
            counter,
            total=total,
            device=str(self.device).partition(":")[0],
            precision=self.precision,
            show_progress_bar=show_progress_bar,
            batch_tokens=batch_tokens,
            threads=self.batch_threads,
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
