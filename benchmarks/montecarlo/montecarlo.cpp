// montecarlo: host program of option pricing by Monte Carlo.
#include "benchmarks/montecarlo/montecarlo.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/montecarlo.ptx.hpp"

namespace gpumux::benchmarks::montecarlo {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kMostOptions = 2048;  // kMostOptions of montecarlo.cu

class MonteCarlo final : public KernelProgram {
 public:
  explicit MonteCarlo(const Params& params) : count_(params.get("options")), paths_(params.get("paths")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"price_options", {count_}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    for (std::uint32_t i = 0; i < count_; ++i) {
      const float price = random.uniform(5.0F, 50.0F), strike = random.uniform(10.0F, 25.0F);
      options_.push_back(make_option(price, strike, random.uniform(1.0F, 5.0F)));
    }
    // Normal samples by Box and Muller. The argument of the logarithm is never zero.
    for (std::uint32_t i = 0; i < paths_; ++i) {
      const double radius = std::sqrt(-2 * std::log(1 - static_cast<double>(random.unit())));
      const double angle = 6.283185307179586 * static_cast<double>(random.unit());
      samples_.push_back(static_cast<float>(radius * std::cos(angle)));
    }
  }
  void start(KernelRun& run) override {
    run.set_symbol("options", options_);
    const auto samples = run.upload(samples_);
    const auto sums = run.allocate<float>(std::size_t{2} * count_);
    run.launch(sums, samples, paths_);
    run.download(result_, sums);
  }
  void check() override {
    if (expected_.empty()) {
      // Roundings of a thread's own sum, and of the sums of halves of the block.
      const double summed = sum_tolerance(blocks_for(paths_, kThreads) + 9).relative;
      for (const Option& option : options_) {
        const Sums sums = reference(option, samples_);
        expected_.insert(expected_.end(), {sums.payoffs, sums.squares});
        // A price has about ten roundings. The roundings of the exponent, which is below 3, count three
        // times.
        allowed_.push_back(summed * sums.payoffs + 32 * kFloatRounding * sums.payoffs_by_price);
        allowed_.push_back(summed * sums.squares + 32 * kFloatRounding * sums.squares_by_price);
      }
    }
    check_within("montecarlo: sums", result_, expected_, allowed_);
  }

 private:
  std::uint32_t count_;
  std::uint32_t paths_;
  std::vector<Option> options_;
  std::vector<float> samples_;
  std::vector<float> result_;  // for each option the sum of payoffs, then the sum of their squares
  std::vector<double> expected_, allowed_;
};

const KernelApp kMonteCarlo{
    .name = "montecarlo",
    .description =
        "prices of European options by Monte Carlo, a block an option (MonteCarlo of the CUDA SDK)",
    .params = {{"options", 128, 1, kMostOptions, "options, a block each"},
               {"paths", 24576, 1, 1'000'000, "samples of the price of each"}},
    .ptx_file = "benchmarks/montecarlo/montecarlo.ptx",
    .ptx_text = embedded::montecarlo_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<MonteCarlo>(kMonteCarlo);
// Most registers with which five blocks fit on an SM, as in Table 3.3.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<MonteCarlo, variant::Awatramani17>(
    kMonteCarlo.with("awatramani17/montecarlo", "montecarlo for awatramani17",
                     {{"options", 512}, {"paths", 8192}}, {.registers_per_thread = 24}));

}  // namespace
}  // namespace gpumux::benchmarks::montecarlo
