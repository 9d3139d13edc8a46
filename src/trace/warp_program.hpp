// Builder for the instructions that one warp of a reference kernel executes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "trace/builder.hpp"

namespace gpumux::trace {

/// Pattern of the lanes' addresses. The text form of a trace has a notation for each.
enum class Pattern : std::uint8_t { None, Stride, Delta };

struct Executed {
  std::uint32_t pc = 0;
  SassInst inst;
  Pattern pattern = Pattern::None;
  TraceBuilder::Addresses addresses{};
};

/// Appends executed instructions with all lanes active. The program counter advances with each instruction. A
/// loop jumps back, so that its rounds have the same instructions.
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
  /// A barrier of the block, number 0.
  void barrier() { add("BAR.SYNC", kNoResult, {}).inst.immediate = 0; }
  /// An access in which lane l accesses `bytes` at base + stride * l.
  void strided(const char* opcode, int dst, Sources src, std::uint32_t bytes, Address base,
               std::uint32_t stride) {
    Executed& e = add(opcode, dst, src);
    e.inst.access_bytes = static_cast<std::uint8_t>(bytes);
    e.pattern = Pattern::Stride;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) e.addresses[lane] = base + Address{stride} * lane;
  }
  /// An access in which lane l accesses 4 bytes at base + 4 l.
  void coalesced(const char* opcode, int dst, Sources src, Address base) {
    strided(opcode, dst, src, 4, base, 4);
  }
  /// An access in which lane l accesses `bytes` at address(l).
  template <typename AddressOf>
  void listed(const char* opcode, int dst, Sources src, std::uint32_t bytes, AddressOf&& address) {
    Executed& e = add(opcode, dst, src);
    e.inst.access_bytes = static_cast<std::uint8_t>(bytes);
    e.pattern = Pattern::Delta;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) e.addresses[lane] = address(lane);
  }
  /// Reads thread and block index, and computes the global index in register `result`.
  void prologue(int result, Sources parts, int second) {
    add("S2R", 0, {});
    add("S2R", second, {});
    add("IMAD", result, parts);
  }
  /// The end of a loop: counter, comparison, branch.
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

/// Writes a kernel with the header's grid and block size. `run` appends the instructions of a warp; its
/// `warp` is the number in the block.
void write_kernel(
    TraceBuilder& builder, const KernelHeader& header,
    const std::function<void(WarpProgram& program, std::uint32_t block, std::uint32_t warp)>& run);

}  // namespace gpumux::trace
