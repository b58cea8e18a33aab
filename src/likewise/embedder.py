"""Embedder: texts to vectors. The stages composed, loaded from a folder, saved to one."""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from .encoders.checkpoint import Encoder, load_encoder, save_encoder
from .errors import BadInput, BadModel, OutOfMemory, TooLong
from .heads import Dense, Norm, Normalize, Truncate, out_width
from .pooling import Pooling, pooling_of
from .progress import Meter, measured
from .ragged import Ragged
from .store import DEFAULT, Manifest, Part, fill, locate, read_manifest, write_manifest
from .text.inputs import count, windows
from .text.packing import plan
from .text.tokenizer import Tokenizer

Overflow = Literal["error", "warn", "truncate", "mean"]
Precision = Literal["fp32", "bf16", "fp16"]
Progress = bool | Callable[[Meter], None] | None

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BUDGETS = {"cpu": 2048, "cuda": 65_536, "mps": 16_384}
"""Tokens of one batch, by device (benchmarks/budget.py prints what each choice gives)."""


class Embedder(nn.Module):
    """A sentence encoder: tokenizer, encoder, pooling, heads.

    >>> embedder = Embedder.load("all-MiniLM-L6-v2")
    >>> embedder.encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)

    Calls of one embedder may come from several threads at once.
    """

    def __init__(self, tokenizer: Tokenizer, encoder: nn.Module, pooling: Pooling, heads: nn.Module, manifest: Manifest):
        super().__init__()
        self.tokenizer = tokenizer
        self.encoder: nn.Module | Encoder = encoder
        self.pooling = pooling
        self.heads = heads
        self.manifest = manifest
        _check_fit(self)

    @classmethod
    def load(
        cls,
        name: str | Path = DEFAULT,
        *,
        engine: str = "torch",
        precision: Precision | None = None,
        device: str | torch.device | None = None,
        pooling: str | None = None,
        max_length: int | None = None,
        truncate: int | None = None,
    ) -> "Embedder":
        """The model of this name or folder.

        Args:
            name: a folder (sentence-transformers' or a plain Hugging Face one), a carried model, or a hub name.
            engine: what computes; `"torch"`.
            precision: `"fp32"` (the default on a CPU), `"bf16"` (the default on CUDA) or `"fp16"`.
            device: `"cpu"`, `"cuda"` …; the first GPU if there is one.
            pooling: another pooling than the folder's, `"cls"` or `"mean+max"` say.
            max_length: another longest input, in tokens with the special ones.
            truncate: keep only so many numbers of each vector (Matryoshka), normalised again if the model does.

        Raises:
            ModelNotFound: the name leads nowhere; the message lists what was tried.
            BadModel: the folder is broken, unsafe or of a kind not known here.
        """
        if engine != "torch":
            raise BadInput(f"there is no engine {engine!r}; there is: torch")
        place = torch.device(device) if device is not None else _best_device()
        precision = precision or ("bf16" if place.type == "cuda" else "fp32")
        if precision not in PRECISIONS:
            raise BadInput(f"there is no precision {precision!r}; there are {', '.join(PRECISIONS)}")
        manifest = read_manifest(locate(name))
        if manifest.notice and pooling is None:
            warnings.warn(manifest.notice, stacklevel=2)
        encoder = load_encoder(manifest.encoder, PRECISIONS[precision])
        limit = min(n for n in (max_length or manifest.max_length, encoder.longest) if n is not None)  # type: ignore[type-var]
        tokenizer = Tokenizer.load(manifest.encoder, int(limit), manifest.lowercase)
        heads = [_head(part) for part in manifest.heads]
        if truncate is not None:
            heads = _truncated(heads, truncate)
        chosen = pooling_of(pooling or manifest.pooling)
        return cls(tokenizer, encoder, chosen, nn.Sequential(*heads), manifest).to(place).eval()

    def pool(self, tokens: Ragged, skip: int = 0) -> Float[Tensor, "N W"]:
        """Packed tokens to pooled vectors, before the heads; the pooling does not see the first `skip` tokens."""
        layers = self.encoder(tokens)
        if skip:
            tokens, kept = tokens.without_first([skip] * len(tokens))
            layers = (x[kept] for x in layers)
        return self.pooling(layers, tokens)

    def forward(self, tokens: Ragged) -> Float[Tensor, "N E"]:
        """Packed tokens to vectors, with gradients if they are on."""
        vectors: Tensor = self.heads(self.pool(tokens))
        return vectors

    def encode(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        overflow: Overflow = "warn",
        progress: Progress = None,
        batch_tokens: int | None = None,
    ) -> Float[np.ndarray, "N E"]:
        """One vector a text, float32, in the order given.

        Args:
            texts: a list, a NumPy, Arrow or pandas column, or an iterator (which is taken in windows). One bare
                str is refused, so that the result always has two dimensions.
            prompt: text put before every text, or the name of one of the model's prompts.
            overflow: what to do with a text of more tokens than the model reads: `"error"`; `"warn"` cuts it and
                says so; `"truncate"` cuts it and is silent; `"mean"` reads it in overlapping windows and takes the
                mean of their pooled vectors, weighted by tokens.
            progress: None shows it on a terminal when work takes long; True always, False never; a callable is given
                a `Meter`.
            batch_tokens: tokens of one batch; halved by itself when memory runs out.

        Raises:
            BadInput: a text is no str (its index is named), or an option is unknown.
            TooLong: under `overflow="error"`.
            OutOfMemory: one single text does not fit into memory.
        """
        total = count(texts)
        stream = self.encode_stream(
            texts, prompt=prompt, overflow=overflow, progress=progress, batch_tokens=batch_tokens
        )
        if total is None:
            return np.concatenate([np.empty((0, self.width), np.float32), *stream])
        vectors, done = np.empty((total, self.width), np.float32), 0
        for block in stream:
            vectors[done : done + len(block)] = block
            done += len(block)
        return vectors[:done]

    def encode_stream(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        overflow: Overflow = "warn",
        progress: Progress = None,
        batch_tokens: int | None = None,
    ) -> Iterator[Float[np.ndarray, "n E"]]:
        """As `encode`, a block of rows at a time, so that neither texts nor vectors need fit into memory."""
        _check_options(overflow, batch_tokens)
        lead = self._prompt(prompt)
        budget = batch_tokens or BUDGETS.get(self.device.type, BUDGETS["cpu"])
        fit = _Tally(self.tokenizer.max_length, overflow)
        with measured(progress, count(texts)) as advance:
            for window in windows(texts):
                yield self._encode_window(window, lead, budget, fit, advance)
        fit.warn()

    def encode_report(self, texts: Iterable[str], *, prompt: str | None = None) -> "Report":
        """How many tokens each text has, and how many of them the model reads; nothing is encoded."""
        lead = self._prompt(prompt)
        lengths = [len(c) for window in windows(texts) for c in self.tokenizer.contents([lead + t for t in window])]
        found = np.asarray(lengths, dtype=np.int64)
        return Report(tokens=found, used=np.minimum(found, self.tokenizer.room))

    def encode_tokens(
        self, texts: Iterable[str], *, prompt: str | None = None, overflow: Overflow = "warn"
    ) -> list[Float[np.ndarray, "t D"]]:
        """The last layer's vector of every token (special ones included; `pieces` names them), an array a text."""
        return [layers[-1] for layers in self.encode_layers(texts, prompt=prompt, overflow=overflow, only_last=True)]

    def encode_layers(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        overflow: Overflow = "warn",
        only_last: bool = False,
    ) -> list[Float[np.ndarray, "L t D"]]:
        """Every layer's vector of every token, the embeddings first, an array a text."""
        if overflow == "mean":
            raise BadInput('overflow="mean" joins windows into one vector; tokens and layers know "error", "warn", "truncate"')
        _check_options(overflow, None)
        fit = _Tally(self.tokenizer.max_length, overflow)
        found: list[Float[np.ndarray, "L t D"]] = []
        for window in windows(texts):
            contents = self.tokenizer.contents([self._prompt(prompt) + text for text in window])
            fit.add(contents, self.tokenizer.room)
            ids = [self.tokenizer.framed(content[: self.tokenizer.room]) for content in contents]
            found += self._layers(ids, only_last)
        fit.warn()
        return found

    def pieces(self, texts: Sequence[str], *, prompt: str | None = None) -> list[list[str]]:
        """The word pieces that the model reads of each text, in the order of `encode_tokens`."""
        contents = self.tokenizer.contents([self._prompt(prompt) + text for text in texts])
        return [self.tokenizer.tokens(content[: self.tokenizer.room]) for content in contents]

    def save(self, folder: str | Path) -> None:
        """A folder that `load` and every version of sentence-transformers read; written whole or not at all.

        Weights keep the precision they have here. What the encoder does not use (a masked-LM head, BERT's own
        pooler) is not written.
        """
        heads = [_described(head) for head in _expressible(self)]
        manifest = replace(
            self.manifest,
            pooling=self.pooling.spec,
            heads=tuple(part for part, _ in heads),
            max_length=self.tokenizer.max_length,
            lowercase=self.tokenizer.lowercase,
        )
        with fill(Path(folder)) as partial:
            write_manifest(partial, manifest, self.encoder.width)  # type: ignore[arg-type]
            self.tokenizer.save(partial)
            for i, (part, weights) in enumerate(heads, 2):
                if weights:
                    save_file(weights, partial / f"{i}_{part.kind}" / "model.safetensors", {"format": "pt"})
            save_encoder(self.encoder, partial)  # type: ignore[arg-type]

    @property
    def width(self) -> int:
        """Numbers in a vector: E."""
        return out_width(self.heads, self.pooling.width(self.encoder.width))  # type: ignore[arg-type]

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def precision(self) -> str:
        dtype = next(self.encoder.parameters()).dtype  # type: ignore[union-attr]
        return next(name for name, known in PRECISIONS.items() if known == dtype)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with anything that changes vectors: weights, tokenizer, pooling, heads."""
        m = self.manifest
        words = [self.pooling.spec, str(self.heads), m.include_prompt, dict(m.prompts), m.default_prompt]
        words += [self.tokenizer.max_length, self.tokenizer.lowercase, self.tokenizer.backend.to_str()]
        digest = hashlib.sha256(json.dumps(words).encode())
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()[:32]

    def _prompt(self, prompt: str | None) -> str:
        prompts = self.manifest.prompts
        if prompt is None:
            return prompts.get(self.manifest.default_prompt or "", "")
        if not isinstance(prompt, str):
            raise BadInput(f"prompt is {prompt!r}; wanted a text or one of the names {', '.join(prompts) or '(none)'}")
        return prompts.get(prompt, prompt)

    def _encode_window(
        self, window: list[str], lead: str, budget: int, fit: "_Tally", advance: Callable[[int, int], None]
    ) -> Float[np.ndarray, "n E"]:
        """Distinct texts to vectors, then a row for every text."""
        distinct = {text: i for i, text in enumerate(dict.fromkeys(window))}
        rows = np.fromiter((distinct[text] for text in window), np.int64, len(window))
        contents = self.tokenizer.contents([lead + text for text in distinct])
        times = np.bincount(rows).tolist()
        fit.add(contents, self.tokenizer.room, rows)
        lead_ids = self.tokenizer.contents([lead])[0] if lead else []
        if fit.overflow == "mean":
            pieces = [self.tokenizer.windows(content, lead_ids) for content in contents]
        else:
            pieces = [[content[: self.tokenizer.room]] for content in contents]
        flat = [piece for several in pieces for piece in several]
        owner = [i for i, several in enumerate(pieces) for _ in several]
        first = np.diff(owner, prepend=-1).tolist()  # a text counts as done with its first piece

        def done(batch: list[int]) -> None:
            texts = sum(times[owner[i]] for i in batch if first[i])
            advance(texts, sum(len(flat[i]) for i in batch))

        skip = 0 if self.manifest.include_prompt or not lead else len(self.tokenizer.prefix) + len(lead_ids)
        ids = [self.tokenizer.framed(piece) for piece in flat]
        pooled = self._pool_all(ids, skip, budget, done)
        vectors = self._heads(pooled if len(flat) == len(pieces) else _joined(pooled, flat, owner))
        bad = np.flatnonzero(~np.isfinite(vectors).all(1))
        if len(bad):
            index = fit.texts - len(window) + int(np.flatnonzero(rows == bad[0])[0])
            raise BadModel(
                f"texts[{index}] gave a vector that is not finite in {self.precision}"
                + ("" if self.precision == "fp32" else '; try precision="fp32"')
            )
        return vectors[rows]

    @torch.inference_mode()
    def _pool_all(
        self, ids: list[list[int]], skip: int, budget: int, done: Callable[[list[int]], None]
    ) -> Float[Tensor, "P W"]:
        """All pooled vectors, batch by batch; a batch for which memory ran out is halved and tried again."""
        width = self.pooling.width(self.encoder.width)  # type: ignore[arg-type]
        pooled = torch.empty(len(ids), width, device=self.device)
        waiting = plan([len(i) for i in ids], budget)[::-1]
        limit = budget
        while waiting:
            batch = waiting.pop()
            size = sum(len(ids[i]) for i in batch)
            vectors = None if size > limit and len(batch) > 1 else self._try(ids, batch, skip)
            if vectors is not None:
                pooled[batch] = vectors
                done(batch)
                continue
            if len(batch) == 1:
                raise OutOfMemory(f"one text of {size:,} tokens does not fit into the memory of {self.device}")
            limit = min(limit, max(1, size // 2)) if size <= limit else limit
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]]
        return pooled

    def _try(self, ids: list[list[int]], batch: list[int], skip: int) -> Float[Tensor, "n W"] | None:
        """The batch's pooled vectors in fp32, or None if memory ran out."""
        try:
            return self.pool(Ragged.of([ids[i] for i in batch], self.device), skip).float()
        except (torch.OutOfMemoryError, MemoryError):
            return None
        except RuntimeError as error:
            if "alloc" not in str(error) and "out of memory" not in str(error):
                raise
            return None

    @torch.inference_mode()
    def _heads(self, pooled: Float[Tensor, "n W"]) -> Float[np.ndarray, "n E"]:
        vectors: np.ndarray = self.heads(pooled).float().cpu().numpy()
        return vectors

    @torch.inference_mode()
    def _layers(self, ids: list[list[int]], only_last: bool) -> list[Float[np.ndarray, "L t D"]]:
        found: list[Any] = [None] * len(ids)
        for batch in plan([len(i) for i in ids], BUDGETS.get(self.device.type, BUDGETS["cpu"])):
            tokens = Ragged.of([ids[i] for i in batch], self.device)
            layers = [x.float().cpu() for x in self.encoder(tokens)][-1 if only_last else 0 :]
            for i, block in zip(batch, torch.stack(layers).split(tokens.lengths, dim=1), strict=True):
                found[i] = block.numpy().copy()
        return found


