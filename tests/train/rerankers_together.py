"""Run by torchrun: one step of two processes, each with its half of the rows; the first writes the gradient."""

import sys

import torch

from likewise import Embedder, Reranker
from likewise.reranker import PolyEncoder
from likewise.train.batch import Rows
from likewise.train.fitting import Budget
from likewise.train.objectives import RERANKING, PairRegression, objective_of
from likewise.train.processes import joined
from likewise.train.trainable import backward, join_gradients
from tests.train.columns import columns_for


class Scaled(PairRegression):
    """With a parameter of its own: how steep the scores are."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(0.7, dtype=torch.float64))

    def forward(self, logits, *, score):
        return super().forward(logits * self.slope, score=score)


TABLE = {**RERANKING, "scaled": Scaled}


def gradient(folder: str, spec: str, processes, budget: int | None) -> dict[str, torch.Tensor]:
    """`spec` is cross/regression, poly/in-batch …"""
    kind, _, name = spec.partition("/")
    embedder, objective = Embedder.load(folder, device="cpu"), objective_of(name, TABLE)
    reranker = Reranker.start(embedder) if kind == "cross" else PolyEncoder.start(embedder, 5)
    reranker.double()
    rows = Rows.of(columns_for(objective), objective)
    own = processes.own(len(rows))
    batch = rows.take(range(own.start, own.stop))
    took = backward(reranker, objective, batch, budget=Budget(budget), processes=processes)
    join_gradients(reranker, [objective], processes)
    every = [*reranker.named_parameters(), *objective.named_parameters("objective")]
    named = {name: p.grad for name, p in every if p.grad is not None}
    return {"loss": torch.tensor(took.loss, dtype=torch.float64), **named}


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, out, *specs = sys.argv[1:]
    with joined() as processes:
        found = {spec: gradient(folder, spec, processes, 60) for spec in specs}
        if processes.leads:
            torch.save(found, out)
