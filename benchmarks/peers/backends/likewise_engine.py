"""One of our engines, through its public interface."""

from typing import Any

from ..process import Spec


class Engine:
    packages = ("likewise",)

    def __init__(self, spec: Spec) -> None:
        from likewise import Embedder

        engine = spec.options["engine"]
        if engine == "torch":
            import torch

            torch.set_num_threads(spec.threads)
        self.embedder: Any = Embedder.load(spec.folder, engine=engine, precision=spec.precision)
        if self.embedder.precision != spec.precision:
            raise ValueError(f"expected {spec.precision}; loaded {self.embedder.precision}")

    def encode(self, texts: list[str]) -> Any:
        return self.embedder.encode(texts, overflow="truncate", show_progress_bar=False)


load = Engine
