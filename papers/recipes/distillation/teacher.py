"""The vectors that students learn: a teacher's, computed once, whitened and projected to fit a student."""

import hashlib
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from likewise.embedder import Embedder
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.model_names import load_torch_embedder
from likewise.train.objectives import Distillation
from likewise.train.teacher_outputs import teacher_outputs

from ..recipe import named_shortly

LESSONS = Path("out") / "lessons"
TURNED_BY = 10_000
"""Number of texts used to align a teacher's vectors with a backbone's."""
LEAST_SQUARE = 1e-6
"""An axis along which unit vectors have a smaller mean square than this is noise, and is not amplified further."""


def with_teacher(parser: ArgumentParser, whiten: float = 0.0) -> ArgumentParser:
    """Add the flags for the teacher and for the changes to its vectors before they are learned."""
    add = parser.add_argument
    add("--teacher", default=RECOMMENDED_MODEL, metavar="MODEL", help="model whose vectors are learned (%(default)s)")
    message = "the teacher's precision; int8 needs a folder from `likewise model quantize` (%(default)s)"
    add("--teacher-precision", choices=("bf16", "fp32", "int8"), default="bf16", help=message)
    message = "even out the teacher's principal axes: 0 leaves them, 0.5 whitens its vectors (%(default)g)"
    add("--whiten", type=_whitening, default=whiten, metavar="POWER", help=message)
    return parser


def _whitening(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 0.5:
        raise ArgumentTypeError(f"{text} is not a power from 0 to 0.5")
    return value


def load_teacher(args: Namespace) -> Embedder:
    """Load the teacher, by default in bf16: twice as fast as fp32, with cosines of 0.9999 between their vectors.

    Int8 is for processors without bf16: three times as fast as fp32, with cosines of 0.998.
    """
    if args.teacher_precision == "int8":
        return Embedder.load(args.teacher, engine="native", precision="int8")
    return load_torch_embedder(args.teacher, precision=args.teacher_precision, device=args.device)


def teacher_vectors(name: str, teacher: Embedder, texts: Mapping[str, Sequence[str]]) -> Float[np.ndarray, "N D"]:
    """The teacher's vectors for these texts, encoded once and kept."""
    columns = {"sentence": [text for one in texts.values() for text in one]}
    found = teacher_outputs(columns, teacher, Distillation(), file=known_vectors(name, teacher, texts))
    return np.asarray(found["teacher"], np.float32)


def known_vectors(name: str, teacher: Embedder, found: Mapping[str, Sequence[str]]) -> Path:
    """The file in which this teacher's vectors for these texts are kept."""
    texts = "\0".join(text for one in found.values() for text in one)
    known = hashlib.sha256(f"{teacher.fingerprint}\0{texts}".encode()).hexdigest()[:12]
    return LESSONS / f"{named_shortly(name)}-{known}.parquet"


def fitted(vectors: np.ndarray, width: int, texts: Sequence[str], whole: Embedder) -> np.ndarray:
    """The texts' vectors on their first `width` principal axes, rotated towards the backbone's; (N, width), length 1.

    A student that starts as the backbone then has less to learn.
    """
    some = range(0, len(texts), max(1, len(texts) // TURNED_BY))
    own = whole.encode([texts[i] for i in some], overflow="truncate", show_progress_bar=False)
    kept_best = torch.from_numpy(principal(vectors, width))
    turned: Tensor = kept_best @ nearest_rotation(kept_best[some], torch.from_numpy(own))
    return normalize(turned).numpy()


def nearest_rotation(x: Float[Tensor, "N D"], towards: Float[Tensor, "N D"]) -> Float[Tensor, "D D"]:
    """The rotation that brings x closest to other vectors (orthogonal Procrustes problem, Schönemann 1966)."""
    left, _, right = torch.linalg.svd((x.T @ towards).double())
    result: Tensor = left @ right
    return result.to(x.dtype)


def principal(vectors: np.ndarray, width: int) -> np.ndarray:
    """The vectors projected on their first `width` uncentred principal axes, (N, width) float32."""
    result = torch.from_numpy(vectors)
    return (result @ principal_axes(result)[:, :width]).numpy()


@torch.no_grad()
def whitened(vectors: np.ndarray, power: float) -> np.ndarray:
    """The vectors with their uncentred principal axes evened out, rescaled to length 1; (N, D) float32.

    Along each axis, vectors are divided by their mean square to the `power`: with 0.5 all axes weigh the same, as in
    whitening (Su et al. 2021, here without centring); with less, the first axes still weigh more.
    """
    x = torch.from_numpy(vectors)
    squares, axes = torch.linalg.eigh((x.T @ x / len(x)).double())
    scales = squares.clamp_min(LEAST_SQUARE) ** -power
    return normalize(x @ ((axes * scales) @ axes.T).to(x.dtype)).numpy()


def principal_axes(x: Float[Tensor, "N D"]) -> Float[Tensor, "D D"]:
    """The principal axes of x as unit columns, sorted by decreasing sum of squares of x along them."""
    squares = x.T @ x
    axes: Tensor = torch.linalg.eigh(squares.double())[1].flip(1)
    return axes.to(x.dtype).contiguous()
