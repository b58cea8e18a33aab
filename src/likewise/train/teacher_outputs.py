"""A teacher's outputs for rows of texts: the columns that distillation objectives read, computed once and stored.

To distil a cross-encoder into an embedder from the margins between its scores (Hofstätter et al. 2020):

>>> triplets = {"anchor": [...], "positive": [...], "negative": [...]}                           # doctest: +SKIP
>>> teacher, student = Reranker.load("my-cross-encoder"), Embedder.load("my-encoder")            # doctest: +SKIP
>>> objective = MarginMSE("cosine")                                                              # doctest: +SKIP
>>> columns = teacher_outputs(triplets, teacher, objective, file=Path("margins.parquet"))        # doctest: +SKIP
>>> train(student, [DataSource(read_rows(columns, objective), objective)], TrainSettings())      # doctest: +SKIP

The file is complete training data: `likewise train MODEL --data margins.parquet@margin-mse:similarity=cosine`. This
also works for pairs with `Regression` or `CoSENT` (column `score`), for lists of candidates with `ScoreDistillation`
(`scores`), and for single texts with `Distillation` or `SimilarityDistillation` (`teacher`: an embedder's vectors). For
`Contrastive`, the teacher is a guide whose vectors of all texts identify false negatives (Solatorio 2024, GISTEmbed).
`unlabelled_examples` chooses pairs from texts that are not paired.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Float
from ..arrays.similarity import PAIRWISE
from ..embedder import Embedder
from ..engine_registry import computation_of
from ..errors import BadInput
from ..reranker import Reranker
from ..runtime.arguments import whole_number
from ..runtime.atomic_files import atomic_file
from ..runtime.installation import missing_extra
from ..runtime.progress import Progress, show_progress
from .data.batch import text_column
from .data.sources import METADATA_KEY
from .objectives import Objective
from .output.checkpoint import first_difference

Teacher = Embedder | Reranker
Texts = Mapping[str, Sequence[str]]
TeacherOutput = Float[np.ndarray, "N ..."]
Columns = dict[str, Sequence[Any] | np.ndarray]


def teacher_outputs(
    columns: Mapping[str, Sequence[Any]],
    teacher: Teacher,
    objective: Objective,
    *,
    file: Path | None = None,
    part_size: int = 2048,
    show_progress_bar: Progress = None,
) -> Columns:
    """Compute the teacher's outputs that the objective needs; return them with the text columns it reads.

    `score` is a reranker's score or an embedder's cosine. With a reranker, `margin` and `scores` are computed from
    logits, whose differences are more meaningful than differences between scores after a sigmoid. `teacher` holds an
    embedder's vectors of the first column; `guide` holds its vectors of all columns, concatenated.

    Args:
        columns: text columns under the names that the objective expects, and any other numeric columns that it reads.
        teacher: a reranker with one label, or an embedder; texts that are too long are truncated.
        objective: an objective for distillation, or any other that reads `score` or `guide`.
        file: where to save the result (.parquet). If the file exists and was computed from the same texts by the same
            teacher, it is read instead. Parts are saved in FILE.parts, so that an interrupted call can resume.
        part_size: the number of rows computed and saved at a time.
        show_progress_bar: shows progress in rows, as in `Embedder.encode`.
    """
    part_size = whole_number("part_size", part_size)
    if not isinstance(teacher, Embedder | Reranker):
        raise BadInput(f"a {type(teacher).__name__} cannot be a teacher; expected an embedder or a reranker")
    if isinstance(teacher, Reranker) and len(teacher.labels) > 1:
        raise BadInput(f"the teacher has {len(teacher.labels)} labels; expected a reranker with a single score")
    texts, names = _text_columns(columns, objective), _requested_outputs(columns, objective)
    reads = objective.reads()
    numbers = {name: list(columns[name]) for name in (*reads.numbers, *reads.optional) if name in columns}
    if file is not None:
        _check_storable(file, texts)
    metadata = _metadata(texts, numbers, teacher, names)
    if file is not None and file.exists():
        return _read_parquet(file, metadata)
    parts: list[dict[str, np.ndarray]] = []
    rows = len(next(iter(texts.values())))
    with show_progress(show_progress_bar, rows) as advance:
        for start in range(0, rows, part_size):
            part = {name: list(values[start : start + part_size]) for name, values in texts.items()}
            path = None if file is None else _parts_folder(file) / f"{start:09d}-{part_size}.parquet"
            parts.append(_part_outputs(teacher, part, names, path, metadata))
            advance(len(next(iter(part.values()))), 0)
    outputs = {name: np.concatenate([part[name] for part in parts]) for name in names}
    result: Columns = {**{name: list(values) for name, values in texts.items()}, **numbers, **outputs}
    if file is not None:
        _write_parquet(file, result, metadata)
        shutil.rmtree(_parts_folder(file), ignore_errors=True)
    return result


def _part_outputs(
    teacher: Teacher, texts: Texts, names: Sequence[str], path: Path | None, metadata: dict[str, Any]
) -> dict[str, np.ndarray]:
    if path is not None and path.exists():
        return {name: np.asarray(values) for name, values in _read_parquet(path, metadata).items()}
    outputs = {name: np.asarray(TEACHER_OUTPUTS[name](teacher, texts), np.float32) for name in names}
    if path is not None:
        _write_parquet(path, outputs, metadata)
    return outputs


def _score(teacher: Teacher, texts: Texts) -> TeacherOutput:
    first, second = _at_least(texts, 2)[:2]
    if isinstance(teacher, Reranker):
        return teacher.pair_scores(first, second, show_progress_bar=False, overflow="truncate")
    return _cosines(teacher, [first, second])[:, 0]


def _margin(teacher: Teacher, texts: Texts) -> TeacherOutput:
    scores = _scores(teacher, dict(zip(texts, _at_least(texts, 3)[:3], strict=False)))
    return np.asarray(scores[:, 0] - scores[:, 1])


def _scores(teacher: Teacher, texts: Texts) -> Float[np.ndarray, "N P"]:
    """Scores of the first text paired with each of the others, on a scale where differences are meaningful."""
    columns = _at_least(texts, 2)
    if not isinstance(teacher, Reranker):
        return _cosines(teacher, columns)
    first, *others = columns
    pairs = [(a, b) for other in others for a, b in zip(first, other, strict=True)]
    flat = teacher.logits(pairs, show_progress_bar=False, overflow="truncate")[:, 0]
    return flat.reshape(len(others), len(first)).T


def _cosines(teacher: Embedder, columns: Sequence[Sequence[str]]) -> Float[np.ndarray, "N P"]:
    first, *others = _vectors_of(teacher, columns)
    return np.stack([PAIRWISE["cosine"](first, other) for other in others], axis=1)


def _vectors(teacher: Teacher, texts: Texts) -> Float[np.ndarray, "N E"]:
    return _vectors_of(teacher, _at_least(texts, 1)[:1])[0]


def _all_vectors(teacher: Teacher, texts: Texts) -> Float[np.ndarray, "N W"]:
    return np.concatenate(_vectors_of(teacher, _at_least(texts, 2)), axis=1)


def _vectors_of(teacher: Teacher, columns: Sequence[Sequence[str]]) -> list[Float[np.ndarray, "N E"]]:
    """The vectors of each column, encoded in one call."""
    if isinstance(teacher, Reranker):
        raise BadInput(f"a {type(teacher).__name__} returns no text vectors, which this column needs; use an embedder")
    flat = [text for column in columns for text in column]
    return np.split(np.asarray(teacher.encode(flat, show_progress_bar=False, overflow="truncate")), len(columns))


TEACHER_OUTPUTS: dict[str, Callable[[Teacher, Texts], TeacherOutput]] = {
    "score": _score,
    "margin": _margin,
    "scores": _scores,
    "teacher": _vectors,
    "guide": _all_vectors,
}
"""What a teacher can compute, by the name of the column that an objective reads."""


def _at_least(texts: Texts, count: int) -> list[list[str]]:
    if len(texts) < count:
        raise BadInput(f"there are {len(texts)} columns of texts ({', '.join(texts)}); expected {count} or more")
    return [list(column) for column in texts.values()]


def _requested_outputs(columns: Mapping[str, Any], objective: Objective) -> list[str]:
    reads = objective.reads()
    names = [name for name in (*reads.numbers, *reads.optional) if name in TEACHER_OUTPUTS and name not in columns]
    if not names:
        raise BadInput(
            f"the data lack no column that {type(objective).__name__} reads and a teacher can compute "
            f"({', '.join(TEACHER_OUTPUTS)}), so there is nothing to compute"
        )
    return names


def _text_columns(columns: Mapping[str, Sequence[Any]], objective: Objective) -> dict[str, Sequence[str]]:
    reads = objective.reads()
    if missing := [name for name in reads.texts if name not in columns]:
        found = f"{missing[0]} is missing; the data have {', '.join(columns) or 'no columns'}"
        raise BadInput(f"{type(objective).__name__} reads {', '.join(reads.texts)}: {found}")
    numbers = {*reads.numbers, *reads.optional}
    more = [name for name in columns if reads.more_texts and name not in (*reads.texts, *numbers)]
    texts = {name: columns[name] for name in (*reads.texts, *more)}
    sizes = {name: len(values) for name, values in texts.items()}
    if len(set(sizes.values())) > 1 or not any(sizes.values()):
        raise BadInput(f"expected columns of equal length with at least one row; found {sizes}")
    return {name: text_column(name, values) for name, values in texts.items()}


def _metadata(texts: Texts, numbers: Mapping[str, Any], teacher: Teacher, names: Sequence[str]) -> dict[str, Any]:
    """The metadata that identify a file: the teacher, its outputs and the texts."""
    digest = hashlib.sha256(json.dumps(numbers, default=lambda number: np.asarray(number).tolist()).encode())
    for name, values in texts.items():
        digest.update(f"{name}\0{len(values)}\0".encode())
        for text in values:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    fixed = {"label": None} if isinstance(teacher, Reranker) else {"similarity": "cosine"}  # as in older files
    described = {
        "teacher": teacher.fingerprint,
        "outputs": list(names),
        **fixed,
        "computed": str(computation_of(teacher)),
    }
    return {**described, "columns": list(texts), "texts": digest.hexdigest()}


def _parts_folder(file: Path) -> Path:
    return file.with_name(file.name + ".parts")


def _check_storable(file: Path, texts: Texts) -> None:
    if file.suffix.lower() != ".parquet":
        raise BadInput(f"{file} ends in {file.suffix!r}; expected .parquet")
    _pyarrow(file)
    for name, values in texts.items():
        for i, text in enumerate(values):
            try:
                text.encode()
            except UnicodeEncodeError:
                raise BadInput(f"row {i}: {name} contains half of a surrogate pair, which UTF-8 cannot store") from None


def _write_parquet(path: Path, columns: Mapping[str, Any], metadata: dict[str, Any]) -> None:
    pa, pq = _pyarrow(path)
    table = pa.table({name: _arrow_column(pa, values) for name, values in columns.items()})
    table = table.replace_schema_metadata({METADATA_KEY: json.dumps(metadata).encode()})
    with atomic_file(path) as partial:
        pq.write_table(table, partial, compression="zstd")


def _arrow_column(pa: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).ravel()), values.shape[1])
    return pa.array(values)


def _read_parquet(path: Path, metadata: dict[str, Any]) -> Columns:
    pa, pq = _pyarrow(path)
    try:
        table = pq.read_table(path)
        found = json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"null"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}; delete it to compute it again") from None
    if isinstance(found, dict):
        found = {"columns": metadata["columns"], **found}  # older files have only the digest, which covers the names
    if found != metadata:
        differs = first_difference(metadata, found) if isinstance(found, dict) else "it contains no teacher outputs"
        raise BadInput(f"{path} was computed from different inputs: {differs}. Choose another file, or delete it")
    return {name: _numpy_column(pa, table.column(name).combine_chunks()) for name in table.column_names}


def _numpy_column(pa: Any, column: Any) -> Sequence[Any] | np.ndarray:
    if pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.flatten()).reshape(len(column), column.type.list_size)
    return np.asarray(column) if pa.types.is_floating(column.type) else list(column.to_pylist())


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"storing {path.name}") from None
    return pa, pq
