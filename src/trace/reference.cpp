#include "trace/reference.hpp"

#include <fmt/core.h>

#include <initializer_list>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace gpumux::trace {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kWarps = kThreads / kWarpSize;
constexpr std::uint32_t kTracerVersion = 4;
constexpr std::uint32_t kSm = 70;
constexpr std::uint32_t kInstructionBytes = 16;

/// Arrays of 256 MiB side by side.
constexpr Address array(unsigned index) { return 0x7f40'0000'0000ULL + (Address{index} << 28U); }

/// How the lanes' addresses lie; the text has a form for each.
enum class Pattern : std::uint8_t { None, Stride, Delta };

struct Executed {
  std::uint32_t pc = 0;
  SassInst inst;
  Pattern pattern = Pattern::None;
  TraceBuilder::Addresses addresses{};
};

/// What one warp executes, appended instruction by instruction. All lanes are active, data are 4 bytes.
class WarpProgram {
 public:
  explicit WarpProgram(std::vector<Executed>& out) : out_(out) { out_.clear(); }
  void jump(std::uint32_t pc) { pc_ = pc; }
  [[nodiscard]] std::uint32_t pc() const { return pc_; }
  static constexpr int kNoResult = -1;

  Executed& add(const char* opcode, int dst, std::initializer_list<int> src) {
    Executed& e = out_.emplace_back();
    e.pc = pc_;
    pc_ += kInstructionBytes;
    e.inst.opcode = opcode;
    if (dst != kNoResult) e.inst.dst[e.inst.num_dst++] = static_cast<std::uint8_t>(dst);
    for (const int reg : src) e.inst.src[e.inst.num_src++] = static_cast<std::uint8_t>(reg);
    return e;
  }
  /// Lane l at base + 4 l.
  void coalesced(const char* opcode, int dst, std::initializer_list<int> src, Address base) {
    Executed& e = add(opcode, dst, src);
    e.inst.access_bytes = 4;
    e.pattern = Pattern::Stride;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) e.addresses[lane] = base + 4 * lane;
  }
  /// `lines` groups of neighbouring lanes; each group reads from one sector of a line that the seed chooses
  /// among `span_lines` from the base on.
  void gather(int dst, Address base, std::uint32_t lines, std::uint32_t span_lines, std::uint64_t seed) {
    Executed& e = add("LDG.E.SYS", dst, {3});
    e.inst.access_bytes = 4;
    e.pattern = Pattern::Delta;
    const std::uint32_t group_lanes = kWarpSize / lines;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const std::uint64_t line = mix64(seed * 64 + lane / group_lanes) % span_lines;
      e.addresses[lane] = base + line * kLineBytes + 4 * (lane % group_lanes % 8);
    }
  }
  /// Thread index, block index, global index.
  void prologue() {
    add("S2R", 0, {});
    add("S2R", 2, {});
    add("IMAD", 3, {0, 2, 1});
  }

 private:
  std::vector<Executed>& out_;
  std::uint32_t pc_ = 0;
};

/// Four loads, ten rounds of 32 FFMA and 8 IADD3 in four chains, one store.
void compute(std::vector<Executed>& out, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  constexpr int kRounds = 10;
  constexpr int kChains = 4;
  WarpProgram p(out);
  const Address offset = Address{block * kThreads + warp * kWarpSize} * 4;
  p.prologue();
  for (int k = 0; k < kChains; ++k) {
    p.coalesced("LDG.E.SYS", 4 + k, {3}, array(static_cast<unsigned>(k)) + offset);
  }
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
    p.add("IADD3", 20, {20});
    p.add("ISETP.NE.AND", WarpProgram::kNoResult, {20});
    p.add("BRA", WarpProgram::kNoResult, {});
  }
  p.coalesced("STG.E.SYS", WarpProgram::kNoResult, {3, 12}, array(4) + offset);
  p.add("EXIT", WarpProgram::kNoResult, {});
}

/// Eight times two loads, an add and a store; every address once.
void stream(std::vector<Executed>& out, std::uint32_t block, std::uint32_t warp, std::uint32_t blocks) {
  WarpProgram p(out);
  p.prologue();
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 8; ++round) {
    p.jump(loop);
    const Address offset = (Address{round * blocks + block} * kThreads + warp * kWarpSize) * 4;
    p.coalesced("LDG.E.SYS", 4, {3}, array(0) + offset);
    p.coalesced("LDG.E.SYS", 5, {3}, array(1) + offset);
    p.add("IADD3", 6, {4, 5});
    p.coalesced("STG.E.SYS", WarpProgram::kNoResult, {3, 6}, array(2) + offset);
    p.add("IADD3", 3, {3});
    p.add("ISETP.NE.AND", WarpProgram::kNoResult, {3});
    p.add("BRA", WarpProgram::kNoResult, {});
  }
  p.add("EXIT", WarpProgram::kNoResult, {});
}

