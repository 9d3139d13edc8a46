// gpumux inspect APP|FILE.ptx[:KERNEL] [--machine NAME] [--disassemble] [--json]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "emulator/program.hpp"
#include "experiment/file_kernel.hpp"
#include "machine/config_file.hpp"
#include "ptx/compile.hpp"
#include "runtime/application.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

/// A kernel with how it is launched, where that is known.
struct Subject {
  std::string kernel;
  std::optional<Dim3> grid;
  std::optional<Dim3> block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t register_override = 0;
};

struct Program {
  std::string name;
  std::string ptx;
  std::string file;
  std::vector<Subject> subjects;  // empty: all kernels of the file
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
  const auto overrides = info->create(params, 1)->register_overrides();
  Program program{text, std::string(info->ptx_text), info->ptx_file, {}};
  for (const runtime::AppInfo::KernelShape& shape : info->shapes(params)) {
    const auto found = overrides.find(shape.kernel);
    program.subjects.push_back({shape.kernel, shape.grid, shape.block, shape.dynamic_shared_bytes,
                                found == overrides.end() ? 0 : found->second});
  }
  return program;
}

Program file_program(const std::string& text) {
  std::string path;
  std::string kernel;
  Program program;
  program.name = text;
  if (experiment::split_kernel(text, path, kernel)) {
    program.subjects.push_back({kernel, {}, {}, 0, 0});
  } else {
    path = text;
  }
  program.file = path;
  program.ptx = read_file(path);
  return program;
}

/// Instructions by what they keep busy.
ordered_json instruction_mix(const emulator::KernelInfo& kernel) {
  enum Class : std::size_t {
    kSp,
    kInt,
    kDp,
    kSfu,
    kTensor,
    kControl,
    kBarrierClass,
    kGlobalLoad,
    kGlobalStore,
    kSharedClass,
    kLocal,
    kConstantClass,
    kAtomicClass,
    kOtherMemory,
    kClasses
  };
  constexpr std::array<const char*, kClasses> kNames = {
      "sp",          "int",          "dp",     "sfu",   "tensor",   "control", "barrier",
      "global_load", "global_store", "shared", "local", "constant", "atomic",  "other_memory"};
  std::array<std::uint32_t, kClasses> counts{};
  for (const isa::StaticInst& inst : kernel.table) {
    const auto has = [&](isa::InstFlag flag) { return (inst.flags & flag) != 0; };
    Class which = kOtherMemory;
    switch (inst.unit) {
      case isa::Unit::Sp: which = kSp; break;
      case isa::Unit::Int: which = kInt; break;
      case isa::Unit::Dp: which = kDp; break;
      case isa::Unit::Sfu: which = kSfu; break;
      case isa::Unit::Tensor: which = kTensor; break;
      case isa::Unit::Control: which = kControl; break;
      case isa::Unit::Memory:
        if (has(isa::kAtomic))
          which = kAtomicClass;
        else if (has(isa::kConstant))
          which = kConstantClass;
        else if (has(isa::kShared))
          which = kSharedClass;
        else if (has(isa::kLocalSpace))
          which = kLocal;
        else if (has(isa::kLoad))
          which = kGlobalLoad;
        else if (has(isa::kStore))
          which = kGlobalStore;
        break;
    }
    if (has(isa::kBarrier)) which = kBarrierClass;
    ++counts[which];
  }
  ordered_json mix = ordered_json::object();
  for (std::size_t i = 0; i < kClasses; ++i) {
    if (counts[i] != 0) mix[kNames[i]] = counts[i];
  }
  return mix;
}

ordered_json dimensions(const Dim3& d) { return {d.x, d.y, d.z}; }

