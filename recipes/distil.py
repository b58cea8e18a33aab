"""Distillation: a small model is to have a large one's vectors, from sentences alone (Reimers and Gurevych 2020).

The student is the teacher itself with the blocks that `--keep` names, or another model (`--student`). Where it is not
as wide, the teacher's vectors are brought to its width by principal components (`--to pca`, without centring, so that
what is kept best are dot products), or a map to the teacher's width is trained along and left behind (`--to map`).
"""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise import Embedder
from likewise.encoders.cut import cut
from likewise.errors import BadInput
from likewise.store.files import atomic
from likewise.train.batch import Rows
from likewise.train.objectives import Distillation
from likewise.train.schedule import Course
from likewise.train.sources import digest

from .recipe import Recipe, backbone, flags, folder_of, run_of, sentences, start


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encodes with the teacher, trains, measures, records."""
    parser = flags(__doc__, batch=64, rate=1e-4)
    parser.add_argument("--keep", metavar="N,…", help="blocks of the teacher that the student keeps, from 0")
    parser.add_argument("--student", metavar="MODEL", help="another model in its place")
    parser.add_argument("--to", choices=("pca", "map"), default="pca", help="how widths are made to fit (%(default)s)")
    parser.add_argument("--sentences", metavar="DATA", default="nli/train", help="whose texts are read (%(default)s)")
    args = parser.parse_args(argv)
    if (args.keep is None) == (args.student is None):
        raise BadInput("a student is wanted: --keep 0,2,4 or --student MODEL, one of them")
    teacher = backbone(args)
    student = _student(args)
    texts = sentences(args.sentences, args)
    vectors = _taught(teacher, texts, folder_of("distil", args))
    width = None
    if student.width != teacher.width and args.to == "map":
        width = teacher.width
    elif student.width < teacher.width:
        vectors = principal(vectors, student.width)
    elif student.width > teacher.width:
        raise BadInput(f"the student has {student.width} numbers and the teacher {teacher.width}: wanted --to map")
    objective = Distillation(width)
    course = Course(Rows.of({**texts.texts, "teacher": vectors}, objective), objective, args.sentences)
    recipe = Recipe("distil", args, about={"student": student.fingerprint, "keep": args.keep})
    return recipe.carry_out(student, [course], run_of(args))


def _student(args: Namespace) -> Embedder:
    if args.student:
        return backbone(args, name=args.student)
    whole = backbone(args)
    encoder = cut(whole.encoder, [int(block) for block in args.keep.split(",")])
    made = Embedder(whole.tokenizer, encoder, whole.pooling, whole.heads, whole.manifest)
    return made.to(whole.device)


def _taught(teacher: Embedder, texts: Rows, folder: Path) -> np.ndarray:
    """The teacher's vectors, kept in the folder for when the run goes on."""
    place = folder / f"teacher-{teacher.fingerprint[:12]}-{digest(texts)[:12]}.npy"
    if not place.exists():
        vectors = teacher.encode(texts.texts["sentence"], overflow="truncate")
        with atomic(place) as partial:
            np.save(partial, vectors)
    found: np.ndarray = np.load(place, mmap_mode="r")
    return found


def principal(vectors: np.ndarray, width: int) -> np.ndarray:
    """The vectors in their first `width` principal axes about the origin, (N, width) float32."""
    axes = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)[1][:, ::-1]
    return np.ascontiguousarray(vectors @ axes[:, :width].astype(np.float32))


if __name__ == "__main__":
    start(main)
