// Reads the options --arg and --symbol: numbers, structures, and buffers from and to files.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "isa/instruction.hpp"

namespace gpumux::experiment {

struct NumberInfo;  // one of the ten number types

/// One argument after reading, with the content of its files.
struct KernelArgument {
  std::string scalar;       // bytes of a number or structure; empty for a buffer
  std::string content;      // initial content of a buffer; empty: zeroes
  std::uint64_t bytes = 0;  // size of a buffer
  bool is_buffer = false;
  std::string input_path;            // of a buffer's content; empty: no file
  std::string output_path;           // empty: not written
  const NumberInfo* type = nullptr;  // of a number or a buffer's elements; nullptr: not given
  std::uint32_t same = 0;            // buffer of argument `same` (1: the first), `offset` bytes into it
  std::uint64_t offset = 0;
};

/// Reads one argument and its file, which may be one of `in_memory`. Relative paths are relative to `folder`.
/// `option` is "--arg" or "--symbol NAME", for error messages. Throws UserError.
[[nodiscard]] KernelArgument read_argument(const std::string& option, const std::string& text,
                                           const std::string& folder,
                                           const std::map<std::string, std::string>& in_memory);

/// Throws UserError unless the argument can be passed as parameter number `index` (from 0). `kernel` is for
/// error messages.
void check_parameter(const std::string& kernel, std::size_t index, const std::string& text,
                     const KernelArgument& argument, const isa::Param& param);

/// The content of an output file: raw bytes, or one number per line if the file's name ends in .txt.
[[nodiscard]] std::string output_content(const KernelArgument& argument, const std::string& bytes);

}  // namespace gpumux::experiment
