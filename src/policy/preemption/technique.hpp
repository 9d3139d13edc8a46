// How a thread block may be taken off its SM. Source: chimera15 sections 2.2, 2.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpumux::policy {

enum class Technique : std::uint8_t {
  Switch,  // context switch: its state is saved, and restored where it goes on
  Drain,   // it runs to its end
  Flush    // it is dropped and begins anew
};
inline constexpr std::size_t kTechniques = 3;

}  // namespace gpumux::policy
