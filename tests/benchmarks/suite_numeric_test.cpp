// Floating-point kernels like those of public suites (tests/ptx/suite). The emulator runs them with and
// without the optimising back end; results are compared with references in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "base/hash.hpp"
#include "benchmarks/suite_device.hpp"

namespace gpumux {
namespace {

using testing_support::SuiteDevice;

/// The parameter is CompileOptions::optimize.
class NumericSuite : public testing::TestWithParam<int> {
 protected:
  Random random_{42};
  std::vector<float> floats(std::size_t count, float low, float high) {
    std::vector<float> values(count);
    for (float& value : values) value = random_.uniform(low, high);
    return values;
  }
  std::vector<double> doubles(std::size_t count, float low, float high) {
    const std::vector<float> values = floats(count, low, high);
    return {values.begin(), values.end()};
  }
};

template <typename T>
void expect_near(const std::vector<T>& got, const std::vector<double>& wanted, double relative,
                 double absolute) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], relative * std::abs(wanted[i]) + absolute)
        << "element " << i;
  }
}

TEST_P(NumericSuite, Reduction) {
  SuiteDevice device("reduction", GetParam());
  const std::vector<float> in = floats(5000, 0, 1);
  std::vector<double> wanted(3);
  double total = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    wanted[i / 256 % 3] += static_cast<double>(in[i]);
    total += static_cast<double>(in[i]);
  }
  const Address sums = device.zeros<float>(3);
  const Address sum = device.zeros<float>(1);
  device.launch("reduce_sum", {3}, {256}, 0, device.upload(in), 5000, sums, sum);
  expect_near(device.download<float>(sums, 3), wanted, 1e-6, 0);
  expect_near(device.download<float>(sum, 1), {total}, 1e-6, 0);
}

TEST_P(NumericSuite, Transpose) {
  SuiteDevice device("transpose", GetParam());
  const std::vector<double> in = doubles(70 * 45, -1, 1);
  const Address out = device.zeros<double>(in.size());
  device.launch("transpose", {2, 3}, {32, 8}, 0, device.upload(in), out, 70, 45);
  const std::vector<double> got = device.download<double>(out, in.size());
  for (std::size_t r = 0; r < 70; ++r) {
    for (std::size_t c = 0; c < 45; ++c) ASSERT_EQ(got[c * 70 + r], in[r * 45 + c]);
  }
}

TEST_P(NumericSuite, Gaussian) {
  SuiteDevice device("gaussian", GetParam());
  constexpr int kN = 20;
  std::vector<float> a = floats(kN * kN, -1, 1);
  for (std::size_t i = 0; i < kN; ++i) a[i * kN + i] += 20;  // dominant diagonal: no pivoting needed
  const std::vector<float> b = floats(kN, -1, 1);
  const Address m = device.zeros<float>(kN * kN);
  const Address da = device.upload(a);
  const Address db = device.upload(b);
  for (int t = 0; t < kN - 1; ++t) {
    device.launch("multipliers", {1}, {32}, 0, m, da, kN, t);
    device.launch("eliminate", {2, 2}, {16, 16}, 0, m, da, db, kN, t);
  }
  // Solve by substitution, then check the residual of the original system.
  const std::vector<float> upper = device.download<float>(da, kN * kN);
  const std::vector<float> right = device.download<float>(db, kN);
  std::vector<double> x(kN);
  for (std::size_t i = kN; i-- > 0;) {
    double sum = static_cast<double>(right[i]);
    for (std::size_t j = i + 1; j < kN; ++j) sum -= static_cast<double>(upper[i * kN + j]) * x[j];
    x[i] = sum / static_cast<double>(upper[i * kN + i]);
  }
  for (std::size_t i = 0; i < kN; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < kN; ++j) sum += static_cast<double>(a[i * kN + j]) * x[j];
    EXPECT_NEAR(sum, static_cast<double>(b[i]), 1e-5);
  }
}

