// gpumux inspect APP|FILE.ptx[:KERNEL]|TRACE|BUNDLE [--machine NAME] [--disassemble] [--idempotence] [--json]
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "arch/config_file.hpp"
#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "emulator/program.hpp"
#include "experiment/bundle_app.hpp"
#include "experiment/file_program.hpp"
#include "experiment/idempotence_check.hpp"
#include "experiment/run.hpp"
#include "experiment/symbol_name.hpp"
#include "experiment/workload_file.hpp"
#include "inspect_kernel.hpp"
#include "inspect_mix.hpp"
#include "machine_option.hpp"
#include "paper_columns.hpp"
#include "ptx/compile.hpp"
#include "ptx/idempotence.hpp"
#include "runtime/application.hpp"
#include "terminal.hpp"
#include "trace/application.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

struct Program {
  std::string name;
  std::string ptx;
  std::string file;
  std::vector<Subject> subjects;  // empty: all kernels in the file
};

Program builtin_program(const std::string& text) {
  const std::size_t colon = text.find(':');
  const runtime::AppInfo* info = runtime::find_app(text.substr(0, colon));
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const runtime::AppInfo& app : runtime::apps()) known.push_back(app.name);
    throw UserError(unknown_choice("app", text.substr(0, colon), known));
  }
  const runtime::AppParams params = runtime::parse_params(
      *info, colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1));
  const auto metadata = info->create(params, 1)->block_metadata();
  Program program{text, std::string(info->ptx_text), info->ptx_file, {}};
  for (const runtime::AppInfo::KernelShape& shape : info->shapes(params)) {
    const auto found = metadata.find(shape.kernel);
    program.subjects.push_back({shape.kernel, shape.grid, shape.block, shape.dynamic_shared_bytes,
                                found == metadata.end() ? workload::BlockMetadata{} : found->second});
  }
  return program;
}

Program file_program(const std::string& text) {
  std::string path;
  std::string kernel;
  Program program;
  program.name = text;
  if (experiment::split_kernel(text, path, kernel)) {
    program.subjects.push_back({kernel, {}, {}, 0, {}});
  } else {
    path = text;
  }
  program.file = path;
  program.ptx = read_file(path);
  return program;
}

/// Results of an execution for a kernel's hazard points. `kernel`: null if the kernel was not launched.
ordered_json executed_json(const isa::Module& module, const isa::Function& code,
                           const experiment::ExecutedKernel* kernel) {
  if (kernel == nullptr) return nullptr;
  const experiment::IdempotenceVerdict verdict = experiment::judge(code, *kernel);
  const auto list = [&](const std::vector<std::uint32_t>& pcs) {
    ordered_json found = ordered_json::array();
    for (const std::uint32_t pc : pcs) {
      const experiment::ExecutedAccess& access = kernel->accesses.at(pc);
      found.push_back({{"pc", pc},
                       {"line", code.code[pc].line},
                       {"place", module.place(code.code[pc].line)},
                       {"instruction", isa::to_text(module, code, code.code[pc])},
                       {"executed", access.executed},
                       {"overwrote", access.overwrote},
                       {"first_in_blocks", access.first}});
    }
    return found;
  };
  return {{"blocks", kernel->blocks},
          {"blocks_not_idempotent", kernel->stopped},
          {"missed", list(verdict.missed)},
          {"over_cautious", list(verdict.over_cautious)}};
}

}  // namespace

