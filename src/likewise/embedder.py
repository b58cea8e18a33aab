"""Embedder: turns texts into vectors with any engine. Loading and text handling are implemented here without torch."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .array_types import Float
from .arrays.reductions import REDUCTIONS
from .arrays.sequences import Sequences
from .arrays.similarity import PAIRWISE, unit
from .encoders.families import FAMILIES
from .engine_registry import LoadOptions, load_with_engine
from .errors import BadInput
from .inference import InferenceRun, Rows, WindowBatches, check_finite, infer, inference_run
from .late_chunking import DocumentChunks, TokenizedDocument, document_chunks, late_reductions, pooled_chunks
from .model_files import DEFAULT_MODEL, Manifest, ModulePart, locate, read_manifest
from .model_files.saving import reading_one_model
from .module_registry import check_pooling
from .runtime.fingerprint import Weights, fingerprint
from .runtime.lazy_imports import require_torch
from .runtime.progress import Progress
from .runtime.static_tables import write_static_table
from .runtime.weight_files import WeightFormat
from .text.chunking import Chunk, ChunkSettings
from .text.inputs import (
    TEXTS,
    TextName,
    TextOrIds,
    TokenizedTexts,
    Windows,
    check_readable,
    checked_texts,
    count_texts,
    mean_of_windows,
    resolve_prompt,
    text_chunks,
)
from .text.tokenizer import Tokenizer, max_input_length
from .text.truncation import Overflow, TruncationCounter, TruncationReport, longest_words

Loaded = TypeVar("Loaded")
"""The class that `load` was called on."""
ROUTED = "likewise.engines.routed_embedder"  # the module that implements Routers, imported only when a Router is loaded
LOAD_PART = 'Embedder.load(name).part("query")'
PROMPT_NAMES = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Prompt names by the role of a text; the first one that the model defines is used (as in sentence-transformers)."""


class HeadWeights(NamedTuple):
    """A head as arrays: its kind (a key of `module_registry.HEADS`), its activation, and its weights by name."""

    kind: str
    activation: str
    arrays: Mapping[str, np.ndarray]


