// Device memory whose allocations are placed at given addresses.
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::workload {
namespace {

constexpr Address kBase = Address{5} << kAppShift;  // of application 4
constexpr AppId kApp = 1;

std::string error_of(DeviceMemory& memory, Address address, std::uint64_t bytes) {
  try {
    memory.allocate_at(address, bytes);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(AddressSpace, ProgramsAndCachesSeeTheirOwn) {
  DeviceMemory memory(kApp, "p", {kBase, 0});
  EXPECT_EQ(memory.base(), kBase);
  EXPECT_EQ(memory.cached(kBase + 12345), (Address{2} << kAppShift) + 12345);
  EXPECT_EQ(memory.constant_backing() >> kAppShift, 2U);
  EXPECT_EQ(memory.local_backing() >> kAppShift, 2U);
  EXPECT_EQ(memory.code_backing() >> kAppShift, 2U);
  EXPECT_EQ(memory.notice_address() >> kAppShift, 2U);
  EXPECT_EQ(memory.allocate(4) >> kAppShift, 5U);
  DeviceMemory usual(kApp, "p");
  EXPECT_EQ(usual.base(), Address{2} << kAppShift);
  EXPECT_EQ(usual.cached(usual.base() + 7), usual.base() + 7);
}

TEST(AddressSpace, AllocationsLieWhereTheyAreWanted) {
  DeviceMemory memory(kApp, "p", {kBase, 0});
  memory.allocate_at(kBase + 8192, 1000);
  EXPECT_TRUE(memory.valid(kBase + 8192, 1000));
  EXPECT_FALSE(memory.valid(kBase + 8191, 1));
  EXPECT_FALSE(memory.valid(kBase + 8192 + 1000, 1));
  EXPECT_EQ(error_of(memory, kBase + 8192 + 1000, 8), "");  // just behind
  EXPECT_EQ(error_of(memory, kBase + 8192 - 16, 16), "");   // just before
  EXPECT_NE(error_of(memory, kBase + 8192 + 999, 1)
                .find("app p: an allocation of 1 bytes at 0x500000023e7 lies where"),
            std::string::npos)
      << error_of(memory, kBase + 8192 + 999, 1);
  EXPECT_NE(error_of(memory, kBase + 8000, 193).find("lies where"), std::string::npos);
  EXPECT_NE(error_of(memory, kBase + 16, 4).find("lies outside of device memory"), std::string::npos);
  EXPECT_NE(error_of(memory, kBase - 4096, 4).find("lies outside of device memory"), std::string::npos);
  EXPECT_NE(error_of(memory, kBase + (Address{1} << 36U), 4).find("lies outside"), std::string::npos);
  EXPECT_NE(error_of(memory, kBase + 8192, ~std::uint64_t{0}).find("lies outside"), std::string::npos);
  // New memory is zero, also where something lay before.
  std::memset(memory.host(kBase + 8192), 7, 1000);
  memory.free(kBase + 8192);
  EXPECT_FALSE(memory.valid(kBase + 8192, 1));
  memory.allocate_at(kBase + 8192 + 256, 500);
  EXPECT_EQ(memory.host(kBase + 8192 + 256)[0], std::byte{0});
  EXPECT_EQ(memory.host(kBase + 8192 + 256)[499], std::byte{0});
}

// What nobody has a place for, such as the heap of kernels, is not in the way of what has one.
TEST(AddressSpace, OtherAllocationsLieBehindPlacedOnes) {
  const Address end = kBase + 100'001;
  DeviceMemory memory(kApp, "p", {kBase, end});
  const Address heap = memory.allocate_heap(64, 1U << 20U);
  EXPECT_GE(heap, end);
  memory.allocate_at(kBase + 4096, 100'001 - 4096);
  const Address next = memory.allocate(64);
  EXPECT_GE(next, heap + 64);
  EXPECT_TRUE(memory.free_heap(heap));
  EXPECT_GE(memory.allocate(64), end);
}

}  // namespace
}  // namespace gpumux::workload
