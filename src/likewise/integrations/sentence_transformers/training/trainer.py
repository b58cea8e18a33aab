"""SentenceTransformerTrainer and CrossEncoderTrainer, implemented with `likewise.train`."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch

from ....encoders.families import FAMILIES, family_name, file_names
from ....errors import BadInput
from ....runtime.arguments import regular_expression
from ....runtime.writer_lock import WriterLock
from ....train.data.batch import Batch
from ....train.objectives import Objective
from ....train.optimizer import DECAY
from ....train.output.callbacks import ConsoleProgress, TensorBoard, WeightsAndBiases
from ....train.output.model_card import model_card
from ....train.output.record import TrainingJob, training_record
from ....train.output.run_folder import finished_weights
from ....train.run import training_job
from ....train.settings import TrainSettings
from ....train.step.embedder_step import embedder_for_objective, loss_of, packed_forward, tokenized_batch
from ....train.step.reranker_step import losses_of, reranker_logits
from ....train.step.trainable import check_objective
from ....train.step_state import TrainResult
from ....train.trainer import Trainer
from ..cross_encoder_losses import BinaryCrossEntropyLoss, CrossEntropyLoss
from ..evaluation import SequentialEvaluator
from ..loading import refuse
from ..losses import CoSENTLoss
from .batch_order import OrderedSource, PeerSchedule
from .callbacks import TrainerControl, TrainerState, check_callback
from .data import check_losses, named_sets, read_data, set_names
from .run import RunFlow, RunFolders, folder_to_resume, without_default_prompt
from .training_arguments import CrossEncoderTrainingArguments, SentenceTransformerTrainingArguments

HOOKS = (
    *("compute_loss", "training_step", "get_train_dataloader", "get_eval_dataloader", "get_batch_sampler"),
    *("get_multi_dataset_batch_sampler", "create_optimizer", "create_scheduler", "get_data_collator", "prepare_loss"),
    *("create_optimizer_and_scheduler", "evaluation_loop", "collect_features", "get_optimizer_cls_and_kwargs"),
)
"""Methods of sentence-transformers trainers that are never called here."""
UNSERVED = {
    "data_collator": "texts are read without a collator",
    "processing_class": "the model's own tokenizer is used",
    "tokenizer": "the model's own tokenizer is used",
    "model_init": "pass model, and load it again for each trainer",
    "compute_metrics": "use evaluator to compute metrics",
    "optimizers": "AdamW is used; the arguments set its options",
    "optimizer_cls_and_kwargs": "AdamW is used; the arguments set its options",
    "preprocess_logits_for_metrics": "use evaluator to compute metrics",
}

PREFIXES = ("model.0.model.", "model.0.auto_model.")
"""The prefixes that current and older sentence-transformers add to the names of encoder weights in transformers."""


class TrainOutput(NamedTuple):
    """The result of `train`."""

    global_step: int
    training_loss: float
    metrics: dict[str, float]


class SentenceTransformerTrainer:
    """Trains a drop-in `SentenceTransformer` like the sentence-transformers trainer, with the same batches and losses.

    >>> SentenceTransformerTrainer(model, args, dataset, loss=losses.CoSENTLoss(model)).train()  # doctest: +SKIP
    """

    arguments: ClassVar[type[SentenceTransformerTrainingArguments]] = SentenceTransformerTrainingArguments

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if overridden := [name for name in HOOKS if name in vars(cls)]:
            raise BadInput(
                f"{cls.__name__} overrides {overridden[0]}, which is never called here; to use your own loss, write an "
                "Objective (likewise.train.objectives); for other hooks, use callbacks"
            )

    def __init__(
        self,
        model: Any = None,
        args: SentenceTransformerTrainingArguments | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        loss: Any = None,
        evaluator: Any = None,
        data_collator: Any = None,
        processing_class: Any = None,
        model_init: Any = None,
        compute_metrics: Any = None,
        callbacks: Sequence[Any] | None = None,
        optimizers: Any = (None, None),
        optimizer_cls_and_kwargs: Any = None,
        preprocess_logits_for_metrics: Any = None,
        tokenizer: Any = None,
    ) -> None:
        given, what = locals(), type(self).__name__
        for name, way in UNSERVED.items():
            if given[name] not in (None, (None, None)):
                raise refuse(what, name, given[name], way)
        self.args = args or self.arguments("tmp_trainer")
        if not isinstance(self.args, SentenceTransformerTrainingArguments):
            raise BadInput(f"args is a {type(args).__name__}; expected {self.arguments.__name__} of this package")
        if not hasattr(model, "use_torch"):
            raise BadInput(f"model is a {type(model).__name__}; {what} only trains models of this package")
        if self.args.use_cpu:
            model.to("cpu")
        model.use_torch()
        self.model = model
        self.loss = self._losses(loss)
        self.evaluator = SequentialEvaluator(evaluator) if isinstance(evaluator, list | tuple) else evaluator
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        check_losses("train_dataset", train_dataset, self.loss)
        check_losses("eval_dataset", eval_dataset, self.loss)
        if eval_dataset is None and evaluator is None and self.args.eval_strategy != "no":
            raise BadInput(f"eval_strategy is {self.args.eval_strategy!r}, but eval_dataset and evaluator are missing")
        self.state, self.control = TrainerState(), TrainerControl()
        self.callbacks = [check_callback(one) for one in callbacks or ()]
        self.call_event("on_init_end")

    def _losses(self, given: Any) -> Any:
        if isinstance(given, Mapping):
            return {name: self._loss(one) for name, one in given.items()}
        return self._loss(self._default_loss() if given is None else given)

    def _loss(self, given: Any) -> Objective:
        made = given if isinstance(given, torch.nn.Module) or not callable(given) else given(self.model)
        if not isinstance(made, Objective):
            raise BadInput(
                f"the loss is a {type(made).__name__}; expected one of this package's losses, or an Objective "
                "(likewise.train.objectives)"
            )
        check_objective(self.model.loaded, made)
        return made

    def _default_loss(self) -> Objective:
        return CoSENTLoss(self.model)

    def add_callback(self, callback: Any) -> None:
        """Add a callback, or an instance of a callback class."""
        self.callbacks.append(check_callback(callback))

    def remove_callback(self, callback: Any) -> None:
        """Remove a callback, or the first instance of a callback class."""
        matches = (one for one in self.callbacks if one is callback or type(one) is callback)
        if (found := next(matches, None)) is not None:
            self.callbacks.remove(found)

    def call_event(self, name: str, **more: Any) -> None:
        """Call an event of every callback; if a callback returns a control, it replaces the previous one."""
        for callback in self.callbacks:
            handler = getattr(callback, name, None)
            if handler is not None:
                self.control = handler(self.args, self.state, self.control, model=self.model, **more) or self.control

    def log(self, logs: Mapping[str, float]) -> None:
        """Add values to the log history, and pass them to the callbacks."""
        line = {**logs, "epoch": self.state.epoch}
        self.state.log_history.append({**line, "step": self.state.global_step})
        self.call_event("on_log", logs=line)

    def train(self, resume_from_checkpoint: str | bool | None = None) -> TrainOutput:
        """Train the model in place, and restore the best weights at the end if `load_best_model_at_end` is set.

        `resume_from_checkpoint` is a checkpoint-N folder, or True for the newest checkpoint in `output_dir`.
        """
        if self.train_dataset is None:
            raise BadInput(f"{type(self).__name__} has no train_dataset; pass one to the constructor")
        given = self.args.resume_from_checkpoint if resume_from_checkpoint is None else resume_from_checkpoint
        resumed = folder_to_resume(given, Path(self.args.output_dir))
        self.resume_folder = resumed or Path()
        began = time.perf_counter()
        with without_default_prompt(self.model):
            sources = read_data(self.train_dataset, self.loss, self.args.prompts, all_data=True)
            result = self._train(sources, resume=resumed is not None)
        return self._output(result, time.perf_counter() - began)

    def _train(self, sources: list[OrderedSource], resume: bool) -> TrainResult:
        args, schedule = self.args, PeerSchedule(sources, self.args, self.args.per_device_train_batch_size)
        epoch = schedule.steps_per_epoch(args.gradient_accumulation_steps)
        max_steps = args.max_steps if args.max_steps > 0 else max(1, -int(-(args.num_train_epochs * epoch) // 1))
        rates = rates_by_weight(self.model.loaded, args.learning_rate_mapping or {})
        settings = replace(args.settings(max_steps, self._tokens()), learning_rates=rates)
        epochs, batch_size = -(-max_steps // epoch), args.per_device_train_batch_size
        self.state = TrainerState(num_train_epochs=epochs, train_batch_size=batch_size)
        self.control = TrainerControl()
        flow = RunFlow(self, schedule, max_steps)
        job = training_job(self.model.name, self.model.loaded, sources, settings, None)
        trainer = self._trainer(job, flow, schedule)
        self.call_event("on_train_begin")
        if args.eval_on_start:
            self.evaluate()
        if not resume:
            flow.begin_step()
        result = self._run(trainer, resume)
        if args.load_best_model_at_end and self.state.best_model_checkpoint:
            finished_weights(job, Path(self.state.best_model_checkpoint))
        self.model.card = partial(self._card, job, result)
        return result

    def _trainer(self, job: TrainingJob, flow: RunFlow, schedule: PeerSchedule) -> Trainer:
        folder = Path(self.args.output_dir)
        console = [ConsoleProgress()] if job.settings.show_progress_bar else []
        board = [REPORTERS[name](folder, self.args.run_name) for name in self.args.reports]
        names = ("batch_sampler", "multi_dataset_batch_sampler", "dataloader_drop_last", "lr_scheduler_type")
        order = [getattr(self.args, name) for name in names]
        return Trainer(
            model=self.model.loaded,
            data=job.sources,
            settings=job.settings,
            callbacks=[*board, *console, flow],
            checkpoint_folder=None if self.args.save_strategy == "no" else folder,
            identity={**job.identity, "sentence-transformers": order},
            schedule=schedule,
            rate_factor=rate_factor,
            make_checkpoints=partial(RunFolders, flow),
        )

    def _run(self, trainer: Trainer, resume: bool) -> TrainResult:
        if trainer.checkpoint_folder is None:
            return trainer.run(resume=resume, stop=self.stops)
        trainer.checkpoint_folder.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(trainer.checkpoint_folder, "train into another folder")
        try:
            return trainer.run(resume=resume, stop=self.stops)
        finally:
            lock.remove()

    def stops(self) -> bool:
        return self.control.should_training_stop

    def _output(self, result: TrainResult, seconds: float) -> TrainOutput:
        rows = result.steps * self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
        loss = self.state.total_loss / self.state.global_step
        metrics = {
            "train_runtime": seconds,
            "train_samples_per_second": rows / seconds,
            "train_steps_per_second": result.steps / seconds,
            "train_loss": loss,
        }
        self.log(metrics)
        self.call_event("on_train_end")
        return TrainOutput(self.state.global_step, loss, {**metrics, "epoch": self.state.epoch})

    def _tokens(self) -> int | None:
        """The maximum number of tokens that the losses allow to be encoded at once."""
        losses = self.loss.values() if isinstance(self.loss, dict) else [self.loss]
        limits = [found for one in losses if (found := getattr(one, "max_tokens_per_step", None)) is not None]
        return min(limits, default=None)

    def evaluate(self, eval_dataset: Any = None, *, metric_key_prefix: str = "eval") -> dict[str, float]:
        """Compute the mean loss on each evaluation data set, and the evaluator's metrics.

        `eval_dataset` replaces the trainer's own data; a string names one of its data sets.
        """
        data, name = self.eval_dataset if eval_dataset is None else eval_dataset, ""
        if isinstance(data, str):
            name, data = data, self._eval_set(data)
        check_losses("eval_dataset", {name: data} if name else data, self.loss)
        if data is None and self.evaluator is None:
            raise BadInput(f"{type(self).__name__} has neither an eval_dataset nor an evaluator")
        metrics = self._eval_losses(data, metric_key_prefix, name) if data is not None else {}
        metrics |= self._evaluator_metrics(metric_key_prefix)
        self.log(metrics)
        self.call_event("on_evaluate", metrics=metrics)
        return {**metrics, "epoch": self.state.epoch}

    def _eval_set(self, name: str) -> Any:
        known = set_names(self.eval_dataset)
        if name not in known:
            raise BadInput(f"there is no evaluation data set {name!r}; named data sets: {', '.join(known) or 'none'}")
        return self.eval_dataset[name]

    def _eval_losses(self, data: Any, prefix: str, only: str) -> dict[str, float]:
        """The mean loss on each data set; `only` names a single data set, whose metric names omit its name."""
        found = {}
        sets = named_sets(data)
        for name, one in (sets or {only: data}).items():
            losses = self.loss[name] if isinstance(self.loss, dict) else self.loss
            named = f"{prefix}_{name}" if sets else prefix
            began = time.perf_counter()
            with without_default_prompt(self.model), torch.no_grad():
                (source,) = read_data({name: one} if name else one, losses, self.args.prompts)
                found[f"{named}_loss"], rows = self._mean_loss(source)
            seconds = time.perf_counter() - began
            found |= {f"{named}_runtime": seconds, f"{named}_samples_per_second": rows / seconds}
        return found

    def _mean_loss(self, source: OrderedSource) -> tuple[float, int]:
        """The mean batch loss, weighted by rows, and the number of rows."""
        total, rows = 0.0, 0
        schedule = PeerSchedule([source], self.args, self.args.per_device_eval_batch_size)
        for ((_, batch),) in schedule.steps(0, schedule.batches_per_epoch, 1):
            total += len(batch) * self._batch_loss(source.objective, batch)
            rows += len(batch)
        return total / rows, rows

    def _batch_loss(self, objective: Objective, batch: Batch) -> float:
        embedder = self.model.loaded
        ids, batch = tokenized_batch(embedder, objective, batch)
        return float(loss_of(objective, packed_forward(embedder_for_objective(objective, embedder), ids), batch))

    def _evaluator_metrics(self, prefix: str) -> dict[str, float]:
        if self.evaluator is None:
            return {}
        folder = str(Path(self.args.output_dir) / "eval")
        found = self.evaluator(self.model, output_path=folder, epoch=self.state.epoch, steps=self.state.global_step)
        found = found if isinstance(found, Mapping) else {"evaluator": found}
        return {key if key.startswith(f"{prefix}_") else f"{prefix}_{key}": value for key, value in found.items()}

    def _card(self, job: TrainingJob, result: TrainResult, name: str) -> str:
        """The model card, with the scores of the last evaluation."""
        lines = [line for line in self.state.log_history if any(key.startswith("eval_") for key in line)]
        kept = {key: v for key, v in (lines[-1] if lines else {}).items() if key.startswith("eval_")}
        scores = {key: {"value": v} for key, v in kept.items() if not key.endswith(("_runtime", "_per_second"))}
        card = getattr(self.model.model_card_data, "metadata", {})
        return model_card({**training_record(job, result, scores), "card": card}, card.get("model_name", name))

    def save_checkpoint_model(self, folder: Path) -> None:
        manifest = self.model.loaded.manifest
        self.model.save(folder)
        self.model.loaded.manifest = manifest

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the model with its card, by default to `output_dir`."""
        self.model.save_pretrained(output_dir or self.args.output_dir)

    def push_to_hub(self, *arguments: Any, **options: Any) -> None:
        """Raise BadInput, as the model's method does; the message says what to do instead."""
        self.model.push_to_hub(*arguments, **options)


