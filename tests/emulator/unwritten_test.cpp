// Registers that a kernel reads before it has written them, and their values.
#include "emulator/unwritten.hpp"

#include <gtest/gtest.h>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

constexpr const char* kStart = R"(.visible .entry k(.param .u64 out) {
  .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r1, %r3, %r2; mad.wide.u32 %rd2, %r4, 4, %rd1;
)";
constexpr const char* kEnd = "\n  st.global.u32 [%rd2], %r5; ret; }";

/// What the last lane of each of four blocks, which follow each other in the same registers, stores.
std::vector<std::uint32_t> stored(const std::string& body, std::uint32_t threads = 32) {
  PtxRunner runner(kStart + body + kEnd);
  const Address out = runner.device.memory.allocate(std::uint64_t{4} * threads * 4);
  run_functionally(*runner.launch("k", {4, 1, 1}, {threads, 1, 1}, {out}), 1);
  const auto all = runner.device.download<std::uint32_t>(out, std::size_t{4} * threads);
  return {all[threads - 1], all[2 * threads - 1], all[3 * threads - 1], all[4 * threads - 1]};
}

std::uint32_t read_unwritten(const std::string& body) {
  const auto compiled = compile_module(with_header(kStart + body + kEnd), "test.ptx", {.optimize = 0});
  std::uint32_t count = 0;
  registers_read_unwritten(compiled->kernels.at("k").code).for_each([&](std::uint32_t) { ++count; });
  return count;
}

TEST(Unwritten, RegistersOfAnEarlierBlockAreNotSeen) {
  // The first block alone writes; the guard, a branch and a loop hide that from the others.
  EXPECT_EQ(stored("setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r5, 7;"),
            (std::vector<std::uint32_t>{7, 0, 0, 0}));
  EXPECT_EQ(stored("setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u32 %r5, 7; mul.lo.u32 %r5, %r5, %r5;\nEND:"),
            (std::vector<std::uint32_t>{49, 0, 0, 0}));
  EXPECT_EQ(stored("mov.u32 %r6, %r1;\nLOOP: add.u32 %r5, %r5, 3; add.u32 %r6, %r6, 1;\n"
                   "setp.lt.u32 %p1, %r6, 4; @%p1 bra LOOP;"),
            (std::vector<std::uint32_t>{12, 9, 6, 3}));
}

TEST(Unwritten, LanesThatDoNotExistHoldZero) {
  // The last lane of 48 reads of lane 31 of its warp, which the block lacks.
  EXPECT_EQ(stored("mov.u32 %r7, 5; shfl.sync.idx.b32 %r5, %r7, 31, 31, -1;", 48),
            (std::vector<std::uint32_t>{0, 0, 0, 0}));
  EXPECT_EQ(
      stored("setp.gt.u32 %p1, %r2, 99; @%p1 mov.u32 %r7, 5; shfl.sync.idx.b32 %r5, %r7, 31, 31, -1;", 48),
      (std::vector<std::uint32_t>{0, 0, 0, 0}));
}

TEST(Unwritten, NothingIsZeroedThatIsWrittenFirst) {
  EXPECT_EQ(read_unwritten("mov.u32 %r5, 1;"), 0U);
  EXPECT_EQ(
      read_unwritten("mov.u32 %r6, 0; mov.u32 %r5, 1;\nLOOP: add.u32 %r5, %r5, %r5; add.u32 %r6, %r6, 1;\n"
                     "setp.lt.u32 %p1, %r6, 4; @%p1 bra LOOP;"),
      0U);
  EXPECT_EQ(read_unwritten("setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r5, 7;"), 1U);
  EXPECT_EQ(read_unwritten("setp.eq.u32 %p1, %r1, 0; @%p1 bra ELSE; mov.u32 %r5, 7; bra END;\n"
                           "ELSE: mov.u32 %r5, 8;\nEND:"),
            0U);
}

}  // namespace
}  // namespace gpumux::emulator::test
