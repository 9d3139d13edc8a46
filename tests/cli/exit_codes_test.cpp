// Exit codes, in the order of the table in docs/exit-codes.md. faults_test.cpp covers exit code 3.
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "sweep_fixture.hpp"

namespace gpumux::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const std::string kKernel = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/kernel.ptx";

class ExitCodes : public SweepTest {
 protected:
  /// One line, which has `part`; and no file but logs and `allowed` is there.
  void expect_2(const Outcome& o, const std::string& part) const {
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(lines(o.err), 1U) << o.err;
    EXPECT_NE(o.err.find("error: "), std::string::npos) << o.err;
    EXPECT_EQ(o.err.find("internal error: "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << part << " is not in " << o.err;
  }
  void expect_no_temporaries() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_EQ(name.find(".tmp."), std::string::npos) << name;
      EXPECT_EQ(name.find(".part."), std::string::npos) << name;
    }
  }
};

TEST_F(ExitCodes, WhatIsDoneIs0) {
  for (const Words& words : {Words{"--help"}, Words{"--version"}, Words{"run", "--help"},
                             Words{"list", "machines"}, Words{"run", "add", "--set", "sms=2"}}) {
    const Outcome o = gpumux(words);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_NE(o.out, "");
    EXPECT_EQ(o.err, "");
  }
}

TEST_F(ExitCodes, WrongUse) {
  expect_2(gpumux({}), "a command is needed");
  expect_2(gpumux({"rum"}), "did you mean 'run'?");
  expect_2(gpumux({"run", "add", "--cycels", "5"}), "did you mean '--cycles'?");
  expect_2(gpumux({"run", "ad"}), "");
  expect_2(gpumux({"run", "add", "--policy", "evn"}), "did you mean 'even'?");
  expect_2(gpumux({"export", "a.sqlite", "--csv", "--json"}), "--csv and --json");
}

TEST_F(ExitCodes, WrongFiles) {
  write_file_atomically(path("bad.toml"), "sms = \n");
  write_file_atomically(path("bad.ptx"), "not ptx");
  expect_2(gpumux({"run", "none.toml"}), "none.toml");
  expect_2(gpumux({"run", "add", "--machine", "bad.toml"}), "bad.toml:1:");
  expect_2(gpumux({"sweep", "bad.toml", "--db", "a.sqlite"}), "bad.toml:1:");
  expect_2(gpumux({"inspect", "bad.ptx"}), "bad.ptx:1:1");
  expect_2(gpumux({"run", "none.gmt"}), "none.gmt");
  expect_2(gpumux({"run", kKernel + ":scale", "--grid", "1", "--block", "32", "--arg", "in:none.bin", "--arg",
                   "zero:f32[32]", "--arg", "f32:1", "--arg", "i32:32"}),
           "none.bin");
  EXPECT_FALSE(exists("a.sqlite"));
}

TEST_F(ExitCodes, FilesWithoutEnd) {
  for (const char* name : {"z.ptx", "z.gmt", "z.toml"}) fs::create_symlink("/dev/zero", path(name));
  fs::create_directory(path("trace"));
  fs::create_symlink("/dev/zero", path("trace/kernelslist.g"));
  const std::string endless = "/dev/zero: error: has more than 268435456 bytes, or no end";
  expect_2(gpumux({"run", "add", "--machine", "/dev/zero"}), endless);
  expect_2(gpumux({"sweep", "/dev/zero", "--db", "a.sqlite"}), endless);
  expect_2(gpumux({"run", "./z.toml"}), "./z.toml: error: has more than ");
  expect_2(gpumux({"inspect", "z.ptx"}), "z.ptx: error: has more than ");
  expect_2(gpumux({"run", "z.gmt"}), "z.gmt: error: cannot be read");
  expect_2(gpumux({"run", "trace"}), "trace/kernelslist.g:1: error: the line is too long");
  expect_2(gpumux({"run", kKernel + ":scale", "--grid", "1", "--block", "32", "--arg", "in:/dev/zero",
                   "--arg", "zero:f32[32]", "--arg", "f32:1", "--arg", "i32:32"}),
           endless);
}

