// Kernels that kernels launch (CUDA dynamic parallelism): the streams of grids, and when a grid is complete.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "emulator/device_runtime.hpp"
#include "runtime/device.hpp"
#include "runtime/host.hpp"
#include "workload/stream.hpp"

namespace gpumux::runtime {

/// Of one run of an application. A grid is complete when its blocks have ended and all that it has left for
/// the device is complete: its streams, what it fired and forgot, and then its tail launches, one after the
/// other. What the host launched has a family: its grid, and all that follow from it; its stream goes on when
/// this is complete.
class DeviceLaunches final : public emulator::DeviceRuntime {
 public:
  /// Nested launches: a kernel of the host's has depth 0.
  static constexpr std::uint32_t kMostDepth = 24;
  /// What cudaLimitDevRuntimePendingLaunchCount is until it is set.
  static constexpr std::uint64_t kUsualPending = 2048;
  /// Of a family; beyond them it counts as endless.
  static constexpr std::uint64_t kMostLaunches = std::uint64_t{1} << 20U;
  /// Device::submit() gets the ticket of a child with this bit instead of a stream.
  static constexpr StreamId kChild = StreamId{1} << 31U;

  DeviceLaunches(Context& context, Device& device, workload::DeviceMemory& memory)
      : DeviceRuntime(memory), context_(context), device_(device) {}

  /// For the next grid's LaunchConfig.
  [[nodiscard]] std::uint32_t new_ticket() { return ++tickets_; }
  /// A kernel of the host's that launches others will run in its stream `stream`.
  void begin_family(std::uint32_t ticket, StreamId stream);
  /// The blocks of a child have a place on the machine, or of any grid have ended.
  void began(std::uint32_t ticket);
  void ended(std::uint32_t ticket);
  /// The stream of the host's to which a child's family belongs.
  [[nodiscard]] StreamId stream_of(std::uint32_t ticket) const {
    return families_.at(grids_.at(ticket).family).stream;
  }
  /// What has not been submitted never will be.
  void kill();
  void set_pending_limit(std::uint64_t launches) { pending_limit_ = launches; }

  // DeviceRuntime
  emulator::DeviceError launch(const emulator::DeviceThread& by, std::uint64_t stream,
                               Prepared launch) override;
  emulator::DeviceError copy(const emulator::DeviceThread& by, std::uint64_t stream, Address to, Address from,
                             std::uint64_t bytes) override;
  emulator::DeviceError fill(const emulator::DeviceThread& by, std::uint64_t stream, Address to,
                             std::uint8_t value, std::uint64_t bytes) override;
  emulator::DeviceError create_stream(const emulator::DeviceThread& by, std::uint64_t& stream) override;
  emulator::DeviceError destroy_stream(const emulator::DeviceThread& by, std::uint64_t stream) override;
  emulator::DeviceError create_event(const emulator::DeviceThread& by, std::uint64_t& event) override;
  emulator::DeviceError destroy_event(const emulator::DeviceThread& by, std::uint64_t event) override;
  emulator::DeviceError record_event(const emulator::DeviceThread& by, std::uint64_t event,
                                     std::uint64_t stream) override;
  emulator::DeviceError wait_event(const emulator::DeviceThread& by, std::uint64_t stream,
                                   std::uint64_t event) override;
  [[nodiscard]] std::optional<std::int32_t> attribute(std::uint32_t attribute) const override;
  [[nodiscard]] std::uint64_t pending_limit() const override { return pending_limit_; }
  [[nodiscard]] std::uint32_t occupancy(const emulator::KernelInfo& kernel, std::uint32_t threads,
                                        std::uint64_t shared_bytes) const override;

 private:
  struct Launch {
    std::uint32_t ticket;
    std::unique_ptr<workload::KernelSource> kernel;
  };
  struct Copy {
    Address to, from;
    std::uint64_t bytes;
  };
  struct Fill {
    Address to;
    std::uint8_t value;
    std::uint64_t bytes;
  };
  struct Record {
    std::uint64_t event;
    std::size_t recording;  // which of the event, from 0
  };
  struct Wait {
    std::uint64_t event;
    std::size_t recordings;  // at the call; it waits for the last of them
  };
  using Operation = std::variant<Launch, Copy, Fill, Record, Wait>;
  /// Streams of a grid: a block's, a thread's or one with a handle.
  using StreamKey = std::pair<std::uint64_t, std::uint64_t>;
  struct Stream {
    std::deque<Operation> queue;
    bool kernel_running = false;
  };
  struct Role {  // of a grid: who goes on when it is complete
    enum class Kind : std::uint8_t { Host, InStream, Forgotten, Tail } kind = Kind::Host;
    std::uint32_t parent = 0;
    StreamKey stream;  // of the parent, InStream
  };
  struct Grid {
    Role role;
    std::uint32_t family = 0;
    std::uint32_t depth = 0;
    std::uint64_t open = 1;  // its blocks, and what it has left for the device, but for the tail
    std::map<StreamKey, Stream> streams;
    std::deque<Operation> tail;
    std::set<std::uint64_t> named;                      // streams with a handle
    std::map<std::uint64_t, std::vector<bool>> events;  // by handle: which recordings are done
  };
  struct Family {
    StreamId stream = 0;
    std::uint64_t launches = 0;
  };

  [[nodiscard]] std::optional<StreamKey> key(const Grid& grid, const emulator::DeviceThread& by,
                                             std::uint64_t stream) const;
  emulator::DeviceError enqueue(const emulator::DeviceThread& by, std::uint64_t stream, Operation operation);
  /// Begins what the stream's head allows.
  void pump(Grid& grid, const StreamKey& key);
  /// True: an event was recorded, for which other streams of the grid may wait.
  bool pump_one(Grid& grid, Stream& stream);
  void perform(const Operation& operation);
  void start(Launch launch);
  /// All of the grid but its tail is complete.
  void go_on(std::uint32_t ticket);
  /// False: it has no tail any more.
  bool start_tail(std::uint32_t ticket);

  Context& context_;
  Device& device_;
  std::map<std::uint32_t, Grid> grids_;       // that are not complete, by ticket; they stay where they are
  std::map<std::uint32_t, Family> families_;  // by the ticket of the host's grid
  std::uint32_t tickets_ = 0;
  std::uint64_t handles_ = 0;  // of streams and events
  std::uint64_t pending_ = 0;  // launches that have not begun
  std::uint64_t pending_limit_ = kUsualPending;
  bool killed_ = false;
};

}  // namespace gpumux::runtime
