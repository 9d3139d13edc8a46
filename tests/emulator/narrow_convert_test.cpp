// Conversions to and from tf32 and fp8, against the values that the formats define.
#include <gtest/gtest.h>

#include <bit>

#include "emulator/matrix_reference.hpp"
#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

/// What `instruction` makes in %r2 or %h0 of the pairs of words in %r0 (%f0) and %r1 (%f1).
std::vector<std::uint32_t> convert(const std::string& instruction, const std::vector<std::uint32_t>& a,
                                   const std::vector<std::uint32_t>& b, bool half_result) {
  const std::string text =
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<8>;\n.reg .f32 %f<2>;\n.reg .b16 "
      "%h<2>;\n.reg .b64 %rd<4>;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.u32 %r3, %r3, 256, "
      "%r4;\nld.param.u64 %rd0, [in];\nmad.wide.u32 %rd0, %r3, 8, %rd0;\nld.global.v2.b32 {%r0, %r1}, "
      "[%rd0];\nmov.b32 %f0, %r0;\nmov.b32 %f1, %r1;\ncvt.u16.u32 %h1, %r0;\n" +
      instruction + ";\n" + (half_result ? "cvt.u32.u16 %r2, %h0;\n" : "") +
      "ld.param.u64 %rd1, [out];\nmad.wide.u32 %rd1, %r3, 4, %rd1;\nst.global.b32 [%rd1], %r2;\nret;\n}\n";
  const std::size_t count = (a.size() + 255) / 256 * 256;
  std::vector<std::uint32_t> pairs(2 * count, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    pairs[2 * i] = a[i];
    pairs[2 * i + 1] = b[i];
  }
  PtxRunner runner(text, 1);
  const Address in = runner.device.upload(pairs);
  const Address out = runner.device.memory.allocate(count * 4);
  runner.run("k", {static_cast<std::uint32_t>(count / 256), 1, 1}, {256, 1, 1}, {in, out});
  auto words = runner.device.download<std::uint32_t>(out, count);
  words.resize(a.size());
  return words;
}

/// The nearest number of an fp8 format, found among all; the even one of two; the largest beyond it.
class Nearest {
 public:
  explicit Nearest(const FloatFormat& format) {
    for (std::uint32_t code = 0; code <= (format.finite_top ? 0x7eU : 0x7bU); ++code)
      values_.push_back(format.value(code));
  }
  std::uint32_t operator()(double x, bool relu) const {
    if (std::isnan(x)) return 0x7f;
    const std::uint32_t sign = std::signbit(x) ? 0x80 : 0;
    if (relu && sign != 0) return 0;
    const double magnitude = std::min(std::abs(x), values_.back());
    std::size_t best = 0;
    for (std::size_t code = 1; code < values_.size(); ++code) {
      const double distance = std::abs(values_[code] - magnitude);
      const double least = std::abs(values_[best] - magnitude);
      if (distance < least || (distance == least && code % 2 == 0)) best = code;
    }
    return sign | static_cast<std::uint32_t>(best);
  }

 private:
  std::vector<double> values_;
};

std::vector<std::uint32_t> singles() {
  std::vector<std::uint32_t> values = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000,
                                       1,          0x7f7fffff, 0x3f801000, 0x3f800fff, 0x3f801001, 0xbf801000,
                                       0x3f803000, 0x00001000, 0x43e00000, 0x43e80000, 0x43f00000, 0x43e80001,
                                       0x47600000, 0x47700000, 0x477fffff};
  Random random(5);
  for (int i = 0; i < 4000; ++i) values.push_back(static_cast<std::uint32_t>(random.next()));
  for (int i = 0; i < 6000; ++i) {  // where fp8 lies, often in the middle of two
    const auto exponent = 127 - 18 + random.below(36);
    values.push_back(static_cast<std::uint32_t>(random.below(2) << 31U | exponent << 23U |
                                                (random.below(128) << 16U) | (random.below(4) == 0 ? 1 : 0)));
  }
  return values;
}

