"""The types of an installed likewise are seen by a user's mypy."""

import os
import sys

from .installations import completed

CLIENT = """from likewise import Embedder, similarity
embedder = Embedder.load("likewise-mini")
vectors = embedder.encode(["A cat sleeps.", "A kitten naps."])
width: int = vectors.shape[1]
cosines = similarity.cosine(vectors, vectors)
"""


def _mypy(one, text, code):
    (one.work / "client.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(one.bin / "python"), "client.py"]
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    return completed(command, one.work, variables, code).stdout


def test_a_client_with_the_right_types_passes(installed):
    assert "Success" in _mypy(installed("wheel"), CLIENT, 0)


def test_a_client_with_wrong_types_does_not(installed):
    printed = _mypy(installed("wheel"), CLIENT + "embedder.encode(texts=1)\nEmbedder.load(precision=8)\n", 1)
    assert "client.py:6: error" in printed and "client.py:7: error" in printed
    assert "untyped" not in printed and "import" not in printed
