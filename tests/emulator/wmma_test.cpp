// wmma.load, wmma.mma and wmma.store: every tile, type and layout, from global and shared memory, with the
// stride as a constant, in a register, and omitted.
#include <gtest/gtest.h>

#include <cstring>

#include "emulator/matrix_reference.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

struct Layouts {
  bool a_columns, b_columns, c_columns, d_columns;
};
enum class Stride { Default, Number, Register };

/// Bytes of a matrix in memory; elements of less than a byte lie with the first in the lowest bits.
class Image {
 public:
  static constexpr unsigned kBytes = 4096;
  Image(unsigned width, unsigned rows, unsigned columns, bool by_columns, unsigned pad)
      : width_(width),
        by_columns_(by_columns),
        stride((by_columns ? rows : columns) + pad),
        bytes(kBytes, 0xa5) {}
  [[nodiscard]] std::uint64_t get(unsigned row, unsigned column) const {
    const unsigned bit = place(row, column);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + bit / 8, (width_ + 7) / 8);
    return width_ >= 8 ? value : (value >> (bit % 8)) & ((1U << width_) - 1);
  }
  void set(unsigned row, unsigned column, std::uint64_t value) {
    const unsigned bit = place(row, column);
    if (width_ >= 8) {
      std::memcpy(bytes.data() + bit / 8, &value, width_ / 8);
      return;
    }
    const unsigned mask = ((1U << width_) - 1) << (bit % 8);
    bytes[bit / 8] = static_cast<std::uint8_t>((bytes[bit / 8] & ~mask) | (value << (bit % 8)));
  }

 private:
  [[nodiscard]] unsigned place(unsigned row, unsigned column) const {
    return (by_columns_ ? column * stride + row : row * stride + column) * width_;
  }
  unsigned width_;
  bool by_columns_;

 public:
  unsigned stride;  // elements
  std::vector<std::uint8_t> bytes;
};

std::string registers(const std::string& name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + name + std::to_string(i);
  return text + "}";
}

unsigned sum_width(const std::string& type) { return type == "f16" ? 16 : type == "f64" ? 64 : 32; }

