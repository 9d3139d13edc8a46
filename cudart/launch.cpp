// Launches: by the stub that nvcc generates for each kernel and the configuration that <<<>>> stores for it,
// and by calls that name everything themselves.
#include <cstring>
#include <string>
#include <vector>

#include "launch.hpp"

#include "device.hpp"
#include "graph.hpp"
#include "modules.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

struct Configuration {
  Dim3 grid;
  Dim3 block;
  std::size_t shared_bytes;
  StreamHandle stream;
  std::uint32_t priority = program::kStreamsPriority;
};
thread_local std::vector<Configuration> configurations;

/// Describes a launch for gpumux. The values of arguments are copied immediately.
Error describe(const void* function, const Configuration& configuration, const Arguments& arguments,
               bool cooperative, KernelContent& of) {
  const Session& session = Session::get();
  Error error = Error::Success;
  const Kernel* const kernel = find_kernel(function, error);
  if (kernel == nullptr) return error;
  const std::uint32_t usual = session.device().shared_bytes_per_block;
  const std::uint32_t limit = kernel->dynamic_shared_limit != 0 ? kernel->dynamic_shared_limit : usual;
  if (configuration.shared_bytes > limit) return Error::InvalidValue;
  std::string parameters(kernel->description.parameter_bytes, '\0');
  if (arguments.packed.size() > parameters.size()) return Error::InvalidValue;
  if (arguments.pointers == nullptr && arguments.packed.empty() && !parameters.empty())
    return Error::InvalidValue;
  arguments.packed.copy(parameters.data(), parameters.size());
  for (std::size_t i = 0; arguments.pointers != nullptr && i < kernel->parameters.size(); ++i) {
    const program::KernelParameter& parameter = kernel->parameters[i];
    std::memcpy(parameters.data() + parameter.offset, arguments.pointers[i], parameter.bytes);
  }
  const auto extent = [](const Dim3& from) { return program::Extent{from.x, from.y, from.z}; };
  of.node = {const_cast<void*>(function),
             configuration.grid,
             configuration.block,
             static_cast<unsigned>(configuration.shared_bytes),
             nullptr,
             nullptr};
  of.launch = {extent(configuration.grid),
               extent(configuration.block),
               kernel->description.kernel,
               static_cast<std::uint32_t>(configuration.shared_bytes),
               0,
               cooperative ? 1U : 0U,
               limits()[kHeapLimit],
               configuration.priority};
  of.layout = kernel->parameters;
  of.arguments = std::move(parameters);
  return Error::Success;
}

bool is_one_block(const LaunchAttribute& cluster) {
  std::uint32_t dimensions[3];
  std::memcpy(dimensions, cluster.value, sizeof(dimensions));
  return dimensions[0] == 1 && dimensions[1] == 1 && dimensions[2] == 1;
}

/// The message for an unsupported launch attribute, by its number in CUDA's driver_types.h.
const char* refusal(int attribute) {
  switch (attribute) {
    case 1: return "a launch with cudaLaunchAttributeAccessPolicyWindow";
    case 3: return "a launch with cudaLaunchAttributeSynchronizationPolicy";
    case kAttributeClusterDimension:
      return "a launch with cudaLaunchAttributeClusterDimension (thread block clusters)";
    case 5: return "a launch with cudaLaunchAttributeClusterSchedulingPolicyPreference";
    case 7: return "a launch with cudaLaunchAttributeProgrammaticEvent";
    case 9: return "a launch with cudaLaunchAttributeMemSyncDomainMap";
    case 10: return "a launch with cudaLaunchAttributeMemSyncDomain";
    case 11: return "a launch with cudaLaunchAttributePreferredClusterDimension (thread block clusters)";
    case 12: return "a launch with cudaLaunchAttributeLaunchCompletionEvent";
    case 13: return "a launch with cudaLaunchAttributeDeviceUpdatableKernelNode";
    case 14: return "a launch with cudaLaunchAttributePreferredSharedMemoryCarveout";
    default: return "a launch with an attribute that is not known";
  }
}

