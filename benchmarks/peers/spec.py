"""What a contender's process is given: which library, which precision, which model, how many threads."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Spec:
    """One contender with one number of threads, as plain values that travel on a command line."""

    name: str
    backend: str
    """A module of benchmarks/peers/backends."""
    precision: str
    model: str
    folder: str
    """The model's folder; nothing is downloaded."""
    exports: str
    """The folder of the model in other libraries' formats."""
    threads: int = 1
    cpus: tuple[int, ...] = ()
    """The processors that the process may run on; empty: all."""
    options: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Spec":
        """The inverse of `text`."""
        values = json.loads(text)
        return cls(**{**values, "cpus": tuple(values["cpus"])})
