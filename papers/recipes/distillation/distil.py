"""Distillation: a student learns a teacher's vectors from unlabelled sentences (Reimers and Gurevych 2020).

The student is the backbone, or only the blocks that `--keep` lists. If it is narrower than the teacher, the teacher's
vectors are projected to its width by uncentred principal components, which best preserve dot products, and rotated
towards the backbone's own vectors.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from likewise.encoders.encoder import UNBOUNDED
from likewise.encoders.layers import without_dropout
from likewise.encoders.prune_layers import prune_layers
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.heads import Normalize
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Distillation
from likewise.train.settings import TrainSettings

from ..flags import count_from, flags, number_up_to, paper_settings
from ..recipe import Recipe, backbone, picked_rows, sample_rows, start
from .changed_texts import CHANGED, changed_texts, near_words
from .near_texts import near_source, near_texts
from .teacher import Teacher, centred, fitted, load_teacher, whitened, with_teacher
from .unlabelled import SOURCES, unlabelled, words

EPSILON = 1e-11
"""Adam's epsilon. Gradients of a mean over 384 squared differences of unit vectors are about 1e-7 per weight, and less
for rare words: with BERT's 1e-6, Adam could no longer equalize the sizes of its steps."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encode the texts with the teacher; train, evaluate and record the student."""
    args = with_blocks(distillation_flags(flags(__doc__, batch_size=128, learning_rate=3e-4))).parse_args(argv)
    teacher, whole = load_teacher(args), backbone(args, "mean")
    base = whole.fingerprint
    read_as_much(whole, teacher)
    student = with_unit_length(kept(whole, args.keep))
    without_dropout(student)  # there are no labels to memorize
    sources = list(taught(teacher, args, student.dimension, whole))
    shape = {} if args.keep is None else {"blocks": args.keep}
    return student_of("distil", args, teacher, base, **shape).train(student, sources, distillation_settings(args))


def distillation_settings(args: Namespace, **more: Any) -> TrainSettings:
    """The paper's optimizer with an epsilon below the gradients of mean squared errors, and without weight decay."""
    return paper_settings(args, adam_epsilon=EPSILON, weight_decay=0.0, **more)


def student_of(name: str, args: Namespace, teacher: Teacher, base: str, **shape: Any) -> Recipe:
    """The recipe for a student of this shape, which is identified by its backbone's fingerprint, `base`."""
    shape |= {"whitened": args.whiten} if args.whiten else {}
    shape |= {f"{name} times": times for name, times in args.repeat.items()}
    shape |= {"changed": args.changed} if args.changed else {}
    shape |= {"near texts": args.near_texts} if args.near_texts else {}
    shape |= {"rotated": args.rotate} if args.rotate else {}
    shape |= {"centred": args.centre} if args.centre else {}
    shape = {key: ",".join(map(str, value)) if isinstance(value, tuple) else value for key, value in shape.items()}
    note = ", ".join([*(f"{key} {value}" for key, value in shape.items()), f"from {teacher.name}"])
    about = {"teacher": teacher.fingerprint, **shape}
    return Recipe(name, args, identity=about, note=note, base=base, learned=teacher.learned, without_test_texts=True)


def with_blocks(parser: ArgumentParser, usual: str = "all") -> ArgumentParser:
    """Add the flag for the blocks that a student keeps."""
    message = f"the backbone's blocks to keep, counted from 0 ({usual})"
    parser.add_argument("--keep", type=_numbers, metavar="N,…", help=message)
    return parser


def distillation_flags(parser: ArgumentParser, whiten: float = 0.0) -> ArgumentParser:
    """Add the flags that distillation recipes share."""
    add = with_teacher(parser, whiten).add_argument
    message = f"data sets whose texts are read ({', '.join(SOURCES)}, without the spaces)"
    add("--sentences", type=names, default=SOURCES, metavar="DATA,…", help=message)
    message = "number of times that each pass reads the texts of a data set (flickr30k_captions/train=4)"
    add("--repeat", type=times, default={}, metavar="DATA=TIMES,…", help=message)
    message = "also read N texts made by changing a few words in others (%(default)s)"
    add("--changed", type=count_from(0), default=0, metavar="N", help=message)
    message = "instead of all texts, learn the vectors and ranking of N texts and their neighbours (%(default)s)"
    add("--near-texts", type=count_from(0), default=0, metavar="N", help=message)
    message = "rotate the teacher's vectors towards the backbone's, if the backbone learned from another teacher"
    add("--rotate", action="store_true", help=message)
    message = "share of the teacher's mean vector to subtract; cosines of unrelated texts get smaller (%(default)s)"
    add("--centre", type=number_up_to(1), default=0.0, metavar="SHARE", help=message)
    return parser


def read_as_much(student: TorchEmbedder, teacher: Teacher) -> None:
    """Let the student read as many tokens as its teacher, or as many as it can, not the paper's 128.

    A table of word vectors, which has no positions, keeps the limit in its folder.
    """
    own = student.manifest.max_seq_length if student.encoder.longest == UNBOUNDED else None
    longest = own or min(teacher.tokenizer.max_seq_length, student.encoder.longest)
    student.tokenizer = replace(student.tokenizer, max_seq_length=longest)


