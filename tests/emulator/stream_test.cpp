// The emulator's output for the machine: records, coalescing, bank conflicts and lazy refilling. And
// launches.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "emulator/addresses.hpp"
#include "emulator/ptx_runner.hpp"
#include "workload/shared_banks.hpp"

namespace gpumux::emulator::test {
namespace {

using workload::MemHeader;
using workload::Transaction;

struct Access {
  std::uint32_t pc;
  LaneMask active;
  MemHeader header;
  std::vector<Transaction> lines;
};

/// Runs block 0 to its end, one warp after the other, taking `wanted` records at a time.
std::vector<std::vector<Access>> consume(workload::KernelSource& source, std::uint32_t wanted) {
  const auto block = source.begin_block(0, 0, 0, 0);
  const auto& table = source.static_table();
  std::vector<std::vector<Access>> all(block->warps());
  bool live = true;
  while (live) {
    live = false;
    for (std::uint32_t w = 0; w < block->warps(); ++w) {
      workload::WarpStream& stream = block->stream(w);
      if (stream.available() < wanted && !stream.finished) block->refill(w, wanted);
      for (std::uint32_t n = 0; n < wanted && stream.next != stream.end; ++n, ++stream.next) {
        Access access{stream.next->pc, stream.next->active, {}, {}};
        if (table[access.pc].unit == isa::Unit::Memory) {
          access.header = std::bit_cast<MemHeader>(*stream.mem_next++);
          for (unsigned i = 0; i < access.header.transactions; ++i)
            access.lines.push_back({*stream.mem_next++});
        }
        all[w].push_back(access);
      }
      live = live || !stream.finished || stream.available() != 0;
    }
  }
  return all;
}

/// One warp loads 4 bytes at base + (lane * stride) mod wrap.
Access load_with_stride(std::uint64_t stride, std::uint32_t shift, Type type = Type::U32,
                        LaneMask lanes = kAllLanes) {
  KernelBuilder k;
  k.add(Opcode::Mov, Type::U32, {r(0)}, {sreg(Special::LaneId)});
  k.add(Opcode::MulWide, Type::U32, {rd(0)}, {r(0), imm(stride)});
  k.add(Opcode::Add, Type::U64, {rd(0)}, {rd(0), param(0)});
  k.add(Opcode::Shl, Type::B32, {r(1)}, {imm(1), r(0)});
  k.add(Opcode::And, Type::B32, {r(1)}, {r(1), imm(lanes)});
  k.add(Opcode::Setp, Type::U32, {p(0)}, {r(1), imm(0)}).compare = isa::Compare::NE;
  Instruction& load = k.load(Space::Global, type, isa::width_bits(type) == 64 ? rd(1) : r(2), rd(0), shift);
  load.guard = p(0);
  k.exit();
  Device device;
  const Address a = device.memory.allocate(1U << 20U);
  const auto source = device.launch(k, {1, 1, 1}, {32, 1, 1}, {a});
  return consume(*source, 8)[0][6];
}

TEST(Coalescing, ConsecutiveWordsAreOneLine) {
  const Access access = load_with_stride(4, 0);
  ASSERT_EQ(access.header.transactions, 1);
  EXPECT_EQ(access.header.where, MemHeader::Where::Global);
  EXPECT_EQ(access.lines[0].sectors(), 0xfU);
  EXPECT_EQ(access.lines[0].lanes(), 32U);
  EXPECT_EQ(access.lines[0].line(), ((Address{1} << 40U) + 4096) / 128);
}

TEST(Coalescing, AShiftCrossesIntoTheNextLine) {
  const Access access = load_with_stride(4, 64);
  ASSERT_EQ(access.header.transactions, 2);
  EXPECT_EQ(access.lines[0].sectors(), 0xcU);
  EXPECT_EQ(access.lines[0].lanes(), 16U);
  EXPECT_EQ(access.lines[1].sectors(), 0x3U);
  EXPECT_EQ(access.lines[1].line(), access.lines[0].line() + 1);
}

TEST(Coalescing, StridesBroadcastsAndPartialWarps) {
  EXPECT_EQ(load_with_stride(8, 0).header.transactions, 2);
  const Access apart = load_with_stride(132, 0);
  ASSERT_EQ(apart.header.transactions, 32);
  EXPECT_EQ(apart.lines[31].lanes(), 1U);
  EXPECT_EQ(apart.lines[31].sectors(), 1U << (31 * 132 / 32 % 4));
  const Access one = load_with_stride(0, 32);
  ASSERT_EQ(one.header.transactions, 1);
  EXPECT_EQ(one.lines[0].lanes(), 32U);
  EXPECT_EQ(one.lines[0].sectors(), 2U);
  const Access doubles = load_with_stride(8, 0, Type::U64);
  ASSERT_EQ(doubles.header.transactions, 2);
  EXPECT_EQ(doubles.lines[1].lanes(), 16U);
  const Access some = load_with_stride(4, 0, Type::U32, 0x80000100U);
  ASSERT_EQ(some.header.transactions, 1);
  EXPECT_EQ(some.active, 0x80000100U);
  EXPECT_EQ(some.lines[0].lanes(), 2U);
  EXPECT_EQ(some.lines[0].sectors(), 0xaU);
  const Access none = load_with_stride(4, 0, Type::U32, 0);
  EXPECT_EQ(none.active, 0U);
  EXPECT_EQ(none.header.transactions, 0);
  EXPECT_EQ(none.header.where, MemHeader::Where::None);
}

u32 passes(std::uint64_t stride, std::uint32_t bytes, bool atomic = false, LaneMask lanes = kAllLanes) {
  std::uint64_t addresses[32];
  for (std::uint64_t lane = 0; lane < 32; ++lane) addresses[lane] = lane * stride;
  return workload::shared_passes(addresses, lanes, bytes, atomic);
}

TEST(BankConflicts, CountDistinctWordsPerBank) {
  EXPECT_EQ(passes(4, 4), 1U);
  EXPECT_EQ(passes(0, 4), 1U);  // broadcast
  EXPECT_EQ(passes(8, 4), 2U);
  EXPECT_EQ(passes(64, 4), 16U);
  EXPECT_EQ(passes(128, 4), 32U);
  EXPECT_EQ(passes(132, 4), 1U);  // padded column
  EXPECT_EQ(passes(1, 1), 1U);    // four lanes share a word
  EXPECT_EQ(passes(8, 8), 2U);    // a half warp at a time
  EXPECT_EQ(passes(16, 16), 4U);
  EXPECT_EQ(passes(0, 4, true), 32U);  // atomics on one word
  EXPECT_EQ(passes(4, 4, true), 1U);
  EXPECT_EQ(passes(128, 4, false, 0x7U), 3U);
}

/// As the rule says it.
u32 counted_passes(const std::uint64_t* addresses, LaneMask lanes, u32 bytes, bool atomic, u32 banks) {
  const u32 part = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  u32 passes = 0;
  for (u32 first = 0; first < 32; first += part) {
    std::map<u32, std::multiset<std::uint64_t>> words;  // by bank
    for (u32 lane = first; lane < first + part; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      for (u32 byte = 0; byte < std::max(bytes, 4U); byte += 4) {
        const std::uint64_t word = (addresses[lane] + byte) / 4;
        std::multiset<std::uint64_t>& of_bank = words[static_cast<u32>(word % banks)];
        if (atomic || of_bank.count(word) == 0) of_bank.insert(word);
      }
    }
    std::size_t most = 0;
    for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
    passes += static_cast<u32>(most);
  }
  return passes;
}

TEST(BankConflicts, AreThoseOfTheRule) {
  std::mt19937 random(5);
  const auto below = [&](u32 n) { return static_cast<u32>(random() % n); };
  for (int i = 0; i < 20000; ++i) {
    const u32 banks = 8U << below(3);
    const u32 bytes = 1U << below(5);
    const bool atomic = below(6) == 0;
    const LaneMask lanes = below(2) == 0 ? kAllLanes : static_cast<LaneMask>(random());
    const u32 base =
        below(64) * (below(4) == 0 ? 4 : bytes);  // a trace's need not be multiples of their size
    const u32 range = 1U << below(6);
    const u32 stride = below(40);
    const u32 pattern = below(3);
    std::uint64_t addresses[32];
    for (u32 lane = 0; lane < 32; ++lane) {
      const u32 element = pattern == 0 ? below(range) : pattern == 1 ? lane * stride : lane / range;
      addresses[lane] = base + element * bytes;
    }
    ASSERT_EQ(workload::shared_passes(addresses, lanes, bytes, atomic, banks),
              counted_passes(addresses, lanes, bytes, atomic, banks))
        << i << ": " << bytes << " bytes, " << banks << " banks, pattern " << pattern << ", range " << range;
  }
}

/// Records that a warp has after a refill, when its kernel repeats `body` for long; its only instruction that
/// may show how far other warps are.
std::uint32_t ahead(const std::string& body) {
  PtxRunner runner(R"(
.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .entry kernel(.param .u64 data)
{
  .shared .align 8 .b32 words[64];
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [data];
  mov.u64 %rd2, words;
LOOP:
)" + body + R"(
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 4000;
  @%p1 bra LOOP;
  ret;
}
)");
  const Address data = runner.device.memory.allocate(4096);
  const auto source = runner.launch("kernel", {2, 1, 1}, {64, 1, 1}, {data});
  const auto block = source->begin_block(0, 0, 0, 0);
  workload::WarpStream& stream = block->stream(0);
  block->refill(0, 9);
  const std::uint32_t most = stream.available();
  stream.next += most / 2;
  block->refill(0, 9);
  EXPECT_EQ(stream.available(), most / 2) << "is left until it has less than half";
  return most;
}

TEST(Stream, IsLongWhereWarpsMeetAtBarriersAlone) {
  for (const char* body :
       {"add.u32 %r2, %r2, %r1;", "ld.global.u32 %r2, [%rd1];", "st.global.u32 [%rd1], %r2;", "bar.sync 0;",
        "ld.global.nc.u32 %r2, [%rd1];", "red.global.add.u32 [%rd1], 1;", "red.shared.add.u32 [words], 1;",
        "ld.shared.u32 %r2, [words];"})
    EXPECT_EQ(ahead(body), 512U) << body;
}

// A warp that waits for what another writes would wait for as many records as it is ahead.
TEST(Stream, IsShortWhereWarpsMayWaitForEachOther) {
  for (const char* body : {"ld.volatile.global.u32 %r2, [%rd1];",
                           "st.volatile.global.u32 [%rd1], %r2;",
                           "ld.volatile.u32 %r2, [%rd1];",
                           "ld.volatile.shared.u32 %r2, [words];",
                           "ld.relaxed.gpu.global.u32 %r2, [%rd1];",
                           "ld.relaxed.cta.global.u32 %r2, [%rd1];",
                           "ld.relaxed.cta.shared.u32 %r2, [words];",
                           "st.relaxed.cta.shared.u32 [words], %r2;",
                           "atom.shared.add.u32 %r2, [words], 1;",
                           "membar.cta;",
                           "fence.acq_rel.cta;",
                           "ld.acquire.gpu.global.u32 %r2, [%rd1];",
                           "st.release.gpu.global.u32 [%rd1], %r2;",
                           "ld.global.cv.u32 %r2, [%rd1];",
                           "ld.global.cg.u32 %r2, [%rd1];",
                           "atom.global.add.u32 %r2, [%rd1], 1;",
                           "atom.add.u32 %r2, [%rd1], 1;",
                           "atom.shared.cas.b32 %r2, [words], 0, 1;",
                           "atom.shared.exch.b32 %r2, [words], 1;",
                           "red.release.gpu.global.add.u32 [%rd1], 1;",
                           "membar.gl;",
                           "fence.acq_rel.gpu;",
                           "membar.sys;"})
    EXPECT_EQ(ahead(body), 192U) << body;
  EXPECT_EQ(ahead("{ .param .b64 n; .param .b64 r; st.param.b64 [n], 16; call.uni (r), malloc, (n);"
                  " ld.param.b64 %rd3, [r]; }"),
            192U);
}

/// Records of a warp that 8000 times does `body`, after a refill of the other, which waits for it at a
/// barrier.
std::uint32_t awaited(const std::string& body) {
  PtxRunner runner(R"(
.visible .entry kernel(.param .u64 data)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 128;
  add.s64 %rd2, %rd2, %rd1;
  setp.lt.u32 %p2, %r2, 32;
  @%p2 bra MEET;
LOOP:
)" + body + R"(
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 8000;
  @%p1 bra LOOP;
MEET:
  bar.sync 0;
  ret;
}
)");
  const Address data = runner.device.memory.allocate(1U << 16U);
  const auto source = runner.launch("kernel", {1, 1, 1}, {64, 1, 1}, {data});
  const auto block = source->begin_block(0, 0, 0, 0);
  block->refill(0, 9);
  return block->stream(1).available();
}

TEST(Stream, OfAWarpThatOthersWaitForIsBounded) {
  EXPECT_EQ(awaited("add.u32 %r3, %r3, %r1;"), 4096U);
  EXPECT_EQ(awaited("ld.volatile.global.u32 %r3, [%rd2];"), 512U);
  // 33 words for each store, one instruction of four.
  const std::uint32_t scattered = awaited("st.global.u32 [%rd2], %r3;");
  EXPECT_GE(scattered, 4 * 4096U / 33);
  EXPECT_LT(scattered, 4 * 4096U / 33 + 192);
}

TEST(Stream, LocalMemoryIsInterleavedByWarp) {
  KernelBuilder k;
  k.function.local_bytes = 64;
  k.store(Space::Local, Type::U32, imm(8), imm(5));
  k.store(Space::Local, Type::U64, imm(16), imm(6));
  k.exit();
  Device device;
  const auto source = device.launch(k, {4, 1, 1}, {64, 1, 1});
  const auto warps = consume(*source, 4);
  const Address backing = device.memory.local_backing();
  ASSERT_EQ(warps[1][0].header.transactions, 1);
  EXPECT_EQ(warps[1][0].header.where, MemHeader::Where::Local);
  EXPECT_EQ(warps[1][0].lines[0].line() * 128, backing + (1 * 16 + 2) * 128);  // warp 1, word 2 of 16
  EXPECT_EQ(warps[1][0].lines[0].sectors(), 0xfU);
  EXPECT_EQ(warps[1][1].header.transactions, 2);  // two words: two lines
}

TEST(Stream, ConstantLoadsCountDistinctAddresses) {
  PtxRunner runner(R"(
.const .align 4 .u32 table[64];
.visible .entry kernel()
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  mov.u32 %r1, %laneid;
  and.b32 %r2, %r1, 7;
  mul.wide.u32 %rd1, %r2, 4;
  mov.u64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.const.u32 %r3, [%rd3];
  ld.const.u32 %r4, [table+4];
  ret;
}
)");
  const auto source = runner.launch("kernel", {1, 1, 1}, {32, 1, 1}, {});
  const auto records = consume(*source, 16)[0];
  EXPECT_EQ(records[5].header.where, MemHeader::Where::Constant);
  EXPECT_EQ(records[5].header.shared_passes, 8);
  ASSERT_EQ(records[5].header.transactions, 1);  // 32 bytes: one sector
  EXPECT_EQ(records[5].lines[0].line() * 128, runner.device.memory.constant_backing());
  EXPECT_EQ(records[5].lines[0].sectors(), 0x1U);
  EXPECT_EQ(records[5].lines[0].lanes(), 32U);
  EXPECT_EQ(records[6].header.shared_passes, 1);
  EXPECT_EQ(records[6].header.transactions, 1);
}

