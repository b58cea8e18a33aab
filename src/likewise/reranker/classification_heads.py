"""CLASSIFIERS: the classification head of every family, the names of its tensors in files, and what it computes.

Each is a dense layer on the first token, an activation and a linear map to one number per label. What the families
differ in is a field of `HeadShape` or of their row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from ..arrays.ragged import Layers, Ragged
from ..encoders.config import Config, activation, boolean, fraction, size
from ..encoders.families import Names
from ..encoders.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear
from ..errors import BadModel
from ..pooling.reductions import Reduce

MAX_LABELS = 100_000


@dataclass(frozen=True)
class HeadShape:
    """The sizes of a classification head."""

    width: int
    labels: int
    activation: str = "tanh"
    dropout: float = 0.1
    drops_first: bool = False  # also before the dense layer
    bias: bool = True
    norm: float | None = None  # the epsilon of a normalisation behind the activation
    norm_bias: bool = False
    pooling: str = "cls"


class Classifier(nn.Module):
    """Layers to logits: out(norm(activation(dense(pooled last layer))))."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape = shape
        self.reduce = Reduce.parse(shape.pooling)
        self.dense = Linear(shape.width, shape.width, bias=shape.bias)
        self.norm = nn.Identity() if shape.norm is None else LayerNorm(shape.width, shape.norm, shape.norm_bias)
        self.out = Linear(shape.width, shape.labels)
        self.activation = ACTIVATION_FUNCTIONS[shape.activation]
        self.drop = nn.Dropout(shape.dropout)

    def forward(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N C"]:
        x = self.reduce(layers, tokens).to(self.dense.weight.dtype)
        x = self.dense(self.drop(x) if self.shape.drops_first else x)
        logits: Tensor = self.out(self.drop(self.norm(self.activation(x))))
        return logits


@dataclass(frozen=True)
class ClassificationHead:
    """One family's row: the name of its class less `ForSequenceClassification`, its names, how config.json is read."""

    architecture: str
    prefix: str  # before the names of the encoder's tensors
    names: Names
    shape: Callable[[Config], HeadShape]

    def build(self, config: Config) -> Classifier:
        return Classifier(self.shape(config))


def labels_of(config: Config) -> list[str]:
    """The names of the labels, in the order of the logits; two where the config names none, as in transformers."""
    names = config.get("id2label")
    if names is None:
        count = size(config, "num_labels", 2)
        if count > MAX_LABELS:
            raise BadModel(f"config.json has num_labels = {count:,}; expected at most {MAX_LABELS:,}")
        return [f"LABEL_{i}" for i in range(count)]
    try:
        labels = {int(i): _label(name) for i, name in names.items()}
        if not 1 <= len(labels) <= MAX_LABELS or sorted(labels) != list(range(len(labels))):
            raise ValueError("its numbers are not 0, 1, 2 …")
    except (AttributeError, ValueError, TypeError) as error:
        raise BadModel(f"config.json has id2label = {str(names)[:60]}: {error}") from None
    return [labels[i] for i in range(len(labels))]


def _label(name: object) -> str:
    if not isinstance(name, str | int):
        raise ValueError(f"{name!r:.40} is not the name of a label")
    return str(name)


def _shape(config: Config, width: str = "hidden_size", **more: Any) -> HeadShape:
    dropout = fraction(config, "classifier_dropout", fraction(config, "hidden_dropout_prob", 0.1))
    fields = {"dropout": dropout, **more}
    return HeadShape(width=size(config, width), labels=len(labels_of(config)), **fields)


def _electra(config: Config) -> HeadShape:
    return _shape(config, activation="gelu", drops_first=True)


def _mpnet(config: Config) -> HeadShape:
    return _shape(config, dropout=fraction(config, "hidden_dropout_prob", 0.1), drops_first=True)


def _albert(config: Config) -> HeadShape:
    return _shape(config, dropout=fraction(config, "classifier_dropout_prob", 0.1))


def _distilbert(config: Config) -> HeadShape:
    return _shape(config, "dim", dropout=fraction(config, "seq_classif_dropout", 0.2), activation="relu")


def _modernbert(config: Config) -> HeadShape:
    pooling = config.get("classifier_pooling", "cls")
    if pooling not in ("cls", "mean"):
        raise BadModel(f"config.json has classifier_pooling = {pooling!r}; expected cls or mean")
    return _shape(
        config,
        activation=activation(config, "classifier_activation", "gelu"),
        dropout=fraction(config, "classifier_dropout", 0.0),
        bias=boolean(config, "classifier_bias", False),
        norm=fraction(config, "norm_eps", 1e-5),
        norm_bias=boolean(config, "norm_bias", False),
        pooling=pooling,
    )


_ROBERTA: Names = {"dense": "classifier.dense", "out": "classifier.out_proj"}
_roberta = partial(_shape, drops_first=True)

CLASSIFIERS: dict[str, ClassificationHead] = {
    "bert": ClassificationHead("Bert", "bert.", {"dense": "bert.pooler.dense", "out": "classifier"}, _shape),
    "roberta": ClassificationHead("Roberta", "roberta.", _ROBERTA, _roberta),
    "xlm-roberta": ClassificationHead("XLMRoberta", "roberta.", _ROBERTA, _roberta),
    "camembert": ClassificationHead("Camembert", "roberta.", _ROBERTA, _roberta),
    "electra": ClassificationHead("Electra", "electra.", _ROBERTA, _electra),
    "mpnet": ClassificationHead("MPNet", "mpnet.", _ROBERTA, _mpnet),
    "distilbert": ClassificationHead(
        "DistilBert", "distilbert.", {"dense": "pre_classifier", "out": "classifier"}, _distilbert
    ),
    "albert": ClassificationHead("Albert", "albert.", {"dense": "albert.pooler", "out": "classifier"}, _albert),
    "modernbert": ClassificationHead(
        "ModernBert", "model.", {"dense": "head.dense", "norm": "head.norm", "out": "classifier"}, _modernbert
    ),
}
"""Tests quantify over this table: it has a row for every family of encoders."""
