// A file that is written piece by piece and appears under its name when it is complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/temporary_file.hpp"

namespace gpumux {

/// A file under construction. The bytes go to a file without a name in the same folder, which disappears with
/// the program unless complete() is called. On file systems without such files, the file has a temporary
/// name, which a signal that can be caught removes. Throws UserError that names the path when it cannot be
/// written.
class GrowingFile {
 public:
  /// Throws UserError also for a device or a pipe.
  explicit GrowingFile(std::string path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  void write(std::string_view bytes);
  /// Replaces the file's first bytes and gives the file its name. Nothing can be written afterwards.
  void complete(std::string_view first_bytes);

 private:
  /// Starts writing cached pages to disk and drops old ones, so that a large file does not fill the memory.
  /// Pages that are on the disk are reused, so a virtual machine's host need not provide new ones.
  void write_behind();
  [[nodiscard]] std::FILE* open_without_name() const;
  /// Gives the file that is open as `file` its final name. On failure returns false and sets errno.
  [[nodiscard]] bool give_name(int file) const;
  [[noreturn]] void fail() const;
  std::string path_;
  std::string target_;                      // final name
  std::optional<TemporaryName> temporary_;  // none while the file has no name
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;  // bytes written
  std::uint64_t asked_ = 0;    // bytes that the system was asked to write to disk
};

}  // namespace gpumux
