"""Where rows come from, and what is done to their columns."""

import json
import math

import numpy as np
import pytest
import torch

from likewise.data.column_names import NLI_LABELS, ColumnNames, select_rows
from likewise.errors import BadInput
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import load_data, read_rows, sha256
from likewise.train.objectives import (
    TSDAE,
    Classification,
    Contrastive,
    CoSENT,
    Distillation,
    MarginMSE,
    MarginPairs,
    Matryoshka,
    Regression,
    Triplet,
    Weighted,
)
from likewise.train.objectives.reranking import InBatch, PairClassification, PairRegression
from likewise.train.output.model_card import _data
from likewise.train.output.record import data_description
from likewise.train.settings import TrainSettings
from tests.train.run_trainer import load, run_trainer

PAIRS = {"sentence1": ["a", "b", "c"], "sentence2": ["x", "y", "z"], "score": [0.0, 2.5, 5.0]}
LIST = [dict(zip(PAIRS, values, strict=True)) for values in zip(*PAIRS.values(), strict=True)]


def _written(folder, kind):
    path = folder / f"pairs.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in LIST))
    elif kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table(PAIRS), path)
    else:
        sign = "," if kind == "csv" else "\t"
        lines = [list(PAIRS), *([str(v) for v in row.values()] for row in LIST)]
        path.write_text("".join(sign.join(line) + "\n" for line in lines))
    return path


class Dataset(dict):
    """As much of a datasets.Dataset as is read."""

    column_names = property(tuple)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "columns", "list", "dataset"])
def test_the_same_rows_come_from_every_kind_of_source(kind, tmp_path):
    data = {"columns": PAIRS, "list": LIST, "dataset": Dataset(PAIRS, split=["train"] * 3)}.get(kind) or _written(
        tmp_path, kind
    )
    found = read_rows(data, CoSENT())
    assert found.texts == {"sentence1": ["a", "b", "c"], "sentence2": ["x", "y", "z"]}
    assert found.numbers["score"].tolist() == [0.0, 2.5, 5.0]


def test_a_real_dataset_of_the_hub_library_is_read():
    datasets = pytest.importorskip("datasets")
    assert read_rows(datasets.Dataset.from_dict(PAIRS), CoSENT()).numbers["score"].tolist() == [0.0, 2.5, 5.0]


def test_columns_have_other_names_and_scores_another_scale():
    held = {"question": ["a", "b"], "answer": ["c", "d"], "likeness": ["1", "5"]}
    named = {"sentence1": "question", "sentence2": "answer", "score": "likeness/5"}
    found = read_rows(held, CoSENT(), ColumnNames(named))
    assert list(found.texts) == ["sentence1", "sentence2"]
    assert found.numbers["score"].tolist() == pytest.approx([0.2, 1.0])
    assert read_rows({**held, "likeness": [1, 2]}, CoSENT(), ColumnNames({**named, "score": "likeness * 2"})).numbers[
        "score"
    ].tolist() == [2.0, 4.0]


