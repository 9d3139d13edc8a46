#include "experiment/file_program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/located.hpp"
#include "base/text.hpp"
#include "emulator/program.hpp"
#include "experiment/kernel_arguments.hpp"
#include "experiment/prepared_program.hpp"
#include "experiment/symbol_name.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::experiment {
namespace {

constexpr std::uint64_t kMostLaunches = 100'000;  // in all rounds
constexpr std::uint64_t kMostStreams = 128;       // as many as run concurrently on hardware

/// The launch's grid, block and dynamic shared memory.
runtime::LaunchSpec read_launch(const FileKernelSpec& spec) {
  const auto fail = [&](const std::string& message) { throw UserError(spec.text + ": " + message); };
  if (spec.grid.empty() || spec.block.empty()) {
    fail(fmt::format("needs {} after it", spec.grid.empty() ? "--grid X[,Y[,Z]]" : "--block X[,Y[,Z]]"));
  }
  runtime::LaunchSpec launch;
  launch.grid = parse_dim3("--grid", spec.grid);
  launch.block = parse_dim3("--block", spec.block);
  if (!spec.shared.empty()) {
    const std::optional<std::uint64_t> bytes = parse_bytes(spec.shared);
    constexpr std::uint64_t kMaxShared = 1U << 20U;
    if (!bytes || *bytes > kMaxShared) {
      fail(fmt::format("--shared '{}' must be a size of at most 1M, such as 4096 or 4K", spec.shared));
    }
    launch.shared_bytes = static_cast<std::uint32_t>(*bytes);
  }
  const Dim3& grid = launch.grid;
  const Dim3& block = launch.block;
  if (grid.x > 2147483647U || grid.y > 65535 || grid.z > 65535) {
    fail(fmt::format("--grid {},{},{} is too large; at most 2147483647,65535,65535", grid.x, grid.y, grid.z));
  }
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > 1024) {
    fail(fmt::format("--block {},{},{} is too large; at most 1024,1024,64 and 1024 threads in all", block.x,
                     block.y, block.z));
  }
  return launch;
}

/// The text after "buffer:": "NAME" or "NAME+BYTES".
struct BufferName {
  std::string name;
  std::uint64_t offset = 0;
};
BufferName parse_buffer_name(const std::string& argument, const std::string& text) {
  const std::size_t plus = text.find('+');
  const std::optional<std::uint64_t> offset =
      plus == std::string::npos ? std::uint64_t{0} : parse_bytes(text.substr(plus + 1));
  if (plus == 0 || text.empty() || !offset)
    throw UserError(fmt::format("--arg {}: write buffer:NAME or buffer:NAME+BYTES", argument));
  return {text.substr(0, plus), *offset};
}

class Reader {
 public:
  explicit Reader(const FileProgramSpec& spec) : spec_(spec) {
    program_.text = spec.text;
    program_.outputs = std::make_shared<KernelOutputs>();
  }

  [[nodiscard]] FileProgram read() {
    for (const auto& [name, argument] : spec_.buffers) add_named_buffer(name, argument);
    if (spec_.repeat > kMostLaunches / std::max<std::size_t>(spec_.launches.size(), 1)) {
      throw UserError(fmt::format("{}: {} rounds of {} launches are more than {}", spec_.text, spec_.repeat,
                                  spec_.launches.size(), kMostLaunches));
    }
    program_.repeat = spec_.repeat;
    for (const FileKernelSpec& launch : spec_.launches) {
      if (launch.where.file.empty()) {
        add_launch(launch);
      } else {
        located(launch.where, [&] { add_launch(launch); });
      }
    }
    inputs_.add(spec_.repeat);
    identity_ += fmt::format("args {}", inputs_.hex());
    FileProgram result;
    result.outputs = program_.outputs;
    result.app.text = result.app.name = spec_.text;
    result.app.identity = std::move(identity_);
    const auto shared = std::make_shared<const PreparedProgram>(std::move(program_));
    result.app.create = [shared](std::uint64_t) { return make_application(shared, true); };
    result.app.create_aside = [shared](std::uint64_t) { return make_application(shared, false); };
    return result;
  }

 private:
  /// State of one launch: its code, and its own buffers by argument.
  struct Context {
    const FileKernelSpec& spec;
    const isa::Module& module;
    std::size_t module_index;
    std::vector<std::optional<std::size_t>> own_buffers;
  };

