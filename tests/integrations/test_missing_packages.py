"""An integration whose package is not installed says what to install."""

import subprocess
import sys

from likewise.runtime.installation import install_command

PACKAGES = {
    "scikit_learn": ("sklearn", "scikit-learn"),
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "haystack": ("haystack", "haystack"),
    "bertopic": ("bertopic", "bertopic"),
    "keybert": ("keybert", "keybert"),
    "arrow": ("pyarrow", "parquet"),
    "duckdb": ("duckdb", "duckdb"),
}
"""Each module, the package that it needs, and the extra that installs it."""
SCRIPT = """
import sys
from importlib import import_module
for module, package in {pairs}:
    sys.modules[package] = None
    try:
        import_module(f"likewise.integrations.{{module}}")
    except ImportError as error:
        print(type(error).__name__, error)
    del sys.modules[package]
"""


def test_each_says_what_to_install():
    pairs = [(module, package) for module, (package, _) in PACKAGES.items()]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(pairs=pairs)], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(PACKAGES), done.stderr
    for line, (_, extra) in zip(lines, PACKAGES.values(), strict=True):
        assert line.startswith("MissingExtra ") and line.endswith(install_command(extra))
