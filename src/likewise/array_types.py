"""Array types annotated with shapes, such as `Float[Array, "N D"]`: documentation for readers, checked by the tests.

If jaxtyping has already been imported, as in the tests, these are jaxtyping's types. Otherwise they are plain
annotations, because importing jaxtyping takes a fifth of the time that a new process needs to encode its first text.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Any


class _Kind:
    """An annotation that still distinguishes `Int[array, shape]` (an objective's labels) from `Float[array, shape]`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, array_and_shape: tuple[Any, str]) -> Any:
        array, shape = array_and_shape
        return Annotated[array, self.name, shape]


__all__ = ["Bool", "Float", "Float32", "Float64", "Int", "Int8", "Int64", "Integer", "Shaped", "UInt", "UInt8"]

if TYPE_CHECKING:
    from typing import Annotated as Bool
    from typing import Annotated as Float
    from typing import Annotated as Float32
    from typing import Annotated as Float64
    from typing import Annotated as Int
    from typing import Annotated as Int8
    from typing import Annotated as Int64
    from typing import Annotated as Integer
    from typing import Annotated as Shaped
    from typing import Annotated as UInt
    from typing import Annotated as UInt8
elif sys.modules.get("jaxtyping"):
    from jaxtyping import Bool, Float, Float32, Float64, Int, Int8, Int64, Integer, Shaped, UInt, UInt8
else:
    Bool, Float, Float32, Float64, Int, Int8, Int64, Integer, Shaped, UInt, UInt8 = map(_Kind, __all__)
