"""What a teacher says: the numbers that objectives of distillation want, made once, and gone on with."""

import hashlib
import json
import sys

import numpy as np
import pytest

from likewise import Embedder, Reranker
from likewise.engine_registry import computation_of
from likewise.errors import BadInput, MissingExtra
from likewise.reranker import PolyEncoder
from likewise.train import teacher_outputs as module
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import read_rows
from likewise.train.objectives import (
    OBJECTIVES,
    Contrastive,
    CoSENT,
    Distillation,
    MarginMSE,
    Regression,
    ScoreDistillation,
    SimilarityDistillation,
    Triplet,
)
from likewise.train.settings import TrainSettings
from likewise.train.teacher_outputs import TEACHER_OUTPUTS, teacher_outputs
from tests.train.columns import TEXTS
from tests.train.run_trainer import load, run_trainer

TRIPLES = {"anchor": TEXTS[:6], "positive": TEXTS[3:9], "negative": TEXTS[6:12]}
PAIRS = {"sentence1": TEXTS[:6], "sentence2": TEXTS[6:12]}
ALONE = {"sentence": TEXTS}
CASES = [
    (CoSENT(), PAIRS, "score"),
    (MarginMSE(), TRIPLES, "margin"),
    (ScoreDistillation(), TRIPLES, "scores"),
    (Distillation(), ALONE, "teacher"),
    (SimilarityDistillation(), ALONE, "teacher"),
    (Contrastive(), TRIPLES, "guide"),
]


@pytest.fixture(scope="module")
def teachers(tiny):
    return {
        "embedder": tiny,
        "cross": Reranker.start(tiny, seed=1),
        "poly": PolyEncoder.start(tiny, 4),
    }


def _expected(teacher, columns, name):
    """One row at a time."""
    if name == "teacher":
        return np.stack([teacher.encode([text])[0] for text in columns["sentence"]])
    if name == "guide":
        return np.array(
            [np.concatenate([teacher.encode([text])[0] for text in row]) for row in zip(*columns.values(), strict=True)]
        )
    first, *others = columns.values()

    def say(a, b):
        if isinstance(teacher, Embedder):
            u, v = teacher.encode([a, b]).astype(np.float64)
            return u @ v / np.linalg.norm(u) / np.linalg.norm(v)
        return float(teacher.score([(a, b)])[0] if name == "score" else teacher.logits([(a, b)])[0, 0])

    found = np.array([[say(a, other[i]) for other in others] for i, a in enumerate(first)])
    return {"score": found[:, 0], "scores": found, "margin": found[:, 0] - found[:, -1]}[name]


@pytest.mark.parametrize(("objective", "columns", "name"), CASES, ids=[type(c[0]).__name__ for c in CASES])
@pytest.mark.parametrize("kind", ["embedder", "cross", "poly"])
def test_a_teacher_says_what_it_says_of_one_row_at_a_time(kind, objective, columns, name, teachers, tmp_path):
    teacher = teachers[kind]
    if name in ("teacher", "guide") and kind != "embedder":
        with pytest.raises(BadInput, match="returns no text vectors"):
            teacher_outputs(columns, teacher, objective)
        return
    found = teacher_outputs(columns, teacher, objective, part_size=4)
    np.testing.assert_allclose(found[name], _expected(teacher, columns, name), atol=1e-5)
    kept = teacher_outputs(columns, teacher, objective, part_size=4, file=tmp_path / "x.parquet")
    again = teacher_outputs(columns, teacher, objective, part_size=4, file=tmp_path / "x.parquet")
    for other in (kept, again):
        assert {key: type(one) for key, one in other.items()} == {key: type(one) for key, one in found.items()}
        assert list(other) == list(found)
        np.testing.assert_array_equal(other[name], found[name])
    read = read_rows(tmp_path / "x.parquet", objective)
    np.testing.assert_array_equal(read.numbers[name], found[name])


def test_every_lesson_is_read_by_some_objective():
    every = [entry.build().reads() for entry in OBJECTIVES.values()]
    read = {name for one in every for name in (*one.numbers, *one.optional)}
    assert set(TEACHER_OUTPUTS) <= read