void check(const Form& f, const Layouts& layouts, Stride how, const std::string& space, int optimize) {
  const auto layout = [](bool columns) { return std::string(columns ? ".col" : ".row"); };
  const std::string size = ".m" + std::to_string(f.m) + "n" + std::to_string(f.n) + "k" + std::to_string(f.k);
  const bool half = f.a->name == "f16";
  const std::string types =
      half ? "." + f.d + "." + f.c : "." + f.d + "." + f.a->name + "." + f.b->name + "." + f.c;
  const std::string op = "wmma.mma" + f.before + ".sync.aligned" + layout(layouts.a_columns) +
                         layout(layouts.b_columns) + size + types + f.behind;
  SCOPED_TRACE(op + layout(layouts.c_columns) + layout(layouts.d_columns) + space + std::to_string(optimize) +
               std::to_string(static_cast<int>(how)));
  Values values(f.m + layouts.a_columns + 2U * layouts.b_columns + f.a->width);
  const unsigned pad = how == Stride::Default ? 0 : std::max(128 / f.a->width, 4U);
  const unsigned pad_c = how == Stride::Default ? 0 : 128 / sum_width(f.c);
  const unsigned pad_d = how == Stride::Default ? 0 : 128 / sum_width(f.d);
  Image a(f.a->width, f.m, f.k, layouts.a_columns, pad);
  Image b(f.b->width, f.k, f.n, layouts.b_columns, pad);
  Image c(sum_width(f.c), f.m, f.n, layouts.c_columns, pad_c);
  Image d(sum_width(f.d), f.m, f.n, layouts.d_columns, pad_d);
  Matrix ma(f.m, std::vector<std::uint64_t>(f.k)), mb(f.k, std::vector<std::uint64_t>(f.n));
  for (unsigned i = 0; i < f.m; ++i)
    for (unsigned k = 0; k < f.k; ++k) a.set(i, k, ma[i][k] = values.next(*f.a));
  for (unsigned k = 0; k < f.k; ++k)
    for (unsigned j = 0; j < f.n; ++j) b.set(k, j, mb[k][j] = values.next(*f.b));
  for (unsigned i = 0; i < f.m; ++i)
    for (unsigned j = 0; j < f.n; ++j) c.set(i, j, values.sum(f.c));
  Image wanted = d;
  for (unsigned i = 0; i < f.m; ++i)
    for (unsigned j = 0; j < f.n; ++j) wanted.set(i, j, expected(f, ma, mb, c.get(i, j), i, j));

  const bool wide = f.a->width == 64;
  const unsigned per = wide ? 1 : 32 / f.a->width;
  const unsigned na = half ? 8 : f.m * f.k / 32 / per;
  const unsigned nb = half ? 8 : f.n * f.k / 32 / per;
  const auto ns = [&](const std::string& type) { return f.m * f.n / 32 / (type == "f16" ? 2 : 1); };
  const std::string type = wide ? "f64" : "b32";
  std::string text =
      ".visible .entry k(.param .u64 in, .param .u64 sa, .param .u64 sb, .param .u64 sc, .param .u64 "
      "sd)\n{\n";
  for (const char* name : {"a", "b", "c", "d"}) text += ".reg ." + type + " %" + name + "<8>;\n";
  text += ".reg .u64 %p<8>;\n.reg .u32 %s<4>, %l<8>;\n.reg .pred %q;\nld.param.u64 %p0, [in];\n";
  const char* const strides[] = {"sa", "sb", "sc", "sd"};
  for (unsigned i = 0; i < 4; ++i) {
    text += "ld.param.u64 %p1, [" + std::string(strides[i]) + "];\ncvt.u32.u64 %s" + std::to_string(i) +
            ", %p1;\n";
  }
  std::string base = "%p0";
  if (space != ".global") {  // the three matrices into shared memory, 16 bytes a lane and step
    text +=
        ".shared .align 32 .b8 tile[16384];\nmov.u32 %l0, %laneid;\nmov.u32 %l1, tile;\nmad.lo.u32 %l1, %l0, "
        "16, "
        "%l1;\nmad.wide.u32 %p2, %l0, 16, %p0;\nmov.u32 %l2, 0;\nIN:\nld.global.v4.b32 {%l4, %l5, %l6, %l7}, "
        "[%p2];\nst.shared.v4.b32 [%l1], {%l4, %l5, %l6, %l7};\nadd.u64 %p2, %p2, 512;\nadd.u32 %l1, %l1, "
        "512;\nadd.u32 %l2, %l2, 1;\nsetp.lt.u32 %q, %l2, 32;\n@%q bra IN;\nbar.sync 0;\nmov.u32 %l1, tile;\n"
        "cvt.u64.u32 %p4, %l1;\ncvta.shared.u64 %p4, %p4;\n";
    base = space.empty() ? "%p4" : "%l1";
  }
  const auto stride = [&](unsigned which, const Image& image) {
    if (how == Stride::Default) return std::string();
    return ", " + (how == Stride::Number ? std::to_string(image.stride) : "%s" + std::to_string(which));
  };
  const auto place = [&](unsigned which) {
    return "[" + base + "+" + std::to_string(which * Image::kBytes) + "]";
  };
  text += "wmma.load.a.sync.aligned" + layout(layouts.a_columns) + size + space + "." + f.a->name + " " +
          registers("a", na) + ", " + place(0) + stride(0, a) + ";\n";
  text += "wmma.load.b.sync.aligned" + layout(layouts.b_columns) + size + space + "." + f.b->name + " " +
          registers("b", nb) + ", " + place(1) + stride(1, b) + ";\n";
  text += "wmma.load.c.sync.aligned" + layout(layouts.c_columns) + size + space + "." + f.c + " " +
          registers("c", ns(f.c)) + ", " + place(2) + stride(2, c) + ";\n";
  text += op + " " + registers("d", ns(f.d)) + ", " + registers("a", na) + ", " + registers("b", nb) + ", " +
          registers("c", ns(f.c)) + ";\n";
  text += "wmma.store.d.sync.aligned" + layout(layouts.d_columns) + size + space + "." + f.d + " " +
          place(3) + ", " + registers("d", ns(f.d)) + stride(3, d) + ";\n";
  if (space != ".global") {
    text +=
        "bar.sync 0;\nmad.lo.u32 %l1, %l0, 16, %l1;\nmad.wide.u32 %p2, %l0, 16, %p0;\nmov.u32 %l2, 0;\nOUT:\n"
        "ld.shared.v4.b32 {%l4, %l5, %l6, %l7}, [%l1+12288];\nst.global.v4.b32 [%p2+12288], {%l4, %l5, %l6, "
        "%l7};\nadd.u64 %p2, %p2, 512;\nadd.u32 %l1, %l1, 512;\nadd.u32 %l2, %l2, 1;\nsetp.lt.u32 %q, %l2, "
        "8;\n@%q bra OUT;\n";
  }
  text += "ret;\n}\n";
  PtxRunner runner(text, optimize);
  std::vector<std::uint8_t> all;
  for (const Image* image : {&a, &b, &c, &d}) all.insert(all.end(), image->bytes.begin(), image->bytes.end());
  const Address in = runner.device.upload(all);
  runner.run("k", {1, 1, 1}, {32, 1, 1}, {in, a.stride, b.stride, c.stride, d.stride});
  const auto out = runner.device.download<std::uint8_t>(in + 3 * Image::kBytes, Image::kBytes);
  ASSERT_EQ(out, wanted.bytes);
}

