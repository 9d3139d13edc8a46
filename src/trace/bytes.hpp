// Coding of numbers in the compact form: integers of variable length. Signed integers have the sign in the
// lowest bit (zigzag).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace gpumux::trace {

/// Exception for a damaged compact trace. The caller, who knows the file, converts it to a UserError.
struct CorruptTrace {
  const char* what;
};

inline void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}
inline std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1U) ^ (std::uint64_t{0} - (difference >> 63U));
}
inline std::uint64_t unzigzag(std::uint64_t code) { return (code >> 1U) ^ (std::uint64_t{0} - (code & 1U)); }
/// Appends a signed difference of two numbers modulo 2^64.
inline void put_signed(std::string& out, std::uint64_t difference) { put_varint(out, zigzag(difference)); }
inline void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out += text;
}

/// Bounds-checked reader of bytes. Throws CorruptTrace at the end of the bytes.
class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}
  explicit ByteReader(std::span<const std::uint8_t> bytes)
      : ByteReader(bytes.data(), bytes.data() + bytes.size()) {}

  std::uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return long_varint();
  }
  /// A number of at most `most`, which is safe as an index or a size of an allocation. Throws CorruptTrace
  /// with `what` for a larger one.
  std::uint64_t varint_up_to(std::uint64_t most, const char* what) {
    const std::uint64_t value = varint();
    if (value > most) throw CorruptTrace{what};
    return value;
  }
  std::uint64_t signed_varint() { return unzigzag(varint()); }
  std::uint8_t byte() {
    if (at_ == end_) throw CorruptTrace{"it ends too early"};
    return *at_++;
  }
  std::uint32_t word32() {
    if (left() < 4) throw CorruptTrace{"it ends too early"};
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) value |= std::uint32_t{at_[i]} << (8 * i);
    at_ += 4;
    return value;
  }
  std::span<const std::uint8_t> bytes(std::uint64_t count) {
    if (left() < count) throw CorruptTrace{"it ends too early"};
    const std::span<const std::uint8_t> taken(at_, static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }
  std::string text() {
    const auto taken = bytes(varint());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] bool done() const { return at_ == end_; }
  [[nodiscard]] const std::uint8_t* position() const { return at_; }

 private:
  std::uint64_t long_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) throw CorruptTrace{"it ends too early"};
      const std::uint8_t part = *at_++;
      value |= std::uint64_t{part & 0x7fU} << shift;
      if (part < 0x80) return value;
    }
    throw CorruptTrace{"a number is too long"};
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
};

inline void put_word32(std::string& out, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}
inline void put_word64(std::string& out, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace gpumux::trace
