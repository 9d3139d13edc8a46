#include "experiment/make_app.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <tuple>

#include "base/error.hpp"
#include "base/located.hpp"
#include "base/text.hpp"
#include "experiment/bundle_app.hpp"
#include "trace/application.hpp"
#include "trace/executed.hpp"
#include "trace/folder.hpp"

namespace gpumux::experiment {

AppSpec trace_app(const std::string& text, const std::shared_ptr<const trace::Trace>& opened) {
  AppSpec app;
  app.text = app.name = text;
  app.identity = opened->identity();
  app.create = [opened](std::uint64_t) { return std::make_unique<trace::TraceApplication>(opened); };
  return app;
}

namespace {

std::string in_folder(const std::string& path, const std::string& folder) {
  if (folder.empty() || path.starts_with('/')) return path;
  return (std::filesystem::path(folder) / path).string();
}

/// The specification of one launch of a kernel from a file, common to single kernels and programs.
FileKernelSpec kernel_spec(const std::string& text, const KernelOptions& options, const std::string& folder) {
  FileKernelSpec kernel;
  if (!split_kernel(text, kernel.path, kernel.kernel)) {
    refuse_other_files(text);
    throw UserError(fmt::format("'{}' is no kernel of a PTX file; write FILE.ptx:KERNEL", text));
  }
  kernel.path = in_folder(kernel.path, folder);
  kernel.text = text;
  static_cast<KernelOptions&>(kernel) = options;
  kernel.folder = folder;
  return kernel;
}

/// Throws UserError for names that tables cannot show, or that mean something else.
void check_name(const AppArguments& a) {
  const bool is_file = a.app.find(".ptx") != std::string::npos || !bundle_path(a.app).empty();
  if (is_file || runtime::find_app(a.app.substr(0, a.app.find(':'))) != nullptr) {
    throw UserError(fmt::format("'app' of an application with launches is a name for results, and '{}' is {}",
                                a.app, is_file ? "a file" : "built in"));
  }
  if (a.app.empty() || !is_one_line(a.app))
    throw UserError(
        "'app' of an application with launches is a name for results: not empty, and on one line");
}

FileProgram program_of(const AppArguments& a, const std::string& folder) {
  FileProgramSpec program;
  program.text = a.app;
  program.folder = folder;
  program.buffers = a.buffers;
  program.repeat = a.repeat;
  program.files = &a.files;
  if (a.launches.empty()) {
    program.launches = {kernel_spec(a.app, a, folder)};
    return file_program(program);
  }
  check_name(a);
  for (const LaunchArguments& launch : a.launches) {
    const auto spec = [&] { return kernel_spec(launch.kernel, launch, folder); };
    FileKernelSpec kernel = launch.where.file.empty() ? spec() : located(launch.where, spec);
    kernel.where = launch.where;
    kernel.stream = launch.stream;
    kernel.after = launch.after;
    program.launches.push_back(std::move(kernel));
  }
  return file_program(program);
}

void add_plain_app(const AppArguments& a, const std::string& folder, bool verify, Applications& apps) {
  if (std::string path, kernel; !a.launches.empty() || split_kernel(a.app, path, kernel)) {
    if (verify) {
      throw UserError(fmt::format("{}: --verify needs a reference, which only built-in apps have", a.app));
    }
    FileProgram made = program_of(a, folder);
    apps.specs.push_back(std::move(made.app));
    apps.outputs.push_back(std::move(made.outputs));
    return;
  }
  if (a.app.ends_with(".ptx")) {
    throw UserError(
        fmt::format("{}: say which kernel: {}:KERNEL (gpumux inspect {} lists them)", a.app, a.app, a.app));
  }
  const std::string trace_path = in_folder(a.app, folder);
  // A folder may have the same name as an application (PAPER/NAME); ./NAME then means the folder.
  const bool builtin = runtime::find_app(a.app.substr(0, a.app.find(':'))) != nullptr;
  const bool is_bundle = !builtin && !bundle_path(a.app).empty();
  const bool is_trace = !builtin && !is_bundle && trace::is_trace(trace_path);
  if (!builtin && !is_bundle && !is_trace) refuse_other_files(a.app);
  for (const auto& [option, given] : {std::pair{"--grid", !a.grid.empty()},
                                      {"--block", !a.block.empty()},
                                      {"--shared", !a.shared.empty()},
                                      {"--arg", !a.args.empty()},
                                      {"--symbol", !a.symbols.empty()}}) {
    if (!given) continue;
    if (is_trace)
      throw UserError(fmt::format("{} is for kernels of PTX files; {} is a trace", option, a.app));
    if (is_bundle)
      throw UserError(fmt::format("{} is for kernels of PTX files; {} is a bundle, and has its own launches",
                                  option, a.app));
    throw UserError(
        fmt::format("{} is for kernels of PTX files; {} is built in and has settings: {}:KEY=VALUE", option,
                    a.app, a.app.substr(0, a.app.find(':'))));
  }
  if (is_bundle) {
    apps.specs.push_back(bundle_app(a.app, folder, verify));
    return;
  }
  if (is_trace) {
    if (verify) {
      throw UserError(fmt::format("{}: --verify has nothing to check: a trace holds no data", a.app));
    }
    const std::shared_ptr<const trace::Trace> opened = trace::load_trace(trace_path, &apps.notes);
    apps.specs.push_back(trace_app(a.app, opened));
    for (const trace::UntimedCount& count : trace::untimed_counts(*opened)) {
      apps.specs.back().untimed_warp_instructions += count.warp_instructions;
      apps.notes.push_back(fmt::format("{}: {} of {} warp instructions are not timed as on a GPU ({}): {}",
                                       a.app, count.warp_instructions, opened->warp_instructions(),
                                       count.opcode, trace::describe(count.why)));
    }
    if (const std::vector<std::string> others = trace::other_lists(trace_path); !others.empty())
      apps.notes.push_back(fmt::format("{}: other lists of kernels beside it are not run: {}", a.app,
                                       fmt::join(others, ", ")));
    return;
  }
  apps.specs.push_back(builtin_app(a.app));
}

void add_app(const AppArguments& typed, const std::string& folder, bool verify, Applications& apps) {
  AppArguments a = typed;
  ArrivalSpec arrivals;
  std::tie(a.app, arrivals) = split_arrivals(typed.app, folder);
  add_plain_app(a, folder, verify, apps);
  apps.specs.back().use(arrivals);
  apps.specs.back().text = typed.app;
}

}  // namespace

Applications make_apps(const std::vector<AppArguments>& arguments, const std::string& folder, bool verify) {
  Applications apps;
  for (const AppArguments& a : arguments) {
    if (a.where.file.empty()) {
      add_app(a, folder, verify, apps);
    } else {
      located(a.where, [&] { add_app(a, folder, verify, apps); });
    }
  }
  return apps;
}

}  // namespace gpumux::experiment
