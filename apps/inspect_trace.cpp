// gpumux inspect TRACE: the launches of a trace. Launches of the same kernel and shape are shown as one.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "inspect_mix.hpp"
#include "trace/application.hpp"
#include "trace/executed.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

ordered_json describe(const trace::Trace& opened, const trace::Launch& launch,
                      const arch::MachineConfig& machine, bool disassemble) {
  const trace::Code& code = opened.code(launch);
  const std::vector<std::uint64_t> counts = trace::executed_counts(opened, launch);
  const auto threads = static_cast<std::uint32_t>(launch.block.count());
  ordered_json out;
  out["kernel"] = launch.kernel;
  out["launches"] = 1;
  out["registers"] = launch.registers;
  out["shared_bytes"] = launch.shared_bytes;
  out["local_bytes"] = 4 * launch.local_words;
  out["instructions"] = code.entries.size();
  out["warp_instructions"] = launch.warp_instructions;
  out["thread_instructions"] = launch.thread_instructions;
  out["instruction_mix"] = instruction_mix(code.table, &counts);
  std::vector<isa::StaticInst> executed;
  for (std::size_t i = 0; i < code.table.size(); ++i)
    if (code.entry_at[i] < code.entries.size()) executed.push_back(code.table[i]);
  out["phases"] = phases_json(executed, machine);
  out["grid"] = dimensions_json(launch.grid);
  out["block"] = dimensions_json(launch.block);
  out["occupancy"] = occupancy_json(machine, threads, launch.registers, launch.shared_bytes);
  if (!disassemble) return out;
  ordered_json lines = ordered_json::array();
  for (const std::uint32_t entry : code.entry_at) {
    if (entry >= code.entries.size()) continue;
    const trace::Code::Entry& e = code.entries[entry];
    lines.push_back(fmt::format("{:#06x}  {:>12}  {}", e.pc, counts[e.index], trace::to_text(e.inst)));
  }
  out["disassembly"] = std::move(lines);
  return out;
}

void print_trace_kernel(const ordered_json& k) {
  const auto whole = [&](const char* key) { return k[key].get<std::uint64_t>(); };
  fmt::print("\n{}\n", k["kernel"].get<std::string>());
  fmt::print("  launches       {}\n", whole("launches"));
  fmt::print("  registers      {} per thread\n", whole("registers"));
  fmt::print("  shared memory  {} bytes per block\n", whole("shared_bytes"));
  fmt::print("  local memory   {} bytes per thread are used\n", whole("local_bytes"));
  fmt::print("  code           {} instructions were executed at least once\n", whole("instructions"));
  fmt::print("  executed       {} warp instructions, {} thread instructions\n", whole("warp_instructions"),
             whole("thread_instructions"));
  print_mix_launch_occupancy(k);
  if (!k.contains("disassembly")) return;
  for (const ordered_json& line : k["disassembly"]) fmt::print("  {}\n", line.get<std::string>());
}

}  // namespace

void inspect_trace(const std::string& path, const arch::MachineConfig& machine, bool disassemble, bool json) {
  const auto opened = trace::load_trace(path);
  ordered_json kernels = ordered_json::array();
  std::map<std::string, std::size_t> same;  // index of the first of equal launches
  for (const trace::Launch& launch : opened->launches()) {
    ordered_json kernel = describe(*opened, launch, machine, disassemble);
    const std::string key = dump_json(kernel);
    const auto [found, added] = same.emplace(key, kernels.size());
    if (added) {
      kernels.push_back(std::move(kernel));
    } else {
      ordered_json& first = kernels[found->second];
      first["launches"] = first["launches"].get<std::uint64_t>() + 1;
    }
  }
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;
  for (const trace::Command& command : opened->commands()) {
    if (command.kind == trace::CommandKind::CopyToDevice) to_device += command.bytes;
    if (command.kind == trace::CommandKind::CopyFromDevice) from_device += command.bytes;
  }
  if (json) {
    const ordered_json document = {{"schema", "gpumux.inspect/1"},
                                   {"subject", path},
                                   {"file", path},
                                   {"sm", opened->sm()},
                                   {"machine", machine.name},
                                   {"launches", opened->launches().size()},
                                   {"streams", opened->streams()},
                                   {"bytes_to_device", to_device},
                                   {"bytes_from_device", from_device},
                                   {"warp_instructions", opened->warp_instructions()},
                                   {"kernels", kernels}};
    fmt::print("{}\n", dump_json(document, 2));
    return;
  }
  fmt::print(
      "{} (trace of sm_{}): {} launches on {} streams, {} warp instructions, {} bytes copied to the device, "
      "{} from it\n",
      path, opened->sm(), opened->launches().size(), opened->streams(), opened->warp_instructions(),
      to_device, from_device);
  for (const ordered_json& kernel : kernels) print_trace_kernel(kernel);
}

}  // namespace gpumux::cli
