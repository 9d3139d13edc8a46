// Writes a bundle while a program runs. Data is written as it arrives, so memory does not grow with it,
// except for about 40 bytes per piece of 256 KiB for finding equal pieces.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bundle/records.hpp"

namespace gpumux::bundle {

/// The digest of bytes as stored in a Result.
[[nodiscard]] Digest digest(std::span<const std::byte> bytes);

/// Writer of a bundle. Not thread safe. Pieces of large contents are hashed and compressed on up to four
/// threads and written by another one. All threads end before keep() returns. The file does not depend on the
/// number of threads.
class Writer {
 public:
  /// Starts a bundle, which appears under `path` only when finish() is called. `base`: first device address
  /// of the recorded application (DeviceMemory::base()). Throws UserError when the file cannot be created.
  Writer(std::string path, Address base);
  /// Without an earlier finish(), leaves no file behind.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Stores bytes and returns a reference to them for a record. Throws UserError when the file cannot be
  /// written.
  [[nodiscard]] Content keep(std::span<const std::byte> bytes);
  /// Adds a record. Throws UserError for a record that a reader would refuse, such as one with an unknown
  /// stream or beyond a limit of records.hpp, and when the file cannot be written.
  void add(const Record& record);
  /// Completes the file and gives it its final name.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpumux::bundle
