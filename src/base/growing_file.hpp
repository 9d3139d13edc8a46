// A file that is written piece by piece and appears when it is complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/temporary_file.hpp"

namespace gpumux {

/// Written to a file of the same folder without a name, which goes with the program however that ends unless
/// complete() comes. Where a file system has no such files, it has a temporary name, which a signal that can
/// be caught removes. Throws UserError that names the path when it cannot be written.
class GrowingFile {
 public:
  /// Throws UserError for a device or a pipe, too.
  explicit GrowingFile(std::string path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  void write(std::string_view bytes);
  /// Replaces the file's first bytes, and gives it its name; nothing can be written then.
  void complete(std::string_view first_bytes);

 private:
  /// Of large files: pages that are on the disk already serve again, in place of as many new ones as the file
  /// has, which a virtual machine's host may have to find first.
  void write_behind();
  [[nodiscard]] std::FILE* open_without_name() const;
  /// To what is written, which `file` is open on. False: errno says why.
  [[nodiscard]] bool give_name(int file) const;
  [[noreturn]] void fail() const;
  std::string path_;
  std::string target_;                      // what it is called in the end
  std::optional<TemporaryName> temporary_;  // none: it has no name yet
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;  // bytes,
  std::uint64_t asked_ = 0;    // and those of which the system was asked
};

}  // namespace gpumux
