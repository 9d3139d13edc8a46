// gpumux validate: compares the reference kernels with the figures that another simulator prints for them
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app_options.hpp"
#include "arch/config_file.hpp"
#include "arch/counter_table.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "embedded/accel_sim.toml.hpp"
#include "experiment/make_app.hpp"
#include "experiment/run.hpp"
#include "experiment/toml_reader.hpp"
#include "trace/reference.hpp"
#include "trace/trace_file.hpp"
#include "validate_hardware.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kValidationSchema = "gpumux.validation/1";
constexpr const char* kValidateHelp = R"(
Simulates traces of small kernels for which Accel-Sim's figures are known (validation/accel-sim.toml), on the machine that
has its configuration, and shows both. With --hardware: probes of latencies and bandwidths, on the machines that follow
measurements, beside these (validation/hardware.toml).)";

struct TraceFigure {
  std::string counter;  // "cycles", or one of the GPU's counters
  std::uint64_t theirs = 0;
};

struct Kernel {
  trace::ReferenceKernel kernel;
  std::vector<TraceFigure> figures;  // the first one: cycles
};

struct TraceMachine {
  std::string title;
  std::string machine;
  std::vector<std::string> set;
  std::vector<Kernel> kernels;
};

struct Suite {
  std::string title;
  std::string source;
  std::vector<TraceMachine> machines;
};

Kernel read_kernel(const experiment::TomlReader& reader, const toml::key& name, const toml::node& node) {
  const auto kernel = trace::reference_kernel(name.str());
  if (!kernel || !node.is_table()) reader.fail(node, fmt::format("'{}' is no reference kernel", name.str()));
  Kernel read{*kernel, {}};
  for (const auto& [counter, value] : *node.as_table())
    read.figures.push_back({std::string(counter.str()), reader.whole(value, counter.data(), 0)});
  std::stable_partition(read.figures.begin(), read.figures.end(),
                        [](const TraceFigure& figure) { return figure.counter == "cycles"; });
  return read;
}

TraceMachine read_machine(const experiment::TomlReader& reader, const toml::table& table) {
  TraceMachine machine;
  for (const auto& [key, value] : table) {
    if (key == "title") {
      machine.title = reader.text(value, "title");
    } else if (key == "machine") {
      machine.machine = reader.text(value, "machine");
    } else if (key == "set") {
      machine.set = reader.texts(value, "set");
    } else {
      machine.kernels.push_back(read_kernel(reader, key, value));
    }
  }
  std::sort(machine.kernels.begin(), machine.kernels.end(),
            [](const Kernel& a, const Kernel& b) { return a.kernel < b.kernel; });
  return machine;
}

Suite read_suite(std::string_view text, const char* file) {
  const experiment::TomlReader reader(file);
  const toml::table document = reader.parse(text);
  Suite suite;
  suite.title = reader.text(*document.get("title"), "title");
  suite.source = reader.text(*document.get("source"), "source");
  for (const toml::node& machine : *document.get_as<toml::array>("machine"))
    suite.machines.push_back(read_machine(reader, *machine.as_table()));
  return suite;
}

experiment::RunResult run(trace::ReferenceKernel kernel, const arch::MachineConfig& machine,
                          unsigned threads) {
  trace::MemoryOutput output;
  trace::write_reference(kernel, trace::usual_blocks(kernel), output);
  const auto opened = trace::Trace::from_bytes(output.take(), trace::name(kernel));
  experiment::RunSpec spec;
  spec.machine = machine;
  spec.policy = policy::parse_choice("leftover");
  spec.threads = threads;
  spec.apps.push_back(experiment::trace_app(trace::name(kernel), opened));
  return experiment::simulate(spec);
}

void write_text(trace::ReferenceKernel kernel, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw UserError({folder}, "cannot be made: " + failed.message());
  write_file_atomically(folder + "/kernel-1.traceg",
                        trace::reference_text(kernel, trace::usual_blocks(kernel)));
  write_file_atomically(folder + "/kernelslist.g", trace::reference_commands(kernel));
}

std::uint64_t ours(const experiment::RunResult& result, const std::string& counter) {
  if (counter == "cycles") return result.cycles;
  std::optional<std::uint64_t> found;
  arch::CounterTable table(1);
  table.apps[0] = result.apps[0].counters;
  table.memory[0] = result.apps[0].memory_counters;
  arch::for_each_counter(table, [&](const arch::Counter& row, std::uint64_t value) {
    if (row.scope == arch::Scope::Gpu && row.name == counter) found = value;
  });
  if (!found) throw InternalError("validate: there is no counter " + counter);
  return *found;
}

