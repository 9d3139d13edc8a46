// A full disk: a small tmpfs in a mount namespace of this test, which needs root or user namespaces.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sweep_fixture.hpp"

namespace gpumux::test {
namespace {

namespace fs = std::filesystem;

/// False, with the reason in errno, where it may not.
bool own_mounts() {
  const std::string user = std::to_string(::getuid());
  const std::string group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const auto write = [](const char* file, const std::string& text) {
      const int to = ::open(file, O_WRONLY);
      const bool good = ::write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
      ::close(to);
      return good;
    };
    if (!write("/proc/self/setgroups", "deny") || !write("/proc/self/uid_map", user + " " + user + " 1") ||
        !write("/proc/self/gid_map", group + " " + group + " 1")) {
      return false;
    }
  }
  // In a chroot "/" is no mount of its own: there, others see the disk until the test ends.
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 || errno == EINVAL;
}

class FullDisk : public SweepTest {
 protected:
  void SetUp() override {
    SweepTest::SetUp();
    fs::create_directory(path("disk"));
    if (!own_mounts() || ::mount("none", path("disk").c_str(), "tmpfs", 0, "size=8k,mode=0777") != 0) {
      GTEST_SKIP() << "no file system may be mounted here (" << std::strerror(errno)
                   << "): needs root or namespaces of users";
    }
    mounted_ = true;
    write_file_atomically(path("s.toml"), kSmallSweep);
  }
  void TearDown() override {
    if (mounted_) ::umount2(path("disk").c_str(), MNT_DETACH);
    SweepTest::TearDown();
  }
  void make_room(int kilobytes) const {
    const std::string size = "size=" + std::to_string(kilobytes) + "k";
    ASSERT_EQ(::mount("none", path("disk").c_str(), "tmpfs", MS_REMOUNT, size.c_str()), 0)
        << std::strerror(errno);
  }
  /// One line that names the file, and nothing of it is left.
  void expect_no_room(const std::vector<std::string>& words, const std::string& file) const {
    const Outcome o = gpumux(words);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.err, file + ": error: cannot be written (No space left on device)\n");
    for (const auto& entry : fs::directory_iterator(path("disk"))) {
      EXPECT_TRUE(entry.path().filename().string().starts_with("b.sqlite")) << entry.path();
    }
  }

 private:
  bool mounted_ = false;
};

TEST_F(FullDisk, ASweepKeepsWhatItHasAndGoesOnWhenThereIsRoom) {
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite", "--jobs", "2"}).code, 0);
  int full = 0;
  int without_tables = 0;
  std::int64_t kept = 0;
  std::string first;     // a run that ended before others,
  std::string finished;  // and when: it is not done again
  const auto finished_of = [this](const std::string& hash) {
    return text("disk/b.sqlite", "SELECT finished_at || wall_seconds FROM runs WHERE hash = '" + hash + "'");
  };
  // From too little for the tables, or for what readers share, to enough for most of the runs.
  for (const int kilobytes : {4, 60, 128, 240, 400, 800}) {
    make_room(kilobytes);
    const Outcome o = gpumux({"sweep", "s.toml", "--db", "disk/b.sqlite", "--jobs", "2"});
    if (o.code == 0) break;
    ++full;
    EXPECT_EQ(o.code, 2);
    if (!fs::exists(path("disk/b.sqlite"))) {  // not even its tables: nothing of it is left
      EXPECT_EQ(o.err, "disk/b.sqlite: error: cannot be written (No space left on device)\n");
      EXPECT_TRUE(fs::is_empty(path("disk")));
      EXPECT_EQ(kept, 0);
      ++without_tables;
      continue;
    }
    EXPECT_TRUE(o.err == "disk/b.sqlite: error: cannot be written: the disk is full\n" ||
                o.err == "disk/b.sqlite: error: cannot be written: the disk is full, or a file too large\n")
        << o.err;
    EXPECT_EQ(text("disk/b.sqlite", "PRAGMA integrity_check"), "ok");
    EXPECT_GE(done("disk/b.sqlite"), kept);
    kept = done("disk/b.sqlite");
    if (kept == 0) continue;
    if (finished.empty()) {
      first = text("disk/b.sqlite", "SELECT hash FROM runs WHERE state = 'done' ORDER BY id");
      finished = finished_of(first);
    }
    EXPECT_EQ(finished_of(first), finished);
    expect_no_room({"export", "disk/b.sqlite", "disk/b.csv", "--csv"}, "disk/b.csv");
    expect_no_room({"report", "disk/b.sqlite", "-o", "disk/b.html"}, "disk/b.html");
    expect_no_room({"run", "add", "--set", "sms=2", "--json", "disk/b.json"}, "disk/b.json");
  }
  EXPECT_GE(full, 4);
  EXPECT_GE(without_tables, 1);
  EXPECT_GT(kept, 0);
  make_room(20'000);
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "disk/b.sqlite", "--jobs", "2"}).code, 0);
  EXPECT_EQ(rows("a.sqlite"), rows("disk/b.sqlite"));
  EXPECT_EQ(finished_of(first), finished);
  EXPECT_EQ(number("disk/b.sqlite", "SELECT count(*) FROM claims"), 0);
}

TEST_F(FullDisk, AReadOnlyMountIsCalledSo) {
  make_room(20'000);
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "disk/b.sqlite", "--jobs", "2"}).code, 0);
  ASSERT_EQ(::mount("none", path("disk").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const Outcome sweep = gpumux({"sweep", "s.toml", "--db", "disk/b.sqlite"});
  EXPECT_EQ(sweep.code, 2);
  EXPECT_EQ(sweep.err, "disk/b.sqlite: error: cannot be written: it is on a read-only file system\n");
  EXPECT_EQ(gpumux({"export", "disk/b.sqlite", "b.csv"}).code, 0);
  EXPECT_EQ(gpumux({"report", "disk/b.sqlite", "-o", "b.html"}).code, 0);
}

}  // namespace
}  // namespace gpumux::test
