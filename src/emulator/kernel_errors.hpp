// Errors of kernels, for applications that continue after an error like a CUDA program: their calls return
// the error.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace gpumux::emulator {

enum class FaultKind : std::uint8_t { IllegalAddress, MisalignedAddress, Assertion, Other };

/// A fault of a thread, reported by Block::fault().
class KernelFault : public SimulationFault {
 public:
  KernelFault(FaultKind kind, const std::string& message) : SimulationFault(message), kind_(kind) {}
  [[nodiscard]] FaultKind kind() const { return kind_; }

 private:
  FaultKind kind_;
};

/// Error handler for one run of an application. With a handler, a fault ends the application's kernels and
/// not the simulation. Accesses outside of allocations are permitted where a GPU permits them: in pages that
/// hold an allocation.
class KernelErrors {
 public:
  virtual ~KernelErrors() = default;

  /// Ends all kernels of the application: resident and later warps execute nothing more.
  void end(FaultKind kind, const std::string& message) {
    if (ended_) return;
    ended_ = kind;
    has_ended(message);
  }
  [[nodiscard]] std::optional<FaultKind> ended() const { return ended_; }

  /// True for the first access of this instruction outside of allocations, which must be reported.
  [[nodiscard]] bool first_outside(const void* kernel, std::uint32_t pc) {
    return outside_.emplace(kernel, pc).second;
  }
  virtual void outside(const std::string& message) = 0;
  /// Writes a line to the program's standard error.
  virtual void assertion(const std::string& line) = 0;

 protected:
  virtual void has_ended(const std::string& message) = 0;

 private:
  std::optional<FaultKind> ended_;
  std::set<std::pair<const void*, std::uint32_t>> outside_;
};

}  // namespace gpumux::emulator