Error launch(const void* function, const Configuration& configuration, const Arguments& arguments,
             bool cooperative, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  NodeWork work{NodeType::Kernel, KernelContent{}, {}};
  auto& of = std::get<KernelContent>(work.content);
  const Error error = describe(function, configuration, arguments, cooperative, of);
  if (error != Error::Success) return returned(error);
  const std::uint32_t stream = stream_number(configuration.stream, per_thread);
  of.priority = configuration.priority;
  if (of.priority == program::kStreamsPriority) {
    const auto info = streams().find(configuration.stream);
    of.priority = info == streams().end() ? 0 : priority_number(info->second.priority);
  }
  return captured(stream, work) ? Error::Success : returned(enqueue(of, stream, of.launch.priority));
}

}  // namespace

Error launch(const void* function, Dim3 grid, Dim3 block, std::size_t shared_bytes, StreamHandle stream,
             const Arguments& arguments, bool cooperative, bool per_thread) {
  return launch(function, {grid, block, shared_bytes, stream}, arguments, cooperative, per_thread);
}

Error launch(const LaunchConfig* config, const void* function, const Arguments& arguments, bool per_thread) {
  if (config == nullptr) return returned(Error::InvalidValue);
  bool cooperative = false;
  std::uint32_t priority = program::kStreamsPriority;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    int value = 0;
    std::memcpy(&value, attribute.value, sizeof(value));
    if (attribute.id == kAttributeCooperative) {
      cooperative = value != 0;
    } else if (attribute.id == kAttributePriority) {
      priority = priority_number(value);
    } else if (attribute.id == kAttributeProgrammaticStreamSerialization) {
      // The attribute permits an earlier start, before the previous kernel ends. Kernels here do not use it.
    } else if (attribute.id == kAttributeClusterDimension && is_one_block(attribute)) {
      // Clusters of one block are equivalent to blocks.
    } else if (attribute.id != 0) {  // 0: ignored attribute
      return returned(refuse_launch(refusal(attribute.id)));
    }
  }
  return launch(function, {config->grid, config->block, config->shared_bytes, config->stream, priority},
                arguments, cooperative, per_thread);
}

Error enqueue(const KernelContent& of, std::uint32_t stream, std::uint32_t priority) {
  program::LaunchArguments launched = of.launch;
  launched.stream = stream;
  launched.priority = priority;
  return Session::get().call(Call::Launch, launched, bytes_of(of.arguments));
}

Error describe_kernel(const KernelNode* of, NodeWork& out) {
  if (of == nullptr) return Error::InvalidValue;
  out = {NodeType::Kernel, KernelContent{}, {}};
  Arguments arguments{of->parameters, {}};
  if (!read_extra(of->extra, arguments)) return Error::InvalidValue;
  return describe(of->function, {of->grid, of->block, of->shared_bytes, nullptr}, arguments, false,
                  std::get<KernelContent>(out.content));
}

bool read_extra(void** extra, Arguments& arguments) {
  constexpr std::uintptr_t kBuffer = 1;
  constexpr std::uintptr_t kBufferBytes = 2;
  if (extra == nullptr) return true;
  if (arguments.pointers != nullptr) return false;
  const char* buffer = nullptr;
  std::size_t bytes = 0;
  for (; *extra != nullptr; extra += 2) {
    const auto what = reinterpret_cast<std::uintptr_t>(*extra);
    if (what == kBuffer) {
      buffer = static_cast<const char*>(extra[1]);
    } else if (what == kBufferBytes) {
      bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return false;
    }
  }
  if (buffer == nullptr) return bytes == 0;
  arguments.packed = {buffer, bytes};
  return true;
}

GPUMUX_CUDART_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared_bytes,
                                                       StreamHandle stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

GPUMUX_CUDART_API Error __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared_bytes,
                                                   StreamHandle* stream) {
  if (configurations.empty()) return returned(Error::MissingConfiguration);
  const Configuration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *stream = top.stream;
  configurations.pop_back();
  return Error::Success;
}

