// Divergence, calls, barriers and communication between blocks.
#include <gtest/gtest.h>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

// Each kernel stores a value per thread at out + 4 * global thread number.
const char* const kPrologue = R"(
  .reg .pred %p<10>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  mul.wide.s32 %rd2, %r4, 4;
  add.s64 %rd1, %rd1, %rd2;
)";

std::string control_kernel(const std::string& body, const std::string& declarations = "") {
  return declarations + "\n.visible .entry kernel(.param .u64 out)\n{\n" + kPrologue + body + "}\n";
}

std::vector<std::uint32_t> results(const std::string& text, std::uint32_t grid, std::uint32_t block,
                                   int optimize = 0, std::uint64_t limit = 0) {
  PtxRunner runner(text, optimize);
  const Address out = runner.device.memory.allocate(std::uint64_t{grid} * block * 4);
  runner.run("kernel", {grid, 1, 1}, {block, 1, 1}, {out}, 0, limit);
  return runner.device.download<std::uint32_t>(out, std::size_t{grid} * block);
}

TEST(Divergence, NestedIfsReconverge) {
  const auto values = results(control_kernel(R"(
    mov.u32 %r10, 0;
    and.b32 %r11, %r1, 1;
    setp.eq.s32 %p1, %r11, 0;
    @%p1 bra EVEN;
    add.s32 %r10, %r10, 1000;
    and.b32 %r12, %r1, 2;
    setp.eq.s32 %p2, %r12, 0;
    @%p2 bra INNER;
    add.s32 %r10, %r10, 100;
    bra.uni JOIN;
  INNER:
    add.s32 %r10, %r10, 200;
    bra.uni JOIN;
  EVEN:
    add.s32 %r10, %r10, 2000;
  JOIN:
    activemask.b32 %r13;
    popc.b32 %r13, %r13;
    add.s32 %r10, %r10, %r13;
    st.global.u32 [%rd1], %r10;
    ret;
  )"),
                              1, 64);
  for (std::uint32_t t = 0; t < 64; ++t) {
    const std::uint32_t expected = t % 2 == 0 ? 2000 : (t & 2U) == 0 ? 1200 : 1100;
    EXPECT_EQ(values[t], expected + 32) << t;  // all 32 lanes have met again
  }
}

TEST(Divergence, LoopsWithTripCountsBreakAndContinue) {
  // for (i = 0; i < tid; ++i) { if (i == 11) break; if (i % 3 == 1) continue; sum += i; }
  const auto values = results(control_kernel(R"(
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
  LOOP:
    setp.ge.u32 %p1, %r11, %r1;
    @%p1 bra DONE;
    setp.eq.u32 %p2, %r11, 11;
    @%p2 bra DONE;
    rem.u32 %r12, %r11, 3;
    setp.eq.u32 %p3, %r12, 1;
    @%p3 bra NEXT;
    add.s32 %r10, %r10, %r11;
  NEXT:
    add.s32 %r11, %r11, 1;
    bra.uni LOOP;
  DONE:
    activemask.b32 %r13;
    popc.b32 %r13, %r13;
    mad.lo.s32 %r10, %r13, 1000, %r10;
    st.global.u32 [%rd1], %r10;
    ret;
  )"),
                              1, 32);
  for (std::uint32_t t = 0; t < 32; ++t) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < t && i != 11; ++i) sum += i % 3 == 1 ? 0 : i;
    EXPECT_EQ(values[t], sum + 32000) << t;
  }
}

