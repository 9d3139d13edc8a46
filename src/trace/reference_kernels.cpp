#include "trace/reference_kernels.hpp"

#include "base/hash.hpp"

namespace gpumux::trace {
namespace {

constexpr int kNone = WarpProgram::kNoResult;
constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kWarps = kThreads / kWarpSize;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// First address of an array. Arrays have 256 MiB and are adjacent.
constexpr Address array(unsigned index) { return 0x7f40'0000'0000ULL + (Address{index} << 28U); }
/// First address of an array that is copied to the device. These are below 4 GiB, as in the traces behind the
/// reported figures.
constexpr Address low_array(unsigned index) { return 0x4000'0000ULL + (Address{index} << 28U); }

/// Offset of a warp's part of an array with one float per thread.
constexpr Address part(std::uint32_t block, std::uint32_t warp, std::uint32_t threads = kThreads) {
  return Address{block * threads + warp * kWarpSize} * 4;
}

// --- the three timed kernels -----------------------------------------------------------------------

/// A load by `lines` groups of adjacent lanes. Each group reads one sector of a line that the seed selects
/// among `span_lines` lines from `base` on.
void gather(WarpProgram& p, int dst, Address base, std::uint32_t lines, std::uint32_t span_lines,
            std::uint64_t seed) {
  const std::uint32_t group = kWarpSize / lines;
  p.listed("LDG.E.SYS", dst, {3}, 4, [&](std::uint32_t lane) {
    const std::uint64_t line = mix64(seed * 64 + lane / group) % span_lines;
    return base + line * kLineBytes + 4 * (lane % group % 8);
  });
}

/// Four loads, ten rounds of 32 FFMA and 8 IADD3 in four chains, one store.
void compute(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  constexpr int kRounds = 10;
  constexpr int kChains = 4;
  const Address offset = part(block, warp);
  p.prologue(3, {0, 2, 1}, 2);
  for (int k = 0; k < kChains; ++k)
    p.coalesced("LDG.E.SYS", 4 + k, {3}, array(static_cast<unsigned>(k)) + offset);
  const std::uint32_t loop = p.pc();
  for (int round = 0; round < kRounds; ++round) {
    p.jump(loop);
    for (int j = 0; j < 40; ++j) {
      const int c = j % kChains;
      if (j % 5 == 4) {
        p.add("IADD3", 8 + c, {8 + c, 4, 5});
      } else {
        p.add("FFMA", 12 + c, {12 + c, 4 + c, 8 + c});
      }
    }
    p.loop_end(20);
  }
  p.coalesced("STG.E.SYS", kNone, {3, 12}, array(4) + offset);
  p.exit();
}

/// Eight rounds of two loads, an add and a store. Each address is used once.
void stream(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t blocks) {
  p.prologue(3, {0, 2, 1}, 2);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 8; ++round) {
    p.jump(loop);
    const Address offset = part(round * blocks + block, warp);
    p.coalesced("LDG.E.SYS", 4, {3}, array(0) + offset);
    p.coalesced("LDG.E.SYS", 5, {3}, array(1) + offset);
    p.add("IADD3", 6, {4, 5});
    p.coalesced("STG.E.SYS", kNone, {3, 6}, array(2) + offset);
    p.loop_end(3);
  }
  p.exit();
}

/// Eight rounds of a load over 8 lines of 64 KB, a load over 16 lines of 16 MB, and two arithmetic
/// instructions. One store at the end.
void diverge(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  p.prologue(3, {0, 2, 1}, 2);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 8; ++round) {
    p.jump(loop);
    const std::uint64_t seed = (std::uint64_t{block} * kWarps + warp) * 8 + round;
    gather(p, 4, array(0), 8, (64U << 10U) / kLineBytes, 2 * seed);
    gather(p, 5, array(1), 16, (16U << 20U) / kLineBytes, 2 * seed + 1);
    p.add("IADD3", 6, {4, 5});
    p.add("FFMA", 7, {7, 6, 4});
    p.loop_end(3);
  }
  p.coalesced("STG.E.SYS", kNone, {3, 7}, array(2) + part(block, warp));
  p.exit();
}

// --- fourteen other kernels -----------------------------------------------------------------------------

void begin(WarpProgram& p) { p.prologue(2, {0, 1, 2}, 1); }
constexpr int kCounter = 20;

/// Dependent loads: each address depends on the previous value. A load reads a random line of `kSpanLines`,
/// all lanes the same 8 bytes.
template <std::uint64_t kSpanLines, int kLoads, bool kLow>
void chase(WarpProgram& p, std::uint32_t block, std::uint32_t, std::uint32_t) {
  p.add("S2R", 2, {});
  std::uint64_t x = std::uint64_t{block} * 1000003;
  for (int i = 0; i < kLoads; ++i) {
    x = mix64(x);
    p.strided("LDG.E.64.SYS", 2, {2}, 8, (kLow ? low_array(0) : array(0)) + kLineBytes * (x % kSpanLines), 0);
  }
  p.strided("STG.E.SYS", kNone, {4, 2}, 8, (kLow ? low_array(2) : array(2)) + Address{block} * 256, 8);
  p.exit();
}

/// Rounds of a long chain of instructions through all units, with a short chain beside it.
template <int kRounds, std::uint32_t kBlockThreads>
void mixed(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  const Address offset = part(block, warp, kBlockThreads);
  begin(p);
  p.coalesced("LDG.E.SYS", 4, {2}, array(0) + offset);
  const std::uint32_t loop = p.pc();
  for (int round = 0; round < kRounds; ++round) {
    p.jump(loop);
    p.add("FFMA", 8, {4, 8, 4});
    p.add("MUFU.RSQ", 8, {8});
    p.add("FMUL", 8, {8, 4});
    p.add("FADD", 8, {8, 4});
    p.add("F2F.F64.F32", 10, {8});
    p.add("DADD", 10, {10, 12});
    p.add("DFMA", 10, {10, 12, 10});
    p.add("DMUL", 10, {10, 12});
    p.add("F2F.F32.F64", 14, {10});
    p.add("F2I", 14, {14});
    p.add("IMAD", 14, {14, 15, 14});
    p.add("LOP3.LUT", 14, {14, 15});
    p.add("SHFL.BFLY", 14, {14});
    p.add("SHF.R.U32.HI", 14, {14});
    p.add("I2F", 4, {14});
    p.add("MUFU.EX2", 16, {4});
    p.add("MUFU.LG2", 17, {16});
    p.add("FFMA", 18, {17, 16, 4});
    p.add("IADD3", 22, {22, 14});
    p.add("LEA", 22, {22, 14});
    p.loop_end(kCounter);
  }
  p.coalesced("STG.E.SYS", kNone, {2, 18}, array(1) + offset);
  p.exit();
}

/// Rounds of four loads of shared memory with a distance of `kWords` words between lanes, each with an FFMA.
template <std::uint32_t kWords>
void shared_conflicts(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  constexpr bool kAll = kWords == kWarpSize;
  const Address offset = part(block, warp);
  const Address own = kAll ? 4 * warp : 128 * warp;
  begin(p);
  p.coalesced("LDG.E.SYS", 4, {2}, array(0) + offset);
  p.strided("STS", kNone, {6, 4}, 4, own, 4 * kWords);
  p.barrier();
  const std::uint32_t loop = p.pc();
  for (int round = 0; round < (kAll ? 8 : 24); ++round) {
    p.jump(loop);
    for (int u = 0; u < 4; ++u)
      p.strided("LDS.U", 8 + u, {6}, 4, own + (kAll ? 0U : 32U * static_cast<unsigned>(u)), 4 * kWords);
    for (int u = 0; u < 4; ++u) p.add("FFMA", 12 + u, {12 + u, 8 + u, 4});
    p.loop_end(kCounter);
  }
  p.barrier();
  p.coalesced("STG.E.SYS", kNone, {2, 12}, array(1) + offset);
  p.exit();
}

/// A five-point stencil on rows of 4096 floats. A block has 256 columns and processes six rows, with two
/// barriers each.
void stencil(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  constexpr Address kRow = 4096 * 4;
  constexpr std::uint32_t kColumns = 4096 / kThreads;
  const std::uint32_t x = block % kColumns * kThreads + warp * kWarpSize;
  const std::uint32_t first = block / kColumns * 6 + 1;
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t r = 0; r < 6; ++r) {
    p.jump(loop);
    const Address at = (first + r) * kRow + Address{x + 32} * 4;
    const Address a = array(0) + at;
    p.coalesced("LDG.E.SYS", 4, {2}, a);
    p.coalesced("LDG.E.SYS", 5, {2}, a - 4);
    p.coalesced("LDG.E.SYS", 6, {2}, a + 4);
    p.coalesced("LDG.E.SYS", 7, {2}, a - kRow);
    p.coalesced("LDG.E.SYS", 8, {2}, a + kRow);
    p.add("FADD", 9, {4, 5});
    for (int neighbour = 6; neighbour <= 8; ++neighbour) p.add("FADD", 9, {9, neighbour});
    p.add("FMUL", 10, {9, 16});
    p.coalesced("STS", kNone, {18, 10}, warp * 128);
    p.barrier();
    p.coalesced("LDS.U", 11, {18}, (warp + 1) % 8 * 128);
    p.add("FFMA", 12, {11, 10, 12});
    p.barrier();
    p.coalesced("STG.E.SYS", kNone, {2, 12}, array(1) + at);
    p.loop_end(kCounter);
  }
  p.exit();
}

