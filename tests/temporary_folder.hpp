// A folder of one test's own, whoever else runs the tests at the same time.
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
  /// Throws std::runtime_error when it cannot be made.
  TemporaryFolder() {
    // A short name: daemons put sockets into it, whose paths have at most 107 characters.
    path_ = testing::TempDir() + "gpumux_XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + ": " + std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Without a slash at the end.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gpumux::test
