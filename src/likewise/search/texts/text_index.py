"""TextIndex: an index and the embedder of its vectors: documents go in, and passages are found by a question.

>>> index = TextIndex.open("notes.index", "likewise-mini")                  # doctest: +SKIP
>>> index.add(read_documents(["notes/"]))                                   # doctest: +SKIP
>>> index.upsert([{"id": "cats", "text": "Cats sleep a lot."}])             # doctest: +SKIP
>>> index.search("how long do cats sleep", hybrid=True)                     # doctest: +SKIP
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from ...embedder import Embedder
from ...errors import BadInput
from ...files.documents import Document
from ...model_files import DEFAULT_MODEL
from ...model_names import load_named_embedder
from ...runtime.arguments import whole_number
from ...runtime.home_folder import expanded
from ...runtime.progress import Progress
from ...text.chunking import ChunkSettings
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
"""How many passages each ranking of a hybrid search has, and how many a reranker is given at most."""


@dataclass(frozen=True)
class SearchResult:
    """The passages that were found, best first.

    `reranked` is how many of them a reranker has scored within its budget; None where there was none. The others follow
    behind those, in the order of the search.
    """

    passages: Sequence[Passage]
    reranked: int | None = None


class TextIndex:
    """An index together with the embedder that its vectors are from; closing it closes the index."""

    def __init__(
        self, index: Index, embedder: Embedder, *, chunking: ChunkSettings | None = None, headings: bool | None = None
    ) -> None:
        if index.dimension != embedder.dimension:
            raise BadInput(
                f"{index.location} has vectors of {index.dimension} numbers, the model gives {embedder.dimension}"
            )
        index.check_model(ModelIdentity(embedder.manifest.encoder.name, embedder.fingerprint))
        limit = embedder.tokenizer.max_content_length
        self.index, self.embedder = index, embedder
        self.headings = _recorded_headings(index, headings)
        self.chunking = chunking or ChunkSettings(min(ChunkSettings.size, limit))
        if self.chunking.size > limit:
            raise BadInput(f"chunks of {self.chunking.size:,} tokens are longer than the {limit:,} the model reads")

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
    ) -> "TextIndex":
        """Open the index at a location, or make a new one where there is none.

        Args:
            location: a folder, or what else `likewise.search.indexes.INDEXES` has.
            model: an embedder or its name; by default the model that the index was made with, and likewise-mini for a
                new one.
            name: by which a new index records an embedder, so that it can be loaded again; by default its folder.
            chunking: how documents are cut; by default into chunks of 200 tokens at most.
            headings: whether passages are embedded behind their titles and headings; by default as the index was made,
                and in a new one they are.
            read_only: whether nothing will be added; there must be an index then.

        Raises:
            BadInput: the index holds vectors of another model, or was made with the other setting of `headings`.
        """
        place = str(location)
        try:
            index = open_index(place, read_only=read_only)
        except BadInput as missing:
            if read_only:
                raise
            with_headings = headings is not False
            index, embedder = _created(place, model or DEFAULT_MODEL, name, with_headings, missing)
            return cls(index, embedder, chunking=chunking)
        try:
            return cls(index, _embedder(model or named_model(index)), chunking=chunking, headings=headings)
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
        """Add texts under new ids, cut into passages; what the index has already is not embedded again.

        Documents from files have no id but their file: added again, a file is brought up to date, and passages that it
        no longer has are deleted. Texts without an id are told apart by their words alone. What was reported to
        `show_progress_bar` is stored; files that were being added when the call was stopped go on by the same call.

        Args:
            texts: strings; dictionaries with `text`, perhaps `id`, and metadata under all other keys; or documents
                (`likewise.files.documents.read_documents`), those of a file together. A list is checked as a whole
                before anything is stored; an iterator is added as it comes.
            ids: the texts' ids, instead of ids in dictionaries.
            metadata: names and values for each text, which filters can ask for and passages are returned with.
            show_progress_bar: as in `Embedder.encode`; it counts texts.
            total: how many texts there are, if it is known.

        Raises:
            BadInput: an id occurs twice, or is in the index already (`upsert` replaces its text); a text is blank.
        """
        documents = given_documents(texts, ids, metadata)
        writer = self._writer(documents)
        return self._write(writer, without_repeats(documents, writer.unseen), show_progress_bar, total)

    def upsert(
        self,
        texts: Iterable[GivenText],
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[Mapping[str, Value]] | None = None,
        show_progress_bar: Progress = None,
        total: int | None = None,
    ) -> AddReport:
        """As `add`, but the text of an id that the index has already is replaced, with its metadata."""
        documents = given_documents(texts, ids, metadata)
        return self._write(self._writer(documents), without_repeats(documents), show_progress_bar, total)

    def delete(self, ids: Sequence[str] | None = None, *, where: str | None = None) -> int:
        """Delete texts by their ids, a file's by its path, or what meets a filter; returns how many passages that was.

        Unknown ids are no error.

        Raises:
            BadInput: neither is given; the filter cannot be read.
        """
        if ids is None and where is None:
            raise BadInput("nothing says what is to be deleted; expected ids, or a filter as where")
        chosen = {key for keys in passage_keys(self.index, ids or ()).values() for key in keys}
        return delete_passages(self.index, chosen | {*(keys_passing(self.index, where) if where else ())})

    def get(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The texts with these ids, in that order, as dictionaries: id, text and metadata.

        A text of several passages is put together from them: white space where one ends is a blank or a line break.

        Raises:
            BadInput: an id is not there.
        """
        return stored_texts(self.index, ids)

    def _writer(self, documents: Iterable[Document]) -> PassageWriter:
        """A writer that knows what the index has of these texts: all of it, unless every text is listed with an id."""
        if isinstance(documents, list) and all(document.id for document in documents):
            known = passage_keys(self.index, [document.id for document in documents])
            return PassageWriter(self.index, self._vectors, {key for keys in known.values() for key in keys})
        return PassageWriter(self.index, self._vectors, {*self.index.ids()})

    def _write(
        self, writer: PassageWriter, documents: Iterable[Document], show_progress_bar: Progress, total: int | None
    ) -> AddReport:
        reader = PassageReader(self._count_tokens, self.chunking, self.headings)
        return writer.write(documents, reader, show_progress_bar, total)

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
        """The k passages that answer a query best.

        Args:
            query: a question, or words.
            k: how many passages.
            where: a filter over metadata, such as `year >= 2020 and lang = "en"` (`likewise.search.filters`).
            hybrid: whether words are searched too, and both rankings fused by reciprocal rank fusion.
            reranker: what scores a pair of query and text, `Reranker.load(name).score` say; it is given the best
                CANDIDATES.
            budget: seconds that the reranker may take; None: as long as it takes.

        Raises:
            BadInput: the filter cannot be read; the index has no search by words.
        """
        k = whole_number("k", k)
        if budget is not None and reranker is None:
            raise BadInput("budget is the reranker's time, and there is no reranker; expected both, or neither")
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
        """Close the index."""
        self.index.close()

    def __enter__(self) -> "TextIndex":
        """The index itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def query_vectors(self, queries: Sequence[str]) -> Float[np.ndarray, "Q E"]:
        """The vectors that questions are searched by; a server computes them elsewhere."""
        return self.embedder.encode_query(queries, show_progress_bar=False)

    def _passages(self, rankings: dict[str, list[Match]], count: int) -> list[Passage]:
        """The best passages of all rankings, in their fused order where there are several."""
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
        found = self.index.get(keys[:count])
        texts, metadata = found.texts or [None] * len(found), found.metadata or [{}] * len(found)
        columns = zip(keys[:count], texts, metadata, strict=True)
        return [Passage(key, text or "", row, scores[key]) for key, text, row in columns]

    def _vectors(self, passages: Sequence[Passage]) -> Records:
        """With headings, a passage may have more tokens than the model reads: then it is read in windows."""
        texts = [passage.text for passage in passages]
        embedded = [embedded_text(one.text, one.metadata) for one in passages] if self.headings else texts
        vectors = self.embedder.encode_document(embedded, show_progress_bar=False, overflow="mean")
        return Records([one.key for one in passages], vectors, texts, [one.metadata for one in passages])

    def _count_tokens(self, texts: list[str]) -> list[int]:
        return [len(ids) for ids in self.embedder.tokenizer.token_ids(texts)]


def reciprocal_rank_fusion(rankings: Iterable[Sequence[Ranked]], k: int = 60) -> list[tuple[Ranked, float]]:
    """Everything that is in a ranking with the sum of 1 / (k + rank) over the rankings, ranks from 1, best first.

    Cormack, Clarke and Buettcher 2009, whose k is 60. Of equal scores the one that a ranking named first comes first.
    """
    scores: dict[Ranked, float] = defaultdict(float)
    for ranking in rankings:
        if len({*ranking}) < len(ranking):
            raise BadInput(f"a ranking of {len(ranking):,} names only {len({*ranking}):,} different things")
        for rank, name in enumerate(ranking, 1):
            scores[name] += 1 / (k + rank)
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


def _recorded_headings(index: Index, asked: bool | None) -> bool:
    """Whether the index's passages are embedded behind their headings."""
    recorded = index.model.headings if index.model is not None else bool(asked)
    if asked is not None and asked != recorded:
        ways = {True: "behind their titles and headings", False: "without their titles and headings"}
        raise BadInput(
            f"{index.location} was made with passages embedded {ways[recorded]}; got the request to embed them "
            f"{ways[asked]}. Both in one index would not be comparable: leave the option away, or make a new index"
        )
    return recorded


