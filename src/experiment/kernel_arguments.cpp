#include "experiment/kernel_arguments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace gpumux::experiment {
namespace {

enum class Number : std::uint8_t { I8, U8, I16, U16, I32, U32, I64, U64, F32, F64 };

}  // namespace

struct NumberInfo {
  const char* name;
  Number number;
  std::uint32_t bytes;
};

namespace {
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

/// Appends the bytes of a number; false if `text` is not a number or does not fit the type.
bool append_number(std::string& bytes, const NumberInfo& info, std::string_view text) {
  const auto float_number = [&](auto zero) {
    decltype(zero) value{};
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // from_chars reports overflow, and reads inf and nan as numbers.
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
    // The shortest text that reads back as the same value. Characters are written as numbers.
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

/// The shape before the '=' of a buffer: "TYPE[N]", "TYPE" or "".
struct Shape {
  const NumberInfo* type = nullptr;
  std::optional<std::uint64_t> elements;
};

constexpr std::uint64_t kMaxElements = 1ULL << 32U;
constexpr std::uint64_t kMaxParameters = 4096;

/// Parses a shape; nothing if `text` is not a shape. In that case, the text is part of a file's name.
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
  ArgumentReader(const std::string& option, const std::string& text, const std::string& folder,
                 const std::map<std::string, std::string>& in_memory)
      : option_(option), text_(text), folder_(folder), in_memory_(in_memory) {}

  [[nodiscard]] KernelArgument read() const {
    const std::string& text = text_;
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    static const std::vector<std::string> kKinds = {"i8",  "u8",   "i16",   "u16",  "i32",   "u32",
                                                    "i64", "u64",  "f32",   "f64",  "in",    "inout",
                                                    "out", "zero", "bytes", "same", "buffer"};
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      bad(unknown_choice("kind of argument", kind, kKinds));
    }
    if (rest.empty()) {
      bad(fmt::format("a value must follow '{}:', such as i32:5 or in:FILE", kind));
    }
    if (const NumberInfo* type = find_number(kind)) return scalar(*type, rest);
    if (kind == "bytes") {
      KernelArgument argument;
      argument.scalar = content_of(rest, kMostParameter);
      return argument;
    }
    if (kind == "same") return same(rest);
    if (kind == "buffer") bad("passes a buffer of a program to a kernel; it is no value");
    return buffer(kind, rest);
  }

 private:
  /// Bytes of all parameters of a kernel together on the newest GPUs.
  static constexpr std::uint64_t kMostParameter = 32764;

  [[noreturn]] void bad(const std::string& why) const {
    throw UserError(fmt::format("{} {}: {}", option_, text_, why));
  }

  /// Parses the text after "same:", such as "2" or "2+4096".
  [[nodiscard]] KernelArgument same(const std::string& rest) const {
    const std::size_t plus = rest.find('+');
    const std::optional<std::uint64_t> number = parse_uint(rest.substr(0, plus));
    const std::optional<std::uint64_t> offset =
        plus == std::string::npos ? std::uint64_t{0} : parse_bytes(rest.substr(plus + 1));
    if (!number || *number == 0 || *number > kMaxParameters || !offset) {
      bad("write same:N or same:N+BYTES; argument 1 is the first");
    }
    KernelArgument argument;
    argument.is_buffer = true;
    argument.same = static_cast<std::uint32_t>(*number);
    argument.offset = *offset;
    return argument;
  }

  [[nodiscard]] KernelArgument scalar(const NumberInfo& type, const std::string& value) const {
    KernelArgument argument;
    argument.type = &type;
    if (!append_number(argument.scalar, type, value)) {
      bad(fmt::format("'{}' is no {}", value, type.name));
    }
    return argument;
  }

  [[nodiscard]] KernelArgument buffer(const std::string& kind, const std::string& rest) const {
    KernelArgument argument;
    argument.is_buffer = true;
    const std::size_t equals = rest.find('=');
    std::optional<Shape> shape = parse_shape(rest.substr(0, equals));
    std::string file;
    if (shape) {
      if (equals != std::string::npos) file = rest.substr(equals + 1);
    } else {
      if (rest.find('[') < equals && equals != std::string::npos) {
        bad(fmt::format("'{}' is no TYPE[N]; TYPE is one of {}, N 1 to {}", rest.substr(0, equals), kTypes,
                        kMaxElements));
      }
      file = rest;
    }
    argument.type = shape ? shape->type : nullptr;

    if (kind == "zero" || kind == "out") {
      if (!shape || !shape->elements || (kind == "zero") != file.empty()) {
        bad(fmt::format("write {}; TYPE is one of {}, N 1 to {}",
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
        bad("write inout:TYPE[N]=IN,OUT with two file names");
      }
      input = file.substr(0, comma);
      argument.output_path = resolve(file.substr(comma + 1));
      if (is_text_file(argument.output_path) && !shape) {
        bad("a .txt file holds numbers and needs their type: inout:TYPE=IN,OUT");
      }
    }
    if (input.empty()) bad("a file name must follow, such as in:x.bin or in:f32=x.txt");
    argument.input_path = resolve(input);
    argument.content = read_input(input, shape);
    argument.bytes = argument.content.size();
    return argument;
  }

  [[nodiscard]] std::string content_of(const std::string& file, std::uint64_t most) const {
    const auto found = in_memory_.find(file);
    return found != in_memory_.end() ? found->second : read_file(resolve(file), most);
  }

  [[nodiscard]] std::string read_input(const std::string& file, const std::optional<Shape>& shape) const {
    std::string content = content_of(file, 0);
    const std::string path = resolve(file);
    if (is_text_file(path)) {
      if (!shape) bad("a .txt file holds numbers and needs their type, such as in:f32=x.txt");
      content = from_lines(*shape->type, path, content);
    }
    if (content.empty()) throw UserError({path}, "is empty; a buffer has at least one element");
    if (shape && content.size() % shape->type->bytes != 0) {
      throw UserError({path},
                      fmt::format("has {} bytes, no whole number of {}", content.size(), shape->type->name));
    }
    if (shape && shape->elements && content.size() != *shape->elements * shape->type->bytes) {
      throw UserError({path},
                      fmt::format("has {} elements of {}; {} {} says {}", content.size() / shape->type->bytes,
                                  shape->type->name, option_, text_, *shape->elements));
    }
    return content;
  }

  [[nodiscard]] std::string resolve(const std::string& path) const {
    if (in_memory_.contains(path) || folder_.empty() || path.starts_with('/')) return path;
    return (std::filesystem::path(folder_) / path).string();
  }

  const std::string& option_;
  const std::string& text_;
  const std::string& folder_;
  const std::map<std::string, std::string>& in_memory_;
};

}  // namespace

KernelArgument read_argument(const std::string& option, const std::string& text, const std::string& folder,
                             const std::map<std::string, std::string>& in_memory) {
  return ArgumentReader(option, text, folder, in_memory).read();
}

void check_parameter(const std::string& kernel, std::size_t index, const std::string& text,
                     const KernelArgument& argument, const isa::Param& param) {
  const auto mismatch = [&](const std::string& why) {
    throw UserError(fmt::format("--arg {}: {}: parameter {} ({}, {}) {}", text, kernel, index + 1, param.name,
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

std::string output_content(const KernelArgument& argument, const std::string& bytes) {
  return is_text_file(argument.output_path) ? to_lines(*argument.type, bytes) : bytes;
}

}  // namespace gpumux::experiment
