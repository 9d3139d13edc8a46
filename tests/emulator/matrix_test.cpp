// mma, ldmatrix, stmatrix and movmatrix against a reference, for every size and type.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cstring>

#include "emulator/matrix_reference.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

// Where element i of a lane lies (PTX ISA, "Matrix Fragments for mma"): groups of four lanes have a row of A
// and C and a column of B; registers of A alternate between the upper and the lower eight rows.
struct At {
  unsigned row, column;
};
At in_a(const Form& f, unsigned lane, unsigned i) {
  const unsigned each = f.a->width == 64 ? 1 : 32 / f.a->width;
  const unsigned reg = i / each;
  const unsigned t = lane % 4;
  if (f.m == 8) return {lane / 4, t * each + i % each};
  return {lane / 4 + (reg % 2 == 1 ? 8 : 0), t * each + i % each + 4 * each * (reg / 2)};
}
At in_b(const Form& f, unsigned lane, unsigned i) {
  const unsigned each = f.b->width == 64 ? 1 : 32 / f.b->width;
  return {lane % 4 * each + i % each + 4 * each * (i / each), lane / 4};
}
At in_c(unsigned lane, unsigned i) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1U)}; }

TEST(Matrix, FragmentsAreThoseOfTheManual) {
  const Form bytes{16, 8, 32, &kS8, &kS8, "s32", "s32"};
  EXPECT_EQ(in_a(bytes, 6, 9).row, 1U);
  EXPECT_EQ(in_a(bytes, 6, 9).column, 2 * 4 + 1 + 16U);
  EXPECT_EQ(in_a(bytes, 6, 5).row, 9U);
  const Form halves{16, 8, 16, &kHalfElement, &kHalfElement, "f32", "f32"};
  EXPECT_EQ(in_a(halves, 31, 7).row, 15U);
  EXPECT_EQ(in_a(halves, 31, 7).column, 15U);
  EXPECT_EQ(in_b(halves, 5, 3).row, 11U);
  EXPECT_EQ(in_b(halves, 5, 3).column, 1U);
}

/// Registers of fragments as [register][lane] words, or double words.
template <class Place>
std::vector<std::uint64_t> pack(const Matrix& from, unsigned width, unsigned registers, Place place) {
  const unsigned each = width >= 32 ? 1 : 32 / width;
  std::vector<std::uint64_t> words(registers * 32, 0);
  for (unsigned reg = 0; reg < registers; ++reg)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned j = 0; j < each; ++j) {
        const At at = place(lane, reg * each + j);
        words[reg * 32 + lane] |= from[at.row][at.column] << (j * width);
      }
  return words;
}

std::string list(const std::string& name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + name + std::to_string(i);
  return text + "}";
}

/// Loads registers %a, %b and %c from the parameters, executes `body`, and stores %d.
std::string kernel(const std::string& body, unsigned d, unsigned a, unsigned b, unsigned c, bool wide) {
  const std::string type = wide ? "b64" : "b32";
  const unsigned bytes = wide ? 8 : 4;
  std::string text = ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n";
  for (const char* name : {"a", "b", "c", "d"}) text += ".reg ." + type + " %" + name + "<16>;\n";
  text += ".reg .u64 %p<4>;\n.reg .u32 %lane;\nmov.u32 %lane, %laneid;\n";
  unsigned index = 0;
  const auto address = [&](const std::string& name) {
    const std::string reg = "%p" + std::to_string(index++);
    return "ld.param.u64 " + reg + ", [" + name + "];\nmad.wide.u32 " + reg + ", %lane, " +
           std::to_string(bytes) + ", " + reg + ";\n";
  };
  const auto each = [&](const std::string& op, const std::string& name, unsigned count) {
    std::string out;
    for (unsigned i = 0; i < count; ++i) {
      const std::string place =
          "[%p" + std::to_string(index - 1) + "+" + std::to_string(i * 32 * bytes) + "]";
      const std::string reg = "%" + name + std::to_string(i);
      out += op + ".global." + type + " " + (op == "ld" ? reg + ", " + place : place + ", " + reg) + ";\n";
    }
    return out;
  };
  const std::pair<const char*, unsigned> loaded[] = {{"a", a}, {"b", b}, {"c", c}};
  for (const auto& [name, count] : loaded) {
    text += address(std::string("p") + name);
    text += each("ld", name, count);
  }
  text += body + "\n";
  text += address("pd");
  text += each("st", "d", d) + "ret;\n}\n";
  return text;
}

