"""Whether the compiled library is there: a checkout that was installed where no compiler is has none."""

import pytest

from likewise.engines.native.library import load
from likewise.errors import NativeUnavailable


def _is_there() -> bool:
    try:
        load()
    except NativeUnavailable:
        return False
    return True


NATIVE = _is_there()
needs_native = pytest.mark.skipif(not NATIVE, reason="the native library was not built: there was no C++ compiler")