def test_a_column_can_be_scaled_under_its_own_name_and_one_whose_name_has_a_slash_be_meant():
    assert read_rows(PAIRS, CoSENT(), ColumnNames({"score": "score/5"})).numbers["score"].tolist() == [0.0, 0.5, 1.0]
    odd = {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score/5": [1.0, 3.0]}
    assert read_rows(odd, CoSENT(), ColumnNames({"score": "score/5"})).numbers["score"].tolist() == [1.0, 3.0]


def test_texts_of_labels_are_numbered_as_the_papers_authors_did():
    assert NLI_LABELS == ("contradiction", "entailment", "neutral")
    held = {
        "sentence1": ["a", "b", "c"],
        "sentence2": ["x", "y", "z"],
        "label": ["neutral", "Entailment", "contradiction"],
    }
    assert read_rows(held, Classification()).numbers["label"].tolist() == [2, 1, 0]
    own = {**held, "label": ["no", "yes", "no"]}
    assert read_rows(own, Classification(2), ColumnNames(labels=("no", "yes"))).numbers["label"].tolist() == [0, 1, 0]
    with pytest.raises(BadInput, match="row 0: label is 'no'; expected a number or one of contradiction"):
        read_rows(own, Classification())
    assert read_rows(held, Classification()).labels == NLI_LABELS
    assert read_rows({**held, "label": [2, 1, 0]}, Classification()).labels == ()


def test_texts_of_labels_are_scores_only_in_an_order_of_ones_own():
    held = {"sentence1": ["a", "b"], "sentence2": ["x", "y"], "label": ["neutral", "entailment"]}
    names = {"score": "label"}
    with pytest.raises(BadInput, match="row 0: score is 'neutral'; expected a number"):
        read_rows(held, CoSENT(), ColumnNames(names))
    scored = read_rows(held, CoSENT(), ColumnNames(names, labels=("neutral", "entailment")))
    assert scored.numbers["score"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "ids", [["9007199254740993", "9007199254740992", "5"], [9007199254740993, "9007199254740992", 5]]
)
def test_ids_of_any_length_stay_apart(ids):
    held = {"anchor": ["a", "b", "c"], "positive": ["x", "y", "z"], "group": ids}
    assert read_rows(held, Contrastive()).numbers["group"].tolist() == [9007199254740993, 9007199254740992, 5]
    largest = read_rows({**held, "group": [2.0**53, 1.0, 2.0]}, Contrastive())
    assert largest.numbers["group"].tolist() == [2**53, 1, 2]
    with pytest.raises(BadInput, match=r"row 0: group is 9007199254740994.0; expected a whole number \(a float above"):
        read_rows({**held, "group": [9007199254740994.0, 1.0, 2.0]}, Contrastive())


@pytest.mark.parametrize("missing", [None, "", " ", math.nan, "nan"])
@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("x>3", ["5"]), ("x<3", ["1"]), ("x>=0", ["5", "1"]), ("x<=9", ["5", "1"]), ("x==5", ["5"]),
        ("x!=5", ["1", "missing"]), ("x<z", ["5", "1"]),
    ],
)  # fmt: skip
def test_a_missing_value_is_neither_above_nor_below_anything(condition, kept, missing):
    found = select_rows({"x": ["5", 1, missing], "row": ["5", "1", "missing"]}, condition)
    assert found["row"] == kept


def test_a_text_is_neither_above_nor_below_a_number():
    assert select_rows({"x": ["n/a", "4"]}, "x>3") == {"x": ["4"]}
    assert select_rows({"x": ["n/a", "4"]}, "x!=4") == {"x": ["n/a"]}


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("label==1", ["b"]),
        ("label != 1", ["a", "c"]),
        ("label>=1", ["b", "c"]),
        ("kind=='q'", ["a", "c"]),
        ("kind<r", ["a", "c"]),
    ],
)
def test_only_rows_that_meet_the_condition_are_kept(condition, kept):
    held = {"anchor": ["a", "b", "c"], "positive": ["x", "y", "z"], "label": [0, 1, 2], "kind": ["q", "r", "q"]}
    rows, where = (
        [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)],
        ColumnNames(where=condition),
    )
    assert list(next(read_rows(lambda: iter(rows), Contrastive(), where).batches(len(kept))).texts[0]) == kept
    if len(kept) > 1:
        assert list(read_rows(Dataset(held), Contrastive(), where).texts["anchor"]) == kept


def test_rows_of_a_stream_may_lack_the_column_of_a_condition():
    rows = [{"anchor": "a", "positive": "b"}, {"anchor": "c", "positive": "d"}]
    stream = read_rows(lambda: iter(rows), Contrastive(), ColumnNames(where="x!=5"))
    assert next(stream.batches(2)).texts[0] == ("a", "c")


