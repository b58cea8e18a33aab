"""CLASSIFIERS: every family's classification head and the names of its tensors in files, without torch.

Each head is a dense layer on the first token, an activation, and a linear map to one logit per label. The fields of
`HeadShape` and of a family's row describe how heads differ. Engines run the heads (torch: cross_encoder.py).
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ..encoders.config import Config, activation, boolean, fraction, require_supported, size
from ..encoders.families import Names, file_names
from ..errors import BadModel
from ..runtime.weight_files import WeightReader

MAX_LABELS = 100_000


@dataclass(frozen=True)
class HeadShape:
    """The sizes of a classification head."""

    width: int
    labels: int
    dropout: float
    activation: str = "tanh"
    drops_first: bool = False  # whether dropout is also applied before the dense layer
    bias: bool = True
    norm: float | None = None  # the epsilon of the layer norm after the activation, if there is one
    norm_bias: bool = False
    pooling: str = "cls"

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {"dense.weight": (self.width, self.width)}
        if self.bias:
            found["dense.bias"] = (self.width,)
        if self.norm is not None:
            found["norm.weight"] = (self.width,)
            found |= {"norm.bias": (self.width,)} if self.norm_bias else {}
        return {**found, "out.weight": (self.labels, self.width), "out.bias": (self.labels,)}


@dataclass(frozen=True)
class ClassificationHead:
    """One family's row: class name without `ForSequenceClassification`, tensor names, and reader of config.json."""

    architecture: str
    prefix: str  # prefix of the encoder's tensor names
    names: Names
    shape: Callable[[Config], HeadShape]

    def build(self, config: Config) -> Any:
        """The head for this config, as a torch module with uninitialized weights."""
        return import_module(f"{__package__}.cross_encoder").PairClassifier(self.shape(config))

    def file_name(self, ours: str) -> str:
        """The name that a tensor of `HeadShape.tensors` has in model files."""
        return file_names(ours, self.names)[0]


def head_of(kind: str, context: str) -> ClassificationHead:
    """The row of an encoder family; `context` begins the error message if there is no such row."""
    if kind not in CLASSIFIERS:
        raise BadModel(
            f"{context} a {kind!r} encoder; a reranker needs one of {', '.join(CLASSIFIERS)}. "
            "To add one, add a row to CLASSIFIERS (likewise/reranker/classification_heads.py)"
        )
    return CLASSIFIERS[kind]