  [[nodiscard]] const FilesInMemory& files() const {
    static const FilesInMemory kNone;
    return spec_.files == nullptr ? kNone : *spec_.files;
  }

  void add_named_buffer(const std::string& name, const std::string& text) {
    const std::string option = fmt::format("buffer {}", name);
    if (name.empty() || name.find_first_of("+:=, \t\r\n") != std::string::npos)
      throw UserError(fmt::format("{}: a buffer's name has no spaces and none of + : = ,", option));
    KernelArgument value = read_argument(option, text, spec_.folder, files());
    if (!value.is_buffer || value.same != 0)
      throw UserError(fmt::format("{}: '{}' is no buffer; write in:, out:, inout: or zero:", option, text));
    names_.emplace_back(name);
    hash(value);
    add_buffer(option, option + " " + text, std::move(value));
  }

  std::size_t add_buffer(const std::string& title, const std::string& given, KernelArgument value) {
    // The kernel's own variables and the gaps between buffers need some memory as well.
    constexpr std::uint64_t kMaxBufferBytes = workload::DeviceMemory::kReservedBytes - (1ULL << 30U);
    buffer_bytes_ += value.bytes;
    if (buffer_bytes_ > kMaxBufferBytes) {
      throw UserError(fmt::format("{}: the buffers so far have {} bytes; the device's memory holds {}", given,
                                  buffer_bytes_, kMaxBufferBytes));
    }
    note_output(value);
    const std::string& file = value.input_path.empty() ? value.output_path : value.input_path;
    program_.buffers.push_back({title + (file.empty() ? "" : " (" + file + ")"), std::move(value)});
    return program_.buffers.size() - 1;
  }

  void note_output(const KernelArgument& value) {
    std::vector<std::string>& paths = program_.outputs->paths;
    if (value.output_path.empty()) return;
    if (std::find(paths.begin(), paths.end(), value.output_path) != paths.end())
      throw UserError(fmt::format("{}: two buffers are written to it", value.output_path));
    paths.push_back(value.output_path);
  }

  void hash(const KernelArgument& argument) {
    inputs_.add(argument.is_buffer ? 1 : 0);
    inputs_.add(argument.scalar);
    inputs_.add(argument.content);
    inputs_.add(argument.bytes);
    inputs_.add(argument.same);
    inputs_.add(argument.offset);
    inputs_.add(argument.output_path.empty() ? 0 : 1);  // a copy back takes time on some machines
  }

  /// Index of the file's module. A file is read once, even if its path is written in several ways.
  std::size_t module_of(const std::string& path) {
    std::error_code ignored;
    for (std::size_t i = 0; i < program_.modules.size(); ++i) {
      const std::string& known = program_.modules[i].path;
      if (known == path || std::filesystem::equivalent(known, path, ignored)) return i;
    }
    program_.modules.push_back({path, read_file(path)});
    ContentHash code;
    code.add(program_.modules.back().ptx);
    identity_ += fmt::format("ptx {} ", code.hex());
    compiled_.push_back(emulator::compile_module(program_.modules.back().ptx, path, {}));
    return compiled_.size() - 1;
  }

  void add_launch(const FileKernelSpec& spec) {
    PreparedProgram::Launch launch;
    launch.module = module_of(spec.path);
    const emulator::CompiledModule& compiled = *compiled_[launch.module];
    std::vector<std::string> known;
    for (const auto& [name, info] : compiled.kernels) known.push_back(name);
    launch.kernel = find_symbol("kernel", spec.kernel, known, spec.path);
    compiled.kernels.at(launch.kernel).check();
    const isa::Function& function = compiled.kernels.at(launch.kernel).code;
    launch.spec = read_launch(spec);
    // A kernel that uses the grid's barrier would trap in a launch that is not cooperative.
    launch.spec.cooperative =
        isa::reads(function, isa::Special::EnvReg1) || isa::reads(function, isa::Special::EnvReg2);
    launch.param_bytes = function.param_bytes;
    if (spec.args.size() != function.params.size()) {
      throw UserError(fmt::format("{}: the kernel has {} parameters; {} --arg {} given", spec.text,
                                  function.params.size(), spec.args.size(),
                                  spec.args.size() == 1 ? "was" : "were"));
    }
    Context context{spec, compiled.module, launch.module, {}};
    read_arguments(context, function.params, launch);
    read_symbols(context);
    order(spec, launch);

    const Dim3& grid = launch.spec.grid;
    const Dim3& block = launch.spec.block;
    identity_ +=
        fmt::format("kernel {} of {} grid {},{},{} block {},{},{} shared {} ", launch.kernel, launch.module,
                    grid.x, grid.y, grid.z, block.x, block.y, block.z, launch.spec.shared_bytes);
    program_.launches.push_back(std::move(launch));
  }

