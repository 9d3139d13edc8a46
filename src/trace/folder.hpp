// Conversion of an Accel-Sim trace folder to the compact form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/output.hpp"

namespace gpumux::trace {

struct ConvertSummary {
  std::uint64_t launches = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t text_bytes = 0;       // size of the kernel files in the folder
  std::uint64_t left_out = 0;         // number of damaged or incomplete kernels that were left out
  std::vector<std::string> warnings;  // one line each, with position
};

/// Treatment of a kernel whose file is missing, damaged or incomplete.
enum class Damaged : std::uint8_t { Refuse, LeaveOut };

/// True for a list of kernels and copies: kernelslist.g, or kernelslist_ctx_0xb.g for a context of a program
/// with several contexts.
[[nodiscard]] bool is_list(const std::string& path);
/// Other lists in the folder of the list that convert_folder(path) reads, sorted. Their kernels are not
/// converted.
[[nodiscard]] std::vector<std::string> other_lists(const std::string& path);

/// Converts a trace. `path`: a folder, whose kernelslist.g is read, or a list in a folder. Throws UserError
/// with file and line. Lines of the list that are no command of Accel-Sim's are warnings.
ConvertSummary convert_folder(const std::string& path, Output& output, Damaged damaged = Damaged::Refuse);

}  // namespace gpumux::trace
