"""What is drawn in training hangs on seed, step and process, and on nothing before it."""

import torch

from likewise import Embedder
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Contrastive
from likewise.train.settings import TrainSettings
from likewise.train.step import seeding
from tests.train.columns import columns_for
from tests.train.run_trainer import run_trainer

CPU = torch.device("cpu")


def _drawn(*words):
    seeding.seed(CPU, *words)
    return torch.rand(4).tolist()


def test_every_seed_step_and_process_draws_for_itself_and_the_same_each_time():
    with seeding.borrowed_generators(CPU):
        words = [(seed, step, rank) for seed in range(4) for step in range(4) for rank in range(4)]
        found = [_drawn(*w) for w in words]
        assert len({tuple(f) for f in found}) == len(words)
        assert [_drawn(*w) for w in words] == found


def test_training_gives_the_callers_generators_back_and_does_not_ask_where_they_stood(own):
    objective, found = Contrastive(), []
    for seed in (1, 2):
        embedder = Embedder.load(own(), device="cpu")
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        run_trainer(
            embedder,
            [DataSource(TrainingRows.of(columns_for(objective), objective), objective)],
            TrainSettings(max_steps=2, batch_size=8),
        )
        assert torch.equal(before, torch.get_rng_state())
        found.append(torch.cat([p.detach().flatten() for p in embedder.parameters()]))
    assert torch.equal(*found)
