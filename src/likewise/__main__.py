"""The entry point of the command line: `likewise`, `python -m likewise`, and `torchrun -m likewise train …`."""

import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command line; ctrl-C during imports or at exit shows no traceback."""
    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler
    try:
        if ours:
            signal.signal(signal.SIGINT, _leave)
        from .cli import main as run

        if ours:
            signal.signal(signal.SIGINT, before)
        return run()
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    os.write(2, b"likewise: stopped by SIGINT before anything started\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