TEST_P(NumericSuite, Srad) {
  SuiteDevice device("srad", GetParam());
  constexpr int kRows = 20;
  constexpr int kColumns = 37;
  const std::vector<float> image = floats(kRows * kColumns, 0.5F, 2);
  const Address at = device.upload(image);
  const std::vector<Address> planes = {device.zeros<float>(image.size()), device.zeros<float>(image.size()),
                                       device.zeros<float>(image.size()), device.zeros<float>(image.size()),
                                       device.zeros<float>(image.size())};
  const float q0 = 0.05F;
  const float lambda = 0.5F;
  device.launch("srad_coefficients", {3, 2}, {16, 16}, 0, at, planes[0], planes[1], planes[2], planes[3],
                planes[4], kRows, kColumns, q0);
  device.launch("srad_update", {3, 2}, {16, 16}, 0, at, planes[0], planes[1], planes[2], planes[3], planes[4],
                kRows, kColumns, lambda);
  const auto pixel = [&](int r, int c) {
    r = std::clamp(r, 0, kRows - 1);
    c = std::clamp(c, 0, kColumns - 1);
    const int index = r * kColumns + c;
    return static_cast<double>(image[static_cast<std::size_t>(index)]);
  };
  const auto coefficient = [&](int r, int c) {
    r = std::min(r, kRows - 1);
    c = std::min(c, kColumns - 1);
    const double here = pixel(r, c);
    double g2 = 0;
    double l = 0;
    for (const auto& [dr, dc] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
      const double d = pixel(r + dr, c + dc) - here;
      g2 += d * d;
      l += d;
    }
    g2 /= here * here;
    l /= here;
    const double den = 1 + 0.25 * l;
    const double q = (0.5 * g2 - l * l / 16) / (den * den);
    const double q_zero = static_cast<double>(q0);
    return std::clamp(1 / (1 + (q - q_zero) / (q_zero * (1 + q_zero))), 0.0, 1.0);
  };
  std::vector<double> wanted;
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      const double here = pixel(r, c);
      const double own = coefficient(r, c);
      const double d = own * (pixel(r - 1, c) - here) + coefficient(r + 1, c) * (pixel(r + 1, c) - here) +
                       own * (pixel(r, c - 1) - here) + coefficient(r, c + 1) * (pixel(r, c + 1) - here);
      wanted.push_back(here + 0.25 * 0.5 * d);
    }
  }
  // The coefficient has a pole where 1 + (q - q0) / (q0 (1 + q0)) is 0, which lies outside q >= 0 for small
  // q0.
  expect_near(device.download<float>(at, image.size()), wanted, 1e-4, 1e-4);
}

TEST_P(NumericSuite, Convolution) {
  SuiteDevice device("convolution", GetParam());
  const std::vector<float> filter = floats(17, 0, 1);
  const std::vector<float> in = floats(300 * 2, 0, 1);
  device.set_constant("filter", filter);
  const Address out = device.zeros<float>(in.size());
  device.launch("convolve_rows", {3, 2}, {128}, 0, device.upload(in), out, 300);
  std::vector<double> wanted(in.size());
  for (int i = 0; i < 600; ++i) {
    for (int k = -8; k <= 8; ++k) {
      const int column = i % 300 + k;
      if (column < 0 || column >= 300) continue;
      const int from = i + k;
      wanted[static_cast<std::size_t>(i)] += static_cast<double>(filter[static_cast<std::size_t>(8 - k)]) *
                                             static_cast<double>(in[static_cast<std::size_t>(from)]);
    }
  }
  expect_near(device.download<float>(out, in.size()), wanted, 2e-6, 0);
}

