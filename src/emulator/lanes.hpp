// Loops over 32 lanes that the compiler vectorises, and views that give a register row its type. Included by
// the files that define handlers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/compiler.hpp"
#include "emulator/op.hpp"
#include "emulator/warp.hpp"

namespace gpumux::emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// A view defines how a stored row element (Store) is read as a Value and written back. Narrow values are
// stored zero-extended.
struct ViewU8 {
  using Store = u32;
  using Value = u32;
  static Value get(Store s) { return s & 0xffU; }
  static Store put(Value v) { return v & 0xffU; }
};
struct ViewS8 {
  using Store = u32;
  using Value = i32;
  static Value get(Store s) { return static_cast<i8>(s); }
  static Store put(Value v) { return static_cast<u32>(v) & 0xffU; }
};
struct ViewU16 {
  using Store = u32;
  using Value = u32;
  static Value get(Store s) { return s & 0xffffU; }
  static Store put(Value v) { return v & 0xffffU; }
};
struct ViewS16 {
  using Store = u32;
  using Value = i32;
  static Value get(Store s) { return static_cast<i16>(s); }
  static Store put(Value v) { return static_cast<u32>(v) & 0xffffU; }
};
struct ViewU32 {
  using Store = u32;
  using Value = u32;
  static Value get(Store s) { return s; }
  static Store put(Value v) { return v; }
};
struct ViewS32 {
  using Store = u32;
  using Value = i32;
  static Value get(Store s) { return static_cast<i32>(s); }
  static Store put(Value v) { return static_cast<u32>(v); }
};
struct ViewU64 {
  using Store = u64;
  using Value = u64;
  static Value get(Store s) { return s; }
  static Store put(Value v) { return v; }
};
struct ViewS64 {
  using Store = u64;
  using Value = i64;
  static Value get(Store s) { return static_cast<i64>(s); }
  static Store put(Value v) { return static_cast<u64>(v); }
};
struct ViewF32 {
  using Store = u32;
  using Value = float;
  static Value get(Store s) { return std::bit_cast<float>(s); }
  static Store put(Value v) { return std::bit_cast<u32>(v); }
};
struct ViewF64 {
  using Store = u64;
  using Value = double;
  static Value get(Store s) { return std::bit_cast<double>(s); }
  static Store put(Value v) { return std::bit_cast<u64>(v); }
};

/// Copies the lanes of `lanes` from a temporary row.
template <class T>
inline void merge(T* to, const T* from, LaneMask lanes) {
  if (lanes == kAllLanes) {
    std::memcpy(to, from, sizeof(T) * kWarpSize);
    return;
  }
  GPUMUX_INDEPENDENT_ITERATIONS
  for (u32 i = 0; i < kWarpSize; ++i) to[i] = (lanes & (1U << i)) != 0 ? from[i] : to[i];
}

/// The mask of lanes whose element is not 0.
inline LaneMask to_mask(const u32* flags) {
  LaneMask mask = 0;
  for (u32 i = 0; i < kWarpSize; ++i) mask |= (flags[i] != 0 ? 1U : 0U) << i;
  return mask;
}

/// The value of a lane that may be inactive. For f64, inactive lanes get 1: their registers may hold
/// addresses or integers, which are subnormal doubles and slow on many hosts.
template <class View>
inline typename View::Value masked(const typename View::Store* row, u32 lane, LaneMask lanes) {
  if constexpr (std::is_same_v<typename View::Value, double>) {
    const typename View::Store one = View::put(1);
    return View::get((lanes & (1U << lane)) != 0 ? row[lane] : one);
  }
  return View::get(row[lane]);
}

/// d = F(a), d = F(a, b), d = F(a, b, c) lane by lane. Rows of equal width are either the same or do not
/// overlap. Rows of different widths may overlap in part, so they use a temporary row.
template <class D, class A, auto F>
void map1(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<typename D::Store>(op);
  const auto* a = warp.src<typename A::Store>(op, 0);
  if constexpr (sizeof(typename D::Store) == sizeof(typename A::Store)) {
    if (lanes == kAllLanes) {
      GPUMUX_INDEPENDENT_ITERATIONS
      for (u32 i = 0; i < kWarpSize; ++i) d[i] = D::put(F(A::get(a[i])));
      return;
    }
  }
  alignas(64) typename D::Store result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = D::put(F(masked<A>(a, i, lanes)));
  merge(d, result, lanes);
}