def test_what_was_made_is_not_made_again_and_what_was_interrupted_goes_on(teachers, tmp_path, monkeypatch):
    calls, real = [], module._margin

    def counted(teacher, texts):
        calls.append(list(texts["anchor"]))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(teacher, texts)

    monkeypatch.setitem(TEACHER_OUTPUTS, "margin", counted)
    file, teacher = tmp_path / "margins.parquet", teachers["cross"]
    with pytest.raises(KeyboardInterrupt):
        teacher_outputs(TRIPLES, teacher, MarginMSE(), file=file, part_size=2)
    assert not file.exists() and len(list((tmp_path / "margins.parquet.parts").iterdir())) == 2
    found = teacher_outputs(TRIPLES, teacher, MarginMSE(), file=file, part_size=2)
    assert calls[2:] == [TEXTS[4:6], TEXTS[4:6]]
    assert [p.name for p in tmp_path.iterdir()] == ["margins.parquet"]
    teacher_outputs(TRIPLES, teacher, MarginMSE(), file=file, part_size=2)
    assert len(calls) == 4
    np.testing.assert_allclose(found["margin"], _expected(teacher, TRIPLES, "margin"), atol=1e-5)


def test_a_file_of_something_else_is_refused_and_stays(teachers, tmp_path):
    file = tmp_path / "x.parquet"
    teacher_outputs(TRIPLES, teachers["cross"], MarginMSE(), file=file)
    before = file.read_bytes()
    for columns, teacher, objective, told in [
        (TRIPLES, teachers["poly"], MarginMSE(), "teacher was"),
        (TRIPLES, teachers["cross"], ScoreDistillation(), r"outputs was \['margin'\] and is now \['scores'\]"),
        ({**TRIPLES, "anchor": TEXTS[1:7]}, teachers["cross"], MarginMSE(), "texts was"),
    ]:
        with pytest.raises(BadInput, match=f"computed from different inputs: {told}"):
            teacher_outputs(columns, teacher, objective, file=file)
    assert file.read_bytes() == before
    file.write_bytes(b"no parquet")
    with pytest.raises(BadInput, match="cannot be read"):
        teacher_outputs(TRIPLES, teachers["cross"], MarginMSE(), file=file)


@pytest.mark.parametrize(
    ("columns", "objective", "told"),
    [
        ({"anchor": ["a"], "positive": ["b"]}, MarginMSE(), "negative is missing"),
        ({**TRIPLES, "negative": ["x"]}, MarginMSE(), "equal length"),
        ({"sentence1": [], "sentence2": []}, Regression(), "at least one row"),
        ({"sentence1": ["a", "b"], "sentence2": ["c", None]}, Regression(), "row 1: sentence2 is None"),
        (TRIPLES, Triplet(), "the data lack no column that"),
        ({**PAIRS, "score": [0.5] * 6}, Regression(), "the data lack no column that"),
    ],
)
def test_bad_rows_are_refused(columns, objective, told, teachers):
    with pytest.raises(BadInput, match=told):
        teacher_outputs(columns, teachers["cross"], objective)


def test_what_parquet_cannot_hold_is_told_before_anything_is_computed(teachers, tmp_path):
    columns = {"sentence1": ["a", "b \ud800"], "sentence2": ["c", "d"]}
    with pytest.raises(BadInput, match="row 1: sentence1 contains half"):
        teacher_outputs(columns, teachers["cross"], Regression(), file=tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=r"expected \.parquet"):
        teacher_outputs(PAIRS, teachers["cross"], Regression(), file=tmp_path / "x.csv")


