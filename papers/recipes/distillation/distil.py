"""Distillation: a student is to have a teacher's vectors, from sentences alone (Reimers and Gurevych 2020).

The student is the backbone, or those of its blocks that `--keep` names. Where it is not as wide as the teacher, the
teacher's vectors are brought to its width by principal components (`--to pca`, without centring, so that what is kept
best are dot products) and turned towards the backbone's own vectors, or a map to the teacher's width is trained along
and left behind (`--to map`).
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from torch import nn

from likewise.embedder import Embedder
from likewise.encoders.encoder import UNBOUNDED
from likewise.encoders.layers import without_dropout
from likewise.encoders.prune_inner_units import prune_inner_units
from likewise.encoders.prune_layers import prune_layers
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.heads import Normalize
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Distillation, Objective, SimilarityDistillation, Weighted
from likewise.train.settings import TrainSettings

from ..flags import flags, paper_settings
from ..recipe import Recipe, backbone, picked_rows, sample_rows, start
from .changed_texts import CHANGED, changed_texts, near_words, with_changed_texts
from .near_texts import near_source, near_texts, with_near_texts
from .teachers import Teachers, fitted, whitened, with_teachers
from .unlabelled import SOURCES, is_question, texts_from, unlabelled, words

EPSILON = 1e-11
"""Adam's. Gradients of a mean over 384 squared differences of unit vectors are about 1e-7 a weight, and less where a
word is rare: BERT's 1e-6 would all but stop Adam from making steps of equal size."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encode with the teacher, train, evaluate, record."""
    parser = with_blocks(with_teacher(flags(__doc__, batch_size=128, learning_rate=3e-4)))
    parser.add_argument("--inner", type=int, metavar="N", help="units of an inner layer that stay (all)")
    args = parser.parse_args(argv)
    teachers, whole = Teachers.of(args), backbone(args, "mean")
    base = whole.fingerprint
    read_as_much(whole, teachers)
    student = with_unit_length(kept(whole, args.keep, args.inner))
    without_dropout(student)  # no label is there to be learned by heart
    objective, width = fitting(student, teachers, args)
    sources = list(taught(teachers, args, objective, width, whole))
    pruned = {"blocks": args.keep, "inner": args.inner}
    shape = {name: value for name, value in pruned.items() if value is not None}
    recipe = student_of("distil", args, teachers, base, **shape)
    return recipe.train(student, sources, distillation_settings(args))


def distillation_settings(args: Namespace, **more: Any) -> TrainSettings:
    """The paper's optimizer with an epsilon below the gradients of mean squared errors, and without weight decay."""
    return paper_settings(args, adam_epsilon=EPSILON, weight_decay=0.0, **more)


def student_of(name: str, args: Namespace, teachers: Teachers, base: str, **shape: Any) -> Recipe:
    """The recipe of a student of this shape; it is known by what it was made of, the backbone's fingerprint `base`."""
    shape |= {"learns": args.learn} if args.learn != "vectors" else {}
    shape |= {"without": args.without} if args.without else {}
    shape |= {"whitened": args.whiten} if args.whiten else {}
    shape |= {"second share": args.second_share} if args.second_teacher else {}
    shape |= {"questions": args.questions} if args.questions is not None else {}
    shape |= {f"{name} times": times for name, times in args.repeat.items()}
    shape |= {"all questions": True} if args.all_questions else {}
    shape |= {"changed": args.changed} if args.changed else {}
    shape |= {"near texts": args.near_texts} if args.near_texts else {}
    shape = {key: ",".join(map(str, value)) if isinstance(value, tuple) else value for key, value in shape.items()}
    note = ", ".join([*(f"{key} {value}" for key, value in shape.items()), f"from {teachers.title}"])
    about = {**teachers.identity(), "to": args.to, **shape}
    return Recipe(name, args, identity=about, note=note, base=base, learned=teachers.learned, without_test_texts=True)


def with_blocks(parser: ArgumentParser, usual: str = "all") -> ArgumentParser:
    """Which blocks a student keeps."""
    message = f"blocks of the backbone that stay, from 0 ({usual})"
    parser.add_argument("--keep", type=_numbers, metavar="N,…", help=message)
    return parser


def with_teacher(parser: ArgumentParser, whiten: float = 0.0) -> ArgumentParser:
    """What recipes that distil are told besides."""
    add = with_teachers(parser, whiten).add_argument
    message = "the teacher's vectors, its similarities within a batch, or both (%(default)s)"
    add("--learn", choices=tuple(LEARNT), default="vectors", help=message)
    add("--to", choices=("pca", "map"), default="pca", help="how widths are made to fit (%(default)s)")
    message = f"whose texts are read ({', '.join(SOURCES)}, without the spaces)"
    add("--sentences", type=_names, default=SOURCES, metavar="DATA,…", help=message)
    message = "leave out texts of these data, or of these origins in their column `source` (wordnet)"
    add("--without", type=_names, default=(), metavar="ORIGIN,…", help=message)
    message = "share of texts that end in a question mark, to be had by leaving out others (as many as there are)"
    add("--questions", type=float, metavar="SHARE", help=message)
    message = "how many times a pass reads the texts of a data set, or what part of them (flickr30k_captions/train=4)"
    add("--repeat", type=_times, default={}, metavar="DATA=TIMES,…", help=message)
    message = "where --repeat asks for a part, read all texts that end in a question mark, and the part of the others"
    add("--all-questions", action="store_true", help=message)
    return with_near_texts(with_changed_texts(parser))


