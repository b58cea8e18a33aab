"""What is no number or no known name is refused by the name of the argument."""

from fractions import Fraction

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.runtime.arguments import known_name, real_number, whole_number


def named(value: object) -> str:
    """The same in every process, which the address in an object's repr is not."""
    return "object" if type(value) is object else repr(value)


NO_NUMBERS = (True, None, "3", b"3", [3], 3j, object(), np.array([3, 4]), float("nan"))


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -1, 1.5, 3.0, float("inf"), 10**20 * 1.0], ids=named)
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(BadInput, match=r"k is .*; expected a whole number, 1 or more"):
        whole_number("k", value)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=named)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(BadInput, match=r"below is .*; expected a number"):
        real_number("below", value)


def test_numbers_of_other_packages_are_numbers():
    assert whole_number("k", np.int64(3)) == 3 and type(whole_number("k", np.uint8(3))) is int
    assert whole_number("seed", 0, least=0) == 0 and whole_number("k", 10**20) == 10**20
    assert real_number("below", np.float32(0.5)) == real_number("below", Fraction(1, 2)) == 0.5
    with pytest.raises(BadInput, match="below is too large for a float"):
        real_number("below", 10**400)


@pytest.mark.parametrize("value", ["edit", "", None, 5, ["cosine"], {"cosine": 1}, b"cosine", "x" * 1000], ids=repr)
def test_what_is_no_known_name_is_refused_in_a_short_line(value):
    assert known_name("metric", "dot", ("cosine", "dot")) == "dot"
    with pytest.raises(BadInput, match=r"metric is .*; expected one of cosine, dot") as error:
        known_name("metric", value, ("cosine", "dot"))
    assert len(str(error.value)) < 140
