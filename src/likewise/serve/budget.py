"""Budget: the most that one process of a server holds for its callers; Memory counts what it holds now.

Everything that a caller can make grow has a row here. What would exceed it is refused before it is computed, or as soon
as it is known; docs/serve.md has the same table.
"""

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True)
class Budget:
    """Limits of a process; bytes if nothing else is said. `ServeSettings` has those that a flag changes."""

    head: int = 1 << 16
    """Headers of a request, trailers and chunk extensions; up to a piece (`bounded_protocol.PIECE`) more is read."""
    header_lines: int = 128
    chunks: int = 1_000
    """Of a body in chunks of fewer than 64 bytes each on average: each costs as much as a large one."""
    pipelined: int = 16
    """Requests that wait on a connection behind the one that is answered; with the last the connection is closed."""
    requests: int = 64 * MB
    """In all: unfinished headers, requests that wait on their connection, and bodies of 64 KB or less."""
    bodies: int = 64 * MB
    """In all: larger bodies, from their first byte to the end of the answer; at least two of --max-body."""
    values: int = 2_000_000
    """Values of the JSON of one body: numbers, texts, lists."""
    characters: int = 64_000_000
    """Characters that are tokenized for one request: a reranker reads the query again for each document."""
    pairs: int = 1_000_000
    """Pairs of tokens of one explanation."""
    layers: int = 128 * MB
    """Layers of one explanation, in float64."""
    answer: int = 128 * MB
    """One answer."""
    answers: int = 256 * MB
    """In all: answers that are computed, or wait to be read."""
    header_seconds: float = 20.0
    """In which headers, and what is left of a body after its answer, have to arrive."""
    write_seconds: float = 10.0
    """In which a client has to take 64 KB of its answer; the whole answer it has to take before the deadline."""


class Account:
    """Bytes of one kind that are held now, and the most that may be."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most, self.held = name, most, 0

    def take(self, size: int) -> bool:
        """Hold more bytes; False if there is no room, and then nothing is added."""
        if self.held + size > self.most:
            return False
        self.held += size
        return True

    def give_back(self, size: int) -> None:
        """Hold fewer."""
        self.held -= size


class Memory:
    """What a process holds for all its callers."""

    def __init__(self, budget: Budget, max_body: int) -> None:
        self.budget = budget
        self.requests = Account("requests", budget.requests)
        self.bodies = Account("bodies", max(budget.bodies, 2 * max_body))
        self.answers = Account("answers", budget.answers)

    def as_json(self) -> dict[str, int]:
        """Bytes held now, by kind."""
        return {account.name: account.held for account in (self.requests, self.bodies, self.answers)}
