"""What LanceDB alone does: versions of a table, and their removal."""

from likewise.search.backends.lance.lance_index import LanceIndex
from tests.search.conformance import as_dict, assert_holds, some_records
from tests.search.index_process import WIDTH


def test_compaction_removes_old_versions_and_changes_no_record(tmp_path):
    with LanceIndex.create(f"lance:{tmp_path}", WIDTH) as index:
        for start in range(0, 60, 3):
            index.add(some_records(3, start=start))
            index.upsert(some_records(2, seed=1, start=start))
        index.delete(["id 0", "id 1"])
        expected = as_dict(*index.records())
        assert len(expected) == 58
        reader = LanceIndex.open(f"lance:{tmp_path}", read_only=True)
        files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        index.compact()
        assert len(files) < sum(path.is_file() for path in tmp_path.rglob("*"))  # the last hour's versions are kept
        index.compact(keep_seconds=0.001)
        assert sum(path.is_file() for path in tmp_path.rglob("*")) < len(files) / 4
        for opened in (index, reader, LanceIndex.open(f"lance:{tmp_path}")):
            assert_holds(opened, expected, 1e-5)