@pytest.mark.parametrize(
    ("data", "objective", "columns", "said"),
    [
        ({"anchor": [], "positive": []}, Contrastive(), None, "no rows"),
        ([], Contrastive(), None, "no rows"),
        ({"anchor": ["a"], "positive": ["b"]}, Contrastive(), None, "one row"),
        ({"anchor": ["a"] * 3, "positive": ["b"] * 3}, Contrastive(), None, "no row provides a negative"),
        (
            {"sentence1": ["a", "b"], "sentence2": ["a", "b"], "score": [0, 1]},
            CoSENT(),
            None,
            "both texts are the same",
        ),
        (PAIRS, CoSENT(), ColumnNames({"score": "likeness"}), "no column 'likeness'; found sentence1"),
        (PAIRS, CoSENT(), ColumnNames({"score": "sentence1/5"}), "row 0: sentence1 is 'a'; expected a number"),
        (PAIRS, CoSENT(), ColumnNames(where="score=>2"), "expected a single comparison, COLUMN==VALUE"),
        (PAIRS, CoSENT(), ColumnNames(where="x==2"), "no column 'x'"),
        (PAIRS, CoSENT(), ColumnNames(where="score==7"), "no row satisfies score==7"),
        (7, CoSENT(), None, "the data are a int"),
        ({**PAIRS, "more": [1, 2, 3]}, CoSENT(), None, "would ignore the column more"),
    ],
)
def test_data_that_teach_nothing_or_cannot_be_read_are_told(data, objective, columns, said, unchecked):
    with pytest.raises(BadInput, match=said):
        read_rows(data, objective, columns)


def test_pairs_of_a_text_with_itself_are_simcse_and_said():
    with pytest.warns(UserWarning, match="only by dropout"):
        read_rows({"anchor": ["a", "b"], "positive": ["a", "b"]}, Contrastive())


def test_a_text_file_has_no_columns(tmp_path):
    (tmp_path / "x.txt").write_text("a\n")
    with pytest.raises(BadInput, match="lines but no columns"):
        read_rows(tmp_path / "x.txt", Contrastive())


def test_a_file_gives_only_what_is_read_hard_negatives_among_it(tmp_path):
    path = tmp_path / "x.jsonl"
    row = {"id": "q7", "anchor": "a", "positive": "b", "negative": "c", "negative_2": "d", "hard": "two words"}
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "anchor": "e"}) + "\n")
    with pytest.warns(UserWarning, match="Contrastive does not read the texts in hard; .*negative_1=hard"):
        assert list(read_rows(path, Contrastive()).texts) == ["anchor", "positive", "negative", "negative_2"]
    assert list(read_rows(path, Contrastive(), training=False).texts) == [
        "anchor",
        "positive",
        "negative",
        "negative_2",
    ]
    assert list(read_rows(path, Triplet()).texts) == ["anchor", "positive", "negative"]
    assert len(sha256(path)) == 64


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        (["two words", "two words", "one"], True),
        (["two words", "one", None], False),
        (["three words here", "a", "b"], False),
        (["one", "two", "three"], False),
    ],
)
def test_a_column_of_which_most_are_several_words_is_left_out_with_a_warning(notes, told, recwarn):
    data = Dataset(anchor=["a", "b", "c"], positive=["d", "e", "f"], note=notes)
    assert list(read_rows(data, Contrastive()).texts) == ["anchor", "positive"]
    started = [str(one.message).startswith("Contrastive does not read the texts in note") for one in recwarn]
    assert started == [True] * told


@pytest.mark.parametrize("streamed", [False, True])
def test_columns_that_only_begin_like_negatives_are_left_out_with_a_warning(streamed, tmp_path):
    row = {"anchor": "a", "positive": "b", "negative1": "c", "negative_2": "d", "negative_id": "q", "negative_score": 1}
    rows, path = [row, {**row, "anchor": "e"}], tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.warns(UserWarning, match="Contrastive does not read the texts in negative_id; to use a column"):
        read = read_rows((lambda: iter(rows)) if streamed else path, Contrastive())
        batch = next(read.batches(2)) if streamed else read.take([0, 1])
    assert [column[0] for column in batch.texts] == ["a", "b", "c", "d"]


def _stream(count=10, opened=None):
    def read():
        if opened is not None:
            opened.append(1)
        return ({"anchor": f"a cat {i}", "positive": f"the dog {i}"} for i in range(count))

    return read_rows(read, Contrastive())


def test_a_stream_is_read_in_its_order_and_begins_anew_at_its_end():
    batches = _stream(5).batches(2)
    read = [text for _ in range(4) for text in next(batches).texts[0]]
    assert read == [f"a cat {i}" for i in (0, 1, 2, 3, 4, 0, 1, 2)]
    assert next(_stream(5).batches(2, skip=6)).texts[0] == ("a cat 1", "a cat 2")


