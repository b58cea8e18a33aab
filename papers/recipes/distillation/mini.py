"""likewise-mini: our own model, small enough to be bundled, distilled from unlabelled texts.

The student has a few of the backbone's blocks, their most important feed-forward units, and word vectors projected on
their first principal axes. It learns the teacher's vectors; bundle.py stores it in int8.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import layer_norm

from likewise.encoders.architectures.bert import Bert, Embeddings
from likewise.encoders.encoder import Encoder
from likewise.encoders.families import FAMILIES, family_name
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.model_files.names import RECOMMENDED_MODEL

from ..flags import flags
from ..recipe import backbone, start
from .distil import (
    distillation_flags,
    distillation_settings,
    kept,
    read_as_much,
    student_of,
    taught,
    with_blocks,
    with_unit_length,
)
from .more_words import add_words, missing_words, with_more_words, with_rows
from .teacher import load_teacher, principal_axes

MORE_WORDS = 3500
CONFIG_KEY = "intermediate_size"
PLACE = 5  # a typical position; words are narrowed as they appear there


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encode the texts with the teacher; train, evaluate and record the student."""
    parser = flags(__doc__, backbone=RECOMMENDED_MODEL, batch_size=128, learning_rate=2e-3, epochs=1.7)
    parser = with_blocks(distillation_flags(parser), "0,5")
    parser.set_defaults(keep=(0, 5), adam_bias_correction=True)
    parser.add_argument(
        "--words", type=int, default=288, metavar="N", help="dimensions of the word vectors (%(default)s)"
    )
    parser.add_argument(
        "--inner", type=int, default=512, metavar="N", help="units in each feed-forward layer (%(default)s)"
    )
    args = with_more_words(parser, MORE_WORDS).parse_args(argv)
    teacher, whole = load_teacher(args), backbone(args, "mean")
    base = whole.fingerprint
    read_as_much(whole, teacher)
    sources = list(taught(teacher, args, whole.dimension, whole))
    more = missing_words(sources, whole.tokenizer, args.more_words)
    student = with_unit_length(narrowed(kept(whole, args.keep), args.words, args.inner, more))
    shape = {"blocks": args.keep, "words": args.words, "inner": args.inner, "more words": args.more_words}
    settings = distillation_settings(args, warmup_ratio=0.05)
    return student_of("mini", args, teacher, base, **shape).train(student, sources, settings)


