// Device memory: the addresses of allocations, their contents, and the host memory that they take.
#include "workload/device_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "workload/free_gaps.hpp"

namespace gpumux::workload {
namespace {

constexpr std::uint64_t kGap = 256;

Address align(Address address) { return (address + 255) / 256 * 256; }

/// The lowest place that has room, found by looking at all.
Address first_fit(const std::map<Address, std::uint64_t>& known, Address first, std::uint64_t bytes) {
  Address place = first;
  for (const auto& [start, size] : known) {
    if (start + size + kGap <= first) continue;
    if (place + bytes + kGap <= start) return place;
    place = align(start + size + kGap);
  }
  return place;
}

TEST(DeviceMemory, AllocationsLieInTheFirstGapThatHasRoom) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    DeviceMemory memory(AppId{0});
    std::map<Address, std::uint64_t> known;
    const Address first = memory.base() + 4096;
    if (seed % 3 == 0) {  // as for a bundle, and for the run time's own
      memory.allocate_at(first + 12345, 777);
      known[first + 12345] = 777;
    }
    if (seed % 4 == 0) known[memory.allocate_at_end(5000)] = 5000;
    std::vector<Address> order;
    for (int i = 0; i < 3000; ++i) {
      if (!order.empty() && random.next() % 100 < (i / 500 % 2 == 0 ? 30U : 60U)) {
        const std::size_t at = random.next() % order.size();
        memory.free(order[at]);
        known.erase(order[at]);
        order[at] = order.back();
        order.pop_back();
        continue;
      }
      const std::uint64_t bytes = 1 + random.next() % (random.next() % 8 == 0 ? 100000 : 2000);
      const Address expected = first_fit(known, first, bytes);
      const Address place = memory.allocate(bytes);
      ASSERT_EQ(place, expected) << seed << " " << i;
      known[place] = bytes;
      order.push_back(place);
    }
  }
}

TEST(DeviceMemory, AnAllocationTakesTheSameTimeHoweverManyThereAre) {
  DeviceMemory memory(AppId{0});
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Address> all;
  for (int i = 0; i < 100000; ++i) all.push_back(memory.allocate(1000));
  // Many gaps of which none has room, and then one in the middle that has.
  for (std::size_t i = 0; i < all.size(); i += 2) memory.free(all[i]);
  memory.free(all[50001]);
  EXPECT_EQ(memory.allocate(2000), all[50000]);
  for (int i = 0; i < 50000; ++i) (void)memory.allocate(2000);
  // By looking at all of them it would be ten minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(DeviceMemory, MemoryThatIsFreedIsGivenBackAndComesAgainAsZero) {
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 20U;
  const int file = ::memfd_create("device memory", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(DeviceMemory::kReservedBytes)), 0);
  const auto resident = [&] {
    struct stat of {};
    ::fstat(file, &of);
    return static_cast<std::uint64_t>(of.st_blocks) * 512;
  };
  {
    DeviceMemory memory(AppId{0}, "", file);
    for (const std::uint64_t odd : {0U, 1U, 5000U}) {
      const Address address = memory.allocate(kBytes + odd);
      EXPECT_EQ(std::to_integer<int>(*memory.host(address)), 0);
      memory.fill(address, std::byte{7}, kBytes + odd);
      EXPECT_GE(resident(), kBytes);
      memory.free(address);
      EXPECT_LT(resident(), kBytes / 8);
      // A program that writes to what it has freed.
      std::fill_n(memory.host(address), kBytes / 2, std::byte{9});
      ASSERT_EQ(memory.allocate(kBytes + odd + 100), address);
      EXPECT_LT(resident(), kBytes / 8);
      const std::span<const std::byte> bytes(memory.host(address), kBytes + odd + 100);
      EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
      memory.free(address);
    }
  }
  ::close(file);
}

TEST(FreeGaps, FindTheLowestThatIsLargeEnough) {
  FreeGaps gaps;
  EXPECT_FALSE(gaps.first_of(1));
  gaps.set(1000, 10);
  gaps.set(2000, 30);
  gaps.set(3000, 20);
  EXPECT_EQ(gaps.first_of(5)->end, 1000U);
  EXPECT_EQ(gaps.first_of(11)->end, 2000U);
  EXPECT_FALSE(gaps.first_of(31));
  gaps.set(2000, 0);
  EXPECT_EQ(gaps.first_of(11)->end, 3000U);
  gaps.set(3000, 5);
  EXPECT_FALSE(gaps.first_of(11));
  gaps.clear();
  EXPECT_FALSE(gaps.first_of(1));
}

}  // namespace
}  // namespace gpumux::workload
