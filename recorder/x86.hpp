// What an x86-64 instruction reads and writes, in ChampSim's numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/trace/record.hpp"

namespace gpumux::recorder {

/// General registers have the numbers of Pin, which ChampSim's tracer uses: rdi 3, rsi 4, rbp 5, rsp 6, rbx
/// 7, rdx 8, rcx 9, rax 10, r8 to r15 11 to 18; flags 25, rip 26. Parts of a register are the whole one.
/// Ours: vector registers 64 to 95, masks 96 to 103, x87 and MMX 104 to 111. Segments and control registers
/// are none.
struct Instruction {
  cpu::Record record;         // without addresses; a branch is taken
  std::uint64_t next_ip = 0;  // the instruction that lies behind it
  bool conditional = false;   // a branch that may go on there
  bool exchanges = false;     // loads what it stores to in one access
};

class Decoder {
 public:
  /// Throws InternalError without a disassembler.
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  /// Bytes that are no instruction read and write nothing. ChampSim tells kinds of branches by what they
  /// read: a conditional one the flags and rip, a call rsp and rip, a return rsp; all write rip. Of more than
  /// two destinations or four sources, flags are left out first.
  [[nodiscard]] Instruction decode(std::uint64_t ip, std::span<const std::uint8_t> bytes);

 private:
  std::size_t handle_ = 0;                   // of the disassembler
  std::array<std::uint8_t, 256> numbers_{};  // of its registers
};

}  // namespace gpumux::recorder
