#include "emulator/generic_access.hpp"

#include <cstring>
#include <string>

#include <fmt/core.h>

#include "emulator/addresses.hpp"

namespace gpumux::emulator {
namespace {

using isa::Service;
using isa::Space;

const char* caller(Service service) {
  return service == Service::Vprintf      ? "printf"
         : service == Service::AssertFail ? "assert"
                                          : "the device run time";
}

[[noreturn]] void fail(const Warp& warp, u32 lane, u64 address, u32 bytes, const char* what) {
  const Block& block = *warp.block;
  const Service service = block.launch().program->kernel->code.code[warp.pc].service;
  block.fault(warp, lane,
              fmt::format("invalid {} of {} byte{} at 0x{:x} by {} ({})", what, bytes, bytes == 1 ? "" : "s",
                          address, caller(service), block.memory().describe(address)),
              isa::is_device_runtime(service) ? FaultKind::IllegalAddress : FaultKind::Other);
}

/// Computes the offset of the bytes in the thread's local memory. Returns false if they are not there.
bool in_local(const Warp& warp, u64 address, u32 bytes, u64& offset) {
  offset = address - window_of(Space::Local);
  return offset + bytes <= u64{warp.block->launch().local_words} * 4;
}

}  // namespace

void read_generic(const Warp& warp, u32 lane, u64 address, void* to, u32 bytes) {
  Block& block = *warp.block;
  u64 offset = 0;
  switch (space_of(address)) {
    case Space::Shared:
      offset = address - window_of(Space::Shared);
      if (offset + bytes > block.launch().shared_bytes) break;
      std::memcpy(to, block.shared() + offset, bytes);
      return;
    case Space::Local:
      if (!in_local(warp, address, bytes, offset)) break;
      for (u32 i = 0; i < bytes; ++i)
        static_cast<std::byte*>(to)[i] = *local_byte(block.local(warp.index), lane, offset + i);
      return;
    case Space::Const:
      offset = address - kConstWindow;
      if (offset + bytes > block.module().const_bank.size()) break;
      std::memcpy(to, block.module().const_bank.data() + offset, bytes);
      return;
    case Space::Param: {
      const std::string& bank = block.launch().config.parameters;
      offset = address - kParamWindow;
      if (offset + bytes > bank.size()) break;
      std::memcpy(to, bank.data() + offset, bytes);
      return;
    }
    default:
      address = block.memory().translated(address, bytes);
      if (!block.memory().valid(address, bytes)) break;
      std::memcpy(to, block.memory().host(address), bytes);
      return;
  }
  fail(warp, lane, address, bytes, "read");
}

void write_generic(const Warp& warp, u32 lane, u64 address, const void* from, u32 bytes) {
  Block& block = *warp.block;
  u64 offset = 0;
  switch (space_of(address)) {
    case Space::Shared:
      offset = address - window_of(Space::Shared);
      if (offset + bytes > block.launch().shared_bytes) break;
      std::memcpy(block.shared() + offset, from, bytes);
      return;
    case Space::Local:
      if (!in_local(warp, address, bytes, offset)) break;
      for (u32 i = 0; i < bytes; ++i)
        *local_byte(block.local(warp.index), lane, offset + i) = static_cast<const std::byte*>(from)[i];
      return;
    case Space::Const:
    case Space::Param: break;
    default:
      address = block.memory().translated(address, bytes);
      if (!block.memory().valid(address, bytes)) break;
      std::memcpy(block.memory().host(address), from, bytes);
      return;
  }
  fail(warp, lane, address, bytes, "write");
}

}  // namespace gpumux::emulator
