// State spaces, access widths, atomics, and faults of invalid accesses.
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

// Two pointers, a and b; thread number in %r1; %rd3 = a + 16 * tid, %rd4 = b + 16 * tid.
std::string memory_kernel(const std::string& body, const std::string& declarations = "") {
  return declarations + R"(
.visible .entry kernel(.param .u64 a, .param .u64 b)
{
  .reg .pred %p<10>;
  .reg .b16 %rs<10>;
  .reg .b32 %r<40>;
  .reg .f32 %f<10>;
  .reg .b64 %rd<30>;
  .reg .f64 %fd<10>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 16;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd3, %rd1, %rd3;
)" + body +
         "\n}\n";
}

struct Buffers {
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
};

/// Runs one block on 16 bytes of a and of b for each thread.
Buffers run(const std::string& text, std::uint32_t threads = 64, int optimize = 0, std::uint32_t shared = 0) {
  PtxRunner runner(text, optimize);
  Buffers buffers;
  buffers.a.resize(threads * 4);
  std::iota(buffers.a.begin(), buffers.a.end(), 0x81828380U);
  const Address a = runner.device.upload(buffers.a);
  const Address b = runner.device.memory.allocate(threads * 16);
  runner.run("kernel", {1, 1, 1}, {threads, 1, 1}, {a, b}, shared);
  buffers.a = runner.device.download<std::uint32_t>(a, threads * 4);
  buffers.b = runner.device.download<std::uint32_t>(b, threads * 4);
  return buffers;
}

TEST(Memory, VectorsOfEveryWidth) {
  for (const std::string body :
       {"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3]; st.global.v4.u32 [%rd4], {%r2, %r3, %r4, %r5}; ret;",
        "ld.global.v2.u64 {%rd5, %rd6}, [%rd3]; st.global.v2.u64 [%rd4], {%rd5, %rd6}; ret;",
        "ld.global.v2.f64 {%fd1, %fd2}, [%rd3]; st.global.v2.f64 [%rd4], {%fd1, %fd2}; ret;",
        "ld.global.v2.u32 {%r2, %r3}, [%rd3]; ld.global.v2.f32 {%f1, %f2}, [%rd3+8];"
        "st.global.v2.u32 [%rd4], {%r2, %r3}; st.global.v2.f32 [%rd4+8], {%f1, %f2}; ret;"}) {
    const Buffers buffers = run(memory_kernel(body));
    EXPECT_EQ(buffers.a, buffers.b) << body;
  }
}

TEST(Memory, NarrowLoadsExtendAndNarrowStoresCut) {
  const Buffers buffers = run(memory_kernel(R"(
    ld.global.s8 %r2, [%rd3];
    ld.global.u8 %r3, [%rd3];
    ld.global.s16 %r4, [%rd3+2];
    st.global.u32 [%rd4], %r2;
    st.global.u32 [%rd4+4], %r3;
    st.global.u32 [%rd4+8], %r4;
    mov.u32 %r5, 0x12345678;
    st.global.u8 [%rd4+12], %r5;
    st.global.u16 [%rd4+14], %r5;
    ret;
  )"));
  for (std::uint32_t t = 0; t < 64; ++t) {
    const std::uint32_t value = 0x81828380U + 4 * t;
    EXPECT_EQ(buffers.b[4 * t], static_cast<std::uint32_t>(std::int32_t{static_cast<std::int8_t>(value)}));
    EXPECT_EQ(buffers.b[4 * t + 1], value & 0xffU);
    EXPECT_EQ(buffers.b[4 * t + 2],
              static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(value >> 16U)}));
    EXPECT_EQ(buffers.b[4 * t + 3], 0x56780078U);
  }
}

TEST(Memory, LocalArraysAreOfTheThread) {
  for (const int optimize : {0, 1}) {
    const Buffers buffers = run(memory_kernel(R"(
    .local .align 8 .b8 frame[64];
    mov.u64 %rd5, frame;
    cvta.local.u64 %rd6, %rd5;
    and.b32 %r2, %r1, 15;
    mul.wide.u32 %rd7, %r2, 4;
    add.s64 %rd8, %rd5, %rd7;
    add.s64 %rd9, %rd6, %rd7;
    add.s32 %r3, %r1, 900;
    st.local.u32 [%rd8], %r3;
    ld.u32 %r4, [%rd9];
    st.global.u32 [%rd4], %r4;
    ld.global.u64 %rd10, [%rd3];
    st.local.u64 [frame+8], %rd10;
    ld.local.u64 %rd11, [%rd5+8];
    ld.local.u8 %r5, [frame+9];
    st.global.u32 [%rd4+4], %r5;
    ret;
  )"),
                                64, optimize);
    for (std::uint32_t t = 0; t < 64; ++t) {
      EXPECT_EQ(buffers.b[4 * t], 900 + t);
      EXPECT_EQ(buffers.b[4 * t + 1], (0x81828380U + 4 * t) >> 8U & 0xffU);
    }
  }
}

