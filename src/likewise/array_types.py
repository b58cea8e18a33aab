"""Types of arrays with their shapes, `Float[Array, "N D"]`: read by people, and checked by the tests.

They are jaxtyping's if that was imported first, as the tests do. Otherwise they are plain annotations, because
jaxtyping takes a fifth of the time in which a new process encodes its first text.
"""

import sys
from typing import TYPE_CHECKING

if not TYPE_CHECKING and sys.modules.get("jaxtyping"):
    from jaxtyping import Bool, Float, Float32, Float64, Int, Int8, Int64, Integer, Shaped, UInt, UInt8
else:
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

__all__ = ["Bool", "Float", "Float32", "Float64", "Int", "Int8", "Int64", "Integer", "Shaped", "UInt", "UInt8"]
