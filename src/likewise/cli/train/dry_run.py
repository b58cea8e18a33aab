"""likewise train --dry-run: what would be done, and what the model would be shown first."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...embedder import Embedder
from ...train.data.schedule import BatchSchedule, DataSource
from ...train.objectives.contrastive import false_negative_mask
from ...train.optimization.freeze import prepared_for_training
from ...train.output.run_folder import CHECKPOINTS
from ...train.plan import Plan
from ...train.step.trainable import tokenized_columns as tokens_of
from ..output import print_json
from ..terminal_tables import aligned, escape, printable, table
from .build import ReadyToTrain

if TYPE_CHECKING:
    from ...train.data.batch import Batch

SAMPLED = 8  # batches that tokens are counted in
SHOWN = 4  # rows of the batch


def dry_run(made: ReadyToTrain, *, as_json: bool) -> None:
    """Prints the plan and the first batch."""
    curriculum = BatchSchedule(made.courses, made.job.run.batch, made.job.run.seed, made.job.run.mix)
    plan = Plan.of(curriculum, made.job.run)
    course, batch = next(curriculum.batches(0, 1))
    told = _planned(made, curriculum, plan)
    if as_json:
        shown = [_pieces(made, [column[i] for column in batch.texts]) for i in range(min(SHOWN, len(batch)))]
        print_json({"plan": told, "data": made.data, "first batch": shown})
        return
    rows = table("", "", head=False)
    for name, value in told.items():
        rows.add_row(name, escape(str(value)))
    printable(rows)
    _show(made, course, batch)
    aligned("\nNothing was trained: this was a dry run.")


def _planned(made: ReadyToTrain, curriculum: BatchSchedule, plan: Plan) -> dict[str, Any]:
    job, run = made.job, made.job.run
    read = [
        tokens_of(made.embedder, course.objective, batch)
        for course, batch in curriculum.batches(0, min(SAMPLED, plan.steps * run.accumulate))
    ]
    data = [f"{one['name']}: {one['rows']:,} rows for {_called(one['objective'])}" for one in made.data]
    batches = f"{run.batch} rows, about {sum(read) / len(read):,.0f} tokens"
    measured = (
        f"{job.options.dev}, {len(made.dev['sentence1']):,} pairs, every {plan.measure_every:,} steps"
        if job.options.dev
        else "nothing"
    )
    return {
        "model": f"{job.options.model}: {made.embedder.tokenizer.max_length} tokens to {_gives(made)}",
        "data": "; ".join(data),
        "steps": f"{plan.steps:,}" + (f", {plan.steps_of_epoch:,.0f} an epoch" if plan.steps_of_epoch else ""),
        "warm-up": f"{plan.warmup:,} steps to {run.optimization.rate:g}, then {run.optimization.schedule}",
        "batch": batches + (f"; {run.accumulate} of them a step" if run.accumulate > 1 else ""),
        "trained": _trained(made),
        "measured": measured,
        "saved in": job.options.output or "nowhere: no -o",
        "checkpoints": f"{CHECKPOINTS}/ in it, every {run.checkpoint_every:,} steps" if run.checkpoint_every else "one",
        "device": f"{made.embedder.device}, products in {run.precision}",
    }


def _gives(made: ReadyToTrain) -> str:
    if isinstance(made.embedder, Embedder):
        return f"{made.embedder.width} numbers"
    labels = made.embedder.labels
    return f"the score of a {made.job.options.kind}" if len(labels) == 1 else f"{len(labels)} labels"


def _pieces(made: ReadyToTrain, texts: Sequence[str]) -> list[list[str]]:
    """The word pieces that the model reads of each text; of a pair that is too long, a cross-encoder cuts more."""
    if isinstance(made.embedder, Embedder):
        return made.embedder.pieces(texts)
    tokenizer = made.embedder.tokenizer
    return [tokenizer.tokens(content[: tokenizer.room]) for content in tokenizer.contents(list(texts))]


def _trained(made: ReadyToTrain) -> str:
    with prepared_for_training(made.embedder, made.job.run):
        asked = sum(p.numel() for p in made.embedder.parameters() if p.requires_grad)
        total = sum(p.numel() for p in made.embedder.parameters())
    return f"{asked:,} of {total:,} weights"


def _called(described: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{key} {value}" for key, value in described.items() if key != "objective")
    return str(described["objective"]) + (f" ({rest})" if rest else "")


def _show(made: ReadyToTrain, course: DataSource, batch: "Batch") -> None:
    """Some rows of the first batch in word pieces, and which candidates are no wrong answers."""
    names = list(getattr(course.rows, "texts", ()))
    aligned(f"\nThe first batch, {len(batch)} rows of {course.name}, begins so; the model reads:")
    rows = table(">row", "column", "word pieces")
    for i in range(min(SHOWN, len(batch))):
        for name, column in zip(names, batch.texts, strict=False):
            rows.add_row(str(i), name, escape(" ".join(_pieces(made, [column[i]])[0])))
        for name, values in batch.numbers.items():
            told = f"{len(values[i])} numbers" if values.ndim > 1 else f"{values[i].tolist():g}"
            rows.add_row(str(i), name, told)
    printable(rows, indent=2)
    if course.objective.reads().text_ids and len(batch.texts) > 1:
        _masks(batch)


def _masks(batch: "Batch") -> None:
    masked = false_negative_mask(batch.names, batch.numbers.get("group"))
    whole = len(batch) * (masked.shape[1] - 1)
    pairs = masked.nonzero().tolist()
    end = ":" if pairs else "."
    aligned(f"Candidates that are not pushed away, being right answers too: {len(pairs):,} of {whole:,}{end}")
    for row, candidate in pairs[:SHOWN]:
        column, of = divmod(candidate, len(batch))
        aligned(f"  row {row} is not pushed from column {column + 1} of row {of}: {batch.texts[column + 1][of]!r}")
