#include "experiment/file_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "emulator/program.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::experiment {
namespace {

enum class Number : std::uint8_t { I8, U8, I16, U16, I32, U32, I64, U64, F32, F64 };

struct NumberInfo {
  const char* name;
  Number number;
  std::uint32_t bytes;
};
constexpr std::array<NumberInfo, 10> kNumbers = {{{"i8", Number::I8, 1},
                                                  {"u8", Number::U8, 1},
                                                  {"i16", Number::I16, 2},
                                                  {"u16", Number::U16, 2},
                                                  {"i32", Number::I32, 4},
                                                  {"u32", Number::U32, 4},
                                                  {"i64", Number::I64, 8},
                                                  {"u64", Number::U64, 8},
                                                  {"f32", Number::F32, 4},
                                                  {"f64", Number::F64, 8}}};

const NumberInfo* find_number(std::string_view name) {
  for (const NumberInfo& info : kNumbers) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

bool is_float(const NumberInfo& info) { return info.number == Number::F32 || info.number == Number::F64; }

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Appends the bytes of a number; false when the text is none, or it does not fit the type.
bool append_number(std::string& bytes, const NumberInfo& info, std::string_view text) {
  const auto float_number = [&](auto zero) {
    decltype(zero) value{};
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // from_chars reports overflow; inf and nan are read as such.
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    append(bytes, value);
    return true;
  };
  const auto integer = [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_signed_v<T>) {
      const std::optional<std::int64_t> value = parse_int(text);
      if (!value || !std::in_range<T>(*value)) return false;
      append(bytes, static_cast<T>(*value));
    } else {
      const std::optional<std::uint64_t> value = parse_uint(text);
      if (!value || !std::in_range<T>(*value)) return false;
      append(bytes, static_cast<T>(*value));
    }
    return true;
  };
  switch (info.number) {
    case Number::I8: return integer(std::int8_t{});
    case Number::U8: return integer(std::uint8_t{});
    case Number::I16: return integer(std::int16_t{});
    case Number::U16: return integer(std::uint16_t{});
    case Number::I32: return integer(std::int32_t{});
    case Number::U32: return integer(std::uint32_t{});
    case Number::I64: return integer(std::int64_t{});
    case Number::U64: return integer(std::uint64_t{});
    case Number::F32: return float_number(float{});
    case Number::F64: return float_number(double{});
  }
  return false;
}

template <typename T>
std::string number_lines(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    // The shortest text that reads back to the same value. Characters are numbers here.
    if constexpr (sizeof(T) == 1) {
      out += fmt::format("{}\n", static_cast<int>(value));
    } else {
      out += fmt::format("{}\n", value);
    }
  }
  return out;
}

std::string to_lines(const NumberInfo& info, std::string_view bytes) {
  switch (info.number) {
    case Number::I8: return number_lines<std::int8_t>(bytes);
    case Number::U8: return number_lines<std::uint8_t>(bytes);
    case Number::I16: return number_lines<std::int16_t>(bytes);
    case Number::U16: return number_lines<std::uint16_t>(bytes);
    case Number::I32: return number_lines<std::int32_t>(bytes);
    case Number::U32: return number_lines<std::uint32_t>(bytes);
    case Number::I64: return number_lines<std::int64_t>(bytes);
    case Number::U64: return number_lines<std::uint64_t>(bytes);
    case Number::F32: return number_lines<float>(bytes);
    case Number::F64: return number_lines<double>(bytes);
  }
  return {};
}

std::string from_lines(const NumberInfo& info, const std::string& path, const std::string& text) {
  std::string bytes;
  std::uint32_t line = 0;
  for (const std::string& row : split(text, '\n')) {
    ++line;
    const std::string_view number = trim(row);
    if (number.empty()) continue;
    if (!append_number(bytes, info, number)) {
      throw UserError({path, line, 1}, fmt::format("'{}' is no {}; one number per line", number, info.name));
    }
  }
  return bytes;
}

bool is_text_file(std::string_view path) { return path.ends_with(".txt"); }

/// One argument, checked.
struct Argument {
  std::string scalar;       // the bytes of a scalar or structure; empty for a buffer
  std::string content;      // of a buffer at the start; empty: zeroes
  std::uint64_t bytes = 0;  // of a buffer
  bool is_buffer = false;
  std::string output_path;  // empty: not written
  const NumberInfo* type = nullptr;
};

[[noreturn]] void bad_argument(std::string_view text, const std::string& why) {
  throw UserError(fmt::format("--arg {}: {}", text, why));
}

/// "TYPE[N]", "TYPE" or "" as the left side of a buffer.
struct Shape {
  const NumberInfo* type = nullptr;
  std::optional<std::uint64_t> elements;
};

constexpr std::uint64_t kMaxElements = 1ULL << 32U;

