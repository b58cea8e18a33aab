"""A map as a single HTML file that works offline: zoom, hover, search, and select clusters.

Texts are data in the page, never markup: they are in a JSON block that contains no `<`, and the script inserts them as
text nodes. A content security policy allows only the page's own script, identified by its hash.
"""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from pathlib import Path

from ...files.lines import is_utf8
from ...runtime.atomic_files import atomic_file
from .cluster_map import NO_CLUSTER_COLOUR, ClusterMap, label_places

SCRIPTS = ("points.js", "dots.js", "legend.js", "map_view.js", "map_selection.js", "controls.js", "page.js")
"""The modules, each listed after its imports; all but the last are shared with other pages."""
LINKS = re.compile(r"^import .*;\n|^export ", re.MULTILINE)
DIGITS = 5  # decimals of a position between 0 and 1: finer than a pixel at 100× zoom


def write_page(shown: ClusterMap, path: Path) -> None:
    with atomic_file(path) as partial:
        partial.write_text(map_page(shown), "utf-8", errors="replace")


def map_page(shown: ClusterMap) -> str:
    script, style = one_script(), _part("page.css")
    parts = {"title": html.escape(shown.title), "data": json_for_script(_data(shown)), "script": script, "style": style}
    parts |= {"script_hash": _hash(script), "style_hash": _hash(style)}
    pieces = _part("page.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def one_script() -> str:
    """Combine the modules into one script without imports and exports; no two modules declare the same name."""
    return '"use strict";\n' + LINKS.sub("", "".join(map(_part, SCRIPTS)))


def _data(shown: ClusterMap) -> dict[str, object]:
    clusters = zip(shown.names, shown.colours, label_places(shown).round(DIGITS).tolist(), strict=True)
    return {
        "texts": list(shown.texts),
        "x": shown.places[:, 0].round(DIGITS).tolist(),
        "y": shown.places[:, 1].round(DIGITS).tolist(),
        "labels": shown.labels.tolist(),
        "clusters": [{"name": name, "colour": colour, "place": place} for name, colour, place in clusters],
        "other": NO_CLUSTER_COLOUR,
    }


def json_for_script(value: object) -> str:
    """JSON that is safe in a script element: nothing in it can end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not is_utf8(text):
        text = json.dumps(value, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
