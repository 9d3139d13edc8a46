// Shape and type of SASS matrix products, from their opcodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpumux::trace {

/// The work of one warp in a matrix product (isa::StaticInst::multiply_adds), from opcodes such as
/// "HMMA.16816.F32", "HMMA.884.F32.F32.STEP0" (one of its steps), or "HGMMA.64x256x16.F32" (a quarter, since
/// four warps issue it). A sparse product (SP) counts half. Nothing for an opcode without a shape.
[[nodiscard]] std::optional<std::uint32_t> matrix_multiply_adds(std::string_view opcode);

}  // namespace gpumux::trace
