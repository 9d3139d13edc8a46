// CM-BAL: like CM-CPU, but each SM decides by itself, in levels, and keeps enough warps to hide latencies. A
// smaller k favours the GPU. Source: kayiran14 sections 4.2, 6.1.
#include <bit>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/concurrency_controls/balanced_level.hpp"
#include "policy/concurrency_controls/warp_limiter.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint64_t kStep = 32;        // k of CM-BAL1; CM-BAL2 has twice as much, and so on
constexpr std::uint64_t kMostNumbers = 4;  // CM-BAL1 to CM-BAL4
constexpr double kIntervalOfK = 1024;      // cycles of an interval for which these values of k hold

class CmBal final : public WarpLimiter {
 public:
  CmBal(const CongestionSettings& settings, const BalanceSettings& balance, std::uint32_t start)
      : WarpLimiter("cm-bal", settings, start), balance_(balance) {
    balance_.k *= static_cast<double>(settings.interval) / kIntervalOfK;
  }

  [[nodiscard]] Needs needs(const View& view) const override {
    Needs needs = WarpLimiter::needs(view);
    needs.kernel_ends = true;
    return needs;
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    WarpLimiter::kernel_arrived(control, kernel);
    invalidate();
  }
  void kernel_ended(Control&, const RunningKernel&) override { invalidate(); }

 private:
  std::uint32_t first_limit(const arch::MachineConfig& config, std::uint32_t start) override {
    balance_.most_stall = settings().saturates ? most_of_bits(stall_bits(config)) : 0;
    const BalancedLevel first(balance_, balance_levels(most_warps(config)), start);
    sms_.assign(config.sms, first);
    issued_.assign(config.sms, 0);
    return first.warps();
  }
  void interval_ended(Control& control, Change change) override {
    const std::uint64_t all = interval_cycles() * control.config().sm.schedulers;
    for (std::uint32_t sm = 0; sm < sms_.size(); ++sm) {
      const std::uint64_t issued = static_cast<const Control&>(control).sm(sm).scheduler_counters().issued;
      // An SM without a block counts as stalled, because it can issue nothing.
      const std::uint64_t stall = all - std::min(all, issued - issued_[sm]);
      issued_[sm] = issued;
      const BalanceReason reason = sms_[sm].step(scaled(stall), change);
      ++reasons_[static_cast<std::size_t>(reason)];
      set_limit(control, sm, sms_[sm].warps());
    }
  }
  void invalidate() {
    for (BalancedLevel& sm : sms_) sm.invalidate();
  }
  /// Bits of an entry of the table: one count too few for schedulers that stall in every cycle of an
  /// interval.
  [[nodiscard]] std::uint32_t stall_bits(const arch::MachineConfig& config) const {
    return static_cast<std::uint32_t>(std::bit_width(settings().interval * config.sm.schedulers - 1));
  }
  [[nodiscard]] std::uint32_t storage_bits(const arch::MachineConfig& config) const override {
    const auto levels = static_cast<std::uint32_t>(balance_levels(most_warps(config)).size());
    return WarpLimiter::storage_bits(config) + levels * stall_bits(config);
  }
  void add_to_report(Report& report) const override {
    const auto add = [&](const char* name, BalanceReason reason) {
      report.numbers.push_back({name, static_cast<double>(reasons_[static_cast<std::size_t>(reason)]), {}});
    };
    add("raised_for_latency", BalanceReason::RaiseForLatency);
    add("refused_decreases", BalanceReason::RefuseDecrease);
    add("refreshed_levels", BalanceReason::Refresh);
  }

  BalanceSettings balance_;
  std::vector<BalancedLevel> sms_;
  std::vector<std::uint64_t> issued_;  // issued_ by SM, in scheduler cycles
  std::array<std::uint64_t, 4> reasons_{};
};

/// The order of the rules that `text` spells, as in "acb".
std::array<BalanceSettings::Rule, 3> rules(const std::string& text) {
  using Rule = BalanceSettings::Rule;
  std::array<Rule, 3> order{};
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = text[i] == 'a' ? Rule::RaiseForLatency : text[i] == 'b' ? Rule::RefuseDecrease : Rule::Refresh;
  return order;
}

std::unique_ptr<ConcurrencyControl> create_cm_bal(const std::string& argument) {
  std::string rest = argument;
  std::optional<std::uint64_t> number;
  if (const std::string first = argument.substr(0, argument.find('/'));
      !argument.empty() && first.find('=') == std::string::npos) {
    number = parse_uint(std::string(trim(first)));
    if (!number || *number == 0 || *number > kMostNumbers)
      throw UserError(fmt::format(
          "concurrency=cm-bal:{}: a number from 1 to {}, or k=N, must follow, as in cm-bal:1 or cm-bal:k=32",
          argument, kMostNumbers));
    rest = first.size() == argument.size() ? "" : argument.substr(first.size() + 1);
  }
  LevelArguments read("concurrency", "cm-bal", rest);
  BalanceSettings balance;
  if (number && read.has("k"))
    throw UserError(fmt::format("concurrency=cm-bal:{}: {} means k={}; give it or k=", argument, *number,
                                *number * kStep));
  if (!number && !read.has("k"))
    throw UserError(
        fmt::format("concurrency=cm-bal: give a number from 1 to {}, as in cm-bal:1, or k=N", kMostNumbers));
  balance.k = static_cast<double>(number ? *number * kStep : read.whole("k", 0, 0, 1'000'000));
  const CongestionSettings settings = CongestionSettings::read(read);
  const auto start = static_cast<std::uint32_t>(read.whole("start", 0, 1, 256));
  balance.order = rules(read.choice("rules", "acb", {"abc", "acb", "bac", "bca", "cab", "cba"}));
  balance.refreshes = read.choice("refresh", "on", {"on", "off"}) == "on";
  read.done();
  return std::make_unique<CmBal>(settings, balance, start);
}

const bool registered_cm_bal = register_concurrency_control(
    {"cm-bal", "the same by levels, on each SM no further than it hides latencies (CM-BAL, kayiran14)",
     "N: 1 to 4, the higher the less the GPU counts, or k=: 32 x N, scheduler cycles of 1024 that a level "
     "may stall the SM more; then /interval=1024/high=1/low=0.25/at_high=/stall_mc=/counters=/start= as "
     "of cm-cpu; rules=acb: which comes first, (a) more for latency, (b) refused decrease, (c) refresh of "
     "neighbours; refresh=on or off",
     create_cm_bal, "1"});

}  // namespace
}  // namespace gpumux::policy
