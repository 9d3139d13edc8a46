// Conversion of records to bytes and back. One description of each kind's fields serves both directions
// (docs/bundles.md).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include "bundle/records.hpp"

namespace gpumux::bundle {

/// Exception for a damaged bundle, or for a record that cannot be written. The caller, who knows the file,
/// converts it to a UserError.
struct Corrupt {
  std::string what;
  std::uint64_t at = 0;  // byte position of the reader
};

inline void put_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
  out.push_back(static_cast<char>(value));
}
template <class Word>
void put_word(std::string& out, Word value) {
  for (std::size_t i = 0; i < sizeof(Word); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

/// Bounds-checked reader of bytes. Throws Corrupt with the byte position.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t position() const { return at_; }
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail(std::string what) const { throw Corrupt{std::move(what), at_}; }
  [[noreturn]] static void fail_at(std::uint64_t at, std::string what) { throw Corrupt{std::move(what), at}; }

  std::uint8_t byte() {
    if (done()) fail("it ends in the middle of a number");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  /// A number of at most `most`. `what` names the number in messages.
  std::uint64_t number(std::uint64_t most, const char* what) {
    const std::uint64_t begin = at_;
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t part = byte();
      const std::uint64_t bits = part & 0x7fU;
      if (shift == 63 && bits > 1) fail_at(begin, "a number has more than 64 bits");
      value |= bits << shift;
      if (part < 0x80) {
        if (part == 0 && shift != 0) fail_at(begin, "a number has more bytes than it needs");
        break;
      }
      if (shift == 63) fail_at(begin, "a number has more than 64 bits");
    }
    if (value > most) fail_at(begin, fmt::format("{} is {}; at most {} is possible", what, value, most));
    return value;
  }
  template <class Word>
  Word word() {
    Word value = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i) value |= static_cast<Word>(Word{byte()} << (8 * i));
    return value;
  }
  std::string_view take(std::uint64_t count, const char* what) {
    if (count > left()) fail(fmt::format("{} has {} bytes, and {} are left", what, count, left()));
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

 private:
  std::string_view bytes_;
  std::uint64_t at_ = 0;
};

/// State that encoder and decoder share to predict the usual next value.
struct CodingState {
  Address base = 0;              // addresses are coded relative to this address
  std::uint32_t next_piece = 0;  // the piece after the last one that was named
};

inline constexpr std::uint64_t pieces_of(std::uint64_t bytes) {
  return (bytes + kPieceBytes - 1) / kPieceBytes;
}

class Encoder {
 public:
  Encoder(CodingState& state, std::string& out) : state_(state), out_(out) {}
  template <class Number>
  void number(const Number& value, std::uint64_t most, const char* what) {
    if (value > most) throw Corrupt{fmt::format("{} is {}; at most {} is possible", what, value, most)};
    put_number(out_, value);
  }
  void address(const Address& value) { number(value - state_.base, kMostAddresses - 1, "an address"); }
  void text(const std::string& value, std::uint64_t most, const char* what) {
    number(value.size(), most, what);
    out_ += value;
  }
  void content(const Content& value, std::uint64_t most) {
    number(value.bytes, most, "the size of a content");
    for (const std::uint32_t piece : value.pieces) {
      const auto difference = static_cast<std::int64_t>(piece) - static_cast<std::int64_t>(state_.next_piece);
      put_number(out_, (static_cast<std::uint64_t>(difference) << 1U) ^
                           static_cast<std::uint64_t>(difference >> 63U));
      state_.next_piece = piece + 1;
    }
  }
  template <class Value>
  void one_of(const Value& value, std::uint8_t most, const char* what) {
    number(static_cast<std::uint8_t>(value), most, what);
  }
  void word(const std::uint64_t& value) { put_word(out_, value); }
  void word(const float& value) { put_word(out_, std::bit_cast<std::uint32_t>(value)); }
  template <class List, class Each>
  void list(const List& values, std::uint64_t most, const char* what, const Each& each) {
    number(values.size(), most, what);
    for (const auto& value : values) each(value);
  }

 private:
  CodingState& state_;
  std::string& out_;
};

class Decoder {
 public:
  /// `pieces`: number of pieces in the file.
  Decoder(CodingState& state, Bytes& in, std::uint64_t pieces) : state_(state), in_(in), pieces_(pieces) {}
  template <class Number>
  void number(Number& value, std::uint64_t most, const char* what) {
    value = static_cast<Number>(in_.number(most, what));
  }
  void address(Address& value) { value = state_.base + in_.number(kMostAddresses - 1, "an address"); }
  void text(std::string& value, std::uint64_t most, const char* what) {
    value = in_.take(in_.number(most, what), what);
  }
  void content(Content& value, std::uint64_t most) {
    const std::uint64_t begin = in_.position();
    value.bytes = in_.number(most, "the size of a content");
    const std::uint64_t count = pieces_of(value.bytes);
    if (count > in_.left())  // each piece takes at least one byte
      Bytes::fail_at(begin,
                     fmt::format("a content of {} bytes has {} pieces, and {} bytes are left to name them",
                                 value.bytes, count, in_.left()));
    value.pieces.resize(count);
    for (std::uint32_t& piece : value.pieces) {
      const std::uint64_t at = in_.position();
      const std::uint64_t code = in_.number(~std::uint64_t{0}, "a piece");
      const std::uint64_t number = state_.next_piece + ((code >> 1U) ^ (std::uint64_t{0} - (code & 1U)));
      if (number >= pieces_)
        Bytes::fail_at(at, fmt::format("piece {} does not exist; the file has {}", number, pieces_));
      piece = static_cast<std::uint32_t>(number);
      state_.next_piece = piece + 1;
    }
  }
  template <class Value>
  void one_of(Value& value, std::uint8_t most, const char* what) {
    value = static_cast<Value>(in_.number(most, what));
  }
  void word(std::uint64_t& value) { value = in_.word<std::uint64_t>(); }
  void word(float& value) { value = std::bit_cast<float>(in_.word<std::uint32_t>()); }
  template <class List, class Each>
  void list(List& values, std::uint64_t most, const char* what, const Each& each) {
    const std::uint64_t count = in_.number(most, what);
    if (count > in_.left()) in_.fail(fmt::format("{} is {}, and {} bytes are left", what, count, in_.left()));
    values.resize(count);
    for (auto& value : values) each(value);
  }

 private:
  CodingState& state_;
  Bytes& in_;
  std::uint64_t pieces_;
};

// The fields of each kind of record, in the file's order.

inline constexpr std::uint64_t kAnyId = 0xffff'ffffU;  // Checker verifies that the object exists

template <class Coder, class R>
void fields_of_dim(Coder& c, R& d, std::uint64_t most_x, std::uint64_t most_y, std::uint64_t most_z,
                   const char* what) {
  c.number(d.x, most_x, what);
  c.number(d.y, most_y, what);
  c.number(d.z, most_z, what);
}
template <class Coder, class R>
void fields_of_array(Coder& c, R& array) {
  c.address(array.address);
  c.one_of(array.shape.format.kind, 2, "a kind of channel");
  c.number(array.shape.format.bits, 32, "the bits of a channel");
  c.number(array.shape.format.channels, 4, "the number of channels");
  c.number(array.shape.width, kAnyId, "a width");
  c.number(array.shape.height, kAnyId, "a height");
  c.number(array.shape.depth, kAnyId, "a depth");
  c.number(array.shape.layers, kAnyId, "a number of layers");
}

template <class Coder, class Texture>
void fields_of_texture(Coder& c, Texture& r) {
  c.one_of(r.resource.kind, 4, "a kind of texture");
  fields_of_array(c, r.resource.array);
  c.number(r.resource.pitch_bytes, kMostAddresses, "a pitch");
  for (auto& mode : r.settings.address) c.one_of(mode, 3, "an address mode");
  c.one_of(r.settings.filter, 1, "a filter mode");
  c.one_of(r.settings.read, 1, "a read mode");
  c.one_of(r.settings.normalized, 1, "whether coordinates are normalized");
  for (auto& value : r.settings.border) c.word(value);
  c.word(r.handle);
}

template <class Coder, class End>
void fields_of_end(Coder& c, End& end) {
  c.one_of(end.in_array, 1, "whether an end of a copy is an array");
  if (end.in_array) {
    fields_of_array(c, end.array);
    c.number(end.x, kMostAddresses, "a place in a row");
    c.number(end.row, kAnyId, "a row");
    c.number(end.slice, kAnyId, "a slice");
  } else {
    c.address(end.array.address);
    c.number(end.pitch, kMostAddresses, "a pitch");
    c.number(end.slice_pitch, kMostAddresses, "a pitch of slices");
  }
}

template <class Coder, class Size>
void fields_of_size(Coder& c, Size& size) {
  c.number(size.bytes, kMostAddresses, "the bytes of a row");
  c.number(size.rows, kMostBoxRows, "a number of rows");
  c.number(size.slices, kMostBoxRows, "a number of slices");
}

/// An optional direction: 0 for none, otherwise 1 + the direction.
template <class Coder, class Link>
void fields_of_link(Coder& c, Link& link) {
  std::uint8_t code = link ? static_cast<std::uint8_t>(1 + static_cast<std::uint8_t>(*link)) : 0;
  c.one_of(code, 2, "a direction");
  if constexpr (!std::is_const_v<Link>) {
    link.reset();
    if (code != 0) link = static_cast<runtime::HostCopy>(code - 1);
  }
}

template <class Coder, class Launched>
void fields_of_launch(Coder& c, Launched& r) {
  c.number(r.module, kAnyId, "a module");
  c.text(r.kernel, kMostName, "the name of a kernel");
  fields_of_dim(c, r.grid, 0x7fff'ffffU, 65535, 65535, "an extent of a grid");
  fields_of_dim(c, r.block, 1024, 1024, 64, "an extent of a block");
  c.number(r.shared_bytes, kMostShared, "dynamic shared memory");
  c.one_of(r.cooperative, 1, "whether a launch is cooperative");
  c.text(r.parameters, kMostParameters, "the size of the parameters");
  c.number(r.stream, kAnyId, "a stream");
  c.number(r.heap_bytes, kMostAddresses, "the heap of kernels");
}

/// kIs<R, T>: true if R is T or const T.
template <class R, class T>
inline constexpr bool kIs = std::is_same_v<std::remove_const_t<R>, T>;

template <class Coder, class R>
void fields(Coder& c, R& r) {
  if constexpr (kIs<R, LoadModule>) {
    c.text(r.name, kMostName, "the name of a module");
    c.content(r.ptx, kMostPtx);
    c.list(r.variables, kMostVariables, "the number of variables", [&](auto& v) {
      c.text(v.name, kMostName, "the name of a variable");
      c.address(v.address);
      c.number(v.bytes, kMostAddresses, "the size of a variable");
    });
  } else if constexpr (kIs<R, Allocate>) {
    c.address(r.address);
    c.number(r.bytes, kMostAddresses, "the size of an allocation");
  } else if constexpr (kIs<R, Free>) {
    c.address(r.address);
  } else if constexpr (kIs<R, CopyToDevice>) {
    c.address(r.to);
    c.content(r.from, kMostAddresses);
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CopyFromDevice>) {
    c.address(r.from);
    c.number(r.bytes, kMostAddresses, "the size of a copy");
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CopyOnDevice>) {
    c.address(r.to);
    c.address(r.from);
    c.number(r.bytes, kMostAddresses, "the size of a copy");
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CopyToArray>) {
    fields_of_array(c, r.to);
    c.address(r.from);
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, Fill>) {
    c.address(r.to);
    c.number(r.value, 255, "the value of a fill");
    c.number(r.bytes, kMostAddresses, "the size of a fill");
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CopyToSymbol>) {
    c.number(r.module, kAnyId, "a module");
    c.text(r.symbol, kMostName, "the name of a variable");
    c.number(r.offset, kMostAddresses, "an offset");
    c.content(r.from, kMostAddresses);
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, HostWrite>) {
    c.address(r.to);
    c.content(r.from, kMostAddresses);
  } else if constexpr (kIs<R, CopyPinned>) {
    c.one_of(r.direction, 1, "a direction");
    c.address(r.to);
    c.address(r.from);
    c.number(r.bytes, kMostAddresses, "the size of a copy");
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CreateTexture>) {
    fields_of_texture(c, r);
  } else if constexpr (kIs<R, CreateMipmapTexture>) {
    fields_of_texture(c, r.texture);
    c.number(r.texture.resource.levels, 32, "a number of levels");
    c.one_of(r.texture.settings.level_filter, 1, "a filter mode of levels");
    c.word(r.texture.settings.level_bias);
    c.word(r.texture.settings.least_level);
    c.word(r.texture.settings.most_level);
  } else if constexpr (kIs<R, CreateSurface>) {
    fields_of_array(c, r.array);
    c.word(r.handle);
  } else if constexpr (kIs<R, CopyToBox>) {
    fields_of_end(c, r.to);
    fields_of_size(c, r.size);
    c.content(r.from, kMostAddresses);
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CopyFromBox>) {
    fields_of_end(c, r.from);
    fields_of_size(c, r.size);
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, CopyBox>) {
    fields_of_end(c, r.to);
    fields_of_end(c, r.from);
    fields_of_size(c, r.size);
    fields_of_link(c, r.link);
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, MapHost>) {
    c.number(r.host, kMostHostAddress, "an address of the host");
    c.number(r.bytes, kMostAddresses, "the size of host memory");
    c.address(r.device);
  } else if constexpr (kIs<R, SetRegisters>) {
    c.number(r.module, kAnyId, "a module");
    c.text(r.kernel, kMostName, "the name of a kernel");
    c.number(r.registers, 255, "the registers of a thread");
  } else if constexpr (kIs<R, UnmapHost>) {
    c.number(r.host, kMostHostAddress, "an address of the host");
  } else if constexpr (kIs<R, DestroyTexture>) {
    c.word(r.handle);
  } else if constexpr (kIs<R, Launch>) {
    fields_of_launch(c, r);
  } else if constexpr (kIs<R, LaunchWithPriority>) {
    fields_of_launch(c, r.launch);
    c.number(r.launch.priority, runtime::kMostPriority, "a priority");
  } else if constexpr (kIs<R, RecordEvent> || kIs<R, StreamWaitEvent>) {
    c.number(r.event, kAnyId, "an event");
    c.number(r.stream, kAnyId, "a stream");
  } else if constexpr (kIs<R, Synchronize>) {
    c.one_of(r.what, 2, "what is waited for");
    c.number(r.id, kAnyId, "a stream or event");
  } else if constexpr (kIs<R, HostTime>) {
    c.number(r.ns, kMostHostTime, "a time");
  } else if constexpr (kIs<R, LimitLaunches>) {
    c.number(r.launches, kMostPendingLaunches, "a number of pending launches");
  } else if constexpr (kIs<R, Result>) {
    c.number(r.copy, ~std::uint64_t{0}, "a copy");
    c.word(r.digest.low);
    c.word(r.digest.high);
  } else if constexpr (kIs<R, EnqueueCondition>) {
    c.one_of(r.condition.kind, 2, "a kind of condition");
    c.address(r.condition.word);
    c.list(r.condition.bodies, kMostBranches, "the number of bodies",
           [&](auto& body) { c.number(body, kAnyId, "a body"); });
    c.number(r.stream, kAnyId, "a stream");
  } else {
    static_assert(kIs<R, CreateStream> || kIs<R, CreateEvent> || kIs<R, BeginBody> || kIs<R, EndBody>);
  }
}

/// Appends the record to `out`. Throws Corrupt for a record that no bundle can hold.
void encode(CodingState& state, const Record& record, std::string& out);
/// Decodes the next record. Throws Corrupt.
[[nodiscard]] Record decode(CodingState& state, Bytes& in, std::uint64_t pieces);

}  // namespace gpumux::bundle
