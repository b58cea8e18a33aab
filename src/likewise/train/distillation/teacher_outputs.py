"""What a teacher says of rows of texts: the columns that objectives of distillation read, made once, kept in Parquet.

From a cross-encoder to an embedder, by the margins of its scores (Hofstätter et al. 2020):

>>> triples = {"anchor": [...], "positive": [...], "negative": [...]}                            # doctest: +SKIP
>>> teacher, student = Reranker.load("my-cross-encoder"), Embedder.load("my-encoder")            # doctest: +SKIP
>>> objective = MarginMSE("cosine")                                                              # doctest: +SKIP
>>> taught = lessons(triples, teacher, objective, file=Path("margins.parquet"))                  # doctest: +SKIP
>>> train(student, [Course(rows(taught, objective), objective)], Run(epochs=1))                  # doctest: +SKIP

The file can be trained on by itself: `likewise train MODEL --data margins.parquet@margin-mse:similarity=cosine`.
Pairs and lists go the same way with `Regression` or `CoSENT` (score) and `ScoreDistillation` (scores), texts alone
with `Distillation` or `SimilarityDistillation` (teacher: vectors, of an embedder). Where there are texts and no pairs,
`teacher.taught` chooses some.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ...arrays.similarity import PAIRWISE
from ...embedder import Embedder
from ...errors import BadInput
from ...reranker import Reranker
from ...runtime.atomic_files import atomic_file
from ...runtime.installation import missing_extra
from ...runtime.progress import Progress, show_progress
from ..objectives import Objective
from ..output.checkpoint import first_difference

Teacher = Embedder | Reranker
Texts = Mapping[str, Sequence[str]]
TeacherOutput = Float[np.ndarray, "N ..."]
Columns = dict[str, Sequence[Any] | np.ndarray]
METADATA_KEY = b"likewise"
"""Where a file's schema holds what it was made from."""


@dataclass(frozen=True)
class TeacherRequest:
    """How a teacher is asked: which similarity of an embedder's vectors, which label of a reranker that has several."""

    similarity: str = "cosine"
    label: str | int | None = None


def teacher_outputs(
    columns: Mapping[str, Sequence[Any]],
    teacher: Teacher,
    objective: Objective,
    *,
    file: Path | None = None,
    asked: TeacherRequest | None = None,
    size: int = 2048,
    progress: Progress = None,
) -> Columns:
    """The columns of texts that the objective reads, with what it wants to know of a teacher.

    `score` is a reranker's score or an embedder's similarity; `margin` and `scores` are of a reranker's logits, whose
    differences mean more than those of squeezed scores; `teacher` is an embedder's vectors of the first column.

    Args:
        columns: texts by the names that the objective reads, and numbers of its that the teacher is not asked for.
        teacher: a reranker or an embedder; too long texts are cut.
        objective: of distillation, or any over `score`.
        file: .parquet; where it is there, made of the same texts by the same teacher, it is read and nothing is
            computed. What is done is kept on the way, in FILE.parts, and a call that was interrupted goes on.
        asked: other than by cosine, or of one label of several.
        size: rows at a time.
        progress: of rows; as `Embedder.encode` has it.

    Raises:
        BadInput: a column is missing or no text, the objective wants nothing that a teacher says, the teacher cannot
            say it, or the file holds something else.
    """
    asked = asked or TeacherRequest()
    if not isinstance(teacher, Embedder | Reranker):
        raise BadInput(f"a {type(teacher).__name__} cannot teach; wanted an embedder or a reranker")
    texts, wanted = _text_columns(columns, objective), _requested_outputs(columns, objective)
    rows = len(next(iter(texts.values())))
    kept = {name: list(columns[name]) for name in objective.reads().numbers if name in columns}
    given = {name: list(values) for name, values in texts.items()}
    if file is not None:
        _check_storable(file, texts)
    about = _metadata(texts, kept, teacher, wanted, asked)
    if file is not None and file.exists():
        return _read_parquet(file, about)
    found: list[dict[str, np.ndarray]] = []
    with show_progress(progress, rows) as advance:
        for start in range(0, rows, size):
            part = {name: values[start : start + size] for name, values in given.items()}
            place = None if file is None else _parts_folder(file) / f"{start:09d}-{size}.parquet"
            if place is not None and place.exists():
                said = {name: np.asarray(values) for name, values in _read_parquet(place, about).items()}
            else:
                said = {name: np.asarray(TEACHER_OUTPUTS[name](teacher, part, asked), np.float32) for name in wanted}
                if place is not None:
                    _write_parquet(place, said, about)
            found.append({name: said[name] for name in wanted})
            advance(len(next(iter(part.values()))), 0)
    whole: Columns = {**given, **kept, **{name: np.concatenate([part[name] for part in found]) for name in wanted}}
    if file is not None:
        _write_parquet(file, whole, about)
        shutil.rmtree(_parts_folder(file), ignore_errors=True)
    return whole


