"""How soon does the web page appear in Chromium, and how soon do results appear while typing?

python -m benchmarks.serve_page build FOLDER      builds a collection of 50,000 sentences to search
python -m benchmarks.serve_page measure FOLDER    writes benchmarks/results/serve_page.json
python -m benchmarks.serve_page pictures FOLDER OUT    saves screenshots of every view (light, dark, on a phone) in OUT,
                                                       and of two views in docs/figures

Run it with the Python of `make integration`, which installs playwright; the system's Chromium is also needed. Browser
and server share the processors. Waits are measured from the key event until the frame with the results is drawn.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from likewise import Embedder
from likewise.native.threads import thread_count
from likewise.search.texts.text_index import TextIndex
from tests.integration.browser import LOOKS, Tab, chromium
from tests.serve.running_server import running_server

from .real_sentences import real_sentences
from .record import save

MODEL = "likewise-mini"
COUNT = 50_000
NAME = "sentences"
VIEWS = ("compare", "why", "search", "map", "layers", "model", "load")
SHOWN = {"compare": "compare", "search": "search?c=sentences&q=how do I learn to play the guitar"}
"""The views that docs/page.md shows, and their addresses."""
VARIANTS = {"light": "", "dark": "-dark"}
FIGURES = Path(__file__).parent.parent / "docs" / "figures"
QUERIES = ("how do I learn to play the guitar", "a dog runs along the beach", "who won the election")
KEY_EVERY = 120
"""Milliseconds between keystrokes, as for a fast typist."""
MAP_WAIT = 300_000
"""Milliseconds within which even a busy machine computes the collection's map, whose themes the Search view shows."""
WATCH = """
() => {
  window.waits = [];
  let pressed = null;
  document.querySelector(".search input.large").addEventListener("input", () => { pressed = performance.now(); }, true);
  new MutationObserver(() => {
    const since = pressed;
    pressed = null;
    if (since !== null) requestAnimationFrame(() => setTimeout(() => window.waits.push(performance.now() - since)));
  }).observe(document.querySelector(".search .passages"), { childList: true });
}
"""
"""Records the wait from each key event to the frame with its results, unless a later key's results replaced them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "measure", "pictures"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=Path("pictures"))
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if args.what == "build":
        build(args.folder)
    elif args.what == "measure":
        save("serve_page", measured(args.folder, args.rounds))
    else:
        take_pictures(args.folder, args.out)


def build(folder: Path) -> None:
    """Build a collection of real sentences."""
    with TextIndex.open(folder / NAME, Embedder.load(MODEL), name=MODEL) as index:
        print(index.add(real_sentences(COUNT), total=COUNT))


@contextmanager
def page_server(folder: Path) -> Iterator[str]:
    """Start and warm up a server; yields its address."""
    with running_server(MODEL, "--collections", str(folder), "--log", "off") as server:
        server.ask("/v1/search", {"query": "warm", "collection": NAME})
        yield server.url


def measured(folder: Path, rounds: int) -> dict[str, Any]:
    """Measure the milliseconds to the first paint of each view in a new browser profile, and the waits while typing."""
    with page_server(folder) as url, chromium() as browser:
        paints = {view: [first_paint(browser, url, view) for _ in range(rounds)] for view in VIEWS}
        inputs, waits = typed(browser, url)
    every = [paint for found in paints.values() for paint in found]
    tenths = quantiles(waits, n=20)
    return {
        "threads": thread_count(),
        "first_paint_ms": {view: round(median(found)) for view, found in paints.items()}
        | {"slowest": round(max(every))},
        "passages": COUNT,
        "input_to_results_ms": {"median": median(waits), "p95": tenths[-1], "slowest": max(waits)},
        "inputs": inputs,
        "inputs_with_results_of_their_own": len(waits),
    }


def first_paint(browser: Any, url: str, view: str) -> float:
    """Return the milliseconds from opening the address to the first visible content, with an empty browser cache."""
    tab = Tab(browser, url)
    tab.open(view).wait_for_selector("h1")
    found = float(tab.first_paint())
    tab.context.close()
    return found


def typed(browser: Any, url: str) -> tuple[int, list[float]]:
    """Type the queries; returns the number of changes (one per key, one for clearing between queries) and the waits."""
    tab = Tab(browser, url)
    page = tab.open(f"search?c={NAME}")
    page.wait_for_selector(".result")
    page.wait_for_selector("text=In this collection")  # the map, which is computed once and not measured
    page.evaluate(WATCH)
    box = page.get_by_role("searchbox", name="Search")
    for query in QUERIES:
        box.fill("")
        box.press_sequentially(query, delay=KEY_EVERY)
        page.wait_for_timeout(300)
    waits: list[float] = page.evaluate("window.waits")
    tab.context.close()
    return sum(map(len, QUERIES)) + len(QUERIES) - 1, waits


def take_pictures(folder: Path, out: Path) -> None:
    """Write VIEW-LOOK.png for every view, and the light and dark pictures of docs/page.md."""
    out.mkdir(parents=True, exist_ok=True)
    with page_server(folder) as url, chromium() as browser:
        for look in LOOKS:
            for view in VIEWS:
                taken = screenshot(browser, url, look, SHOWN.get(view, view))
                (out / f"{view}-{look}.png").write_bytes(taken)
                if view in SHOWN and look in VARIANTS:
                    (FIGURES / f"page-{view}{VARIANTS[look]}.png").write_bytes(taken)


def screenshot(browser: Any, url: str, look: str, view: str) -> bytes:
    """Take a picture of a whole view once nothing moves."""
    tab = Tab(browser, url, look)
    page = tab.open(view)
    if view == "load":  # this view sends a request every second
        page.wait_for_timeout(3000)
    else:
        page.wait_for_load_state("networkidle", timeout=MAP_WAIT)
    page.wait_for_timeout(500)
    taken: bytes = page.screenshot(full_page=True)
    tab.context.close()
    return taken


if __name__ == "__main__":
    main()
