"""The schemas of request bodies: msgspec structs that check the JSON and describe it in the OpenAPI document."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from .api_errors import ApiError

MOST_IDS = 100_000
"""Maximum number of token ids in one text."""
TokenId = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
TokenIds = Annotated[list[TokenId], Meta(min_length=1, max_length=MOST_IDS)]
Name = Annotated[str, Meta(max_length=500)]
Dimensions = Annotated[int, Meta(ge=1, le=1 << 20)]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a request; null counts as a missing value."""


def fill_nulls(body: Body) -> None:
    """Replace null values by the fields' defaults."""
    for one in msgspec.structs.fields(body):
        if getattr(body, one.name) is None:
            setattr(body, one.name, one.default)


def shown(value: Any) -> str:
    """Format a JSON value for an error message, shortened if it is long."""
    if isinstance(value, str):
        return repr(value) if len(value) <= 40 else f"{value[:40]!r}… ({len(value):,} characters)"
    if isinstance(value, list):
        return f"a list of length {len(value):,}"
    if isinstance(value, dict):
        return "an object"
    return "null" if value is None else str(value).lower()[:40]


def read(body: type[Body], value: Any) -> Any:
    """Convert a parsed body to its struct; 4.0 counts as an integer, as in JSON Schema."""
    value = _with_whole_numbers(value)
    try:
        return msgspec.convert(value, body)
    except msgspec.ValidationError as error:
        raise refusal(body, error, value) from None


def read_query(fields: type[Body], given: Sequence[tuple[str, str]]) -> Any:
    """Parse the values of a query string."""
    value = dict(given)
    if len(value) < len(given):
        [(name, _)] = Counter(name for name, _ in given).most_common(1)
        raise ApiError("invalid", f"the query string contains {name[:80]!r} more than once", param=name[:80])
    try:
        return msgspec.convert(value, fields, strict=False)
    except msgspec.ValidationError as error:
        raise refusal(fields, error, value, "the query string") from None


def _with_whole_numbers(value: Any, levels: int = 3) -> Any:
    """Replace floats such as 4.0 by ints in a value, down to a nesting depth of `levels`."""
    if isinstance(value, dict) and levels:
        return {name: _with_whole_numbers(one, levels - 1) for name, one in value.items()}
    if isinstance(value, list) and levels:
        return [_with_whole_numbers(one, levels - 1) for one in value]
    return int(value) if type(value) is float and value.is_integer() else value


def refusal(body: type[Body], error: Exception, value: Any = msgspec.UNSET, whole: str = "the body") -> ApiError:
    """Create the error for a rejected body or query string; the message quotes the faulty part of `value`, if given."""
    if not isinstance(error, msgspec.ValidationError):
        return ApiError("invalid", f"the body is not valid JSON: {error}"[:300])
    fields = body.__struct_fields__
    if unknown := [name for name in value if name not in fields] if isinstance(value, dict) else []:
        return _unknown_field(whole, unknown[0], fields)
    # split from the right, because a field's name may look like a path
    message, place = [*str(error).rsplit(" - at `$", 1), ""][:2]
    where = place.strip(".`")
    schema, found = _schema_at(body, where), value
    inside = f"{where}." if where else ""
    name = message.partition("`")[2][:-1]
    if message.startswith("Object contains unknown field"):
        return _unknown_field(where or whole, name, tuple(schema["properties"]))
    if message.startswith("Object missing"):
        return ApiError("invalid", f"{inside}{name} is missing", param=inside + name)
    for key in re.findall(r"\w+", where) if found is not msgspec.UNSET else ():
        found = found[int(key)] if isinstance(found, list) else found[key]
    wanted, _, kind_found = message.replace("Expected ", "").partition(", got ")
    choices = re.search(r"'enum': \[(.*?)\]", str(schema))
    if message.startswith("Invalid enum") and choices:
        wanted = f"one of {choices[1]}"
    kind = "empty" if "length >= 1" in wanted else "too_long" if "str` of length" in wanted else "invalid"
    got = kind_found if found is msgspec.UNSET else shown(found)
    expected = f"{where or whole}: expected {wanted}"
    return ApiError(kind, f"{expected}; got {got}" if got else expected, param=where or None)


def _unknown_field(where: str, name: str, fields: Sequence[str]) -> ApiError:
    near = get_close_matches(name[:80], fields, n=1)
    meant = f"; did you mean {near[0]}?" if near else f"; allowed fields: {', '.join(fields)}"
    return ApiError("invalid", f"{where} has the unknown field {name[:80]!r}{meant}", param=name[:80])


def _schema_at(body: type[Body], where: str) -> Mapping[str, Any]:
    """Return the JSON Schema of a body or of one of its fields."""
    _, parts = msgspec.json.schema_components([body], ref_template="{name}")
    found: Mapping[str, Any] = parts[body.__name__]
    for name in re.findall(r"[a-z]\w*", where):
        found = found.get("properties", {}).get(name, found)
        inner = re.search(r"'\$ref': '(\w+)'", str(found))
        found = parts[inner[1]] if inner else found
    return found
