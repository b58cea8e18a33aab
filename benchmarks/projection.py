"""Projects costs for a million, a hundred million and ten billion texts from measured rates, for docs/scale.md.

    python -m benchmarks.projection --measure    writes each model's texts per second to results/encoding_rates.json
    python -m benchmarks.projection              the tables, from that file and the results of benchmarks.search

Only two things are measured, on the machine named in the file: encoding on two cores, and exact scans of a million
vectors. Everything else is projected, under two assumptions: encoding time falls in proportion to the number of cores,
because shards share nothing but the queue; and scan time grows in proportion to the number of vectors, because scans
are memory-bound. No GPU has been measured.
"""

import pyarrow.parquet as pq

from likewise import Embedder
from likewise.native.threads import thread_count

from .options import options
from .pages import PageTables, draw, rows
from .record import data, in_turn, place, read, save

CONTENDERS = {
    "likewise-static": ("likewise-static", "fp32"),
    "likewise-mini, int8": ("likewise-mini", "int8"),
    "all-MiniLM-L6-v2, int8": ("all-MiniLM-L6-v2", "int8"),
    "all-MiniLM-L6-v2, fp32": ("all-MiniLM-L6-v2", "fp32"),
}
SIZES = (10**6, 10**8, 10**10)
CORE_HOUR = 0.04  # US dollars per hour for a rented core: an assumption; insert your own price
WIDTH = 384
BYTES = {"float32": 4 * WIDTH, "float16": 2 * WIDTH, "int8": WIDTH + 4, "one bit": WIDTH // 8}
SCANNED = ("float32", "int8", "one bit")
KINDS = {"sentences": 2000, "paragraphs": 100}  # number of texts measured
ROUNDS = 3


def measure() -> None:
    """Measure every contender's texts per second, in turn, with one thread per core."""
    sts = pq.read_table(data("stsb", "test.parquet")).to_pydict()
    sentences = list(dict.fromkeys(sts["sentence1"] + sts["sentence2"]))
    abstracts = pq.read_table(data("scifact", "corpus.parquet"))["text"].to_pylist()
    texts = {"sentences": sentences[: KINDS["sentences"]], "paragraphs": abstracts[: KINDS["paragraphs"]]}
    embedders = {name: Embedder.load(model, precision=precision) for name, (model, precision) in CONTENDERS.items()}
    rates: dict[str, dict[str, float]] = {name: {} for name in CONTENDERS}
    for kind, some in texts.items():
        works = {name: lambda e=one, some=some: e.encode(some, overflow="truncate") for name, one in embedders.items()}
        for name, seconds in in_turn(works, ROUNDS).items():
            rates[name][kind] = len(some) / sorted(seconds)[ROUNDS // 2]
    save("encoding_rates", {"threads": thread_count(), "texts_per_s": rates})


def core_hours(rate: float, cores: int, texts: int) -> float:
    """Return the core hours for encoding this many texts, given the combined rate of all cores."""
    return texts / rate * cores / 3600


def shown(value: float) -> str:
    """Format with two significant digits."""
    digits = f"{float(f'{value:.2g}'):,.3f}"
    return digits.rstrip("0").rstrip(".") if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def human_bytes(size: float) -> str:
    """Format a number of bytes in a suitable unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{shown(size)} {unit}"
        size /= 1000
    return f"{shown(size)} TB"


def human_seconds(seconds: float) -> str:
    """Format in milliseconds below one second, and in minutes from two minutes."""
    if seconds < 1:
        return f"{shown(seconds * 1000)} ms"
    return f"{shown(seconds)} s" if seconds < 120 else f"{shown(seconds / 60)} min"


def drawn() -> list[str]:
    """The whole text between the marks."""
    rates, scans = read("encoding_rates"), read("search-2-threads")
    threads, found = rates["results"]["threads"], scans["results"]
    head = " | ".join(f"{texts:,} texts" for texts in SIZES)
    encoding = []
    for name, kinds in rates["results"]["texts_per_s"].items():
        for kind, rate in kinds.items():
            hours = [core_hours(rate, threads, texts) for texts in SIZES]
            encoding.append(
                [f"{name}, {kind}", f"{rate:,.0f}", *(f"{shown(h)} h, ${shown(h * CORE_HOUR)}" for h in hours)]
            )
    storage = ([name, f"{size:,} B", *(human_bytes(size * texts) for texts in SIZES)] for name, size in BYTES.items())
    one = {name: found["speed"]["1 queries"][name]["ms"] / 1000 / found["rows"] for name in SCANNED}
    return [
        f"**Encoding**: measured texts per second on {threads} threads, one per core ({place(rates['machine'])}; "
        f"medians of {ROUNDS} rounds), and the projected core hours and cost at ${CORE_HOUR} per core hour.",
        "",
        *rows(f"model, texts | measured, texts/s | {head}", encoding),
        "",
        f"**Storage** of {WIDTH}-dimensional vectors, without ids and texts.",
        "",
        *rows(f"stored as | per vector | {head}", storage),
        "",
        f"**One exact query** on {found['threads']} threads: measured on {found['rows']:,} vectors "
        f"({scans['machine']['cpu']}, {scans['machine']['date']}) and scaled with the number of vectors.",
        "",
        *rows(f"scanned | {head}", ([name, *(human_seconds(s * texts) for texts in SIZES)] for name, s in one.items())),
    ]


def main() -> None:
    """Measure, or write the tables into the page."""
    if options(__doc__, measure=False).measure:
        measure()
    draw(TABLES)


TABLES: PageTables = {"docs/scale.md": {"projection": drawn}}

if __name__ == "__main__":
    main()