TEST(Divergence, EarlyExitsLeaveTheRestRunning) {
  const auto values = results(control_kernel(R"(
    and.b32 %r10, %r1, 3;
    setp.eq.u32 %p1, %r10, 2;
    mov.u32 %r11, 7;
    @%p1 st.global.u32 [%rd1], %r11;
    @%p1 exit;
    setp.lt.u32 %p2, %r10, 2;
    @%p2 bra LOW;
    mov.u32 %r11, 9;
    st.global.u32 [%rd1], %r11;
    ret;
  LOW:
    activemask.b32 %r12;
    st.global.u32 [%rd1], %r12;
    ret;
  )"),
                              1, 32);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t expected = t % 4 == 2 ? 7 : (t % 4 == 3 ? 9 : 0x33333333U);
    EXPECT_EQ(values[t], expected) << t;
  }
}

TEST(Divergence, IndexedBranches) {
  const auto values = results(control_kernel(R"(
    and.b32 %r10, %r1, 3;
    setp.lt.u32 %p1, %r1, 30;
    mov.u32 %r11, 1;
  TABLE: .branchtargets CASE0, CASE1, CASE2, JOIN;
    @%p1 brx.idx %r10, TABLE;
    mov.u32 %r11, 50;
    bra.uni JOIN;
  CASE0:
    mov.u32 %r11, 10;
    bra.uni JOIN;
  CASE1:
    mov.u32 %r11, 20;
    bra.uni JOIN;
  CASE2:
    mov.u32 %r11, 30;
  JOIN:
    activemask.b32 %r12;
    popc.b32 %r12, %r12;
    mad.lo.s32 %r11, %r12, 1000, %r11;
    st.global.u32 [%rd1], %r11;
    ret;
  )"),
                              1, 32);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t by_case[] = {10, 20, 30, 1};
    EXPECT_EQ(values[t], 32000 + (t >= 30 ? 50 : by_case[t % 4])) << t;
  }
}

// fib(n) by recursion: real calls with a stack in local memory.
const char* const kFibonacci = R"(
.func (.param .b32 result) fib(.param .b32 n)
{
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra BASE;
  sub.s32 %r2, %r1, 1;
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), fib, (a);
    ld.param.b32 %r3, [b];
  }
  sub.s32 %r4, %r1, 2;
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r4;
    call.uni (b), fib, (a);
    ld.param.b32 %r5, [b];
  }
  add.s32 %r6, %r3, %r5;
  st.param.b32 [result], %r6;
  ret;
BASE:
  st.param.b32 [result], %r1;
  ret;
}
)";

std::string fibonacci_kernel(const std::string& mask) {
  return control_kernel(R"(
    and.b32 %r10, %r1, )" + mask +
                            R"(;
    {
      .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r10;
      call.uni (b), fib, (a);
      ld.param.b32 %r11, [b];
    }
    st.global.u32 [%rd1], %r11;
    ret;
  )",
                        kFibonacci);
}

TEST(Calls, RecursionWithDivergentDepths) {
  std::uint32_t fib[16] = {0, 1};
  for (int i = 2; i < 16; ++i) fib[i] = fib[i - 1] + fib[i - 2];
  for (const int optimize : {0, 1}) {
    const auto values = results(fibonacci_kernel("7"), 1, 64, optimize);
    for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(values[t], fib[t % 8]) << t;
  }
}

TEST(Calls, EndlessRecursionOverflowsTheStack) {
  const std::string endless = R"(
.func (.param .b32 result) down(.param .b32 n)
{
  .reg .b32 %r<10>;
  ld.param.u32 %r1, [n];
  add.s32 %r2, %r1, 1;
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), down, (a);
    ld.param.b32 %r3, [b];
  }
  add.s32 %r4, %r3, %r1;
  st.param.b32 [result], %r4;
  ret;
}
)";
  PtxRunner runner(control_kernel(R"(
    {
      .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r1;
      call.uni (b), down, (a);
      ld.param.b32 %r11, [b];
    }
    st.global.u32 [%rd1], %r11;
    ret;
  )",
                                  endless));
  const Address out = runner.device.memory.allocate(128);
  const std::string message = runner.fault_of("kernel", {1, 1, 1}, {32, 1, 1}, {out});
  EXPECT_NE(message.find("error: test: kernel kernel: invalid local write of 4 bytes"), std::string::npos)
      << message;
  EXPECT_NE(message.find("local memory of the thread"), std::string::npos) << message;
}

