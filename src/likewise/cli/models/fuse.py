"""likewise fuse: learned dissection. Trains a map over all layers in seconds; may leave the upper blocks out."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.atomic_files import check_not_input, check_writable_folder
from ...runtime.lazy_imports import require_torch
from ..model_options import output_folder
from ..sources import model_folders

if TYPE_CHECKING:
    from ...engines.torch.torch_embedder import TorchEmbedder
    from ...evaluate.statistics.significance import Interval
    from ...train.data.examples import Examples
    from ...train.layers.early_exit import ExitResult

PAIR, SCORES = ("sentence1", "sentence2"), ("score", "label")
TRIPLET = ("anchor", "positive", "negative")
TEACHER_PAIRS = 4  # a text, of pairs made for a teacher to score
SPEED_SAMPLE = 256  # texts that speed is measured on


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
    verb.add_argument(
        "-o", "--output", type=output_folder, required=True, metavar="FOLDER", help="where the new model goes"
    )
    verb.add_argument("--teacher", metavar="MODEL", help="learn how alike this model finds the texts; no labels needed")
    verb.add_argument(
        "--depth",
        metavar="K|auto",
        help="end after K blocks; auto shows every K and takes the fewest that are not worse beyond chance",
    )
    verb.add_argument("--seed", type=int, default=0, help="of what is held out and in which order is trained (0)")
    verb.add_argument("--json", action="store_true", help="print what was found as JSON; all else goes to stderr")
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, says what it gave on held-out pairs, saves."""
    require_torch("likewise fuse")
    from ...model_names import load_torch_embedder
    from ...train.output.record import RECORD

    check_not_input(args.output, model_folders(args.model))
    check_writable_folder(args.output)
    if (args.output / RECORD).exists():
        raise BadInput(f"{args.output} holds a model that was trained, with its record; give another folder")
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        embedder = load_torch_embedder(args.model)
        depths = _depths(args.depth, embedder.encoder.depth)
        found = _fused(args, embedder, depths)
    if args.json:
        print(json.dumps(found, default=asdict, indent=2))
    return 0


def _fused(args: argparse.Namespace, embedder: "TorchEmbedder", depths: Sequence[int]) -> dict[str, Any]:
    """The record of what was tried; the chosen model is saved."""
    from ...arrays.correlation import spearman
    from ...evaluate.statistics.significance import difference
    from ...train.layers.early_exit import smallest_exit, try_exits
    from ...train.layers.fusion_training import FusionSettings, layer_vectors

    texts, examples = _examples(args.pairs, args.teacher, args.seed)
    print(f"{len(examples):,} examples of {len(texts):,} distinct texts; encoding each once")
    vectors = layer_vectors(embedder, texts)
    found, told = [], []
    for made in try_exits(
        embedder,
        texts,
        vectors,
        examples,
        depths,
        spearman,
        sure=lambda ours, theirs, gold: difference(ours, theirs, gold).low > 0,
        recipe=FusionSettings(seed=args.seed),
    ):
        found.append(made)
        told.append(_exit_scores(made, texts))
        _print_exit(told[-1], embedder.encoder.depth)
    chosen = smallest_exit(found, lambda a, b: difference(a.fused, b.fused, a.gold).high < 0)
    lost = None
    if len(found) > 1:
        lost = difference(chosen.outcome.fused, found[-1].outcome.fused, chosen.outcome.gold)
        _print_choice(chosen.depth, lost)
    best = chosen.embedder
    best.save(args.output)
    print(f"saved in {args.output}: {best.pooling.spec}, {best.encoder.depth} blocks")
    return {
        "model": args.model,
        "output": str(args.output),
        "examples": len(examples),
        "texts": len(texts),
        "tried": told,
        "blocks": chosen.depth,
        "beside_the_deepest": lost,
        "pooling": best.pooling.spec,
    }


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
    from ...files import Table
    from ...train.data.examples import deduplicated

    if teacher is not None:
        return _teacher_examples(path, teacher, seed)
    table = Table.read(path, lambda names: _labelled(names, path))
    *sentences, last = table.columns
    if last in SCORES:
        return deduplicated([table.texts(name) for name in sentences], table.numbers(last))
    return deduplicated([table.texts(name) for name in table.columns], None)


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


def _teacher_examples(path: Path, teacher: str, seed: int) -> tuple[list[str], "Examples"]:
    from ...model_names import load_torch_embedder
    from ...train.distillation.unlabelled_examples import unlabelled_examples

    texts = list(dict.fromkeys(_texts(path)))
    print(f"{teacher} reads {len(texts):,} texts")
    return texts, unlabelled_examples(load_torch_embedder(teacher).encode(texts), TEACHER_PAIRS * len(texts), seed=seed)


def _texts(path: Path) -> list[str]:
    """All texts of a file, column by column; blank lines between those of a .txt are left out."""
    from ...files import Table, Texts

    if path.suffix.lower() == ".txt":
        return [text for text in Texts(path) if text.strip()]
    table = Table.read(path, lambda names: _unlabelled(names, path))
    return [text for name in table.columns for text in table.texts(name)]


def _unlabelled(names: Sequence[str], path: Path) -> Sequence[str]:
    known = [name for name in ("text", *PAIR, *TRIPLET) if name in names]
    if not known:
        raise BadInput(f"{path} has the columns {', '.join(names)}; a teacher wants text, or columns of sentences")
    return known


def _exit_scores(made: "ExitResult", texts: list[str]) -> dict[str, Any]:
    """What a depth gave: Spearman on held-out pairs with intervals, and its speed.

    Unfused is plain pooling; of fewer blocks than there are, the whole model imitated.
    """
    from ...evaluate.statistics.significance import difference, interval
    from ...train.layers.early_exit import texts_per_second

    o = made.outcome
    some = texts[:: max(1, len(texts) // SPEED_SAMPLE)][:SPEED_SAMPLE]
    return {
        "blocks": made.depth,
        "held_out": len(o.gold),
        "fused": interval(o.fused, o.gold),
        "unfused": interval(o.plain, o.gold),
        "gain": difference(o.fused, o.plain, o.gold),
        "kept_unfused": not o.strength,
        "texts_per_second": texts_per_second(made.embedder, some),
    }


def _print_exit(told: Mapping[str, Any], blocks: int) -> None:
    beside = "plain pooling" if told["blocks"] == blocks else "the whole model imitated, no more"
    print(
        f"{told['blocks']} of {blocks} blocks: Spearman × 100 on {told['held_out']:,} held-out pairs {told['fused']}; "
        f"{beside} {told['unfused']}; gain {told['gain']}; {told['texts_per_second']:,.0f} texts/s"
        + ("; no gain beyond chance, so that is what is kept" if told["kept_unfused"] else "")
    )


def _print_choice(depth: int, lost: "Interval") -> None:
    print(
        f"taken: {depth} blocks; beside all of them {lost} on held-out pairs. Text of another kind may lose more: "
        "measure it"
    )
