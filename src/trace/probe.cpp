#include "trace/probe.hpp"

#include <numeric>

#include "base/error.hpp"
#include "trace/warp_program.hpp"

namespace gpumux::trace {
namespace {

constexpr int kNoDestination = WarpProgram::kNoResult;
constexpr std::uint32_t kBlockThreads = 1024;
constexpr std::uint32_t kBlockWarps = kBlockThreads / kWarpSize;
constexpr std::uint32_t kWarpBytes = kWarpSize * 8;  // doubles

/// First address of an array. Arrays have 4 GiB and are adjacent.
constexpr Address probe_array(unsigned index) { return 0x7f40'0000'0000ULL + (Address{index} << 32U); }

/// Visits lines in steps of about the golden section, so that each line is visited once before any repeats.
void chase(WarpProgram& p, const Probe& probe) {
  const std::uint64_t lines = probe.footprint / kLineBytes;
  auto step = static_cast<std::uint64_t>(static_cast<double>(lines) * 0.6180339887);
  while (step > 1 && std::gcd(step, lines) != 1) --step;
  p.add("S2R", 2, {});
  std::uint64_t line = 0;
  for (std::uint32_t i = 0; i < probe.work; ++i) {
    p.strided("LDG.E.64.SYS", 2, {2}, 8, probe_array(0) + kLineBytes * line, 0);
    line = (line + step) % lines;
  }
  p.strided("STG.E.64.SYS", kNoDestination, {4, 2}, 8, probe_array(1), 0);
  p.exit();
}

/// Reads with sixteen loads in flight, and a multiplication for every two loads.
void read(WarpProgram& p, const Probe& probe, std::uint32_t warp) {
  constexpr int kLoads = 16;
  p.prologue(2, {0, 1, 2}, 1);
  const std::uint64_t lines = probe.footprint / kLineBytes;
  for (std::uint32_t round = 0; round < probe.work; ++round) {
    int loaded = 0;
    for (std::uint64_t line = warp; line < lines; line += kBlockWarps) {
      p.coalesced("LDG.E.SYS", 8 + loaded, {2}, probe_array(0) + kLineBytes * line);
      if (++loaded < kLoads && line + kBlockWarps < lines) continue;
      for (int i = 0; i + 1 < loaded; i += 2) p.add("FFMA", 4, {8 + i, 9 + i, 4});
      loaded = 0;
    }
  }
  p.coalesced("STG.E.SYS", kNoDestination, {2, 4}, probe_array(1) + kLineBytes * warp);
  p.exit();
}

void stream(WarpProgram& p, const Probe& probe, std::uint32_t block, std::uint32_t warp) {
  const Address offset = (Address{block} * kBlockWarps + warp) * kWarpBytes;
  const auto access = [&](const char* opcode, int dst, WarpProgram::Sources src, unsigned index) {
    p.strided(opcode, dst, src, 8, probe_array(index) + offset, 8);
  };
  p.prologue(2, {0, 1, 2}, 1);
  if (probe.kind != ProbeKind::Init) access("LDG.E.64.SYS", 8, {2}, 1);
  if (probe.kind == ProbeKind::Triad) {
    access("LDG.E.64.SYS", 10, {2}, 2);
    access("LDG.E.64.SYS", 12, {2}, 3);
    p.add("DFMA", 8, {8, 10, 12});
  }
  if (probe.kind == ProbeKind::Scale) p.add("DMUL", 8, {8, 14});
  if (probe.kind == ProbeKind::Load) {
    p.add("DSETP.NE.AND", kNoDestination, {8, 14});  // writes no register, but waits for the value
  } else {
    access("STG.E.64.SYS", kNoDestination, {2, 8}, 0);
  }
  p.exit();
}

std::uint32_t blocks_of(const Probe& probe) {
  if (probe.kind == ProbeKind::Latency) return 1;
  if (probe.kind == ProbeKind::Read) return probe.blocks;
  return static_cast<std::uint32_t>(probe.footprint / (std::uint64_t{kBlockWarps} * kWarpBytes) * probe.work /
                                    1000);
}

}  // namespace

std::uint64_t bytes_of(const Probe& probe) {
  switch (probe.kind) {
    case ProbeKind::Latency: return std::uint64_t{probe.work} * 8;
    case ProbeKind::Read: return probe.footprint * probe.work * probe.blocks;
    default: break;
  }
  const std::uint64_t once = std::uint64_t{blocks_of(probe)} * kBlockWarps * kWarpBytes;
  return once * (probe.kind == ProbeKind::Triad ? 4 : probe.kind == ProbeKind::Scale ? 2 : 1);
}

void write_probe(const Probe& probe, Output& output) {
  TraceBuilder builder(output);
  try {
    KernelHeader header;
    header.name = kProbeWords.at(static_cast<std::size_t>(probe.kind));
    header.id = 1;
    header.grid = {blocks_of(probe), 1, 1};
    header.block = {probe.kind == ProbeKind::Latency ? kWarpSize : kBlockThreads, 1, 1};
    header.registers = 32;
    header.windows = {0x7f00'0000'0000ULL, 0x7f10'0000'0000ULL};
    write_kernel(builder, header, [&](WarpProgram& program, std::uint32_t block, std::uint32_t warp) {
      if (probe.kind == ProbeKind::Latency) {
        chase(program, probe);
      } else if (probe.kind == ProbeKind::Read) {
        read(program, probe, warp);
      } else {
        stream(program, probe, block, warp);
      }
    });
    constexpr std::uint32_t kSm = 70;
    builder.finish(kSm);
  } catch (const BuildError& error) {
    throw InternalError("probe: " + error.what);
  }
}

}  // namespace gpumux::trace