TEST(Memory, GenericAddressesReachEverySpace) {
  // Lane 0 mod 4: global, 1: shared, 2: local, 3: constant, all by one load.
  const Buffers buffers = run(memory_kernel(R"(
    .shared .align 8 .b8 tile[512];
    .local .align 4 .b8 frame[16];
    mov.u64 %rd5, tile;
    cvta.shared.u64 %rd5, %rd5;
    mul.wide.u32 %rd6, %r1, 8;
    add.s64 %rd5, %rd5, %rd6;
    add.s32 %r2, %r1, 1000;
    st.u32 [%rd5], %r2;
    mov.u64 %rd7, frame;
    cvta.local.u64 %rd7, %rd7;
    add.s32 %r3, %r1, 2000;
    st.u32 [%rd7], %r3;
    mov.u64 %rd8, table;
    cvta.const.u64 %rd8, %rd8;
    and.b32 %r4, %r1, 3;
    mov.u64 %rd9, %rd3;
    setp.eq.u32 %p1, %r4, 1;
    selp.b64 %rd9, %rd5, %rd9, %p1;
    setp.eq.u32 %p2, %r4, 2;
    selp.b64 %rd9, %rd7, %rd9, %p2;
    setp.eq.u32 %p3, %r4, 3;
    selp.b64 %rd9, %rd8, %rd9, %p3;
    ld.u32 %r5, [%rd9];
    st.global.u32 [%rd4], %r5;
    isspacep.shared %p4, %rd9;
    selp.u32 %r6, 1, 0, %p4;
    isspacep.local %p5, %rd9;
    selp.u32 %r7, 2, 0, %p5;
    add.s32 %r6, %r6, %r7;
    isspacep.global %p6, %rd9;
    selp.u32 %r7, 4, 0, %p6;
    add.s32 %r6, %r6, %r7;
    st.global.u32 [%rd4+4], %r6;
    ret;
  )",
                                            ".const .align 4 .u32 table[4] = {77, 78, 79, 80};"));
  for (std::uint32_t t = 0; t < 64; ++t) {
    const std::uint32_t expected[] = {0x81828380U + 4 * t, 1000 + t, 2000 + t, 77};
    const std::uint32_t space[] = {4, 1, 2, 0};
    EXPECT_EQ(buffers.b[4 * t], expected[t % 4]) << t;
    EXPECT_EQ(buffers.b[4 * t + 1], space[t % 4]) << t;
  }
}

// What a compiler makes of a __grid_constant__ structure whose address is taken: a generic pointer into the
// parameters, by which some lanes read them while others read other spaces.
TEST(Memory, ParametersHaveGenericAddresses) {
  for (const int optimize : {0, 1, 2}) {
    PtxRunner runner(R"(
.visible .entry kernel(.param .u64 out, .param .align 8 .b8 data[80])
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [out];
  mov.b64 %rd2, data;
  cvta.param.u64 %rd3, %rd2;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 16;
  add.s64 %rd4, %rd1, %rd4;
  and.b32 %r2, %r1, 7;
  mul.wide.u32 %rd5, %r2, 8;
  add.s64 %rd6, %rd3, %rd5;
  ld.u32 %r3, [%rd6+8];
  st.global.u32 [%rd4], %r3;
  ld.u64 %rd7, [%rd3];
  cvta.to.param.u64 %rd8, %rd6;
  ld.param.u32 %r4, [%rd8+8];
  st.global.u32 [%rd4+4], %r4;
  and.b32 %r5, %r1, 1;
  setp.eq.u32 %p1, %r5, 0;
  selp.b64 %rd9, %rd6, %rd7, %p1;
  ld.u32 %r6, [%rd9];
  st.global.u32 [%rd4+8], %r6;
  isspacep.param %p2, %rd9;
  selp.u32 %r7, 1, 0, %p2;
  st.global.u32 [%rd4+12], %r7;
  ret;
}
)",
                     optimize);
    const Address out = runner.device.memory.allocate(32 * 16);
    const Address other = runner.device.upload(std::vector<std::uint32_t>{4321});
    std::vector<std::uint64_t> parameters = {out, other};
    for (std::uint64_t i = 1; i < 10; ++i) parameters.push_back(100 + i);
    runner.run("kernel", {1, 1, 1}, {32, 1, 1}, parameters);
    const auto result = runner.device.download<std::uint32_t>(out, 32 * 4);
    for (std::uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(result[4 * t], 101 + t % 8) << t;
      EXPECT_EQ(result[4 * t + 1], 101 + t % 8) << t;
      const std::uint32_t own =
          t % 8 == 0 ? static_cast<std::uint32_t>(other) : static_cast<std::uint32_t>(100 + t % 8);
      EXPECT_EQ(result[4 * t + 2], t % 2 == 0 ? own : 4321U) << t;
      EXPECT_EQ(result[4 * t + 3], t % 2 == 0 ? 1U : 0U) << t;
    }
  }
}

