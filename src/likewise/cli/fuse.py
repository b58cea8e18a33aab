"""likewise fuse: learned dissection. Trains a map over all layers in seconds; may leave the upper blocks out."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadInput
from ..lazy import want_torch

if TYPE_CHECKING:
    from ..embedder import Embedder
    from ..train.depth import Exit
    from ..train.examples import Examples
    from ..train.fusion import Outcome

PAIR, SCORES = ("sentence1", "sentence2"), ("score", "label")
TRIPLET = ("anchor", "positive", "negative")
TEACHER_PAIRS = 4  # a text, of pairs made for a teacher to score
RATED = 256  # texts that speed is measured on


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb and its flags."""
    verb = verbs.add_parser(
        "fuse",
        help="train a map over all layers (the encoder stays as it is), in seconds",
        description="Learned dissection: every text is encoded once, then one linear map over the pooled vectors of "
        "all layers is trained and kept close to plain pooling. What is kept is chosen on held-out pairs; "
        "if nothing helps beyond chance there, the model stays as it was.",
    )
    verb.add_argument("model", help="a model's name or folder")
    verb.add_argument(
        "--pairs",
        type=Path,
        required=True,
        metavar="FILE",
        help=".csv, .tsv, .jsonl or .parquet with the columns sentence1, sentence2, score (or label), or anchor, "
        "positive, negative; or a .txt of texts, a line each, with --teacher",
    )
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the new model goes")
    verb.add_argument("--teacher", metavar="MODEL", help="learn how alike this model finds the texts; no labels needed")
    verb.add_argument(
        "--depth",
        metavar="K|auto",
        help="end after K blocks; auto shows every K and takes the fewest that are not worse beyond chance",
    )
    verb.add_argument("--seed", type=int, default=0, help="of what is held out and in which order is trained (0)")
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, says what it gave on held-out pairs, saves."""
    want_torch("likewise fuse")
    from ..correlation import spearman
    from ..evaluate.significance import difference
    from ..named import embedder_named
    from ..train.depth import exits, smallest
    from ..train.fusion import Recipe, layer_vectors
    from ..train.record import RECORD

    if (args.output / RECORD).exists():
        raise BadInput(f"{args.output} holds a model that was trained, with its record; give another folder")
    embedder = embedder_named(args.model)
    depths = _depths(args.depth, embedder.encoder.depth)
    texts, examples = _examples(args.pairs, args.teacher, args.seed)
    print(f"{len(examples):,} examples of {len(texts):,} distinct texts; encoding each once")
    vectors = layer_vectors(embedder, texts)
    found = []
    for made in exits(
        embedder,
        texts,
        vectors,
        examples,
        depths,
        spearman,
        sure=lambda ours, theirs, gold: difference(ours, theirs, gold).low > 0,
        recipe=Recipe(seed=args.seed),
    ):
        found.append(made)
        _say(made, embedder, texts)
    chosen = smallest(found, lambda a, b: difference(a.fused, b.fused, a.gold).high < 0)
    if len(found) > 1:
        _say_choice(chosen, found)
    chosen.embedder.save(args.output)
    print(f"saved in {args.output}: {chosen.embedder.pooling.spec}, {chosen.embedder.encoder.depth} blocks")
    return 0


def _depths(asked: str | None, depth: int) -> list[int]:
    if asked is None:
        return [depth]
    if asked == "auto":
        return list(range(1, depth + 1))
    if not asked.isdecimal() or not 1 <= int(asked) <= depth:
        raise BadInput(f"--depth is {asked!r}; wanted auto, or 1 to {depth} blocks")
    return [int(asked)]


def _examples(path: Path, teacher: str | None, seed: int) -> tuple[list[str], "Examples"]:
    """The distinct texts of a file, and what is to be learned of them."""
    from ..files import Table
    from ..train.examples import numbered

    if teacher is not None:
        return _taught(path, teacher, seed)
    table = Table.read(path, lambda names: _labelled(names, path))
    *sentences, last = table.columns
    if last in SCORES:
        return numbered([table.texts(name) for name in sentences], table.numbers(last))
    return numbered([table.texts(name) for name in table.columns], None)


def _labelled(names: Sequence[str], path: Path) -> Sequence[str]:
    """The columns that teach: two sentences and how alike they are, or triplets."""
    score = [name for name in SCORES if name in names][:1]
    if score and set(PAIR) <= set(names):
        return [*PAIR, *score]
    if set(TRIPLET) <= set(names):
        return TRIPLET
    raise BadInput(
        f"{path} has the columns {', '.join(names) or '(none)'}; wanted sentence1, sentence2 and score (or label), "
        "or anchor, positive and negative. Texts without labels want --teacher MODEL"
    )


def _taught(path: Path, teacher: str, seed: int) -> tuple[list[str], "Examples"]:
    from ..named import embedder_named
    from ..train.teacher import taught

    texts = list(dict.fromkeys(_texts(path)))
    print(f"{teacher} reads {len(texts):,} texts")
    return texts, taught(embedder_named(teacher).encode(texts), TEACHER_PAIRS * len(texts), seed=seed)


def _texts(path: Path) -> list[str]:
    """All texts of a file, column by column; blank lines between those of a .txt are left out."""
    from ..files import Table, Texts

    if path.suffix.lower() == ".txt":
        return [text for text in Texts(path) if text.strip()]
    table = Table.read(path, lambda names: _unlabelled(names, path))
    return [text for name in table.columns for text in table.texts(name)]


def _unlabelled(names: Sequence[str], path: Path) -> Sequence[str]:
    known = [name for name in ("text", *PAIR, *TRIPLET) if name in names]
    if not known:
        raise BadInput(f"{path} has the columns {', '.join(names)}; a teacher wants text, or columns of sentences")
    return known


def _say(made: "Exit", embedder: "Embedder", texts: list[str]) -> None:
    from ..evaluate.significance import difference, interval
    from ..train.depth import rate

    o: Outcome = made.outcome
    beside = "plain pooling" if made.depth == embedder.encoder.depth else "the whole model imitated, no more"
    some = texts[:: max(1, len(texts) // RATED)][:RATED]
    print(
        f"{made.depth} of {embedder.encoder.depth} blocks: Spearman × 100 on {len(o.gold):,} held-out pairs "
        f"{interval(o.fused, o.gold)}; {beside} {interval(o.plain, o.gold)}; "
        f"gain {difference(o.fused, o.plain, o.gold)}; {rate(made.embedder, some):,.0f} texts/s"
        + ("" if o.strength else "; no gain beyond chance, so that is what is kept")
    )


def _say_choice(chosen: "Exit", found: list["Exit"]) -> None:
    from ..evaluate.significance import difference

    deepest = found[-1].outcome
    lost = difference(chosen.outcome.fused, deepest.fused, deepest.gold)
    print(
        f"taken: {chosen.depth} blocks; beside all of them {lost} on held-out pairs. Text of another kind may lose "
        "more: measure it"
    )