@dataclass(frozen=True)
class Report:
    """What the model reads of each text, in tokens without the special ones."""

    tokens: Int[np.ndarray, " N"]
    used: Int[np.ndarray, " N"]

    @property
    def lost(self) -> Int[np.ndarray, " N"]:
        """Tokens beyond what the model reads."""
        return self.tokens - self.used

    @property
    def cut(self) -> Int[np.ndarray, " C"]:
        """Indices of the texts that lose something."""
        return np.flatnonzero(self.lost)


@dataclass
class _Tally:
    """Texts seen so far, and those that were too long."""

    max_length: int
    overflow: str
    texts: int = 0
    cut: int = 0
    first: int | None = None
    longest: int = 0

    def add(self, contents: Sequence[Sequence[int]], room: int, rows: Int[np.ndarray, " n"] | None = None) -> None:
        lengths = np.asarray([len(content) for content in contents], dtype=np.int64)
        lengths = lengths if rows is None else lengths[rows]
        over = np.flatnonzero(lengths > room)
        if len(over):
            index = self.texts + int(over[0])
            if self.overflow == "error":
                raise TooLong(
                    f"texts[{index}] has {int(lengths[over[0]]):,} tokens and the model reads {room:,}. To go on, "
                    'choose overflow="mean" (all of it, in windows), "warn" or "truncate" (its beginning)'
                )
            self.cut += len(over)
            self.first = index if self.first is None else self.first
            self.longest = max(self.longest, int(lengths.max()))
        self.texts += len(lengths)

    def warn(self) -> None:
        if self.cut and self.overflow == "warn":
            warnings.warn(
                f"{self.cut:,} of {self.texts:,} texts were cut to the {self.max_length} tokens that the model reads "
                f"(the first is texts[{self.first}], the longest has {self.longest:,} tokens). "
                'overflow="mean" reads all of them, overflow="truncate" silences this',
                stacklevel=3,
            )


