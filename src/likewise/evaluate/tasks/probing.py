"""SentEval's ten probing tasks: what a classifier can read from the vectors about length, words, tree, tense and so on.

Conneau, Kruszewski, Lample, Barrault and Baroni 2018, "What you can cram into a single vector". The classifier has one
hidden layer of sigmoids, whose width and dropout are chosen on dev together with the l2; for word content it has none.
"""

from functools import partial
from itertools import product

from ...errors import BadInput
from ..classifiers.classifier import ClassifierRecipe
from ..classifiers.protocols import SPLIT
from ..task import Encode, EvaluationSettings, Read, Result, Task, TaskColumns
from .senteval import TEXT, SentEvalSplit, Source, score

HIDDEN, DROPOUT = (50, 100, 200), (0.0, 0.1, 0.2)
PROBING_SPLITS = ("tr", "va", "te")
WITHOUT_HIDDEN = "word-content"  # a thousand classes


def run_probing(encode: Encode, read: Read, settings: EvaluationSettings, *, name: str, file: str) -> Result:
    """One probing task by the given splits; `settings.hidden`, where it is not 0, is the only width tried.

    Raises:
        BadInput: no rows of a split, or labels that are not in the training rows.
        MissingExtra: torch is not installed.
    """
    rows = {split: _of(read(file), split, file) for split in PROBING_SPLITS}
    classes = tuple(sorted(set(rows["tr"]["label"])))
    source = Source(name, (file,), classes, TEXT)
    parts = [SentEvalSplit.of(rows[split], f"{file} ({split})", source, settings.lowercase) for split in PROBING_SPLITS]
    return score(encode, parts, settings, source, SPLIT, _recipes(name, settings))


def _of(columns: TaskColumns, split: str, file: str) -> TaskColumns:
    """The rows of a split, their labels as strings: their order as strings is that of SentEval's classes."""
    if absent := {"split", "label", "text"} - set(columns):
        raise BadInput(f"{file} wants the columns split, label and text; without: {', '.join(sorted(absent))}")
    chosen = [i for i, found in enumerate(columns["split"]) if found == split]
    if not chosen:
        raise BadInput(f"{file} has no row whose split is {split!r}; wanted {', '.join(PROBING_SPLITS)}")
    return {"text": [columns["text"][i] for i in chosen], "label": [str(columns["label"][i]) for i in chosen]}


def _recipes(name: str, settings: EvaluationSettings) -> list[ClassifierRecipe]:
    if name == WITHOUT_HIDDEN:
        return [ClassifierRecipe(seed=settings.seed)]
    widths = (settings.hidden,) if settings.hidden else HIDDEN
    return [
        ClassifierRecipe(hidden=hidden, dropout=dropout, seed=settings.seed)
        for hidden, dropout in product(widths, DROPOUT)
    ]


_PROBES = {
    "sentence_length": "six bins of the number of words",
    "word_content": "which of 1,000 words is in it",
    "tree_depth": "depth of the tree, 5 to 12",
    "top_constituents": "20 sequences of constituents under the root",
    "bigram_shift": "two neighbouring words swapped or not",
    "past_present": "tense of the main verb",
    "subj_number": "number of the subject",
    "obj_number": "number of the object",
    "odd_man_out": "a noun or verb replaced or not",
    "coordination_inversion": "two coordinate clauses swapped or not",
}


def _task(probe: str, summary: str) -> Task:
    name, file = probe.replace("_", "-"), f"probing/{probe}"
    return Task(name, "probing", (file,), summary, partial(run_probing, name=name, file=file))


PROBING_TASKS: tuple[Task, ...] = tuple(_task(probe, summary) for probe, summary in _PROBES.items())
