"""PolyEncoder (Humeau et al. 2020): each candidate is encoded once, separately, and attends to m context vectors.

Let h be the token vectors of a context, c_1 … c_m learned codes, and y the vector of a candidate:

    y_i = Σ_j softmax_j(c_i · h_j) h_j          (the context seen through code i, section 4.4)
    score = y · Σ_i softmax_i(y · y_i) y_i

One encoder serves both sides (the paper trains two encoders separately, from the same initialization). If all codes are
zero, all tokens get equal weight, and the score is the dot product of pooled vectors.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..array_types import Float
from ..arrays.ragged import Ragged
from ..arrays.sequences import Sequences
from ..encoders.checkpoint import check_writable, identifying_weights, load_encoder, save_encoder
from ..encoders.encoder import Encoder
from ..errors import BadInput, BadModel
from ..inference import InferenceRun, Rows, WindowBatches, distinct_items, infer
from ..model_files import OWN_RERANKER, ModulePart, PairManifest, atomic_folder, read_pair_manifest, write_pair_manifest
from ..model_files.folder import check_same
from ..pooling import describe_pooling
from ..pooling.reductions import Reduce, last
from ..runtime.arguments import whole_number
from ..runtime.atomic_files import target_folder
from ..runtime.devices import leave_training_mode
from ..runtime.fingerprint import Weights
from ..runtime.untrusted_files import regular_file_exists
from ..text.inputs import checked_texts
from ..text.tokenizer import Tokenizer
from ..text.truncation import TruncationCounter, longest_words
from .reranker import RunOptions
from .text_pairs import in_windows
from .torch_reranker import TorchReranker, parts_of, tokenizer_of

Encode = Callable[[Ragged], Tensor]
Codes = Float[Tensor, "m D"]
NUMBERS = 1 << 24  # the maximum number of fp32 values of context vectors or scores in memory at a time


class PolyEncoder(TorchReranker):
    """A tokenizer, an encoder and codes; candidates use the embedder's pooling but not its heads."""

    kind = "poly-encoder"
    MODULE_TYPE = f"{OWN_RERANKER}PolyEncoder"
    labels = ("score",)
    activation = "Identity"

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, codes: Codes, pooling: Reduce, manifest: PairManifest):
        super().__init__(tokenizer, encoder, manifest)
        self.codes, self.pooling = nn.Parameter(codes), pooling
        widths = codes.shape[1], encoder.width, pooling.width(encoder.width)
        if len(set(widths)) > 1:
            raise BadModel(
                f"codes have {widths[0]} dimensions, tokens {widths[1]} and candidates {widths[2]} ({pooling.spec}); "
                "expected the same number"
            )

    @classmethod
    def read(cls, manifest: PairManifest, dtype: torch.dtype, max_seq_length: int | None) -> "PolyEncoder":
        assert manifest.late is not None
        encoder, late = load_encoder(manifest.encoder, dtype), manifest.late
        if not regular_file_exists(late.folder / "model.safetensors"):
            raise BadModel(f"{late.folder} has no model.safetensors, so the poly-encoder has no codes")
        try:
            codes = load_file(late.folder / "model.safetensors")["codes"].to(dtype)
            pooling = Reduce.parse(late.config["pooling"])
        except BadModel:
            raise
        except (KeyError, ValueError, TypeError, AttributeError, OSError, SafetensorError) as error:
            raise BadModel(f"the poly-encoder in {late.folder} cannot be read: {error!r}") from error
        if codes.ndim != 2 or not torch.isfinite(codes).all():
            raise BadModel(f"the codes in {late.folder} are not a finite (m, D) matrix")
        return cls(tokenizer_of(encoder, manifest, max_seq_length), encoder, codes, pooling, manifest)

    @classmethod
    def start(  # type: ignore[override]
        cls, source: Any, codes: int = 64, *, seed: int = 0, max_seq_length: int | None = None
    ) -> "PolyEncoder":
        """Create an untrained poly-encoder: a copy of an encoder and m codes drawn from N(0, 1/D), so that its scores
        are close to the dot product of pooled vectors.

        Args:
            source: an embedder, or the name or folder of an embedding model or of a plain encoder.
            codes: the number of codes, m; the paper uses 16, 64 and 360.
            seed: the random seed for the codes.
            max_seq_length: the maximum text length in tokens, including special ones.
        """
        codes = whole_number("codes", codes)
        tokenizer, encoder, manifest, own = parts_of(source, max_seq_length)
        if isinstance(manifest, PairManifest):
            raise BadInput("a poly-encoder needs an embedder, because it pools candidates like one; found a reranker")
        pooling = getattr(source, "pooling", manifest.pooling)  # a loaded embedder's pooling may have been changed
        if not isinstance(pooling, str | Reduce):
            kind = getattr(pooling, "kind", pooling)
            raise BadInput(f"a poly-encoder cannot use the pooling mode {kind!r}; expected a reduction (cls, mean …)")
        first = next(encoder.parameters())
        drawn = torch.randn(codes, encoder.width, generator=torch.Generator().manual_seed(seed)) * encoder.width**-0.5
        reduction = Reduce.parse(pooling) if isinstance(pooling, str) else pooling
        return cls(tokenizer, encoder, drawn.to(first.device, first.dtype), reduction, own).eval()

    def contexts(self, tokens: Ragged) -> Float[Tensor, "N m D"]:
        """Turn packed contexts into m vectors each, with gradients if enabled."""
        x, blocks = last(self.encoder(tokens)), []
        for run in tokens.runs:
            block = at_least_single(x[run.rows].view(run.sentences, run.length, -1))
            weights = (block @ self.codes.to(block.dtype).T).softmax(1)  # (n, t, m), over the tokens
            blocks.append(weights.transpose(1, 2) @ block)
        return torch.cat(blocks)

    def candidates(self, tokens: Ragged) -> Float[Tensor, "N D"]:
        """Turn packed candidates into vectors, with gradients if enabled."""
        return at_least_single(self.pooling(self.encoder(tokens), tokens))

    def forward(self, contexts: Ragged, candidates: Ragged) -> Float[Tensor, "N C"]:
        """Score all packed contexts against all candidates, with gradients.

        Candidates of other contexts serve as negatives.
        """
        return score_candidates(self.contexts(contexts), self.candidates(candidates))

    def tokens(self, texts: Iterable[str], *, prompt: str | None = None, prompt_name: str | None = None) -> Ragged:
        """Tokenized texts, truncated to the model's limit: the input of `forward`."""
        inputs = self._model_inputs(self._prompted(checked_texts(texts, "contexts"), prompt, prompt_name))
        return Ragged.packed(inputs, self.device)

    def context_ids(
        self, texts: Iterable[str], *, prompt: str | None = None, prompt_name: str | None = None
    ) -> list[list[int]]:
        """The ids of each context as the model reads it, with the model's prompt (if any) in front."""
        return self._model_inputs(self._prompted(checked_texts(texts, "contexts"), prompt, prompt_name)).lists()

    def candidate_ids(self, texts: Iterable[str]) -> list[list[int]]:
        return self._model_inputs(checked_texts(texts, "candidates")).lists()

    def _logits(self, first: list[str], second: list[str], options: RunOptions) -> Float[np.ndarray, "N 1"]:
        """Encode every distinct text once per side, however many pairs contain it."""
        codes, width = self.codes.shape
        scores = np.empty((len(first), 1), np.float32)
        texts, documents_of = distinct_items(second)
        queries, queries_of = distinct_items(first)
        pairs_of = np.split(np.argsort(queries_of, kind="stable"), np.cumsum(np.bincount(queries_of, minlength=1))[:-1])
        candidates = self._encoded("distinct documents", texts, self.candidates, (width,), options)
        most, step = max(1, NUMBERS // (codes * width)), max(1, NUMBERS // codes)  # contexts are m times larger
        with self._run("distinct queries", len(queries), options) as run, torch.inference_mode():
            blocks = self._blocks(in_windows(queries, most), self.contexts, self.codes.shape, run)
            contexts = (context for block in blocks for context in block)
            for context, own in zip(contexts, pairs_of, strict=False):
                query = torch.from_numpy(context[None]).to(self.device)
                for start in range(0, len(own), step):
                    pairs = own[start : start + step]
                    block = torch.from_numpy(candidates[documents_of[pairs]]).to(self.device)
                    scores[pairs, 0] = score_candidates(query, block)[0].cpu().numpy()
        return scores

    def save(self, folder: str | Path) -> None:
        """Like `Embedder.save`, but only this library can read the folder, and a warning says so.

        Raises:
            BadInput: the folder cannot be written to.
            BadModel: loading the folder would give a different model.
        """
        target, name = target_folder(folder), describe_pooling(self.pooling)
        check_writable(self.encoder)
        late = ModulePart(self.MODULE_TYPE, {"codes": len(self.codes), "pooling": name}, Path())
        tokenizer = self.tokenizer
        limited = replace(
            self.manifest, max_seq_length=tokenizer.max_seq_length, lowercase=tokenizer.lowercase, late=late
        )
        warnings.warn("sentence-transformers cannot read a poly-encoder; likewise can", stacklevel=2)
        with atomic_folder(target) as partial:
            write_pair_manifest(partial, limited, self.encoder.width)
            tokenizer.save(partial)
            weights = {"codes": self.codes.detach().cpu().contiguous()}
            save_file(weights, partial / "1_PolyEncoder" / "model.safetensors", {"format": "pt"})
            save_encoder(self.encoder, partial)
            check_same(written=limited, read_back=read_pair_manifest(partial))

    @property
    def _settings(self) -> list[Any]:
        return [type(self).__name__, self.pooling.spec]

    def _identifying_weights(self) -> Weights:
        codes = ("codes", [self.codes.detach().float().cpu().numpy()])
        return [*identifying_weights(self.encoder, self.manifest.encoder), codes]

    @property
    def max_content_length(self) -> int:
        return self.tokenizer.max_content_length

    def _encoded(
        self, what: str, texts: list[str], encode: Encode, shape: Sequence[int], options: RunOptions
    ) -> Float[np.ndarray, "..."]:
        with self._run(what, len(texts), options) as run:
            blocks = self._blocks(in_windows(texts), encode, shape, run)
            return np.concatenate([np.empty((0, *shape), np.float32), *blocks])

    def _blocks(
        self, texts: Iterable[Sequence[str]], encode: Encode, shape: Sequence[int], run: InferenceRun
    ) -> Iterator[Float[np.ndarray, "..."]]:
        """The results of `encode` on packed tokens, each of this shape, one block per window of texts."""
        leave_training_mode(self)

        @torch.inference_mode()
        def compute(tokens: Sequences, batches: WindowBatches) -> Float[np.ndarray, "..."]:
            def encoded(batch: Rows) -> Float[np.ndarray, "..."]:
                return np.asarray(encode(Ragged.packed(tokens.take(batch), self.device)).float().cpu().numpy())

            return batches.run(tokens.lengths, encoded, np.empty((len(tokens), *shape), np.float32))

        return infer(texts, lambda distinct, rows: self._model_inputs(distinct, run.counter, rows), compute, run)

    def _model_inputs(
        self, texts: list[str], counter: TruncationCounter | None = None, rows: Rows | None = None
    ) -> Sequences:
        """The ids of each text as the model reads it; a repeated text (see `rows`) counts once per occurrence."""
        contents = self._token_ids(texts)
        if counter is not None and rows is not None:
            counter.add(contents.lengths[rows], longest_words(contents.long_words, rows))
        model_inputs = self.tokenizer.framed(contents.first(self.max_content_length))
        if not model_inputs.lengths.all():
            raise BadInput("a text has no tokens, and this model adds no special tokens")
        return model_inputs


def score_candidates(contexts: Float[Tensor, "Q m D"], candidates: Float[Tensor, "C D"]) -> Float[Tensor, "Q C"]:
    """The score y · Σ_i softmax_i(y · y_i) y_i, the softmax-weighted sum of the y · y_i."""
    return _softmax_weighted(torch.einsum("qmd,cd->qcm", contexts, candidates))


def score_own_candidates(contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "N C D"]) -> Float[Tensor, "N C"]:
    return _softmax_weighted(torch.einsum("nmd,ncd->ncm", contexts, candidates))


def _softmax_weighted(dots: Float[Tensor, "Q C m"]) -> Float[Tensor, "Q C"]:
    return (dots.softmax(-1) * dots).sum(-1)


def at_least_single(vectors: Tensor) -> Tensor:
    """Convert to at least single precision: half precision is only for the encoder."""
    return vectors if vectors.dtype == torch.float64 else vectors.float()
