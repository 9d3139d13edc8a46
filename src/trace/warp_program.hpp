// What one warp of a reference kernel executes, put together instruction by instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "trace/builder.hpp"

namespace gpumux::trace {

/// How the lanes' addresses lie; the text of a trace has a form for each.
enum class Pattern : std::uint8_t { None, Stride, Delta };

struct Executed {
  std::uint32_t pc = 0;
  SassInst inst;
  Pattern pattern = Pattern::None;
  TraceBuilder::Addresses addresses{};
};

/// All lanes are active. The program counter moves on with each instruction; a loop jumps back, so that its
/// rounds have the same instructions.
class WarpProgram {
 public:
  static constexpr int kNoResult = -1;
  static constexpr std::uint32_t kInstructionBytes = 16;
  using Sources = std::initializer_list<int>;

  explicit WarpProgram(std::vector<Executed>& out) : out_(out) { out_.clear(); }
  void jump(std::uint32_t pc) { pc_ = pc; }
  [[nodiscard]] std::uint32_t pc() const { return pc_; }

  Executed& add(const char* opcode, int dst, Sources src) {
    Executed& e = out_.emplace_back();
    e.pc = pc_;
    pc_ += kInstructionBytes;
    e.inst.opcode = opcode;
    if (dst != kNoResult) e.inst.dst[e.inst.num_dst++] = static_cast<std::uint8_t>(dst);
    for (const int reg : src) e.inst.src[e.inst.num_src++] = static_cast<std::uint8_t>(reg);
    return e;
  }
  /// Barrier 0 of the block.
  void barrier() { add("BAR.SYNC", kNoResult, {}).inst.immediate = 0; }
  /// Lane l accesses `bytes` at base + stride l.
  void strided(const char* opcode, int dst, Sources src, std::uint32_t bytes, Address base,
               std::uint32_t stride) {
    Executed& e = add(opcode, dst, src);
    e.inst.access_bytes = static_cast<std::uint8_t>(bytes);
    e.pattern = Pattern::Stride;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) e.addresses[lane] = base + Address{stride} * lane;
  }
  /// Lane l accesses 4 bytes at base + 4 l.
  void coalesced(const char* opcode, int dst, Sources src, Address base) {
    strided(opcode, dst, src, 4, base, 4);
  }
  /// Lane l accesses `bytes` at address(l).
  template <typename AddressOf>
  void listed(const char* opcode, int dst, Sources src, std::uint32_t bytes, AddressOf&& address) {
    Executed& e = add(opcode, dst, src);
    e.inst.access_bytes = static_cast<std::uint8_t>(bytes);
    e.pattern = Pattern::Delta;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) e.addresses[lane] = address(lane);
  }
  /// Thread index, block index, and the global index in `result`.
  void prologue(int result, Sources parts, int second) {
    add("S2R", 0, {});
    add("S2R", second, {});
    add("IMAD", result, parts);
  }
  /// A loop's end: counter, comparison, branch.
  void loop_end(int counter) {
    add("IADD3", counter, {counter});
    add("ISETP.NE.AND", kNoResult, {counter});
    add("BRA", kNoResult, {});
  }
  void exit() { add("EXIT", kNoResult, {}); }

 private:
  std::vector<Executed>& out_;
  std::uint32_t pc_ = 0;
};

/// A kernel of the header's grid and block; `run` appends what a warp (its number in its block) of a block
/// executes.
void write_kernel(
    TraceBuilder& builder, const KernelHeader& header,
    const std::function<void(WarpProgram& program, std::uint32_t block, std::uint32_t warp)>& run);

}  // namespace gpumux::trace
