"""The training arguments of sentence-transformers (supported, ignored or rejected), and the data of model cards.

Nothing here imports torch.
"""

import difflib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from ....errors import BadInput
from ....runtime.arguments import known_name
from ....train.settings import TrainSettings
from ..loading import refuse, refuse_argument


class BatchSamplers(StrEnum):
    """How rows are grouped into batches."""

    BATCH_SAMPLER = "batch_sampler"
    NO_DUPLICATES = "no_duplicates"
    NO_DUPLICATES_HASHED = "no_duplicates_hashed"
    GROUP_BY_LABEL = "group_by_label"


class MultiDatasetBatchSamplers(StrEnum):
    """How the batches of several data sets are mixed."""

    ROUND_ROBIN = "round_robin"
    PROPORTIONAL = "proportional"


SERVED: Mapping[str, Any] = {
    "output_dir": None,
    "per_device_train_batch_size": 8,
    "per_device_eval_batch_size": 8,
    "num_train_epochs": 3.0,
    "max_steps": -1,
    "learning_rate": 5e-5,
    "learning_rate_mapping": {},
    "lr_scheduler_type": "linear",
    "warmup_steps": 0,
    "warmup_ratio": None,
    "weight_decay": 0.0,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
    "gradient_accumulation_steps": 1,
    "bf16": False,
    "fp16": False,
    "gradient_checkpointing": None,
    "seed": 42,
    "use_cpu": False,
    "dataloader_drop_last": False,
    "logging_strategy": "steps",
    "logging_steps": 500,
    "logging_first_step": False,
    "disable_tqdm": None,
    "report_to": "none",
    "run_name": None,
    "eval_strategy": "no",
    "eval_steps": None,
    "eval_delay": 0,
    "eval_on_start": False,
    "save_strategy": "steps",
    "save_steps": 500,
    "save_total_limit": None,
    "save_only_model": False,
    "load_best_model_at_end": False,
    "metric_for_best_model": None,
    "greater_is_better": None,
    "resume_from_checkpoint": None,
    "prompts": None,
    "batch_sampler": BatchSamplers.BATCH_SAMPLER,
    "multi_dataset_batch_sampler": MultiDatasetBatchSamplers.PROPORTIONAL,
}
"""The supported arguments, with the defaults of sentence-transformers."""

WITHOUT_EFFECT = (
    "do_train", "do_eval", "do_predict", "use_cache", "prediction_loss_only", "remove_unused_columns",
    "dataloader_num_workers", "dataloader_pin_memory", "dataloader_persistent_workers", "dataloader_prefetch_factor",
    "dataloader_multiprocessing_context", "dataloader_in_order", "eval_accumulation_steps", "torch_empty_cache_steps",
    "eval_do_concat_batches", "eval_use_gather_object", "skip_memory_metrics", "save_safetensors", "log_level",
    "log_level_replica", "log_on_each_node", "save_on_each_node", "average_tokens_across_devices", "local_rank",
    "ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers", "ddp_static_graph", "ddp_backend",
    "ddp_timeout", "project", "hub_strategy", "hub_model_id", "hub_private_repo", "hub_token", "hub_always_push",
    "hub_revision", "ignore_data_skip", "logging_nan_inf_filter", "tf32", "bf16_full_eval", "length_column_name",
)  # fmt: skip
"""Arguments that do not affect results here: rows are in memory, weights are safetensors, and a NaN or infinite loss
raises an error."""

