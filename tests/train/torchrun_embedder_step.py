"""Run by torchrun: one step of two processes, each with its half of the batch; the first writes the gradient."""

import sys

import torch

from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import parse_objective
from likewise.train.step.embedder_step import embedder_backward
from likewise.train.step.memory import StepOptions, TokenBudget
from likewise.train.step.processes import process_group
from tests.train.columns import columns_for


def gradient(folder: str, name: str, processes, budget: int | None) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    objective, embedder = parse_objective(name), TorchEmbedder.load(folder, device="cpu").double()
    objective.initialize(embedder.dimension, embedder.encoder.vocabulary)
    objective.double()
    rows = TrainingRows.of(columns_for(objective), objective)
    own = processes.local_rows(len(rows))
    batch = rows.take(range(own.start, own.stop))
    elapsed = embedder_backward(
        embedder, objective, batch, StepOptions(token_budget=TokenBudget(budget), processes=processes)
    )
    processes.sum_gradients(embedder.parameters())
    named = [*embedder.named_parameters(), *objective.named_parameters()]
    return {"loss": torch.tensor(elapsed.loss)} | {
        f"{i}/{n}": p.grad for i, (n, p) in enumerate(named) if p.grad is not None
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, out, *names = sys.argv[1:]
    with process_group() as processes:
        found = {name: gradient(folder, name, processes, 40) for name in names}
        if processes.is_main:
            torch.save(found, out)