ordered_json describe(const Subject& subject, const emulator::KernelInfo& kernel,
                      const machine::MachineConfig& machine) {
  const isa::Function& code = kernel.code;
  const ptx::CodeFigures figures = ptx::figures(code);
  const std::uint32_t registers =
      subject.register_override != 0 ? subject.register_override : figures.registers;
  ordered_json out;
  out["kernel"] = code.name;
  out["registers"] = registers;
  if (subject.register_override != 0) out["registers_allocated"] = figures.registers;
  out["shared_bytes"] = code.shared_bytes;
  out["dynamic_shared_bytes"] = subject.dynamic_shared_bytes;
  out["local_bytes"] = code.local_bytes;
  out["parameter_bytes"] = code.param_bytes;
  out["instructions"] = figures.instructions;
  out["basic_blocks"] = figures.basic_blocks;
  out["global_loads"] = figures.global_loads;
  out["mean_load_use_distance"] = figures.mean_load_use_distance;
  out["median_load_use_distance"] = figures.median_load_use_distance;
  out["instruction_mix"] = instruction_mix(kernel);
  out["grid"] = subject.grid ? dimensions(*subject.grid) : ordered_json(nullptr);
  out["block"] = subject.block ? dimensions(*subject.block) : ordered_json(nullptr);
  out["occupancy"] = nullptr;
  if (!subject.block) return out;
  const auto threads = static_cast<std::uint32_t>(subject.block->count());
  const machine::Occupancy o =
      machine::occupancy(machine.sm, threads, registers, code.shared_bytes + subject.dynamic_shared_bytes);
  const std::uint32_t warps = (threads + kWarpSize - 1) / kWarpSize;
  out["occupancy"] = {{"machine", machine.name},
                      {"blocks_per_sm", o.blocks},
                      {"warps_per_sm", o.blocks * warps},
                      {"warps_fraction", static_cast<double>(o.blocks * warps) / machine.sm.max_warps},
                      {"limited_by", o.limited_by},
                      {"by_threads", o.by_threads},
                      {"by_warps", o.by_warps},
                      {"by_registers", o.by_registers},
                      {"by_shared", o.by_shared},
                      {"by_blocks", o.by_blocks}};
  return out;
}

std::string dimensions_text(const ordered_json& d) {
  return fmt::format("{}x{}x{}", d[0].get<std::uint32_t>(), d[1].get<std::uint32_t>(),
                     d[2].get<std::uint32_t>());
}

void print_kernel(const ordered_json& k) {
  const auto whole = [&](const char* key) { return k[key].get<std::uint64_t>(); };
  fmt::print("\n{}\n", k["kernel"].get<std::string>());
  fmt::print("  registers      {} per thread\n", whole("registers"));
  if (k.contains("registers_allocated")) {
    fmt::print("                 (metadata; allocation needed {})\n", whole("registers_allocated"));
  }
  fmt::print("  shared memory  {} bytes per block, {} of them dynamic\n",
             whole("shared_bytes") + whole("dynamic_shared_bytes"), whole("dynamic_shared_bytes"));
  fmt::print("  local memory   {} bytes per thread\n", whole("local_bytes"));
  fmt::print("  parameters     {} bytes\n", whole("parameter_bytes"));
  fmt::print("  code           {} instructions in {} basic blocks\n", whole("instructions"),
             whole("basic_blocks"));
  fmt::print("  load to use    {:.1f} instructions on average over {} global loads, median {:.1f}\n",
             k["mean_load_use_distance"].get<double>(), whole("global_loads"),
             k["median_load_use_distance"].get<double>());
  std::string mix;
  for (const auto& [name, count] : k["instruction_mix"].items()) {
    mix += fmt::format("{}{} {}", mix.empty() ? "" : ", ", name, count.get<std::uint32_t>());
  }
  fmt::print("  mix            {}\n", mix);
  if (!k["grid"].is_null()) {
    fmt::print("  launch         {} blocks of {} threads\n", dimensions_text(k["grid"]),
               dimensions_text(k["block"]));
  }
  const ordered_json& o = k["occupancy"];
  if (o.is_null()) {
    fmt::print("  occupancy      depends on the block: give --block\n");
    return;
  }
  fmt::print("  occupancy      {} blocks, {} warps per SM of {} ({:.0f}%), limited by {}\n",
             o["blocks_per_sm"].get<std::uint32_t>(), o["warps_per_sm"].get<std::uint32_t>(),
             o["machine"].get<std::string>(), 100 * o["warps_fraction"].get<double>(),
             o["limited_by"].get<std::string>());
}

