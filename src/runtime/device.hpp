// What the run time needs of the machine below it.
#pragma once

#include <memory>

#include "base/types.hpp"
#include "machine/config.hpp"
#include "workload/stream.hpp"

namespace gpumux::runtime {

class Context;

/// Calls are made between windows of time.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const machine::MachineConfig& config() const = 0;
  [[nodiscard]] virtual Cycle now() const = 0;
  /// The kernel arrives after the machine's launch latency. When its last block has ended,
  /// Context::kernel_ended(stream) is called.
  virtual void submit(Context& context, std::uint32_t stream,
                      std::unique_ptr<workload::KernelSource> kernel) = 0;
  /// A host copy wrote [to, to + bytes).
  virtual void copied_to_device(Address to, std::uint64_t bytes) = 0;
};

}  // namespace gpumux::runtime
