// Runs one instruction on many operands. Each thread loads its operands, executes the instruction once and
// stores the result.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "emulator/kernel_builder.hpp"

namespace gpumux::emulator::test {

using Operands = std::array<std::uint64_t, 4>;

struct ProbeResult {
  std::vector<std::uint64_t> value;   // of dst[0]: a register's bits, or a predicate as 0 or 1
  std::vector<std::uint64_t> second;  // of a predicate in dst[1]
};

/// Value of the destinations of lanes that do not execute the instruction.
inline constexpr std::uint64_t kUntouched = 0xdeadbeefcafef00dULL;

/// The kind of register that holds an operand.
enum class Held : std::uint8_t { Bits32, Bits64, Pred, Absent };

struct ProbeShape {
  Held dst = Held::Bits32;
  std::vector<Held> src;
  Held second = Held::Absent;  // a predicate destination
  bool every_other_lane = false;
};

/// Runs the instruction. Thread t has the operands inputs[t]; a predicate is the lowest bit of its operand.
inline ProbeResult probe(const isa::Instruction& proto, const ProbeShape& shape,
                         const std::vector<Operands>& inputs) {
  const auto count = static_cast<std::uint32_t>(inputs.size());
  Device device;
  const Address in = device.upload(inputs);
  const Address out = device.memory.allocate(std::uint64_t{count} * 16);
  KernelBuilder k;
  k.add(Opcode::MadLo, Type::U32, {r(0)}, {sreg(Special::CtaidX), sreg(Special::NtidX), sreg(Special::TidX)});
  k.add(Opcode::Setp, Type::U32, {p(0)}, {r(0), imm(count)}).compare = isa::Compare::GE;
  k.exit().guard = p(0);
  k.add(Opcode::MulWide, Type::U32, {rd(0)}, {r(0), imm(32)});
  k.add(Opcode::Add, Type::U64, {rd(0)}, {rd(0), param(0)});
  k.add(Opcode::MulWide, Type::U32, {rd(1)}, {r(0), imm(16)});
  k.add(Opcode::Add, Type::U64, {rd(1)}, {rd(1), param(8)});
  isa::Instruction inst = proto;
  for (std::size_t i = 0; i < shape.src.size(); ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    k.load(Space::Global, Type::U64, rd(2 + at), rd(0), static_cast<std::int64_t>(8 * i));
    switch (shape.src[i]) {
      case Held::Bits64: inst.src[i] = rd(2 + at); break;
      case Held::Absent: break;
      case Held::Bits32: {
        Instruction& narrow = k.add(Opcode::Cvt, Type::U32, {r(10 + at)}, {rd(2 + at)});
        narrow.type2 = Type::U64;
        inst.src[i] = r(10 + at);
        break;
      }
      case Held::Pred: {
        Instruction& narrow = k.add(Opcode::Cvt, Type::U32, {r(10 + at)}, {rd(2 + at)});
        narrow.type2 = Type::U64;
        k.add(Opcode::And, Type::B32, {r(10 + at)}, {r(10 + at), imm(1)});
        k.add(Opcode::Setp, Type::U32, {p(2 + at)}, {r(10 + at), imm(1)}).compare = isa::Compare::EQ;
        inst.src[i] = p(2 + at);
        break;
      }
    }
  }
  k.add(Opcode::Mov, Type::B64, {rd(10)}, {imm(kUntouched)});
  k.add(Opcode::Mov, Type::B32, {r(20)}, {imm(kUntouched & 0xffffffffU)});
  inst.dst[0] = shape.dst == Held::Bits64 ? rd(10) : (shape.dst == Held::Pred ? p(8) : r(20));
  if (shape.second == Held::Pred) inst.dst[1] = p(9);
  if (shape.every_other_lane) {
    k.add(Opcode::And, Type::B32, {r(30)}, {r(0), imm(1)});
    k.add(Opcode::Setp, Type::U32, {p(1)}, {r(30), imm(0)}).compare = isa::Compare::EQ;
    inst.guard = p(1);
  }
  inst.line = 1;
  k.function.code.push_back(inst);
  if (shape.dst == Held::Pred) {
    k.add(Opcode::Selp, Type::B32, {r(20)}, {imm(1), imm(0), p(8)});
  }
  if (shape.dst != Held::Bits64) {
    Instruction& wide = k.add(Opcode::Cvt, Type::U64, {rd(10)}, {r(20)});
    wide.type2 = Type::U32;
  }
  k.store(Space::Global, Type::U64, rd(1), rd(10));
  k.add(Opcode::Selp, Type::B64, {rd(11)}, {imm(1), imm(0), p(9)});
  k.store(Space::Global, Type::U64, rd(1), rd(11), 8);
  k.exit();
  device.run(k, {(count + 255) / 256, 1, 1}, {256, 1, 1}, {in, out});
  const auto raw = device.download<std::uint64_t>(out, std::size_t{count} * 2);
  ProbeResult result;
  for (std::uint32_t i = 0; i < count; ++i) {
    result.value.push_back(raw[2 * i]);
    result.second.push_back(raw[2 * i + 1]);
  }
  return result;
}

inline isa::Instruction make(Opcode op, Type type) {
  isa::Instruction inst;
  inst.op = op;
  inst.type = type;
  return inst;
}

/// Special and random bit patterns of a width.
inline std::vector<std::uint64_t> patterns(unsigned width, std::uint64_t seed, std::size_t random) {
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const std::uint64_t top = std::uint64_t{1} << (width - 1);
  std::vector<std::uint64_t> values = {0,  1,  2,   3,   5,       31,      32,   33,
                                       63, 64, 255, top, top - 1, top + 1, mask, mask - 1};
  Random random_bits(seed);
  for (std::size_t i = 0; i < random; ++i) values.push_back(random_bits.next() >> random_bits.below(width));
  for (std::uint64_t& value : values) value &= mask;
  return values;
}

/// Special and random floats of a format with the given field widths.
inline std::vector<std::uint64_t> float_patterns(unsigned fraction, unsigned exponent, std::uint64_t seed,
                                                 std::size_t random) {
  const std::uint64_t sign = std::uint64_t{1} << (fraction + exponent);
  const std::uint64_t infinity = ((std::uint64_t{1} << exponent) - 1) << fraction;
  const std::uint64_t one = ((std::uint64_t{1} << (exponent - 1)) - 1) << fraction;
  const std::uint64_t least = std::uint64_t{1} << fraction;  // smallest normal
  std::vector<std::uint64_t> values = {0,
                                       1,
                                       2,
                                       least - 1,
                                       least,
                                       least + 1,
                                       one - 1,
                                       one,
                                       one + 1,
                                       one + least,
                                       one + (least >> 1U),
                                       infinity - 1,
                                       infinity,
                                       infinity + 1,
                                       infinity + (least >> 1U)};
  const std::size_t specials = values.size();
  for (std::size_t i = 0; i < specials; ++i) values.push_back(values[i] | sign);
  Random bits(seed);
  for (std::size_t i = 0; i < random; ++i) {
    const std::uint64_t value = bits.next() & ((sign << 1U) - 1);
    switch (bits.below(3)) {
      case 0: values.push_back(value); break;  // any value
      case 1: {                                // near one, so that operands have similar exponents
        const std::uint64_t shift = std::uint64_t{bits.below(12)} << fraction;
        values.push_back((value & (sign | (least - 1))) | (one - 6 * least + shift));
        break;
      }
      default:
        values.push_back((value & (sign | (least - 1))) |
                         (one - 3 * least + (std::uint64_t{bits.below(6)} << fraction)));
    }
  }
  return values;
}

/// `count` random combinations of operands, and all pairs of the first 30 values of `a` and `b`.
inline std::vector<Operands> pairs(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                                   const std::vector<std::uint64_t>& c, std::size_t count,
                                   std::uint64_t seed) {
  std::vector<Operands> result;
  Random random(seed);
  const auto pick = [&](const std::vector<std::uint64_t>& from) {
    return from[random.below(static_cast<std::uint32_t>(from.size()))];
  };
  for (std::size_t i = 0; i < count; ++i) result.push_back({pick(a), pick(b), pick(c), 0});
  const std::size_t specials = std::min<std::size_t>(30, std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < specials; ++i) {
    for (std::size_t j = 0; j < specials; ++j) result.push_back({a[i], b[j], pick(c), 0});
  }
  return result;
}

}  // namespace gpumux::emulator::test