std::string disassembly(const emulator::CompiledModule& module, const isa::Function& code) {
  std::string out;
  for (std::size_t pc = 0; pc < code.code.size(); ++pc) {
    out += fmt::format("  {:>5}  {}\n", pc, isa::to_text(module.module, code, code.code[pc]));
  }
  return out;
}

}  // namespace

int inspect_command(const Arguments& args) {
  CLI::App app("Shows what kernels need and how many of their blocks fit on an SM.", "gpumux inspect");
  std::string subject;
  std::string machine_name = "dai18-maxwell";
  std::vector<std::string> set;
  std::string block;
  std::string shared;
  bool disassemble = false;
  bool json = false;
  app.add_option("SUBJECT", subject, "APP, FILE.ptx or FILE.ptx:KERNEL")->required();
  app.add_option("--machine", machine_name, "preset or machine file for the occupancy [dai18-maxwell]");
  app.add_option("--set", set, "changes one key of the machine; may be repeated")->allow_extra_args(false);
  app.add_option("--block", block, "X[,Y[,Z]] threads of a block, for the occupancy of a file's kernels");
  app.add_option("--shared", shared, "dynamic shared memory of a block, for the same");
  app.add_flag("--disassemble", disassemble, "also show the machine code");
  app.add_flag("--json", json, "as a JSON document");
  if (!parse(app, args)) return 0;

  const machine::MachineConfig machine = machine::load_machine(machine_name, set);
  const bool is_file = subject.find(".ptx") != std::string::npos;
  if (!is_file && !(block.empty() && shared.empty())) {
    throw UserError("--block and --shared are for kernels of PTX files; built-in apps have their own");
  }
  Program program = is_file ? file_program(subject) : builtin_program(subject);
  const auto module = emulator::compile_module(program.ptx, program.file, {});
  std::vector<std::string> known;
  for (const auto& [name, kernel] : module->kernels) known.push_back(name);
  if (program.subjects.empty()) {
    for (const std::string& name : known) program.subjects.push_back({name, {}, {}, 0, 0});
  }
  if (program.subjects.empty()) throw UserError({program.file}, "has no kernel (.entry)");

  ordered_json kernels = ordered_json::array();
  for (Subject& s : program.subjects) {
    const auto found = module->kernels.find(s.kernel);
    if (found == module->kernels.end()) {
      throw UserError({program.file}, unknown_choice("kernel", s.kernel, known));
    }
    if (!block.empty()) s.block = experiment::parse_dim3("--block", block);
    if (!shared.empty()) {
      const std::optional<std::uint64_t> bytes = parse_bytes(shared);
      if (!bytes || *bytes > (1U << 20U)) {
        throw UserError(
            fmt::format("--shared '{}' must be a size of at most 1M, such as 4096 or 4K", shared));
      }
      s.dynamic_shared_bytes = static_cast<std::uint32_t>(*bytes);
    }
    ordered_json described = describe(s, found->second, machine);
    if (disassemble && json) {
      ordered_json lines = ordered_json::array();
      for (const isa::Instruction& inst : found->second.code.code) {
        lines.push_back(isa::to_text(module->module, found->second.code, inst));
      }
      described["disassembly"] = std::move(lines);
    }
    kernels.push_back(std::move(described));
  }

  if (json) {
    const ordered_json document = {{"schema", "gpumux.inspect/1"}, {"subject", program.name},
                                   {"file", program.file},         {"sm", module->module.sm},
                                   {"machine", machine.name},      {"kernels", kernels}};
    fmt::print("{}\n", document.dump(2));
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
  return 0;
}

}  // namespace gpumux::cli
