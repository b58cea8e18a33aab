"""Settings: names and values as flags and TOML files have them; defaults of papers and published runs."""

import json
from dataclasses import MISSING, fields
from typing import Literal

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.train.layers import fusion_training
from likewise.train.setting_fields import Setting, from_settings, parse_value, settings_of
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


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"precision": "fp16"}, "precision is 'fp16'; expected fp32 or bf16"),
        ({"batch_size": 4.0}, "batch_size is 4.0; expected a whole number"),
        ({"max_steps": np.float32(2.5)}, "expected a whole number"),
    ],
)
def test_settings_in_python_are_checked_as_those_of_a_file(values, message):
    with pytest.raises(BadInput, match=f"TrainSettings: .*{message}"):
        TrainSettings(**values)


@pytest.mark.usefixtures("unchecked")
def test_numbers_of_numpy_become_pythons_and_can_be_recorded():
    settings = TrainSettings(max_steps=np.int64(2), learning_rate=np.float32(0.5), epochs=3, freeze=["pooling"])
    expected = {"max_steps": 2, "learning_rate": 0.5, "epochs": 3.0, "freeze": ["pooling"]}
    assert expected.items() <= json.loads(json.dumps(settings.identity())).items()


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
        ({"learning_rates": "norm=1"}, "expected a table, each value a number"),
        ({"learning_rates": {"norm": "high"}}, "expected a table, each value a number"),
    ],
)
def test_an_unknown_setting_or_a_wrong_value_is_reported(values, message):
    with pytest.raises(BadInput, match=message.replace("?", r"\?")):
        from_settings(TrainSettings, values, "run.toml")


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


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            TrainSettings,
            {
                **{"epochs": 1.0, "max_steps": None, "batch_size": 16, "gradient_accumulation_steps": 1},
                **{"data_mixing": "proportional", "seed": 0, "learning_rate": 2e-5, "lr_schedule": "linear"},
                **{"warmup_ratio": 0.1, "weight_decay": 0.01, "max_grad_norm": 1.0, "layer_lr_decay": 1.0},
                **{"objective_learning_rate": None, "adam_betas": (0.9, 0.999), "adam_epsilon": 1e-6},
                **{"adam_bias_correction": True, "ema_decay": 0.0, "precision": "fp32"},
                **{"gradient_checkpointing": False, "max_tokens_per_step": None, "freeze": ()},
                **{"lora_rank": 0, "lora_alpha": 16.0, "lora_layers": ("qkv", "out", "up", "down")},
                **{"eval_steps": 0, "early_stopping_patience": 0, "save_steps": 500, "logging_steps": 1},
                **{"tensorboard": False, "show_progress_bar": True},
            },
        ),
        (
            fusion_training.FusionSettings,
            {
                **{"regularization": (1.0, 4.0), "interpolation": (0.5, 1.0), "scale": 5.0, "learning_rate": 1e-3},
                **{"weight_decay": 1.0, "batch_size": 512, "epochs": 8, "patience": 3, "held_out": 0.15},
                **{"only_significant": True, "seed": 0},
            },
        ),
    ],
)
def test_runs_begin_with_the_settings_that_are_documented(kind, expected):
    assert {f.name: f.default for f in fields(kind) if f.default is not MISSING} == expected
