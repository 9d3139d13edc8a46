// gpumux._core: what the Python package gpumux/ (beside this file) is made on. Texts in, texts out; tables
// and dictionaries are Python's work.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "database/export.hpp"
#include "database/sqlite.hpp"
#include "experiment/cache.hpp"
#include "experiment/make_app.hpp"
#include "experiment/run.hpp"
#include "machine/config_file.hpp"
#include "policy/policy.hpp"

namespace py = pybind11;

namespace gpumux::python {
namespace {

/// Every key is known: the Python side checks them.
experiment::AppArguments arguments(const std::map<std::string, std::string>& texts,
                                   const std::map<std::string, std::vector<std::string>>& lists) {
  const auto text = [&texts](const char* key) {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
  };
  const auto list = [&lists](const char* key) {
    const auto found = lists.find(key);
    return found == lists.end() ? std::vector<std::string>() : found->second;
  };
  return {text("app"), text("grid"), text("block"), text("shared"), list("args"), list("symbols")};
}

using AppInput =
    std::pair<std::map<std::string, std::string>, std::map<std::string, std::vector<std::string>>>;

/// The document of `gpumux run --json`. Called with Python's lock held, which is given up while it simulates.
std::string run(const std::vector<AppInput>& apps, const std::string& machine,
                const std::vector<std::string>& set, const std::string& policy, std::uint64_t cycles,
                std::uint64_t seed, unsigned threads, bool baseline, bool verify) {
  const py::gil_scoped_release release;
  std::vector<experiment::AppArguments> list;
  for (const auto& [texts, lists] : apps) list.push_back(arguments(texts, lists));
  const experiment::Applications made = experiment::make_apps(list, "", verify);
  for (const auto& outputs : made.outputs) {
    if (outputs->paths.empty()) continue;
    throw UserError(
        fmt::format("a run from Python writes no files, but an argument names {}: use zero: for out:, and "
                    "in: for inout:",
                    outputs->paths.front()));
  }
  experiment::RunSpec spec;
  spec.machine = machine::load_machine(machine, set);
  spec.apps = made.specs;
  spec.policy = policy::parse_choice(policy);
  spec.seed = seed;
  spec.cycles = cycles;
  spec.threads = threads;
  spec.verify = verify;
  spec.device_output = false;
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
    isolated =
        shared.size() == 1 ? shared : experiment::isolated_ipcs(spec, experiment::default_cache_folder());
    metrics = experiment::metrics(shared, isolated);
  }
  return experiment::result_json(result, isolated, metrics);
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
             py::arg("cycles"), py::arg("seed"), py::arg("threads"), py::arg("baseline"), py::arg("verify"));
  module.def("export_csv",
             [](const std::string& path) { return python::exported(path, database::export_csv); });
  module.def("export_json",
             [](const std::string& path) { return python::exported(path, database::export_json); });
  module.def("machines", &machine::machine_names);
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
