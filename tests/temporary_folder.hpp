// A folder of one test's own, whoever else runs the tests at the same time.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gpumux::test {

class TemporaryFolder {
 public:
  /// Named after the test that runs. Throws std::runtime_error when it cannot be made.
  TemporaryFolder() {
    std::string name = "gpumux";
    if (const auto* test = testing::UnitTest::GetInstance()->current_test_info(); test != nullptr) {
      name += std::string("_") + test->test_suite_name() + "_" + test->name();
    }
    std::replace(name.begin(), name.end(), '/', '_');
    path_ = testing::TempDir() + name + "_XXXXXX";
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
