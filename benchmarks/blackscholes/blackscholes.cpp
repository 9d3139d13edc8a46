#include "benchmarks/blackscholes/blackscholes.hpp"

#include <cmath>

#include "benchmarks/kernel_program.hpp"
#include "embedded/blackscholes.ptx.hpp"

namespace gpumux::benchmarks::blackscholes {

namespace {

double normal(double x) {
  const double k = 1 / (1 + 0.2316419 * std::abs(x));
  const double density = std::exp(-0.5 * x * x) * 0.39894228040143267794;
  const double tail =
      density *
      (k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
  return x > 0 ? 1 - tail : tail;
}

}  // namespace

Prices reference(const Option& option, double rate, double volatility) {
  const auto price = static_cast<double>(option.price);
  const auto strike = static_cast<double>(option.strike);
  const auto years = static_cast<double>(option.years);
  const double spread = volatility * std::sqrt(years);
  const double d1 = (std::log(price / strike) + (rate + volatility * volatility / 2) * years) / spread;
  const double at_d1 = normal(d1);
  const double at_d2 = normal(d1 - spread);
  const double owed = strike * std::exp(-rate * years);
  return {price * at_d1 - owed * at_d2, owed * (1 - at_d2) - price * (1 - at_d1)};
}

namespace {

class BlackScholes final : public KernelProgram {
 public:
  explicit BlackScholes(const Params& params)
      : options_(params.get("options")),
        blocks_(params.get("blocks")),
        threads_(params.get("threads")),
        repeats_(params.get("repeats")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"black_scholes", {blocks_}, {threads_}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    price_ = random_floats(random, options_, 5.0F, 30.0F);
    strike_ = random_floats(random, options_, 1.0F, 100.0F);
    years_ = random_floats(random, options_, 0.25F, 10.0F);
  }
  void start(KernelRun& run) override {
    const auto call = run.allocate<float>(options_);
    const auto put = run.allocate<float>(options_);
    const auto price = run.upload(price_);
    const auto strike = run.upload(strike_);
    const auto years = run.upload(years_);
    for (std::uint32_t i = 0; i < repeats_; ++i)
      run.launch(call, put, price, strike, years, kRate, kVolatility, options_);
    run.download(call_, call);
    run.download(put_, put);
  }
  void check() override {
    std::vector<double> calls;
    std::vector<double> puts;
    std::vector<double> allowed;
    for (std::size_t i = 0; i < options_; ++i) {
      const Prices prices = reference({price_[i], strike_[i], years_[i]}, static_cast<double>(kRate),
                                      static_cast<double>(kVolatility));
      calls.push_back(prices.call);
      puts.push_back(prices.put);
      // A price is affected by about twenty roundings, and by functions with errors of two roundings each.
      // They reach the price through a factor of at most 1 (d times the normal density at d), times price
      // plus strike.
      allowed.push_back(64 * kFloatRounding * static_cast<double>(price_[i] + strike_[i]));
    }
    check_within("blackscholes: call", call_, calls, allowed);
    check_within("blackscholes: put", put_, puts, allowed);
  }

 private:
  std::uint32_t options_;
  std::uint32_t blocks_;
  std::uint32_t threads_;  // per block
  std::uint32_t repeats_;
  std::vector<float> price_, strike_, years_;
  std::vector<float> call_, put_;
};

const KernelApp kBlackScholes{
    .name = "blackscholes",
    .description = "prices of European options, a grid of fixed size (BlackScholes of the CUDA SDK)",
    .params = {{"options", 131072, 1, 8'000'000, "options"},
               {"blocks", 480, 1, 65535, "thread blocks, which walk through the options together"},
               {"threads", 128, 1, 1024, "threads of a block"},
               {"repeats", 1, 1, 1000, "launches"}},
    .ptx_file = "benchmarks/blackscholes/blackscholes.ptx",
    .ptx_text = embedded::blackscholes_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<BlackScholes>(kBlackScholes);
// Table 2 has four blocks of 24 KB per SM: 24 KB are the registers of 384 threads with 16 registers each. The
// table's switching time requires half a KB more.
[[maybe_unused]] const bool registered_chimera15 =
    register_kernel_app<BlackScholes, variant::Chimera15>(kBlackScholes.with(
        "chimera15/BS", "BlackScholes as in Table 2 of chimera15", {{"options", 4'000'000}, {"threads", 384}},
        {.registers_per_thread = 16, .shared_bytes = 512}));
// The SDK's grid and options.
[[maybe_unused]] const bool registered_kayiran14 = register_kernel_app<BlackScholes, variant::Kayiran14>(
    kBlackScholes.with("kayiran14/blk", "BlackScholes for kayiran14", {{"options", 4'000'000}}));

}  // namespace
}  // namespace gpumux::benchmarks::blackscholes