def _score(teacher: Teacher, texts: Texts, asked: TeacherRequest) -> TeacherOutput:
    first, second = _at_least(texts, 2)[:2]
    if isinstance(teacher, Embedder):
        return _similarities(teacher, [first, second], asked)[:, 0]
    return teacher.score(first, second, label=asked.label, progress=False, overflow="truncate")


def _margin(teacher: Teacher, texts: Texts, asked: TeacherRequest) -> TeacherOutput:
    found = _scores(teacher, dict(zip(range(3), _at_least(texts, 3), strict=False)), asked)
    return np.asarray(found[:, 0] - found[:, 1])


def _scores(teacher: Teacher, texts: Mapping[Any, Sequence[str]], asked: TeacherRequest) -> Float[np.ndarray, "N P"]:
    """Of the first text with each of the others."""
    first, *others = _at_least(texts, 2)
    if isinstance(teacher, Embedder):
        return _similarities(teacher, [first, *others], asked)
    pairs = [(a, b) for other in others for a, b in zip(first, other, strict=True)]
    if len(teacher.labels) == 1:
        flat = teacher.logits(pairs, progress=False, overflow="truncate")[:, 0]
    else:  # the logarithm of a softmax is as good as its logits
        chances = teacher.score(pairs, label=asked.label, progress=False, overflow="truncate")
        flat = np.log(np.maximum(chances, np.finfo(np.float32).tiny))
    return flat.reshape(len(others), len(first)).T


def _vectors(teacher: Teacher, texts: Texts, asked: TeacherRequest) -> Float[np.ndarray, "N E"]:  # noqa: ARG001
    if not isinstance(teacher, Embedder):
        raise BadInput(f"a {type(teacher).__name__} has no vectors of texts; an embedder has (the column teacher)")
    return teacher.encode(_at_least(texts, 1)[0], progress=False, overflow="truncate")


TEACHER_OUTPUTS: dict[str, Callable[[Teacher, Texts, TeacherRequest], TeacherOutput]] = {
    "score": _score,
    "margin": _margin,
    "scores": _scores,
    "teacher": _vectors,
}
"""What a teacher can say, by the columns that objectives read."""


def _similarities(
    teacher: Embedder, columns: Sequence[Sequence[str]], asked: TeacherRequest
) -> Float[np.ndarray, "N P"]:
    if asked.similarity not in PAIRWISE:
        raise BadInput(f"there is no similarity {asked.similarity!r}; there are {', '.join(PAIRWISE)}")
    flat = [text for column in columns for text in column]
    first, *others = np.split(np.asarray(teacher.encode(flat, progress=False, overflow="truncate")), len(columns))
    return np.stack([PAIRWISE[asked.similarity](first, other) for other in others], axis=1)


def _at_least(texts: Mapping[Any, Sequence[str]], least: int) -> list[list[str]]:
    if len(texts) < least:
        raise BadInput(
            f"there are {len(texts)} columns of texts ({', '.join(map(str, texts))}); wanted {least} or more"
        )
    return [list(column) for column in texts.values()]


def _requested_outputs(columns: Mapping[str, Any], objective: Objective) -> list[str]:
    reads = objective.reads()
    found = [name for name in (*reads.numbers, *reads.optional) if name in TEACHER_OUTPUTS and name not in columns]
    if not found:
        numbers = ", ".join((*reads.numbers, *reads.optional)) or "no numbers"
        raise BadInput(
            f"{type(objective).__name__} reads {numbers}, and the data have {', '.join(columns)}: there is nothing to "
            f"ask a teacher for; one says {', '.join(TEACHER_OUTPUTS)}"
        )
    return found