// Every lane reads a line of its own, from a constant table and from the kernel's parameters (of which two
// lines exist). Modules and launches lie at places of their own.
TEST(Stream, ConstantLoadsListTheirLines) {
  PtxRunner runner(R"(
.const .align 4 .u32 table[1056];
.visible .entry kernel(.param .align 8 .b8 data[256])
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  mov.u32 %r1, %laneid;
  mul.wide.u32 %rd1, %r1, 132;
  mov.u64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.const.u32 %r3, [%rd3];
  and.b32 %r4, %r1, 1;
  mul.wide.u32 %rd4, %r4, 160;
  mov.b64 %rd5, data;
  add.s64 %rd5, %rd5, %rd4;
  ld.param.u32 %r5, [%rd5];
  ret;
}
)");
  LoadedModule second(
      compile_module(with_header(".const .align 4 .u32 other[4]; .visible .entry k() { ret; }"), "second.ptx",
                     {}),
      runner.device.memory, AppId{0}, nullptr);
  const std::vector<std::uint64_t> parameters(32, 5);
  const auto source = runner.launch("kernel", {1, 1, 1}, {32, 1, 1}, parameters);
  const auto again = runner.launch("kernel", {1, 1, 1}, {32, 1, 1}, parameters);
  const auto records = consume(*source, 16)[0];
  const Address backing = runner.device.memory.constant_backing();
  const Access& table = records[4];
  EXPECT_EQ(table.header.shared_passes, 32);
  ASSERT_EQ(table.header.transactions, 32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(table.lines[i].line(), (backing + 132 * i) / 128);
    EXPECT_EQ(table.lines[i].sectors(), 1U << (132 * i % 128 / 32));
    EXPECT_EQ(table.lines[i].lanes(), 1U);
  }
  const Access& data = records[9];
  EXPECT_EQ(data.header.where, MemHeader::Where::Constant);
  EXPECT_EQ(data.header.shared_passes, 2);
  ASSERT_EQ(data.header.transactions, 2);
  EXPECT_GE(data.lines[0].line() * 128, backing + 1056 * 4 + 16) << "after both modules' banks";
  EXPECT_EQ(data.lines[1].line(), data.lines[0].line() + 1);
  EXPECT_EQ(data.lines[1].sectors(), 0x2U);
  const auto later = consume(*again, 16)[0];
  EXPECT_EQ(later[4].lines[0].line(), table.lines[0].line()) << "one bank for all launches";
  EXPECT_GE(later[9].lines[0].line(), data.lines[1].line() + 1) << "parameters of each launch";
}

