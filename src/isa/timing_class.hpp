// Properties of one static instruction in the timing model: unit, latency class and registers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"

namespace gpumux::isa {

/// The code that the machine executes. Machine: the output of our back end. Ptx: the PTX's own instructions
/// in their order, as GPGPU-Sim 3 times them.
enum class CodeLevel : std::uint8_t { Machine, Ptx };

/// The kind of execution pipeline that executes an instruction.
enum class Unit : std::uint8_t { Sp, Int, Dp, Sfu, Tensor, Memory, Control, Uniform };
inline constexpr unsigned kUnits = 8;
[[nodiscard]] const char* name(Unit unit);
/// True for a unit that computes values, in contrast to memory and control.
[[nodiscard]] constexpr bool is_arithmetic(Unit unit) {
  return unit != Unit::Memory && unit != Unit::Control;
}

/// Row of the machine's table of latencies and initiation intervals.
enum class LatencyClass : std::uint8_t {
  IntAdd,
  IntMax,
  IntMul,
  IntMad,
  IntDiv,
  FpAdd,
  FpMax,
  FpMul,
  FpMad,
  FpDiv,
  DpAdd,
  DpMax,
  DpMul,
  DpMad,
  DpDiv,
  Sfu,
  Tensor,
  Control,
  Memory,
  Uniform
};
inline constexpr unsigned kLatencyClasses = 20;
[[nodiscard]] const char* name(LatencyClass latency_class);

/// Effects of an instruction besides arithmetic: bits of StaticInst::flags.
enum InstFlag : std::uint16_t {
  kLoad = 1,  // returns data through registers: destinations wait for the reply
  kStore = 2,
  kAtomic = 4,           // performed at L2 (global) or in shared memory
  kShared = 8,           // shared memory: bank conflicts instead of L1 accesses
  kBypassL1 = 16,        // cg, cv, volatile, acquire
  kBarrier = 32,         // block-wide barrier
  kFence = 64,           // waits until the warp's earlier memory accesses are complete
  kExit = 128,           // the active lanes exit
  kBranch = 256,         // may redirect fetch
  kConstant = 512,       // goes to the constant cache
  kGenericSpace = 1024,  // the dynamic record holds the space
  kLocalSpace = 2048,
  kArrive = 4096,   // bar.arrive: does not wait
  kNotice = 8192,   // tells the SM that the block can soon not be restarted (Opcode::Notify)
  kLeader = 16384,  // start of a basic block, because a branch leads here
  kAsync = 32768    // load: writes shared memory instead of registers; with kShared: accesses an mbarrier;
                    // control: puts the warp's copies into a group, or, with kFence, waits for all but the
                    // `barrier` youngest groups
};

/// Scoreboard slots: registers 0..254, predicates at kPredicateSlot + index.
inline constexpr std::uint16_t kPredicateSlot = 256;
inline constexpr std::uint16_t kScoreboardSlots = 272;

struct StaticInst {
  Unit unit = Unit::Sp;
  LatencyClass latency_class = LatencyClass::IntAdd;
  std::uint16_t flags = 0;
  std::uint8_t num_dst = 0;         // slots written
  std::uint8_t num_src = 0;         // slots read (guard and address included), without those also written
  std::uint8_t num_operands = 0;    // register operands read from the register file (bank reads per lane)
  std::uint8_t access_bytes = 0;    // memory: bytes per lane (all vector elements)
  std::uint8_t barrier = 0;         // kBarrier: barrier number; kAsync and kFence: groups that may be pending
  std::uint8_t barrier_warps = 0;   // kBarrier: number of warps to wait for; 0: all of the block
  std::uint32_t multiply_adds = 0;  // tensor unit: time as a number of f16 multiply-adds; 0: one pass
  std::array<std::uint16_t, 20> slot{};  // num_dst written slots, then num_src read slots
};

/// The static table for the machine, parallel to `code` of a final, physical function.
[[nodiscard]] std::vector<StaticInst> make_static_table(const Function& function);
[[nodiscard]] StaticInst classify(const Instruction& inst);

/// The number of f16 multiply-adds that take the tensor unit as long as `products` multiply-adds of this
/// type.
[[nodiscard]] std::uint32_t multiply_adds_of(MatrixType type, std::uint32_t products);

/// The largest StaticInst::multiply_adds of an instruction of PTX: that of m8n8k4 of f64. Traces may have
/// more.
inline constexpr unsigned kMostMultiplyAdds = 4096;

}  // namespace gpumux::isa