def check_head(folder: Path, config: Config, head: ClassificationHead) -> None:
    """Reject a folder that holds an encoder without a classification head."""
    names = [] if config.get("architectures") is None else config["architectures"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadModel(f"config.json has architectures = {names!r:.100}; expected a list of names")
    classifies = not names or any(name.endswith("ForSequenceClassification") for name in names)
    if not classifies or not _has_weights(folder, config, head):
        why = "the weights of a classification head are missing" if classifies else f"its config.json names {names[0]}"
        raise BadModel(f"{folder} is not a reranker ({why}). Reranker.start(folder) creates an untrained one from it")


def _has_weights(folder: Path, config: Config, head: ClassificationHead) -> bool:
    """Whether the folder has every tensor of the head; shapes are checked when they are read."""
    names = [head.file_name(ours) for ours in head.shape(config).tensors]
    with ExitStack() as stack:
        weights = WeightReader(folder, stack, "numpy")
        try:
            return all(weights.find(name) for name in names)
        except BadModel:
            return False


def labels_of(config: Config) -> list[str]:
    """The label names in the order of the logits; by default there are two labels, as in transformers."""
    names = config.get("id2label")
    if names is None:
        count = size(config, "num_labels", 2)
        if count > MAX_LABELS:
            raise BadModel(f"config.json has num_labels = {count:,}; expected at most {MAX_LABELS:,}")
        return [f"LABEL_{i}" for i in range(count)]
    try:
        labels = {int(i): name for i, name in names.items()}
        wrong = [name for name in labels.values() if not isinstance(name, str | int)]
        valid = not wrong and 1 <= len(labels) <= MAX_LABELS and sorted(labels) == list(range(len(labels)))
    except (AttributeError, ValueError, TypeError):
        valid, wrong = False, []
    if not valid:
        reason = f"; {wrong[0]!r:.40} is not a label name" if wrong else ""
        expected = f"1 to {MAX_LABELS:,} names numbered 0, 1, 2 …"
        raise BadModel(f"config.json has id2label = {str(names)[:60]}{reason}; expected {expected}")
    return [str(labels[i]) for i in range(len(labels))]


def _shape(
    config: Config, width: str = "hidden_size", dropout: tuple[str, float] | None = None, **fields: Any
) -> HeadShape:
    """`dropout`: the key in config.json and the default, for families that have their own key."""
    usual = fraction(config, "classifier_dropout", fraction(config, "hidden_dropout_prob", 0.1))
    share = fraction(config, *dropout) if dropout else usual
    return HeadShape(size(config, width), len(labels_of(config)), dropout=share, **fields)


def _nomic(config: Config) -> HeadShape:
    return _shape({"hidden_dropout_prob": 0.0, **config})


def _deberta(config: Config) -> HeadShape:
    require_supported(config, pooler_hidden_size=config.get("hidden_size"))
    return _shape(
        {**config, "classifier_dropout": config.get("cls_dropout")},
        activation=activation(config, "pooler_hidden_act", "gelu"),
    )


def _modernbert(config: Config) -> HeadShape:
    pooling = config.get("classifier_pooling", "cls")
    if pooling not in ("cls", "mean"):
        raise BadModel(f"config.json has classifier_pooling = {pooling!r}; expected cls or mean")
    return _shape(
        config,
        activation=activation(config, "classifier_activation", "gelu"),
        dropout=("classifier_dropout", 0.0),
        bias=boolean(config, "classifier_bias", False),
        norm=fraction(config, "norm_eps", 1e-5),
        norm_bias=boolean(config, "norm_bias", False),
        pooling=pooling,
    )


_ROBERTA: Names = {"dense": "classifier.dense", "out": "classifier.out_proj"}
_DISTILBERT: Names = {"dense": "pre_classifier", "out": "classifier"}
_MODERNBERT: Names = {"dense": "head.dense", "norm": "head.norm", "out": "classifier"}
_NOMIC: Names = {"dense": "nomic_bert.pooler.dense", "out": "classifier"}
_roberta = partial(_shape, drops_first=True)
_electra = partial(_shape, activation="gelu", drops_first=True)
_mpnet = partial(_shape, dropout=("hidden_dropout_prob", 0.1), drops_first=True)
_albert = partial(_shape, dropout=("classifier_dropout_prob", 0.1))
_distilbert = partial(_shape, width="dim", dropout=("seq_classif_dropout", 0.2), activation="relu")

CLASSIFIERS: dict[str, ClassificationHead] = {
    "bert": ClassificationHead("Bert", "bert.", {"dense": "bert.pooler.dense", "out": "classifier"}, _shape),
    "roberta": ClassificationHead("Roberta", "roberta.", _ROBERTA, _roberta),
    "xlm-roberta": ClassificationHead("XLMRoberta", "roberta.", _ROBERTA, _roberta),
    "camembert": ClassificationHead("Camembert", "roberta.", _ROBERTA, _roberta),
    "electra": ClassificationHead("Electra", "electra.", _ROBERTA, _electra),
    "mpnet": ClassificationHead("MPNet", "mpnet.", _ROBERTA, _mpnet),
    "distilbert": ClassificationHead("DistilBert", "distilbert.", _DISTILBERT, _distilbert),
    "albert": ClassificationHead("Albert", "albert.", {"dense": "albert.pooler", "out": "classifier"}, _albert),
    "jina_bert": ClassificationHead("JinaBert", "bert.", {"dense": "bert.pooler.dense", "out": "classifier"}, _shape),
    "deberta-v2": ClassificationHead("DebertaV2", "deberta.", {"dense": "pooler.dense", "out": "classifier"}, _deberta),
    "nomic_bert": ClassificationHead("NomicBert", "nomic_bert.", _NOMIC, _nomic),
    "gte": ClassificationHead("Gte", "gte.", {"dense": "gte.pooler.dense", "out": "classifier"}, _shape),
    "new": ClassificationHead("New", "new.", {"dense": "new.pooler.dense", "out": "classifier"}, _shape),
    "modernbert": ClassificationHead("ModernBert", "model.", _MODERNBERT, _modernbert),
}
"""Tests iterate over this table, which has a row for every encoder family."""
