#include "base/temporary_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <filesystem>

#include "base/files.hpp"
#include "temporary_folder.hpp"

namespace gpumux {
namespace {

TEST(TemporaryName, IsRemovedWhenASignalEndsTheProgram) {
  const test::TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() + "/" + name; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU, SIGQUIT}) {
    for (const char* name : {"a", "b", "c"}) write_file_atomically(path(name), "x");
    const pid_t child = ::fork();
    if (child == 0) {
      remove_temporaries_on_signals();
      const TemporaryName a(path("a"));
      { const TemporaryName b(path("b")); }  // was renamed meanwhile
      const TemporaryName none(path("none"));
      ::raise(signal);
      ::_exit(9);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(std::filesystem::exists(path("a")));
    EXPECT_TRUE(std::filesystem::exists(path("b")));
    EXPECT_TRUE(std::filesystem::exists(path("c")));
  }
}

TEST(TemporaryName, IgnoredSignalsStayIgnored) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGHUP, SIG_IGN);  // as under nohup
    remove_temporaries_on_signals();
    ::raise(SIGHUP);
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(TemporaryName, MoreThanThereIsRoomForAreNotRemoved) {
  std::deque<TemporaryName> many;
  for (int i = 0; i < 100; ++i) many.emplace_back("name" + std::to_string(i));
  EXPECT_EQ(many.back().path(), "name99");
}

}  // namespace
}  // namespace gpumux
