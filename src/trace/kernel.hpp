// A launch of a trace as the machine sees it.
#pragma once

#include <cstdint>
#include <memory>

#include "trace/trace_file.hpp"
#include "workload/device_memory.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Launch `index` of the trace for the application that `memory` belongs to, on a machine with that many
/// shared-memory banks. Throws UserError when the trace is damaged; so do the source and its blocks.
[[nodiscard]] std::unique_ptr<workload::KernelSource> make_kernel(std::shared_ptr<const Trace> trace,
                                                                  std::uint64_t index,
                                                                  workload::DeviceMemory& memory,
                                                                  std::uint32_t shared_banks);

}  // namespace gpumux::trace