def test_a_run_over_a_stream_goes_on_where_it_was(own, tmp_path):
    folder = own()
    run = TrainSettings(max_steps=6, batch_size=4, save_steps=2, learning_rate=1e-3)

    def courses():
        stream = _stream()
        return [DataSource(stream, stream.objective)]

    whole, again = (load(folder) for _ in range(2))
    run_trainer(whole, courses(), run)
    asked = iter([False, False, True])
    assert run_trainer(again, courses(), run, checkpoint_folder=tmp_path, stop=lambda: next(asked)).steps == 3
    run_trainer(again, courses(), run, checkpoint_folder=tmp_path)
    assert all(torch.equal(w, again.state_dict()[n]) for n, w in whole.state_dict().items())


def test_what_a_stream_cannot_do_is_told(own):
    embedder, stream = load(own()), _stream()
    with pytest.raises(BadInput, match="set max_steps"):
        run_trainer(embedder, [DataSource(stream, stream.objective)], TrainSettings())
    held = read_rows({"anchor": ["a", "b"], "positive": ["c", "d"]}, stream.objective)
    with pytest.raises(BadInput, match="round-robin"):
        run_trainer(
            embedder,
            [DataSource(stream, stream.objective), DataSource(held, stream.objective)],
            TrainSettings(max_steps=2),
        )
    run_trainer(
        embedder,
        [DataSource(stream, stream.objective), DataSource(held, stream.objective)],
        TrainSettings(max_steps=2, data_mixing="round-robin", batch_size=2),
    )
    with pytest.raises(BadInput, match="stream is empty"):
        next(_stream(0).batches(2))
    bad = read_rows(lambda: [{"anchor": "a", "positive": "b"}, {"anchor": "a"}], Contrastive())
    with pytest.raises(BadInput, match="rows 0 to 1 of the stream: row 1: positive is None"):
        next(bad.batches(2))
    rows = [{"anchor": "a", "positive": "b"}] * 5
    for skip, read, told in ((0, 2, "rows 4 to 5"), (3, 1, "rows 5 to 6")):
        batches = read_rows(lambda: [*rows, {"anchor": "a"}], Contrastive()).batches(2, skip=skip)
        for _ in range(read):
            next(batches)
        with pytest.raises(BadInput, match=f"{told} of the stream: row .: positive is None"):
            next(batches)
    with pytest.raises(BadInput, match="yielded a str"):
        next(read_rows(lambda: ["a"], Contrastive()).batches(1))


