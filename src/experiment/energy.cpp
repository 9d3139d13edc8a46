#include "experiment/energy.hpp"

#include <algorithm>

namespace gpumux::experiment {
namespace {

DynamicEnergy dynamic_energy(const arch::EnergyConfig& each, const arch::KernelCounters& sms,
                             const arch::MemoryCounters& memory) {
  constexpr double kPicojoule = 1e-12;
  const auto joules = [](std::uint64_t events, double picojoules) {
    return static_cast<double>(events) * picojoules * kPicojoule;
  };
  DynamicEnergy out;
  out.instruction_supply = joules(sms.warp_instructions, each.instruction);
  out.sp_units = joules(sms.sp_thread_instructions, each.sp);
  out.int_units = joules(sms.int_thread_instructions, each.int_);
  out.dp_units = joules(sms.dp_thread_instructions, each.dp);
  out.sfu_units = joules(sms.sfu_thread_instructions, each.sfu);
  out.tensor_units = joules(sms.tensor_passes, each.tensor);
  out.uniform_units = joules(sms.uniform_thread_instructions, each.uniform);
  out.register_file =
      joules(sms.register_reads, each.register_read) + joules(sms.register_writes, each.register_write);
  out.shared_memory = joules(sms.shared_accesses + sms.shared_conflict_cycles, each.shared);
  out.constant_cache = joules(sms.constant_accesses, each.constant);
  out.l1 = joules(sms.l1_accesses, each.l1);
  out.network = joules(sms.request_flits + sms.reply_flits, each.flit);
  out.l2 =
      joules(memory.l2_accesses - memory.l2_writes, each.l2_read) + joules(memory.l2_writes, each.l2_write);
  out.dram = joules(memory.dram_activates, each.dram_activation) + joules(memory.dram_reads, each.dram_read) +
             joules(memory.dram_writes, each.dram_write);
  return out;
}

}  // namespace

double DynamicEnergy::total() const {
  double sum = 0;
#define GPUMUX_FIELD(field, meaning) sum += field;
  GPUMUX_DYNAMIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return sum;
}

double Energy::static_joules() const { return static_sms + static_uncore; }

std::optional<Energy> energy(const arch::MachineConfig& machine, const arch::CounterTable& counters,
                             Cycle cycles, std::uint64_t powered_sm_cycles) {
  if (!machine.energy.known()) return std::nullopt;
  const double hertz = machine.clocks.core * 1e6;
  Energy out;
  out.seconds = static_cast<double>(cycles) / hertz;
  std::uint64_t instructions = 0;
  for (std::size_t i = 0; i < counters.apps.size(); ++i) {
    out.apps.push_back(dynamic_energy(machine.energy, counters.apps[i], counters.memory[i]));
    instructions += counters.apps[i].useful_instructions();
#define GPUMUX_FIELD(field, meaning) out.gpu.field += out.apps.back().field;
    GPUMUX_DYNAMIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
  const std::uint64_t gated = machine.sms * cycles - std::min(machine.sms * cycles, powered_sm_cycles);
  out.static_sms = (machine.energy.sm_watts * static_cast<double>(powered_sm_cycles) +
                    machine.energy.gated_sm_watts * static_cast<double>(gated)) /
                   hertz;
  out.static_uncore = machine.energy.uncore_watts * out.seconds;
  if (cycles > 0) out.ipc = static_cast<double>(instructions) / static_cast<double>(cycles);
  return out;
}

}  // namespace gpumux::experiment
