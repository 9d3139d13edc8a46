// Banks of the L1 data array: the bytes that it reads or writes per cycle.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "arch/config.hpp"
#include "base/types.hpp"

namespace gpumux::sm {

/// A line consists of pieces of bank_bytes, and consecutive pieces are in different banks. A bank reads or
/// writes one piece per cycle. An access takes its pieces in order of address, each as soon as its bank is
/// free. It can start when the bank of its first piece is free.
class L1Banks {
 public:
  static constexpr std::uint32_t kMaxBanks = 32;
  explicit L1Banks(const arch::L1Config& config)
      : banks_(config.banks),
        power_of_two_(std::has_single_bit(config.banks)),
        sectors_per_piece_shift_(static_cast<unsigned>(std::countr_zero(config.bank_bytes / kSectorBytes))) {}

  /// True if an access to these sectors (mask, not 0) of a line can start at `now`.
  [[nodiscard]] bool free(std::uint64_t line, std::uint8_t sectors, Cycle now) const {
    const auto first = static_cast<unsigned>(std::countr_zero(sectors));
    return free_[bank(line, first >> sectors_per_piece_shift_)] <= now;
  }
  /// Cycle in which an access that starts at `now` gets its last piece.
  [[nodiscard]] Cycle last(std::uint64_t line, std::uint8_t sectors, Cycle now) const {
    if (sectors_per_piece_shift_ == kLineShift) return now;
    Cycle last = now;
    for (unsigned left = pieces(sectors); left != 0; left &= left - 1) {
      const auto piece = static_cast<unsigned>(std::countr_zero(left));
      Cycle at = std::max(now, free_[bank(line, piece)]);
      for (unsigned before = piece; before >= banks_;) at += pieces(sectors) >> (before -= banks_) & 1U;
      last = std::max(last, at);
    }
    return last;
  }
  /// Takes the banks for such an access. Returns last().
  Cycle take(std::uint64_t line, std::uint8_t sectors, Cycle now) {
    Cycle last = now;
    for (unsigned left = pieces(sectors); left != 0; left &= left - 1) {
      Cycle& free = free_[bank(line, static_cast<unsigned>(std::countr_zero(left)))];
      const Cycle at = std::max(now, free);
      free = at + 1;
      last = std::max(last, at);
    }
    return last;
  }

 private:
  static constexpr unsigned kLineShift = std::countr_zero(kSectorsPerLine);
  [[nodiscard]] unsigned pieces(std::uint8_t sectors) const {
    if (sectors_per_piece_shift_ == 0) return sectors;
    if (sectors_per_piece_shift_ == kLineShift) return 1;
    return unsigned{(sectors & 0x3U) != 0} | unsigned{(sectors & 0xcU) != 0} << 1U;
  }
  [[nodiscard]] std::size_t bank(std::uint64_t line, unsigned piece) const {
    const std::uint64_t number = (line << (kLineShift - sectors_per_piece_shift_)) + piece;
    return static_cast<std::size_t>(power_of_two_ ? number & (banks_ - 1) : number % banks_);
  }

  std::uint32_t banks_;
  bool power_of_two_;
  unsigned sectors_per_piece_shift_;
  std::array<Cycle, kMaxBanks> free_{};  // first cycle in which a bank takes another piece
};

}  // namespace gpumux::sm
