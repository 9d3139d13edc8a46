// The bytes of a file that may be compressed: plain, xz, gzip or Zstandard.
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
  /// What is wrong, without the place.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Of the file as it is, not of what comes out of it.
  [[nodiscard]] std::uint64_t byte() const { return byte_; }
  /// So many bytes at the begin of read()'s buffer came out in front of it.
  [[nodiscard]] std::size_t given() const { return given_; }

 private:
  std::string reason_;
  std::uint64_t byte_;
  std::size_t given_;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills the buffer as far as there is something; less than `size` at the end alone. Throws UserError, a
  /// DamagedFile for what cannot be decompressed; the stream cannot be read any more then.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// By the end of its name: .xz, .gz, .zst; anything else is plain. Several streams of one kind that follow
/// each other in a file are one. Decompression needs at most 1 GiB (xz) or 128 MiB (zst) of memory. Throws
/// UserError for a file that cannot be opened.
[[nodiscard]] std::unique_ptr<ByteStream> open_bytes(const std::string& path);

}  // namespace gpumux