WAYS: Mapping[str, Mapping[str, Any]] = {
    "leave it out": {
        "torch_compile": False, "torch_compile_backend": None, "torch_compile_mode": None, "use_liger_kernel": False,
        "liger_kernel_config": None, "accelerator_config": None, "debug": "",
    },
    "leave it out: a step that does not fit in memory is split into parts": {"auto_find_batch_size": False},
    "leave it out: every step seeds its generators, so runs are reproducible": {"full_determinism": False},
    "EarlyStoppingCallback's state is always restored": {"restore_callback_states_from_checkpoint": False},
    "trainer.save_model(folder), then hf upload": {"push_to_hub": False},
    "only AdamW is used; set adam_beta1, adam_beta2, adam_epsilon": {"optim": "adamw_torch_fused", "optim_args": None},
    "likewise train --lora-rank trains adapters": {"optim_target_modules": None},
    "the schedules linear, cosine, constant and constant_with_warmup have no options": {"lr_scheduler_kwargs": None},
    "train each route as a separate model": {"router_mapping": {}},
    "label smoothing is not supported by any loss": {"label_smoothing_factor": 0.0},
    "dropout is the only noise during training": {"neftune_noise_alpha": None},
    "gradient_checkpointing=True, without options": dict.fromkeys(
        ("activation_checkpointing", "activation_checkpointing_kwargs", "gradient_checkpointing_kwargs")
    ),
    "evaluation runs in fp32": {"fp16_full_eval": False},
    "seed and batch_sampler determine the order of rows": {"data_seed": None, "train_sampling_strategy": "random"},
    "a callback of likewise.train counts tokens (StepState.tokens)": {"include_num_input_tokens_seen": "no"},
    "use an evaluator to compute metrics": {"include_for_metrics": [], "batch_eval_metrics": False},
    "name the label column label, labels, score or scores": {"label_names": None},
    "save_steps": {"enable_jit_checkpoint": False},
    "use_cpu=True": {"no_cuda": False},
    "torchrun -m likewise train uses several GPUs": dict.fromkeys(
        ("parallelism_config", "fsdp", "fsdp_config", "deepspeed")
    ),
    "write a callback with on_log to report elsewhere": dict.fromkeys(
        ("trackio_space_id", "trackio_bucket_id", "trackio_static_space_id")
    ),
}  # fmt: skip
"""Maps what to do instead to the unsupported arguments, with their defaults in sentence-transformers."""
REFUSED = {name: (default, way) for way, defaults in WAYS.items() for name, default in defaults.items()}

BY_PATTERN = "TrainSettings(learning_rates=…) with likewise.train.train"

STRATEGIES = {
    "logging_strategy": ("no", "steps", "epoch"),
    "eval_strategy": ("no", "steps", "epoch"),
    "save_strategy": ("no", "steps", "epoch", "best"),
    "lr_scheduler_type": ("linear", "cosine", "constant", "constant_with_warmup"),
    "batch_sampler": tuple(BatchSamplers),
    "multi_dataset_batch_sampler": tuple(MultiDatasetBatchSamplers),
}


