"""LateInteraction: a reranker that compares token vectors (ColBERT, Khattab and Zaharia 2020), on any engine.

    score(query, document) = Σ_i max_j q_i · d_j          (MaxSim)

where q_i and d_j are token vectors, projected to fewer dimensions and scaled to unit length. A document's vectors do
not depend on the query. Short queries are padded with mask tokens, whose vectors count too.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..array_types import Float
from ..arrays.sequences import Sequences
from ..embedder import Embedder
from ..encoders.config import read_config
from ..errors import BadInput, BadModel
from ..inference import Rows, WindowBatches, infer
from ..model_files import Manifest, PairManifest
from ..model_files.late_interaction_folder import TokenVectors
from ..reranker.reranker import PairOverflow, Reranker, RunOptions
from ..reranker.text_pairs import in_windows
from ..runtime.fingerprint import Weights
from ..text.inputs import checked_texts
from ..text.truncation import TruncationCounter, longest_words
from .description import Description, check_described, read_description, stored_encoder_settings, tensors
from .numpy.encoders import NumpyEncoder
from .numpy.poolings_and_heads import heads_of, weights_of_heads
from .stored_weights import check_unchanged, file_states

Array = np.ndarray
Ids = tuple[int, ...]


class LateInteraction(Reranker):
    """Scores pairs of texts by MaxSim; `query_vectors` and `document_vectors` return the vectors that it compares.

    The embedder's engine encodes documents. If a model's mask tokens must not be attended to, queries padded with them
    are computed in NumPy, the only engine whose attention can exclude tokens.
    """

    kind = "late-interaction"
    labels = ("score",)
    activation = "Identity"

    def __init__(self, embedder: Embedder, manifest: PairManifest) -> None:
        assert manifest.late is not None
        check_described(manifest.encoder, read_config(manifest.encoder))
        self._files = file_states(manifest.encoder)
        self.shown = embedder  # whose engine also runs this reranker
        self.tokenizer, self.encoder, self.manifest = embedder.tokenizer, embedder.encoder, manifest
        self.settings = TokenVectors(**manifest.late.config)
        self.heads = heads_of(manifest.heads, embedder.encoder.width)
        left_out = [self._known[word] for word in self.settings.unscored if word in self._known]
        self._unscored = np.array(left_out, np.int64)
        self._mask = self._mask_token() if self.settings.expanded_to else 0
        if min(self._room(is_query) for is_query in (True, False)) < 1:
            raise BadModel(f"the lengths in {manifest.encoder} leave no room for text: {dict(manifest.late.config)}")

    @property
    def max_content_length(self) -> int:
        return self._room(is_query=False)

    @property
    def device(self) -> Any:
        return self.shown.device

    @property
    def precision(self) -> str:
        return self.shown.precision

    @property
    def batch_threads(self) -> int:
        return self.shown.batch_threads

    def query_vectors(self, texts: Iterable[str], *, overflow: PairOverflow = "warn") -> list[Float[Array, "t E"]]:
        """The token vectors of each query, including those of its mask tokens."""
        return self._vectors(texts, overflow, is_query=True)

    def document_vectors(self, texts: Iterable[str], *, overflow: PairOverflow = "warn") -> list[Float[Array, "t E"]]:
        """The token vectors of each document, except those left out of scoring (punctuation)."""
        return self._vectors(texts, overflow, is_query=False)

    def save(self, folder: str | Path) -> NoReturn:
        """Raise an error, because nothing here changes a late-interaction model: copy its folder instead."""
        raise BadInput(f"late-interaction models cannot be saved; copy the folder {self.manifest.encoder} to {folder}")

    def _identifying_settings(self) -> tuple[list[Any], list[Any]]:
        heads = [[head.kind, head.activation] for head in self.heads]
        return stored_encoder_settings(self.manifest.encoder), [sorted(vars(self.settings).items()), heads]

    def _identifying_weights(self) -> Weights:
        """The weights as stored in the folder, which do not depend on the engine."""
        stored = [(tensor.name, tensor.identifying) for tensor in tensors(self._description())]
        return [*stored, *weights_of_heads(self.heads)]

    def _vectors(self, texts: Iterable[str], overflow: PairOverflow, is_query: bool) -> list[Float[Array, "t E"]]:
        what = "queries" if is_query else "documents"
        checked = checked_texts(texts, what)

        def encode(some: list[Ids]) -> list[Float[Array, "t E"]]:
            return [self._query(ids) for ids in some] if is_query else self._documents(some)

        def vectors(contents: list[Ids], batches: WindowBatches) -> list[Float[Array, "t E"]]:
            lengths, results = np.array([len(ids) for ids in contents]), [np.empty((0, 0), np.float32)] * len(contents)
            return batches.run(lengths, lambda batch: encode([contents[i] for i in batch]), results)

        with self._run(what, len(checked), (overflow, None, None), self._room(is_query)) as run:

            def tokenize(distinct: list[str], rows: Rows) -> list[Ids]:
                return self._contents(distinct, is_query, run.counter, rows)

            return [one for block in infer(in_windows(checked), tokenize, vectors, run) for one in block]

    def _logits(self, first: list[str], second: list[str], options: RunOptions) -> Float[Array, "N 1"]:
        pairs, silent = list(zip(first, second, strict=True)), (options[0], False, options[2])
        with (
            self._run("queries", len(pairs), silent, self._room(is_query=True)) as queries,
            self._run("documents", len(pairs), options) as run,
        ):

            def tokenize(distinct: list[tuple[str, str]], rows: Rows) -> list[tuple[Ids, Ids]]:
                first, second = zip(*distinct, strict=True)
                of_queries = self._contents(first, True, queries.counter, rows)
                return list(zip(of_queries, self._contents(second, False, run.counter, rows), strict=True))

            blocks = list(infer(in_windows(pairs), tokenize, self._window_logits, run))
        return np.concatenate([np.empty((0, 1), np.float32), *blocks])

    def _window_logits(self, contents: list[tuple[Ids, Ids]], batches: WindowBatches) -> Float[Array, "n 1"]:
        queries = {ids: self._query(ids) for ids in dict.fromkeys(query for query, _ in contents)}

        def logits(batch: Rows) -> Float[Array, "b 1"]:
            documents = self._documents([contents[i][1] for i in batch])
            pairs = zip(batch, documents, strict=True)
            return np.array([[max_similarity(queries[contents[i][0]], document)] for i, document in pairs], np.float32)

        lengths = np.array([len(document) for _, document in contents])
        return batches.run(lengths, logits, np.empty((len(contents), 1), np.float32))

    def _contents(self, texts: Sequence[str], is_query: bool, counter: TruncationCounter, rows: Rows) -> list[Ids]:
        """The truncated ids of distinct texts, with special tokens and prefix; `counter` counts every row's tokens."""
        room, (marker, rest) = self._room(is_query), self._prefix(is_query)
        begin, end = (*self.tokenizer.prefix, *marker), self.tokenizer.suffix
        encoded = self._token_ids([rest + text for text in texts])
        counter.add(encoded.lengths[rows], longest_words(encoded.long_words, rows))
        return [(*begin, *ids[:room], *end) for ids in encoded.lists()]

    def _room(self, is_query: bool) -> int:
        """The maximum number of tokens read from a text, not counting special tokens and the marker."""
        length = (self.settings.query_length if is_query else None) or self.tokenizer.max_seq_length
        specials = len(self.tokenizer.prefix) + len(self.tokenizer.suffix)
        return int(min(length, self.shown.encoder.longest)) - specials - len(self._prefix(is_query)[0])

    def _prefix(self, is_query: bool) -> tuple[Ids, str]:
        """The marker at the start of a prefix, if the vocabulary has it as one token, and the rest of the prefix."""
        prefix, known = self.settings.query_prefix if is_query else self.settings.document_prefix, self._known
        words = (prefix, *prefix.split(None, 1)[:1]) if self.settings.has_markers else ()
        marker = next((word for word in words if word in known), None)
        return ((), prefix) if marker is None else ((known[marker],), prefix[len(marker) :])

    @property
    def _known(self) -> Mapping[str, int]:
        return self.tokenizer.token_ids_by_name

    def _mask_token(self) -> int:
        named = self.settings.expansion_token or self.tokenizer.settings.get("mask_token")
        named = named.get("content") if isinstance(named, dict) else named
        found = next((word for word in (named, "[MASK]", "<mask>") if word in self._known), None)
        if found is None:
            raise BadModel(f"{self.manifest.encoder} pads queries with mask tokens, but its tokenizer lacks one")
        return self._known[found]

    def _query(self, ids: Ids) -> Float[Array, "t E"]:
        """The token vectors of one query, padded with mask tokens."""
        filled = [*ids, *[self._mask] * (self.settings.expanded_to - len(ids))]
        if self.settings.attends_expansion or len(filled) == len(ids):
            return self._mapped(self.shown.layers_of([filled], only_last=True)[0][-1])
        encoder = self._query_encoder.reading(len(ids))
        return self._mapped(encoder.layers(Sequences.of([filled]), encoder.depth, encoder.depth)[-1])

    def _description(self) -> Description:
        """Read the folder's description; raise BadModel if the folder has changed since the model was loaded."""
        check_unchanged(self.manifest.encoder, self._files)
        return read_description(self.manifest.encoder)

    @cached_property
    def _query_encoder(self) -> NumpyEncoder:
        own = self.shown.encoder
        return own if isinstance(own, NumpyEncoder) else NumpyEncoder(self._description())

    def _documents(self, contents: Sequence[Ids]) -> list[Float[Array, "t E"]]:
        layers = self.shown.layers_of([list(ids) for ids in contents], only_last=True)
        scored = [~np.isin(ids, self._unscored) for ids in contents]
        return [self._mapped(one[-1][kept]) for one, kept in zip(layers, scored, strict=True)]

    def _mapped(self, x: Float[Array, "t D"]) -> Float[Array, "t E"]:
        for head in self.heads:
            x = head(x)
        return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def max_similarity(query: Float[Array, "q E"], document: Float[Array, "d E"]) -> float:
    """The sum, over query tokens, of the largest dot product with any document token (MaxSim)."""
    return float((query @ document.T).max(1, initial=-np.inf).sum())


def token_model(manifest: PairManifest) -> Manifest:
    """The manifest of the embedder that computes a late-interaction model's token vectors."""
    assert manifest.late is not None
    length = manifest.late.config["document_length"] or manifest.max_seq_length
    return Manifest(manifest.encoder, max_seq_length=length, lowercase=manifest.lowercase)
