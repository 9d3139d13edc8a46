// The bytes of a file that is plain, or compressed by xz, gzip or Zstandard.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"

namespace gpumux {

/// A compressed file that is damaged, ends too early, is of another format, or needs too much memory.
class DamagedFile : public UserError {
 public:
  DamagedFile(const std::string& path, std::uint64_t byte, const std::string& what, std::size_t given)
      : UserError({path}, fmt::format("byte {}: {}", byte, what)),
        reason_(what),
        byte_(byte),
        given_(given) {}
  /// The error without file name and position.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Position of the damage in the compressed file, not in its decompressed content.
  [[nodiscard]] std::uint64_t byte() const { return byte_; }
  /// Number of valid bytes at the start of read()'s buffer that were decompressed before the damage.
  [[nodiscard]] std::size_t given() const { return given_; }

 private:
  std::string reason_;
  std::uint64_t byte_;
  std::size_t given_;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills the buffer with the next bytes. Returns fewer than `size` bytes only at the end of the stream.
  /// Throws UserError, or DamagedFile for data that cannot be decompressed. After an exception, the stream
  /// cannot be read any more.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// Opens a file. The end of its name selects the format: .xz, .gz, .zst, anything else is plain. Several
/// streams of one kind that follow each other in a file are read as one. Decompression needs at most 1 GiB
/// (xz) or 128 MiB (zst) of memory. Throws UserError for a file that cannot be opened.
[[nodiscard]] std::unique_ptr<ByteStream> open_bytes(const std::string& path);

}  // namespace gpumux
