// Traces of Hopper and Blackwell GPUs, and of tracers that support them: products by shape, bulk copies,
// values of registers, clusters, compressed warps.
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "tests/compressed.hpp"
#include "tests/trace/trace_folder.hpp"
#include "trace/executed.hpp"
#include "trace/kernel.hpp"
#include "trace/matrix_opcode.hpp"
#include "trace/output.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::trace::test {
namespace {

TEST(MatrixOpcode, ShapeAndTypeSayWhatAWarpHasToDo) {
  // White papers: 8-bit types pass twice as fast as f16, 4-bit ones four times, bits sixteen, tf32 half, f64
  // a sixteenth.
  const std::pair<const char*, std::optional<std::uint32_t>> cases[] = {
      {"HMMA.16816.F32", 16 * 8 * 16},
      {"HMMA.16816.F32.BF16", 16 * 8 * 16},
      {"HMMA.1688.F16", 16 * 8 * 8},
      {"HMMA.1688.F32.TF32", 2 * 16 * 8 * 8},
      {"HMMA.1684.F32.TF32", 2 * 16 * 8 * 4},
      {"HMMA.SP.16832.F32", 16 * 8 * 16},
      {"HMMA.884.F32.F32.STEP0", 256},
      {"HMMA.884.F16.F16.STEP1", 512},
      {"IMMA.8816.S8.S8", 8 * 8 * 16 / 2},
      {"IMMA.16832.U8.S8", 16 * 8 * 32 / 2},
      {"IMMA.16864.S4.S4", 16 * 8 * 64 / 4},
      {"BMMA.168256.AND.POPC", 16 * 8 * 256 / 16},
      {"DMMA.884", 8 * 8 * 4 * 16},
      {"DMMA.16816", 16 * 8 * 16 * 16},
      {"QMMA.16832.F32.E4M3.E5M2", 16 * 8 * 32 / 2},
      {"OMMA.SF.16864.F32.E2M1.E2M1", 16 * 8 * 64 / 4},
      {"HGMMA.64x8x16.F32", 64 * 8 * 16 / 4},
      {"HGMMA.64x256x16.F32.BF16", 64 * 256 * 16 / 4},
      {"HGMMA.64x256x8.F32.TF32", 64 * 256 * 16 / 4},
      {"HGMMA.SP.64x64x32.F32", 64 * 64 * 16 / 4},
      {"IGMMA.64x128x32.S8.S8", 64 * 128 * 16 / 4},
      {"QGMMA.64x96x32.F32.E4M3.E4M3", 64 * 96 * 16 / 4},
      {"BGMMA.64x8x256.AND.POPC", 64 * 8 * 16 / 4},
      {"HMMA", std::nullopt},
      {"HGMMA.64x8", std::nullopt},
      {"HGMMA.64xx16", std::nullopt},
      {"HGMMA.64x9999999999x16", std::nullopt},
      {"HMMA.16", std::nullopt},
      {"HMMA.168", std::nullopt},
      {"FFMA.16816", std::nullopt},
  };
  for (const auto& [opcode, expected] : cases) EXPECT_EQ(matrix_multiply_adds(opcode), expected) << opcode;
}

Header hopper(const std::string& tracer = "5", const std::string& block_size = "(32,1,1)") {
  Header h;
  h.sm = "90";
  h.tracer = tracer;
  h.block = block_size;
  return h;
}

class HopperTrace : public TraceFolder {
 protected:
  static experiment::RunResult simulate(const std::shared_ptr<const Trace>& trace, const std::string& machine,
                                        const std::vector<std::string>& set = {}) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine(machine, set);
    spec.policy = policy::parse_choice("leftover");
    experiment::AppSpec app;
    app.text = app.name = app.identity = "trace";
    app.create = [&](std::uint64_t) { return std::make_unique<TraceApplication>(trace); };
    spec.apps = {app};
    return experiment::simulate(spec);
  }
  /// Four warps that execute the same lines.
  void write_warps(const std::string& lines, std::size_t count) const {
    std::string text = hopper("5", "(128,1,1)").text() + "#BEGIN_TB\nthread block = 0,0,0\n";
    for (int warp = 0; warp < 4; ++warp)
      text += "warp = " + std::to_string(warp) + "\ninsts = " + std::to_string(count) + "\n" + lines;
    write_kernel(text + "#END_TB\n");
  }
  /// The lines of memory of the only instruction.
  std::vector<workload::Transaction> lines_of(const std::string& line,
                                              const Header& header = hopper()) const {
    write_kernel(header.text() + block(line + "\n", 1));
    const std::shared_ptr<const Trace> trace = load();
    workload::DeviceMemory memory(0);
    const auto kernel = make_kernel(trace, 0, memory, 32);
    const auto first = kernel->begin_block(0, 0, 0, 0);
    workload::WarpStream& stream = first->stream(0);
    first->refill(0, 1);
    if (kernel->static_table()[stream.next->pc].unit != isa::Unit::Memory) return {};
    const auto access = std::bit_cast<workload::MemHeader>(stream.mem_next[0]);
    std::vector<workload::Transaction> lines;
    for (unsigned i = 0; i < access.transactions; ++i) lines.push_back({stream.mem_next[1 + i]});
    return lines;
  }
  isa::StaticInst only(const std::string& line, const Header& header = hopper()) const {
    write_kernel(header.text() + block(line + "\n", 1));
    const std::shared_ptr<const Trace> trace = load();
    return trace->code(trace->launches().at(0)).table.at(0);
  }
};

