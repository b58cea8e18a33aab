"""Distillation: a student is to have a teacher's vectors, from sentences alone (Reimers and Gurevych 2020).

The student is the backbone, or those of its blocks that `--keep` names. Where it is not as wide as the teacher, the
teacher's vectors are brought to its width by principal components (`--to pca`, without centring, so that what is kept
best are dot products), or a map to the teacher's width is trained along and left behind (`--to map`).
"""

import hashlib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from likewise import Embedder
from likewise.encoders.cut import cut
from likewise.errors import BadInput
from likewise.heads import Normalize
from likewise.named import embedder_named
from likewise.store import DEFAULT
from likewise.train.batch import Rows
from likewise.train.lessons import lessons
from likewise.train.objectives import Distillation
from likewise.train.schedule import Course

from .recipe import Recipe, backbone, flags, run_of, some, start
from .unlabelled import SOURCES, unlabelled

LESSONS = Path("out") / "lessons"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encodes with the teacher, trains, measures, records."""
    args = with_teacher(flags(__doc__, batch=128, rate=3e-4)).parse_args(argv)
    teacher = teacher_of(args)
    student = still(unit(kept(backbone(args, "mean"), args.keep)))
    objective, width = fitting(student, teacher, args.to)
    courses = list(taught(teacher, args, objective, width))
    blocks = "" if args.keep is None else f"{len(args.keep)} blocks ({','.join(map(str, args.keep))}), "
    note = f"{blocks}from {args.teacher}"
    about = {"student": student.fingerprint, "teacher": teacher.fingerprint}
    return Recipe("distil", args, about=about, note=note).carry_out(student, courses, run_of(args))


def with_teacher(parser: ArgumentParser) -> ArgumentParser:
    """What recipes that distil are told besides."""
    add = parser.add_argument
    add("--teacher", default=DEFAULT, metavar="MODEL", help="whose vectors are learned (%(default)s)")
    add("--keep", type=_numbers, metavar="N,…", help="blocks of the backbone that the student keeps, from 0")
    add("--to", choices=("pca", "map"), default="pca", help="how widths are made to fit (%(default)s)")
    add("--sentences", type=_names, default=SOURCES, metavar="DATA,…", help="whose texts are read (%(default)s)")
    return parser


def teacher_of(args: Namespace) -> Embedder:
    """In bf16, whose vectors have a cosine of 0.9999 with those of fp32, at twice the speed."""
    return embedder_named(args.teacher, precision="bf16", device=args.device)


def kept(whole: Embedder, blocks: Sequence[int] | None) -> Embedder:
    """The model with these blocks of its encoder alone."""
    if blocks is None:
        return whole
    made = Embedder(whole.tokenizer, cut(whole.encoder, blocks), whole.pooling, whole.heads, whole.manifest)
    return made.to(whole.device).eval()


def unit(student: Embedder) -> Embedder:
    """The student with vectors of length 1, as the teachers' are: what is learned is their direction."""
    if not any(isinstance(head, Normalize) for head in student.heads):
        student.heads = nn.Sequential(*student.heads, Normalize())
    return student


def still(student: Embedder) -> Embedder:
    """The student without dropout, here and now: no label is there to be learned by heart. Its config stays."""
    for module in student.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.0
    return student


def fitting(student: Embedder, teacher: Embedder, how: str) -> tuple[Distillation, int | None]:
    """The objective, and the width that the teacher's vectors are to be projected to, if any."""
    if student.width == teacher.width:
        return Distillation(), None
    if how == "map":
        return Distillation(teacher.width), None
    if student.width > teacher.width:
        raise BadInput(f"the student has {student.width} numbers and the teacher {teacher.width}: wanted --to map")
    return Distillation(), student.width


def taught(teacher: Embedder, args: Namespace, objective: Distillation, width: int | None = None) -> Iterator[Course]:
    """The texts with the teacher's vectors, a course a data set; encoded once, and kept for other students."""
    found = unlabelled(args.sentences, teacher)
    texts = [text for one in found.values() for text in one]
    known = hashlib.sha256("\0".join((teacher.fingerprint, *texts)).encode()).hexdigest()[:12]
    file = LESSONS / f"{Path(args.teacher).name}-{known}.parquet"
    said: Mapping[str, Any] = lessons({"sentence": texts}, teacher, Distillation(), file=file)
    vectors = np.asarray(said["teacher"])
    vectors = vectors if width is None else principal(vectors, width)
    whole, begin = len(texts), 0
    for name, of in found.items():
        rows = Rows.of({"sentence": of, "teacher": vectors[begin : begin + len(of)]}, objective)
        begin += len(of)
        share = None if args.rows is None else max(1, round(args.rows * len(of) / whole))
        yield Course(some(rows, share), objective, name)


def principal(vectors: np.ndarray, width: int) -> np.ndarray:
    """The vectors in their first `width` principal axes about the origin, (N, width) float32."""
    found = torch.from_numpy(vectors)
    return (found @ principal_axes(found)[:, :width]).numpy()


def principal_axes(x: Float[Tensor, "N D"]) -> Float[Tensor, "D D"]:
    """Columns of unit length, that along which x has the largest sum of squares first."""
    squares = x.T @ x
    axes: Tensor = torch.linalg.eigh(squares.double())[1].flip(1)
    return axes.to(x.dtype).contiguous()


def eight_bits(folder: Path) -> None:
    """The model of the folder once more inside it, in `int8`, with its weights so."""
    Embedder.load(folder, device="cpu").save(folder / "int8", weights="int8")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    start(main)
