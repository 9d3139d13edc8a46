// What kernels do wrong, for applications that go on as a CUDA program does: with errors of their calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace gpumux::emulator {

enum class FaultKind : std::uint8_t { IllegalAddress, MisalignedAddress, Assertion, Other };

/// Of a thread, as Block::fault() reports it.
class KernelFault : public SimulationFault {
 public:
  KernelFault(FaultKind kind, const std::string& message) : SimulationFault(message), kind_(kind) {}
  [[nodiscard]] FaultKind kind() const { return kind_; }

 private:
  FaultKind kind_;
};

/// Of one run of an application. Where it has one, a fault ends its kernels and not the simulation, and
/// accesses outside of its allocations pass where a GPU lets them pass: in pages that hold an allocation.
class KernelErrors {
 public:
  virtual ~KernelErrors() = default;

  /// All its kernels end where they are: warps that are resident execute nothing more, nor do those to come.
  void end(FaultKind kind, const std::string& message) {
    if (ended_) return;
    ended_ = kind;
    has_ended(message);
  }
  [[nodiscard]] std::optional<FaultKind> ended() const { return ended_; }

  /// The first such access of this instruction: to be reported.
  [[nodiscard]] bool first_outside(const void* kernel, std::uint32_t pc) {
    return outside_.emplace(kernel, pc).second;
  }
  virtual void outside(const std::string& message) = 0;
  /// A line for the program's standard error.
  virtual void assertion(const std::string& line) = 0;

 protected:
  virtual void has_ended(const std::string& message) = 0;

 private:
  std::optional<FaultKind> ended_;
  std::set<std::pair<const void*, std::uint32_t>> outside_;
};

}  // namespace gpumux::emulator