def read_as_much(student: TorchEmbedder, teachers: Teachers) -> None:
    """Let the student read as many tokens as each of its teachers, or as it can; not the paper's 128.

    What has no positions, a table of words, reads what its folder says.
    """
    own = student.manifest.max_length if student.encoder.longest == UNBOUNDED else None
    longest = own or min(*(model.tokenizer.max_length for model in teachers.models), student.encoder.longest)
    student.tokenizer = replace(student.tokenizer, max_length=longest)


def kept(whole: TorchEmbedder, blocks: Sequence[int] | None, inner: int | None = None) -> TorchEmbedder:
    """The model with these blocks of its encoder alone, and so many inner units of each."""
    if blocks is None and inner is None:
        return whole
    encoder = whole.encoder if blocks is None else prune_layers(whole.encoder, blocks)
    encoder = encoder if inner is None else prune_inner_units(encoder, inner)
    built = TorchEmbedder(whole.tokenizer, encoder, whole.pooling, whole.heads, whole.manifest)
    return built.to(whole.device).eval()


def with_unit_length(student: TorchEmbedder) -> TorchEmbedder:
    """The student with vectors of length 1, as the teachers' are: what is learned is their direction."""
    heads = student.heads
    assert isinstance(heads, nn.Sequential)
    if not any(isinstance(head, Normalize) for head in heads):
        student.heads = nn.Sequential(*heads, Normalize())
    return student


def fitting(student: TorchEmbedder, teachers: Teachers, args: Namespace) -> tuple[Objective, int | None]:
    """The objective, and the width that the teachers' vectors are to be projected to, if any."""
    if args.near_texts and (args.learn != "vectors" or args.to == "map" or args.questions is not None):
        raise BadInput("--near-texts goes with --learn vectors and --to pca alone, and without --questions")
    if student.width == teachers.width or args.learn == "similarities":
        return LEARNT[args.learn](None), None
    if args.to == "map":
        return LEARNT[args.learn](teachers.width), None
    if student.width > teachers.width:
        raise BadInput(f"the student has {student.width} numbers and the teacher {teachers.width}: expected --to map")
    return LEARNT[args.learn](None), student.width


SIMILARITIES_SHARE = 0.1
"""The weight of similarities beside vectors: their mean squared errors are then about as large."""
LEARNT: dict[str, Callable[[int | None], Objective]] = {
    "vectors": Distillation,
    "similarities": lambda _: SimilarityDistillation("mse"),
    "both": lambda width: Weighted([Distillation(width), SimilarityDistillation("mse")], [1, SIMILARITIES_SHARE]),
}
"""What a student learns of its teacher's vectors, to the objective; its argument is the teacher's width, for a map."""


def taught(
    teachers: Teachers, args: Namespace, objective: Objective, width: int | None, whole: TorchEmbedder
) -> Iterator[DataSource]:
    """The texts with the teachers' vectors, a course a data set; encoded once, and kept for other students.

    A width makes them fit: their first principal axes, turned towards the vectors of the backbone, `whole`.
    """
    left_out = texts_from(args.sentences, args.without)  # first, since a wrong name is to be told before the encoding
    check_repeated(args)
    found, teacher = texts_and_vectors(teachers, args)
    texts = [text for of in found.values() for text in of]
    vectors = whitened(teacher, args.whiten) if args.whiten else teacher
    if width is not None:
        vectors = fitted(vectors, width, texts, whole)
    if args.near_texts:
        often = np.repeat([max(1.0, args.repeat.get(name, 1)) for name in found], [*map(len, found.values())])
        count, unchanged = min(args.near_texts, args.rows or args.near_texts), len(texts) - len(found.get(CHANGED, ()))
        near = near_texts(teacher, count, often, unchanged)
        yield near_source(near, texts, vectors, teacher, names=[*found], left_out=left_out)
    else:
        yield from sources_of(found, vectors, args, objective, left_out)


def texts_and_vectors(teachers: Teachers, args: Namespace) -> tuple[dict[str, list[str]], np.ndarray]:
    """The texts by their data set, changed ones last, and the teachers' vectors of all, in this order; (T, D)."""
    found = unlabelled(args.sentences, teachers.first)
    if args.rows is not None and not teachers.known(found):  # so few need not wait for all
        total = sum(map(len, found.values()))
        found = {name: _some(texts, args.rows, total) for name, texts in found.items()}
    made = changed(found, teachers.first, args.changed) if args.changed else {}
    found, made = (parts(one, args.repeat, all_questions=args.all_questions) for one in (found, made))
    vectors = teachers.lessons(found)
    return (found | made, np.concatenate([vectors, teachers.lessons(made)])) if made else (found, vectors)