TEST(NarrowConvert, SinglesAndHalvesToFp8) {
  const std::vector<std::uint32_t> a = singles();
  const std::vector<std::uint32_t> b(a.rbegin(), a.rend());
  std::vector<std::uint32_t> halves, zeros(65536, 0);
  for (std::uint32_t x = 0; x < 65536; ++x) halves.push_back(x | ((x * 40503U) & 0xffffU) << 16U);
  for (const auto& [name, format] : {std::pair{"e4m3x2", &kE4M3Format}, {"e5m2x2", &kE5M2Format}}) {
    const Nearest nearest(*format);
    for (const bool relu : {false, true}) {
      const std::string op = std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + name;
      const auto both = convert(op + ".f32 %h0, %f0, %f1", a, b, true);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double upper = std::bit_cast<float>(a[i]);
        const double lower = std::bit_cast<float>(b[i]);
        ASSERT_EQ(both[i], nearest(upper, relu) << 8U | nearest(lower, relu))
            << op << std::hex << ' ' << a[i] << ' ' << b[i];
      }
      const auto pairs = convert(op + ".f16x2 %h0, %r0", halves, zeros, true);
      for (std::size_t i = 0; i < halves.size(); i += 3) {
        ASSERT_EQ(pairs[i], nearest(kF16.value(halves[i] >> 16U), relu) << 8U |
                                nearest(kF16.value(halves[i] & 0xffffU), relu))
            << op << std::hex << ' ' << halves[i];
      }
    }
  }
}

TEST(NarrowConvert, Fp8ToHalvesIsExact) {
  std::vector<std::uint32_t> codes, zeros(256, 0);
  for (std::uint32_t x = 0; x < 256; ++x) codes.push_back(x | (255 - x) << 8U);
  for (const auto& [name, format] : {std::pair{"e4m3x2", &kE4M3Format}, {"e5m2x2", &kE5M2Format}}) {
    for (const bool relu : {false, true}) {
      const auto out = convert(std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + name + " %r2, %h1",
                               codes, zeros, false);
      const auto wanted = [&, &format = format](std::uint32_t code) {
        const double value = format->value(code);
        return relu && (code & 0x80U) != 0 && !std::isnan(value) ? 0U : half_bits(value);
      };
      for (std::uint32_t x = 0; x < 256; ++x)
        ASSERT_EQ(out[x], wanted(255 - x) << 16U | wanted(x)) << name << x;
    }
  }
}

TEST(NarrowConvert, SinglesToTensorFloats) {
  const std::vector<std::uint32_t> a = singles();
  const auto wanted = [](std::uint32_t bits, const std::string& mode, bool relu,
                         bool finite) -> std::uint32_t {
    const double x = std::bit_cast<float>(bits);
    if (std::isnan(x)) return 0x7fffffff;
    if (relu && std::signbit(x)) return 0;
    const std::uint32_t sign = bits & 0x80000000U;
    if (std::isinf(x)) return sign | (finite ? 0x7f7fe000U : 0x7f800000U);
    const int e = x == 0 ? -126 : kTF32.exponent(x);
    const double units = std::ldexp(std::abs(x), 10 - e);
    const double whole = mode == "rna"  ? std::floor(units + 0.5)
                         : mode == "rz" ? std::trunc(units)
                                        : std::nearbyint(units);
    const auto magnitude = static_cast<std::uint32_t>((e + 126) * 1024 + static_cast<int>(whole)) << 13U;
    return sign | (finite && magnitude == 0x7f800000U ? 0x7f7fe000U : magnitude);
  };
  for (const std::string mode : {"rna", "rna.satfinite", "rn", "rz", "rn.relu", "rz.relu"}) {
    const auto out = convert("cvt." + mode + ".tf32.f32 %r2, %f0", a, a, false);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(out[i], wanted(a[i], mode.substr(0, mode.find('.')), mode.find("relu") != std::string::npos,
                               mode.find("satfinite") != std::string::npos))
          << mode << std::hex << ' ' << a[i];
    }
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
