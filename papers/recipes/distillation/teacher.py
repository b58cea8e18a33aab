"""The vectors that students learn: a teacher's, computed once, whitened and projected to fit a student."""

import hashlib
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from likewise.embedder import Embedder
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.model_files.provenance import provenance
from likewise.model_names import load_torch_embedder
from likewise.text.tokenizer import Tokenizer
from likewise.train.objectives import Distillation
from likewise.train.teacher_outputs import teacher_outputs

from ..flags import number_up_to
from ..recipe import named_shortly

LESSONS = Path("out") / "lessons"
TURNED_BY = 10_000
"""Number of texts used to align a teacher's vectors with a backbone's."""
LEAST_SQUARE = 1e-6
"""An axis along which unit vectors have a smaller mean square than this is noise, and is not amplified further."""


def with_teacher(parser: ArgumentParser, whiten: float = 0.0) -> ArgumentParser:
    """Add the flags for the teacher and for the changes to its vectors before they are learned."""
    add = parser.add_argument
    message = "model whose vectors are learned, or several whose cosines are added (%(default)s)"
    add("--teacher", type=_weights, default={RECOMMENDED_MODEL: 1.0}, metavar="MODEL[=WEIGHT],…", help=message)
    message = "the teacher's precision; int8 needs a folder from `likewise model quantize` (%(default)s)"
    add("--teacher-precision", choices=("bf16", "fp32", "int8"), default="bf16", help=message)
    message = "even out the teacher's principal axes: 0 leaves them, 0.5 whitens its vectors (%(default)g)"
    add("--whiten", type=number_up_to(0.5), default=whiten, metavar="POWER", help=message)
    return parser


def _weights(text: str) -> dict[str, float]:
    parts = [part.rpartition("=") if "=" in part else (part, "", "1") for part in text.split(",")]
    try:
        result = {name: float(weight) for name, _, weight in parts}
    except ValueError:
        raise ArgumentTypeError(f"{text} has a weight that is not a number; expected MODEL=WEIGHT,…") from None
    if len(result) < len(parts) or min(result.values()) <= 0:
        raise ArgumentTypeError(f"{text} names a model twice, or a weight that is not above 0")
    return result


@dataclass(frozen=True)
class Teacher:
    """One model, or several whose weighted cosines are added: their vectors, scaled and joined, have those cosines."""

    models: Mapping[str, Embedder]
    weights: Sequence[float]

    @property
    def dimension(self) -> int:
        return sum(model.dimension for model in self.models.values())

    @property
    def tokenizer(self) -> Tokenizer:
        """The first model's, whose words are also learned by themselves."""
        return next(iter(self.models.values())).tokenizer

    @property
    def fingerprint(self) -> str:
        every = [model.fingerprint for model in self.models.values()]
        if len(every) == 1:
            return every[0]
        return hashlib.sha256(repr([*zip(every, self.weights, strict=True)]).encode()).hexdigest()

    @property
    def name(self) -> str:
        """The models' short names, with their weights if there are several."""
        names = [named_shortly(name) for name in self.models]
        if len(names) == 1:
            return names[0]
        return " + ".join(f"{weight:g} {name}" for name, weight in zip(names, self.weights, strict=True))

    @property
    def learned(self) -> list[str]:
        """The data sets that any of the models has seen, as far as its folder says."""
        seen = [provenance(model) for model in self.models.values()]
        return [*dict.fromkeys(name for one in seen for name in (*one.trained_on, *one.less_tests))]

    def encode(self, texts: Sequence[str]) -> Float[np.ndarray, "N D"]:
        """Vectors of length 1."""
        every = [model.encode(texts, overflow="truncate", show_progress_bar=False) for model in self.models.values()]
        return self._joined(every)

    def vectors(self, texts: Mapping[str, Sequence[str]]) -> Float[np.ndarray, "N D"]:
        """Vectors of length 1 of these texts; each model encodes them once, and they are kept."""
        columns = {"sentence": [text for one in texts.values() for text in one]}
        every = [
            np.asarray(teacher_outputs(columns, model, Distillation(), file=file)["teacher"], np.float32)
            for model, file in zip(self.models.values(), self._files(texts), strict=True)
        ]
        return self._joined(every)

    def knows(self, texts: Mapping[str, Sequence[str]]) -> bool:
        """Whether these texts' vectors are kept."""
        return all(file.exists() for file in self._files(texts))

    def _files(self, found: Mapping[str, Sequence[str]]) -> list[Path]:
        texts = "\0".join(text for one in found.values() for text in one)
        known = {
            name: hashlib.sha256(f"{model.fingerprint}\0{texts}".encode()).hexdigest()[:12]
            for name, model in self.models.items()
        }
        return [LESSONS / f"{named_shortly(name)}-{digest}.parquet" for name, digest in known.items()]

    def _joined(self, vectors: Sequence[np.ndarray]) -> Float[np.ndarray, "N D"]:
        if len(vectors) == 1:
            return vectors[0]
        parts = [
            one / np.linalg.norm(one, axis=1, keepdims=True) * np.float32(weight**0.5)
            for one, weight in zip(vectors, self.weights, strict=True)
        ]
        return np.concatenate(parts, axis=1) / np.float32(sum(self.weights) ** 0.5)


def load_teacher(args: Namespace) -> Teacher:
    """Load the teacher, by default in bf16: twice as fast as fp32, with cosines of 0.9999 between their vectors.

    Int8 is for processors without bf16: three times as fast as fp32, with cosines of 0.998.
    """
    return Teacher({name: _loaded(name, args) for name in args.teacher}, [*args.teacher.values()])


def _loaded(name: str, args: Namespace) -> Embedder:
    if args.teacher_precision == "int8":
        return Embedder.load(name, engine="native", precision="int8")
    return load_torch_embedder(name, precision=args.teacher_precision, device=args.device)


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
    """The vectors with their uncentred principal axes evened out (`evened`), rescaled to length 1; (N, D) float32."""
    x = torch.from_numpy(vectors)
    axes, scales = evened(x, power)
    result = x @ ((axes * scales) @ axes.T)
    return result.div_(result.norm(dim=1, keepdim=True)).numpy()  # in place: these are gigabytes


def centred(vectors: np.ndarray, share: float) -> np.ndarray:
    """The vectors less a share of their mean, rescaled to length 1; (N, D) float32."""
    result: np.ndarray = vectors - np.float32(share) * vectors.mean(axis=0)
    result /= np.linalg.norm(result, axis=1, keepdims=True)
    return result


def evened(x: Float[Tensor, "N D"], power: float) -> tuple[Float[Tensor, "D D"], Float[Tensor, "D"]]:
    """The uncentred principal axes of x as unit columns, the longest first, and by what each is multiplied.

    Vectors are divided by their mean square along an axis to the `power`: with 0.5 all axes weigh the same, as in
    whitening (Su et al. 2021, here without centring); with less, the first axes still weigh more.
    """
    squares, axes = torch.linalg.eigh((x.T @ x / len(x)).double())
    squares, axes = squares.flip(0).clamp_min(LEAST_SQUARE), axes.flip(1)
    return axes.to(x.dtype), (squares**-power).to(x.dtype)


def principal_axes(x: Float[Tensor, "N D"]) -> Float[Tensor, "D D"]:
    """The principal axes of x as unit columns, sorted by decreasing sum of squares of x along them."""
    squares = x.T @ x
    axes: Tensor = torch.linalg.eigh(squares.double())[1].flip(1)
    return axes.to(x.dtype).contiguous()
