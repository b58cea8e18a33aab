"""likewise-static: a table of word pieces whose weighted mean is to be a teacher's vector; nothing looks around.

It begins with the teacher's vector of each piece alone, in its first principal axes (as Model2Vec does, Tulkens and van
Dongen 2024), then learns from sentences; bundle.py stores it in eight bits. A piece's weight is the
length of its row.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...arrays.ragged import Ragged
from ...encoders.families import FAMILIES
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...heads import Dense, Normalize
from ...model_files import Manifest
from ...model_files.names import RECOMMENDED_MODEL
from ...pooling import Reduce
from ..recipe import backbone, flags, paper_settings, placed, start
from .distil import fitting, principal_axes, student_of, taught, teacher_of, with_teacher

LONGEST = 4096
"""Tokens read of a text, for want of a reason to read fewer."""
RARE = 1e-3
"""a in a / (a + 1 / rank): pieces begin weighed by how rare they are, and ids of WordPiece follow frequency roughly."""
AT_ONCE = 4096


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encode with the teacher, train, evaluate, record."""
    parser = with_teacher(flags(__doc__, backbone=RECOMMENDED_MODEL, batch_size=512, learning_rate=5e-3, epochs=4))
    parser.set_defaults(adam_bias_correction=True)
    parser.add_argument("--words", type=int, default=256, metavar="N", help="numbers of a piece's vector (%(default)s)")
    args = parser.parse_args(argv)
    teacher = teacher_of(args)
    whole = backbone(args)
    base, student = whole.fingerprint, placed(word_piece_table(whole, args.words), args)
    student.tokenizer = replace(student.tokenizer, max_length=LONGEST)
    objective, width = fitting(student, teacher, args)
    sources = list(taught(teacher, args, objective, width))
    settings = paper_settings(args, warmup_ratio=0.05, weight_decay=0.0)
    return student_of("static", args, teacher, base, words=args.words).train(student, sources, settings)


@torch.no_grad()
def word_piece_table(model: TorchEmbedder, width: int) -> TorchEmbedder:
    """A table for the model's tokenizer: its vector of each piece alone, in their first `width` principal axes."""
    vectors = alone(model)
    if not 0 < width <= vectors.shape[1]:
        raise BadInput(f"--words is {width}; expected 1 to {vectors.shape[1]}, the numbers of {model.width}")
    axes = principal_axes(vectors)[:, :width]
    rare = RARE / (RARE + 1 / torch.arange(1, len(vectors) + 1))
    config = {"model_type": "words", "vocab_size": len(vectors), "hidden_size": width}
    encoder = FAMILIES["words"].build(config)
    encoder.load_state_dict({"table.weight": vectors @ axes * rare[:, None]})
    encoder.config = config
    widen = Dense(width, vectors.shape[1], bias=False, activation="Identity")
    widen.linear.weight.copy_(axes)
    manifest = Manifest(encoder=model.manifest.encoder)
    heads = nn.Sequential(widen, Normalize())
    return TorchEmbedder(model.tokenizer, encoder, Reduce.parse("mean"), heads, manifest).eval()


def alone(model: TorchEmbedder) -> Float[Tensor, "V E"]:
    """The model's vector of each id of its tokenizer, alone between the special ones."""
    ids = [model.tokenizer.with_special_tokens([i]) for i in range(model.tokenizer.vocabulary)]
    parts = [ids[i : i + AT_ONCE] for i in range(0, len(ids), AT_ONCE)]
    return torch.cat([model(Ragged.of(part, model.device)).float().cpu() for part in parts])


if __name__ == "__main__":
    start(main)
