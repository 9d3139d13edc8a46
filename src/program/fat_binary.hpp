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
  std::vector<Ptx> ptx;                     // in the binary's order
  std::vector<std::uint32_t> machine_code;  // architectures of which there is machine code

  /// The one for a GPU of this compute capability: the highest up to it; of a binary that has newer ones
  /// alone, the lowest. nullptr: there is no PTX at all.
  [[nodiscard]] const Ptx* best(std::uint32_t capability) const;
};

/// Reads the header and all entries; PTX is raw, LZ4 or Zstandard. Throws UserError, which names `file` and
/// the byte, for what is no fat binary, ends early, or unpacks to anything but what it says.
[[nodiscard]] FatBinary read_fat_binary(std::span<const std::byte> bytes, const std::string& file);

}  // namespace gpumux::program
