"""The tables of other languages and domains, from a record made up."""

from benchmarks.evaluation import ANSWERS_IN, LANGUAGE_TABLES, languages_table, multilingual_table, separate_table
from likewise.evaluate.tasks.registry import SEPARATE, select_tasks

MISSING = {"error": "its data set is not on this machine"}


def record(**cells):
    return {task.name: cells.get(task.name, MISSING) for task in select_tasks(SEPARATE)}


def test_every_task_has_a_row_and_what_was_not_measured_a_dash():
    jsts = {"name": "spearman/cosine/all", "value": 0.7949, "interval": [0.7812, 0.8068]}
    head, _, *rows, _, missing = separate_table({"one": record(jsts=jsts), "two": record()})
    assert head == "| task | score | one | two |" and len(rows) == len(select_tasks(SEPARATE))
    assert missing == "A dash: not measured."
    assert "| jsts | spearman/cosine/all | 79.5 [78.1, 80.7] | – |" in rows
    assert "| korsts | | – | – |" in rows


def test_each_language_is_a_column_beside_the_mean():
    scores = {"accuracy/mean": 0.5, "accuracy/deu": 0.75, "accuracy/fra": 0.25, "accuracy/from eng/mean": 0.1}
    found = {"one": record(tatoeba={"value": 0.5, "interval": [], "scores": scores}), "two": record()}
    lines = languages_table(found)
    assert lines.count("") == 2 * len(LANGUAGE_TABLES) - 1
    start = lines.index("tatoeba, accuracy × 100 from each language to English:")
    rows = ["| | mean | deu | fra |", "|---|---|---|---|", "| one | 50.0 | 75.0 | 25.0 |", ""]
    assert lines[start + 2 : start + 6] == rows


def test_the_multilingual_model_stands_beside_its_targets():
    sts = {
        f"spearman/cosine/{name}": value
        for name, value in {"mean": 0.1, "all": 0.1, "en": 0.9, "de": 0.7, "fr": 0.6}.items()
    }
    tatoeba = {"accuracy/mean": 0.8, "accuracy/from eng/mean": 0.9}
    answers = {f"map/own language/{name}": 0.5 for name in ANSWERS_IN} | {"map/own language/ar": 0.1}
    cells = {"stsb-multi-mt": {"scores": sts}, "tatoeba": {"scores": tatoeba}, "xquad-r": {"scores": answers}}
    names = ("likewise-multi", "multilingual-e5-small-cut(precision=int8)", "likewise-mini")
    head, _, *rows = multilingual_table(dict.fromkeys(names, cells))
    assert head == f"| | target | {' | '.join(names)} |"
    assert [row.split(" | ")[1:3] for row in rows] == [
        ["73.0", "65.0"],
        ["80.0", "90.0"],
        ["87.0", "85.0"],
        ["–", "50.0"],
    ]
