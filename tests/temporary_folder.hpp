// A folder for one test. Tests that run at the same time have different folders.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gpumux::test {

class TemporaryFolder {
 public:
  /// Throws std::runtime_error if the folder cannot be created.
  TemporaryFolder() {
    // The name is short because daemons create sockets in the folder, whose paths have at most 107
    // characters.
    path_ = testing::TempDir() + "gpumux_XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + ": " + std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// The folder's path, without a slash at the end.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gpumux::test
