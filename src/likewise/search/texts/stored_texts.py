"""Look up texts in an index by id: find the keys of their passages, and reassemble the texts from the passages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import BadInput
from ..filters import matches, parse_filter
from ..index import Index
from ..records import Value, check_storable, listed_ids
from .passages import BEFORE_HASH, Passage, id_of_key

LEFT_OUT = ("row", "start", "stop", "headings", "id", "text")
"""Metadata left out of a text: the position of a passage, and columns that would hide the text or its id."""
AT_ONCE = 10_000
"""Number of passages read per call."""


def passage_keys(index: Index, ids: Sequence[str]) -> dict[str, list[str]]:
    """For each id, the keys of its passages; an id can be a text's id, a file's path, or any record's key."""
    ids = listed_ids(ids)
    for name in ids:
        if not isinstance(name, str) or not name:
            raise BadInput(f"{name!r} is not an id; expected a non-empty string")
        check_storable(name, f"the id {name!r:.80}")
    found: dict[str, list[str]] = {name: [] for name in ids}
    for key in index.ids_beginning([name + BEFORE_HASH for name in found], exact=[*found]):
        for name in {id_of_key(key), key} & found.keys():
            found[name].append(key)
    return found


def keys_passing(index: Index, condition: str) -> Iterator[str]:
    """The keys of the passages whose metadata meets a condition."""
    if not index.count(condition):  # raises for unknown columns
        return
    tree = parse_filter(condition)
    for block in index.records():
        yield from (key for key, (_, row) in zip(block.ids, block.contents, strict=True) if matches(tree, row))


def delete_passages(index: Index, keys: Iterable[str]) -> int:
    chosen = sorted({*keys})
    return sum(index.delete(chosen[start : start + AT_ONCE]) for start in range(0, len(chosen), AT_ONCE))


def stored_texts(index: Index, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The texts with these ids, as dictionaries that `add` accepts."""
    ids = listed_ids(ids)
    with index.one_state():
        keys = passage_keys(index, ids)
        if missing := [name for name in ids if not keys[name]]:
            raise BadInput(f"the id {missing[0]!r} is not in {index.location}")
        found = index.contents([key for of_text in keys.values() for key in of_text])
    passages = {key: Passage(key, text or "", metadata) for key, (text, metadata) in found.items()}
    return [{"id": name, **_joined([passages[key] for key in keys[name]])} for name in ids]


def _joined(passages: Sequence[Passage]) -> dict[str, Any]:
    """A text reassembled from its passages in order, without overlaps, joined by a line break or a space."""
    text, end, last = "", 0, None
    for row, start, passage in sorted(map(_placed, passages), key=lambda one: one[:2]):
        if row != last:
            text, end = text and text + "\n", 0
        gap = "" if start <= end or not text or row != last else "\n" if start - end > 1 else " "
        text += gap + passage.text[max(0, end - start) :]
        end, last = max(end, start + len(passage.text)), row
    return {"text": text, **_common([passage.metadata for passage in passages])}


def _placed(passage: Passage) -> tuple[int, int, Passage]:
    row, start = (passage.metadata.get(name) for name in ("row", "start"))
    return (row if isinstance(row, int) else 0, start if isinstance(start, int) else 0, passage)


def _common(rows: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """The metadata that all passages of a text share."""
    first, *others = rows
    alike = {name: value for name, value in first.items() if all(row.get(name) == value for row in others)}
    return {name: value for name, value in alike.items() if name not in LEFT_OUT}