int inspect_command(const Arguments& args) {
  CLI::App app("Shows what kernels need and how many of their blocks fit on an SM.", "gpumux inspect");
  std::string subject;
  std::string machine_name = experiment::kDefaultMachine;
  std::vector<std::string> set;
  std::string block;
  std::string shared;
  bool disassemble = false;
  bool execute = false;
  bool json = false;
  app.add_option("SUBJECT", subject, "APP, FILE.ptx, FILE.ptx:KERNEL, a trace, or a bundle")->required();
  app.add_option("--machine", machine_name,
                 fmt::format("preset or machine file for the occupancy [{}]", experiment::kDefaultMachine))
      ->type_name("MACHINE");
  app.add_option("--set", set, "changes one key of the machine; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--block", block, "X[,Y[,Z]] threads of a block, for the occupancy of a file's kernels")
      ->type_name("X[,Y[,Z]]");
  app.add_option("--shared", shared, "dynamic shared memory of a block, for the same")->type_name("BYTES");
  app.add_flag("--disassemble", disassemble, "also show the machine code");
  app.add_flag(
      "--idempotence", execute,
      "also execute the application once, without time, and say which instructions really kept blocks "
      "from beginning anew");
  app.add_flag("--json", json, "as a JSON document");
  if (!parse(app, args)) return 0;

  const arch::MachineConfig machine = machine_of(machine_name, set);
  const bool builtin = runtime::find_app(subject.substr(0, subject.find(':'))) != nullptr;
  if (!builtin) experiment::refuse_other_files(subject);
  if (execute && !builtin)
    throw UserError(
        fmt::format("--idempotence executes an application, and {} is none that is built in", subject));
  if (const std::string bundle = experiment::bundle_path(subject); !builtin && !bundle.empty()) {
    if (!(block.empty() && shared.empty()))
      throw UserError("--block and --shared are for kernels of PTX files; a bundle has its own");
    inspect_bundle(bundle, machine, disassemble, json);
    return 0;
  }
  if (!builtin && trace::is_trace(subject)) {
    if (!(block.empty() && shared.empty())) {
      throw UserError("--block and --shared are for kernels of PTX files; a trace has its own");
    }
    inspect_trace(subject, machine, disassemble, json);
    return 0;
  }
  const bool is_file = subject.find(".ptx") != std::string::npos;
  if (!is_file && !(block.empty() && shared.empty())) {
    throw UserError("--block and --shared are for kernels of PTX files; built-in apps have their own");
  }
  Program program = is_file ? file_program(subject) : builtin_program(subject);
  const auto module = emulator::compile_module(program.ptx, program.file, {.level = machine.code});
  std::vector<std::string> known;
  for (const auto& [name, kernel] : module->kernels) known.push_back(name);
  if (program.subjects.empty()) {
    for (const std::string& name : known) program.subjects.push_back({name, {}, {}, 0, {}});
  }
  if (program.subjects.empty()) throw UserError({program.file}, "has no kernel (.entry)");
  const bool some_work = std::any_of(module->kernels.begin(), module->kernels.end(),
                                     [](const auto& kernel) { return kernel.second.error.empty(); });

  std::map<std::string, experiment::ExecutedKernel> executed;
  if (execute) {
    const experiment::AppSpec spec = experiment::builtin_app(subject);
    executed = experiment::execute_for_idempotence(spec.create(1), spec.name, machine);
  }

  ordered_json kernels = ordered_json::array();
  for (Subject& s : program.subjects) {
    s.kernel = experiment::find_symbol("kernel", s.kernel, known, program.file);
    if (!block.empty()) s.block = experiment::parse_dim3("--block", block);
    if (!shared.empty()) {
      const std::optional<std::uint64_t> bytes = parse_bytes(shared);
      if (!bytes || *bytes > (1U << 20U)) {
        throw UserError(
            fmt::format("--shared '{}' must be a size of at most 1M, such as 4096 or 4K", shared));
      }
      s.dynamic_shared_bytes = static_cast<std::uint32_t>(*bytes);
    }
    const emulator::KernelInfo& kernel = module->kernels.at(s.kernel);
    if (program.subjects.size() == 1 || !some_work) kernel.check();
    ordered_json described = describe_kernel(s, module->module, kernel, machine);
    if (execute && kernel.error.empty()) {
      const auto found = executed.find(s.kernel);
      described["idempotence"]["executed"] =
          executed_json(module->module, kernel.code, found == executed.end() ? nullptr : &found->second);
    }
    if (disassemble && json) {
      ordered_json lines = ordered_json::array();
      for (const isa::Instruction& inst : kernel.code.code) {
        lines.push_back(isa::to_text(module->module, kernel.code, inst));
      }
      described["disassembly"] = std::move(lines);
    }
    kernels.push_back(std::move(described));
  }

  if (json) {
    ordered_json document = {{"schema", "gpumux.inspect/1"}, {"subject", program.name},
                             {"file", program.file},         {"sm", module->module.sm},
                             {"machine", machine.name},      {"kernels", kernels}};
    if (builtin) add_paper_columns(document, subject, machine, nullptr);
    fmt::print("{}\n", dump_json(document, 2));
    return 0;
  }
  fmt::print("{} ({}, compiled for sm_{})\n", program.name, program.file, module->module.sm);
  for (const ordered_json& kernel : kernels) {
    print_kernel(kernel);
    if (disassemble) {
      const isa::Function& code = module->kernels.at(kernel["kernel"].get<std::string>()).code;
      std::fputs(disassembly(*module, code).c_str(), stdout);
    }
  }
  if (builtin) {
    std::fputs(paper_columns_text(subject, machine, nullptr, terminal_width(STDOUT_FILENO),
                                  wants_colour(STDOUT_FILENO))
                   .c_str(),
               stdout);
  }
  return 0;
}

}  // namespace gpumux::cli
