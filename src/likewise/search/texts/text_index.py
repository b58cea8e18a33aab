"""TextIndex: an index together with its embedder, to add documents and find passages that answer a question.

>>> index = TextIndex.open("notes.index", "likewise-mini")                  # doctest: +SKIP
>>> index.add(read_documents(["notes/"]))                                   # doctest: +SKIP
>>> index.upsert([{"id": "cats", "text": "Cats sleep a lot."}])             # doctest: +SKIP
>>> index.search("how long do cats sleep", hybrid=True)                     # doctest: +SKIP
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...array_types import Float
from ...embedder import Embedder
from ...engine_registry import INT8, computation_of
from ...errors import BadInput
from ...files.documents import Document
from ...model_files import DEFAULT_MODEL
from ...model_names import load_named_embedder
from ...runtime.arguments import known_name, whole_number
from ...runtime.home_folder import expanded
from ...runtime.progress import Progress
from ...text.chunking import ChunkSettings
from ...text.inputs import resolve_prompt
from ..index import Index, Match, ModelIdentity
from ..indexes import create_index, open_index
from ..records import Records, Value
from .adding import AddReport, PassageWriter
from .given_texts import GivenText, given_documents, without_repeats
from .passages import Passage, PassageReader, embedded_text
from .reranking import PairScorer, rerank
from .stored_texts import delete_passages, keys_passing, passage_keys, stored_texts

Ranked = TypeVar("Ranked", bound=Hashable)
CANDIDATES = 100
"""Number of passages per ranking in a hybrid search, and number passed to a reranker; k if k is greater."""


@dataclass(frozen=True)
class SearchResult:
    """The passages found, best first."""

    passages: Sequence[Passage]
    reranked: int | None = None
    """The number of passages that the reranker scored within its budget; None without a reranker."""


class TextIndex:
    """An index together with the embedder of its vectors; closing it closes the index."""

    def __init__(
        self,
        index: Index,
        embedder: Embedder,
        *,
        chunking: ChunkSettings | None = None,
        headings: bool | None = None,
        allow: str | None = None,
        identity: ModelIdentity | None = None,
    ) -> None:
        if index.dimension != embedder.dimension:
            raise BadInput(
                f"{index.location} has vectors of {index.dimension} dimensions, but the model has {embedder.dimension}"
            )
        self._identity = identity or identity_of_embedder(embedder, embedder.manifest.encoder.name)
        index.check_model(self._identity, allow)
        self.index, self.embedder = index, embedder
        self.headings = bool(headings) if index.model is None else index.model.headings
        index.check_headings(self.headings if headings is None else headings)
        self.chunking = chunking or chunk_settings(embedder)
        chunk_settings(embedder, self.chunking.size)  # checked against the model's limit

    @classmethod
    def open(
        cls,
        location: str | Path,
        model: str | Embedder | None = None,
        *,
        name: str | None = None,
        chunking: ChunkSettings | None = None,
        headings: bool | None = None,
        read_only: bool = False,
        allow: str | None = None,
    ) -> "TextIndex":
        """Open the index at a location, or create one if there is none.

        Args:
            model: an embedder or its name; by default the model that the index was created with, or likewise-mini for a
                new index.
            name: the name that a new index records for an embedder, so that it can be loaded again; by default its
                folder.
            chunking: how documents are split; by default into chunks of at most 200 tokens.
            headings: whether titles and headings are embedded before each passage; by default, the setting with which
                the index was created, or true for a new index.
            allow: `"int8"` accepts a model in int8 for an index of another precision, or vice versa, for searches
                only. Other engines and precisions need no consent; another model is never accepted.

        Raises:
            BadInput: the index holds vectors of another model; or either the index or the model is in int8, the other
                is not, and `allow` is not "int8"; or the index was created with the opposite `headings` setting.
        """
        if headings is not None and not isinstance(headings, bool):
            raise BadInput(f"headings is {headings!r}; expected True, False, or None for the index's recorded setting")
        place = str(location)
        try:
            index = open_index(place, read_only=read_only)
        except BadInput as missing:
            if read_only:
                raise
            if allow is not None:
                known_name("allow", allow, (INT8,))
            model = model or DEFAULT_MODEL
            embedder = _embedder(model)
            chunk_settings(embedder, chunking.size if chunking else None)  # checked before the index is created
            name = name or lasting_name(model if isinstance(model, str) else str(embedder.manifest.encoder))
            identity = identity_of_embedder(embedder, name, headings is not False)
            try:
                index = create_index(place, embedder.dimension, identity)
            except BadInput:
                raise missing from None
            return cls(index, embedder, chunking=chunking, identity=identity)
        try:
            embedder = _embedder(model or named_model(index))
            return cls(index, embedder, chunking=chunking, headings=headings, allow=allow)
        except BaseException:
            index.close()
            raise

    def add(
        self,
        texts: Iterable[GivenText],
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[Mapping[str, Value]] | None = None,
        show_progress_bar: Progress = None,
        total: int | None = None,
    ) -> AddReport:
        """Split texts into passages and add them under new ids; passages already in the index are not embedded again.

        Documents from files are identified by their file: adding a file again updates it and deletes passages that it
        no longer contains. Texts without an id are identified by their content. Texts that `show_progress_bar` has
        counted are stored; if adding files is interrupted, repeat the call to continue.

        Args:
            texts: strings; dictionaries with `text`, optionally `id`, and metadata under all other keys; or documents
                (`likewise.files.documents.read_documents`), grouped by file. A list is checked as a whole
                before anything is stored; an iterator is consumed step by step.
            ids: the ids of the texts, instead of ids in dictionaries.
            metadata: names and values for each text, which filters can use and which search returns with passages.
            show_progress_bar: as in `Embedder.encode`; it counts texts.

        Raises:
            BadInput: an id occurs twice, or is already in the index (`upsert` replaces its text); a text is blank.
        """
        return self._store(given_documents(texts, ids, metadata), show_progress_bar, total, replace=False)

    def upsert(
        self,
        texts: Iterable[GivenText],
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[Mapping[str, Value]] | None = None,
        show_progress_bar: Progress = None,
        total: int | None = None,
    ) -> AddReport:
        """Like `add`, but texts with existing ids are replaced, including their metadata."""
        return self._store(given_documents(texts, ids, metadata), show_progress_bar, total, replace=True)

    def _store(
        self, documents: Iterable[Document], show_progress_bar: Progress, total: int | None, *, replace: bool
    ) -> AddReport:
        self.index.check_model(self._identity)  # without consent, which is for searches only
        self.index.check_document_prompt(_document_prompt(self._identity, self.embedder))
        if isinstance(documents, list) and all(document.id for document in documents):
            known = passage_keys(self.index, [document.id for document in documents])
            stored = {key for keys in known.values() for key in keys}
        else:
            stored = {*self.index.ids()}
        writer = PassageWriter(self.index, self._vectors, stored)
        reader = PassageReader(self._count_tokens, self.chunking, self.headings)
        return writer.write(
            without_repeats(documents, () if replace else writer.unseen), reader, show_progress_bar, total
        )

    def delete(self, ids: Sequence[str] | None = None, *, where: str | None = None) -> int:
        """Delete texts by id, files by path, and all passages that pass a filter; return the number of passages.

        If both are given, passages that match either of them are deleted, not only those that match both.
        """
        if ids is None and where is None:
            raise BadInput("expected ids, or a filter passed as where, to say what to delete; got neither")
        chosen = {key for keys in passage_keys(self.index, () if ids is None else ids).values() for key in keys}
        return delete_passages(self.index, chosen | {*(() if where is None else keys_passing(self.index, where))})

    def get(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The texts with these ids, in this order, as dictionaries: id, text and metadata.

        A text that consists of several passages is reassembled from them, joined by a space or a line break.
        """
        return stored_texts(self.index, ids)

    def search(
        self,
        query: str,
        k: int = 10,
        where: str | None = None,
        *,
        hybrid: bool = False,
        reranker: PairScorer | None = None,
        budget: float | None = None,
    ) -> SearchResult:
        """The k passages that best answer a query.

        Args:
            where: a filter over metadata, such as `year >= 2020 and lang = "en"` (`likewise.search.filters`).
            hybrid: whether to search by words too, and combine both rankings by reciprocal rank fusion.
            reranker: a function that scores pairs of query and text, such as `Reranker.load(name).score`; it gets
                the best CANDIDATES passages, or k if that is more.
            budget: seconds that the reranker may take; None for no limit.

        Raises:
            BadInput: the filter cannot be parsed, or the index cannot search by words.
        """
        k = whole_number("k", k)
        if budget is not None and reranker is None:
            raise BadInput("budget requires a reranker; expected both, or neither")
        depth = max(k, CANDIDATES) if hybrid or reranker is not None else k
        vectors = self.query_vectors([query])
        with self.index.one_state():
            [nearest] = self.index.search(vectors, depth, where)
            rankings = {"cosine": nearest}
            if hybrid:
                rankings["words"] = self.index.search_words(query, depth, where)
            passages = self._passages(rankings, k if reranker is None else depth)
        return SearchResult(passages) if reranker is None else _reranked(query, passages, k, reranker, budget)

    def close(self) -> None:
        """Close the index, as leaving a `with` block does."""
        self.index.close()

    def __enter__(self) -> "TextIndex":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def query_vectors(self, queries: Sequence[str]) -> Float[np.ndarray, "Q E"]:
        """The vectors of queries; the server overrides this method to compute them elsewhere."""
        return self.embedder.encode_query(queries, show_progress_bar=False)

    def _passages(self, rankings: dict[str, list[Match]], count: int) -> list[Passage]:
        """The best passages of all rankings; if there are several rankings, they are fused."""
        scores: dict[str, dict[str, float]] = defaultdict(dict)
        for name, ranking in rankings.items():
            for key, score in ranking:
                scores[key][name] = score
        keys = [*scores]
        if len(rankings) > 1:
            keys = []
            for key, score in reciprocal_rank_fusion([[key for key, _ in one] for one in rankings.values()]):
                scores[key]["fused"] = score
                keys.append(key)
        best = keys[:count]
        found = self.index.contents(best)
        return [Passage(key, found[key][0] or "", found[key][1], scores[key]) for key in best]

    def _vectors(self, passages: Sequence[Passage]) -> Records:
        """Embed passages; with headings, a passage may exceed the model's limit, and is then read in windows."""
        texts = [passage.text for passage in passages]
        embedded = [embedded_text(one.text, one.metadata) for one in passages] if self.headings else texts
        vectors = self.embedder.encode_document(embedded, show_progress_bar=False, overflow="mean")
        return Records([one.key for one in passages], vectors, texts, [one.metadata for one in passages])

    def _count_tokens(self, texts: list[str]) -> list[int]:
        return [len(ids) for ids in self.embedder.tokenizer.token_ids(texts)]


