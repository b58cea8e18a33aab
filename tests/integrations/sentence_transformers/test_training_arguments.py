"""What training arguments leave open is filled in, and what they ask for is what a run is set to."""

import pytest

from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import (
    CrossEncoderTrainingArguments,
    SentenceTransformerModelCardData,
    SentenceTransformerTrainingArguments,
)
from likewise.train import TrainSettings

Arguments = SentenceTransformerTrainingArguments
DEFAULT = {
    "max_steps": 100, "batch_size": 8, "gradient_accumulation_steps": 1, "seed": 42, "learning_rate": 5e-5,
    "lr_schedule": "linear", "warmup_ratio": 0.0, "weight_decay": 0.0, "max_grad_norm": 1.0,
    "adam_betas": (0.9, 0.999), "adam_epsilon": 1e-8, "precision": "fp32", "gradient_checkpointing": False,
    "max_tokens_per_step": None, "save_steps": 1, "show_progress_bar": True,
}  # fmt: skip
NEAREST_TO_1 = 1 - 1e-9


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ({}, {}),
        ({"per_device_train_batch_size": 3, "gradient_accumulation_steps": 2, "seed": 1},
         {"batch_size": 3, "gradient_accumulation_steps": 2, "seed": 1}),
        ({"learning_rate": 1e-3, "weight_decay": 0.1, "max_grad_norm": 2.0},
         {"learning_rate": 1e-3, "weight_decay": 0.1, "max_grad_norm": 2.0}),
        ({"adam_beta1": 0.5, "adam_beta2": 0.6, "adam_epsilon": 1e-6},
         {"adam_betas": (0.5, 0.6), "adam_epsilon": 1e-6}),
        ({"warmup_steps": 25}, {"warmup_ratio": 0.25}),
        ({"warmup_steps": 0.101}, {"warmup_ratio": 0.11}),
        ({"warmup_ratio": 0.5}, {"warmup_ratio": 0.5}),
        ({"warmup_ratio": 0.5, "warmup_steps": 10}, {"warmup_ratio": 0.1}),
        ({"warmup_steps": 100}, {"warmup_ratio": NEAREST_TO_1}),
        ({"warmup_steps": 10, "lr_scheduler_type": "cosine"}, {"warmup_ratio": 0.1, "lr_schedule": "cosine"}),
        ({"warmup_steps": 10, "lr_scheduler_type": "constant"}, {"lr_schedule": "constant"}),
        ({"warmup_steps": 10, "lr_scheduler_type": "constant_with_warmup"},
         {"warmup_ratio": 0.1, "lr_schedule": "constant"}),
        ({"bf16": True}, {"precision": "bf16"}),
        ({"gradient_checkpointing": True, "disable_tqdm": True},
         {"gradient_checkpointing": True, "show_progress_bar": False}),
    ],
    ids=str,
)  # fmt: skip
def test_a_run_has_the_settings_that_arguments_ask_for(arguments, settings):
    assert Arguments("out", **arguments).settings(100, None) == TrainSettings(**(DEFAULT | settings))


def test_the_number_of_steps_and_of_tokens_is_the_runs():
    found = Arguments("out").settings(7, 99)
    assert (found.max_steps, found.max_tokens_per_step) == (7, 99)


@pytest.mark.parametrize(
    ("value", "steps"), [(None, 0), (0, 0), (0.5, 5), (0.01, 1), (0.99, 10), (1, 1), (1.0, 1), (3, 3), (20, 20)]
)
def test_steps_below_one_are_a_share_of_the_run(value, steps):
    assert Arguments("out", eval_steps=value).resolved_steps("eval_steps", 10) == steps


def test_what_depends_on_other_arguments_is_filled_in():
    assert Arguments().output_dir == "trainer_output" and Arguments("x").output_dir == "x"
    with pytest.warns(UserWarning, match="fp16=True trains in bf16 here"):
        assert Arguments("out", fp16=True).bf16
    assert Arguments("out", eval_strategy="steps", logging_steps=7).eval_steps == 7
    assert Arguments("out", eval_strategy="steps", logging_steps=7, eval_steps=3).eval_steps == 3
    assert Arguments("out", logging_steps=7).eval_steps is None
    assert (
        Arguments("out", prompts=' {"a": "b "}').prompts == {"a": "b "}
        and Arguments("out", prompts="a ").prompts == "a "
    )
    assert Arguments("out", learning_rate_mapping='{"a": 1}').learning_rate_mapping == {"a": 1}
    for metric, greater in ((None, None), ("loss", False), ("eval_x_loss", False), ("cosine", True)):
        assert Arguments("out", metric_for_best_model=metric).greater_is_better is greater
    assert Arguments("out", metric_for_best_model="cosine", greater_is_better=False).greater_is_better is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eval_strategy": "epoch"}, "eval_strategy is 'epoch' and save_strategy is 'steps'; make them equal"),
        ({"eval_strategy": "steps", "eval_steps": 3, "save_steps": 10}, r"save_steps \(10\) .* multiple of eval_steps"),
        ({"eval_strategy": "steps", "eval_steps": 5, "save_steps": 10}, None),
        ({"eval_strategy": "epoch", "save_strategy": "epoch"}, None),
        ({"eval_strategy": "steps", "save_strategy": "best", "eval_steps": 3, "save_steps": 10}, None),
    ],
)
def test_the_best_model_has_a_checkpoint(arguments, message):
    if message is None:
        made = Arguments("out", load_best_model_at_end=True, **arguments)
        assert (made.metric_for_best_model, made.greater_is_better) == ("loss", False)
        return
    with pytest.raises(BadInput, match=message):
        Arguments("out", load_best_model_at_end=True, **arguments)


@pytest.mark.parametrize(
    ("given", "reports"),
    [("none", []), (None, []), ("wandb", ["wandb"]), (["tensorboard", "wandb"], ["tensorboard", "wandb"]), ([], [])],
)
def test_a_run_is_reported_to_what_is_named(given, reports):
    assert Arguments("out", report_to=given).reports == reports
    with pytest.raises(BadInput, match="report_to='mlflow' is not supported"):
        Arguments("out", report_to=["wandb", "mlflow"])


def test_arguments_are_a_dictionary_and_those_without_effect_are_taken():
    made = Arguments("out", seed=3, dataloader_num_workers=4, push_to_hub=False)
    assert made.to_dict() == {**Arguments("out").to_dict(), "seed": 3} and made.to_dict()["output_dir"] == "out"
    assert made.push_to_hub is False and made.optim == "adamw_torch_fused" and not hasattr(made, "zzz")


def test_a_cross_encoder_has_one_learning_rate():
    with pytest.raises(BadInput, match="CrossEncoderTrainingArguments does not take learning_rate_mapping="):
        CrossEncoderTrainingArguments("out", learning_rate_mapping={"a": 1.0})
    assert CrossEncoderTrainingArguments("out", eval_strategy="steps", logging_steps=7).eval_steps == 7


def test_a_card_has_what_is_given():
    assert SentenceTransformerModelCardData("en", "mit", "Mine").metadata == {
        "language": "en", "license": "mit", "model_name": "Mine",
    }  # fmt: skip
    assert SentenceTransformerModelCardData(license="mit", tags=None).metadata == {"license": "mit"}
    with pytest.raises(BadInput, match="edit README.md in the saved folder"):
        SentenceTransformerModelCardData(tags=["a"])
