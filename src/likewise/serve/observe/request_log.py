"""RequestLog: a line of JSON for each request, with its id; written a few times a second, so that none waits for it."""

import sys
import time
import traceback
from collections.abc import Mapping
from threading import Lock, Timer
from typing import Any, Literal

from ..web.exchange import Exchange, json_bytes

LogLevel = Literal["all", "errors", "off"]
LEVELS: tuple[LogLevel, ...] = ("all", "errors", "off")
FLUSH_SECONDS = 0.25
NOTES = ("model", "inputs", "tokens")


class RequestLog:
    """Lines on standard error."""

    def __init__(self, level: LogLevel = "all") -> None:
        self.level = level
        self._lines: list[str] = []
        self._lock = Lock()
        self._timer: Timer | None = None

    def request(self, exchange: Exchange, status: int, seconds: float, error: BaseException | None) -> None:
        """Note a request, unless only errors are wanted and it is none."""
        if self.level == "off" or (self.level == "errors" and status < 400):
            return
        scope, job = exchange.scope, exchange.notes.get("job")
        line: dict[str, Any] = {
            "request": exchange.request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(1e3 * seconds, 2),
            **{name: exchange.notes[name] for name in NOTES if name in exchange.notes},
        }
        if job is not None:
            line["queue_ms"] = round(1e3 * job.timings.queue, 2)
        if exchange.key_name:
            line["key"] = exchange.key_name
        if error is not None:
            line["error"] = str(error)[:500]
        if status >= 500 and error is not None:
            line["traceback"] = "".join(traceback.format_exception(error))[-4000:]
        self.line("error" if status >= 500 else "info", line)

    def line(self, level: str, values: Mapping[str, Any]) -> None:
        """Note a line; it is written soon."""
        text = json_bytes({"time": round(time.time(), 3), "level": level, **values}).decode()
        with self._lock:
            self._lines.append(text)
            if self._timer is None:
                self._timer = Timer(FLUSH_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write what is noted."""
        with self._lock:
            lines, self._lines, self._timer = self._lines, [], None
        if lines:
            sys.stderr.write("\n".join(lines) + "\n")
            sys.stderr.flush()
