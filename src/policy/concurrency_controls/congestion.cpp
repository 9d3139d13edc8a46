#include "policy/concurrency_controls/congestion.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"

namespace gpumux::policy {

CongestionSettings CongestionSettings::read(LevelArguments& arguments) {
  constexpr double kMostPartitions = 1024;
  CongestionSettings settings;
  settings.interval = arguments.whole("interval", settings.interval, 64, 1'000'000);
  settings.high = arguments.real("high", settings.high, 0, kMostPartitions);
  settings.low = arguments.real("low", settings.low, 0, kMostPartitions);
  settings.high_at = arguments.choice("at_high", "high", {"high", "medium"}) == "high";
  settings.whole_partition = arguments.choice("stall_mc", "queue", {"queue", "partition"}) == "partition";
  settings.saturates = arguments.choice("counters", "saturate", {"saturate", "exact"}) == "saturate";
  if (settings.low > settings.high)
    throw UserError(
        fmt::format("{}: low={} must not be above high={}", arguments.where(), settings.low, settings.high));
  return settings;
}

CongestionCounters::CongestionCounters(const CongestionSettings& settings, std::uint32_t partitions)
    : settings_(settings),
      partition_bits_(static_cast<std::uint32_t>(std::bit_width(settings.interval - 1))),
      sum_bits_(static_cast<std::uint32_t>(std::bit_width(settings.interval * partitions - 1))) {}

void CongestionCounters::add(std::uint64_t controller, std::uint64_t network) {
  const auto add_to = [&](std::uint64_t& sum, std::uint64_t cycles) {
    if (settings_.saturates) cycles = std::min(cycles, most_of_bits(partition_bits_));
    sum += cycles;
    if (settings_.saturates) sum = std::min(sum, most_of_bits(sum_bits_));
  };
  add_to(controller_, controller);
  add_to(network_, network);
}

Change CongestionCounters::decide() const {
  const auto high = [&](double metric) {
    return settings_.high_at ? metric >= settings_.high : metric > settings_.high;
  };
  if (high(controller()) || high(network())) return Change::Decrease;
  if (controller() < settings_.low && network() < settings_.low) return Change::Increase;
  return Change::Keep;
}

}  // namespace gpumux::policy
