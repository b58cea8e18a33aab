"""What is drawn in training hangs on seed, step and process, and on nothing before it."""

from contextlib import contextmanager

import pytest
import torch

from likewise.train.objectives import Classification, Contrastive
from likewise.train.settings import TrainSettings
from likewise.train.step import seeding
from tests.train.run_trainer import load, run_trainer, source

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
        embedder = load(own())
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        run_trainer(embedder, [source(objective, 8)], TrainSettings(max_steps=2, batch_size=8))
        assert torch.equal(before, torch.get_rng_state())
        found.append(torch.cat([p.detach().flatten() for p in embedder.parameters()]))
    assert torch.equal(*found)


class Generators:
    """Stands in for the generators of the devices of one kind, each of which has a state."""

    def __init__(self, several):
        self.several, self.states, self.chosen, self.calls = several, {}, None, []

    def manual_seed(self, number):
        self.calls.append(("seeded", self.chosen, number))

    def get_rng_state(self, *device):
        assert bool(device) == self.several
        return self.states[device]

    def set_rng_state(self, state, *device):
        assert bool(device) == self.several
        self.states[device] = state

    @contextmanager
    def device(self, device):
        self.chosen = device
        yield
        self.chosen = None


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_of_another_device_the_generator_is_seeded_and_given_back_beside_the_cpus(kind, monkeypatch):
    device, theirs = torch.device(kind, 1) if kind == "cuda" else torch.device(kind), Generators(kind == "cuda")
    key = (device,) if kind == "cuda" else ()
    monkeypatch.setattr(torch, "get_device_module", lambda asked: {device: theirs}[asked])
    monkeypatch.setattr(torch.cuda, "device", theirs.device)
    monkeypatch.setattr(torch.cuda, "manual_seed", theirs.manual_seed)
    theirs.states[key] = torch.tensor([4])
    before = torch.get_rng_state()
    with seeding.borrowed_generators(device):
        seeding.seed(device, 1, 2)
        theirs.states[key] = torch.tensor([5])
        assert not torch.equal(before, torch.get_rng_state())
        own = torch.initial_seed()
    assert theirs.calls == [("seeded", device if kind == "cuda" else None, own)]
    assert torch.equal(before, torch.get_rng_state()) and theirs.states == {key: torch.tensor([4])}
    states = seeding.generator_states(device)
    assert len(states) == 2 and states[1].tolist() == [4] and len(seeding.generator_states(CPU)) == 1


def test_seeds_are_those_of_numpys_seed_sequence():
    import numpy as np

    with seeding.borrowed_generators(CPU):
        seeding.seed(CPU, 3, 4, 5)
        assert torch.initial_seed() == int(np.random.SeedSequence((3, 4, 5)).generate_state(1, np.uint64)[0])


@pytest.mark.parametrize("number", [0, 3])
def test_new_weights_and_each_step_are_drawn_from_the_seed_alone(number, own, monkeypatch):
    objective, seeds = Classification(2), []
    real = seeding.seed
    monkeypatch.setattr(seeding, "seed", lambda device, *numbers: seeds.append(numbers) or real(device, *numbers))
    run_trainer(
        load(own()),
        [source(objective, 8)],
        TrainSettings(max_steps=2, batch_size=8, seed=number, objective_learning_rate=1e-12, weight_decay=0.0),
    )
    assert seeds == [(number,), (number, 0, 0), (number, 1, 0)]
    with seeding.borrowed_generators(CPU):
        real(CPU, number)
        fresh = torch.nn.Linear(3 * 32, 2)
    torch.testing.assert_close(objective.classifier.weight, fresh.weight, atol=1e-6, rtol=0)
