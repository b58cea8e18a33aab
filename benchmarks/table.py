"""Draws README's table of measurements and the training table from benchmarks/results; no number is typed by hand."""

from collections.abc import Callable, Mapping
from typing import Any

from .pages import PageTables, draw
from .record import read

OURS, OURS_FP32, PEER = "likewise native int8", "likewise native fp32", "sentence-transformers fp32"
CORPORA = {"sentences": "sentences", "paragraphs": "230-token paragraphs", "mix": "texts of mixed lengths"}


def encoding(contenders: Mapping[str, Any]) -> list[str]:
    """Texts per second on one thread, by corpus."""
    rows = []
    for corpus, words in CORPORA.items():
        peer = contenders[PEER]["speed"][corpus]["1"]["texts_per_s"]
        cells = [f"{peer:,.0f}"]
        for name in (OURS_FP32, OURS):
            speed = contenders[name]["speed"][corpus]["1"]
            cells.append(f"{speed['texts_per_s']:,.0f} (**{speed['times_reference']:.1f} ×**)")
        rows.append(f"| {words} per second | {' | '.join(cells)} |")
    return rows


def each(contenders: Mapping[str, Any], what: str, show: Callable[[Mapping[str, Any]], str]) -> str:
    """Return a row that shows the same measurement for every contender."""
    cells = [show(contenders[name]) for name in (PEER, OURS_FP32, OURS)]
    return f"| {what} | {' | '.join(cells)} |"


def training() -> list[str]:
    """Rows per second and memory of training steps."""
    rows = []
    for record in read("training")["results"]:
        for precision in ("fp32", "bf16"):
            peer = record["contenders"][f"sentence-transformers {precision}"]
            ours = record["contenders"][f"likewise {precision}"]
            rows.append(
                f"| {record['question']}, batches of {record['batch']}, {precision} "
                f"| {peer['rows_per_s']:,.1f} rows/s, {peer['peak_mb'] / 1e3:.2f} GB "
                f"| {ours['rows_per_s']:,.1f} rows/s (**{ours['times_peer_same_precision']:.1f} ×**), "
                f"{ours['peak_mb'] / 1e3:.2f} GB |"
            )
    return rows


def machine(name: str) -> str:
    """The machine, date and commit of a benchmark."""
    where = read(name)["machine"]
    return f"{where['cpu']}, {where['cores']} cores, {where['date']}, commit {where['commit']}"


def fastest_other(contenders: Mapping[str, Any], precision: str) -> tuple[str, float]:
    """Find the fastest other contender on sentences in a precision; returns its name and our speed relative to it."""
    speeds = {
        name: about["speed"]["sentences"]["1"]["texts_per_s"]
        for name, about in contenders.items()
        if about["precision"] == precision and about["speed"]
    }
    best = max((name for name in speeds if not contenders[name]["ours"]), key=lambda name: speeds[name])
    return best, speeds[f"likewise native {precision}"] / speeds[best]


def drawn() -> list[str]:
    """Speed, memory and size."""
    contenders = read("peers")["contenders"]
    others = [
        f"{times:.1f} × as fast as {name.removesuffix(' ' + precision)} ({precision})"
        for precision in ("int8", "fp32")
        for name, times in [fastest_other(contenders, precision)]
    ]
    return [
        "| all-MiniLM-L6-v2, one thread | sentence-transformers 6.2, fp32 | likewise, fp32 | likewise, int8 |",
        "|---|---|---|---|",
        *encoding(contenders),
        each(contenders, "one query", lambda c: f"{c['query']['p50_ms']:.1f} ms"),
        each(contenders, "first vector of a new process", lambda c: f"{c['cold']['wall_s']:.1f} s"),
        each(contenders, "peak memory", lambda c: f"{c['memory']['peak_mb']:.0f} MB"),
        each(contenders, "installed, without bytecode", lambda c: f"{c['installed']['mb']:,.0f} MB"),
        "",
        f"{machine('peers')}. On sentences, likewise is {' and '.join(others)}, the runner-up in each precision; "
        f"[all contenders](docs/speed.md). Training steps are {training_range()} as fast as with "
        f"sentence-transformers. {default_model()}",
    ]


def promise() -> list[str]:
    """Speed and size in two sentences, for readers who have seen no table yet."""
    contenders = read("peers")["contenders"]
    fp32, int8 = (contenders[name]["speed"]["sentences"]["1"]["times_reference"] for name in (OURS_FP32, OURS))
    ours, peer = (contenders[name]["installed"]["mb"] for name in (OURS, PEER))
    return [
        f"With all-MiniLM-L6-v2 on one thread, likewise is {fp32:.1f} × as fast as sentence-transformers in fp32, with",
        f"the same vectors, and {int8:.1f} × as fast in int8 ([speed](speed.md)). `pip install .` in a checkout takes",
        f"up {ours:.0f} MB, and sentence-transformers {peer:,.0f} MB, not counting bytecode",
        "([install](how-to/install.md)).",
    ]


def default_model() -> str:
    """Compare the speed and quality of the bundled default with the model in the table."""
    stored = read("models")
    scores = stored["quality"]["results"]
    mini, beside = scores["likewise-mini"], scores[REFERENCE]
    kept = [f"{mini[suite]:.1f} on {name} ({REFERENCE}: {beside[suite]:.1f})" for suite, name in SUITES.items()]
    faster = stored["engines"]["results"]["likewise-mini"]["native int8"]
    speed = f"{faster:.1f} × as fast as {REFERENCE} (int8; [measured separately](docs/models.md))"
    return f"likewise-mini, the default model, is {speed}, and scores {', '.join(kept[:-1])} and {kept[-1]}."


REFERENCE = "all-MiniLM-L6-v2"
SUITES = {"sts": "STS", "senteval": "SentEval", "scifact": "SciFact"}


def training_range() -> str:
    """Return the range of our training speed relative to sentence-transformers."""
    times = [
        record["contenders"][f"likewise {precision}"]["times_peer_same_precision"]
        for record in read("training")["results"]
        for precision in ("fp32", "bf16")
    ]
    return f"{min(times):.1f} to {max(times):.1f} ×"


def training_table() -> list[str]:
    """Training and memory, beside sentence-transformers."""
    memory = read("memory")["results"]
    return [
        "| training, two threads | sentence-transformers 6.2 | likewise |",
        "|---|---|---|",
        *training(),
        "",
        f"A model of the same shape without fine-tuning; {machine('training')}. Encoding {memory['texts']:,} texts "
        f"into a .npy file took {memory['added_mb']:.0f} MB in addition to the model. Contenders took turns; figures "
        "are medians.",
    ]


TABLES: PageTables = {
    "README.md": {"numbers": drawn},
    "docs/index.md": {"promise": promise},
    "docs/speed.md": {"training": training_table},
}

if __name__ == "__main__":
    draw(TABLES)
