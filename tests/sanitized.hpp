// Tells whether a test is built with the address sanitizer, and how many iterations of a long loop it then
// runs.
#pragma once

#include <cstdint>

namespace gpumux::test {

/// True in builds with the address sanitizer. They are about ten times slower, so loops over whole runs are
/// shorter.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// Iterations of a randomized test: all of them, or one fifth in instrumented builds, which look for wrong
/// accesses and not for wrong results.
constexpr std::uint32_t rounds(std::uint32_t all) { return kSanitized ? (all + 4) / 5 : all; }

}  // namespace gpumux::test