/// D's registers.
std::vector<std::uint64_t> execute(const std::string& text, const std::vector<std::uint64_t>& a,
                                   const std::vector<std::uint64_t>& b, const std::vector<std::uint64_t>& c,
                                   unsigned d, bool wide, int optimize) {
  PtxRunner runner(text, optimize);
  const auto upload = [&](const std::vector<std::uint64_t>& words) {
    if (wide) return runner.device.upload(words);
    return runner.device.upload(std::vector<std::uint32_t>(words.begin(), words.end()));
  };
  const Address pa = upload(a);
  const Address pb = upload(b);
  const Address pc = upload(c);
  const Address pd = runner.device.memory.allocate(std::uint64_t{d} * 32 * 8);
  runner.run("k", {1, 1, 1}, {32, 1, 1}, {pa, pb, pc, pd});
  if (wide) return runner.device.download<std::uint64_t>(pd, d * 32);
  const auto words = runner.device.download<std::uint32_t>(pd, d * 32);
  return {words.begin(), words.end()};
}

void check(const Form& f, std::uint64_t seed, int optimize) {
  SCOPED_TRACE(f.opcode());
  Values values(seed);
  Matrix a(f.m, std::vector<std::uint64_t>(f.k)), b(f.k, std::vector<std::uint64_t>(f.n)),
      c(f.m, std::vector<std::uint64_t>(f.n));
  for (auto& row : a)
    for (auto& x : row) x = values.next(*f.a);
  for (auto& row : b)
    for (auto& x : row) x = values.next(*f.b);
  for (auto& row : c)
    for (auto& x : row) x = values.sum(f.c);
  const bool wide = f.a->width == 64;
  const unsigned per = wide ? 1 : 32 / f.a->width;
  const unsigned registers_a = f.m * f.k / 32 / per;
  const unsigned registers_b = f.n * f.k / 32 / per;
  const auto sums = [&](const std::string& type) { return f.m * f.n / 32 / (type == "f16" ? 2 : 1); };
  const std::string body = f.opcode() + " " + list("%d", sums(f.d)) + ", " + list("%a", registers_a) + ", " +
                           list("%b", registers_b) + ", " + list("%c", sums(f.c)) + ";";
  const unsigned c_width = f.c == "f16" ? 16 : wide ? 64 : 32;
  const auto d =
      execute(kernel(body, sums(f.d), registers_a, registers_b, sums(f.c), wide),
              pack(a, f.a->width, registers_a, [&](unsigned lane, unsigned i) { return in_a(f, lane, i); }),
              pack(b, f.b->width, registers_b, [&](unsigned lane, unsigned i) { return in_b(f, lane, i); }),
              pack(c, c_width, sums(f.c), [&](unsigned lane, unsigned i) { return in_c(lane, i); }),
              sums(f.d), wide, optimize);
  Matrix wanted(f.m, std::vector<std::uint64_t>(f.n));
  for (unsigned row = 0; row < f.m; ++row)
    for (unsigned column = 0; column < f.n; ++column)
      wanted[row][column] = expected(f, a, b, c[row][column], row, column);
  const unsigned d_width = f.d == "f16" ? 16 : wide ? 64 : 32;
  ASSERT_EQ(d, pack(wanted, d_width, sums(f.d), [&](unsigned lane, unsigned i) { return in_c(lane, i); }));
}

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (const char* sum : {"f16", "f32"}) {
    forms.push_back({16, 8, 8, &kHalfElement, &kHalfElement, sum, sum});
    forms.push_back({16, 8, 16, &kHalfElement, &kHalfElement, sum, sum});
    for (const Element* a : {&kE4M3Element, &kE5M2Element})
      for (const Element* b : {&kE4M3Element, &kE5M2Element})
        for (const unsigned k : {16U, 32U}) forms.push_back({16, 8, k, a, b, sum, sum});
  }
  for (const unsigned k : {8U, 16U})
    forms.push_back({16, 8, k, &kBfloatElement, &kBfloatElement, "f32", "f32"});
  for (const unsigned k : {4U, 8U})
    forms.push_back({16, 8, k, &kTensorElement, &kTensorElement, "f32", "f32"});
  forms.push_back({8, 8, 4, &kDoubleElement, &kDoubleElement, "f64", "f64"});
  for (const unsigned k : {4U, 8U, 16U})
    forms.push_back({16, 8, k, &kDoubleElement, &kDoubleElement, "f64", "f64"});
  for (const char* saturate : {"", ".satfinite"}) {
    for (const auto& [x, y] : {std::pair{&kS8, &kU8}, std::pair{&kS4, &kU4}}) {
      const unsigned k = x->width == 8 ? 16 : 32;
      for (const Element* a : {x, y})
        for (const Element* b : {x, y}) {
          forms.push_back({8, 8, k, a, b, "s32", "s32", saturate});
          forms.push_back({16, 8, k, a, b, "s32", "s32", saturate});
          forms.push_back({16, 8, 2 * k, a, b, "s32", "s32", saturate});
        }
    }
  }
  for (const char* op : {".xor.popc", ".and.popc"}) {
    forms.push_back({8, 8, 128, &kB1, &kB1, "s32", "s32", "", op});
    forms.push_back({16, 8, 128, &kB1, &kB1, "s32", "s32", "", op});
    forms.push_back({16, 8, 256, &kB1, &kB1, "s32", "s32", "", op});
  }
  return forms;
}

