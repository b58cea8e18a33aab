"""Objectives composed of other objectives: over several dimensions, over several layers, or as a weighted sum."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from ...errors import BadInput
from ...runtime.arguments import whole_number
from .objective import Columns, InputColumns, Loss, Objective, Texts


class _MultiView(Objective):
    """The weighted sum of copies of one objective, each with its own parameters and its own slice of the vectors."""

    def __init__(self, objective: Objective, count: int, weights: Sequence[float] | None) -> None:
        super().__init__()
        if objective.layers_read():
            raise BadInput(
                f"{type(objective).__name__} reads whole layers, so {type(self).__name__} cannot wrap it; expected "
                f"Layerwise({type(self).__name__}(…)), which trains every layer at every dimension"
            )
        self.weights = tuple(weights) if weights is not None else (1.0,) * count
        if len(self.weights) != count:
            raise BadInput(f"{len(self.weights)} weights were given; expected {count}")
        self.copies = nn.ModuleList(deepcopy(objective) for _ in range(count))
        self.views: list[slice] = []

    @property
    def objective(self) -> Objective:
        """The first copy; all copies read the same columns."""
        first = self.copies[0]
        assert isinstance(first, Objective)
        return first

    def reads(self) -> InputColumns:
        return self.objective.reads()

    def check_rows(self, texts: Texts, numbers: Columns) -> None:
        self.objective.check_rows(texts, numbers)

    def check(self, texts: Texts, numbers: Columns) -> None:
        self.objective.check(texts, numbers)

    def add_noise(self, token_ids: list[int]) -> list[int]:
        return self.objective.add_noise(token_ids)

    def _initialize_copies(self, views: Sequence[slice], vocabulary: int) -> None:
        self.views = list(views)
        for copy, view in zip(self.copies, views, strict=True):
            copy.initialize(view.stop - view.start, vocabulary)  # type: ignore[operator]

    def forward(self, *vectors: Tensor, **numbers: Tensor) -> Loss:
        losses = [
            weight * copy(*(v[:, view] for v in vectors), **numbers)
            for weight, copy, view in zip(self.weights, self.copies, self.views, strict=True)
        ]
        total: Tensor = sum(losses[1:], losses[0])
        return total

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "objective": type(self).__name__, "of": self.objective.describe()}


class Matryoshka(_MultiView):
    """Applies any objective at several dimensions, so that truncated vectors are useful too (Kusupati et al. 2022).

    >>> Matryoshka(Contrastive(), dimensions=(64, 256, 768))  # doctest: +SKIP

    Each dimension has a copy of the objective with its own parameters; the model's full dimension should be one of
    them.
    """

    def __init__(self, objective: Objective, dimensions: Sequence[int], weights: Sequence[float] | None = None) -> None:
        self.dimensions = tuple(dimensions)
        if not self.dimensions or min(self.dimensions) < 1 or len(set(self.dimensions)) < len(self.dimensions):
            raise BadInput(f"dimensions are {list(dimensions)}; expected distinct whole numbers above 0")
        super().__init__(objective, len(self.dimensions), weights)

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        if max(self.dimensions) > dimension:
            raise BadInput(
                f"dimensions contains {max(self.dimensions)}, but the model's vectors have {dimension} dimensions"
            )
        self._initialize_copies([slice(0, d) for d in self.dimensions], vocabulary)


class Layerwise(_MultiView):
    """Applies any objective at several layers, so that lower layers are useful too (Li et al. 2024, 2D Matryoshka).

    It reads the concatenated vectors of the model's last `layers` layers, lowest first; weights are in the same
    order. It can train any model that pools a single layer. Wrapped around a `Matryoshka`, it trains every dimension of
    each layer.
    """

    def __init__(self, objective: Objective, layers: int, weights: Sequence[float] | None = None) -> None:
        super().__init__(objective, whole_number("layers", layers), weights)
        self.layers = layers

    def layers_read(self) -> int:
        return self.layers

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        if dimension % self.layers:
            raise BadInput(f"vectors with {dimension} dimensions are not a concatenation of {self.layers} layers")
        part = dimension // self.layers
        self._initialize_copies([slice(i * part, (i + 1) * part) for i in range(self.layers)], vocabulary)


class Weighted(Objective):
    """The weighted sum of objectives that read the same text columns; each one receives the numbers it reads.

    Additional text columns (translations, negatives) are read if every objective accepts them.
    """

    def __init__(self, objectives: Sequence[Objective], weights: Sequence[float] | None = None) -> None:
        super().__init__()
        self.weights = tuple(weights) if weights is not None else (1.0,) * len(objectives)
        if not objectives or len(self.weights) != len(objectives):
            raise BadInput(
                f"{len(objectives)} objectives and {len(self.weights)} weights were given; expected one weight each"
            )
        if len({objective.layers_read() for objective in objectives}) > 1:
            found = ", ".join(f"{type(o).__name__} (layers: {o.layers_read() or 'the last'})" for o in objectives)
            raise BadInput(f"the objectives in a weighted sum must read the same layers; found {found}")
        self.objectives = nn.ModuleList(objectives)
        self._reads = [objective.reads() for objective in objectives]
        first = self._reads[0]
        for other, reads in zip(objectives, self._reads, strict=True):
            if (reads.texts, reads.repeats) != (first.texts, first.repeats) or reads.token_ids:
                raise BadInput(
                    f"{type(other).__name__} reads {', '.join(reads.texts)}, so it cannot be added to "
                    f"{type(objectives[0]).__name__}, which reads {', '.join(self._reads[0].texts)} in another way"
                )

    def reads(self) -> InputColumns:
        numbers = tuple(dict.fromkeys(name for r in self._reads for name in r.numbers))
        optional = dict.fromkeys(name for r in self._reads for name in r.optional if name not in numbers)
        return replace(
            self._reads[0],
            more_texts=all(r.more_texts for r in self._reads),
            numbers=numbers,
            optional=tuple(optional),
            integers=tuple(dict.fromkeys(name for r in self._reads for name in r.integers)),
            matrices=tuple(dict.fromkeys(name for r in self._reads for name in r.matrices)),
            text_ids=any(r.text_ids for r in self._reads),
            group_by=next((r.group_by for r in self._reads if r.group_by), None),
            per_group=max(r.per_group for r in self._reads),
        )

    def layers_read(self) -> int:
        return self._all()[0].layers_read()

    def check_rows(self, texts: Texts, numbers: Columns) -> None:
        for objective in self._all():
            objective.check_rows(texts, numbers)

    def check(self, texts: Texts, numbers: Columns) -> None:
        for objective in self._all():
            objective.check(texts, numbers)

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        for objective in self._all():
            objective.initialize(dimension, vocabulary)

    def forward(self, *vectors: Tensor, **numbers: Tensor) -> Loss:
        losses = []
        for weight, objective, reads in zip(self.weights, self.objectives, self._reads, strict=True):
            names = (*reads.numbers, *reads.optional, *(["text_ids"] if reads.text_ids else []))
            losses.append(weight * objective(*vectors, **{name: numbers[name] for name in names if name in numbers}))
        total: Tensor = sum(losses[1:], losses[0])
        return total

    def describe(self) -> dict[str, Any]:
        return {"objective": "Weighted", "weights": self.weights, "of": [o.describe() for o in self._all()]}

    def _all(self) -> list[Objective]:
        return [objective for objective in self.objectives if isinstance(objective, Objective)]
