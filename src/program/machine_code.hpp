// What the machine code in a fat binary says of its kernels. It is not executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace gpumux::program {

/// Registers per thread (1 to 255) of each function in an ELF image that ptxas or nvlink made, by its name:
/// the attribute of register counts in .nv.info, and without it the upper byte of sh_info of the section
/// .text.NAME, where images for GPUs before Hopper have it, too. Empty for what is no ELF image of CUDA.
/// Throws UserError, which names `file` and the byte, for one that is damaged.
[[nodiscard]] std::map<std::string, std::uint32_t> registers_of(std::span<const std::byte> image,
                                                                const std::string& file);

}  // namespace gpumux::program
