// Translation of a trace's lines: records, lines, sectors, bank passes, copies, streams.
#include <bit>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "tests/trace/trace_folder.hpp"
#include "trace/kernel.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::trace::test {
namespace {

using Where = workload::MemHeader::Where;

struct Access {
  std::uint32_t pc;
  LaneMask active;
  isa::StaticInst inst;
  workload::MemHeader header;
  std::vector<workload::Transaction> lines;
};

class Semantics : public TraceFolder {
 protected:
  /// Everything that warp `warp` of block `index` executes; `residency` places its local memory.
  static std::vector<Access> consume(const std::shared_ptr<const Trace>& trace, std::uint64_t index = 0,
                                     std::uint32_t warp = 0, std::uint32_t wanted = 1, AppId app = 0,
                                     std::uint32_t residency = 0, std::uint32_t banks = 32) {
    workload::DeviceMemory memory(app);
    const auto kernel = make_kernel(trace, 0, memory, banks);
    const auto block = kernel->begin_block(index, residency, 0, 0);
    std::vector<Access> all;
    workload::WarpStream& s = block->stream(warp);
    while (!s.finished || s.available() != 0) {
      if (s.available() == 0) block->refill(warp, wanted);
      if (s.available() == 0) continue;
      Access a{s.next->pc, s.next->active, kernel->static_table()[s.next->pc], {}, {}};
      ++s.next;
      if (a.inst.unit == isa::Unit::Memory) {
        a.header = std::bit_cast<workload::MemHeader>(*s.mem_next++);
        for (int i = 0; i < a.header.transactions; ++i) a.lines.push_back({*s.mem_next++});
      }
      all.push_back(a);
    }
    return all;
  }
  std::vector<Access> of(const std::string& lines, std::size_t count, const Header& header = {}) const {
    write_kernel(header.text() + block(lines, count));
    return consume(load());
  }
  Access one(const std::string& line) const { return of(line + "\n", 1).at(0); }
};

constexpr std::uint64_t kBase = std::uint64_t{1} << 33U;  // first line of application 0

TEST_F(Semantics, AddressModesAgree) {
  // Four lanes 8 bytes apart, from 0x...70: two lines.
  const Access list =
      one("0000 0000000f 1 R4 LDG.E 1 R2 4 0 0x7f0100000070 0x7f0100000078 0x7f0100000080 0x7f0100000088 0");
  const Access stride = one("0000 0000000f 1 R4 LDG.E 1 R2 4 1 0x7f0100000070 8");
  const Access delta = one("0000 0000000f 1 R4 LDG.E 1 R2 4 2 0x7f0100000070 8 8 8 0");
  for (const Access& a : {list, stride, delta}) {
    EXPECT_EQ(a.active, 0xfU);
    EXPECT_EQ(a.header.where, Where::Global);
    ASSERT_EQ(a.lines.size(), 2U);
    EXPECT_EQ(a.lines[0].line(), kBase);
    EXPECT_EQ(a.lines[0].sectors(), 8U);
    EXPECT_EQ(a.lines[0].lanes(), 2U);
    EXPECT_EQ(a.lines[1].line(), kBase + 1);
    EXPECT_EQ(a.lines[1].sectors(), 1U);
    EXPECT_EQ(a.lines[1].lanes(), 2U);
  }
  const Access down = one("0000 00000003 1 R4 LDG.E 1 R2 4 1 0x7f0100000080 -128 0");
  ASSERT_EQ(down.lines.size(), 2U);
  EXPECT_EQ(down.lines[0].line(), down.lines[1].line() + 1);
}

TEST_F(Semantics, VersionsAndLineInfo) {
  Header h;
  h.tracer = "3";
  h.line_info = "1";
  EXPECT_EQ(of("17 0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x0 4\n17 0010 ffffffff 0 EXIT 0 0\n", 2, h).size(), 2U);
  h.tracer = "5";
  h.line_info = "0";
  EXPECT_EQ(of("0000 ffffffff 1 R4 IADD3 1 R2 0 -0x10\n0010 ffffffff 0 EXIT 0 0 0\n", 2, h).size(), 2U);
}

TEST_F(Semantics, PredicatedOff) {
  const Access off = one("0000 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 0");
  EXPECT_EQ(off.active, 0U);
  EXPECT_EQ(off.header.where, Where::None);
  EXPECT_EQ(off.header.transactions, 0);
}

TEST_F(Semantics, GenericAddressesGoByWindow) {
  EXPECT_EQ(one("0000 00000001 1 R4 LD.E 1 R2 4 0 0x7f0000000010 0").header.where, Where::Shared);
  EXPECT_EQ(one("0000 00000001 1 R4 LD.E 1 R2 4 0 0x7f1000000010 0").header.where, Where::Local);
  EXPECT_EQ(one("0000 00000001 1 R4 LD.E 1 R2 4 0 0x7f2000000010 0").header.where, Where::Global);
  EXPECT_EQ(one("0000 00000001 1 R4 LD.E 1 R2 4 0 0x7f0000ffffff 0").header.where, Where::Shared);
  EXPECT_EQ(one("0000 00000001 1 R4 LD.E 1 R2 4 0 0x7f0001000000 0").header.where, Where::Global);
  EXPECT_NE(one("0000 00000001 1 R4 LD.E 1 R2 4 0 0x10 0").inst.flags & isa::kGenericSpace, 0);
}

TEST_F(Semantics, SharedMemoryPasses) {
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDS 1 R2 4 1 0x0 4 0").header.shared_passes, 1);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDS 1 R2 4 1 0x0 8 0").header.shared_passes, 2);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDS 1 R2 4 1 0x0 128 0").header.shared_passes, 32);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDS 1 R2 4 1 0x0 0 0").header.shared_passes, 1);
  EXPECT_EQ(one("0000 ffffffff 1 R4 ATOMS.ADD 2 R2 R3 4 1 0x0 0 0").header.shared_passes, 32);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDS.128 1 R2 16 1 0x0 16 0").header.shared_passes, 4);
  write_kernel(Header().text() + block("0000 ffffffff 1 R4 LDS 1 R2 4 1 0x0 4 0\n", 1));
  EXPECT_EQ(consume(load(), 0, 0, 1, 0, 0, 16).at(0).header.shared_passes, 2);
}