/// Matrix product with tiles of 64 x 64 in three steps of 16. A step loads both tiles by 128 bits and has two
/// barriers.
void sgemm(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  constexpr Address kRow = 1024 * 4;
  const std::uint32_t by = block / 16;
  const std::uint32_t bx = block % 16;
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t step = 0; step < 3; ++step) {
    p.jump(loop);
    p.listed("LDG.E.128.SYS", 8, {2}, 16, [&](std::uint32_t l) {
      return array(0) + (by * 64 + warp * 8 + l / 4) * kRow + step * 64 + l % 4 * 16;
    });
    p.listed("LDG.E.128.SYS", 12, {2}, 16, [&](std::uint32_t l) {
      return array(1) + (step * 16 + warp * 2 + l / 16) * kRow + bx * 256 + l % 16 * 16;
    });
    p.strided("STS.128", kNone, {6, 8}, 16, warp * 512, 16);
    p.strided("STS.128", kNone, {6, 12}, 16, 4096 + warp * 512, 16);
    p.barrier();
    for (std::uint32_t k = 0; k < 16; ++k) {
      p.listed("LDS.U.128", 16, {6}, 16,
               [&](std::uint32_t l) { return Address{k * 256 + (warp * 2 + l / 16) * 16}; });
      p.listed("LDS.U.128", 24, {6}, 16,
               [&](std::uint32_t l) { return Address{4096 + k * 256 + l % 16 * 16}; });
      for (int u = 0; u < 16; ++u) p.add("FFMA", 32 + u, {16 + u / 4, 24 + u % 4, 32 + u});
    }
    p.barrier();
    p.loop_end(kCounter);
  }
  for (int u = 0; u < 4; ++u) {
    p.listed("STG.E.128.SYS", kNone, {2, 32 + 4 * u}, 16, [&](std::uint32_t l) {
      return array(2) + (by * 64 + (warp * 2 + l / 16) * 4 + static_cast<unsigned>(u)) * kRow + bx * 256 +
             l % 16 * 16;
    });
  }
  p.exit();
}