TEST(Barriers, SharedMemoryIsSeenByOtherWarps) {
  // out[t] = the value that thread 255 - t put into shared memory.
  const auto values = results(control_kernel(R"(
    .shared .align 4 .b8 buffer[1024];
    shl.b32 %r10, %r1, 2;
    mov.u32 %r11, buffer;
    add.s32 %r12, %r11, %r10;
    mul.lo.s32 %r13, %r1, 3;
    st.shared.u32 [%r12], %r13;
    bar.sync 0;
    mov.u32 %r14, 255;
    sub.s32 %r14, %r14, %r1;
    shl.b32 %r14, %r14, 2;
    add.s32 %r14, %r11, %r14;
    ld.shared.u32 %r15, [%r14];
    st.global.u32 [%rd1], %r15;
    ret;
  )"),
                              3, 256);
  for (std::uint32_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 3 * (255 - i % 256)) << i;
}

TEST(Barriers, DivergedLanesJoinBeforeThemWhereEveryExitIsGuarded) {
  // An early return and a loop whose end is the kernel's: both become guarded exits. The lanes of the last
  // warp that write and those that do not must meet at the barrier, or it opens before the writes.
  const auto values = results(control_kernel(R"(
    .shared .align 4 .b8 buffer[400];
    setp.gt.u32 %p1, %r1, 1000;
    @%p1 bra END;
    setp.gt.u32 %p2, %r1, 99;
    @%p2 bra JOIN;
    shl.b32 %r10, %r1, 2;
    mov.u32 %r11, buffer;
    add.s32 %r10, %r11, %r10;
    add.s32 %r12, %r1, 1;
    st.shared.u32 [%r10], %r12;
  JOIN:
    bar.sync 0;
    mov.u32 %r13, 0;
    mov.u32 %r14, 0;
    mov.u32 %r10, buffer;
  LOOP:
    ld.shared.u32 %r12, [%r10];
    add.s32 %r13, %r13, %r12;
    st.global.u32 [%rd1], %r13;
    add.s32 %r10, %r10, 4;
    add.s32 %r14, %r14, 1;
    setp.lt.u32 %p3, %r14, 100;
    @%p3 bra LOOP;
  END:
    ret;
  )"),
                              1, 128);
  for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(values[t], 5050U) << t;
}

TEST(Barriers, ExitedWarpsCountAsArrived) {
  const auto values = results(control_kernel(R"(
    mov.u32 %r10, 1;
    setp.ge.u32 %p1, %r1, 64;
    @%p1 st.global.u32 [%rd1], %r10;
    @%p1 exit;
    bar.sync 0;
    mov.u32 %r10, 2;
    st.global.u32 [%rd1], %r10;
    ret;
  )"),
                              1, 128);
  for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(values[t], t < 64 ? 2U : 1U);
}

TEST(Barriers, ReductionsOverTheBlock) {
  const auto values = results(control_kernel(R"(
    and.b32 %r10, %r1, 7;
    setp.eq.u32 %p1, %r10, 3;
    bar.red.popc.u32 %r11, 0, %p1;
    setp.lt.u32 %p2, %r1, 1000;
    bar.red.and.pred %p3, 0, %p2;
    bar.red.or.pred %p4, 0, !%p2;
    selp.u32 %r12, 1000, 0, %p3;
    selp.u32 %r13, 10000, 0, %p4;
    add.s32 %r11, %r11, %r12;
    add.s32 %r11, %r11, %r13;
    st.global.u32 [%rd1], %r11;
    ret;
  )"),
                              1, 256);
  for (const std::uint32_t value : values) EXPECT_EQ(value, 1032U);
}

