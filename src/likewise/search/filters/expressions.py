"""A filter in a store's language: its comparisons, each by the store's own function, joined in parentheses."""

from collections.abc import Callable
from typing import Any

from .conditions import AllOf, AnyOf, Condition, Leaf


def joined_leaves(condition: Condition, leaf: Callable[[Leaf], str], all_of: str = "AND", any_of: str = "OR") -> str:
    """The expression; `all_of` and `any_of` are the words of the language between comparisons."""
    if isinstance(condition, AllOf | AnyOf):
        word = all_of if isinstance(condition, AllOf) else any_of
        parts = [joined_leaves(part, leaf, all_of, any_of) for part in condition.conditions]
        return f"({f' {word} '.join(parts)})"
    return leaf(condition)


def with_parameters(condition: Condition, leaf: Callable[[Leaf], tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """The expression in SQL and its parameters in their order; `leaf` gives both of a comparison."""
    parameters: list[Any] = []

    def expression(one: Leaf) -> str:
        text, own = leaf(one)
        parameters.extend(own)
        return text

    return joined_leaves(condition, expression), parameters
