#include "validate_hardware.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "embedded/hardware.toml.hpp"
#include "experiment/make_app.hpp"
#include "experiment/run.hpp"
#include "experiment/toml_reader.hpp"
#include "trace/output.hpp"
#include "trace/probe.hpp"
#include "trace/trace_file.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;
using trace::ProbeKind;

constexpr const char* kHardwareSchema = "gpumux.hardware/1";
constexpr const char* kFile = "validation/hardware.toml";

struct HardwareFigure {
  std::string what;
  ProbeKind kind = ProbeKind::Latency;
  std::uint64_t footprint = 0;
  double value = 0;  // cycles, or GB/s
};

struct HardwareMachine {
  std::string title;
  std::string machine;
  std::vector<HardwareFigure> figures;
};

HardwareFigure read_figure(const experiment::TomlReader& reader, const toml::table& table) {
  HardwareFigure figure;
  figure.what = reader.text(*table.get("what"), "what");
  const std::string probe = reader.text(*table.get("probe"), "probe");
  const auto word = std::find(trace::kProbeWords.begin(), trace::kProbeWords.end(), probe);
  if (word == trace::kProbeWords.end()) reader.fail(*table.get("probe"), "'" + probe + "' is no probe");
  figure.kind = static_cast<ProbeKind>(word - trace::kProbeWords.begin());
  const auto bytes = parse_bytes(reader.text(*table.get("footprint"), "footprint"));
  if (!bytes) reader.fail(*table.get("footprint"), "is no size");
  figure.footprint = *bytes;
  const auto value = table["value"].value<double>();
  if (!value || *value <= 0) reader.fail(table, "a figure has a value above 0");
  figure.value = *value;
  return figure;
}

std::vector<HardwareMachine> read_machines(const toml::table& document,
                                           const experiment::TomlReader& reader) {
  std::vector<HardwareMachine> machines;
  for (const toml::node& node : *document.get_as<toml::array>("machine")) {
    const toml::table& table = *node.as_table();
    HardwareMachine machine;
    machine.title = reader.text(*table.get("title"), "title");
    machine.machine = reader.text(*table.get("machine"), "machine");
    for (const toml::node& figure : *table.get_as<toml::array>("figures"))
      machine.figures.push_back(read_figure(reader, *figure.as_table()));
    machines.push_back(std::move(machine));
  }
  return machines;
}

std::uint64_t cycles_of(const trace::Probe& probe, const arch::MachineConfig& machine, unsigned threads) {
  trace::MemoryOutput output;
  trace::write_probe(probe, output);
  const auto opened = trace::Trace::from_bytes(output.take(), "probe");
  experiment::RunSpec spec;
  spec.machine = machine;
  spec.policy = policy::parse_choice("leftover");
  spec.threads = threads;
  spec.apps.push_back(experiment::trace_app("probe", opened));
  return experiment::simulate(spec).cycles;
}

/// The result of a probe in cycles per load, or GB/s. It is the difference between two amounts of work, so
/// that launches and cold caches do not count.
double measure(const HardwareFigure& figure, const arch::MachineConfig& machine, unsigned threads) {
  trace::Probe first{figure.kind, figure.footprint, machine.sms, 1};
  trace::Probe second = first;
  if (figure.kind == ProbeKind::Latency) {
    const std::uint64_t lines = figure.footprint / kLineBytes;
    const std::uint64_t l2 =
        std::uint64_t{machine.l2.partitions} * machine.l2.slices_per_partition * machine.l2.slice_bytes;
    constexpr std::uint64_t kFew = 2048;
    constexpr std::uint64_t kTimed = 8192;
    // A footprint beyond L2 never hits there, so a few loads are enough to warm up.
    first.work = static_cast<std::uint32_t>(figure.footprint <= l2 ? lines : kFew);
    second.work = first.work + static_cast<std::uint32_t>(std::min(lines, kTimed));
  } else if (figure.kind == ProbeKind::Read) {
    constexpr std::uint64_t kEach = 1U << 20U;
    first.work = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kEach / figure.footprint));
    second.work = 2 * first.work;
  } else {
    first.work = 500;
    second.work = 1000;
  }
  const auto cycles =
      static_cast<double>(cycles_of(second, machine, threads) - cycles_of(first, machine, threads));
  if (figure.kind == ProbeKind::Latency) return cycles / (second.work - first.work);
  return static_cast<double>(bytes_of(second) - bytes_of(first)) / cycles * machine.clocks.core / 1e3;
}

}  // namespace

void validate_hardware(const HardwareOptions& options) {
  const experiment::TomlReader reader(kFile);
  const toml::table document = reader.parse(embedded::hardware_toml);
  const std::string source = reader.text(*document.get("source"), "source");
  ordered_json json = {{"schema", kHardwareSchema}, {"source", source}, {"machines", ordered_json::array()}};
  fmt::print("{}: {}.\n", reader.text(*document.get("title"), "title"), source);
  bool any = false;
  for (const HardwareMachine& machine : read_machines(document, reader)) {
    std::vector<const HardwareFigure*> wanted;
    for (const HardwareFigure& figure : machine.figures) {
      if ((machine.title + figure.what).find(options.only) != std::string::npos) wanted.push_back(&figure);
    }
    if (wanted.empty()) continue;
    any = true;
    const arch::MachineConfig config = arch::load_machine(machine.machine, options.set);
    fmt::print("\n{} ({})\n{:<30} {:<6} {:>9} {:>9}\n", machine.title, machine.machine, "", "", "measured",
               "ours");
    ordered_json figures = ordered_json::array();
    for (const HardwareFigure* figure : wanted) {
      const double ours = measure(*figure, config, options.threads);
      const double difference = 100 * (ours / figure->value - 1);
      const bool latency = figure->kind == ProbeKind::Latency;
      const char* unit = latency ? "cycles" : "GB/s";
      fmt::print("{:<30} {:<6} {:>9.{}f} {:>9.{}f} {:>+7.1f}%\n", figure->what, unit, figure->value,
                 latency ? 1 : 0, ours, latency ? 1 : 0, difference);
      std::fflush(stdout);
      figures.push_back({{"what", figure->what},
                         {"unit", unit},
                         {"measured", figure->value},
                         {"ours", ours},
                         {"percent", difference}});
    }
    json["machines"].push_back(
        {{"title", machine.title}, {"machine", machine.machine}, {"figures", figures}});
  }
  if (!any) throw UserError(fmt::format("--only {}: no figure of {} contains this", options.only, kFile));
  if (options.json.empty()) return;
  ResultFiles files;
  files.add(options.json, json.dump(2) + "\n");
  files.write();
}

}  // namespace gpumux::cli
