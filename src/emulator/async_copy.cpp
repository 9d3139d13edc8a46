// Copies from global to shared memory without registers (cp.async). Copies are performed at once, which a
// program cannot observe: it may read their destination and change their source only after it has waited for
// them. The timing model computes the duration of the wait (sm/async_copies.hpp).
#include <fmt/core.h>

#include "emulator/addresses.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Space;

void copy(Warp& warp, const Op& op, LaneMask lanes) {
  const Instruction& inst = *op.inst;
  const u32 bytes = inst.vector * isa::width_bytes(inst.type);
  Addresses to;
  make_addresses(to, warp, op, lanes);
  check_bounded(to, warp, lanes, bytes, bytes, AccessKind::Write, Space::Shared,
                warp.block->launch().shared_bytes);

  alignas(64) u32 wanted[kWarpSize];
  const LaneMask ignored = inst.src[3] ? warp.pred(op.pred_src[0]) : 0;
  LaneMask reading = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    wanted[lane] = inst.src[2] ? warp.src<u32>(op, 2)[lane] : bytes;
    if (wanted[lane] > bytes) {
      warp.block->fault(warp, lane,
                        fmt::format("cp.async of {} bytes that reads {} of them", bytes, wanted[lane]));
    }
    if (((ignored >> lane) & 1U) != 0) wanted[lane] = 0;
    reading |= wanted[lane] != 0 ? 1U << lane : 0U;
  }

  Addresses from;
  if (reading != 0) {
    read_addresses(from, warp, op, 1, reading);
    translate_host(from, warp, reading, 1);
  }
  for (LaneMask rest = reading; rest != 0;) {  // nearly always, all lanes read the same number of bytes
    const u32 count = wanted[std::countr_zero(rest)];
    LaneMask alike = 0;
    for (LaneMask left = rest; left != 0; left &= left - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(left));
      alike |= wanted[lane] == count ? 1U << lane : 0U;
    }
    Addresses some;
    read_addresses(some, warp, op, 1, alike);
    check_global(some, warp, alike, count, bytes, AccessKind::Read);
    rest &= ~alike;
  }
  if (reading != 0) {
    record_global(warp, from, reading, bytes);
  } else {
    record_shared(warp, to, lanes, bytes, false);  // writes only zeros
  }
  const workload::DeviceMemory& memory = warp.block->memory();
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {  // in lane order: the highest lane wins
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    std::byte* const at = warp.block->shared() + to.at[lane];
    if (wanted[lane] != 0) std::memcpy(at, memory.host(from.at[lane]), wanted[lane]);
    std::memset(at + wanted[lane], 0, bytes - wanted[lane]);
  }
}

void no_wait(Warp&, const Op&, LaneMask) {}

}  // namespace

Handler select_async_copy(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::CpAsync: return &copy;
    case Opcode::CpAsyncCommit:
    case Opcode::CpAsyncWait: return &no_wait;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
