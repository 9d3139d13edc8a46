// Eight processes write to one database and are killed at random times. Acknowledged results stay, and no run
// is executed twice.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <new>

#include "base/hash.hpp"
#include "store_fixture.hpp"

namespace gpumux::database {
namespace {

constexpr std::size_t kWriters = 8;
constexpr std::size_t kRuns = 400;
constexpr std::size_t kKills = 40;

/// Seen by all processes.
struct Shared {
  std::array<std::atomic<int>, kRuns> acknowledged{};
  std::atomic<std::size_t> total{};
};

class Writers : public test::StoreTest {
 protected:
  static std::vector<PlannedRow> plan() {
    std::vector<PlannedRow> runs;
    for (std::size_t i = 0; i < kRuns; ++i) runs.push_back(run("run" + std::to_string(i)));
    return runs;
  }

  /// What a writer does: plans, as every process of a sweep does, and finishes what it gets.
  void write(Shared& shared) const {
    ResultStore store(db());
    store.plan(sweep(), plan(), false);
    while (store.counts().pending > 0) {
      const std::optional<Claim> claim = store.claim();
      if (!claim) {
        ::usleep(1000);
        continue;
      }
      if (store.finish(claim->id, result(static_cast<double>(claim->index)))) {
        ++shared.acknowledged[claim->index];
        ++shared.total;
      }
    }
  }

  pid_t start(Shared& shared) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    int code = 0;
    try {
      write(shared);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "writer: %s\n", error.what());
      code = 1;
    }
    ::_exit(code);
  }
};

TEST_F(Writers, LoseNothingThatWasCommitted) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  std::array<pid_t, kWriters> writers{};
  for (pid_t& writer : writers) writer = start(shared);

  // A kill each time that a tenth of what is left has been done, so that they are spread over the work of any
  // machine.
  Random random(7);
  std::size_t kills = 0;
  while (kills < kKills && shared.total < kRuns * 9 / 10) {
    const std::size_t before = shared.total;
    const std::size_t until = before + random.below(kRuns / kKills);
    while (shared.total < until && shared.total < kRuns * 9 / 10) ::usleep(200);
    pid_t& writer = writers[random.below(kWriters)];
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it had ended, with " << WEXITSTATUS(status);
    writer = start(shared);
    ++kills;
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_GE(kills, 20U);

  EXPECT_EQ(text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(number("SELECT count(*) FROM runs"), static_cast<std::int64_t>(kRuns));
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'done'"), static_cast<std::int64_t>(kRuns));
  EXPECT_EQ(number("SELECT count(*) FROM metrics"), static_cast<std::int64_t>(2 * kRuns));
  EXPECT_EQ(
      number("SELECT count(*) FROM apps a JOIN sweep_runs s ON s.run_id = a.run_id WHERE a.ipc = s.position"),
      static_cast<std::int64_t>(kRuns));
  EXPECT_EQ(number("SELECT count(*) FROM claims"), 0);
  std::size_t unacknowledged = 0;
  for (const std::atomic<int>& times : shared.acknowledged) {
    EXPECT_LE(times, 1);
    unacknowledged += times == 0 ? 1 : 0;
  }
  EXPECT_LE(unacknowledged, kills);  // killed between the commit and its acknowledgement
  ::munmap(memory, sizeof(Shared));
}

}  // namespace
}  // namespace gpumux::database
