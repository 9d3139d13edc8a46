#include "inspect_kernel.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "experiment/symbol_name.hpp"
#include "inspect_mix.hpp"
#include "ptx/compile.hpp"
#include "ptx/idempotence.hpp"

namespace gpumux::cli {

using nlohmann::ordered_json;

namespace {

ordered_json points_json(const isa::Module& module, const isa::Function& code) {
  ordered_json points = ordered_json::array();
  for (const ptx::HazardPoint& point : ptx::hazard_points(code)) {
    points.push_back({{"pc", point.pc},
                      {"line", point.line},
                      {"place", module.place(point.line)},
                      {"instruction", isa::to_text(module, code, code.code[point.pc])},
                      {"reason", ptx::to_text(point.hazard)}});
  }
  return points;
}

/// Prints points of the same line and reason once. Unrolling can make several points of one.
void print_idempotence(const ordered_json& idempotence) {
  const std::size_t points = idempotence["points"].size();
  fmt::print("  idempotent     {}\n", idempotence["idempotent"].get<bool>() ? "yes"
                                      : points == 1                         ? "no, 1 point"
                                                    : fmt::format("no, {} points", points));
  std::vector<std::string> printed;
  const auto print = [&](const std::string& text) {
    if (std::find(printed.begin(), printed.end(), text) != printed.end()) return;
    fmt::print("                 {}\n", text);
    printed.push_back(text);
  };
  for (const ordered_json& point : idempotence["points"])
    print(fmt::format("{}: {}", point["place"].get<std::string>(), point["reason"].get<std::string>()));
  if (!idempotence.contains("executed")) return;
  const ordered_json& executed = idempotence["executed"];
  if (executed.is_null()) {
    fmt::print("  executed       not launched\n");
    return;
  }
  fmt::print(
      "  executed       {} blocks, {} not idempotent at their end; {} points missed, {} over-cautious\n",
      executed["blocks"].get<std::uint64_t>(), executed["blocks_not_idempotent"].get<std::uint64_t>(),
      executed["missed"].size(), executed["over_cautious"].size());
  for (const ordered_json& point : executed["missed"])
    print(fmt::format("missed: {}: {}, first in {} blocks", point["place"].get<std::string>(),
                      point["instruction"].get<std::string>(),
                      point["first_in_blocks"].get<std::uint64_t>()));
  for (const ordered_json& point : executed["over_cautious"])
    print(fmt::format("over-cautious: {}: {}, executed {} times", point["place"].get<std::string>(),
                      point["instruction"].get<std::string>(), point["executed"].get<std::uint64_t>()));
}

}  // namespace

ordered_json describe_kernel(const Subject& subject, const isa::Module& module,
                             const emulator::KernelInfo& kernel, const arch::MachineConfig& machine) {
  const isa::Function& code = kernel.code;
  if (!kernel.error.empty()) {
    return {{"kernel", code.name}, {"cpp_name", experiment::cpp_name(code.name)}, {"error", kernel.error}};
  }
  const ptx::CodeFigures figures = ptx::figures(code);
  const workload::BlockMetadata& metadata = subject.metadata;
  const std::uint32_t registers =
      metadata.registers_per_thread != 0 ? metadata.registers_per_thread : kernel.registers;
  const auto used_shared = static_cast<std::uint32_t>(code.shared_bytes) + subject.dynamic_shared_bytes;
  const std::uint32_t shared = metadata.shared_bytes != 0 ? metadata.shared_bytes : used_shared;
  ordered_json out;
  out["kernel"] = code.name;
  out["cpp_name"] = experiment::cpp_name(code.name);
  out["registers"] = registers;
  if (metadata.registers_per_thread != 0) out["registers_allocated"] = kernel.registers;
  out["shared_bytes"] = code.shared_bytes;
  out["dynamic_shared_bytes"] = subject.dynamic_shared_bytes;
  if (metadata.shared_bytes != 0) out["shared_bytes_counted"] = metadata.shared_bytes;
  out["local_bytes"] = code.local_bytes;
  out["parameter_bytes"] = code.param_bytes;
  out["instructions"] = figures.instructions;
  out["basic_blocks"] = figures.basic_blocks;
  out["global_loads"] = figures.global_loads;
  out["mean_load_use_distance"] = figures.mean_load_use_distance;
  out["median_load_use_distance"] = figures.median_load_use_distance;
  out["instruction_mix"] = instruction_mix(kernel.table);
  out["phases"] = phases_json(kernel.table, machine);
  out["idempotence"] = {{"idempotent", ptx::is_idempotent(code)}, {"points", points_json(module, code)}};
  out["grid"] = subject.grid ? dimensions_json(*subject.grid) : ordered_json(nullptr);
  out["block"] = subject.block ? dimensions_json(*subject.block) : ordered_json(nullptr);
  out["occupancy"] = nullptr;
  if (!subject.block) return out;
  const auto threads = static_cast<std::uint32_t>(subject.block->count());
  out["occupancy"] = occupancy_json(machine, threads, registers, shared);
  return out;
}

void print_kernel(const ordered_json& k) {
  const auto whole = [&](const char* key) { return k[key].get<std::uint64_t>(); };
  const auto symbol = k["kernel"].get<std::string>();
  const auto cpp_name = k["cpp_name"].get<std::string>();
  fmt::print("\n{}\n", cpp_name);
  if (cpp_name != symbol) fmt::print("  in the PTX     {}\n", symbol);
  if (k.contains("error")) {
    fmt::print("  cannot be compiled: {}\n", k["error"].get<std::string>());
    return;
  }
  fmt::print("  registers      {} per thread\n", whole("registers"));
  if (k.contains("registers_allocated")) {
    fmt::print("                 (metadata; allocation needed {})\n", whole("registers_allocated"));
  }
  fmt::print("  shared memory  {} bytes per block, {} of them dynamic\n",
             whole("shared_bytes") + whole("dynamic_shared_bytes"), whole("dynamic_shared_bytes"));
  if (k.contains("shared_bytes_counted")) {
    fmt::print("                 (metadata count {} bytes)\n", whole("shared_bytes_counted"));
  }
  fmt::print("  local memory   {} bytes per thread\n", whole("local_bytes"));
  fmt::print("  parameters     {} bytes\n", whole("parameter_bytes"));
  fmt::print("  code           {} instructions in {} basic blocks\n", whole("instructions"),
             whole("basic_blocks"));
  fmt::print("  load to use    {:.1f} instructions on average over {} global loads, median {:.1f}\n",
             k["mean_load_use_distance"].get<double>(), whole("global_loads"),
             k["median_load_use_distance"].get<double>());
  print_mix_launch_occupancy(k);
  print_idempotence(k["idempotence"]);
}

std::string disassembly(const emulator::CompiledModule& module, const isa::Function& code) {
  std::string out;
  for (std::size_t pc = 0; pc < code.code.size(); ++pc) {
    out += fmt::format("  {:>5}  {}\n", pc, isa::to_text(module.module, code, code.code[pc]));
  }
  return out;
}

}  // namespace gpumux::cli
