"""Memory limits of a server process (`Budget`), and the bytes that the process currently holds (`Memory`).

Every buffer that a client can make grow has a limit here. Requests that would exceed a limit are rejected before they
are computed, or as soon as the excess is known; docs/serve.md has the same table.
"""

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True)
class Budget:
    """Limits of a process, in bytes unless noted. The limits that flags can change are in `ServeSettings`."""

    head: int = 1 << 16
    """Headers, trailers and chunk extensions of a request; can be exceeded by one `bounded_protocol.PIECE`."""
    header_lines: int = 128
    chunks: int = 1_000
    """Number of chunks if they average under 64 bytes, because a small chunk costs as much as a large one."""
    pipelined: int = 16
    """Requests waiting on a connection behind the current one; the connection closes after the last."""
    requests: int = 64 * MB
    """Total size of unfinished headers, requests waiting on their connection, and bodies of up to 64 KB."""
    bodies: int = 64 * MB
    """Total size of larger bodies, from their first byte to the end of the response; at least twice --max-body."""
    values: int = 500_000
    """Number of JSON values (numbers and texts) in one body; a list or an object counts as ten."""
    characters: int = 64_000_000
    """Characters tokenized for one request; a reranker reads the query again for each document."""
    pairs: int = 1_000_000
    """Number of token pairs in one explanation."""
    layers: int = 128 * MB
    """Size of the layers in one explanation, in float64."""
    answer: int = 128 * MB
    """Size of a single response."""
    answers: int = 256 * MB
    """Total size of the responses that are being computed or waiting to be read."""
    header_seconds: float = 20.0
    """Seconds within which headers, or the rest of a body whose response has been sent, must arrive."""
    write_seconds: float = 10.0
    """Seconds within which a client must read 64 KB of its response; the deadline applies to the whole response."""


class Account:
    """The number of bytes of one kind that are currently held, and their limit."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most, self.held = name, most, 0

    def take(self, size: int) -> bool:
        """Reserve more bytes; returns False and reserves nothing if there is no room."""
        if self.held + size > self.most:
            return False
        self.held += size
        return True

    def give_back(self, size: int) -> None:
        self.held -= size


class Memory:
    """The memory that a process holds for all its clients."""

    def __init__(self, budget: Budget, max_body: int) -> None:
        self.budget = budget
        self.requests = Account("requests", budget.requests)
        self.bodies = Account("bodies", max(budget.bodies, 2 * max_body))
        self.answers = Account("answers", budget.answers)

    def as_json(self) -> dict[str, int]:
        return {account.name: account.held for account in (self.requests, self.bodies, self.answers)}
