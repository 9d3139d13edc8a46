// The executable form of an instruction: a handler that is specialised by opcode and type, and operands as
// offsets of register rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "isa/instruction.hpp"

namespace gpumux::emulator {

struct Warp;
struct Op;

/// Executes one instruction for `lanes`, which is never 0.
using Handler = void (*)(Warp& warp, const Op& op, LaneMask lanes);

inline constexpr std::uint32_t kRowBytes = kWarpSize * 4;  // one 32-bit register of 32 lanes

/// The memory of a source: an index into Warp::base.
enum SourceBase : std::uint32_t {
  kRegisterRows,  // the warp's window of registers
  kConstantRows,  // the launch's rows of constants
  kWarpRows,      // special registers that are equal in all blocks: the launch's rows for this warp
  kBlockRows,     // special registers that differ between blocks: rows of the block
  kSourceBases
};

/// The position of a value: `offset` bytes after the base.
struct Source {
  std::uint32_t offset = 0;
  std::uint32_t base = kRegisterRows;
};

/// A predicate operand: an index into the warp's predicates, and a mask that inverts it.
struct PredSource {
  std::uint32_t index = 0;  // 0: always true
  LaneMask flip = 0;
};

/// Treatment of an instruction by the main loop.
enum class OpKind : std::uint8_t {
  Plain,    // only registers; the handler is called if a lane is active
  Memory,   // writes a memory header; the handler is called if a lane is active
  Control,  // the handler is always called and sets the pc
};

struct Op {
  Handler run = nullptr;
  PredSource guard;
  OpKind kind = OpKind::Plain;
  std::uint8_t width = 0;              // memory: bytes per element
  std::uint8_t elements = 1;           // memory: elements per lane; Pack, Unpack: parts
  std::uint8_t param = 0;              // handler's parameter: Lop3 table, Prmt mode, bits of a part, ...
  std::array<std::uint32_t, 4> dst{};  // byte offsets of destination rows in the window
  std::array<std::uint32_t, 2> pred_dst{};
  std::array<Source, 5> src;
  std::array<PredSource, 2> pred_src;  // predicates in the order of the sources
  std::uint32_t target = isa::kNoTarget;
  std::uint32_t reconverge = isa::kNoTarget;
  std::int64_t offset = 0;  // memory: added to the address; Mma, Tex, surfaces: index in Program::operands
  const isa::Instruction* inst = nullptr;
};

}  // namespace gpumux::emulator
