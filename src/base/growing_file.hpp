// A file that is written piece by piece and appears when it is complete.
#pragma once

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
  [[noreturn]] void fail() const;
  std::string path_;
  std::string target_;  // of the rename
  std::optional<TemporaryName> temporary_;
  std::FILE* file_ = nullptr;
};

}  // namespace gpumux
