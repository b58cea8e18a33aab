"""Classifier: a family's classification head as a torch module."""

from jaxtyping import Float
from torch import Tensor, nn

from ..arrays.ragged import Layers, Ragged
from ..encoders.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear
from ..pooling.reductions import Reduce
from .classification_heads import HeadShape


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