class Embedder(ABC):
    """A sentence encoder: tokenizer, encoder, pooling and heads. `Embedder.load` picks the engine that runs it.

    >>> embedder = Embedder.load("likewise-mini")
    >>> embedder.encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)

    Several threads can use one embedder at the same time.
    """

    kind = "embedder"
    """The key of the model's row in TRAINING_STRATEGIES, which determines how it is trained and distilled."""
    tokenizer: Tokenizer
    manifest: Manifest
    encoder: Any
    """The encoder. Its attributes include `width`, `depth` (the number of blocks, one fewer than the layers),
    `vocabulary`, `longest` (the maximum number of tokens) and, except with torch, `precision` and `threads`."""
    pooling: Any
    """The pooling module; its attribute `spec` is the name of the pooling mode."""
    routes: Sequence[str] = ()
    """The names of a Router's routes; empty for any other model."""

    def __new__(cls, *arguments: Any, **options: Any) -> "Embedder":  # noqa: ARG004, constructors of engines read them
        if cls is Embedder:
            name = arguments[0] if arguments and isinstance(arguments[0], str | Path) else "likewise-mini"
            raise BadInput(
                f"load a model by its name or folder: Embedder.load({str(name)!r}). To build one from a tokenizer, an "
                "encoder, a pooling module and heads, use likewise.engines.torch.torch_embedder.TorchEmbedder"
            )
        return super().__new__(cls)

    def __call__(self, *texts: Any) -> Any:  # noqa: ARG002
        """Raise an error that points to `encode`."""
        raise BadInput("to encode texts, call embedder.encode(texts)")

    @classmethod
    def load(
        cls: type[Loaded],
        name: str | Path = DEFAULT_MODEL,
        *,
        engine: str | None = None,
        precision: str | None = None,
        device: Any = None,
        pooling: str | None = None,
        max_seq_length: int | None = None,
        truncate_dim: int | None = None,
    ) -> Loaded:
        """Load the model with this name or in this folder.

        A Router, which consists of a model for queries and a model for documents, is loaded whole; `part` returns one
        of its models.

        Args:
            name: a folder (in sentence-transformers or plain Hugging Face format), a bundled model, or the name of a
                model on the hub.
            engine: `"native"` (the compiled library), `"torch"` or `"numpy"`; by default torch if there is a GPU, and
                otherwise the first of the three that is installed and supports the model and the options.
            precision: `"fp32"` (the default on a CPU), `"bf16"` (the default on CUDA), `"fp16"` (torch only) or
                `"int8"` (native only).
            device: `"cpu"`, `"cuda"` …; by default the first GPU if there is one.
            pooling: the pooling mode to use instead of the folder's: `"cls"`, `"mean:layers=0+6"`,
                `"sbert-wk:start=2"` …
            max_seq_length: the maximum input length to use instead of the folder's, in tokens, special tokens included.
            truncate_dim: keep this many dimensions of each vector (Matryoshka), renormalized if the model's last head
                normalizes.

        Raises:
            ModelNotFound: there is no model with this name; the message lists what was tried.
            BadModel: the folder is broken, unsafe or of an unknown kind.
            BadInput: an option is unknown, or not supported by the engine.
            MissingExtra: the engine needs a package that is not installed.
        """
        check_pooling(pooling)
        options = LoadOptions(precision, None if device is None else str(device), pooling, max_seq_length, truncate_dim)
        with ExitStack() as reading:
            manifest = cache(lambda: read_manifest(reading.enter_context(reading_one_model(locate(name)))))
            only = None if cls is Embedder else cls
            loaded: Loaded = load_with_engine("embedder", engine, options, manifest, only)
            if manifest().routes:
                if cls is not Embedder:
                    raise BadInput(f"{name} is a Router, but {cls.__name__} loads a single model; use {LOAD_PART}")
                load = partial(load_with_engine, "embedder", engine, options)
                loaded = _with_routes(loaded, manifest(), lambda one: load(lambda: one))
        if manifest().notice and pooling is None:
            warnings.warn(str(manifest().notice), stacklevel=3)
        return loaded

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of dimensions of a vector: E."""

    @property
    @abstractmethod
    def is_unit(self) -> bool:
        """Whether the model itself scales its vectors to length 1."""

    @property
    def precision(self) -> str:
        """The precision that the model computes in: `"fp32"`, `"bf16"`, `"fp16"` or `"int8"`."""
        return str(self.encoder.precision)

    @property
    def batch_threads(self) -> int:
        """The number of threads that divide up a batch's texts; 1 if all threads share each matrix multiplication."""
        return int(getattr(self.encoder, "threads", 1))

    @property
    @abstractmethod
    def device(self) -> Any:
        """The device that the model runs on; converted to a str, it is `"cpu"`, `"cuda:0"` …"""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that identify the model: its weights, tokenizer, pooling, heads, prompts and limits.

        It does not depend on the engine or the precision, which `engine_registry.computation_of` returns. A model
        stored in int8 has different weights, and so a different fingerprint, from the model that it was quantized from.
        """
        m, heads = self.manifest, self._heads_to_identify()
        settings = {
            "encoder": self._encoder_settings(),
            "tokenizer": self.tokenizer.identity,
            "pooling": self.pooling.spec,
            "include_prompt": m.include_prompt,
            "heads": [[head.kind, head.activation] for head in heads],
            "prompts": [dict(m.prompts), m.default_prompt],
        }
        parts = {"pooling": self.pooling_weights(), **{f"heads.{i}": head.arrays for i, head in enumerate(heads)}}
        beside = [(f"{part}.{name}", [array]) for part, arrays in parts.items() for name, array in arrays.items()]
        return fingerprint(settings, [*self._encoder_weights(), *beside])

    @abstractmethod
    def _encoder_settings(self) -> list[Any]:
        """The encoder's architecture and its sizes, as JSON values that are the same for every engine."""

    @abstractmethod
    def _encoder_weights(self) -> Weights:
        """The encoder's weights for the fingerprint."""

    def _heads_to_identify(self) -> list[HeadWeights]:
        return self.head_weights()

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The encoder's kind, layers, hidden size and parameter count, the pooling and the heads, as plain values."""

    @abstractmethod
    def head_weights(self) -> list[HeadWeights]:
        """The heads in order, with fp32 weights; a truncation appears as a Dense that keeps the first dimensions."""

    @abstractmethod
    def with_pooling(self, pooling: str) -> "Embedder":
        """An embedder with the same encoder and heads, whose weights it shares, and the pooling mode of this name."""

    @abstractmethod
    def pooling_weights(self) -> Mapping[str, np.ndarray]:
        """The pooling's weights in fp32, keyed by their names in files; empty for most pooling modes."""

    def only_here(self, *, weights: str | None = None) -> list[str]:
        """What sentence-transformers could not read if this model were saved: its pooling, encoder or weight format."""
        pooling, kind = self.pooling.spec, self.describe()["encoder"]
        shared = all(name in REDUCTIONS and REDUCTIONS[name].newer is not None for name in pooling.split("+"))
        known = kind not in FAMILIES or FAMILIES[kind].has_blocks or self.is_static(weights=weights)
        reasons = [] if shared else [f"the pooling {pooling}"]
        reasons += [] if known else [f"the encoder {kind!r}"]
        return reasons + ([f"weights in {weights}"] if weights else [])

    def is_static(self, *, weights: str | None = None) -> bool:
        """Whether `save` would write a static model (the mean of table rows), which sentence-transformers can read."""
        manifest = self.manifest
        return manifest.static and self.pooling.spec == "mean" and manifest.include_prompt and weights is None

    def write_static(self, folder: Path, rows: Float[np.ndarray, "V D"]) -> None:
        """Write the table of a static model into a folder that already contains its tokenizer."""
        unknown = self.tokenizer.unknown
        assert unknown is not None, "a static model has a row for texts without tokens"
        write_static_table(folder, rows, unknown.id, self.max_seq_length, self.is_unit)

    @abstractmethod
    def save(self, folder: str | Path, *, weights: WeightFormat | None = None) -> None:
        """Write a folder that `load` can read, and any sentence-transformers version unless a warning says otherwise.

        A new folder appears complete or not at all. In an existing folder, the old model's files are removed; if the
        process is killed, the folder contains the old model, the new one, or files that `load` rejects.

        The torch engine writes the encoder's weights in their current precision; the other engines write them as they
        were stored. With `weights="int8"`, matrices are stored in eight bits, a quarter of the size of fp32; like word
        tables, they can be read only by this library. Weights that the encoder does not use (a masked-LM head, BERT's
        own pooler) are not written. Nor is the model card, which describes the model as it was before any changes; the
        list of training data is kept.

        Raises:
            BadInput: the folder cannot be written to.
            BadModel: some part of the model cannot be described in a folder, so loading it would give a different
                model; or, in engines other than torch, the folder that the model was loaded from has changed since.
        """

    def _written(self, pooling: str | ModulePart, heads: Iterable[tuple[str, Mapping[str, Any]]]) -> Manifest:
        return replace(
            self.manifest,
            pooling=pooling,
            heads=tuple(ModulePart(kind, config, Path()) for kind, config in heads),
            max_seq_length=self.tokenizer.max_seq_length,
            lowercase=self.tokenizer.lowercase,
        )

    @abstractmethod
    def _pooled(self, windows: Windows, batches: WindowBatches) -> Float[np.ndarray, "P W"]:
        """The pooled vector of each window, before the heads."""

    @abstractmethod
    def _layers(self, tokens: Sequences, only_last: bool, batches: WindowBatches) -> list[Float[np.ndarray, "L t D"]]:
        """Every layer of every sequence of ids, or only the last layer."""

    @abstractmethod
    def through_heads(self, pooled: Float[np.ndarray, "n W"]) -> Float[np.ndarray, "n E"]:
        """Pass pooled vectors through the model's heads, for callers that pool the result of `layers_of` themselves."""

    @property
    def max_seq_length(self) -> int:
        """The maximum input length in tokens, including special tokens; it can be set, up to the encoder's limit."""
        return self.tokenizer.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, tokens: int) -> None:
        limit = max_input_length(tokens, self.tokenizer.max_seq_length, self.encoder.longest)
        self.tokenizer = replace(self.tokenizer, max_seq_length=limit)

    def encode(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: Overflow = "warn",
        normalize_embeddings: bool = False,
        show_progress_bar: Progress = None,
        batch_tokens: int | None = None,
    ) -> Float[np.ndarray, "N E"]:
        """One vector per text, float32, in the order given.

        Args:
            texts: a list, a NumPy, Arrow or pandas column, or an iterator (which is read in blocks). A single str
                raises BadInput, so that the result always has two dimensions.
            prompt: a text to prepend to every text, unchanged.
            prompt_name: instead of `prompt`, the name of one of the model's own prompts; if neither is given, the
                model's default prompt is used, if it has one.
            overflow: what to do if a text has more tokens than the model reads: `"error"` raises TooLong; `"warn"`
                truncates the text and warns; `"truncate"` truncates it silently; `"mean"` reads it in overlapping
                windows and takes the mean of their pooled vectors, weighted by token count.
            normalize_embeddings: scale vectors to length 1 even if the model does not; a zero vector stays zero.
            show_progress_bar: None shows the progress of long work on a terminal; True shows it everywhere, False
                nowhere; a callable receives a `Meter` from time to time.
            batch_tokens: tokens per batch; halved automatically when memory runs out.

        Raises:
            BadInput: a text is not a str (the error gives its index), an option or prompt name is unknown, or the
                prompt leaves no room for text.
            TooLong: a text is too long and `overflow` is `"error"`.
            OutOfMemory: a single text does not fit into memory.
        """
        text_prompt, total = self._prompt(prompt, prompt_name), count_texts(texts)
        run = inference_run(self, self._counter(overflow), total, show_progress_bar, batch_tokens)
        stream = self._vector_blocks(texts, text_prompt, run, normalize_embeddings)
        if total is None:
            return np.concatenate([np.empty((0, self.dimension), np.float32), *stream])
        vectors, done = None, 0
        for block in stream:
            if vectors is None:
                vectors = np.empty((total, block.shape[1]), np.float32)
            if done + len(block) > total:
                raise BadInput(f"len(texts) is {total:,}, but iterating over texts gave {done + len(block):,} or more")
            vectors[done : done + len(block)] = block
            done += len(block)
        return np.empty((0, self.dimension), np.float32) if vectors is None else vectors[:done]

    def encode_stream(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: Overflow = "warn",
        normalize_embeddings: bool = False,
        show_progress_bar: Progress = None,
        batch_tokens: int | None = None,
    ) -> Iterator[Float[np.ndarray, "n E"]]:
        """Like `encode`, but yields blocks of rows, so neither the texts nor the vectors have to fit into memory."""
        text_prompt = self._prompt(prompt, prompt_name)
        run = inference_run(self, self._counter(overflow), count_texts(texts), show_progress_bar, batch_tokens)
        return self._vector_blocks(texts, text_prompt, run, normalize_embeddings)

    def _vector_blocks(
        self, texts: Iterable[str], text_prompt: str, run: AbstractContextManager[InferenceRun], normalize: bool
    ) -> Iterator[Float[np.ndarray, "n E"]]:
        with run as started:
            read = partial(self._read, text_prompt, started.counter)
            for block in infer(text_chunks(texts), read, self._vectors, started):
                yield unit(block) if normalize and not self.is_unit else block  # normalizing twice changes bits

    def pair_scores(
        self, first: Iterable[str], second: Iterable[str], *, similarity: str = "cosine", **options: Any
    ) -> Float[np.ndarray, " N"]:
        """The similarity of each pair of texts: `"cosine"`, `"dot"`, `"euclidean"` or `"manhattan"`."""
        if similarity not in PAIRWISE:
            raise BadInput(f"similarity is {similarity!r}; expected one of {', '.join(PAIRWISE)}")
        first, second = checked_texts(first, "first"), checked_texts(second, "second")
        if len(first) != len(second):
            raise BadInput(f"got {len(first):,} first texts but {len(second):,} second texts; expected the same number")
        vectors = self.encode([*first, *second], **options)
        return PAIRWISE[similarity](vectors[: len(first)], vectors[len(first) :])

    def encode_query(self, texts: Iterable[str], **options: Any) -> Float[np.ndarray, "N E"]:
        """Like `encode`, with the model's prompt for queries, if it has one."""
        return self._encode_as("query", texts, options)

    def encode_document(self, texts: Iterable[str], **options: Any) -> Float[np.ndarray, "N E"]:
        """Like `encode`, with the model's prompt for documents (document, passage or corpus), if it has one."""
        return self._encode_as("document", texts, options)

    def part(self, route: str) -> "Embedder":
        """The model of one route of a Router, `"query"` or `"document"`, to be trained, saved or served separately."""
        raise BadInput(f"the model has no route {route!r}: it is not a Router")

    def encode_tensor(self, texts: Iterable[str], **options: Any) -> Any:
        """Like `encode`, but returns a torch tensor on the embedder's device, without gradients."""
        require_torch("encode_tensor")
        return import_module("torch").from_numpy(self.encode(texts, **options)).to(self.device)

    def encode_tokens(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: Overflow = "warn",
        show_progress_bar: Progress = False,
        batch_tokens: int | None = None,
    ) -> list[Float[np.ndarray, "t D"]]:
        """The last layer's vectors of all tokens (special tokens included; `pieces` lists them), one array per text."""
        run = self._token_run(texts, overflow, show_progress_bar, batch_tokens)
        layers = self._encode_layers(texts, self._prompt(prompt, prompt_name), run, only_last=True)
        return [vectors for (vectors,) in layers]

    def encode_layers(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: Overflow = "warn",
        show_progress_bar: Progress = False,
        batch_tokens: int | None = None,
    ) -> list[Float[np.ndarray, "L t D"]]:
        """Every layer's vector of every token, the embeddings first, one array per text; options as in `encode`."""
        run = self._token_run(texts, overflow, show_progress_bar, batch_tokens)
        return list(self._encode_layers(texts, self._prompt(prompt, prompt_name), run, only_last=False))

    def encode_chunks(
        self,
        documents: Iterable[str],
        *,
        chunking: ChunkSettings | None = None,
        chunks: Sequence[Sequence[tuple[int, int] | Chunk]] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        show_progress_bar: Progress = None,
        batch_tokens: int | None = None,
    ) -> list[DocumentChunks]:
        """The chunks of each document, each with a vector that reflects the text around it (late chunking).

        Each document is encoded once (in windows if it exceeds the model's maximum input length), and each chunk's
        vector is pooled from the chunk's own tokens.

        Args:
            documents: a list of texts; Markdown headings are recognized.
            chunking: how to split documents at headings and sentences; by default into chunks of at most 200 tokens.
            chunks: instead of `chunking`, the start and stop of each document's chunks, in characters.
            prompt: a text to prepend to every document, unchanged.
            prompt_name: instead of `prompt`, the name of one of the model's prompts; by default, the model's prompt for
                documents is used, if it has one.
            show_progress_bar: as in `encode`.
            batch_tokens: as in `encode`.

        Raises:
            BadInput: the model's pooling is not a mean or maximum of tokens, or a chunk lies outside its document.
        """
        names, texts = late_reductions(self.pooling.spec), [text for part in text_chunks(documents) for text in part]
        if chunks is not None and (chunking is not None or len(chunks) != len(texts)):
            raise BadInput(
                f"expected either chunking, or chunks with one list for each of the {len(texts):,} documents; "
                f"got {len(chunks):,} lists{'' if chunking is None else ' and chunking'}"
            )
        prompt_name = self._prompt_for("document") if prompt is None and prompt_name is None else prompt_name
        text_prompt, tokenizer = self._prompt(prompt, prompt_name), self.tokenizer
        given = [None] * len(texts) if chunks is None else chunks
        cut = [document_chunks(*one, tokenizer, chunking) for one in zip(texts, given, strict=True)]
        counter = TruncationCounter(
            tokenizer.max_content_length, "mean", "documents", word_limit=tokenizer.longest_word
        )
        with inference_run(self, counter, len(texts), show_progress_bar, batch_tokens) as run:
            pooled = pooled_chunks(
                (self._tokenized(text_prompt, text, parts, counter) for text, parts in zip(texts, cut, strict=True)),
                lambda ids: [
                    x for (x,) in self._layers(Sequences.of(ids), True, WindowBatches(0, run.max_tokens, run.advance))
                ],
                names,
                self.encoder.width,
                lambda _: run.advance(1, 0),
            )
            vectors = [self.through_heads(rows) if len(rows) else rows.reshape(0, self.dimension) for rows in pooled]
        for i, rows in enumerate(vectors):
            check_finite(rows, f"the chunks of documents[{i}]: chunk", 0, self.precision)
        return [DocumentChunks(parts, rows) for parts, rows in zip(cut, vectors, strict=True)]

    def layers_of(self, ids: Sequence[list[int]], *, only_last: bool = False) -> list[Float[np.ndarray, "L t D"]]:
        """Every layer, or only the last one, for sequences of token ids (including special tokens), in one batch."""
        tokens = Sequences.of(ids)
        return self._layers(tokens, only_last, WindowBatches(len(ids), max(1, len(tokens.ids))))

    def windows(
        self, inputs: Sequence[TextOrIds], prompt: str = "", *, overlapping: bool = False, name: TextName = TEXTS
    ) -> tuple[TokenizedTexts, Windows]:
        """Tokenize texts, each preceded by the prompt, and split them into the windows that the encoder reads.

        Everything that computes vectors tokenizes texts here, so tokens and checks are always the same.

        Args:
            inputs: texts, or lists of token ids, with or without special tokens around them.
            prompt: a text to prepend to every input; the pooling ignores its tokens if the model says so.
            overlapping: whether windows cover all of a long text instead of only its beginning.
            name: maps an input's index to its name in error messages.

        Raises:
            BadInput: an input has no tokens or an id outside the vocabulary, or the prompt leaves no room for text.
        """
        texts = TokenizedTexts.of(self.tokenizer, inputs, prompt, name)
        windows = texts.windows(hides_prompt=not self.manifest.include_prompt, overlapping=overlapping)
        check_readable(
            windows.tokens,
            self.tokenizer,
            self.encoder.vocabulary,
            lambda i: name(int((windows.places[: i + 1] == 0).sum()) - 1),  # the text of the window
        )
        return texts, windows

    def encode_windows(self, windows: Windows) -> Float[np.ndarray, "n E"]:
        """The vectors of texts tokenized by `windows`, computed in a single batch, whose size the caller chooses.

        The windows of each text must be adjacent and in order.
        """
        tokens = len(windows.tokens.ids)
        vectors = self._vectors(windows, WindowBatches(len(windows.places), max(1, tokens)))
        check_finite(vectors, "texts", 0, self.precision)
        return vectors

    def encode_report(
        self, texts: Iterable[str], *, prompt: str | None = None, prompt_name: str | None = None
    ) -> TruncationReport:
        """How many tokens each text has, and how many of them the model reads; nothing is encoded."""
        text_prompt = self._prompt(prompt, prompt_name)
        tokens, used, count = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        unread: dict[int, int] = {}
        for chunk in text_chunks(texts):
            tokenized = TokenizedTexts.of(self.tokenizer, chunk, text_prompt)
            for i, _, length in tokenized.contents.long_words.tolist():
                unread[count + i] = unread.get(count + i, 0) + length
            tokens.append(tokenized.contents.lengths)
            used.append(tokenized.used)
            count += len(chunk)
        return TruncationReport(np.concatenate(tokens), np.concatenate(used), unread)

    def pieces(
        self, texts: Sequence[str], *, prompt: str | None = None, prompt_name: str | None = None
    ) -> list[list[str]]:
        """The word pieces of each text that the model reads, in the order of `encode_tokens`."""
        text_prompt = self._prompt(prompt, prompt_name)
        limit = self.tokenizer.max_content_length
        return [
            self.tokenizer.tokens(content)
            for chunk in text_chunks(texts)
            for content in TokenizedTexts.of(self.tokenizer, chunk, text_prompt).contents.first(limit).lists()
        ]

    @property
    def default_prompt(self) -> str:
        """The prompt prepended to a text if the caller gives none; empty if the model has no default prompt."""
        return self._prompt(None, None)

    def _encode_as(self, role: str, texts: Iterable[str], options: dict[str, Any]) -> Float[np.ndarray, "N E"]:
        if options.get("prompt") is None and options.get("prompt_name") is None:
            options = {**options, "prompt_name": self._prompt_for(role)}
        return self.encode(texts, **options)

    def _prompt_for(self, role: str) -> str | None:
        return next((name for name in PROMPT_NAMES[role] if name in self.manifest.prompts), None)

    def _tokenized(
        self, text_prompt: str, text: str, chunks: Sequence[Chunk], counter: TruncationCounter
    ) -> TokenizedDocument:
        hides_prompt = bool(text_prompt) and not self.manifest.include_prompt
        document = TokenizedDocument.of(self.tokenizer, text, chunks, text_prompt, hides_prompt)
        counter.add([document.size], longest_words(self.tokenizer.encode([text_prompt + text]).long_words))
        name, windows = f"documents[{counter.texts - 1}]", Sequences.of([window.ids for window in document.windows])
        check_readable(windows, self.tokenizer, self.encoder.vocabulary, lambda _: name)
        return document

    def _encode_layers(
        self, texts: Iterable[str], text_prompt: str, run: AbstractContextManager[InferenceRun], only_last: bool
    ) -> Iterator[Float[np.ndarray, "L t D"]]:

        def layers_of(windows: Windows, batches: WindowBatches) -> list[Float[np.ndarray, "L t D"]]:
            return self._layers(windows.tokens, only_last, batches)

        with run as started:
            read = partial(self._read, text_prompt, started.counter)
            for layers in infer(text_chunks(texts), read, layers_of, started):
                yield from layers

    def _prompt(self, prompt: str | None, prompt_name: str | None) -> str:
        return resolve_prompt(prompt, prompt_name, self.manifest.prompts, self.manifest.default_prompt)

    def _counter(self, overflow: Overflow) -> TruncationCounter:
        tokenizer = self.tokenizer
        skips = tokenizer.unknown is not None
        return TruncationCounter(tokenizer.max_content_length, overflow, skips=skips, word_limit=tokenizer.longest_word)

    def _token_run(
        self, texts: Iterable[str], overflow: Overflow, show_progress_bar: Progress, batch_tokens: int | None
    ) -> AbstractContextManager[InferenceRun]:
        if overflow == "mean":
            raise BadInput(
                'overflow="mean" averages windows into one vector; for vectors of tokens and layers, expected "error", '
                '"warn" or "truncate"'
            )
        return inference_run(self, self._counter(overflow), count_texts(texts), show_progress_bar, batch_tokens)

    def _read(self, text_prompt: str, counter: TruncationCounter, distinct: list[str], rows: Rows) -> Windows:
        """The windows of distinct texts, with tokens counted for every row."""
        start = counter.texts
        texts, windows = self.windows(
            distinct,
            text_prompt,
            overlapping=counter.overflow == "mean",
            name=lambda i: TEXTS(start + np.flatnonzero(rows == i)[0]),
        )
        counter.add(texts.contents.lengths[rows], longest_words(texts.contents.long_words, rows))
        return windows

    def _vectors(self, windows: Windows, batches: WindowBatches) -> Float[np.ndarray, "N E"]:
        """The vectors of the texts that these windows belong to; windows of one text are averaged before the heads."""
        pooled = self._pooled(windows, batches)
        return self.through_heads(mean_of_windows(pooled, windows) if windows.places.any() else pooled)


def _with_routes(first: Any, manifest: Manifest, load: Callable[[Manifest], Any]) -> Any:
    """The Router whose default route, or else first route, has the model `first`; `load` loads the other models."""
    shown = manifest.default_route or next(iter(manifest.routes))
    first.manifest = manifest.routes[shown]
    parts = {name: first if name == shown else load(one) for name, one in manifest.routes.items()}
    return import_module(ROUTED).RoutedEmbedder(parts, manifest.default_route)


def warn_of_readers(reasons: Sequence[str]) -> None:
    """Warn if only likewise can read the saved model."""
    if reasons:
        what = " and ".join(reasons)
        warnings.warn(f"sentence-transformers cannot read this model because of {what}; likewise can", stacklevel=3)
