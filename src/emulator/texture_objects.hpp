// Which texture or surface object each lane of an instruction means.
#pragma once

#include "emulator/block.hpp"
#include "workload/texture.hpp"

namespace gpumux::emulator {

/// Lanes usually name the same one, which is looked up once.
class TextureObjects {
 public:
  TextureObjects(const Warp& warp, const Op& op);
  /// Throws SimulationFault when the lane's handle is no object, or one that the instruction does not access,
  /// or of memory that was freed.
  const workload::Texture& of(std::uint32_t lane) {
    const std::uint64_t handle = reference_ ? bound_ : handles_[lane];
    if (object_ == nullptr || handle != handle_) look_up(handle, lane);
    return *object_;
  }
  /// Of the lane that was asked for last.
  [[nodiscard]] std::uint64_t handle() const { return handle_; }

 private:
  void look_up(std::uint64_t handle, std::uint32_t lane);
  void check(std::uint32_t lane) const;

  const Warp& warp_;
  const Op& op_;
  const std::uint64_t* handles_;
  std::uint64_t bound_ = 0;
  bool reference_ = false;
  std::uint64_t handle_ = 0;
  const workload::Texture* object_ = nullptr;
};

}  // namespace gpumux::emulator