class CrossEncoderTrainer(SentenceTransformerTrainer):
    """Trains a drop-in `CrossEncoder` in the same way."""

    arguments = CrossEncoderTrainingArguments

    def _default_loss(self) -> Objective:
        return BinaryCrossEntropyLoss(self.model) if self.model.num_labels == 1 else CrossEntropyLoss(self.model)

    def _batch_loss(self, objective: Any, batch: Batch) -> float:
        reranker, (first, *others) = self.model.loaded, batch.prompted("")
        pairs = reranker.token_id_pairs([pair for other in others for pair in zip(first, other, strict=True)])
        logits = reranker_logits(reranker, pairs).view(len(others), len(batch), -1).transpose(0, 1)
        return float(losses_of(objective, logits, batch).mean())


REPORTERS: Mapping[str, Callable[[Path, str | None], Any]] = {
    "tensorboard": lambda folder, _: TensorBoard(folder / "runs"),
    "wandb": lambda _, name: WeightsAndBiases(name=name),
}
"""The callbacks that log each step, keyed by their names in `report_to`."""


def rate_factor(step: int, max_steps: int, settings: TrainSettings) -> float:
    """The learning rate factor as in transformers: a linear warm-up from 0, then decay."""
    warmup = round(settings.warmup_ratio * max_steps)
    if step < warmup:
        return step / warmup
    return DECAY[settings.lr_schedule]((step - warmup) / max(1, max_steps - warmup))


