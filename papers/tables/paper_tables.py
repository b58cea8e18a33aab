"""Every table that can be reproduced, by name."""

from collections.abc import Sequence

from likewise.errors import BadInput

from ..paper_table import PaperTable
from .sbert_ablation import SBERT_6
from .sbert_speed import SBERT_7
from .sbert_sts import SBERT_1, SBERT_2
from .sbert_tasks import SBERT_3, SBERT_4, SBERT_5
from .sbert_wk import SBERT_WK

PAPER_TABLES: dict[str, PaperTable] = {
    table.name: table for table in (SBERT_1, SBERT_2, SBERT_3, SBERT_4, SBERT_5, SBERT_6, SBERT_7, SBERT_WK)
}
ALL = "all"


def select_tables(names: Sequence[str]) -> list[PaperTable]:
    """The tables with these names (`all` for every table), each once, in the given order."""
    chosen: dict[str, PaperTable] = {}
    for name in (part.strip() for text in names for part in text.split(",")):
        if name != ALL and name not in PAPER_TABLES:
            raise BadInput(f"there is no table {name!r}; expected {', '.join(PAPER_TABLES)} or {ALL}")
        chosen |= PAPER_TABLES if name == ALL else {name: PAPER_TABLES[name]}
    if not chosen:
        raise BadInput(f"no table was given; expected {', '.join(PAPER_TABLES)} or {ALL}")
    return list(chosen.values())
