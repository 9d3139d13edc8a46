#include "sweep/run_hash.hpp"

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "embedded/sources.hpp"
#include "experiment/sources.hpp"
#include "policy/memory_scheme.hpp"

namespace gpumux::sweep {

std::string machine_hash(const arch::MachineConfig& machine) {
  ContentHash hash;
  hash.add(arch::acting_toml(machine));
  return hash.hex();
}

std::string run_hash(const experiment::RunSpec& spec, std::string_view machine, std::string_view sources) {
  ContentHash hash;
  hash.add("gpumux.run/1");
  hash.add(sources);
  hash.add(machine);
  hash.add(spec.policy.name);
  hash.add(experiment::policy_sources(spec.policy.name));
  hash.add(spec.policy.settings.size());
  for (const auto& [key, value] : spec.policy.settings) {
    hash.add(key);
    hash.add(value);
  }
  hash.add(spec.policy.blocks);
  hash.add(experiment::block_scheduler_sources(spec.policy.blocks));
  if (!spec.policy.cores.empty()) {
    hash.add("cores");
    hash.add(spec.policy.cores);
    hash.add(experiment::core_control_sources(spec.policy.cores));
  }
  if (!spec.policy.concurrency.empty()) {
    hash.add("concurrency");
    hash.add(spec.policy.concurrency);
    hash.add(experiment::concurrency_control_sources(spec.policy.concurrency));
  }
  hash.add(spec.policy.memory);
  hash.add(experiment::memory_scheme_sources(spec.policy.memory));
  const policy::Settings memory =
      policy::canonical_memory_settings(spec.policy.memory, spec.policy.memory_settings);
  hash.add(memory.size());
  for (const auto& [key, value] : memory) {
    hash.add(key);
    hash.add(value);
  }
  if (const std::string file = policy::create(spec.policy)->profile_request().file; !file.empty())
    hash.add(read_file(file));
  hash.add(spec.seed);
  hash.add(spec.cycles);
  if (spec.instructions != 0) hash.add(fmt::format("instructions {}", spec.instructions));
  if (spec.ledger) hash.add("ledger");
  if (!spec.viewed.empty()) hash.add("views");
  for (const SmId sm : spec.viewed) hash.add(std::uint64_t{sm});
  hash.add(spec.apps.size());
  for (const experiment::AppSpec& app : spec.apps) {
    hash.add(app.identity);
    if (const std::string& beside = app.arrivals.beside_text; !beside.empty())
      hash.add(fmt::format("beside {}", beside));
  }
  const std::vector<std::uint32_t> cores = experiment::cores_with_program(spec.cpus);
  if (!cores.empty()) {
    hash.add("cpus");
    hash.add(cores.size());
    for (const std::uint32_t core : cores) {
      hash.add(std::uint64_t{core});
      hash.add(spec.cpus[core].identity);
    }
    hash.add(spec.cpu_span.warm_up);
    hash.add(spec.cpu_span.instructions);
    if (spec.alpha != 0.5) hash.add(fmt::format("alpha {}", spec.alpha));
  }
  return hash.hex();
}

std::string_view simulator_sources() { return embedded::simulator_sources; }

std::string program_text() {
  return fmt::format("{} (sources {})", embedded::program_version, embedded::simulator_sources);
}

}  // namespace gpumux::sweep