double percent_off(std::uint64_t ours, std::uint64_t theirs) {
  return theirs == 0 ? 0.0 : 100.0 * (static_cast<double>(ours) / static_cast<double>(theirs) - 1.0);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

int validate_command(const Arguments& args) {
  CLI::App app("Compares reference kernels with what other simulators print for them.", "gpumux validate");
  app.footer(kValidateHelp);
  std::string only;
  std::string json;
  std::string folder;
  std::vector<std::string> set;
  unsigned threads = 1;
  bool hardware = false;
  app.add_flag("--hardware", hardware, "beside what microbenchmarks measure of hardware, not Accel-Sim");
  app.add_option("--only", only, "only kernels whose name contains this")->type_name("NAME");
  app.add_option("--set", set, "KEY=VALUE, a setting of all machines; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--json", json, "write the figures to this file")->type_name("FILE");
  app.add_option("--write", folder,
                 "also: the traces as Accel-Sim's text, FOLDER/KERNEL/kernelslist.g, for its own run")
      ->type_name("FOLDER");
  app.add_option("--threads", threads, "host threads; results never depend on them [1]")
      ->check(CLI::Range(1, 256));
  if (!parse(app, args)) return 0;
  if (json == kStandardOutput)
    throw UserError("validate prints its tables to standard output; give --json the name of a file");
  if (!json.empty()) ResultFiles::check(json);
  if (hardware) {
    if (!folder.empty()) throw UserError("--write is for traces of reference kernels, not with --hardware");
    validate_hardware({only, set, json, threads});
    return 0;
  }

  const Suite suite = read_suite(embedded::accel_sim_toml, "validation/accel-sim.toml");
  std::vector<std::string> names;
  for (const Kernel& kernel : suite.machines.front().kernels) names.emplace_back(trace::name(kernel.kernel));
  const auto wanted = [&](const std::string& name) { return name.find(only) != std::string::npos; };
  if (std::none_of(names.begin(), names.end(), wanted))
    throw UserError(
        fmt::format("--only {}: no kernel has such a name; the names are {}", only, fmt::join(names, ", ")));
  if (!folder.empty()) {
    for (std::size_t i = 0; i < trace::kReferenceKernelCount; ++i) {
      const auto kernel = static_cast<trace::ReferenceKernel>(i);
      if (wanted(trace::name(kernel))) write_text(kernel, fmt::format("{}/{}", folder, trace::name(kernel)));
    }
  }
  ordered_json document = {
      {"schema", kValidationSchema}, {"source", suite.source}, {"machines", ordered_json::array()}};
  fmt::print("{}: {}.\n", suite.title, suite.source);
  for (const TraceMachine& machine : suite.machines) {
    std::vector<std::string> settings = machine.set;
    settings.insert(settings.end(), set.begin(), set.end());
    const arch::MachineConfig config = arch::load_machine(machine.machine, settings);
    fmt::print("\n{}\n{:<12} {:>11} {:>11}\n", machine.title, "cycles", "theirs", "ours");
    ordered_json kernels = ordered_json::object();
    std::string counters;
    double sum = 0;
    unsigned count = 0;
    for (const Kernel& kernel : machine.kernels) {
      const std::string name = trace::name(kernel.kernel);
      if (!wanted(name)) continue;
      const experiment::RunResult result = run(kernel.kernel, config, threads);
      for (const TraceFigure& figure : kernel.figures) {
        const std::uint64_t value = ours(result, figure.counter);
        const double difference = percent_off(value, figure.theirs);
        kernels[name][figure.counter] = {{"theirs", figure.theirs}, {"ours", value}, {"percent", difference}};
        if (figure.counter != "cycles") {
          counters += fmt::format("{:<12} {:<18} {:>11} {:>11} {:>+7.1f}%\n", name, figure.counter,
                                  grouped(figure.theirs), grouped(value), difference);
          continue;
        }
        fmt::print("{:<12} {:>11} {:>11} {:>+7.1f}%\n", name, grouped(figure.theirs), grouped(value),
                   difference);
        std::fflush(stdout);
        sum += std::abs(difference);
        ++count;
      }
    }
    if (count > 0) fmt::print("mean of the absolute differences {:>11.1f}%\n", sum / count);
    if (!counters.empty())
      fmt::print("\n{:<12} {:<18} {:>11} {:>11}\n{}", "counters", "", "theirs", "ours", counters);
    document["machines"].push_back({{"title", machine.title}, {"kernels", kernels}});
  }
  if (!json.empty()) {
    ResultFiles files;
    files.add(json, document.dump(2) + "\n");
    files.write();
  }
  return 0;
}

}  // namespace gpumux::cli