def rates_by_weight(embedder: Any, rates: Mapping[str, float]) -> dict[str, float]:
    """The learning rate of each encoder weight that a pattern matches, in the form of `TrainSettings.learning_rates`.

    Raises:
        BadInput: a pattern matches no weight, or only part of a weight that is fused here, such as query without key.
    """
    names = _their_names(embedder) if rates else {}
    found: dict[str, float] = {}
    for pattern, rate in rates.items():
        searched = regular_expression("learning_rate_mapping", pattern)
        matched = {ours: [_matches(searched, name) for name in theirs] for ours, theirs in names.items()}
        if not any(any(parts) for parts in matched.values()):
            some = PREFIXES[0] + next(iter(names.values()))[0]
            raise BadInput(f"learning_rate_mapping has {pattern!r}, which matches no encoder weight (example: {some})")
        torn = next((ours for ours, parts in matched.items() if any(parts) and not all(parts)), None)
        if torn is not None:
            raise BadInput(
                f"learning_rate_mapping has {pattern!r}, but here {', '.join(names[torn])} are fused; match all of them"
            )
        found |= {f"^{re.escape(ours)}$": rate for ours, parts in matched.items() if all(parts)}
    return found


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return any(pattern.search(prefix + name) for prefix in PREFIXES)


def _their_names(embedder: Any) -> dict[str, tuple[str, ...]]:
    """Maps our names of the encoder's weights to their names in transformers."""
    family = FAMILIES.get(family_name(embedder.encoder.config))
    if family is None:
        raise BadInput("learning_rate_mapping needs an encoder of this library, but this one runs in transformers")
    ours = [name for name, _ in embedder.encoder.named_parameters()]
    return {f"encoder.{name}": file_names(name, family.names) for name in ours}