TEST_F(HopperTrace, ProductsOfWarpgroupsTakeTheTimeOfTheirShape) {
  constexpr std::uint64_t kProducts = 64;
  std::vector<Cycle> cycles;
  const arch::MachineConfig h100 = arch::load_machine("h100-measured");
  for (const std::uint64_t columns : {8, 256}) {
    std::string lines;
    for (std::uint64_t i = 0; i < kProducts; ++i)
      lines += "0010 ffffffff 1 R24 HGMMA.64x" + std::to_string(columns) + "x16.F32 2 R24 R28 0 0\n";
    write_warps(lines + "0400 ffffffff 0 EXIT 0 0 0\n", kProducts + 1);
    const experiment::RunResult result =
        simulate(load(), "h100-measured", {"runtime.kernel_launch_latency=0"});
    // Each of the four sub-cores has a warp, and 1024 multiply-adds in two cycles.
    const std::uint64_t least = kProducts * 2 * (64 * columns * 16 / 4) / h100.tensor_multiply_adds;
    EXPECT_GE(result.cycles, least);
    EXPECT_LE(result.cycles, least + kProducts * 16 + 2000);
    EXPECT_EQ(result.gpu.tensor_passes,
              kProducts * 4 * 32 * (64 * columns * 16 / 4) / h100.tensor_multiply_adds);
    cycles.push_back(result.cycles);
  }
  EXPECT_GT(cycles[1], 5 * cycles[0]);
}

TEST_F(HopperTrace, AProductThatIsLongerThanAnSmCanBookIsRefused) {
  write_warps("0010 ffffffff 1 R24 HGMMA.64x256x16.F32 2 R24 R28 0 0\n0400 ffffffff 0 EXIT 0 0 0\n", 2);
  try {
    (void)simulate(load(), "v100");
    ADD_FAILURE() << "it ran";
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "error: app trace: kernel k: a matrix product of 65536 multiply-adds a warp would take 512 cycles on "
        "v100 (unit.tensor.multiply_adds is 256); at most 153");
  }
  EXPECT_NO_THROW((void)simulate(load(), "v100", {"sm.collectors_wait=false"}));
}

