// Surfaces: the addresses that their instructions access, coordinates outside of the surface, and the records
// for the machine.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "emulator/half.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

using workload::ArrayShape;
using workload::ChannelKind;
using workload::MemHeader;
using workload::TexelFormat;
using workload::TextureArray;
using workload::TextureResource;
using workload::Transaction;

/// Thread t reads coordinates x, y, z and the layer from in[4 t], values from in[4 t] of `more`, and writes
/// four words to out[4 t].
std::string surface_kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name + R"((.param .u64 s, .param .u64 in, .param .u64 more, .param .u64 out)
{
  .reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .b16 %rs<5>; .reg .f32 %f<5>; .reg .b32 %v<5>;
  ld.param.u64 %rd1, [s];
  ld.param.u64 %rd2, [in];
  ld.param.u64 %rd3, [more];
  ld.param.u64 %rd4, [out];
  mov.u32 %r10, %tid.x;
  mul.wide.u32 %rd5, %r10, 16;
  add.s64 %rd2, %rd2, %rd5;
  add.s64 %rd3, %rd3, %rd5;
  add.s64 %rd4, %rd4, %rd5;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2];
  ld.global.v4.u32 {%v1, %v2, %v3, %v4}, [%rd3];
  mov.u32 %r11, 77; mov.u32 %r12, 77; mov.u32 %r13, 77; mov.u32 %r14, 77;
  )" + body +
         R"(
  st.global.v4.u32 [%rd4], {%r11, %r12, %r13, %r14};
  ret;
}
)";
}

std::string all_surface_kernels() {
  std::string text;
  for (const std::string bounds : {"trap", "clamp", "zero"}) {
    text += surface_kernel("read_1d_" + bounds, "suld.b.1d.b32." + bounds + " {%r11}, [%rd1, {%r1}];");
    text += surface_kernel("read_2d_" + bounds,
                           "suld.b.2d.v2.b32." + bounds + " {%r11, %r12}, [%rd1, {%r1, %r2}];");
    text += surface_kernel("read_3d_" + bounds,
                           "suld.b.3d.b32." + bounds + " %r11, [%rd1, {%r1, %r2, %r3, %r3}];");
    text += surface_kernel("read_a2d_" + bounds,
                           "suld.b.a2d.b32." + bounds + " %r11, [%rd1, {%r4, %r1, %r2, %r2}];");
    text += surface_kernel("write_2d_" + bounds, "sust.b.2d.b32." + bounds + " [%rd1, {%r1, %r2}], {%v1};");
  }
  text += surface_kernel("read_bytes", "suld.b.1d.b8.trap {%rs1}, [%rd1, {%r1}]; cvt.u32.u16 %r11, %rs1;");
  text += surface_kernel("read_halves",
                         "suld.b.a1d.v2.b16.trap {%rs1, %rs2}, [%rd1, {%r4, %r1}]; "
                         "cvt.u32.u16 %r11, %rs1; cvt.u32.u16 %r12, %rs2;");
  text +=
      surface_kernel("read_long", "suld.b.1d.b64.trap {%rd9}, [%rd1, {%r1}]; mov.b64 {%r11, %r12}, %rd9;");
  text += surface_kernel("write_long",
                         "mov.b64 %rd9, {%v1, %v2}; sust.b.1d.v2.b64.trap [%rd1, {%r1}], {%rd9, %rd9};");
  text +=
      surface_kernel("write_bytes", "cvt.u16.u32 %rs1, %v1; sust.b.2d.b8.trap [%rd1, {%r1, %r2}], {%rs1};");
  text += surface_kernel("write_a2d",
                         "sust.b.a2d.v4.b32.trap [%rd1, {%r4, %r1, %r2, %r2}], {%v1, %v2, %v3, %v4};");
  text += surface_kernel("write_3d", "sust.b.3d.b32.zero [%rd1, {%r1, %r2, %r3, %r3}], %v1;");
  text += surface_kernel("write_texels", "sust.p.2d.v4.b32.trap [%rd1, {%r1, %r2}], {%v1, %v2, %v3, %v4};");
  text += surface_kernel("write_red_alone", "sust.p.2d.b32.trap [%rd1, {%r1, %r2}], {%v1};");
  text += surface_kernel("sum", "sured.b.add.2d.u32.zero [%rd1, {%r1, %r2}], {%v1};");
  text += surface_kernel("least", "sured.b.min.1d.s32.trap [%rd1, {%r1}], %v1;");
  text +=
      surface_kernel("both",
                     "sust.b.1d.b32.trap [%rd1, {%r1}], {%v1}; suld.b.1d.b32.trap {%r11}, [%rd1, {%r1}]; "
                     "sust.b.1d.b32.trap [%rd1, {%r1}], {%v2}; suld.b.1d.b32.trap {%r12}, [%rd1, {%r1}];");
  text += surface_kernel("ask",
                         "suq.width.b32 %r11, [%rd1]; suq.height.b32 %r12, [%rd1]; "
                         "suq.array_size.b32 %r13, [%rd1]; suq.channel_order.b32 %r14, [%rd1];");
  text += surface_kernel("fetch", "tex.2d.v4.u32.s32 {%r11, %r12, %r13, %r14}, [%rd1, {%r1, %r2}];");
  return text;
}

