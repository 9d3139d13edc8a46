// Interface of the machine for the run time.
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

/// An upper bound of the places for an application's blocks, as if no other application ran, and the choice
/// that limits it.
struct MostPlaces {
  std::string_view choice;  // policy, block scheduler or control that limits, by its name on the command line
  std::uint32_t sms = 0;
  std::uint32_t blocks_per_sm = 0;  // per kernel
};

/// The link to the host. It has one copy engine per direction, which all streams of all applications share.
/// An engine performs one transfer at a time, in order of arrival, as on the GPUs of the papers.
class HostLink {
 public:
  enum class Direction : std::uint8_t { ToDevice, FromDevice };
  /// Books a transfer of `cycles` core cycles that is ready at `now`. Returns the cycle of its end.
  Cycle transfer(Direction direction, Cycle now, Cycle cycles) {
    Cycle& free = free_[static_cast<std::size_t>(direction)];
    return free = std::max(free, now) + cycles;
  }

 private:
  std::array<Cycle, 2> free_{};  // first free cycle by direction
};

/// The machine as seen by contexts. All calls are made between windows of time.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] HostLink& link() { return link_; }
  [[nodiscard]] virtual const arch::MachineConfig& config() const = 0;
  [[nodiscard]] virtual Cycle now() const = 0;
  [[nodiscard]] virtual MostPlaces most_places(AppId /*app*/) const {
    return {{}, config().sms, std::numeric_limits<std::uint32_t>::max()};
  }
  /// True if kernels must be compiled with notices of instructions after which a block may not be idempotent.
  [[nodiscard]] virtual bool wants_notices() const { return false; }
  /// Log for races in kernels, or nullptr if races are not detected.
  [[nodiscard]] virtual emulator::RaceLog* races() const { return nullptr; }
  /// Submits a kernel, which arrives after the machine's launch latency. When its last block has ended, the
  /// machine calls Context::kernel_ended(stream).
  virtual void submit(Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
                      std::uint8_t priority) = 0;
  /// Submits a kernel that another kernel launched (DeviceLaunches), in a stream of its own. It arrives
  /// without latency. The machine calls Context::kernel_began() and kernel_ended(). May be called while the
  /// parent's blocks are refilled, or at the end of another kernel.
  virtual void submit_child(Context& context, std::uint32_t stream,
                            std::unique_ptr<workload::KernelSource> kernel) {
    submit(context, stream, std::move(kernel), 0);
  }
  /// Ends the context's kernels, running or submitted: their blocks leave at once. Must be called at a cycle
  /// that was announced as an event of the host.
  virtual void kill(Context& context) = 0;
  /// Reports that a host copy wrote [to, to + bytes). If copies write to the L2, the lines are there after
  /// the launch latency.
  virtual void copied_to_device(AppId app, Address to, std::uint64_t bytes) = 0;

 private:
  HostLink link_;
};

}  // namespace gpumux::runtime