TEST_F(HopperTrace, BulkCopiesAccessTheLinesOfTheirAddresses) {
  // Four addresses with 16 bytes each, in both forms of a list, with and without an mbarrier.
  for (const char* line :
       {"0010 00000001 0 UTMALDG.2D 2 R8 R10 16 3 4 0x7f2000000000 0x7f2000000080 0x7f2000000100 "
        "0x7f20000001f0 0",
        "0010 00000001 0 UTMALDG.2D 2 R8 R10 16 4 0x7f2000000000 4 128 128 240 0",
        "0010 00000001 0 UTMALDG.2D 2 R8 R10 4 0x7f0000000008 0 64 0 3 4 0x7f2000000000 0x7f2000000080 "
        "0x7f2000000100 0x7f20000001f0 0",
        "0010 00000001 0 UTMALDG.2D.MULTICAST 2 R8 R10 4 0x7f0000000008 1 3 96 32 4 0x7f2000000000 4 128 128 "
        "240 0"}) {
    const std::vector<workload::Transaction> lines = lines_of(line);
    ASSERT_EQ(lines.size(), 4U) << line;
    for (unsigned i = 0; i < 4; ++i) {
      EXPECT_EQ(lines[i].line(), lines[0].line() + i) << line;
      EXPECT_EQ(lines[i].sectors(), i == 3 ? 8U : 1U) << line;
      EXPECT_EQ(lines[i].lanes(), 4U) << line;
    }
  }
  // 4 KiB from the middle of a sector on, at one address.
  const std::vector<workload::Transaction> whole =
      lines_of("0010 00000001 0 UBLKCP.S.G 2 R8 R10 4096 3 1 0x7f2000000010 0");
  ASSERT_EQ(whole.size(), 33U);
  EXPECT_EQ(whole.front().sectors(), 15U);
  EXPECT_EQ(whole.front().lanes(), 28U);
  EXPECT_EQ(whole.back().sectors(), 1U);
  EXPECT_EQ(whole.back().lanes(), 4U);
  // Rows that overlap are copied once.
  EXPECT_EQ(lines_of("0010 00000001 0 UTMALDG.1D 2 R8 R10 128 4 0x7f2000000000 3 64 -64 0").size(), 2U);
  EXPECT_TRUE(lines_of("0010 00000000 0 UTMALDG.1D 2 R8 R10 16 3 1 0x7f2000000000 0").empty());
  EXPECT_TRUE(lines_of("0010 00000001 0 UTMALDG.1D 2 R8 R10 16 3 0 0").empty());
  EXPECT_TRUE(lines_of("0010 00000001 0 UBLKCP.S.S 2 R8 R10 16 3 1 0x7f2000000000 0").empty());
  EXPECT_TRUE(lines_of("0010 00000001 0 UTMALDG.1D 2 R8 R10 0 0").empty());
}

TEST_F(HopperTrace, BulkCopiesAreLoadsOrStoresBeyondL1) {
  const auto flags = [&](const char* opcode) {
    return only("0010 00000001 0 " + std::string(opcode) + " 2 R8 R10 16 3 1 0x7f2000000000 0").flags &
           (isa::kLoad | isa::kStore | isa::kBypassL1);
  };
  for (const char* load : {"UTMALDG.3D", "UBLKCP.S.G", "UTMAPF.2D", "UBLKPF"})
    EXPECT_EQ(flags(load), isa::kLoad | isa::kBypassL1) << load;
  for (const char* store : {"UTMASTG.3D", "UBLKCP.G.S", "UTMAREDG.2D.ADD", "UBLKRED.G.S.ADD"})
    EXPECT_EQ(flags(store), isa::kStore | isa::kBypassL1) << store;
  EXPECT_EQ(flags("UBLKCP.S.S"), 0);
}

