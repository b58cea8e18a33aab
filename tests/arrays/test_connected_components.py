"""Connected components: those of sets grown one by one, in the order of first appearance."""

from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.connected_components import component_of_each_edge, connected_components

names = st.sampled_from("abcdefghijklmnopqrstuvwxyz")
graphs = st.lists(st.tuples(names, names), max_size=40)


def slow_components(pairs):
    """Sets of sentences that grow together until nothing changes."""
    groups = [set(pair) for pair in pairs]
    changed = True
    while changed:
        changed = False
        for i, one in enumerate(groups):
            for other in groups[i + 1 :]:
                if one is not other and one & other:
                    one |= other
                    groups = [one if g is other else g for g in groups if g is not other]
                    changed = True
                    break
            if changed:
                break
    return [next(i for i, group in enumerate(groups) if pair[0] in group) for pair in pairs]


@given(graphs)
def test_components_are_those_found_by_growing_sets(pairs):
    found, wanted = component_of_each_edge(pairs), slow_components(pairs)
    same = [[a == b for b in wanted] for a in wanted]
    assert [[bool(a == b) for b in found] for a in found] == same


@given(graphs)
def test_components_come_in_the_order_of_their_first_nodes(pairs):
    order = list(dict.fromkeys(name for pair in pairs for name in pair))
    found = connected_components(pairs)
    assert sorted(name for group in found for name in group) == sorted(order)
    assert [group[0] for group in found] == [n for n in order if any(n == group[0] for group in found)]
    assert all(group == [name for name in order if name in group] for group in found)
    number = {name: i for i, group in enumerate(found) for name in group}
    assert [number[a] for a, _ in pairs] == component_of_each_edge(pairs).tolist()
