"""Generates the pages of docs/reproduced from the output folder of `python -m papers`.

    python -m papers all --output reproduced/ --runs benchmarks/results/training.jsonl
    python -m benchmarks.reproduced_pages reproduced/     copies results and ledger, and generates the pages
    python -m benchmarks.reproduced_pages                 regenerates the pages

Results are in benchmarks/results/reproduce: one file per table, and the ledger with one line per experiment.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from papers.ledger import LEDGER
from papers.reporting.chart import Chart
from papers.reporting.claims import found_sentence
from papers.reporting.comparison_plot import comparison_chart
from papers.reporting.page import drawn_page
from papers.reporting.verdict import VERDICTS
from papers.tables.paper_tables import PAPER_TABLES

from .record import RESULTS

FOLDER = RESULTS / "reproduce"
PAGES = Path(__file__).parent.parent / "docs" / "reproduced"
AVERAGES = "table-1"
"""The name of the chart that the overview shows."""
Results = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    """Copy the results from a run's folder, if one is given, and generate all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, nargs="?", help="the output folder of a run")
    output = parser.parse_args(argv).output
    FOLDER.mkdir(parents=True, exist_ok=True)
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in (LEDGER, *(f"{table}.json" for table in PAPER_TABLES)):
        if output is not None and (output / name).exists():
            shutil.copyfile(output / name, FOLDER / name)
    results = committed()
    for one in results:
        (PAGES / f"{one['table']}.md").write_text(drawn_page(one), "utf-8")
        comparison_chart(one).save(PAGES / one["table"])
    (PAGES / "README.md").write_text(overview(results), "utf-8")
    averages(results).save(PAGES / AVERAGES)
    print(f"generated the pages of {len(results)} tables in docs/reproduced")


def committed() -> list[Results]:
    """The committed results of all tables that have any, in the order of the papers."""
    paths = [FOLDER / f"{name}.json" for name in PAPER_TABLES]
    return [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]


def overview(results: Sequence[Results]) -> str:
    """The page that lists the tables with their verdicts, and every claim of the papers."""
    return "\n".join(_overview(results)) + "\n"


def averages(results: Sequence[Results]) -> Chart:
    """Draw the last column of Sentence-BERT's table 1: the mean of the seven STS sets."""
    (table,) = (one for one in results if one["table"] == "sbert-1")
    return comparison_chart({**table, "columns": {"avg": "Spearman × 100, mean of seven STS sets"}})


def _overview(results: Sequence[Results]) -> Iterator[str]:
    yield "# The papers' tables, measured here\n"
    yield f"{found_sentence([claim['holds'] for one in results for claim in one['claims']])}\n"
    yield from [*averages(results).picture(AVERAGES), ""]
    yield "Table 1 of Sentence-BERT: each system measured here is below the paper's system that it is compared with.\n"
    yield f"| table | rows | {' | '.join(VERDICTS)} | time |\n|---|---|{'---|' * len(VERDICTS)}---|"
    for one in results:
        texts = [text for row in one["rows"] for text in row["verdicts"].values()]
        counts = [str(sum(text.startswith(verdict) for text in texts)) for verdict in VERDICTS]
        title = f"[{one['title']}]({one['table']}.md)"
        yield f"| {title} | {len(one['rows'])} | {' | '.join(counts)} | {one['made']['seconds']:,} s |"
    yield "\n## Every claim\n"
    yield "| claim | table | on | measure | seeds | difference | holds? |\n|---|---|---|---|---|---|---|"
    for one in results:
        for claim in one["claims"]:
            cells = (claim["claim"], one["table"], *(str(claim[k]) for k in ("on", "measure", "seeds")))
            yield "| " + " | ".join(c.replace("|", "\\|") for c in (*cells, claim["difference"], claim["holds"])) + " |"
    yield "\n## How it was measured\n"
    yield (
        "Drawn by `python -m benchmarks.reproduced_pages` from benchmarks/results/reproduce; `python -m papers all` "
        "remeasures the tables. Figures are comparable only with the papers' own backbones (`--model "
        "bert-base-uncased`); with the small backbones used here, only the signs of differences are comparable."
    )


if __name__ == "__main__":
    main()
