"""Several processes that train as one: negatives come from all of them, and the gradient is that of the joined batch.

Each process turns its own rows into vectors. The vectors, numbers and names of all are brought together, every process
computes the same loss of the joined batch, and goes back through its own vectors alone; the encoders' gradients are
then added up. Nothing has to be differentiated across processes, since the graph is cut at the vectors (`step`).
Started by torchrun: gloo for what lies on CPUs, NCCL for what lies on GPUs. Every process has to come to the same
calls in the same order; where one fails, torchrun ends the others.
"""

import importlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, distributed, nn

from ...errors import BadInput

PATIENCE = timedelta(hours=2)
"""How long processes wait for one another: the first may be measuring. One that has died is noticed without."""


@dataclass(frozen=True)
class Processes:
    """Which of how many this one is."""

    rank: int = 0
    count: int = 1

    def own(self, rows: int) -> slice:
        """The rows of a batch that are this process's.

        Raises:
            BadInput: they cannot be shared out evenly.
        """
        if rows % self.count:
            raise BadInput(f"a batch of {rows} rows cannot be shared among {self.count} processes evenly")
        each = rows // self.count
        return slice(self.rank * each, (self.rank + 1) * each)

    def together(self, own: Shaped[Tensor, "n ..."]) -> Shaped[Tensor, "N ..."]:
        """The rows of all processes, in the order of the batch."""
        if self.count == 1:
            return own
        parts = [torch.empty_like(own) for _ in range(self.count)]
        distributed.all_gather(parts, own.contiguous())
        return torch.cat(parts)

    def widened(self, own: Int[Tensor, "n W"], fill: int) -> Int[Tensor, "n V"]:
        """As wide as the widest process's, so that they can be brought together."""
        if self.count == 1:
            return own
        widest = torch.tensor(own.shape[1], device=own.device)
        distributed.all_reduce(widest, distributed.ReduceOp.MAX)
        return nn.functional.pad(own, (0, int(widest) - own.shape[1]), value=fill)

    def add_up(self, parameters: Iterable[nn.Parameter], share: float = 1.0) -> None:
        """Each gradient becomes `share` × the sum of all processes'; one that no process has is left out."""
        asked = [p for p in parameters if p.requires_grad]
        if self.count == 1 or not asked:
            return
        has = torch.tensor([p.grad is not None for p in asked], dtype=torch.int32)
        distributed.all_reduce(has, distributed.ReduceOp.MAX)
        wanted = [p for p, somewhere in zip(asked, has.tolist(), strict=True) if somewhere]
        if not wanted:
            return
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in wanted])
        distributed.all_reduce(flat)
        if share != 1:
            flat *= share
        for p, part in zip(wanted, torch.split(flat, [p.numel() for p in wanted]), strict=True):
            p.grad = part.view_as(p)

    def any(self, here: bool) -> bool:
        """Whether it is so in one of the processes."""
        return self.total(int(here)) > 0

    def total(self, here: int) -> int:
        """The sum over the processes."""
        if self.count == 1:
            return here
        number = torch.tensor(here)
        distributed.all_reduce(number)
        return int(number)

    def told(self, value: Any) -> Any:
        """What the leader gives, in all of them; JSON must be able to hold it."""
        if self.count == 1:
            return value
        letters = torch.tensor(list(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor(len(letters))
        distributed.broadcast(length, 0)
        letters = letters if self.leads else letters.new_empty(int(length))
        distributed.broadcast(letters, 0)
        return json.loads(bytes(letters.tolist()))

    @torch.no_grad()
    def alike(self, tensors: Iterable[Tensor]) -> None:
        """The leader's values, in all of them."""
        for tensor in tensors if self.count > 1 else ():
            sent = tensor.detach().clone(memory_format=torch.contiguous_format)
            distributed.broadcast(sent, 0)
            tensor.copy_(sent)  # which raises its version, as `Linear.packed` wants it

    @property
    def leads(self) -> bool:
        """Whether this one writes files and speaks to people."""
        return self.rank == 0


SINGLE_PROCESS = Processes()


@contextmanager
def process_group() -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone; inside it, once more gives the same."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield SINGLE_PROCESS
        return
    began = not distributed.is_initialized()
    if began:
        # Its functions have the group of that moment as default arguments, and would keep it: its threads could then
        # still be letting go of tensors while the interpreter ends, which aborts the process (seen with torch 2.13).
        importlib.import_module("torch.distributed.nn.functional")
        kinds = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(kinds, timeout=PATIENCE)
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        if began:
            distributed.destroy_process_group()
