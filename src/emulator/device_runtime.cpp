// The device run time: calls of kernels that launch kernels. runtime/device_launches.hpp implements streams
// and starts launches.
#include "emulator/device_runtime.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "emulator/addresses.hpp"
#include "emulator/generic_access.hpp"
#include "emulator/many_sources.hpp"

namespace gpumux::emulator {

// --- parameters and texts -------------------------------------------------------------------------------

namespace {

/// Size unit in bytes of parameter buffers. Different launches share no memory sector.
constexpr u32 kBufferUnit = 64;
/// Number of buffers that are allocated at a time.
constexpr u32 kBuffers = 256;

}  // namespace

Address DeviceRuntime::prepare(Prepared launch) {
  const u32 wanted = std::max(launch.kernel->code.param_bytes, 1U);
  const u32 bytes = (wanted + kBufferUnit - 1) / kBufferUnit * kBufferUnit;
  std::vector<Address>& free = free_[bytes];
  if (free.empty()) {
    const Address first = memory_.allocate_at_end(u64{bytes} * kBuffers);
    if (first == 0) return 0;
    for (u32 i = kBuffers; i-- > 0;) free.push_back(first + u64{i} * bytes);
  }
  const Address buffer = free.back();
  free.pop_back();
  prepared_.insert_or_assign(buffer, std::move(launch));
  return buffer;
}

std::optional<DeviceRuntime::Prepared> DeviceRuntime::take(Address parameters) {
  const auto found = prepared_.find(parameters);
  if (found == prepared_.end()) return std::nullopt;
  Prepared launch = std::move(found->second);
  prepared_.erase(found);
  const u32 bytes = launch.kernel->code.param_bytes;
  launch.config.parameters.assign(reinterpret_cast<const char*>(memory_.host(parameters)), bytes);
  free_[(std::max(bytes, 1U) + kBufferUnit - 1) / kBufferUnit * kBufferUnit].push_back(parameters);
  return launch;
}

Address DeviceRuntime::text(const char* text) {
  Address& place = texts_[text];
  const std::size_t bytes = std::strlen(text) + 1;
  if (place == 0) {
    place = memory_.allocate_at_end(bytes);
    if (place != 0) std::memcpy(memory_.host(place), text, bytes);
  }
  return place;
}

// --- calls ----------------------------------------------------------------------------------------------

namespace {

using isa::Instruction;
using isa::Service;

/// The version of the run time that the machine reports (cudart/): CUDA 13.0.
constexpr i32 kVersion = 13000;
constexpr u32 kNonBlocking = 1;           // flag of cudaStreamCreateWithFlags
constexpr u32 kDisableTiming = 2;         // flag of cudaEventCreateWithFlags
constexpr u64 kUsualShared = 48U << 10U;  // default limit of dynamic bytes per block

/// A call of one lane.
struct Call {
  Warp& warp;
  const Op& op;
  u32 lane;

