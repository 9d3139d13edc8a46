// Sets of slots of a core's window, which is a ring.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace gpumux::cpu {

inline constexpr unsigned kSlots = 128;  // slots of the ring, whatever the size of the window
inline constexpr unsigned kNoSlot = kSlots;

struct SlotMask {
  std::array<std::uint64_t, 2> words{};

  [[nodiscard]] bool has(unsigned slot) const { return (words[slot / 64] >> (slot % 64) & 1U) != 0; }
  void add(unsigned slot) { words[slot / 64] |= std::uint64_t{1} << (slot % 64); }
  void remove(unsigned slot) { words[slot / 64] &= ~(std::uint64_t{1} << (slot % 64)); }
  [[nodiscard]] bool empty() const { return (words[0] | words[1]) == 0; }
  friend SlotMask operator|(SlotMask a, const SlotMask& b) {
    a.words[0] |= b.words[0];
    a.words[1] |= b.words[1];
    return a;
  }
  /// The first slot of the set in the ring from `head` on; kNoSlot if the set is empty.
  [[nodiscard]] unsigned oldest(unsigned head) const {
    const unsigned word = head / 64;
    const std::uint64_t from_head = ~std::uint64_t{0} << (head % 64);
    if (const std::uint64_t bits = words[word] & from_head; bits != 0) {
      return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
    }
    if (const std::uint64_t bits = words[1 - word]; bits != 0) {
      return (1 - word) * 64 + static_cast<unsigned>(std::countr_zero(bits));
    }
    if (const std::uint64_t bits = words[word] & ~from_head; bits != 0) {
      return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
    }
    return kNoSlot;
  }
  template <typename F>
  void each(F visit) const {
    for (unsigned word = 0; word < 2; ++word) {
      for (std::uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
        visit(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
      }
    }
  }
};

}  // namespace gpumux::cpu
