// Techniques to take a thread block off its SM. Source: chimera15 sections 2.2, 2.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpumux::policy {

enum class Technique : std::uint8_t {
  Switch,  // context switch: the block's state is saved, and restored where the block continues
  Drain,   // the block runs to completion
  Flush    // the block is dropped and restarts
};
inline constexpr std::size_t kTechniques = 3;

}  // namespace gpumux::policy