/// Three rounds of eight loads, each of four random sectors within 2 MB.
void l2_random(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 3; ++round) {
    p.jump(loop);
    for (std::uint32_t u = 0; u < 8; ++u) {
      const std::uint64_t seed = ((std::uint64_t{block} * kWarps + warp) * 3 + round) * 8 + u;
      p.listed("LDG.E.SYS", 8 + static_cast<int>(u), {2}, 4, [&](std::uint32_t l) {
        return low_array(0) + kSectorBytes * (mix64(seed * 4 + l / 8) % 65536) + 4 * (l % 8);
      });
    }
    for (int u = 0; u < 8; ++u) p.add("IADD3", 4, {4, 8 + u});
    p.loop_end(kCounter);
  }
  p.coalesced("STG.E.SYS", kNone, {2, 4}, low_array(1) + part(block, warp));
  p.exit();
}

/// Every 16th block has 80 rounds, other blocks have two to nine.
void uneven(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  const std::uint64_t rounds = block % 16 == 5 ? 80 : 2 + mix64(block) % 8;
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < rounds; ++round) {
    p.jump(loop);
    p.coalesced("LDG.E.SYS", 4, {2}, array(0) + part(round * 128 + block, warp, 128));
    p.coalesced("LDG.E.SYS", 5, {2}, array(1) + part(round, warp));  // the same address in all blocks
    p.add("FFMA", 6, {4, 5, 6});
    p.add("FFMA", 7, {6, 5, 7});
    p.add("MUFU.RCP", 7, {7});
    p.add("IADD3", 8, {8, 9});
    p.add("IMAD", 8, {8, 9, 8});
    p.loop_end(kCounter);
  }
  p.coalesced("STG.E.SYS", kNone, {2, 7}, array(2) + part(block, warp, 128));
  p.exit();
}

