"""Learned fusion: encodes every text once, then trains one linear map over the pooled vectors of all layers,
regularized towards plain pooling. The result is chosen on held-out pairs; without a significant gain on them, the model
keeps its original pooling.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.lazy_imports import require_torch
from ...wording import counted
from ..model_options import new_model_folder
from ..parser import options
from ..sources import check_new_folder, column_names

if TYPE_CHECKING:
    from ...engines.torch.torch_embedder import TorchEmbedder
    from ...evaluate.statistics.significance import Interval
    from ...model_files.provenance import Provenance
    from ...train.data.examples import Examples
    from ...train.layers.early_exit import ExitResult

PAIR = ("sentence1", "sentence2")
TRIPLET = ("anchor", "positive", "negative")
TEACHER_PAIRS = 4  # pairs that a teacher scores for each text
SPEED_SAMPLE = 256  # texts for measuring speed
LEGEND = """fused     Spearman × 100 of the fused model on held-out pairs, with a 95 % interval
baseline  the same for plain pooling or, if blocks were removed, for the remaining blocks imitating the whole model
gain      fused minus baseline; if its interval contains 0, the baseline is saved instead
texts/s   encoding speed on this machine"""
EPILOG = """examples:
  likewise model fuse all-MiniLM-L6-v2 --pairs pairs.csv -o tuned/
  likewise model fuse MODEL --pairs faq.csv --columns anchor=question,positive=answer,negative=other -o tuned/
  likewise model fuse MODEL --pairs sts.tsv --columns sentence1=a,sentence2=b,score=similarity/5 --depth auto -o small/
  likewise model fuse MODEL --pairs texts.txt --teacher all-MiniLM-L6-v2 -o taught/

output columns:
""" + textwrap.indent(LEGEND, "  ")

CARD = """---
pipeline_tag: sentence-similarity
tags:
- sentence-similarity
- feature-extraction
- likewise
---

# {name}

A sentence encoder: `{model}` with a learned fusion of its layers, trained by `likewise model fuse` on
{examples:,} examples with {texts:,} distinct texts from {source}. The encoder's weights are
unchanged; the model has {blocks} and the pooling `{pooling}`.

## Use

```python
from likewise import Embedder, similarity

embedder = Embedder.load("{name}")  # the folder with this file
vectors = embedder.encode(["A cat sleeps.", "A kitten naps.", "Shares fell."])
print(similarity.cosine(vectors, vectors))
```

## Scores

Spearman × 100 with 95 % intervals on {held_out:,} held-out pairs, whose sentences do not occur in the training data.
The settings were chosen on these pairs, so the gain on new text may be smaller.{kept}

| fused | baseline | gain |
|---|---|---|
| {fused} | {baseline} | {gain} |

The baseline is plain pooling or, if blocks were removed, the remaining blocks imitating the whole model.
"""
"""The model card, README.md."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", "a model's name or folder")
    pairs = ".csv, .tsv, .jsonl or .parquet file, or the name of a data set, with the columns sentence1, sentence2, "
    pairs += "score (or label), or anchor, positive, negative; with --teacher also a .txt file with one text per line"
    add("--pairs FILE", pairs, required=True)
    add("--columns NAME=COLUMN,…", "map columns with other names: anchor=question,positive=answer")
    add("--where CONDITION", "use only rows that satisfy this condition: label==1")
    add("-o --output FOLDER", "folder for the new model", type=new_model_folder, required=True)
    add("--teacher MODEL", "learn the similarities that this model assigns to pairs of the texts; needs no labels")
    depth = "keep the first N blocks; auto tries every N and keeps the fewest blocks that are not significantly worse"
    add("--depth N|auto", f"{depth} (default: all blocks)")
    add("--seed N", "seed for the held-out pairs and the training order", 0)
    add("--json", "print the results as JSON; all other output goes to stderr")


def run(args: argparse.Namespace) -> int:
    require_torch("likewise model fuse")
    from ...model_names import load_torch_embedder

    check_new_folder(args.output, args.model)
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        embedder = load_torch_embedder(args.model)
        record = _fuse(args, embedder, _depths(args.depth, embedder.encoder.depth))
    if args.json:
        print(json.dumps(record, default=asdict, indent=2))
    return 0


