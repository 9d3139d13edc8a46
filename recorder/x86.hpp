// Registers that an x86-64 instruction reads and writes, in ChampSim's numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/trace/record.hpp"

namespace gpumux::recorder {

/// A decoded instruction. General registers have the numbers of Pin, which ChampSim's tracer uses: rdi 3, rsi
/// 4, rbp 5, rsp 6, rbx 7, rdx 8, rcx 9, rax 10, r8 to r15 11 to 18, flags 25, rip 26. A part of a register
/// has the number of the whole register. gpumux adds vector registers 64 to 95, masks 96 to 103, x87 and MMX
/// 104 to 111. Segment and control registers have no number.
struct Instruction {
  cpu::Record record;         // without addresses; branches are marked as taken
  std::uint64_t next_ip = 0;  // address of the next instruction in memory
  bool conditional = false;   // a conditional branch, which may fall through to next_ip
  bool exchanges = false;     // loads and stores the same operand in one access
};

class Decoder {
 public:
  /// Throws InternalError if no disassembler can be opened.
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  /// Decodes one instruction. Invalid bytes read and write no registers. ChampSim tells kinds of branches by
  /// the registers that they read: a conditional branch reads flags and rip, a call rsp and rip, a return
  /// rsp. All branches write rip. If there are more than two destinations or four sources, flags are left out
  /// first.
  [[nodiscard]] Instruction decode(std::uint64_t ip, std::span<const std::uint8_t> bytes);

 private:
  std::size_t handle_ = 0;                   // handle of the disassembler
  std::array<std::uint8_t, 256> numbers_{};  // ChampSim's numbers by the disassembler's register number
};

}  // namespace gpumux::recorder
