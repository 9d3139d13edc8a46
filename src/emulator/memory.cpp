// Loads, stores and prefetches in all state spaces.
#include "emulator/addresses.hpp"

#include <algorithm>

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using workload::MemHeader;

template <u32 Bytes>
using Element =
    std::conditional_t<Bytes == 1, u8,
                       std::conditional_t<Bytes == 2, u16, std::conditional_t<Bytes == 4, u32, u64>>>;

/// Host addresses of an access's elements: Flat for global memory, shared memory or a constant bank, which
/// are contiguous, and Interleaved for local memory.
struct Flat {
  std::uintptr_t origin;  // host address of the space's address 0
  explicit Flat(const std::byte* first, u64 first_address = 0)
      : origin(reinterpret_cast<std::uintptr_t>(first) - first_address) {}
  [[nodiscard]] std::byte* at(u32, u64 address) const {
    return reinterpret_cast<std::byte*>(origin + address);
  }
  template <class T>
  [[nodiscard]] T load(u32 lane, u64 address) const {
    T value;
    std::memcpy(&value, at(lane, address), sizeof(T));
    return value;
  }
  template <class T>
  void store(u32 lane, u64 address, T value) const {
    std::memcpy(at(lane, address), &value, sizeof(T));
  }
};
struct Interleaved {
  u32* words;
  template <class T>
  [[nodiscard]] T load(u32 lane, u64 address) const {
    T value;
    read_local(words, lane, address, &value, sizeof(T));
    return value;
  }
  template <class T>
  void store(u32 lane, u64 address, T value) const {
    write_local(words, lane, address, &value, sizeof(T));
  }
};

/// Writes one row of loaded elements to destination `which`, extended to the register's width.
template <u32 Bytes>
void put_element(Warp& warp, const Op& op, u32 which, const Element<Bytes>* value, LaneMask lanes) {
  const Operand& dst = op.inst->dst[which];
  const bool extend = isa::is_signed(op.inst->type);
  if (dst.kind == Operand::Kind::Reg64) {
    if constexpr (Bytes == 8) {
      merge(warp.dst<u64>(op, which), value, lanes);
    } else {
      using Signed = std::make_signed_t<Element<Bytes>>;
      alignas(64) u64 wide[kWarpSize];
      for (u32 i = 0; i < kWarpSize; ++i) {
        wide[i] = extend ? static_cast<u64>(static_cast<i64>(static_cast<Signed>(value[i]))) : u64{value[i]};
      }
      merge(warp.dst<u64>(op, which), wide, lanes);
    }
    return;
  }
  if constexpr (Bytes == 4) {
    merge(warp.dst<u32>(op, which), value, lanes);
  } else if constexpr (Bytes < 4) {
    using Signed = std::make_signed_t<Element<Bytes>>;
    alignas(64) u32 wide[kWarpSize];
    for (u32 i = 0; i < kWarpSize; ++i) {
      wide[i] = extend ? static_cast<u32>(i32{static_cast<Signed>(value[i])}) : u32{value[i]};
    }
    merge(warp.dst<u32>(op, which), wide, lanes);
  } else if (dst.kind != Operand::Kind::None) {
    throw InternalError("a 64-bit load into a 32-bit register");
  }
}

/// Reads one row of elements to be stored.
template <u32 Bytes>
void take_element(const Warp& warp, const Op& op, u32 which, Element<Bytes>* value) {
  const Operand& source = op.inst->src[1 + which];
  const bool wide_row = Bytes == 8 || source.kind == Operand::Kind::Reg64;
  if (wide_row) {
    const auto* from = warp.src<u64>(op, 1 + which);
    for (u32 i = 0; i < kWarpSize; ++i) value[i] = static_cast<Element<Bytes>>(from[i]);
  } else {
    const auto* from = warp.src<u32>(op, 1 + which);
    for (u32 i = 0; i < kWarpSize; ++i) value[i] = static_cast<Element<Bytes>>(from[i]);
  }
}

/// Moves the data of a checked access. `lanes` are active, other lanes repeat an active address.
template <u32 Bytes, u32 Elements, class Place>
void load_data(Warp& warp, const Op& op, const Addresses& a, LaneMask lanes, const Place& place) {
  using E = Element<Bytes>;
  alignas(64) E value[kWarpSize];
  if constexpr (Elements == 1 && std::is_same_v<Place, Flat>) {
    if (lanes == kAllLanes && a.consecutive(Bytes)) {
      std::memcpy(value, place.at(0, a.first), sizeof(value));
      put_element<Bytes>(warp, op, 0, value, lanes);
      return;
    }
  }
  if constexpr (std::is_same_v<Place, Interleaved> && Bytes == 4) {
    if (a.uniform()) {  // a spilled register: one row
      for (u32 e = 0; e < Elements; ++e) {
        std::memcpy(value, place.words + (a.first / 4 + e) * kWarpSize, sizeof(value));
        put_element<Bytes>(warp, op, e, value, lanes);
      }
      return;
    }
  }
  const bool same = std::is_same_v<Place, Flat> && a.uniform();
  for (u32 e = 0; e < Elements; ++e) {
    if (same) {
      std::fill_n(value, kWarpSize, place.template load<E>(0, a.first + e * Bytes));
    } else {
      for (u32 i = 0; i < kWarpSize; ++i) value[i] = place.template load<E>(i, a.at[i] + e * Bytes);
    }
    put_element<Bytes>(warp, op, e, value, lanes);
  }
}

