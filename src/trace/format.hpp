// Constants of the compact form (docs/trace-format.md).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/types.hpp"

namespace gpumux::trace {

inline constexpr std::string_view kMagic{"gpumuxT\1", 8};
/// Bytes of the header: magic, size of the file, checksum of everything after the header, offset of the
/// index.
inline constexpr std::size_t kHeaderBytes = 32;

/// Pages in which addresses of a trace are renumbered, so that they fit into an application's range.
inline constexpr unsigned kPageShift = 32;
inline constexpr unsigned kMostPages = 64;

/// Limits for kernels. A kernel beyond them is an error, so that a damaged file cannot request huge amounts
/// of memory.
inline constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 31U;
inline constexpr std::uint32_t kMostThreads = 1024;
inline constexpr std::uint32_t kMostWarps = kMostThreads / kWarpSize;
inline constexpr std::uint32_t kMostCodeBytes = 1U << 24U;

/// Coding of a warp's memory instructions.
inline constexpr std::uint64_t kNoSequence = 0;      // the warp has none
inline constexpr std::uint64_t kInlineSequence = 1;  // bytes follow; k + 2: those at offset k of the launch

enum class CommandKind : std::uint8_t { Launch, CopyToDevice, CopyFromDevice };

/// A checksum in four lanes of 8 bytes, as fast as memory. The result does not depend on how the bytes are
/// divided among calls of add().
class Checksum {
 public:
  void add(std::string_view bytes) {
    total_ += bytes.size();
    if (pending_ != 0) {
      const std::size_t taken = std::min(bytes.size(), buffer_.size() - pending_);
      std::memcpy(buffer_.data() + pending_, bytes.data(), taken);
      pending_ += taken;
      bytes.remove_prefix(taken);
      if (pending_ < buffer_.size()) return;
      absorb(buffer_.data());
      pending_ = 0;
    }
    for (; bytes.size() >= buffer_.size(); bytes.remove_prefix(buffer_.size())) absorb(bytes.data());
    if (bytes.empty()) return;
    std::memcpy(buffer_.data(), bytes.data(), bytes.size());
    pending_ = bytes.size();
  }
  [[nodiscard]] std::uint64_t value() const {
    Checksum last = *this;
    std::memset(last.buffer_.data() + last.pending_, 0, last.buffer_.size() - last.pending_);
    last.absorb(last.buffer_.data());
    std::uint64_t result = total_ * kPrime;
    for (const std::uint64_t lane : last.lanes_) result = (std::rotl(result, 23) ^ lane) * kPrime;
    return result ^ (result >> 29U);
  }

 private:
  static constexpr std::uint64_t kPrime = 0x9e37'79b1'85eb'ca87ULL;
  void absorb(const char* bytes) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + 8 * i, 8);
      lanes_[i] = std::rotl(lanes_[i] ^ word, 29) * kPrime + i + 1;
    }
  }
  std::array<std::uint64_t, 4> lanes_ = {1, 2, 3, 4};
  std::array<char, 32> buffer_{};
  std::size_t pending_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace gpumux::trace