def test_without_pyarrow_nothing_is_computed_for_a_file(teachers, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(TEACHER_OUTPUTS, "score", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[parquet\]"):
        teacher_outputs(PAIRS, teachers["cross"], CoSENT(), file=tmp_path / "x.parquet")


@pytest.mark.parametrize(("objective", "columns", "name"), CASES, ids=[type(c[0]).__name__ for c in CASES])
@pytest.mark.parametrize("kind", ["embedder", "cross"])
def test_a_teacher_shows_no_progress_of_its_own(kind, objective, columns, name, teachers, monkeypatch, capsys):
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    if kind == "embedder" or name not in ("teacher", "guide"):
        teacher_outputs(columns, teachers[kind], objective, show_progress_bar=False)
        assert capsys.readouterr().err == ""


def test_a_teacher_has_one_score(tiny):
    with pytest.raises(BadInput, match="the teacher has 2 labels; expected a reranker with a single score"):
        teacher_outputs(PAIRS, Reranker.start(tiny, 2), Regression())


def test_a_student_comes_to_say_what_its_teacher_says(teachers, own):
    objective, student = MarginMSE("cosine"), load(own())
    generator = np.random.default_rng(0)
    words = ["cat", "dog", "rain", "mat", "fox", "words"]
    drawn = {name: generator.choice(words, 24).tolist() for name in TRIPLES}
    taught = teacher_outputs(drawn, teachers["embedder"], objective)
    fooled = {**taught, "margin": -np.asarray(taught["margin"])}  # another than the student's own, which it is

    def apart():
        now = teacher_outputs(drawn, student, objective)["margin"]
        return float(np.square(np.asarray(now) - fooled["margin"]).mean())

    before = apart()
    run = TrainSettings(max_steps=40, batch_size=12, learning_rate=2e-3)
    run_trainer(student, [DataSource(read_rows(fooled, objective), objective)], run)
    assert apart() < before / 2


def test_progress_counts_the_rows_of_each_part(teachers):
    seen = []
    teacher_outputs(
        TRIPLES,
        teachers["cross"],
        MarginMSE(),
        part_size=5,
        show_progress_bar=lambda m: seen.append((m.texts, m.total, m.tokens)),
    )
    rows = len(TRIPLES["anchor"])
    assert seen == [(5, rows, 0), (rows, rows, 0)] and rows == 6  # the last part has a single row


def test_parts_are_kept_under_their_first_row_and_size_and_numbers_from_elsewhere_pass_through(
    teachers, tmp_path, monkeypatch
):
    written = []
    real = module._write_parquet
    monkeypatch.setattr(module, "_write_parquet", lambda path, *more: written.append(path.name) or real(path, *more))
    columns = {**PAIRS, "weight": [1.0] * len(PAIRS["sentence1"])}
    found = teacher_outputs(PAIRS, teachers["cross"], CoSENT(), part_size=4, file=tmp_path / "x.parquet")
    assert written == ["000000000-4.parquet", "000000004-4.parquet", "x.parquet"]
    assert list(found) == ["sentence1", "sentence2", "score"] and found["score"].dtype == np.float32
    assert list(teacher_outputs(columns, teachers["cross"], CoSENT())) == ["sentence1", "sentence2", "score"]


COLUMNS = {"anchor": TEXTS[:3], "positive": TEXTS[3:6], "hard": TEXTS[6:9], "hard2": TEXTS[9:12]}


@pytest.mark.parametrize(
    ("objective", "columns"),
    [(Contrastive(), COLUMNS), (Distillation(), {"sentence": TEXTS[:3], "german": TEXTS[3:6]})],
)
def test_a_file_is_complete_training_data_whatever_its_columns_are_called(objective, columns, teachers, tmp_path):
    written = teacher_outputs(columns, teachers["embedder"], objective, file=tmp_path / "x.parquet")
    found = read_rows(tmp_path / "x.parquet", objective)
    assert found.texts == columns and list(found.numbers) == [name for name in written if name not in columns]


def test_a_file_that_has_lost_a_column_of_texts_is_refused_and_one_without_their_names_is_read(teachers, tmp_path):
    pq, file = pytest.importorskip("pyarrow.parquet"), tmp_path / "x.parquet"
    written = teacher_outputs(COLUMNS, teachers["embedder"], Contrastive(), file=file)
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(["hard2"]), file)
    with pytest.raises(BadInput, match="outputs for anchor, positive, hard, hard2, but no column hard2; compute them"):
        read_rows(file, Contrastive())
    metadata = json.loads(table.schema.metadata[module.METADATA_KEY])
    digest = hashlib.sha256(b"{}")
    for name, texts in COLUMNS.items():
        digest.update(f"{name}\0{len(texts)}\0".encode() + "".join(f"{text}\0" for text in texts).encode())
    assert metadata == {
        **{"teacher": teachers["embedder"].fingerprint, "outputs": ["guide"], "similarity": "cosine"},
        **{"computed": str(computation_of(teachers["embedder"]))},
        **{"columns": list(COLUMNS), "texts": digest.hexdigest()},
    }  # as earlier releases wrote it
    del metadata["columns"]
    older = table.replace_schema_metadata({module.METADATA_KEY: json.dumps(metadata)})
    pq.write_table(older, file)
    assert list(read_rows(file, Contrastive()).texts) == list(COLUMNS)
    again = teacher_outputs(COLUMNS, teachers["embedder"], Contrastive(), file=file)
    np.testing.assert_array_equal(again["guide"], written["guide"])


@pytest.mark.parametrize("part_size", [0, -1])
def test_a_part_has_a_row_or_more(part_size, teachers):
    with pytest.raises(BadInput, match=f"part_size is {part_size}; expected a whole number, 1 or more"):
        teacher_outputs(PAIRS, teachers["embedder"], CoSENT(), part_size=part_size)
