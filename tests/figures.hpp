#pragma once

#include <fmt/core.h>

#include <string>

#include "experiment/run.hpp"

namespace gpumux {

/// All counters of a run as text, one counter per line, for comparison with another run.
inline std::string figures(const experiment::RunResult& result) {
  std::string text = std::to_string(result.cycles) + " cycles\n";
  const auto add = [&](std::uint64_t value, const char* name) {
    text += std::to_string(value) + " " + name + "\n";
  };
  for (const experiment::AppResult& app : result.apps) {
    add(app.first_completion, "first completion");
#define GPUMUX_FIELD(field, unit, description) add(app.counters.field, #field);
    GPUMUX_KERNEL_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
#define GPUMUX_FIELD(field, unit, description) add(result.gpu.field, #field);
  GPUMUX_KERNEL_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) add(result.schedulers.field, #field);
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) add(result.partitions.field, #field);
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  for (const experiment::CpuResult& cpu : result.cpus) {
    add(cpu.counters.cycles, "CPU cycles");
    add(cpu.counters.instructions, "CPU instructions");
    add(cpu.counters.l1_misses, "CPU L1 misses");
    add(cpu.counters.l2_misses, "CPU L2 misses");
    add(cpu.counters.memory_latency, "CPU memory latency");
#define GPUMUX_FIELD(field, unit, description) add(cpu.memory_counters.field, #field);
    GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
  if (result.energy) {
#define GPUMUX_FIELD(field, meaning) text += fmt::format("{} {}\n", result.energy->gpu.field, #field);
    GPUMUX_DYNAMIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, meaning) text += fmt::format("{} {}\n", result.energy->field, #field);
    GPUMUX_STATIC_COMPONENTS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
  return text;
}

}  // namespace gpumux
