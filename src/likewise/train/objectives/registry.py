"""The objectives by name, with their purpose and paper, and their spelling on the command line and in TOML files."""

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import BadInput
from ..setting_fields import describe_type, parsed
from .contrastive import Contrastive, SimCSE
from .denoising import TSDAE
from .distillation import Distillation, MarginMSE, ScoreDistillation, SimilarityDistillation
from .labelled_pairs import AnglE, Classification, CoSENT, MarginPairs, Regression
from .objective import InputColumns, Objective
from .reranking import InBatch, PairClassification, PairMargin, PairRanking, PairRegression, RerankerObjective
from .triplets import BatchTriplets, Triplet
from .wrappers import Layerwise, Matryoshka


@dataclass(frozen=True)
class ObjectiveEntry:
    """An objective and its description for help and documentation; its signatures give the columns and options."""

    build: Callable[..., Objective]
    purpose: str
    paper: str
    sentence_transformers: str  # the equivalent or closest class; "" if there is none


ObjectiveTable = Mapping[str, ObjectiveEntry]

OBJECTIVES: ObjectiveTable = {
    "classification": ObjectiveEntry(
        Classification, "pairs with a class, such as natural language inference",
        "Reimers and Gurevych 2019, Sentence-BERT", "SoftmaxLoss",
    ),
    "regression": ObjectiveEntry(
        Regression, "pairs with a similarity score in -1 … 1 that cosines should equal",
        "Reimers and Gurevych 2019, Sentence-BERT", "CosineSimilarityLoss",
    ),
    "cosent": ObjectiveEntry(
        CoSENT, "pairs with a similarity score, of which only the order matters", "Su 2022, CoSENT", "CoSENTLoss",
    ),
    "angle": ObjectiveEntry(
        AnglE, "pairs with a similarity score, for when cosines saturate", "Li and Li 2023, AnglE", "AnglELoss",
    ),
    "margin-pairs": ObjectiveEntry(
        MarginPairs, "pairs labelled similar (1) or not (0)",
        "Hadsell, Chopra and LeCun 2006", "ContrastiveLoss; with online: OnlineContrastiveLoss",
    ),
    "contrastive": ObjectiveEntry(
        Contrastive,
        "pairs such as question and answer or text and paraphrase, optionally with hard negatives; for search",
        "van den Oord 2018, InfoNCE; Henderson 2017; Solatorio 2024, GISTEmbed",
        "MultipleNegativesRankingLoss; with a guide: GISTEmbedLoss",
    ),
    "triplet": ObjectiveEntry(
        Triplet, "triplets, each with its own negative", "Reimers and Gurevych 2019, Sentence-BERT", "TripletLoss",
    ),
    "batch-triplets": ObjectiveEntry(
        BatchTriplets, "single texts with a class, such as a topic",
        "Hermans, Beyer and Leibe 2017; Schroff et al. 2015",
        "BatchHardTripletLoss, BatchSemiHardTripletLoss, BatchAllTripletLoss",
    ),
    "distillation": ObjectiveEntry(
        Distillation, "a teacher's vectors, optionally with translations (for a multilingual model)",
        "Reimers and Gurevych 2020", "MSELoss",
    ),
    "margin-mse": ObjectiveEntry(
        MarginMSE, "the margin between a teacher's scores (usually a cross-encoder's) for positive and negative",
        "Hofstätter et al. 2020", "MarginMSELoss",
    ),
    "score-distillation": ObjectiveEntry(
        ScoreDistillation, "a teacher's scores for a positive and several negatives",
        "Cao et al. 2007, ListNet; Ren et al. 2021, RocketQAv2", "DistillKLDivLoss",
    ),
    "similarity-distillation": ObjectiveEntry(
        SimilarityDistillation, "a teacher's similarities between texts; its vectors may have any dimension",
        "Fang et al. 2021, SEED; Park et al. 2019", "",
    ),
    "simcse": ObjectiveEntry(
        SimCSE, "texts without labels", "Gao, Yao and Chen 2021, SimCSE",
        "MultipleNegativesRankingLoss over equal pairs",
    ),
    "tsdae": ObjectiveEntry(
        TSDAE, "texts without labels, from a new domain", "Wang, Reimers and Gurevych 2021, TSDAE",
        "DenoisingAutoEncoderLoss",
    ),
}  # fmt: skip
"""Objectives for embedders."""