TEST(Matrix, ProductsOfEverySizeAndType) {
  for (const Form& form : all_forms()) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      check(form, seed, seed % 2 == 0 ? 1 : 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Matrix, DoublesRoundAsTheInstructionSays) {
  for (const auto& [text, mode] :
       {std::pair{".rz", FE_TOWARDZERO}, {".rm", FE_DOWNWARD}, {".rp", FE_UPWARD}}) {
    // One third of the last place of 1: each mode leaves or adds it.
    const double third = std::ldexp(1.0 / 3, -52);
    const std::string body = std::string("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64") + text +
                             " {%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};";
    const auto words = [](double x, std::size_t count) {
      return std::vector<std::uint64_t>(count, std::bit_cast<std::uint64_t>(x));
    };
    for (const double sign : {1.0, -1.0}) {
      const auto d = execute(kernel(body, 2, 1, 1, 2, true), words(sign, 32), words(third / 4, 32),
                             words(sign, 64), 2, true, 1);
      volatile double sum = sign;
      const volatile double a = sign;
      const volatile double b = third / 4;
      std::fesetround(mode);
      for (int k = 0; k < 4; ++k) sum = std::fma(a, b, sum);
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(d, words(sum, 64)) << text << sign;
    }
  }
}

/// m8n8k4 of f16: four products at once (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point
/// type").
void check_quads(bool a_columns, bool b_columns, const std::string& d_type, const std::string& c_type,
                 int optimize) {
  const std::string opcode = std::string("mma.sync.aligned.m8n8k4.") + (a_columns ? "col." : "row.") +
                             (b_columns ? "col." : "row.") + d_type + ".f16.f16." + c_type;
  SCOPED_TRACE(opcode);
  Values values(a_columns * 8U + b_columns * 4U + 1);
  const unsigned registers_d = d_type == "f16" ? 4 : 8;
  const unsigned registers_c = c_type == "f16" ? 4 : 8;
  const auto member = [](unsigned lane) { return lane % 4 + (lane < 16 ? 0U : 4U); };
  std::vector<std::uint64_t> a(64), b(64), c(registers_c * 32), wanted(registers_d * 32);
  const auto sum_at = [&](const std::string& type, unsigned lane, unsigned i) -> At {
    if (type == "f16") return {member(lane), i};
    return {(lane & 1U) + (i & 2U) + (lane < 16 ? 0U : 4U), (i & 4U) + (lane & 2U) + (i & 1U)};
  };
  for (unsigned quad = 0; quad < 4; ++quad) {
    Matrix ma(8, std::vector<std::uint64_t>(4)), mb(4, std::vector<std::uint64_t>(8)),
        mc(8, std::vector<std::uint64_t>(8));
    for (auto& row : ma)
      for (auto& x : row) x = values.next(kHalfElement);
    for (auto& row : mb)
      for (auto& x : row) x = values.next(kHalfElement);
    for (auto& row : mc)
      for (auto& x : row) x = values.sum(c_type);
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (lane / 4 % 4 != quad) continue;
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t x = a_columns ? ma[i + (lane < 16 ? 0 : 4)][lane % 4] : ma[member(lane)][i];
        const std::uint64_t y = b_columns ? mb[i][member(lane)] : mb[lane % 4][i + (lane < 16 ? 0 : 4)];
        a[i / 2 * 32 + lane] |= x << (16 * (i % 2));
        b[i / 2 * 32 + lane] |= y << (16 * (i % 2));
      }
      const Form form{8, 8, 4, &kHalfElement, &kHalfElement, d_type, c_type};
      for (unsigned i = 0; i < 8; ++i) {
        const At of_c = sum_at(c_type, lane, i);
        if (c_type == "f16") {
          c[i / 2 * 32 + lane] |= mc[of_c.row][of_c.column] << (16 * (i % 2));
        } else {
          c[i * 32 + lane] = mc[of_c.row][of_c.column];
        }
        const At of_d = sum_at(d_type, lane, i);
        const std::uint64_t x = expected(form, ma, mb, mc[of_d.row][of_d.column], of_d.row, of_d.column);
        if (d_type == "f16") {
          wanted[i / 2 * 32 + lane] |= x << (16 * (i % 2));
        } else {
          wanted[i * 32 + lane] = x;
        }
      }
    }
  }
  const std::string body =
      opcode + " " + list("%d", registers_d) + ", {%a0, %a1}, {%b0, %b1}, " + list("%c", registers_c) + ";";
  ASSERT_EQ(
      execute(kernel(body, registers_d, 2, 2, registers_c, false), a, b, c, registers_d, false, optimize),
      wanted);
}