def test_numbers_of_a_column_are_not_changed_in_place():
    scores = np.asarray([1.0, 5.0])
    read_rows(
        {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score": scores}, CoSENT(), ColumnNames({"score": "score/5"})
    )
    assert scores.tolist() == [1.0, 5.0]


def test_rows_that_are_all_the_same_or_whose_texts_are_teach_nothing():
    same = {"sentence1": ["a", "a"], "sentence2": ["b", "b"]}
    with pytest.raises(BadInput, match=r"all 2 rows are identical, \['a', 'b'\]"):
        read_rows({**same, "score": [0.5, 0.5]}, Regression())
    assert len(read_rows({**same, "score": [0.5, 0.25]}, Regression())) == 2
    triples = {"anchor": ["a", "b"], "positive": ["a", "b"], "negative": ["c", "d"], "margin": [1.0, 2.0]}
    with pytest.raises(BadInput, match="in all 2 rows both texts are the same, so no pair"):
        read_rows(triples, MarginMSE())
    assert len(read_rows({**triples, "positive": ["a", "x"]}, MarginMSE())) == 2


def test_where_no_name_fits_a_file_gives_its_first_columns_of_texts(tmp_path):
    path = tmp_path / "x.jsonl"
    rows = [{"id": i, "q": f"q{i}", "a": f"a{i}", "note": f"n{i}", "score": i} for i in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_rows(path, CoSENT())
    assert found.texts == {"sentence1": ["q0", "q1"], "sentence2": ["a0", "a1"]}
    assert found.numbers["score"].tolist() == [0, 1]


def test_numbers_spelled_as_texts_are_not_the_first_columns_of_texts(tmp_path):
    (tmp_path / "x.csv").write_text("id,question,answer\n1,q1,a1\n2.5,q2,7\n")
    assert read_rows(tmp_path / "x.csv", Contrastive()).texts == {"anchor": ["q1", "q2"], "positive": ["a1", "7"]}


SCORED = {"question": ["a b", "c d", "e f"], "answer": ["x", "y", "z"], "score": [5, 5, 0]}
NAMED = ColumnNames({"anchor": "question", "positive": "answer"})


@pytest.mark.parametrize(
    ("column", "objective", "use"),
    [
        ("score", Contrastive(), "angle. .*--where 'score>…'.* --columns anchor=question,positive=answer, or"),
        (
            "Similarity",
            Matryoshka(Contrastive(), [8]),
            "angle, with --columns score=Similarity. .*--where 'Similarity>",
        ),
        ("label", Contrastive(), "classification, margin-pairs. .*--where 'label==1'"),
        ("score", InBatch(), "reads it: regression. "),
    ],
)
def test_scores_of_pairs_that_would_all_be_positive_are_refused(column, objective, use):
    data = Dataset({name.replace("score", column): values for name, values in SCORED.items()})
    message = f"treats every row as a positive pair and would ignore the column {column}. .*{use}"
    with pytest.raises(BadInput, match=message):
        read_rows(data, objective)
    with pytest.raises(BadInput, match=message):
        rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
        next(read_rows(lambda: iter(rows), objective, ColumnNames(where="answer!=w")).batches(3))


@pytest.mark.parametrize(
    ("changed", "objective", "columns", "kept"),
    [
        ({}, Contrastive(), NAMED, 3),
        ({}, Contrastive(), ColumnNames(where="score>3"), 2),
        ({"score": [1, 1, 1]}, Contrastive(), None, 3),
        ({}, CoSENT(), None, 3),
        ({}, TSDAE(), None, 3),
    ],
)
def test_scores_that_are_read_or_all_alike_and_pairs_chosen_by_name_or_score_are_no_mistake(
    changed, objective, columns, kept
):
    assert len(read_rows(Dataset({**SCORED, **changed}), objective, columns)) == kept


def test_pairs_that_the_data_call_positive_may_have_scores():
    data = Dataset(anchor=SCORED["question"], positive=SCORED["answer"], score=SCORED["score"])
    assert len(read_rows(data, Contrastive())) == 3


def test_rows_know_the_columns_that_they_were_read_from():
    assert read_rows(Dataset(SCORED), Contrastive(), NAMED).read_from == {"anchor": "question", "positive": "answer"}
    expected = {"sentence1": "question", "sentence2": "answer", "score": "score/5"}
    assert read_rows(Dataset(SCORED), CoSENT(), ColumnNames({"score": "score/5"})).read_from == expected


def test_translations_in_a_file_are_read_whatever_their_names(tmp_path):
    row = {"id": "1", "sentence": "a cat", "german": "eine Katze", "french": "un chat", "teacher": [1.0, 2.0]}
    (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({**row, "sentence": "cats"}) + "\n")
    with pytest.warns(
        UserWarning, match="reads german, french as translations of sentence; .* --columns german=german"
    ):
        assert list(read_rows(tmp_path / "x.jsonl", Distillation()).texts) == ["sentence", "german", "french"]
        own = ColumnNames({"sentence": "sentence", "teacher": "teacher"})
        assert len(read_rows(tmp_path / "x.jsonl", Distillation(), own).texts) == 3
    named = ColumnNames({"french": "french"})
    assert list(read_rows(tmp_path / "x.jsonl", Distillation(), named).texts) == ["sentence", "french"]
    rows = [row, {**row, "german": None}]
    assert list(next(read_rows(lambda: iter(rows), Distillation()).batches(2)).texts) == [("a cat", "a cat")]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows[::-1]))
    with pytest.raises(BadInput, match=r"x\.jsonl, line 1: german is None; expected a text"):
        read_rows(tmp_path / "x.jsonl", Distillation())


