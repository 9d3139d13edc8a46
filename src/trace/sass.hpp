// Conversion of a SASS instruction in a trace, given by opcode and registers, to the timing model's
// StaticInst.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/timing_class.hpp"

namespace gpumux::trace {

/// Maximum number of destination registers, and of source registers, of one instruction of a trace.
inline constexpr unsigned kMaxRegisters = 6;
/// Register RZ, which reads as zero and is never written.
inline constexpr std::uint8_t kZeroRegister = 255;

/// The static part of an instruction line.
struct SassInst {
  std::string opcode;  // with modifiers: "LDG.E.64.SYS"
  std::uint8_t num_dst = 0;
  std::uint8_t num_src = 0;
  std::array<std::uint8_t, kMaxRegisters> dst{};
  std::array<std::uint8_t, kMaxRegisters> src{};
  std::uint8_t access_bytes = 0;  // per lane; 0: no memory operand
  std::int64_t immediate =
      kNoImmediate;  // only for DEPBAR and BAR; for BAR: barrier number + 256 * threads to wait for (0: all)

  static constexpr std::int64_t kNoImmediate = -1;
  friend bool operator==(const SassInst&, const SassInst&) = default;
};

/// The address space of a memory instruction.
enum class SassSpace : std::uint8_t { None, Global, Local, Shared, Constant, Generic };

/// Classification of an opcode: a row of the table in sass.cpp.
struct SassClass {
  isa::Unit unit = isa::Unit::Int;
  isa::LatencyClass latency = isa::LatencyClass::IntAdd;
  std::uint16_t flags = 0;  // isa::InstFlag
  SassSpace space = SassSpace::None;
};

/// The class of an opcode (with or without modifiers), or nothing if no SASS version from sm_60 to sm_121 has
/// the opcode.
[[nodiscard]] std::optional<SassClass> classify_opcode(std::string_view opcode);
/// The class of an instruction. A bulk copy accesses memory if its trace has the addresses (access_bytes is
/// 4).
[[nodiscard]] std::optional<SassClass> classify(const SassInst& inst);
/// True for an opcode by which one thread starts the copy, reduction or prefetch of a whole tile (TMA:
/// UTMALDG, UBLKCP and similar).
[[nodiscard]] bool is_bulk_copy(std::string_view opcode);

/// Reason why an instruction is not timed as on a GPU.
enum class Untimed : std::uint8_t { No, BulkCopy, Texture, Product, TensorMemory };
inline constexpr unsigned kUntimed = 5;
[[nodiscard]] Untimed untimed(const SassInst& inst);
/// A message, such as "bulk copies without addresses in the trace move no bytes".
[[nodiscard]] const char* describe(Untimed why);
/// True if the timing model uses the immediate of this opcode. Other immediates are dropped when a trace is
/// read.
[[nodiscard]] bool keeps_immediate(std::string_view opcode);
/// The StaticInst of an instruction. `async_copies`: the kernel copies to shared memory without registers
/// (LDGSTS), so DEPBAR waits for memory. Throws InternalError for an opcode that classify_opcode() does not
/// know.
[[nodiscard]] isa::StaticInst static_inst(const SassInst& inst, bool async_copies);
/// The text of an instruction, "LDG.E.SYS R4, [R3]", in the order of the trace: opcode, written registers,
/// read registers.
[[nodiscard]] std::string to_text(const SassInst& inst);

}  // namespace gpumux::trace
