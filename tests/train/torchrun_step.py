"""Run by torchrun: one step of two processes, each with its half of the batch; the first writes the gradient."""

import sys

import torch

from likewise import Reranker
from likewise.reranker import PolyEncoder
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives.registry import OBJECTIVES, RERANKER_OBJECTIVES, ObjectiveEntry, parse_objective
from likewise.train.objectives.reranking import PairRegression
from likewise.train.step.memory import StepOptions, TokenBudget
from likewise.train.step.processes import process_group
from likewise.train.step.trainable import backward, check_objective, join_gradients
from tests.train.columns import columns_for
from tests.train.run_trainer import load


class Scaled(PairRegression):
    """With a parameter of its own: how steep the scores are."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(0.7, dtype=torch.float64))

    def forward(self, logits, *, score):
        return super().forward(logits * self.slope, score=score)


TABLE = {**RERANKER_OBJECTIVES, "scaled": ObjectiveEntry(Scaled, "scores of any steepness", "", "")}


def gradient(folder: str, spec: str, processes, budget: int | None) -> dict[str, torch.Tensor]:
    """`spec` is contrastive of an embedder, cross/regression, poly/in-batch …"""
    torch.manual_seed(0)
    kind, _, name = spec.rpartition("/")
    model, objective = load(folder), parse_objective(name, TABLE if kind else OBJECTIVES)
    if kind:
        model = Reranker.start(model) if kind == "cross" else PolyEncoder.start(model, 5)
    check_objective(model.double(), objective)
    objective.double()
    rows = TrainingRows.of(columns_for(objective), objective)
    own = processes.local_rows(len(rows))
    batch = rows.take(range(own.start, own.stop))
    elapsed = backward(model, objective, batch, StepOptions(token_budget=TokenBudget(budget), processes=processes))
    join_gradients(model, [objective], processes)
    every = [*model.named_parameters(), *objective.named_parameters("objective")]
    named = {name: p.grad for name, p in every if p.grad is not None}
    return {"loss": torch.tensor(elapsed.loss, dtype=torch.float64), **named}


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, out, *specs = sys.argv[1:]
    with process_group() as processes:
        found = {spec: gradient(folder, spec, processes, 60 if "/" in spec else 40) for spec in specs}
        if processes.is_main:
            torch.save(found, out)