// Warps 0 and 1 produce (bar.arrive), warps 2 and 3 consume (bar.sync) on a barrier of 128 threads.
TEST(Barriers, ArriveDoesNotWait) {
  const auto values = results(control_kernel(R"(
    .shared .align 4 .b8 buffer[256];
    mov.u32 %r11, buffer;
    and.b32 %r12, %r1, 63;
    shl.b32 %r12, %r12, 2;
    add.s32 %r12, %r11, %r12;
    setp.ge.u32 %p1, %r1, 64;
    @%p1 bra CONSUME;
    add.s32 %r13, %r1, 500;
    st.shared.u32 [%r12], %r13;
    bar.arrive 1, 128;
    st.global.u32 [%rd1], %r1;
    ret;
  CONSUME:
    bar.sync 1, 128;
    ld.shared.u32 %r14, [%r12];
    st.global.u32 [%rd1], %r14;
    ret;
  )"),
                              1, 128);
  for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(values[t], t < 64 ? t : 500 + t - 64) << t;
}

TEST(Barriers, DeadlockNamesTheBarriers) {
  PtxRunner runner(control_kernel(R"(
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra OTHER;
    bar.sync 1, 64;
    ret;
  OTHER:
    bar.sync 2, 64;
    ret;
  )"));
  const Address out = runner.device.memory.allocate(4 * 128);
  const std::string message = runner.fault_of("kernel", {2, 1, 1}, {64, 1, 1}, {out});
  EXPECT_EQ(
      message.substr(0, message.find(", pc")),
      "error: test: kernel kernel: barrier deadlock in block (0,0,0): 2 of 2 warps wait and none can arrive "
      "any more: warp 0 at barrier 1");
  EXPECT_NE(message.find("warp 1 at barrier 2, pc"), std::string::npos) << message;
}

// Block 0 waits for a flag that the last block sets; blocks in between do nothing.
TEST(Blocks, SpinOnAnotherBlockMakesProgress) {
  const auto values = results(control_kernel(R"(
    mov.u64 %rd3, flag;
    cvta.global.u64 %rd3, %rd3;
    setp.eq.u32 %p1, %r2, 0;
    @!%p1 bra SET;
  SPIN:
    ld.volatile.u32 %r10, [%rd3];
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra SPIN;
    st.global.u32 [%rd1], %r10;
    ret;
  SET:
    atom.global.add.u32 %r11, [%rd3], 5;
    st.global.u32 [%rd1], %r11;
    ret;
  )",
                                             ".global .align 4 .u32 flag;"),
                              4, 32);
  EXPECT_EQ(values[0] % 5, 0U);
  EXPECT_GT(values[0], 0U);
}

TEST(Blocks, EndlessKernelsAreStopped) {
  // It counts its rounds: one that comes back to the same state waits for others, as far as a machine sees.
  PtxRunner runner(
      control_kernel("mov.u32 %r11, 0;\nLOOP:\n  ld.volatile.global.u32 %r10, [%rd1];\n"
                     "  add.u32 %r11, %r11, 1;\n  bra.uni LOOP;\n"));
  const Address out = runner.device.memory.allocate(4 * 64);
  const std::string message = runner.fault_of("kernel", {1, 1, 1}, {32, 1, 1}, {out}, 0, 10000);
  EXPECT_NE(
      message.find(
          "error: test: kernel kernel: endless: warp 0 of block (0,0,0) has executed 10000 instructions"),
      std::string::npos)
      << message;
  EXPECT_TRUE(message.ends_with("; runtime.max_warp_instructions says how many it may")) << message;
}

