"""Several processes that train as one: negatives come from all of them, and the gradient is that of the joined batch.

Each process turns its own rows into vectors. The vectors, numbers and names of all are brought together, every process
computes the same loss of the joined batch, and goes back through its own vectors alone; the encoders' gradients are
then added up. Nothing has to be differentiated across processes, since the graph is cut at the vectors (`step`).
Started by torchrun: gloo on CPUs, NCCL on GPUs.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, distributed, nn

from ..errors import BadInput


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

    def add_up(self, parameters: Iterable[nn.Parameter]) -> None:
        """Each gradient becomes the sum of all processes' (zeros where one has none)."""
        if self.count == 1:
            return
        wanted = [p for p in parameters if p.requires_grad]
        for p in wanted:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        flat = torch.cat([p.grad.flatten() for p in wanted if p.grad is not None])
        distributed.all_reduce(flat)
        for p, part in zip(wanted, torch.split(flat, [p.numel() for p in wanted]), strict=True):
            p.grad = part.view_as(p)

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            distributed.barrier()

    @property
    def leads(self) -> bool:
        """Whether this one writes files and speaks to people."""
        return self.rank == 0


ALONE = Processes()


@contextmanager
def joined() -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
