"""likewise-static: a table of word pieces whose weighted mean approximates a teacher's vector, without attention.

It starts from the teacher's vector for each piece alone, projected on the first principal axes (as in Model2Vec,
Tulkens and van Dongen 2024), and then learns from sentences; bundle.py stores it in int8. A piece's weight is the
length of its row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from likewise.arrays.ragged import Ragged
from likewise.encoders.families import FAMILIES
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.heads import Dense, Normalize
from likewise.model_files import Manifest
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.pooling import Reduce

from ..flags import flags
from ..recipe import backbone, placed, start
from .distil import distillation_flags, distillation_settings, student_of, taught
from .more_words import add_words, missing_words, with_more_words
from .teacher import load_teacher, principal_axes

MORE_WORDS = 10_000
WHITEN = 0.2
LONGEST = 4096
"""Maximum number of tokens read per text; there is no reason to read fewer."""
RARE = 1e-3
"""a in a / (a + 1 / rank), the initial weight of a piece by its rarity; WordPiece ids roughly follow frequency."""
AT_ONCE = 4096


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encode the texts with the teacher; train, evaluate and record the student."""
    parser = flags(__doc__, backbone=RECOMMENDED_MODEL, batch_size=512, learning_rate=1e-3, epochs=1)
    parser = distillation_flags(parser, whiten=WHITEN)
    parser.set_defaults(adam_bias_correction=True)
    parser.add_argument(
        "--words", type=int, default=288, metavar="N", help="dimensions of the word-piece vectors (%(default)s)"
    )
    args = with_more_words(parser, MORE_WORDS).parse_args(argv)
    teacher, whole = load_teacher(args), backbone(args)
    sources = list(taught(teacher, args, whole.dimension, whole))
    more = missing_words(sources, whole.tokenizer, args.more_words)
    base, student = whole.fingerprint, placed(word_piece_table(whole, args.words, more), args)
    student.tokenizer = replace(student.tokenizer, max_seq_length=LONGEST)
    shape = {"words": args.words, "more words": args.more_words}
    settings = distillation_settings(args, warmup_ratio=0.05)
    return student_of("static", args, teacher, base, **shape).train(student, sources, settings)


@torch.no_grad()
def word_piece_table(model: TorchEmbedder, width: int, more: Sequence[str] = ()) -> TorchEmbedder:
    """A table for the model's tokenizer and `more` words: the model's vector for each, on `width` principal axes."""
    tokenizer, replaced = add_words(model.tokenizer, more)
    vectors = alone(model, replaced)
    if not 0 < width <= vectors.shape[1]:
        raise BadInput(f"--words is {width}; expected 1 to {vectors.shape[1]}, the model's dimension")
    axes = principal_axes(vectors)[:, :width]
    rank = torch.arange(1, len(vectors) + 1)
    rank[list(replaced)] = len(vectors)
    rare = RARE / (RARE + 1 / rank)
    config = {"model_type": "words", "vocab_size": len(vectors), "hidden_size": width}
    encoder = FAMILIES["words"].build(config)
    encoder.load_state_dict({"table.weight": vectors @ axes * rare[:, None]})
    encoder.config = config
    widen = Dense(width, vectors.shape[1], bias=False, activation="Identity")
    widen.linear.weight.copy_(axes)
    manifest = Manifest(encoder=model.manifest.encoder)
    heads = nn.Sequential(widen, Normalize())
    return TorchEmbedder(tokenizer, encoder, Reduce.parse("mean"), heads, manifest).eval()


def alone(model: TorchEmbedder, replaced: Mapping[int, list[int]]) -> Float[Tensor, "V E"]:
    """The model's vector for each token id (or the pieces that a new token replaces), between special tokens only."""
    count = max(model.tokenizer.vocabulary, *(i + 1 for i in replaced), 0)
    ids = [model.tokenizer.with_special_tokens(replaced.get(i, [i])) for i in range(count)]
    parts = [ids[i : i + AT_ONCE] for i in range(0, len(ids), AT_ONCE)]
    return torch.cat([model(Ragged.of(part, model.device)).float().cpu() for part in parts])


if __name__ == "__main__":
    start(main)
