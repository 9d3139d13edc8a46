// What the timing model knows of one static instruction: its unit, latency class and registers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"

namespace gpumux::isa {

/// Which code the machine is given: what our back end makes of the PTX, or the PTX's own instructions in
/// their order, as GPGPU-Sim 3 times them.
enum class CodeLevel : std::uint8_t { Machine, Ptx };

/// The kind of execution pipeline that an instruction goes to.
enum class Unit : std::uint8_t { Sp, Int, Dp, Sfu, Tensor, Memory, Control, Uniform };
inline constexpr unsigned kUnits = 8;
[[nodiscard]] const char* name(Unit unit);
/// Executes values: not memory, nor control.
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

/// What an instruction does besides arithmetic; bits of StaticInst::flags.
enum InstFlag : std::uint16_t {
  kLoad = 1,  // returns data through registers: destinations wait for the reply
  kStore = 2,
  kAtomic = 4,           // performed at L2 (global) or in shared memory
  kShared = 8,           // shared memory: bank conflicts instead of L1 accesses
  kBypassL1 = 16,        // cg, cv, volatile, acquire
  kBarrier = 32,         // block-wide barrier
  kFence = 64,           // waits until the warp's earlier memory accesses are performed
  kExit = 128,           // the lanes end here
  kBranch = 256,         // may redirect fetch
  kConstant = 512,       // goes to the constant cache
  kGenericSpace = 1024,  // the dynamic record says which space
  kLocalSpace = 2048,
  kArrive = 4096,   // bar.arrive: does not wait
  kNotice = 8192,   // tells the SM that the block may not begin anew (Opcode::Notify)
  kLeader = 16384,  // a basic block begins here, since a branch leads to it
  kAsync = 32768    // by what else it is: a load that writes shared memory instead of registers; with
                    // kShared: an access to an mbarrier; control: its copies so far become a group, or,
                    // with kFence, all but the `barrier` youngest groups have to be complete
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
  std::uint8_t barrier = 0;         // kBarrier: barrier number; kAsync and kFence: groups that may be open
  std::uint8_t barrier_warps = 0;   // kBarrier: warps that it waits for; 0: all of the block
  std::uint32_t multiply_adds = 0;  // tensor unit: as long as so many of f16; 0: as one of its passes
  std::array<std::uint16_t, 20> slot{};  // first num_dst written, then num_src read
};

/// The table that the machine reads, parallel to `code` of a final, physical function.
[[nodiscard]] std::vector<StaticInst> make_static_table(const Function& function);
[[nodiscard]] StaticInst classify(const Instruction& inst);

/// `products` multiply-adds of matrices of this type, in those of f16 that take the tensor unit as long.
[[nodiscard]] std::uint32_t multiply_adds_of(MatrixType type, std::uint32_t products);

/// The most that StaticInst::multiply_adds is for what PTX has: m8n8k4 of f64. In traces it may be more.
inline constexpr unsigned kMostMultiplyAdds = 4096;

}  // namespace gpumux::isa