def reciprocal_rank_fusion(
    rankings: Iterable[Sequence[Ranked]], k: int = 60, weights: Iterable[float] = repeat(1.0)
) -> list[tuple[Ranked, float]]:
    """All ranked items with the sum of weight / (k + rank) over the rankings (ranks start at 1), best first.

    The method is from Cormack, Clarke and Buettcher 2009, who use k = 60. In a tie, the item that occurs first wins.
    """
    scores: dict[Ranked, float] = defaultdict(float)
    for ranking, weight in zip(rankings, weights, strict=False):
        if len({*ranking}) < len(ranking):
            raise BadInput(f"a ranking of {len(ranking):,} items contains only {len({*ranking}):,} distinct items")
        for rank, name in enumerate(ranking, 1):
            scores[name] += weight / (k + rank)
    return sorted(scores.items(), key=itemgetter(1), reverse=True)


def _reranked(
    query: str, candidates: list[Passage], k: int, reranker: PairScorer, budget: float | None
) -> SearchResult:
    found = rerank(query, [passage.text for passage in candidates], reranker, budget)
    ordered = [candidates[i] for i in found.order]
    scored = [
        passage._replace(scores={**passage.scores, "reranked": float(score)})
        for passage, score in zip(ordered, found.scores, strict=False)
    ]
    return SearchResult([*scored, *ordered[found.scored :]][:k], found.scored)


