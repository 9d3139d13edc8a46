// PTX text -> isa::Module in virtual registers, one isa::Instruction per PTX instruction.
#pragma once

#include <string>
#include <string_view>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

/// Parses a whole PTX translation unit, both dialects of nvcc 13 (sm_75 to sm_90 and sm_100).
/// `file` is the name used in messages. Throws UserError with file:line:column for whatever is
/// malformed or not supported, naming the construct.
[[nodiscard]] isa::Module parse(std::string_view text, const std::string& file);

}  // namespace gpumux::ptx