class SentenceTransformerTrainingArguments:
    """Training arguments with the names and defaults of sentence-transformers.

    >>> SentenceTransformerTrainingArguments("out", num_train_epochs=1, warmup_steps=0.1).learning_rate
    5e-05
    """

    bf16: bool
    warmup_steps: float
    eval_steps: float | None
    prompts: Any
    learning_rate_mapping: Any
    metric_for_best_model: str | None
    greater_is_better: bool | None

    def __init__(self, output_dir: str | None = None, **given: Any) -> None:
        for name, value in given.items():
            _check_argument(type(self).__name__, name, value)
        vars(self).update({**SERVED, **{name: value for name, value in given.items() if name in SERVED}})
        self.output_dir = output_dir or "trainer_output"
        for name, known in STRATEGIES.items():
            value = getattr(self, name)
            vars(self)[name] = known_name(name, str(getattr(value, "value", value)), known)  # unwraps enum members
        self._complete()

    def __getattr__(self, name: str) -> Any:
        """Return the default of an unsupported argument, for callbacks that read it."""
        if name in REFUSED:
            return REFUSED[name][0]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def _complete(self) -> None:
        """Fill in the arguments that depend on others, as sentence-transformers does, and check them."""
        if self.fp16 and not self.bf16:
            warnings.warn("fp16=True trains in bf16 here, which needs no loss scaling and no more memory", stacklevel=4)
            self.bf16 = True
        if self.warmup_ratio is not None and not self.warmup_steps:
            self.warmup_steps = self.warmup_ratio
        if isinstance(self.prompts, str) and self.prompts.lstrip().startswith("{"):
            self.prompts = json.loads(self.prompts)
        if isinstance(self.learning_rate_mapping, str):
            self.learning_rate_mapping = json.loads(self.learning_rate_mapping)
        if self.eval_strategy == "steps" and not self.eval_steps:
            self.eval_steps = self.logging_steps
        if self.load_best_model_at_end or self.save_strategy == "best":
            self.metric_for_best_model = self.metric_for_best_model or "loss"
        if self.greater_is_better is None and self.metric_for_best_model is not None:
            self.greater_is_better = not self.metric_for_best_model.endswith("loss")
        if self.load_best_model_at_end:
            self._check_best()
        if reports := [name for name in self.reports if name not in ("tensorboard", "wandb")]:
            raise BadInput(f"report_to={reports[0]!r} is not supported; write a callback with on_log instead")

    @property
    def reports(self) -> list[str]:
        names = self.report_to if isinstance(self.report_to, list | tuple) else [self.report_to]
        return [name for name in names if name not in (None, "none")]

    def _check_best(self) -> None:
        """Reject settings whose checkpoints would not contain every evaluated model."""
        if self.save_strategy not in ("best", self.eval_strategy):
            raise BadInput(
                "load_best_model_at_end needs a checkpoint of each evaluated model, but eval_strategy is "
                f"{self.eval_strategy!r} and save_strategy is {self.save_strategy!r}; make them equal"
            )
        if self.save_strategy == "steps" and (self.save_steps / self.eval_steps) % 1 > 1e-9:
            raise BadInput(
                f"load_best_model_at_end needs save_steps ({self.save_steps}) to be a multiple of eval_steps "
                f"({self.eval_steps})"
            )

    def resolved_steps(self, name: str, max_steps: int) -> int:
        """`logging_steps`, `eval_steps`, `save_steps` or `warmup_steps` in steps; below 1, a fraction of the run."""
        value = getattr(self, name) or 0
        return math.ceil(value * max_steps) if 0 < value < 1 else int(value)

    def settings(self, max_steps: int, max_tokens_per_step: int | None) -> TrainSettings:
        """The settings of `likewise.train` for a run of this many steps."""
        warmup = self.resolved_steps("warmup_steps", max_steps)
        return TrainSettings(
            max_steps=max_steps,
            batch_size=self.per_device_train_batch_size,
            gradient_accumulation_steps=self.gradient_accumulation_steps,
            seed=self.seed,
            learning_rate=self.learning_rate,
            lr_schedule="constant" if self.lr_scheduler_type == "constant_with_warmup" else self.lr_scheduler_type,
            warmup_ratio=0.0 if self.lr_scheduler_type == "constant" else min(warmup / max_steps, 1 - 1e-9),
            weight_decay=self.weight_decay,
            max_grad_norm=self.max_grad_norm,
            adam_betas=(self.adam_beta1, self.adam_beta2),
            adam_epsilon=self.adam_epsilon,
            precision="bf16" if self.bf16 else "fp32",
            gradient_checkpointing=bool(self.gradient_checkpointing),
            max_tokens_per_step=max_tokens_per_step,
            save_steps=1,  # `RunFolders.save` decides
            show_progress_bar=not self.disable_tqdm,
        )

    def to_dict(self) -> dict[str, Any]:
        """The supported arguments, by name."""
        return {name: getattr(self, name) for name in SERVED}


class CrossEncoderTrainingArguments(SentenceTransformerTrainingArguments):
    """The same arguments for `CrossEncoderTrainer`."""

    def _complete(self) -> None:
        refuse_argument(
            "CrossEncoderTrainingArguments", "learning_rate_mapping", self.learning_rate_mapping, BY_PATTERN
        )
        super()._complete()


def _check_argument(what: str, name: str, value: Any) -> None:
    if name in SERVED or name in WITHOUT_EFFECT:
        return
    if name not in REFUSED:
        near = difflib.get_close_matches(name, [*SERVED, *REFUSED])
        raise BadInput(f"{what} has no argument {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    default, way = REFUSED[name]
    if value != default and (value or default):
        raise refuse(what, name, value, way)


class SentenceTransformerModelCardData:
    """The licence, languages and name of a model, for the card that is saved with it after training."""

    def __init__(
        self,
        language: str | Sequence[str] | None = None,
        license: str | None = None,  # noqa: A002, sentence-transformers' name
        model_name: str | None = None,
        **others: Any,
    ) -> None:
        for name, value in others.items():
            refuse_argument(type(self).__name__, name, value, "edit README.md in the saved folder")
        given = {"language": language, "license": license, "model_name": model_name}
        self.metadata = {name: value for name, value in given.items() if value}
