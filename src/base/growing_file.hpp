// A file that is written piece by piece and appears when it is complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/temporary_file.hpp"

namespace gpumux {

/// Written under a temporary name in the same folder, which is removed unless complete() comes, also when a
/// signal ends the program. Throws UserError that names the path when it cannot be written.
class GrowingFile {
 public:
  /// Throws UserError for a device or a pipe, too.
  explicit GrowingFile(std::string path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  void write(std::string_view bytes);
  /// Replaces the file's first bytes, and renames it; nothing can be written then.
  void complete(std::string_view first_bytes);

 private:
  /// Of large files: pages that are on the disk already serve again, in place of as many new ones as the file
  /// has, which a virtual machine's host may have to find first.
  void write_behind();
  [[noreturn]] void fail() const;
  std::string path_;
  std::string target_;  // of the rename
  std::optional<TemporaryName> temporary_;
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;  // bytes,
  std::uint64_t asked_ = 0;    // and those of which the system was asked
};

}  // namespace gpumux
