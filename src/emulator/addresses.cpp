#include "emulator/addresses.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "workload/atomic_rounds.hpp"
#include "workload/shared_banks.hpp"

namespace gpumux::emulator {
namespace {

using workload::MemHeader;
using workload::Transaction;

void finish(Addresses& a, LaneMask lanes) {
  const u64 first = a.at[std::countr_zero(lanes) & 31];
  if (lanes != kAllLanes) {
    for (u32 i = 0; i < kWarpSize; ++i) a.at[i] = (lanes & (1U << i)) != 0 ? a.at[i] : first;
  }
  // Larger strides do not count as regular, because addresses could wrap around 64 bits.
  constexpr u64 kFar = u64{1} << 40U;
  const u64 stride = a.at[1] - a.at[0];
  u64 irregular = (a.at[2] - a.at[1]) ^ stride;
  irregular |= (a.at[3] - a.at[2]) ^ stride;
  for (u32 i = 0; i + 4 < kWarpSize; ++i) irregular |= (a.at[i + 4] - a.at[i]) ^ (4 * stride);
  a.first = first;
  a.stride = stride;
  a.regular = irregular == 0 && stride + kFar < 2 * kFar;
  if (a.regular) {
    a.spread = a.at[0] ^ a.at[kWarpSize - 1];
    a.bits = first | stride;
    return;
  }
  u64 spread = 0;
  for (u32 i = 0; i < kWarpSize; ++i) spread |= a.at[i] ^ first;
  a.spread = spread;
  a.bits = first | spread;
}

const char* verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::Read: return "read";
    case AccessKind::Write: return "write";
    case AccessKind::Atomic: return "atomic access";
  }
  return "access";
}

std::string count_bytes(u64 bytes) { return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s"); }

template <class Valid, class Describe>
void find_fault(const Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes, u32 align,
                AccessKind kind, const char* space, Valid valid, Describe describe) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const u64 at = addresses.at[lane];
    const auto what = [&] {
      return fmt::format("invalid {} {} of {} at 0x{:x} ({})", space, verb(kind), count_bytes(bytes), at,
                         describe(at));
    };
    if (!valid(lane, at, what)) warp.block->fault(warp, lane, what(), FaultKind::IllegalAddress);
    if ((at & (align - 1)) != 0) {
      warp.block->fault(warp, lane,
                        fmt::format("misaligned {} {} of {} at 0x{:x} (the address must be a multiple of {})",
                                    space, verb(kind), count_bytes(bytes), at, align),
                        FaultKind::MisalignedAddress);
    }
  }
}

/// The lines of an access in the order of their first lane, found by hashing.
class LineSet {
 public:
  explicit LineSet(u64* words) : words_(words) { std::memset(slot_, 0, sizeof(slot_)); }
  void add(u64 line, u32 sectors) {
    u32 probe = static_cast<u32>(line * 0x9e3779b97f4a7c15ULL >> 57U);
    while (slot_[probe] != 0) {
      u64& word = words_[slot_[probe] - 1];
      if (word >> Transaction::kLineShift == line) {
        word = (word + (1U << 4U)) | sectors;
        return;
      }
      probe = (probe + 1) % kSlots;
    }
    slot_[probe] = static_cast<u8>(++count_);
    words_[count_ - 1] = Transaction::make(line, sectors, 1).word;
  }
  [[nodiscard]] u32 count() const { return count_; }

 private:
  static constexpr u32 kSlots = 128;
  u64* words_;
  u32 count_ = 0;
  u8 slot_[kSlots];
};

u32 sector_bit(u64 address) { return 1U << ((address / kSectorBytes) % kSectorsPerLine); }

/// Mask of the sectors from that of byte `first` to that of byte `last`, in one line.
u32 sector_range(u64 first, u64 last) {
  const u32 from = static_cast<u32>((first / kSectorBytes) % kSectorsPerLine);
  const u32 to = static_cast<u32>((last / kSectorBytes) % kSectorsPerLine);
  return ((2U << to) - 1) & ~((1U << from) - 1);
}

