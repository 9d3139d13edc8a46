// Compiled modules, their loading into an application's memory, and launches.
#include "emulator/program.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "emulator/block.hpp"
#include "emulator/kernel_launch.hpp"
#include "emulator/launch.hpp"
#include "emulator/race_log.hpp"
#include "emulator/race_order.hpp"
#include "emulator/windows.hpp"
#include "ptx/idempotence.hpp"
#include "ptx/limits.hpp"
#include "ptx/parse.hpp"

namespace gpumux::emulator {
namespace {

using isa::Symbol;

constexpr std::uint32_t kMaxThreads = 1024;
/// Bytes of address space per instruction, the maximum that a machine file can specify.
constexpr std::uint64_t kInstructionBytes = 32;

std::string stem(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot != 0) name.resize(dot);
  return name;
}

/// Inserts the kernel's name into a message: "FILE:LINE:COLUMN: error: kernel NAME: WHAT".
std::string with_kernel(std::string message, const std::string& kernel) {
  constexpr std::string_view kError = "error: ";
  const std::size_t at = message.find(kError);
  const std::string name = fmt::format("kernel {}: ", kernel);
  if (at == std::string::npos ||
      message.compare(at + kError.size(), name.size() - 2, name, 0, name.size() - 2) == 0)
    return message;
  return message.insert(at + kError.size(), name);
}

/// The value of a pointer in initialised memory. Generic pointers include the space's window.
std::uint64_t pointer_value(const ModuleData& data, const Symbol::Relocation& relocation) {
  const Symbol& symbol = data.compiled->module.symbols[relocation.symbol];
  if (symbol.kind == Symbol::Kind::Function) return function_address(symbol.function);
  std::uint64_t value = data.symbol_address[relocation.symbol] + relocation.addend;
  if (relocation.generic) {
    if (symbol.kind == Symbol::Kind::Const) value += window_of(isa::Space::Const);
    if (symbol.kind == Symbol::Kind::Shared) value += window_of(isa::Space::Shared);
  }
  return value;
}

std::string initial_bytes(const ModuleData& data, const Symbol& symbol) {
  std::string bytes = symbol.initial;
  bytes.resize(symbol.bytes, '\0');
  for (const Symbol::Relocation& relocation : symbol.relocations) {
    const std::uint64_t value = pointer_value(data, relocation);
    if (relocation.offset + 8 <= bytes.size()) std::memcpy(bytes.data() + relocation.offset, &value, 8);
  }
  return bytes;
}

/// A list of places for variables, from which they are taken by name. Among equal names, the first is taken
/// first.
class Places {
 public:
  explicit Places(std::span<const workload::PlacedVariable> places) : left_(places.begin(), places.end()) {}
  /// Takes the address for a symbol; 0: any address. Throws UserError if the size differs.
  Address take(const isa::Module& module, const Symbol& symbol, std::uint64_t bytes) {
    const auto found = std::find_if(left_.begin(), left_.end(),
                                    [&](const auto& place) { return place.name == symbol.name; });
    if (found == left_.end()) return 0;
    if (found->bytes != bytes) {
      throw UserError({module.file}, fmt::format("its variable {} has {} bytes, and {} are placed at 0x{:x}",
                                                 symbol.name, bytes, found->bytes, found->address));
    }
    const Address address = found->address;
    left_.erase(found);
    return address;
  }
  /// Throws UserError if a place was not taken.
  void check_empty(const isa::Module& module) const {
    if (left_.empty()) return;
    throw UserError({module.file},
                    fmt::format("it has no variable {} of {} bytes to be placed at 0x{:x}",
                                left_.front().name, left_.front().bytes, left_.front().address));
  }

 private:
  std::vector<workload::PlacedVariable> left_;
};

std::uint64_t allocated_bytes(const Symbol& symbol) { return std::max<std::uint64_t>(symbol.bytes, 1); }

}  // namespace