std::vector<Form> all_wmma_forms() {
  std::vector<Form> forms;
  const std::vector<std::array<unsigned, 3>> large{{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
  for (const auto& [m, n, k] : large) {
    for (const auto& [d, c] : {std::pair{"f32", "f32"}, {"f16", "f16"}, {"f32", "f16"}, {"f16", "f32"}})
      forms.push_back({m, n, k, &kHalfElement, &kHalfElement, d, c});
    forms.push_back({m, n, k, &kBfloatElement, &kBfloatElement, "f32", "f32"});
    forms.push_back({m, n, k, &kS8, &kS8, "s32", "s32"});
    forms.push_back({m, n, k, &kU8, &kU8, "s32", "s32", "", ".satfinite"});
  }
  forms.push_back({16, 16, 8, &kTensorElement, &kTensorElement, "f32", "f32"});
  forms.push_back({8, 8, 4, &kDoubleElement, &kDoubleElement, "f64", "f64"});
  forms.push_back({8, 8, 32, &kS4, &kS4, "s32", "s32"});
  forms.push_back({8, 8, 32, &kU4, &kU4, "s32", "s32"});
  forms.push_back({8, 8, 128, &kB1, &kB1, "s32", "s32", ".xor.popc"});
  forms.push_back({8, 8, 128, &kB1, &kB1, "s32", "s32", ".and.popc"});
  return forms;
}

TEST(Wmma, TilesOfEveryTypeAndLayout) {
  unsigned turn = 0;
  for (const Form& form : all_wmma_forms()) {
    for (unsigned layouts = 0; layouts < 16; ++layouts) {
      const Layouts which{(layouts & 1U) != 0, (layouts & 2U) != 0, (layouts & 4U) != 0, (layouts & 8U) != 0};
      if (form.a->width < 8 && (which.a_columns || !which.b_columns)) continue;  // PTX has .row.col alone
      // What does not depend on each other takes turns.
      const auto how = static_cast<Stride>(turn % 3);
      const char* const spaces[] = {".global", ".shared", "", ".global"};
      check(form, which, how, spaces[turn / 3 % 4], static_cast<int>(turn % 2));
      if (HasFatalFailure()) return;
      ++turn;
    }
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
