// The texture or surface object of each lane of an instruction.
#pragma once

#include "emulator/block.hpp"
#include "workload/texture.hpp"

namespace gpumux::emulator {

/// Looks up objects. All lanes usually have the same object, which is looked up once.
class TextureObjects {
 public:
  TextureObjects(const Warp& warp, const Op& op);
  /// The lane's object. Throws SimulationFault if its handle is no object, if the instruction cannot access
  /// the object, or if the object's memory was freed.
  const workload::Texture& of(std::uint32_t lane) {
    const std::uint64_t handle = reference_ ? bound_ : handles_[lane];
    if (object_ == nullptr || handle != handle_) look_up(handle, lane);
    return *object_;
  }
  /// The handle of the lane that was looked up last.
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
