"""Embedder: texts to vectors. The stages composed, loaded from a folder, saved to one."""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import save_file
from torch import Tensor, nn

from .encoders.checkpoint import load_encoder, save_encoder
from .encoders.encoder import Encoder
from .errors import BadInput, BadModel
from .heads import describe, out_width, read_head, truncated
from .pooling import Pooling, Reduce, pooling_of, read_pooling
from .progress import Advance, Meter, measured
from .ragged import Ragged
from .store import DEFAULT, POOLING_FOLDER, Manifest, Part, fill, locate, read_manifest, write_manifest
from .text.inputs import count, windows
from .text.overflow import Overflow, Report, Tally
from .text.packing import in_batches, plan
from .text.pieces import Piece, beginnings, overlapping
from .text.tokenizer import Tokenizer

Precision = Literal["fp32", "bf16", "fp16"]
Progress = bool | Callable[[Meter], None] | None

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BUDGETS = {"cpu": 2048, "cuda": 65_536, "mps": 16_384}
"""Tokens of one batch, by device (benchmarks/budget.py prints what each choice gives; only the CPU's was measured)."""
OUT_OF_MEMORY = ("out of memory", "not enough memory", "allocate memory")
"""What torch's plain RuntimeErrors say when memory runs out."""


class Embedder(nn.Module):
    """A sentence encoder: tokenizer, encoder, pooling, heads.

    >>> embedder = Embedder.load("all-MiniLM-L6-v2")
    >>> embedder.encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)

    Calls of one embedder may come from several threads at once. Change weights under `torch.no_grad()` or by an
    optimizer: a change through `weight.data` in place tells nobody, and `encode` on a CPU would not see it.
    """

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, pooling: Pooling, heads: nn.Module, manifest: Manifest):
        super().__init__()
        self.tokenizer = tokenizer
        self.encoder = encoder
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
            pooling: another pooling than the folder's: `"cls"`, `"mean+max"`, `"sbert-wk:start=2"` …
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
        limit = min(_length(max_length, encoder) or manifest.max_length or encoder.longest, encoder.longest)
        tokenizer = Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
        chosen = _pooling(manifest.pooling if pooling is None else pooling, encoder.depth)
        heads = [read_head(part.kind, part.config, part.folder) for part in manifest.heads]
        if truncate is not None:
            heads = truncated(heads, truncate, out_width(nn.Sequential(*heads), chosen.width(encoder.width)))
        return cls(tokenizer, encoder, chosen, nn.Sequential(*heads), manifest).to(place).eval()

    def pool(self, tokens: Ragged, skip: Sequence[int] | None = None) -> Float[Tensor, "N W"]:
        """Packed tokens to pooled vectors, before the heads; of each sentence the pooling misses the first `skip`."""
        layers = self.encoder(tokens)
        if skip is not None:
            tokens, kept = tokens.without_first(skip)
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
        if batch_tokens is not None and (
            isinstance(batch_tokens, bool) or not isinstance(batch_tokens, Integral) or batch_tokens < 1
        ):
            raise BadInput(f"batch_tokens is {batch_tokens!r}; wanted a whole number above 0")
        lead = self._prompt(prompt)
        tally = Tally(self.tokenizer.room, overflow)
        budget = self._budget if batch_tokens is None else batch_tokens

        def blocks() -> Iterator[Float[np.ndarray, "n E"]]:
            try:
                with measured(progress, count(texts)) as advance:
                    for window in windows(texts):
                        yield self._encode_window(window, lead, budget, tally, advance)
            finally:
                tally.warn()  # also of what was cut before someone stopped

        return blocks()

    def encode_report(self, texts: Iterable[str], *, prompt: str | None = None) -> Report:
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
            raise BadInput(
                'overflow="mean" joins windows into one vector; tokens and layers know "error", "warn", "truncate"'
            )
        tally = Tally(self.tokenizer.room, overflow)
        found: list[Float[np.ndarray, "L t D"]] = []
        for window in windows(texts):
            contents = self.tokenizer.contents([self._prompt(prompt) + text for text in window])
            tally.add([len(content) for content in contents])
            ids = [self.tokenizer.framed(content[: self.tokenizer.room]) for content in contents]
            found += self._layers(ids, only_last)
        tally.warn()
        return found

    def pieces(self, texts: Sequence[str], *, prompt: str | None = None) -> list[list[str]]:
        """The word pieces that the model reads of each text, in the order of `encode_tokens`."""
        lead = self._prompt(prompt)
        contents = [c for window in windows(texts) for c in self.tokenizer.contents([lead + text for text in window])]
        return [self.tokenizer.tokens(content[: self.tokenizer.room]) for content in contents]

    def save(self, folder: str | Path) -> None:
        """A folder that `load` reads; sentence-transformers does too, any version, unless the pooling is ours alone.

        A new folder appears whole or not at all; in one that is there, files are replaced one by one, modules.json
        last, and files of yours stay.

        Weights keep the precision they have here. What the encoder does not use (a masked-LM head, BERT's own
        pooler) is not written.
        """
        heads = describe(self.heads, self.pooling.width(self.encoder.width))
        manifest = replace(
            self.manifest,
            pooling=self.pooling.spec if isinstance(self.pooling, Reduce) else _own(self.pooling),
            heads=tuple(Part(kind, config, Path()) for kind, config, _ in heads),
            max_length=self.tokenizer.max_length,
            lowercase=self.tokenizer.lowercase,
        )
        with fill(Path(folder)) as partial:
            write_manifest(partial, manifest, self.encoder.width)
            self.tokenizer.save(partial)
            inside = {f"{i}_{kind}": weights for i, (kind, _, weights) in enumerate(heads, 2)}
            if isinstance(self.pooling, nn.Module):
                inside[POOLING_FOLDER] = {
                    n: t.detach().cpu().contiguous() for n, t in self.pooling.state_dict().items()
                }
            for place, weights in inside.items():
                if weights:
                    save_file(dict(weights), partial / place / "model.safetensors", {"format": "pt"})
            save_encoder(self.encoder, partial)

    @property
    def width(self) -> int:
        """Numbers in a vector: E."""
        return out_width(self.heads, self.pooling.width(self.encoder.width))

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def precision(self) -> str:
        dtype = next(self.encoder.parameters()).dtype
        return next(name for name, known in PRECISIONS.items() if known == dtype)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with anything that changes vectors: weights, tokenizer, pooling, heads."""
        m = self.manifest
        words = [self.pooling.spec, str(self.heads), m.include_prompt, dict(m.prompts), m.default_prompt]
        words += [self.tokenizer.max_length, self.tokenizer.lowercase, self.tokenizer.backend.to_str()]
        words.append(str(getattr(self.encoder, "shape", self.encoder.config)))
        digest = hashlib.sha256(json.dumps(words).encode())
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()[:32]

    @property
    def _budget(self) -> int:
        return BUDGETS.get(self.device.type, BUDGETS["cpu"])

    def _prompt(self, prompt: str | None) -> str:
        prompts = self.manifest.prompts
        if prompt is None:
            return prompts.get(self.manifest.default_prompt or "", "")
        if not isinstance(prompt, str):
            raise BadInput(f"prompt is {prompt!r}; wanted a text or one of the names {', '.join(prompts) or '(none)'}")
        meant = [name for name in prompts if name.lower() == prompt.lower() and name != prompt]
        if meant and prompt not in prompts:
            warnings.warn(
                f"{prompt!r} is put before each text as it is; the model's prompt is {meant[0]!r}", stacklevel=4
            )
        return prompts.get(prompt, prompt)

    def _encode_window(
        self, window: list[str], lead: str, budget: int, tally: Tally, advance: Advance
    ) -> Float[np.ndarray, "n E"]:
        """Distinct texts to vectors, then a row for every text."""
        distinct = {text: i for i, text in enumerate(dict.fromkeys(window))}
        rows = np.fromiter((distinct[text] for text in window), np.int64, len(window))
        contents = self.tokenizer.contents([lead + text for text in distinct])
        lengths = np.asarray([len(content) for content in contents], np.int64)[rows]
        tally.add(lengths)
        if not self.tokenizer.framed([]) and not lengths.all():
            index = tally.texts - len(window) + int(np.flatnonzero(lengths == 0)[0])
            raise BadInput(f"texts[{index}] has no tokens, and this model puts no special ones around a text")
        lead_ids = self.tokenizer.contents([lead])[0] if lead else []
        cut = overlapping if tally.overflow == "mean" else beginnings
        pieces = cut(self.tokenizer, contents, lead_ids)
        self._check_known(pieces, rows, tally.texts - len(window))
        share = len(window) / sum(len(piece.ids) for piece in pieces)  # texts that a token stands for: even progress
        hides_prompt = bool(lead) and not self.manifest.include_prompt
        vectors = self._vectors(pieces, hides_prompt, budget, lambda tokens: advance(share * tokens, tokens))
        if len(distinct) < len(window):
            vectors = vectors[rows]
        self._check_finite(vectors, tally.texts - len(window))
        return vectors

    @torch.inference_mode()
    def _vectors(
        self, pieces: Sequence[Piece], hides_prompt: bool, budget: int, done: Callable[[int], None]
    ) -> Float[np.ndarray, "n E"]:
        """The vectors of the texts that these are pieces of; what is in pieces is joined before the heads."""
        whole = len(pieces) == pieces[-1].owner + 1
        width = self.width if whole else self.pooling.width(self.encoder.width)
        found = torch.empty(len(pieces), width, device=self.device)

        def attempt(batch: list[int]) -> Tensor | None:
            skip = [pieces[i].lead for i in batch] if hides_prompt else None
            try:
                pooled = self.pool(Ragged.of([pieces[i].ids for i in batch], self.device), skip).float()
                return self.heads(pooled) if whole else pooled
            except (torch.OutOfMemoryError, MemoryError):
                return None
            except RuntimeError as error:
                if not any(sign in str(error) for sign in OUT_OF_MEMORY):
                    raise
                return None

        for batch, vectors in in_batches([len(piece.ids) for piece in pieces], budget, attempt):
            found[batch] = vectors.float()
            done(sum(len(pieces[i].ids) for i in batch))
        vectors = found if whole else self.heads(_joined(found, pieces)).float()
        return np.asarray(vectors.cpu().numpy())

    def _check_known(self, pieces: Sequence[Piece], rows: Int[np.ndarray, " n"], start: int) -> None:
        """Ids that the encoder has no vector for, which only some tokenizers can give at all."""
        if self.tokenizer.vocabulary > self.encoder.vocabulary:
            for piece in pieces:
                if max(piece.ids) >= self.encoder.vocabulary:
                    index = start + int(np.flatnonzero(rows == piece.owner)[0])
                    token = self.tokenizer.backend.id_to_token(max(piece.ids))
                    raise BadInput(f"texts[{index}] holds the token {token!r}, for which the encoder has no vector")

    def _check_finite(self, vectors: Float[np.ndarray, "n E"], start: int) -> None:
        bad = np.flatnonzero(~np.isfinite(vectors).all(1))
        if len(bad):
            hint = "" if self.precision == "fp32" else '; try precision="fp32"'
            raise BadModel(f"texts[{start + int(bad[0])}] gave a vector that is not finite in {self.precision}{hint}")

    @torch.inference_mode()
    def _layers(self, ids: list[list[int]], only_last: bool) -> list[Float[np.ndarray, "L t D"]]:
        found: list[Any] = [None] * len(ids)
        for batch in plan([len(i) for i in ids], self._budget):
            tokens = Ragged.of([ids[i] for i in batch], self.device)
            layers = [x.float().cpu() for x in self.encoder(tokens)][-1 if only_last else 0 :]
            for i, block in zip(batch, torch.split(torch.stack(layers), list(tokens.lengths), dim=1), strict=True):
                found[i] = block.numpy().copy()
        return found


def _pooling(described: str | Part, depth: int) -> Pooling:
    if isinstance(described, str):
        return pooling_of(described, depth)
    return read_pooling(described.kind, described.config, described.folder, depth)


def _own(pooling: Pooling) -> Part:
    """A pooling that is no plain reduction, as its folder will describe it."""
    return Part(type(pooling).__name__, pooling.config, Path())  # type: ignore[attr-defined]


def _joined(pooled: Float[Tensor, "P W"], pieces: Sequence[Piece]) -> Float[Tensor, "n W"]:
    """The mean of each text's windows, weighted by their tokens."""
    at = torch.tensor([piece.owner for piece in pieces], device=pooled.device)
    weights = torch.tensor([float(max(1, piece.weight)) for piece in pieces], device=pooled.device)
    texts = pieces[-1].owner + 1
    sums = pooled.new_zeros(texts, pooled.shape[1]).index_add(0, at, pooled * weights[:, None])
    return sums / weights.new_zeros(texts).index_add(0, at, weights)[:, None]


def _check_fit(embedder: Embedder) -> None:
    """The tokenizer's ids, the encoder's table and the heads must suit each other."""
    specials = (*embedder.tokenizer.prefix, *embedder.tokenizer.suffix)
    if max(specials, default=0) >= embedder.encoder.vocabulary:
        raise BadModel(
            f"the tokenizer puts the ids {specials} around every text, and the encoder has vectors for "
            f"{embedder.encoder.vocabulary:,} ids: they are of different models"
        )
    width = embedder.pooling.width(embedder.encoder.width)
    try:
        out_width(embedder.heads, width)
    except RuntimeError as error:
        raise BadModel(
            f"the pooling {embedder.pooling.spec} gives {width} numbers, which the heads cannot take: {error}"
        ) from None


def _length(asked: int | None, encoder: Encoder) -> int | None:
    if asked is not None and (not isinstance(asked, int) or not 1 <= asked <= encoder.longest):
        raise BadInput(f"max_length is {asked!r}; wanted 1 to {encoder.longest:,} tokens, which this encoder can read")
    return asked


def _best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
