"""SentEval's ten probing tasks: classifiers that predict length, words, tree depth, tense and so on from vectors.

Conneau, Kruszewski, Lample, Barrault and Baroni 2018, "What you can cram into a single vector". The classifier has one
hidden sigmoid layer, whose size, dropout and L2 value are chosen on dev; for word content, it has no hidden layer.
"""

from functools import partial
from itertools import product

from ...data.columns import DatasetColumns
from ...errors import BadInput
from ..classifiers.classifier import ClassifierRecipe
from ..classifiers.protocols import SPLIT
from ..task import Encode, EvaluationSettings, ReadDataset, Result, Task
from .senteval import TEXT, SentEvalData, SentEvalSplit, score_classifiers

HIDDEN, DROPOUT = (50, 100, 200), (0.0, 0.1, 0.2)
PROBING_SPLITS = ("tr", "va", "te")
WITHOUT_HIDDEN = "word-content"  # a thousand classes


def run_probing(encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str, file: str) -> Result:
    """Run one probing task with its predefined splits; a non-zero `settings.hidden` is the only hidden size tried."""
    rows = {split: _rows_of_split(read(file), split, file) for split in PROBING_SPLITS}
    classes = tuple(sorted(set(rows["tr"]["label"])))
    source = SentEvalData(name, (file,), classes, TEXT)
    parts = [SentEvalSplit.of(rows[split], f"{file} ({split})", source, settings) for split in PROBING_SPLITS]
    return score_classifiers(encode, parts, settings, source, SPLIT, _recipes(name, settings))


def _rows_of_split(columns: DatasetColumns, split: str, file: str) -> DatasetColumns:
    """The rows of a split, with labels as strings, whose sorted order is the order of SentEval's classes."""
    if missing := {"split", "label", "text"} - set(columns):
        raise BadInput(f"{file} needs the columns split, label and text; missing: {', '.join(sorted(missing))}")
    rows = [i for i, value in enumerate(columns["split"]) if value == split]
    if not rows:
        raise BadInput(f"{file} has no row in split {split!r}; expected {', '.join(PROBING_SPLITS)}")
    return {"text": [columns["text"][i] for i in rows], "label": [str(columns["label"][i]) for i in rows]}


def _recipes(name: str, settings: EvaluationSettings) -> list[ClassifierRecipe]:
    if name == WITHOUT_HIDDEN:
        return [ClassifierRecipe(seed=settings.seed)]
    widths = (settings.hidden,) if settings.hidden else HIDDEN
    return [ClassifierRecipe(hidden, dropout, seed=settings.seed) for hidden, dropout in product(widths, DROPOUT)]


_PROBES = {
    "sentence_length": "six bins of the number of words",
    "word_content": "which of 1,000 words it contains",
    "tree_depth": "depth of the syntax tree, 5 to 12",
    "top_constituents": "20 sequences of constituents under the root",
    "bigram_shift": "two neighbouring words swapped or not",
    "past_present": "tense of the main verb",
    "subj_number": "number of the subject",
    "obj_number": "number of the object",
    "odd_man_out": "a noun or verb replaced or not",
    "coordination_inversion": "two coordinate clauses swapped or not",
}


PROBING_TASKS: tuple[Task, ...] = tuple(
    Task(name, "probing", (file,), summary, partial(run_probing, name=name, file=file))
    for name, file, summary in ((of.replace("_", "-"), f"probing/{of}", about) for of, about in _PROBES.items())
)
