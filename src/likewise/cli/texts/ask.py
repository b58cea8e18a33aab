"""Sentences asked for one after another on a terminal, each compared with those before it."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..terminal_tables import fit_line

if TYPE_CHECKING:
    from ...embedder import Embedder

SHOWN = 10  # earlier sentences shown after each


def ask_and_compare(embedder: "Embedder", model: str, metric: str) -> None:
    """Ask for sentences; after each, print those before it, the most similar first."""
    import numpy as np

    from ...arrays.similarity import SIMILARITIES

    print(f"{model}, {metric}. Type a sentence and press Enter; an empty line or ctrl-D ends.")
    texts: list[str] = []
    vectors = np.empty((0, embedder.width), np.float32)
    for text in asked_texts():
        vector = embedder.encode([text], progress=False)
        similarities = SIMILARITIES[metric](vector, vectors)[0].tolist()
        ranked = sorted(enumerate(similarities), key=lambda one: -one[1])
        for i, similarity in ranked[:SHOWN]:
            print(f"{similarity:8.2f}  " + fit_line(f"{i + 1}: {texts[i]}", indent=10))
        texts.append(text)
        vectors = np.concatenate([vectors, vector])


def asked_texts() -> Iterator[str]:
    """The sentences typed on the terminal, up to an empty line or ctrl-D."""
    with suppress(ImportError):
        import readline  # noqa: F401, `input` then edits the line and remembers those before it
    number = 1
    while True:
        try:
            text = _ask(f"{number}: ").strip()
        except EOFError:
            print(file=sys.stderr)
            return
        if not text:
            return
        yield text
        number += 1


def _ask(prompt: str) -> str:
    """A line typed on the terminal; the prompt goes to stderr where the output is a file."""
    if sys.stdout.isatty():
        return input(prompt)
    print(prompt, end="", file=sys.stderr, flush=True)
    return input()
