// Content hashes for caches, and a small deterministic random generator.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpumux {

/// A bit mixer with full avalanche: the finaliser of splitmix64.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d0'49bb'1331'11ebULL;
  return x ^ (x >> 31U);
}

/// A 128-bit content hash for naming cached results. Not cryptographic.
class ContentHash {
 public:
  void add(std::string_view bytes) {
    add(static_cast<std::uint64_t>(bytes.size()));
    for (const char c : bytes) absorb(static_cast<unsigned char>(c));
  }
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) absorb((value >> (8 * i)) & 0xffU);
  }
  /// The hash as 32 hexadecimal digits.
  [[nodiscard]] std::string hex() const {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint64_t half : {mix64(a_ ^ std::rotl(b_, 17)), mix64(b_ + a_)}) {
      for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 0xfU];
    }
    return text;
  }

 private:
  void absorb(std::uint64_t byte) {
    a_ = (a_ ^ byte) * 0x0000'0100'0000'01b3ULL;
    b_ = mix64(b_ ^ (byte + 1));
  }
  std::uint64_t a_ = 0xcbf2'9ce4'8422'2325ULL;
  std::uint64_t b_ = 0x6a09'e667'f3bc'c908ULL;
};

/// A random generator with the same results on every platform, unlike the distributions of <random>. All
/// random inputs come from it.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t next() { return mix64(state_ += 0x9e37'79b9'7f4a'7c15ULL); }
  /// A uniform integer in [0, bound), for bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
  }
  /// A uniform number in [0, 1) of 24 random bits.
  float unit() { return static_cast<float>(next() >> 40U) * 0x1p-24F; }
  float uniform(float low, float high) { return low + (high - low) * unit(); }

 private:
  std::uint64_t state_;
};

}  // namespace gpumux