TEST_P(NumericSuite, MriQ) {
  SuiteDevice device("mri_q", GetParam());
  const std::vector<float> samples = floats(64 * 4, 0, 1);
  device.set_constant("samples", samples);
  std::vector<std::vector<float>> place = {floats(100, -1, 1), floats(100, -1, 1), floats(100, -1, 1)};
  place[0][7] = 40'000;  // beyond the fast range reduction of sinf
  const Address re = device.zeros<float>(100);
  const Address im = device.zeros<float>(100);
  constexpr int kSamples = 40;
  device.launch("compute_q", {1}, {128}, 0, kSamples, device.upload(place[0]), device.upload(place[1]),
                device.upload(place[2]), re, im, 100);
  std::vector<double> wanted_re(100);
  std::vector<double> wanted_im(100);
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t k = 0; k < kSamples; ++k) {
      // The phase in the kernel's own order (an error in it would be as large as the phase is).
      const float sum = std::fma(samples[4 * k + 2], place[2][i],
                                 std::fma(samples[4 * k], place[0][i], samples[4 * k + 1] * place[1][i]));
      const double phase = static_cast<double>(6.2831853071795864769F * sum);
      wanted_re[i] += static_cast<double>(samples[4 * k + 3]) * std::cos(phase);
      wanted_im[i] += static_cast<double>(samples[4 * k + 3]) * std::sin(phase);
    }
  }
  expect_near(device.download<float>(re, 100), wanted_re, 0, 5e-5);
  expect_near(device.download<float>(im, 100), wanted_im, 0, 5e-5);
}

TEST_P(NumericSuite, BlackScholes) {
  SuiteDevice device("black_scholes", GetParam());
  const std::vector<float> price = floats(200, 5, 30);
  const std::vector<float> strike = floats(200, 1, 100);
  const std::vector<float> years = floats(200, 0.25F, 10);
  const Address call = device.zeros<float>(200);
  const Address put = device.zeros<float>(200);
  device.launch("black_scholes", {2}, {128}, 0, device.upload(price), device.upload(strike),
                device.upload(years), call, put, 0.02F, 0.3F, 200);
  const auto normal = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
  std::vector<double> wanted_call;
  std::vector<double> wanted_put;
  for (std::size_t i = 0; i < 200; ++i) {
    const double s = static_cast<double>(price[i]);
    const double x = static_cast<double>(strike[i]);
    const double t = static_cast<double>(years[i]);
    const double d1 = (std::log(s / x) + (0.02 + 0.045) * t) / (0.3 * std::sqrt(t));
    const double d2 = d1 - 0.3 * std::sqrt(t);
    wanted_call.push_back(s * normal(d1) - x * std::exp(-0.02 * t) * normal(d2));
    wanted_put.push_back(x * std::exp(-0.02 * t) * normal(-d2) - s * normal(-d1));
  }
  // The polynomial for the normal distribution is good to 7.5e-8, times strikes of up to 100.
  expect_near(device.download<float>(call, 200), wanted_call, 0, 1e-4);
  expect_near(device.download<float>(put, 200), wanted_put, 0, 1e-4);
}

TEST_P(NumericSuite, SparseProducts) {
  SuiteDevice device("spmv_formats", GetParam());
  constexpr int kRows = 50;
  const std::vector<float> x = floats(64, 0, 1);
  std::vector<std::int32_t> start = {0};
  std::vector<std::int32_t> column;
  std::vector<float> value;
  constexpr int kWidth = 70;
  std::vector<std::int32_t> ell_column(kWidth * kRows, -1);
  std::vector<float> ell_value(kWidth * kRows);
  std::vector<double> wanted(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::uint32_t count = row == 3 ? 0 : random_.below(kWidth + 1);
    for (std::uint32_t k = 0; k < count; ++k) {
      column.push_back(static_cast<std::int32_t>(random_.below(64)));
      value.push_back(random_.unit());
      ell_column[k * kRows + row] = column.back();
      ell_value[k * kRows + row] = value.back();
      wanted[row] +=
          static_cast<double>(value.back()) * static_cast<double>(x[static_cast<std::size_t>(column.back())]);
    }
    start.push_back(static_cast<std::int32_t>(column.size()));
  }
  const Address dx = device.upload(x);
  const Address csr = device.zeros<float>(kRows);
  const Address ell = device.zeros<float>(kRows);
  device.launch("spmv_csr_warp", {13}, {128}, 0, device.upload(start), device.upload(column),
                device.upload(value), dx, csr, kRows);
  device.launch("spmv_ell", {1}, {64}, 0, device.upload(ell_column), device.upload(ell_value), dx, ell, kRows,
                kWidth);
  expect_near(device.download<float>(csr, kRows), wanted, 1e-5, 0);
  expect_near(device.download<float>(ell, kRows), wanted, 1e-5, 0);
}

