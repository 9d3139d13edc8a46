// Ends of programs, and what the programs leave behind.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/program/calls/program.hpp"

namespace {

const Kernel say_kernel("say");
const Kernel spin_kernel("spin");

/// A kernel that takes longer than any test.
void launch_endless() {
  int* const word = device<int>(1);
  CHECK(launch(spin_kernel, {1}, {32}, 0, nullptr, word, 1 << 30));
}

void leaves_work() {
  launch_endless();
  ::_exit(5);
}

/// By another process, in the midst of a wait.
void is_killed_at_work() {
  const pid_t program = ::getpid();
  if (::fork() == 0) {
    ::usleep(300'000);
    ::kill(program, SIGKILL);
    ::_exit(0);
  }
  launch_endless();
  std::exit(cudaDeviceSynchronize());
}

/// As programs do that handle Ctrl-C: exit() within a call.
void exits_in_a_handler() {
  std::signal(SIGALRM, [](int) { std::exit(6); });
  ::alarm(1);
  launch_endless();
  std::exit(cudaDeviceSynchronize());
}

void ends_before_its_work() {
  CHECK(launch(say_kernel, {1}, {1}, 0, nullptr, 3));
  std::printf("done\n");
}

/// A child that knows nothing of CUDA lives longer.
void leaves_a_child() {
  CHECK(launch(say_kernel, {1}, {1}, 0, nullptr, 4));
  CHECK(cudaDeviceSynchronize());
  if (::fork() == 0) {
    ::sleep(60);
    ::_exit(0);
  }
}

/// Starts processes that leave its group and session, and works until it is ended.
void works_in_company() {
  for (int i = 0; i < 3; ++i) {
    if (::fork() != 0) continue;
    if (i > 0) ::setsid();
    if (i > 1 && ::fork() != 0) ::_exit(0);
    ::sleep(600);
    ::_exit(0);
  }
  int* const word = device<int>(1);
  while (true) {
    CHECK(launch(spin_kernel, {1}, {32}, 0, nullptr, word, 100));
    CHECK(cudaDeviceSynchronize());
    static bool said = false;
    if (!std::exchange(said, true)) std::puts("working"), std::fflush(stdout);
  }
}

/// As some do before they start another program; `reuse`: and open others in their place.
void calls_without_descriptors(bool reuse) {
  for (int number = 3; number < 1024; ++number) ::close(number);
  for (int i = 0; reuse && i < 300; ++i) static_cast<void>(!::open("/dev/zero", O_RDWR));
  EXPECT_SAME(cudaDeviceSynchronize(), 100);
}

const Case closed_case("closes-descriptors", [] { calls_without_descriptors(false); });
const Case reused_case("reuses-descriptors", [] { calls_without_descriptors(true); });
const Case leaves_work_case("leaves-work", leaves_work);
const Case killed_case("killed-at-work", is_killed_at_work);
const Case handler_case("exits-in-a-handler", exits_in_a_handler);
const Case before_work_case("ends-before-its-work", ends_before_its_work);
const Case child_case("leaves-a-child", leaves_a_child);
const Case company_case("in-company", works_in_company);
const Case code_134_case("code-134", [] { std::exit(134); });

}  // namespace
