"""Serves embeddings, reranking and search over HTTP."""

import argparse
import os
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..model_files.names import DEFAULT_MODEL
from ..runtime.installation import missing_extra
from .model_options import add_allow, add_threads
from .output import note
from .parser import options

if TYPE_CHECKING:
    from ..serve.serve_settings import ServeSettings

KEYS_USAGE = """Hashes of the API keys are kept in a file (default: ~/.config/likewise/serve_keys.json):
  likewise serve keys add NAME [--rate REQUESTS_PER_MINUTE] [--keys FILE]
  likewise serve keys list
  likewise serve keys remove NAME"""
EPILOG = f"""examples:
  likewise serve
  likewise serve all-MiniLM-L6-v2 likewise-static --precision int8 --port 9000
  likewise serve text-embedding-3-small=likewise-mini --collections indexes/
  likewise serve keys add alice --rate 600    then: likewise serve --host 0.0.0.0 --keys
  curl localhost:8080/v1/embeddings -d '{{"input": "A cat sleeps."}}'

The first model is loaded at once, the others on first use. NAME=MODEL serves a model under another name, such as the
name that a program requests. docs/serve.md lists the routes, with an example command for each.

{KEYS_USAGE}

SIGTERM lets running requests finish, then ends the server. SIGHUP reloads the models without failing requests."""
TOO_MUCH = 1e12
"""Upper bound for numeric options; larger values could become infinite when converted to bytes."""
PACKAGES = ("starlette", "uvicorn", "orjson", "httptools", "msgspec")


def add(parser: argparse.ArgumentParser) -> None:
    models = f"models, each MODEL or NAME=MODEL (default: {DEFAULT_MODEL})"
    options(parser)("MODEL", models, dest="models", nargs="*")
    add = options(parser, "what to serve")
    add("--reranker MODEL", "reranker to serve; may be given several times", action="append", default=[])
    add("--collections FOLDER", "folder of collections (likewise index add) to search", type=Path)
    add("--engine", "engine that runs the models (default: native, else numpy)", choices=("native", "numpy", "torch"))
    add("--precision", "number format of the models (default: fp32)", choices=("fp32", "bf16", "int8"))
    add_allow(add)
    add_threads(add)
    add("--workers N", "number of processes that share the port; each allows a key 1/N of its rate", 1)
    add("--model-memory GB", "maximum GB of weights to keep loaded (default: no limit)")
    add = options(parser, "access")
    add("--host HOST", "address to listen on; the default accepts only local connections", "127.0.0.1")
    add("--port PORT", "port to listen on; 0 means any free port", 8080)
    add("--keys FILE", "require an API key (default file: below)", nargs="?", type=Path, const=Path())
    add("--rate X", "with keys add: requests per minute (default: no limit)")
    add("--without-keys", "allow unauthenticated remote clients")
    add("--allow-host NAME", "name to accept in the Host header", action="append", default=[])
    add("--allow-origin URL", "origin of web pages that may send requests; * means any", action="append", default=[])
    add = options(parser, "limits and logs")
    add("--max-requests N", "maximum number of queued requests", 512)
    add("--max-texts N", "maximum number of texts in one request", 10_000)
    add("--max-body MB", "maximum size of a request in MB", 32.0)
    add("--deadline S", "maximum number of seconds that a request may take", 60.0)
    add("--log", "requests to log", "all", choices=("all", "errors", "off"))
    add("--traces", "export traces of requests with OpenTelemetry, configured by OTEL_… variables (extra: traces)")


def run(args: argparse.Namespace) -> int:
    if args.models[:1] == ["keys"]:
        return _run_keys(args.models[1:], args.keys, args.rate)
    _check(args)
    settings = _settings(args)
    for package in PACKAGES:
        if find_spec(package) is None:
            raise missing_extra(package, "serve", "likewise serve")
    from ..serve import run_server, workers

    found = run_server.collections_found(args.collections)
    run_server.check_access(settings, args.without_keys)

    def serve(listening: Any) -> None:
        models = args.models or [DEFAULT_MODEL]
        run_server.run_on(listening, models, args.reranker, args.collections, settings, is_shared=args.workers > 1)

    with run_server.bound_socket(settings) as listening:
        note(f"likewise: serving at {run_server.address_of(listening)}")
        if found:
            note(f"likewise: {found}")
        if args.workers > 1:
            end = partial(run_server.stop_listening, listening)
            parent = workers.Supervisor(args.workers, lambda: serve(listening), end, settings.drain_seconds)
            return int(parent.run())
        serve(listening)
    return 0


def _check(args: argparse.Namespace) -> None:
    for name in ("workers", "max_requests", "max_texts", "max_body", "deadline", "model_memory"):
        value = getattr(args, name)
        if value is not None and not 0 < value < TOO_MUCH:
            raise BadInput(f"--{name.replace('_', '-')} is {value}; expected a number above 0 and below {TOO_MUCH:g}")
    if args.workers > 1 and not hasattr(os, "fork"):
        raise BadInput(f"--workers is {args.workers}, but this system cannot fork processes; start one server per port")
    if not 0 <= args.port < 1 << 16:
        raise BadInput(f"--port is {args.port}; expected 0 to 65535")
    if args.rate is not None:
        raise BadInput("--rate applies to a key: use likewise serve keys add NAME --rate N")


def _settings(args: argparse.Namespace) -> "ServeSettings":
    from ..serve.serve_settings import ServeSettings

    same = ("host", "port", "max_texts", "max_requests", "deadline", "engine", "precision", "allow", "workers")
    return ServeSettings(
        **{name: getattr(args, name) for name in (*same, "log", "traces")},
        max_body=int(args.max_body * (1 << 20)),
        model_memory=None if args.model_memory is None else int(args.model_memory * 1e9),
        keys=None if args.keys is None else _keys_file(args.keys),
        allowed_hosts=tuple(args.allow_host),
        allowed_origins=tuple(args.allow_origin),
    )


def _keys_file(given: Path) -> Path:
    from ..serve.api_keys import default_file

    return default_file() if given == Path() else given


def _run_keys(words: Sequence[str], given: Path | None, rate: float | None) -> int:
    from ..serve.api_keys import add_key, read_keys, remove_key

    file = _keys_file(given or Path())
    match [*words]:
        case ["add", name]:
            if rate is not None and not rate > 0:
                raise BadInput(f"--rate is {rate}; expected more than 0 requests per minute")
            print(add_key(file, name, rate))
        case ["list"]:
            for key in read_keys(file):
                print(f"{key.name}  {'any number of' if key.rate is None else f'{key.rate:g}'} requests per minute")
        case ["remove", name]:
            remove_key(file, name)
        case _:
            raise BadInput(f"got: serve keys {' '.join(words)}; expected one of these:\n{KEYS_USAGE}")
    return 0