def _created(
    location: str, model: str | Embedder, name: str | None, headings: bool, missing: BadInput
) -> tuple[Index, Embedder]:
    """A new index; `missing` is raised where there can be none, because there is something else."""
    embedder = _embedder(model)
    name = name or lasting_name(model if isinstance(model, str) else str(embedder.manifest.encoder))
    try:
        return create_index(location, embedder.dimension, identity_of_embedder(embedder, name, headings)), embedder
    except BadInput:
        raise missing from None


def identity_of_embedder(embedder: Embedder, name: str, headings: bool = False) -> ModelIdentity:
    """What a new index records of an embedder, under a name that leads to it."""
    prompts = tuple(sorted(embedder.manifest.prompts.items()))
    return ModelIdentity(name, embedder.fingerprint, prompts, headings)


def lasting_name(model: str) -> str:
    """The name of a model that leads to it from any working directory: that of a folder is absolute."""
    folder = expanded(model)
    return str(folder.resolve()) if folder.is_dir() else model


def _embedder(model: str | Embedder) -> Embedder:
    return model if isinstance(model, Embedder) else load_named_embedder(model)


def named_model(index: Index) -> str:
    """The name of the model that an index's vectors are from."""
    if index.model is None:
        raise BadInput(f"{index.location} does not say which model its vectors are from; name the model")
    return index.model.name
