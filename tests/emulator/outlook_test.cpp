// Warps that are proven to wait for other warps: at barriers, and in loops that change nothing.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

using workload::Outlook;

const std::string kOutlookHead =
    "(.param .u64 p) { .reg .b64 %rd<6>; .reg .b32 %r<8>; .reg .pred %p<4>; .shared .align 8 .b64 bar;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n";

/// A block of the kernel with this body, each of whose warps has been refilled so many times.
struct Running {
  explicit Running(const std::string& body, std::uint32_t threads = 32, std::uint32_t refills = 40)
      : runner(".visible .entry k" + kOutlookHead + body + " }\n"),
        words(runner.device.upload(std::vector<int>(64))) {
    kernel = runner.launch("k", {2, 1, 1}, {threads, 1, 1}, {words});
    block = kernel->begin_block(0, 0, 0, 0);
    for (std::uint32_t i = 0; i < refills; ++i) refill();
  }
  void refill() {
    for (std::uint32_t w = 0; w < block->warps(); ++w) {
      workload::WarpStream& stream = block->stream(w);
      // As the machine does: an instruction of memory has words beside it.
      for (; stream.next != stream.end; ++stream.next)
        if (kernel->static_table()[stream.next->pc].unit == isa::Unit::Memory)
          stream.mem_next += 1 + std::bit_cast<workload::MemHeader>(*stream.mem_next).transactions;
      if (!stream.finished) block->refill(w, 300);
    }
  }
  [[nodiscard]] int word(std::size_t index) { return runner.device.download<int>(words, 64)[index]; }
  void write(std::size_t index, int value) {
    runner.device.memory.write(words + 4 * index, std::as_bytes(std::span(&value, 1)));
  }

  PtxRunner runner;
  Address words;
  std::unique_ptr<workload::KernelSource> kernel;
  std::unique_ptr<workload::BlockStream> block;
};

Outlook outlook_of(const std::string& body, std::uint32_t threads = 32) {
  return Running(body, threads).block->outlook(0);
}

TEST(Outlook, ALoopThatReadsTheSameWaits) {
  const std::string load = "L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; ret;";
  EXPECT_EQ(outlook_of(load), Outlook::Waits);
  EXPECT_EQ(outlook_of("L: nanosleep.u32 20; " + load.substr(3)), Outlook::Waits);
  // A compare-and-swap that fails, and additions of nothing.
  EXPECT_EQ(outlook_of("mov.u32 %r3, 1; st.global.u32 [%rd1], %r3; "
                       "L: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L; ret;"),
            Outlook::Waits);
  EXPECT_EQ(outlook_of("L: atom.global.add.u32 %r2, [%rd1], 0; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; ret;"),
            Outlook::Waits);
  // Its own stack is its own state.
  EXPECT_EQ(outlook_of(".local .b32 here; st.local.u32 [here], %r1; "
                       "L: ld.volatile.global.u32 %r2, [%rd1]; st.local.u32 [here], %r2; "
                       "setp.eq.u32 %p1, %r2, 0; @%p1 bra L; ret;"),
            Outlook::Waits);
}

TEST(Outlook, ALoopThatChangesSomethingGoesOn) {
  const auto loop = [](const std::string& body) {
    return "mov.u32 %r3, 0; L: " + body + " ld.volatile.global.u32 %r2, [%rd1+8]; setp.eq.u32 %p1, %r2, 0; " +
           "@%p1 bra L; ret;";
  };
  for (const char* body : {"add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd1+16], %r1;",  // counts
                           "st.volatile.global.u32 [%rd1+16], %r1;", "atom.global.add.u32 %r4, [%rd1+16], 1;",
                           "red.global.max.u32 [%rd1+16], 7; red.global.add.u32 [%rd1+16], 1;",
                           "mov.u32 %r4, %clock; setp.gt.u32 %p2, %r4, 1000000000; @%p2 ret;",
                           "mov.u64 %rd3, %globaltimer; setp.eq.u64 %p2, %rd3, 77; @%p2 ret;"}) {
    EXPECT_EQ(outlook_of(loop(body)), Outlook::GoesOn) << body;
  }
  // So does a long one, and one that has an end.
  EXPECT_EQ(
      outlook_of("mov.u32 %r3, 0; L: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 100000; @%p1 bra L; ret;"),
      Outlook::GoesOn);
}

