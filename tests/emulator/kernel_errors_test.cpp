// Applications that continue after a fault of one of their kernels.
#include "emulator/kernel_errors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emulator/program.hpp"

namespace gpumux::emulator::test {
namespace {

class Errors final : public KernelErrors {
 public:
  std::vector<std::string> outside_of;
  std::vector<std::string> faults;
  void outside(const std::string& message) override { outside_of.push_back(message); }
  void assertion(const std::string& /*line*/) override {}
  void has_ended(const std::string& message) override { faults.push_back(message); }
};

/// Thread `tid` of block `ctaid` stores to out[index], the others wait for it at a barrier, and then all
/// count in out[0].
constexpr const char* kOneStores = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 offset, .param .u32 ctaid, .param .u32 tid) {
  .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [offset];
  ld.param.u32 %r1, [ctaid];
  ld.param.u32 %r2, [tid];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %tid.x;
  setp.eq.u32 %p1, %r3, %r1;
  setp.eq.and.u32 %p2, %r4, %r2, %p1;
  add.s64 %rd3, %rd1, %rd2;
  @%p2 st.global.u32 [%rd3], %r4;
  bar.sync 0;
  red.global.add.u32 [%rd1], 1;
  ret;
})";

class GoesOn : public testing::Test {
 protected:
  /// 3 blocks of 96 threads, two of them at a time.
  std::uint64_t run(std::int64_t offset, std::uint32_t ctaid, std::uint32_t tid) {
    LaunchConfig config;
    config.grid = {3, 1, 1};
    config.block = {96, 1, 1};
    config.parameters.resize(24);
    std::memcpy(config.parameters.data(), &out_, 8);
    std::memcpy(config.parameters.data() + 8, &offset, 8);
    std::memcpy(config.parameters.data() + 16, &ctaid, 4);
    std::memcpy(config.parameters.data() + 20, &tid, 4);
    return run_functionally(*module_.launch(*module_.find("k"), config), 2);
  }
  std::uint32_t counted() {
    std::uint32_t count = 0;
    memory_.read(out_, std::as_writable_bytes(std::span(&count, 1)));
    return count;
  }

  workload::DeviceMemory memory_{0};
  const Address out_ = memory_.allocate(4);
  const Address last_ = memory_.allocate(std::uint64_t{4} << 20U);  // on the next two pages, too
  Errors errors_;
  LoadedModule module_{compile_module(kOneStores, "t.ptx", {}), memory_, 0, nullptr, {}, &errors_};
};

TEST_F(GoesOn, WarpsThatWaitForTheFaultyOneEndToo) {
  run(std::int64_t{1} << 30U, 1, 40);
  ASSERT_EQ(errors_.faults.size(), 1U);
  EXPECT_NE(errors_.faults[0].find("invalid global write"), std::string::npos) << errors_.faults[0];
  EXPECT_NE(errors_.faults[0].find("thread (40,0,0) of block (1,0,0)"), std::string::npos);
  EXPECT_EQ(errors_.ended(), FaultKind::IllegalAddress);
  // Block 0 may have counted before, no other one has.
  EXPECT_LE(counted(), 96U);
  // And what is launched now ends at once.
  EXPECT_EQ(run(0, 0, 0), 0U);
  EXPECT_EQ(errors_.faults.size(), 1U);
}

TEST_F(GoesOn, MisalignedAddressesAreErrorsOfTheirOwn) {
  run(2, 2, 0);
  EXPECT_EQ(errors_.ended(), FaultKind::MisalignedAddress);
}

TEST_F(GoesOn, PagesWithAnAllocationCanBeAccessed) {
  const auto page = static_cast<std::int64_t>(workload::DeviceMemory::kPageBytes);
  const auto from_out = [&](Address address) { return static_cast<std::int64_t>(address - out_); };
  const Address end = last_ + (std::uint64_t{4} << 20U);
  const Address end_of_page = (end + page - 1) / page * page;
  const std::uint64_t all = run(0, 0, 5);
  EXPECT_EQ(run(-4, 0, 5), all);             // in front of the first allocation
  EXPECT_EQ(run(64, 0, 5), all);             // between two
  EXPECT_EQ(errors_.outside_of.size(), 1U);  // of one instruction
  EXPECT_NE(errors_.outside_of[0].find("4 bytes before the allocation of 4 bytes"), std::string::npos)
      << errors_.outside_of[0];
  EXPECT_EQ(run(from_out(end_of_page - 4), 0, 5), all);
  EXPECT_FALSE(errors_.ended());
  EXPECT_EQ(counted(), 5 + 4 * 3 * 96U);  // 5 was stored at first
  run(from_out(end_of_page), 0, 5);
  EXPECT_EQ(errors_.ended(), FaultKind::IllegalAddress);
}

TEST_F(GoesOn, APageIsUsedAsLongAsAnAllocationLiesOnIt) {
  EXPECT_TRUE(memory_.on_used_pages(last_ + (3U << 20U), 64));
  EXPECT_TRUE(memory_.on_used_pages(last_, std::uint64_t{4} << 20U));
  memory_.free(last_);
  EXPECT_FALSE(memory_.on_used_pages(last_ + (3U << 20U), 64));
  EXPECT_TRUE(memory_.on_used_pages(out_ + 4096, 64));
  EXPECT_FALSE(memory_.on_used_pages(memory_.base() - 64, 64));
}

}  // namespace
}  // namespace gpumux::emulator::test
