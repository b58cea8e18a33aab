"""likewise train --dry-run: shows the plan, and the first batch as the model reads it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...train.data.schedule import BatchSchedule, DataSource
from ...train.objectives.contrastive import false_negative_mask
from ...train.output.record import TrainingJob
from ...train.output.run_folder import CHECKPOINTS
from ...train.plan import Plan, check_evaluated
from ...train.step.trainable import count_tokens, prompted_columns, training_strategy
from ...train.trained_parts import prepared_for_training
from ...wording import counted
from ..output import print_json
from ..terminal_tables import aligned, printable, table
from .build import ReadyToTrain

if TYPE_CHECKING:
    from ...train.data.batch import Batch

SAMPLED_BATCHES = 8  # batches in which tokens are counted
SHOWN_ROWS = 4


def dry_run(prepared: ReadyToTrain, *, as_json: bool) -> None:
    job = prepared.job
    settings = job.settings
    schedule = BatchSchedule(job.sources, settings.batch_size, settings.seed, settings.data_mixing)
    plan = Plan.of(schedule, settings)
    check_evaluated(settings, prepared.evaluator is not None)
    source, batch = next(schedule.batches(0, 1))
    described = _describe(prepared, schedule, plan)
    if as_json:
        columns = prompted_columns(job.model, batch)
        shown = [_pieces(job, [column[i] for column in columns]) for i in range(min(SHOWN_ROWS, len(batch)))]
        print_json({"plan": described, "data": job.data, "first batch": shown})
        return
    rows = table("", "", head=False)
    for name, value in described.items():
        rows.add_row(name, str(value))
    printable(rows)
    _show_batch(job, source, batch)
    aligned("\nNothing was trained: this was a dry run.")


def _describe(prepared: ReadyToTrain, schedule: BatchSchedule, plan: Plan) -> dict[str, Any]:
    job, options = prepared.job, prepared.command.options
    settings = job.settings
    output = training_strategy(job.model).output(job.model)
    evaluated = "not at all: no --dev"
    if prepared.evaluator is not None:
        pairs = len(next(iter(prepared.evaluator.columns.values())))
        evaluated = f"{options.dev}, {counted(pairs, 'pair')}, every {_steps(plan.eval_steps)} and before training"
    return {
        "model": f"{options.model}: {job.model.tokenizer.max_seq_length} tokens to {output}",
        "data": "; ".join(
            f"{one['name']}: {counted(one['rows'], 'row')} for {_objective(one['objective'])}" for one in job.data
        ),
        "steps": f"{plan.max_steps:,}" + (f", {plan.steps_per_epoch:,.0f} per epoch" if plan.steps_per_epoch else ""),
        "learning rate": f"{settings.learning_rate:g} after {counted(plan.warmup_steps, 'warm-up step')}, "
        f"then {settings.lr_schedule}",
        "batch": _describe_batch(job, schedule, plan),
        "trained": _trained_weights(job),
        "evaluated on": evaluated,
        "saved in": options.output or "nowhere: no --output",
        "checkpoints": f"{CHECKPOINTS}/ in it, every {_steps(settings.save_steps)}" if settings.save_steps else "one",
        "device": f"{job.model.device}, matrix multiplications in {settings.precision}",
    }


def _steps(count: int) -> str:
    """The words that follow "every": "step", or "5 steps"."""
    return "step" if count == 1 else counted(count, "step")


def _describe_batch(job: TrainingJob, schedule: BatchSchedule, plan: Plan) -> str:
    accumulate = job.settings.gradient_accumulation_steps
    sampled = schedule.batches(0, min(SAMPLED_BATCHES, plan.max_steps * accumulate))
    tokens = [count_tokens(job.model, source.objective, batch) for source, batch in sampled]
    described = f"{counted(job.settings.batch_size, 'row')}, about {sum(tokens) / len(tokens):,.0f} tokens"
    return described + (f"; {accumulate} batches per step" if accumulate > 1 else "")


def _pieces(job: TrainingJob, texts: Sequence[str]) -> list[list[str]]:
    return training_strategy(job.model).pieces(job.model, texts)


def _trained_weights(job: TrainingJob) -> str:
    with prepared_for_training(job.model, job.settings):
        trained = sum(p.numel() for p in job.model.parameters() if p.requires_grad)
        total = sum(p.numel() for p in job.model.parameters())
    return f"{trained:,} of {total:,} weights"


def _objective(described: Mapping[str, Any]) -> str:
    options = ", ".join(f"{key} {value}" for key, value in described.items() if key != "objective")
    return str(described["objective"]) + (f" ({options})" if options else "")


def _show_batch(job: TrainingJob, source: DataSource, batch: "Batch") -> None:
    names = list(getattr(source.rows, "texts", ()))
    aligned(f"\nThe first batch, {counted(len(batch), 'row')} of {source.name}, starts like this; the model reads:")
    rows = table(">row", "column", "word pieces")
    for i in range(min(SHOWN_ROWS, len(batch))):
        for name, column in zip(names, prompted_columns(job.model, batch), strict=False):
            rows.add_row(str(i), name, " ".join(_pieces(job, [column[i]])[0]))
        for name, values in batch.numbers.items():
            shown = f"{len(values[i])} numbers" if values.ndim > 1 else f"{values[i].tolist():g}"
            rows.add_row(str(i), name, shown)
    printable(rows, indent=2)
    if source.objective.reads().text_ids and len(batch.texts) > 1:
        _show_false_negatives(batch)


def _show_false_negatives(batch: "Batch") -> None:
    masked = false_negative_mask(batch.names, batch.numbers.get("group"))
    candidates = len(batch) * (masked.shape[1] - 1)
    pairs = masked.nonzero().tolist()
    end = ":" if pairs else "."
    aligned(f"Candidates not used as negatives because they are known positives: {len(pairs):,} of {candidates:,}{end}")
    for row, candidate in pairs[:SHOWN_ROWS]:
        column, of = divmod(candidate, len(batch))
        aligned(f"  row {row}: not column {column + 1} of row {of}, {batch.texts[column + 1][of]!r}")
