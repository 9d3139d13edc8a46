// Services of the run time on the device: printf, assert, malloc and free.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "emulator/addresses.hpp"
#include "emulator/generic_access.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Service;

std::string read_string(const Warp& warp, u32 lane, u64 address) {
  constexpr std::size_t kLongest = 1U << 20U;
  std::string text;
  while (text.size() < kLongest) {
    char c = 0;
    read_generic(warp, lane, address + text.size(), &c, 1);
    if (c == 0) return text;
    text += c;
  }
  warp.block->fault(warp, lane, fmt::format("the string at 0x{:x} does not end", address));
}

/// Reads the arguments of one call. Each has its natural alignment, int has 4 bytes, all others 8.
class ArgumentReader {
 public:
  ArgumentReader(const Warp& warp, u32 lane, u64 base) : warp_(warp), lane_(lane), base_(base) {}
  u64 next(u32 bytes) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    u64 value = 0;
    read_generic(warp_, lane_, base_ + offset_, &value, bytes);
    offset_ += bytes;
    ++count_;
    return value;
  }
  [[nodiscard]] u32 count() const { return count_; }

 private:
  const Warp& warp_;
  u32 lane_;
  u64 base_;
  u64 offset_ = 0;
  u32 count_ = 0;
};

/// One conversion specification, after its '%'.
struct Conversion {
  std::string flags;  // flags, width and precision, with '*' replaced by its value
  std::string length;
  char letter = 0;
};

template <class T>
std::string format_one(const Conversion& c, const char* length, T value) {
  const std::string spec = "%" + c.flags + length + c.letter;
  const int needed = std::snprintf(nullptr, 0, spec.c_str(), value);
  if (needed <= 0) return {};
  std::string text(static_cast<std::size_t>(needed) + 1, '\0');
  std::snprintf(text.data(), text.size(), spec.c_str(), value);
  text.pop_back();
  return text;
}

std::string convert(const Conversion& c, ArgumentReader& arguments, const Warp& warp, u32 lane) {
  const bool wide =
      c.length == "l" || c.length == "ll" || c.length == "j" || c.length == "z" || c.length == "t";
  switch (c.letter) {
    case 'd':
    case 'i': {
      if (wide) return format_one(c, "ll", static_cast<long long>(arguments.next(8)));
      auto value = static_cast<i32>(arguments.next(4));
      if (c.length == "h") value = static_cast<i16>(value);
      if (c.length == "hh") value = static_cast<i8>(value);  // NOLINT(bugprone-signed-char-misuse)
      return format_one(c, "", value);
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      if (wide) return format_one(c, "ll", static_cast<unsigned long long>(arguments.next(8)));
      auto value = static_cast<u32>(arguments.next(4));
      if (c.length == "h") value &= 0xffffU;
      if (c.length == "hh") value &= 0xffU;
      return format_one(c, "", value);
    }
    case 'c': return format_one(c, "", static_cast<int>(arguments.next(4)));
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return format_one(c, "", std::bit_cast<double>(arguments.next(8)));
    case 'p': {
      Conversion as_text{c.flags, "", 's'};
      return format_one(as_text, "", fmt::format("0x{:x}", arguments.next(8)).c_str());
    }
    default: {  // 's'
      const u64 address = arguments.next(8);
      return format_one(c, "", address == 0 ? "(null)" : read_string(warp, lane, address).c_str());
    }
  }
}

