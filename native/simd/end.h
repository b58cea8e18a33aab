// Closes what simd/begin.h opened.
#if defined(TARGET) && defined(__clang__)
#pragma clang attribute pop
#elif defined(TARGET)
#pragma GCC pop_options
#endif
