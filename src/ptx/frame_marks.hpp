// Marks in Instruction::target of instructions that depend on the final size of their function's frame.
#pragma once

#include <cstdint>

namespace gpumux::ptx {

/// Ld, St: the frame size must be added to `offset`.
inline constexpr std::uint32_t kBehindFrame = 0xffff'fffeU;
/// Add, Sub of the stack pointer: the frame size becomes the second source.
inline constexpr std::uint32_t kFrameSize = 0xffff'fffdU;

}  // namespace gpumux::ptx