/// Formats like the device's printf. `count` receives the number of consumed arguments.
std::string format_message(const Warp& warp, u32 lane, const std::string& format, u64 base, u32& count) {
  constexpr std::string_view kFlags = "-+ #0";
  constexpr std::string_view kLetters = "diuxXocsfFeEgGaAp";
  ArgumentReader arguments(warp, lane, base);
  std::string text;
  std::size_t i = 0;
  while (i < format.size()) {
    if (format[i] != '%') {
      text += format[i++];
      continue;
    }
    const std::size_t begin = i++;
    Conversion c;
    while (i < format.size() && kFlags.find(format[i]) != std::string_view::npos) c.flags += format[i++];
    // Larger widths than the device's buffer would only fill the host's memory.
    const auto number = [&] {
      constexpr std::int64_t kWidestField = 1 << 20;
      std::int64_t value = 0;
      if (i < format.size() && format[i] == '*') {
        ++i;
        value = static_cast<i32>(arguments.next(4));
        c.flags += std::to_string(value);
      } else {
        for (; i < format.size() && std::isdigit(static_cast<unsigned char>(format[i])) != 0; ++i) {
          value = std::min(10 * value + (format[i] - '0'), kWidestField + 1);
          c.flags += format[i];
        }
      }
      if (value > kWidestField || value < -kWidestField) {
        warp.block->fault(
            warp, lane,
            fmt::format("printf with a field wider than the {} bytes of the device's buffer", kWidestField));
      }
    };
    number();
    if (i < format.size() && format[i] == '.') {
      c.flags += format[i++];
      number();
    }
    while (i < format.size() && std::string_view("hlLjzt").find(format[i]) != std::string_view::npos) {
      c.length += format[i++];
    }
    if (i < format.size() && format[i] == '%') {
      text += '%';
      ++i;
      continue;
    }
    if (i == format.size() || kLetters.find(format[i]) == std::string_view::npos) {
      // Invalid conversions are printed unchanged, as on the device.
      text.append(format, begin, i - begin);
      continue;
    }
    c.letter = format[i++];
    text += convert(c, arguments, warp, lane);
  }
  count = arguments.count();
  return text;
}

void print(const Warp& warp, const std::string& text) {
  const ModuleData& module = warp.block->module();
  if (module.sink != nullptr) module.sink->print(module.app, text);
}

void vprintf_service(Warp& warp, const Op& op, LaneMask lanes) {
  const auto* format = warp.src<u64>(op, 0);
  const auto* buffer = warp.src<u64>(op, 1);
  alignas(64) u32 result[kWarpSize] = {};
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    print(warp,
          format_message(warp, lane, read_string(warp, lane, format[lane]), buffer[lane], result[lane]));
  }
  merge(warp.dst<u32>(op), result, lanes);
}

void assert_service(Warp& warp, const Op& op, LaneMask lanes) {
  std::string first;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const std::string message = read_string(warp, lane, warp.src<u64>(op, 0)[lane]);
    const std::string file = read_string(warp, lane, warp.src<u64>(op, 1)[lane]);
    const u32 line = warp.src<u32>(op, 2)[lane];
    const std::string function = read_string(warp, lane, warp.src<u64>(op, 3)[lane]);
    const Dim3 block = warp.block->coordinates();
    const Dim3 thread = warp.block->thread(warp, lane);
    const std::string text =
        fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n", file, line,
                    function, block.x, block.y, block.z, thread.x, thread.y, thread.z, message);
    if (KernelErrors* const errors = warp.block->module().errors; errors != nullptr) {
      errors->assertion(text);
    } else {
      print(warp, text);
    }
    if (first.empty()) first = fmt::format("assertion `{}` failed at {}:{}", message, file, line);
  }
  warp.block->fault(warp, static_cast<u32>(std::countr_zero(lanes)), first, FaultKind::Assertion);
}

// The device's heap is ordinary device memory, so accesses by pointers from malloc are checked like others.
void malloc_service(Warp& warp, const Op& op, LaneMask lanes) {
  alignas(64) u64 result[kWarpSize] = {};
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const u64 bytes = warp.src<u64>(op, 0)[lane];
    try {  // without room: a null pointer, as on the device
      result[lane] = warp.block->memory().allocate_heap(bytes, warp.block->launch().config.heap_bytes);
    } catch (const SimulationFault&) {
      result[lane] = 0;
    }
  }
  merge(warp.dst<u64>(op), result, lanes);
}

void free_service(Warp& warp, const Op& op, LaneMask lanes) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const u64 address = warp.src<u64>(op, 0)[lane];
    if (warp.block->memory().free_heap(address)) continue;
    warp.block->fault(warp, lane,
                      fmt::format("free of 0x{:x}, which is no block of malloc's ({})", address,
                                  warp.block->memory().describe(address)));
  }
}

}  // namespace

Handler select_service(const Instruction& inst) {
  if (inst.op != Opcode::Syscall) return nullptr;
  switch (inst.service) {
    case Service::Vprintf: return &vprintf_service;
    case Service::AssertFail: return &assert_service;
    case Service::Malloc: return &malloc_service;
    case Service::Free: return &free_service;
    default: return select_device_runtime(inst);
  }
}

}  // namespace gpumux::emulator