std::shared_ptr<const CompiledModule> compile_module(std::string_view ptx_text, const std::string& file,
                                                     const ptx::CompileOptions& options) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const CompiledModule>> cache;
  ContentHash hash;
  hash.add(ptx_text);
  hash.add(std::string_view(file));
  hash.add(static_cast<std::uint64_t>(options.optimize));
  hash.add(std::uint64_t{options.max_registers});
  hash.add(static_cast<std::uint64_t>(options.level));
  hash.add(std::uint64_t{options.notices});
  hash.add(std::uint64_t{options.contract});
  const std::string key = hash.hex();
  const std::scoped_lock lock(mutex);  // held while compiling, so that other users of the same text wait
  if (const auto found = cache.find(key); found != cache.end()) return found->second;
  auto compiled = std::make_shared<CompiledModule>();
  compiled->module = ptx::parse_by_function(ptx_text, file);
  for (const isa::Function& function : compiled->module.functions) {
    if (!function.is_kernel) continue;
    KernelInfo info;
    try {
      info.code = ptx::compile(compiled->module, function, options);
      if (options.level == isa::CodeLevel::Ptx) {
        ptx::CompileOptions machine = options;
        machine.level = isa::CodeLevel::Machine;
        info.registers = ptx::compile(compiled->module, function, machine).num_reg32;
      } else if (info.code.physical) {
        info.registers = info.code.num_reg32;
      }
      info.has_notices = options.notices;
      info.table = isa::make_static_table(info.code);
    } catch (const UserError& error) {
      info = {};
      info.code.name = function.name;
      info.code.where = function.where;
      info.code.is_kernel = true;
      info.error = with_kernel(error.what(), function.name);
    }
    compiled->kernels.emplace(function.name, std::move(info));
  }
  cache.emplace(key, compiled);
  return compiled;
}

struct LoadedModule::Impl {
  std::shared_ptr<ModuleData> data;
  std::shared_ptr<BlockPool> pool;
  std::map<const KernelInfo*, std::unique_ptr<Program>> programs;  // only for lookups
  std::uint64_t launches = 0;
};

LoadedModule::LoadedModule(std::shared_ptr<const CompiledModule> compiled, workload::DeviceMemory& memory,
                           AppId app, PrintSink* sink, std::span<const workload::PlacedVariable> places,
                           KernelErrors* errors, RaceLog* races)
    : impl_(std::make_unique<Impl>()) {
  impl_->data = std::make_shared<ModuleData>();
  impl_->pool = std::make_shared<BlockPool>();
  ModuleData& data = *impl_->data;
  data.compiled = std::move(compiled);
  data.memory = &memory;
  data.app = app;
  data.sink = sink;
  data.errors = errors;
  data.races = races;
  data.loaded = this;
  const isa::Module& module = data.compiled->module;
  data.app_name = memory.owner().empty() ? stem(module.file) : "app " + memory.owner();
  data.const_bank = module.const_bank;
  Places left(places);
  // Addresses are assigned first, since initial values may refer to later symbols.
  for (const Symbol& symbol : module.symbols) {
    Address address = symbol.address;
    if (symbol.kind == Symbol::Kind::Global) {
      const std::uint64_t bytes = allocated_bytes(symbol);
      address = left.take(module, symbol, bytes);
      if (address == 0) {
        address = memory.allocate(bytes);
      } else {
        memory.allocate_at(address, bytes);
      }
      if (!symbol.in_function) memory.name(address, fmt::format("the variable {}", symbol.name));
    }
    if (symbol.kind == Symbol::Kind::Const && data.const_bank.size() < symbol.address + symbol.bytes) {
      data.const_bank.resize(symbol.address + symbol.bytes, '\0');
    }
    data.symbol_address.push_back(address);
  }
  left.check_empty(module);
  data.const_address = memory.place_constants(data.const_bank.size());
  for (const auto& [name, info] : data.compiled->kernels) {
    data.code_address.emplace(&info, memory.place_code(info.code.code.size() * kInstructionBytes));
  }
  for (std::size_t i = 0; i < module.symbols.size(); ++i) {
    const Symbol& symbol = module.symbols[i];
    if (symbol.initial.empty() && symbol.relocations.empty()) continue;
    const std::string bytes = initial_bytes(data, symbol);
    if (symbol.kind == Symbol::Kind::Global) {
      memory.write(data.symbol_address[i], std::as_bytes(std::span(bytes)));
    } else if (symbol.kind == Symbol::Kind::Const) {
      std::memcpy(data.const_bank.data() + symbol.address, bytes.data(), bytes.size());
    }
  }
}