// A load of fewer bits than its register has extends by its type; every reader of a 16-bit register sees 16
// bits, whatever the load left above them.
TEST(Memory, NarrowSignedLoadsReadAsTheirRegistersWidth) {
  for (const int optimize : {0, 1, 2}) {
    const std::string head =
        "mul.wide.u32 %rd5, %r1, 16; ld.global.s8 %rs1, [%rd3]; ld.global.s8 %r2, [%rd3]; ld.global.u8 %r3, "
        "[%rd3];"
        "ld.global.s8 %rd6, [%rd3];";
    const auto values = [&](const std::string& body) {
      return run(memory_kernel(head + body + "ret;"), 64, optimize).b;
    };
    const auto wide = values(
        "cvt.u32.u16 %r4, %rs1; cvt.s32.s16 %r5, %rs1; mov.b32 %r6, {%rs1, %rs1};"
        "cvt.u32.u64 %r7, %rd6; st.global.v4.u32 [%rd4], {%r4, %r5, %r6, %r7};");
    const auto steps = values(
        "shr.u16 %rs2, %rs1, 1; cvt.u32.u16 %r4, %rs2; shr.s16 %rs3, %rs1, 1;"
        "cvt.u32.u16 %r5, %rs3; mov.b16 %rs4, %rs1; cvt.u32.u16 %r6, %rs4;"
        "mul.wide.u16 %r7, %rs1, 2; st.global.v4.u32 [%rd4], {%r4, %r5, %r6, %r7};");
    const auto tests = values(
        "setp.eq.u16 %p1, %rs1, 0xff80; selp.u32 %r4, 1, 0, %p1;"
        "setp.gt.u16 %p2, %rs1, 0x7fff; selp.u32 %r5, 1, 0, %p2; not.b16 %rs2, %rs1;"
        "cvt.u32.u16 %r6, %rs2; selp.b16 %rs3, %rs1, %rs2, %p2; cvt.rn.f32.u16 %f1, %rs3;"
        "st.global.v2.u32 [%rd4], {%r4, %r5}; st.global.u32 [%rd4+8], %r6;"
        "st.global.f32 [%rd4+12], %f1;");
    const auto more = values(
        "and.b16 %rs2, %rs1, %rs1; cvt.u32.u16 %r4, %rs2; min.u16 %rs3, %rs1, 0xfff0;"
        "cvt.u32.u16 %r5, %rs3; div.u16 %rs4, %rs1, 3; cvt.u32.u16 %r6, %rs4;"
        "mad.wide.u16 %r7, %rs1, %rs1, %r2;"
        "st.global.v4.u32 [%rd4], {%r4, %r5, %r6, %r7};");
    const auto stored = values(
        "st.global.u16 [%rd4], %rs1; st.global.u8 [%rd4+2], %rs1; st.global.u32 [%rd4+4], %r2;"
        "st.global.u32 [%rd4+8], %r3; cvt.u64.u16 %rd7, %rs1; cvt.u32.u64 %r4, %rd7;"
        "st.global.u32 [%rd4+12], %r4;");
    for (std::uint32_t t = 0; t < 64; ++t) {
      const std::uint32_t byte = (0x80U + 4 * t) & 0xffU;
      const auto extended = static_cast<std::uint32_t>(std::int32_t{static_cast<std::int8_t>(byte)});
      const std::uint32_t half = extended & 0xffffU;
      EXPECT_EQ(wide[4 * t], half) << t;
      EXPECT_EQ(wide[4 * t + 1], extended) << t;
      EXPECT_EQ(wide[4 * t + 2], half << 16U | half) << t;
      EXPECT_EQ(wide[4 * t + 3], extended) << t;
      EXPECT_EQ(steps[4 * t], half >> 1U) << t;
      EXPECT_EQ(steps[4 * t + 1],
                static_cast<std::uint32_t>(static_cast<std::int32_t>(extended) >> 1) & 0xffffU)
          << t;
      EXPECT_EQ(steps[4 * t + 2], half) << t;
      EXPECT_EQ(steps[4 * t + 3], half * 2) << t;
      EXPECT_EQ(tests[4 * t], half == 0xff80U ? 1U : 0U) << t;
      EXPECT_EQ(tests[4 * t + 1], half > 0x7fffU ? 1U : 0U) << t;
      EXPECT_EQ(tests[4 * t + 2], ~half & 0xffffU) << t;
      const std::uint32_t chosen = half > 0x7fffU ? half : ~half & 0xffffU;
      EXPECT_EQ(tests[4 * t + 3], std::bit_cast<std::uint32_t>(static_cast<float>(chosen))) << t;
      EXPECT_EQ(more[4 * t], half) << t;
      EXPECT_EQ(more[4 * t + 1], std::min(half, 0xfff0U)) << t;
      EXPECT_EQ(more[4 * t + 2], half / 3) << t;
      EXPECT_EQ(more[4 * t + 3], half * half + extended) << t;
      EXPECT_EQ(stored[4 * t], byte << 16U | half) << t;
      EXPECT_EQ(stored[4 * t + 1], extended) << t;
      EXPECT_EQ(stored[4 * t + 2], byte) << t;
      EXPECT_EQ(stored[4 * t + 3], half) << t;
    }
  }
}

