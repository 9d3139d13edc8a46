// An Accel-Sim trace folder to the compact form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/output.hpp"

namespace gpumux::trace {

struct ConvertSummary {
  std::uint64_t launches = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t text_bytes = 0;       // of the kernel files as they lie in the folder
  std::uint64_t left_out = 0;         // kernels that are damaged or incomplete
  std::vector<std::string> warnings;  // a line each, with its place
};

/// What becomes of a kernel whose file is missing, damaged or incomplete.
enum class Damaged : std::uint8_t { Refuse, LeaveOut };

/// A list of kernels and copies: kernelslist.g, or kernelslist_ctx_0xb.g of a program with several contexts.
[[nodiscard]] bool is_list(const std::string& path);
/// Lists in the same folder beside the one that convert_folder(path) reads, sorted: their kernels are not
/// part of it.
[[nodiscard]] std::vector<std::string> other_lists(const std::string& path);

/// `path`: the folder, whose kernelslist.g is read, or a list in it. Throws UserError with file and line for
/// whatever is wrong; lines of the list that are no command of Accel-Sim's are warnings.
ConvertSummary convert_folder(const std::string& path, Output& output, Damaged damaged = Damaged::Refuse);

}  // namespace gpumux::trace
