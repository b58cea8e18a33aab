from benchmarks.models import WANTED, shipped, with_former


def row(**scores):
    tasks = {"stsb": 80.0, "trec": 70.0, "qqp": 60.0, **scores}
    return {"sts": 75.0, "senteval": 78.0, "scifact": 54.0, "tasks": tasks, "machine": {}, "intervals": {}}


def test_weights_that_are_replaced_are_kept_with_their_scores_in_their_order():
    before, now = {"likewise-mini": row(), "other": row()}, {"likewise-mini": row(stsb=81.0), "other": row(stsb=81.0)}
    kept = with_former({}, before, now)
    assert [old["tasks"]["stsb"] for old in kept["likewise-mini"]] == [80.0] and kept["likewise-static"] == []
    kept = with_former(kept, now, {"likewise-mini": row(stsb=82.0)})
    assert [old["tasks"]["stsb"] for old in kept["likewise-mini"]] == [80.0, 81.0]
    assert with_former(kept, now, now) == kept  # measured again, and the same
    assert with_former(kept, now, {"likewise-mini": {**row(), "tasks": {"stsb": 81.0}}}) == kept  # fewer tasks


def test_what_shipped_stands_beside_what_was_wanted_and_former_weights():
    models = (*WANTED, "all-MiniLM-L6-v2")
    records = {
        "quality": {"results": {name: row(qqp=61.0) for name in models}},
        "former": {"likewise-mini": [row(), row(qqp=60.5)], "likewise-static": []},
    }
    lines = shipped(records)
    assert "| likewise-mini, Quora's pairs | 76.0 | 60.00, 60.50 | 61.00 | 61.00 |" in lines
    assert "| likewise-static, STS mean of 7 | 77.5 | – | 75.00 | 75.00 |" in lines
