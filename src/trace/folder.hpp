// An Accel-Sim trace folder to the compact form.
#pragma once

#include <cstdint>
#include <string>

#include "trace/output.hpp"

namespace gpumux::trace {

struct ConvertSummary {
  std::uint64_t launches = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t text_bytes = 0;  // of the kernel files as they lie in the folder
};

/// `path`: the folder, or its kernelslist.g. Throws UserError with file and line for whatever is wrong.
ConvertSummary convert_folder(const std::string& path, Output& output);

}  // namespace gpumux::trace
