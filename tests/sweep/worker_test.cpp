// Workers in processes of their own: the parent learns of every failure and continues.
#include "sweep/worker.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/error.hpp"

namespace gpumux::sweep {
namespace {

WorkerOutcome outcome_of(const Worker::Work& work) {
  Worker worker(work);
  while (!worker.read()) {
    pollfd polled{worker.descriptor(), POLLIN, 0};
    (void)::poll(&polled, 1, -1);
  }
  return worker.outcome();
}

TEST(Worker, GivesBackWhatTheWorkReturns) {
  const std::string large(3'000'000, 'x');  // more than any pipe holds
  const WorkerOutcome o = outcome_of([&] { return large; });
  EXPECT_TRUE(o.good);
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.text, large);
  EXPECT_TRUE(outcome_of([] { return std::string(); }).good);
}

TEST(Worker, GivesBackErrorsOfEveryKind) {
  const auto failure = [](const Worker::Work& work, int code) {
    const WorkerOutcome o = outcome_of(work);
    EXPECT_FALSE(o.good);
    EXPECT_FALSE(o.was_killed);
    EXPECT_EQ(o.exit_code, code);
    return o.text;
  };
  EXPECT_EQ(failure([]() -> std::string { throw UserError("wrong"); }, 2), "error: wrong");
  EXPECT_EQ(failure([]() -> std::string { throw SimulationFault("error: trap"); }, 3), "error: trap");
  EXPECT_EQ(failure([]() -> std::string { throw InternalError("bug"); }, 1), "internal error: bug");
  EXPECT_EQ(failure([]() -> std::string { throw std::bad_alloc(); }, 2),
            "error: out of memory: the system, or a limit such as `ulimit -v`, gives no more");
  EXPECT_EQ(failure([]() -> std::string { ::_exit(0); }, 1),
            "internal error: the worker exited with 0 and no result");
  EXPECT_EQ(failure([]() -> std::string { ::_exit(9); }, 1),
            "internal error: the worker exited with 9 and no result");
}

TEST(Worker, ACrashIsAnErrorWithItsLastWords) {
  const WorkerOutcome o = outcome_of([]() -> std::string {
    std::signal(SIGABRT, SIG_DFL);
    std::fputs("first\nthe pool is empty\n", stderr);
    std::fflush(stderr);
    ::raise(SIGABRT);
    return "";
  });
  EXPECT_FALSE(o.good);
  EXPECT_FALSE(o.was_killed);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.text, "internal error: the worker was ended by signal 6 (Aborted): the pool is empty");
}

TEST(Worker, BeingKilledIsToldFromACrash) {
  const WorkerOutcome o = outcome_of([]() -> std::string {
    ::raise(SIGKILL);
    return "";
  });
  EXPECT_FALSE(o.good);
  EXPECT_TRUE(o.was_killed);
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(o.text, "error: the worker was ended by signal 9 (Killed), perhaps for want of memory");
}

TEST(Worker, IsKilledWithItsOwner) {
  const auto endless = []() -> std::string {
    while (true) ::pause();
  };
  Worker one(endless);
  Worker two(endless);
  Worker moved(std::move(one));
  two = std::move(moved);
  EXPECT_FALSE(two.read());
}

TEST(Worker, PrintsNothing) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(outcome_of([] {
                std::puts("in the way");
                std::fflush(stdout);
                return std::string("good");
              }).good);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace gpumux::sweep
