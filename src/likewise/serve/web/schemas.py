"""What a request's JSON may be: each schema checks a value, and describes itself as JSON Schema, so that both agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Protocol, runtime_checkable

from .api_errors import ApiError

MISSING: Any = object()


@runtime_checkable
class Schema(Protocol):
    """A kind of value."""

    def check(self, value: Any, where: str) -> Any:
        """The value, if it is of this kind.

        Raises:
            ApiError: it is not; the message names `where` it stands, what is wanted and what was found.
        """
        ...

    def as_json_schema(self) -> dict[str, Any]:
        """It as JSON Schema."""
        ...


def wrong(where: str, wanted: str, value: Any) -> ApiError:
    """The error for a value of another kind."""
    return ApiError("invalid", f"{where}: expected {wanted}; got {shown(value)}", param=where)


def shown(value: Any) -> str:
    """A value of JSON in a message, never long."""
    if isinstance(value, str):
        return f"the text {value[:40]!r}{'…' if len(value) > 40 else ''}"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        return "an object"
    return "null" if value is None else str(value).lower()[:40]


@dataclass(frozen=True)
class Text:
    """A string of bounded length."""

    longest: int = 1_000_000
    shortest: int = 0

    def check(self, value: Any, where: str) -> Any:
        if type(value) is str and self.shortest <= len(value) <= self.longest:
            return value
        if isinstance(value, str):
            raise ApiError(
                "too_long" if value else "empty",
                f"{where}: expected {self.shortest:,} to {self.longest:,} characters; got {len(value):,}",
                param=where,
            )
        raise wrong(where, "a text", value)

    def as_json_schema(self) -> dict[str, Any]:
        return {"type": "string", "maxLength": self.longest} | ({"minLength": self.shortest} if self.shortest else {})


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds."""

    least: int = 0
    most: int = 1 << 31

    def check(self, value: Any, where: str) -> Any:
        if type(value) is float and value.is_integer():  # 3.0 is a whole number in JSON
            value = int(value)
        if type(value) is int and self.least <= value <= self.most:
            return value
        raise wrong(where, f"a whole number from {self.least:,} to {self.most:,}", value)

    def as_json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, where: str) -> Any:
        if type(value) is bool:
            return value
        raise wrong(where, "true or false", value)

    def as_json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Choice:
    """One of some texts."""

    names: tuple[str, ...]

    def check(self, value: Any, where: str) -> Any:
        if type(value) is str and value in self.names:
            return value
        raise wrong(where, " or ".join(f'"{name}"' for name in self.names), value)

    def as_json_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.names)}


@dataclass(frozen=True)
class ListOf:
    """A list of bounded length, all of one kind."""

    item: Schema
    most: int
    least: int = 1

    def check(self, value: Any, where: str) -> Any:
        if type(value) is not list:
            raise wrong(where, "a list", value)
        if not self.least <= len(value) <= self.most:
            found = f"{where}: expected {self.least:,} to {self.most:,} items; got {len(value):,}"
            raise ApiError("invalid" if value else "empty", found, param=where)
        check = self.item.check
        return [check(item, f"{where}[{i}]") for i, item in enumerate(value)]

    def as_json_schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "items": self.item.as_json_schema(),
            "minItems": self.least,
            "maxItems": self.most,
        }


@dataclass(frozen=True)
class Alternatives:
    """One of several kinds, distinguished by the type of the value (and of the first item of a list)."""

    by_type: Mapping[str, Schema]
    """By `text`, `texts`, `ids`, `many ids`, `object`: see `json_kind`."""
    wanted: str

    def check(self, value: Any, where: str) -> Any:
        schema = self.by_type.get(json_kind(value))
        if schema is None:
            if value == []:
                raise ApiError("empty", f"{where}: expected {self.wanted}; got an empty list", param=where)
            raise wrong(where, self.wanted, value)
        return schema.check(value, where)

    def as_json_schema(self) -> dict[str, Any]:
        return {"anyOf": [schema.as_json_schema() for schema in self.by_type.values()]}


def json_kind(value: Any) -> str:
    """The name of the kind of a value of JSON, by which `Alternatives` chooses."""
    if type(value) is str:
        return "text"
    if type(value) is dict:
        return "object"
    if type(value) is not list or not value:
        return "other"
    first = type(value[0])
    if first is str:
        return "texts"
    if first in (int, float):
        return "ids"
    if first is dict:
        return "objects"
    return "many ids" if first is list else "other"


@dataclass(frozen=True)
class Field:
    """A field of an object."""

    schema: Schema
    default: Any = MISSING
    """What it is where it is left out, or null; MISSING: it has to be there."""
    about: str = ""


@dataclass(frozen=True)
class ObjectOf:
    """An object of known fields; others are refused, with the name that was probably meant."""

    name: str
    fields: Mapping[str, Field]
    example: Mapping[str, Any] = field(default_factory=dict)

    def check(self, value: Any, where: str) -> Any:
        if type(value) is not dict:
            raise wrong(where or "the body", "a JSON object", value)
        for name in value:
            if name not in self.fields:
                raise self._unknown(name, where)
        inside = f"{where}." if where else ""
        found = {}
        for name, row in self.fields.items():
            given = value.get(name)
            if given is not None:
                found[name] = row.schema.check(given, inside + name)
            elif row.default is MISSING:
                raise ApiError("invalid", f"{inside}{name} is missing", param=inside + name)
            else:
                found[name] = row.default
        return found

    def _unknown(self, name: str, where: str) -> ApiError:
        near = get_close_matches(name[:80], self.fields, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(self.fields)}"
        return ApiError("invalid", f"{where or 'the body'} has the unknown field {name[:80]!r}{meant}", param=name[:80])

    def as_json_schema(self) -> dict[str, Any]:
        properties = {name: _described(row) for name, row in self.fields.items()}
        required = [name for name, row in self.fields.items() if row.default is MISSING]
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return (
            schema | ({"required": required} if required else {}) | ({"example": self.example} if self.example else {})
        )


def _described(row: Field) -> dict[str, Any]:
    """A field as JSON Schema; one that may be left out may also be null."""
    schema = row.schema.as_json_schema()
    if row.default is not MISSING:
        schema = {"anyOf": [schema, {"type": "null"}]}
        if row.default is not None:
            schema["default"] = row.default
    return schema | ({"description": row.about} if row.about else {})


def texts_or_ids(texts: int, characters: int, tokens: int = 100_000) -> Alternatives:
    """A text, texts, the token ids of one text, or those of several."""
    ids = ListOf(Whole(0, (1 << 31) - 1), tokens)
    text = Text(characters)
    return Alternatives(
        {"text": text, "texts": ListOf(text, texts), "ids": ids, "many ids": ListOf(ids, texts)},
        "a text, a list of texts, or lists of token ids",
    )