TEST(Outlook, OfABarrierAndAnEnd) {
  // Warp 0 waits for the flag, warp 1 for warp 0, warp 2 has gone.
  Running run(
      "setp.ge.u32 %p1, %r1, 64; @%p1 ret; setp.ge.u32 %p2, %r1, 32; @%p2 bra M; "
      "L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p3, %r2, 0; @%p3 bra L; M: bar.sync 0; ret;",
      96);
  EXPECT_EQ(run.block->outlook(0), Outlook::Waits);
  EXPECT_EQ(run.block->outlook(1), Outlook::Waits);
  EXPECT_EQ(run.block->outlook(2), Outlook::Ended);
  run.write(0, 1);
  EXPECT_EQ(run.block->outlook(0), Outlook::GoesOn);
}

TEST(Outlook, LookingChangesNothing) {
  const char* const body =
      "mov.u32 %r5, 0; mov.u32 %r6, 0; "
      "L: atom.global.add.u32 %r2, [%rd1+4], 1; add.u32 %r5, %r5, %r2; "
      "ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; add.u32 %r6, %r6, 1; "
      "setp.lt.u32 %p2, %r6, 700; and.pred %p1, %p1, %p2; @%p1 bra L; "
      "st.global.u32 [%rd1+8], %r5; ret;";
  int sums[2] = {};
  int counts[2] = {};
  for (const int looks : {0, 1}) {
    Running run(body, 1, 0);
    while (!run.block->stream(0).finished) {
      if (looks != 0) {
        EXPECT_EQ(run.block->outlook(0), Outlook::GoesOn);
      }
      run.refill();
    }
    sums[looks] = run.word(2);
    counts[looks] = run.word(1);
  }
  EXPECT_EQ(counts[0], 700);
  EXPECT_EQ(counts[1], 700);
  EXPECT_EQ(sums[0], sums[1]);
  // And of one that waits: it goes on from where it was.
  Running run(
      "L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; "
      "add.u32 %r2, %r2, %r1; st.global.u32 [%rd1+4], %r2; ret;");
  EXPECT_EQ(run.block->outlook(0), Outlook::Waits);
  run.write(0, 5);
  while (!run.block->stream(0).finished) run.refill();
  EXPECT_EQ(run.word(1), 5 + 31);
}

// Lanes that have left the loop wait at a barrier for the lane that looks: it will be seen to spin, and they
// come to the barrier, which does not open without it.
TEST(Outlook, ALaneThatLooksForItsWarpWaits) {
  EXPECT_EQ(outlook_of("setp.ne.u32 %p1, %r1, 0; bar.sync 0; @%p1 bra M; "
                       "L: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L; "
                       "M: bar.sync 0; ret;"),
            Outlook::Waits);
}

// A loop that looks at nothing is endless, and reported as such.
TEST(Outlook, ALoopThatLooksAtNothingDoesNotWait) {
  EXPECT_EQ(Running("setp.eq.u32 %p1, %r1, %r1; L: @%p1 bra L; ret;", 32, 0).block->outlook(0),
            Outlook::GoesOn);
}

// Lanes that wait for another lane of their warp let it run in the end.
TEST(Outlook, LanesThatWaitForTheirWarpGoOn) {
  Running run(
      "setp.ne.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r3, 1; st.volatile.global.u32 [%rd1], %r3; ret; "
      "L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L; ret;",
      32, 0);
  run.write(0, 0);           // where a machine has executed it before
  run.block->refill(0, 20);  // it spins, and has not been seen to
  EXPECT_EQ(run.block->outlook(0), Outlook::GoesOn);
}

}  // namespace
}  // namespace gpumux::emulator::test
