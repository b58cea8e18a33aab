"""Chromium, driven through Playwright, and what it has to say of a page."""

import functools
import http.server
import shutil
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
"""Where `make integration` has put it; it is not among our files."""
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light", "has_touch": True},
}
"""How the page is looked at; 360 points are the narrowest phone."""
SERIOUS = ("serious", "critical")
ANY = ("minor", "moderate", *SERIOUS)


@contextmanager
def chromium():
    """The system's Chromium, without a window."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise FileNotFoundError("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Python's server of files, which prints nothing."""

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """The address of a folder over HTTP."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Tab:
    """A tab of a browser at a server's page, which notes everything that goes wrong."""

    def __init__(self, browser, url, look="light", **options):
        self.url, self.problems, self.asked = url, [], []
        self.context = browser.new_context(**LOOKS[look], **options)
        self.page = self.context.new_page()
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.problems.append(m.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address):
        """Go to a part of the page, such as `search?q=cats`."""
        self.page.goto(f"{self.url}/#{address}")
        return self.page

    def first_paint(self):
        """Milliseconds until something was to be seen."""
        return self.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")

    def overflow(self):
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def barriers(self, impacts=SERIOUS):
        """What axe finds that keeps people out: rule and element."""
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("axe.run().then(({ violations }) => violations)")
        return [(one["id"], node["html"][:200]) for one in found if one["impact"] in impacts for node in one["nodes"]]
