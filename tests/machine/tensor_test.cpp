// Matrix products on whole machines: right results, and a speed that follows from the tensor units.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "emulator/matrix_reference.hpp"
#include "experiment/run.hpp"
#include "runtime/application.hpp"

namespace gpumux {
namespace {

using emulator::test::half_bits;
using emulator::test::kF16;
using emulator::test::kTF32;
using emulator::test::SumOf;

/// Loads tensor.ptx and runs one kernel.
class Tensor : public runtime::Application {
 protected:
  static std::uint32_t load(runtime::Host& host) {
    const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/machine/data/tensor.ptx";
    return host.load_module(read_file(file), file);
  }
};

class Chains final : public Tensor {
 public:
  Chains(std::string kernel, std::uint32_t threads, int count)
      : kernel_(std::move(kernel)), threads_(threads), count_(count) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const auto out = host.malloc<float>(threads_);
    host.launch(load(host), kernel_, {{1, 1, 1}, {threads_, 1, 1}, 0, 0}, out, count_);
    std::vector<float> sums(threads_);
    host.from_device(sums, out);
    co_await host.synchronize();
    const float wanted = 16.0F * static_cast<float>(count_) * 4 * (kernel_ == "one_chain" ? 1 : 4);
    for (const float sum : sums) EXPECT_EQ(sum, wanted);
  }

 private:
  std::string kernel_;
  std::uint32_t threads_;
  int count_;
};

/// C = A B of halves, C square, by a kernel of 64 x 64 tiles in steps of 32 of the depth.
class Gemm final : public Tensor {
 public:
  Gemm(std::string kernel, int size, int depth) : kernel_(std::move(kernel)), size_(size), depth_(depth) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const auto n = static_cast<std::size_t>(size_);
    const auto depth = static_cast<std::size_t>(depth_);
    Random random(7);
    std::vector<std::uint16_t> a(n * depth), b(depth * n);
    for (auto& x : a)
      x = static_cast<std::uint16_t>(half_bits(static_cast<double>(random.below(4096)) / 1024 - 2));
    for (auto& x : b)
      x = static_cast<std::uint16_t>(half_bits(static_cast<double>(random.below(4096)) / 1024 - 2));
    const auto da = host.malloc<std::uint16_t>(a.size());
    const auto db = host.malloc<std::uint16_t>(b.size());
    const auto dc = host.malloc<std::uint32_t>(n * n);
    host.to_device(da, a);
    host.to_device(db, b);
    const auto blocks = static_cast<std::uint32_t>(size_ / 64);
    host.launch(load(host), kernel_, {{blocks, blocks, 1}, {128, 1, 1}, 0, 0}, da, db, dc, size_, depth_);
    std::vector<std::uint32_t> c(n * n);
    host.from_device(c, dc);
    co_await host.synchronize();
    const SumOf sum;
    for (std::size_t at = 0; at < n * n; at += 37) {
      std::vector<double> x, y;
      for (std::size_t k = 0; k < depth; ++k) {
        x.push_back(kF16.value(a[at / n * depth + k]));
        y.push_back(kF16.value(b[k * n + at % n]));
      }
      EXPECT_EQ(c[at], sum(x, y, 0)) << at;
    }
  }

 private:
  std::string kernel_;
  int size_, depth_;
};

/// C = A B of f32 as tf32, B by columns.
class TensorFloats final : public Tensor {
 public:
  runtime::Task run(runtime::Host& host, bool) override {
    constexpr std::size_t kRows = 32, kColumns = 48, kDepth = 40;
    Random random(11);
    const auto number = [&] { return static_cast<float>(random.below(1U << 24U)) / (1U << 22U) - 2; };
    std::vector<float> a(kRows * kDepth), b(kColumns * kDepth);
    for (float& x : a) x = number();
    for (float& x : b) x = number();
    const auto da = host.malloc<float>(a.size());
    const auto db = host.malloc<float>(b.size());
    const auto dc = host.malloc<std::uint32_t>(kRows * kColumns);
    host.to_device(da, a);
    host.to_device(db, b);
    host.launch(load(host), "gemm_tf32", {{3, 2, 1}, {32, 1, 1}, 0, 0}, da, db, dc,
                static_cast<int>(kColumns), static_cast<int>(kDepth));
    std::vector<std::uint32_t> c(kRows * kColumns);
    host.from_device(c, dc);
    co_await host.synchronize();
    SumOf sum;
    sum.group = 4;
    sum.a = sum.b = kTF32;
    // To 10 bits of fraction, ties away from zero.
    const auto rounded = [](float x) {
      return kTF32.value((std::bit_cast<std::uint32_t>(x) + 0x1000U) >> 13U);
    };
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        std::vector<double> x, y;
        for (std::size_t k = 0; k < kDepth; ++k) {
          x.push_back(rounded(a[i * kDepth + k]));
          y.push_back(rounded(b[j * kDepth + k]));
        }
        EXPECT_EQ(c[i * kColumns + j], sum(x, y, 0)) << i << ' ' << j;
      }
    }
  }
};

template <class App, class... Arguments>
experiment::RunResult run_on(const arch::MachineConfig& config, Arguments... arguments) {
  experiment::RunSpec spec;
  spec.machine = config;
  spec.policy = policy::parse_choice("sequential");
  experiment::AppSpec app;
  app.text = app.name = app.identity = "tensor";
  app.create = [=](std::uint64_t) { return std::make_unique<App>(arguments...); };
  spec.apps.push_back(app);
  return experiment::simulate(spec);
}