// Blocks of two kernels whose frames differ, resident side by side, in any order of residencies.
TEST(Stream, LocalMemoryOfTwoKernelsSharesNoLine) {
  PtxRunner runner(R"(
.visible .entry small()
{
  .local .align 4 .b8 frame[8];
  .reg .b32 %r<3>;
  mov.u32 %r1, %laneid;
  st.local.u32 [frame], %r1;
  st.local.u32 [frame+4], %r1;
  ret;
}
.visible .entry large()
{
  .local .align 4 .b8 frame[40];
  .reg .b32 %r<3>;
  mov.u32 %r1, %laneid;
  st.local.u32 [frame], %r1;
  st.local.u32 [frame+20], %r1;
  st.local.u32 [frame+36], %r1;
  ret;
}
)");
  const auto small = runner.launch("small", {8, 1, 1}, {64, 1, 1}, {});
  const auto large = runner.launch("large", {8, 1, 1}, {96, 1, 1}, {});
  const Address code = runner.device.memory.code_backing();
  EXPECT_GE(std::min(small->code_address(), large->code_address()), code);
  EXPECT_NE(small->code_address() / 128, large->code_address() / 128) << "nor their code, for the caches";
  std::map<std::uint64_t, std::uint32_t> owner;  // line -> residency
  for (std::uint32_t residency = 0; residency < 8; ++residency) {
    workload::KernelSource& source = residency % 2 == 0 ? *small : *large;
    const auto block = source.begin_block(residency, residency, 0, 0);
    std::size_t lines = 0;
    for (std::uint32_t w = 0; w < block->warps(); ++w) {
      workload::WarpStream& stream = block->stream(w);
      block->refill(w, 100);
      for (; stream.next != stream.end; ++stream.next) {
        if (source.static_table()[stream.next->pc].unit != isa::Unit::Memory) continue;
        const auto header = std::bit_cast<MemHeader>(*stream.mem_next++);
        for (unsigned i = 0; i < header.transactions; ++i, ++lines) {
          const std::uint64_t line = Transaction{*stream.mem_next++}.line();
          EXPECT_EQ(owner.emplace(line, residency).first->second, residency);
        }
      }
    }
    EXPECT_EQ(lines, residency % 2 == 0 ? 4U : 9U);
  }
}