  void read_arguments(Context& context, const std::vector<isa::Param>& params,
                      PreparedProgram::Launch& launch) {
    const FileKernelSpec& spec = context.spec;
    std::vector<KernelArgument> arguments;
    inputs_.add(spec.args.size());
    for (std::size_t i = 0; i < spec.args.size(); ++i) {
      PreparedProgram::Argument place;
      place.offset = params[i].offset;
      context.own_buffers.emplace_back();
      constexpr std::string_view kNamed = "buffer:";
      if (spec.args[i].starts_with(kNamed)) {
        KernelArgument pointer;
        pointer.is_buffer = true;
        check_parameter(spec.text, i, spec.args[i], pointer, params[i]);
        const BufferName named = parse_buffer_name(spec.args[i], spec.args[i].substr(kNamed.size()));
        place.buffer = named_buffer(spec.args[i], named);
        place.buffer_offset = named.offset;
        arguments.push_back(std::move(pointer));
      } else {
        KernelArgument argument = read_argument("--arg", spec.args[i], spec.folder, files());
        check_parameter(spec.text, i, spec.args[i], argument, params[i]);
        hash(argument);
        place.scalar = argument.scalar;
        KernelArgument pointer;  // for later arguments that refer to it; the buffer keeps the content
        pointer.is_buffer = argument.is_buffer;
        pointer.bytes = argument.bytes;
        pointer.same = argument.same;
        pointer.offset = argument.offset;
        if (argument.is_buffer && argument.same == 0) {
          place.buffer =
              add_buffer(fmt::format("--arg {}", i + 1), "--arg " + spec.args[i], std::move(argument));
          context.own_buffers.back() = place.buffer;
        }
        arguments.push_back(std::move(pointer));
      }
      launch.arguments.push_back(std::move(place));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].same == 0) continue;
      const std::size_t of = arguments[i].same - 1;
      if (of >= arguments.size() || !context.own_buffers[of]) {
        throw UserError(fmt::format("--arg {}: argument {} is no buffer of its own (in, out, inout or zero)",
                                    spec.args[i], arguments[i].same));
      }
      if (arguments[i].offset > arguments[of].bytes) {
        throw UserError(fmt::format("--arg {}: the buffer of argument {} has {} bytes", spec.args[i],
                                    arguments[i].same, arguments[of].bytes));
      }
      launch.arguments[i].buffer = context.own_buffers[of];
      launch.arguments[i].buffer_offset = arguments[i].offset;
    }
  }

  [[nodiscard]] std::size_t named_buffer(const std::string& argument, const BufferName& named) {
    const auto found = std::find(names_.begin(), names_.end(), named.name);
    if (found == names_.end()) {
      throw UserError(fmt::format(
          "--arg {}: {}", argument,
          names_.empty() ? std::string("there is no such buffer; a workload file's 'buffers' names them")
                         : unknown_choice("buffer", named.name, names_)));
    }
    const auto index = static_cast<std::size_t>(found - names_.begin());
    const std::uint64_t bytes = program_.buffers[index].value.bytes;
    if (named.offset > bytes)
      throw UserError(fmt::format("--arg {}: the buffer {} has {} bytes", argument, named.name, bytes));
    inputs_.add("buffer");
    inputs_.add(index);
    inputs_.add(named.offset);
    return index;
  }

  void read_symbols(const Context& context) {
    inputs_.add(context.spec.symbols.size());
    const isa::Module& module = context.module;
    const FileKernelSpec& spec = context.spec;
    std::vector<std::string> known;
    const auto is_variable = [](const isa::Symbol& symbol) {
      return symbol.kind == isa::Symbol::Kind::Global || symbol.kind == isa::Symbol::Kind::Const;
    };
    for (const isa::Symbol& symbol : module.symbols)
      if (is_variable(symbol)) known.push_back(symbol.name);
    for (const std::string& text : spec.symbols) {
      const std::size_t equals = text.find('=');
      if (equals == 0 || equals == std::string::npos) {
        throw UserError(
            fmt::format("--symbol {}: write NAME=ARG, such as --symbol table=in:table.bin", text));
      }
      const std::string option = "--symbol " + text.substr(0, equals);
      const std::string value = text.substr(equals + 1);
      const auto fail = [&](const std::string& why) {
        throw UserError(fmt::format("{}={}: {}", option, value, why));
      };
      PreparedProgram::Symbol argument;
      argument.module = context.module_index;
      argument.name = find_symbol("variable", text.substr(0, equals), known, spec.path);
      for (const PreparedProgram::Symbol& earlier : program_.symbols)
        if (earlier.module == argument.module && earlier.name == argument.name) fail("it is set twice");
      argument.value = read_argument(option, value, spec.folder, files());
      const auto symbol =
          std::find_if(module.symbols.begin(), module.symbols.end(),
                       [&](const isa::Symbol& s) { return s.name == argument.name && is_variable(s); });
      if (argument.value.same != 0) fail("same: is for --arg; a variable is no parameter");
      const std::uint64_t bytes =
          argument.value.is_buffer ? argument.value.bytes : argument.value.scalar.size();
      if (argument.value.is_buffer && argument.value.content.empty() && argument.value.output_path.empty() &&
          bytes <= symbol->bytes) {
        argument.value.content.assign(bytes, '\0');  // `zero` for a variable that has an initial value
      }
      if (bytes > symbol->bytes) {
        fail(fmt::format("the variable has {} bytes; this has {}", symbol->bytes, bytes));
      }
      if (!argument.value.output_path.empty() && symbol->kind == isa::Symbol::Kind::Const) {
        fail("a constant cannot change; give it a value, or in:FILE");
      }
      inputs_.add(argument.name);
      hash(argument.value);
      note_output(argument.value);
      program_.symbols.push_back(std::move(argument));
    }
  }

  /// Sets the stream of the next launch, and the earlier launches that it waits for.
  void order(const FileKernelSpec& spec, PreparedProgram::Launch& launch) {
    if (spec.stream >= kMostStreams) {
      throw UserError(
          fmt::format("{}: stream {} is not one of 0 to {}", spec.text, spec.stream, kMostStreams - 1));
    }
    const auto known = std::find(streams_.begin(), streams_.end(), spec.stream);
    launch.spec.stream = static_cast<runtime::StreamId>(known - streams_.begin());
    if (known == streams_.end()) streams_.push_back(spec.stream);
    program_.streams = static_cast<std::uint32_t>(streams_.size());
    for (const std::uint64_t number : spec.after) {
      if (number == 0 || number > program_.launches.size()) {
        throw UserError(fmt::format("{}: 'after' {} is no earlier launch; the first is 1, and this is {}",
                                    spec.text, number, program_.launches.size() + 1));
      }
      launch.after.push_back(number - 1);
    }
    inputs_.add(launch.spec.stream);
    inputs_.add(spec.after.size());
    for (const std::uint64_t number : spec.after) inputs_.add(number);
  }

  const FileProgramSpec& spec_;
  PreparedProgram program_;
  std::vector<std::shared_ptr<const emulator::CompiledModule>> compiled_;  // by index in program_.modules
  std::vector<std::string> names_;                                         // of the named buffers, first
  std::vector<std::uint64_t> streams_ = {0};                               // as in the launches
  std::uint64_t buffer_bytes_ = 0;
  std::string identity_;
  ContentHash inputs_;
};

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
  const auto refuse = [&](const char* why) {
    std::error_code ignored;
    const std::string file(path);
    throw UserError({file}, std::filesystem::exists(file, ignored) ? why : "does not exist");
  };
  if (ends(".cu")) refuse("is CUDA source; `nvcc -ptx -arch=sm_75 -lineinfo` makes PTX of it");
  for (const char* ending : {".cubin", ".fatbin", ".o", ".so", ".exe"}) {
    if (ends(ending)) refuse("is compiled code; `cuobjdump -ptx` prints the PTX that it may hold");
  }
}

FileProgram file_program(const FileProgramSpec& spec) { return Reader(spec).read(); }

FileProgram file_kernel(const FileKernelSpec& spec) {
  FileProgramSpec program;
  program.text = spec.text;
  program.folder = spec.folder;
  program.launches = {spec};
  return file_program(program);
}

}  // namespace gpumux::experiment
