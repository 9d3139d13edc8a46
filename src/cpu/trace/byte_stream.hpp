// The bytes of a file that may be compressed: plain, xz, gzip or Zstandard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gpumux::cpu {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills the buffer as far as there is something; less than `size` at the end alone. Throws UserError that
  /// names the file and the byte of it at which it is damaged or ends too early.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// By the end of its name: .xz, .gz, .zst; anything else is plain. Several streams of one kind that follow
/// each other in a file are one. Decompression needs at most 1 GiB (xz) or 128 MiB (zst) of memory. Throws
/// UserError for a file that cannot be opened.
[[nodiscard]] std::unique_ptr<ByteStream> open_bytes(const std::string& path);

}  // namespace gpumux::cpu