def sources_of(
    found: Mapping[str, list[str]],
    vectors: np.ndarray,
    args: Namespace,
    objective: Objective,
    left_out: Collection[str],
) -> Iterator[DataSource]:
    """A course a data set: its texts with their vectors, as often and as many as the flags say."""
    rows, begin = {}, 0
    for name, of in found.items():
        rows[name] = TrainingRows.of({"sentence": of, "teacher": vectors[begin : begin + len(of)]}, objective)
        begin += len(of)
    if left_out:
        rows = {name: _less(one, left_out) for name, one in rows.items()}
    if args.questions is not None:
        rows = with_questions(rows, args.questions)
    rows |= {name: repeated(rows[name], times) for name, times in args.repeat.items() if times > 1}
    total = sum(map(len, rows.values()))
    for name, one in rows.items():
        share = None if args.rows is None else _share(args.rows, len(one), total)
        if len(one):
            yield DataSource(sample_rows(one, share), objective, name)


def changed(texts: Mapping[str, Sequence[str]], teacher: Embedder, count: int) -> dict[str, list[str]]:
    """So many texts that are made of these; words near each other are so by the teacher's vectors."""
    known = words(teacher)
    near = near_words(known, np.asarray(teacher.encode(known, progress=False)))
    return {CHANGED: changed_texts([text for one in texts.values() for text in one], near, count)}


def _less(rows: TrainingRows, texts: Collection[str]) -> TrainingRows:
    return picked_rows(rows, [i for i, text in enumerate(rows.texts["sentence"]) if text not in texts])


def check_repeated(args: Namespace) -> None:
    """Only what is read can be read again."""
    known = [*args.sentences, *([CHANGED] if args.changed else [])]
    if unknown := [name for name in args.repeat if name not in known]:
        raise BadInput(f"--repeat names {unknown[0]!r}, which is not read; expected {', '.join(known)}")


def parts(texts: Mapping[str, list[str]], times: Mapping[str, float], *, all_questions: bool) -> dict[str, list[str]]:
    """Of the data that are read less than once, so large a part by chance: the teachers need not encode the rest.

    With `all_questions` every text that ends in a question mark stays, and the part is that of the others.
    """
    result = {}
    for name, of in texts.items():
        stays = np.random.default_rng(0).random(len(of)) < times.get(name, 1)
        if all_questions:
            stays |= np.array([is_question(text) for text in of], bool)
        result[name] = [*compress(of, stays)]
    return result


def repeated(rows: TrainingRows, times: float) -> TrainingRows:
    """Each row as many times as `times` says, and one time more by the chance that is its fraction."""
    counts = np.floor(times + np.random.default_rng(0).random(len(rows))).astype(int)
    return picked_rows(rows, np.repeat(np.arange(len(rows)), counts))


def with_questions(rows: Mapping[str, TrainingRows], share: float) -> dict[str, TrainingRows]:
    """All texts that end in a question mark, and of the others so many, by chance, that those have this share.

    Raises:
        BadInput: no share, or one that the texts cannot be given by leaving some out.
    """
    asks = {name: np.array([is_question(text) for text in of.texts["sentence"]], bool) for name, of in rows.items()}
    questions, total = (int(sum(of)) for of in (map(np.sum, asks.values()), map(len, asks.values())))
    if not questions or not questions / total <= share < 1:
        raise BadInput(
            f"a share of {share:g} questions, and {questions:,} of the {total:,} texts end in a question mark; "
            f"expected {questions / max(total, 1):.3f} or more, and less than 1"
        )
    stay = questions * (1 / share - 1) / max(total - questions, 1)
    chance = np.random.default_rng(0)
    return {
        name: picked_rows(of, np.flatnonzero(asks[name] | (chance.random(len(of)) < stay))) for name, of in rows.items()
    }


def _share(rows: int, of: int, total: int) -> int:
    """How many of so many rows are of a source."""
    return min(of, max(1, round(rows * of / total)))


def _some(texts: list[str], rows: int, total: int) -> list[str]:
    result = sample_rows(TrainingRows({"sentence": texts}, {}), _share(rows, len(texts), total))
    return list(result.texts["sentence"])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _times(text: str) -> dict[str, float]:
    parts = [part.partition("=") for part in text.split(",")]
    if wrong := [name for name, _, times in parts if not re.fullmatch(r"\d+(\.\d+)?", times) or float(times) == 0]:
        raise ArgumentTypeError(f"{wrong[0]} has no number above 0: expected DATA=TIMES,…")
    return {name: float(times) for name, _, times in parts}


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    start(main)
