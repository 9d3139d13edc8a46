// A search for the fewest cores that are nearly as fast as all cores.
#pragma once

#include <cstdint>

namespace gpumux::policy {

/// Interface of a search. It depends only on the IPCs of samples, and selects the number of cores of the next
/// sample.
class CoreSearch {
 public:
  virtual ~CoreSearch() = default;
  /// Cores of the next sample (all cores for the first) or, once the search has ended, the result.
  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] std::uint32_t samples() const { return samples_; }
  /// Takes a sample. `ipc`: of all active cores together.
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
