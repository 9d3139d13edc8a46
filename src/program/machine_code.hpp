// Properties of kernels that are stored with the machine code in a fat binary. The machine code is not
// executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace gpumux::program {

/// Registers per thread (1 to 255) of each function, by name, in an ELF image of ptxas or nvlink. The source
/// is the attribute of register counts in .nv.info. Without this attribute, it is the upper byte of sh_info
/// of the section .text.NAME, which images for GPUs before Hopper have. Empty for an image that is no ELF
/// image of CUDA. Throws UserError, which names `file` and the byte, for a damaged image.
[[nodiscard]] std::map<std::string, std::uint32_t> registers_of(std::span<const std::byte> image,
                                                                const std::string& file);

}  // namespace gpumux::program