def _text_columns(columns: Mapping[str, Sequence[Any]], objective: Objective) -> dict[str, Sequence[str]]:
    """The columns of texts that the objective reads, checked."""
    reads = objective.reads()
    lacking = [name for name in reads.texts if name not in columns]
    if lacking:
        told = f"{type(objective).__name__} reads {', '.join(reads.texts)}"
        raise BadInput(f"{told}, and the data have {', '.join(columns) or 'no columns'}: {lacking[0]} is missing")
    numbers = {*reads.numbers, *reads.optional}
    more = [name for name in columns if reads.more_texts and name not in (*reads.texts, *numbers)]
    found = {name: columns[name] for name in (*reads.texts, *more)}
    sizes = {name: len(values) for name, values in found.items()}
    if len(set(sizes.values())) > 1 or not any(sizes.values()):
        raise BadInput(f"columns of one length, at least a row, were wanted; found {sizes}")
    for name, values in found.items():
        bad = next((i for i, value in enumerate(values) if not isinstance(value, str)), None)
        if bad is not None:
            raise BadInput(f"row {bad}: {name} is {values[bad]!r}; wanted a text")
    return found


def _metadata(
    texts: Texts, kept: Mapping[str, Any], teacher: Teacher, wanted: Sequence[str], asked: TeacherRequest
) -> dict[str, Any]:
    """What a file is known by."""
    made = hashlib.sha256(json.dumps(kept, default=_to_python).encode())
    for name, values in texts.items():
        made.update(f"{name}\0{len(values)}\0".encode())
        for text in values:
            made.update(text.encode("utf-8", "surrogatepass") + b"\0")
    how = {"similarity": asked.similarity} if isinstance(teacher, Embedder) else {"label": asked.label}
    return {"teacher": teacher.fingerprint, "says": list(wanted), **how, "texts": made.hexdigest()}


def _to_python(number: Any) -> Any:
    """NumPy's numbers as Python's."""
    return np.asarray(number).tolist()


def _parts_folder(file: Path) -> Path:
    return file.with_name(file.name + ".parts")


def _check_storable(file: Path, texts: Texts) -> None:
    """Refuses what cannot be kept, before anything is computed."""
    if file.suffix.lower() != ".parquet":
        raise BadInput(f"{file} ends in {file.suffix!r}; wanted .parquet")
    _pyarrow(file)
    for name, values in texts.items():
        for i, text in enumerate(values):
            if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
                raise BadInput(f"row {i}: {name} holds half of a surrogate pair, which Parquet's UTF-8 cannot hold")


def _write_parquet(path: Path, columns: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    pa, pq = _pyarrow(path)
    table = pa.table({name: _arrow_column(pa, values) for name, values in columns.items()})
    table = table.replace_schema_metadata({METADATA_KEY: json.dumps(about).encode()})
    with atomic_file(path) as partial:
        pq.write_table(table, partial, compression="zstd")


def _arrow_column(pa: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).ravel()), values.shape[1])
    return pa.array(values)


def _read_parquet(path: Path, about: Mapping[str, Any]) -> Columns:
    """The columns of a file that was made of just this.

    Raises:
        BadInput: it was made of something else.
    """
    pa, pq = _pyarrow(path)
    try:
        table = pq.read_table(path)
        found = json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"null"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}; take it away, and it is made anew") from None
    if found != dict(about):
        differs = first_difference(dict(about), found) if isinstance(found, dict) else "no lessons are in it"
        raise BadInput(f"{path} was made of something else: {differs}. Give another file, or take it away")
    return {name: _numpy_column(pa, table.column(name).combine_chunks()) for name in table.column_names}


def _numpy_column(pa: Any, column: Any) -> Sequence[Any] | np.ndarray:
    if pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.flatten()).reshape(-1, column.type.list_size)
    return np.asarray(column) if pa.types.is_floating(column.type) else list(column.to_pylist())


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"keeping {path.name}") from None
    return pa, pq