template <u32 Bytes, u32 Elements, class Place>
void store_data(Warp& warp, const Op& op, const Addresses& a, LaneMask lanes, const Place& place) {
  using E = Element<Bytes>;
  alignas(64) E value[kWarpSize];
  if constexpr (Elements == 1 && std::is_same_v<Place, Flat>) {
    if (lanes == kAllLanes && a.consecutive(Bytes)) {
      take_element<Bytes>(warp, op, 0, value);
      std::memcpy(place.at(0, a.first), value, sizeof(value));
      return;
    }
  }
  if constexpr (std::is_same_v<Place, Interleaved> && Bytes == 4) {
    if (a.uniform()) {
      for (u32 e = 0; e < Elements; ++e) {
        take_element<Bytes>(warp, op, e, value);
        merge(place.words + (a.first / 4 + e) * kWarpSize, value, lanes);
      }
      return;
    }
  }
  for (u32 e = 0; e < Elements; ++e) {
    take_element<Bytes>(warp, op, e, value);
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {  // in lane order: the highest lane wins
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      place.template store<E>(lane, a.at[lane] + e * Bytes, value[lane]);
    }
  }
}

template <u32 Bytes, u32 Elements, bool Store, class Place>
void move_data(Warp& warp, const Op& op, const Addresses& a, LaneMask lanes, const Place& place) {
  if constexpr (Store) {
    store_data<Bytes, Elements>(warp, op, a, lanes, place);
  } else {
    load_data<Bytes, Elements>(warp, op, a, lanes, place);
  }
}

Flat global_place(const Warp& warp) {
  const workload::DeviceMemory& memory = warp.block->memory();
  return Flat(memory.host(memory.base()), memory.base());
}

template <bool Store>
constexpr AccessKind kKind = Store ? AccessKind::Write : AccessKind::Read;

template <u32 Bytes, u32 Elements, bool Store>
void access_global(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr u32 kTotal = Bytes * Elements;
  Addresses a;
  make_addresses(a, warp, op, lanes);
  check_global(a, warp, lanes, kTotal, kTotal, kKind<Store>);
  record_global(warp, a, lanes, kTotal);
  move_data<Bytes, Elements, Store>(warp, op, a, lanes, global_place(warp));
}

template <u32 Bytes, u32 Elements, bool Store>
void access_shared(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr u32 kTotal = Bytes * Elements;
  Addresses a;
  make_addresses(a, warp, op, lanes);
  check_bounded(a, warp, lanes, kTotal, kTotal, kKind<Store>, Space::Shared,
                warp.block->launch().shared_bytes);
  record_shared(warp, a, lanes, kTotal, false);
  move_data<Bytes, Elements, Store>(warp, op, a, lanes, Flat(warp.block->shared()));
}

template <u32 Bytes, u32 Elements, bool Store>
void access_local(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr u32 kTotal = Bytes * Elements;
  Addresses a;
  make_addresses(a, warp, op, lanes);
  check_bounded(a, warp, lanes, kTotal, kTotal, kKind<Store>, Space::Local,
                u64{warp.block->launch().local_words} * 4);
  record_local(warp, a, lanes, kTotal);
  move_data<Bytes, Elements, Store>(warp, op, a, lanes, Interleaved{warp.block->local(warp.index)});
}

template <u32 Bytes, u32 Elements, bool FromParameters>
void access_constant(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr u32 kTotal = Bytes * Elements;
  Addresses a;
  make_addresses(a, warp, op, lanes);
  const std::string& bank =
      FromParameters ? warp.block->launch().config.parameters : warp.block->module().const_bank;
  check_bounded(a, warp, lanes, kTotal, kTotal, AccessKind::Read,
                FromParameters ? Space::Param : Space::Const, bank.size());
  record_constant(
      warp, a, lanes, kTotal,
      FromParameters ? warp.block->launch().parameter_address : warp.block->module().const_address);
  load_data<Bytes, Elements>(warp, op, a, lanes, Flat(reinterpret_cast<const std::byte*>(bank.data())));
}