TEST_P(NumericSuite, NBody) {
  SuiteDevice device("nbody", GetParam());
  const std::vector<float> bodies = floats(256 * 4, 0, 1);
  const Address out = device.zeros<float>(bodies.size());
  device.launch("accelerations", {2}, {128}, 0, device.upload(bodies), out, 256);
  std::vector<double> wanted(bodies.size());
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t j = 0; j < 256; ++j) {
      double d[3];
      double square = 0.01F;
      for (std::size_t k = 0; k < 3; ++k) {
        d[k] = static_cast<double>(bodies[4 * j + k]) - static_cast<double>(bodies[4 * i + k]);
        square += d[k] * d[k];
      }
      for (std::size_t k = 0; k < 3; ++k) {
        wanted[4 * i + k] += d[k] * static_cast<double>(bodies[4 * j + 3]) / (square * std::sqrt(square));
      }
    }
  }
  expect_near(device.download<float>(out, bodies.size()), wanted, 1e-5, 1e-2);
}

TEST_P(NumericSuite, Fft) {
  SuiteDevice device("fft", GetParam());
  const std::vector<float> in = floats(2 * 256 * 2, -1, 1);
  const Address out = device.zeros<float>(in.size());
  device.launch("fft256", {2}, {128}, 0, device.upload(in), out);
  std::vector<double> wanted(in.size());
  for (std::size_t signal = 0; signal < 2; ++signal) {
    for (std::size_t k = 0; k < 256; ++k) {
      std::complex<double> sum = 0;
      for (std::size_t n = 0; n < 256; ++n) {
        const std::size_t at = 2 * (signal * 256 + n);
        sum += std::complex<double>(static_cast<double>(in[at]), static_cast<double>(in[at + 1])) *
               std::polar(1.0, -2 * 3.14159265358979323846 * static_cast<double>(k * n % 256) / 256);
      }
      wanted[2 * (signal * 256 + k)] = sum.real();
      wanted[2 * (signal * 256 + k) + 1] = sum.imag();
    }
  }
  expect_near(device.download<float>(out, in.size()), wanted, 0, 5e-5);
}

TEST_P(NumericSuite, DoubleGemm) {
  SuiteDevice device("dgemm", GetParam());
  constexpr int kN = 48;
  const std::vector<double> a = doubles(kN * kN, -1, 1);
  const std::vector<double> b = doubles(kN * kN, -1, 1);
  const std::vector<double> c = doubles(kN * kN, -1, 1);
  const Address dc = device.upload(c);
  device.launch("dgemm", {3, 3}, {16, 16}, 0, device.upload(a), device.upload(b), dc, kN, 1.5, -0.5);
  std::vector<double> wanted;
  for (std::size_t i = 0; i < kN; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kN; ++k) sum += a[i * kN + k] * b[k * kN + j];
      wanted.push_back(1.5 * sum - 0.5 * c[i * kN + j]);
    }
  }
  expect_near(device.download<double>(dc, kN * kN), wanted, 0, 1e-13);
}

TEST_P(NumericSuite, DoubleMath) {
  SuiteDevice device("dgemm", GetParam());
  const std::vector<double> x = doubles(64, 0.01F, 20);
  const Address out = device.zeros<double>(64);
  device.launch("double_math", {1}, {64}, 0, device.upload(x), out, 64);
  std::vector<double> wanted;
  wanted.reserve(x.size());
  for (const double v : x) {
    wanted.push_back(std::exp(-v) + std::log(v) / std::sqrt(v) + std::pow(v, 1.5) + std::fmod(v, 0.7));
  }
  expect_near(device.download<double>(out, 64), wanted, 0, 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Optimize, NumericSuite, testing::Values(0, 1));

}  // namespace
}  // namespace gpumux
