// The sources of an instruction that may have more sources than an Op can hold.
#pragma once

#include "emulator/block.hpp"
#include "emulator/launch.hpp"

namespace gpumux::emulator {

/// The source rows of an Mma, a fetch or a surface access, with 32 lanes each.
class ManySources {
 public:
  ManySources(const Warp& warp, const Op& op)
      : warp_(warp), sources_(warp.block->launch().program->operands[static_cast<std::size_t>(op.offset)]) {}
  template <class T>
  [[nodiscard]] const T* row(std::uint32_t which) const {
    const Source& source = sources_[which];
    return reinterpret_cast<const T*>(warp_.base[source.base] + source.offset);
  }

 private:
  const Warp& warp_;
  const ManyOperands& sources_;
};

}  // namespace gpumux::emulator
