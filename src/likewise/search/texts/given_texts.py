"""Convert the caller's texts (strings, dictionaries or documents) to documents with ids and metadata."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import BadInput
from ...files.documents import OWN_KEYS, Document
from ...text.inputs import is_list_of_rows
from ..records import Value, check_ids, check_metadata, check_storable, plain_text, plain_values

GivenText = str | Mapping[str, Any] | Document
"""A string; a dictionary with `text`, optionally `id`, and metadata under all other keys; or a document."""


def given_documents(
    texts: Iterable[GivenText], ids: Sequence[str] | None = None, metadata: Sequence[Mapping[str, Value]] | None = None
) -> Iterable[Document]:
    """The texts as documents: a list that is checked as a whole, or an iterator if the texts come from one."""
    if isinstance(texts, str | Mapping | Document):
        raise BadInput(f"expected a list of texts; got a single {type(texts).__name__}")
    if not is_list_of_rows(texts):  # iterating over a table would yield its column names
        raise BadInput(f"expected a list, a column or an iterator of texts; got a {type(texts).__name__}")
    if ids is None and metadata is None:
        documents = (_document(one, i) for i, one in enumerate(texts))
        return [*documents] if isinstance(texts, Sequence) else documents
    listed, columns = [*texts], list[list[Any]]()
    for name, column in (("ids", ids), ("metadata", metadata)):
        columns.append([None] * len(listed) if column is None else [*column])
        if isinstance(column, str) or len(columns[-1]) != len(listed):
            got = f"a single string, {column!r}" if isinstance(column, str) else f"{len(columns[-1]):,}"
            raise BadInput(f"expected as many {name} as texts ({len(listed):,}); got {got}")
    check_ids(() if ids is None else columns[0])
    return [_document(one, i, name, row) for i, (one, name, row) in enumerate(zip(listed, *columns, strict=True))]


def without_repeats(documents: Iterable[Document], taken: Container[str] = ()) -> Iterable[Document]:
    """Check that ids are new and distinct: all at once for a list of documents, or one by one for an iterator."""
    checked = _without_repeats(documents, taken)
    return [*checked] if isinstance(documents, list) else checked


def _without_repeats(documents: Iterable[Document], taken: Container[str]) -> Iterator[Document]:
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise BadInput(f"the id {document.id!r} occurs twice; each id may occur only once")
        if document.id and document.id in taken:
            raise BadInput(f"the id {document.id!r} is already in the index; upsert replaces its text")
        if document.id:
            seen.add(document.id)
        yield document


def _document(
    given: GivenText, place: int, name: str | None = None, row: Mapping[str, Value] | None = None
) -> Document:
    if isinstance(given, Document):
        document = given._replace(id=name or given.id, metadata={**given.metadata, **(row or {})})
        return _checked(document, place, OWN_KEYS)
    found = {"text": given} if isinstance(given, str) else given
    if not isinstance(found, Mapping) or not isinstance(found.get("text"), str):
        expected = "a string, a dictionary with a string under 'text', or a Document"
        raise BadInput(f"texts[{place}] is {str(given)[:80]!r} ({type(given).__name__}); expected {expected}")
    if not found["text"].strip():
        raise BadInput(f"texts[{place}] is blank; expected some text: fill it in, or leave it out")
    if name is not None and "id" in found:
        raise BadInput(
            f"texts[{place}] has its own id, {found['id']!r}; give an id either there or in ids, not in both"
        )
    if "id" in found and found["id"] == "":
        raise BadInput(f"texts[{place}] has the id ''; expected a non-empty string")
    metadata = {key: value for key, value in found.items() if key not in ("id", "text")} | {**(row or {})}
    title = metadata.get("title")
    named = Document(found["text"], title=title if isinstance(title, str) else "", id=found.get("id", name or ""))
    return _checked(named._replace(metadata=metadata), place, (*OWN_KEYS, "id", "text"))


def _checked(document: Document, place: int, reserved: Collection[str]) -> Document:
    """The document with plain Python values; raises an error unless an index can store it and return it unchanged."""
    if not isinstance(document.text, str):
        raise BadInput(f"texts[{place}] has the text {document.text!r:.80}; expected a string")
    if not isinstance(document.id, str):
        raise BadInput(f"texts[{place}] has the id {document.id!r:.80}; expected a non-empty string")
    check_storable(document.id, f"the id of texts[{place}]")
    check_storable(document.text, f"texts[{place}]")
    metadata = plain_values(document.metadata)
    check_metadata(metadata, place)
    if taken := sorted(metadata.keys() & {*reserved}):
        raise BadInput(f"the metadata of texts[{place}] has {taken[0]!r}, a name that the index reserves; rename it")
    return document._replace(id=plain_text(document.id), metadata=metadata)
