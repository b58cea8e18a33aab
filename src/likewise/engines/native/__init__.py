"""The compiled engine: C++ kernels (`native/` in the repository root), called through ctypes."""