def _fuse(args: argparse.Namespace, embedder: "TorchEmbedder", depths: Sequence[int]) -> dict[str, Any]:
    from ...model_files.provenance import readable_provenance, write_provenance

    texts, examples, known = read_examples(args)
    print(f"{counted(len(examples), 'example')} with {counted(len(texts), 'distinct text')}; encoding each text once")
    exits, scores = _try_depths(args, embedder, depths, texts, examples)
    chosen, loss = _choose(exits)
    best = chosen.embedder
    record = {
        **{name: getattr(args, name) for name in ("model", "pairs", "teacher")},
        "output": str(args.output),
        "examples": len(examples),
        "texts": len(texts),
        "tried": scores,
        "blocks": chosen.depth,
        "difference_to_deepest": loss,
        "pooling": best.pooling.spec,
    }
    best.save(args.output)
    write_provenance(args.output, readable_provenance(embedder).after(known.trained_on, known.less_tests))
    _write_card(args.output, record, scores[exits.index(chosen)])
    print(f"saved in {args.output}: {best.pooling.spec}, {counted(chosen.depth, 'block')}; README.md is its model card")
    return record


def _try_depths(
    args: argparse.Namespace, embedder: "TorchEmbedder", depths: Sequence[int], texts: list[str], examples: "Examples"
) -> "tuple[list[ExitResult], list[dict[str, Any]]]":
    """A fused model and its scores for each depth, printed as soon as they are computed."""
    from ...train.layers.early_exit import try_exits
    from ...train.layers.fusion_training import FusionSettings, layer_vectors

    vectors = layer_vectors(embedder, texts)
    exits, scores = [], []
    for result in try_exits(embedder, texts, vectors, examples, depths, FusionSettings(seed=args.seed)):
        exits.append(result)
        scores.append(_exit_scores(result, texts))
        _print_exit(scores[-1], embedder.encoder.depth)
    print("\n" + LEGEND + "\n")
    return exits, scores


def _choose(exits: "Sequence[ExitResult]") -> "tuple[ExitResult, Interval | None]":
    """The earliest exit that is not significantly worse than the deepest one, and the difference between the two."""
    from ...evaluate.statistics.significance import difference
    from ...train.layers.early_exit import smallest_exit

    chosen = smallest_exit(exits)
    if len(exits) == 1:
        return chosen, None
    loss = difference(chosen.result.fused, exits[-1].result.fused, chosen.result.gold)
    print(
        f"chosen: {counted(chosen.depth, 'block')}; difference from all blocks {loss} on held-out pairs. Other kinds "
        "of text may lose more: measure with `likewise evaluate`"
    )
    return chosen, loss


def _depths(depth: str | None, blocks: int) -> list[int]:
    if depth is None:
        return [blocks]
    if depth == "auto":
        return list(range(1, blocks + 1))
    if not depth.isdecimal() or not 1 <= int(depth) <= blocks:
        raise BadInput(f"--depth is {depth!r}; expected auto, or 1 to {blocks} blocks")
    return [int(depth)]


def read_examples(args: argparse.Namespace) -> tuple[list[str], "Examples", "Provenance"]:
    """The distinct texts in a file or data set, its labelled examples, and the named data sets that they come from."""
    from ...data.datasets import file_path
    from ...model_files.provenance import UNKNOWN_PROVENANCE
    from ...train.data.examples import deduplicated
    from ..train.build import data_source
    from ..train.config import DataOptions

    columns = tuple(args.columns.split(",")) if args.columns else ()
    known = UNKNOWN_PROVENANCE if file_path(args.pairs) else UNKNOWN_PROVENANCE.after([args.pairs])
    if args.teacher is not None:
        return _teacher_examples(_texts(args.pairs, columns, args.where), args, known)
    objective, renamed = _objective(args.pairs, columns)
    source = data_source(DataOptions(args.pairs, objective, renamed, where=args.where))
    rows = source.rows
    scores = rows.numbers.get("score")  # type: ignore[union-attr]  # a file is not a stream
    texts = [*rows.texts.values()]  # type: ignore[union-attr]
    return *deduplicated(texts, None if scores is None else scores.tolist()), known


