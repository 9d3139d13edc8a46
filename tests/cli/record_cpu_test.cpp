// `gpumux record-cpu`: input that it refuses, and that it records. tests/recorder checks the contents of
// records.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/program.hpp"

namespace gpumux::test {
namespace {

using RecordCpu = CliTest;

TEST_F(RecordCpu, RefusesWhatCannotBe) {
  const auto refused = [this](const std::vector<std::string>& args, const std::string& why) {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(o.err.find(why), std::string::npos) << o.err;
    EXPECT_EQ(lines(o.err), 1U) << o.err;
  };
  refused({"record-cpu", "--", "true"}, "--output");
  refused({"record-cpu", "-o", "t"}, "a program is needed, after --");
  refused({"record-cpu", "-o", "t", "true"}, "true");
  refused({"record-cpu", "-o", "t.gz", "--", "true"}, "t.gz: error: CPU traces are written plain or as .zst");
  refused({"record-cpu", "-o", "t", "--limit", "0", "--", "true"}, "at least 1 is needed");
  refused({"record-cpu", "-o", "none/t", "--", "true"}, "none/t");
}

TEST_F(RecordCpu, AQemuWithoutPluginsIsNamed) {
  const std::filesystem::path plugin =
      std::filesystem::path(GPUMUX_PROGRAM).parent_path() / "gpumux_recorder.so";
  if (!std::filesystem::exists(plugin)) GTEST_SKIP() << "built without Capstone";
  std::ofstream(path("qemu-x86_64")) << "#!/bin/sh\necho '-strace log system calls'\n";
  std::filesystem::permissions(path("qemu-x86_64"), std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (std::filesystem::path(path("x")).parent_path().string() + ":" + before).c_str(), 1);
  const Outcome o = gpumux({"record-cpu", "-o", "t", "--", "/bin/true"});
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("takes no plugins"), std::string::npos) << o.err;
  EXPECT_EQ(lines(o.err), 1U) << o.err;
  EXPECT_FALSE(exists("t"));
}

TEST_F(RecordCpu, RunsTheProgramAndLeavesItsTrace) {
  const std::filesystem::path plugin =
      std::filesystem::path(GPUMUX_PROGRAM).parent_path() / "gpumux_recorder.so";
  if (!std::filesystem::exists(plugin)) GTEST_SKIP() << "built without Capstone";
  if (std::system("command -v qemu-x86_64 > /dev/null") != 0) GTEST_SKIP() << "there is no qemu-x86_64";
  if (std::system("qemu-x86_64 -help | grep -q -e -plugin") != 0)
    GTEST_SKIP() << "qemu-x86_64 takes no plugins";
  const Outcome o =
      gpumux({"record-cpu", "-o", "a,b.zst", "--", "/bin/sh", "-c", "echo $1; exit 7", "sh", "--limit"});
  EXPECT_EQ(o.code, 7) << o.err;
  EXPECT_EQ(o.out, "--limit\n");
  EXPECT_TRUE(exists("a,b.zst"));
  EXPECT_EQ(gpumux({"record-cpu", "-o", "t", "--skip", "10", "--limit", "1000", "--", "/bin/true"}).code, 0);
  EXPECT_EQ(std::filesystem::file_size(path("t")), 64000U);
}

}  // namespace
}  // namespace gpumux::test