// A generic access uses the space of each lane's address. Its record has the global lanes if there are any,
// otherwise the local lanes, otherwise the shared or constant lanes.
template <u32 Bytes, u32 Elements, bool Store>
void access_generic(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr u32 kTotal = Bytes * Elements;
  Addresses a;
  make_addresses(a, warp, op, lanes);
  GenericParts parts;
  LaneMask left = lanes;
  const bool all_global = a.ceiling() < kFirstWindow;
  bool recorded = false;
  if (all_global) {
    check_global(a, warp, lanes, kTotal, kTotal, kKind<Store>);
    record_global(warp, a, lanes, kTotal);
    move_data<Bytes, Elements, Store>(warp, op, a, lanes, global_place(warp));
    return;
  }
  if (const LaneMask some = parts.select(a, lanes, Space::Global); some != 0) {
    check_global(parts.part, warp, some, kTotal, kTotal, kKind<Store>);
    record_global(warp, parts.part, some, kTotal);
    recorded = true;
    move_data<Bytes, Elements, Store>(warp, op, parts.part, some, global_place(warp));
    left &= ~some;
  }
  if (const LaneMask some = parts.select(a, left, Space::Local); some != 0) {
    check_bounded(parts.part, warp, some, kTotal, kTotal, kKind<Store>, Space::Local,
                  u64{warp.block->launch().local_words} * 4);
    if (!recorded) record_local(warp, parts.part, some, kTotal);
    recorded = true;
    move_data<Bytes, Elements, Store>(warp, op, parts.part, some, Interleaved{warp.block->local(warp.index)});
    left &= ~some;
  }
  if (const LaneMask some = parts.select(a, left, Space::Shared); some != 0) {
    check_bounded(parts.part, warp, some, kTotal, kTotal, kKind<Store>, Space::Shared,
                  warp.block->launch().shared_bytes);
    if (!recorded) record_shared(warp, parts.part, some, kTotal, false);
    recorded = true;
    move_data<Bytes, Elements, Store>(warp, op, parts.part, some, Flat(warp.block->shared()));
    left &= ~some;
  }
  for (const Space space : {Space::Const, Space::Param}) {
    const LaneMask some = left == 0 ? 0 : parts.select(a, left, space);
    if (some == 0) continue;
    const bool parameters = space == Space::Param;
    if constexpr (Store) {
      warp.block->fault(warp, static_cast<u32>(std::countr_zero(some)),
                        parameters ? "write to the kernel's parameters" : "write to constant memory");
    } else {
      const ModuleData& module = warp.block->module();
      const LaunchData& launch = warp.block->launch();
      const std::string& bank = parameters ? launch.config.parameters : module.const_bank;
      check_bounded(parts.part, warp, some, kTotal, kTotal, AccessKind::Read, space, bank.size());
      if (!recorded) {
        record_constant(warp, parts.part, some, kTotal,
                        parameters ? launch.parameter_address : module.const_address);
      }
      recorded = true;
      load_data<Bytes, Elements>(warp, op, parts.part, some,
                                 Flat(reinterpret_cast<const std::byte*>(bank.data())));
    }
    left &= ~some;
  }
}

template <u32 Bytes, u32 Elements, bool Store>
Handler of_space(const Instruction& inst) {
  switch (inst.space) {
    case Space::Global: return &access_global<Bytes, Elements, Store>;
    case Space::Shared: return &access_shared<Bytes, Elements, Store>;
    case Space::Local: return &access_local<Bytes, Elements, Store>;
    case Space::Generic: return &access_generic<Bytes, Elements, Store>;
    case Space::Const:
      if constexpr (Store) return nullptr;
      return &access_constant<Bytes, Elements, false>;
    case Space::Param:
      if constexpr (Store) return nullptr;
      return &access_constant<Bytes, Elements, true>;
  }
  return nullptr;
}

template <u32 Bytes, bool Store>
Handler of_elements(const Instruction& inst) {
  switch (inst.vector) {
    case 1: return of_space<Bytes, 1, Store>(inst);
    case 2: return of_space<Bytes, 2, Store>(inst);
    case 4:
      if constexpr (Bytes <= 4) return of_space<Bytes, 4, Store>(inst);
      return nullptr;
    default: return nullptr;
  }
}

template <bool Store>
Handler of_width(const Instruction& inst) {
  switch (isa::width_bits(inst.type)) {
    case 8: return of_elements<1, Store>(inst);
    case 16: return of_elements<2, Store>(inst);
    case 32: return of_elements<4, Store>(inst);
    case 64: return of_elements<8, Store>(inst);
    default: return nullptr;
  }
}

// A prefetch moves no data and never faults. Only lines of allocated global memory are recorded.
void prefetch(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  make_addresses(a, warp, op, lanes);
  translate_host(a, warp, lanes, 1);
  const workload::DeviceMemory& memory = warp.block->memory();
  LaneMask inside = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    if (memory.valid(a.at[lane], 1)) inside |= 1U << lane;
  }
  if (inside == 0) {
    warp.buffer->room(0);
    warp.buffer->keep(MemHeader{});
    return;
  }
  GenericParts parts;
  inside = parts.select(a, inside, Space::Global);
  record_global(warp, parts.part, inside, 1);
}

/// Stores one word for the whole warp. Each SM adds its own offset to the address when the store issues.
void notify(Warp& warp, const Op&, LaneMask) {
  u64* words = warp.buffer->room(1) + 1;
  MemHeader header;
  header.where = MemHeader::Where::Global;
  header.transactions = 1;
  words[0] = workload::Transaction::make(warp.block->memory().notice_address() / kLineBytes, 1, 1).word;
  warp.buffer->keep(header);
}

}  // namespace

Handler select_memory(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Ld: return of_width<false>(inst);
    case Opcode::St: return of_width<true>(inst);
    case Opcode::Prefetch: return &prefetch;
    case Opcode::Notify: return &notify;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
