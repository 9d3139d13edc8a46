// What the timing model knows of a SASS instruction in a trace: opcode and registers to StaticInst.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/timing_class.hpp"

namespace gpumux::trace {

/// Most registers that one instruction of a trace lists on either side.
inline constexpr unsigned kMaxRegisters = 6;
/// RZ, which reads as zero and is never written.
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
      kNoImmediate;  // kept where it means something: of DEPBAR, and of BAR the number of
                     // the barrier, with 256 times the threads that it waits for (0: all)

  static constexpr std::int64_t kNoImmediate = -1;
  friend bool operator==(const SassInst&, const SassInst&) = default;
};

/// The address space of a memory instruction.
enum class SassSpace : std::uint8_t { None, Global, Local, Shared, Constant, Generic };

/// What an opcode is: row of the table in sass.cpp.
struct SassClass {
  isa::Unit unit = isa::Unit::Int;
  isa::LatencyClass latency = isa::LatencyClass::IntAdd;
  std::uint16_t flags = 0;  // isa::InstFlag
  SassSpace space = SassSpace::None;
};

/// Nothing for an opcode (with or without modifiers) that no SASS version from sm_60 to sm_121 has.
[[nodiscard]] std::optional<SassClass> classify_opcode(std::string_view opcode);
/// The same of an instruction: a bulk copy accesses memory if its trace has the addresses (access_bytes is
/// 4).
[[nodiscard]] std::optional<SassClass> classify(const SassInst& inst);
/// Begins the copy, reduction or prefetch of a whole tile, in one thread (TMA; UTMALDG, UBLKCP and their
/// kin).
[[nodiscard]] bool is_bulk_copy(std::string_view opcode);

/// Why an instruction does not take the time that it takes on a GPU.
enum class Untimed : std::uint8_t { No, BulkCopy, Texture, Product, TensorMemory };
inline constexpr unsigned kUntimed = 5;
[[nodiscard]] Untimed untimed(const SassInst& inst);
/// "bulk copies without addresses in the trace move no bytes"
[[nodiscard]] const char* describe(Untimed why);
/// Whether the machine's units know the immediate of this opcode; others' are dropped when a trace is read.
[[nodiscard]] bool keeps_immediate(std::string_view opcode);
/// `async_copies`: the kernel copies to shared memory without registers (LDGSTS), so that DEPBAR waits for
/// memory. Throws InternalError for an opcode that classify_opcode() does not know.
[[nodiscard]] isa::StaticInst static_inst(const SassInst& inst, bool async_copies);
/// "LDG.E.SYS R4, [R3]" in the order of the trace: opcode, what is written, what is read.
[[nodiscard]] std::string to_text(const SassInst& inst);

}  // namespace gpumux::trace
