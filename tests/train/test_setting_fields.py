"""Names and values of settings, as flags and TOML files have them."""

from typing import Literal

import pytest

from likewise.errors import BadInput
from likewise.train.setting_fields import Setting, describe_type, from_settings, parse_value, settings_of
from likewise.train.settings import CHANGEABLE, REPORTING_ONLY, TrainSettings


def test_every_field_is_a_setting_with_help_and_a_group():
    names = settings_of(TrainSettings)
    assert list(names) == list(TrainSettings.__dataclass_fields__)
    assert all(setting.help and setting.group for setting in names.values())
    assert names["lr_schedule"].choices == ("linear", "cosine", "constant")


def test_settings_that_may_change_or_only_report_are_settings():
    assert {*CHANGEABLE, *REPORTING_ONLY} < set(settings_of(TrainSettings))
    assert set(REPORTING_ONLY) < set(CHANGEABLE)
    assert not set(CHANGEABLE) & set(TrainSettings().identity())


def test_defaults_are_those_of_the_dataclass():
    assert from_settings(TrainSettings, {}, "here") == TrainSettings()
    assert all(parse_value(s, s.default, "here") == s.default for s in settings_of(TrainSettings).values())


def test_text_and_values_of_toml_mean_the_same():
    texts = {
        **{"learning_rate": "2e-4", "adam_betas": "0.9,0.98", "freeze": "embeddings, blocks:0-3"},
        **{"max_steps": "7", "lora_rank": "8"},
    }
    values = {
        **{"learning_rate": 2e-4, "adam_betas": [0.9, 0.98], "freeze": ["embeddings", "blocks:0-3"]},
        **{"max_steps": 7, "lora_rank": 8},
    }
    expected = TrainSettings(
        max_steps=7, learning_rate=2e-4, adam_betas=(0.9, 0.98), freeze=("embeddings", "blocks:0-3"), lora_rank=8
    )
    assert from_settings(TrainSettings, texts, "here") == from_settings(TrainSettings, values, "here") == expected
    assert from_settings(TrainSettings, {"epochs": 3}, "here") == TrainSettings(epochs=3.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"warm_up_ratio": 0.1}, "unknown setting 'warm_up_ratio'; did you mean warmup_ratio?"),
        ({"lora-rank": 8}, "did you mean lora_rank?"),
        ({"qqqqqqq": 1}, "the settings are epochs, max_steps, batch_size"),
        ({"batch_size": "many"}, "run.toml: batch_size is 'many'; expected a whole number"),
        ({"batch_size": 1.5}, "expected a whole number"),
        ({"batch_size": True}, "expected a whole number"),
        ({"adam_bias_correction": 1}, "expected true or false"),
        ({"lr_schedule": "up"}, "lr_schedule is 'up'; expected linear or cosine or constant"),
        ({"adam_betas": [0.9]}, "expected 2 numbers"),
        ({"freeze": [1]}, "expected a list, each item a text"),
        ({"learning_rate": None}, "expected a number"),
    ],
)
def test_an_unknown_setting_or_a_wrong_value_is_reported(values, message):
    with pytest.raises(BadInput, match=message.replace("?", r"\?")):
        from_settings(TrainSettings, values, "run.toml")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (int | None, "a whole number"), (float, "a number"), (tuple[str, ...], "a list, each item a text"),
        (tuple[float, float], "2 numbers"), (Literal["a", "b"], "a or b"), (bool, "true or false"),
    ],
)  # fmt: skip
def test_a_type_is_reported_in_words(kind, message):
    assert describe_type(kind) == message


def test_values_are_read_as_their_types():
    def read(kind, value):
        return parse_value(Setting("x", kind, None, "help"), value, "here")

    assert read(int | None, None) is None and read(int | None, "3") == 3 and read(float, 2) == 2.0
    assert isinstance(read(float, 2), float) and read(tuple[str, ...], " a, ,b ") == ("a", "b")
    assert read(tuple[float, float], [1, "2"]) == (1.0, 2.0) and read(bool, True) is True
    for kind, value in ((float, True), (bool, "true"), (str, 3), (int, 2.0), (tuple[float, float], "1,2,3")):
        with pytest.raises(BadInput, match="here: x is .*; expected"):
            read(kind, value)
    assert (
        Setting("x", Literal["a", "b"], None, "help").choices == ("a", "b") and Setting("x", int, 0, "").choices == ()
    )