def chunk_settings(embedder: Embedder, size: int | None = None, overlap: int = 0) -> ChunkSettings:
    """Settings for a model; by default, chunks of at most 200 tokens, or of the model's limit if that is lower.

    Raises:
        BadInput: the model cannot read chunks of that size, or the overlap is not below the size.
    """
    limit = embedder.tokenizer.max_content_length
    settings = ChunkSettings(min(ChunkSettings.size, limit) if size is None else size, overlap)
    if settings.size > limit:
        raise BadInput(f"chunks of {settings.size:,} tokens exceed the model's limit of {limit:,} tokens")
    return settings


def identity_of_embedder(
    embedder: Embedder, name: str, headings: bool = False, fingerprint: str | None = None
) -> ModelIdentity:
    """What a new index records about an embedder, with a name to load it by; pass `fingerprint` if it is known."""
    from ...engines.former_fingerprints import former_computation  # imported here, because few indexes are that old

    prompts = tuple(sorted(embedder.manifest.prompts.items()))
    former = partial(former_computation, embedder)
    known = embedder.fingerprint if fingerprint is None else fingerprint
    return ModelIdentity(name, known, prompts, headings, computation_of(embedder), former)


def _document_prompt(identity: ModelIdentity, embedder: Embedder) -> str:
    """The prompt of `encode_document`."""
    manifest, own = embedder.manifest, identity.document_prompt
    return resolve_prompt(None, None, manifest.prompts, manifest.default_prompt) if own is None else own


def lasting_name(model: str) -> str:
    """A model name that works from any working directory: folders are made absolute."""
    folder = expanded(model)
    return str(folder.resolve()) if folder.is_dir() else model


def _embedder(model: str | Embedder) -> Embedder:
    return model if isinstance(model, Embedder) else load_named_embedder(model)


def named_model(index: Index, precision: str | None = None) -> str:
    """The recorded name of an index's model, with its precision if that is int8 and the caller does not choose one."""
    if index.model is None:
        raise BadInput(f"{index.location} does not record which model its vectors come from; name the model")
    model = index.model
    is_int8 = model.computed is not None and model.computed.precision == INT8
    return (
        f"{model.name}(precision={INT8})"
        if is_int8 and precision is None and f"={INT8}" not in model.name
        else model.name
    )