GPUMUX_CUDART_API Error __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments,
                                           std::size_t shared_bytes, StreamHandle stream) {
  return launch(kernel, {grid, block, shared_bytes, stream}, {arguments, {}}, false, false);
}
GPUMUX_CUDART_API Error __cudaLaunchKernel_ptsz(const void* kernel, Dim3 grid, Dim3 block, void** arguments,
                                                std::size_t shared_bytes, StreamHandle stream) {
  return launch(kernel, {grid, block, shared_bytes, stream}, {arguments, {}}, false, true);
}
GPUMUX_CUDART_API Error cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                         std::size_t shared_bytes, StreamHandle stream) {
  return launch(function, {grid, block, shared_bytes, stream}, {arguments, {}}, false, false);
}
GPUMUX_CUDART_API Error cudaLaunchKernel_ptsz(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                              std::size_t shared_bytes, StreamHandle stream) {
  return launch(function, {grid, block, shared_bytes, stream}, {arguments, {}}, false, true);
}
GPUMUX_CUDART_API Error cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block,
                                                    void** arguments, std::size_t shared_bytes,
                                                    StreamHandle stream) {
  return launch(function, {grid, block, shared_bytes, stream}, {arguments, {}}, true, false);
}
GPUMUX_CUDART_API Error cudaLaunchCooperativeKernel_ptsz(const void* function, Dim3 grid, Dim3 block,
                                                         void** arguments, std::size_t shared_bytes,
                                                         StreamHandle stream) {
  return launch(function, {grid, block, shared_bytes, stream}, {arguments, {}}, true, true);
}
GPUMUX_CUDART_API Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function,
                                            void** arguments) {
  return launch(config, function, {arguments, {}}, false);
}
GPUMUX_CUDART_API Error cudaLaunchKernelExC_ptsz(const LaunchConfig* config, const void* function,
                                                 void** arguments) {
  return launch(config, function, {arguments, {}}, true);
}

GPUMUX_CUDART_API Error cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  const std::scoped_lock lock(Session::get().lock());
  Error error = Error::Success;
  const Kernel* const kernel = find_kernel(function, error);
  if (kernel == nullptr) return returned(error);
  const program::KernelDescription& of = kernel->description;
  const program::DeviceDescription& device = Session::get().device();
  *attributes = {};
  attributes->shared_bytes = of.shared_bytes;
  attributes->constant_bytes = of.constant_bytes;
  attributes->local_bytes = of.local_bytes;
  attributes->max_threads = static_cast<int>(of.max_threads);
  attributes->registers = static_cast<int>(of.registers);
  attributes->ptx_version = static_cast<int>(of.ptx_version);
  attributes->binary_version = static_cast<int>(device.capability);
  const std::uint32_t limit =
      kernel->dynamic_shared_limit != 0 ? kernel->dynamic_shared_limit : device.shared_bytes_per_block;
  attributes->max_dynamic_shared_bytes = static_cast<int>(limit);
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaFuncSetAttribute(const void* function, int attribute, int value) {
  const std::scoped_lock lock(Session::get().lock());
  Error error = Error::Success;
  Kernel* const kernel = find_kernel(function, error);
  if (kernel == nullptr) return returned(error);
  // The machine divides L1 and shared memory by its own rule. The carve-out is a hint, which CUDA need not
  // follow either.
  if (attribute == kPreferredCarveout) return Error::Success;
  if (attribute != kMaxDynamicSharedSize) return returned(not_supported("cudaFuncSetAttribute of clusters"));
  const std::uint32_t most = Session::get().device().shared_bytes_most;
  if (value < 0 || static_cast<std::uint32_t>(value) + kernel->description.shared_bytes > most)
    return returned(Error::InvalidValue);
  kernel->dynamic_shared_limit = static_cast<std::uint32_t>(value);
  return Error::Success;
}

// Hints on the division of L1 and shared memory and on the width of banks. They have no effect, since the
// machine divides by its own rule.
GPUMUX_CUDART_API Error cudaFuncSetCacheConfig(const void* function, int) {
  const std::scoped_lock lock(Session::get().lock());
  Error error = Error::Success;
  static_cast<void>(find_kernel(function, error));
  return returned(error);
}
GPUMUX_CUDART_API Error cudaFuncSetSharedMemConfig(const void* function, int config) {
  return cudaFuncSetCacheConfig(function, config);
}

GPUMUX_CUDART_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                      int threads, std::size_t shared_bytes) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  Error error = Error::Success;
  const Kernel* const kernel = find_kernel(function, error);
  if (kernel == nullptr) return returned(error);
  if (blocks == nullptr || threads <= 0) return returned(Error::InvalidValue);
  const program::ActiveBlocksArguments arguments{kernel->description.kernel,
                                                 static_cast<std::uint32_t>(threads), shared_bytes};
  program::ActiveBlocksResult result{};
  error = session.call(Call::ActiveBlocks, arguments, &result);
  *blocks = static_cast<int>(result.blocks);
  return returned(error);
}
GPUMUX_CUDART_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, std::size_t shared_bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}

}  // namespace gpumux::cudart
