"""RateLimits: how many requests a minute each key has: a bucket of a few seconds' worth, which fills evenly."""

import time
from dataclasses import dataclass

BURST_SECONDS = 10.0
"""What a key may ask at once after a pause: so many seconds' worth, and one request at least."""


@dataclass
class _Bucket:
    left: float
    filled: float


class RateLimits:
    """Buckets by the names of keys."""

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, name: str, per_minute: float, now: float | None = None) -> float:
        """Take one request out of a bucket; 0, or the seconds until there is one."""
        now = time.monotonic() if now is None else now
        per_second = per_minute / 60
        most = max(1.0, per_second * BURST_SECONDS)
        bucket = self._buckets.setdefault(name, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.filled) * per_second)
        bucket.filled = now
        if bucket.left >= 1:
            bucket.left -= 1
            return 0.0
        return (1 - bucket.left) / per_second