TEST_F(Semantics, LocalMemoryIsInterleavedPerWarp) {
  const std::string line = "0000 ffffffff 1 R4 LDL.64 1 R2 8 1 0xfffff0 0 0\n";
  write_kernel(Header().text() + block(line, 1));
  const Access a = consume(load()).at(0);
  EXPECT_EQ(a.header.where, Where::Local);
  ASSERT_EQ(a.lines.size(), 2U);  // two words of the frame, each a line for 32 lanes
  EXPECT_EQ(a.lines[0].sectors(), 15U);
  EXPECT_EQ(a.lines[0].lanes(), 32U);
  EXPECT_EQ(a.lines[1].line(), a.lines[0].line() + 1);
  const Access b = consume(load(), 0, 0, 1, 0, 3).at(0);  // another residency: the frame has two words
  EXPECT_EQ(b.lines[0].line(), a.lines[0].line() + 3 * 2);
}

TEST_F(Semantics, AtomicsCountTheirLanes) {
  const Access red = one("0000 ffffffff 0 RED.E.ADD.STRONG.GPU 2 R2 R4 4 1 0x7f0100000000 0 0");
  EXPECT_EQ(red.inst.flags & (isa::kAtomic | isa::kStore | isa::kLoad), isa::kAtomic | isa::kStore);
  ASSERT_EQ(red.lines.size(), 1U);
  EXPECT_EQ(red.lines[0].lanes(), 32U);
  const Access atom = one("0000 00000003 1 R0 ATOMG.E.ADD.STRONG.GPU 2 R2 R4 4 1 0x7f0100000000 4 0");
  EXPECT_EQ(atom.inst.flags & (isa::kAtomic | isa::kStore | isa::kLoad), isa::kAtomic | isa::kLoad);
  EXPECT_EQ(atom.lines.at(0).lanes(), 2U);
}

