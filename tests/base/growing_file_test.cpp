// GrowingFile: the file appears when it is complete; if it is not completed, nothing of it remains.
#include "base/growing_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/temporary_file.hpp"
#include "temporary_folder.hpp"

namespace gpumux {
namespace {

class GrowingFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  [[nodiscard]] long count() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }
  test::TemporaryFolder folder_;
};

TEST_F(GrowingFiles, AppearWhenTheyAreWhole) {
  for (const char* before : {"", "old"}) {
    {
      GrowingFile file(path("a"));
      file.write("0000");
      file.write(std::string(100'000, 'x'));
      EXPECT_EQ(std::filesystem::exists(path("a")) ? read_file(path("a")) : "", before);
      file.complete("1234");
      EXPECT_EQ(read_file(path("a")), "1234" + std::string(100'000, 'x'));
    }
    EXPECT_EQ(count(), 1);
    write_file_atomically(path("a"), "old");
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  std::filesystem::remove(path("a"));
  GrowingFile file(path("a"));
  file.complete("x");
  struct stat of {};
  ASSERT_EQ(::stat(path("a").c_str(), &of), 0);
  EXPECT_EQ(of.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(GrowingFiles, LeaveNothingOtherwise) {
  write_file_atomically(path("a"), "old");
  {
    GrowingFile file(path("a"));
    file.write("new");
  }
  EXPECT_EQ(count(), 1);
  for (const int signal : {SIGKILL, SIGQUIT, SIGSEGV, SIGABRT, SIGTERM, SIGINT}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);  // a sanitizer's handler would end it in another way
      remove_temporaries_on_signals();
      GrowingFile file(path("a"));
      GrowingFile other(path("b"));
      file.write(std::string(1 << 20, 'x'));
      ::raise(signal);
      ::_exit(9);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(count(), 1) << signal;
  }
  EXPECT_EQ(read_file(path("a")), "old");
}

TEST_F(GrowingFiles, SayWhereTheyCannotBe) {
  EXPECT_THROW(GrowingFile(path("none/a")), UserError);
  EXPECT_THROW(GrowingFile("/dev/null"), UserError);
}

}  // namespace
}  // namespace gpumux
