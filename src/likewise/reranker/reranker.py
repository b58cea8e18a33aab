"""Reranker: scores and ranks pairs of texts. Loading, and the code that all kinds and engines share, without torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np

from ..array_types import Float
from ..arrays.activations import HEAD_ACTIVATIONS, softmax
from ..engine_registry import LoadOptions, load_with_engine
from ..errors import BadInput
from ..inference import InferenceRun, inference_run
from ..model_files import PairManifest, locate, read_pair_manifest
from ..model_files.late_interaction_folder import LATE_INTERACTION
from ..model_files.saving import reading_one_model
from ..native.tokenizing import EncodedTexts
from ..runtime.fingerprint import Weights, fingerprint
from ..runtime.lazy_imports import require_torch
from ..runtime.progress import Progress
from ..text.inputs import checked_texts, resolve_prompt
from ..text.tokenizer import Tokenizer
from ..text.truncation import TruncationCounter
from .text_pairs import TextPairs, columns

Loaded = TypeVar("Loaded")
"""The class on which `load` was called."""
LATE = "likewise.engines.late_interaction"  # imported only when such a model is loaded
PairOverflow = Literal["error", "warn", "truncate"]
RunOptions = tuple[PairOverflow, Progress, int | None]
"""The options overflow, show_progress_bar and batch_tokens of `logits`."""


class Reranker(ABC):
    """Scores two texts together: slower than comparing vectors, but more accurate.

    >>> reranker = Reranker.load("cross-encoder/ms-marco-MiniLM-L6-v2")      # doctest: +SKIP
    >>> reranker.rank("how do cats sleep", ["Cats nap.", "Shares fell."])    # doctest: +SKIP
    [(0, 0.93), (1, 0.02)]

    `load` returns a cross-encoder, a poly-encoder or a late-interaction model (ColBERT), depending on the folder, and
    picks the engine that runs it. The torch rerankers (`CrossEncoder`, `PolyEncoder`) are modules that return logits,
    with gradients, when called. A reranker may be called from several threads at once.
    """

    kind: str
    """The key of the model's row in TRAINING_STRATEGIES."""
    tokenizer: Tokenizer
    manifest: PairManifest
    encoder: Any
    """Has the attribute `vocabulary`, the vocabulary size; all token ids are below it."""
    labels: Sequence[str]
    """The names of the C labels; a model with a single label returns plain scores."""
    activation: str
    """The name in HEAD_ACTIVATIONS of the function that turns logits into scores if there is a single label."""

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
        """Load the reranker with this name or in this folder.

        Args:
            name: a folder (a Hugging Face sequence classifier, a sentence-transformers CrossEncoder, a ColBERT
                model, or a poly-encoder), or a hub name.
            engine: `"native"` (the compiled library), `"torch"` (the only one for poly-encoders) or `"numpy"`; by
                default the first of these that is installed and supports the model and options, or torch if there is a
                GPU.
            precision: `"fp32"` (the default on a CPU), `"bf16"` (the default on CUDA), `"fp16"` (torch only) or
                `"int8"` (native only).
            device: `"cpu"`, `"cuda"` …; by default the first GPU if there is one.
            max_seq_length: a different maximum input length, in tokens including special ones.

        Raises:
            ModelNotFound: no model has this name; the message lists what was tried.
            BadModel: the folder is broken, unsafe, or does not contain a reranker.
            BadInput: an option is unknown, or not supported by the engine.
            MissingExtra: the engine needs a package that is not installed.
        """
        options = LoadOptions(precision, None if device is None else str(device), max_seq_length=max_seq_length)
        with reading_one_model(locate(name)) as folder:
            manifest, only = read_pair_manifest(folder), None if cls is Reranker else cls
            late = import_module(LATE) if manifest.kind == LATE_INTERACTION else None
            if late is not None and issubclass(late.LateInteraction, cls):
                embedder = load_with_engine("embedder", engine, options, lambda: late.token_model(manifest))
                return cast(Loaded, late.LateInteraction(embedder, manifest))
            loaded: Loaded = load_with_engine("reranker", engine, options, lambda: manifest, only)
            return loaded

    @classmethod
    def start(
        cls, source: Any, labels: int | Sequence[str] = 1, *, seed: int = 0, max_seq_length: int | None = None
    ) -> Any:
        """Create an untrained torch `CrossEncoder`: a copy of an encoder with a random classification head.

        Its scores are meaningless until it is trained.

        Args:
            source: a torch embedder, the name or folder of an embedding model or plain encoder, or another reranker
                (one trained on NLI, for example), whose head is discarded.
            labels: the number of labels (1 for a plain score), or their names.
            seed: the random seed for the head.
            max_seq_length: the maximum length of both texts together, in tokens including special ones.

        Raises:
            MissingExtra: torch is not installed.
        """
        require_torch("Reranker.start")
        cross_encoder = import_module(f"{__package__}.cross_encoder")
        return cross_encoder.CrossEncoder.start(source, labels, seed=seed, max_seq_length=max_seq_length)

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
        """The model's output for each pair before any activation, float32, in the given order; see `score`."""
        first, second = columns(pairs, documents)
        prompted = self._prompted(first, prompt, prompt_name)
        return self._logits(prompted, second, (overflow, show_progress_bar, batch_tokens))

    @abstractmethod
    def _logits(self, first: list[str], second: list[str], options: RunOptions) -> Float[np.ndarray, "N C"]:
        """The logits of pairs of texts given as two columns, with the prompt added to the first."""

    @property
    @abstractmethod
    def max_content_length(self) -> int:
        """The maximum number of tokens read at once, not counting special ones."""

    def probabilities(
        self, pairs: TextPairs, documents: Iterable[str] | None = None, **how: Any
    ) -> Float[np.ndarray, "N C"]:
        """The activation applied to the logits; for several labels, softmax unless the model names another one."""
        return self.activated(self.logits(pairs, documents, **how))

    def activated(self, logits: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Apply the model's activation to logits, as in `probabilities`."""
        several = len(self.labels) > 1 and self.activation == "Identity"
        return np.asarray(softmax(logits) if several else HEAD_ACTIVATIONS[self.activation](logits), np.float32)

    def score(
        self, pairs: TextPairs, documents: Iterable[str] | None = None, *, label: int | str | None = None, **how: Any
    ) -> Float[np.ndarray, " N"]:
        """One score per pair, float32, in the given order.

        Args:
            pairs: pairs of texts, or the first text of each pair if `documents` holds the second.
            documents: the second text of each pair, if `pairs` holds only first texts.
            label: the name or number of the label whose probability is the score, if the model has several labels
                (`"entailment"`, say).
            how: options of `logits`: `prompt` (a text prepended to every first text), `prompt_name` (the name of one of
                the model's own prompts instead), `overflow` (for pairs longer than the model's limit: `"error"`;
                `"warn"` truncates the longer text first and warns; `"truncate"` does so silently), `show_progress_bar`,
                `batch_tokens`.

        Raises:
            BadInput: an item is not a pair of texts (the message gives its index), or an option is unknown.
            TooLong: a pair is too long, with `overflow="error"`.
            OutOfMemory: a single pair does not fit into memory.
        """
        return self.probabilities(pairs, documents, **how)[:, self._label(label)]

    def pair_scores(self, first: Sequence[str], second: Sequence[str], **how: Any) -> Float[np.ndarray, " N"]:
        """One score per pair of texts; an embedder's method with this name returns similarities."""
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
        """The k documents (by default, all) that best match the query, best first.

        Each item is (index, score), or (index, score, document) with `return_documents`. Documents with equal scores
        keep their order.
        """
        if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
            raise BadInput(f"k is {k!r}; expected the number of documents to keep, 1 or more")
        if not isinstance(query, str):
            raise BadInput(f"the query is {query!r:.40}; expected a single str (score accepts several)")
        texts = checked_texts(documents, "documents")
        scores = self.score([query] * len(texts), texts, label=label, **how)
        best = [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]
        return [(*row, texts[row[0]]) for row in best] if return_documents else best

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Write a folder for `load`, with the weights in their current precision."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that identify the weights, tokenizer, head and prompts, like `Embedder.fingerprint`."""
        m, (encoder, head) = self.manifest, self._identifying_settings()
        prompts = [dict(m.prompts), m.default_prompt]
        settings = {"encoder": encoder, "tokenizer": self.tokenizer.identity, "head": head, "prompts": prompts}
        return fingerprint(settings, self._identifying_weights())

    @abstractmethod
    def _identifying_settings(self) -> tuple[list[Any], list[Any]]:
        """The settings of the encoder and of the head, as JSON values that are the same for every engine."""

    @abstractmethod
    def _identifying_weights(self) -> Weights:
        """All weights, for the fingerprint."""

    @property
    def batch_threads(self) -> int:
        """The number of threads that split the texts of a batch; 1 if all threads share each matrix multiplication."""
        return int(getattr(self.encoder, "threads", 1))

    @property
    @abstractmethod
    def device(self) -> Any:
        """The device that the model runs on, as a string such as `"cpu"` or `"cuda:0"`."""

    @property
    def precision(self) -> str:
        """The precision of the model's computations: `"fp32"`, `"bf16"`, `"fp16"` or `"int8"`."""
        return str(self.encoder.precision)

    def _label(self, label: int | str | None) -> int:
        if label is None and len(self.labels) == 1:
            return 0
        known = ", ".join(self.labels[:20])
        if label is None:
            several = f"this model has {len(self.labels)} labels ({known})"
            raise BadInput(f"{several}; choose the one whose probability is the score: label=…")
        if isinstance(label, str):
            same = [i for i, name in enumerate(self.labels) if name.lower() == label.lower()]
            exact = [i for i in same if self.labels[i] == label]
            if len(exact or same) == 1:
                return (exact or same)[0]
        elif isinstance(label, Integral) and not isinstance(label, bool) and 0 <= label < len(self.labels):
            return int(label)
        raise BadInput(f"there is no label {label!r}; expected one of {known}")

    def _run(
        self, what: str, total: int, options: RunOptions, limit: int | None = None
    ) -> AbstractContextManager[InferenceRun]:
        """A run over `total` items of at most `limit` tokens each; warnings call the items `what`."""
        overflow, show_progress_bar, batch_tokens = options
        limit = self.max_content_length if limit is None else limit
        counter = TruncationCounter(limit, overflow, what, windows=False, word_limit=self.tokenizer.longest_word)
        return inference_run(self, counter, total, show_progress_bar, batch_tokens)

    def _token_ids(self, texts: list[str]) -> EncodedTexts:
        """The untruncated ids of each text without special tokens, checked against the encoder's vocabulary."""
        contents = self.tokenizer.encode(texts)
        unknown = self.tokenizer.first_out_of_vocabulary(contents, self.encoder.vocabulary)
        if unknown is not None:
            text = texts[unknown[0]]
            raise BadInput(f"the text {text!r:.60} has the token {unknown[1]!r}, for which the encoder has no vector")
        return contents

    def _prompted(self, texts: Iterable[str], prompt: str | None, prompt_name: str | None) -> list[str]:
        """Each text with the given prompt in front, or with the model's own."""
        text_prompt = resolve_prompt(prompt, prompt_name, self.manifest.prompts, self.manifest.default_prompt)
        if text_prompt:
            self.tokenizer.room_after(self.tokenizer.token_ids([text_prompt])[0])
        return [text_prompt + text for text in texts]