  [[nodiscard]] u64 wide(unsigned which) const { return warp.src<u64>(op, which)[lane]; }
  [[nodiscard]] u32 narrow(unsigned which) const { return warp.src<u32>(op, which)[lane]; }
  template <class T>
  void put(unsigned which, const T& value) const {
    write_generic(warp, lane, wide(which), &value, sizeof(T));
  }
  [[nodiscard]] DeviceThread thread() const {
    const Block& block = *warp.block;
    return {block.launch().config.ticket, block.index(), warp.index * kWarpSize + lane};
  }
  /// The stream of a call. In the variants `*_ptsz`, the null stream is the thread's instead of the block's.
  [[nodiscard]] u64 stream(unsigned which) const {
    const u64 stream = wide(which);
    return stream == DeviceStream::kNull && op.inst->shift != 0 ? DeviceStream::kPerThread : stream;
  }
  [[nodiscard]] DeviceRuntime& runtime() const {
    DeviceRuntime* const runtime = warp.block->module().device_runtime;
    if (runtime == nullptr) warp.block->fault(warp, lane, "nobody here launches kernels for kernels");
    return *runtime;
  }
  /// The kernel of a function pointer, or nullptr.
  [[nodiscard]] const KernelInfo* kernel(unsigned which) const {
    const isa::Module& module = warp.block->module().compiled->module;
    const u64 address = wide(which);
    if (address % 16 != 0 || address == 0 || address / 16 > module.functions.size()) return nullptr;
    const isa::Function& function = module.functions[address / 16 - 1];
    return function.is_kernel ? warp.block->module().loaded->find(function.name) : nullptr;
  }
};

DeviceError launch(const Call& call) {
  auto launch = call.runtime().take(call.wide(0));
  if (!launch) return DeviceError::InvalidValue;
  return call.runtime().launch(call.thread(), call.stream(1), std::move(*launch));
}

DeviceError copy(const Call& call) {
  const u64 to = call.wide(0);
  const u64 from = call.wide(1);
  const u64 bytes = call.wide(2);
  const workload::DeviceMemory& memory = call.warp.block->memory();
  if (bytes != 0 && (!memory.valid(to, bytes) || !memory.valid(from, bytes)))
    return DeviceError::InvalidValue;
  return call.runtime().copy(call.thread(), call.stream(4), to, from, bytes);
}

DeviceError fill(const Call& call) {
  const u64 to = call.wide(0);
  const u64 bytes = call.wide(2);
  if (bytes != 0 && !call.warp.block->memory().valid(to, bytes)) return DeviceError::InvalidValue;
  return call.runtime().fill(call.thread(), call.stream(3), to, static_cast<u8>(call.narrow(1)), bytes);
}

DeviceError create_stream(const Call& call) {
  if (call.narrow(1) != kNonBlocking) return DeviceError::InvalidValue;
  u64 stream = 0;
  const DeviceError error = call.runtime().create_stream(call.thread(), stream);
  if (error == DeviceError::None) call.put(0, stream);
  return error;
}

DeviceError create_event(const Call& call) {
  if (call.narrow(1) != kDisableTiming) return DeviceError::InvalidValue;
  u64 event = 0;
  const DeviceError error = call.runtime().create_event(call.thread(), event);
  if (error == DeviceError::None) call.put(0, event);
  return error;
}

DeviceError allocate(const Call& call) {
  const u64 bytes = call.wide(1);
  Block& block = *call.warp.block;
  u64 address = 0;
  try {
    address = block.memory().allocate_heap(bytes, block.launch().config.heap_bytes);
  } catch (const SimulationFault&) {  // no room
  }
  call.put(0, address);
  return address == 0 && bytes != 0 ? DeviceError::MemoryAllocation : DeviceError::None;
}

DeviceError attribute(const Call& call) {
  if (call.narrow(2) != 0) return DeviceError::InvalidDevice;
  const std::optional<i32> value = call.runtime().attribute(call.narrow(1));
  if (!value) return DeviceError::NotSupported;
  call.put(0, *value);
  return DeviceError::None;
}

DeviceError limit(const Call& call) {
  constexpr u32 kHeap = 2;
  constexpr u32 kPending = 4;
  const u32 which = call.narrow(1);
  if (which != kHeap && which != kPending) return DeviceError::UnsupportedLimit;
  call.put(0, which == kHeap ? call.warp.block->launch().config.heap_bytes : call.runtime().pending_limit());
  return DeviceError::None;
}

/// cudaFuncAttributes.
struct FunctionAttributes {
  u64 shared_bytes = 0;
  u64 constant_bytes = 0;
  u64 local_bytes = 0;
  i32 max_threads = 0;
  i32 registers = 0;
  i32 ptx_version = 0;
  i32 binary_version = 0;
  i32 caches_global_like_constants = 0;
  i32 max_dynamic_shared_bytes = 0;
  i32 shared_carve_out = 0;
  i32 cluster[7] = {};
  i32 reserved[16] = {};
};
static_assert(sizeof(FunctionAttributes) == 144);

DeviceError function_attributes(const Call& call) {
  constexpr u32 kMajor = 75;
  constexpr u32 kMinor = 76;
  const KernelInfo* const kernel = call.kernel(1);
  if (kernel == nullptr || !kernel->error.empty()) return DeviceError::InvalidDeviceFunction;
  const isa::Module& module = call.warp.block->module().compiled->module;
  FunctionAttributes of;
  of.shared_bytes = kernel->code.shared_bytes;
  of.constant_bytes = module.const_bank.size();
  of.local_bytes = kernel->code.local_bytes;
  of.max_threads = static_cast<i32>(kernel->code.max_threads != 0 ? kernel->code.max_threads : 1024);
  of.registers = static_cast<i32>(kernel->registers);
  of.ptx_version = static_cast<i32>(module.sm);
  of.binary_version =
      call.runtime().attribute(kMajor).value_or(0) * 10 + call.runtime().attribute(kMinor).value_or(0);
  of.max_dynamic_shared_bytes = static_cast<i32>(kUsualShared);
  call.put(0, of);
  return DeviceError::None;
}

DeviceError occupancy(const Call& call) {
  const KernelInfo* const kernel = call.kernel(1);
  if (kernel == nullptr || !kernel->error.empty()) return DeviceError::InvalidDeviceFunction;
  if (call.narrow(2) == 0 || call.narrow(2) > 1024) return DeviceError::InvalidValue;
  call.put(0, call.runtime().occupancy(*kernel, call.narrow(2), call.wide(3)));
  return DeviceError::None;
}

DeviceError perform(const Call& call) {
  switch (call.op.inst->service) {
    case Service::LaunchDevice: return launch(call);
    case Service::MemcpyAsync: return copy(call);
    case Service::MemsetAsync: return fill(call);
    case Service::StreamCreate: return create_stream(call);
    case Service::StreamDestroy: return call.runtime().destroy_stream(call.thread(), call.wide(0));
    case Service::StreamWaitEvent:
      return call.runtime().wait_event(call.thread(), call.stream(0), call.wide(1));
    case Service::EventCreate: return create_event(call);
    case Service::EventRecord:
      return call.runtime().record_event(call.thread(), call.wide(0), call.stream(1));
    case Service::EventDestroy: return call.runtime().destroy_event(call.thread(), call.wide(0));
    case Service::CudaMalloc: return allocate(call);
    case Service::CudaFree:
      return call.warp.block->memory().free_heap(call.wide(0)) ? DeviceError::None
                                                               : DeviceError::InvalidValue;
    case Service::GetDevice: call.put(0, i32{0}); return DeviceError::None;
    case Service::GetDeviceCount: call.put(0, i32{1}); return DeviceError::None;
    case Service::RuntimeGetVersion: call.put(0, kVersion); return DeviceError::None;
    case Service::DeviceGetAttribute: return attribute(call);
    case Service::DeviceGetLimit: return limit(call);
    case Service::FuncGetAttributes: return function_attributes(call);
    case Service::Occupancy: return occupancy(call);
    default: return DeviceError::NotSupported;
  }
}

template <class Each>
void for_each_lane(Warp& warp, const Op& op, LaneMask lanes, Each each) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    each(Call{warp, op, static_cast<u32>(std::countr_zero(rest))});
}

void error_service(Warp& warp, const Op& op, LaneMask lanes) {
  alignas(64) u32 result[kWarpSize] = {};
  for_each_lane(warp, op, lanes, [&](const Call& call) {
    const DeviceError error = perform(call);
    if (error != DeviceError::None) warp.block->last_error(call.thread().thread) = static_cast<u32>(error);
    result[call.lane] = static_cast<u32>(error);
  });
  merge(warp.dst<u32>(op), result, lanes);
}

void last_error_service(Warp& warp, const Op& op, LaneMask lanes) {
  alignas(64) u32 result[kWarpSize] = {};
  for_each_lane(warp, op, lanes, [&](const Call& call) {
    u32& last = warp.block->last_error(call.thread().thread);
    result[call.lane] = last;
    if (op.inst->service == Service::GetLastError) last = 0;
  });
  merge(warp.dst<u32>(op), result, lanes);
}

void text_service(Warp& warp, const Op& op, LaneMask lanes) {
  alignas(64) u64 result[kWarpSize] = {};
  for_each_lane(warp, op, lanes, [&](const Call& call) {
    const u32 error = call.narrow(0);
    result[call.lane] = call.runtime().text(op.inst->service == Service::GetErrorName ? error_name(error)
                                                                                      : error_text(error));
  });
  merge(warp.dst<u64>(op), result, lanes);
}

/// Returns a buffer for the parameters of a launch. The launch call reports errors of the launch, after the
/// parameters were written. Without a valid kernel, the size of the parameters is unknown, so this is an
/// error of this call.
void parameter_buffer_service(Warp& warp, const Op& op, LaneMask lanes) {
  alignas(64) u64 result[kWarpSize] = {};
  const ManySources sources(warp, op);
  const LaunchConfig& own = warp.block->launch().config;
  for_each_lane(warp, op, lanes, [&](const Call& call) {
    const u32 lane = call.lane;
    const auto dimensions = [&](u32 first) {
      return Dim3{sources.row<u32>(first)[lane], sources.row<u32>(first + 1)[lane],
                  sources.row<u32>(first + 2)[lane]};
    };
    DeviceRuntime::Prepared launch;
    launch.module = warp.block->module().loaded;
    launch.kernel = call.kernel(0);
    if (launch.kernel == nullptr) {
      warp.block->last_error(call.thread().thread) = static_cast<u32>(DeviceError::InvalidDeviceFunction);
      return;
    }
    launch.kernel->check();
    launch.config.grid = dimensions(1);
    launch.config.block = dimensions(4);
    launch.config.dynamic_shared_bytes = sources.row<u32>(7)[lane];
    launch.config.max_warp_instructions = own.max_warp_instructions;
    launch.config.shared_banks = own.shared_banks;
    launch.config.heap_bytes = own.heap_bytes;
    launch.config.clock = own.clock;
    launch.config.textures_time = own.textures_time;
    result[lane] = call.runtime().prepare(std::move(launch));
    if (result[lane] == 0)
      warp.block->last_error(call.thread().thread) = static_cast<u32>(DeviceError::MemoryAllocation);
  });
  merge(warp.dst<u64>(op), result, lanes);
}

}  // namespace

Handler select_device_runtime(const Instruction& inst) {
  switch (inst.service) {
    case Service::ParameterBuffer: return &parameter_buffer_service;
    case Service::GetLastError:
    case Service::PeekAtLastError: return &last_error_service;
    case Service::GetErrorString:
    case Service::GetErrorName: return &text_service;
    default: return isa::is_device_runtime(inst.service) ? &error_service : nullptr;
  }
}

}  // namespace gpumux::emulator