TEST(Memory, DynamicSharedMemoryFollowsTheStatic) {
  const Buffers buffers = run(memory_kernel(R"(
    .shared .align 4 .b8 fixed[20];
    mov.u32 %r2, fixed;
    mov.u32 %r3, extra;
    sub.s32 %r4, %r3, %r2;
    st.global.u32 [%rd4], %r4;
    shl.b32 %r5, %r1, 2;
    add.s32 %r5, %r5, %r3;
    st.shared.u32 [%r5], %r1;
    mov.u32 %r6, %dynamic_smem_size;
    st.global.u32 [%rd4+4], %r6;
    ret;
  )",
                                            ".extern .shared .align 16 .b8 extra[];"),
                              64, 0, 256);
  EXPECT_EQ(buffers.b[0], 32U);  // 20 rounded up to 16 bytes
  EXPECT_EQ(buffers.b[1], 256U);
}

TEST(Memory, InitialisedSymbolsAndConstants) {
  PtxRunner runner(memory_kernel(R"(
    ld.const.u32 %r2, [table+4];
    ld.global.u64 %rd5, [pointer];
    ld.u32 %r3, [%rd5];
    st.global.u32 [%rd4], %r2;
    st.global.u32 [%rd4+4], %r3;
    ret;
  )",
                                 R"(
.const .align 4 .u32 table[3] = {5, 6, 7};
.global .align 4 .u32 values[2] = {40, 41};
.global .align 8 .u64 pointer[1] = {generic(values)+4};
)"));
  const Address b = runner.device.memory.allocate(512);
  runner.run("kernel", {1, 1, 1}, {1, 1, 1}, {b, b});
  EXPECT_EQ(runner.device.download<std::uint32_t>(b, 2), (std::vector<std::uint32_t>{6, 41}));
  const std::uint32_t nine = 9;
  runner.module().write_const("table", 4, std::as_bytes(std::span(&nine, 1)));
  const Address values = runner.module().global_address("values");
  EXPECT_NE(values, 0U);
  const std::uint32_t other = 99;
  runner.device.memory.write(values + 4, std::as_bytes(std::span(&other, 1)));
  runner.run("kernel", {1, 1, 1}, {1, 1, 1}, {b, b});
  EXPECT_EQ(runner.device.download<std::uint32_t>(b, 2), (std::vector<std::uint32_t>{9, 99}));
  EXPECT_THROW(runner.module().write_const("table", 12, std::as_bytes(std::span(&nine, 1))), SimulationFault);
  EXPECT_THROW(runner.module().write_const("nothing", 0, {}), UserError);
  EXPECT_EQ(runner.module().global_address("nothing"), 0U);
}

