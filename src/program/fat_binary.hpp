// Reader of the fat binaries that nvcc embeds in programs: PTX and machine code for several architectures,
// optionally compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpumux::program {

/// A fat binary in the layout of nvcc 11 to 13, which NVIDIA does not document.
struct FatBinary {
  struct Ptx {
    std::uint32_t architecture = 0;  // 75 for compute_75
    std::string text;
  };
  struct MachineCode {
    std::uint32_t architecture = 0;  // 90 for sm_90
    std::uint64_t at = 0;            // position of its entry in the binary
  };
  std::vector<Ptx> ptx;                   // in the binary's order
  std::vector<MachineCode> machine_code;  // in the binary's order

  /// The PTX for a GPU of this compute capability: that for the highest architecture up to `capability`. If
  /// all PTX is for newer ones, that for the lowest architecture. nullptr if there is no PTX.
  [[nodiscard]] const Ptx* best(std::uint32_t capability) const;
  /// The machine code that a GPU of this compute capability executes: equal major number, and the highest
  /// minor number up to the GPU's. Without such code, the machine code for `architecture`, the architecture
  /// of the chosen PTX. nullptr if neither exists.
  [[nodiscard]] const MachineCode* code_for(std::uint32_t capability, std::uint32_t architecture) const;
};

/// Reads the header and all entries. PTX may be uncompressed, LZ4 or Zstandard. Throws UserError, which names
/// `file` and the byte, for bytes that are no fat binary, end early, or do not unpack to the stated size.
[[nodiscard]] FatBinary read_fat_binary(std::span<const std::byte> bytes, const std::string& file);

/// The unpacked bytes of a machine-code entry. Throws like read_fat_binary().
[[nodiscard]] std::string read_machine_code(std::span<const std::byte> bytes, const std::string& file,
                                            const FatBinary::MachineCode& of);

}  // namespace gpumux::program
