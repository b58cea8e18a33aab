"""Measures sentences per second with and without sorting by length, for the paper's table of speeds (section 7).

The paper pads every batch to its longest text; "smart batching" sorts first, so that little padding is needed. This
package never pads, so a padded batch is simulated by texts that all have the longest one's length: the computation is
the same, but the vectors are meaningless. Both are compared with the actual `encode`, which sorts and packs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import torch

from likewise.arrays.ragged import Ragged
from likewise.data.datasets import read_dataset
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.model_names import load_torch_embedder
from papers.baselines import infersent

from ..paper_table import Effort, Experiment, ExperimentResult, Measured, PaperTable
from ..reporting.spread import over_seeds
from .evaluated import files_identity, model_fingerprint

DATA = "stsb/test"
BATCH = 16  # sentences; the paper states only its training batch size, used here for encoding
WORDS = "avg-glove"
REFERENCE = "InferSent"
"""The system used to project rates to the paper's machine: see `PROJECTION`."""
PROJECTION = (
    "projected: our rate times the ratio of the paper's InferSent rate (137) to ours, measured in the same rounds. "
    "InferSent, like encoders, is bound by matrix products; averaging words is bound by memory and Python, and would "
    "project poorly"
)
ENCODE, UNSORTED, SORTED, GAIN, PROJECTED = "rate", "unsorted", "sorted", "gain", "projected"
SENTENCES, QUICK_SENTENCES, ROUNDS, QUICK_ROUNDS = 256, 128, 5, 3


@dataclass(frozen=True)
class SentenceRate:
    """A system's speed; `load` opens it, given the name of a local model or of its word vectors."""

    load: Callable[[str], Any]
    models: Callable[[Effort], tuple[str, ...]]
    padded: bool = False
    data: ClassVar[tuple[str, ...]] = ()  # nothing is trained

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        """One experiment for every model."""
        columns = tuple(table.columns) if self.padded else (ENCODE, PROJECTED)
        return [
            Experiment(
                system=system,
                backbone=name,
                columns=columns,
                settings=f"{QUICK_SENTENCES if effort.quick else SENTENCES} sentences, one thread",
                seed=None,
                quick=effort.quick,
                identity=partial(rate_identity, system, name, effort.quick),
                compute=partial(self._result, name, effort.quick),
            )
            for name in self.models(effort)
        ]

    def _result(self, name: str, quick: bool, _: Path) -> ExperimentResult:
        texts = benchmark_sentences(QUICK_SENTENCES if quick else SENTENCES)
        embedder, reference = self.load(name), infersent(WORDS)
        works: dict[str, Callable[[], object]] = {REFERENCE: partial(encode_quietly, reference, texts)}
        works[ENCODE] = partial(encode_quietly, embedder, texts)
        if self.padded:
            works |= {UNSORTED: partial(encode_padded, embedder, texts, by_length=False)}
            works |= {SORTED: partial(encode_padded, embedder, texts, by_length=True)}
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            seconds = in_turn(works, QUICK_ROUNDS if quick else ROUNDS)
        finally:
            torch.set_num_threads(threads)
        return ExperimentResult(dict(rates(seconds, len(texts))))


def rates(seconds: Mapping[str, Sequence[float]], texts: int) -> Iterator[tuple[str, Measured]]:
    """Texts per second by contender, the gain from sorting in percent, and the rate projected via InferSent's.

    Intervals use Student's t over rounds.
    """
    for name in (ENCODE, UNSORTED, SORTED):
        if name in seconds:
            yield name, _over_rounds([texts / one for one in seconds[name]])
    if SORTED in seconds:
        yield GAIN, _over_rounds([100 * (a / b - 1) for a, b in zip(seconds[UNSORTED], seconds[SORTED], strict=True)])
    fastest = seconds.get(SORTED, seconds[ENCODE])
    yield PROJECTED, _over_rounds([PAPER_RATE * a / b for a, b in zip(seconds[REFERENCE], fastest, strict=True)])


PAPER_RATE = 137.0  # InferSent's sentences per second on the paper's CPU, an i7-5820K


def rate_identity(system: str, name: str, quick: bool) -> dict[str, Any]:
    """Everything that a rate depends on, besides the machine and its load."""
    return {
        "rate of": system,
        "model": model_fingerprint(name),
        "data": files_identity([DATA]),
        "sentences": QUICK_SENTENCES if quick else SENTENCES,
        "batch": BATCH,
        "threads": 1,
    }


def benchmark_sentences(count: int) -> list[str]:
    """The first distinct sentences of the benchmark, which is not sorted by length."""
    columns = read_dataset(DATA)
    return list(dict.fromkeys([*columns["sentence1"], *columns["sentence2"]]))[:count]


def encode_quietly(embedder: Any, texts: Sequence[str]) -> object:
    """Encode without showing progress or warning of truncation."""
    return embedder.encode(list(texts), show_progress_bar=False, overflow="truncate")


@torch.inference_mode()
def encode_padded(embedder: TorchEmbedder, texts: Sequence[str], *, by_length: bool) -> None:
    """Compute batches padded to their longest text, in the given order or sorted by length."""
    tokenizer = embedder.tokenizer
    ids = [
        tokenizer.with_special_tokens(one[: tokenizer.max_content_length]) for one in tokenizer.token_ids(list(texts))
    ]
    if by_length:
        ids.sort(key=len, reverse=True)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        longest = max(map(len, batch))
        embedder(Ragged.of([one + one[-1:] * (longest - len(one)) for one in batch]))


def load_for_rates(name: str) -> TorchEmbedder:
    """An encoder in torch, fp32, on the CPU."""
    return load_torch_embedder(name, precision="fp32", device="cpu")


def _over_rounds(values: Sequence[float]) -> Measured:
    spread = over_seeds(values)
    return Measured(median(values), spread.low, spread.high, len(values))


def in_turn(contenders: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, list[float]]:
    """Each contender's seconds in each round: A B C, A B C, … after an uncounted warm-up round.

    These machines are shared and their speed drifts; taking turns exposes all contenders to the same drift.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(rounds + 1):
        for name, work in contenders.items():
            began = time.perf_counter()
            work()
            if round_:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def ratio(seconds: Mapping[str, list[float]], of: str, to: str) -> float:
    """How many times faster `of` was than `to`: the median over rounds."""
    return median(b / a for a, b in zip(seconds[of], seconds[to], strict=True))
