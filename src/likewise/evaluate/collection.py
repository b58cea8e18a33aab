"""Your own documents, queries and relevance judgements, read from the usual retrieval formats.

    a collection = documents + queries + {query: {document: grade}}

Formats: JSONL, TSV, CSV and Parquet with the column names of BEIR and other data sets; TREC qrels (`query 0 document
grade`); and a folder in the BEIR layout: corpus.jsonl, queries.jsonl and qrels/test.tsv, or the same names with other
extensions, or folders of Parquet files as on the Hugging Face hub.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Int
from ..errors import BadInput
from ..files import READABLE, Table
from ..files.lines import data_ending, open_lines
from ..runtime.home_folder import expanded
from ..wording import counted
from .tasks.retrieval import RetrievalCollection

DOCUMENT_ID = ("_id", "doc_id", "docid", "document_id", "corpus-id", "corpus_id", "pid", "id")
QUERY_ID = ("_id", "query_id", "query-id", "qid", "id")
JUDGED_QUERY = ("query-id", "query_id", "qid", "query")
JUDGED_DOCUMENT = ("corpus-id", "corpus_id", "doc_id", "docid", "document_id", "pid", "document")
TEXT = ("text", "contents", "content", "body", "passage", "document")
QUERY_TEXT = ("text", "query", "question")
TITLE = ("title",)
GRADE = ("score", "grade", "relevance", "label")
"""The accepted names of each column, in order of preference."""
SPLIT = "test"
"""The split whose judgements are read from a folder or file with several splits."""
Judgements = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class JudgedCollection:
    """N documents, and Q queries with at least one relevant document each; all ids are strings."""

    name: str
    ids: tuple[str, ...]
    titles: tuple[str, ...]  # "" for a document without a title
    bodies: tuple[str, ...]  # without the titles
    query_ids: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    judgements: Judgements = field(default_factory=dict)  # grades; above 0 is relevant, and higher is better
    notes: tuple[str, ...] = ()  # what was left out

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """Each document's title and text, joined by a space as in BEIR."""
        both = zip(self.titles, self.bodies, strict=True)
        return tuple(f"{title} {body}".strip() if title else body for title, body in both)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The position of each document, by id."""
        return {document: row for row, document in enumerate(self.ids)}

    @cached_property
    def own_rows(self) -> Mapping[int, int]:
        """The document row of each query that is itself a document (as in ArguAna), unless it is judged relevant.

        Such a document is not ranked for its own query, as in the BEIR evaluation. BEIR compares only ids; here the
        text must match too, because queries and documents that are numbered separately can share ids.
        """
        same = ((i, self.rows[query]) for i, query in enumerate(self.query_ids) if query in self.rows)
        return {
            i: row
            for i, row in same
            if self.queries[i].split() in (self.bodies[row].split(), self.documents[row].split())
            and self.judgements[self.query_ids[i]].get(self.query_ids[i], 0) <= 0
        }

    @cached_property
    def judged(self) -> RetrievalCollection:
        """The queries, documents and grades by position, for scoring rankings."""
        grades = (self.judgements[query].items() for query in self.query_ids)
        by_row = tuple({self.rows[document]: float(grade) for document, grade in each} for each in grades)
        return RetrievalCollection(self.queries, self.documents, by_row)

    @cached_property
    def later_ids(self) -> Int[np.ndarray, " N"]:
        """For each document, how many others have a later id in character order; trec_eval breaks ties by id."""
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__, reverse=True)
        later = np.empty(len(order), np.int64)
        later[order] = np.arange(len(order))
        return later


def read_collection(
    corpus: str | Path, queries: str | Path | None = None, qrels: str | Path | None = None
) -> JudgedCollection:
    """Read a collection from its files, or from a folder in the BEIR layout.

    Args:
        corpus: a file of documents (an id, a text, and optionally a title), or the folder.
        queries: a file of queries (an id and a text).
        qrels: a file of relevance judgements: a query id, a document id and an integer grade (1 if there is no grade
            column).

    Returns:
        The collection, without queries that have no relevant document. It has no queries if only documents are given.

    Raises:
        BadInput: a file is missing or has an invalid row; the error names the file and line.
    """
    path = expanded(corpus)
    found = layout(path) if path.is_dir() else {"corpus": path}
    queries, qrels = queries or found.get("queries"), qrels or found.get("qrels")
    if "corpus" not in found:
        raise BadInput(f"{path} is not a folder in the BEIR layout: it needs a file such as {path / 'corpus.jsonl'}")
    if (queries is None) != (qrels is None):
        raise BadInput(f"{path}: expected queries and relevance judgements (qrels) together; found only one of them")
    collection = _documents(path.stem if path.is_file() else path.name, found["corpus"])
    return collection if queries is None or qrels is None else _judged(collection, expanded(queries), expanded(qrels))


def layout(folder: Path) -> dict[str, Path]:
    """The files for "corpus", "queries" and "qrels" that exist in a folder in the BEIR layout."""
    found = {}
    for part in ("corpus", "queries", "qrels"):
        names = [f"{part}{ending}" for ending in _ENDINGS] + [f"{part}/{SPLIT}{ending}" for ending in _ENDINGS]
        candidates = [path for name in names if (path := folder / name).is_file()]
        if not candidates:  # the layout of the Hugging Face hub
            shards = sorted((folder / part).glob("*.parquet"))
            candidates = [path for path in shards if path.name.startswith(f"{SPLIT}-")] or shards
            if len(candidates) > 1:
                first = ", ".join(path.name for path in candidates[:3])
                raise BadInput(f"{folder / part} has {len(candidates)} Parquet files ({first}, …); join them into one")
        if candidates:
            found[part] = candidates[0]
    return found


def _documents(name: str, path: Path) -> JudgedCollection:
    table, (key, text, title) = _table(path, (DOCUMENT_ID, TEXT), (TITLE,))
    ids = _distinct_ids(table, key)
    if not ids:
        raise BadInput(f"{path} has no documents")
    titles = _texts(table, title) if title else ("",) * len(ids)
    return JudgedCollection(name, tuple(ids), titles, _texts(table, text))


def _texts(table: Table, column: str) -> tuple[str, ...]:
    """A column of texts, any of which may be missing or empty."""
    for place, value in zip(table.places, table.columns[column], strict=True):
        if value is not None and not isinstance(value, str):
            raise BadInput(f"{table.path}, {place}: {column} is {value!r}; expected a text")
    return tuple(value or "" for value in table.columns[column])


def _judged(collection: JudgedCollection, queries: Path, qrels: Path) -> JudgedCollection:
    table, (key, text) = _table(queries, (QUERY_ID, QUERY_TEXT))
    texts = dict(zip(_distinct_ids(table, key), table.texts(text), strict=True))
    judgements: dict[str, dict[str, int]] = {}
    for place, query, document, grade in _judgement_rows(qrels):
        for kind, one, known, file in (
            ("query", query, texts, queries), ("document", document, collection.rows, "the corpus"),
        ):  # fmt: skip
            if one not in known:
                raise BadInput(f"{qrels}, {place}: the {kind} {one!r} is judged, but it is not in {file}")
        before = judgements.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            raise BadInput(
                f"{qrels}, {place}: document {document!r} has grade {grade} for query {query!r}, but an earlier line "
                f"says {before}"
            )
    kept = [query for query in texts if any(grade > 0 for grade in judgements.get(query, {}).values())]
    if not kept:
        raise BadInput(f"{qrels} has no relevant document (a grade above 0) for any query in {queries}")
    without = len(judgements) - len(kept)
    left_out = f"left out {counted(without, 'judged query', 'judged queries')} without a relevant document"
    return replace(
        collection,
        query_ids=tuple(kept),
        queries=tuple(texts[query] for query in kept),
        judgements={query: judgements[query] for query in kept},
        notes=(left_out,) if without else (),
    )


def _judgement_rows(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """The place, query, document and grade of each judgement; only those of SPLIT, if the file contains that split."""
    trec = trec_fields(path, 4, "query 0 document grade") if _is_trec(path) else None
    rows = _table_rows(path) if trec is None else ((place, one[0], one[2], one[3]) for place, one in trec)
    for place, query, document, written in rows:
        yield place, query, document, _grade(written, path, place)


def _table_rows(path: Path) -> Iterator[tuple[str, str, str, Any]]:
    table, (query, document, grade, part) = _table(path, (JUDGED_QUERY, JUDGED_DOCUMENT), (GRADE, ("split",)))
    columns = table.columns
    grades: Iterable[Any] = columns[grade] if grade else [1] * len(table.places)
    splits: Sequence[Any] = columns[part] if part else [SPLIT] * len(table.places)
    has_split = SPLIT in splits
    rows = zip(table.places, columns[query], columns[document], grades, splits, strict=True)
    for place, one, other, written, split in rows:
        if split == SPLIT or not has_split:
            yield place, _id(one, path, place), _id(other, path, place), written


def trec_fields(path: Path, count: int, form: str) -> Iterator[tuple[str, list[str]]]:
    """The place ("line 3") of each line of a TREC file, and its fields, which are separated by spaces or tabs."""
    if not path.is_file():
        raise BadInput(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    with open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            fields = line.split()
            if len(fields) not in (0, count):
                raise BadInput(f"{path}, line {number}: found {counted(len(fields), 'field')}; expected {form}")
            if fields:
                yield f"line {number}", fields


def _is_trec(path: Path) -> bool:
    """Whether a file holds TREC relevance judgements: four fields per line, without a header."""
    if data_ending(path) != ".tsv" or not path.is_file():
        return data_ending(path) == ".txt" or data_ending(path) not in READABLE
    with open_lines(path) as lines:
        first = next((line.split() for line in lines if line.strip()), [])
    return len(first) == 4 and first[1] in ("0", "Q0")


def _grade(written: Any, path: Path, place: str) -> int:
    try:
        number = float(written)
        if number.is_integer():
            return int(number)
    except (TypeError, ValueError):
        pass
    raise BadInput(f"{path}, {place}: the grade is {written!r}; expected a whole number, above 0 if relevant")


def _table(
    path: Path, needed: Sequence[Sequence[str]], optional: Sequence[Sequence[str]] = ()
) -> tuple[Table, list[str]]:
    """The file's rows, and the name of each requested column ("" for an optional column that the file lacks)."""
    chosen: list[str] = []

    def choose(names: Sequence[str]) -> Sequence[str]:
        for accepted in (*needed, *optional):
            free = [name for name in accepted if name in names and name not in chosen]
            if not free and accepted in needed:
                raise BadInput(f"{path} has the columns {', '.join(names) or '(none)'}; expected one named "
                               f"{' or '.join(accepted)}")  # fmt: skip
            chosen.append(free[0] if free else "")
        return [name for name in chosen if name]

    return Table.read(path, choose), chosen


def _distinct_ids(table: Table, column: str) -> list[str]:
    seen: dict[str, str] = {}
    for place, value in zip(table.places, table.columns[column], strict=True):
        key = _id(value, table.path, place)
        if key in seen:
            raise BadInput(f"{table.path}, {place}: the {column} {key!r} is already on {seen[key]}; ids must be unique")
        seen[key] = place
    return list(seen)


def _id(value: Any, path: Path, place: str) -> str:
    text = "" if value is None or isinstance(value, bool | float | list | dict) else str(value).strip()
    if not text or len(text.split()) > 1:
        raise BadInput(f"{path}, {place}: the id is {value!r}; expected a text or integer without spaces")
    return text


_ENDINGS = (*(ending for ending in READABLE if ending != ".txt"), ".jsonl.gz", ".tsv.gz", ".trec", ".qrels", ".txt")