TEST_F(HopperTrace, BulkCopiesMoveTheirBytes) {
  std::string lines;
  for (int i = 0; i < 8; ++i)
    lines += "0010 00000001 0 UTMALDG.2D 2 R8 R10 4096 3 1 0x7f20000" + std::to_string(i) + "0000 0\n";
  lines += "0020 00000001 0 UTMASTG.2D 2 R8 R10 4096 3 1 0x7f2000100000 0\n0400 ffffffff 0 EXIT 0 0 0\n";
  write_kernel(hopper().text() + block(lines, 10));
  const experiment::RunResult result = simulate(load(), "h100-measured");
  const arch::MemoryCounters& memory = result.apps[0].memory_counters;  // L2 is of sectors
  EXPECT_EQ(memory.l2_accesses - memory.l2_writes, 8 * 4096 / kSectorBytes);
  EXPECT_EQ(memory.l2_writes, 4096 / kSectorBytes);
}

TEST_F(HopperTrace, WhatIsNotTimedIsCounted) {
  write_warps(
      "0010 00000001 0 UTMALDG.2D 2 R8 R10 0 0\n0020 00000001 0 UBLKCP.S.G 2 R8 R10 0 0\n"
      "0030 00000001 0 UBLKCP.S.G 2 R8 R10 0 0\n0040 ffffffff 1 R2 TEX 1 R4 0 0\n"
      "0050 00000001 0 UTCHMMA 0 0 0\n0060 ffffffff 1 R4 LDTM.x64 1 R2 0 0\n"
      "0070 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 R28 0 0\n"
      "0080 00000001 0 UTMALDG.2D 2 R8 R10 16 3 1 0x7f2000000000 0\n0400 ffffffff 0 EXIT 0 0 0\n",
      9);
  const std::vector<UntimedCount> counts = untimed_counts(*load());
  ASSERT_EQ(counts.size(), 4U);
  const auto expect = [&](std::size_t i, Untimed why, std::uint64_t times, const char* opcode) {
    EXPECT_EQ(counts[i].why, why);
    EXPECT_EQ(counts[i].warp_instructions, times);
    EXPECT_EQ(counts[i].opcode, opcode);
  };
  expect(0, Untimed::BulkCopy, 12, "UBLKCP");
  expect(1, Untimed::Texture, 4, "TEX");
  expect(2, Untimed::Product, 4, "UTCHMMA");
  expect(3, Untimed::TensorMemory, 4, "LDTM");
  write_kernel(hopper().text() + block(kExit, 1));
  EXPECT_TRUE(untimed_counts(*load()).empty());
}

TEST_F(HopperTrace, ValuesOfRegistersAreReadOver) {
  const Header six = hopper("6");
  EXPECT_EQ(only("0000 ffffffff 1 R1 MOV 1 R255 0 0 0 NoVal", six).unit, isa::Unit::Int);
  std::string values;
  for (int lane = 0; lane < 32; ++lane) values += " " + std::to_string(lane);
  EXPECT_EQ(only("0000 ffffffff 1 R1 MOV 1 UR4 0 0 0 Val 1 ff 32" + values, six).unit, isa::Unit::Int);
  EXPECT_EQ(
      lines_of("0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7f2000000000 4 0 0 Val 1 0x0 32" + values, six).size(),
      1U);
  EXPECT_EQ(
      lines_of("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 0x7f0000000008 0 16 0 3 1 0x7f2000000000 0 0 NoVal",
               six)
          .size(),
      1U);
  // A GMMA says whether a group ends behind it.
  EXPECT_EQ(only("0000 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 R28 1 0 0 0 NoVal", six).multiply_adds, 2048U);
  EXPECT_EQ(only("0000 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 R28 1 0 0", hopper()).multiply_adds, 2048U);
  // The second of two equal lines is read by what is known of the first.
  write_kernel(
      six.text() +
      block("0000 ffffffff 1 R1 MOV 1 R2 0 0 0 Val 1 ff 1 fe\n0000 ffffffff 1 R1 MOV 1 R2 0 0 0 Val 1 1 32" +
                values + "\n" + "0010 ffffffff 0 EXIT 0 0 0 0 NoVal\n",
            3));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(load()->warp_instructions(), 3U);
}