TEST(Atomics, LanesGoInOrder) {
  const Buffers buffers =
      run(memory_kernel("atom.global.add.u32 %r2, [%rd1], 3; st.global.u32 [%rd4], %r2; ret;"));
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(buffers.b[4 * t], 0x81828380U + 3 * t);
  EXPECT_EQ(buffers.a[0], 0x81828380U + 3 * 64);
}

/// What 32 lanes leave in memory that began as `start`, each with the operand lane + 1.
std::uint64_t after(const std::string& op, std::uint64_t start, const std::string& operand = "%rd10") {
  PtxRunner runner(
      memory_kernel("cvt.u64.u32 %rd10, %r1; add.s64 %rd10, %rd10, 1; cvt.u32.u64 %r10, %rd10;"
                    "cvt.rn.f32.u32 %f1, %r10; cvt.rn.f64.u32 %fd1, %r10;" +
                    op + " [%rd1], " + operand + "; ret;"));
  const Address a = runner.device.upload(std::vector<std::uint64_t>{start});
  runner.run("kernel", {1, 1, 1}, {32, 1, 1}, {a, a});
  return runner.device.download<std::uint64_t>(a, 1)[0];
}

TEST(Atomics, EveryOperation) {
  EXPECT_EQ(after("red.global.add.u64", 10), 10U + 528U);
  EXPECT_EQ(after("red.global.min.u32", 17, "%r10"), 1U);
  EXPECT_EQ(after("red.global.max.s32", 17, "%r10"), 32U);
  EXPECT_EQ(after("red.global.max.s32", 0xfffffff0U, "%r10"), 32U);
  EXPECT_EQ(after("red.global.max.u32", 0xfffffff0U, "%r10"), 0xfffffff0U);
  EXPECT_EQ(after("red.global.min.s64", 5), 1U);
  EXPECT_EQ(after("red.global.or.b32", 64, "%r10"), 127U);
  EXPECT_EQ(after("red.global.and.b32", 0xff, "%r10"), 0U);
  EXPECT_EQ(after("red.global.xor.b64", 0), 32U);
  EXPECT_EQ(after("red.global.inc.u32", 0, "10"), 10U);  // 0..10, then round again: 32 mod 11
  EXPECT_EQ(after("red.global.dec.u32", 3, "7"), 3U);    // 3 2 1 0 7 6 ...: a cycle of 8
  EXPECT_EQ(after("atom.global.exch.b32 %r11,", 3, "%r10"), 32U);
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(after("red.global.add.f32", 0, "%f1"))), 528.0F);
  EXPECT_EQ(std::bit_cast<double>(after("red.global.add.f64", 0, "%fd1")), 528.0);
  EXPECT_EQ(after("atom.global.cas.b32 %r11,", 1, "1, %r10"), 2U);  // lane 0 puts 1 again, lane 1 puts 2
  EXPECT_EQ(after("atom.global.cas.b64 %rd11,", 5, "5, %rd10"), 1U);
  EXPECT_EQ(after("mov.b32 %r20, 0x3c003800; red.global.add.noftz.f16x2", 0, "%r20"),
            0x50004c00U);  // 32 and 16
}

