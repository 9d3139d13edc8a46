// Compiler hints whose spelling depends on the compiler.
#pragma once

/// Before a loop: its iterations do not depend on each other through memory.
#if defined(__clang__)
#define GPUMUX_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define GPUMUX_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define GPUMUX_INDEPENDENT_ITERATIONS
#endif

/// Before a loop: its body is repeated four times for each test of the condition.
#if defined(__clang__)
#define GPUMUX_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#define GPUMUX_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define GPUMUX_UNROLL_4
#endif
