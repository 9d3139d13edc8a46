// A launch of a trace as a KernelSource.
#pragma once

#include <cstdint>
#include <memory>

#include "trace/trace_file.hpp"
#include "workload/device_memory.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Creates launch `index` of the trace for the application that owns `memory`, on a machine with
/// `shared_banks` banks of shared memory. Throws UserError when the trace is damaged. The source and its
/// blocks may throw UserError, too.
[[nodiscard]] std::unique_ptr<workload::KernelSource> make_kernel(std::shared_ptr<const Trace> trace,
                                                                  std::uint64_t index,
                                                                  workload::DeviceMemory& memory,
                                                                  std::uint32_t shared_banks);

}  // namespace gpumux::trace
