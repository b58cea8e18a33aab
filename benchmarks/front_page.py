"""Takes screenshots of the documentation's front page in Chromium: light, dark, on a phone, in use.

    python -m benchmarks.front_page [OUT]

They are saved in OUT, and those of the demo in docs/figures/front-page*.png. First run `make docs` with Emscripten
installed. Use the Python of `make integration`, which installs playwright; the system's Chromium is also needed.
"""

import sys
from pathlib import Path
from typing import Any

from tests.integration.browser import LOOKS, Tab, chromium, served

from .serve_page import FIGURES, VARIANTS

SITE = Path(__file__).parent.parent / "build/site"
READY = "text=/texts encoded in/"


def main(out: Path) -> None:
    """Take light and dark pictures of the whole page, and of its demo for readers who cannot run it."""
    out.mkdir(parents=True, exist_ok=True)
    with served(SITE) as url, chromium() as browser:
        for look in LOOKS:
            take_pictures(Tab(browser, url, look), url, look, out)


def take_pictures(tab: Tab, url: str, look: str, out: Path) -> None:
    tab.page.goto(f"{url}/")
    tab.page.wait_for_selector(READY)
    settled(tab).screenshot(path=out / f"front-{look}.png", full_page=True)
    if look in VARIANTS:
        demo = around(tab.page.locator("#demo").bounding_box())
        tab.page.screenshot(path=FIGURES / f"front-page{VARIANTS[look]}.png", full_page=True, clip=demo)
    tab.page.get_by_role("button", name="likewise-mini").click()
    tab.page.wait_for_selector(READY)
    tab.page.get_by_role("button", name="Who did what").click()
    tab.page.get_by_text("The hundred sentences", exact=True).click()
    settled(tab).screenshot(path=out / f"front-{look}-in-use.png", full_page=True)
    tab.context.close()


def around(box: dict[str, float], margin: float = 16) -> dict[str, float]:
    """Return a rectangle enlarged by a margin."""
    start = {"x": box["x"] - margin, "y": box["y"] - margin}
    return {**start, "width": box["width"] + 2 * margin, "height": box["height"] + 2 * margin}


def settled(tab: Tab) -> Any:
    """Scroll to the top of the page, and wait until nothing moves."""
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.wait_for_timeout(2000)
    return tab.page


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "pictures"))
