"""ServerAddress: where a server's index is, as one URL: the server, the name of the table, and options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from ...errors import BadInput
from ...runtime.arguments import known_name

SECRETS = ("password", "sslpassword", "token")
"""Options that are left out of what is shown."""


@dataclass(frozen=True)
class ServerAddress:
    """The parts of `scheme://user:password@host:port/database?option=value#table`."""

    url: str
    """Without our options and the table: what the server's own client reads."""
    table: str
    options: Mapping[str, str]
    """Those that are ours and were given, each with one of its known values."""
    shown: str
    """The location without its password."""

    @classmethod
    def parse(cls, location: str, scheme: str, options: Mapping[str, Sequence[str]]) -> "ServerAddress":
        """Read a location; options that are not ours stay in `url`.

        Raises:
            BadInput: it is not such a URL, or names no table; the message does not repeat the password.
        """
        parts = _split(location, scheme)
        table = unquote(parts.fragment)
        _check_table(table, scheme)
        given = parse_qsl(parts.query, keep_blank_values=True)
        ours = {name: known_name(name, value, options[name]) for name, value in given if name in options}
        theirs = _query([pair for pair in given if pair[0] not in options])
        user, at, host = parts.netloc.rpartition("@")
        shown = parts._replace(
            netloc=user.partition(":")[0] + at + host, query=_query([pair for pair in given if pair[0] not in SECRETS])
        )
        return cls(parts._replace(query=theirs, fragment="").geturl(), table, ours, shown.geturl())


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    return urlencode(pairs, safe="/:,")


def _split(location: str, scheme: str) -> SplitResult:
    expected = f"expected {scheme}://user:password@host:port/database#table"
    try:
        parts = urlsplit(location)
        _ = parts.port  # raises where it is no number
    except ValueError:  # its message could repeat the password
        raise BadInput(f"the location of an index is no URL; {expected}") from None
    if parts.scheme != scheme:
        raise BadInput(f"the location of an index begins with {location.partition(':')[0]!r:.20}; {expected}")
    return parts


def _check_table(table: str, scheme: str) -> None:
    if not table or set(table) & set("\0%") or len(table.encode("utf-8", "replace")) > 63:
        raise BadInput(
            f"the location of an index ends in #{table:.80}; expected the name of a table after #, of 1 to 63 bytes "
            f"and without %, as in {scheme}://localhost/database#passages"
        )
