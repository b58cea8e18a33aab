"""The files that the front page loads from outside docs/: engine, bundled models, and the server's style sheets."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "native/web/likewise.wasm"
"""Compiled by `make -C native web`; without this file, the front page shows a picture."""
PARTS = {
    "site/page": ("src/likewise/serve/page", ("icon.svg", "style/*.css", "parts/dom.js", "parts/examples.js")),
    "site/engine": ("native/web", ("likewise.js", "likewise.wasm")),
    "site/models": ("src/likewise/bundled", ("*/*.json", "*/*/*.json", "*/*.safetensors", "*/*/*.safetensors")),
}
"""For each of these folders of the site, its folder in the repository and the files to include."""
NEEDED_BY_ENGINE = ("site/engine", "site/models")


def front_page_files(engine: Path = ENGINE) -> dict[str, Path]:
    """Files by their path on the site; without the engine's and the models' files if the engine is not compiled."""
    parts = [part for part in PARTS if engine.exists() or part not in NEEDED_BY_ENGINE]
    found = {}
    for part in parts:
        folder = ROOT / PARTS[part][0]
        for path in sorted(path for pattern in PARTS[part][1] for path in folder.glob(pattern)):
            found[f"{part}/{path.relative_to(folder).as_posix()}"] = path
    return found