/// Eight times a load over 8 lines of 64 KB, one over 16 lines of 16 MB, and two arithmetic; one store.
void diverge(std::vector<Executed>& out, std::uint32_t block, std::uint32_t warp, std::uint32_t) {
  WarpProgram p(out);
  p.prologue();
  const std::uint32_t loop = p.pc();
  for (std::uint32_t round = 0; round < 8; ++round) {
    p.jump(loop);
    const std::uint64_t seed = (std::uint64_t{block} * kWarps + warp) * 8 + round;
    p.gather(4, array(0), 8, (64U << 10U) / kLineBytes, 2 * seed);
    p.gather(5, array(1), 16, (16U << 20U) / kLineBytes, 2 * seed + 1);
    p.add("IADD3", 6, {4, 5});
    p.add("FFMA", 7, {7, 6, 4});
    p.add("IADD3", 3, {3});
    p.add("ISETP.NE.AND", WarpProgram::kNoResult, {3});
    p.add("BRA", WarpProgram::kNoResult, {});
  }
  p.coalesced("STG.E.SYS", WarpProgram::kNoResult, {3, 7},
              array(2) + Address{block * kThreads + warp * kWarpSize} * 4);
  p.add("EXIT", WarpProgram::kNoResult, {});
}

void execute(ReferenceKernel kernel, std::vector<Executed>& out, std::uint32_t block, std::uint32_t warp,
             std::uint32_t blocks) {
  switch (kernel) {
    case ReferenceKernel::Compute: compute(out, block, warp, blocks); return;
    case ReferenceKernel::Stream: stream(out, block, warp, blocks); return;
    case ReferenceKernel::Diverge: diverge(out, block, warp, blocks); return;
  }
}

KernelHeader header_of(ReferenceKernel kernel, std::uint32_t blocks) {
  KernelHeader header;
  header.name = name(kernel);
  header.id = 1;
  header.grid = {blocks, 1, 1};
  header.block = {kThreads, 1, 1};
  header.registers = 32;
  header.windows = {0x7f00'0000'0000ULL, 0x7f10'0000'0000ULL};
  return header;
}

void append_line(std::string& text, const Executed& e) {
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "{:04x} ffffffff {}", e.pc, e.inst.num_dst);
  for (unsigned i = 0; i < e.inst.num_dst; ++i) fmt::format_to(to, " R{}", e.inst.dst[i]);
  fmt::format_to(to, " {} {}", e.inst.opcode, e.inst.num_src);
  for (unsigned i = 0; i < e.inst.num_src; ++i) fmt::format_to(to, " R{}", e.inst.src[i]);
  fmt::format_to(to, " {}", e.inst.access_bytes);
  if (e.pattern == Pattern::Stride) fmt::format_to(to, " 1 0x{:x} 4", e.addresses[0]);
  if (e.pattern == Pattern::Delta) {
    fmt::format_to(to, " 2 0x{:x}", e.addresses[0]);
    for (std::uint32_t lane = 1; lane < kWarpSize; ++lane) {
      fmt::format_to(to, " {}", static_cast<std::int64_t>(e.addresses[lane] - e.addresses[lane - 1]));
    }
  }
  text += " 0\n";
}

}  // namespace

const char* name(ReferenceKernel kernel) {
  switch (kernel) {
    case ReferenceKernel::Compute: return "compute";
    case ReferenceKernel::Stream: return "stream";
    case ReferenceKernel::Diverge: return "diverge";
  }
  return "?";
}

void write_reference(ReferenceKernel kernel, std::uint32_t blocks, Output& output) {
  TraceBuilder builder(output);
  std::vector<Executed> executed;
  std::vector<std::uint32_t> numbers;  // of the builder's instructions; every warp executes the same ones
  try {
    builder.begin_kernel(header_of(kernel, blocks));
    for (std::uint32_t block = 0; block < blocks; ++block) {
      builder.begin_block(block);
      for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
        execute(kernel, executed, block, warp, blocks);
        if (numbers.empty()) {
          for (const Executed& e : executed) numbers.push_back(builder.instruction(e.pc, e.inst));
        }
        builder.begin_warp(warp);
        for (std::size_t i = 0; i < executed.size(); ++i) {
          builder.record(numbers[i], kAllLanes, executed[i].addresses);
        }
        builder.end_warp();
      }
      builder.end_block();
    }
    builder.end_kernel();
    builder.finish(kSm);
  } catch (const BuildError& error) {
    throw InternalError("reference kernel: " + error.what);
  }
}

std::string reference_text(ReferenceKernel kernel, std::uint32_t blocks) {
  const KernelHeader header = header_of(kernel, blocks);
  std::string text = fmt::format(
      "-kernel name = {}\n-kernel id = {}\n-grid dim = ({},1,1)\n-block dim = ({},1,1)\n-shmem = 0\n-nregs = "
      "{}\n"
      "-binary version = {}\n-cuda stream id = 0\n-shmem base_addr = 0x{:016x}\n-local mem base_addr = "
      "0x{:016x}\n"
      "-nvbit version = 1.5.5\n-accelsim tracer version = {}\n-enable lineinfo = 0\n\n#traces format = PC "
      "mask ...\n\n",
      header.name, header.id, blocks, kThreads, header.registers, kSm, header.windows.shared_base,
      header.windows.local_base, kTracerVersion);
  std::vector<Executed> executed;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    text += fmt::format("#BEGIN_TB\n\nthread block = {},0,0\n\n", block);
    for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
      execute(kernel, executed, block, warp, blocks);
      text += fmt::format("warp = {}\ninsts = {}\n", warp, executed.size());
      for (const Executed& e : executed) append_line(text, e);
      text += '\n';
    }
    text += "#END_TB\n\n";
  }
  return text;
}

}  // namespace gpumux::trace