RERANKER_OBJECTIVES: ObjectiveTable = {
    "regression": ObjectiveEntry(
        PairRegression, "pairs with a score", "Reimers and Gurevych 2019, Sentence-BERT",
        "BinaryCrossEntropyLoss; with loss=mse: MSELoss",
    ),
    "classification": ObjectiveEntry(
        PairClassification, "pairs with a class, such as natural language inference",
        "Devlin et al. 2019, BERT", "CrossEntropyLoss",
    ),
    "margin": ObjectiveEntry(
        PairMargin, "a positive and its negatives", "Joachims 2002, ranking SVM", "",
    ),
    "ranking": ObjectiveEntry(
        PairRanking, "a positive and its negatives, optionally with a teacher's scores",
        "Cao et al. 2007, ListNet", "ListNetLoss",
    ),
    "in-batch": ObjectiveEntry(
        InBatch, "pairs, with the batch's other candidates as negatives; for poly-encoders",
        "Humeau et al. 2020, Poly-encoders", "",
    ),
}  # fmt: skip
"""Objectives for rerankers: `parse_objective(spec, RERANKER_OBJECTIVES)`."""

WRAPPERS: dict[str, tuple[Any, Callable[[Objective, Any], Objective]]] = {
    "dimensions": (tuple[int, ...], Matryoshka),
    "layers": (int, Layerwise),
}
"""Options that every embedder objective accepts, each with its type and the wrapper that it adds; innermost first."""


def parse_objective(spec: str | Mapping[str, Any], table: ObjectiveTable = OBJECTIVES) -> Objective:
    """Create the objective described by a string such as `"contrastive:temperature=0.05,symmetric"` or a TOML table.

    A TOML table holds the `name` and the options. In a string, an option without a value is true, and list items are
    joined by +: `"contrastive:dimensions=64+256"`, `"classification:num_labels=2,concatenation=u+v+|u-v|"`.
    `table` is `OBJECTIVES`, for embedders, or `RERANKER_OBJECTIVES`, for rerankers.

    Raises:
        BadInput: a name or an option is unknown, or a value has the wrong type; the message lists what is known.
    """
    name, given = _parse_spec(spec)
    if name not in table:
        raise BadInput(f"the objective {name!r} is unknown; {_of_peer(name, table) or _suggestions(name, table)}")
    types_of_options = objective_options(name, table)
    unknown = [option for option in given if option not in types_of_options]
    if unknown:
        raise BadInput(
            f"{name} has no option {unknown[0]!r}; {_suggestions(unknown[0], types_of_options) or 'it has no options'}"
        )
    values = {option: _convert(f"{name}: {option}", v, types_of_options[option]) for option, v in given.items()}
    objective = table[name].build(**{option: value for option, value in values.items() if option not in WRAPPERS})
    for option, (_, wrapper) in WRAPPERS.items():
        if option in values:
            objective = wrapper(objective, values[option])
    return objective


