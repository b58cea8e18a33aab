"""Adds a linear layer to a finished student: it rotates vectors to their principal axes and partially whitens them.

    python -m papers.recipes.distillation.evened out/small -o out/likewise-small

Vectors learned from E5 have cosines from 0.5 to 1, because all of them share one direction; after whitening, their
cosines spread almost as widely as those of other models. Since dimensions follow the order of the principal axes, the
first k dimensions are the best k to keep (`truncate_dim`). Nothing is trained: the layer is computed from vectors of
training texts.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.heads import Dense, Normalize
from likewise.runtime.untrusted_files import read_object
from likewise.train.output.record import RECORD

from ..recipe import start
from .teacher import evened
from .unlabelled import SOURCES, unlabelled

POWER = 0.15
TEXTS = 10_000
"""Number of texts whose vectors give the axes."""


def main(argv: Sequence[str] | None = None) -> Path:
    """Write the model with its new layer, and the run's record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="the folder to write")
    parser.add_argument("--sentences", nargs="+", default=SOURCES, metavar="DATA", help="data sets (%(default)s)")
    message = "how much the axes are evened out: 0 only turns the vectors to them, 0.5 whitens (%(default)g)"
    parser.add_argument("--power", type=float, default=POWER, help=message)
    args = parser.parse_args(argv)
    made: Path = args.out
    record = read_object(args.run / RECORD)
    if not record:
        raise BadInput(f"{args.run} has no {RECORD}, so it is not a finished run")
    student = TorchEmbedder.load(args.run, device="cpu")
    texts = [text for of in unlabelled(args.sentences, student.tokenizer).values() for text in of]
    with_layer(student, texts[:: max(1, len(texts) // TEXTS)], args.power).save(made)
    record["recipe"] += f", evened by {args.power:g}"
    record["model"]["heads"] = [type(head).__name__ for head in student.heads.children()]
    (made / RECORD).write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return made


@torch.no_grad()
def with_layer(student: TorchEmbedder, texts: Sequence[str], power: float) -> TorchEmbedder:
    """The student itself, with the layer (after its own, if it has one) between its pooling and its normalization."""
    vectors = torch.from_numpy(student.encode(texts, overflow="truncate", show_progress_bar=False))
    axes, scales = evened(vectors, power)
    weight = (axes * scales).T / scales.max()
    for head in student.heads.children():
        if isinstance(head, Dense) and head.linear.bias is None and isinstance(head.activation, nn.Identity):
            weight = weight @ head.linear.weight  # evened before: one layer for both
        elif not isinstance(head, Normalize):
            raise BadInput(f"the student has the head {head}; expected linear layers without bias, and Normalize")
    layer = Dense(weight.shape[1], student.dimension, bias=False, activation="Identity")
    layer.linear.weight.copy_(weight)
    student.heads = nn.Sequential(layer, Normalize())
    return student


if __name__ == "__main__":
    start(main)