def _joined(
    pooled: Float[Tensor, "P W"], pieces: Sequence[Sequence[int]], owner: Sequence[int]
) -> Float[Tensor, "n W"]:
    """The mean of each text's windows, weighted by their tokens."""
    at = torch.tensor(owner, device=pooled.device)
    weights = torch.tensor([float(max(1, len(piece))) for piece in pieces], device=pooled.device)
    sums = pooled.new_zeros(owner[-1] + 1, pooled.shape[1]).index_add(0, at, pooled * weights[:, None])
    return sums / weights.new_zeros(owner[-1] + 1).index_add(0, at, weights)[:, None]


def _check_options(overflow: str, batch_tokens: int | None) -> None:
    if overflow not in get_args(Overflow):
        raise BadInput(f"there is no overflow={overflow!r}; there are {', '.join(get_args(Overflow))}")
    if batch_tokens is not None and (not isinstance(batch_tokens, int) or batch_tokens < 1):
        raise BadInput(f"batch_tokens is {batch_tokens!r}; wanted a whole number above 0")


def _check_fit(embedder: Embedder) -> None:
    """The tokenizer's ids, the encoder's table and the heads must suit each other."""
    words = next((m for m in embedder.encoder.modules() if isinstance(m, nn.Embedding)), None)  # type: ignore[union-attr]
    known = embedder.tokenizer.vocabulary
    if words is not None and known > words.num_embeddings:
        raise BadModel(f"the tokenizer knows {known:,} ids, and the encoder has vectors for {words.num_embeddings:,}")
    width = embedder.pooling.width(embedder.encoder.width)  # type: ignore[arg-type]
    try:
        out_width(embedder.heads, width)
    except RuntimeError as error:
        raise BadModel(
            f"the pooling {embedder.pooling.spec} gives {width} numbers, which the heads cannot take: {error}"
        ) from None


