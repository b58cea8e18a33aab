"""`likewise serve`: models and collections over HTTP, with the APIs of OpenAI, TEI, Cohere and Jina."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...model_files.names import DEFAULT_MODEL
from ...runtime.installation import missing_extra
from .keys import KEYS_USAGE, run_keys

if TYPE_CHECKING:
    from ...serve.serve_settings import ServeSettings

EPILOG = f"""examples:
  likewise serve
  likewise serve all-MiniLM-L6-v2 likewise-static --precision int8 --port 9000
  likewise serve text-embedding-3-small=likewise-mini --collections indexes/
  likewise serve keys add alice --rate 600    then: likewise serve --host 0.0.0.0 --keys
  curl localhost:8080/v1/embeddings -d '{{"input": "A cat sleeps."}}'

The first model is loaded at once, the others when they are first asked for. NAME=MODEL serves a model under another
name, such as the one that a program asks for. docs/serve.md has the routes and a command for each.

{KEYS_USAGE}

SIGTERM finishes what has begun, then ends. SIGHUP loads the models again, without a request failing."""
PACKAGES = ("starlette", "uvicorn", "orjson", "httptools", "msgspec")


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser("serve", description="Serves embeddings, reranking and search over HTTP.", epilog=EPILOG)
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"models, each MODEL or NAME=MODEL (default: {DEFAULT_MODEL})"
    )
    _add_served(parser)
    _add_access(parser)
    _add_limits(parser)
    parser.set_defaults(run=run)


def _add_served(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is served").add_argument
    add("--reranker", action="append", default=[], metavar="MODEL", help="reranker; may be given several times")
    add("--collections", type=Path, metavar="FOLDER", help="folder with collections (likewise index add) to search")
    add("--engine", choices=("native", "numpy", "torch"), help="engine that computes (default: native, else numpy)")
    add("--precision", choices=("fp32", "bf16", "int8"), help="number format of the models (default: fp32)")
    add("--threads", type=int, metavar="N", help="number of CPU threads (default: all that this process may use)")
    add("--workers", type=int, default=1, metavar="N", help="processes that share the port (default: %(default)s)")
    add("--model-memory", type=float, metavar="GB", help="GB of weights kept loaded (default: no limit)")


def _add_access(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("who may ask").add_argument
    add("--host", default="127.0.0.1", help="address to listen at (default: %(default)s, this machine alone)")
    add("--port", type=int, default=8080, help="port to listen at; 0: any that is free (default: %(default)s)")
    add("--keys", nargs="?", type=Path, const=Path(), metavar="FILE", help="ask for an API key (default file: below)")
    add("--rate", type=float, metavar="N", help="with keys add: requests a minute (default: any number)")
    add("--without-keys", action="store_true", help="answer anybody, also beyond this machine")
    add("--allow-host", action="append", default=[], metavar="NAME", help="name in the Host header to answer to")
    add("--allow-origin", action="append", default=[], metavar="URL", help="origin of web pages that may ask; *: any")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("limits and logs").add_argument
    add("--max-connections", type=int, default=4096, metavar="N", help="open connections (default: %(default)s)")
    add("--max-requests", type=int, default=512, metavar="N", help="requests in a queue (default: %(default)s)")
    add("--max-texts", type=int, default=10_000, metavar="N", help="texts of one request (default: %(default)s)")
    add("--max-body", type=float, default=32, metavar="MB", help="size of a request in MB (default: %(default)s)")
    add("--deadline", type=float, default=60, metavar="S", help="seconds a request may wait (default: %(default)s)")
    add("--log", choices=("all", "errors", "off"), default="all", help="requests to log (default: %(default)s)")
    add(
        "--traces",
        action="store_true",
        help="export requests by OpenTelemetry, as OTEL_… variables say (extra: traces)",
    )


def run(args: argparse.Namespace) -> int:
    """Listen, load, serve."""
    if args.models[:1] == ["keys"]:
        return run_keys(args.models[1:], args.keys, args.rate)
    _check(args)
    settings = _settings(args)
    run_server, workers = _import_server()
    folder = run_server.collection_folder(args.collections)
    run_server.check_access(settings, args.without_keys)

    def serve(listening: Any) -> None:
        models = args.models or [DEFAULT_MODEL]
        run_server.run_on(listening, models, args.reranker, folder, settings, is_shared=args.workers > 1)

    with run_server.bound_socket(settings) as listening:
        print(f"likewise: serving at {run_server.address_of(listening)}", file=sys.stderr, flush=True)
        if args.workers > 1:
            end = partial(run_server.stop_listening, listening)
            return int(workers.run_workers(args.workers, lambda: serve(listening), end, settings.drain_seconds))
        serve(listening)
    return 0


def _import_server() -> tuple[Any, Any]:
    try:
        from ...serve import run_server, workers
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PACKAGES:
            raise
        raise missing_extra(str(error.name), "serve", "likewise serve") from None
    return run_server, workers


def _check(args: argparse.Namespace) -> None:
    """Refuse what makes no sense before anything is bound."""
    for name in ("workers", "max_connections", "max_requests", "max_texts", "max_body", "deadline"):
        if getattr(args, name) <= 0:
            raise BadInput(f"--{name.replace('_', '-')} is {getattr(args, name)}; expected a number above 0")
    if args.workers > 1 and not hasattr(os, "fork"):
        raise BadInput(f"--workers is {args.workers}, and this system cannot fork processes; start one server a port")
    if not 0 <= args.port < 1 << 16:
        raise BadInput(f"--port is {args.port}; expected 0 to 65535")
    if args.rate is not None:
        raise BadInput("--rate is a key's: likewise serve keys add NAME --rate N")
    if args.model_memory is not None and not args.model_memory > 0:
        raise BadInput(f"--model-memory is {args.model_memory}; expected a number of GB above 0")


def _settings(args: argparse.Namespace) -> "ServeSettings":
    from ...serve.serve_settings import ServeSettings
    from .keys import chosen_file

    return ServeSettings(
        host=args.host,
        port=args.port,
        max_body=int(args.max_body * (1 << 20)),
        max_texts=args.max_texts,
        max_connections=args.max_connections,
        max_requests=args.max_requests,
        deadline=args.deadline,
        model_memory=None if args.model_memory is None else int(args.model_memory * 1e9),
        engine=args.engine,
        precision=args.precision,
        keys=None if args.keys is None else chosen_file(args.keys),
        log=args.log,
        traces=args.traces,
        allowed_hosts=tuple(args.allow_host),
        allowed_origins=tuple(args.allow_origin),
    )