TEST(Matrix, FourProductsOfVoltaAtOnce) {
  for (const bool a_columns : {false, true}) {
    for (const bool b_columns : {false, true}) {
      for (const auto& [d, c] : {std::pair{"f32", "f32"}, {"f32", "f16"}, {"f16", "f16"}}) {
        for (const int optimize : {0, 1}) check_quads(a_columns, b_columns, d, c, optimize);
      }
    }
  }
}

TEST(Matrix, ResultsMayLieWhereLaterPartsRead) {
  // D's registers are those of C, turned round: the first of two products must not overwrite what the second
  // reads.
  const std::string turned =
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%c4, %c5, %c6, %c7, %c0, %c1, %c2, %c3}, {%a0, %a1}, "
      "{%b0, "
      "%b1}, {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};\n";
  const std::string plain =
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, {%a0, %a1}, "
      "{%b0, "
      "%b1}, {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};\n";
  std::string copies;
  for (unsigned i = 0; i < 8; ++i)
    copies += "mov.b32 %d" + std::to_string(i) + ", %c" + std::to_string((i + 4) % 8) + ";\n";
  Values values(3);
  std::vector<std::uint64_t> a(64), b(64), c(256);
  for (auto& x : a) x = values.next(kHalfElement) | values.next(kHalfElement) << 16U;
  for (auto& x : b) x = values.next(kHalfElement) | values.next(kHalfElement) << 16U;
  for (auto& x : c) x = values.sum("f32");
  for (const int optimize : {0, 1}) {
    EXPECT_EQ(execute(kernel(turned + copies, 8, 2, 2, 8, false), a, b, c, 8, false, optimize),
              execute(kernel(plain, 8, 2, 2, 8, false), a, b, c, 8, false, optimize));
  }
}

