// One executed instruction, in the format of ChampSim's tracers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace gpumux::cpu {

/// ChampSim's `input_instr`: 64 bytes, little-endian. The format of trace files and the input of a
/// core. Register 0 and address 0 mean "none". The format has no access sizes, so each operand is
/// assumed to be within one line.
struct Record {
  std::uint64_t ip = 0;
  std::uint8_t is_branch = 0;     // 0 or 1
  std::uint8_t branch_taken = 0;  // 0 or 1
  std::array<std::uint8_t, 2> destination_registers{};
  std::array<std::uint8_t, 4> source_registers{};
  std::array<std::uint64_t, 2> destination_memory{};  // addresses of stores
  std::array<std::uint64_t, 4> source_memory{};       // addresses of loads
};
inline constexpr std::uint32_t kRecordBytes = 64;
static_assert(sizeof(Record) == kRecordBytes && std::is_trivially_copyable_v<Record>);
static_assert(std::endian::native == std::endian::little, "records are read as they stand");

/// ChampSim's numbers of x86's special registers.
inline constexpr std::uint8_t kStackPointer = 6;
inline constexpr std::uint8_t kFlags = 25;
inline constexpr std::uint8_t kInstructionPointer = 26;

}  // namespace gpumux::cpu