TEST(Atomics, SharedAndGeneric) {
  const Buffers buffers = run(memory_kernel(R"(
    .shared .align 4 .b8 count[8];
    mov.u32 %r2, count;
    atom.shared.add.u32 %r3, [%r2], 1;
    mov.u64 %rd5, count;
    cvta.shared.u64 %rd5, %rd5;
    atom.add.u32 %r4, [%rd5+4], 2;
    bar.sync 0;
    ld.shared.v2.u32 {%r5, %r6}, [count];
    st.global.v2.u32 [%rd4], {%r5, %r6};
    ret;
  )"));
  EXPECT_EQ(buffers.b[0], 64U);
  EXPECT_EQ(buffers.b[1], 128U);
}

std::string fault_of(const std::string& body, std::uint32_t threads = 32,
                     const std::string& declarations = "") {
  PtxRunner runner(memory_kernel(body, declarations));
  const Address a = runner.device.memory.allocate(512);
  const std::string message = runner.fault_of("kernel", {1, 1, 1}, {threads, 1, 1}, {a, a});
  std::string text = message;
  // Addresses and places vary with the text; keep what a user reads first.
  return text.substr(0, text.find(", pc "));
}

TEST(Faults, EveryKindIsOneLine) {
  EXPECT_EQ(
      fault_of("ld.global.u32 %r2, [%rd3+2]; st.global.u32 [%rd4], %r2; ret;"),
      "error: test: kernel kernel: misaligned global read of 4 bytes at 0x10000001002 (the address must be a "
      "multiple of 4), thread (0,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of("st.global.u32 [%rd3+500], %r1; ret;"),
            "error: test: kernel kernel: invalid global write of 4 bytes at 0x10000001204 (4 bytes after the "
            "end of the "
            "allocation of 512 bytes at 0x10000001000), thread (1,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of("mov.u64 %rd5, 0; ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd4], %r2; ret;"),
            "error: test: kernel kernel: invalid global read of 4 bytes at 0x0 (a null pointer), thread "
            "(0,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of(".shared .align 4 .b8 s[64]; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.s32 %r2, %r2, %r3;"
                     "st.shared.u32 [%r2], %r1; ret;"),
            "error: test: kernel kernel: invalid shared write of 4 bytes at 0x40 (just after the end of "
            "the shared "
            "memory of the block, 64 bytes), thread (16,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of("atom.global.add.u32 %r2, [%rd3+512], 1; st.global.u32 [%rd4], %r2; ret;", 1),
            "error: test: kernel kernel: invalid global atomic access of 4 bytes at 0x10000001200 (just "
            "after the end "
            "of the allocation of 512 bytes at 0x10000001000), thread (0,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of("setp.eq.u32 %p1, %r1, 5; @%p1 trap; ret;"),
            "error: test: kernel kernel: trap, thread (5,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of("mov.b64 %rd5, b; cvta.param.u64 %rd6, %rd5; st.u32 [%rd6], %r1; ret;"),
            "error: test: kernel kernel: write to the kernel's parameters, thread (0,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of("mov.b64 %rd5, b; cvta.param.u64 %rd6, %rd5; ld.u32 %r2, [%rd6+8];"
                     "st.global.u32 [%rd4], %r2; ret;"),
            "error: test: kernel kernel: invalid constant read of 4 bytes at 0x10 (just after the end of the "
            "kernel's parameters, 16 bytes), thread (0,0,0) of block (0,0,0)");
  EXPECT_NE(fault_of("mov.b64 %rd5, b; cvta.param.u64 %rd6, %rd5; atom.add.u32 %r2, [%rd6], 1;"
                     "st.global.u32 [%rd4], %r2; ret;"),
            "");
  // The last bytes of the address space must not wrap around into an allocation.
  EXPECT_NE(fault_of("mov.u64 %rd5, -4; ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd4], %r2; ret;"), "");
}

TEST(Faults, DivisionByZeroIsNone) {
  const Buffers buffers = run(memory_kernel(R"(
    mov.u32 %r2, 0;
    div.u32 %r3, %r1, %r2;
    rem.s32 %r4, %r1, %r2;
    st.global.v2.u32 [%rd4], {%r3, %r4};
    ret;
  )"));
  EXPECT_EQ(buffers.b[0], 0xffffffffU);
  EXPECT_EQ(buffers.b[1], 0xffffffffU);
}

TEST(DeviceMemory, AllocationsAreBoundedAlignedAndZero) {
  workload::DeviceMemory memory(2);
  const Address a = memory.allocate(100);
  const Address b = memory.allocate(1);
  EXPECT_EQ(a % 256, 0U);
  EXPECT_EQ(a >> 40U, 3U);
  EXPECT_GE(b, a + 100);
  EXPECT_TRUE(memory.valid(a, 100));
  EXPECT_FALSE(memory.valid(a, 101));
  EXPECT_FALSE(memory.valid(a + 100, 1));
  EXPECT_FALSE(memory.valid(a - 1, 1));
  EXPECT_FALSE(memory.valid(~Address{0} - 3, 4));
  EXPECT_EQ(memory.allocate(0), 0U);
  memory.fill(a, std::byte{7}, 100);
  memory.free(a);
  EXPECT_FALSE(memory.valid(a, 1));
  const Address again = memory.allocate(100);
  EXPECT_EQ(again, a);
  std::byte first{1};
  memory.read(again, std::span(&first, 1));
  EXPECT_EQ(first, std::byte{0});
  EXPECT_THROW(memory.free(a + 1), SimulationFault);
  EXPECT_THROW(memory.allocate(std::uint64_t{1} << 60U), SimulationFault);
  EXPECT_THROW(memory.fill(again, std::byte{0}, 101), SimulationFault);
  memory.free_all();
  EXPECT_EQ(memory.allocated_bytes(), 0U);
}

}  // namespace
}  // namespace gpumux::emulator::test
