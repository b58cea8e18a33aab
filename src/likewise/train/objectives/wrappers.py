"""Objectives made of objectives: over several widths, over several layers, or added up."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from ...errors import BadInput
from .objective import Columns, InputColumns, Loss, Objective, Texts


class _MultiView(Objective):
    """The weighted sum of copies of one objective, each with weights of its own, each over some numbers of vectors."""

    def __init__(self, objective: Objective, count: int, weights: Sequence[float] | None) -> None:
        super().__init__()
        if objective.layers_read():
            raise BadInput(
                f"{type(objective).__name__} reads whole layers, so {type(self).__name__} cannot be around it; wanted "
                f"Layerwise({type(self).__name__}(…)), which trains every layer at every width"
            )
        self.weights = tuple(weights) if weights is not None else (1.0,) * count
        if len(self.weights) != count:
            raise BadInput(f"there are {len(self.weights)} weights; wanted {count}")
        self.copies = nn.ModuleList(deepcopy(objective) for _ in range(count))
        self.views: list[slice] = []

    @property
    def objective(self) -> Objective:
        """The first of the copies: what it reads, all of them read."""
        first = self.copies[0]
        assert isinstance(first, Objective)
        return first

    def reads(self) -> InputColumns:
        return self.objective.reads()

    def check(self, texts: Texts, numbers: Columns) -> None:
        self.objective.check(texts, numbers)

    def shown(self, content: list[int]) -> list[int]:
        return self.objective.shown(content)

    def _see(self, views: Sequence[slice], vocabulary: int) -> None:
        self.views = list(views)
        for copy, view in zip(self.copies, views, strict=True):
            copy.fit_to(view.stop - view.start, vocabulary)  # type: ignore[operator]

    def forward(self, *vectors: Tensor, **more: Tensor) -> Loss:
        losses = [
            weight * copy(*(v[:, view] for v in vectors), **more)
            for weight, copy, view in zip(self.weights, self.copies, self.views, strict=True)
        ]
        total: Tensor = sum(losses[1:], losses[0])
        return total

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "objective": type(self).__name__, "of": self.objective.describe()}


class Matryoshka(_MultiView):
    """Any objective at several widths at once: the first numbers of a vector are to serve alone (Kusupati et al. 2022).

    >>> Matryoshka(Contrastive(), widths=(64, 256, 768))  # doctest: +SKIP

    Args:
        objective: copied for each width; those with weights of their own have them apart.
        widths: how many of the first numbers; the model's whole width is best among them.
        weights: of each width's loss; 1 each without them.
    """

    def __init__(self, objective: Objective, widths: Sequence[int], weights: Sequence[float] | None = None) -> None:
        self.widths = tuple(widths)
        if not self.widths or min(self.widths) < 1 or len(set(self.widths)) < len(self.widths):
            raise BadInput(f"widths are {list(widths)}; wanted different whole numbers above 0")
        super().__init__(objective, len(self.widths), weights)

    def fit_to(self, width: int, vocabulary: int = 0) -> None:
        if max(self.widths) > width:
            raise BadInput(f"a width of {max(self.widths)} was asked for, and the model's vectors have {width} numbers")
        self._see([slice(0, w) for w in self.widths], vocabulary)


class Layerwise(_MultiView):
    """Any objective at several layers at once, so that the lower ones can serve alone (Li et al. 2024, 2D Matryoshka).

    Its vectors are those of the model's last `layers` layers side by side, the lowest first; training reads them out
    of any model whose pooling is a plain one (`likewise.train.layers.multi_layer`). Around a `Matryoshka`, it trains
    every depth at every width.

    Args:
        objective: copied for each layer.
        layers: how many there are.
        weights: of each layer's loss, the lowest first; 1 each without them.
    """

    def __init__(self, objective: Objective, layers: int, weights: Sequence[float] | None = None) -> None:
        if layers < 1:
            raise BadInput(f"layers is {layers}; wanted one or more")
        super().__init__(objective, layers, weights)
        self.layers = layers

    def layers_read(self) -> int:
        return self.layers

    def fit_to(self, width: int, vocabulary: int = 0) -> None:
        if width % self.layers:
            raise BadInput(
                f"vectors of {width} numbers are not those of {self.layers} layers "
                "(see likewise.train.layers.multi_layer)"
            )
        each = width // self.layers
        self._see([slice(i * each, (i + 1) * each) for i in range(self.layers)], vocabulary)

    def forward(self, *vectors: Tensor, **more: Tensor) -> Loss:
        wanted, found = self.views[-1].stop, vectors[0].shape[1]
        if found != wanted:
            raise BadInput(f"the vectors of {self.layers} layers have {wanted} numbers; found {found}")
        return super().forward(*vectors, **more)


class Weighted(Objective):
    """The weighted sum of objectives that read the same columns of texts; each is given the numbers it reads.

    Args:
        objectives: of one reading of texts.
        weights: 1 each without them.
    """

    def __init__(self, objectives: Sequence[Objective], weights: Sequence[float] | None = None) -> None:
        super().__init__()
        self.weights = tuple(weights) if weights is not None else (1.0,) * len(objectives)
        if not objectives or len(self.weights) != len(objectives):
            raise BadInput(f"there are {len(objectives)} objectives and {len(self.weights)} weights")
        if len({objective.layers_read() for objective in objectives}) > 1:
            found = ", ".join(f"{type(o).__name__} {o.layers_read() or 'the last'}" for o in objectives)
            raise BadInput(f"objectives that are added up must read the same layers; found {found}")
        self.objectives = nn.ModuleList(objectives)
        self._reads = [objective.reads() for objective in objectives]
        for other, reads in zip(objectives, self._reads, strict=True):
            if _text_inputs(reads) != _text_inputs(self._reads[0]) or reads.ids:
                raise BadInput(
                    f"{type(other).__name__} reads {', '.join(reads.texts)} in a way of its own, so it cannot be added "
                    f"to {type(objectives[0]).__name__}, which reads {', '.join(self._reads[0].texts)}"
                )

    def reads(self) -> InputColumns:
        numbers = tuple(dict.fromkeys(name for r in self._reads for name in r.numbers))
        optional = dict.fromkeys(name for r in self._reads for name in r.optional if name not in numbers)
        return replace(
            self._reads[0],
            numbers=numbers,
            optional=tuple(optional),
            whole=tuple(dict.fromkeys(name for r in self._reads for name in r.whole)),
            wide=tuple(dict.fromkeys(name for r in self._reads for name in r.wide)),
            names=any(r.names for r in self._reads),
            together=next((r.together for r in self._reads if r.together), None),
            each=max(r.each for r in self._reads),
        )

    def layers_read(self) -> int:
        return self._all()[0].layers_read()

    def check(self, texts: Texts, numbers: Columns) -> None:
        for objective in self._all():
            objective.check(texts, numbers)

    def fit_to(self, width: int, vocabulary: int = 0) -> None:
        for objective in self._all():
            objective.fit_to(width, vocabulary)

    def forward(self, *vectors: Tensor, **more: Tensor) -> Loss:
        losses = []
        for weight, objective, reads in zip(self.weights, self.objectives, self._reads, strict=True):
            wanted = (*reads.numbers, *reads.optional, *(["names"] if reads.names else []))
            losses.append(weight * objective(*vectors, **{name: more[name] for name in wanted if name in more}))
        total: Tensor = sum(losses[1:], losses[0])
        return total

    def describe(self) -> dict[str, Any]:
        return {"objective": "Weighted", "weights": self.weights, "of": [o.describe() for o in self._all()]}

    def _all(self) -> list[Objective]:
        return [objective for objective in self.objectives if isinstance(objective, Objective)]


def _text_inputs(reads: InputColumns) -> tuple[Any, ...]:
    return reads.texts, reads.more_texts, reads.repeats