u32 lines_of(const Addresses& a, LaneMask lanes, u32 bytes, u64* words) {
  if (a.uniform()) {
    words[0] =
        Transaction::make(a.first / kLineBytes, sector_bit(a.first), static_cast<u32>(std::popcount(lanes)))
            .word;
    return 1;
  }
  if (lanes == kAllLanes && a.consecutive(bytes)) {
    const u64 end = a.at[0] + u64{kWarpSize} * bytes;
    u32 count = 0;
    for (u64 at = a.at[0]; at < end;) {
      const u64 next = std::min(end, (at / kLineBytes + 1) * kLineBytes);
      words[count++] = Transaction::make(at / kLineBytes, sector_range(at, next - 1),
                                         static_cast<u32>((next - at) / bytes))
                           .word;
      at = next;
    }
    return count;
  }
  LineSet set(words);
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u64 at = a.at[std::countr_zero(rest)];
    set.add(at / kLineBytes, sector_bit(at));
  }
  return set.count();
}

}  // namespace

std::pair<u64, u64> Addresses::bounds() const {
  i64 low = static_cast<i64>(first);
  i64 high = low;
  for (u32 i = 0; i < kWarpSize; ++i) {
    const i64 x = static_cast<i64>(at[i]);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  return {static_cast<u64>(low), static_cast<u64>(high)};
}

void finish_addresses(Addresses& addresses, LaneMask lanes) { finish(addresses, lanes); }

void make_addresses(Addresses& addresses, const Warp& warp, const Op& op, LaneMask lanes) {
  const u64 offset = static_cast<u64>(op.offset);
  if (op.inst->src[0].kind == isa::Operand::Kind::Reg32) {  // 32-bit addresses wrap at 2^32
    const auto* base = warp.src<u32>(op, 0);
    const u32 narrow = static_cast<u32>(offset);
    for (u32 i = 0; i < kWarpSize; ++i) addresses.at[i] = base[i] + narrow;
  } else {
    const auto* base = warp.src<u64>(op, 0);
    for (u32 i = 0; i < kWarpSize; ++i) addresses.at[i] = base[i] + offset;
  }
  finish(addresses, lanes);
}

void read_addresses(Addresses& addresses, const Warp& warp, const Op& op, u32 which, LaneMask lanes) {
  std::memcpy(addresses.at, warp.src<u64>(op, which), sizeof(addresses.at));
  finish(addresses, lanes);
}

void translate_host(Addresses& a, const Warp& warp, LaneMask lanes, u32 bytes) {
  const workload::DeviceMemory& memory = warp.block->memory();
  if (!memory.maps_host()) return;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    u64& at = a.at[std::countr_zero(rest)];
    at = memory.translated(at, bytes);
  }
  finish(a, lanes);
}

void check_global(Addresses& a, const Warp& warp, LaneMask lanes, u32 bytes, u32 align, AccessKind kind) {
  const workload::DeviceMemory& memory = warp.block->memory();
  const auto right = [&] {
    if (!a.aligned(align)) return false;
    if (memory.valid_again(a.floor(), a.ceiling() - a.floor() + bytes)) return true;
    const auto [low, high] = a.bounds();
    return high >= low && memory.valid(low, high - low + bytes);
  };
  if (right()) return;
  if (memory.maps_host()) {
    translate_host(a, warp, lanes, bytes);
    if (right()) return;
  }
  find_fault(
      a, warp, lanes, bytes, align, kind, "global",
      [&](u32 lane, u64 at, const auto& what) { return warp.block->may_access(warp, lane, at, bytes, what); },
      [&](u64 at) { return memory.describe(at); });
}

void check_bounded(const Addresses& a, const Warp& warp, LaneMask lanes, u32 bytes, u32 align,
                   AccessKind kind, isa::Space space, u64 size) {
  const auto valid = [&](u64 at) { return at < size && bytes <= size - at; };
  if (a.aligned(align)) {
    if (valid(a.ceiling())) return;
    const auto [low, high] = a.bounds();
    if (valid(low) && valid(high)) return;
  }
  const char* what = space == isa::Space::Shared  ? "shared memory of the block"
                     : space == isa::Space::Local ? "local memory of the thread"
                     : space == isa::Space::Param ? "kernel's parameters"
                                                  : "constant bank";
  const char* name = space == isa::Space::Const || space == isa::Space::Param ? "constant"
                     : space == isa::Space::Local                             ? "local"
                                                                              : "shared";
  if (space == isa::Space::Local) {
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      if (!valid(a.at[lane])) warp.block->check_stack(warp, lane);
    }
  }
  const auto valid_lane = [&](u32 /*lane*/, u64 at, const auto& /*what*/) { return valid(at); };
  find_fault(a, warp, lanes, bytes, align, kind, name, valid_lane, [&](u64 at) {
    if (size == 0) return fmt::format("the {} is empty", what);
    if (at >= size)
      return fmt::format("{} the end of the {}, {}",
                         at == size ? "just after" : count_bytes(at - size) + " after", what,
                         count_bytes(size));
    return fmt::format("reaches beyond the end of the {}, {}", what, count_bytes(size));
  });
}

