"""The page of the drop-in is the one that its script draws, and every outcome on it has a reason."""

import json

from benchmarks.drop_in_page import PAGE, RESULT, page


def test_the_page_is_drawn_from_the_tables_and_the_results():
    assert PAGE.read_text("utf-8") == page()


def test_every_test_that_does_not_pass_has_a_reason():
    rows = json.loads(RESULT.read_text("utf-8"))["rows"]
    assert len(rows) > 500
    assert not [row for row in rows if row["result"] not in ("passed", "refused", "differs")]
    assert all(row["reason"] for row in rows if row["result"] != "passed")
