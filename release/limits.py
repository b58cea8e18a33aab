"""How large a release may be, and how much it may import; tests/release holds what was built to these."""

MEGABYTE = 1_000_000
SIZES = {
    **{"wheel": 24 * MEGABYTE, "sdist": 24 * MEGABYTE, "installed": 32 * MEGABYTE},
    **{"likewise-small": 24 * MEGABYTE, "likewise-multi": 26 * MEGABYTE},
}
"""Bytes of each file in dist/, and of the package's folder without what Python compiles there. The bundled models are
20 MB of a compressed file and 26 of the folder, the compiled library one and a half."""

CORE_PACKAGES = ("numpy", "safetensors")
"""What the wheel requires without an extra."""

IMPORTS = {"import likewise": 30, "likewise --version": 95, "likewise --help": 90, "first vector": 300}
"""The most modules that each may import beside those that Python starts with, a fifth more than were counted with
Python 3.11. A count is the same on any machine, busy or not, where seconds are not."""
NEVER_IMPORTED = {
    "import likewise": ("numpy", "torch", "tokenizers"),
    "likewise --version": ("numpy", "torch", "tokenizers"),
    "likewise --help": ("numpy", "torch", "tokenizers"),
    "first vector": ("torch", "tokenizers", "matplotlib", "sklearn", "scipy", "pandas"),
}