void record_global(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes,
                   MemHeader::Where where) {
  if (!warp.buffer->used()) return;
  u64* words = warp.buffer->room(kWarpSize) + 1;
  MemHeader header;
  header.where = where;
  header.transactions = static_cast<u16>(lines_of(addresses, lanes, bytes, words));
  as_cached(warp, words, header.transactions);
  warp.buffer->keep(header);
}

void record_atomic(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes) {
  if (!warp.buffer->used()) return;
  u64* words = warp.buffer->room(kWarpSize) + 1;
  MemHeader header;
  header.where = MemHeader::Where::Global;
  header.transactions = static_cast<u16>(lines_of(addresses, lanes, bytes, words));
  const workload::AtomicRounds rounds(addresses.at, lanes);
  for (u32 i = 0; i < header.transactions; ++i) {
    const Transaction line{words[i]};
    words[i] = Transaction::make(line.line(), line.sectors(), line.lanes(), rounds.of_line(line.line())).word;
  }
  as_cached(warp, words, header.transactions);
  warp.buffer->keep(header);
}

void record_local(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes) {
  if (!warp.buffer->used()) return;
  const u32 steps = (bytes + 3) / 4;
  u64* words = warp.buffer->room(kWarpSize * steps) + 1;
  const u64 base = warp.block->local_line(warp.index) / kLineBytes;
  MemHeader header;
  header.where = MemHeader::Where::Local;
  u32 count = 0;
  if (addresses.uniform()) {  // all lanes have the same word, as for spilled registers
    u32 sectors = 0;
    for (u32 sector = 0; sector < 4; ++sector)
      sectors |= ((lanes >> (8 * sector)) & 0xffU) != 0 ? 1U << sector : 0;
    const u32 served = static_cast<u32>(std::popcount(lanes));
    for (; count < steps; ++count) {
      words[count] = Transaction::make(base + addresses.first / 4 + count, sectors, served).word;
    }
  }
  for (u32 step = count; step < steps; ++step) {
    // In frames of one function, all lanes nearly always have the same words.
    const u32 begin = count;
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      const u64 line = base + (addresses.at[lane] + 4 * step) / 4;
      const u32 sectors = 1U << (lane / 8);
      u32 k = begin;
      while (k < count && words[k] >> Transaction::kLineShift != line) ++k;
      if (k == count) {
        words[count++] = Transaction::make(line, sectors, 1).word;
      } else {
        words[k] = (words[k] + (1U << 4U)) | sectors;
      }
    }
  }
  header.transactions = static_cast<u16>(count);
  warp.buffer->keep(header);
}

void record_shared(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes, bool atomic) {
  if (!warp.buffer->used()) return;
  warp.buffer->room(0);
  MemHeader header;
  header.where = MemHeader::Where::Shared;
  header.shared_passes = static_cast<u16>(
      workload::shared_passes(addresses.at, lanes, bytes, atomic, warp.block->launch().config.shared_banks));
  warp.buffer->keep(header);
}

void record_constant(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes, Address bank) {
  if (!warp.buffer->used()) return;
  u32 distinct = 1;
  if (!addresses.uniform()) {
    u64 seen[kWarpSize];
    distinct = 0;
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const u64 at = addresses.at[std::countr_zero(rest)];
      if (std::find(seen, seen + distinct, at) == seen + distinct) seen[distinct++] = at;
    }
  }
  u64* words = warp.buffer->room(kWarpSize) + 1;
  MemHeader header;
  header.where = MemHeader::Where::Constant;
  header.transactions = static_cast<u16>(lines_of(addresses, lanes, bytes, words));
  header.shared_passes = static_cast<u16>(distinct);
  // A bank starts at a line's first byte, so sectors do not change.
  for (u32 i = 0; i < header.transactions; ++i) words[i] += (bank / kLineBytes) << Transaction::kLineShift;
  warp.buffer->keep(header);
}

LaneMask GenericParts::select(const Addresses& all, LaneMask lanes, isa::Space space) {
  LaneMask selected = 0;
  const u64 window = window_of(space);
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    if (space_of(all.at[lane]) == space) selected |= 1U << lane;
    part.at[lane] = all.at[lane] - window;
  }
  if (selected != 0) finish(part, selected);
  return selected;
}

}  // namespace gpumux::emulator
