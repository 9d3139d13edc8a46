#include "runtime/device_launches.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "runtime/context.hpp"

namespace gpumux::runtime {

using emulator::DeviceError;
using emulator::DeviceStream;
using emulator::DeviceThread;

namespace {

constexpr std::uint64_t kFirstHandle = 0x100;  // handles follow the streams with a predefined meaning
constexpr std::uint64_t kNamed = ~std::uint64_t{0};

/// The CUDA error for a launch configuration that is invalid, or None.
DeviceError wrong_shape(const emulator::KernelInfo& kernel, const emulator::LaunchConfig& config) {
  const Dim3& grid = config.grid;
  const Dim3& block = config.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fff'ffffU || grid.y > 65535 || grid.z > 65535)
    return DeviceError::InvalidConfiguration;
  if (block.x == 0 || block.y == 0 || block.z == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.count() > 1024)
    return DeviceError::InvalidConfiguration;
  if (kernel.code.max_threads != 0 && block.count() > kernel.code.max_threads)
    return DeviceError::LaunchOutOfResources;
  return DeviceError::None;
}

}  // namespace

// --- grids ----------------------------------------------------------------------------------------------

void DeviceLaunches::begin_family(std::uint32_t ticket, StreamId stream) {
  Grid grid;
  grid.family = ticket;
  grids_.emplace(ticket, std::move(grid));
  families_.emplace(ticket, Family{stream});
}

void DeviceLaunches::began(std::uint32_t) { --pending_; }

void DeviceLaunches::ended(std::uint32_t ticket) {
  if (--grids_.at(ticket).open == 0) go_on(ticket);
}

void DeviceLaunches::go_on(std::uint32_t ticket) {
  while (!start_tail(ticket)) {
    const auto complete = grids_.find(ticket);
    const Role role = complete->second.role;
    const std::uint32_t family = complete->second.family;
    grids_.erase(complete);
    if (role.kind == Role::Kind::Host) {
      const StreamId stream = families_.at(family).stream;
      families_.erase(family);
      context_.family_ended(stream);
      return;
    }
    ticket = role.parent;
    if (role.kind == Role::Kind::Tail) continue;
    Grid& parent = grids_.at(ticket);
    if (role.kind == Role::Kind::InStream) {
      parent.streams.at(role.stream).kernel_running = false;
      pump(parent, role.stream);
    }
    if (--parent.open != 0) return;
  }
}

bool DeviceLaunches::start_tail(std::uint32_t ticket) {
  Grid& grid = grids_.at(ticket);
  while (!grid.tail.empty()) {
    Operation next = std::move(grid.tail.front());
    grid.tail.pop_front();
    auto* const launch = std::get_if<Launch>(&next);
    if (launch == nullptr) {
      perform(next);
      continue;
    }
    if (grid.tail.empty()) {  // a tail launch replaces its grid, so a kernel can relaunch itself endlessly
      grids_.at(launch->ticket).role = grid.role;
      grids_.erase(ticket);
    }
    start(std::move(*launch));
    return true;
  }
  return false;
}

void DeviceLaunches::start(Launch launch) {
  device_.submit_child(context_, kChild | launch.ticket, std::move(launch.kernel));
}

void DeviceLaunches::kill() {
  killed_ = true;
  std::vector<Operation> dropped;
  for (auto& [ticket, grid] : grids_) {
    for (auto& [key, stream] : grid.streams) {
      grid.open -= stream.queue.size();
      std::ranges::move(stream.queue, std::back_inserter(dropped));
      stream.queue.clear();
    }
    std::ranges::move(grid.tail, std::back_inserter(dropped));
    grid.tail.clear();
  }
  for (const Operation& operation : dropped) {
    if (const auto* const launch = std::get_if<Launch>(&operation)) {
      grids_.erase(launch->ticket);
      --pending_;
    }
  }
}

// --- streams --------------------------------------------------------------------------------------------

std::optional<DeviceLaunches::StreamKey> DeviceLaunches::key(const Grid& grid, const DeviceThread& by,
                                                             std::uint64_t stream) const {
  if (stream == DeviceStream::kNull || stream == DeviceStream::kLegacy) return StreamKey{0, by.block};
  if (stream == DeviceStream::kPerThread) return StreamKey{by.thread + std::uint64_t{1}, by.block};
  if (!grid.named.contains(stream)) return std::nullopt;
  return StreamKey{kNamed, stream};
}

DeviceError DeviceLaunches::enqueue(const DeviceThread& by, std::uint64_t stream, Operation operation) {
  Grid& grid = grids_.at(by.grid);
  auto* const launch = std::get_if<Launch>(&operation);
  if (stream == DeviceStream::kTailLaunch) {
    grid.tail.push_back(std::move(operation));
    return DeviceError::None;
  }
  if (stream == DeviceStream::kFireAndForget) {
    if (launch == nullptr) {
      perform(operation);
    } else {
      ++grid.open;
      start(std::move(*launch));
    }
    return DeviceError::None;
  }
  const std::optional<StreamKey> of = key(grid, by, stream);
  GPUMUX_CHECK(of.has_value());
  ++grid.open;
  grid.streams[*of].queue.push_back(std::move(operation));
  pump(grid, *of);
  return DeviceError::None;
}

void DeviceLaunches::pump(Grid& grid, const StreamKey& key) {
  bool recorded = pump_one(grid, grid.streams.at(key));
  while (recorded) {
    recorded = false;
    for (auto& [other, stream] : grid.streams) recorded = pump_one(grid, stream) || recorded;
  }
}

bool DeviceLaunches::pump_one(Grid& grid, Stream& stream) {
  bool recorded = false;
  while (!stream.kernel_running && !stream.queue.empty()) {
    Operation& head = stream.queue.front();
    if (auto* const launch = std::get_if<Launch>(&head)) {
      stream.kernel_running = true;
      Launch next = std::move(*launch);
      stream.queue.pop_front();
      start(std::move(next));
      break;
    }
    if (const auto* const wait = std::get_if<Wait>(&head)) {
      const auto event = grid.events.find(wait->event);
      const bool done = event == grid.events.end() || event->second[wait->recordings - 1];
      if (!done) break;
    } else if (const auto* const record = std::get_if<Record>(&head)) {
      const auto event = grid.events.find(record->event);
      if (event != grid.events.end()) event->second[record->recording] = true;
      recorded = true;
    } else {
      perform(head);
    }
    stream.queue.pop_front();
    --grid.open;
  }
  return recorded;
}

void DeviceLaunches::perform(const Operation& operation) {
  if (const auto* const copy = std::get_if<Copy>(&operation)) {
    std::vector<std::byte> bytes(copy->bytes);
    memory_.read(copy->from, bytes);
    memory_.write(copy->to, bytes);
  } else if (const auto* const fill = std::get_if<Fill>(&operation)) {
    memory_.fill(fill->to, std::byte{fill->value}, fill->bytes);
  }
}

// --- calls of kernels -----------------------------------------------------------------------------------

DeviceError DeviceLaunches::launch(const DeviceThread& by, std::uint64_t stream, Prepared launch) {
  Grid& parent = grids_.at(by.grid);
  const bool tail = stream == DeviceStream::kTailLaunch;
  const bool forgotten = stream == DeviceStream::kFireAndForget;
  const std::optional<StreamKey> in = key(parent, by, stream);
  if (!tail && !forgotten && !in) return DeviceError::InvalidResourceHandle;
  if (killed_) return DeviceError::None;
  const std::uint32_t depth = parent.depth + (tail ? 0 : 1);
  if (depth > kMostDepth) return DeviceError::LaunchMaxDepthExceeded;
  if (pending_ >= pending_limit_) return DeviceError::LaunchPendingCountExceeded;
  const emulator::KernelInfo& kernel = *launch.kernel;
  if (const DeviceError error = wrong_shape(kernel, launch.config); error != DeviceError::None) return error;
  if (occupancy(kernel, static_cast<std::uint32_t>(launch.config.block.count()),
                launch.config.dynamic_shared_bytes) == 0)
    return DeviceError::LaunchOutOfResources;
  if (++families_.at(parent.family).launches > kMostLaunches) {
    throw SimulationFault(fmt::format(
        "error: app {}: kernel {}: endless: kernels have launched {} others, without an end, since the host "
        "launched the first of them",
        context_.name(), kernel.code.name, kMostLaunches));
  }
  Grid child;
  child.family = parent.family;
  child.depth = depth;
  child.role.kind = tail ? Role::Kind::Tail : forgotten ? Role::Kind::Forgotten : Role::Kind::InStream;
  child.role.parent = by.grid;
  if (in) child.role.stream = *in;
  Launch operation{new_ticket(), nullptr};
  launch.config.ticket = operation.ticket;
  operation.kernel = context_.make_kernel(*launch.module, kernel, std::move(launch.config));
  grids_.emplace(operation.ticket, std::move(child));
  ++pending_;
  return enqueue(by, stream, std::move(operation));
}

DeviceError DeviceLaunches::copy(const DeviceThread& by, std::uint64_t stream, Address to, Address from,
                                 std::uint64_t bytes) {
  const bool special = stream == DeviceStream::kTailLaunch || stream == DeviceStream::kFireAndForget;
  if (!special && !key(grids_.at(by.grid), by, stream)) return DeviceError::InvalidResourceHandle;
  return killed_ ? DeviceError::None : enqueue(by, stream, Copy{to, from, bytes});
}

DeviceError DeviceLaunches::fill(const DeviceThread& by, std::uint64_t stream, Address to, std::uint8_t value,
                                 std::uint64_t bytes) {
  const bool special = stream == DeviceStream::kTailLaunch || stream == DeviceStream::kFireAndForget;
  if (!special && !key(grids_.at(by.grid), by, stream)) return DeviceError::InvalidResourceHandle;
  return killed_ ? DeviceError::None : enqueue(by, stream, Fill{to, value, bytes});
}

DeviceError DeviceLaunches::create_stream(const DeviceThread& by, std::uint64_t& stream) {
  stream = kFirstHandle + ++handles_;
  grids_.at(by.grid).named.insert(stream);
  return DeviceError::None;
}

/// Destroys a stream. Operations that are in the stream still run.
DeviceError DeviceLaunches::destroy_stream(const DeviceThread& by, std::uint64_t stream) {
  return grids_.at(by.grid).named.erase(stream) != 0 ? DeviceError::None : DeviceError::InvalidResourceHandle;
}

DeviceError DeviceLaunches::create_event(const DeviceThread& by, std::uint64_t& event) {
  event = kFirstHandle + ++handles_;
  grids_.at(by.grid).events.emplace(event, std::vector<bool>());
  return DeviceError::None;
}

/// Destroys an event. Streams that wait for it continue.
DeviceError DeviceLaunches::destroy_event(const DeviceThread& by, std::uint64_t event) {
  Grid& grid = grids_.at(by.grid);
  const auto found = grid.events.find(event);
  if (found == grid.events.end()) return DeviceError::InvalidResourceHandle;
  const bool pending = std::ranges::find(found->second, false) != found->second.end();
  if (!pending) grid.events.erase(found);  // a pending event is removed with the grid
  return DeviceError::None;
}

DeviceError DeviceLaunches::record_event(const DeviceThread& by, std::uint64_t event, std::uint64_t stream) {
  Grid& grid = grids_.at(by.grid);
  if (stream == DeviceStream::kTailLaunch || stream == DeviceStream::kFireAndForget)
    return DeviceError::InvalidValue;
  const auto found = grid.events.find(event);
  if (found == grid.events.end() || !key(grid, by, stream)) return DeviceError::InvalidResourceHandle;
  if (killed_) return DeviceError::None;
  found->second.push_back(false);
  return enqueue(by, stream, Record{event, found->second.size() - 1});
}

DeviceError DeviceLaunches::wait_event(const DeviceThread& by, std::uint64_t stream, std::uint64_t event) {
  Grid& grid = grids_.at(by.grid);
  if (stream == DeviceStream::kTailLaunch || stream == DeviceStream::kFireAndForget)
    return DeviceError::InvalidValue;
  const auto found = grid.events.find(event);
  if (found == grid.events.end() || !key(grid, by, stream)) return DeviceError::InvalidResourceHandle;
  if (killed_ || found->second.empty()) return DeviceError::None;  // never recorded: nothing to wait for
  return enqueue(by, stream, Wait{event, found->second.size()});
}

// --- questions ------------------------------------------------------------------------------------------

std::uint32_t DeviceLaunches::occupancy(const emulator::KernelInfo& kernel, std::uint32_t threads,
                                        std::uint64_t shared_bytes) const {
  const arch::SmConfig& sm = device_.config().sm;
  const std::uint64_t shared = kernel.code.shared_bytes + shared_bytes;
  if (shared > sm.shared_bytes) return 0;
  return arch::occupancy(sm, threads, kernel.registers, static_cast<std::uint32_t>(shared)).blocks;
}

/// The value of a cudaDeviceAttr, the same as on the host (cudart/device.cpp).
std::optional<std::int32_t> DeviceLaunches::attribute(std::uint32_t attribute) const {
  const arch::MachineConfig& of = device_.config();
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  switch (attribute) {
    case 1:
    case 2:
    case 3: return 1024;  // threads per block, in x and in y
    case 4: return 64;
    case 5: return 0x7fff'ffff;  // blocks per grid
    case 6:
    case 7: return 65535;
    case 8: return number(std::min(of.sm.shared_bytes, 48U << 10U));
    case 9: return 64 << 10;
    case 10: return number(kWarpSize);
    case 12:
    case 82: return number(of.sm.registers);
    case 13: return number(of.clocks.core * 1e3);
    case 16: return number(of.sms);
    case 31: return 1;  // concurrent kernels
    case 39: return number(of.sm.max_threads);
    case 75: return number(of.runtime.compute_capability / 10);
    case 76: return number(of.runtime.compute_capability % 10);
    case 81: return number(of.sm.shared_bytes);
    case 106: return number(of.sm.max_blocks);
    default: return std::nullopt;
  }
}

}  // namespace gpumux::runtime