TEST_F(HopperTrace, BarriersHaveTheirNumberAndThreads) {
  const auto expect = [&](const std::string& line, unsigned number, unsigned warps, const Header& header) {
    const isa::StaticInst inst = only(line, header);
    EXPECT_EQ(inst.barrier, number) << line;
    EXPECT_EQ(inst.barrier_warps, warps) << line;
    EXPECT_NE(inst.flags & isa::kBarrier, 0) << line;
  };
  const Header six = hopper("6");
  expect("0000 ffffffff 0 BAR.SYNC 0 0 0 0 NoVal", 0, 0, six);
  expect("0000 ffffffff 0 BAR.SYNC.DEFER_BLOCKING 0 0 3 128 NoVal", 3, 4, six);
  expect("0000 ffffffff 0 BAR.ARV 0 0 2 256 NoVal", 2, 8, six);
  expect("0000 ffffffff 1 R3 BAR.SYNC 0 0 160 0 Val 1 5", 5, 5, six);  // its number is in a register
  expect("0000 ffffffff 0 BAR.SYNC 0 0 5", 5, 0, hopper());
}

TEST_F(HopperTrace, ClustersReplaysAndNewerParts) {
  const std::string lines =
      "0000 ffffffff 0 REPLAY_START 0 0 0\n0010 ffffffff 0 SYNCS.PHASECHK.TRANS64.TRYWAIT 0 0 0\n"
      "0020 ffffffff 0 REPLAY_END 0 0 0\n" +
      kExit;
  std::string text = block(lines, 4);
  text.insert(text.find("\nwarp"), "cluster id = 0,0,0\ncluster cta = 1,0,0\ncluster rank = 1\n");
  for (const char* sm : {"90", "100", "101", "103", "110", "120", "121"}) {
    Header h = hopper();
    h.sm = sm;
    write_kernel(h.text() + text);
    EXPECT_EQ(error(), "") << sm;
    EXPECT_EQ(load()->warp_instructions(), 2U);
  }
  write_kernel(hopper("7").text() + text);
  EXPECT_NE(error().find("tracer version 7 is not supported; known: 3 to 6"), std::string::npos) << error();
}

TEST_F(HopperTrace, BadLinesAreErrors) {
  const auto expect = [&](const std::string& line, const std::string& part, const Header& header = hopper()) {
    write_kernel(header.text() + block(line + "\n", 1));
    const std::string text = error();
    EXPECT_EQ(text.find("kernel-1.traceg:22:"), 0U) << text;
    EXPECT_NE(text.find(part), std::string::npos) << line << "\n" << text;
  };
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16", "mode or mbarrier");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 3", "ends where number of addresses");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 3 2 0x10", "ends where address");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 3 99999999 0x10", "is no number of addresses");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 0x7f0000000008 2 16 0 3 1 0x10", "0 or 1 (multicast)");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 0x7f0000000008 0 16 0 2 1 0x10", "3 or 4 was expected");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 16 3 1 0xfffffffffffffff8 0",
         "a copy of 16 bytes at 0xfffffffffffffff8");
  expect("0010 00000001 0 UTMALDG.2D 2 R8 R10 999999 3 1 0x10", "is no width of an access");
  std::string many = "0010 00000001 0 UTMALDG.2D 2 R8 R10 16 4 0x0 20000";
  for (int i = 1; i < 20000; ++i) many += " 128";
  expect(many, "a bulk copy of 20000 lines; at most 16384");
  expect("0000 ffffffff 1 R1 MOV 1 R2 0 0 0 Maybe", "'Val' or 'NoVal' was expected", hopper("6"));
  expect("0000 ffffffff 1 R1 MOV 1 R2 0 0 0 Val 2 1 1", "1 or 32 was expected", hopper("6"));
  expect("0000 ffffffff 1 R1 MOV 1 R2 0 0 0 Val 1 1", "ends where number of values", hopper("6"));
  expect("0000 ffffffff 1 R1 MOV 1 R2 0 0 0 NoVal 1", "follows 'NoVal'", hopper("6"));
  expect("0000 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 R28 2 0 0", "is no 0 or 1");
}

