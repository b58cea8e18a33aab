"""Migration in the background: build a new index while the old one remains searchable.

No index ever contains vectors from two models. Until the new index has every record, the new model's queries are mapped
into the old model's space and searched there; after that, they go to the new index unchanged.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from ..array_types import Float, Shaped
from ..errors import BadInput
from ..runtime.arguments import whole_number
from ..runtime.progress import Advance, Progress, show_progress
from ..search.index import Index, Match
from ..search.records import Records
from ..search.texts.passages import embedded_text
from .vector_map import VectorMap

MOST_PASSES = 10
"""The maximum number of passes over the old index. The last pass finds nothing to do; writes require further ones."""
EncodeRecords = Callable[[list[str]], Float[np.ndarray, "n E"]]


@dataclass(frozen=True)
class MigrationReport:
    """How many records were encoded, were already in the new index, and were deleted from it."""

    encoded: int
    kept: int
    deleted: int
    passes: int


class Migration:
    """Two indexes of the same records: the old model's, and the new model's, which is being filled.

    If the process is killed, create the migration again and call `run` to resume: records in the new index are not
    encoded again unless their texts or metadata have changed since.
    """

    def __init__(self, old: Index, new: Index, encode: EncodeRecords, query_map: VectorMap | None = None) -> None:
        """Check that the indexes and the map match.

        Args:
            old: the index that is searched until the new one is complete.
            new: the index to fill; it contains only records from this migration.
            encode: embeds texts with the new model. Each is the text of a record, preceded by its title and headings if
                the new index has `model.headings`.
            query_map: maps the new model's vectors to the old model's; `search` needs it until the migration is done.

        Raises:
            BadInput: both indexes are the same, or the map is for other models.
        """
        if new is old or new.location == old.location:
            raise BadInput(f"the new index is the old one, {old.location}; expected a different location")
        if query_map is not None:
            new.check_model(query_map.source)
            old.check_model(query_map.target)
        self.old, self.new, self.encode, self.query_map, self.complete = old, new, encode, query_map, False

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """Search with the new model's vectors, during the migration and after it.

        Until `run` has returned, the vectors are mapped and the old index is searched; after that, the new index is.
        """
        if self.complete:
            return self.new.search(queries, k, where)
        if self.query_map is None:
            raise BadInput(
                f"{self.new.location} is not complete, and no map into the old model's space was given: search "
                f"{self.old.location} with its own model until run() has returned"
            )
        return self.old.search(self.query_map(queries), k, where)

    def run(self, *, block: int = 1000, show_progress_bar: Progress = None) -> MigrationReport:
        """Encode what the new index lacks, a block of records at a time, until both indexes contain the same records.

        Raises:
            BadInput: a record in the old index has no text, or the old index changed during each of ten passes.
        """
        block = whole_number("block", block)
        known = {name: sign for records in self.new.records(block) for name, sign in record_signatures(records).items()}
        kept = len(known)
        encoded = deleted = 0
        for number in range(1, MOST_PASSES + 1):
            with show_progress(show_progress_bar, self.old.count()) as advance:
                changed, seen = self._copy_changed(known, block, advance)
            gone = [name for name in known if name not in seen]
            deleted += self.new.delete(gone) if gone else 0
            for name in gone:
                del known[name]
            encoded += changed
            if not changed and not gone and self.new.count() == self.old.count():
                self.complete = True
                return MigrationReport(encoded, kept, deleted, number)
        raise BadInput(
            f"{self.old.location} was written to during each of {MOST_PASSES} passes, so {self.new.location} is "
            "still incomplete; pause writing, and run the migration again (it resumes where it stopped)"
        )

    def _copy_changed(self, known: dict[str, bytes], block: int, advance: Advance) -> tuple[int, set[str]]:
        """Make one pass over the old index; return how many records were encoded, and all ids."""
        changed, seen = 0, set[str]()
        for records in self.old.records(block):
            signatures = record_signatures(records)
            seen.update(signatures)
            rows = [i for i, name in enumerate(records.ids) if known.get(name) != signatures[name]]
            if rows:
                self.new.upsert(self._encoded(records, rows))
                known.update((records.ids[i], signatures[records.ids[i]]) for i in rows)
            changed += len(rows)
            advance(len(records), 0)
        return changed, seen

    def _encoded(self, records: Records, rows: Sequence[int]) -> Records:
        chosen = records.select(rows)
        missing = [name for name, (text, _) in zip(chosen.ids, chosen.contents, strict=True) if text is None]
        if missing:
            raise BadInput(
                f"{self.old.location} has no text for {missing[0]!r} ({len(missing):,} such records in this block), "
                "so it cannot be encoded with another model"
            )
        headings = self.new.model is not None and self.new.model.headings
        texts = [embedded_text(text, row) if headings else text for text, row in chosen.contents if text is not None]
        return replace(chosen, vectors=self.encode(texts))


def record_signatures(records: Records) -> dict[str, bytes]:
    """For each id, a 16-byte digest of the record's text and metadata."""
    return {
        name: blake2b(json.dumps([text, dict(row)], sort_keys=True).encode(), digest_size=16).digest()
        for name, (text, row) in zip(records.ids, records.contents, strict=True)
    }
