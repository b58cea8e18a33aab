"""Computes a step in parts that fit into memory; if memory runs out, repeats the step in smaller parts.

The computation differs between embedders, cross-encoders and poly-encoders, but the rules for repeating it do not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from ...array_types import Float
from ...errors import OutOfMemory
from ...inference import plan_batches
from ...runtime.devices import none_if_out_of_memory
from . import seeding
from .processes import SINGLE_PROCESS, Processes

Gradients = Sequence[tuple[nn.Parameter, Tensor | None]]
StepParts = list[list[int]]
"""Indices of the texts or rows computed together, one list per part."""


@dataclass(frozen=True)
class StepResult:
    """Loss, tokens read, and the number of parts it was computed in."""

    loss: float
    tokens: int
    parts: int


@dataclass
class TokenBudget:
    """The number of tokens that may be encoded at once with gradients; halved permanently when memory runs out."""

    tokens: int | None = None


@dataclass(frozen=True, eq=False)
class StepOptions:
    """How to compute a step."""

    token_budget: TokenBudget = field(default_factory=TokenBudget)
    dtype: torch.dtype | None = None  # for autocast; None means fp32
    loss_scale: float = 1.0  # below 1 if several batches make up one step
    processes: Processes = SINGLE_PROCESS  # the batch is this process's part; the loss covers all parts


@dataclass(frozen=True, eq=False)
class SplittableStep:
    """A step in three phases: `forward` in parts, `gather` from all processes, and `backward` in parts."""

    unit: str  # the name of the smallest part in messages: "text" or "row"
    lengths: Sequence[int]  # tokens of each unit
    forward: Callable[[StepParts], Any]
    gather: Callable[[Any], Any]
    backward: Callable[[Any], float]


def retry_smaller(
    model: nn.Module, objective: nn.Module, step: SplittableStep, budget: TokenBudget, processes: Processes
) -> StepResult:
    """Compute the step, and repeat it if memory runs out.

    The step is repeated in smaller parts if memory runs out in this process, and unchanged if it runs out in another
    process. If memory runs out before the results are gathered, no other process is affected. If it runs out later, all
    processes repeat the step, because each one needs the others' parts.
    """
    tokens = sum(step.lengths)
    generators, gradients_before = seeding.generator_states(_device(model)), copied_gradients(model, objective)
    while True:
        parts = [part.tolist() for part in plan_batches(step.lengths, budget.tokens or tokens)]
        outputs, loss, repeat = none_if_out_of_memory(partial(step.forward, parts)), None, True
        if outputs is not None:
            loss = none_if_out_of_memory(partial(step.backward, step.gather(outputs)))
            repeat = processes.any(loss is None)
        if loss is not None and not repeat:
            return StepResult(loss, tokens, len(parts))
        if loss is None and len(parts) == len(step.lengths):
            raise OutOfMemory(f"not enough memory for one {step.unit} of {max(step.lengths):,} tokens")
        if loss is None:
            budget.tokens = (budget.tokens or tokens) // 2  # above 0: with 1, each part would be one text
        outputs = None  # also frees the graph
        restore_before_step(model, gradients_before, generators)


def cut_step(
    lengths: Sequence[int],
    columns: Sequence[int],
    encode: Callable[[int, list[int]], Tensor],
    loss: Callable[..., Tensor],
    device: torch.device,
    options: StepOptions,
) -> SplittableStep:
    """A step whose graph is cut at the vectors of its texts (GradCache, Gao et al. 2021).

    Above the cut is the loss over all rows of all processes. Below it are the encoders, which can run forward and
    backward one part at a time for any loss; whether they do depends only on memory.

    Args:
        lengths: the number of tokens in each text, column after column.
        columns: the number of text columns on each side: all on one side, or contexts and candidates on two.
        encode: maps a side and indices of its texts to their vectors, with autocast if the options ask for it.
        loss: computes the loss from the vectors of each side, column after column.
        device: the model's device.
        options: how to compute the step.
    """
    rows, processes = len(lengths) // sum(columns), options.processes
    starts = [rows * sum(columns[:side]) for side in range(len(columns) + 1)]

    def forward(parts: StepParts) -> list[_EncodedTexts]:
        encoded = []
        with torch.set_grad_enabled(len(parts) == 1):
            for part, side in product(parts, range(len(columns))):
                texts = [i - starts[side] for i in part if starts[side] <= i < starts[side + 1]]
                if texts:
                    states = seeding.generator_states(device)
                    encoded.append(_EncodedTexts(side, texts, states, encode(side, texts), len(parts) == 1))
        return encoded

    def gather(encoded: list[_EncodedTexts]) -> tuple[list[_EncodedTexts], list[Tensor]]:
        sides = [_in_order([part for part in encoded if part.side == side]) for side in range(len(columns))]
        chunks = [side.chunk(count) for side, count in zip(sides, columns, strict=True)]
        return encoded, [torch.cat([processes.gather(column) for column in side]) for side in chunks]

    def backward(outputs: tuple[list[_EncodedTexts], list[Tensor]]) -> float:
        encoded, sides = outputs
        total = loss(*(side.requires_grad_() for side in sides))
        (total * options.loss_scale).backward()  # type: ignore[no-untyped-call]
        local, gradients = processes.local_rows(len(sides[0]) // columns[0]), []
        for side, count in zip(sides, columns, strict=True):
            gradient = torch.zeros_like(side) if side.grad is None else side.grad
            gradients.append(torch.cat([column[local] for column in gradient.chunk(count)]))
        generators_after = seeding.generator_states(device)
        for part in encoded:
            if not part.has_graph:
                seeding.restore_generators(part.generators, device)  # so that dropout drops the same values again
                part.vectors = encode(part.side, part.texts)
            if part.vectors.requires_grad:  # otherwise all weights below are frozen
                part.vectors.backward(gradients[part.side][part.texts])  # type: ignore[no-untyped-call]
            part.vectors = torch.empty(0)  # also frees the graph
        seeding.restore_generators(generators_after, device)
        return float(total.detach())

    return SplittableStep("text", lengths, forward, gather, backward)


@dataclass(eq=False)
class _EncodedTexts:
    """Texts of one side, the states of the generators before they were encoded, and their vectors."""

    side: int
    texts: list[int]
    generators: list[Tensor]
    vectors: Tensor
    has_graph: bool


def _in_order(encoded: Sequence[_EncodedTexts]) -> Float[Tensor, "M ..."]:
    """The vectors of one side in the order of its texts, detached from their graph."""
    vectors = torch.cat([part.vectors for part in encoded]).detach()
    return vectors[torch.argsort(torch.tensor([i for part in encoded for i in part.texts])).to(vectors.device)]


def copied_gradients(*modules: nn.Module) -> Gradients:
    """Copies of the gradients accumulated before this step; usually there are none."""
    parameters = [p for module in modules for p in module.parameters()]
    return [(p, None if p.grad is None else p.grad.clone()) for p in parameters]


def restore_before_step(model: nn.Module, gradients: Gradients, generators: Sequence[Tensor]) -> None:
    """Put gradients and random generators back to their state before the step, and release cached memory."""
    for parameter, gradient in gradients:
        parameter.grad = None if gradient is None else gradient.clone()  # the original may be needed again
    device = _device(model)
    seeding.restore_generators(generators, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