// A loop whose barrier joins two warps in each round: the streams must be the same whatever the machine asks
// for, and complete.
TEST(Stream, IsTheSameForEveryWayOfRefilling) {
  const std::string text = R"(
.visible .entry kernel(.param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<10>;
  .shared .align 4 .b8 buffer[512];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  shl.b32 %r3, %r1, 2;
  mov.u32 %r6, buffer;
  add.s32 %r3, %r3, %r6;
LOOP:
  st.shared.u32 [%r3], %r2;
  bar.sync 0;
  xor.b32 %r4, %r3, 128;
  ld.shared.u32 %r5, [%r4];
  setp.lt.u32 %p2, %r1, 32;
  @%p2 add.s32 %r2, %r2, 1;
  @!%p2 add.s32 %r2, %r5, 1;
  bar.sync 0;
  setp.lt.s32 %p1, %r2, 700;
  @%p1 bra LOOP;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";
  std::vector<std::vector<std::vector<std::uint64_t>>> seen;
  for (const std::uint32_t wanted : {1U, 7U, 64U, 2000U}) {
    PtxRunner runner(text);
    const Address out = runner.device.memory.allocate(4 * 128);
    const auto source = runner.launch("kernel", {1, 1, 1}, {128, 1, 1}, {out});
    const auto warps = consume(*source, wanted);
    std::vector<std::vector<std::uint64_t>> flat;
    for (const auto& warp : warps) {
      flat.emplace_back();
      for (const Access& access : warp) {
        flat.back().push_back((std::uint64_t{access.pc} << 32U) | access.active);
        for (const Transaction& line : access.lines) flat.back().push_back(line.word);
      }
    }
    EXPECT_EQ(runner.device.download<std::uint32_t>(out, 128)[127], 700U);
    seen.push_back(flat);
  }
  for (const auto& streams : seen) EXPECT_TRUE(streams == seen[0]);
}

TEST(Stream, FinishedOnlyAtTheEndAndPartialWarps) {
  KernelBuilder k;
  k.add(Opcode::Nop, Type::None, {}, {});
  k.exit();
  Device device;
  const auto source = device.launch(k, {1, 1, 1}, {40, 1, 1});
  EXPECT_EQ(source->resources().warps(), 2U);
  const auto block = source->begin_block(0, 0, 0, 0);
  EXPECT_FALSE(block->stream(0).finished);
  block->refill(1, 1);
  EXPECT_TRUE(block->stream(1).finished);
  ASSERT_EQ(block->stream(1).available(), 2U);
  EXPECT_EQ(block->stream(1).next->active, 0xffU);
  EXPECT_EQ(block->stream(0).available(), 0U);
}

TEST(Stream, SpecialRegistersAndClock) {
  KernelBuilder k;
  k.add(Opcode::Mov, Type::U64, {rd(0)}, {sreg(Special::Clock64)});
  k.add(Opcode::Mov, Type::U64, {rd(1)}, {sreg(Special::Clock64)});
  k.store(Space::Global, Type::U64, param(0), rd(0));
  k.store(Space::Global, Type::U64, param(0), rd(1), 8);
  k.add(Opcode::Mov, Type::U32, {r(0)}, {sreg(Special::SmId)});
  k.store(Space::Global, Type::U32, param(0), r(0), 16);
  k.add(Opcode::Mov, Type::U32, {r(0)}, {sreg(Special::CtaidY)});
  k.store(Space::Global, Type::U32, param(0), r(0), 20);
  k.exit();
  Device device;
  const Address out = device.memory.allocate(64);
  const auto source = device.launch(k, {2, 3, 1}, {1, 1, 1}, {out});
  source->begin_block(5, 0, 12, 5000)->refill(0, 100);
  const auto clock = device.download<std::uint64_t>(out, 2);
  EXPECT_EQ(clock[0], 5001U);
  EXPECT_EQ(clock[1], 5002U);
  const auto rest = device.download<std::uint32_t>(out + 16, 2);
  EXPECT_EQ(rest[0], 12U);
  EXPECT_EQ(rest[1], 2U);
}

std::string error_of(KernelBuilder& k, LaunchConfig config) {
  Device device;
  LoadedModule& module = device.load(k);
  try {
    (void)module.launch(*module.find("kernel"), std::move(config));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Launch, WrongShapesAndParametersAreRefused) {
  KernelBuilder k;
  k.exit();
  EXPECT_EQ(error_of(k, {{1, 1, 1}, {1025, 1, 1}, 0, "", 0}),
            "error: test.ptx: kernel kernel: block of 1025x1x1 threads; a block has 1 to 1024 threads, at "
            "most 64 in z");
  EXPECT_NE(error_of(k, {{1, 1, 1}, {1, 1, 65}, 0, "", 0}), "");
  EXPECT_NE(error_of(k, {{0, 1, 1}, {1, 1, 1}, 0, "", 0}), "");
  EXPECT_NE(error_of(k, {{1, 65536, 1}, {1, 1, 1}, 0, "", 0}), "");
  EXPECT_EQ(error_of(k, {{1, 1, 1}, {32, 1, 1}, 0, "abcd", 0}),
            "error: test.ptx: kernel kernel: 4 bytes of parameters given, 0 expected");
  EXPECT_EQ(error_of(k, {{1, 1, 1}, {1024, 1, 1}, 0, "", 0}), "");
}

TEST(Compile, IsCachedByContent) {
  const std::string text = with_header(".visible .entry k() { ret; }");
  const auto first = compile_module(text, "a.ptx", {});
  EXPECT_EQ(first, compile_module(text, "a.ptx", {}));
  EXPECT_NE(first, compile_module(text, "b.ptx", {}));
  ptx::CompileOptions other;
  other.optimize = 0;
  EXPECT_NE(first, compile_module(text, "a.ptx", other));
}

}  // namespace
}  // namespace gpumux::emulator::test
