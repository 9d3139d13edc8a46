// gpumux._core: what the Python package gpumux/ (beside this file) is made on. Texts in, texts out; tables
// and dictionaries are Python's work.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "database/export.hpp"
#include "database/sqlite.hpp"
#include "experiment/cache.hpp"
#include "experiment/make_app.hpp"
#include "experiment/run.hpp"
#include "experiment/timeline_output.hpp"
#include "policy/policy.hpp"

namespace py = pybind11;

namespace gpumux::python {
namespace {

/// Of dictionaries whose keys the Python side has checked.
template <typename Value>
Value item(const py::dict& from, const char* key) {
  return from.contains(key) ? from[key].cast<Value>() : Value();
}

template <typename Launch>
void read_launch(const py::dict& from, Launch& launch) {
  launch.grid = item<std::string>(from, "grid");
  launch.block = item<std::string>(from, "block");
  launch.shared = item<std::string>(from, "shared");
  launch.args = item<std::vector<std::string>>(from, "args");
  launch.symbols = item<std::vector<std::string>>(from, "symbols");
}

experiment::AppArguments arguments(const py::dict& from) {
  experiment::AppArguments app;
  app.app = item<std::string>(from, "app");
  read_launch(from, app);
  for (const auto& [name, argument] : item<std::map<std::string, std::string>>(from, "buffers"))
    app.buffers.emplace_back(name, argument);
  for (const py::dict& part : item<std::vector<py::dict>>(from, "launches")) {
    experiment::LaunchArguments& launch = app.launches.emplace_back();
    launch.kernel = item<std::string>(part, "kernel");
    launch.where.file = item<std::string>(part, "place");
    read_launch(part, launch);
    launch.stream = item<std::uint64_t>(part, "stream");
    launch.after = item<std::vector<std::uint64_t>>(part, "after");
  }
  if (from.contains("repeat")) app.repeat = from["repeat"].cast<std::uint64_t>();
  for (const auto& [path, content] : item<std::map<std::string, py::bytes>>(from, "files"))
    app.files.emplace(path, std::string(content));
  return app;
}

/// What the Python side calls files that are arrays.
constexpr std::string_view kArrays = "array:";

/// The document of `gpumux run --json`, the timeline (None without one), and for each application of kernels
/// of files whether it has ended and the contents of its output arrays. Gives up Python's lock while it
/// simulates.
py::tuple run(const py::list& apps, const std::string& machine, const std::vector<std::string>& set,
              const std::string& policy, std::uint64_t cycles, std::uint64_t seed, unsigned threads,
              bool baseline, bool verify, std::uint64_t series, bool timeline, const std::string& cpu,
              std::uint64_t cpu_warm_up, std::uint64_t cpu_instructions, double alpha) {
  std::vector<experiment::AppArguments> list;
  for (const py::handle app : apps) list.push_back(arguments(app.cast<py::dict>()));
  std::string document;
  std::optional<std::string> trace;
  experiment::Applications made;
  {
    const py::gil_scoped_release release;
    made = experiment::make_apps(list, "", verify);
    for (const auto& outputs : made.outputs) {
      for (const std::string& path : outputs->paths) {
        if (path.starts_with(kArrays)) continue;
        throw UserError(
            fmt::format("a run from Python writes no files, but an argument names {}: use Out(array) "
                        "or zero: for out:, and InOut(array) or in: for inout:",
                        path));
      }
    }
    experiment::RunSpec spec;
    spec.machine = arch::load_machine(machine, set);
    spec.apps = made.specs;
    spec.policy = policy::parse_choice(policy);
    spec.seed = seed;
    spec.cycles = cycles;
    spec.threads = threads;
    spec.verify = verify;
    spec.series = series;
    spec.timeline = timeline;
    spec.device_output = false;
    if (!cpu.empty()) {
      if (spec.machine.cpus == 0)
        throw UserError(
            fmt::format("cpu '{}': machine {} has no CPU cores; kayiran14-hetero has", cpu, machine));
      spec.cpus = experiment::parse_cpus(cpu, spec.machine.cpus);
      spec.cpu_span = {cpu_warm_up, cpu_instructions};
      spec.alpha = alpha;
    }
    spec.cache_folder = experiment::default_cache_folder();
    spec.progress = [](Cycle) {  // now and then: has the user pressed Ctrl-C?
      const py::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    };
    const experiment::RunResult result = experiment::simulate(spec);
    std::vector<double> shared;
    for (const experiment::AppResult& app : result.apps) shared.push_back(app.ipc());
    std::vector<double> isolated;
    experiment::Metrics metrics;
    if (baseline) {
      isolated = shared.size() == 1 && spec.cpus.empty()
                     ? shared
                     : experiment::isolated_ipcs(spec, experiment::default_cache_folder());
      metrics = experiment::metrics(shared, isolated);
      if (!spec.cpus.empty())
        metrics.cpus = experiment::cpu_metrics(
            result.cpus, experiment::isolated_cpu_ipcs(spec, experiment::default_cache_folder()));
      metrics.alpha = spec.alpha;
    }
    document = experiment::result_json(result, isolated, metrics);
    if (timeline) trace = experiment::timeline_json(result, spec.machine.clocks.core);
  }
  py::list outputs;
  for (const auto& of_app : made.outputs) {
    py::dict contents;
    for (const experiment::KernelOutputs::File& file : of_app->files)
      contents[py::str(file.path)] = py::bytes(file.content);
    outputs.append(py::make_tuple(of_app->complete, std::move(contents)));
  }
  return py::make_tuple(document, trace, std::move(outputs));
}

template <typename Export>
std::string exported(const std::string& path, const Export& write) {
  const py::gil_scoped_release release;
  database::Connection connection(path, database::Access::Read);
  std::string text;
  write(connection, [&text](std::string_view part) { text += part; });
  return text;
}

}  // namespace
}  // namespace gpumux::python

PYBIND11_MODULE(_core, module) {
  using namespace gpumux;
  module.attr("__version__") = GPUMUX_VERSION;
  // One base for whatever a run can end with; the first registered is asked last.
  const auto error = py::register_exception<UserError>(module, "Error", PyExc_ValueError);
  py::register_exception<SimulationFault>(module, "SimulationFault", PyExc_RuntimeError);
  py::register_exception<InternalError>(module, "InternalError", PyExc_RuntimeError);
  (void)error;
  module.def("run", &python::run, py::arg("apps"), py::arg("machine"), py::arg("set"), py::arg("policy"),
             py::arg("cycles"), py::arg("seed"), py::arg("threads"), py::arg("baseline"), py::arg("verify"),
             py::arg("series"), py::arg("timeline"), py::arg("cpu"), py::arg("cpu_warm_up"),
             py::arg("cpu_instructions"), py::arg("alpha"));
  module.def("export_csv",
             [](const std::string& path) { return python::exported(path, database::export_csv); });
  module.def("export_cpus_csv",
             [](const std::string& path) { return python::exported(path, database::export_cpus_csv); });
  module.def("export_json",
             [](const std::string& path) { return python::exported(path, database::export_json); });
  module.def("machines", &arch::machine_names);
  module.def("policies", [] {
    std::vector<std::string> names;
    for (const policy::PolicyInfo& info : policy::policies()) names.push_back(info.name);
    return names;
  });
  module.def("apps", [] {
    std::vector<std::string> names;
    for (const runtime::AppInfo& info : runtime::apps()) names.push_back(info.name);
    return names;
  });
}