TEST(Matrix, MatricesComeFromSharedMemoryAndGoBack) {
  // A block's 1 KiB holds eight 8x8 matrices, row r of matrix m at 16 (8 m + r). Lane l names row 31 - l: the
  // matrices come in reverse, and upside down.
  for (const bool transposed : {false, true}) {
    for (const unsigned count : {1U, 2U, 4U}) {
      for (const bool generic : {false, true}) {
        const std::string suffix = ".m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") +
                                   (generic ? "" : ".shared") + ".b16 ";
        std::string text =
            ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<16>;\n.reg .b64 "
            "%rd<8>;\n.shared "
            ".align 16 .b8 tile[1024];\nmov.u32 %r0, %laneid;\nld.param.u64 %rd0, [in];\nmad.wide.u32 %rd0, "
            "%r0, 16, "
            "%rd0;\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, 16, %r1;\nld.global.v4.b32 {%r4, %r5, %r6, "
            "%r7}, "
            "[%rd0];\nst.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};\nbar.sync 0;\nsub.u32 %r3, 31, "
            "%r0;\nmad.lo.u32 %r3, "
            "%r3, 16, %r1;\ncvt.u64.u32 %rd2, %r3;\ncvta.shared.u64 %rd2, %rd2;\ncvt.u64.u32 %rd3, "
            "%r2;\ncvta.shared.u64 "
            "%rd3, %rd3;\n";
        const std::string from = generic ? "[%rd2]" : "[%r3]";
        const std::string to = generic ? "[%rd3+512]" : "[%r2+512]";
        text += "ldmatrix.sync.aligned" + suffix + list("%r1", 0).substr(0, 1);
        for (unsigned i = 0; i < count; ++i)
          text += (i == 0 ? "" : ", ") + std::string("%r") + std::to_string(8 + i);
        text += "}, " + from + ";\nstmatrix.sync.aligned" + suffix + to + ", {";
        for (unsigned i = 0; i < count; ++i)
          text += (i == 0 ? "" : ", ") + std::string("%r") + std::to_string(8 + i);
        text += "};\nbar.sync 0;\nld.param.u64 %rd4, [out];\nmad.wide.u32 %rd5, %r0, 16, %rd4;\n";
        for (unsigned i = 0; i < count; ++i)
          text += "mad.wide.u32 %rd6, %r0, 4, %rd4;\nst.global.b32 [%rd6+" + std::to_string(i * 128) +
                  "], %r" + std::to_string(8 + i) + ";\n";
        text +=
            "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2+512];\nst.global.v4.b32 [%rd5+512], {%r4, %r5, %r6, "
            "%r7};\nret;\n}\n";
        for (const int optimize : {0, 1}) {
          PtxRunner runner(text, optimize);
          std::vector<std::uint16_t> in(256);
          for (unsigned i = 0; i < 256; ++i) in[i] = static_cast<std::uint16_t>(1000 + i);
          const Address pa = runner.device.upload(in);
          const Address pd = runner.device.memory.allocate(1024);
          runner.run("k", {1, 1, 1}, {32, 1, 1}, {pa, pd});
          const auto out = runner.device.download<std::uint16_t>(pd, 512);
          for (unsigned matrix = 0; matrix < count; ++matrix) {
            for (unsigned lane = 0; lane < 32; ++lane) {
              for (unsigned j = 0; j < 2; ++j) {
                const unsigned row = transposed ? lane % 4 * 2 + j : lane / 4;
                const unsigned column = transposed ? lane / 4 : lane % 4 * 2 + j;
                ASSERT_EQ(out[(matrix * 32 + lane) * 2 + j], 1000 + (31 - (8 * matrix + row)) * 8 + column);
              }
            }
            for (unsigned row = 0; row < 8; ++row)  // as it was read, in the other half
              for (unsigned column = 0; column < 8; ++column)
                ASSERT_EQ(out[256 + (8 * matrix + row) * 8 + column],
                          1000 + (31 - (8 * matrix + row)) * 8 + column);
          }
        }
      }
    }
  }
}

TEST(Matrix, MovmatrixTransposes) {
  std::vector<std::uint64_t> a(32);
  for (unsigned lane = 0; lane < 32; ++lane)
    a[lane] = (lane * 2) | (lane * 2 + 1) << 16U;  // row-major numbers
  const auto d = execute(kernel("movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;", 1, 1, 0, 0, false), a, {0},
                         {0}, 1, false, 1);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned row = lane / 4;
    const unsigned column = lane % 4 * 2;
    EXPECT_EQ(d[lane], (column * 8 + row) | ((column + 1) * 8 + row) << 16U);
  }
}

TEST(Matrix, AllLanesTakePart) {
  const std::string text =
      ".visible .entry k()\n{\n.reg .b32 %r<8>;\n.reg .pred %p;\nmov.u32 %r0, %laneid;\nsetp.lt.u32 %p, %r0, "
      "7;\n@%p "
      "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};\nret;\n}\n";
  const std::string partial = PtxRunner(text).fault_of("k", {1, 1, 1}, {32, 1, 1}, {});
  EXPECT_NE(partial.find("mma is executed by 7 of 32 lanes; all lanes of a warp have to execute it together"),
            std::string::npos)
      << partial;
  EXPECT_NE(partial.find("thread (7,0,0)"), std::string::npos) << partial;
  const std::string outside =
      ".visible .entry k()\n{\n.reg .b32 %r<8>;\n.shared .align 16 .b8 tile[128];\nmov.u32 %r0, "
      "%laneid;\nmov.u32 %r2, tile;\nmad.lo.u32 "
      "%r0, %r0, 16, %r2;\nadd.u32 %r0, %r0, 16;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, "
      "[%r0];\nret;\n}\n";
  const std::string fault = PtxRunner(outside).fault_of("k", {1, 1, 1}, {32, 1, 1}, {});
  EXPECT_NE(fault.find("invalid shared read of 16 bytes at 0x80"), std::string::npos) << fault;
  const std::string global =
      ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<8>;\n.reg .b64 %rd;\nld.param.u64 %rd, [p];\n"
      "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd];\nret;\n}\n";
  PtxRunner runner(global);
  const Address at = runner.device.memory.allocate(256);
  EXPECT_NE(runner.fault_of("k", {1, 1, 1}, {32, 1, 1}, {at}).find("which is not in shared memory"),
            std::string::npos);
}

}  // namespace
}  // namespace gpumux::emulator::test
