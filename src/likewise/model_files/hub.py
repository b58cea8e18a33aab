"""Downloads from the Hugging Face hub [extra: hub], which only this module contacts; after a failure, it pauses."""

import os
import socket
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..runtime.installation import install_command

ENDPOINT = "https://huggingface.co"
RETRY_AFTER = 600.0  # seconds before an unreachable hub is tried again; until then, cached files are used
OUT_OF_REACH = ("LocalEntryNotFoundError", "ConnectionError", "ConnectError", "ConnectTimeout", "OfflineModeIsEnabled")

_quiet_until = [0.0]  # on the clock of time.monotonic


def snapshot(repository: str, tried: list[str], *, asking: bool = True, **how: Any) -> Path | None:
    """The folder with a repository's files, either downloaded or from the hub's cache; None if unavailable.

    Args:
        repository: `owner/name`.
        tried: a list to which a line with the reason is appended if the files are unavailable.
        asking: whether the hub may be contacted; if not, only its cache is used.
        how: additional arguments for `huggingface_hub.snapshot_download`.
    """
    if find_spec("huggingface_hub") is None:
        tried.append(
            f"the Hugging Face hub: not tried, because huggingface_hub is not installed: {install_command('hub')}"
        )
        return None
    from huggingface_hub import snapshot_download

    waits = time.monotonic() < _quiet_until[0]
    asks = asking and not waits and _has_address()
    try:
        return Path(snapshot_download(repository, **how, local_files_only=not asks))
    except Exception as error:  # the hub client raises whatever its network libraries raise
        if not asking:
            tried.append(f"the hub's {repository}: not in the cache, and contacting the hub is not allowed")
            return None
        if type(error).__name__ in OUT_OF_REACH and not waits:
            _quiet_until[0] = time.monotonic() + RETRY_AFTER
        tried.append(f"the hub's {repository}: {_why(error, asks, waits)}")
        return None


def _has_address() -> bool:
    """Whether the hub's host name can be resolved; if not, huggingface_hub would retry for half a minute."""
    from urllib.request import getproxies  # an HTTP client, which `likewise --help` does not need

    if _offline():
        return False
    if getproxies():  # proxies can resolve names that this machine cannot
        return True
    try:
        socket.getaddrinfo(urlsplit(os.environ.get("HF_ENDPOINT") or ENDPOINT).hostname, None)
    except OSError:
        return False
    return True


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE")


def _why(error: Exception, asks: bool, waits: bool) -> str:
    if _offline():
        return "not in the cache, and HF_HUB_OFFLINE is set"
    if not asks:
        return f"not in the cache, and the hub {'was unreachable a moment ago' if waits else 'is unreachable'}"
    line = (str(error).strip() or "no further details").splitlines()[0][:160]
    return f"{type(error).__name__}: {line}"
