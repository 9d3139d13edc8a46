// A search for the fewest cores that are nearly as fast as all.
#pragma once

#include <cstdint>

namespace gpumux::policy {

/// Pure: it is told the IPC of samples, and says what to sample next.
class CoreSearch {
 public:
  virtual ~CoreSearch() = default;
  /// With how many cores the next sample is to be taken; the first with all. Once it is found: their number.
  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] std::uint32_t samples() const { return samples_; }
  /// `ipc`: of all cores that were active in the sample together.
  void sample(double ipc) {
    ++samples_;
    sampled(ipc);
  }

 protected:
  explicit CoreSearch(std::uint32_t all) : cores_(all) {}
  virtual void sampled(double ipc) = 0;
  void next(std::uint32_t cores) { cores_ = cores; }
  void end(std::uint32_t cores) {
    cores_ = cores;
    found_ = true;
  }

 private:
  std::uint32_t cores_;
  std::uint32_t samples_ = 0;
  bool found_ = false;
};

}  // namespace gpumux::policy
