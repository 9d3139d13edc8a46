#include "experiment/make_app.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "trace/application.hpp"

namespace gpumux::experiment {
namespace {

AppSpec trace_app(const std::string& text, const std::string& path) {
  const std::shared_ptr<const trace::Trace> opened = trace::load_trace(path);
  AppSpec app;
  app.text = app.name = text;
  app.identity = opened->identity();
  app.create = [opened](std::uint64_t) { return std::make_unique<trace::TraceApplication>(opened); };
  return app;
}

}  // namespace

Applications make_apps(const std::vector<AppArguments>& arguments, const std::string& folder, bool verify) {
  Applications apps;
  for (const AppArguments& a : arguments) {
    FileKernelSpec kernel;
    if (split_kernel(a.app, kernel.path, kernel.kernel)) {
      if (verify) {
        throw UserError(fmt::format("{}: --verify needs a reference, which only built-in apps have", a.app));
      }
      kernel.text = a.app;
      kernel.grid = a.grid;
      kernel.block = a.block;
      kernel.shared = a.shared;
      kernel.args = a.args;
      kernel.symbols = a.symbols;
      kernel.folder = folder;
      if (!folder.empty() && !kernel.path.starts_with('/')) {
        kernel.path = (std::filesystem::path(folder) / kernel.path).string();
      }
      FileKernel made = file_kernel(kernel);
      apps.specs.push_back(std::move(made.app));
      apps.outputs.push_back(std::move(made.outputs));
      continue;
    }
    if (a.app.ends_with(".ptx")) {
      throw UserError(
          fmt::format("{}: say which kernel: {}:KERNEL (gpumux inspect {} lists them)", a.app, a.app, a.app));
    }
    std::string trace_path = a.app;
    if (!folder.empty() && !a.app.starts_with('/')) {
      trace_path = (std::filesystem::path(folder) / a.app).string();
    }
    // A folder may have the name of an application (dai18/...); ./NAME is then the folder.
    const bool builtin = runtime::find_app(a.app.substr(0, a.app.find(':'))) != nullptr;
    const bool is_trace = !builtin && trace::is_trace(trace_path);
    if (!builtin && !is_trace) refuse_other_files(a.app);
    for (const auto& [option, given] : {std::pair{"--grid", !a.grid.empty()},
                                        {"--block", !a.block.empty()},
                                        {"--shared", !a.shared.empty()},
                                        {"--arg", !a.args.empty()},
                                        {"--symbol", !a.symbols.empty()}}) {
      if (!given) continue;
      if (is_trace)
        throw UserError(fmt::format("{} is for kernels of PTX files; {} is a trace", option, a.app));
      throw UserError(
          fmt::format("{} is for kernels of PTX files; {} is built in and has settings: {}:KEY=VALUE", option,
                      a.app, a.app.substr(0, a.app.find(':'))));
    }
    if (is_trace) {
      if (verify) {
        throw UserError(fmt::format("{}: --verify has nothing to check: a trace holds no data", a.app));
      }
      apps.specs.push_back(trace_app(a.app, trace_path));
      continue;
    }
    apps.specs.push_back(builtin_app(a.app));
  }
  return apps;
}

}  // namespace gpumux::experiment