TEST_F(Semantics, InstructionClasses) {
  EXPECT_EQ(one("0000 ffffffff 1 R4 FFMA 3 R1 R2 R3 0 0").inst.latency_class, isa::LatencyClass::FpMad);
  EXPECT_EQ(one("0000 ffffffff 1 R4 MUFU.RCP 1 R1 0 0").inst.unit, isa::Unit::Sfu);
  EXPECT_EQ(one("0000 ffffffff 1 R4 HMMA.884.F32.F32.STEP0 3 R8 R10 R4 0 0").inst.unit, isa::Unit::Tensor);
  EXPECT_NE(one("0000 ffffffff 0 BAR.SYNC 0 0 0").inst.flags & isa::kBarrier, 0);
  EXPECT_NE(one("0000 ffffffff 0 MEMBAR.SC.GPU 0 0 0").inst.flags & isa::kFence, 0);
  EXPECT_EQ(one("0000 ffffffff 0 MEMBAR.SC.CTA 0 0 0").inst.flags & isa::kFence, 0);
  EXPECT_NE(one("0000 ffffffff 1 R4 LDG.E.STRONG.GPU 1 R2 4 1 0x0 4 0").inst.flags & isa::kBypassL1, 0);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x0 4 0").inst.flags & isa::kBypassL1, 0);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDC 1 R2 4 1 0x10 0 0").header.where, Where::Constant);
  EXPECT_EQ(one("0000 ffffffff 1 R4 LDC 1 R2 0 0").header.shared_passes, 1);
}

TEST_F(Semantics, RegistersAreWidened) {
  const isa::StaticInst wide = one("0000 ffffffff 1 R4 LDG.E.128 1 R2 16 1 0x0 16 0").inst;
  EXPECT_EQ(wide.num_dst, 4);  // R4 to R7
  EXPECT_EQ(wide.num_src, 2);  // the pair R2, R3 of the address
  const isa::StaticInst store = one("0000 ffffffff 0 STG.E.64 2 R2 R8 8 1 0x0 8 0").inst;
  EXPECT_EQ(store.num_dst, 0);
  EXPECT_EQ(store.num_operands, 4);
  const isa::StaticInst zero = one("0000 ffffffff 1 R255 IADD3 3 R255 R3 R255 0 0").inst;
  EXPECT_EQ(zero.num_dst, 0);
  EXPECT_EQ(zero.num_src, 1);
  EXPECT_EQ(one("0000 ffffffff 1 R4 DFMA 3 R6 R8 R4 0 0").inst.num_dst, 2);
}

TEST_F(Semantics, WhatFollowsInMemoryFollowsInTheTable) {
  const auto a =
      of("0000 ffffffff 0 NOP 0 0 0\n0010 ffffffff 0 NOP 0 0 0\n0040 ffffffff 0 NOP 0 0 0\n"
         "0010 ffffffff 0 NOP 0 0 0\n0010 ffffffff 1 R1 MOV 1 R2 0 0\n",
         5);
  EXPECT_EQ(a[1].pc, a[0].pc + 1);
  EXPECT_EQ(a[2].pc, a[1].pc + 2);  // a gap: the branch was taken
  EXPECT_EQ(a[3].pc, a[1].pc);
  EXPECT_GT(a[4].pc, a[2].pc);  // another function's code at the same offset
  Header pascal;
  pascal.sm = "61";  // every fourth word schedules
  const auto b =
      of("0008 ffffffff 0 NOP 0 0 0\n0018 ffffffff 0 NOP 0 0 0\n0028 ffffffff 0 NOP 0 0 0\n", 3, pascal);
  EXPECT_EQ(b[1].pc, b[0].pc + 2);
  EXPECT_EQ(b[2].pc, b[1].pc + 1);
}