/// Cycles for which a unit is taken by one m16n8k16 of f16.
double product_cycles(const arch::MachineConfig& config) {
  const auto& row = config.latency[static_cast<std::size_t>(isa::LatencyClass::Tensor)];
  const auto& unit = config.units[static_cast<std::size_t>(isa::Unit::Tensor)];
  const double passes = std::ceil(2048.0 / config.tensor_multiply_adds);
  return passes * std::max(row.initiation, 32 / unit.lanes);
}

class OnTensorUnits : public testing::TestWithParam<std::string> {
 protected:
  arch::MachineConfig config_ = arch::load_machine(GetParam(), {"sms=1"});
};

TEST_P(OnTensorUnits, AProductThatWaitsForAnotherTakesItsLatency) {
  const auto cycles = [&](int count) {
    return static_cast<double>(run_on<Chains>(config_, "one_chain", 32U, count).cycles);
  };
  const auto& row = config_.latency[static_cast<std::size_t>(isa::LatencyClass::Tensor)];
  const auto& unit = config_.units[static_cast<std::size_t>(isa::Unit::Tensor)];
  const double pass = std::max(row.initiation, 32 / unit.lanes);
  const double latency = row.latency + product_cycles(config_) - pass + config_.sm.operand_latency +
                         config_.sm.writeback_latency;
  // The loop is unrolled by four, with a few instructions of its own that hide behind the products. Of an
  // operand that is read twice over, and of accumulators in one bank, the collector may want a cycle more.
  const double each = (cycles(1024) - cycles(512)) / 512;
  EXPECT_GE(each, latency);
  EXPECT_LE(each, latency + 4);
}

TEST_P(OnTensorUnits, IndependentProductsKeepTheUnitsBusy) {
  const auto result = [&](int count) { return run_on<Chains>(config_, "four_chains", 512U, count); };
  const experiment::RunResult more = result(512);
  const experiment::RunResult less = result(256);
  // 16 warps of four products on four units.
  const double wanted = 256.0 * 16 * 4 / 4 * product_cycles(config_);
  EXPECT_NEAR(static_cast<double>(more.cycles - less.cycles), wanted, 0.02 * wanted);
  EXPECT_EQ(more.gpu.tensor_thread_instructions, 512U * 16 * 4 * 32);
  EXPECT_EQ(more.gpu.tensor_passes,
            more.gpu.tensor_thread_instructions *
                static_cast<std::uint64_t>(std::ceil(2048.0 / config_.tensor_multiply_adds)));
}

TEST_P(OnTensorUnits, AMatrixProductComesNearThePeakOfTheUnits) {
  constexpr int kSize = 256, kLess = 128, kMore = 384;
  for (const char* kernel : {"gemm_wmma", "gemm_mma"}) {
    // Of more depth, so that the first tiles from memory, the output and the launch do not count.
    const auto compare = [&](const arch::MachineConfig& config, double most_over, double most_beside) {
      const auto cycles = [&](int depth) {
        return static_cast<double>(run_on<Gemm>(config, kernel, kSize, depth).cycles);
      };
      const double least =
          static_cast<double>(kSize) * kSize * (kMore - kLess) / 2048 / 4 * product_cycles(config);
      const double taken = cycles(kMore) - cycles(kLess);
      EXPECT_GE(taken, least) << kernel;
      EXPECT_LE(taken, least * most_over + most_beside) << kernel;
    };
    // A block of 64 x 64 loads 8 KB for each 32 of the depth, at 32 bytes a cycle and at worst at half of it.
    const double blocks = kSize / 64.0 * kSize / 64;
    compare(config_, 1, blocks * (kMore - kLess) / 32 * 8192 / 16);
    // Units that take 256 cycles for a product, 64 of which a block has for each such step: all else hides.
    arch::MachineConfig slow = config_;
    slow.tensor_multiply_adds =
        static_cast<std::uint32_t>(config_.tensor_multiply_adds * product_cycles(config_) / 256);
    ASSERT_EQ(product_cycles(slow), 256);
    compare(slow, 1.15, 0);
  }
}

TEST_P(OnTensorUnits, TensorFloatsAreRight) { run_on<TensorFloats>(config_); }

INSTANTIATE_TEST_SUITE_P(Presets, OnTensorUnits,
                         testing::Values("v100", "rtx2060", "v100-measured", "a100-measured",
                                         "h100-measured"),
                         [](const testing::TestParamInfo<std::string>& preset) {
                           std::string name = preset.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Tensor, MachinesWithoutTheUnitsRefuseMatrixProducts) {
  try {
    run_on<Gemm>(arch::load_machine("titan-x-pascal", {"sms=1"}), "gemm_mma", 64, 64);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(
        std::string(error.what()).find("error: app tensor: kernel gemm_mma: it multiplies matrices (line "),
        0U)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("titan-x-pascal has no tensor units (unit.tensor.count is 0)"),
              std::string::npos)
        << error.what();
  }
}

TEST(Tensor, ProductsThatTakeTooLongAreRefused) {
  EXPECT_THROW(static_cast<void>(
                   arch::load_machine("v100", {"unit.tensor.multiply_adds=64", "latency.tensor=[2, 200]"})),
               UserError);
  EXPECT_NO_THROW(static_cast<void>(
      arch::load_machine("v100", {"unit.tensor.multiply_adds=4096", "latency.tensor=[2, 100]"})));
}

}  // namespace
}  // namespace gpumux