LoadedModule::~LoadedModule() = default;

void LoadedModule::set_device_runtime(DeviceRuntime& runtime) { impl_->data->device_runtime = &runtime; }

const CompiledModule& LoadedModule::compiled() const { return *impl_->data->compiled; }

const KernelInfo* LoadedModule::find(const std::string& kernel) const {
  const auto found = impl_->data->compiled->kernels.find(kernel);
  return found == impl_->data->compiled->kernels.end() ? nullptr : &found->second;
}

std::vector<std::string> LoadedModule::kernel_names() const {
  std::vector<std::string> names;
  for (const auto& [name, info] : impl_->data->compiled->kernels) names.push_back(name);
  return names;
}

Address LoadedModule::global_address(const std::string& symbol) const {
  const isa::Module& module = impl_->data->compiled->module;
  for (std::size_t i = 0; i < module.symbols.size(); ++i) {
    if (module.symbols[i].kind == Symbol::Kind::Global && module.symbols[i].name == symbol) {
      return impl_->data->symbol_address[i];
    }
  }
  return 0;
}

std::vector<workload::PlacedVariable> LoadedModule::variables() const {
  const isa::Module& module = impl_->data->compiled->module;
  std::vector<workload::PlacedVariable> found;
  for (std::size_t i = 0; i < module.symbols.size(); ++i) {
    const Symbol& symbol = module.symbols[i];
    if (symbol.kind != Symbol::Kind::Global) continue;
    found.push_back({symbol.name, impl_->data->symbol_address[i], allocated_bytes(symbol)});
  }
  return found;
}

char* LoadedModule::const_bytes(const std::string& name, std::uint64_t offset, std::uint64_t bytes) const {
  ModuleData& data = *impl_->data;
  for (const Symbol& symbol : data.compiled->module.symbols) {
    if (symbol.kind != Symbol::Kind::Const || symbol.name != name) continue;
    if (offset > symbol.bytes || bytes > symbol.bytes - offset) {
      throw SimulationFault(
          fmt::format("error: {}: copy of {} bytes at offset {} of the constant {} of {} bytes",
                      data.app_name, bytes, offset, name, symbol.bytes));
    }
    return data.const_bank.data() + symbol.address + offset;
  }
  throw UserError(fmt::format("{}: no constant symbol '{}'", data.compiled->module.file, name));
}