// A loop that comes back to the same registers without a look at memory is known to be endless long before
// the limit, also when it diverges, calls or takes many instructions.
TEST(Blocks, RepetitionIsProvenEarly) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 60U;
  const auto message = [](const std::string& body) {
    PtxRunner runner(control_kernel(body));
    const Address out = runner.device.memory.allocate(4 * 64);
    return runner.fault_of("kernel", {1, 1, 1}, {32, 1, 1}, {out}, 0, kLimit);
  };
  const std::string once = message("LOOP:\n  bra.uni LOOP;\n");
  EXPECT_NE(
      once.find("error: test: kernel kernel: endless: warp 0 of block (0,0,0) comes back to the same state "
                "every 1 instruction and reads no memory on the way, lanes 0 to 31 at pc "),
      std::string::npos)
      << once;
  EXPECT_NE(message("LOOP:\n  st.global.u32 [%rd1], %r1;\n  red.global.add.u32 [%rd1], 1;\n  bra.uni LOOP;\n")
                .find("every 3 instructions"),
            std::string::npos)
      << "stores do not feed back";
  // The odd lanes never leave; the even ones wait for them.
  const std::string diverged = message(R"(
    and.b32 %r10, %r1, 1;
    setp.eq.u32 %p1, %r10, 1;
  LOOP:
    add.u32 %r11, %r10, 5;
    @%p1 bra LOOP;
    st.global.u32 [%rd1], %r11;
    ret;
  )");
  EXPECT_NE(message("mov.u32 %r10, 0;\nLOOP:\n  add.u32 %r10, %r10, 1;\n  and.b32 %r10, %r10, 127;\n"
                    "  bra.uni LOOP;\n")
                .find("every 384 instructions"),
            std::string::npos);
  EXPECT_NE(diverged.find("every 2 instructions"), std::string::npos) << diverged;
}

TEST(Blocks, ClocksCountCyclesOfInstructionsAndNanoseconds) {
  PtxRunner runner(R"(.visible .entry k(.param .u64 p) {
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p];
    mov.u64 %rd2, %clock64;
    mov.u64 %rd3, %clock64;
    mov.u64 %rd4, %globaltimer;
    st.global.u64 [%rd1], %rd2;
    st.global.u64 [%rd1+8], %rd3;
    st.global.u64 [%rd1+16], %rd4;
    ret;
  })");
  runner.clock = {6, 2.0};
  const Address at = runner.device.memory.allocate(24);
  runner.run("k", {1, 1, 1}, {1, 1, 1}, {at});
  std::vector<std::uint64_t> read(3);
  runner.device.memory.read(at, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read[1], read[0] + 6);
  EXPECT_EQ(read[2], (read[1] + 6) / 2);
}

// Loops that look alike at every turn but may end: by what they read, by the clock, at a barrier, or by a
// counter that comes to its end late.
TEST(Blocks, WaitingIsNotRepetition) {
  const auto values = results(control_kernel(R"(
    mov.u32 %r10, 0;
  COUNT:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 40000;
    @%p1 bra COUNT;
    mov.u64 %rd3, %clock64;
  TIME:
    mov.u64 %rd4, %clock64;
    sub.s64 %rd4, %rd4, %rd3;
    setp.lt.u64 %p2, %rd4, 40000;
    @%p2 bra TIME;
    mov.u64 %rd5, flag;
    cvta.global.u64 %rd5, %rd5;
    setp.ne.u32 %p3, %r2, 0;
    @%p3 bra SET;
  SPIN:
    ld.volatile.u32 %r11, [%rd5];
    setp.eq.u32 %p4, %r11, 0;
    @%p4 bra SPIN;
    add.u32 %r10, %r10, %r11;
    bra.uni END;
  SET:
    mov.u32 %r12, 0;
  LATE:
    add.u32 %r12, %r12, 1;
    setp.lt.u32 %p5, %r12, 20000;
    @%p5 bra LATE;
    st.volatile.u32 [%rd5], 7;
  END:
    st.global.u32 [%rd1], %r10;
    ret;
  )",
                                             ".global .align 4 .u32 flag;"),
                              2, 32, 0, std::uint64_t{1} << 60U);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i < 32 ? 40007U : 40000U) << i;
}

}  // namespace
}  // namespace gpumux::emulator::test