/// Nothing when the text is no shape (it is part of a file's name then).
std::optional<Shape> parse_shape(std::string_view text) {
  Shape shape;
  const std::size_t bracket = text.find('[');
  shape.type = find_number(text.substr(0, bracket));
  if (shape.type == nullptr) return std::nullopt;
  if (bracket == std::string_view::npos) return shape;
  if (!text.ends_with(']')) return std::nullopt;
  shape.elements = parse_uint(text.substr(bracket + 1, text.size() - bracket - 2));
  if (!shape.elements || *shape.elements == 0 || *shape.elements > kMaxElements) return std::nullopt;
  return shape;
}

constexpr const char* kTypes = "i8, u8, i16, u16, i32, u32, i64, u64, f32, f64";

class ArgumentReader {
 public:
  explicit ArgumentReader(const std::string& folder) : folder_(folder) {}

  Argument read(const std::string& text) const {
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    static const std::vector<std::string> kKinds = {"i8",  "u8",    "i16", "u16",  "i32",
                                                    "u32", "i64",   "u64", "f32",  "f64",
                                                    "in",  "inout", "out", "zero", "bytes"};
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      bad_argument(text, unknown_choice("kind of argument", kind, kKinds));
    }
    if (rest.empty()) {
      bad_argument(text, fmt::format("a value must follow '{}:', such as i32:5 or in:FILE", kind));
    }
    if (const NumberInfo* type = find_number(kind)) return scalar(text, *type, rest);
    if (kind == "bytes") {
      Argument argument;
      argument.scalar = read_file(resolve(rest));
      return argument;
    }
    return buffer(text, kind, rest);
  }

 private:
  static Argument scalar(const std::string& text, const NumberInfo& type, const std::string& value) {
    Argument argument;
    argument.type = &type;
    if (!append_number(argument.scalar, type, value)) {
      bad_argument(text, fmt::format("'{}' is no {}", value, type.name));
    }
    return argument;
  }

  Argument buffer(const std::string& text, const std::string& kind, const std::string& rest) const {
    Argument argument;
    argument.is_buffer = true;
    const std::size_t equals = rest.find('=');
    std::optional<Shape> shape = parse_shape(rest.substr(0, equals));
    std::string file;
    if (shape) {
      if (equals != std::string::npos) file = rest.substr(equals + 1);
    } else {
      if (rest.find('[') < equals && equals != std::string::npos) {
        bad_argument(text, fmt::format("'{}' is no TYPE[N]; TYPE is one of {}, N 1 to {}",
                                       rest.substr(0, equals), kTypes, kMaxElements));
      }
      file = rest;
    }
    argument.type = shape ? shape->type : nullptr;

    if (kind == "zero" || kind == "out") {
      if (!shape || !shape->elements || (kind == "zero") != file.empty()) {
        bad_argument(text, fmt::format("write {}; TYPE is one of {}, N 1 to {}",
                                       kind == "zero" ? "zero:TYPE[N], such as zero:f32[4096]"
                                                      : "out:TYPE[N]=FILE, such as out:f32[4096]=y.bin",
                                       kTypes, kMaxElements));
      }
      argument.bytes = *shape->elements * shape->type->bytes;
      if (kind == "out") argument.output_path = resolve(file);
      return argument;
    }
    std::string input = file;
    if (kind == "inout") {
      const std::size_t comma = file.rfind(',');
      if (comma == std::string::npos || comma == 0 || comma + 1 == file.size()) {
        bad_argument(text, "write inout:TYPE[N]=IN,OUT with two file names");
      }
      input = file.substr(0, comma);
      argument.output_path = resolve(file.substr(comma + 1));
      if (is_text_file(argument.output_path) && !shape) {
        bad_argument(text, "a .txt file holds numbers and needs their type: inout:TYPE=IN,OUT");
      }
    }
    if (input.empty()) bad_argument(text, "a file name must follow, such as in:x.bin or in:f32=x.txt");
    argument.content = read_input(text, resolve(input), shape);
    argument.bytes = argument.content.size();
    return argument;
  }

  static std::string read_input(const std::string& text, const std::string& path,
                                const std::optional<Shape>& shape) {
    std::string content = read_file(path);
    if (is_text_file(path)) {
      if (!shape) bad_argument(text, "a .txt file holds numbers and needs their type, such as in:f32=x.txt");
      content = from_lines(*shape->type, path, content);
    }
    if (content.empty()) throw UserError({path}, "is empty; a buffer has at least one element");
    if (shape && content.size() % shape->type->bytes != 0) {
      throw UserError({path},
                      fmt::format("has {} bytes, no whole number of {}", content.size(), shape->type->name));
    }
    if (shape && shape->elements && content.size() != *shape->elements * shape->type->bytes) {
      throw UserError(
          {path}, fmt::format("has {} elements of {}; --arg {} says {}", content.size() / shape->type->bytes,
                              shape->type->name, text, *shape->elements));
    }
    return content;
  }

  [[nodiscard]] std::string resolve(const std::string& path) const {
    if (folder_.empty() || path.starts_with('/')) return path;
    return (std::filesystem::path(folder_) / path).string();
  }

  const std::string& folder_;
};

