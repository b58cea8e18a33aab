"""Names and values of settings, as flags and TOML files have them."""

import pytest

from likewise.errors import BadInput
from likewise.train.run import Lora, Optimization, TrainSettings
from likewise.train.settings import from_settings, parse_value, settings_of


def test_every_field_is_a_setting_under_one_name_with_help():
    names = settings_of(TrainSettings)
    assert names["rate"].path == ("optimization", "rate") and names["lora_rank"].path == ("lora", "rank")
    assert len(names) == len(TrainSettings.__dataclass_fields__) - 2 + len(Optimization.__dataclass_fields__) + len(
        Lora.__dataclass_fields__
    )
    assert all(setting.help for setting in names.values())
    assert names["schedule"].choices == ("linear", "cosine", "constant")


def test_defaults_are_those_of_the_dataclasses():
    assert from_settings(TrainSettings, {}, "here") == TrainSettings()
    assert all(parse_value(s, s.default, "here") == s.default for s in settings_of(TrainSettings).values())


def test_texts_and_values_of_toml_mean_the_same():
    texts = {"rate": "2e-4", "betas": "0.9,0.98", "freeze": "embeddings, blocks:0-3", "steps": "7", "lora_rank": "8"}
    values = {"rate": 2e-4, "betas": [0.9, 0.98], "freeze": ["embeddings", "blocks:0-3"], "steps": 7, "lora_rank": 8}
    expected = TrainSettings(
        steps=7,
        optimization=Optimization(rate=2e-4, betas=(0.9, 0.98)),
        freeze=("embeddings", "blocks:0-3"),
        lora=Lora(rank=8),
    )
    assert from_settings(TrainSettings, texts, "here") == from_settings(TrainSettings, values, "here") == expected
    assert from_settings(TrainSettings, {"epochs": 3}, "here") == TrainSettings(epochs=3.0)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"warm_up": 0.1}, "no setting 'warm_up'; did you mean warmup?"),
        ({"lora-rank": 8}, "did you mean lora_rank?"),
        ({"qqqqqqq": 1}, "there are epochs, steps, batch"),
        ({"batch": "many"}, "run.toml: batch is 'many'; wanted a whole number"),
        ({"batch": 1.5}, "wanted a whole number"),
        ({"batch": True}, "wanted a whole number"),
        ({"bias_correction": 1}, "wanted true or false"),
        ({"schedule": "up"}, "schedule is 'up'; wanted linear or cosine or constant"),
        ({"betas": [0.9]}, "wanted 2 numbers"),
        ({"freeze": [1]}, "wanted several: each a text"),
        ({"rate": None}, "wanted a number"),
    ],
)
def test_what_is_no_setting_or_no_value_of_it_is_told(values, said):
    with pytest.raises(BadInput, match=said.replace("?", r"\?")):
        from_settings(TrainSettings, values, "run.toml")
