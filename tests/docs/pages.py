"""The pages of the documentation and their blocks of code."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
"""From the repository's root, as in `docs/search.md`."""
HISTORY = ("CHANGELOG.md", "docs/logbook.md")
"""What they show was true once."""
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]*) -->\n)?(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.S | re.M,
)


@dataclass(frozen=True)
class Block:
    """A block of code: its page, its language as written (`""` where none is) and its text.

    `reason` is that of a comment before it, `<!-- not run: REASON -->`.
    """

    page: str
    language: str
    text: str
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.page}: {self.text.strip().splitlines()[0]}"


def text_of(page: str) -> str:
    """A page's Markdown."""
    return (ROOT / page).read_text("utf-8")


def blocks_of(page: str) -> list[Block]:
    """A page's blocks of code, in their order."""
    return [Block(page, found["language"], found["text"], found["reason"]) for found in FENCE.finditer(text_of(page))]


def blocks(*languages: str) -> list[Block]:
    """The blocks of these languages on all pages, history apart."""
    return [one for page in PAGES if page not in HISTORY for one in blocks_of(page) if one.language in languages]
