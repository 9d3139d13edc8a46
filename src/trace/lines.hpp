// Lines of a text file, plain or compressed, with their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_stream.hpp"

namespace gpumux::trace {

class LineReader {
 public:
  /// Decompresses what open_bytes() does, by its name. Throws UserError when the file cannot be read.
  explicit LineReader(std::string path);
  /// The next line without its end; false at the end of the file. The text lives until the next call. Throws
  /// UserError for a line that is too long to be one, and for damaged compression: at the line where it is.
  bool next(std::string_view& line);
  /// Of the line that next() gave last, from 1.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Throws UserError at the line that was read last; `at` points into it and gives the column.
  [[noreturn]] void fail(const std::string& what, const char* at = nullptr) const;

 private:
  std::size_t read_more();
  static constexpr std::size_t kBuffer = 1U << 20U;
  static constexpr std::size_t kLongest = 1U << 19U;
  std::string path_;
  std::unique_ptr<ByteStream> bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool drained_ = false;
  std::string damage_;  // behind what is in the buffer; empty: none
  std::uint32_t number_ = 0;
  std::string_view line_;
};

}  // namespace gpumux::trace