def _best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _head(part: Part) -> nn.Module:
    """The head that the folder describes, with its weights."""
    if part.kind == "Normalize":
        return Normalize()
    try:
        if part.kind == "Dense":
            activation = str(part.config.get("activation_function", "torch.nn.modules.activation.Tanh"))
            inputs, outputs = int(part.config["in_features"]), int(part.config["out_features"])
            head: nn.Module = Dense(inputs, outputs, bool(part.config.get("bias", True)), activation.rpartition(".")[2])
        else:
            head = Norm(int(part.config["dimension"]))
        head.load_state_dict(load_file(part.folder / "model.safetensors"))
    except FileNotFoundError:
        raise BadModel(f"{part.folder} holds no model.safetensors (only safetensors are read here)") from None
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise BadModel(f"the {part.kind} head in {part.folder} cannot be read: {error}") from error
    return head.requires_grad_(True)


def _truncated(heads: list[nn.Module], width: int) -> list[nn.Module]:
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise BadInput(f"truncate is {width!r}; wanted how many numbers to keep")
    again = [Normalize()] if any(isinstance(head, Normalize) for head in heads) else []
    return [*heads, Truncate(width), *again]


def _expressible(embedder: Embedder) -> list[nn.Module]:
    """The heads in sentence-transformers' words: a truncation is a Dense that keeps the first rows."""
    width, heads = embedder.pooling.width(embedder.encoder.width), []  # type: ignore[arg-type]
    for head in embedder.heads.children():
        if isinstance(head, Truncate):
            keep = Dense(width, min(head.width, width), bias=False, activation="Identity")
            nn.init.eye_(keep.linear.weight)
            heads.append(keep)
        else:
            heads.append(head)
        width = out_width(heads[-1], width)
    return heads


def _described(head: nn.Module) -> tuple[Part, dict[str, Tensor]]:
    """A head as the folder describes it, and its weights."""
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in head.state_dict().items()}
    if isinstance(head, Dense):
        kind = type(head.activation)
        config = {
            "in_features": head.linear.in_features,
            "out_features": head.linear.out_features,
            "bias": head.linear.bias is not None,
            "activation_function": f"{kind.__module__}.{kind.__name__}",
        }
        return Part("Dense", config, Path()), weights
    if isinstance(head, Norm):
        return Part("LayerNorm", {"dimension": head.norm.normalized_shape[0]}, Path()), weights
    return Part("Normalize", {}, Path()), weights
