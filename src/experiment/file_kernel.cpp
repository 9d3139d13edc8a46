#include "experiment/file_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "emulator/program.hpp"
#include "experiment/kernel_arguments.hpp"
#include "experiment/symbol_name.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::experiment {
namespace {

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// What --symbol says of one variable of the module.
struct SymbolArgument {
  std::string name;  // in the PTX
  KernelArgument value;
};

/// What create() needs, shared by all instances.
struct Prepared {
  std::string path;
  std::string ptx;
  std::string kernel;
  std::string text;
  runtime::LaunchSpec launch;
  std::vector<KernelArgument> arguments;
  std::vector<SymbolArgument> symbols;
  std::vector<isa::Param> params;
  std::uint32_t param_bytes = 0;
  std::shared_ptr<KernelOutputs> outputs;
};

class FileKernelApplication final : public runtime::Application {
 public:
  explicit FileKernelApplication(std::shared_ptr<const Prepared> prepared) : prepared_(std::move(prepared)) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const Prepared& p = *prepared_;
    if (verify) {
      throw UserError(fmt::format("{}: --verify needs a reference, which only built-in apps have", p.text));
    }
    const std::uint32_t module = host.load_module(p.ptx, p.path);
    std::string parameters(p.param_bytes, '\0');
    for (const SymbolArgument& symbol : p.symbols) {
      const std::string& bytes = symbol.value.is_buffer ? symbol.value.content : symbol.value.scalar;
      if (bytes.empty()) continue;
      host.copy_to_symbol(module, symbol.name, 0, std::as_bytes(std::span(bytes)), 0);
    }
    const std::vector<Address> buffers = allocate(host);
    for (std::size_t i = 0; i < p.arguments.size(); ++i) {
      const KernelArgument& argument = p.arguments[i];
      std::string bytes = argument.scalar;
      if (argument.same != 0) {
        append(bytes, buffers[argument.same - 1] + argument.offset);
      } else if (argument.is_buffer) {
        append(bytes, buffers[i]);
      }
      std::copy(bytes.begin(), bytes.end(), parameters.begin() + p.params[i].offset);
    }
    host.launch_raw(module, p.kernel, p.launch, std::move(parameters));
    Results results;
    const auto keep_later = [&](const KernelArgument& argument, Address from) {
      if (argument.output_path.empty()) return;
      results.emplace_back(&argument, std::string(argument.bytes, '\0'));
      host.copy_from_device(std::as_writable_bytes(std::span(results.back().second)), from, 0);
    };
    for (std::size_t i = 0; i < p.arguments.size(); ++i) keep_later(p.arguments[i], buffers[i]);
    for (const SymbolArgument& symbol : p.symbols) {
      keep_later(symbol.value, host.symbol_address(module, symbol.name));
    }
    co_await host.synchronize();
    keep(results);
    for (const Address buffer : buffers) {
      if (buffer != 0) host.free(buffer);
    }
  }

 private:
  using Results = std::deque<std::pair<const KernelArgument*, std::string>>;  // elements stay where they are

  /// The buffers of the arguments that have one of their own, filled; 0 for the others.
  [[nodiscard]] std::vector<Address> allocate(runtime::Host& host) const {
    std::vector<Address> buffers(prepared_->arguments.size(), 0);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const KernelArgument& argument = prepared_->arguments[i];
      if (!argument.is_buffer || argument.same != 0) continue;
      buffers[i] = host.malloc_bytes(argument.bytes);
      const std::string& file = argument.input_path.empty() ? argument.output_path : argument.input_path;
      host.name_buffer(buffers[i], fmt::format("--arg {}{}", i + 1, file.empty() ? "" : " (" + file + ")"));
      // New memory of a device is zeroed.
      if (argument.content.empty()) continue;
      host.copy_to_device(buffers[i], std::as_bytes(std::span(argument.content)), 0);
    }
    return buffers;
  }

  /// The first run that ends gives the outputs; later ones repeat it.
  void keep(const Results& results) const {
    KernelOutputs& outputs = *prepared_->outputs;
    if (outputs.complete) return;
    outputs.complete = true;
    for (const auto& [argument, bytes] : results) {
      outputs.files.push_back({argument->output_path, output_content(*argument, bytes)});
    }
  }

  std::shared_ptr<const Prepared> prepared_;
};

