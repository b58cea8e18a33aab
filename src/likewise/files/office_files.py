"""The text of PDF and Word files, read by a process of its own whose time and memory are bounded: who wrote them?"""

import json
import subprocess
import sys
from pathlib import Path

from ..errors import BadInput

PROGRAM = Path(__file__).with_name("office_reader.py")
SECONDS = 120
"""Time for a file; a page takes about 0.03 s."""


def office_text(path: Path) -> tuple[str, str]:
    """The text of a file, and its title; empty ones if it has none."""
    command = [sys.executable, "-P", str(PROGRAM), str(path.absolute())]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BadInput(f"{path} was not read within {SECONDS} s; split it, or save it anew") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise BadInput(f"{path} ended the process that read it (exit code {done.returncode}); save it anew") from None
    if "error" in answer:
        raise BadInput(f"{path} {answer['error']}")
    return answer["text"], answer["title"]