// Warps alone and warps that share their instructions, taken in small and large pieces, are what the text
// says.
TEST_F(Semantics, SharedAndOwnPathsAreTheSame) {
  Header h;
  h.grid = "(2,1,1)";
  h.block = "(64,1,1)";
  std::string text = h.text();
  const auto warp = [](int w, std::uint64_t base, std::uint32_t mask) {
    std::string lines;
    for (int i = 0; i < 300; ++i) {
      lines += fmt::format("{:04x} {:08x} 1 R4 LDG.E 1 R2 4 1 0x{:x} {} 0\n", 16 * (i % 40), mask,
                           base + 4096U * static_cast<unsigned>(i), 4 + 4 * (i % 3));
      lines += "0400 ffffffff 1 R5 FADD 2 R4 R5 0 0\n";
    }
    return fmt::format("warp = {}\ninsts = 600\n", w) + lines;
  };
  const std::uint64_t array = 0x7f0200000000;
  text += "#BEGIN_TB\nthread block = 1,0,0\n" + warp(1, array + 65536, kAllLanes) +
          warp(0, array, kAllLanes) + "#END_TB\n";
  text += "#BEGIN_TB\nthread block = 0,0,0\n" + warp(0, array + 12800, kAllLanes) + warp(1, array, 0xff) +
          "#END_TB\n";
  write_kernel(text);
  const auto trace = load();
  struct Place {
    std::uint64_t block;
    std::uint32_t warp;
    std::uint64_t base;
    LaneMask mask;
  };
  for (const Place& p : {Place{0, 0, array + 12800, kAllLanes}, Place{0, 1, array, 0xff},
                         Place{1, 0, array, kAllLanes}, Place{1, 1, array + 65536, kAllLanes}}) {
    for (const std::uint32_t wanted : {1U, 100U, 5000U}) {
      for (const AppId app : {AppId{0}, AppId{3}}) {
        const auto all = consume(trace, p.block, p.warp, wanted, app);
        ASSERT_EQ(all.size(), 600U);
        for (std::uint32_t i = 0; i < 300; ++i) {
          const Access& a = all[2 * i];
          EXPECT_EQ(a.active, p.mask);
          const std::uint64_t offset = p.base + 4096 * i - (std::uint64_t{0x7f02} << 32U);
          ASSERT_FALSE(a.lines.empty());
          EXPECT_EQ(a.lines[0].line(), ((std::uint64_t{app} + 1) << 33U) + offset / 128);
        }
      }
    }
  }
}

/// The trace in the folder on a small v100.
experiment::RunResult simulate(const std::shared_ptr<const Trace>& trace, Cycle cycles = 0) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("v100", {"sms=2"});
  spec.policy = policy::parse_choice("leftover");
  spec.cycles = cycles;
  experiment::AppSpec app;
  app.text = app.name = app.identity = "trace";
  app.create = [&](std::uint64_t) { return std::make_unique<TraceApplication>(trace); };
  spec.apps = {app};
  return experiment::simulate(spec);
}

TEST_F(Semantics, CopiesLeaveDataInL2) {
  const std::string load_line = "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f0100000000 4 0\n";
  write("kernel-1.traceg", Header().text() + block(load_line + kExit, 2));
  write("kernelslist.g", "kernel-1.traceg\n");
  EXPECT_EQ(simulate(load()).partitions.dram_reads, 4U);
  write("kernelslist.g", "MemcpyHtoD,0x7f0100000000,128\nkernel-1.traceg\nMemcpyDtoH,0x7f0100000000,128\n");
  EXPECT_EQ(simulate(load()).partitions.dram_reads, 0U);
}

