// Energy of a run in joules, by component and application, from its counters and cycles (docs/energy.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arch/config.hpp"
#include "arch/counter_table.hpp"

namespace gpumux::experiment {

// X(field, meaning) for each component whose events an application causes.
#define GPUMUX_DYNAMIC_COMPONENTS(X)                                                      \
  X(instruction_supply,                                                                   \
    "fetching, decoding and scheduling instructions, and their way through the pipeline") \
  X(sp_units, "operations of the SP units' lanes")                                        \
  X(int_units, "of the INT units'")                                                       \
  X(dp_units, "of the DP units'")                                                         \
  X(sfu_units, "of the SFU units'")                                                       \
  X(tensor_units, "of the tensor units'")                                                 \
  X(uniform_units, "of the uniform datapaths'")                                           \
  X(register_file, "operands read and results written")                                   \
  X(shared_memory, "passes over its banks")                                               \
  X(constant_cache, "loads of constants and parameters")                                  \
  X(l1, "accesses")                                                                       \
  X(network, "flits of requests and replies")                                             \
  X(l2, "reads and writes")                                                               \
  X(dram, "row activations and bursts, with the controllers")
// X(field, meaning) for each component of static energy, which is drawn whatever happens.
#define GPUMUX_STATIC_COMPONENTS(X)                 \
  X(static_sms, "SMs, as long as they are powered") \
  X(static_uncore, "all outside SMs")

/// Dynamic energy by component, in joules.
struct DynamicEnergy {
#define GPUMUX_ENERGY_FIELD(field, meaning) double field = 0;
  GPUMUX_DYNAMIC_COMPONENTS(GPUMUX_ENERGY_FIELD)
  [[nodiscard]] double total() const;
};

struct Energy {
  std::vector<DynamicEnergy> apps;  // by application
  DynamicEnergy gpu;                // of all applications
  GPUMUX_STATIC_COMPONENTS(GPUMUX_ENERGY_FIELD)
#undef GPUMUX_ENERGY_FIELD
  double seconds = 0;
  double ipc = 0;  // of the GPU: useful thread instructions per core cycle

  [[nodiscard]] double static_joules() const;
  [[nodiscard]] double joules() const { return gpu.total() + static_joules(); }
  [[nodiscard]] double watts() const { return seconds == 0 ? 0 : joules() / seconds; }
  /// wang17's measure of efficiency: IPC divided by the mean power in watts. Empty if no energy was drawn.
  [[nodiscard]] std::optional<double> instructions_per_watt() const {
    return watts() > 0 ? std::optional(ipc / watts()) : std::nullopt;
  }
};

/// Energy of a run of `cycles` core cycles. `powered_sm_cycles`: cycles in which an SM was powered, summed
/// over SMs. Empty for a machine whose energies are unknown.
[[nodiscard]] std::optional<Energy> energy(const arch::MachineConfig& machine,
                                           const arch::CounterTable& counters, Cycle cycles,
                                           std::uint64_t powered_sm_cycles);

}  // namespace gpumux::experiment
