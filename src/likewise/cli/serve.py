"""`likewise serve`: models and collections over HTTP, with the APIs of OpenAI, TEI, Cohere and Jina."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..model_files.names import DEFAULT_MODEL
from ..runtime.installation import missing_extra

if TYPE_CHECKING:
    from ..serve.settings import ServeSettings

EPILOG = """examples:
  likewise serve
  likewise serve all-MiniLM-L6-v2 likewise-static --precision int8 --port 9000
  likewise serve text-embedding-3-small=likewise-mini --collections indexes/
  curl localhost:8080/v1/embeddings -H 'Content-Type: application/json' -d '{"input": "A cat sleeps."}'

The first model is loaded at once, the others when they are first asked for. NAME=MODEL serves a model under another
name, such as the one that a program asks for. docs/serve.md has the routes and a command for each."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser("serve", description="Serves embeddings, reranking and search over HTTP.", epilog=EPILOG)
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help=f"models, or NAME=MODEL (default: {DEFAULT_MODEL})")
    add(
        "--reranker", action="append", default=[], metavar="MODEL", help="reranker to serve; may be given several times"
    )
    add("--collections", type=Path, metavar="FOLDER", help="folder with collections (likewise index add) to search")
    add("--host", default="127.0.0.1", help="address to listen at (default: %(default)s, this machine alone)")
    add("--port", type=int, default=8080, help="port to listen at; 0: any that is free (default: %(default)s)")
    add("--engine", choices=("native", "numpy", "torch"), help="engine that computes (default: native, else numpy)")
    add("--precision", choices=("fp32", "bf16", "int8"), help="number format of the models (default: fp32)")
    add("--threads", type=int, metavar="N", help="number of CPU threads (default: all that this process may use)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Listen, load, serve."""
    try:
        from ..serve.application import create_app
        from ..serve.run_server import address_of, bound_socket, collection_folder, run_on
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "orjson"):
            raise
        raise missing_extra(str(error.name), "serve", "likewise serve") from None
    settings = _settings(args)
    app = create_app(
        args.models or [DEFAULT_MODEL],
        rerankers=args.reranker,
        collections=collection_folder(args.collections),
        settings=settings,
    )
    with bound_socket(settings) as listening:
        print(f"likewise: serving at {address_of(listening)}", file=sys.stderr, flush=True)
        run_on(listening, app, settings)
    return 0


def _settings(args: argparse.Namespace) -> "ServeSettings":
    from ..serve.settings import ServeSettings

    return ServeSettings(host=args.host, port=args.port, engine=args.engine, precision=args.precision)
