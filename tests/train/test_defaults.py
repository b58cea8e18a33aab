"""What one gets without saying anything: the settings of papers and of runs whose figures are published here."""

import inspect
from dataclasses import MISSING, fields

import pytest

from likewise.train.layers import fusion_training
from likewise.train.objectives import OBJECTIVES, RERANKER_OBJECTIVES
from likewise.train.settings import TrainSettings

OF_OBJECTIVES = {
    "classification": {"num_labels": 3, "concatenation": ("u", "v", "|u-v|")},
    "regression": {},
    "cosent": {"scale": 20.0},
    "angle": {"cosine_weight": 1.0, "angle_weight": 1.0, "cosine_scale": 20.0, "angle_scale": 20.0},
    "margin-pairs": {"margin": 0.5, "distance": "cosine", "online": False},
    "contrastive": {"temperature": 0.05, "learn_temperature": False, "symmetric": False},
    "triplet": {"margin": 1.0, "distance": "euclidean"},
    "batch-triplets": {"strategy": "hard", "margin": 0.2, "distance": "euclidean", "per_label": 4},
    "distillation": {"teacher_dimension": None},
    "margin-mse": {"similarity": "dot"},
    "score-distillation": {"temperature": 0.05, "teacher_temperature": 1.0},
    "similarity-distillation": {"loss": "kl", "temperature": 0.05, "teacher_temperature": 0.05},
    "simcse": {"temperature": 0.05, "learn_temperature": False, "symmetric": False},
    "tsdae": {"deletion_ratio": 0.6, "decoder_layers": 1, "decoder_heads": 4},
}
OF_RERANKING = {
    "regression": {"loss": "bce", "temperature": 1.0, "offset": 0.0},
    "classification": {"num_labels": 3},
    "margin": {"margin": 1.0},
    "ranking": {"temperature": 1.0, "teacher_temperature": 1.0},
    "in-batch": {"temperature": 1.0},
}


def defaults(objective):
    given = inspect.signature(objective.__init__).parameters.items()
    return {name: one.default for name, one in given if one.default is not inspect.Parameter.empty}


@pytest.mark.parametrize(("table", "expected"), [(OBJECTIVES, OF_OBJECTIVES), (RERANKER_OBJECTIVES, OF_RERANKING)])
def test_objectives_begin_with_the_settings_of_their_papers(table, expected):
    assert {name: defaults(entry.build) for name, entry in table.items()} == expected


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
                **{"triplets_as_pairs": True, "seed": 0},
            },
        ),
    ],
)
def test_runs_begin_with_the_settings_that_are_documented(kind, expected):
    assert {f.name: f.default for f in fields(kind) if f.default is not MISSING} == expected