void LoadedModule::write_const(const std::string& name, std::uint64_t offset,
                               std::span<const std::byte> bytes) {
  char* const to = const_bytes(name, offset, bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void LoadedModule::read_const(const std::string& name, std::uint64_t offset,
                              std::span<std::byte> bytes) const {
  const char* const from = const_bytes(name, offset, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
}

std::uint64_t LoadedModule::symbol_bytes(const std::string& name) const {
  for (const Symbol& symbol : impl_->data->compiled->module.symbols) {
    const bool lasts = symbol.kind == Symbol::Kind::Global || symbol.kind == Symbol::Kind::Const;
    if (lasts && symbol.name == name) return symbol.bytes;
  }
  return 0;
}

std::unique_ptr<workload::KernelSource> LoadedModule::launch(const KernelInfo& kernel, LaunchConfig config,
                                                             const workload::BlockMetadata& metadata) {
  kernel.check();
  const isa::Function& function = kernel.code;
  const std::string who = fmt::format("{}: kernel {}", impl_->data->compiled->module.file, function.name);
  if (config.parameters.size() != function.param_bytes) {
    throw UserError(fmt::format("{}: {} bytes of parameters given, {} expected", who,
                                config.parameters.size(), function.param_bytes));
  }
  const std::uint64_t threads = config.block.count();
  if (threads == 0 || threads > kMaxThreads || config.block.x > 1024 || config.block.y > 1024 ||
      config.block.z > 64) {
    throw UserError(fmt::format("{}: block of {}x{}x{} threads; a block has 1 to {} threads, at most 64 in z",
                                who, config.block.x, config.block.y, config.block.z, kMaxThreads));
  }
  if (config.grid.count() == 0 || config.grid.x > 0x7fff'ffffU || config.grid.y > 65535 ||
      config.grid.z > 65535) {
    throw UserError(
        fmt::format("{}: grid of {}x{}x{} blocks; at least 1, at most 2147483647 in x and 65535 in y and z",
                    who, config.grid.x, config.grid.y, config.grid.z));
  }
  if (function.max_threads != 0 && threads > function.max_threads) {
    throw UserError(fmt::format("{}: block of {} threads, but the kernel is compiled for at most {}", who,
                                threads, function.max_threads));
  }
  std::unique_ptr<Program>& program = impl_->programs[&kernel];
  if (program == nullptr) program = std::make_unique<Program>(decode(*impl_->data, kernel));

  auto data = std::make_shared<LaunchData>();
  data->module = impl_->data;
  data->program = program.get();
  data->pool = impl_->pool;
  data->config = std::move(config);
  data->threads = static_cast<std::uint32_t>(threads);
  data->warps = (data->threads + kWarpSize - 1) / kWarpSize;
  const std::uint64_t shared =
      data->config.dynamic_shared_bytes == 0
          ? function.shared_bytes
          : std::uint64_t{program->dynamic_shared_base} + data->config.dynamic_shared_bytes;
  if (shared > ptx::kMaxSharedBytes) {
    throw UserError(fmt::format("{}: {} bytes of shared memory, {} of them dynamic; at most {} can be had",
                                who, shared, data->config.dynamic_shared_bytes, ptx::kMaxSharedBytes));
  }
  data->shared_bytes = static_cast<std::uint32_t>(shared);
  data->local_words = (function.local_bytes + 3) / 4;
  data->resources = {data->threads, metadata.registers_per_thread, metadata.shared_bytes};
  if (metadata.registers_per_thread == 0) {
    data->resources.registers_per_thread = kernel.registers;
  }
  if (metadata.shared_bytes == 0) data->resources.shared_bytes = data->shared_bytes;
  GPUMUX_CHECK(data->resources.shared_bytes >= data->shared_bytes);
  workload::DeviceMemory& memory = *impl_->data->memory;
  data->local_address = memory.place_local(std::uint64_t{data->warps} * data->local_words * kWarpSize * 4);
  data->parameter_address = memory.place_constants(data->config.parameters.size());
  data->code_address = impl_->data->code_address.at(&kernel);
  data->grid_id = ++impl_->launches;
  if (data->config.cooperative) {
    Address& all = impl_->data->workspaces;
    if (all == 0) {
      all = memory.allocate(std::uint64_t{GridWorkspace::kTurns} * GridWorkspace::kBytes);
      memory.name(all, "what cooperative launches synchronise by");
    }
    data->workspace = all + data->grid_id % GridWorkspace::kTurns * GridWorkspace::kBytes;
  }
  if (impl_->data->races != nullptr) data->races = std::make_shared<LaunchRaces>(*data, *impl_->data->races);
  fill_warp_rows(*data);
  constexpr std::size_t kAlign = 64;
  data->constant_storage.reset(new std::byte[program->constant_bytes + kAlign]);
  const auto first = reinterpret_cast<std::uintptr_t>(data->constant_storage.get());
  data->constants = data->constant_storage.get() + (kAlign - first % kAlign) % kAlign;
  for (const ConstantRow& row : program->constants) {
    std::uint64_t value = row.value;
    const std::size_t bytes = row.wide ? 8 : 4;
    if (row.from == ConstantRow::From::Parameter) {
      const std::string& bank = data->config.parameters;
      GPUMUX_CHECK(row.value < bank.size());
      value = 0;
      std::memcpy(&value, bank.data() + row.value, std::min<std::size_t>(bytes, bank.size() - row.value));
    }
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
      std::memcpy(data->constants + row.offset + lane * bytes, &value, bytes);
    }
  }
  return std::make_unique<KernelLaunch>(std::move(data));
}

}  // namespace gpumux::emulator
