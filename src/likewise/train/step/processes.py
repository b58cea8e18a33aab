"""Several processes that train as one: negatives come from all of them, and gradients are those of the joined batch.

Each process turns its own rows into vectors. The vectors, numbers and text ids of all processes are gathered, and every
process computes the same loss of the joined batch but goes backward only through its own vectors. Then the encoders'
gradients are summed. Nothing is differentiated across processes, since the graph is cut at the vectors
(`memory.cut_step`). torchrun starts the processes, which use gloo on CPUs and NCCL on GPUs. Every process must make the
same calls in the same order; if one fails, torchrun ends the others.
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
from torch import Tensor, distributed, nn

from ...array_types import Int, Shaped
from ...errors import BadInput

TIMEOUT = timedelta(hours=2)  # long enough for the first process to evaluate; dead processes are detected earlier


@dataclass(frozen=True)
class Processes:
    """The rank of this process, and the number of processes."""

    rank: int = 0
    count: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the process that evaluates, writes files and prints."""
        return self.rank == 0

    def local_rows(self, rows: int) -> slice:
        """This process's rows of a batch; BadInput if the batch cannot be divided evenly."""
        if rows % self.count:
            raise BadInput(f"a batch of {rows} rows cannot be divided evenly among {self.count} processes")
        each = rows // self.count
        return slice(self.rank * each, (self.rank + 1) * each)

    def gather(self, local: Shaped[Tensor, "n ..."]) -> Shaped[Tensor, "N ..."]:
        """The rows of all processes, in the order of the batch."""
        if self.count == 1:
            return local
        parts = [torch.empty_like(local) for _ in range(self.count)]
        distributed.all_gather(parts, local.contiguous())
        return torch.cat(parts)

    def pad_to_widest(self, local: Int[Tensor, "n W"], fill: int) -> Int[Tensor, "n V"]:
        """The rows padded to the width of the widest process, so that they can be gathered."""
        if self.count == 1:
            return local
        widest = torch.tensor(local.shape[1], device=local.device)
        distributed.all_reduce(widest, distributed.ReduceOp.MAX)
        return nn.functional.pad(local, (0, int(widest) - local.shape[1]), value=fill)

    def sum_gradients(self, parameters: Iterable[nn.Parameter], scale: float = 1.0) -> None:
        """Replace each gradient by `scale` × its sum over all processes; gradients that no process has are skipped."""
        trained = [p for p in parameters if p.requires_grad]
        if self.count == 1 or not trained:
            return
        has_gradient = torch.tensor([p.grad is not None for p in trained], dtype=torch.int32)
        distributed.all_reduce(has_gradient, distributed.ReduceOp.MAX)
        summed = [p for p, somewhere in zip(trained, has_gradient.tolist(), strict=True) if somewhere]
        if not summed:
            return
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in summed])
        distributed.all_reduce(flat)
        if scale != 1:
            flat *= scale
        for p, part in zip(summed, torch.split(flat, [p.numel() for p in summed]), strict=True):
            p.grad = part.view_as(p)

    def any(self, local: bool) -> bool:
        """Whether the value is true in any process."""
        return self.sum(int(local)) > 0

    def sum(self, local: int) -> int:
        if self.count == 1:
            return local
        number = torch.tensor(local)
        distributed.all_reduce(number)
        return int(number)

    def broadcast(self, value: Any) -> Any:
        """The main process's value, in every process; it must be JSON-serializable."""
        if self.count == 1:
            return value
        encoded = torch.tensor(list(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor(len(encoded))
        distributed.broadcast(length, 0)
        encoded = encoded if self.is_main else encoded.new_empty(int(length))
        distributed.broadcast(encoded, 0)
        return json.loads(bytes(encoded.tolist()))

    @torch.no_grad()
    def synchronize(self, tensors: Iterable[Tensor]) -> None:
        """Copy the main process's values into the tensors of every process."""
        for tensor in tensors if self.count > 1 else ():
            sent = tensor.detach().clone(memory_format=torch.contiguous_format)
            distributed.broadcast(sent, 0)
            tensor.copy_(sent)  # increments the tensor's version, as `Linear.packed` requires


SINGLE_PROCESS = Processes()


@contextmanager
def process_group() -> Iterator[Processes]:
    """The processes started by torchrun, or this one alone; nested calls return the same object."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield SINGLE_PROCESS
        return
    starts_group = not distributed.is_initialized()
    if starts_group:
        # Imported before the group exists, because this module's functions keep the current group alive as default
        # arguments. The group's threads could then still be releasing tensors while the interpreter exits, which aborts
        # the process (seen with torch 2.13).
        importlib.import_module("torch.distributed.nn.functional")
        backends = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(backends, timeout=TIMEOUT)
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        if starts_group:
            distributed.destroy_process_group()
