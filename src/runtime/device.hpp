// What the run time needs of the machine below it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "arch/config.hpp"
#include "base/types.hpp"
#include "workload/stream.hpp"

namespace gpumux::emulator {
class RaceLog;
}  // namespace gpumux::emulator

namespace gpumux::runtime {

class Context;

/// Where an application's kernels may have blocks at best, beside no other application, and who limits it.
struct MostPlaces {
  std::string_view choice;  // of policy, block scheduler and controls, as the user calls them
  std::uint32_t sms = 0;
  std::uint32_t blocks_per_sm = 0;  // of a kernel
};

/// The link to the host: one copy engine per direction, shared by all streams of all applications, each
/// transfer alone on it, first come, first served, as on the GPUs of the papers.
class HostLink {
 public:
  enum class Direction : std::uint8_t { ToDevice, FromDevice };
  /// Books a transfer of `cycles` core cycles that is ready at `now`; returns the cycle of its end.
  Cycle transfer(Direction direction, Cycle now, Cycle cycles) {
    Cycle& free = free_[static_cast<std::size_t>(direction)];
    return free = std::max(free, now) + cycles;
  }

 private:
  std::array<Cycle, 2> free_{};  // by direction
};

/// Calls are made between windows of time.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] HostLink& link() { return link_; }
  [[nodiscard]] virtual const arch::MachineConfig& config() const = 0;
  [[nodiscard]] virtual Cycle now() const = 0;
  [[nodiscard]] virtual MostPlaces most_places(AppId /*app*/) const {
    return {{}, config().sms, std::numeric_limits<std::uint32_t>::max()};
  }
  /// Kernels are to be compiled with notices of where their blocks may stop being idempotent.
  [[nodiscard]] virtual bool wants_notices() const { return false; }
  /// Where races of kernels are to be taken down; nullptr: nobody looks for them.
  [[nodiscard]] virtual emulator::RaceLog* races() const { return nullptr; }
  /// The kernel arrives after the machine's launch latency. When its last block has ended,
  /// Context::kernel_ended(stream) is called.
  virtual void submit(Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
                      std::uint8_t priority) = 0;
  /// The same of a kernel that a kernel launches (DeviceLaunches), in a stream of its own, which
  /// Context::kernel_began() is also called with: while the kernel's blocks are refilled, or at the end of
  /// another one. It takes no time to get there.
  virtual void submit_child(Context& context, std::uint32_t stream,
                            std::unique_ptr<workload::KernelSource> kernel) {
    submit(context, stream, std::move(kernel), 0);
  }
  /// Ends the context's kernels, those that run and those on their way: their blocks leave at once. To be
  /// called at a cycle that was told to be one of the host's.
  virtual void kill(Context& context) = 0;
  /// A host copy wrote [to, to + bytes). L2 has it, if copies write there, after the launch latency.
  virtual void copied_to_device(AppId app, Address to, std::uint64_t bytes) = 0;

 private:
  HostLink link_;
};

}  // namespace gpumux::runtime