def objective_options(name: str, table: ObjectiveTable = OBJECTIVES) -> dict[str, Any]:
    """The options of an objective and their types; the wrappers' options come last, and only for embedders."""
    parameters = inspect.signature(table[name].build).parameters.values()
    own = {p.name: p.annotation for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return own | {option: kind for option, (kind, _) in WRAPPERS.items() if table is OBJECTIVES}


def _of_peer(name: str, table: ObjectiveTable) -> str:
    """What to use instead of a sentence-transformers loss; empty for other names."""
    if not name.endswith("Loss"):
        return ""
    equivalent = next((ours for ours, e in table.items() if name in re.findall(r"\w+", e.sentence_transformers)), "")
    use = f"use {equivalent} instead; " if equivalent else ""
    return f"{use}docs/moving-from-sentence-transformers.md lists the replacements for sentence-transformers losses"


def _suggestions(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known)
    return (f"did you mean {near[0]}? " if near else "") + f"expected one of {', '.join(known)}"


def _parse_spec(spec: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(spec, str):
        name, _, rest = spec.partition(":")
        parts = [part.partition("=") for part in rest.split(",") if part.strip()]
        if len({key.strip() for key, _, _ in parts}) < len(parts):
            raise BadInput(f"{spec!r} sets an option twice")
        return name.strip(), {key.strip(): text.strip() if sign else True for key, sign, text in parts}
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        raise BadInput(f"an objective needs a name, as text or in a table; found {spec!r}")
    return spec["name"], {key: value for key, value in spec.items() if key != "name"}


def _convert(what: str, value: Any, kind: Any) -> Any:
    if kind is bool and isinstance(value, str):
        value = {"true": True, "false": False}.get(value, value)
    try:
        return parsed(value, kind, separator="+")
    except (ValueError, TypeError):
        raise BadInput(f"{what} is {value!r}; expected {describe_type(kind)}") from None


_SECTIONS: dict[str, tuple[ObjectiveTable, str]] = {
    "Objectives for embedders": (
        OBJECTIVES,
        f"Each also has the options {' and '.join(WRAPPERS)}: `dimensions=64+256` also trains truncated "
        "vectors (Matryoshka), and `layers=3` trains the last three layers (for models to be cut to fewer layers).",
    ),
    "Objectives for rerankers": (RERANKER_OBJECTIVES, "For `--kind cross-encoder` and `--kind poly-encoder`."),
}
_HEADS = ("name", "columns", "for", "options", "paper", "in sentence-transformers")
_LABEL_WIDTH = 12


def objectives_text(width: int = 100) -> str:
    """All objectives for a terminal of this width: name, purpose, columns, options, paper, equivalent class."""
    parts = []
    for title, (table, note) in _SECTIONS.items():
        parts.append(f"{title}\n\n" + textwrap.fill(note.replace("`", ""), width))
        parts += ["\n".join(_lines(name, entry, width)) for name, entry in table.items()]
    note = "A column in brackets is optional; … stands for any number of additional text columns."
    parts.append(textwrap.fill(note, width))
    return "\n\n".join(parts)


def objectives_markdown() -> str:
    parts = []
    for title, (table, note) in _SECTIONS.items():
        rows = [_HEADS, ("---",) * len(_HEADS), *(_row(name, entry) for name, entry in table.items())]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        parts.append(f"## {title}\n\n{note}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def fitting_objectives(columns: Iterable[str], table: ObjectiveTable = OBJECTIVES) -> list[str]:
    """The names of the objectives that need no columns other than these."""
    names = set(columns)
    return [name for name, entry in table.items() if {*(reads := _reads(entry)).texts, *reads.numbers} <= names]


def fitting_hint(columns: Iterable[str], table: ObjectiveTable = OBJECTIVES) -> str:
    """A sentence for error messages that lists the objectives that fit these columns."""
    names = list(columns)
    fitting = fitting_objectives(names, table)
    found = f"objectives that fit the columns {', '.join(names)}" if names else "objectives that fit no columns"
    listed = ", ".join(fitting) if fitting else "none"
    return f"{found}: {listed}; `likewise train --list` lists the columns of every objective"


def table_of(objective: Objective) -> ObjectiveTable:
    return RERANKER_OBJECTIVES if isinstance(objective, RerankerObjective) else OBJECTIVES


def _reads(entry: ObjectiveEntry) -> InputColumns:
    return entry.build().reads()


def _row(name: str, entry: ObjectiveEntry) -> tuple[str, ...]:
    columns, options = _column_list(_reads(entry)), _option_list(entry)
    return f"`{name}`", columns, entry.purpose, options, entry.paper, entry.sentence_transformers or "–"


def _lines(name: str, entry: ObjectiveEntry, width: int) -> list[str]:
    _, columns, purpose, options, paper, elsewhere = _row(name, entry)
    facts = {"for": purpose, "columns": columns, "options": options, "paper": paper, "also called": elsewhere}
    lines = [f"  {name}"]
    for label, fact in facts.items():
        if fact != "–":
            start = "    " + label.ljust(_LABEL_WIDTH)
            lines.append(textwrap.fill(start + fact, width, subsequent_indent=" " * len(start)))
    return lines


def _column_list(reads: InputColumns) -> str:
    more = ["negative…" if reads.texts[0] == "anchor" else "further texts…"] if reads.more_texts else []
    return ", ".join([*reads.texts, *more, *reads.numbers, *(f"[{name}]" for name in reads.optional)])


def _option_list(entry: ObjectiveEntry) -> str:
    parameters = inspect.signature(entry.build).parameters
    defaults = [f"{name}={_spelled(p.default)}" for name, p in parameters.items() if p.default is not p.empty]
    return ", ".join(defaults) or "–"


def _spelled(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
