"""Sentence-BERT's table 7: sentences per second on a CPU, with and without smart batching."""

from functools import partial

from likewise.model_names import load_named_embedder
from papers.baselines import infersent, small_transformer

from ..measuring.sentence_rates import (
    BATCH,
    ENCODE,
    GAIN,
    PROJECTED,
    PROJECTION,
    SORTED,
    UNSORTED,
    WORDS,
    SentenceRate,
    load_for_rates,
)
from ..paper_table import PaperRow, PaperTable, System
from .sbert_sts import SBERT

_OTHER = "a different CPU"
_LOAD_WORDS = partial(load_named_embedder, device="cpu")  # with the fastest engine
SBERT_7 = PaperTable(
    name="sbert-7",
    title="Sentence-BERT, table 7: sentences per second",
    citation=SBERT,
    protocol="Distinct sentences from STS-B's test split, on one thread; contenders take turns, and figures are "
    f"medians over rounds. *padded*: batches of {BATCH} in the given order, each padded to its longest text; *sorted*: "
    "the same after sorting by length, which the paper calls smart batching; *encode*: this package, which sorts but "
    f"never pads. The gain is from sorting, in percent. {PROJECTION[0].upper()}{PROJECTION[1:]}. The paper used six "
    "cores.",
    columns={
        ENCODE: "encode",
        UNSORTED: "padded",
        SORTED: "sorted",
        GAIN: "gain, %",
        PROJECTED: "projected to the paper's CPU",
    },
    paper=(
        PaperRow("Avg. GloVe", {ENCODE: 6469, PROJECTED: 6469}),
        PaperRow("InferSent", {ENCODE: 137, PROJECTED: 137}),
        PaperRow("USE", {ENCODE: 67, PROJECTED: 67}),
        PaperRow("SBERT-base", {UNSORTED: 44, SORTED: 83, GAIN: round(100 * (83 / 44 - 1), 1), PROJECTED: 83}),
    ),
    systems=(
        System(
            "averaged GloVe",
            SentenceRate(_LOAD_WORDS, lambda _: (WORDS,)),
            "Avg. GloVe",
            differs=_OTHER,
        ),
        System(
            "InferSent, 2,048 units a direction",
            SentenceRate(infersent, lambda _: (WORDS,)),
            "InferSent",
            differs=f"{_OTHER}; 50-dimensional words, not 300",
        ),
        System(
            "small transformer, 6 blocks of 512",
            SentenceRate(small_transformer, lambda effort: effort.backbones[:1]),
            "USE",
            differs=f"{_OTHER}; its sizes were not published",
        ),
        System(
            "encoder",
            SentenceRate(load_for_rates, lambda effort: effort.backbones, padded=True),
            "SBERT-base",
            "bert-base-uncased",
            differs=_OTHER,
        ),
        System(
            "tuned for sentences",
            SentenceRate(load_for_rates, lambda effort: effort.models[:1], padded=True),
            "SBERT-base",
            differs=f"{_OTHER}; a different model",
        ),
    ),
    claims={GAIN: "sorting by length makes encoding faster (the paper: by 89 % on a CPU)"},
    unit="sentences per second",
)