void check_launch(const Prepared& p) {
  const auto fail = [&](const std::string& message) { throw UserError(p.text + ": " + message); };
  const Dim3& grid = p.launch.grid;
  const Dim3& block = p.launch.block;
  if (grid.x > 2147483647U || grid.y > 65535 || grid.z > 65535) {
    fail(fmt::format("--grid {},{},{} is too large; at most 2147483647,65535,65535", grid.x, grid.y, grid.z));
  }
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > 1024) {
    fail(fmt::format("--block {},{},{} is too large; at most 1024,1024,64 and 1024 threads in all", block.x,
                     block.y, block.z));
  }
}

void add(ContentHash& inputs, const KernelArgument& argument) {
  inputs.add(argument.is_buffer ? 1 : 0);
  inputs.add(argument.scalar);
  inputs.add(argument.content);
  inputs.add(argument.bytes);
  inputs.add(argument.same);
  inputs.add(argument.offset);
}

void read_arguments(const FileKernelSpec& spec, Prepared& p, ContentHash& inputs) {
  // The kernel's own variables and the spaces between buffers need a little too.
  constexpr std::uint64_t kMaxBufferBytes = workload::DeviceMemory::kReservedBytes - (1ULL << 30U);
  std::uint64_t buffer_bytes = 0;
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    p.arguments.push_back(read_argument("--arg", spec.args[i], spec.folder));
    const KernelArgument& argument = p.arguments.back();
    check_parameter(spec.text, i, spec.args[i], argument, p.params[i]);
    add(inputs, argument);
    buffer_bytes += argument.bytes;
    if (buffer_bytes > kMaxBufferBytes) {
      throw UserError(fmt::format("--arg {}: the buffers so far have {} bytes; the device's memory holds {}",
                                  spec.args[i], buffer_bytes, kMaxBufferBytes));
    }
    if (!argument.output_path.empty()) p.outputs->paths.push_back(argument.output_path);
  }
  for (std::size_t i = 0; i < p.arguments.size(); ++i) {
    const KernelArgument& argument = p.arguments[i];
    if (argument.same == 0) continue;
    const KernelArgument* of =
        argument.same <= p.arguments.size() ? &p.arguments[argument.same - 1] : nullptr;
    if (of == nullptr || !of->is_buffer || of->same != 0) {
      throw UserError(fmt::format("--arg {}: argument {} is no buffer of its own (in, out, inout or zero)",
                                  spec.args[i], argument.same));
    }
    if (argument.offset > of->bytes) {
      throw UserError(fmt::format("--arg {}: the buffer of argument {} has {} bytes", spec.args[i],
                                  argument.same, of->bytes));
    }
  }
}

void read_symbols(const FileKernelSpec& spec, const isa::Module& module, Prepared& p, ContentHash& inputs) {
  std::vector<std::string> known;
  for (const isa::Symbol& symbol : module.symbols) {
    if (symbol.kind == isa::Symbol::Kind::Global || symbol.kind == isa::Symbol::Kind::Const) {
      known.push_back(symbol.name);
    }
  }
  for (const std::string& text : spec.symbols) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UserError(fmt::format("--symbol {}: write NAME=ARG, such as --symbol table=in:table.bin", text));
    }
    const std::string option = "--symbol " + text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    const auto fail = [&](const std::string& why) {
      throw UserError(fmt::format("{}={}: {}", option, value, why));
    };
    SymbolArgument argument;
    argument.name = find_symbol("variable", text.substr(0, equals), known, spec.path);
    argument.value = read_argument(option, value, spec.folder);
    const auto symbol = std::find_if(module.symbols.begin(), module.symbols.end(), [&](const isa::Symbol& s) {
      return s.name == argument.name &&
             (s.kind == isa::Symbol::Kind::Global || s.kind == isa::Symbol::Kind::Const);
    });
    if (argument.value.same != 0) fail("same: is for --arg; a variable is no parameter");
    const std::uint64_t bytes =
        argument.value.is_buffer ? argument.value.bytes : argument.value.scalar.size();
    if (bytes > symbol->bytes) {
      fail(fmt::format("the variable has {} bytes; this has {}", symbol->bytes, bytes));
    }
    if (!argument.value.output_path.empty() && symbol->kind == isa::Symbol::Kind::Const) {
      fail("a constant cannot change; give it a value, or in:FILE");
    }
    inputs.add(argument.name);
    add(inputs, argument.value);
    if (!argument.value.output_path.empty()) p.outputs->paths.push_back(argument.value.output_path);
    p.symbols.push_back(std::move(argument));
  }
}

}  // namespace

