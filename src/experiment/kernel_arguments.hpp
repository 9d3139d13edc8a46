// What --arg and --symbol say: numbers, structures, and buffers from and to files.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "isa/instruction.hpp"

namespace gpumux::experiment {

struct NumberInfo;  // one of the ten types

/// One argument, read: its files are here.
struct KernelArgument {
  std::string scalar;       // the bytes of a number or structure; empty for a buffer
  std::string content;      // of a buffer at the start; empty: zeroes
  std::uint64_t bytes = 0;  // of a buffer
  bool is_buffer = false;
  std::string input_path;            // of a buffer's content; empty: none
  std::string output_path;           // empty: not written
  const NumberInfo* type = nullptr;  // of a number or a buffer's elements; nullptr: not said
  std::uint32_t same = 0;            // the buffer of argument `same` (1: the first), `offset` bytes into it
  std::uint64_t offset = 0;
};

/// Reads one argument and its file, which may be one of `in_memory`; relative paths are relative to `folder`.
/// `option` is "--arg" or "--symbol NAME", for messages. Throws UserError.
[[nodiscard]] KernelArgument read_argument(const std::string& option, const std::string& text,
                                           const std::string& folder,
                                           const std::map<std::string, std::string>& in_memory);

/// Throws unless the argument can be passed as this parameter, the `index`th from 0. `kernel` is for
/// messages.
void check_parameter(const std::string& kernel, std::size_t index, const std::string& text,
                     const KernelArgument& argument, const isa::Param& param);

/// The content of an output file: raw bytes, or one number per line where its name ends in .txt.
[[nodiscard]] std::string output_content(const KernelArgument& argument, const std::string& bytes);

}  // namespace gpumux::experiment
