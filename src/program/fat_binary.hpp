// What nvcc embeds in programs: PTX and machine code of several architectures, each maybe compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpumux::program {

/// The layout is that of the binaries that nvcc 11 to 13 make; NVIDIA does not document it.
struct FatBinary {
  struct Ptx {
    std::uint32_t architecture = 0;  // 75 of compute_75
    std::string text;
  };
  struct MachineCode {
    std::uint32_t architecture = 0;  // 90 of sm_90
    std::uint64_t at = 0;            // of its entry in the binary
  };
  std::vector<Ptx> ptx;                   // in the binary's order
  std::vector<MachineCode> machine_code;  // likewise

  /// The one for a GPU of this compute capability: the highest up to it; of a binary that has newer ones
  /// alone, the lowest. nullptr: there is no PTX at all.
  [[nodiscard]] const Ptx* best(std::uint32_t capability) const;
  /// The machine code that such a GPU executes: that of its major number with the highest minor one up to its
  /// own. Else that of `architecture`, of which the PTX is. nullptr: there is neither.
  [[nodiscard]] const MachineCode* code_for(std::uint32_t capability, std::uint32_t architecture) const;
};

/// Reads the header and all entries; PTX is raw, LZ4 or Zstandard. Throws UserError, which names `file` and
/// the byte, for what is no fat binary, ends early, or unpacks to anything but what it says.
[[nodiscard]] FatBinary read_fat_binary(std::span<const std::byte> bytes, const std::string& file);

/// Machine code of such a binary, unpacked. Throws as read_fat_binary() does.
[[nodiscard]] std::string read_machine_code(std::span<const std::byte> bytes, const std::string& file,
                                            const FatBinary::MachineCode& of);

}  // namespace gpumux::program
