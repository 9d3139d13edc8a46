// The matrix products of SASS: what their opcodes say of shape and type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpumux::trace {

/// What one warp's part of a matrix product takes (isa::StaticInst::multiply_adds), from "HMMA.16816.F32",
/// "HMMA.884.F32.F32.STEP0" (one of its steps), "HGMMA.64x256x16.F32" (a quarter: four warps issue it) or
/// their kin; with SP half of it. Nothing where the opcode has no shape.
[[nodiscard]] std::optional<std::uint32_t> matrix_multiply_adds(std::string_view opcode);

}  // namespace gpumux::trace
