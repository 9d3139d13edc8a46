// Writes a bundle while a program runs: what is added is written at once, and memory does not grow with what
// is copied (but for 40 bytes or so for each piece of 256 KiB, by which it is found again).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bundle/records.hpp"

namespace gpumux::bundle {

/// Of bytes, as Result has it.
[[nodiscard]] Digest digest(std::span<const std::byte> bytes);

/// Not thread-safe. Pieces of large contents are hashed and compressed on up to four threads and written
/// by another one, which end before keep() does; the file is the same for any number of them.
class Writer {
 public:
  /// The bundle appears under `path` with finish(), and never without it. `base`: of the recorded
  /// application's device addresses, as DeviceMemory::base() has it. Throws UserError when the file cannot be
  /// made.
  Writer(std::string path, Address base);
  /// Without finish() before it, leaves nothing behind.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Bytes that a record to be added refers to. Throws UserError when the file cannot be written.
  [[nodiscard]] Content keep(std::span<const std::byte> bytes);
  /// Throws UserError for a record that a reader would refuse, such as one of a stream that was not created
  /// or beyond a limit of records.hpp, and when the file cannot be written.
  void add(const Record& record);
  /// Completes the file and gives it its name.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpumux::bundle