/// Eight adjacent stores of 128 bits.
void write_128(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t blocks) {
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 8; ++round) {
    p.jump(loop);
    p.strided("STG.E.128.SYS", kNone, {2, 8}, 16,
              array(0) + ((Address{round} * blocks + block) * kWarps + warp) * 512, 16);
    p.loop_end(kCounter);
  }
  p.exit();
}

/// Six rounds of a load and a store that writes 4 bytes of every 16.
void write_part(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t blocks) {
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 6; ++round) {
    p.jump(loop);
    const Address share = (Address{round} * blocks + block) * kWarps + warp;
    p.coalesced("LDG.E.SYS", 8, {2}, array(1) + share * 128);
    p.strided("STG.E.SYS", kNone, {2, 8}, 4, array(0) + share * 512, 16);
    p.loop_end(kCounter);
  }
  p.exit();
}

/// Eight reductions. All lanes of a warp use one of 16 addresses, which are in 16 lines.
void atomic_reduce(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 8; ++round) {
    p.jump(loop);
    const std::uint64_t number = (std::uint64_t{block} * kWarps + warp) * 8 + round;
    p.coalesced("LDG.E.SYS", 4, {2}, array(0) + number % 4096 * 128);
    p.strided("RED.E.ADD.STRONG.GPU", kNone, {6, 4}, 4, array(2) + mix64(number) % 16 * 128, 0);
    p.loop_end(kCounter);
  }
  p.exit();
}

/// Six atomics within 1 KB, each with eight addresses of four lanes.
void atomic_histogram(WarpProgram& p, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  begin(p);
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 6; ++round) {
    p.jump(loop);
    const std::uint64_t number = (std::uint64_t{block} * kWarps + warp) * 6 + round;
    p.listed("ATOMG.E.ADD.STRONG.GPU", 4, {6, 8}, 4,
             [&](std::uint32_t l) { return array(2) + 4 * (mix64(number * 8 + l / 4) % 256); });
    p.add("IADD3", 8, {4, 8});
    p.loop_end(kCounter);
  }
  p.coalesced("STG.E.SYS", kNone, {2, 8}, array(1) + part(block, warp));
  p.exit();
}

// In the order of ReferenceKernel.
constexpr std::array<ReferenceProgram, kReferenceKernelCount> kPrograms = {{
    {"compute", kReferenceBlocks, kThreads, 0, 32, 0, 0, compute},
    {"stream", kReferenceBlocks, kThreads, 0, 32, 0, 0, stream},
    {"diverge", kReferenceBlocks, kThreads, 0, 32, 0, 0, diverge},
    {"chase_l2", 80, 32, 0, 16, low_array(0), 2 * kMiB, chase<16384, 40, true>},
    {"chase_dram", 80, 32, 0, 16, 0, 0, chase<1U << 20U, 24, false>},
    {"mixlat", 160, 128, 0, 32, 0, 0, mixed<24, 128>},
    {"mixthr", 640, 256, 0, 32, 0, 0, mixed<8, 256>},
    {"smem2", 320, kThreads, 8192, 32, 0, 0, shared_conflicts<2>},
    {"smem32", 160, kThreads, 8192, 32, 0, 0, shared_conflicts<32>},
    {"stencil", 640, kThreads, 1024, 32, 0, 0, stencil},
    {"sgemm", 256, kThreads, 8192, 64, 0, 0, sgemm},
    {"l2rand", 320, kThreads, 0, 32, low_array(0), 2 * kMiB, l2_random},
    {"uneven", 120, 128, 0, 40, 0, 0, uneven},
    {"write128", 320, kThreads, 0, 32, 0, 0, write_128},
    {"writepart", 320, kThreads, 0, 32, 0, 0, write_part},
    {"atom_red", 320, kThreads, 0, 32, 0, 0, atomic_reduce},
    {"atom_hist", 160, kThreads, 0, 32, 0, 0, atomic_histogram},
}};

}  // namespace

const ReferenceProgram& program_of(ReferenceKernel kernel) {
  return kPrograms[static_cast<std::size_t>(kernel)];
}

}  // namespace gpumux::trace
