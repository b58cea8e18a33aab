"""Negatives that are mined during training: by the model as it is then, and after a kill the same ones."""

from dataclasses import replace

import pytest
import torch

from likewise.errors import BadInput
from likewise.mine import MiningSettings, RankBetween, mine_negatives
from likewise.mine.settings import MiningPrompts
from likewise.train import TrainSettings, load_data, train
from likewise.train.data.sources import rows_digest, with_mined_negatives
from likewise.train.objectives import Contrastive
from tests.train.columns import EVERY
from tests.train.run_trainer import load, run_trainer, weights_of

ANCHORS = [f"the cat {i} sleeps" for i in range(12)]
PAIRS = {"anchor": ANCHORS, "positive": [f"a kitten {i} naps" for i in range(12)]}
SETTINGS = MiningSettings(k=2, rules=[RankBetween(1, 8)])
RUN = TrainSettings(max_steps=6, batch_size=4, learning_rate=1e-2, warmup_ratio=0, save_steps=1)
READING_NEGATIVES = [
    name for name, build in EVERY.items() if (reads := build().reads()).more_texts and not reads.numbers
]


def mined(name="contrastive", every=4, settings=SETTINGS, **options):
    torch.manual_seed(0)
    return with_mined_negatives(load_data(PAIRS, EVERY[name](), **options), settings, every=every)


@pytest.mark.parametrize("name", READING_NEGATIVES)
def test_a_run_that_was_stopped_between_minings_has_the_same_bits(name, own, tmp_path):
    results = []
    for folder, stops in (("whole", [None]), ("parts", [3, None])):
        for stopped_at in stops:
            source = mined(name)
            model, steps = load(own()), []
            run_trainer(
                model,
                [source],
                RUN,
                callbacks=[steps.append],
                checkpoint_folder=tmp_path / folder,
                stop=lambda steps=steps, at=stopped_at: len(steps) == at,
            )
        results.append((weights_of(model), source.mined.chosen))
    (first, chosen), (second, again) = results
    assert torch.equal(chosen, again)
    assert all(torch.equal(first[one], second[one]) for one in first)


def test_negatives_are_those_of_the_model_at_that_step(own):
    prompts = {"anchor": "quick: ", "positive": "1 2: "}
    source, model, seen = mined(prompts=prompts), load(own()), []
    expected = {}

    def look(state):
        seen.append(source.mined.chosen.tolist())
        if state.step == 4:  # mined anew before the next step
            expected[5] = slowly(model)
            model.train()

    expected[1] = slowly(load(own()))
    run_trainer(model, [source], RUN, callbacks=[look])
    assert seen[0] == seen[1] == seen[2] == seen[3] == expected[1]
    assert seen[4] == seen[5] == expected[5] != expected[1]
    assert list(source.rows.texts) == ["anchor", "positive", "negative_1", "negative_2"]
    batch = source.rows.take([7])
    assert batch.texts[2:] == tuple((PAIRS["positive"][i],) for i in seen[5][7])
    assert batch.prompted("")[3][0].startswith("1 2: ")


def slowly(model):
    given = MiningPrompts(anchor="quick: ", corpus="1 2: ")
    return mine_negatives(*PAIRS.values(), model.eval(), settings=SETTINGS, prompts=given).indices.tolist()


def test_other_settings_are_another_run_and_what_was_mined_is_not(own, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    source = mined()
    digest = rows_digest(source.rows)
    run_trainer(load(own()), [source], RUN, checkpoint_folder=tmp_path, stop=lambda: True)
    assert rows_digest(source.rows) == digest and capsys.readouterr().err == ""
    with pytest.raises(BadInput, match="another run: mined"):
        run_trainer(load(own()), [mined(every=3)], RUN, checkpoint_folder=tmp_path)


def test_a_finished_run_is_another_one_if_negatives_are_mined_otherwise_or_from_other_texts(own, tmp_path):
    model, run = str(own()), replace(RUN, max_steps=2)
    others = load_data(PAIRS, "contrastive"), SETTINGS
    train(model, mined(), run, output=tmp_path / "out")
    for source in (mined(every=3), with_mined_negatives(*others, corpus=[f"a dog {i}" for i in range(12)], every=4)):
        with pytest.raises(BadInput, match="contains another finished run: mined"):
            train(model, source, run, output=tmp_path / "out")
    train(model, mined(), run, output=tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((PAIRS, "simcse"), "such as contrastive; found SimCSE over"),
        (
            ({**PAIRS, "negative": ANCHORS}, "contrastive"),
            "anchor, positive, negative; expected only an anchor and a positive",
        ),
        ((lambda: iter(()), "contrastive"), "found Contrastive over a stream"),
    ],
)
def test_data_without_a_place_for_negatives_are_refused(data, message):
    texts, objective = data
    given = {"sentence": ANCHORS} if objective == "simcse" else texts
    with pytest.raises(BadInput, match=message):
        with_mined_negatives(load_data(given, objective), SETTINGS, every=1)


def test_too_few_texts_are_reported_when_they_are_mined(own):
    few = with_mined_negatives(load_data(PAIRS, Contrastive()), SETTINGS, every=2, corpus=PAIRS["positive"][:2])
    with pytest.raises(BadInput, match="row 0 has fewer than 2 texts that are not known positives; lower k"):
        run_trainer(load(own()), [few], RUN)