def kept(whole: TorchEmbedder, blocks: Sequence[int] | None) -> TorchEmbedder:
    """The model with only these blocks of its encoder, or all of them, and without prompts."""
    encoder = whole.encoder if blocks is None else prune_layers(whole.encoder, blocks)
    manifest = replace(whole.manifest, prompts={}, default_prompt=None)
    return TorchEmbedder(whole.tokenizer, encoder, whole.pooling, whole.heads, manifest).to(whole.device).eval()


def with_unit_length(student: TorchEmbedder) -> TorchEmbedder:
    """The student with vectors of length 1, like the teacher's, so that it learns only their directions."""
    heads = student.heads
    assert isinstance(heads, nn.Sequential)
    if not any(isinstance(head, Normalize) for head in heads):
        student.heads = nn.Sequential(*heads, Normalize())
    return student


def taught(teacher: Teacher, args: Namespace, width: int, whole: TorchEmbedder) -> Iterator[DataSource]:
    """One source per data set: its texts with the teacher's vectors, encoded once and kept for other students.

    Vectors wider than the student's `width` are projected on their first principal axes and rotated towards `whole`'s;
    so are others with `--rotate`.
    """
    check_repeated(args.repeat, [*args.sentences, *([CHANGED] if args.changed else [])])
    if width > teacher.dimension:
        raise BadInput(f"the student's vectors have {width} dimensions, more than the teacher's {teacher.dimension}")
    found, of_teacher = texts_and_vectors(teacher, args)
    texts = [text for of in found.values() for text in of]
    vectors = whitened(of_teacher, args.whiten) if args.whiten else of_teacher
    vectors = centred(vectors, args.centre) if args.centre else vectors
    if args.rotate or width < teacher.dimension:
        vectors = fitted(vectors, width, texts, whole)
    if args.near_texts:
        often = np.repeat([float(args.repeat.get(name, 1)) for name in found], [*map(len, found.values())])
        count, unchanged = min(args.near_texts, args.rows or args.near_texts), len(texts) - len(found.get(CHANGED, ()))
        yield near_source(near_texts(of_teacher, count, often, unchanged), texts, vectors, of_teacher, [*found])
    else:
        yield from sources_of(found, vectors, args)


def texts_and_vectors(teacher: Teacher, args: Namespace) -> tuple[dict[str, list[str]], np.ndarray]:
    """The texts by data set, changed texts last, and the teacher's vectors for all of them in this order, (T, D)."""
    found = unlabelled(args.sentences, teacher.tokenizer)
    if args.rows is not None and not teacher.knows(found):  # for few rows, not all texts need encoding
        total = sum(map(len, found.values()))
        found = {name: _some(texts, args.rows, total) for name, texts in found.items()}
    made = changed(found, teacher, args.changed) if args.changed else {}
    vectors = [teacher.vectors(texts) for texts in (found, made) if texts]
    return found | made, np.concatenate(vectors)


def sources_of(found: Mapping[str, list[str]], vectors: np.ndarray, args: Namespace) -> Iterator[DataSource]:
    """One source per data set: its texts with their vectors, repeated and sampled as the flags say."""
    objective, rows, begin = Distillation(), {}, 0
    for name, of in found.items():
        one = TrainingRows.of({"sentence": of, "teacher": vectors[begin : begin + len(of)]}, objective)
        rows[name] = picked_rows(one, np.repeat(np.arange(len(of)), args.repeat.get(name, 1)))
        begin += len(of)
    total = sum(map(len, rows.values()))
    for name, one in rows.items():
        share = None if args.rows is None else _share(args.rows, len(one), total)
        if len(one):
            yield DataSource(sample_rows(one, share), objective, name)


def changed(texts: Mapping[str, Sequence[str]], teacher: Teacher, count: int) -> dict[str, list[str]]:
    """Make `count` texts by changing these; the teacher's vectors decide which words are near each other."""
    known = words(teacher.tokenizer)
    near = near_words(known, teacher.encode(known))
    return {CHANGED: changed_texts([text for one in texts.values() for text in one], near, count)}


def check_repeated(repeat: Iterable[str], known: Sequence[str]) -> None:
    """Reject data sets in --repeat that are not read at all."""
    if unknown := [name for name in repeat if name not in known]:
        raise BadInput(f"--repeat names {unknown[0]!r}, which is not read; expected one of {', '.join(known)}")


def _share(rows: int, of: int, total: int) -> int:
    return min(of, max(1, round(rows * of / total)))


def _some(texts: list[str], rows: int, total: int) -> list[str]:
    result = sample_rows(TrainingRows({"sentence": texts}, {}), _share(rows, len(texts), total))
    return list(result.texts["sentence"])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def times(text: str) -> dict[str, int]:
    """The data sets in a comma-separated list DATA=TIMES, with the number of times that each is read."""
    parts = [part.partition("=") for part in text.split(",")]
    if wrong := [name for name, _, times in parts if not re.fullmatch(r"[1-9]\d*", times)]:
        raise ArgumentTypeError(f"{wrong[0]} needs a whole number above 0; expected DATA=TIMES,…")
    return {name: int(times) for name, _, times in parts}


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list."""
    return tuple(text.split(","))


if __name__ == "__main__":
    start(main)
