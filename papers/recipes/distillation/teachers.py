"""What students learn: the vectors of one teacher, or of two side by side, computed once and made to fit a student."""

import hashlib
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from likewise.embedder import Embedder
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.model_files.provenance import provenance
from likewise.model_names import load_torch_embedder
from likewise.train.distillation.teacher_outputs import teacher_outputs
from likewise.train.objectives import Distillation

from ..recipe import named_shortly

LESSONS = Path("out") / "lessons"
TURNED_BY = 10_000
"""Texts by which it is found where a model's vectors point."""
LEAST_SQUARE = 1e-6
"""Mean square of unit vectors along an axis below which it is noise, which is not to be raised further."""


def with_teachers(parser: ArgumentParser, whiten: float = 0.0) -> ArgumentParser:
    """Who teaches, and how their vectors are changed before they are learned."""
    add = parser.add_argument
    add("--teacher", default=RECOMMENDED_MODEL, metavar="MODEL", help="whose vectors are learned (%(default)s)")
    message = "another, whose vectors are put beside the first's: the student's cosine learns the mean of both"
    add("--second-teacher", metavar="MODEL", help=message)
    message = "its share of that mean (%(default)g)"
    add("--second-share", type=_share, default=0.5, metavar="SHARE", help=message)
    message = "of the teachers: int8 is the native engine's, for a folder of `likewise model quantize` (%(default)s)"
    add("--teacher-precision", choices=("bf16", "fp32", "int8"), default="bf16", help=message)
    message = "even out the teacher's principal axes: 0 leaves them, 0.5 whitens its vectors (%(default)g)"
    add("--whiten", type=_whitening, default=whiten, metavar="POWER", help=message)
    return parser


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise ArgumentTypeError(f"{text} is no share between 0 and 1")
    return value


def _whitening(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 0.5:
        raise ArgumentTypeError(f"{text} is no power from 0 to 0.5")
    return value


@dataclass(frozen=True)
class Teachers:
    """One teacher or two, each with the share that its cosine has of the cosine of what they say together."""

    names: tuple[str, ...]
    models: tuple[Embedder, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, args: Namespace) -> "Teachers":
        """As the flags say."""
        names = (args.teacher,) if args.second_teacher is None else (args.teacher, args.second_teacher)
        shares = (1.0,) if args.second_teacher is None else (1 - args.second_share, args.second_share)
        return cls(names, tuple(_loaded(name, args) for name in names), shares)

    @property
    def first(self) -> Embedder:
        """The one whose vocabulary is read as well."""
        return self.models[0]

    @property
    def width(self) -> int:
        """Numbers of a vector of all of them."""
        return sum(model.width for model in self.models)

    @property
    def title(self) -> str:
        """Their names, as a run's note has them."""
        return " and ".join(map(named_shortly, self.names))

    @property
    def learned(self) -> list[str]:
        """The data that they have seen."""
        seen = [provenance(model) for model in self.models]
        return [*dict.fromkeys(name for one in seen for name in (*one.trained_on, *one.less_tests))]

    def identity(self) -> dict[str, Any]:
        """What a run is known by, of its teachers."""
        kinds = ("teacher", "second teacher")
        return {kind: model.fingerprint for kind, model in zip(kinds, self.models, strict=False)}

    def known(self, texts: Mapping[str, Sequence[str]]) -> bool:
        """Whether all have encoded these texts before."""
        files = (lessons_file(name, one, texts) for name, one in zip(self.names, self.models, strict=True))
        return all(file.exists() for file in files)

    def lessons(self, texts: Mapping[str, Sequence[str]]) -> Float[np.ndarray, "N D"]:
        """Their vectors of these texts side by side, at length 1; encoded once and kept."""
        columns = {"sentence": [text for one in texts.values() for text in one]}
        result = np.empty((len(columns["sentence"]), self.width), np.float32)
        begin = 0
        for name, model, share in zip(self.names, self.models, self.shares, strict=True):
            found: Any = teacher_outputs(columns, model, Distillation(), file=lessons_file(name, model, texts))
            result[:, begin : begin + model.width] = found["teacher"]
            result[:, begin : begin + model.width] *= share**0.5
            begin += model.width
        return result


def _loaded(name: str, args: Namespace) -> Embedder:
    """In bf16, whose vectors have a cosine of 0.9999 with those of fp32, at twice the speed; or as the flags say.

    Int8 is for processors without bf16: cosines of 0.998 with fp32, at three times its speed.
    """
    if args.teacher_precision == "int8":
        return Embedder.load(name, engine="native", precision="int8")
    return load_torch_embedder(name, precision=args.teacher_precision, device=args.device)


def lessons_file(name: str, teacher: Embedder, found: Mapping[str, Sequence[str]]) -> Path:
    """Where this teacher's vectors of these texts are kept."""
    texts = "\0".join(text for one in found.values() for text in one)
    known = hashlib.sha256(f"{teacher.fingerprint}\0{texts}".encode()).hexdigest()[:12]
    return LESSONS / f"{named_shortly(name)}-{known}.parquet"


def fitted(vectors: np.ndarray, width: int, texts: Sequence[str], whole: Embedder) -> np.ndarray:
    """The texts' vectors in their first `width` principal axes, turned to the backbone's of some; (N, width), length 1.

    A student that begins as the backbone has less of a way to go then.
    """
    some = range(0, len(texts), max(1, len(texts) // TURNED_BY))
    own = whole.encode([texts[i] for i in some], overflow="truncate", progress=False)
    kept_best = torch.from_numpy(principal(vectors, width))
    turned: Tensor = kept_best @ nearest_rotation(kept_best[some], torch.from_numpy(own))
    return normalize(turned).numpy()


def nearest_rotation(x: Float[Tensor, "N D"], towards: Float[Tensor, "N D"]) -> Float[Tensor, "D D"]:
    """What turns x about the origin as near as can be to other vectors (orthogonal Procrustes, Schönemann 1966)."""
    left, _, right = torch.linalg.svd((x.T @ towards).double())
    result: Tensor = left @ right
    return result.to(x.dtype)


def principal(vectors: np.ndarray, width: int) -> np.ndarray:
    """The vectors in their first `width` principal axes about the origin, (N, width) float32."""
    result = torch.from_numpy(vectors)
    return (result @ principal_axes(result)[:, :width]).numpy()


@torch.no_grad()
def whitened(vectors: np.ndarray, power: float) -> np.ndarray:
    """The vectors with their principal axes about the origin evened out, at length 1 again; (N, D) float32.

    Along each axis they are divided by their mean square to the `power`: by 0.5 all axes weigh the same, as in
    whitening (Su et al. 2021, here without centring), by less the first ones still weigh more.
    """
    x = torch.from_numpy(vectors)
    squares, axes = torch.linalg.eigh((x.T @ x / len(x)).double())
    scales = squares.clamp_min(LEAST_SQUARE) ** -power
    return normalize(x @ ((axes * scales) @ axes.T).to(x.dtype)).numpy()


def principal_axes(x: Float[Tensor, "N D"]) -> Float[Tensor, "D D"]:
    """Columns of unit length, that along which x has the largest sum of squares first."""
    squares = x.T @ x
    axes: Tensor = torch.linalg.eigh(squares.double())[1].flip(1)
    return axes.to(x.dtype).contiguous()
