"""The compiled engine: C++ kernels (`native/` at the repository's root) behind ctypes."""
