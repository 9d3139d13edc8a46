// Launches that kernels make (CUDA dynamic parallelism): the streams of grids, and the completion of grids.
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

/// Device launches of one run of an application. A grid is complete when its blocks have ended and all work
/// that it left for the device is complete: its streams, its fire-and-forget launches, and finally its tail
/// launches in order. A grid that the host launched and all grids that descend from it form a family. The
/// host's stream continues when the family is complete.
class DeviceLaunches final : public emulator::DeviceRuntime {
 public:
  /// Maximum nesting depth. A kernel that the host launches has depth 0.
  static constexpr std::uint32_t kMostDepth = 24;
  /// Default of cudaLimitDevRuntimePendingLaunchCount.
  static constexpr std::uint64_t kUsualPending = 2048;
  /// Maximum number of launches of a family. More count as an endless program.
  static constexpr std::uint64_t kMostLaunches = std::uint64_t{1} << 20U;
  /// A child is submitted to Device::submit() with its ticket and this bit in place of a stream.
  static constexpr StreamId kChild = StreamId{1} << 31U;

  DeviceLaunches(Context& context, Device& device, workload::DeviceMemory& memory)
      : DeviceRuntime(memory), context_(context), device_(device) {}

  /// The ticket for the next grid's LaunchConfig.
  [[nodiscard]] std::uint32_t new_ticket() { return ++tickets_; }
  /// Registers a kernel that the host launches in `stream` and that may launch kernels.
  void begin_family(std::uint32_t ticket, StreamId stream);
  /// began(): the machine has admitted a child's blocks. ended(): all blocks of a grid have ended.
  void began(std::uint32_t ticket);
  void ended(std::uint32_t ticket);
  /// The host's stream to which a child's family belongs.
  [[nodiscard]] StreamId stream_of(std::uint32_t ticket) const {
    return families_.at(grids_.at(ticket).family).stream;
  }
  /// Drops all launches that have not been submitted.
  void kill();
  void set_pending_limit(std::uint64_t launches) { pending_limit_ = launches; }

  // Implementation of DeviceRuntime.
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
    std::size_t recording;  // index of the recording, from 0
  };
  struct Wait {
    std::uint64_t event;
    std::size_t recordings;  // number of recordings at the call; waits for the last of them
  };
  using Operation = std::variant<Launch, Copy, Fill, Record, Wait>;
  /// Key of a stream of a grid: that of a block, of a thread, or one with a handle.
  using StreamKey = std::pair<std::uint64_t, std::uint64_t>;
  struct Stream {
    std::deque<Operation> queue;
    bool kernel_running = false;
  };
  struct Role {  // the grid or stream that continues when the grid is complete
    enum class Kind : std::uint8_t { Host, InStream, Forgotten, Tail } kind = Kind::Host;
    std::uint32_t parent = 0;
    StreamKey stream;  // stream of the parent, for InStream
  };
  struct Grid {
    Role role;
    std::uint32_t family = 0;
    std::uint32_t depth = 0;
    std::uint64_t open = 1;  // 1 for its blocks, plus its pending operations without the tail
    std::map<StreamKey, Stream> streams;
    std::deque<Operation> tail;
    std::set<std::uint64_t> named;                      // handles of created streams
    std::map<std::uint64_t, std::vector<bool>> events;  // by handle: completion of each recording
  };
  struct Family {
    StreamId stream = 0;
    std::uint64_t launches = 0;
  };

  [[nodiscard]] std::optional<StreamKey> key(const Grid& grid, const emulator::DeviceThread& by,
                                             std::uint64_t stream) const;
  emulator::DeviceError enqueue(const emulator::DeviceThread& by, std::uint64_t stream, Operation operation);
  /// Starts the operations at the head of the stream that can start.
  void pump(Grid& grid, const StreamKey& key);
  /// Advances one stream. Returns true if an event was recorded, for which other streams of the grid may
  /// wait.
  bool pump_one(Grid& grid, Stream& stream);
  void perform(const Operation& operation);
  void start(Launch launch);
  /// Continues after all work of the grid except its tail is complete.
  void go_on(std::uint32_t ticket);
  /// Starts the next tail launch. Returns false if the tail is empty.
  bool start_tail(std::uint32_t ticket);

  Context& context_;
  Device& device_;
  std::map<std::uint32_t, Grid> grids_;       // incomplete grids by ticket; elements stay at their addresses
  std::map<std::uint32_t, Family> families_;  // by the ticket of the grid that the host launched
  std::uint32_t tickets_ = 0;
  std::uint64_t handles_ = 0;  // number of stream and event handles so far
  std::uint64_t pending_ = 0;  // launches that have not started
  std::uint64_t pending_limit_ = kUsualPending;
  bool killed_ = false;
};

}  // namespace gpumux::runtime
