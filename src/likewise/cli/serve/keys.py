"""`likewise serve keys add|list|remove`: the API keys of a server."""

from collections.abc import Sequence
from pathlib import Path

from ...errors import BadInput

KEYS_USAGE = """API keys are kept in a file, their hashes only (default: ~/.config/likewise/serve_keys.json):
  likewise serve keys add NAME [--rate REQUESTS_A_MINUTE] [--keys FILE]
  likewise serve keys list
  likewise serve keys remove NAME"""


def chosen_file(given: Path) -> Path:
    """The file of --keys; the default where the flag stands alone."""
    from ...serve.api_keys import default_file

    return default_file() if given == Path() else given


def run_keys(words: Sequence[str], given: Path | None, rate: float | None) -> int:
    """Add, list or remove.

    Raises:
        BadInput: the words are something else.
    """
    from ...serve.api_keys import add_key, read_keys, remove_key

    file = chosen_file(given or Path())
    match [*words]:
        case ["add", name]:
            if rate is not None and not rate > 0:
                raise BadInput(f"--rate is {rate}; expected a number of requests a minute above 0")
            print(add_key(file, name, rate))
        case ["list"]:
            for key in read_keys(file):
                print(f"{key.name}  {'any number of' if key.rate is None else f'{key.rate:g}'} requests a minute")
        case ["remove", name]:
            remove_key(file, name)
        case _:
            raise BadInput(f"got: serve keys {' '.join(words)}; expected one of these\n{KEYS_USAGE}")
    return 0