TEST_F(HopperTrace, ListsMayNameCompressedKernels) {
  const std::string text = hopper().text() + block(kExit, 1);
  for (const auto& [name, bytes] : {std::pair{"kernel-1.traceg.gz", gpumux::test::as_gz(text)},
                                    {"kernel-2.traceg.xz", gpumux::test::as_xz(text)},
                                    {"kernel-3.traceg.zst", gpumux::test::as_zst(text)}}) {
    write(name, bytes);
    write("kernelslist.g", std::string(name) + "\n");
    EXPECT_EQ(error(), "") << name;
    write("kernelslist.g", std::string(name).substr(0, 15) + "\n");  // without the compression
    EXPECT_EQ(error(), "") << name;
  }
}

TEST_F(HopperTrace, UnknownLinesOfAListAreWarnings) {
  write_kernel(hopper().text() + block(kExit, 1));
  write("kernelslist.g", "MemcpyHtoD,0x7f2000000000,64\nMemsetD8,0x10,0,64\nkernel-1.traceg\n");
  MemoryOutput output;
  const ConvertSummary summary = convert_folder(folder_, output);
  EXPECT_EQ(summary.launches, 1U);
  ASSERT_EQ(summary.warnings.size(), 1U);
  EXPECT_EQ(
      summary.warnings[0].find(folder_ + "/kernelslist.g:2: 'MemsetD8,0x10,0,64' is left out: no command"),
      0U)
      << summary.warnings[0];
}

TEST_F(HopperTrace, KernelsThatAreNotWholeAreLeftOutIfThatIsWanted) {
  Header two = hopper();
  two.grid = "(2,1,1)";
  write("kernel-1.traceg", hopper().text() + block(kExit, 1));
  write("kernel-2.traceg", two.text() + block(kExit, 1));  // a block is missing
  write("kernel-3.traceg", "");
  write("kernel-5.traceg", hopper().text("last") + block("0000 ffffffff 1 R1 MOV 1 R255 0 0\n" + kExit, 2));
  write("kernelslist.g",
        "kernel-1.traceg\nkernel-2.traceg\nkernel-3.traceg\nkernel-4.traceg\nkernel-5.traceg\n");
  EXPECT_NE(error().find("gpumux convert --skip-damaged leaves out kernels that are not whole"),
            std::string::npos)
      << error();
  MemoryOutput output;
  const ConvertSummary summary = convert_folder(folder_, output, Damaged::LeaveOut);
  EXPECT_EQ(summary.launches, 2U);
  EXPECT_EQ(summary.left_out, 3U);
  EXPECT_EQ(summary.warp_instructions, 3U);
  ASSERT_EQ(summary.warnings.size(), 3U);
  EXPECT_NE(summary.warnings[0].find("kernel kernel-2.traceg is left out: "), std::string::npos);
  EXPECT_NE(summary.warnings[0].find("after 1 of the grid's 2 blocks"), std::string::npos)
      << summary.warnings[0];
  const auto trace = Trace::from_bytes(output.take(), "t");
  ASSERT_EQ(trace->launches().size(), 2U);
  EXPECT_EQ(trace->launches()[1].kernel, "last");
  write("kernelslist.g", "kernel-3.traceg\n");
  MemoryOutput none;
  EXPECT_THROW((void)convert_folder(folder_, none, Damaged::LeaveOut), UserError);
}

// --- .tracez ------------------------------------------------------------------------------------------

void put(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string frame(const std::string& text, const std::string& dictionary) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  const std::size_t size = ZSTD_compress_usingDict(context, packed.data(), packed.size(), text.data(),
                                                   text.size(), dictionary.data(), dictionary.size(), 3);
  ZSTD_freeCCtx(context);
  EXPECT_EQ(ZSTD_isError(size), 0U);
  packed.resize(size);
  return packed;
}