@pytest.mark.parametrize(
    ("objective", "row", "message"),
    [
        (Classification(3), {"label": 7}, "row 0: label is 7; expected 0 … 2"),
        (Regression(), {"score": 5.0}, "row 0: score is 5; expected -1 … 1"),
        (MarginPairs(), {"label": 3}, "row 0: label is 3; expected 0 … 1"),
        (PairClassification(2), {"label": 2}, "row 0: label is 2; expected 0 … 1"),
        (PairRegression(), {"score": 5.0}, "row 0: score is 5; expected 0 … 1"),
        (Matryoshka(Regression(), [2]), {"score": 5.0}, "row 0: score is 5; expected -1 … 1"),
        (Weighted([CoSENT(), Regression()]), {"score": 5.0}, "row 0: score is 5; expected -1 … 1"),
    ],
)
def test_rows_of_a_stream_are_checked_one_by_one_and_may_all_be_alike(objective, row, message):
    def stream(row):
        return read_rows(lambda: [{"sentence1": "a", "sentence2": "b", **row}] * 2, objective).batches(2)

    with pytest.raises(BadInput, match=f"rows 0 to 1 of the stream: {message}"):
        next(stream(row))
    assert len(next(stream(dict.fromkeys(row, 1)))) == 2


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("option", [{"dimensions": [2, 4]}, {"temperature": 0.1}, {"license": "mit"}])
def test_an_option_that_data_do_not_have_is_refused(option, tmp_path):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(option))}'"):
        load_data(_written(tmp_path, "csv"), "cosent", **option)


def test_licence_and_hub_are_recorded(tmp_path):
    source = load_data(_written(tmp_path, "csv"), "cosent", licence="mit", hub="me/pairs")
    assert {"licence": "mit", "hub": "me/pairs"}.items() <= source.info.items()
    assert (source.name, source.dataset) == ("pairs.csv", None)  # a file is no known data set


FILE_ERRORS = [
    ([{}, {"negative": "e"}], "contrastive", "line 1: negative is None; expected a text"),
    ([{"negative": "e"}, {}], "contrastive", "line 2: negative is None; expected a text"),
    ([{}, {"positive": " "}], "contrastive", "line 2: positive is ' '; expected a text"),
    ([{"score": 1}, {"score": 10**400}], "cosent", "line 2: score is 1000.*; expected a number"),
    ([{"score": 1}, {}], "cosent", "line 2: score is None; expected a finite number"),
    (
        [{}, {"Score": 1}],
        "cosent",
        "score is missing; did you mean 'Score'. Rename columns with --columns score=Score,",
    ),
    (
        [{}, {"score ": 1}],
        "cosent",
        "score is missing; did you mean 'score '. Rename columns with --columns score=score,",
    ),
]


@pytest.mark.parametrize(("rows", "objective", "message"), FILE_ERRORS)
def test_errors_name_the_line_of_a_file_whatever_keys_the_first_has(rows, objective, message, tmp_path):
    pair = ("anchor", "positive") if objective == "contrastive" else ("sentence1", "sentence2")
    lines = [
        json.dumps({**dict(zip(pair, text, strict=True)), **row}) for text, row in zip(("ab", "cd"), rows, strict=True)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match=rf"t\.jsonl[:,] .*{message}"):
        load_data(tmp_path / "t.jsonl", objective)


def test_a_line_is_named_although_a_condition_leaves_rows_out(tmp_path):
    (tmp_path / "t.csv").write_text("anchor,positive,keep\na,b,1\nc,,0\nd,,1\n")
    with pytest.raises(BadInput, match=r"t\.csv, line 4: positive is ''; expected a text"):
        load_data(tmp_path / "t.csv", "contrastive", ColumnNames(where="keep==1"))


def test_the_record_and_the_card_say_how_columns_were_read():
    columns = {"question": ["a", "b"], "sentence2": ["c", "d"], "label": ["yes", "no"]}
    names = ColumnNames({"sentence1": "question", "score": "label"}, ["no", "yes"], "question!=x")
    described = data_description(load_data(columns, "cosent", names))
    assert described["read_from"] == {"sentence1": "question", "sentence2": "sentence2", "score": "label"}
    assert described["labels"] == ["no", "yes"]
    card = _data({"data": [described]})
    assert "How data was read: columns sentence1 = `question`, score = `label`; labels no = 0, yes = 1; rows `q" in card