Dim3 parse_dim3(std::string_view what, std::string_view text) {
  std::array<std::uint32_t, 3> values = {1, 1, 1};
  const std::vector<std::string> parts = split(text, ',');
  bool good = parts.size() <= 3;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const std::optional<std::uint64_t> value = parse_uint(trim(parts[i]));
    good = value && *value >= 1 && *value <= std::numeric_limits<std::uint32_t>::max();
    if (good) values[i] = static_cast<std::uint32_t>(*value);
  }
  if (!good) {
    throw UserError(
        fmt::format("{} '{}' must be X, X,Y or X,Y,Z with whole numbers of at least 1", what, text));
  }
  return {values[0], values[1], values[2]};
}

bool split_kernel(std::string_view text, std::string& path, std::string& kernel) {
  const std::size_t at = text.rfind(".ptx:");
  if (at == std::string_view::npos) return false;
  path = text.substr(0, at + 4);
  kernel = text.substr(at + 5);
  return true;
}

void refuse_other_files(std::string_view text) {
  std::string_view path = text;
  const auto ends = [&](std::string_view ending) {
    if (text.ends_with(ending)) return true;
    const std::size_t at = text.rfind(std::string(ending) + ":");
    if (at == std::string_view::npos) return false;
    path = text.substr(0, at + ending.size());
    return true;
  };
  if (ends(".cu"))
    throw UserError({std::string(path)}, "is CUDA source; `nvcc -ptx -arch=sm_75 -lineinfo` makes PTX of it");
  for (const char* ending : {".cubin", ".fatbin", ".o", ".so", ".exe"}) {
    if (ends(ending))
      throw UserError({std::string(path)},
                      "is compiled code; `cuobjdump -ptx` prints the PTX that it may hold");
  }
}

FileKernel file_kernel(const FileKernelSpec& spec) {
  const auto fail = [&](const std::string& message) { throw UserError(spec.text + ": " + message); };
  auto prepared = std::make_shared<Prepared>();
  Prepared& p = *prepared;
  p.path = spec.path;
  p.text = spec.text;
  p.ptx = read_file(spec.path);
  const auto module = emulator::compile_module(p.ptx, spec.path, {});
  std::vector<std::string> known;
  for (const auto& [name, info] : module->kernels) known.push_back(name);
  p.kernel = find_symbol("kernel", spec.kernel, known, spec.path);
  module->kernels.at(p.kernel).check();
  const isa::Function& function = module->kernels.at(p.kernel).code;
  if (spec.grid.empty() || spec.block.empty()) {
    fail(fmt::format("needs {} after it", spec.grid.empty() ? "--grid X[,Y[,Z]]" : "--block X[,Y[,Z]]"));
  }
  p.launch.grid = parse_dim3("--grid", spec.grid);
  p.launch.block = parse_dim3("--block", spec.block);
  if (!spec.shared.empty()) {
    const std::optional<std::uint64_t> bytes = parse_bytes(spec.shared);
    constexpr std::uint64_t kMaxShared = 1U << 20U;
    if (!bytes || *bytes > kMaxShared) {
      fail(fmt::format("--shared '{}' must be a size of at most 1M, such as 4096 or 4K", spec.shared));
    }
    p.launch.shared_bytes = static_cast<std::uint32_t>(*bytes);
  }
  check_launch(p);

  p.params = function.params;
  p.param_bytes = function.param_bytes;
  if (spec.args.size() != p.params.size()) {
    fail(fmt::format("the kernel has {} parameters; {} --arg {} given", p.params.size(), spec.args.size(),
                     spec.args.size() == 1 ? "was" : "were"));
  }
  p.outputs = std::make_shared<KernelOutputs>();
  ContentHash inputs;
  read_arguments(spec, p, inputs);
  read_symbols(spec, module->module, p, inputs);

  ContentHash code;
  code.add(p.ptx);
  const Dim3& grid = p.launch.grid;
  const Dim3& block = p.launch.block;
  FileKernel result;
  result.outputs = p.outputs;
  result.app.text = spec.text;
  result.app.name = spec.text;
  result.app.identity =
      fmt::format("ptx {} kernel {} grid {},{},{} block {},{},{} shared {} args {}", code.hex(), p.kernel,
                  grid.x, grid.y, grid.z, block.x, block.y, block.z, p.launch.shared_bytes, inputs.hex());
  const std::shared_ptr<const Prepared> shared = prepared;
  result.app.create = [shared](std::uint64_t) { return std::make_unique<FileKernelApplication>(shared); };
  return result;
}

}  // namespace gpumux::experiment