/// Throws unless the argument can be passed as this parameter.
void check_parameter(const std::string& what, std::size_t index, const std::string& text,
                     const Argument& argument, const isa::Param& param) {
  const auto mismatch = [&](const std::string& why) {
    bad_argument(text, fmt::format("{}: parameter {} ({}, {}) {}", what, index + 1, param.name,
                                   param.is_array ? fmt::format("{} bytes by value", param.bytes)
                                                  : fmt::format(".{}", isa::name(param.type)),
                                   why));
  };
  if (argument.is_buffer) {
    if (param.is_array || param.bytes != 8 || isa::is_float(param.type)) mismatch("is no pointer");
    return;
  }
  if (argument.scalar.size() != param.bytes) {
    mismatch(fmt::format("has {} bytes; this argument has {}", param.bytes, argument.scalar.size()));
  }
  if (argument.type == nullptr || param.is_array) return;
  const bool untyped = param.type == isa::Type::B8 || param.type == isa::Type::B16 ||
                       param.type == isa::Type::B32 || param.type == isa::Type::B64;
  if (untyped || is_float(*argument.type) == isa::is_float(param.type)) return;
  mismatch(isa::is_float(param.type) ? "is a floating-point number; this argument is an integer"
                                     : "is an integer; this argument is a floating-point number");
}

/// What create() needs, shared by all instances.
struct Prepared {
  std::string path;
  std::string ptx;
  std::string kernel;
  std::string text;
  runtime::LaunchSpec launch;
  std::vector<Argument> arguments;
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
    std::vector<Address> buffers(p.arguments.size(), 0);
    for (std::size_t i = 0; i < p.arguments.size(); ++i) {
      const Argument& argument = p.arguments[i];
      std::string bytes = argument.scalar;
      if (argument.is_buffer) {
        buffers[i] = host.malloc_bytes(argument.bytes);
        // New memory of a device is zeroed.
        if (!argument.content.empty()) {
          host.copy_to_device(buffers[i], std::as_bytes(std::span(argument.content)), 0);
        }
        append(bytes, buffers[i]);
      }
      std::copy(bytes.begin(), bytes.end(), parameters.begin() + p.params[i].offset);
    }
    host.launch_raw(module, p.kernel, p.launch, std::move(parameters));
    std::vector<std::string> results(p.arguments.size());
    for (std::size_t i = 0; i < p.arguments.size(); ++i) {
      if (p.arguments[i].output_path.empty()) continue;
      results[i].resize(p.arguments[i].bytes);
      host.copy_from_device(std::as_writable_bytes(std::span(results[i])), buffers[i], 0);
    }
    co_await host.synchronize();
    keep(results);
    for (const Address buffer : buffers) {
      if (buffer != 0) host.free(buffer);
    }
  }

 private:
  /// The first run that ends gives the outputs; later ones repeat it.
  void keep(const std::vector<std::string>& results) const {
    KernelOutputs& outputs = *prepared_->outputs;
    if (outputs.complete) return;
    outputs.complete = true;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Argument& argument = prepared_->arguments[i];
      if (argument.output_path.empty()) continue;
      const bool lines = is_text_file(argument.output_path);
      outputs.files.push_back(
          {argument.output_path, lines ? to_lines(*argument.type, results[i]) : results[i]});
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

FileKernel file_kernel(const FileKernelSpec& spec) {
  const auto fail = [&](const std::string& message) { throw UserError(spec.text + ": " + message); };
  auto prepared = std::make_shared<Prepared>();
  Prepared& p = *prepared;
  p.path = spec.path;
  p.kernel = spec.kernel;
  p.text = spec.text;
  p.ptx = read_file(spec.path);
  const auto module = emulator::compile_module(p.ptx, spec.path, {});
  const auto found = module->kernels.find(spec.kernel);
  if (found == module->kernels.end()) {
    std::vector<std::string> known;
    for (const auto& [name, info] : module->kernels) known.push_back(name);
    throw UserError({spec.path}, unknown_choice("kernel", spec.kernel, known));
  }
  const isa::Function& function = found->second.code;
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
  // The kernel's own variables and the spaces between buffers need a little too.
  constexpr std::uint64_t kMaxBufferBytes = workload::DeviceMemory::kReservedBytes - (1ULL << 30U);
  std::uint64_t buffer_bytes = 0;
  const ArgumentReader reader(spec.folder);
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    p.arguments.push_back(reader.read(spec.args[i]));
    const Argument& argument = p.arguments.back();
    check_parameter(spec.text, i, spec.args[i], argument, p.params[i]);
    inputs.add(argument.is_buffer ? 1 : 0);
    inputs.add(argument.scalar);
    inputs.add(argument.content);
    inputs.add(argument.bytes);
    buffer_bytes += argument.bytes;
    if (buffer_bytes > kMaxBufferBytes) {
      bad_argument(spec.args[i], fmt::format("the buffers so far have {} bytes; the device's memory holds {}",
                                             buffer_bytes, kMaxBufferBytes));
    }
    if (argument.output_path.empty()) continue;
    p.outputs->paths.push_back(argument.output_path);
  }

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
