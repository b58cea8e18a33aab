"""Reproduces the batch order of sentence-transformers, so that programs train on the same batches.

Each epoch's generator is seeded with seed + epoch. If several data sets share it, the order in which their samplers
draw from it matters, so all samplers are generators that draw only when a batch is requested.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

import torch

from ....errors import BadInput
from ....train.data.batch import TrainingRows
from ....train.data.schedule import DataSource, StepBatches
from .training_arguments import BatchSamplers, MultiDatasetBatchSamplers, SentenceTransformerTrainingArguments

Rows = list[int]
MORE_PASSES = 2  # the maximum number of reshuffles if a pass without duplicates yields too few batches


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderedSource(DataSource):
    """A data set and what its sampler reads: the texts as given (without prompts), and the labels, if any."""

    rows: TrainingRows
    texts: Sequence[Sequence[str]]  # by column
    labels: Sequence[float] | None

    def __len__(self) -> int:
        return len(self.texts[0])


@dataclass(frozen=True, eq=False)
class Sampling:
    """How the batches of one data set are drawn in one epoch."""

    rows: OrderedSource
    batch_size: int
    drop_last: bool
    generator: torch.Generator
    seed: int

    def permutation(self, count: int, dtype: torch.dtype = torch.int64) -> Rows:
        found: Rows = torch.randperm(count, generator=self.generator, dtype=dtype).tolist()
        return found

    def whole(self, batch: Rows) -> bool:
        return len(batch) == self.batch_size


def _shuffled(sampling: Sampling) -> Iterator[Rows]:
    count = len(sampling.rows)

    def rows() -> Iterator[int]:
        yield from sampling.permutation(count)
        sampling.permutation(count)  # torch's RandomSampler draws once more at the end

    drawn = rows()
    while batch := list(islice(drawn, sampling.batch_size)):
        if sampling.whole(batch) or not sampling.drop_last:
            yield batch


def _without_duplicates(sampling: Sampling) -> Iterator[Rows]:
    sampling.generator.manual_seed(sampling.seed)
    expected = batch_count(BatchSamplers.NO_DUPLICATES, sampling.rows, sampling.batch_size, sampling.drop_last)
    count = 0
    for number in range(1 + MORE_PASSES):
        for batch in _one_pass(sampling):
            yield batch
            count += 1
            if number and count >= expected:
                return
        if not 0 < count < expected:
            return


def _one_pass(sampling: Sampling) -> Iterator[Rows]:
    """Batches in which no text occurs in two rows; a row that would repeat a text is deferred to a later batch."""
    waiting = deque(sampling.permutation(len(sampling.rows), torch.int32))
    while waiting:
        batch: Rows = []
        seen: set[str] = set()
        deferred: Rows = []
        while waiting and not sampling.whole(batch):
            row = waiting.popleft()
            texts = {column[row] for column in sampling.rows.texts}
            if texts.isdisjoint(seen):
                batch.append(row)
                seen |= texts
            else:
                deferred.append(row)
        waiting.extendleft(reversed(deferred))
        if sampling.whole(batch) or not sampling.drop_last:
            yield batch


def _grouped_by_label(sampling: Sampling) -> Iterator[Rows]:
    """Each label contributes two rows per round, in a new order, while at least two labels have rows left."""
    sampling.generator.manual_seed(sampling.seed)
    queues: dict[float, deque[int]] = {}
    for label, rows in label_groups(sampling.rows, sampling.batch_size).items():
        queues[label] = deque(rows[i] for i in sampling.permutation(len(rows))[: len(rows) // 2 * 2])
    left, batch, last = list(queues), list[int](), None
    while len(left) >= 2:
        left = [left[i] for i in sampling.permutation(len(left))]
        if batch and left[0] == last:
            left[:2] = left[1::-1]
        for label in left:
            batch += [queues[label].popleft(), queues[label].popleft()]
            if len(batch) >= sampling.batch_size:
                yield batch[: sampling.batch_size]
                batch = batch[sampling.batch_size :]
        last, left = left[-1], [label for label in left if queues[label]]
    if not sampling.drop_last and len(batch) >= 4:
        yield batch


def label_groups(rows: OrderedSource, batch_size: int) -> dict[float, Rows]:
    """The rows of each label that has at least two rows."""
    if batch_size < 4 or batch_size % 2:
        raise BadInput(
            f"the batch size is {batch_size}; batch_sampler='group_by_label' needs an even batch size of at least 4"
        )
    groups: dict[float, Rows] = defaultdict(list)
    for row, label in enumerate(rows.labels or ()):
        groups[label].append(row)
    usable = {label: found for label, found in groups.items() if len(found) >= 2}
    if len(usable) < 2:
        raise BadInput(
            "batch_sampler='group_by_label' needs a label column in which at least two labels have two or more rows; "
            f"found {len(usable)}"
        )
    return usable


SAMPLERS: dict[str, Callable[[Sampling], Iterator[Rows]]] = {
    BatchSamplers.BATCH_SAMPLER: _shuffled,
    BatchSamplers.NO_DUPLICATES: _without_duplicates,
    BatchSamplers.NO_DUPLICATES_HASHED: _without_duplicates,
    BatchSamplers.GROUP_BY_LABEL: _grouped_by_label,
}


def batch_count(sampler: str, rows: OrderedSource, batch_size: int, drop_last: bool) -> int:
    """The number of batches for planning steps; a pass without duplicates may yield more."""
    if sampler != BatchSamplers.GROUP_BY_LABEL:
        return len(rows) // batch_size if drop_last else math.ceil(len(rows) / batch_size)
    pairs = sorted((len(found) // 2 for found in label_groups(rows, batch_size).values()), reverse=True)
    whole, rest = divmod(2 * sum(min(count, pairs[1]) for count in pairs), batch_size)
    return whole + (not drop_last and rest >= 4)


@dataclass(frozen=True, eq=False)
class PeerSchedule:
    """The batches drawn by sentence-transformers samplers, by epoch; an epoch's last step may have fewer batches."""

    sources: Sequence[OrderedSource]
    args: SentenceTransformerTrainingArguments
    batch_size: int

    def __post_init__(self) -> None:
        if not self.batches_per_epoch:
            sizes = ", ".join(str(len(source)) for source in self.sources)
            raise BadInput(
                f"{sizes} rows do not fill a batch of {self.batch_size}; lower the batch size, or keep partial batches"
            )

    @cached_property
    def _counts(self) -> list[int]:
        options = self.batch_size, self.args.dataloader_drop_last
        return [batch_count(self.args.batch_sampler, source, *options) for source in self.sources]

    @property
    def batches_per_epoch(self) -> int:
        """The number of batches for planning steps."""
        if self.args.multi_dataset_batch_sampler == MultiDatasetBatchSamplers.ROUND_ROBIN:
            return min(self._counts) * len(self._counts)
        return sum(self._counts)

    def steps_per_epoch(self, batches_per_step: int) -> int:
        return math.ceil(self.batches_per_epoch / batches_per_step)

    def steps(self, start: int, end: int, batches_per_step: int) -> Iterator[StepBatches]:
        """The batches of the steps start … end − 1."""
        per_epoch = self.steps_per_epoch(batches_per_step)
        for epoch in range(start // per_epoch, math.ceil(end / per_epoch)):
            chosen = islice(self.epoch(epoch), self.batches_per_epoch)
            for step in range(epoch * per_epoch, min(end, (epoch + 1) * per_epoch)):
                batches = list(islice(chosen, batches_per_step))
                if not batches:
                    raise BadInput(
                        f"epoch {epoch} has too few batches of {self.batch_size} rows without duplicates; lower "
                        "per_device_train_batch_size"
                    )
                if step >= start:
                    yield [(self.sources[k], self.sources[k].rows.take(rows)) for k, rows in batches]

    def epoch(self, number: int) -> Iterator[tuple[int, Rows]]:
        """The batches of an epoch, each as the index of its source and the rows."""
        seed, drop_last = self.args.seed + number, self.args.dataloader_drop_last
        generator = torch.Generator().manual_seed(seed)
        batches = [
            SAMPLERS[self.args.batch_sampler](Sampling(source, self.batch_size, drop_last, generator, seed))
            for source in self.sources
        ]
        if len(batches) == 1:
            return ((0, rows) for rows in batches[0])
        if self.args.multi_dataset_batch_sampler == MultiDatasetBatchSamplers.ROUND_ROBIN:
            return chain.from_iterable(enumerate(turn) for turn in zip(*batches, strict=False))
        return self._proportional(batches, generator)

    def _proportional(
        self, batches: Sequence[Iterator[Rows]], generator: torch.Generator
    ) -> Iterator[tuple[int, Rows]]:
        owners = [k for k, count in enumerate(self._counts) for _ in range(count)]
        for i in torch.randperm(len(owners), generator=generator).tolist():
            rows = next(batches[owners[i]], None)
            if rows is not None:
                yield owners[i], rows