TEST_F(ExitCodes, LongInputsMakeShortMessages) {
  const std::string many(100'000, 'a');
  for (const Words& words : {Words{"run", many}, Words{many}, Words{"run", "add", "--policy", many},
                             Words{"run", "add", "--set", many + "=1"}, Words{"run", "add", "--" + many}}) {
    const Outcome o = gpumux(words);
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(lines(o.err), 1U);
    EXPECT_LT(o.err.size(), 2200U);
    EXPECT_NE(o.err.find(" bytes ...] "), std::string::npos);
  }
}

TEST_F(ExitCodes, WrongKernels) {
  write_file_atomically(
      path("registers.ptx"),
      ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k() { .reg .b32 %r<2>; "
      "setmaxnreg.inc.sync.aligned.u32 8; ret; }\n");
  expect_2(gpumux({"run", "registers.ptx:k", "--grid", "1", "--block", "32"}),
           "kernel k: setmaxnreg takes a multiple of 8");
  expect_2(gpumux({"run", kKernel + ":scale", "--grid", "1", "--block", "2000"}), "2000");
}

TEST_F(ExitCodes, ResultsThatCannotBeWritten) {
  fs::create_directory(path("folder"));
  expect_2(gpumux({"run", "add", "--set", "sms=2", "--json", "none/a.json"}), "there is no folder none");
  expect_2(gpumux({"run", "add", "--set", "sms=2", "--json", "folder"}), "is a folder");
  expect_2(in_shell("ulimit -f 1; ",
                    {"run", "add", "--set", "sms=2", "--json", "a.json", "--series-csv", "s.csv"}),
           "a.json: error: cannot be written (File too large)");
  for (const char* name : {"a.json", "s.csv"}) EXPECT_FALSE(exists(name));
  expect_no_temporaries();
}

TEST_F(ExitCodes, StandardOutputThatCannotBeWritten) {
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
  for (const Words& words :
       {Words{"--help"}, Words{"--version"}, Words{"run", "--help"}, Words{"list", "apps"},
        Words{"list", "machines"}, Words{"list", "policies", "--json"}, Words{"inspect", "add"},
        Words{"inspect", "add", "--json"}, Words{"run", "add", "--set", "sms=2"},
        Words{"export", "a.sqlite", "--csv"}, Words{"export", "a.sqlite", "--json"},
        Words{"report", "--help"}}) {
    expect_2(in_shell("", words, ">/dev/full"), "standard output cannot be written");
    expect_2(in_shell("", words, ">&-"), "standard output cannot be written");
  }
  // Nor does what is printed go into the first file that is opened.
  expect_2(in_shell("", {"run", "add", "--set", "sms=2", "--json", "a.json"}, ">&- <&-"), "standard output");
  EXPECT_EQ(read_file(path("a.json")).front(), '{');
}

TEST_F(ExitCodes, StandardErrorThatCannotBeWrittenLosesOnlyWords) {
  for (const char* redirect : {"2>/dev/full", "2>&-", ">/dev/full 2>/dev/full"}) {
    EXPECT_EQ(in_shell("", {"run", "nosuch"}, redirect).code, 2) << redirect;
    EXPECT_EQ(in_shell("", {"list", "machines"}, redirect).code, std::string(redirect)[0] == '2' ? 0 : 2)
        << redirect;
    EXPECT_EQ(
        in_shell("", {"run", kKernel + ":outside", "--grid", "1", "--block", "1", "--arg", "zero:i32[1]"},
                 redirect)
            .code,
        3)
        << redirect;
  }
}

TEST_F(ExitCodes, ResultsThatWouldTakeThePlaceOfInputs) {
  write_file_atomically(path("w.toml"), "[[apps]]\napp = \"add\"\n");
  write_file_atomically(path("m.toml"), gpumux({"list", "machines", "v100", "--toml"}).out);
  write_file_atomically(path("k.ptx"), read_file(kKernel));
  const std::string before = read_file(path("k.ptx"));
  expect_2(gpumux({"run", "w.toml", "--json", "./w.toml"}),
           "w.toml: error: would be overwritten by a result");
  expect_2(gpumux({"run", "add", "--machine", "m.toml", "--json", "m.toml"}),
           "m.toml: error: would be overwritten");
  expect_2(gpumux({"run", "k.ptx:scale", "--grid", "1", "--block", "32", "--arg", "zero:f32[32]", "--arg",
                   "out:f32[32]=k.ptx", "--arg", "f32:1", "--arg", "i32:32"}),
           "k.ptx: error: would be overwritten");
  EXPECT_EQ(read_file(path("k.ptx")), before);
}

TEST_F(ExitCodes, AClosedPipeIsQuiet) {
  const Outcome o = in_shell("", {"list", "apps"}, "| true");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
}

TEST_F(ExitCodes, LimitsOfTheSystem) {
  const Words run = {"run",  "hotspot",    "--set", "sms=2",     "--cycles",
                     "2000", "--baseline", "off",   "--threads", "3"};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (const int kilobytes : {20'000, 30'000, 40'000, 100'000, 200'000}) {
    const Outcome o = in_shell("ulimit -v " + std::to_string(kilobytes) + "; ", run);
    if (o.code != 127) expect_2(o, "");  // 127: not even the libraries
  }
  // Enough for a small reservation alone.
  EXPECT_EQ(in_shell("ulimit -v 1500000; ", run).code, 0);
#endif
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // From where the program itself has room: below, nothing of it runs.
  const auto own = static_cast<int>(std::filesystem::file_size(GPUMUX_PROGRAM) / 1000);
  for (int kilobytes = own; kilobytes < own + 18'000; kilobytes += 1000) {
    const Outcome o =
        in_shell("ulimit -v " + std::to_string(kilobytes) + "; ", {"export", "a.sqlite", "a.csv"});
    EXPECT_TRUE(o.code == 0 || o.code == 127 || o.code == 2) << kilobytes << ": " << o.err;
    EXPECT_EQ(o.err.find("damaged"), std::string::npos) << "memory is wanting: " << o.err;
  }
#endif
  for (const int files : {4, 5}) {
    expect_2(in_shell("exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; prlimit --nofile=" + std::to_string(files),
                      {"run", "add", "--set", "sms=2", "--db", "a.sqlite"}),
             "Too many open files");
  }
  const std::string other_user = "setpriv --reuid=65534 --clear-groups ";
  if (::geteuid() == 0 && std::system((other_user + "test -x '" + GPUMUX_PROGRAM + "'").c_str()) != 0)
    GTEST_SKIP() << "root has no limit of processes, and no other user may execute " << GPUMUX_PROGRAM;
  write_file_atomically(path("s.toml"), kSmallSweep);
  const auto few_processes = [&](const Words& words) {
    // Root has no such limit.
    const std::string as = ::geteuid() == 0 ? "chmod 777 . && " + other_user : "";
    return in_shell(as + "prlimit --nproc=1", words);
  };
  expect_2(few_processes({"run", "hotspot", "--threads", "3", "--set", "sms=4", "--cycles", "100"}),
           "no thread 2 of 3");
  expect_2(few_processes({"sweep", "s.toml", "--db", "b.sqlite", "--jobs", "3"}), "no process for a worker");
}

TEST_F(ExitCodes, Databases) {
  write_file_atomically(path("text.sqlite"), "this is a text, and no database at all");
  expect_2(gpumux({"export", "none.sqlite", "--csv"}), "none.sqlite: error: does not exist");
  expect_2(gpumux({"export", "text.sqlite", "--csv"}), "is no SQLite database");
  {
    database::Connection(path("other.sqlite"), database::Access::Create)
        .execute("CREATE TABLE songs (name TEXT)");
  }
  expect_2(gpumux({"report", "other.sqlite", "-o", "a.html"}), "is a database of something else than gpumux");
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
  EXPECT_FALSE(exists("a.sqlite-wal"));
  EXPECT_EQ(gpumux({"export", "a.sqlite", "a.csv"}).code, 0);  // the format by the name
  EXPECT_EQ(gpumux({"export", "a.sqlite", "a.json"}).code, 0);
  EXPECT_EQ(read_file(path("a.csv")).substr(0, 5), "hash,");
  EXPECT_EQ(read_file(path("a.json")).front(), '{');
  for (const char* companion : {"-wal", "-shm", "-journal"})
    EXPECT_FALSE(exists(std::string("a.sqlite") + companion)) << companion;
}

TEST_F(ExitCodes, ReadOnlyDatabases) {
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
  fs::permissions(path("a.sqlite"), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  const std::string as = ::geteuid() == 0 ? "chmod 777 . && setpriv --reuid=65534 --clear-groups" : "";
  expect_2(in_shell(as, {"run", "add", "--set", "sms=2", "--db", "a.sqlite"}),
           "a.sqlite: error: cannot be written: no permission");
  // Reading it leaves nothing that the reader could not remove.
  const Outcome o = in_shell(as, {"export", "a.sqlite", "--csv"});
  EXPECT_EQ(o.code, 0) << o.err;
  for (const char* companion : {"-wal", "-shm"}) EXPECT_FALSE(exists(std::string("a.sqlite") + companion));
}

TEST_F(ExitCodes, NamesAreOnOneLine) {
  write_file_atomically(path("m.toml"), "base = \"dai18-maxwell\"\nname = \"a\\nb\"\n");
  expect_2(gpumux({"run", "add", "--machine", "./m.toml"}), "m.toml:2:8: error: 'name' must be on one line");
  write_file_atomically(path("s.toml"), "apps = [{name = \"a\\nb\", app = \"add\"}]\n");
  expect_2(gpumux({"sweep", "s.toml", "--db", "b.sqlite"}),
           "s.toml:1:9: error: the name of an application must be on one line");
  write_file_atomically(path("s.toml"), "name = \"a\\tb\"\napps = [\"add\"]\n");
  expect_2(gpumux({"sweep", "s.toml", "--db", "b.sqlite"}), "s.toml:1:8: error: 'name' must be on one line");
}

TEST_F(ExitCodes, DeletedUnderASweep) {
  write_file_atomically(path("s.toml"),
                        "apps = [\"add\", \"stream\", \"pathfinder\"]\ncombine = \"pairs\"\n"
                        "policies = [\"leftover\", \"even\", \"spatial\"]\nseeds = [1, 2, 3, 4]\n"
                        "cycles = 2000000\nset.sms = 2\n");
  const pid_t sweep = start({"sweep", "s.toml", "--db", "a.sqlite", "--jobs", "1"});
  while (!exists("a.sqlite") ||
         number("a.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name = 'claims'") == 0 ||
         number("a.sqlite", "SELECT count(*) FROM claims") == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  fs::remove(path("a.sqlite"));
  EXPECT_EQ(wait_for(sweep), 2);
  // What is left would be taken for the log of the next database of this name.
  for (const char* companion : {"-wal", "-shm"}) EXPECT_FALSE(exists(std::string("a.sqlite") + companion));
  const std::string said = read_file(path("stderr.log"));
  EXPECT_EQ(said,
            "a.sqlite: error: was deleted or moved while it was in use: nothing more can be kept in it\n");
  expect_no_temporaries();
}

TEST_F(ExitCodes, ASignalLeavesNoTemporaryFile) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
    const pid_t child = start({"run", "hotspot", "--json", "a.json", "--cycles", "100000000"});
    ::usleep(100'000);
    ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    expect_no_temporaries();
  }
}

TEST_F(ExitCodes, ASignalWhileADatabaseIsReadLeavesNothingBesideIt) {
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
  for (const Words& words :
       {Words{"report", "a.sqlite", "-o", "a.html"}, Words{"export", "a.sqlite", "a.csv"}})
    for (int milliseconds = 4; milliseconds <= 40; milliseconds += 4) {
      const pid_t child = start(words);
      ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
      ::kill(child, SIGINT);
      (void)wait_for(child);
      for (const char* companion : {"-wal", "-shm"})
        EXPECT_FALSE(exists(std::string("a.sqlite") + companion)) << words[0] << " " << milliseconds;
      expect_no_temporaries();
    }
}

TEST_F(ExitCodes, ALimitOnFilesIsNoneOnReading) {
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--db", "a.sqlite"}).code, 0);
  const Outcome o = in_shell("ulimit -f 1; ", {"export", "a.sqlite", "--csv"}, ">/dev/null");
  EXPECT_EQ(o.code, 0) << o.err;
  for (const char* companion : {"-wal", "-shm"}) EXPECT_FALSE(exists(std::string("a.sqlite") + companion));
}

TEST_F(ExitCodes, ASweepEndsWithTheGravestOfItsFailures) {
  const std::string bad =
      "{name = \"bad\", app = \"" + kKernel + ":outside\", grid = 1, block = 1, args = [\"zero:i32[1]\"]}";
  write_file_atomically(path("s.toml"),
                        "apps = [\"add\", " + bad + "]\ncombine = \"pairs\"\ncycles = 2000\nset.sms = 2\n");
  const Outcome o = gpumux({"sweep", "s.toml", "--db", "a.sqlite"});
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_EQ(number("a.sqlite", "SELECT count(*) FROM runs WHERE exit_code = 1"), 0);
  EXPECT_EQ(number("a.sqlite", "SELECT count(*) FROM runs WHERE exit_code = 3"), 2);
  // A fault of ours among them is graver; so is what the user has to mend.
  database::Connection(path("a.sqlite"), database::Access::Write)
      .execute("UPDATE runs SET exit_code = 2 WHERE id = (SELECT min(id) FROM runs WHERE exit_code = 3)");
  EXPECT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 2);
  database::Connection(path("a.sqlite"), database::Access::Write)
      .execute("UPDATE runs SET exit_code = 1 WHERE exit_code = 2");
  EXPECT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 1);
}

}  // namespace
}  // namespace gpumux::test