using Words = std::vector<std::uint32_t>;
constexpr TexelFormat kWords{ChannelKind::Unsigned, 32, 1};

class Surfaces : public testing::TestWithParam<int> {
 protected:
  Surfaces() : runner(all_surface_kernels(), GetParam()) {}

  Address words(const Words& values) {
    const Address at = runner.device.memory.allocate(std::max<std::size_t>(values.size(), 256) * 4);
    runner.device.memory.write(at, std::as_bytes(std::span(values)));
    return at;
  }
  /// An array of these texels.
  template <class T>
  TextureArray array(const ArrayShape& shape, const std::vector<T>& texels) {
    TextureArray made{0, shape};
    made.address = runner.device.memory.allocate(made.bytes());
    runner.device.memory.write(made.address, workload::lay_out(made, std::as_bytes(std::span(texels))));
    return made;
  }
  std::uint64_t surface(const TextureArray& array) {
    return runner.device.memory.textures().create_surface(array);
  }
  static Words counting(std::uint32_t count) {
    Words all(count);
    for (std::uint32_t i = 0; i < count; ++i) all[i] = 1000 + i;
    return all;
  }
  Words run(const std::string& name, std::uint64_t surface, const Words& at, const Words& values = {}) {
    const Address to = runner.device.memory.allocate(16);
    runner.run(name, {1, 1, 1}, {1, 1, 1}, {surface, words(at), words(values), to});
    Words out(4);
    runner.device.memory.read(to, std::as_writable_bytes(std::span(out)));
    return out;
  }
  std::uint32_t first(const std::string& name, std::uint64_t surface, const Words& at) {
    return run(name, surface, at)[0];
  }
  template <class T>
  T texel(const TextureArray& array, std::uint32_t x, std::uint32_t y, std::uint32_t slice = 0) {
    T value{};
    runner.device.memory.read(array.address + array.offset(x, y, slice),
                              std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  std::string fault(const std::string& name, std::uint64_t surface, const Words& at) {
    const std::string what =
        runner.fault_of(name, {1, 1, 1}, {1, 1, 1}, {surface, words(at), words({}), words({})});
    const std::size_t begin = what.find("surface"), misaligned = what.find("misaligned");
    const std::size_t from = std::min(begin, misaligned);
    return from == std::string::npos ? what : what.substr(from, what.find(", thread") - from);
  }
  static constexpr std::uint32_t bits(std::int32_t x) { return static_cast<std::uint32_t>(x); }

  PtxRunner runner;
};
INSTANTIATE_TEST_SUITE_P(Optimize, Surfaces, testing::Values(0, 2));

TEST_P(Surfaces, ReadByBytesInARowAndByRowsAndSlices) {
  const std::uint64_t row = surface(array({kWords, 5, 0, 0, 0}, counting(5)));
  EXPECT_EQ(first("read_1d_trap", row, {0, 9, 9, 9}), 1000U);
  EXPECT_EQ(first("read_1d_trap", row, {16, 9, 9, 9}), 1004U);
  const std::uint64_t plane = surface(array({kWords, 20, 6, 0, 0}, counting(120)));
  EXPECT_EQ(run("read_2d_trap", plane, {72, 5, 0, 0}),
            (Words{1000 + 5 * 20 + 18, 1000 + 5 * 20 + 19, 77, 77}));
  const std::uint64_t volume = surface(array({kWords, 3, 4, 5, 0}, counting(60)));
  EXPECT_EQ(first("read_3d_trap", volume, {8, 3, 4, 0}), 1059U);
  const std::uint64_t layers = surface(array({kWords, 3, 4, 0, 5}, counting(60)));
  EXPECT_EQ(first("read_a2d_trap", layers, {4, 2, 9, 3}), 1000U + 3 * 12 + 2 * 3 + 1);
}

TEST_P(Surfaces, OfAllWidths) {
  std::vector<std::uint8_t> bytes(64);
  for (std::uint8_t i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(200 + i);
  const TextureArray of_bytes = array({{ChannelKind::Unsigned, 8, 4}, 16, 0, 0, 0}, bytes);
  EXPECT_EQ(first("read_bytes", surface(of_bytes), {7, 0, 0, 0}), 207U);  // not sign-extended
  EXPECT_EQ(run("read_long", surface(of_bytes), {8, 0, 0, 0})[1], 0xd7d6d5d4U);
  std::vector<std::uint16_t> halves(2 * 2 * 3);
  for (std::uint16_t i = 0; i < 12; ++i) halves[i] = static_cast<std::uint16_t>(0x8000 + i);
  const TextureArray layered = array({{ChannelKind::Unsigned, 16, 2}, 2, 0, 0, 3}, halves);
  EXPECT_EQ(run("read_halves", surface(layered), {4, 0, 0, 2}), (Words{0x800a, 0x800b, 77, 77}));
  const TextureArray longs = array({{ChannelKind::Unsigned, 32, 4}, 3, 0, 0, 0}, Words(12));
  run("write_long", surface(longs), {16, 0, 0, 0}, {5, 6, 0, 0});
  EXPECT_EQ((texel<std::array<std::uint32_t, 4>>(longs, 1, 0)), (std::array<std::uint32_t, 4>{5, 6, 5, 6}));
  EXPECT_EQ((texel<std::array<std::uint32_t, 4>>(longs, 2, 0)), (std::array<std::uint32_t, 4>{}));
}

TEST_P(Surfaces, WritesAreWhereTexturesRead) {
  const TextureArray plane =
      array({{ChannelKind::Unsigned, 8, 1}, 40, 9, 0, 0}, std::vector<std::uint8_t>(360));
  run("write_bytes", surface(plane), {37, 8, 0, 0}, {0x1ab, 0, 0, 0});
  EXPECT_EQ(texel<std::uint8_t>(plane, 37, 8), 0xabU);
  EXPECT_EQ(texel<std::uint8_t>(plane, 38, 8), 0U);
  const std::uint64_t texture = runner.device.memory.textures().create(TextureResource::of(plane), {});
  EXPECT_EQ(first("fetch", texture, {37, 8, 0, 0}), 0xabU);
  const TextureArray layers = array({{ChannelKind::Unsigned, 32, 4}, 3, 2, 0, 2}, Words(48));
  run("write_a2d", surface(layers), {32, 1, 0, 1}, {1, 2, 3, 4});
  EXPECT_EQ((texel<std::array<std::uint32_t, 4>>(layers, 2, 1, 1)),
            (std::array<std::uint32_t, 4>{1, 2, 3, 4}));
  const TextureArray volume = array({kWords, 2, 2, 3, 0}, Words(12));
  run("write_3d", surface(volume), {4, 0, 2, 0}, {9, 0, 0, 0});
  EXPECT_EQ(texel<std::uint32_t>(volume, 1, 0, 2), 9U);
  run("write_3d", surface(volume), {4, 0, 3, 0}, {10, 0, 0, 0});  // outside: dropped
  EXPECT_EQ(texel<std::uint32_t>(volume, 1, 0, 2), 9U);
}

TEST_P(Surfaces, AThreadReadsWhatItWrote) {
  const TextureArray row = array({kWords, 4, 0, 0, 0}, Words(4));
  EXPECT_EQ(run("both", surface(row), {8, 0, 0, 0}, {5, 6, 0, 0}), (Words{5, 6, 77, 77}));
  EXPECT_EQ(texel<std::uint32_t>(row, 2, 0), 6U);
}

TEST_P(Surfaces, OutsideTrapsOrIsClampedOrZero) {
  const TextureArray plane = array({kWords, 20, 6, 0, 0}, counting(120));
  const std::uint64_t s = surface(plane);
  EXPECT_EQ(
      fault("read_2d_trap", s, {80, 1, 0, 0}),
      fmt::format("surface access outside: byte 80 of row 1 of slice or layer 0 of surface object 0x{:x}, "
                  "which has 80 bytes x 6 rows x 1",
                  s));
  EXPECT_NE(fault("read_2d_trap", s, {0, bits(-1), 0, 0}).find("row -1"), std::string::npos);
  EXPECT_EQ(run("read_2d_zero", s, {80, 1, 0, 0}), (Words{0, 0, 77, 77}));
  EXPECT_EQ(run("read_2d_zero", s, {bits(-8), 1, 0, 0}), (Words{0, 0, 77, 77}));
  EXPECT_EQ(run("read_2d_zero", s, {72, 6, 0, 0}), (Words{0, 0, 77, 77}));
  // The nearest access of as many bytes that is inside.
  EXPECT_EQ(run("read_2d_clamp", s, {400, 1, 0, 0}), (Words{1038, 1039, 77, 77}));
  EXPECT_EQ(run("read_2d_clamp", s, {bits(-8), 99, 0, 0}), (Words{1100, 1101, 77, 77}));
  run("write_2d_zero", s, {80, 0, 0, 0}, {5, 0, 0, 0});
  EXPECT_EQ(texel<std::uint32_t>(plane, 19, 0), 1019U);
  run("write_2d_clamp", s, {80, 0, 0, 0}, {5, 0, 0, 0});
  EXPECT_EQ(texel<std::uint32_t>(plane, 19, 0), 5U);
  EXPECT_NE(fault("write_2d_trap", s, {80, 0, 0, 0}), "");
  const std::uint64_t layers = surface(array({kWords, 3, 4, 0, 5}, counting(60)));
  EXPECT_NE(fault("read_a2d_trap", layers, {0, 0, 0, 5}), "");
  EXPECT_EQ(first("read_a2d_zero", layers, {0, 0, 0, 5}), 0U);
  EXPECT_EQ(first("read_a2d_clamp", layers, {0, 0, 0, 5}), 1000U + 4 * 12);
  EXPECT_EQ(fault("read_1d_clamp", surface(array({kWords, 5, 0, 0, 0}, counting(5))), {2, 0, 0, 0}),
            "misaligned surface access: 4 bytes at byte 2 of a row (it must be a multiple of them)");
}

TEST_P(Surfaces, TexelsAreConvertedToTheFormat) {
  const auto half = [](float x) { return static_cast<std::uint16_t>(float_to_half(x)); };
  const TextureArray halves =
      array({{ChannelKind::Float, 16, 2}, 4, 4, 0, 0}, std::vector<std::uint16_t>(32, 1));
  run("write_texels", surface(halves), {3, 2, 0, 0},
      {std::bit_cast<std::uint32_t>(1.5F), std::bit_cast<std::uint32_t>(-2.0F), 7, 7});
  EXPECT_EQ((texel<std::array<std::uint16_t, 2>>(halves, 3, 2)),
            (std::array<std::uint16_t, 2>{half(1.5F), half(-2.0F)}));
  const TextureArray bytes =
      array({{ChannelKind::Signed, 8, 4}, 4, 4, 0, 0}, std::vector<std::int8_t>(64, 1));
  run("write_texels", surface(bytes), {1, 1, 0, 0}, {bits(-300), 300, bits(-5), 6});
  EXPECT_EQ((texel<std::array<std::int8_t, 4>>(bytes, 1, 1)), (std::array<std::int8_t, 4>{-128, 127, -5, 6}));
  run("write_red_alone", surface(bytes), {1, 1, 0, 0}, {3, 0, 0, 0});
  EXPECT_EQ((texel<std::array<std::int8_t, 4>>(bytes, 1, 1)), (std::array<std::int8_t, 4>{3, 0, 0, 0}));
}

TEST_P(Surfaces, Reductions) {
  const TextureArray plane = array({kWords, 4, 4, 0, 0}, Words(16, 10));
  Words at, values;
  for (std::uint32_t t = 0; t < 32; ++t) {
    at.insert(at.end(), {t < 31 ? 8U : 16U, 3, 0, 0});  // the last one is outside
    values.insert(values.end(), {t, 0, 0, 0});
  }
  runner.run("sum", {1, 1, 1}, {32, 1, 1}, {surface(plane), words(at), words(values), words({})});
  EXPECT_EQ(texel<std::uint32_t>(plane, 2, 3), 10U + 31 * 30 / 2);
  const TextureArray row =
      array({{ChannelKind::Signed, 32, 1}, 4, 0, 0, 0}, std::vector<std::int32_t>(4, -3));
  run("least", surface(row), {4, 0, 0, 0}, {bits(-4), 0, 0, 0});
  run("least", surface(row), {8, 0, 0, 0}, {2, 0, 0, 0});
  EXPECT_EQ(texel<std::int32_t>(row, 1, 0), -4);
  EXPECT_EQ(texel<std::int32_t>(row, 2, 0), -3);
}

TEST_P(Surfaces, Questions) {
  const TextureArray layers =
      array({{ChannelKind::Signed, 16, 2}, 7, 3, 0, 4}, std::vector<std::uint32_t>(84));
  EXPECT_EQ(run("ask", surface(layers), {0, 0, 0, 0}), (Words{7, 3, 4, 0x10b2}));
}

TEST_P(Surfaces, WrongObjectsAreFaults) {
  const TextureArray plane = array({kWords, 4, 4, 0, 0}, Words(16));
  auto& textures = runner.device.memory.textures();
  const std::uint64_t s = surface(plane), t = textures.create(TextureResource::of(plane), {});
  EXPECT_EQ(fault("read_2d_zero", t, {0, 0, 0, 0}),
            fmt::format("surface access: texture object 0x{:x} is read by tex.2d, not by suld.2d", t));
  EXPECT_EQ(fault("read_1d_zero", s, {0, 0, 0, 0}),
            fmt::format("surface access: surface object 0x{:x} is read by suld.2d, not by suld.1d", s));
  EXPECT_NE(
      runner.fault_of("fetch", {1, 1, 1}, {1, 1, 1}, {s, words({}), words({}), words({})}).find("not by tex"),
      std::string::npos);
  textures.destroy(s);
  EXPECT_NE(fault("read_2d_zero", s, {0, 0, 0, 0}), "");
}

/// Lines as those of global memory; loads go where fetches go, stores where stores go.
TEST_P(Surfaces, WhatTheMachineIsTold) {
  const TextureArray plane = array({kWords, 64, 8, 0, 0}, counting(512));
  const std::uint64_t s = surface(plane);
  const auto record = [&](const std::string& name, const Words& at, bool stores) {
    const auto source = runner.launch(name, {1, 1, 1}, {32, 1, 1}, {s, words(at), words({}), words({})});
    const auto block = source->begin_block(0, 0, 0, 0);
    block->refill(0, 512);
    workload::WarpStream& stream = block->stream(0);
    std::vector<std::pair<MemHeader, std::vector<Transaction>>> all;
    for (; stream.next != stream.end; ++stream.next) {
      const isa::StaticInst& inst = source->static_table()[stream.next->pc];
      if (inst.unit != isa::Unit::Memory) continue;
      const auto header = std::bit_cast<MemHeader>(*stream.mem_next++);
      std::vector<Transaction> lines;
      for (unsigned i = 0; i < header.transactions; ++i) lines.push_back({*stream.mem_next++});
      const bool of_surface =
          stores ? (inst.flags & isa::kStore) != 0 : header.where == MemHeader::Where::Texture;
      if (of_surface) all.emplace_back(header, lines);
    }
    return all.at(0);  // of stores, that of the result comes behind
  };
  Words across;  // lane t: the row's word t
  for (std::uint32_t t = 0; t < 32; ++t) across.insert(across.end(), {4 * t, 5, 0, 0});
  {
    const auto [header, lines] = record("write_2d_zero", across, true);
    EXPECT_EQ(header.where, MemHeader::Where::Global);
    ASSERT_EQ(lines.size(), 4U);  // tiles of eight words
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(lines[i].line(), (plane.address + plane.offset(8 * i, 5, 0)) / kLineBytes);
      EXPECT_EQ(lines[i].lanes(), 8U);
      EXPECT_EQ(lines[i].sectors(), 2U);  // the second row of a tile
    }
  }
  Words pairs;
  for (std::uint32_t t = 0; t < 32; ++t) pairs.insert(pairs.end(), {8 * (t % 16), t / 16, 0, 0});
  EXPECT_EQ(record("read_2d_zero", pairs, false).second.size(), 4U);
  // Outside, a load is answered all the same, and a store is none.
  for (std::uint32_t t = 0; t < 32; ++t) pairs[4 * t + 1] = 8, across[4 * t + 1] = 8;
  EXPECT_EQ(record("read_2d_zero", pairs, false).first.transactions, 0U);
  EXPECT_EQ(record("write_2d_zero", across, true).first.where, MemHeader::Where::None);
}

}  // namespace
}  // namespace gpumux::emulator::test
