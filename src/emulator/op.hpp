// The executable form of an instruction: a handler specialised by opcode and type, and operands that
// are already offsets of register rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "isa/instruction.hpp"

namespace gpumux::emulator {

struct Warp;
struct Op;

/// Executes one instruction for the lanes of `lanes`, which is never 0.
using Handler = void (*)(Warp& warp, const Op& op, LaneMask lanes);

inline constexpr std::uint32_t kRowBytes = kWarpSize * 4;  // one 32-bit register of 32 lanes

/// What sources lie in, by the index in Warp::base.
enum SourceBase : std::uint32_t {
  kRegisterRows,  // the warp's window of registers
  kConstantRows,  // the launch's
  kWarpRows,      // special registers that are the same in all blocks: the launch's, for this warp of a block
  kBlockRows,     // those that differ between blocks: the block's
  kSourceBases
};

/// Where a value lies: `offset` bytes behind the base.
struct Source {
  std::uint32_t offset = 0;
  std::uint32_t base = kRegisterRows;
};

/// A predicate operand: an index into the warp's predicates and a mask that inverts it.
struct PredSource {
  std::uint32_t index = 0;  // 0: always true
  LaneMask flip = 0;
};

/// How the main loop treats an instruction.
enum class OpKind : std::uint8_t {
  Plain,    // registers only; the handler is called when a lane is active
  Memory,   // writes a memory header; the handler is called when a lane is active
  Control,  // the handler is always called and sets the pc itself
};

struct Op {
  Handler run = nullptr;
  PredSource guard;
  OpKind kind = OpKind::Plain;
  std::uint8_t width = 0;              // memory: bytes per element
  std::uint8_t elements = 1;           // memory: elements per lane; Pack, Unpack: parts
  std::uint8_t param = 0;              // of the handler: Lop3 table, Prmt mode, bits of a part, ...
  std::array<std::uint32_t, 4> dst{};  // byte offsets of destination rows in the window
  std::array<std::uint32_t, 2> pred_dst{};
  std::array<Source, 5> src;
  std::array<PredSource, 2> pred_src;  // predicates in the order in which they appear in the sources
  std::uint32_t target = isa::kNoTarget;
  std::uint32_t reconverge = isa::kNoTarget;
  std::int64_t offset = 0;  // memory: added to the address; Mma, Tex, surfaces: place in Program::operands
  const isa::Instruction* inst = nullptr;
};

}  // namespace gpumux::emulator