TEST_F(Semantics, StreamsOverlapAndOneStreamDoesNot) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "0000 ffffffff 1 R4 FADD 1 R4 0 0\n";
  Header h;
  write("kernelslist.g", "kernel-1.traceg\nkernel-2.traceg\n");
  write("kernel-1.traceg", h.text() + block(lines, 2000));
  write("kernel-2.traceg", h.text() + block(lines, 2000));
  const Cycle one_stream = simulate(load()).cycles;
  h.stream = "94027";
  write("kernel-2.traceg", h.text() + block(lines, 2000));
  const Cycle two_streams = simulate(load()).cycles;
  // Launch latency and execution, twice or once.
  EXPECT_GT(one_stream, 2 * two_streams * 9 / 10);
}

TEST_F(Semantics, RestartsAndBarriers) {
  Header h;
  h.block = "(64,1,1)";
  const std::string slow = "0000 ffffffff 1 R4 MUFU.RCP 1 R4 0 0\n0010 ffffffff 0 BAR.SYNC 0 0 0\n" + kExit;
  const std::string fast = "0010 ffffffff 0 BAR.SYNC 0 0 0\n" + kExit;
  write_kernel(h.text() + "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 3\n" + slow +
               "warp = 1\ninsts = 2\n" + fast + "#END_TB\n");
  const experiment::RunResult once = simulate(load());
  EXPECT_EQ(once.gpu.barriers, 2U);
  EXPECT_EQ(once.gpu.warp_instructions, 5U);
  const experiment::RunResult often = simulate(load(), 30000);
  EXPECT_GE(often.apps[0].completions, 5U);
}

TEST_F(Semantics, VerifyHasNothingToCheck) {
  write_kernel(Header().text() + block(kExit, 1));
  const auto trace = load();
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("v100", {"sms=2"});
  spec.policy = policy::parse_choice("leftover");
  spec.verify = true;
  experiment::AppSpec app;
  app.text = app.name = app.identity = "trace";
  app.create = [&](std::uint64_t) { return std::make_unique<TraceApplication>(trace); };
  spec.apps = {app};
  EXPECT_THROW((void)experiment::simulate(spec), UserError);
}

// Two blocks; the second decides.
TEST_F(Semantics, AKernelIsIdempotentByAllOfItsRecords) {
  const std::string load_first = "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f0100000000 4 0\n";
  const auto store = [](const char* to) {
    return std::string("0010 ffffffff 0 STG.E 2 R2 R4 4 1 ") + to + " 4 0\n";
  };
  const auto is_idempotent = [&](const std::string& second, std::size_t count) {
    Header header;
    header.grid = "(2,1,1)";
    write_kernel(header.text() + block(load_first + store("0x7f0100001000"), 2) +
                 block(second, count, "1,0,0"));
    workload::DeviceMemory memory(AppId{0});
    const auto kernel = make_kernel(load(), 0, memory, 32);
    const bool found = kernel->is_idempotent();
    EXPECT_EQ(kernel->is_idempotent(), found);
    EXPECT_EQ(consume(load(), 1).size(), count);
    EXPECT_FALSE(kernel->has_notices());
    return found;
  };
  EXPECT_TRUE(is_idempotent(load_first, 1));
  EXPECT_TRUE(is_idempotent(load_first + store("0x7f0100000080"), 2));  // the next line
  EXPECT_FALSE(is_idempotent(load_first + store("0x7f0100000000"), 2));
  EXPECT_FALSE(is_idempotent(store("0x7f0100000000") + load_first, 2));  // whatever the order
  EXPECT_FALSE(is_idempotent("0020 ffffffff 0 RED.E.ADD 2 R2 R4 4 1 0x7f0100000000 4 0\n", 1));
  EXPECT_TRUE(is_idempotent("0030 ffffffff 1 R4 ATOMS.ADD 2 R2 R3 4 1 0x0 0 0\n", 1));
}

}  // namespace
}  // namespace gpumux::trace::test
