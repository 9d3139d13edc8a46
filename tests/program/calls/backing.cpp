// The file behind device memory: its contents, and the operations on it that a program can make.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/program/calls/program.hpp"

namespace {

int memory_file() { return std::atoi(std::getenv("GPUMUX_CUDART_MEMORY")); }

std::uint64_t resident_bytes() {
  struct stat of {};
  EXPECT_SAME(::fstat(memory_file(), &of), 0);
  return static_cast<std::uint64_t>(of.st_blocks) * 512;
}

void cannot_be_cut_off() {
  int* const word = device<int>(1);
  for (const off_t bytes : {off_t{0}, off_t{1} << 40}) {
    EXPECT_SAME(::ftruncate(memory_file(), bytes), -1);
    EXPECT_SAME(errno, EPERM);
  }
  int value = 5;
  CHECK(cudaMemcpy(word, &value, 4, kHostToDevice));
  value = 0;
  CHECK(cudaMemcpy(&value, word, 4, kDeviceToHost));
  EXPECT_SAME(value, 5);
}

void is_taken_again_at_once() {
  constexpr std::size_t kBytes = std::size_t{2} << 30;
  constexpr std::size_t kWritten = std::size_t{8} << 20;
  std::vector<char> seen(kWritten);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    char* const bytes = device<char>(kBytes);
    CHECK(cudaMemcpy(seen.data(), bytes + i * kWritten, kWritten, kDeviceToHost));
    for (const char byte : seen) EXPECT_SAME(byte, 0);
    CHECK(cudaMemset(bytes, 7, (i + 2) * kWritten));
    CHECK(cudaFree(bytes));
    EXPECT_SAME(resident_bytes() < 2 * kWritten, true);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_SAME(took.count() < 30, true);  // of 20 GB by hand: minutes
}

const Case sealed_case("sealed", cannot_be_cut_off);
const Case again_case("taken-again", is_taken_again_at_once);

}  // namespace
