"""Connected components of a graph given as edges, by union-find with path halving (Tarjan and van Leeuwen 1984)."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np

from ..array_types import Int

Node = TypeVar("Node", bound=Hashable)


class DisjointSets(Generic[Node]):
    """A partition of nodes into sets: initially, each node is in a set of its own; `join` merges two sets."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}

    def join(self, a: Node, b: Node) -> None:
        """Merge the sets of two nodes; the merged set keeps the representative of `a`."""
        self._parent[self.representative(b)] = self.representative(a)

    def representative(self, node: Node) -> Node:
        parent = self._parent
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    def sets(self) -> list[list[Node]]:
        """All sets; the sets, and the nodes in each, are in the order in which the nodes were first passed."""
        members: dict[Node, list[Node]] = {}
        for node in list(self._parent):
            members.setdefault(self.representative(node), []).append(node)
        return list(members.values())


def connected_components(edges: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """The nodes of each connected component; components, and the nodes in them, are in order of first appearance."""
    return _joined(edges).sets()


def component_of_each_edge(edges: Sequence[tuple[Node, Node]]) -> Int[np.ndarray, " N"]:
    """The component number of each edge; components are numbered in order of first appearance."""
    joined = _joined(edges)
    numbers: dict[Node, int] = {}
    return np.array([numbers.setdefault(joined.representative(a), len(numbers)) for a, _ in edges], int)


def _joined(edges: Iterable[tuple[Node, Node]]) -> DisjointSets[Node]:
    sets = DisjointSets[Node]()
    for a, b in edges:
        sets.join(a, b)
    return sets