template <class D, class A, class B, auto F>
void map2(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<typename D::Store>(op);
  const auto* a = warp.src<typename A::Store>(op, 0);
  const auto* b = warp.src<typename B::Store>(op, 1);
  constexpr auto kBytes = sizeof(typename D::Store);
  if constexpr (sizeof(typename A::Store) == kBytes && sizeof(typename B::Store) == kBytes) {
    if (lanes == kAllLanes) {
      GPUMUX_INDEPENDENT_ITERATIONS
      for (u32 i = 0; i < kWarpSize; ++i) d[i] = D::put(F(A::get(a[i]), B::get(b[i])));
      return;
    }
  }
  alignas(64) typename D::Store result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) result[i] = D::put(F(masked<A>(a, i, lanes), masked<B>(b, i, lanes)));
  merge(d, result, lanes);
}

template <class D, class A, class B, class C, auto F>
void map3(Warp& warp, const Op& op, LaneMask lanes) {
  auto* d = warp.dst<typename D::Store>(op);
  const auto* a = warp.src<typename A::Store>(op, 0);
  const auto* b = warp.src<typename B::Store>(op, 1);
  const auto* c = warp.src<typename C::Store>(op, 2);
  constexpr auto kBytes = sizeof(typename D::Store);
  if constexpr (sizeof(typename A::Store) == kBytes && sizeof(typename B::Store) == kBytes &&
                sizeof(typename C::Store) == kBytes) {
    if (lanes == kAllLanes) {
      GPUMUX_INDEPENDENT_ITERATIONS
      for (u32 i = 0; i < kWarpSize; ++i) d[i] = D::put(F(A::get(a[i]), B::get(b[i]), C::get(c[i])));
      return;
    }
  }
  alignas(64) typename D::Store result[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i)
    result[i] = D::put(F(masked<A>(a, i, lanes), masked<B>(b, i, lanes), masked<C>(c, i, lanes)));
  merge(d, result, lanes);
}

/// The mask of F(a, b), lane by lane.
template <class A, class B, auto F>
LaneMask compare2(const Warp& warp, const Op& op) {
  const auto* a = warp.src<typename A::Store>(op, 0);
  const auto* b = warp.src<typename B::Store>(op, 1);
  LaneMask mask = 0;
  for (u32 i = 0; i < kWarpSize; ++i) mask |= (F(A::get(a[i]), B::get(b[i])) ? 1U : 0U) << i;
  return mask;
}

// Each file of handlers provides one function: the handler of an instruction, or nullptr if the instruction
// is not of its family or the combination of type and modifiers does not exist.
[[nodiscard]] Handler select_integer(const isa::Instruction& inst);
[[nodiscard]] Handler select_bits(const isa::Instruction& inst);
[[nodiscard]] Handler select_float(const isa::Instruction& inst);
[[nodiscard]] Handler select_half(const isa::Instruction& inst);
[[nodiscard]] Handler select_special_function(const isa::Instruction& inst);
[[nodiscard]] Handler select_compare(const isa::Instruction& inst);
[[nodiscard]] Handler select_convert(const isa::Instruction& inst);
[[nodiscard]] Handler select_move(const isa::Instruction& inst);
[[nodiscard]] Handler select_warp_op(const isa::Instruction& inst);
[[nodiscard]] Handler select_memory(const isa::Instruction& inst);
[[nodiscard]] Handler select_atomic(const isa::Instruction& inst);
[[nodiscard]] Handler select_control(const isa::Instruction& inst);
[[nodiscard]] Handler select_async_copy(const isa::Instruction& inst);
[[nodiscard]] Handler select_mbarrier(const isa::Instruction& inst);
[[nodiscard]] Handler select_texture(const isa::Instruction& inst);
[[nodiscard]] Handler select_surface(const isa::Instruction& inst);
[[nodiscard]] Handler select_matrix(const isa::Instruction& inst);
[[nodiscard]] Handler select_service(const isa::Instruction& inst);
/// The subset of services that are the device run time.
[[nodiscard]] Handler select_device_runtime(const isa::Instruction& inst);

}  // namespace gpumux::emulator
