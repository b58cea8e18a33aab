"""The examples run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("model", [None, "likewise-static"])
def test_the_map_of_the_standard_library_is_drawn(tmp_path, model):
    words = [EXAMPLES / "stdlib_map.py", "--limit", "600", "-o", tmp_path, *(["--model", model] if model else [])]
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Three questions" in done.stdout
    assert (tmp_path / "stdlib-map.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (tmp_path / "stdlib-map.html").read_text("utf-8").startswith("<!doctype html>")


def test_too_few_sentences_for_a_map_say_so(tmp_path):
    words = [sys.executable, EXAMPLES / "stdlib_map.py", "--limit", "20", "-o", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("raise --limit")
