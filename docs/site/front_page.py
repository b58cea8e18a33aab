"""What the front page loads from outside docs/: the engine, the bundled models, and the style of the server's page."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "native/web/likewise.wasm"
"""`make -C native web` compiles it; without it, the front page shows a picture."""
PARTS = {
    "site/page": ("src/likewise/serve/page", ("icon.svg", "style/*.css", "parts/dom.js", "parts/examples.js")),
    "site/engine": ("native/web", ("likewise.js", "likewise.wasm")),
    "site/models": ("src/likewise/bundled", ("*/*.json", "*/*/*.json", "*/*.safetensors", "*/*/*.safetensors")),
}
"""Folders of the site: the folder of the repository that they show, and which of its files."""
NEEDED_BY_ENGINE = ("site/engine", "site/models")


def front_page_files(engine: Path = ENGINE) -> dict[str, Path]:
    """Files by their path on the site; neither models nor engine's own if the engine has not been compiled."""
    parts = [part for part in PARTS if engine.exists() or part not in NEEDED_BY_ENGINE]
    found = {}
    for part in parts:
        folder = ROOT / PARTS[part][0]
        for path in sorted(path for pattern in PARTS[part][1] for path in folder.glob(pattern)):
            found[f"{part}/{path.relative_to(folder).as_posix()}"] = path
    return found
