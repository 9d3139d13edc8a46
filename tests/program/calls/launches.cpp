// Launches of kernels, their parameters, their output, and ends of programs.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <thread>

#include "tests/program/calls/program.hpp"

namespace {

const Kernel add_kernel("add");
const Kernel mix_kernel("mix");
const Kernel say_kernel("say");
const Kernel sum_kernel("sum_shared");

/// Adds two vectors and looks at the sum.
void add(int n) {
  std::vector<float> a(n), b(n), c(n, -1);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(2 * i);
  auto* const da = device<float>(n);
  auto* const db = device<float>(n);
  auto* const dc = device<float>(n);
  const std::size_t bytes = n * sizeof(float);
  CHECK(cudaMemcpy(da, a.data(), bytes, kHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), bytes, kHostToDevice));
  CHECK(launch(add_kernel, {static_cast<unsigned>(n + 255) / 256}, {256}, 0, nullptr, da, db, dc, n));
  CHECK(cudaMemcpy(c.data(), dc, bytes, kDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT_SAME(c[i], 3.0F * static_cast<float>(i));
  for (float* pointer : {da, db, dc}) CHECK(cudaFree(pointer));
}

void vector_add() {
  add(10000);
  std::printf("sums are right\n");
}

void parameters() {
  struct Pair {
    short first;
    short padding[3] = {};  // whose bytes a bundle has, too
    double second;
  };
  int* const out = device<int>(1);
  CHECK(
      launch(mix_kernel, {1}, {1}, 0, nullptr, static_cast<char>(5), Pair{.first = 12, .second = 3.5}, out));
  int seen = 0;
  CHECK(cudaMemcpy(&seen, out, 4, kDeviceToHost));
  EXPECT_SAME(seen, 5123);
  // The older way, and shared memory of a size that the launch says.
  void* arguments[] = {const_cast<int**>(&out)};
  CHECK(cudaLaunchKernel(&sum_kernel, {1}, {64}, arguments, 64 * 4, nullptr));
  CHECK(cudaMemcpy(&seen, out, 4, kDeviceToHost));
  EXPECT_SAME(seen, 64 * 63 / 2);
}

void printing() {
  std::printf("before\n");
  CHECK(launch(say_kernel, {2}, {1}, 0, nullptr, 42));
  std::printf("launched\n");
  CHECK(cudaDeviceSynchronize());
  std::printf("after\n");
}

/// What kernels print shows the order of the launches, which does not depend on how long each thread takes to
/// come to them.
void threads() {
  constexpr int kThreads = 4;
  std::vector<std::thread> all;
  for (int number = 0; number < kThreads; ++number) {
    all.emplace_back([number] {
      for (int i = 0; i < 3; ++i) {
        volatile double busy = 1;
        for (int k = 0; k < 300000 * (kThreads - number); ++k) busy = busy * 1.0001;
        CHECK(launch(say_kernel, {1}, {1}, 0, nullptr, 10 * number + i));
      }
    });
  }
  for (std::thread& each : all) each.join();
  CHECK(cudaDeviceSynchronize());
}

/// A thread that computes for longer than the others wait for it, and calls then.
void thinks_for_long() {
  std::thread thinks([] {
    const auto cpu_seconds = [] {
      timespec now{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    while (cpu_seconds() < 0.5) continue;
    CHECK(launch(say_kernel, {1}, {1}, 0, nullptr, 1));
  });
  ::usleep(10'000);  // it computes by now
  CHECK(launch(say_kernel, {1}, {1}, 0, nullptr, 0));
  thinks.join();
  CHECK(cudaDeviceSynchronize());
}

void vector_add_and_die() {
  vector_add();
  std::raise(SIGSEGV);
}

/// A child process has no device.
void vector_add_and_fork() {
  vector_add();
  if (::fork() == 0) ::_exit(cudaDeviceSynchronize() == 3 ? 0 : 1);
}

/// Both processes of a fork call CUDA. The first has the device; the other is told so, and never gets an
/// answer of the first.
void both_after_a_fork() {
  const pid_t child = ::fork();
  const int first = cudaDeviceSynchronize();
  if (first == 0) {
    for (int i = 0; i < 20; ++i) add(1000);
  } else {
    EXPECT_SAME(first, 100);
  }
  if (child == 0) ::_exit(first);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_SAME(WIFEXITED(status), true);
  EXPECT_SAME(WEXITSTATUS(status) + first, 100);
  std::printf("one had the device\n");
}

const Case add_case("add", vector_add);
const Case parameters_case("parameters", parameters);
const Case print_case("print", printing);
const Case threads_case("threads", threads);
const Case thinks_case("thinks-for-long", thinks_for_long);
const Case nothing_case("nothing", [] { cudaSetDevice(0); });
const Case code_case("code", [] { std::exit(7); });
const Case signal_case("signal", vector_add_and_die);
const Case fork_case("fork", vector_add_and_fork);
const Case fork_both_case("fork-both", both_after_a_fork);
const Case lz4_case("lz4", vector_add, Packing::Lz4);
const Case beside_case("beside-machine-code", vector_add, Packing::BesideMachineCode);
const Case raw_case("raw", vector_add, Packing::Raw);
const Case machine_code_case("machine-code", vector_add, Packing::MachineCodeOnly);

}  // namespace