def _objective(name: str, columns: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The objective that fits the columns, and the names of the columns that it needs: scored pairs or triplets."""
    present = column_names(name)
    renamed = {name.strip(): column for name, _, column in (one.partition("=") for one in columns)}
    known = {*present, *renamed}
    if {*PAIR, "score"} <= known:
        return "cosent", columns
    if {*PAIR, "label"} <= known:
        return "cosent", (*columns, f"score={renamed.get('label', 'label')}")
    if set(TRIPLET) <= known:
        return "triplet", columns
    raise BadInput(
        f"{name} has the columns {', '.join(present) or '(none)'}; expected sentence1, sentence2 and score (or label), "
        "or anchor, positive and negative. If the columns have other names, use --columns anchor=question,…; "
        "for texts without labels, use --teacher MODEL"
    )


def _texts(name: str, columns: tuple[str, ...], where: str | None) -> list[str]:
    """The distinct texts in all columns of texts of a file or data set, without blank ones."""
    from ...data.column_names import ColumnNames, named_data
    from ...data.datasets import columns_of
    from ...data.leaks import text_columns
    from ...train.data.batch import text_column

    values, places = columns_of(name)
    with named_data(name, places, values, where):
        renamed = ColumnNames.parse(columns, where=where).rename(values)
        checked = [text_column(column, renamed[column], allow_blank=True) for column in text_columns(renamed)]
    return list(dict.fromkeys(text for column in checked for text in column if text.strip()))


def _teacher_examples(
    texts: list[str], args: argparse.Namespace, known: "Provenance"
) -> tuple[list[str], "Examples", "Provenance"]:
    from ...model_files.provenance import readable_provenance
    from ...model_names import load_torch_embedder
    from ...train.data.examples import unlabelled_examples

    print(f"{args.teacher} encodes {counted(len(texts), 'text')}")
    teacher = load_torch_embedder(args.teacher)
    examples = unlabelled_examples(teacher.encode(texts), TEACHER_PAIRS * len(texts), seed=args.seed)
    return texts, examples, readable_provenance(teacher).after(known.trained_on)


def _exit_scores(trained: "ExitResult", texts: list[str]) -> dict[str, Any]:
    """The scores at one depth: Spearman on held-out pairs with intervals, and encoding speed."""
    from ...evaluate.statistics.significance import difference, interval
    from ...train.layers.early_exit import texts_per_second

    result = trained.result
    sample = texts[:: max(1, len(texts) // SPEED_SAMPLE)][:SPEED_SAMPLE]
    return {
        "blocks": trained.depth,
        "held_out": len(result.gold),
        "fused": interval(result.fused, result.gold),
        "baseline": interval(result.baseline, result.gold),
        "gain": difference(result.fused, result.baseline, result.gold),
        "kept_baseline": not result.regularization,
        "texts_per_second": texts_per_second(trained.embedder, sample),
    }


def _print_exit(scores: Mapping[str, Any], blocks: int) -> None:
    note = "; no significant gain, so the baseline is kept" if scores["kept_baseline"] else ""
    print(
        f"{scores['blocks']} of {counted(blocks, 'block')}, {counted(scores['held_out'], 'held-out pair')}: fused "
        f"{scores['fused']}; baseline {scores['baseline']}; gain {scores['gain']}; "
        f"{scores['texts_per_second']:,.0f} texts/s{note}"
    )


def _write_card(folder: Path, record: Mapping[str, Any], scores: Mapping[str, Any]) -> None:
    from ...runtime.atomic_files import atomic_file

    source = f"the similarities of `{record['teacher']}`" if record["teacher"] else f"`{Path(record['pairs']).name}`"
    kept = " The gain was not significant, so the baseline was kept." if scores["kept_baseline"] else ""
    words = {"blocks": counted(scores["blocks"], "block"), "name": folder.resolve().name}
    card = CARD.format(**{**record, **scores, **words, "source": source, "kept": kept})
    with atomic_file(folder / "README.md") as partial:
        partial.write_text(card, "utf-8")
