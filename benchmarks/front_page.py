"""How soon do the front page of the documentation and its first similarity appear in Chromium, and what do they load?

python -m benchmarks.front_page measure         writes benchmarks/results/front_page.json
python -m benchmarks.front_page pictures OUT    screenshots: light, dark, phone, in use; docs/figures/front-page*.png

`make docs` with Emscripten comes first. Run it with the Python of `make integration`, which installs playwright; the
system's Chromium is also needed. Browser and server share the processors.
"""

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from tests.integration.browser import LOOKS, Tab, chromium, served

from .record import save
from .serve_page import FIGURES, VARIANTS

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build/site"
READY = "text=/texts encoded in/"
TYPED = "The old dog snores beside the fire while it rains."
LOADED = """
() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)
"""
TYPE = """
async (text) => {
  const field = document.getElementById("text-a"), words = document.getElementById("words-a"), waits = [];
  for (let end = 1; end <= text.length; end += 1) {
    const began = performance.now();
    const shown = new Promise((done) => new MutationObserver(done).observe(words, { childList: true }));
    field.value = text.slice(0, end);
    field.dispatchEvent(new Event("input"));
    await shown;
    waits.push(performance.now() - began);
  }
  return waits;
}
"""
"""Waits from each change of the first sentence to its words in colour; a frame's wait, up to 17 ms, is part of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "pictures"))
    parser.add_argument("out", type=Path, nargs="?", default=Path("pictures"))
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    with served(SITE) as url, chromium() as browser:
        if args.what == "measure":
            save("front_page", measured(browser, url, args.rounds))
        else:
            take_pictures(browser, url, args.out)


def measured(browser: Any, url: str, rounds: int) -> dict[str, Any]:
    """Milliseconds and bytes of visits with an empty cache, and the waits while typing, with both models."""
    visits = [visit(browser, url) for _ in range(rounds)]
    tab = ready(browser, url)
    static = tab.page.evaluate(TYPE, TYPED)
    use_mini(tab)
    both, mini = tab.page.evaluate(LOADED), tab.page.evaluate(TYPE, TYPED)
    tab.context.close()
    return {
        "first_paint_ms": spread([paint for paint, _, _ in visits]),
        "paint_to_similarity_ms": spread([similarity - paint for paint, similarity, _ in visits]),
        "bytes": {"likewise-static": visits[0][2], "with likewise-mini": both},
        "input_to_words_ms": {"likewise-static": spread(static), "likewise-mini": spread(mini)},
    }


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(median(values), 1), "slowest": round(max(values), 1)}


def ready(browser: Any, url: str, look: str = "light") -> Tab:
    """A new visitor's tab, with the first similarity."""
    tab = Tab(browser, url, look)
    tab.page.goto(f"{url}/")
    tab.page.wait_for_selector(READY)
    return tab


def use_mini(tab: Tab) -> None:
    tab.page.get_by_role("button", name="likewise-mini").click()
    tab.page.wait_for_selector(READY)


def visit(browser: Any, url: str) -> tuple[float, float, int]:
    """Milliseconds to the first paint and to the first similarity, and bytes."""
    tab = ready(browser, url)
    similarity = tab.page.evaluate("performance.getEntriesByName('first similarity')[0].startTime")
    found = (float(tab.first_paint()), float(similarity), int(tab.page.evaluate(LOADED)))
    tab.context.close()
    return found


def take_pictures(browser: Any, url: str, out: Path) -> None:
    """Pictures of the whole page, and of its demo, light and dark, for those who cannot run it."""
    out.mkdir(parents=True, exist_ok=True)
    for look in LOOKS:
        tab = ready(browser, url, look)
        settled(tab).screenshot(path=out / f"front-{look}.png", full_page=True)
        if look in VARIANTS:
            demo = around(tab.page.locator("#demo").bounding_box())
            tab.page.screenshot(path=FIGURES / f"front-page{VARIANTS[look]}.png", full_page=True, clip=demo)
        use_mini(tab)
        tab.page.get_by_role("button", name="Who did what").click()
        tab.page.get_by_text("The hundred sentences", exact=True).click()
        settled(tab).screenshot(path=out / f"front-{look}-in-use.png", full_page=True)
        tab.context.close()


def around(box: dict[str, float], margin: float = 16) -> dict[str, float]:
    """A rectangle and its margin."""
    return {
        "x": box["x"] - margin,
        "y": box["y"] - margin,
        "width": box["width"] + 2 * margin,
        "height": box["height"] + 2 * margin,
    }


def settled(tab: Tab) -> Any:
    """The page from its top, once nothing moves."""
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.wait_for_timeout(2000)
    return tab.page


if __name__ == "__main__":
    main()