@torch.no_grad()
def narrowed(whole: TorchEmbedder, width: int, inner: int, more: Sequence[str] = ()) -> TorchEmbedder:
    """The model with `inner` units in each block's feed-forward layer, word vectors of this width, and no dropout.

    Its vocabulary also contains the words in `more`, which start as the mean of their pieces.
    """
    encoder = prune_inner_units(whole.encoder, inner)
    if not isinstance(encoder, Bert) or family_name(encoder.config) != "bert":
        raise BadInput(f"a {family_name(encoder.config)!r} encoder cannot be narrowed here; expected 'bert'")
    if not 0 < width < encoder.width:
        raise BadInput(f"word vectors with {width} dimensions were requested; expected 1 to {encoder.width - 1}")
    tokenizer, replaced = add_words(whole.tokenizer, more)
    embeddings = narrower(encoder.embeddings, width, replaced)
    config = {
        **encoder.config,
        "model_type": "electra",
        "vocab_size": len(embeddings["words.weight"]),
        "architectures": ["ElectraModel"],
        "embedding_size": width,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    state = {name: tensor for name, tensor in encoder.state_dict().items() if name.startswith("blocks.")}
    state |= {f"embeddings.{name}": tensor for name, tensor in embeddings.items()}
    built = FAMILIES["electra"].build(config)
    built.load_state_dict(state)
    built.config = config
    return TorchEmbedder(tokenizer, built, whole.pooling, whole.heads, whole.manifest).to(whole.device).eval()


def narrower(whole: Embeddings, width: int, replaced: Mapping[int, Sequence[int]]) -> dict[str, Tensor]:
    """Weights of embeddings of this width that, widened, approximate the whole ones; with rows for new tokens.

    The first block's input for each word is projected on its first principal axes; the layer that widens it again is
    a least-squares fit to the result of layer norm on the narrow vectors.
    """
    assert whole.positions is not None  # a BERT's
    words, positions = (table.weight.double().cpu() for table in (whole.words, whole.positions))
    words = with_rows(words, replaced)
    segment = 0 if whole.segments is None else whole.segments.weight[0].double().cpu()
    gain, shift = whole.norm.weight.double().cpu(), whole.norm.bias.double().cpu()
    at = min(PLACE, len(positions) - 1)
    given = words + positions[at] + segment
    x = layer_norm(given, (given.shape[1],)) * gain + shift
    axes = principal_axes(x - x.mean(0))[:, :width]
    narrow = (x - x.mean(0)) @ axes
    scale = narrow.std(1).mean()
    moved = (positions - positions[at]) / given.std(1).mean() * gain @ axes
    normal = layer_norm(narrow, (width,))
    fit = least_squares(torch.cat([normal, torch.ones_like(normal[:, :1])], 1), x)
    result = {
        "words.weight": narrow / scale,
        "positions.weight": moved / scale,
        "norm.weight": torch.ones(width),
        "norm.bias": torch.zeros(width),
        "widen.weight": fit[:-1].T,
        "widen.bias": fit[-1],
    }
    if whole.segments is not None:
        result["segments.weight"] = torch.zeros(len(whole.segments.weight), width)
    return {name: tensor.float().contiguous() for name, tensor in result.items()}


@torch.no_grad()
def prune_inner_units(encoder: Encoder, inner: int) -> Encoder:
    """Build an encoder whose blocks have `inner` units each between their two feed-forward products.

    Each block keeps the units whose weights, in and out, have the largest product of norms. The result differs from the
    encoder, so train it, for example by distillation.
    """
    kind = encoder.config.get("model_type", "")
    if not isinstance(encoder, Bert) or CONFIG_KEY not in encoder.config:
        raise BadInput(f"a {kind!r} encoder has no inner units that can be pruned here; expected 'bert' or 'electra'")
    if isinstance(inner, bool) or not isinstance(inner, int) or not 1 <= inner <= encoder.shape.inner:
        raise BadInput(f"{inner!r} inner units were requested; expected 1 to {encoder.shape.inner}, as in this encoder")
    config = {**encoder.config, CONFIG_KEY: inner}
    state = encoder.state_dict()
    for i in range(len(encoder.blocks)):
        state |= _block(state, f"blocks.{i}.", inner)
    smaller: Encoder = FAMILIES[kind].build(config)
    smaller.load_state_dict(state)
    smaller.config = config
    return smaller.to(next(encoder.parameters()).device).train(encoder.training)


def _block(state: dict[str, Tensor], at: str, inner: int) -> dict[str, Tensor]:
    up, down = state[f"{at}up.weight"], state[f"{at}down.weight"]
    units = (up.norm(dim=1) * down.norm(dim=0)).topk(inner).indices.sort().values
    return {
        f"{at}up.weight": up[units],
        f"{at}up.bias": state[f"{at}up.bias"][units],
        f"{at}down.weight": down[:, units],
    }


def least_squares(a: Float[Tensor, "N I"], b: Float[Tensor, "N O"]) -> Float[Tensor, "I O"]:
    """The x that minimizes ‖a x − b‖, with a ridge, because normalized columns add up to 0 and so are dependent."""
    squares = a.T @ a
    ridge = 1e-6 * squares.diagonal().mean() * torch.eye(len(squares), dtype=a.dtype)
    x: Tensor = torch.linalg.solve(squares + ridge, a.T @ b)
    return x


if __name__ == "__main__":
    start(main)
