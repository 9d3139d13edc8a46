// The sources of an instruction that may have more than an Op holds.
#pragma once

#include "emulator/block.hpp"
#include "emulator/launch.hpp"

namespace gpumux::emulator {

/// Of a Mma, a fetch or an access to a surface: their rows of 32 lanes.
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
