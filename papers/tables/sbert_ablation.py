"""Sentence-BERT's table 6: poolings and concatenations, on STS-B's development split."""

from collections.abc import Mapping
from typing import Any

from ..measuring.trained import TrainedByRecipe
from ..paper_table import BERT, PaperRow, PaperTable, System
from ..recipes.ablation_pooling_concatenation import CELLS
from ..reporting.run_lines import concatenation
from .sbert_sts import QUICK_TRAINING, SBERT, SMALL_RATE

ABLATION = {
    ("ablation-nli", "mean", "u v |u-v|"): 80.78,
    ("ablation-nli", "max", "u v |u-v|"): 79.07,
    ("ablation-nli", "cls", "u v |u-v|"): 79.80,
    ("ablation-nli", "mean", "u v"): 66.04,
    ("ablation-nli", "mean", "|u-v|"): 69.78,
    ("ablation-nli", "mean", "u*v"): 70.54,
    ("ablation-nli", "mean", "|u-v| u*v"): 78.37,
    ("ablation-nli", "mean", "u v u*v"): 77.44,
    ("ablation-nli", "mean", "u v |u-v| u*v"): 80.44,
    ("ablation-stsb", "mean", ""): 87.44,
    ("ablation-stsb", "max", ""): 69.92,
    ("ablation-stsb", "cls", ""): 86.62,
}
"""Spearman × 100 as printed in the paper, by recipe, pooling and the parts that the softmax classifier reads."""
_COLUMN = "stsb-dev"


def _row_name(recipe: str, pooling: str, parts: str) -> str:
    return f"{recipe.removeprefix('ablation-')}, {pooling}" + (f", ({parts.replace(' ', ', ')})" if parts else "")


def _system(cell: str) -> System:
    pooling, parts = CELLS[cell]
    on_nli = bool(parts)
    name = _row_name("ablation-nli" if on_nli else "ablation-stsb", pooling, " ".join(parts))
    training = TrainedByRecipe(
        "ablation_pooling_concatenation",
        (_COLUMN,),
        ("nli/train",) if on_nli else ("stsb/train",),
        flags=("--only", cell, "--tasks", _COLUMN),
        small=SMALL_RATE,
        quick=QUICK_TRAINING,
    )
    return System(name, training, name, BERT)


def _recorded_row(run: Mapping[str, Any]) -> str | None:
    cell = (run["recipe"], run["pooling"], " ".join(concatenation(run)))
    return _row_name(*cell) if cell in ABLATION else None


SBERT_6 = PaperTable(
    name="sbert-6",
    title="Sentence-BERT, table 6: poolings and concatenations",
    citation=SBERT,
    protocol="Spearman's correlation on STS-B's development split at the end of an epoch: three poolings, trained on "
    "NLI by softmax and on STS-B by regression, and seven concatenations on NLI. The paper uses ten seeds.",
    columns={_COLUMN: "STS-B dev"},
    paper=tuple(PaperRow(_row_name(*cell), {_COLUMN: value}) for cell, value in ABLATION.items()),
    systems=tuple(_system(cell) for cell in CELLS),
    recorded=_recorded_row,
    claims_on=("ablation-nli", "ablation-stsb"),
)
