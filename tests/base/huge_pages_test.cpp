#include "base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>

namespace gpumux {
namespace {

TEST(HugePages, BlocksAreAlignedAndApart) {
  std::vector<std::byte*> blocks;
  for (std::size_t bytes : {1U, 63U, 64U, 65U, 4096U, 3U << 20U}) {
    for (int i = 0; i < 100; ++i) {
      auto* block = static_cast<std::byte*>(huge_page_allocate(bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
      std::memset(block, static_cast<int>(blocks.size() % 256), bytes);
      blocks.push_back(block);
      if (bytes > 4096) break;
    }
  }
  std::size_t n = 0;
  for (std::size_t bytes : {1U, 63U, 64U, 65U, 4096U, 3U << 20U}) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(blocks[n][0], std::byte(n % 256));
      EXPECT_EQ(blocks[n][bytes - 1], std::byte(n % 256));
      huge_page_free(blocks[n++], bytes);
      if (bytes > 4096) break;
    }
  }
  huge_page_free(nullptr, 64);
}

TEST(HugePages, ContainersOnSeveralThreads) {
  const auto work = [] {
    for (std::uint32_t round = 0; round < 50; ++round) {
      HugePageVector<std::uint32_t> grows;
      for (std::uint32_t i = 0; i < 1000; ++i) grows.push_back(i ^ round);
      for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(grows[i], i ^ round);
      auto array = make_huge_page_array<std::uint64_t>(round * 10 + 1);
      array[round * 10] = round;
      EXPECT_EQ(array[round * 10], round);
    }
  };
  const std::jthread other(work);
  work();
}

}  // namespace
}  // namespace gpumux
