// Reader of the numbered lines of a text file, plain or compressed.
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
  /// Opens a file with open_bytes(), which decompresses it by its name. Throws UserError when the file cannot
  /// be read.
  explicit LineReader(std::string path);
  /// Reads the next line without its end. Returns false at the end of the file. The text lives until the next
  /// call. Throws UserError for a line that is too long, and for damaged compression, at the line of the
  /// damage.
  bool next(std::string_view& line);
  /// Number of the line that next() returned last, from 1.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Throws UserError at the line that was read last. `at` points into this line and selects the column.
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
  std::string damage_;  // error after the bytes in the buffer; empty: none
  std::uint32_t number_ = 0;
  std::string_view line_;
};

}  // namespace gpumux::trace