/// Blocks of warps of frames of lines, as Accel-Sim's post-processing lays them out.
using Blocks = std::vector<std::vector<std::vector<std::vector<std::string>>>>;
std::string tracez(const std::string& header, const Blocks& blocks, const std::string& dictionary) {
  std::string out = header;
  out.push_back('\0');
  put(out, dictionary.size(), 4);
  put(out, 2048, 4);
  out += dictionary;
  std::string index;
  put(index, blocks.size(), 4);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const std::uint64_t number : {std::uint64_t{b}, std::uint64_t{0}, std::uint64_t{0}})
      put(index, number, 4);
    for (int i = 0; i < 7; ++i) put(index, 0, 4);
    put(index, blocks[b].size(), 4);
    for (const auto& frames : blocks[b]) {
      std::size_t count = 0;
      for (const auto& lines : frames) count += lines.size();
      put(index, count, 4);
      put(index, frames.size(), 4);
      put(index, out.size(), 8);
      put(out, count, 4);
      put(out, frames.size(), 4);
      for (const auto& lines : frames) {
        std::string text;
        for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
        const std::string packed = frame(text, dictionary);
        put(out, packed.size(), 4);
        out += packed;
        put(index, lines.size(), 4);
      }
    }
  }
  const std::uint64_t at = out.size();
  out += index;
  put(out, at, 8);
  return out;
}

const std::string kLoadLine = "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f2000000000 4 0";
const std::string kExitLine = "0010 ffffffff 0 EXIT 0 0 0";

std::string sample(const std::string& dictionary = "") {
  Header h = hopper("6", "(64,1,1)");
  h.grid = "(2,1,1)";
  const std::string text = h.text();
  const std::vector<std::vector<std::string>> split = {{kLoadLine}, {kExitLine}};
  return tracez(text.substr(0, text.find("\n#traces format")),
                {{split, {{kLoadLine, kExitLine}}}, {{{kExitLine}}, split}}, dictionary);
}

TEST_F(HopperTrace, CompressedWarpsAreTheSameAsTheirText) {
  Header h = hopper("6", "(64,1,1)");
  h.grid = "(2,1,1)";
  const std::string both = "insts = 2\n" + kLoadLine + "\n" + kExitLine + "\n";
  write_kernel(h.text() + "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\n" + both + "warp = 1\n" + both +
               "#END_TB\n#BEGIN_TB\nthread block = 1,0,0\nwarp = 0\ninsts = 1\n" + kExitLine +
               "\nwarp = 1\n" + both + "#END_TB\n");
  ASSERT_EQ(error(), "");
  const std::string identity = load()->identity();
  write("kernelslist.g", "kernel-1.tracez\n");
  for (const std::string& dictionary : {std::string(), kLoadLine + kExitLine}) {
    write("kernel-1.tracez", sample(dictionary));
    ASSERT_EQ(error(), "");
    EXPECT_EQ(load()->identity(), identity);
  }
}

TEST_F(HopperTrace, DamagedCompressedWarpsAreErrors) {
  write("kernelslist.g", "kernel-1.tracez\n");
  const std::string good = sample(kLoadLine);
  const auto result = [&](const std::string& bytes) {
    write("kernel-1.tracez", bytes);
    return error();
  };
  EXPECT_NE(result("").find("kernel-1.tracez"), std::string::npos);
  EXPECT_NE(result(std::string("hello")).find("no zero byte behind the kernel's header"), std::string::npos);
  EXPECT_NE(result(std::string("\x28\xb5\x2f\xfd\0\0\0\0\0\0\0\0", 12))
                .find("does not begin with the text of a kernel's header"),
            std::string::npos);
  for (std::size_t size = 0; size < good.size(); size += 7)
    EXPECT_NE(result(good.substr(0, size)), "") << size;
  // A changed byte is an error, or changes what a line says.
  unsigned errors = 0;
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    errors += result(changed).empty() ? 0 : 1;
  }
  EXPECT_GT(errors, good.size() / 3 / 4);
}

}  // namespace
}  // namespace gpumux::trace::test
